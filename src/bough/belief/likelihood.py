# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The marginal likelihood of all observations, with its gradient, for any increments, noise, mean.

The observations are collected once; then each likelihood is one pass up the tree and one down. Only
nodes matter that have observations, or where paths part. The steps between two of them are one
*edge* with the sum of their increments, so the passes do not depend on the depth of the tree.

Going up, all observations of F at the bottom of an edge or below are one normal message, of mean Z
and variance R. Two messages about the same F meet in the factor N(z2 - z1; 0, R1 + R2). Going down,
(m, V) is the posterior of F. Nothing is divided by an increment or by the noise: both may be 0.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

if not cython.compiled:
    from bough.belief.nodes import GROUP, INF, NONE
    from bough.belief.posterior import Posterior

LOG_TWO_PI = float(np.log(2 * np.pi))
#: Logarithms of products are taken when a product leaves this range.
LEAST = 1e-200
MOST = 1e200

#: Certain values (in units of the rewards' deviation) that differ by more contradict each other.
ROUNDING = 1e-9


class Evidence:
    """The observations of a belief, in units of `scale` from `shift`."""

    def __init__(self, belief, shift, scale):
        posterior: Posterior = belief.propagation
        self.shift = shift
        self.scale = scale
        self.observations = posterior.count
        self._find_edges(posterior)
        self._collect(posterior)
        size = len(self.parent)
        self.R = np.empty(size)
        self.Z = np.empty(size)
        self.m = np.empty(size)
        self.V = np.empty(size)
        self.rise = np.zeros(size)

    def _find_edges(self, posterior):
        """Keep the nodes that matter, parents first, and number their edges by what they span."""
        nodes = posterior.nodes
        used: cython.int = nodes.used
        logged: cython.int = posterior.logged
        above: cython.int[::1] = np.full(used, NONE, dtype=np.int32)  # the next that matters
        children: cython.int[::1] = np.zeros(used, dtype=np.int32)
        matters: cython.int[::1] = np.zeros(used, dtype=np.int32)
        n: cython.int
        p: cython.int
        matters[0] = 1
        beyond: cython.int = 0  # observations of unknown nodes below a known one (rollouts)
        for i in range(logged):
            n = posterior.log[i].node
            if posterior.log[i].ends > nodes.array[n].depth:
                beyond += 1
            matters[n] = 1
            if posterior.log[i].of_step and n != 0:
                matters[nodes.real_parent(n)] = 1
        for n in range(1, used):
            if nodes.array[n].count != GROUP and nodes.array[n].visits > 0:
                p = nodes.real_parent(n)
                children[p] += 1
                if children[p] > 1:
                    matters[p] = 1
        kept: cython.int = beyond
        for n in range(used):
            kept += matters[n]
        self.parent = np.empty(kept, dtype=np.int32)
        self.slot = np.empty(kept, dtype=np.int32)
        self.node = np.full(kept, NONE, dtype=np.int32)
        self.entry = np.full(used, NONE, dtype=np.int32)
        top = np.empty(kept, dtype=np.int32)
        bottom = np.empty(kept, dtype=np.int32)
        tops: cython.int[::1] = top
        bottoms: cython.int[::1] = bottom
        k: cython.int = 0
        for n in range(used):
            if nodes.array[n].count == GROUP:
                continue
            p = NONE if n == 0 else above[nodes.real_parent(n)]
            if matters[n]:
                self.parent[k] = p
                self.node[k] = n
                self.entry[n] = k
                tops[k] = bottoms[p] + 1 if n != 0 else 0
                bottoms[k] = nodes.array[n].depth
                above[n] = k
                k += 1
            else:
                above[n] = p
        self.beyond = k
        for i in range(logged):
            n = posterior.log[i].node
            if posterior.log[i].ends > nodes.array[n].depth:
                self.parent[k] = self.entry[n]
                tops[k] = nodes.array[n].depth + 1
                bottoms[k] = posterior.log[i].ends
                k += 1
        spans, slot = np.unique(
            top.astype(np.int64) * (nodes.depth + 2) + bottom, return_inverse=True
        )
        self.slot = slot.astype(np.int32).reshape(-1)
        self.tops = (spans // (nodes.depth + 2)).astype(np.int32)
        self.bottoms = (spans % (nodes.depth + 2)).astype(np.int32)
        self.depth = nodes.depth
        self.spans = np.empty(len(spans))
        self.slopes = np.empty(len(spans))

    def _collect(self, posterior):
        """Merge the observations of each node.

        Those of F (row 0) and those of the step (row 1) have a noise of their own, or a share of
        the common one.
        """
        nodes = posterior.nodes
        size = len(self.parent)
        self.weight = np.zeros((2, size))  # sum of 1/share, of those with the common noise
        self.value = np.zeros((2, size))  # their weighted mean
        self.own_precision = np.zeros((2, size))
        self.own_value = np.zeros((2, size))
        self.has_steps = False
        self.common = 0
        self.scatter = 0.0  # sum of squares about their means, of those with the common noise
        self.merged = 0  # observations with the common noise that were merged with others,
        self.shared = 0.0  # and what their shares add to the likelihood
        self.constant = 0.0  # what no parameter changes,
        self.settled = 0  # and the number of factors in it
        k: cython.int
        beyond: cython.int = self.beyond
        for i in range(posterior.logged):
            n = posterior.log[i].node
            k = self.entry[n]
            row: cython.int = 0
            y: cython.double = (posterior.log[i].value - self.shift) / self.scale
            if posterior.log[i].of_step and n != 0:
                row = 1
                self.has_steps = True
                y = posterior.log[i].value / self.scale
            if posterior.log[i].ends > nodes.array[n].depth:
                k = beyond
                beyond += 1
            share: cython.double = posterior.log[i].share
            if posterior.log[i].own_noise:
                share = posterior.variance_of(True, share, 0, 0)
                self._add_own(row, k, y, share / self.scale / self.scale)
            else:
                self._add_common(row, k, y, share)

    def _add_common(self, row, k, y, share):
        weight = 1.0 / share
        before = self.weight[row, k]
        total = before + weight
        gap = y - self.value[row, k]
        self.common += 1
        if before > 0.0:
            self.merged += 1
            self.scatter += gap * gap * before * (weight / total)
            self.shared -= 0.5 * log(total / before * share)
        else:
            # (The message has variance s^2/weight: no factor for a single observation.)
            self.value[row, k] = 0.0
            gap = y
        self.value[row, k] += gap * (weight / total)
        self.weight[row, k] = total

    def _add_own(self, row, k, y, variance):
        before = self.own_precision[row, k]
        if before == INF:
            if variance > 0.0:
                self._add_constant(y - self.own_value[row, k], variance)
            return
        if before > 0.0:
            self._add_constant(y - self.own_value[row, k], variance + 1.0 / before)
        if variance == 0.0:
            self.own_precision[row, k] = INF
            self.own_value[row, k] = y
            return
        total = before + 1.0 / variance
        self.own_value[row, k] += (y - self.own_value[row, k]) / (variance * total)
        self.own_precision[row, k] = total

    def _add_constant(self, gap, variance):
        self.settled += 1
        self.constant -= 0.5 * (LOG_TWO_PI + log(variance) + gap * gap / variance)

    # ------------------------------------------------------------------ one likelihood

    def likelihood(self, increments, noise_variance, mean, factor, mean_is_free=False):
        """Return the log density of all observations, and its derivatives.

        All is in units of `scale`, from `shift`. In the original units the density, a product of
        `densities` factors, has a logarithm that is less by `densities` log `scale`. (It is -inf if
        exact values contradict each other.) The prior mean of a node is `mean` plus `factor` times
        its height above the root: see `set_heights`.

        With `mean_is_free` the mean counts as unknown: `restriction` is added to the density, the
        logarithm of the integral over all means relative to the highest. Maximized by the mean it
        is then the likelihood with the mean integrated out, which a fitted mean does not bias.

        Returns
        -------
        log_density, by_increments, by_noise_variance, by_mean, by_factor
        """
        v: cython.double[::1] = np.ascontiguousarray(increments, dtype=np.float64)
        for j in range(len(self.tops)):
            total: cython.double = 0.0
            for i in range(self.tops[j], self.bottoms[j] + 1):
                total += v[i]
            self.spans[j] = total
            self.slopes[j] = 0.0
        self.s2 = noise_variance
        self.mean = mean
        self.factor = factor
        density: cython.double = self._up()
        self.restriction = 0.0
        doubt: cython.double = 0.0  # the variance of the mean, given the observations
        if mean_is_free and self.R[0] < INF:
            doubt = self.R[0] + self.spans[self.slot[0]]
            if doubt > 0.0:
                self.restriction = 0.5 * (LOG_TWO_PI + log(doubt))
                density += self.restriction
        self._down(doubt)
        found = np.zeros(self.depth + 1)
        by_increments: cython.double[::1] = found
        for j in range(len(self.tops)):
            for i in range(self.tops[j], self.bottoms[j] + 1):
                by_increments[i] += self.slopes[j]
        return density, found, self.by_noise, self.by_mean, self.by_factor

    def _meet(self, z, r, z2, r2):
        """Multiply two messages about one thing; leave the result as (z, r)."""
        both = r + r2
        gap = z2 - z
        self.z = z
        self.r = r
        if r2 == INF:
            return
        if r == INF:
            self.z = z2
            self.r = r2
            return
        if both == 0.0:  # both are certain: they agree, or the density is 0
            if gap > ROUNDING or gap < -ROUNDING:
                self.impossible = True
            return
        self.factors += 1
        self.square += gap * gap / both
        self.product *= both
        if self.product < LEAST or self.product > MOST:
            self.logs += log(self.product)
            self.product = 1.0
        share = r / both
        self.z = z + gap * share
        self.r = r2 * share

    def _own(self, row, k):
        """Leave the message of the node's own observations as (z, r)."""
        weight = self.weight[row, k]
        precision = self.own_precision[row, k]
        self.z = self.value[row, k]
        self.r = self.s2 / weight if weight > 0.0 else INF
        if precision > 0.0:
            self._meet(
                self.z, self.r, self.own_value[row, k], 1.0 / precision if precision < INF else 0.0
            )

    def _step(self, k):
        """Leave mean and variance of the step along an edge, given its observations, as (z, r)."""
        v = self.spans[self.slot[k]]
        mu = self._mu(k)
        if self.has_steps:
            self._own(1, k)
            if self.r < INF:
                self._meet(mu, v, self.z, self.r)
                return
        self.z = mu
        self.r = v

    def _mu(self, k):
        mu = self.factor * self.rise[k]
        return mu + self.mean if k == 0 else mu

    def _up(self):
        self.factors = 0
        self.square = 0.0
        self.product = 1.0
        self.logs = 0.0
        self.impossible = self.s2 == 0.0 and self.scatter > ROUNDING * ROUNDING
        for k in range(self.parent.shape[0]):
            self._own(0, k)
            self.R[k] = self.r
            self.Z[k] = self.z
        for k in range(self.parent.shape[0] - 1, -1, -1):
            self._step(k)
            if self.R[k] == INF:
                continue
            z = self.Z[k] - self.z
            r = self.R[k] + self.r
            if k > 0:
                p = self.parent[k]
                self._meet(self.Z[p], self.R[p], z, r)
                self.Z[p] = self.z
                self.R[p] = self.r
            else:
                self._meet(0.0, 0.0, z, r)
        density = self.constant - 0.5 * (
            LOG_TWO_PI * self.factors + self.square + self.logs + log(self.product)
        )
        self.determinant = self.constant - 0.5 * (
            LOG_TWO_PI * self.factors + self.logs + log(self.product)
        )
        self.densities = self.factors + self.settled
        if self.merged > 0 and self.s2 > 0.0:
            density -= 0.5 * (self.merged * (LOG_TWO_PI + log(self.s2)) + self.scatter / self.s2)
            density += self.shared
            self.determinant -= 0.5 * (
                self.merged * (LOG_TWO_PI + log(self.s2)) + self.scatter / self.s2
            )
            self.determinant += self.shared
            self.densities += self.merged
        return -INF if self.impossible else density

    def _down(self, doubt):
        """Find the posterior of every node, and the derivatives; the mean has variance `doubt`."""
        self.by_mean = 0.0
        self.by_factor = 0.0
        squares: cython.double = self.scatter
        for k in range(self.parent.shape[0]):
            m_above: cython.double = 0.0
            V_above: cython.double = doubt
            if k > 0:
                m_above = self.m[self.parent[k]]
                V_above = self.V[self.parent[k]]
            self._derive(k, m_above, V_above)
            # The posterior of F, its step being normal with mean z and variance r.
            self._step(k)
            R = self.R[k]
            both = R + self.r
            if R == INF or both == 0.0:
                self.m[k] = m_above + self.z
                self.V[k] = V_above + self.r
            else:
                g = R / both
                self.m[k] = m_above + self.z + (self.Z[k] - m_above - self.z) * (self.r / both)
                self.V[k] = self.r * g + g * g * V_above
            weight = self.weight[0, k]
            if weight > 0.0:
                gap = self.value[0, k] - self.m[k]
                squares += weight * (gap * gap + self.V[k])
            if self.has_steps and self.weight[1, k] > 0.0:
                squares += self._step_square(k, m_above, V_above)
        self.by_noise = 0.0
        if self.s2 > 0.0:
            self.by_noise = 0.5 * (squares / self.s2 - self.common) / self.s2

    def _derive(self, k, m_above, V_above):
        """Add to the derivatives by the variance of an edge and by the mean of its step.

        With kappa = 1/c the precision of the observations of the step, at rho/kappa = z, they are
        1/2 (a^2 + b^2 V_above - w) and a, which stay finite for v = 0 and for c = 0.
        """
        v = self.spans[self.slot[k]]
        mu = self._mu(k)
        c = INF
        x = 0.0
        if self.has_steps:
            self._own(1, k)
            c = self.r
            x = self.z - mu
        R = self.R[k]
        y = self.Z[k] - m_above - mu
        if R == INF and c == INF:
            return
        if c == INF:
            # of F alone: T = R + v
            T = R + v
            if T == 0.0:
                return
            a = y / T
            b = 1.0 / T
            w = b
        elif R == INF:
            T = c + v
            if T == 0.0:
                return
            a = x / T
            b = 0.0
            w = 1.0 / T
        else:
            T = R * c + v * (R + c)
            if T == 0.0:
                if c > 0.0 or v == 0.0:
                    return
                a = x / v
                b = 0.0
                w = 1.0 / v
            else:
                a = (R * x + c * y) / T
                b = c / T
                w = (R + c) / T
        self.slopes[self.slot[k]] += 0.5 * (a * a + b * b * V_above - w)
        self.by_factor += a * self.rise[k]
        if k == 0:
            self.by_mean = a

    def _step_square(self, k, m_above, V_above):
        """Return the weighted posterior square of the errors of a step with the common noise."""
        self._step(k)
        mu = self.z
        v = self.r
        R = self.R[k]
        m = mu
        V = v
        if R < INF and R + v > 0.0:
            share = v / (R + v)
            m += (self.Z[k] - m_above - mu) * share
            V = R * share + share * share * V_above
        gap = self.value[1, k] - m
        return self.weight[1, k] * (gap * gap + V)

    # ------------------------------------------------------------------ other right-hand sides

    def columns(self, values, steps):
        """Send columns through the passes of the last likelihood, as observations instead of y.

        With K the covariance of all observations, noise included, and 1_k the indicator of the
        observations of F at the bottom of edge k or below (or of its step).

        Parameters
        ----------
        values, steps
            The columns at the bottom of every edge, and those of the step of its last node.

        Returns
        -------
        factors
            A matrix G, the first column for y, with G'G = Z'K^-1 Z for Z = (y, columns); but for
            repeated observations, which add to its first entry alone, as `square`.
        forces
            1_k'K^-1 Z, a row for each edge.
        weights
            1_k'K^-1 1_k.
        means, step_means, step_variances
            The posterior means of columns of F at the bottom of each edge; those of its step, with
            that of y first; and the variance of the step.
        """
        size: cython.int = len(self.parent)
        m: cython.int = values.shape[1]
        value: cython.double[:, ::1] = np.ascontiguousarray(values, dtype=np.float64)
        step: cython.double[:, ::1] = np.ascontiguousarray(steps, dtype=np.float64)
        Z: cython.double[:, ::1] = np.array(value)
        factors = np.zeros((2 * size + 1, m + 1))
        forces = np.zeros((size, m + 1))
        weights = np.zeros(size)
        means = np.zeros((size, m))
        step_means = np.zeros((size, m + 1))
        step_variances = np.zeros(size)
        G: cython.double[:, ::1] = factors
        force: cython.double[:, ::1] = forces
        weight: cython.double[::1] = weights
        mean: cython.double[:, ::1] = means
        step_mean: cython.double[:, ::1] = step_means
        step_variance: cython.double[::1] = step_variances
        at_step: cython.double[::1] = np.zeros(
            size
        )  # the share of `step` in what is expected of it
        r_step: cython.double[::1] = np.zeros(size)
        z_step: cython.double[::1] = np.zeros(size)
        own: cython.double[::1] = np.full(
            size, INF
        )  # variance and mean of observations of the step
        seen: cython.double[::1] = np.zeros(size)
        row: cython.int = 0
        k: cython.int
        p: cython.int
        j: cython.int
        self.square = 0.0  # of repeated observations alone
        for k in range(size):
            self._own(0, k)
            self.R[k] = self.r
            self.Z[k] = self.z
        for k in range(size - 1, -1, -1):
            v = self.spans[self.slot[k]]
            mu = self._mu(k)
            z_step[k] = mu
            r_step[k] = v
            if self.has_steps:
                self._own(1, k)
                own[k] = self.r
                seen[k] = self.z
                if self.r < INF and v + self.r > 0.0:
                    both = v + self.r
                    gap = self.z - mu
                    share = v / both
                    G[row, 0] = gap / sqrt(both)
                    for j in range(m):
                        G[row, j + 1] = step[k, j] / sqrt(both)
                    row += 1
                    z_step[k] = mu + gap * share
                    r_step[k] = self.r * share
                    at_step[k] = share
            if self.R[k] == INF:
                continue
            z = self.Z[k] - z_step[k]
            r = self.R[k] + r_step[k]
            p = self.parent[k] if k > 0 else 0
            if k > 0 and self.R[p] == INF:
                self.Z[p] = z
                self.R[p] = r
                for j in range(m):
                    Z[p, j] = Z[k, j] - at_step[k] * step[k, j]
                continue
            both = r if k == 0 else self.R[p] + r
            if both == 0.0:
                continue
            gap = z if k == 0 else z - self.Z[p]
            G[row, 0] = gap / sqrt(both)
            if k == 0:
                for j in range(m):
                    G[row, j + 1] = (Z[k, j] - at_step[k] * step[k, j]) / sqrt(both)
            else:
                share = self.R[p] / both
                self.Z[p] += gap * share
                self.R[p] = r * share
                for j in range(m):
                    difference = Z[k, j] - at_step[k] * step[k, j] - Z[p, j]
                    G[row, j + 1] = difference / sqrt(both)
                    Z[p, j] += difference * share
            row += 1
        for k in range(size):
            m_above: cython.double = 0.0
            V_above: cython.double = 0.0
            if k > 0:
                m_above = self.m[self.parent[k]]
                V_above = self.V[self.parent[k]]
            p = self.parent[k]
            R = self.R[k]
            c = own[k]
            v = self.spans[self.slot[k]]
            mu = self._mu(k)
            x = seen[k] - mu
            y = self.Z[k] - m_above - mu
            # The weights of what is known of the step, and of F below: see `_derive`.
            of_step: cython.double = 0.0
            of_value: cython.double = 0.0
            w: cython.double = 0.0
            if R == INF:
                if c < INF and c + v > 0.0:
                    of_step = 1.0 / (c + v)
                    w = of_step
            elif c == INF:
                if R + v > 0.0:
                    of_value = 1.0 / (R + v)
                    w = of_value
            elif R * c + v * (R + c) > 0.0:
                T = R * c + v * (R + c)
                of_step = R / T
                of_value = c / T
                w = (R + c) / T
            force[k, 0] = of_step * x + of_value * y
            weight[k] = w - of_value * of_value * V_above
            r = r_step[k]
            share = 0.0  # of what F below says of the step
            if R < INF and R + r > 0.0:
                share = r / (R + r)
            self.m[k] = m_above + z_step[k] + (self.Z[k] - m_above - z_step[k]) * share
            left: cython.double = 1.0 - share
            if R < INF and R + r > 0.0:
                left = R / (R + r)
            self.V[k] = r * left + left * left * V_above
            step_mean[k, 0] = z_step[k] + (self.Z[k] - m_above - z_step[k]) * share
            step_variance[k] = r * left + share * share * V_above
            for j in range(m):
                above: cython.double = mean[p, j] if k > 0 else 0.0
                expected: cython.double = at_step[k] * step[k, j]
                force[k, j + 1] = of_step * step[k, j] + of_value * (Z[k, j] - above)
                step_mean[k, j + 1] = expected + (Z[k, j] - above - expected) * share
                mean[k, j] = above + step_mean[k, j + 1]
                if R == INF:
                    mean[k, j] = above + expected
        return factors[:row], forces, weights, means, step_means, step_variances

    def set_heights(self, heights):
        """Set the height of the prior mean at each of `node`, up to `mean` and `factor`.

        (-1 in `node`: an unknown node, whose height is that of its parent.)
        """
        height: cython.double[::1] = np.ascontiguousarray(heights, dtype=np.float64)
        for k in range(self.parent.shape[0]):
            self.rise[k] = 0.0
            if k > 0 and self.node[k] != NONE:
                self.rise[k] = (height[k] - height[self.parent[k]]) / self.scale
