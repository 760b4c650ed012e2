# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Compiled belief propagation: scores and promises of the answers on a tree, given noisy scores.

| symbol | here | |
|---|---|---|
| q, u | | true score of an answer, and its promise: what its children gain beyond the curve |
| y, s^2 | `score`, `noise` | observed score, and the variance of its noise |
| q_c = a q_p + b + u_p + v e | `slope`, `offset`, `spread` | a child: a, b and v^2 |
| q_d = b + v e | | a draft (a node whose parent is -1) |
| u_d ~ N(0, w0), u_c = u_p + N(0, w1) | | promises are inherited |

The pair x = (q, u) of a node is Gauss-Markov on the tree, so one pass from the leaves upwards (in
the information form: precision J, vector h) and one downwards give the exact posterior in O(n).
With exact scores the promises have the posterior of `Belief` with increments 0, w0, w1, w1, ..
where each child is an observation of its parent with noise v.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import log

if not cython.compiled:
    from math import log

LOG_TAU = 1.8378770664093453  # log(2 pi)
#: The slopes of mean steps are clipped: a child's score rises with its parent's.
LEAST_SLOPE, MOST_SLOPE = -0.9, 0.5

#: The columns of the table of nodes: what is given; the posterior, mean and covariance of q and u;
#: the variance of v e, and the covariance of q_c - q_p - u_p with q_p; information from below, J, h
#: and M; and by what the rates of a node are multiplied.
FIELDS = (
    "score", "noise", "slope", "offset", "spread",
    "mean", "promise", "variance", "covariance", "uncertainty",
    "step_variance", "step_covariance",
    "jqq", "jqu", "juu", "hq", "hu", "m00", "m01", "m10", "m11",
    "calibration",
)  # fmt: skip
SCORE, NOISE, SLOPE, OFFSET, SPREAD = 0, 1, 2, 3, 4
MEAN, PROMISE, VARIANCE, COVARIANCE, UNCERTAINTY = 5, 6, 7, 8, 9
STEP_VARIANCE, STEP_COVARIANCE, INFORMATION, M00 = 10, 11, 12, 17


def smooth(nodes, parents, order, w0, w1, likelihood=True):
    """Compute the posterior of nodes, and return the log likelihood of their scores.

    Parameters
    ----------
    nodes
        The table of all nodes, one in a row.
    parents
        The number of each node's parent, -1 for a draft.
    order
        The numbers of all nodes of some trees, parents before children.
    w0, w1
        The variance of the promise of a draft, and of its change from parent to child.
    likelihood
        Whether to compute the log likelihood; else 0 is returned.
    """
    total = 0.0
    for k in range(order.shape[0]):
        i = order[k]
        precision = 1.0 / nodes[i, NOISE]
        nodes[i, INFORMATION] = precision
        nodes[i, INFORMATION + 1] = 0.0
        nodes[i, INFORMATION + 2] = 0.0
        nodes[i, INFORMATION + 3] = precision * nodes[i, SCORE]
        nodes[i, INFORMATION + 4] = 0.0
        if likelihood:
            total -= 0.5 * (LOG_TAU + log(nodes[i, NOISE]) + precision * nodes[i, SCORE] ** 2)
    for k in range(order.shape[0] - 1, -1, -1):
        i = order[k]
        p = parents[i]
        v2 = nodes[i, SPREAD]
        w = w0 if p < 0 else w1
        jqq, jqu, juu = nodes[i, INFORMATION], nodes[i, INFORMATION + 1], nodes[i, INFORMATION + 2]
        b = nodes[i, OFFSET]
        hq, hu = nodes[i, INFORMATION + 3], nodes[i, INFORMATION + 4]
        # M = (I + J Q)^-1 with Q = diag(v2, w)
        det = (1.0 + jqq * v2) * (1.0 + juu * w) - jqu * jqu * v2 * w
        inverse = 1.0 / det
        m00, m01 = (1.0 + juu * w) * inverse, -jqu * w * inverse
        m10, m11 = -jqu * v2 * inverse, (1.0 + jqq * v2) * inverse
        # What the posterior adds to a state that the parent predicts: Q M h.
        nodes[i, MEAN] = v2 * (m00 * hq + m01 * hu)
        nodes[i, PROMISE] = w * (m10 * hq + m11 * hu)
        nodes[i, M00], nodes[i, M00 + 1], nodes[i, M00 + 2], nodes[i, M00 + 3] = m00, m01, m10, m11
        if likelihood:
            total += b * hq - 0.5 * b * b * jqq
        hq -= jqq * b
        hu -= jqu * b
        fq, fu = m00 * hq + m01 * hu, m10 * hq + m11 * hu
        if likelihood:
            total += 0.5 * (hq * v2 * fq + hu * w * fu) - 0.5 * log(det)
        if p < 0:
            continue
        kqq, kqu = m00 * jqq + m01 * jqu, m00 * jqu + m01 * juu
        kuu = m10 * jqu + m11 * juu
        a = nodes[i, SLOPE]
        nodes[p, INFORMATION] += a * a * kqq
        nodes[p, INFORMATION + 1] += a * (kqq + kqu)
        nodes[p, INFORMATION + 2] += kqq + 2.0 * kqu + kuu
        nodes[p, INFORMATION + 3] += a * fq
        nodes[p, INFORMATION + 4] += fq + fu
    for k in range(order.shape[0]):
        i = order[k]
        p = parents[i]
        v2 = nodes[i, SPREAD]
        w = w0 if p < 0 else w1
        m00, m01, m10, m11 = (
            nodes[i, M00], nodes[i, M00 + 1], nodes[i, M00 + 2], nodes[i, M00 + 3]
        )  # fmt: skip
        # The state that the parent predicts: its mean, and its covariance without Q.
        zq, zu, cqq, cqu, cuu, cqv = nodes[i, OFFSET], 0.0, 0.0, 0.0, 0.0, 0.0
        if p >= 0:
            a = nodes[i, SLOPE]
            zq += a * nodes[p, MEAN] + nodes[p, PROMISE]
            zu = nodes[p, PROMISE]
            cuu = nodes[p, UNCERTAINTY]
            cqu = a * nodes[p, COVARIANCE] + cuu
            cqv = a * nodes[p, VARIANCE] + nodes[p, COVARIANCE]
            cqq = a * a * nodes[p, VARIANCE] + 2.0 * a * nodes[p, COVARIANCE] + cuu
        nodes[i, MEAN] += m00 * zq + m10 * zu
        nodes[i, PROMISE] += m01 * zq + m11 * zu
        dq, du = m00 * cqq + m10 * cqu, m00 * cqu + m10 * cuu
        eq, eu = m01 * cqq + m11 * cqu, m01 * cqu + m11 * cuu
        nodes[i, VARIANCE] = v2 * m00 + dq * m00 + du * m10
        nodes[i, COVARIANCE] = v2 * m01 + dq * m01 + du * m11
        nodes[i, UNCERTAINTY] = w * m11 + eq * m01 + eu * m11
        if p >= 0:
            nodes[i, STEP_COVARIANCE] = (
                m00 * cqv + (m10 - 1.0) * nodes[p, COVARIANCE] - nodes[p, VARIANCE]
            )
        m00 -= 1.0
        nodes[i, STEP_VARIANCE] = (
            v2 * (m00 + 1.0) + m00 * m00 * cqq + 2.0 * m00 * m10 * cqu + m10 * m10 * cuu
        )
    return total


def predict(nodes, parents, generators, steps, drift, variances, low, step):
    """Set what the curves say of steps, as linear functions of the parent's score.

    Parameters
    ----------
    nodes, parents
        As for `smooth`.
    generators
        The number of the generator of each node.
    steps
        The numbers of nodes, none of them a draft.
    drift, variances
        The curves of mean and variance of a step, a row for each generator.
    low, step
        The first score of the grid of the curves, and the distance of its points.
    """
    cells = drift.shape[1] - 1
    for k in range(steps.shape[0]):
        i = steps[k]
        g = generators[i]
        x = nodes[parents[i], MEAN]
        at = (x - low) / step
        at = 0.0 if at < 0.0 else (cells - 1e-9 if at > cells - 1e-9 else at)
        c = cython.cast(cython.Py_ssize_t, at)
        t = at - c
        slope = (drift[g, c + 1] - drift[g, c]) / step
        slope = (
            LEAST_SLOPE if slope < LEAST_SLOPE else (MOST_SLOPE if slope > MOST_SLOPE else slope)
        )
        nodes[i, SLOPE] = 1.0 + slope
        nodes[i, OFFSET] = drift[g, c] + t * (drift[g, c + 1] - drift[g, c]) - slope * x
        nodes[i, SPREAD] = variances[g, c] * (1.0 - t) + variances[g, c + 1] * t
    return 0
