"""What searchers without a model have in common: they count and average rewards."""

import math
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from bough._checks import real
from bough._choice import Arm
from bough._nodes import moderate
from bough._tallies import Tallies
from bough.searchers.base import RULES, Searcher, check_rule, new_generator, reward_of
from bough.trees import Path, Tree


class Tallied(Searcher):
    """A searcher whose memory is the tallies of the nodes that were visited.

    Rewards may have any range: what an algorithm assumes to lie in [0, 1] is scaled by the range of
    the rewards told so far, or by `reward_range` where that is known.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a bough.Tree, got {tree!r}")
        if tree.counts is not None and math.inf in tree.counts:
            raise ValueError(
                f"{type(self).__name__} tries every child of a node before any other twice, so the "
                f"branching must be finite, got {tree!r}; GPTS can search this tree"
            )
        self.tree = tree
        self.reward_range = None if reward_range is None else _range(reward_range)
        self.tallies = Tallies(tree)
        self._random = new_generator(rng)
        self._asked: Path | None = None  # asked for, and not yet counted as pending
        self._pending: list[Path] = []
        self._highest_reward: tuple[float, Path] | None = None

    @abstractmethod
    def _choose(self) -> Path:
        """Return the path to play next."""

    @property
    def _scale(self) -> float:
        """The width of the range of rewards."""
        low, high = self.reward_range or (self.tallies.lowest, self.tallies.highest)
        return high - low if high > low else 1.0

    def ask(self) -> Path:
        """Return the next path to evaluate."""
        if self._asked is not None:
            self.tallies.wait(self._asked, 1)
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
        """Take in the reward of a path, or the steps that sum up to it; `noise` is not used."""
        if path is not self._asked:
            path = self.tree.complete(path)
        reward = moderate(reward_of(value, steps, len(path)), "value")
        self.tallies.add(path, reward)
        if self._pending and path in self._pending:
            self._settle(path)
        elif path == self._asked:
            self._asked = None
        if self._highest_reward is None or reward > self._highest_reward[0]:
            self._highest_reward = (reward, path)

    def _settle(self, path: Path) -> None:
        self._pending.remove(path)
        self.tallies.wait(path, -1)

    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several: it failed."""
        path = self.tree.complete(path)
        if path in self._pending:
            self._settle(path)
        elif path == self._asked:
            self._asked = None
        else:
            raise ValueError(f"path {path} is not pending: it was told or never asked for")

    @property
    def observations(self) -> int:
        """How many rewards were told."""
        return self.tallies.observations

    @property
    def pending(self) -> tuple[Path, ...]:
        """The paths that were asked for and not yet told or forgotten, the oldest first."""
        return (*self._pending, *([] if self._asked is None else [self._asked]))

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played.

        The mean of an arm is the average of its rewards, and the standard deviation that of such
        an average: how much rewards of one and the same arm vary, over the root of their number.

        Parameters
        ----------
        rule
            `"visits"`: where the most visited child leads each time (the default, which in noise
            is far better than the next two). `"lower"`: the highest mean minus one standard
            deviation. `"mean"`: the highest mean. `"observed"`: the highest single reward.
        """
        check_rule(rule, ("visits", *RULES))
        if self._highest_reward is None:
            raise ValueError("nothing was told yet, so nothing is best")
        nodes = self.tallies.nodes
        variance = self.tallies.variance()
        if rule is None or rule == "visits":
            n = self.tallies.most_visited()
        elif rule == "observed":
            n = self.tallies.end_of(self._highest_reward[1])
        else:
            arms = np.flatnonzero((nodes["branching"] == 0) & (nodes["visits"] > 0))
            deviations = 1.0 if rule == "lower" else 0.0
            std = np.sqrt(variance / nodes["visits"][arms])
            n = int(arms[np.argmax(nodes["average"][arms] - deviations * std)])
        mean, visits = float(nodes["average"][n]), int(nodes["visits"][n])
        spread = math.sqrt(variance / visits)
        path = self.tallies.path_to(n)
        return Arm(path, None, mean, spread, mean - spread, mean + spread, mean, visits)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tree!r}: {self.observations} observations)"


def _range(given: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (real(end, "reward_range") for end in given)
    except (TypeError, ValueError):
        raise ValueError(f"reward_range must be (lowest, highest), got {given!r}") from None
    if not low < high:
        raise ValueError(f"reward_range must be (lowest, highest), got {given!r}")
    return low, high
