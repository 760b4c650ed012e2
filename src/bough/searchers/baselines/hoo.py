"""Hierarchical optimistic optimisation (Bubeck, Munos, Stoltz and Szepesvari 2009)."""

import math

import numpy as np

from bough._validation import above_zero, at_least_zero, real, whole
from bough.searchers.baselines.bounds import Bounds
from bough.searchers.baselines.tallied import Tallied
from bough.trees import Path, Tree


class HOO(Tallied):
    """Go down a tree of coverings whose cells shrink by a known rate.

    A node at depth h with n rewards has U = mean + sqrt(2 log t / n) + nu rho^h (infinite if it was
    not visited) and B, the lesser of U and of the highest B of its children. One follows the
    highest B to a node that was not visited, and goes on at random to a leaf. Rewards are assumed
    to have a range of 1; others are rescaled, and `nu` is in units of their range.

    Parameters
    ----------
    tree : Tree
    nu, rho : float
        A cell at depth h has a diameter of at most nu rho^h: the reward of its best point exceeds
        that of any other by no more.
    budget : int, optional
        How many plays there will be. By default nobody knows: then t in the bounds is the number
        of plays rounded up to a power of two, as in the doubling trick of the authors (were it t
        itself, all bounds would change with every play).
    truncate : bool
        Do not tell nodes apart below the depth (log(t)/2 - log(1/nu)) / log(1/rho), rounded up,
        where cells are smaller than what t rewards can resolve.
    exploration : float
        What the width of the confidence bounds is multiplied with. They hold with 1, and are then
        so wide that much less is usually better.
    reward_range : (float, float), optional
        The lowest and the highest reward there can be; by default those seen so far (their
        difference is rounded up by a sixteenth or less, so that it changes rarely).
    rng : int or numpy.random.Generator

    Notes
    -----
    A reward counts for every node that it went through, also below the one that was new. A leaf
    has the diameter of full depth, wherever its path ends.

    Examples
    --------
    >>> import bough
    >>> search = bough.HOO(bough.Tree(2, 6), nu=1.0, rho=0.5, rng=0)
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
        truncate: bool = False,
        exploration: float = 1.0,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.nu = above_zero(nu, "nu")
        if not 0 < real(rho, "rho") < 1:
            raise ValueError(f"rho must be between 0 and 1, got {rho!r}")
        self.rho = float(rho)
        self.budget = None if budget is None else whole(budget, "budget", least=1)
        self.truncate = truncate
        self.exploration = at_least_zero(exploration, "exploration")
        super().__init__(tree, reward_range=reward_range, rng=rng)

    def _new_tallies(self) -> Bounds:
        diameters = self.nu * self.rho ** np.arange(self.tree.depth + 1.0)
        self.tallies: Bounds = Bounds(self.tree, diameters, reward_range=self.reward_range)
        self._set_plays(self.budget or 1)
        return self.tallies

    def _set_plays(self, plays: int) -> None:
        """Set t, and all that follows from it."""
        self._plays = plays
        if self.truncate:
            self.tallies.set_limit(self.truncation(plays))
        self.tallies.set_width(2.0 * self.exploration**2 * math.log(plays))

    def truncation(self, plays: int) -> int:
        """Return the depth below which nodes are not told apart after so many plays.

        >>> import bough
        >>> search = bough.HOO(bough.Tree(2, 20), nu=1.0, rho=0.5, truncate=True)
        >>> [search.truncation(t) for t in (1, 100, 10_000)]
        [1, 4, 7]
        """
        depth = (math.log(plays) / 2 + math.log(self.nu)) / math.log(1 / self.rho)
        # (A quotient that is whole but for the rounding is not rounded up.)
        return min(max(math.ceil(depth - 1e-12), 1), self.tree.depth)

    def _choose(self) -> Path:
        plays = self.observations + len(self._pending)
        if self.budget is None and plays > self._plays:
            while plays > self._plays:
                self._plays *= 2
            self._set_plays(self._plays)
        return self.tallies.follow(self._random)
