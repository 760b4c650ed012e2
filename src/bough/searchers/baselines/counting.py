"""What searchers without a belief have in common: who is pending, and which arm is the best."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bough.belief.best_arm import Arm
from bough.belief.nodes import moderate
from bough.exceptions import Exhausted
from bough.searchers.base import (
    RULES,
    Searcher,
    check_rule,
    checked_range,
    new_generator,
    reward_of,
)
from bough.trees import Path, Tree

Floats = NDArray[np.float64]


class Counting(Searcher):
    """A searcher that counts and averages rewards.

    Rewards may have any range: what an algorithm assumes to lie in [0, 1] is scaled by the range of
    the rewards told so far, or by `reward_range` where that is known.
    """

    #: The rule of `best` if none is given.
    default_rule: ClassVar[str] = "visits"

    def __init__(
        self,
        tree: Tree,
        reward_range: tuple[float, float] | None,
        rng: np.random.Generator | int | None,
    ) -> None:
        self.tree = tree
        self.reward_range = None if reward_range is None else checked_range(reward_range)
        self._random = new_generator(rng)
        self._asked: Path | None = None  # asked for, and not yet counted as pending
        self._pending: list[Path] = []
        self._lowest_reward = math.inf
        self._highest_reward = -math.inf
        self._highest_at: Path = ()

    # ------------------------------------------------------------------ what an algorithm says

    @abstractmethod
    def _choose(self) -> Path:
        """Return the path to play next, or raise what `_exhausted` gives."""

    @abstractmethod
    def _add(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        """Take in the reward of a checked path; or raise, and change nothing."""

    @abstractmethod
    def _wait(self, path: Path, change: int) -> None:
        """Count one more (or one fewer) pending evaluation of a path."""

    @abstractmethod
    def _variance(self) -> float:
        """Return the variance of rewards of one and the same arm, as far as anybody knows."""

    @abstractmethod
    def _average(self, path: Path) -> tuple[float, int]:
        """Return the average reward of an arm that was played, and how many there were."""

    @abstractmethod
    def _most_visited(self) -> Path:
        """Return the arm that the rule `"visits"` calls the best."""

    @abstractmethod
    def _highest_below_mean(self, variance: float) -> Path:
        """Return the arm with the highest mean - sqrt(variance / visits)."""

    def _playable(self, path: Sequence[int]) -> Path:
        """Return a path that can be played as a tuple of ints, or say what is wrong with it."""
        return self.tree.complete(path)

    @property
    def _scale(self) -> float:
        """The width of the range of rewards."""
        low, high = self.reward_range or (self._lowest_reward, self._highest_reward)
        return high - low if high > low else 1.0

    # ------------------------------------------------------------------ ask and tell

    def ask(self) -> Path:
        """Return the next path to evaluate; while there are others, none that is pending."""
        if self._asked is not None:
            self._wait(self._asked, 1)
            self._pending.append(self._asked)
            self._asked = None
        self._asked = self._choose()
        return self._asked

    def _exhausted(self) -> Exhausted:
        waiting = f" and {len(self._pending)} pending ones" if self._pending else ""
        return Exhausted(f"all arms are known after {self.observations} observations{waiting}")

    def tell(
        self,
        path: Sequence[int],
        value: float | None = None,
        *,
        noise: float | None = None,
        steps: Sequence[float] | None = None,
    ) -> None:
        """Take in the reward of a path, or the steps that sum up to it.

        `noise` is for algorithms that have a use for it.
        """
        if path is not self._asked:
            path = self._playable(path)
        reward = moderate(reward_of(value, steps, len(path)), "value")
        self._add(path, reward, noise, steps)
        self._settle(path)
        if reward < self._lowest_reward:
            self._lowest_reward = reward
        if reward > self._highest_reward:
            self._highest_reward, self._highest_at = reward, path

    def _settle(self, path: Path) -> bool:
        """End the oldest pending evaluation of a path; return whether there was one."""
        if self._pending and path in self._pending:
            self._pending.remove(path)
            self._wait(path, -1)
        elif path == self._asked:
            self._asked = None
        else:
            return False
        return True

    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several."""
        path = self._playable(path)
        if not self._settle(path):
            raise ValueError(f"path {path} is not pending: it was told or never asked for")

    @property
    def pending(self) -> tuple[Path, ...]:
        """The paths that were asked for and not yet told or forgotten, the oldest first."""
        return (*self._pending, *([] if self._asked is None else [self._asked]))

    # ------------------------------------------------------------------ what is best

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played.

        The mean of an arm is the average of its rewards, and the standard deviation that of such
        an average: how much rewards of one and the same arm vary, over the root of their number.

        Parameters
        ----------
        rule
            `"visits"`: where the most visited child leads each time (the default where the
            algorithm visits what is good more often: in noise it is far better than the next two).
            `"lower"`: the highest mean minus one standard deviation. `"mean"`: the highest mean.
            `"observed"`: the highest single reward.
        """
        check_rule(rule, ("visits", *RULES))
        if not self.observations:
            raise ValueError("no observations yet: call tell() before best()")
        rule = rule or self.default_rule
        variance = self._variance()
        if rule == "visits":
            path = self._most_visited()
        elif rule == "observed":
            path = self._highest_at
        else:
            path = self._highest_below_mean(variance if rule == "lower" else 0.0)
        mean, visits = self._average(path)
        spread = math.sqrt(variance / visits)
        return Arm(path, None, mean, spread, mean - spread, mean + spread, mean, visits)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tree!r}: {self.observations} observations)"
