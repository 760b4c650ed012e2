# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Counts and averages of rewards by node: the memory of searchers that have no model."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

from bough._nodes import aligned, grown

ROOT = 0
NONE = -1
INF = float("inf")

TALLY = np.dtype(
    [
        (name, np.int32)
        for name in (
            "child", "sibling", "parent", "index", "branching", "explored", "visits", "waiting",
        )
    ]
    + [("average", np.float64)],
    align=True,
)  # fmt: skip


class Tallies:
    """The nodes that were visited, with what was received through them."""

    def __init__(self, tree):
        self.tree = tree
        self._set_widths()
        self.observations = 0
        self.arms = 0
        self.within = 0.0
        self.scatter = 0.0
        self.lowest = INF
        self.highest = -INF
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
        view = np.asarray(self.nodes_)[: self.used].view(np.ndarray)
        view.flags.writeable = False
        return view

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
        """Take in the reward of a checked path, for every node on it."""
        n = self.end_of(path)
        self.observations += 1
        self.lowest = min(self.lowest, reward)
        self.highest = max(self.highest, reward)
        change = reward - self.nodes_[n].average  # from what the same arm gave before
        if self.nodes_[n].visits == 0:
            self.arms += 1
        else:
            self.within += change * change * self.nodes_[n].visits / (self.nodes_[n].visits + 1.0)
        while n != NONE:
            self.nodes_[n].visits += 1
            change = reward - self.nodes_[n].average
            self.nodes_[n].average += change / self.nodes_[n].visits
            if n == ROOT:
                self.scatter += change * (reward - self.nodes_[n].average)
            n = self.nodes_[n].parent

    def variance(self):
        """Return the variance of rewards of one and the same arm, as far as anybody knows.

        While no arm was played twice it is that of all rewards, which is the most it can be.
        """
        if self.observations > self.arms:
            return self.within / (self.observations - self.arms)
        return self.scatter / max(self.observations - 1.0, 1.0)

    def wait(self, path, change):
        """Count one more (or one fewer) pending evaluation of a checked path."""
        n = self.end_of(path)
        while n != NONE:
            self.nodes_[n].waiting += change
            n = self.nodes_[n].parent

    # ------------------------------------------------------------------ selection

    def descend(self, exploration, rng):
        """Return the path that UCT selects, and random below the nodes that exist.

        At a node whose children were all visited, the one with the highest average
        + exploration sqrt(log(visits of the node) / visits of the child); pending ones are visits.
        """
        n = ROOT
        path = []
        while self.nodes_[n].explored == self.nodes_[n].branching:
            if self.nodes_[n].branching == 0:
                return tuple(path)
            log_visits = log(1.0 * self.nodes_[n].visits + self.nodes_[n].waiting)
            best = -INF
            choice = NONE
            ties = 0
            c = self.nodes_[n].child
            while c != NONE:
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
        rank = rng.below(self.nodes_[n].branching - self.nodes_[n].explored)
        path.append(int(self._unexplored(n, rank)))
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
        while self.nodes_[n].branching:
            best = NONE
            c = self.nodes_[n].child
            while c != NONE:
                if (
                    best == NONE
                    or self.nodes_[c].visits > self.nodes_[best].visits
                    or (
                        self.nodes_[c].visits == self.nodes_[best].visits
                        and self.nodes_[c].average > self.nodes_[best].average
                    )
                ):
                    best = c
                c = self.nodes_[c].sibling
            n = best
        return n

    def _unexplored(self, n, rank):
        """Return the index of the child that has so many unexplored ones before it."""
        after = 0
        c = self.nodes_[n].child
        while c != NONE and rank >= self.nodes_[c].index - after:
            rank -= self.nodes_[c].index - after
            after = self.nodes_[c].index + 1
            c = self.nodes_[c].sibling
        return after + rank

    # ------------------------------------------------------------------ saving

    def __reduce__(self):
        return _blank, (), self._state()

    def _state(self):
        nodes = np.array(np.asarray(self.nodes_)[: self.used])
        rewards = self.arms, self.within, self.scatter
        return self.tree, nodes, self.observations, self.lowest, self.highest, rewards

    def __setstate__(self, state):
        self.tree, nodes, self.observations, self.lowest, self.highest, rewards = state
        self.arms, self.within, self.scatter = rewards
        self._set_widths()
        self.used = len(nodes)
        self.nodes_ = grown(nodes, TALLY, max(256, self.used))


def _blank():
    return Tallies.__new__(Tallies)
