"""The variances of effects of moves that are most likely, given the playouts of some positions.

Each expanded node counts moves of playouts, and sums up their results (`bough.games.tree`). Less
the average of the node, the average of a move is an observation of its effect there. Going down
the tree, the averages at a node are predicted from the playouts at the nodes above that did not go
through it, as `bough.games.beliefs` does; the logarithms of these densities are added up.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.games_positions import start
from bough import games

Array = NDArray[np.float64]

#: Values of v, v_label and q, in units of 1/L.
STEPS = (0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6)
EFFECTS = (0.03, 0.06, 0.1, 0.2, 0.4, 0.8)
DRIFTS = (0.001, 0.005, 0.02, 0.06, 0.2)
#: Visits of a child whose average counts, of one whose table does, and averages in a table.
VISITED, EXPANDED, AVERAGED = 8, 16, 4


class LoggedPosition:
    """A position whose playouts are written to a list."""

    def __init__(self, position: Any, log: list[Any], moves: Sequence[tuple[int, int]] = ()):
        self._position, self._log, self._moves = position, log, list(moves)

    @property
    def player(self) -> int:
        """The player to move."""
        return int(self._position.player)

    def moves(self) -> Any:
        """Return the legal moves."""
        return self._position.moves()

    def play(self, move: int) -> None:
        """Make a move."""
        self._moves.append((self.player, move))
        self._position.play(move)

    def result(self) -> Any:
        """Return the result of a game that has ended."""
        return self._position.result()

    def copy(self) -> "LoggedPosition":
        """Return a copy that writes to the same list."""
        return LoggedPosition(self._position.copy(), self._log, self._moves)

    def playout(self, below: Callable[[int], int]) -> Any:
        """Play at random to the end."""
        played = self._position.playout(below)
        in_tree = len(self._moves)
        codes = [2 * move + player for player, move in [*self._moves, *played]]
        self._log.append((in_tree, codes, self._position.result()))
        return played


class Node:
    """Averages of the playouts through a node, and of the moves in them, by code."""

    def __init__(self, codes: int) -> None:
        self.visits, self.total, self.squares = 0, 0.0, 0.0
        self.counts, self.sums = np.zeros(codes), np.zeros(codes)
        self.children: dict[int, Node] = {}

    @property
    def noise(self) -> float:
        """The variance of results."""
        mean = self.total / self.visits
        return max(self.squares / self.visits - mean * mean, 0.05)

    @classmethod
    def of(cls, log: list[Any]) -> "Node":
        """Return the tree of some playouts."""
        size = max(code for _, codes, _ in log for code in codes) + 2
        root = cls(size)
        for in_tree, codes, result in log:
            node = root
            for depth in range(in_tree + 1):
                later = list(set(codes[depth:]))
                node.visits += 1
                node.total += result
                node.squares += result * result
                node.counts[later] += 1
                node.sums[later] += result
                if depth < in_tree:
                    node = node.children.setdefault(codes[depth], cls(size))
        return root


def log_likelihood(root: Node, v: float, v_label: float, q: float) -> Array:
    """Return the log-likelihood of averages of moves, and that of averages of children."""
    found = np.zeros(2)

    def add(node: Node, mean: Array, variance: Array) -> None:
        kept = (node.counts >= AVERAGED) & (node.counts < 0.9 * node.visits)
        count = node.counts[kept]
        missed = node.sums[kept] / count - node.total / node.visits - mean[kept]
        doubt = node.noise * (1.0 / count - 1.0 / node.visits)
        found[0] += _density(missed, variance[kept] + doubt).sum()
        for code, child in node.children.items():
            others = node.visits - child.visits
            if child.visits < VISITED or others < AVERAGED:
                continue
            average = (node.total - child.total) / others
            later, sums = node.counts - child.counts, node.sums - child.sums
            later[code] = node.counts[code] - child.visits
            sums[code] = node.sums[code] - child.total
            known = np.maximum(variance, 1e-12)
            spread = 1.0 / (1.0 / known + later / node.noise)
            effect = spread * (mean / known + (sums - later * average) / node.noise)
            noise = node.noise * (1.0 / child.visits + 1.0 / others)
            missed = child.total / child.visits - average - effect[code]
            found[1] += _density(missed, v + spread[code] + noise)
            if child.visits >= EXPANDED:
                add(child, effect, spread + q)

    add(root, np.zeros(len(root.counts)), np.full(len(root.counts), v_label))
    return found


def _density(missed: Any, variance: Any) -> Any:
    return -0.5 * (np.log(variance) + missed**2 / variance)


def most_likely(name: str, count: int, playouts: int) -> dict[str, Any]:
    """Return v_label and q of the highest likelihood, and the log-likelihoods of all values of v.

    The positions come after up to 15 random moves.
    """
    rng = np.random.default_rng(7)
    effects = np.zeros((len(EFFECTS), len(DRIFTS)))
    steps = np.zeros(len(STEPS))
    done = 0
    while done < count:
        position: Any = start(name)
        for _ in range(int(rng.integers(16))):
            if position.result() is None:
                position.play(int(rng.choice(position.moves())))
        if position.result() is not None:
            continue
        log: list[Any] = []
        games.Player(playouts, rng=1000 + done).choose(LoggedPosition(position, log))
        root = Node.of(log)
        length = float(np.mean([len(codes) for _, codes, _ in log]))
        for (i, v_label), (j, q) in itertools.product(enumerate(EFFECTS), enumerate(DRIFTS)):
            effects[i, j] += log_likelihood(root, 0.2 / length, v_label / length, q / length)[0]
        for i, v in enumerate(STEPS):
            steps[i] += log_likelihood(root, v / length, 0.2 / length, 0.02 / length)[1]
        done += 1
    i, j = divmod(int(effects.argmax()), len(DRIFTS))
    default = effects[EFFECTS.index(0.2), DRIFTS.index(0.02)]
    gain = float(effects[i, j] - default) / count
    return {
        "v_label": EFFECTS[i],
        "q": DRIFTS[j],
        "gain": round(gain, 2),
        "steps": [round(value, 2) for value in ((steps - steps.max()) / count).tolist()],
    }
