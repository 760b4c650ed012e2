"""Best-first search: optimistic planning where nothing is random (Hren and Munos 2008)."""

import math
from typing import ClassVar

import numpy as np

from bough.searchers.baselines.bounds import Bounds
from bough.searchers.baselines.olop import Discounting, checked_discount
from bough.trees import Path, Tree

#: Steps that count for less than this say nothing that rounding does not hide.
LEAST_GAIN = 1e-12


class BestFirst(Discounting):
    """Go on from the node that may lead to the most, if rewards are exact and told step by step.

    A node is worth the discounted rewards on the way to it and, at most, what the steps below it
    can give: the next path goes through the most promising node with a child that was not yet seen.
    No path is played twice, and `ask` raises `Exhausted` when all were.

    Parameters
    ----------
    tree : Tree
    discount : float
    reward_range : (float, float), optional
        The lowest and the highest reward of a single step, before it is discounted; by default
        those seen so far (rounded outwards by an eighth of their difference or less).
    rng : int or numpy.random.Generator

    Notes
    -----
    Tell the steps, `tell(path, steps=[r_1, discount r_2, ...])`, discounted as everywhere. If only
    the sum is told each step is taken to have had the same reward before it was discounted, and
    several such guesses are averaged: a heuristic, with which nothing is certain.

    Examples
    --------
    >>> import bough
    >>> search = bough.BestFirst(bough.Tree(3, 4), discount=0.5, reward_range=(0, 1), rng=0)
    >>> for _ in range(5):
    ...     path = search.ask()
    ...     search.tell(path, steps=[0.5**i * (step == 2) for i, step in enumerate(path)])
    >>> search.best().path[0]
    2
    """

    default_rule: ClassVar[str] = "observed"
    exact: ClassVar[bool] = True

    def __init__(
        self,
        tree: Tree,
        *,
        discount: float = 0.9,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.discount = checked_discount(discount)
        super().__init__(tree, reward_range=reward_range, rng=rng)

    def _new_tallies(self) -> Bounds:
        telling = math.ceil(math.log(LEAST_GAIN) / math.log(self.discount))
        return self._discounted_bounds(min(self.tree.depth, max(telling, 1)))

    def _choose(self) -> Path:
        if self.tallies.is_busy():
            raise self._exhausted()
        return super()._choose()
