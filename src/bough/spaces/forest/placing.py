# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""From points to the cells of a covering and back, and what a belief is told of them.

A forest tells every reward to each of its coverings, and each looks for the cell of the point. That
is most of what it does, so it is done here: a point is followed down the cuts, straight into the
path that the belief reads.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import isnan

if not cython.compiled:
    from math import isnan

    from bough.belief.nodes import GROUP, NONE, TINY

from bough.belief.nodes import aligned

CUT = np.dtype([("share", np.float64), ("slot", np.int32), ("last", np.int32)], align=True)


class Placing:
    """The way from points to nodes of a belief, and from nodes to cells.

    Parameters
    ----------
    covering : Covering
    belief : Belief
        About the tree of that covering.
    finer : int
        A reading is placed so many steps below the last node that was there before.
    """

    def __init__(self, covering, belief, finer):
        self.covering = covering
        self.belief = belief
        self.nodes = belief.node_array
        self.posterior_ = belief.propagation
        self.search = belief.arm_search
        self.finer = finer
        counts = covering.counts
        self.single = np.array([count is not None for count in counts], dtype=np.int32)
        self.size = np.array([1.0 if count is None else float(count) for count in counts])
        self.low = np.zeros(len(counts))
        self.high = np.zeros(len(counts))
        # Plans as they were needed so far, by number: their cuts, their choice, what comes after.
        self.plans = []
        self.first = np.zeros(1, dtype=np.int32)
        self.cuts = aligned(CUT, 0)
        self.begins = np.zeros(0, dtype=np.int32)
        self.choice = np.zeros(0, dtype=np.int32)
        self.after = np.zeros((0, 0), dtype=np.int32)
        self._add_plan(covering.first)

    def __reduce__(self):
        return Placing, (self.covering, self.belief, self.finer)

    # ------------------------------------------------------------------ cuts

    def _add_plan(self, plan):
        """Take in a plan, and return its number."""
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
        most = max(np.asarray(self.after).shape[1], len(plan.options))
        after = np.full((number + 1, most), NONE, dtype=np.int32)
        after[:number, : np.asarray(self.after).shape[1]] = np.asarray(self.after)
        self.after = after
        return number

    def _plan_after(self, p, option):
        """Return the number of the plan that comes after an option of a plan's choice."""
        if self.after[p, option] == NONE:
            added = self._add_plan(self.covering.option(self.plans[p], option))
            self.after[p, option] = added
        return self.after[p, option]

    def _cut(self, i, slot, low, high):
        """Return where a cell is cut."""
        if not self.single[slot]:
            return low + self.cuts[i].share * (high - low)
        return self.covering.cut_between(slot, int(low), int(high), self.cuts[i].share)

    def _descend(self, point, length):
        """Follow a point down so many cuts at most, and return how many there were.

        Its path is left in the belief's `steps`, the number of children of each node on it in
        `widths`, and the cell where it ends in `low` and `high`. Without a point the path is
        followed that is in `steps`.
        """
        nodes = self.nodes
        by_point = point is not None
        for slot in range(self.size.shape[0]):
            self.low[slot] = 0.0
            self.high[slot] = self.size[slot]
        p: cython.int = 0
        at: cython.int = 0
        while True:
            for i in range(self.first[p], self.first[p + 1]):
                if at == length:
                    return at
                slot = self.cuts[i].slot
                low = self.low[slot]
                high = self.high[slot]
                if self.single[slot] and (self.cuts[i].last or high - low == 1.0):
                    if by_point:
                        nodes.steps[at] = cython.cast(cython.int, point[slot] - low)
                        nodes.widths[at] = cython.cast(cython.int, high - low)
                    self.low[slot] = low + nodes.steps[at]
                    self.high[slot] = self.low[slot] + 1.0
                else:
                    cut = self._cut(i, slot, low, high)
                    if by_point:
                        nodes.steps[at] = 1 if point[slot] >= cut else 0
                        nodes.widths[at] = 2
                    if nodes.steps[at]:
                        self.low[slot] = cut
                    else:
                        self.high[slot] = cut
                at += 1
            slot = self.choice[p]
            if slot < 0 or at == length:
                return at
            if by_point:
                nodes.steps[at] = cython.cast(cython.int, point[slot])
                nodes.widths[at] = len(self.plans[p].options)
            step = nodes.steps[at]
            self.low[slot] = step
            self.high[slot] = step + 1.0
            p = self._plan_after(p, step)
            at += 1

    def path(self, point):
        """Return the complete path of a point, and how many children there are along it."""
        nodes = self.nodes
        length = self._descend(point, nodes.depth)
        nodes.widths[length] = 0
        path = [int(nodes.steps[i]) for i in range(length)]
        return tuple(path), [int(nodes.widths[i]) for i in range(length + 1)]

    def _cells(self, length):
        """Return the cell at the end of the first so many `steps`: ranges and choices, by slot."""
        nodes = self.nodes
        self._descend(None, length)
        cells = {}
        chosen = {}
        p: cython.int = 0
        at: cython.int = 0
        while at < length:
            for i in range(self.first[p], min(self.first[p + 1], self.first[p] + length - at)):
                slot = self.cuts[i].slot
                cells[slot] = (self.low[slot], self.high[slot])
            at += self.first[p + 1] - self.first[p]
            if at < length:
                chosen[self.choice[p]] = int(nodes.steps[at])
                p = self.after[p, nodes.steps[at]]
                at += 1
        return cells, chosen

    # ------------------------------------------------------------------ readings

    def paths(self, points):
        """Return the steps of the paths of some points, a row each, -1 where a path has ended."""
        nodes = self.nodes
        rows: cython.double[:, ::1] = points
        found = np.full((len(points), nodes.depth), NONE, dtype=np.int32)
        steps: cython.int[:, ::1] = found
        for row in range(rows.shape[0]):
            for i in range(self._descend(rows[row], nodes.depth)):
                steps[row, i] = nodes.steps[i]
        return found

    def tell(self, points, values, noises, depths):
        """Tell the belief of rewards that are new to it.

        Parameters
        ----------
        points : array of float, of two dimensions
            Positions, a row for each point.
        values, noises : array of float
            A noise that is NaN is the belief's.
        depths : array of int
            How many steps of the path the first of them take at most. The others take a few more
            than were told about.
        """
        nodes = self.nodes
        rows: cython.double[:, ::1] = points
        value: cython.double[::1] = values
        noise: cython.double[::1] = noises
        given: cython.int[::1] = depths
        for row in range(rows.shape[0]):
            ends = self._descend(rows[row], nodes.depth)
            nodes.widths[ends] = 0
            if row < given.shape[0]:
                length = given[row]
            else:
                nodes.locate(ends)
                length = nodes.observed_on_trail() + self.finer
            self._observe(min(length, ends), ends, value[row], noise[row])

    def _observe(self, length, ends, value, noise):
        """Tell the belief of a reading at the end of the first so many `steps`, as `observe` does.

        The point itself is at the end of more of them.
        """
        nodes = self.nodes
        posterior = self.posterior_
        own_noise = not isnan(noise)
        share = 1.0
        if own_noise:
            share = noise * noise if noise * noise >= TINY else 0.0
        nodes.length = length
        nodes.found = nodes.locate(length)
        for i in range(nodes.found, length):
            nodes.variance += nodes.increments[i + 1]
        s2 = posterior.variance_of(own_noise, share, length, ends)
        posterior.observe_at_trail(None, value, s2, own_noise, ends, share)
        return 0

    def slots(self):
        """Return, for each node of the belief, which parameter the step to it cuts; -1 for none."""
        nodes = self.nodes
        found = np.full(nodes.used, NONE, dtype=np.int32)
        plans = np.zeros(nodes.used, dtype=np.int32)
        cut: cython.int[::1] = found
        plan: cython.int[::1] = plans
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
        return found

    # ------------------------------------------------------------------ what is believed

    def posterior(self, number: cython.int):
        """Return mean and variance of the point of a reading, given it and all others.

        The belief takes the reading for one of a random point of the cell, with the variance that
        is left there as noise. That this very point was read is added here: without the reading
        the cell has some other mean and variance, and the point that variance and what is left.
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
        if rest + s2 <= V:  # rounding: the reading said all that is known of the cell
            return value, s2
        precision = 1.0 / V - 1.0 / (rest + s2)
        prior = 1.0 / precision + rest
        prior_mean = (m / V - value / (rest + s2)) / precision
        share = prior / (prior + s2)
        return prior_mean + share * (value - prior_mean), share * s2

    def best_played(self, deviations):
        """Return the last reading of the cell with the highest mean - deviations std."""
        posterior = self.posterior_
        self.search.best_observed(deviations)
        for i in range(posterior.logged - 1, -1, -1):
            if posterior.log[i].node == self.search.best_node:
                return i
        return NONE

    def highest(self, sqrt_beta, rng):
        """Return the cell in which the arm with the highest upper confidence bound lies.

        That is the largest cell around it of which nothing is known: ranges and choices, by slot.
        """
        nodes = self.nodes
        arm = self.search.highest_upper(sqrt_beta, rng)
        length: cython.int = nodes.array[self.search.best_node].depth
        path = arm.path
        for i in range(length):
            nodes.steps[i] = path[i]
        if length < len(path):
            nodes.steps[length] = path[length]
            length += 1
        return self._cells(length)
