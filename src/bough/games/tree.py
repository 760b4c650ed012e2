# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The tree of a game: playouts, proven values, and tallies of moves (all moves as first).

Values are those of the first player, between -1 and 1. A node is expanded at its second visit: then
all its children become nodes. Every node has bounds of the value of optimal play, which ended games
tighten, so a position may be solved (Winands, Bjornsson and Saito 2008).

Each expanded node counts, for each player and label of a move, the playouts through the node in
which that player made such a move there or later, and sums up their results. A *code* is twice the
number of a label, plus 1 for the second player.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

if not cython.compiled:
    from bough.belief.nodes import INF, NONE, ROOT
    from bough.belief.rng import SplitMix64

from bough._validation import real
from bough.belief.nodes import aligned, grown, opaque, record

#: Moves from the root after which a playout leaves the tree in any case.
MOST_DEPTH = 1000

GAME_NODE = record(
    ("parent first count label table visits depth", np.int32), ("sign total low high", np.float64)
)


class GameTree:
    """The part of the tree of a game that playouts have reached; subclasses choose the moves."""

    def __init__(self, rng: SplitMix64, counts_moves):
        self.rng = rng
        self.counts_moves = counts_moves
        self.node = aligned(GAME_NODE, 256)
        self.path = np.zeros(MOST_DEPTH + 1, dtype=np.int32)
        self.codes = np.zeros(256, dtype=np.int32)
        self.labels = []
        self.numbers = {}
        self.counts = np.zeros((0, 0), dtype=np.int32)
        self.sums = np.zeros((0, 0))
        self.marks = np.zeros(0, dtype=np.int32)
        self.distinct = np.zeros(0, dtype=np.int32)
        self.mark = 0
        self.clear()

    def clear(self):
        """Keep the root alone, and the numbers of labels."""
        self.used = 0
        self.tables = 0
        self.playouts = 0
        self.moves_played = 0
        self.moves = []
        self._new_node(NONE, 0, 0)
        self.moves.append(None)

    # ------------------------------------------------------------------ one playout

    def simulate(self, position):
        """Play a game from the position of the root to its end, and learn from the result.

        If the position raises an exception, what is known stays as it is.
        """
        try:
            result = self._play(position)
        except BaseException:
            self._undo()
            raise
        if self.has_ended:
            self._settle(self.path[self.length - 1], result)
        self._observe_result(result)

    def _play(self, position):
        """Play a game to its end, and return the result."""
        n: cython.int = ROOT
        is_new: cython.bint
        self.length = 1
        self.path[0] = ROOT
        self.coded = 0
        self.has_ended = False
        self._begin()
        while True:
            if self.node[n].first == NONE:
                is_new = self.node[n].visits == 0
                if is_new:
                    result = position.result()
                    if result is not None:
                        self.has_ended = True
                        return checked(result)
                    self.node[n].sign = -1.0 if is_second(position.player) else 1.0
                if not self._expands(n) or self.node[n].depth == MOST_DEPTH:
                    break
                self._expand(n, position)
            n = self._choose(n)
            position.play(self.moves[n])
            self._append_code(self.node[n].label, self.node[self.path[self.length - 1]].sign < 0.0)
            self.path[self.length] = n
            self.length += 1
        return self._finish(position)

    def _observe_result(self, value):
        """Count a playout and its result along the path."""
        for i in range(self.length):
            n = self.path[i]
            self.node[n].visits += 1
            self.node[n].total += value
        if self.counts_moves:
            self._count_moves(value)
        self.playouts += 1
        self.moves_played += self.coded
        self._observe(value)
        return 0

    def _finish(self, position):
        """Play at random to the end, and return the result."""
        playout = getattr(position, "playout", None)
        if playout is not None:  # a faster way to do the same
            for player, label in playout(self.rng.below):
                self._append_code(self._number(label), is_second(player))
        else:
            label_of = getattr(position, "label", None)
            while position.result() is None:
                moves = position.moves()
                if len(moves) == 0:
                    raise no_moves()
                move = moves[self.rng.below(len(moves))]
                label = move if label_of is None else label_of(move)
                self._append_code(self._number(label), is_second(position.player))
                position.play(move)
        return checked(position.result())

    def _append_code(self, number, is_second):
        """Append a move to those of the playout."""
        if self.coded == self.codes.shape[0]:
            codes = np.zeros(2 * self.coded, dtype=np.int32)
            codes[: self.coded] = self.codes
            self.codes = codes
        self.codes[self.coded] = 2 * number + is_second
        self.coded += 1
        return 0

    def _count_moves(self, result):
        """Count the moves of a playout in the tables of the nodes on its path, each label once."""
        self.mark += 1
        seen: cython.int = 0
        j: cython.int = self.coded
        i: cython.int
        k: cython.int
        for i in range(self.length - 1, -1, -1):
            while j > i:
                j -= 1
                code = self.codes[j]
                if self.marks[code] != self.mark:
                    self.marks[code] = self.mark
                    self.distinct[seen] = code
                    seen += 1
            t = self.node[self.path[i]].table
            if t != NONE:
                for k in range(seen):
                    self.counts[t, self.distinct[k]] += 1
                    self.sums[t, self.distinct[k]] += result

    # ------------------------------------------------------------------ growth

    def _number(self, label):
        """Return the number of a label."""
        try:
            number = self.numbers.get(label)
        except TypeError:
            raise TypeError(
                f"moves, or their labels where positions have label(), must be hashable, got "
                f"{label!r}"
            ) from None
        if number is None:
            number = len(self.labels)
            self.numbers[label] = number
            self.labels.append(label)
            if 2 * (number + 1) > self.marks.shape[0]:
                self._grow_tables(self.counts.shape[0], max(64, 4 * (number + 1)))
        return number

    def _grow_tables(self, rows, columns):
        """Make room for more expanded nodes, or more labels."""
        if self.counts_moves:
            self.counts = widened(self.counts, (rows, columns), np.int32)
            self.sums = widened(self.sums, (rows, columns), np.float64)
        if columns > self.marks.shape[0]:
            self.marks = widened(self.marks, (columns,), np.int32)
            self.distinct = np.zeros(columns, dtype=np.int32)
        return 0

    def _reserve(self, more):
        """Make room for more nodes."""
        if self.used + more > self.node.shape[0]:
            self.node = grown(self.node, GAME_NODE, max(2 * self.used, self.used + more))
        return 0

    def _new_node(self, parent, label, depth):
        n = self.used
        self.used += 1
        self.node[n].parent = parent
        self.node[n].first = NONE
        self.node[n].count = 0
        self.node[n].label = label
        self.node[n].table = NONE
        self.node[n].visits = 0
        self.node[n].depth = depth
        self.node[n].sign = 0.0
        self.node[n].total = 0.0
        self.node[n].low = -1.0
        self.node[n].high = 1.0
        return n

    def _expand(self, n, position):
        """Make all children of a node, in random order."""
        moves = list(position.moves())
        if not moves:
            raise no_moves()
        label_of = getattr(position, "label", None)
        for i in range(len(moves) - 1, 0, -1):
            j = self.rng.below(i + 1)
            moves[i], moves[j] = moves[j], moves[i]
        numbers = [self._number(move if label_of is None else label_of(move)) for move in moves]
        self._reserve(len(moves))
        first = self.used
        for number in numbers:
            self._new_node(n, number, self.node[n].depth + 1)
        self.moves += moves
        self.node[n].first = first
        self.node[n].count = len(moves)
        if self.counts_moves:
            if self.tables == self.counts.shape[0]:
                self._grow_tables(max(64, 2 * self.tables), self.marks.shape[0])
            t = self.tables
            code: cython.Py_ssize_t
            for code in range(self.counts.shape[1]):
                self.counts[t, code] = 0
                self.sums[t, code] = 0.0
            self.node[n].table = t
            self.tables += 1
        self._expanded(n, position)
        return 0

    # ------------------------------------------------------------------ proven values

    def _settle(self, n, value):
        """Take the value of a game that has ended, and prove what follows from it."""
        self.node[n].low = value
        self.node[n].high = value
        n = self.node[n].parent
        while n != NONE:
            low = -INF
            high = -INF
            s = self.node[n].sign
            for c in range(self.node[n].first, self.node[n].first + self.node[n].count):
                low = max(low, self.node[c].low if s > 0.0 else -self.node[c].high)
                high = max(high, self.node[c].high if s > 0.0 else -self.node[c].low)
            if s < 0.0:
                low, high = -high, -low
            if low == self.node[n].low and high == self.node[n].high:
                break
            self.node[n].low = low
            self.node[n].high = high
            n = self.node[n].parent

    def _is_open(self, n, c):
        """Return whether a child may be better than what is proven for its parent."""
        if self.node[n].sign > 0.0:
            return self.node[c].high > self.node[n].low
        return self.node[c].low < self.node[n].high

    @property
    def is_settled(self):
        """Whether the value of the root is proven."""
        return self.node[ROOT].low == self.node[ROOT].high

    @property
    def is_expanded(self):
        """Whether the root has children."""
        return self.node[ROOT].first != NONE

    @property
    def bounds(self):
        """Bounds of the value of the root."""
        return self.node[ROOT].low, self.node[ROOT].high

    # ------------------------------------------------------------------ for subclasses

    def _begin(self):
        """Prepare for a playout."""
        return 0

    def _undo(self):
        """Restore what is known before a playout that has failed."""
        return 0

    def _expands(self, n):
        """Return whether a node that has no children so far is expanded now."""
        return self.node[n].visits > 0 or n == ROOT

    def _expanded(self, n, position):
        """Take note of the children of a node."""
        return 0

    def _choose(self, n):
        """Return the child to visit."""
        raise NotImplementedError

    def _observe(self, result):
        """Learn from a playout, which is counted already."""
        return 0

    # ------------------------------------------------------------------ the root

    def children(self, n=ROOT):
        """Return the children of a node: moves, and an array of their records."""
        first = self.node[n].first
        if first == NONE:
            return [], np.asarray(self.node)[:0]
        last = first + self.node[n].count
        return self.moves[first:last], np.array(self.records[first:last])

    def child(self, n, move):
        """Return the child that a move leads to, NONE if there is none."""
        first: cython.int = self.node[n].first
        if first != NONE:
            for c in range(first, first + self.node[n].count):
                if self.moves[c] == move:
                    return c
        return NONE

    @property
    def records(self):
        """The nodes, as a view."""
        node = self.node
        array = node if isinstance(node, np.ndarray) else np.asarray(node.base)
        return array.view(GAME_NODE)[: self.used]

    @property
    def mean_length(self):
        """The mean number of moves from the root to the end of a game."""
        # (The division of two C integers would drop the remainder.)
        moves: cython.double = self.moves_played
        return moves / self.playouts if self.playouts else 0.0

    def visits(self, n):
        """Return the number of playouts through a node."""
        return self.node[n].visits

    def make_root(self, n):
        """Keep what is below a node, which becomes the root; return the kept nodes in order."""
        kept = self._below(n)
        records = opaque(np.asarray(self.records))[kept].view(GAME_NODE)
        number = np.full(self.used, NONE, dtype=np.int32)
        number[kept] = np.arange(len(kept))
        records["parent"] = number[records["parent"]]
        records["parent"][0] = NONE
        has_children = records["first"] != NONE
        records["first"][has_children] = number[records["first"][has_children]]
        records["depth"] -= records["depth"][0]
        with_table = records["table"] != NONE
        rows = records["table"][with_table]
        records["table"][with_table] = np.arange(len(rows))
        self.moves = [self.moves[c] for c in kept.tolist()]
        self.node = grown(records, GAME_NODE, len(records))
        self.used = len(records)
        if self.counts_moves:
            self.counts = np.ascontiguousarray(np.asarray(self.counts)[rows])
            self.sums = np.ascontiguousarray(np.asarray(self.sums)[rows])
            self.tables = len(rows)
        self.playouts = 0
        self.moves_played = 0
        return kept

    def _below(self, n):
        """Return a node and all below it, level by level."""
        first = self.records["first"].astype(np.intp)
        count = self.records["count"].astype(np.intp)
        level = np.array([n])
        levels = []
        while len(level):
            levels.append(level)
            level = level[first[level] != NONE]
            sizes = count[level]
            ends = np.cumsum(sizes)
            level = np.repeat(first[level] - ends + sizes, sizes) + np.arange(sizes.sum())
        return np.concatenate(levels)


class TallyTree(GameTree):
    """UCT, RAVE and GRAVE: moves by averages of results, and those of all moves as first.

    The mean of a child with n visits, and that of nt playouts in which its move came later, are
    weighted by 1 - beta and beta, where N is the number of visits of the parent:

    equivalence k     beta = sqrt(k / (3 N + k))           (Gelly and Silver 2007)
    bias b            beta = nt / (n + nt + 4 b^2 n nt)    (Gelly and Silver 2011)

    Without either beta is 0: UCT. With `reference`, averages of all moves as first are those of the
    nearest node on the path with this many visits (GRAVE, Cazenave 2015).
    """

    def __init__(self, rng, exploration, equivalence=0.0, bias=-1.0, reference=0):
        self.exploration = exploration
        self.equivalence = equivalence
        self.bias = bias
        self.reference = reference
        GameTree.__init__(self, rng, equivalence > 0.0 or bias >= 0.0)

    def _choose(self, n):
        s = self.node[n].sign
        N: cython.double = self.node[n].visits
        root_log = sqrt(log(N if N > 1.0 else 1.0))
        t = self.node[n].table
        if self.reference > 0:
            i = self.length - 1
            while i > 0 and self.node[self.path[i]].visits < self.reference:
                i -= 1
            t = self.node[self.path[i]].table
        best = NONE
        top = -INF
        scheduled = sqrt(self.equivalence / (3.0 * N + self.equivalence)) if N > 0.0 else 1.0
        for c in range(self.node[n].first, self.node[n].first + self.node[n].count):
            if not self._is_open(n, c):
                continue
            visits: cython.double = self.node[c].visits
            score = INF
            if visits > 0.0:
                score = s * self.node[c].total / visits
            if self.counts_moves:
                code: cython.int = 2 * self.node[c].label + (s < 0.0)
                later: cython.double = self.counts[t, code]
                if later > 0.0:
                    first_mean = s * self.sums[t, code] / later
                    if visits == 0.0:
                        score = first_mean
                    else:
                        beta = scheduled
                        if self.bias >= 0.0:
                            beta = later / (
                                visits + later + 4.0 * self.bias * self.bias * visits * later
                            )
                        score += beta * (first_mean - score)
            if visits > 0.0:
                score += self.exploration * root_log / sqrt(visits)
            if score > top:
                top = score
                best = c
        return best


def checked(result):
    """Return the result of a game as a float, or refuse it."""
    if result is None:
        raise ValueError("result() is None after playout(), which must play to the end of the game")
    value = real(result, "result()")
    if not -1.0 <= value <= 1.0:
        raise ValueError(f"result() must be between -1 and 1, got {result!r}")
    return value


def is_second(player):
    """Return whether a player is the second one, or refuse what is no player."""
    if player == 0:
        return False
    if player == 1:
        return True
    raise ValueError(f"player must be 0 or 1, got {player!r}")


def no_moves():
    """Return the exception for a position without moves."""
    return ValueError(
        "moves() is empty, but result() is None: a player who cannot move needs a move that "
        "passes, and copy() must return an independent copy"
    )


def widened(array, shape, dtype):
    """Return a copy with more rows and columns, zeros where there was nothing."""
    new = np.zeros(shape, dtype=dtype)
    old = np.asarray(array)
    new[tuple(slice(length) for length in old.shape)] = old
    return new
