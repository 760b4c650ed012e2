"""LinRel: linear regression with confidence bounds, kernelized (Auer 2003; Auer et al. 2010)."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bough._validation import above_zero, at_least_zero
from bough.searchers.baselines.arms import ArmKernel, Floats, KernelBandit
from bough.trees import Tree


class LinRel(KernelBandit):
    """Estimate each arm as a weighted sum of the rewards, and penalize large weights.

    With K the kernel matrix of the t arms played (one row per play), k(x) the kernel of arm x with
    them, and a(x) = (K + mu I)^(-1) k(x), an arm has the index a(x).y + (c/2) norm(a(x)). Rewards
    are assumed to lie in [0, 1]; others are shifted and rescaled.

    Parameters
    ----------
    tree : Tree, optional
        The tree whose leaves are the arms, at most a million.
    kernel : matrix, function of two arms, or bough.kernels.Kernel, optional
        The similarity of two arms; functions are called with arms of the list, or with paths. By
        default, on a tree, `kernels.Linear()`.
    arms : sequence, optional
        The arms themselves, of any kind, instead of a tree; `(k,)` is the path of the k-th.
    exploration : float
        The c of the index.
    regularization : float
        The mu of the index.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far.
    rng : int or numpy.random.Generator

    Notes
    -----
    The t-th play costs O(t N) for N arms, in time and in memory. An arm that differs from all
    played arms has weights near zero, and so neither a high estimate nor a large uncertainty: the
    rule explores close to the arms that it has played.

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.LinRel(arms=[1.0, 2.0, 3.0], kernel=lambda a, b: a * b, rng=0)
    >>> for _ in range(10):
    ...     path = search.ask()
    ...     (x,) = search.tree.decode(path)
    ...     search.tell(path, 5.0 * x)
    >>> search.best().path
    (2,)
    """

    default_rule: ClassVar[str] = "lower"

    def __init__(
        self,
        tree: Tree | None = None,
        kernel: ArmKernel | None = None,
        *,
        arms: Sequence[Any] | None = None,
        exploration: float = 1.0,
        regularization: float = 0.1,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, kernel, arms, reward_range, rng)
        self.exploration = at_least_zero(exploration, "exploration")
        self.regularization = above_zero(regularization, "regularization")
        count = len(self.tallies)
        self._weights = np.empty((64, count))  # column x is a(x), one row per play
        self._plays = np.empty(64, dtype=np.int64)  # the arms of the rows
        # Sums a(x).y for the rewards y, and if every reward had been 1.
        self._of_rewards = np.zeros(count)
        self._of_ones = np.zeros(count)

    def _observe(self, k: int, reward: float, noise: float | None) -> None:
        """Add a row: the inverse of a matrix with one more row and column, times k(x)."""
        t = self.observations
        if t == len(self._weights):
            self._weights = np.concatenate([self._weights, np.empty_like(self._weights)])
            self._plays = np.concatenate([self._plays, np.empty_like(self._plays)])
        column = self.prior.column(k)
        weights = self._weights[:t]
        here = weights[:, k].copy()
        played = column[self._plays[:t]]
        left = self.prior.variances[k] + self.regularization - played @ here
        row = (column - played @ weights) / left
        weights -= np.outer(here, row)
        self._weights[t] = row
        self._plays[t] = k
        self._of_rewards += (reward - self._of_rewards[k]) * row
        self._of_ones += (1.0 - self._of_ones[k]) * row

    def _choose_arm(self) -> int:
        return self._highest_of(self._indices())

    def _indices(self) -> Floats:
        """Return the index of every arm, in units of the rewards above the lowest one."""
        if not self.observations:
            return np.zeros(len(self.tallies))
        low = self.reward_range[0] if self.reward_range else self._lowest_reward
        weights = self._weights[: self.observations]
        norms = np.sqrt(np.einsum("tx,tx->x", weights, weights))
        estimates = self._of_rewards - low * self._of_ones
        index: Floats = estimates + 0.5 * self.exploration * self._scale * norms
        return index
