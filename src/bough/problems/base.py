"""What every problem says of itself."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bough._validation import at_least_zero, whole
from bough.kernels import Kernel
from bough.trees import Path, Tree


class Problem(ABC):
    """A noisy reward on the paths of a tree, whose best path is known exactly.

    Calling it plays a path. The same seed gives the same problem and the same noise, play by play.

    Attributes
    ----------
    name : str
        What it is called in tables.
    tree : Tree
    noise : float
        The standard deviation of a reward (where it differs from path to path: the root of its mean
        square, over all problems of the kind).
    seed : int

    Examples
    --------
    A problem of your own says what a path is worth, and which path is best:

    >>> from bough import Tree
    >>> class Ones(Problem):
    ...     name = "ones"
    ...
    ...     def _value(self, path):
    ...         return float(sum(path))
    ...
    ...     def _solve(self):
    ...         return self._value((1, 1, 1)), (1, 1, 1)
    >>> problem = Ones(Tree(2, 3), noise=0.1, seed=0)
    >>> problem.optimum, problem.value([0, 1, 1])
    (3.0, 2.0)
    """

    name: str

    def __init__(self, tree: Tree, *, noise: float, seed: int) -> None:
        self.tree = tree
        self.noise = at_least_zero(noise, "noise")
        self.seed = whole(seed, "seed", least=0)
        self._random = np.random.default_rng([self.seed, 1])

    @property
    def kernel(self) -> Kernel | None:
        """The kernel of the prior that this problem is drawn from, None if there is none."""
        return None

    @property
    def mean(self) -> float:
        """The prior mean of a path, 0 if there is no prior."""
        return 0.0

    @abstractmethod
    def _value(self, path: Path) -> float:
        """Return what a checked path is worth."""

    @abstractmethod
    def _solve(self) -> tuple[float, Path]:
        """Return the highest value and its path; called once."""

    @cached_property
    def _best(self) -> tuple[float, Path]:
        return self._solve()

    def value(self, path: Sequence[int]) -> float:
        """Return what a complete path is really worth."""
        return self._value(self._checked(path))

    def _checked(self, path: Sequence[int]) -> Path:
        """Return a complete path as a tuple of ints, or say what is wrong with it."""
        counts = self.tree.counts
        # The usual case at once: what a searcher asks for is a tuple of ints already.
        if (
            counts is not None
            and type(path) is tuple
            and len(path) == len(counts)
            and all(type(k) is int and 0 <= k < c for k, c in zip(path, counts, strict=True))
        ):
            return path
        return self.tree.complete(path)

    def __call__(self, path: Sequence[int]) -> float:
        """Return the reward of playing a complete path: its value and some noise."""
        return self.value(path) + self.noise * float(self._random.standard_normal())

    def seeded(self, path: Sequence[int], seed: int) -> float:
        """Return the reward of a play with the noise of a seed, whatever was played before.

        So `maximize(problem.seeded, problem.tree, study="run.db")` goes on as if it had not ended.
        """
        before = self._random
        self._random = np.random.default_rng([self.seed, 1, seed])
        try:
            return self(path)
        finally:
            self._random = before

    @property
    def optimum(self) -> float:
        """The value of the best path."""
        return self._best[0]

    @property
    def best_path(self) -> Path:
        """The best path (one of them, if several are)."""
        return self._best[1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tree!r}, noise={self.noise:.4g}, seed={self.seed})"
