"""What bandits on a finite set of arms have in common."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bough._checks import listed
from bough._choice import Arm
from bough._nodes import moderate
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

#: Bandits that look at every arm refuse trees that have more.
MOST_ARMS = 1_000_000


class Bandit(Searcher):
    """A searcher that sees a list of arms: its own, or the leaves of a tree, in their order.

    A list of arms becomes a tree of one step, whose children it labels: then the path of the k-th
    arm is `(k,)`, and `tree.decode((k,))` is `(arms[k],)`.
    """

    #: The rule of `best` if none is given.
    default_rule: ClassVar[str] = "visits"

    def __init__(
        self,
        tree: Tree | None,
        arms: Sequence[Any] | None,
        reward_range: tuple[float, float] | None,
        rng: np.random.Generator | int | None,
    ) -> None:
        if (tree is None) == (arms is None):
            raise ValueError(
                f"{type(self).__name__} takes a tree, whose leaves are its arms, or a list of arms"
            )
        if arms is not None:
            things = listed(arms, "arms")
            if not things:
                raise ValueError("arms must hold at least one arm, got none")
            tree = Tree(len(things), 1, labels=things)
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a bough.Tree, got {tree!r}; lists are given as arms=")
        self.tree = tree
        self.reward_range = None if reward_range is None else checked_range(reward_range)
        self._random = new_generator(rng)
        self._asked: int | None = None  # asked for, and not yet counted as pending
        self._pending: list[int] = []
        self._told = 0
        self._played = 0  # arms that were played
        self._lowest, self._highest = math.inf, -math.inf
        self._highest_arm = 0
        self._make_arms()

    @abstractmethod
    def _make_arms(self) -> None:
        """Set up the arms."""

    @abstractmethod
    def _choose(self) -> int:
        """Return the arm to play next."""

    @abstractmethod
    def _arm_of(self, path: Path) -> int:
        """Return the arm of a checked path."""

    @abstractmethod
    def _path_of(self, k: int) -> Path:
        """Return the path of an arm."""

    def _make_room(self, arms: int) -> None:
        """Set up the counts and averages of so many arms."""
        self.visits = np.zeros(arms, dtype=np.int64)
        self.waiting = np.zeros(arms, dtype=np.int64)  # pending evaluations
        self.counts = np.zeros(arms)  # both together
        self.averages = np.zeros(arms)
        self.scatter = np.zeros(arms)  # sums of squared deviations from the average

    @property
    def _scale(self) -> float:
        """The width of the range of rewards."""
        low, high = self.reward_range or (self._lowest, self._highest)
        return high - low if high > low else 1.0

    # ------------------------------------------------------------------ ask and tell

    def ask(self) -> Path:
        """Return the next path to evaluate; while there are others, none that is pending."""
        if self._asked is not None:
            self.waiting[self._asked] += 1
            self.counts[self._asked] += 1
            self._pending.append(self._asked)
            self._asked = None
            self._pending_changed()
        self._asked = self._choose()
        return self._path_of(self._asked)

    def _pending_changed(self) -> None:
        """Take note that other evaluations are pending than before."""

    def tell(
        self,
        path: Sequence[int],
        value: float | None = None,
        *,
        noise: float | None = None,
        steps: Sequence[float] | None = None,
    ) -> None:
        """Take in the reward of a path, or the steps that sum up to it; `noise` is not used."""
        path = self.tree.complete(path)
        reward = moderate(reward_of(value, steps, len(path)), "value")
        k = self._arm_of(path)
        self._observe(k, reward, noise)
        self._settle(k)
        self._count(k, reward)

    def _observe(self, k: int, reward: float, noise: float | None) -> None:
        """Take in a reward where the algorithm keeps more than counts and averages, or raise."""

    def _count(self, k: int, reward: float) -> None:
        self._told += 1
        self._played += self.visits[k] == 0
        self.visits[k] += 1
        self.counts[k] += 1
        change = reward - self.averages[k]
        self.averages[k] += change / self.visits[k]
        self.scatter[k] += change * (reward - self.averages[k])
        self._lowest = min(self._lowest, reward)
        if reward > self._highest:
            self._highest, self._highest_arm = reward, k

    def _settle(self, k: int) -> bool:
        """End the oldest pending evaluation of an arm; return whether there was one."""
        if k in self._pending:
            self._pending.remove(k)
            self.waiting[k] -= 1
            self.counts[k] -= 1
            self._pending_changed()
            return True
        if k == self._asked:
            self._asked = None
            return True
        return False

    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several: it failed."""
        path = self.tree.complete(path)
        asked = () if self._asked is None else (self._asked,)
        if not any(self._path_of(k) == path for k in (*self._pending, *asked)):
            raise ValueError(f"path {path} is not pending: it was told or never asked for")
        self._settle(self._arm_of(path))

    @property
    def observations(self) -> int:
        """How many rewards were told."""
        return self._told

    @property
    def pending(self) -> tuple[Path, ...]:
        """The paths that were asked for and not yet told or forgotten, the oldest first."""
        asked = [] if self._asked is None else [self._asked]
        return tuple(self._path_of(k) for k in (*self._pending, *asked))

    # ------------------------------------------------------------------ choosing

    def _highest_of(self, index: Floats, skip: NDArray[np.bool_] | None = None) -> int:
        """Return the arm with the highest index, a random one of several, of those not skipped."""
        if skip is not None:
            index = np.where(skip, -np.inf, index)
        first = int(index.argmax())
        best = index == index[first]
        ties = int(np.count_nonzero(best))
        return first if ties == 1 else int(np.flatnonzero(best)[self._random.below(ties)])

    def _skipped(self, arms: int) -> NDArray[np.bool_] | None:
        """Return which of the first so many arms are pending; None if none are, or all."""
        if not self._pending:
            return None
        skip = self.waiting[:arms] > 0
        return None if skip.all() else skip

    def _expected(self, arms: int) -> Floats:
        """Return the averages; of an arm that is pending only, the average of all is expected."""
        averages = self.averages[:arms]
        if self._pending and self._told:
            visits = self.visits[:arms]
            overall = float(averages @ visits) / self._told
            averages = np.where(visits == 0, overall, averages)
        return averages

    # ------------------------------------------------------------------ what is known

    def _variance(self) -> float:
        """Return the variance of rewards of one arm, as far as anybody knows.

        While no arm was played twice it is that of all rewards, which is the most it can be.
        """
        if self._told > self._played:
            return float(self.scatter.sum()) / (self._told - self._played)
        rewards = self.averages[self.visits > 0]
        return float(rewards.var(ddof=1)) if len(rewards) > 1 else 0.0

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played.

        The mean of an arm is the average of its rewards, and the standard deviation that of such
        an average: how much rewards of one and the same arm vary, over the root of their number.

        Parameters
        ----------
        rule
            `"visits"`: the arm that was played most, of several the one with the highest mean.
            `"lower"`: the highest mean minus one standard deviation. `"mean"`: the highest mean.
            `"observed"`: the highest single reward.
        """
        check_rule(rule, ("visits", *RULES))
        if self._told == 0:
            raise ValueError("nothing was told yet, so nothing is best")
        rule = rule or self.default_rule
        variance = self._variance()
        arms = np.flatnonzero(self.visits)
        means, visits = self.averages[arms], self.visits[arms]
        if rule == "observed":
            k = self._highest_arm
        elif rule == "visits":
            k = int(arms[np.lexsort((-means, -visits))[0]])
        else:
            deviations = 1.0 if rule == "lower" else 0.0
            k = int(arms[np.argmax(means - deviations * np.sqrt(variance / visits))])
        mean, spread = float(self.averages[k]), math.sqrt(variance / self.visits[k])
        return Arm(
            self._path_of(k), None, mean, spread,
            mean - spread, mean + spread, mean, int(self.visits[k]),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tree!r}: {self.observations} observations)"


class Enumerated(Bandit):
    """A bandit that keeps something for every arm there is."""

    def _make_arms(self) -> None:
        self._paths: list[Path] | None = None
        self._numbers: dict[Path, int] = {}
        if self.tree.counts is None:
            self._paths = self._leaves()
            self._numbers = {path: k for k, path in enumerate(self._paths)}
        count = len(self._paths) if self._paths is not None else self.tree.arms
        if count is None or count > MOST_ARMS:
            raise self._too_many(f"{count:,}" if count else "endlessly many")
        self.arms = count
        self._make_room(count)

    def _too_many(self, count: str) -> ValueError:
        return ValueError(
            f"{type(self).__name__} looks at every arm, and {self.tree!r} has {count} of them; "
            f"it takes up to {MOST_ARMS:,}. GPTS and UCT can search this tree"
        )

    def _leaves(self) -> list[Path]:
        """Return the leaves of a ragged tree, in order."""
        leaves: list[Path] = []
        stack: list[Path] = [()]
        while stack:
            path = stack.pop()
            width = self.tree.children(path)
            if len(leaves) + len(stack) + width > MOST_ARMS:  # each has a leaf below
                raise self._too_many(f"more than {MOST_ARMS:,}")
            if width == 0:
                leaves.append(path)
            stack.extend((*path, k) for k in range(int(width) - 1, -1, -1))
        return leaves

    def _arm_of(self, path: Path) -> int:
        if self._paths is not None:
            if path not in self._numbers:
                raise ValueError(
                    f"the tree's branching function changed its mind about path {path}; "
                    "it must always give the same answer"
                )
            return self._numbers[path]
        k = 0
        for step, count in zip(path, self.tree.counts or (), strict=True):
            k = k * int(count) + step
        return k

    def _path_of(self, k: int) -> Path:
        if self._paths is not None:
            return self._paths[k]
        steps = []
        for count in reversed(self.tree.counts or ()):
            k, step = divmod(k, int(count))
            steps.append(step)
        return tuple(reversed(steps))
