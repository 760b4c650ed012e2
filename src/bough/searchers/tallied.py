"""What searchers without a model have in common: they count and average rewards."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bough._choice import Arm
from bough._nodes import moderate
from bough._tallies import Tallies
from bough.searchers.base import (
    RULES,
    Exhausted,
    Searcher,
    check_rule,
    checked_range,
    new_generator,
    reward_of,
)
from bough.trees import Path, Tree


class Tallied(Searcher):
    """A searcher whose memory is the tallies of the nodes that were visited.

    Rewards may have any range: what an algorithm assumes to lie in [0, 1] is scaled by the range of
    the rewards told so far, or by `reward_range` where that is known.
    """

    #: The rule of `best` if none is given.
    default_rule: ClassVar[str] = "visits"
    #: Whether a reward told once is known, so that no arm is played twice.
    exact: ClassVar[bool] = False
    #: Whether plays may end at inner nodes, whose rewards are then told.
    deepening = False

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
                f"{type(self).__name__} chooses among all children of a node, so the "
                f"branching must be finite, got {tree!r}; GPTS can search this tree"
            )
        self.tree = tree
        self.reward_range = None if reward_range is None else checked_range(reward_range)
        self.tallies = self._new_tallies()
        self._random = new_generator(rng)
        self._asked: Path | None = None  # asked for, and not yet counted as pending
        self._pending: list[Path] = []
        self._highest_reward: tuple[float, Path] | None = None

    def _new_tallies(self) -> Tallies:
        """Return the memory that the algorithm needs."""
        return Tallies(self.tree, self.exact)

    @abstractmethod
    def _choose(self) -> Path:
        """Return the path to play next."""

    @property
    def _scale(self) -> float:
        """The width of the range of rewards."""
        low, high = self.reward_range or (self.tallies.lowest, self.tallies.highest)
        return high - low if high > low else 1.0

    def ask(self) -> Path:
        """Return the next path to evaluate; while there are others, none that is pending."""
        if self._asked is not None:
            self.tallies.wait(self._asked, 1)
            self._pending.append(self._asked)
            self._asked = None
        if self.exact and self.tallies.is_busy():
            waiting = f" and {len(self._pending)} pending ones" if self._pending else ""
            raise Exhausted(f"all arms are known after {self.observations} observations{waiting}")
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
            path = self._playable(path)
        reward = moderate(reward_of(value, steps, len(path)), "value")
        self._add(path, reward, steps)
        if self._pending and path in self._pending:
            self._settle(path)
        elif path == self._asked:
            self._asked = None
        if self._highest_reward is None or reward > self._highest_reward[0]:
            self._highest_reward = (reward, path)

    def _add(self, path: Path, reward: float, steps: Sequence[float] | None) -> None:
        """Take in the reward of a checked path, and those of its steps if they were told."""
        self.tallies.add(path, reward)

    def _playable(self, path: Sequence[int]) -> Path:
        return self.tree.walk(path)[0] if self.deepening else self.tree.complete(path)

    def _settle(self, path: Path) -> None:
        self._pending.remove(path)
        self.tallies.wait(path, -1)

    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several: it failed."""
        path = self._playable(path)
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
            `"visits"`: where the most visited child leads each time (the default where the
            algorithm visits what is good more often: in noise it is far better than the next two).
            `"lower"`: the highest mean minus one standard deviation. `"mean"`: the highest mean.
            `"observed"`: the highest single reward.
        """
        check_rule(rule, ("visits", *RULES))
        if self._highest_reward is None:
            raise ValueError("nothing was told yet, so nothing is best")
        rule = rule or self.default_rule
        nodes = self.tallies.nodes
        variance = self.tallies.variance()
        if rule == "visits":
            n = self.tallies.most_visited()
        elif rule == "observed":
            n = self.tallies.end_of(self._highest_reward[1])
        else:
            arms = np.flatnonzero(nodes["ended"])
            is_leaf = nodes["branching"][arms] == 0
            means = np.where(is_leaf, nodes["average"][arms], nodes["itself"][arms])
            deviations = 1.0 if rule == "lower" else 0.0
            std = np.sqrt(variance / nodes["ended"][arms])
            n = int(arms[np.argmax(means - deviations * std)])
        mean = float(nodes["itself" if nodes["branching"][n] else "average"][n])
        visits = int(nodes["ended"][n])
        spread = math.sqrt(variance / visits)
        path = self.tallies.path_to(n)
        return Arm(path, None, mean, spread, mean - spread, mean + spread, mean, visits)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tree!r}: {self.observations} observations)"
