# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Counts and averages of rewards by node: the memory of searchers that have no model."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

from bough.belief.nodes import aligned, grown, read_only

ROOT = 0
NONE = -1
INF = float("inf")

TALLY = np.dtype(
    [
        (name, np.int32)
        for name in (
            "child", "sibling", "parent", "index", "branching", "explored", "visits", "waiting",
            "busy", "ended",
        )
    ]
    + [(name, np.float64) for name in ("average", "itself", "bound")],
    align=True,
)  # fmt: skip


class Tallies:
    """The nodes that were visited, with what was received through them.

    A node is *busy* if playing below it now would teach nothing new: all of its arms are pending
    or, where rewards are exact, told. Selection leaves busy nodes out while there are others.
    """

    def __init__(self, tree, exact=False):
        self.tree = tree
        self.exact = exact
        self._set_widths()
        self.observations = 0
        self.arms = 0
        self.within = 0.0
        self.scatter = 0.0
        self.used = 0
        self.nodes_ = aligned(TALLY, 256)
        self._new(NONE, 0, self._width((), 0))

    def _set_widths(self):
        self.ragged = self.tree.counts is None
        self.widths = np.zeros(self.tree.depth + 1, dtype=np.int32)
        for d, count in enumerate(self.tree.counts or ()):
            self.widths[d] = count

    def _width(self, path, length):
        """Return how many children the node has where so many steps of a path lead."""
        if not self.ragged:
            return self.widths[length]
        width = self.tree.children(path[:length])
        if width == INF:
            raise ValueError(
                f"the branching must be finite here, but node {path[:length]} has no end"
            )
        return int(width)

    @property
    def nodes(self):
        """The nodes as a read-only NumPy record array, parents by number; 0 is the root."""
        return read_only(self.nodes_, TALLY, self.used)

    # ------------------------------------------------------------------ nodes

    def _new(self, parent, index, branching):
        """Make a node, which the list of its parent does not hold yet."""
        n = self.used
        self.nodes_[n].child = NONE
        self.nodes_[n].sibling = NONE
        self.nodes_[n].parent = parent
        self.nodes_[n].index = index
        self.nodes_[n].branching = branching
        self.used += 1
        return n

    @cython.final
    def _find(self, n, index):
        """Return the child with that index, or NONE; leave the one before it in `before`."""
        self.before = NONE
        c = self.nodes_[n].child
        while c != NONE and self.nodes_[c].index < index:
            self.before = c
            c = self.nodes_[c].sibling
        if c != NONE and self.nodes_[c].index == index:
            return c
        return NONE

    def end_of(self, path):
        """Return the node at the end of a checked path, made if need be, lists in order."""
        length = len(path)
        n = ROOT
        found = 0
        while True:
            if self.ragged and self.nodes_[n].branching != self._width(path, found):
                raise ValueError(
                    f"the tree's branching function changed its mind about node {path[:found]}; "
                    "it must always give the same answer"
                )
            if found == length:
                break
            c = self._find(n, path[found])
            if c == NONE:
                break
            n = c
            found += 1
        if found == length:
            return n
        # All is asked of the tree before anything is changed, since a function may raise.
        widths = [self._width(path, i + 1) for i in range(found, length)]
        while self.used + length > self.nodes_.shape[0]:
            self.nodes_ = grown(self.nodes_, TALLY, 2 * self.nodes_.shape[0])
        before = self.before
        for i in range(found, length):
            c = self._new(n, path[i], widths[i - found])
            self.nodes_[n].explored += 1
            if before == NONE:
                self.nodes_[c].sibling = self.nodes_[n].child
                self.nodes_[n].child = c
            else:
                self.nodes_[c].sibling = self.nodes_[before].sibling
                self.nodes_[before].sibling = c
            before = NONE
            n = c
        return n

    def path_to(self, n):
        """Return the path of a node."""
        path = []
        while self.nodes_[n].parent != NONE:
            path.append(int(self.nodes_[n].index))
            n = self.nodes_[n].parent
        path.reverse()
        return tuple(path)

    # ------------------------------------------------------------------ rewards

    def add(self, path, reward):
        """Take in the reward of a checked path, for every node on it; return where it ends."""
        end = self.end_of(path)
        self.observations += 1
        was_busy = self._is_busy(end)
        is_leaf = self.nodes_[end].branching == 0
        ended = self.nodes_[end].ended
        # The change from what the same arm gave before. (Through an inner node others pass.)
        change = reward - (self.nodes_[end].average if is_leaf else self.nodes_[end].itself)
        if ended == 0:
            self.arms += 1
        else:
            self.within += change * change * ended / (ended + 1.0)
        self.nodes_[end].ended += 1
        if not is_leaf:
            self.nodes_[end].itself += change / self.nodes_[end].ended
        n = end
        while n != NONE:
            self.nodes_[n].visits += 1
            change = reward - self.nodes_[n].average
            self.nodes_[n].average += change / self.nodes_[n].visits
            if n == ROOT:
                self.scatter += change * (reward - self.nodes_[n].average)
            n = self.nodes_[n].parent
        if self._is_busy(end) and not was_busy:
            self._count_busy(end, 1)
        return end

    def variance(self):
        """Return the variance of rewards of one and the same arm, as far as anybody knows.

        While no arm was played twice it is that of all rewards, which is the most it can be.
        """
        if self.observations > self.arms:
            return self.within / (self.observations - self.arms)
        return self.scatter / max(self.observations - 1.0, 1.0)

    def wait(self, path, change):
        """Count one more (or one fewer) pending evaluation of a checked path; return its end."""
        end = self.end_of(path)
        was_busy = self._is_busy(end)
        n = end
        while n != NONE:
            self.nodes_[n].waiting += change
            n = self.nodes_[n].parent
        is_busy = self._is_busy(end)
        if is_busy != was_busy:
            self._count_busy(end, 1 if is_busy else -1)
        return end

    # ------------------------------------------------------------------ busy nodes

    @cython.final
    def _is_busy(self, n):
        if self.nodes_[n].branching:
            return self.nodes_[n].busy == self.nodes_[n].branching
        return self.nodes_[n].waiting > 0 or (self.exact and self.nodes_[n].visits > 0)

    def is_busy(self):
        """Return whether all arms are pending or, where rewards are exact, told."""
        return bool(self._is_busy(ROOT))

    def _count_busy(self, n, change):
        """Count a node that has become (or is no longer) busy, as far up as it matters."""
        n = self.nodes_[n].parent
        while n != NONE:
            was_busy = self._is_busy(n)
            self.nodes_[n].busy += change
            if self._is_busy(n) == was_busy:
                return
            n = self.nodes_[n].parent

    # ------------------------------------------------------------------ selection

    def descend(self, exploration, rng):
        """Return the path that UCT selects, and random below the nodes that exist.

        At a node whose children were all visited, the one with the highest average
        + exploration sqrt(log(visits of the node) / visits of the child); pending ones are visits.
        """
        n = ROOT
        path = []
        skipping = not self._is_busy(ROOT)
        while self.nodes_[n].explored == self.nodes_[n].branching:
            if self.nodes_[n].branching == 0:
                return tuple(path)
            log_visits = log(1.0 * self.nodes_[n].visits + self.nodes_[n].waiting)
            best = -INF
            choice = NONE
            ties = 0
            c = self.nodes_[n].child
            while c != NONE:
                if skipping and self._is_busy(c):
                    c = self.nodes_[c].sibling
                    continue
                count = self.nodes_[c].visits + self.nodes_[c].waiting
                # Of a child that is pending only, the parent's average is expected.
                expected = self.nodes_[c if self.nodes_[c].visits else n].average
                score = expected + exploration * sqrt(log_visits / count) if count else INF
                if score > best:
                    best = score
                    choice = c
                    ties = 1
                elif score == best:
                    ties += 1
                    if rng.below(ties) == 0:
                        choice = c
                c = self.nodes_[c].sibling
            n = choice
            path.append(int(self.nodes_[n].index))
        path.append(self._fresh(n, rng))
        return self._finish(path, rng)

    def wander(self, rng):
        """Return a random path, at each node to any child alike (but to none that is busy)."""
        return self._wander(ROOT, [], rng)

    def _wander(self, n, path, rng):
        """Return a random completion of the path to a node."""
        skipping = not self._is_busy(n)
        while n != NONE:
            width = self.nodes_[n].branching
            if width == 0:
                return tuple(path)
            if skipping and self.nodes_[n].busy:
                index = self._idle(n, rng.below(width - self.nodes_[n].busy))
            else:
                index = rng.below(width)
            path.append(int(index))
            n = self._find(n, index)
        return self._finish(path, rng)

    def _finish(self, path, rng):
        """Return a random completion of a path that leads to where there are no nodes yet."""
        while True:
            width = self._width(tuple(path) if self.ragged else (), len(path))
            if width == 0:
                return tuple(path)
            path.append(rng.below(width))

    def most_visited(self):
        """Return the arm where one comes by the most visited child each time, as a node.

        Of those visited equally often, the one with the highest average.
        """
        n = ROOT
        while True:
            best = NONE
            c = self.nodes_[n].child
            while c != NONE:
                if self.nodes_[c].visits and (
                    best == NONE
                    or self.nodes_[c].visits > self.nodes_[best].visits
                    or (
                        self.nodes_[c].visits == self.nodes_[best].visits
                        and self.nodes_[c].average > self.nodes_[best].average
                    )
                ):
                    best = c
                c = self.nodes_[c].sibling
            if best == NONE:
                return n
            n = best

    def _fresh(self, n, rng):
        """Return the index of a random unexplored child."""
        rank = rng.below(self.nodes_[n].branching - self.nodes_[n].explored)
        after = 0
        c = self.nodes_[n].child
        while c != NONE and rank >= self.nodes_[c].index - after:
            rank -= self.nodes_[c].index - after
            after = self.nodes_[c].index + 1
            c = self.nodes_[c].sibling
        return int(after + rank)

    def _idle(self, n, rank):
        """Return the index of the child that has so many before it that are not busy."""
        c = self.nodes_[n].child
        while c != NONE and self.nodes_[c].index <= rank:
            if self._is_busy(c):
                rank += 1
            c = self.nodes_[c].sibling
        return rank

    # ------------------------------------------------------------------ saving

    def __reduce__(self):
        return _blank, (type(self),), self._state()

    def _state(self):
        """Return all there is to save, as plain objects and arrays."""
        return {
            "tree": self.tree,
            "exact": bool(self.exact),
            "nodes": np.array(np.asarray(self.nodes_)[: self.used]),
            "observations": self.observations,
            "spread": (self.arms, self.within, self.scatter),
        }

    def __setstate__(self, state):
        self.tree = state["tree"]
        self.exact = state["exact"]
        self.observations = state["observations"]
        self.arms, self.within, self.scatter = state["spread"]
        self._set_widths()
        self.used = len(state["nodes"])
        self.nodes_ = grown(state["nodes"], TALLY, max(256, self.used))


def _blank(cls):
    return cls.__new__(cls)
