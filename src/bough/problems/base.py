"""The interface of a problem, and problems small enough to enumerate."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero, whole
from bough.kernels import Kernel
from bough.trees import Path, Tree

#: The most arms of an enumerated problem: 32 MB of values.
MOST_ARMS = 4_000_000


class Problem(ABC):
    """A noisy reward on the paths of a tree, whose best path is known exactly.

    Calling it plays a path. The same seed gives the same problem and the same noise, play by play.

    Attributes
    ----------
    name : str
        The name in tables.
    tree : Tree
    noise : float
        The standard deviation of a reward (if it differs between paths: its root mean square over
        all problems of the kind).
    seed : int
    kernel : Kernel or None
        The kernel of the prior that this problem is drawn from, None if there is none.
    mean : float
        The prior mean of a path, 0 if there is no prior.

    Examples
    --------
    Your own problem implements the value of a path, and the best path:

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
    kernel: Kernel | None = None
    mean: float = 0.0

    def __init__(self, tree: Tree, *, noise: float, seed: int) -> None:
        self.tree = tree
        self.noise = at_least_zero(noise, "noise")
        self.seed = whole(seed, "seed", least=0)
        self._random = np.random.default_rng([self.seed, 1])

    @abstractmethod
    def _value(self, path: Path) -> float:
        """Return the value of a validated path."""

    @abstractmethod
    def _solve(self) -> tuple[float, Path]:
        """Return the highest value and its path; called once."""

    @cached_property
    def _best(self) -> tuple[float, Path]:
        return self._solve()

    def value(self, path: Sequence[int]) -> float:
        """Return the value of a complete path, without noise."""
        return self._value(self.tree.complete(path))

    def __call__(self, path: Sequence[int]) -> float:
        """Return the reward of playing a complete path: its value plus noise."""
        return self.value(path) + self.noise * float(self._random.standard_normal())

    def seeded(self, path: Sequence[int], seed: int) -> float:
        """Return the reward of a play whose noise depends on a seed, not on earlier plays.

        With it `maximize(problem.seeded, problem.tree, study="run.db")` resumes exactly.
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
        """The best path (one of them, if there are several)."""
        return self._best[1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tree!r}, noise={self.noise:.4g}, seed={self.seed})"


class Enumerated(Problem):
    """A problem that stores the value of every path, so that its best path is looked up."""

    def __init__(self, tree: Tree, *, noise: float, seed: int) -> None:
        if tree.arms is None or tree.arms > MOST_ARMS or (tree.counts is None and tree.depth):
            raise ValueError(
                f"the best path is found by enumeration, so the tree must have at most "
                f"{MOST_ARMS:,} paths and one branching for each depth, got {tree!r}"
            )
        super().__init__(tree, noise=noise, seed=seed)
        self._shape = tuple(int(count) for count in tree.counts or ())

    @property
    @abstractmethod
    def _values(self) -> NDArray[np.float64]:
        """The value of every path, in the order of paths."""

    def _value(self, path: Path) -> float:
        number = 0
        for step, count in zip(path, self._shape, strict=True):
            number = number * count + step
        return float(self._values[number])

    def _solve(self) -> tuple[float, Path]:
        number = int(self._values.argmax())
        path = np.unravel_index(number, self._shape) if self._shape else ()
        return float(self._values[number]), tuple(int(step) for step in path)
