# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The best arm of each subtree as a random variable, kept up to date along every observation.

M_n is the maximum of F over the arms below node n. Given F_n = x the children of n are independent,
so M_n given x is the maximum of independent variables, one for each explored child and one for all
that are unexplored. Each is kept as a normal variable whose mean is linear in x,

    M_n given F_n = x  ~  normal(a_n + k_n x, variance_n),

and the maximum of two is taken by its first two moments (Clark 1961), linearised at the posterior
mean of F_n. Both are approximations. On trees of 27 arms and a dozen observations, against samples
of the posterior, they understate the expected maximum by a sixth of its standard deviation, and
that by a quarter.
"""

from __future__ import annotations

import math

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

if not cython.compiled:
    from bough.belief.best_arm import Choice
    from bough.belief.rng import SplitMix64

from bough.belief.nodes import aligned, grown
from bough.belief.rng import generator

ROOT = 0
NONE = -1
ENDLESS = 2**31 - 1
INF = float("inf")

#: The normal distribution is tabulated so far out, at so many places a standard deviation.
FARTHEST = 8.0
PLACES = 64.0
#: Tables of the best of u fresh children hold u = 1, 2, .. up to this, then a geometric sequence.
EXACT_COUNTS = 64
COUNT_RATIO = 1.1

MAXIMUM = np.dtype(
    [(name, np.float64) for name in ("a", "k", "variance", "x")]
    + [(name, np.int32) for name in ("closed", "determined")],
    align=True,
)


def _normal_table():
    """Return density and upper tail of the normal distribution at 0, 1/PLACES, .. FARTHEST."""
    places = [i / PLACES for i in range(int(FARTHEST * PLACES) + 1)]
    rows = [
        (math.exp(-x * x / 2) / math.sqrt(2 * math.pi), math.erfc(x / math.sqrt(2)) / 2)
        for x in places
    ]
    return np.array(rows)


NORMAL = _normal_table()


def table_counts(most):
    """Return the numbers u of fresh children that the tables hold: up to `most` and beyond."""
    counts = [float(u) for u in range(1, min(most, EXACT_COUNTS) + 1)]
    last = float(EXACT_COUNTS)
    while last < most:
        last *= COUNT_RATIO
        counts.append(last)
    return counts


class Subtree(Choice):
    """A core that also knows the best of each subtree, once `look_ahead` was called."""

    def __init__(self, tree, increments, noise, mean, single_steps):
        self.summarised = 0
        Choice.__init__(self, tree, increments, noise, mean, single_steps)

    def look_ahead(self, mean, sd):
        """Keep maxima from now on.

        `mean[i, j]` and `sd[i, j]` are those of the best of `table_counts(...)[j]` fresh children
        of a node at depth i, relative to F of the node.
        """
        self.ahead_mean = mean
        self.ahead_sd = sd
        self.means = np.zeros(self.trail.shape[0])
        self.maxima = aligned(MAXIMUM, self.nodes_.shape[0])
        self.summarised = 0
        self._summarise_all()

    def clear(self):
        Choice.clear(self)
        if self.summarised:
            self._summarise_all()

    @property
    def subtree_maxima(self):
        """The maxima as a read-only record array, one for each of `nodes`."""
        view = np.asarray(self.maxima)[: self.summarised].view(np.ndarray)
        view.flags.writeable = False
        return view

    def _summarise_all(self):
        """Take all maxima anew, each at the posterior mean of its node, the deepest first."""
        self.summarised = self.used
        n = ROOT
        self.maxima[ROOT].x = self.nodes_[ROOT].offset
        while True:
            while self.nodes_[n].child != NONE:
                self._set_mean(self.nodes_[n].child, n)
                n = self.nodes_[n].child
            while True:
                self._summarise(n, self.maxima[n].x)
                parent = self.nodes_[n].parent
                if parent == NONE:
                    return
                if self.nodes_[n].sibling != NONE:
                    break
                n = parent
            n = self.nodes_[n].sibling
            self._set_mean(n, parent)

    @cython.final
    def _set_mean(self, n, parent):
        """Let the maximum of n be taken at its posterior mean, which its parent tells."""
        self.maxima[n].x = self.nodes_[n].g * self.maxima[parent].x + self.nodes_[n].offset

    def _believe(self, increments, noise, mean, likelihood):
        """Take another prior; maxima are no longer kept until `look_ahead` is called again."""
        self.summarised = 0
        Choice._believe(self, increments, noise, mean, likelihood)

    def _reserve(self, more):
        if self.summarised and self.used + more > self.maxima.shape[0]:
            capacity = max(2 * self.maxima.shape[0], self.used + more)
            self.maxima = grown(self.maxima, MAXIMUM, capacity)
        Choice._reserve(self, more)

    def _changed(self):
        Choice._changed(self)
        if self.summarised == 0:
            return
        m = 0.0
        for i in range(self.trailed):
            n = self.trail[i]
            m = self.nodes_[n].g * m + self.nodes_[n].offset
            self.means[i] = m
        # Nodes that are new and not on the trail: groups, and children with a mean of their own.
        while self.summarised < self.used:
            n = self.summarised
            self.summarised += 1
            self._summarise(n, self.maxima[self.nodes_[n].parent].x)
        for i in range(self.trailed - 1, -1, -1):
            self._summarise(self.trail[i], self.means[i])

    @cython.final
    def _summarise(self, n, x):
        """Take the maximum of a node from its children and its unexplored ones, for F_n near x."""
        depth = self.nodes_[n].depth
        c = self.nodes_[n].child
        closed = True
        determined = True
        self.merged = False
        while c != NONE:
            k = self.maxima[c].k
            spread = self._spread(c)
            self._merge(
                self.maxima[c].a + k * (self.nodes_[c].g * x + self.nodes_[c].offset),
                self.maxima[c].variance + k * k * spread,
                k * self.nodes_[c].g,
            )
            if not self.maxima[c].closed:
                closed = False
                if spread > 0.0 or not self.maxima[c].determined:
                    determined = False
            c = self.nodes_[c].sibling
        fresh = self._fresh(n)
        if fresh > 0:
            sd = self._ahead(self.ahead_sd, depth, fresh)
            self._merge(x + self._ahead(self.ahead_mean, depth, fresh), sd * sd, 1.0)
            closed = False
            if self.tail[depth] > 0.0:
                determined = False
        elif not self.merged:  # a leaf
            self._merge(x, 0.0, 1.0)
            closed = False
        if determined and self._q(n) == 0.0:  # F of the node is known
            closed = True
        if self._is_awaited(n):
            closed = True
        self.maxima[n].a = self.top - self.top_slope * x
        self.maxima[n].k = self.top_slope
        self.maxima[n].variance = self.top_variance
        self.maxima[n].x = x
        self.maxima[n].closed = closed
        self.maxima[n].determined = determined

    @cython.final
    def _merge(self, mean, variance, slope):
        """Take the maximum of what was merged so far and one more independent variable."""
        if not self.merged:
            self.merged = True
            self.top = mean
            self.top_variance = variance
            self.top_slope = slope
            return
        gap = mean - self.top
        both = variance + self.top_variance
        if gap > 0.0:  # moments are taken relative to the larger mean
            mean, self.top = self.top, mean
            variance, self.top_variance = self.top_variance, variance
            slope, self.top_slope = self.top_slope, slope
        else:
            gap = -gap
        # Beyond eight standard deviations the smaller one adds less than 1e-15 of them.
        if gap * gap >= FARTHEST * FARTHEST * both:
            return
        theta = sqrt(both)
        alpha = gap / theta
        # Density and upper tail of the normal distribution at alpha, by Taylor's formula at the
        # nearest place of the table: to 1e-12.
        place = cython.cast(cython.int, alpha * PLACES + 0.5)
        a0 = place * (1.0 / PLACES)
        x = alpha - a0
        h2 = a0 * a0 - 1.0
        h3 = a0 * (a0 * a0 - 3.0)
        h4 = a0 * h3 - 3.0 * h2
        density: cython.double = NORMAL[place, 0]
        below: cython.double = NORMAL[place, 1] - density * x * (
            1.0 + x * (-0.5 * a0 + x * ((1.0 / 6.0) * h2 - x * (1.0 / 24.0) * h3))
        )  # the chance that the smaller one is the larger after all
        density *= 1.0 + x * (
            -a0 + x * (0.5 * h2 + x * ((-1.0 / 6.0) * h3 + x * (1.0 / 24.0) * h4))
        )
        rise = theta * density - gap * below
        second = (
            self.top_variance * (1.0 - below)
            + (gap * gap + variance) * below
            - gap * theta * density
        )
        self.top += rise
        self.top_variance = max(second - rise * rise, 0.0)
        self.top_slope += (slope - self.top_slope) * below

    @cython.final
    def _ahead(self, table, depth, count):
        """Look up the best of so many fresh children."""
        if count <= EXACT_COUNTS:
            return table[depth, count - 1]
        place = EXACT_COUNTS - 1 + log(count / (1.0 * EXACT_COUNTS)) / log(COUNT_RATIO)
        j: cython.int = min(
            cython.cast(cython.int, place), cython.cast(cython.int, table.shape[1]) - 2
        )
        share = min(place - j, 1.0)
        return (1.0 - share) * table[depth, j] + share * table[depth, j + 1]

    @cython.final
    def _fresh(self, n):
        """Return how many unexplored children the node has; of an endless one, a working number."""
        if self.nodes_[n].count < 0:  # a group
            return 0
        if self.nodes_[n].branching == ENDLESS:
            return max(self.nodes_[n].visits, 1)
        return self.nodes_[n].branching - self.nodes_[n].explored

    @cython.final
    def _q(self, n):
        if self.waiting and self.pending_[n].count:
            return self.pending_[n].q
        return self.nodes_[n].g

    @cython.final
    def _spread(self, n):
        """Return the variance of F_n given the parent's, with pending evaluations counted."""
        if self.waiting and self.pending_[n].count:
            return self.pending_[n].spread
        return self.nodes_[n].spread

    @cython.final
    def _next(self, c, n):
        """Return the node after c among the children of n, groups opened; NONE after the last."""
        if (c != n and self.nodes_[c].count >= 0) or self.nodes_[c].child == NONE:
            while c != n and self.nodes_[c].sibling == NONE:
                c = self.nodes_[c].parent
            if c == n:
                return NONE
            c = self.nodes_[c].sibling
        else:
            c = self.nodes_[c].child
        while self.nodes_[c].count < 0:
            c = self.nodes_[c].child
        return c

    def descend(self, exploration, skip_known, rng):
        """Return the arm that selection by subtree maxima comes to.

        With `skip_known`, arms that are known exactly or pending are left out; None if all are.

        At each node the child (or the unexplored ones together) with the highest
        mean + exploration sqrt(2 log(1 + visits) / sqrt(options)) sd of its maximum is taken:
        visits of the node where one chooses, and how many there are to choose from.
        """
        if self.summarised == 0:
            raise RuntimeError("call look_ahead first")
        bonus_scale: cython.double = exploration
        # (Before anything was told an arm may be known too, if the prior says so: it is played.)
        skip: cython.bint = skip_known and self.observations + self.waiting > 0
        random: SplitMix64 = generator(rng)
        n = ROOT
        m = self.nodes_[ROOT].offset
        variance = self._spread(ROOT)
        while not self._is_arm(n):
            gap = m - self.maxima[n].x
            if gap * gap > self.maxima[n].variance:
                self._summarise(n, m)
            visits = self.nodes_[n].visits
            if self.waiting and self.pending_[n].count:
                visits += self.pending_[n].count
            options = self.nodes_[n].explored + (1 if self._fresh(n) > 0 else 0)
            bonus = bonus_scale * sqrt(2.0 * log(1.0 + visits) / sqrt(1.0 * options))
            choice = self._highest_child(n, m, variance, bonus, skip, random)
            if choice == NONE:
                return None
            if choice == n:
                return tuple(self._complete(n, self._path_to(n), random))
            q = self._q(choice)
            m = self.nodes_[choice].g * m + self.nodes_[choice].offset
            variance = self._spread(choice) + q * q * variance
            n = choice
        if skip and (variance == 0.0 or self.maxima[n].closed):
            return None
        return tuple(self._path_to(n))

    @cython.final
    def _highest_child(self, n, m, variance, bonus, skip, random):
        """Return the child of n with the highest mean + bonus sd of its maximum.

        n itself stands for its unexplored children, NONE for no child; F_n has posterior mean m.
        """
        best = -INF
        choice = NONE
        ties = 0
        fresh = self._fresh(n)
        depth = self.nodes_[n].depth
        if fresh > 0 and not (skip and variance == 0.0 and self.tail[depth] == 0.0):
            best = (
                m
                + self._ahead(self.ahead_mean, depth, fresh)
                + bonus * self._ahead(self.ahead_sd, depth, fresh)
            )
            choice = n
            ties = 1
        c = self._next(n, n) if self.nodes_[n].child != NONE else NONE
        while c != NONE:
            k = self.maxima[c].k
            spread = self._spread(c)
            if not (skip and self._is_known(c, spread, variance)):
                score = (
                    self.maxima[c].a
                    + k * (self.nodes_[c].g * m + self.nodes_[c].offset)
                    + bonus * sqrt(self.maxima[c].variance + k * k * spread)
                )
                if score > best:
                    best = score
                    choice = c
                    ties = 1
                elif score == best:
                    ties += 1
                    if random is not None and random.below(ties) == 0:
                        choice = c
            c = self._next(c, n)
        return choice

    @cython.final
    def _is_known(self, c, spread, variance):
        """Return whether all arms below c are known, where F of its parent has the variance."""
        if self.maxima[c].closed:
            return True
        q = self._q(c)
        return self.maxima[c].determined and spread + q * q * variance == 0.0

    def best_first_step(self):
        """Return the step from the root whose subtree has the highest mean of its maximum."""
        if self.summarised == 0:
            raise RuntimeError("call look_ahead first")
        m = self.nodes_[ROOT].offset
        choice = self._highest_child(ROOT, m, self._spread(ROOT), 0.0, False, None)
        return self._unexplored(ROOT, None) if choice == ROOT else self.nodes_[choice].index

    def _state(self):
        state = Choice._state(self)
        if self.summarised:
            state["maxima"] = np.array(np.asarray(self.maxima)[: self.summarised])
            state["ahead"] = np.array(self.ahead_mean), np.array(self.ahead_sd)
        return state

    def __setstate__(self, state):
        Choice.__setstate__(self, state)
        self.summarised = 0
        if "maxima" in state:
            self.ahead_mean = np.array(state["ahead"][0])
            self.ahead_sd = np.array(state["ahead"][1])
            self.means = np.zeros(self.trail.shape[0])
            self.summarised = len(state["maxima"])
            self.maxima = grown(state["maxima"], MAXIMUM, self.nodes_.shape[0])
