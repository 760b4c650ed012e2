# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The exact best arm, found by touching a few dozen nodes.

Relative to a node n an arm below has mean A + G m_n and variance S + G^2 V_n, where A, S and
0 <= G <= 1 depend on what lies inside n's subtree. So what was the maximum below n for another
(m_n, V_n, b) bounds the maximum now, as long as nothing inside has changed: see `_bound`. (b is the
number of standard deviations in a bound, sqrt(beta); other notation as in `_core.py`.)
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import sqrt

if not cython.compiled:
    from bough.belief.refit import Reprior

from bough._validation import at_least_zero
from bough.belief.nodes import aligned, grown, narrow
from bough.belief.rng import generator

ROOT = 0
NONE = -1
ENDLESS = 2**31 - 1
INF = float("inf")

BOUND = np.dtype(
    [(name, np.float64) for name in ("top", "m", "sd", "b", "gmax", "gmin", "smax")]
    + [("valid", np.int64)],
    align=True,
)

FRAME = np.dtype(
    [(name, np.int32) for name in ("node", "entry", "start")]
    + [(name, np.float64) for name in ("m", "sd", "top", "gmax", "gmin", "smax")],
    align=True,
)
ENTRY = np.dtype(
    [(name, np.float64) for name in ("bound", "m", "variance", "sd")] + [("node", np.int64)],
    align=True,
)

# The searches, each with bounds of its own, since bounds for one b say little about another.
UPPER = 0  # standard deviations count pending evaluations, here and in OPEN; else told ones only
OPEN = 1  # over arms that are neither known exactly nor pending
CEILING = 2
LOWER = 3
MEAN = 4
PLAYED_LOWER = 5  # over nodes where a reward was told
PLAYED_MEAN = 6
SEARCHES = 7


class Arm:
    """One arm and what is believed of it.

    Attributes
    ----------
    path : tuple of int
    params : dict or None
        What the path stands for in a space; None on a plain tree.
    mean, std : float
        Posterior mean and standard deviation of its reward. For an arm that was never played, and
        whose length is not known (in a tree whose branching is a function), those of full depth.
    lower, upper : float
        `mean` minus and plus as many `std` as the call asked for.
    value : float or None
        Mean of the rewards told for it, None if there were none.
    visits : int
        How many rewards were told for it.
    """

    def __init__(self, path, params, mean, std, lower, upper, value, visits):
        self.path = path
        self.params = params
        self.mean = mean
        self.std = std
        self.lower = lower
        self.upper = upper
        self.value = value
        self.visits = visits

    def __reduce__(self):
        return Arm, self._values()

    def __eq__(self, other):
        return isinstance(other, Arm) and self._values() == other._values()

    def __hash__(self):
        return hash(self._values()[:1] + self._values()[2:])

    def __repr__(self):
        words = ", ".join(f"{k}={v!r}" for k, v in zip(FIELDS, self._values(), strict=True))
        return f"Arm({words})"

    def _values(self):
        return tuple([getattr(self, name) for name in FIELDS])


FIELDS = ("path", "params", "mean", "std", "lower", "upper", "value", "visits")


class Choice(Reprior):
    """A core that finds its best arm, by upper bound, lower bound or mean."""

    def __init__(self, tree, increments, noise, mean, single_steps):
        self.rows = 0
        self.row = np.full(SEARCHES, NONE, dtype=np.int32)
        self.bounds = aligned(BOUND, (0, 0))
        self.touched = 0
        Reprior.__init__(self, tree, increments, noise, mean, single_steps)
        self._make_frames()

    def clear(self):
        for row in range(self.rows):
            for n in range(self.used):
                self.bounds[row, n].valid = 0
        Reprior.clear(self)

    def _make_frames(self):
        self.frames = aligned(FRAME, self.trail.shape[0])
        self.entries = aligned(ENTRY, 64)

    def _reserve(self, more):
        if self.rows and self.used + more > self.bounds.shape[1]:
            capacity = max(2 * self.bounds.shape[1], self.used + more)
            self.bounds = self._longer_bounds(self.rows, capacity)
        Reprior._reserve(self, more)

    def _longer_bounds(self, rows, capacity):
        """Return a copy with room for more; what is new is not valid, being zero."""
        bounds = aligned(BOUND, (rows, capacity if rows else 0))
        for r in range(self.rows):
            bounds[r, : self.used] = np.asarray(self.bounds)[r, : self.used]
        return bounds

    def _changed(self):
        """Drop the bounds along the trail: even a pending reading made new nodes."""
        Reprior._changed(self)
        for i in range(self.trailed):
            for row in range(self.rows):
                self.bounds[row, self.trail[i]].valid = 0

    def _reopened(self):
        """Drop all bounds.

        Those of OPEN left out arms that were known, also where steps without variance hang on them.
        """
        for r in range(self.rows):
            for n in range(self.used):
                self.bounds[r, n].valid = 0

    def _believe(self, increments, noise, mean, likelihood):
        Reprior._believe(self, increments, noise, mean, likelihood)
        self._reopened()

    def highest_upper(self, sqrt_beta, *, rng=None):
        """Return the arm with the highest mean + sqrt_beta std. Exact.

        The standard deviations count pending evaluations as observations. Ties are broken at
        random (`rng`: an int or a `numpy.random.Generator`), or without an rng by lowest index.
        """
        b: cython.double = (
            sqrt_beta
            if type(sqrt_beta) is float and 0.0 <= sqrt_beta < INF
            else at_least_zero(sqrt_beta, "sqrt_beta")
        )
        return self._highest(UPPER, b, generator(rng))

    def highest_lower(self, sqrt_beta, *, rng=None):
        """Return the arm with the highest mean - sqrt_beta std, by what was told. Exact."""
        b: cython.double = at_least_zero(sqrt_beta, "sqrt_beta")
        return self._highest(LOWER, -b, generator(rng))

    def highest_mean(self, *, rng=None):
        """Return the arm with the highest mean. Exact."""
        return self._highest(MEAN, 0.0, generator(rng))

    def _highest_open(self, sqrt_beta, *, rng=None):
        """Return `highest_upper` over arms that are neither known exactly nor pending, or None."""
        b: cython.double = at_least_zero(sqrt_beta, "sqrt_beta")
        return self._highest(OPEN, b, generator(rng))

    def _ceiling(self, sqrt_beta):
        """Return `highest_upper` by told observations only.

        Where arms are nodes, it is that of all nodes that there are or can be, down to the leaves.
        """
        b: cython.double = at_least_zero(sqrt_beta, "sqrt_beta")
        return self._highest(CEILING, b, None)

    def _best_played(self, deviations):
        """Return the node with the highest mean - deviations std where a reward was told."""
        b: cython.double = at_least_zero(deviations, "deviations")
        return self._highest(PLAYED_LOWER if b > 0.0 else PLAYED_MEAN, -b, None)

    def _existing_steps(self, path):
        """Return how many steps of a path lead to nodes that exist."""
        self._approach(path, False)
        return self.found

    def _told_steps(self, path):
        """Return how many steps of a path lead to nodes at or below which something was told."""
        self._approach(path, False)
        return self._told_on_trail()

    @cython.final
    def _told_on_trail(self):
        """Return how many steps of the trail lead to such nodes."""
        steps = -1  # the root is no step
        for i in range(self.trailed):
            n = self.trail[i]
            if not self._is_group(n) and (self.nodes_[n].visits > 0 or n == ROOT):
                steps += 1
        return steps

    def _arm_at(self, path):
        """Return the node as an arm, by told observations only, with bounds of no width."""
        self._approach(path, False)
        value = None
        visits = 0
        n = self.trail[self.trailed - 1]
        if self.found == self.length and self.nodes_[n].count > 0:
            visits = self.nodes_[n].count
            value = self.nodes_[n].average
        mean = self.m + self.center
        return Arm(
            self._path(self.length), None, mean, sqrt(self.variance), mean, mean, value, visits
        )

    def _highest(self, kind, b, rng):
        self._check_made()
        if self.row[kind] == NONE:
            self.bounds = self._longer_bounds(self.rows + 1, self.nodes_.shape[0])
            self.row[kind] = self.rows
            self.rows += 1
        self._search(kind, b, rng)
        n = self.best_node
        if n == NONE:
            return None
        mean = self.best_m + self.center
        sd = self.best_sd
        b = abs(b)
        value = None
        visits = 0
        path = self._path_to(n)
        if self.played_only or self._is_arm(n):
            visits = self.nodes_[n].count
            if visits:
                value = self.nodes_[n].average
        else:
            path = self._complete(n, path, rng)  # may ask the user how many children there are
        arm: Arm = Arm.__new__(Arm)  # not by `__init__`, which costs more than the search
        arm.path = tuple(path)
        arm.params = None
        arm.mean = mean
        arm.std = sd
        arm.lower = mean - b * sd
        arm.upper = mean + b * sd
        arm.value = value
        arm.visits = visits
        return arm

    def _search(self, kind, b, rng):
        """Find the best arm by branch and bound, depth first; leave it in `best_...`.

        Of the children whose bound is above the best arm found so far the highest is
        entered first; on leaving a node its bound is replaced by what its children said.
        """
        top = 0  # the frame that we are in
        ties = 0
        m = self.nodes_[ROOT].offset
        variance = self.nodes_[ROOT].spread
        self.bounds_row = self.row[kind]
        self.b = b
        self.counts_pending = kind <= OPEN and self.waiting > 0
        self.skips_known = kind == OPEN
        self.played_only = kind >= PLAYED_LOWER
        self.covers_all = kind == CEILING and self.single_steps
        if self.counts_pending:
            variance = self.pending_[ROOT].spread
        self.best = -INF
        self.best_node = NONE
        self.ties = 0
        self.touched = 1
        extra = self._extra_seen(ROOT, variance)
        if extra >= 0.0:
            self._consider(ROOT, m, sqrt(variance + extra), rng)
        entries = self._enter(0, ROOT, NONE, 0, m, variance, sqrt(variance), rng)
        while top >= 0:
            first = NONE
            hi = -INF
            for i in range(self.frames[top].start, entries):
                if self.entries[i].bound > hi:
                    hi = self.entries[i].bound
                    first = i
                    ties = 0
                elif self.entries[i].bound == hi and first != NONE:
                    n = self.entries[i].node
                    weight = self._weight(n)
                    if ties == 0:
                        ties = self._weight(self.entries[first].node)
                    ties += weight
                    if self._prefer(n, self.entries[first].node, weight, ties, rng):
                        first = i
            if hi > self.best:
                top += 1
                entries = self._enter(
                    top,
                    self.entries[first].node,
                    first,
                    entries,
                    self.entries[first].m,
                    self.entries[first].variance,
                    self.entries[first].sd,
                    rng,
                )
            else:
                self._leave(top, hi, entries)
                entries = self.frames[top].start
                top -= 1

    @cython.final
    def _bound(self, c, m, sd):
        """Bound the best arm below the children of c, for F_c of mean m and deviation sd.

        top + gmax (m - m')+ - gmin (m' - m)+ + gmax (b (sd - sd'))+ + smax (b - b')+
        """
        row = self.bounds_row
        if not self.bounds[row, c].valid:
            return INF
        bound: cython.double = self.bounds[row, c].top
        change = m - self.bounds[row, c].m
        bound += change * (self.bounds[row, c].gmax if change > 0.0 else self.bounds[row, c].gmin)
        change = self.b * (sd - self.bounds[row, c].sd)
        if change > 0.0:
            bound += change * self.bounds[row, c].gmax
        change = self.b - self.bounds[row, c].b
        if change > 0.0:
            bound += change * self.bounds[row, c].smax
        return bound

    @cython.final
    def _enter(self, top, n, entry, entries, m, variance, sd, rng):
        """Open a frame for n: evaluate its children's arms, list those worth entering."""
        c = self.nodes_[n].child
        best_here = -INF
        gmax: cython.double = 0.0
        gmin: cython.double = 1.0
        smax: cython.double = 0.0
        row = self.bounds_row
        b: cython.double = self.b
        pending = self.counts_pending
        selective = self.skips_known or self.played_only or self.covers_all
        single_steps = self.single_steps
        self.frames[top].node = n
        self.frames[top].entry = entry
        self.frames[top].start = entries
        self.frames[top].m = m
        self.frames[top].sd = sd
        while c != NONE:
            self.touched += 1
            g = self.nodes_[c].g
            q = g
            spread = self.nodes_[c].spread
            if pending and self.pending_[c].count:
                q = self.pending_[c].q
                spread = self.pending_[c].spread
            child_m = g * m + self.nodes_[c].offset
            child_variance = spread + q * q * variance
            extra = self.nodes_[c].extra
            if selective:
                extra = self._extra_seen(c, child_variance)
            if extra >= 0.0:
                arm_sd = sqrt(child_variance + extra)
                value = child_m + b * arm_sd
                if value > best_here:
                    best_here = value
                if value >= self.best:
                    self._consider(c, child_m, arm_sd, rng)
                gmax = max(gmax, g)
                gmin = min(gmin, g)
                smax = max(smax, arm_sd)
            # Below a new node that was not played nothing is an arm yet.
            if self.nodes_[c].child != NONE and not (single_steps and self._is_arm(c)):
                child_sd = sqrt(child_variance)
                bound = self._bound(c, child_m, child_sd)
                if bound > self.best:
                    if entries == self.entries.shape[0]:
                        self.entries = grown(self.entries, ENTRY, 2 * entries)
                    self.entries[entries].bound = bound
                    self.entries[entries].m = child_m
                    self.entries[entries].variance = child_variance
                    self.entries[entries].sd = child_sd
                    self.entries[entries].node = c
                    entries += 1
                else:
                    if bound > best_here:
                        best_here = bound
                    gmax = max(gmax, g * self.bounds[row, c].gmax)
                    gmin = min(gmin, g * self.bounds[row, c].gmin)
                    smax = max(smax, self._largest_sd(c, child_sd))
            c = self.nodes_[c].sibling
        self.frames[top].top = best_here
        self.frames[top].gmax = gmax
        self.frames[top].gmin = gmin
        self.frames[top].smax = smax
        return entries

    def _extra_seen(self, n, variance):
        """Return `extra` of a node as this search sees it: -1 where it sees no arm."""
        extra = self.nodes_[n].extra
        if self.played_only:
            return 0.0 if self.nodes_[n].count > 0 else -1.0
        if self.covers_all:
            if self._is_group(n):
                return -1.0
            if self.nodes_[n].explored < self.nodes_[n].branching:
                return self.rest[self.nodes_[n].depth]
            return 0.0
        if self.skips_known and (variance + extra == 0.0 or self._is_awaited(n)):
            return -1.0
        return extra

    @cython.final
    def _largest_sd(self, c, sd):
        """Bound the standard deviation of the arms below c's children, now that F_c has sd."""
        row = self.bounds_row
        grown_by = sd - self.bounds[row, c].sd
        if grown_by > 0.0:  # only after `forget`
            return self.bounds[row, c].smax + self.bounds[row, c].gmax * grown_by
        return self.bounds[row, c].smax

    @cython.final
    def _leave(self, top, hi, entries):
        """Close a frame: keep what was found as the node's bound, and tell the parent's frame."""
        n = self.frames[top].node
        row = self.bounds_row
        gmax: cython.double = self.frames[top].gmax
        gmin: cython.double = self.frames[top].gmin
        smax: cython.double = self.frames[top].smax
        for i in range(self.frames[top].start, entries):
            c = self.entries[i].node
            g = self.nodes_[c].g
            gmax = max(gmax, g * self.bounds[row, c].gmax)
            gmin = min(gmin, g * self.bounds[row, c].gmin)
            smax = max(smax, self._largest_sd(c, self.entries[i].sd))
        hi = max(hi, self.frames[top].top)
        self.bounds[row, n].top = hi
        self.bounds[row, n].m = self.frames[top].m
        self.bounds[row, n].sd = self.frames[top].sd
        self.bounds[row, n].b = self.b
        self.bounds[row, n].gmax = gmax
        self.bounds[row, n].gmin = gmin
        self.bounds[row, n].smax = smax
        self.bounds[row, n].valid = 1
        if self.frames[top].entry != NONE:
            self.entries[self.frames[top].entry].bound = hi

    @cython.final
    def _consider(self, n, m, sd, rng):
        """Take the node's own arm for the best if it is."""
        value = m + self.b * sd
        if value < self.best:
            return
        if value == self.best:
            self.ties += 1
            if not self._prefer(n, self.best_node, 1, self.ties, rng):
                return
        else:
            self.ties = 1
        self.best = value
        self.best_node = n
        self.best_m = m
        self.best_sd = sd

    def _prefer(self, n, other, weight, total, rng):
        """Return whether n is preferred to those that are alike: its weight of a total so far."""
        if rng is not None:
            return rng.below(total) < weight
        return (
            self.nodes_[n].parent == self.nodes_[other].parent
            and self.nodes_[n].index < self.nodes_[other].index
        )

    def _path_to(self, n):
        """Return the path of a node, as a list."""
        path = []
        while self.nodes_[n].parent != NONE:
            if not self._is_group(n):
                path.append(int(self.nodes_[n].index))
            n = self.nodes_[n].parent
        path.reverse()
        return path

    def _complete(self, n, path, rng):
        """Take the path to n on through an unexplored child, to the end of an arm."""
        path.append(int(self._unexplored(n, rng)))
        if self.single_steps:
            return path
        for d in range(self.nodes_[n].depth + 1, self.depth):
            width: cython.int = (
                narrow(self.tree.children(tuple(path))) if self.ragged else self.widths[d]
            )
            if width == 0:
                break
            path.append(0 if rng is None or width == ENDLESS else rng.below(width))
        return path

    def _unexplored(self, n, rng):
        """Return the index of an unexplored child: a random one, the lowest without an rng.

        Walks the list, which is sorted, and into the one group that holds it.
        """
        rank = 0  # how many unexplored children there are before it
        if rng is not None and self.nodes_[n].branching < ENDLESS:
            rank = rng.below(self.nodes_[n].branching - self.nodes_[n].explored)
        after = 0  # the index after what was passed
        c = self.nodes_[n].child
        while c != NONE:
            if rank < self.nodes_[c].index - after:
                break
            rank -= self.nodes_[c].index - after
            after = self.nodes_[c].index
            if not self._is_group(c):
                after += 1
                c = self.nodes_[c].sibling
                continue
            size = 1 << self.nodes_[self.nodes_[c].parent].group_bits
            free = min(size, self.nodes_[n].branching - after) - self.nodes_[c].explored
            if rank < free:
                c = self.nodes_[c].child
            else:
                rank -= free
                after += size
                c = self.nodes_[c].sibling
        return after + rank

    def _state(self):
        state = Reprior._state(self)
        state["row"] = np.array(self.row)
        state["bounds"] = np.array(np.asarray(self.bounds)[:, : self.used])
        state["touched"] = self.touched
        return state

    def __setstate__(self, state):
        Reprior.__setstate__(self, state)
        self.row = np.array(state["row"])
        self.rows = len(state["bounds"])
        self.bounds = aligned(BOUND, state["bounds"].shape)
        np.asarray(self.bounds)[...] = state["bounds"]
        self.touched = state["touched"]
        self._make_frames()
