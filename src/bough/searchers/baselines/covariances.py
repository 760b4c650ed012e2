"""What arms have in common: prior covariances of any kind, and the posterior that follows."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bough._validation import real
from bough.kernels import Kernel, Linear
from bough.searchers.baselines.bandit import Enumerated
from bough.searchers.baselines.counting import Floats
from bough.trees import Path

#: A kernel of arms, as users give it.
ArmKernel = Kernel | Callable[[Any, Any], float] | Sequence[Sequence[float]] | Floats


class Covariances:
    """The prior covariances of a list of arms, one column at a time.

    Parameters
    ----------
    kernel
        A matrix, a function of two arms, or a `bough.kernels.Kernel` of the tree's paths.
    paths
        The paths of the arms.
    things
        What a function is called with.
    depth
        That of the tree, for its kernel.
    """

    def __init__(self, kernel: ArmKernel, paths: list[Path], things: list[Any], depth: int) -> None:
        self.things = things
        self.function: Callable[[Any, Any], float] | None = None
        self.matrix: Floats | None = None
        self._columns: dict[int, Floats] = {}
        if isinstance(kernel, Kernel):
            #: The covariance of paths that share so many steps.
            self.shared = np.cumsum(kernel.increments(depth))
            self.steps = np.full((len(paths), depth), -1, dtype=np.int32)
            for k, path in enumerate(paths):
                self.steps[k, : len(path)] = path
            self.variances: Floats = self.shared[(self.steps >= 0).sum(axis=1)]
        elif callable(kernel):
            self.function = kernel
            self.variances = np.array([self._call(thing, thing) for thing in things])
        else:
            self.matrix = _matrix(kernel, len(paths))
            self.variances = self.matrix.diagonal().copy()
        if (self.variances < 0).any():
            k = int(np.argmin(self.variances))
            raise ValueError(
                f"kernel gives arm {things[k]!r} the variance {self.variances[k]}, which must not "
                "be negative"
            )

    def _call(self, a: Any, b: Any) -> float:
        assert self.function is not None
        return real(self.function(a, b), f"kernel({a!r}, {b!r})")

    def column(self, k: int) -> Floats:
        """Return the covariances of an arm with all arms."""
        if self.matrix is not None:
            row: Floats = self.matrix[k]
            return row
        if self.function is not None:
            if k not in self._columns:  # it may be slow
                here = self.things[k]
                self._columns[k] = np.array([self._call(here, thing) for thing in self.things])
            return self._columns[k]
        column = np.full(len(self.steps), self.shared[0])
        alike = np.ones(len(self.steps), dtype=bool)
        for i, step in enumerate(self.steps[k]):
            if step < 0:
                break
            alike &= self.steps[:, i] == step
            column[alike] = self.shared[i + 1]
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


def covariances_of(bandit: Enumerated, kernel: ArmKernel | None, arms: Any) -> Covariances:
    """Return the covariances of a bandit's arms; without a kernel, the Linear one of its tree."""
    if kernel is None and arms is not None:
        raise ValueError(
            f"{type(bandit).__name__} needs a kernel for a list of arms: a matrix, or a function "
            "of two arms"
        )
    if isinstance(kernel, Kernel) and arms is not None:
        raise TypeError(
            f"{kernel!r} is a kernel of paths through a tree; for a list of arms give a matrix, or "
            "a function of two arms"
        )
    paths = [bandit._path_of(k) for k in range(bandit.arms)]
    things = paths if arms is None else list(arms)
    return Covariances(Linear() if kernel is None else kernel, paths, things, bandit.tree.depth)


class Readings:
    """What rewards of some arms say of all: a Gaussian posterior, one reading at a time.

    As long as there are fewer readings than arms it keeps V = L^(-1) K, where L L' is the Cholesky
    factor of the covariance of the readings and K their prior covariance with all arms: a reading
    adds a row. After that it keeps the posterior covariance of all arms, which is smaller. So
    reading number t of N arms costs O(min(t, N) N).

    Attributes
    ----------
    variances
        The posterior variance of each arm.
    of_rewards, of_ones
        Posterior means for a prior mean of zero: of the rewards, and had every reward been 1. For
        a prior mean of m those of the rewards are `of_rewards + m (1 - of_ones)`.
    """

    def __init__(self, prior: Covariances) -> None:
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

    def read(self, k: int, reward: float, variance: float) -> None:
        """Take in a reward of an arm, whose noise has that variance (or the arm's own, above 0)."""
        along = self.covariances(k)
        total = max(self.variances[k], 0.0) + variance
        self.of_rewards += along * ((reward - self.of_rewards[k]) / total)
        self.of_ones += along * ((1.0 - self.of_ones[k]) / total)
        self.variances -= along * (along / total)
        np.maximum(self.variances, 0.0, out=self.variances)
        if variance == 0.0:
            self.variances[k] = 0.0
        self._keep(along / math.sqrt(total))

    def _keep(self, row: Floats) -> None:
        arms = len(self.variances)
        if self._posterior is not None:
            self._posterior -= np.outer(row, row)
            return
        if self.rows == len(self._factor):
            longer = np.empty((min(2 * self.rows, arms), arms))
            longer[: self.rows] = self._factor
            self._factor = longer
        self._factor[self.rows] = row
        self.rows += 1
        if self.rows == arms:
            prior = np.array([self.prior.column(k) for k in range(arms)])
            self._posterior = prior - self._factor.T @ self._factor
            self._factor = self._factor[:0]

    def variances_after(self, pending: list[int], noise: float) -> Floats:
        """Return the variances as they will be when some arms have been read."""
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
