# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""All-moves-as-first statistics by node and label: the memory of RAVE.

Beside what `Tallies` keeps, a node n has for each label l that occurred below it

    count, average    of the rewards of plays through n with l at a later step,

each play counted once, however often the label occurs in it. They are cells of one hash table, by
node and label. A node keeps them from its second play on: those of its first play follow from the
one path below it, and most nodes are played once.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

from bough.belief.nodes import aligned, grown, record
from bough.searchers.baselines.tallies import Tallies

ROOT = 0
NONE = -1
INF = float("inf")
MASK = 2**64 - 1
#: 2^64 divided by the golden ratio: multiples of it are spread evenly.
GOLDEN = 0x9E3779B97F4A7C15

LABEL_STATE = record(("label children kept", np.int32))
CELL = record(("key", np.uint64), ("average", np.float64), ("count", np.int32))


class LabeledTallies(Tallies):
    """Tallies whose nodes also average rewards by the labels of later steps."""

    def __init__(self, tree, labels=None, reference=0, bias=0.0, equivalence=0.0):
        self.labels = labels
        self.reference = reference
        self.bias = bias
        self.equivalence = equivalence
        self.numbers = {}
        self.states = aligned(LABEL_STATE, 256)
        self.cells = aligned(CELL, 256)
        self.shift = 64 - 8
        self.filled = 0
        self.child_labels = np.zeros(256, dtype=np.int32)
        self.listed = 0
        self.stamps = np.zeros(256, dtype=np.int64)
        self.now = 0
        self.distinct = np.zeros(tree.depth + 1, dtype=np.int32)
        self.scores = np.zeros(16)
        Tallies.__init__(self, tree)
        self.states[ROOT].children = NONE

    def __reduce__(self):
        arguments = self.tree, self.labels, self.reference, self.bias, self.equivalence
        states = np.array(np.asarray(self.states)[: self.used])
        cells = aligned(CELL, len(self.cells))
        cells[:] = np.asarray(self.cells)  # by fields: zeros in the padding of records
        child_labels = np.array(np.asarray(self.child_labels)[: self.listed])
        own = self.numbers, states, cells, self.filled, child_labels
        return type(self), arguments, (Tallies.__reduce__(self)[2], own)

    def __setstate__(self, state):
        Tallies.__setstate__(self, state[0])
        self.numbers, states, cells, self.filled, child_labels = state[1]
        self.states = grown(states, LABEL_STATE, max(256, len(states)))
        self.cells = grown(cells, CELL, len(cells))
        self.shift = 65 - len(cells).bit_length()
        self.listed = len(child_labels)
        self.child_labels = _longer(child_labels, max(256, self.listed))

    # ------------------------------------------------------------------ labels

    def _number(self, path):
        """Return the number of the label of a path's last step, a new one for a new label."""
        label = self.labels(path)
        try:
            return self.numbers.setdefault(label, len(self.numbers))
        except TypeError:
            raise TypeError(
                f"labels must return something hashable, but labels({path}) is {label!r}; for an "
                "array, return a tuple"
            ) from None

    def node_at(self, path):
        """Return the node at the end of a validated path, with the missing nodes added."""
        first = self.used
        numbers = []
        if self.labels is not None:  # called before anything is changed, since it may raise
            n = ROOT
            for i in range(len(path)):
                if n != NONE:
                    n = self._find(n, path[i])
                if n == NONE:
                    numbers.append(self._number(path[: i + 1]))
        end = Tallies.node_at(self, path)
        while self.used > self.states.shape[0]:
            self.states = grown(self.states, LABEL_STATE, 2 * self.states.shape[0])
        for n in range(first, self.used):
            self.states[n].children = NONE
            is_index = self.labels is None
            self.states[n].label = self.nodes_[n].index if is_index else numbers[n - first]
        return end

    def _list_children(self, n, path):
        """Note the labels of all children of a node."""
        branching = self.nodes_[n].branching
        numbers = [self._number((*path, k)) for k in range(branching)]
        while self.listed + branching > self.child_labels.shape[0]:
            self.child_labels = _longer(self.child_labels, 2 * self.child_labels.shape[0])
        for k in range(branching):
            self.child_labels[self.listed + k] = numbers[k]
        c = self.nodes_[n].child
        while c != NONE:
            index = self.nodes_[c].index
            if self.states[c].label != numbers[index]:
                raise ValueError(
                    f"labels is inconsistent at node {(*path, index)}: it must always return the "
                    "same label"
                )
            c = self.nodes_[c].sibling
        self.states[n].children = self.listed
        self.listed += branching

    # ------------------------------------------------------------------ cells

    def cell(self, path, label):
        """Return count and average of the rewards through a node with a label at a later step."""
        n = self.node_at(path)
        if self.nodes_[n].visits:
            self._keep(n)
        i = self._slot(n, label if self.labels is None else self.numbers.get(label, -1))
        return int(self.cells[i].count), float(self.cells[i].average)

    @cython.final
    def _key(self, n, label):
        node = cython.cast(cython.ulonglong, n)
        return (node << 32) + cython.cast(cython.ulonglong, label) + 1

    @cython.final
    def _home(self, key):
        """Return the position at which the search for a key begins."""
        return ((cython.cast(cython.ulonglong, key) * GOLDEN) & MASK) >> self.shift

    @cython.final
    def _slot(self, n, label):
        """Return the position of the cell of a node and a label, or of the empty one to fill."""
        key = self._key(n, label)
        mask: cython.ulonglong = self.cells.shape[0] - 1
        i: cython.ulonglong = self._home(key)
        while self.cells[i].key != 0 and self.cells[i].key != key:
            i = (i + 1) & mask
        return i

    def _add_to_cell(self, n, label, reward):
        i = self._slot(n, label)
        if self.cells[i].key == 0:
            self.cells[i].key = self._key(n, label)
            self.filled += 1
        self.cells[i].count += 1
        self.cells[i].average += (reward - self.cells[i].average) / self.cells[i].count
        if 5 * self.filled > 3 * self.cells.shape[0]:
            self._rehash()

    def _rehash(self):
        """Double the size of the hash table."""
        old = self.cells
        self.cells = aligned(CELL, 2 * old.shape[0])
        self.shift -= 1
        mask: cython.ulonglong = self.cells.shape[0] - 1
        for j in range(old.shape[0]):
            if old[j].key != 0:
                i: cython.ulonglong = self._home(old[j].key)
                while self.cells[i].key != 0:
                    i = (i + 1) & mask
                self.cells[i] = old[j]

    def _note(self, label, noted):
        """Add a label to the `noted` distinct ones of this round; return how many there are."""
        while label >= self.stamps.shape[0]:
            self.stamps = _longer(self.stamps, 2 * self.stamps.shape[0])
        if self.stamps[label] == self.now:
            return noted
        self.stamps[label] = self.now
        self.distinct[noted] = label
        return noted + 1

    def _keep(self, n):
        """Keep the statistics of a node from now on: fill in those of its first play."""
        if self.states[n].kept or self.nodes_[n].visits != 1:
            return
        self.states[n].kept = 1
        self.now += 1
        noted = 0
        c = self.nodes_[n].child
        while c != NONE:
            if self.nodes_[c].visits:
                noted = self._note(self.states[c].label, noted)
                c = self.nodes_[c].child
            else:  # pending
                c = self.nodes_[c].sibling
        for j in range(noted):
            self._add_to_cell(n, self.distinct[j], self.nodes_[n].average)

    def add(self, path, reward):
        """Record the reward of a validated path at every node on it; return the last one."""
        end = self.node_at(path)
        n = end
        while n != NONE:
            self._keep(n)
            n = self.nodes_[n].parent
        Tallies.add(self, path, reward)
        self.now += 1
        noted = 0
        n = end
        while n != ROOT:
            noted = self._note(self.states[n].label, noted)
            n = self.nodes_[n].parent
            if self.states[n].kept:
                for j in range(noted):
                    self._add_to_cell(n, self.distinct[j], reward)
        return end

    # ------------------------------------------------------------------ selection

    def descend(self, rng, exploration=0.0):
        """Return the path of the highest scores, random below the existing nodes."""
        n = ROOT
        source = ROOT  # of the statistics: the closest node with enough plays
        path = []
        skipping = not self._is_exhausted(ROOT)
        while self.nodes_[n].branching:
            self._keep(n)
            if self.nodes_[n].visits >= self.reference:
                source = n
            if self.labels is not None and self.states[n].children == NONE:
                self._list_children(n, tuple(path))
            index = self._choose_child(n, source, skipping, exploration, rng)
            path.append(index)
            n = self._find(n, index)
            if n == NONE:
                return self._complete(NONE, path, rng)
        return tuple(path)

    def _choose_child(self, n, source, skipping, exploration, rng):
        """Return the index of the child with the highest score, a random one of several.

        Children without any statistics come first.
        """
        branching = self.nodes_[n].branching
        while branching > self.scores.shape[0]:
            self.scores = np.zeros(2 * self.scores.shape[0])
        unknown = self._score_all(n, source, exploration)
        choice = NONE
        if unknown:
            nth = rng.below(unknown)
            for k in range(branching):
                if self.scores[k] == INF:
                    if nth == 0:
                        choice = k
                        break
                    nth -= 1
            return choice
        best = -INF
        ties = 0
        c = self.nodes_[n].child
        for k in range(branching):
            is_node = c != NONE and self.nodes_[c].index == k
            exhausted = is_node and self._is_exhausted(c)
            if is_node:
                c = self.nodes_[c].sibling
            if skipping and exhausted:
                continue
            score = self.scores[k]
            if choice == NONE or score > best:
                best = score
                choice = k
                ties = 1
            elif score == best:
                ties += 1
                if rng.below(ties) == 0:
                    choice = k
        return choice

    def _score_all(self, n, source, exploration):
        """Set the scores of all children; return how many have no statistics (and score INF)."""
        log_visits = log(max(1.0, 1.0 * self.nodes_[n].visits + self.nodes_[n].pending))
        first = self.states[n].children
        unknown = 0
        c = self.nodes_[n].child
        for k in range(self.nodes_[n].branching):
            visits = 0
            count = 0
            mean = self.nodes_[n].average
            if c != NONE and self.nodes_[c].index == k:
                visits = self.nodes_[c].visits
                count = visits + self.nodes_[c].pending
                if visits:
                    mean = self.nodes_[c].average
                c = self.nodes_[c].sibling
            i = self._slot(source, k if self.labels is None else self.child_labels[first + k])
            shared = self.cells[i].count
            if shared:
                mean += self._weight(visits, shared) * (self.cells[i].average - mean)
            elif count == 0:
                self.scores[k] = INF
                unknown += 1
                continue
            self.scores[k] = mean + exploration * sqrt(log_visits / max(1, count))
        return unknown

    def _weight(self, visits, shared):
        """Return beta, the weight of the average by label, from the two numbers of rewards."""
        if visits == 0:
            return 1.0
        if self.equivalence > 0.0:
            return sqrt(self.equivalence / (3.0 * visits + self.equivalence))
        return shared / (visits + shared + 4.0 * self.bias * self.bias * visits * shared)


def _longer(array, size):
    """Return a copy of an array with room for more entries."""
    longer = np.zeros(size, dtype=np.asarray(array).dtype)
    longer[: len(array)] = array
    return longer
