"""The best string under a hidden score of its letters and of its pairs of neighbours."""

import math

import numpy as np

from bough._validation import whole
from bough.problems.base import Problem
from bough.trees import Path, Tree

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class HiddenScore(Problem):
    """Find the string with the highest score, where only scores are seen.

    Every letter has a weight at each place, and every pair of neighbours one that is the same at
    all places; all weights are standard normal, and a string's score is their sum over the root of
    their number. Pairs make strings with different beginnings alike, which no kernel on a tree can
    say. The best string is found by dynamic programming (Viterbi).

    Parameters
    ----------
    letters : int
        The size of the alphabet, at most 26.
    length : int
        The length of the strings.
    noise : float
    seed : int

    Examples
    --------
    >>> problem = HiddenScore(letters=3, length=5)
    >>> problem.word((0, 1, 2, 2, 0))
    'abcca'
    >>> problem.value((0, 1, 2, 2, 0)) <= problem.optimum
    True
    """

    name = "sequence"

    def __init__(
        self, letters: int = 4, length: int = 12, *, noise: float = 0.1, seed: int = 0
    ) -> None:
        letters = whole(letters, "letters", least=1, most=len(_LETTERS))
        length = whole(length, "length", least=1)
        super().__init__(Tree(letters, length), noise=noise, seed=seed)
        rng = np.random.default_rng([self.seed, 0])
        scale = 1 / math.sqrt(2 * length - 1)
        self._places = scale * rng.standard_normal((length, letters))
        self._pairs = scale * rng.standard_normal((letters, letters))
        # (Lists are faster than arrays, one entry at a time.)
        self._place_lists: list[list[float]] = self._places.tolist()
        self._pair_lists: list[list[float]] = self._pairs.tolist()

    def word(self, path: Path) -> str:
        """Return the string of a path."""
        return "".join(_LETTERS[step] for step in self.tree.walk(path)[0])

    def _value(self, path: Path) -> float:
        total = self._place_lists[0][path[0]]
        for i in range(1, len(path)):
            total += self._pair_lists[path[i - 1]][path[i]] + self._place_lists[i][path[i]]
        return total

    def _solve(self) -> tuple[float, Path]:
        best = self._places[0]  # of the strings so far that end in each letter
        before = []
        for weights in self._places[1:]:
            scores = best[:, None] + (self._pairs + weights)
            before.append(scores.argmax(axis=0))
            best = scores.max(axis=0)
        path = [int(best.argmax())]
        for choice in reversed(before):
            path.append(int(choice[path[-1]]))
        found = tuple(reversed(path))
        return self._value(found), found
