"""A needle in a haystack: nothing to learn from, which shows what a searcher wastes on it."""

import numpy as np

from bough._validation import above_zero, whole
from bough.problems.base import Problem
from bough.trees import Path, Tree


class Needle(Problem):
    """One path is worth `height`, every other one 0.

    No searcher can do better than to try path after path without repeating itself.

    >>> problem = Needle(10, 3, noise=0.0)
    >>> problem.value(problem.best_path), problem.optimum
    (1.0, 1.0)
    """

    name = "needle"

    def __init__(
        self,
        branching: int = 10,
        depth: int = 3,
        *,
        height: float = 1.0,
        noise: float = 0.1,
        seed: int = 0,
    ) -> None:
        tree = Tree(whole(branching, "branching", least=1), depth)
        super().__init__(tree, noise=noise, seed=seed)
        self.height = above_zero(height, "height")
        rng = np.random.default_rng([self.seed, 0])
        self._hidden: Path = tuple(rng.integers(branching, size=tree.depth).tolist())

    def _value(self, path: Path) -> float:
        return self.height if path == self._hidden else 0.0

    def _solve(self) -> tuple[float, Path]:
        return self.height, self._hidden
