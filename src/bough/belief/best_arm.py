# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The exact best arm, by branch and bound: a few dozen nodes are looked at.

Relative to a node n an arm below has mean A + G m_n and variance S + G^2 V_n, where A, S and
0 <= G <= 1 depend on the subtree of n alone. So the maximum below n that was found for another
(m_n, V_n, b) bounds the maximum now, as long as nothing in the subtree has changed, which is what
the stamp of n tells (and as long as no arm that was left out as known is unknown again): see
`_bound`. (b is the number of standard deviations in a bound, sqrt(beta); the rest of the notation
is that of `posterior.py`.)
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import sqrt

if not cython.compiled:
    from bough.belief.nodes import GROUP, INF, NO_ARM, NONE, ROOT, UNEXPLORED, Nodes

    # The searches, each with bounds of its own, since bounds for one b say little about another.
    UPPER = 0  # standard deviations count pending evaluations, here and in UNKNOWN
    UNKNOWN = 1  # over arms that are neither known exactly nor pending
    ALL = 2  # over all arms that there can be
    LOWER = 3
    MEAN = 4
    OBSERVED_LOWER = 5  # over nodes with observations of their own
    OBSERVED_MEAN = 6
    SEARCHES = 7

from bough._validation import at_least_zero
from bough.belief.nodes import aligned, grown, record
from bough.belief.rng import generator

BOUND = record(("top m sd b gmax gmin smax", np.float64), ("stamp", np.int64))
FRAME = record(("node entry start", np.int32), ("m sd top gmax gmin smax", np.float64))
ENTRY = record(("bound m variance sd", np.float64), ("node", np.int64))


class Arm:
    """An arm and the posterior of its reward.

    Attributes
    ----------
    path : tuple of int
    params : dict or None
        The parameters that the path stands for in a space; None on a plain tree.
    mean, std : float
        Posterior mean and standard deviation of its reward.
    lower, upper : float
        `mean` minus and plus the requested number of `std`.
    value : float or None
        Mean of the rewards observed at it, None if there were none.
    visits : int
        The number of rewards observed at it.
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


class ArmSearch:
    """Searches for the best arm, by upper bound, lower bound or mean."""

    def __init__(self, nodes: Nodes):
        self.nodes = nodes
        self.rows = 0
        self.row = np.full(SEARCHES, NONE, dtype=np.int32)
        self.bounds = aligned(BOUND, (0, 0))
        self.frames = aligned(FRAME, nodes.trail.shape[0])
        self.entries = aligned(ENTRY, 64)
        self.best_node = NONE
        self.touched = 0

    def highest_upper(self, sqrt_beta, rng):
        """Return the arm with the highest mean + sqrt_beta std."""
        b: cython.double = (
            sqrt_beta
            if type(sqrt_beta) is float and 0.0 <= sqrt_beta < INF
            else at_least_zero(sqrt_beta, "sqrt_beta")
        )
        return self._highest(UPPER, b, generator(rng))

    def highest_upper_unknown(self, sqrt_beta, rng):
        """Return the same of the arms that are neither known exactly nor pending, or None."""
        b: cython.double = at_least_zero(sqrt_beta, "sqrt_beta")
        return self._highest(UNKNOWN, b, generator(rng))

    def highest_upper_of_all(self, sqrt_beta):
        """Return the same by observations only, of all arms that there are or can be.

        Its standard deviation is that of full depth, if it was never played.
        """
        b: cython.double = at_least_zero(sqrt_beta, "sqrt_beta")
        return self._highest(ALL, b, None)

    def highest_lower(self, sqrt_beta, rng):
        """Return the arm with the highest mean - sqrt_beta std."""
        b: cython.double = at_least_zero(sqrt_beta, "sqrt_beta")
        return self._highest(LOWER, -b, generator(rng))

    def highest_mean(self, rng):
        """Return the arm with the highest mean."""
        return self._highest(MEAN, 0.0, generator(rng))

    def best_observed(self, deviations):
        """Return the node with the highest mean - deviations std of those observed, or None."""
        b: cython.double = at_least_zero(deviations, "deviations")
        return self._highest(OBSERVED_LOWER if b > 0.0 else OBSERVED_MEAN, -b, None)

    def _make_room(self, kind):
        """Make room for a bound of every node; what is new is not valid, its stamp being 0."""
        capacity = self.nodes.array.shape[0]
        if self.row[kind] != NONE and self.bounds.shape[1] >= capacity:
            return 0
        rows = self.rows + (1 if self.row[kind] == NONE else 0)
        bounds = aligned(BOUND, (rows, capacity))
        bounds[: self.rows, : self.bounds.shape[1]] = np.asarray(self.bounds)
        self.bounds = bounds
        if rows > self.rows:
            self.row[kind] = self.rows
            self.rows = rows
        return 0

    def _highest(self, kind, b, rng):
        """Return the best arm of a search, or None."""
        nodes = self.nodes
        self._make_room(kind)
        self._search(kind, b, rng)
        n = self.best_node
        if n == NONE:
            return None
        mean = self.best_m + nodes.center
        sd = self.best_sd
        b = abs(b)
        value = None
        visits = 0
        if self.observed_only or nodes.is_arm(n):
            path = nodes.path_to(n)
            visits = nodes.array[n].count
            if visits:
                value = nodes.array[n].average
        else:
            path = nodes.complete(n, rng)  # may call the user's branching function
            length: cython.int = len(path)
            if length < nodes.depth and not nodes.single_steps and kind != ALL:
                # The arm was found as one of full depth, and ends before.
                sd = sqrt(max(sd * sd - nodes.below[length], 0.0))
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
        entered first; on leaving a node its bound is replaced by the best of its children.
        """
        nodes = self.nodes
        top = 0  # the frame that the search is in
        ties = 0
        m = nodes.array[ROOT].offset
        variance = nodes.array[ROOT].spread
        self.bounds_row = self.row[kind]
        self.b = b
        self.counts_pending = kind <= UNKNOWN and nodes.waiting > 0
        self.skips_known = kind == UNKNOWN
        self.observed_only = kind >= OBSERVED_LOWER
        self.covers_all = kind == ALL and nodes.single_steps
        if self.counts_pending:
            variance = nodes.pending[ROOT].spread
        self.best = -INF
        self.best_node = NONE
        self.ties = 0
        self.touched = 1
        extra = self._extra(ROOT, variance)
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
                    weight = nodes.weight(n)
                    if ties == 0:
                        ties = nodes.weight(self.entries[first].node)
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
        return 0

    def _bound(self, c, m, sd):
        """Bound the best arm below the children of c, for F_c of mean m and deviation sd.

        top + gmax (m - m')+ - gmin (m' - m)+ + gmax (b (sd - sd'))+ + smax (b - b')+
        """
        row = self.bounds_row
        stamp = self.bounds[row, c].stamp
        if stamp < self.nodes.array[c].stamp or stamp < self.nodes.reopened:
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

    def _enter(self, top, n, entry, entries, m, variance, sd, rng):
        """Open a frame for n: evaluate its children's arms, list those worth entering."""
        nodes = self.nodes
        c = nodes.array[n].child
        best_here = -INF
        gmax: cython.double = 0.0
        gmin: cython.double = 1.0
        smax: cython.double = 0.0
        row = self.bounds_row
        b: cython.double = self.b
        pending = self.counts_pending
        selective = self.skips_known or self.observed_only or self.covers_all
        single_steps = nodes.single_steps
        unexplored: cython.double = 0.0  # variance that an UNEXPLORED arm of a child adds to V
        if nodes.array[n].depth < nodes.depth:
            unexplored = nodes.beyond[nodes.array[n].depth + 1]
        self.frames[top].node = n
        self.frames[top].entry = entry
        self.frames[top].start = entries
        self.frames[top].m = m
        self.frames[top].sd = sd
        while c != NONE:
            self.touched += 1
            g = nodes.array[c].g
            q = g
            spread = nodes.array[c].spread
            if pending and nodes.pending[c].count:
                q = nodes.pending[c].q
                spread = nodes.pending[c].spread
            child_m = g * m + nodes.array[c].offset
            child_variance = spread + q * q * variance
            extra = -1.0
            if nodes.array[c].arm != NO_ARM:
                extra = unexplored if nodes.array[c].arm == UNEXPLORED else 0.0
            if selective:
                extra = self._extra(c, child_variance)
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
            # Below a new node without observations nothing is an arm yet.
            if nodes.array[c].child != NONE and not (single_steps and nodes.is_arm(c)):
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
            c = nodes.array[c].sibling
        self.frames[top].top = best_here
        self.frames[top].gmax = gmax
        self.frames[top].gmin = gmin
        self.frames[top].smax = smax
        return entries

    def _extra(self, n, variance):
        """Return the variance that the node's arm adds to V; -1 if this search sees no arm."""
        nodes = self.nodes
        if self.observed_only:
            return 0.0 if nodes.array[n].count > 0 else -1.0
        if self.covers_all:
            if nodes.array[n].count == GROUP:
                return -1.0
            if nodes.array[n].explored < nodes.array[n].branching:
                return nodes.below[nodes.array[n].depth]
            return 0.0
        if nodes.array[n].arm == NO_ARM:
            return -1.0
        extra = nodes.beyond[nodes.array[n].depth] if nodes.array[n].arm == UNEXPLORED else 0.0
        if self.skips_known and (variance + extra == 0.0 or nodes.is_awaited(n)):
            return -1.0
        return extra

    def _largest_sd(self, c, sd):
        """Bound the standard deviation of the arms below c's children, now that F_c has sd."""
        row = self.bounds_row
        grown_by = sd - self.bounds[row, c].sd
        if grown_by > 0.0:  # only after `forget`
            return self.bounds[row, c].smax + self.bounds[row, c].gmax * grown_by
        return self.bounds[row, c].smax

    def _leave(self, top, hi, entries):
        """Close a frame: keep the best that was found as the bound of the node and its entry."""
        nodes = self.nodes
        n = self.frames[top].node
        row = self.bounds_row
        gmax: cython.double = self.frames[top].gmax
        gmin: cython.double = self.frames[top].gmin
        smax: cython.double = self.frames[top].smax
        for i in range(self.frames[top].start, entries):
            c = self.entries[i].node
            g = nodes.array[c].g
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
        self.bounds[row, n].stamp = nodes.now
        if self.frames[top].entry != NONE:
            self.entries[self.frames[top].entry].bound = hi

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
        nodes = self.nodes
        return (
            nodes.array[n].parent == nodes.array[other].parent
            and nodes.array[n].index < nodes.array[other].index
        )

    # ------------------------------------------------------------------ saving

    def state(self):
        """Return what `restore` needs, as plain objects and arrays."""
        used = self.nodes.used
        return {
            "row": np.array(self.row),
            "bounds": np.array(np.asarray(self.bounds)[:, :used]),
            "touched": self.touched,
        }

    def restore(self, state):
        """Take the state of another search on equal nodes, which are restored already."""
        self.row = np.array(state["row"])
        self.rows = len(state["bounds"])
        self.bounds = aligned(BOUND, state["bounds"].shape)
        np.asarray(self.bounds)[...] = state["bounds"]
        self.touched = state["touched"]
