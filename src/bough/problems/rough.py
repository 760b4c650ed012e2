"""Trees whose last steps matter most, so that relatives tell little about one another."""

import numpy as np

from bough._validation import real, whole
from bough.problems.edges import EdgeRewards

#: With a large growth the best path is found by looking at nearly all of them.
MOST_ARMS = 2_000_000


class Rough(EdgeRewards):
    """The opposite of `Smooth`: each step weighs `growth` times as much as the one before.

    With growth 2 the last step makes half of what a path is worth, and with a very large one all
    paths are independent. The best path is found by branch and bound; since bounds cut off little
    if the growth is large, the tree must be small.

    >>> problem = Rough(3, 4, growth=3.0, noise=0.0)
    >>> problem(problem.best_path) == problem.optimum
    True
    """

    name = "rough"

    def __init__(
        self,
        branching: int = 5,
        depth: int = 6,
        *,
        growth: float = 2.0,
        noise: float = 0.1,
        seed: int = 0,
    ) -> None:
        if real(growth, "growth") < 1:
            raise ValueError(f"growth must be at least 1, got {growth!r}; below it is Smooth")
        self.growth = growth
        # The largest weight is 1 before they are normalised, so that no power overflows.
        weights = float(growth) ** -np.arange(whole(depth, "depth", least=0))[::-1].astype(float)
        shares = (weights / (weights.sum() or 1.0)).tolist()
        super().__init__(branching, depth, shares, noise=noise, seed=seed)
        if self.tree.arms is not None and self.tree.arms > MOST_ARMS:
            raise ValueError(
                f"a rough tree has at most {MOST_ARMS:,} paths, since its best one may be found "
                f"by looking at all only; got {branching}^{depth}"
            )
