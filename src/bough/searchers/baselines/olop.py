"""Open-loop optimistic planning (Bubeck and Munos 2010; Leurent and Maillard 2019)."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bough._validation import at_least_zero, real, whole
from bough.belief.nodes import moderate
from bough.searchers.base import read_steps
from bough.searchers.baselines.bounds import Bounds
from bough.searchers.baselines.tallied import Tallied
from bough.trees import Path, Tree


class Discounting(Tallied):
    """A searcher that knows the discount of each step of a path, and learns the steps' rewards.

    Steps are told as everywhere, discounted: `tell(path, steps=[r_1, discount r_2, ...])`. If only
    their sum is told, `tell(path, value)`, every step is taken to have had the same reward
    before it was discounted: the bounds are then a heuristic, since a node's average mixes
    in what other steps gave.
    """

    discount: float

    def _discounted_bounds(self, limit: int, *, kl: bool = False) -> Bounds:
        """Return bounds of discounted sums that tell apart the nodes down to a depth."""
        depth = self.tree.depth
        gains = self.discount ** np.arange(depth)  # of the steps 1 .. D
        to_come = np.append(np.cumsum(gains[::-1])[::-1], 0.0)
        self._gains: list[float] = gains.tolist()
        self._sums: list[float] = np.append(0.0, np.cumsum(gains)).tolist()
        return Bounds(
            self.tree,
            to_come,
            np.append(0.0, gains),
            reward_range=self.reward_range,
            limit=limit,
            kl=kl,
            exact=self.exact,
        )

    def _add(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        known = min(len(path), self.tallies.limit)
        if steps is None:
            undiscounted = [reward / self._sums[len(path)]] * known if known else []
        else:
            rewards = read_steps(steps, len(path))
            undiscounted = [
                moderate(rewards[i] / self._gains[i], f"steps[{i}]") for i in range(known)
            ]
        self.tallies.add_steps(path, reward, undiscounted)

    tallies: Bounds

    def _choose(self) -> Path:
        return self.tallies.follow(self._random)


class OLOP(Discounting):
    """Plan for a fixed budget by bounds of the discounted sums of rewards along a path.

    For the first h steps of a path U_h = sum_i discount^(i-1) (mean_i + sqrt(2 log M / n_i)) + what
    the steps after h can give at most, where mean_i is the average reward of the i-th step, told
    n_i times. The bound of a path is the least of its U_1 .. U_L, and the path with the highest
    is played. What a step gives before it is discounted is assumed to have a range of 1; others
    are rescaled.

    Parameters
    ----------
    tree : Tree
    budget : int, optional
        How many single steps may be tried. Then M paths will be played, and the first L steps of
        each are told apart: M is the largest number with M L <= budget, where
        L = log M / (2 log(1/discount)), rounded up.
    plays : int, optional
        M itself, instead of a budget of steps.
    discount : float
    exploration : float
        What the width of the confidence bounds is multiplied with. They hold with 1, and are then
        so wide that much less is usually better.
    reward_range : (float, float), optional
        The lowest and the highest reward of a single step, before it is discounted; by default
        those seen so far (rounded outwards by an eighth of their difference or less).
    rng : int or numpy.random.Generator

    Attributes
    ----------
    plays, horizon : int
        M and L (L at most the depth of the tree).

    Notes
    -----
    Tell the steps, `tell(path, steps=[r_1, discount r_2, ...])`, discounted as everywhere. If only
    the sum is told each step is taken to have had the same reward before it was discounted, which
    is no more than a heuristic. Steps below L are random. After M plays it goes on with the same M.
    (The authors number discounts from 1 and let paths go on for ever; these are numbered from 0
    and end with the tree.) `best_action()` is their output: the first step that was taken most.

    Examples
    --------
    >>> import bough
    >>> search = bough.OLOP(bough.Tree(2, 5), budget=600, discount=0.7, rng=0)
    >>> search.plays, search.horizon
    (85, 7)
    """

    kl: ClassVar[bool] = False

    def __init__(
        self,
        tree: Tree,
        *,
        budget: int | None = None,
        plays: int | None = None,
        discount: float = 0.9,
        exploration: float = 1.0,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.discount = checked_discount(discount)
        if (budget is None) == (plays is None):
            raise ValueError(
                f"{type(self).__name__} plans for a fixed budget: give it as budget, the number of "
                "single steps, or as plays, the number of paths"
            )
        if plays is None:
            plays = _most_plays(whole(budget, "budget", least=1), self.discount)
        self.plays = whole(plays, "plays", least=1)
        self.horizon = _horizon(self.plays, self.discount)
        self.exploration = at_least_zero(exploration, "exploration")
        super().__init__(tree, reward_range=reward_range, rng=rng)

    def _new_tallies(self) -> Bounds:
        bounds = self._discounted_bounds(min(self.horizon, self.tree.depth), kl=self.kl)
        bounds.set_width(self.exploration**2 * self._width())
        return bounds

    def _width(self) -> float:
        return 2.0 * math.log(self.plays)


class KLOLOP(OLOP):
    """OLOP with the tighter bounds that the Kullback-Leibler divergence gives.

    Instead of mean_i + sqrt(2 log M / n_i) it has the largest q with
    n_i kl(mean_i, q) <= 2 log M + 2 log log M, for the divergence kl of two Bernoulli variables.
    All else is as for `OLOP`.

    Examples
    --------
    >>> import bough
    >>> search = bough.KLOLOP(bough.Tree(3, 4), plays=100, discount=0.6, rng=0)
    >>> for _ in range(100):
    ...     path = search.ask()
    ...     search.tell(path, steps=[0.6**i * (step == 1) for i, step in enumerate(path)])
    >>> search.best_action()
    1
    """

    kl: ClassVar[bool] = True

    def _width(self) -> float:
        log_plays = math.log(self.plays)
        # (For few plays log log M is negative, which the theory has no use for.)
        return 2.0 * log_plays + 2.0 * math.log(max(log_plays, 1.0))


def checked_discount(discount: float) -> float:
    """Return a discount, or say what is wrong with it."""
    if not 0 < real(discount, "discount") < 1:
        raise ValueError(f"discount must be between 0 and 1, got {discount!r}")
    return float(discount)


def _horizon(plays: int, discount: float) -> int:
    # (A quotient that is whole but for the rounding is not rounded up.)
    return max(math.ceil(math.log(plays) / (2 * math.log(1 / discount)) - 1e-12), 1)


def _most_plays(budget: int, discount: float) -> int:
    """Return the largest M with M L <= budget: M L grows with M, so one can bisect."""
    fits, too_many = 1, budget + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if middle * _horizon(middle, discount) <= budget:
            fits = middle
        else:
            too_many = middle
    return fits
