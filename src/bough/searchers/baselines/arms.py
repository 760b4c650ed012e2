"""Bandits on lists of arms: counts and means by arm, prior covariances, and their posterior."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bough._validation import listed, real
from bough.kernels import Kernel, Linear
from bough.searchers.baselines.counting import CountingSearcher
from bough.trees import Path, Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: A kernel of arms as a parameter: of paths, a function of two arms, or a matrix.
ArmKernel = Kernel | Callable[[Any, Any], float] | Sequence[Sequence[float]] | Floats

#: Bandits that evaluate every arm refuse trees that have more.
MOST_ARMS = 1_000_000


class Arms:
    """Visit counts and mean rewards of arms, numbered in the order in which they appear.

    Arms are added when they appear, unless `complete` says that the given paths are all.
    """

    def __init__(self, paths: Sequence[Path] = (), *, complete: bool = False) -> None:
        self.complete = complete
        self.paths = list(paths)
        self._numbers = {path: k for k, path in enumerate(paths)}
        self.observations = 0
        self.visits = np.zeros(len(paths), dtype=np.int64)
        self.pending = np.zeros(len(paths), dtype=np.int64)
        self.counts = np.zeros(len(paths))  # visits and pending evaluations together
        self.means = np.zeros(len(paths))
        self.squares = np.zeros(len(paths))  # sums of squared deviations from the mean

    def __len__(self) -> int:
        return len(self.paths)

    def __contains__(self, path: Path) -> bool:
        return path in self._numbers

    def number_of(self, path: Path) -> int:
        """Return the number of an arm, a new number if it is new."""
        if path not in self._numbers:
            if self.complete:
                raise ValueError(
                    f"the branching function of the tree is inconsistent at path {path}: "
                    "it must always return the same number"
                )
            self._numbers[path] = len(self.paths)
            self.paths.append(path)
            for name in ("visits", "pending", "counts", "means", "squares"):
                array = getattr(self, name)
                setattr(self, name, np.append(array, array.dtype.type(0)))
        return self._numbers[path]

    def add(self, path: Path, reward: float) -> None:
        """Record a reward of an arm."""
        k = self.number_of(path)
        self.observations += 1
        self.visits[k] += 1
        self.counts[k] += 1
        change = reward - self.means[k]
        self.means[k] += change / self.visits[k]
        self.squares[k] += change * (reward - self.means[k])

    def add_pending(self, path: Path, change: int) -> None:
        """Count one more (or one fewer) pending evaluation of an arm."""
        k = self.number_of(path)
        self.pending[k] += change
        self.counts[k] += change

    def variance(self) -> float:
        """Return an estimate of the variance of the rewards of one arm."""
        rewards = self.means[self.visits > 0]
        if self.observations > len(rewards):
            return float(self.squares.sum()) / (self.observations - len(rewards))
        # While no arm was played twice: the variance of all rewards, an upper bound.
        return float(rewards.var(ddof=1)) if len(rewards) > 1 else 0.0

    def mean_and_visits(self, path: Path) -> tuple[float, int]:
        """Return the mean reward of an arm, and its number of rewards."""
        k = self.number_of(path)
        return float(self.means[k]), int(self.visits[k])

    def most_visited(self) -> Path:
        """Return the arm with the most rewards, the one with the highest mean among equals."""
        return self.paths[int(np.lexsort((-self.means, -self.visits))[0])]

    def highest_lower(self, variance: float) -> Path:
        """Return the arm with the highest mean - sqrt(variance / rewards)."""
        played = np.flatnonzero(self.visits)
        lower = self.means[played] - np.sqrt(variance / self.visits[played])
        return self.paths[int(played[np.argmax(lower)])]


def all_arms(tree: Tree, searcher: str) -> Arms:
    """Return the leaves of a tree as arms, in the order of their paths."""
    refusal = ValueError(
        f"{searcher} looks at every arm, and {tree!r} has more than {MOST_ARMS:,}; GPTS and UCT "
        "can search this tree"
    )
    if (tree.arms or 0) > MOST_ARMS:
        raise refusal
    leaves: list[Path] = []
    stack: list[Path] = [()]
    while stack:
        path = stack.pop()
        branching = tree.children(path)
        if len(leaves) + len(stack) + branching > MOST_ARMS:  # each has a leaf below
            raise refusal
        if branching == 0:
            leaves.append(path)
        stack.extend((*path, k) for k in range(int(branching) - 1, -1, -1))
    return Arms(leaves, complete=True)


# ---------------------------------------------------------------------- searchers


class Bandit(CountingSearcher):
    """A searcher on a list of arms: its own, or the leaves of a tree in the order of their paths.

    A list of arms becomes a tree of one step with the arms as labels: the path of the k-th arm is
    `(k,)`, and `tree.decode((k,))` is `(arms[k],)`.
    """

    tallies: Arms

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
            labels = listed(arms, "arms")
            if not labels:
                raise ValueError("arms must contain at least one arm, got none")
            tree = Tree(len(labels), 1, labels=labels)
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a bough.Tree, got {tree!r}; pass a list as arms=")
        super().__init__(tree, reward_range, rng)
        self.tallies = self._new_arms()

    def _new_arms(self) -> Arms:
        return all_arms(self.tree, type(self).__name__)

    @abstractmethod
    def _choose_arm(self) -> int:
        """Return the number of the arm to play next."""

    def _choose(self) -> Path:
        return self.tallies.paths[self._choose_arm()]

    def _highest_of(self, index: Floats, known: NDArray[np.bool_] | None = None) -> int:
        """Return the arm with the highest index, a random one of several.

        While there are others, it is neither pending nor `known`.
        """
        skip = self.tallies.pending > 0
        if known is not None:
            skip |= known
        if not skip.all():
            index = np.where(skip, -np.inf, index)
        best = np.flatnonzero(index == index.max())
        return int(best[0 if len(best) == 1 else self._random.below(len(best))])

    def _expected(self) -> Floats:
        """Return the mean of every arm; the overall mean for an arm that is only pending."""
        arms = self.tallies
        if not (self._pending and arms.observations):
            return arms.means
        overall = float(arms.means @ arms.visits) / arms.observations
        return np.where(arms.visits == 0, overall, arms.means)


class KernelBandit(Bandit):
    """A bandit that knows the prior covariances of its arms, `prior`."""

    def __init__(
        self,
        tree: Tree | None,
        kernel: ArmKernel | None,
        arms: Sequence[Any] | None,
        reward_range: tuple[float, float] | None,
        rng: np.random.Generator | int | None,
    ) -> None:
        super().__init__(tree, arms, reward_range, rng)
        if arms is not None and (kernel is None or isinstance(kernel, Kernel)):
            raise TypeError(
                f"{type(self).__name__} needs a kernel for a list of arms: a matrix, or a function "
                f"of two arms, got {kernel!r}"
            )
        paths = self.tallies.paths
        labels = paths if arms is None else list(arms)
        kernel = Linear() if kernel is None else kernel
        self.prior = Covariances(kernel, paths, labels, self.tree.depth)

    @abstractmethod
    def _observe(self, k: int, reward: float, noise: float | None) -> None:
        """Record a reward of an arm; or raise, and change nothing."""

    def _record(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        self._observe(self.tallies.number_of(path), reward, noise)
        super()._record(path, reward, noise, steps)


# ---------------------------------------------------------------------- covariances


class Covariances:
    """The prior covariances of arms, one column at a time; a function is called with labels."""

    def __init__(self, kernel: ArmKernel, paths: list[Path], labels: list[Any], depth: int) -> None:
        self.labels = labels
        self.function: Callable[[Any, Any], float] | None = None
        self.matrix: Floats | None = None
        self._columns: dict[int, Floats] = {}
        if isinstance(kernel, Kernel):
            self.shared = np.cumsum(kernel.increments(depth))  # by the number of shared steps
            self.steps = np.full((len(paths), depth), -1, dtype=np.int32)
            for k, path in enumerate(paths):
                self.steps[k, : len(path)] = path
            self.variances: Floats = self.shared[(self.steps >= 0).sum(axis=1)]
        elif callable(kernel):
            self.function = kernel
            self.variances = np.array([self._call(label, label) for label in labels])
        else:
            self.matrix = _matrix(kernel, len(paths))
            self.variances = self.matrix.diagonal().copy()
        if (self.variances < 0).any():
            k = int(np.argmin(self.variances))
            raise ValueError(
                f"kernel must not be negative on the diagonal, got the variance "
                f"{self.variances[k]} for arm {labels[k]!r}"
            )

    def _call(self, a: Any, b: Any) -> float:
        return real(self.function(a, b), f"kernel({a!r}, {b!r})")  # type: ignore[misc]

    def column(self, k: int) -> Floats:
        """Return the covariances of an arm with all arms."""
        column: Floats
        if self.matrix is not None:
            column = self.matrix[k]
            return column
        if self.function is not None:
            if k not in self._columns:  # the function may be slow
                here = self.labels[k]
                self._columns[k] = np.array([self._call(here, label) for label in self.labels])
            return self._columns[k]
        alike = np.logical_and.accumulate(self.steps == self.steps[k], axis=1).sum(axis=1)
        column = self.shared[np.minimum(alike, (self.steps[k] >= 0).sum())]
        return column


def _matrix(kernel: Any, arms: int) -> Floats:
    try:
        matrix = np.array(kernel, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "kernel must be a matrix, a function of two arms or, on a tree, a kernel such as "
            f"Gaussian(3.0), got {kernel!r}"
        ) from None
    if matrix.shape != (arms, arms):
        raise ValueError(
            f"kernel must be a matrix of {arms} x {arms}, a row for each arm, got one of shape "
            f"{matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("kernel must be a matrix of finite numbers")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-9 * np.abs(matrix).max(initial=0.0)):
        raise ValueError("kernel must be a symmetric matrix")
    return matrix


class PriorCovariances(Protocol):
    """The prior variances of arms, and their covariances one column at a time."""

    variances: Floats

    def column(self, k: int) -> Floats:
        """Return the covariances of an arm with all arms."""
        ...


class ArmPosterior:
    """The Gaussian posterior of all arms, updated by one observation at a time.

    As long as there are fewer observations than arms it stores V = L^(-1) K, where L L' is the
    Cholesky factor of the covariance of the observations and K their prior covariance with all
    arms: an observation adds a row. After that it stores the posterior covariance of all arms,
    which is smaller. So observation number t of N arms costs O(min(t, N) N).

    Attributes
    ----------
    variances
        The posterior variance of each arm.
    of_rewards, of_ones
        Posterior means for a prior mean of zero: of the rewards, and if every reward had been 1.
        For a prior mean m the posterior means are `of_rewards + m (1 - of_ones)`.
    """

    def __init__(self, prior: PriorCovariances) -> None:
        self.prior = prior
        arms = len(prior.variances)
        self.variances: Floats = prior.variances.copy()
        self.of_rewards = np.zeros(arms)
        self.of_ones = np.zeros(arms)
        self.rows = 0
        self._factor = np.empty((min(64, arms), arms))
        self._posterior: Floats | None = None

    def covariances(self, k: int) -> Floats:
        """Return the posterior covariances of an arm with all arms."""
        if self._posterior is not None:
            row: Floats = self._posterior[k].copy()
            return row
        factor = self._factor[: self.rows]
        return self.prior.column(k) - factor[:, k] @ factor

    def observe(self, k: int, reward: float, variance: float) -> None:
        """Record a reward of an arm with noise of that variance (or of an unknown arm exactly)."""
        along = self.covariances(k)
        total = max(self.variances[k], 0.0) + variance
        self.of_rewards += along * ((reward - self.of_rewards[k]) / total)
        self.of_ones += along * ((1.0 - self.of_ones[k]) / total)
        self.variances -= along * (along / total)
        np.maximum(self.variances, 0.0, out=self.variances)
        if variance == 0.0:
            self.variances[k] = 0.0
        self._append(along / math.sqrt(total))

    def _append(self, row: Floats) -> None:
        arms = len(self.variances)
        if self._posterior is not None:
            self._posterior -= np.outer(row, row)
            return
        if self.rows == len(self._factor):
            self._factor = np.concatenate([self._factor, np.empty_like(self._factor)])
        self._factor[self.rows] = row
        self.rows += 1
        if self.rows == arms:
            prior = np.array([self.prior.column(k) for k in range(arms)])
            factor = self._factor[:arms]
            self._posterior = prior - factor.T @ factor
            self._factor = self._factor[:0]

    def variances_after(self, pending: list[int], noise: float) -> Floats:
        """Return the variances after one more observation of each of these arms."""
        variances: Floats = self.variances.copy()
        rows: list[Floats] = []
        for k in pending:
            along = self.covariances(k)
            for row in rows:
                along -= row[k] * row
            total = max(variances[k], 0.0) + noise * noise
            if total > 0.0:
                rows.append(along / math.sqrt(total))
                variances -= rows[-1] ** 2
        np.maximum(variances, 0.0, out=variances)
        return variances
