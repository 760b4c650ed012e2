"""The tree on which averages mislead: UCT takes beyond all measure to find its best path."""

import numpy as np

from bough._validation import whole
from bough.problems.base import Problem
from bough.trees import Path, Tree


class Trap(Problem):
    """A binary tree in which a step towards the best path looks worse than turning away.

    After Coquelin and Munos, "Bandit algorithms for tree search" (UAI 2007); see also Orseau and
    Munos, "Super-exponential regret for UCT, AlphaGo and variants" (2024). One path is worth 1.
    Whoever leaves it at the node of depth d (the root has depth 0) gets (D-1-d)/D, whatever comes
    after: 0.9 at the root of a tree of depth 10, and less and less further down, to 0 at the last
    step. A searcher that judges a subtree by the average of its rewards is drawn away from the
    best path at all but its last few nodes.

    In the paper the best path always takes the second action. Here the seed says which action it
    takes at each node, so that no searcher finds it by the order in which it tries actions.

    >>> problem = Trap(depth=4, noise=0.0)
    >>> best = problem.best_path
    >>> [problem((*best[:d], 1 - best[d], *best[d + 1 :])) for d in range(4)]
    [0.75, 0.5, 0.25, 0.0]
    """

    name = "trap"

    def __init__(self, depth: int = 10, *, noise: float = 0.0, seed: int = 0) -> None:
        super().__init__(Tree(2, whole(depth, "depth", least=1)), noise=noise, seed=seed)
        rng = np.random.default_rng([self.seed, 0])
        self._hidden: Path = tuple(rng.integers(2, size=self.tree.depth).tolist())

    def _value(self, path: Path) -> float:
        for d, (step, good) in enumerate(zip(path, self._hidden, strict=True)):
            if step != good:
                return (self.tree.depth - 1 - d) / self.tree.depth
        return 1.0

    def _solve(self) -> tuple[float, Path]:
        return 1.0, self._hidden
