"""Optimistic planning with discounted rewards: OLOP, KL-OLOP and best-first search.

OLOP is by Bubeck and Munos (2010), KL-OLOP by Leurent and Maillard (2019), and best-first search,
for deterministic problems, by Hren and Munos (2008).
"""

import bisect
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bough._validation import at_least_zero, between_zero_and_one, whole
from bough.belief.nodes import moderate
from bough.searchers.base import read_steps
from bough.searchers.baselines.counting import CountingSearcher
from bough.searchers.baselines.tallies import Bounds
from bough.trees import Path, Tree

#: `BestFirst` does not distinguish nodes where discounts are below this, near the rounding error.
LEAST_GAIN = 1e-12


class OptimisticPlanner(CountingSearcher):
    """A searcher that knows the discounts of the steps, and estimates their rewards."""

    tallies: Bounds

    def __init__(
        self,
        tree: Tree,
        discount: float,
        limit: int,
        reward_range: tuple[float, float] | None,
        rng: np.random.Generator | int | None,
        *,
        kl: bool = False,
        exact: bool = False,
    ) -> None:
        super().__init__(tree, reward_range, rng)
        self.discount = discount
        gains = discount ** np.arange(tree.depth)  # of the steps 1 .. D
        remaining = np.append(np.cumsum(gains[::-1])[::-1], 0.0)
        self._gains: list[float] = gains.tolist()
        self._sums: list[float] = np.append(0.0, np.cumsum(gains)).tolist()
        self._limit = min(limit, tree.depth)  # of the nodes with bounds
        self.tallies = Bounds(
            tree, remaining, np.append(0.0, gains), self.reward_range, self._limit, kl, exact
        )

    def _record(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        known = min(len(path), self._limit)
        if steps is None:
            undiscounted = [reward / self._sums[len(path)]] * known if known else []
        else:
            rewards = read_steps(steps, len(path))
            undiscounted = [
                moderate(rewards[i] / self._gains[i], f"steps[{i}]") for i in range(known)
            ]
        self.tallies.add_steps(path, reward, undiscounted)

    def _choose(self) -> Path:
        return self.tallies.descend(self._random)


class OLOP(OptimisticPlanner):
    """Plan for a fixed budget by bounds of the discounted sums of rewards along a path.

    For the first h steps of a path U_h = sum_i discount^(i-1) (mean_i + sqrt(2 log M / n_i)) + the
    highest possible sum of the steps after h, where mean_i is the average of the n_i rewards of the
    i-th step. The bound of a path is the minimum of its U_1 .. U_L, and the path with the highest
    bound is played. Undiscounted rewards are assumed to have a range of 1; others are rescaled.

    Parameters
    ----------
    tree : Tree
    budget : int, optional
        The number of single steps. M paths will be played, and the bounds are those of the first
        L = log M / (2 log(1/discount)) steps, rounded up: M is the largest number with
        M L <= budget.
    plays : int, optional
        M itself, instead of a budget of steps.
    discount : float
    exploration : float
        Multiplier of the width of the confidence bounds, valid with 1; less often works better.
    reward_range : (float, float), optional
        The lowest and the highest undiscounted reward of a step; by default those observed so far
        (rounded outwards by an eighth of their difference or less).
    rng : int or numpy.random.Generator

    Attributes
    ----------
    plays, horizon : int
        M and L (L at most the depth of the tree).

    Notes
    -----
    Pass the discounted rewards of the steps, `tell(path, steps=[r_1, discount r_2, ...])`. If only
    their sum is given, all steps are assumed to have the same undiscounted reward, a heuristic.
    Steps below L are random, and after M plays the search continues with the same M.
    `best_action()` is the authors' output: the most frequent first step.

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.OLOP(bough.Tree(2, 5), budget=600, discount=0.7, rng=0)
    >>> search.plays, search.horizon
    (85, 7)
    """

    needs_plays: ClassVar[bool] = True
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
        discount = between_zero_and_one(discount, "discount")
        if (budget is None) == (plays is None):
            raise ValueError(
                f"{type(self).__name__} plans for a fixed budget: give it as budget, the number of "
                "single steps, or as plays, the number of paths"
            )
        if plays is None:
            plays = _most_plays(whole(budget, "budget", least=1), discount)
        self.plays = whole(plays, "plays", least=1)
        self.horizon = _horizon(self.plays, discount)
        self.exploration = at_least_zero(exploration, "exploration")
        super().__init__(tree, discount, self.horizon, reward_range, rng, kl=self.kl)
        log_plays = math.log(self.plays)
        width = 2.0 * log_plays
        if self.kl:  # log log M is negative for few plays, where the theory says nothing
            width += 2.0 * math.log(max(log_plays, 1.0))
        self.tallies.set_width(self.exploration**2 * width)


class KLOLOP(OLOP):
    """OLOP with the tighter bounds of the Kullback-Leibler divergence.

    Instead of mean_i + sqrt(2 log M / n_i) it has the largest q with
    n_i kl(mean_i, q) <= 2 log M + 2 log log M, for the divergence kl of two Bernoulli variables.

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.KLOLOP(bough.Tree(3, 4), plays=100, discount=0.6, rng=0)
    >>> for _ in range(100):
    ...     path = search.ask()
    ...     search.tell(path, steps=[0.6**i * (step == 1) for i, step in enumerate(path)])
    >>> search.best_action()
    1
    """

    kl: ClassVar[bool] = True


class BestFirst(OptimisticPlanner):
    """Continue from the most promising node, for exact rewards that are observed step by step.

    The bound of a node is the discounted rewards of the steps to it plus the most that the steps
    below it can give: the next path passes the node with the highest bound that has an unexplored
    child. No path is played twice, and `ask` raises `Exhausted` when all were.

    Parameters
    ----------
    tree : Tree
    discount : float
    reward_range : (float, float), optional
        The lowest and the highest undiscounted reward of a step; by default those observed so far
        (rounded outwards by an eighth of their difference or less).
    rng : int or numpy.random.Generator

    Notes
    -----
    Pass the discounted rewards of the steps, as to `OLOP`; their sum alone makes it a heuristic.

    Examples
    --------
    >>> import bough
    >>> tree = bough.Tree(3, 4)
    >>> search = bough.baselines.BestFirst(tree, discount=0.5, reward_range=(0, 1), rng=0)
    >>> for _ in range(5):
    ...     path = search.ask()
    ...     search.tell(path, steps=[0.5**i * (step == 2) for i, step in enumerate(path)])
    >>> search.best().path[0]
    2
    """

    default_rule: ClassVar[str] = "observed"

    def __init__(
        self,
        tree: Tree,
        *,
        discount: float = 0.9,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        discount = between_zero_and_one(discount, "discount")
        deepest = math.ceil(math.log(LEAST_GAIN) / math.log(discount))
        super().__init__(tree, discount, max(deepest, 1), reward_range, rng, exact=True)

    def _choose(self) -> Path:
        if self.tallies.is_exhausted():
            raise self._exhausted()
        return super()._choose()


def _horizon(plays: int, discount: float) -> int:
    # (A quotient that is an integer up to rounding is not rounded up.)
    return max(math.ceil(math.log(plays) / (2 * math.log(1 / discount)) - 1e-12), 1)


def _most_plays(budget: int, discount: float) -> int:
    """Return the largest M with M L <= budget: M L grows with M."""
    plays = range(1, budget + 1)
    return bisect.bisect(plays, budget, key=lambda m: m * _horizon(m, discount))
