# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Compiled inner loops of a forest: cells of points, and the algebra of local quadratic models.

Every reward is observed by the belief about each partition, at the cell of its point. That is most
of the work of a forest: `CellIndex` follows a point down the cuts, and writes its path straight
into the buffers of the belief.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import ceil, fabs, floor, isnan, sqrt

if not cython.compiled:
    from math import ceil, fabs, floor, isnan, sqrt

    from bough.belief.nodes import GROUP, NONE, TINY

from bough.belief.nodes import aligned

#: The number of steps from the last node with observations to that of a new observation. What
#: varies further down counts as noise until the partitions are replaced.
FINER = 3
#: The maximum number of steps along each coordinate to a maximum of a quadratic.
CLIMB = 20
CUT = np.dtype([("share", np.float64), ("slot", np.int32), ("last", np.int32)], align=True)


class CellIndex:
    """Cells of a partition as nodes of the belief about its tree."""

    def __init__(self, partition, belief):
        self.partition = partition
        self.belief = belief
        self.nodes = belief.node_array
        self.posterior_ = belief.propagation
        self.search = belief.arm_search
        counts = partition.counts
        self.single = np.array([count is not None for count in counts], dtype=np.int32)
        self.size = np.array([1.0 if count is None else float(count) for count in counts])
        self.low = np.zeros(len(counts))
        self.high = np.zeros(len(counts))
        # Plans that were needed so far, by number: cuts, choice, and the plans that follow.
        self.plans = []
        self.first = np.zeros(1, dtype=np.int32)
        self.cuts = aligned(CUT, 0)
        self.begins = np.zeros(0, dtype=np.int32)
        self.choice = np.zeros(0, dtype=np.int32)
        self.after = {}
        self._add_plan(partition.first)

    def __reduce__(self):
        return CellIndex, (self.partition, self.belief)

    # ------------------------------------------------------------------ cuts

    def _add_plan(self, plan):
        """Add a plan, and return its number."""
        number = len(self.plans)
        self.plans.append(plan)
        before = len(self.cuts)
        cuts = aligned(CUT, before + len(plan.cuts))
        cuts[:before] = np.asarray(self.cuts)
        cuts[before:] = [(cut.share, cut.slot, cut.last) for cut in plan.cuts]
        self.cuts = cuts
        self.first = np.append(np.asarray(self.first), np.int32(len(self.cuts)))
        self.begins = np.append(np.asarray(self.begins), np.int32(plan.depth))
        self.choice = np.append(np.asarray(self.choice), np.int32(plan.slot))
        return number

    def _plan_after(self, p, option):
        """Return the number of the plan that follows an option of a plan's choice."""
        found = self.after.get((p, option))
        if found is None:
            found = self._add_plan(self.partition.option(self.plans[p], option))
            self.after[p, option] = found
        return found

    def _descend(self, point):
        """Write the path of a point to `nodes.steps` and `nodes.widths`; return its length."""
        nodes = self.nodes
        for slot in range(self.size.shape[0]):
            self.low[slot] = 0.0
            self.high[slot] = self.size[slot]
        p: cython.int = 0
        at: cython.int = 0
        while True:
            for i in range(self.first[p], self.first[p + 1]):
                slot = self.cuts[i].slot
                low = self.low[slot]
                high = self.high[slot]
                if self.single[slot] and (self.cuts[i].last or high - low == 1.0):
                    nodes.steps[at] = cython.cast(cython.int, point[slot] - low)
                    nodes.widths[at] = cython.cast(cython.int, high - low)
                    self.low[slot] = point[slot]
                    self.high[slot] = point[slot] + 1.0
                else:
                    cut: cython.double = low + self.cuts[i].share * (high - low)
                    if self.single[slot]:
                        share = self.cuts[i].share
                        cut = self.partition.cut_between(slot, int(low), int(high), share)
                    nodes.steps[at] = 1 if point[slot] >= cut else 0
                    nodes.widths[at] = 2
                    if nodes.steps[at]:
                        self.low[slot] = cut
                    else:
                        self.high[slot] = cut
                at += 1
            slot = self.choice[p]
            if slot < 0:
                nodes.widths[at] = 0
                return at
            nodes.steps[at] = cython.cast(cython.int, point[slot])
            nodes.widths[at] = len(self.plans[p].options)
            p = self._plan_after(p, nodes.steps[at])
            at += 1

    # ------------------------------------------------------------------ observations

    def paths(self, points):
        """Return the paths of points as rows of steps, padded with -1."""
        nodes = self.nodes
        rows: cython.double[:, ::1] = points
        found = np.full((len(points), nodes.depth), NONE, dtype=np.int32)
        steps: cython.int[:, ::1] = found
        for row in range(rows.shape[0]):
            for i in range(self._descend(rows[row])):
                steps[row, i] = nodes.steps[i]
        return found

    def observe(self, points, values, noises, depths):
        """Let the belief observe the rewards of points.

        Points are rows of positions. A noise that is NaN is that of the belief. The first
        observations are at nodes of the given depths, if their paths are that long.
        """
        nodes = self.nodes
        posterior = self.posterior_
        rows: cython.double[:, ::1] = points
        value: cython.double[::1] = values
        noise: cython.double[::1] = noises
        given: cython.int[::1] = depths
        for row in range(rows.shape[0]):
            ends = self._descend(rows[row])
            if row < given.shape[0]:
                length: cython.int = min(given[row], ends)
            else:
                nodes.locate(ends)
                length = min(nodes.observed_on_trail() + FINER, ends)
            own_noise = not isnan(noise[row])
            share = 1.0
            if own_noise:
                share = noise[row] * noise[row] if noise[row] * noise[row] >= TINY else 0.0
            nodes.length = length
            nodes.found = nodes.locate(length)
            for i in range(nodes.found, length):
                nodes.variance += nodes.increments[i + 1]
            s2 = posterior.variance_of(own_noise, share, length, ends)
            posterior.observe_at_trail(None, value[row], s2, own_noise, ends, share)

    def step_posteriors(self):
        """Return the slot that the step to each node cuts, and the step's mean and variance.

        The slot is -1 for the root, and for groups of children, which have no step.
        """
        nodes = self.nodes
        slots = np.full(nodes.used, NONE, dtype=np.int32)
        means, variances, means_of_F, variances_of_F = np.zeros((4, nodes.used))
        plans = np.zeros(nodes.used, dtype=np.int32)
        cut: cython.int[::1] = slots
        plan: cython.int[::1] = plans
        mean: cython.double[::1] = means
        variance: cython.double[::1] = variances
        m: cython.double[::1] = means_of_F
        V: cython.double[::1] = variances_of_F
        m[0] = mean[0] = nodes.array[0].offset
        V[0] = variance[0] = nodes.array[0].spread
        for n in range(1, nodes.used):  # parents come first, but for groups
            if nodes.array[n].count == GROUP:
                continue
            above = nodes.array[n].parent
            while nodes.array[above].count == GROUP:
                above = nodes.array[above].parent
            p = plan[above]
            i = self.first[p] + nodes.array[above].depth - self.begins[p]
            if i < self.first[p + 1]:
                cut[n] = self.cuts[i].slot
                plan[n] = p
            else:
                cut[n] = self.choice[p]
                plan[n] = self._plan_after(p, nodes.array[n].index)
            g = nodes.array[n].g
            m[n] = g * m[above] + nodes.array[n].offset
            V[n] = nodes.array[n].spread + g * g * V[above]
            mean[n] = (g - 1.0) * m[above] + nodes.array[n].offset
            variance[n] = nodes.array[n].spread + (g - 1.0) * (g - 1.0) * V[above]
        return slots, means, variances

    # ------------------------------------------------------------------ queries

    def posterior(self, number: cython.int):
        """Return posterior mean and variance at the point of an observation.

        To the belief, the observation is one of a random point of the cell: the variance within
        the cell is noise. Here it is one of this very point: the cavity mean and variance of the
        cell (without the observation), plus the variance within the cell, are the prior of the
        point, which the observation then updates.
        """
        nodes = self.nodes
        log = self.posterior_.log
        n: cython.int = log[number].node
        nodes.climb(n)
        m = nodes.m + nodes.center
        V = nodes.variance
        value = log[number].value
        s2 = self.posterior_.variance_of(log[number].own_noise, log[number].share, 0, 0)
        rest = nodes.below[nodes.array[n].depth] - nodes.below[log[number].ends]
        if rest <= 0.0 or V <= 0.0:
            return m, V
        if rest + s2 <= V:  # rounding: the cell has no other information
            return value, s2
        precision = 1.0 / V - 1.0 / (rest + s2)
        prior = 1.0 / precision + rest
        prior_mean = (m / V - value / (rest + s2)) / precision
        share = prior / (prior + s2)
        return prior_mean + share * (value - prior_mean), share * s2

    def best_played(self, deviations):
        """Return the last observation of the cell with the highest mean - deviations std."""
        posterior = self.posterior_
        self.search.best_observed(deviations)
        for i in range(posterior.logged - 1, -1, -1):
            if posterior.log[i].node == self.search.best_node:
                return i
        return NONE


# ---------------------------------------------------------------------- local quadratic models
# (Calling NumPy for arrays this small would cost more than the arithmetic.)


def distances(coordinates, center, radius):
    """Return the maximum-norm distance of each row from a center, in units of the radius."""
    x: cython.double[:, :] = coordinates
    c: cython.double[::1] = center
    inverse: cython.double[::1] = 1.0 / radius  # a division takes longer than everything else
    found = np.empty(len(coordinates))
    farthest: cython.double[::1] = found
    for i in range(x.shape[0]):
        most: cython.double = 0.0
        for j in range(x.shape[1]):
            away: cython.double = fabs(x[i, j] - c[j]) * inverse[j]
            if away > most:
                most = away
        farthest[i] = most
    return found


def quadratic_terms(coordinates, center, radius, mixed):
    """Return the terms of a quadratic in each row: 1, s, s^2/2, and products if it is mixed.

    s is the distance from the center in units of the radius.
    """
    x: cython.double[:, :] = coordinates
    c: cython.double[::1] = center
    r: cython.double[::1] = radius
    d: cython.int = x.shape[1]
    found = np.empty((len(coordinates), 1 + 2 * d + (d * (d - 1) // 2 if mixed else 0)))
    t: cython.double[:, ::1] = found
    with_products: cython.bint = mixed
    for i in range(x.shape[0]):
        t[i, 0] = 1.0
        for j in range(d):
            s: cython.double = (x[i, j] - c[j]) / r[j]
            t[i, 1 + j] = s
            t[i, 1 + d + j] = 0.5 * s * s
        if with_products:
            column: cython.int = 1 + 2 * d
            for j in range(d):
                for k in range(j + 1, d):
                    t[i, column] = t[i, 1 + j] * t[i, 1 + k]
                    column += 1
    return found


def cholesky_solve(matrix, vector):
    """Solve a system with a symmetric matrix by Cholesky; None if it is not positive definite."""
    lower = np.array(matrix)
    solution = np.array(vector)
    a: cython.double[:, ::1] = lower
    x: cython.double[::1] = solution
    n: cython.int = x.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total: cython.double = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            if j < i:
                a[i, j] = total / a[j, j]
            elif total > 0.0:
                a[i, i] = sqrt(total)
            else:
                return None
    for i in range(n):
        for k in range(i):
            x[i] -= a[i, k] * x[k]
        x[i] /= a[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= a[k, i] * x[k]
        x[i] /= a[i, i]
    return solution


def climb_quadratic(coefficients, mixed, start, low, high, step):
    """Return a local maximum of a quadratic in a box, by exact steps along each coordinate.

    The coordinates are those of the terms: distances from the center in units of the radius.
    Where `step` is not 0, a coordinate is a multiple of it.
    """
    b: cython.double[::1] = coefficients
    least: cython.double[::1] = low
    most: cython.double[::1] = high
    grid: cython.double[::1] = step
    found = np.array(start)
    x: cython.double[::1] = found
    d: cython.int = x.shape[0]
    with_products: cython.bint = mixed
    for _ in range(CLIMB):
        farthest: cython.double = 0.0
        for j in range(d):
            slope: cython.double = b[1 + j]
            if with_products:
                column: cython.int = 1 + 2 * d
                for i in range(d):
                    for k in range(i + 1, d):
                        if i == j:
                            slope += b[column] * x[k]
                        elif k == j:
                            slope += b[column] * x[i]
                        column += 1
            curvature: cython.double = b[1 + d + j]
            lowest: cython.double = least[j]
            highest: cython.double = most[j]
            if grid[j] > 0.0:
                lowest = ceil(lowest / grid[j] - 1e-9) * grid[j]
                highest = floor(highest / grid[j] + 1e-9) * grid[j]
            if curvature < 0.0:
                best: cython.double = -slope / curvature
                if grid[j] > 0.0:
                    best = floor(best / grid[j] + 0.5) * grid[j]
                best = min(max(best, lowest), highest)
            elif slope + 0.5 * curvature * (lowest + highest) > 0.0:
                best = highest
            else:
                best = lowest
            farthest = max(farthest, fabs(best - x[j]))
            x[j] = best
        if farthest < 1e-6:
            break
    return found
