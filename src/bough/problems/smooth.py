"""Trees whose first steps matter most, so that relatives are worth nearly the same."""

import numpy as np

from bough._validation import real, whole
from bough.problems.edges import EdgeRewards


class Smooth(EdgeRewards):
    """A seeded, noisy problem whose optimum is known.

    Each edge carries a reward that is uniform on [0, 1], a hash of the seed and of the path to
    it. A path is worth sum_i discount^(i-1) r_i / sum_i discount^(i-1), so that paths that share
    their first steps are worth nearly the same. The best path is found by branch and bound.

    >>> problem = Smooth(branching=3, depth=4, seed=1)
    >>> round(problem.value((0, 1, 2, 0)), 3) <= problem.optimum
    True
    """

    name = "smooth"

    def __init__(
        self,
        branching: int = 5,
        depth: int = 10,
        *,
        discount: float = 0.7,
        noise: float = 0.1,
        seed: int = 0,
    ) -> None:
        if not 0 < real(discount, "discount") <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")
        self.discount = discount
        weights = discount ** np.arange(whole(depth, "depth", least=0))
        shares = (weights / (weights.sum() or 1.0)).tolist()
        super().__init__(branching, depth, shares, noise=noise, seed=seed)

    @property
    def mean(self) -> float:
        """The prior mean of a path: exactly 1/2, where weights that sum to 1 would be rounded."""
        return 0.5 if self.tree.depth else 0.0
