"""What bandits on a finite set of arms have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._validation import listed
from bough.searchers.baselines.counting import Counting, Floats
from bough.trees import Path, Tree

#: Bandits that look at every arm refuse trees that have more.
MOST_ARMS = 1_000_000


class Bandit(Counting):
    """A searcher that sees a list of arms: its own, or the leaves of a tree, in their order.

    A list of arms becomes a tree of one step, whose children it labels: then the path of the k-th
    arm is `(k,)`, and `tree.decode((k,))` is `(arms[k],)`.
    """

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
        super().__init__(tree, reward_range, rng)
        self._told = 0
        self._played = 0  # arms that were played
        self._make_arms()

    @abstractmethod
    def _make_arms(self) -> None:
        """Set up the arms."""

    @abstractmethod
    def _choose_arm(self) -> int:
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

    def _choose(self) -> Path:
        return self._path_of(self._choose_arm())

    def _wait(self, path: Path, change: int) -> None:
        k = self._arm_of(path)
        self.waiting[k] += change
        self.counts[k] += change

    def _add(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        k = self._arm_of(path)
        self._observe(k, reward, noise)
        self._told += 1
        self._played += self.visits[k] == 0
        self.visits[k] += 1
        self.counts[k] += 1
        change = reward - self.averages[k]
        self.averages[k] += change / self.visits[k]
        self.scatter[k] += change * (reward - self.averages[k])

    def _observe(self, k: int, reward: float, noise: float | None) -> None:
        """Take in a reward where the algorithm keeps more than counts and averages, or raise."""

    @property
    def observations(self) -> int:
        """How many rewards were told."""
        return self._told

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

    # ------------------------------------------------------------------ what is best

    def _variance(self) -> float:
        if self._told > self._played:
            return float(self.scatter.sum()) / (self._told - self._played)
        # While no arm was played twice it is that of all rewards, which is the most it can be.
        rewards = self.averages[self.visits > 0]
        return float(rewards.var(ddof=1)) if len(rewards) > 1 else 0.0

    def _average(self, path: Path) -> tuple[float, int]:
        k = self._arm_of(path)
        return float(self.averages[k]), int(self.visits[k])

    def _most_visited(self) -> Path:
        """Return the arm that was played most, of several the one with the highest mean."""
        return self._path_of(int(np.lexsort((-self.averages, -self.visits))[0]))

    def _highest_below_mean(self, variance: float) -> Path:
        arms = np.flatnonzero(self.visits)
        lower = self.averages[arms] - np.sqrt(variance / self.visits[arms])
        return self._path_of(int(arms[np.argmax(lower)]))


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
