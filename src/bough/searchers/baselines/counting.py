"""Searchers that count and average rewards: pending evaluations, and rules for the best arm."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bough._validation import real
from bough.belief.best_arm import Arm
from bough.belief.nodes import moderate
from bough.exceptions import Exhausted
from bough.searchers.base import RULES, Searcher, check_rule, new_generator, reward_of
from bough.trees import Path, Tree

if TYPE_CHECKING:
    from bough.searchers.baselines.arms import Arms
    from bough.searchers.baselines.tallies import Tallies


class CountingSearcher(Searcher):
    """A searcher that counts and averages rewards.

    Rewards may have any range: where an algorithm assumes [0, 1], they are scaled by the range of
    the rewards observed so far, or by `reward_range` if that is known. A subclass sets `tallies`
    and implements `_choose`.
    """

    #: The rule of `best` if none is given.
    default_rule: ClassVar[str] = "visits"
    #: Counts and means, by node or by arm.
    tallies: "Tallies | Arms"

    def __init__(
        self,
        tree: Tree,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a bough.Tree, got {tree!r}")
        self.tree = tree
        self.reward_range = None if reward_range is None else checked_range(reward_range)
        self._random = new_generator(rng)
        self._asked: Path | None = None  # the last path asked for, not yet counted as pending
        self._pending: list[Path] = []
        self._lowest_reward = math.inf
        self._highest_reward = -math.inf
        self._highest_at: Path = ()

    # ------------------------------------------------------------------ the algorithm

    @abstractmethod
    def _choose(self) -> Path:
        """Return the path to play next, or raise `self._exhausted()`."""

    def _record(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        """Record the reward of a validated path; or raise, and change nothing."""
        self.tallies.add(path, reward)

    @property
    def _scale(self) -> float:
        """The width of the range of rewards."""
        low, high = self.reward_range or (self._lowest_reward, self._highest_reward)
        return high - low if high > low else 1.0

    def _exhausted(self) -> Exhausted:
        pending = f" and {len(self._pending)} pending ones" if self._pending else ""
        return Exhausted(f"all arms are known after {self.observations} observations{pending}")

    # ------------------------------------------------------------------ ask and tell

    def ask(self) -> Path:
        """Return the next path to evaluate; while there are others, none that is pending."""
        if self._asked is not None:
            self.tallies.add_pending(self._asked, 1)
            self._pending.append(self._asked)
            self._asked = None
        self._asked = self._choose()
        return self._asked

    def tell(
        self,
        path: Sequence[int],
        value: float | None = None,
        *,
        noise: float | None = None,
        steps: Sequence[float] | None = None,
    ) -> None:
        """Record the reward of a path, or its steps; `noise` is for algorithms that model it."""
        if path is not self._asked:
            path = self.tree.complete(path)
        reward = moderate(reward_of(value, steps, len(path)), "value")
        self._record(path, reward, noise, steps)
        self._settle(path)
        if reward < self._lowest_reward:
            self._lowest_reward = reward
        if reward > self._highest_reward:
            self._highest_reward, self._highest_at = reward, path

    def _settle(self, path: Path) -> bool:
        """End the oldest pending evaluation of a path; return whether there was one."""
        if self._pending and path in self._pending:
            self._pending.remove(path)
            self.tallies.add_pending(path, -1)
        elif path == self._asked:
            self._asked = None
        else:
            return False
        return True

    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several."""
        path = self.tree.complete(path)
        if not self._settle(path):
            raise ValueError(
                f"path {path} is not pending: it was never asked for, or is observed or forgotten"
            )

    @property
    def observations(self) -> int:
        """The number of rewards observed."""
        return self.tallies.observations

    @property
    def pending(self) -> tuple[Path, ...]:
        """The paths returned by `ask` and not yet observed or forgotten, the oldest first."""
        return (*self._pending, *([] if self._asked is None else [self._asked]))

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played.

        The mean of an arm is the average of its rewards, and its standard deviation the standard
        error of that average: the deviation of rewards of one arm over the root of their number.

        Parameters
        ----------
        rule
            `"visits"`: the path of the most visited child each time (the default of algorithms
            that visit good arms more often).
            `"lower"`: the highest mean minus one standard deviation. `"mean"`: the highest mean.
            `"observed"`: the highest single reward.
        """
        check_rule(rule, ("visits", *RULES))
        if not self.observations:
            raise ValueError("no observations yet: call tell() before best()")
        rule = rule or self.default_rule
        variance = self.tallies.variance()
        if rule == "visits":
            path = self.tallies.most_visited()
        elif rule == "observed":
            path = self._highest_at
        else:
            path = self.tallies.highest_lower(variance if rule == "lower" else 0.0)
        mean, visits = self.tallies.mean_and_visits(path)
        std = math.sqrt(variance / visits)
        return Arm(path, None, mean, std, mean - std, mean + std, mean, visits)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tree!r}: {self.observations} observations)"


def checked_range(given: tuple[float, float]) -> tuple[float, float]:
    """Return the lowest and the highest possible reward, checked."""
    try:
        low, high = (real(end, "reward_range") for end in given)
    except (TypeError, ValueError):
        low = high = 0.0
    if low >= high:
        raise ValueError(f"reward_range must be (lowest, highest), got {given!r}")
    return low, high
