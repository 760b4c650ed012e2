"""HOO: hierarchical optimistic optimization (Bubeck, Munos, Stoltz and Szepesvari 2009)."""

import math

import numpy as np

from bough._validation import above_zero, at_least_zero, between_zero_and_one, whole
from bough.searchers.baselines.counting import CountingSearcher
from bough.searchers.baselines.tallies import Bounds
from bough.trees import Path, Tree


class HOO(CountingSearcher):
    """Descend a partition of a space whose cells shrink at a known rate.

    A node at depth h with n rewards has U = mean + sqrt(2 log t / n) + nu rho^h (infinite before
    the first visit) and B, the minimum of U and of the highest B of its children. A play follows
    the highest B to an unvisited node, and continues at random to a leaf. Rewards are assumed to
    have a range of 1; others are rescaled, and `nu` is in units of their range.

    Parameters
    ----------
    tree : Tree
    nu, rho : float
        A cell at depth h has a diameter of at most nu rho^h: the reward of its best point exceeds
        that of its other points by at most this much.
    budget : int, optional
        The number of plays. By default it is unknown: then t in the bounds is the number of plays
        rounded up to a power of two, as in the doubling trick of the authors.
    exploration : float
        Multiplier of the width of the confidence bounds, valid with 1; less often works better.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far (their
        difference is rounded up by a sixteenth or less, so that it changes rarely).
    rng : int or numpy.random.Generator

    Notes
    -----
    A reward counts for every node on its path, including those below the new one. A leaf has the
    diameter of full depth, wherever its path ends.

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.HOO(bough.Tree(2, 6), nu=1.0, rho=0.5, rng=0)
    >>> for _ in range(200):
    ...     path = search.ask()
    ...     x = sum(step * 0.5 ** (i + 1) for i, step in enumerate(path))
    ...     search.tell(path, -abs(x - 0.3))
    >>> search.best("mean").path
    (0, 1, 0, 0, 1, 1)
    """

    def __init__(
        self,
        tree: Tree,
        *,
        nu: float = 1.0,
        rho: float = 0.5,
        budget: int | None = None,
        exploration: float = 1.0,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, reward_range, rng)
        self.nu = above_zero(nu, "nu")
        self.rho = between_zero_and_one(rho, "rho")
        self.budget = None if budget is None else whole(budget, "budget", least=1)
        self.exploration = at_least_zero(exploration, "exploration")
        diameters = self.nu * self.rho ** np.arange(tree.depth + 1.0)
        self.tallies: Bounds = Bounds(tree, diameters, reward_range=self.reward_range)
        self._set_plays(self.budget or 1)

    def _set_plays(self, plays: int) -> None:
        """Set t, and the width of the bounds."""
        self._plays = plays
        self.tallies.set_width(2.0 * self.exploration**2 * math.log(plays))

    def _choose(self) -> Path:
        plays = self.observations + len(self._pending)
        if self.budget is None and plays > self._plays:
            self._set_plays(1 << (plays - 1).bit_length())
        return self.tallies.descend(self._random)
