"""The two-level policy for dependent arms (Pandey, Chakrabarti and Agarwal 2007)."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero, listed
from bough.searchers.baselines.arms import Bandit, Floats, Ints
from bough.trees import Tree

Estimate = Literal["pooled", "mean", "max", "pmax"]
#: The number of values at which the distribution of the best arm of a cluster is evaluated.
GRID = 200


class TwoLevel(Bandit):
    """Choose a cluster of arms by its upper confidence bound, then an arm within it by UCB1.

    Arms of a cluster are assumed to be similar. A cluster is treated as one arm with the bound v +
    exploration sqrt(2 log t / n), where v and n are those of `estimate`. Within the cluster the
    bounds are those of UCB1. Rewards are assumed to have a range of 1; others are rescaled.

    Parameters
    ----------
    tree : Tree, optional
        The tree whose leaves are the arms, at most a million.
    arms : sequence, optional
        The arms themselves, of any kind, instead of a tree; `(k,)` is the path of the k-th.
    clusters : function or sequence, optional
        The cluster of each arm: a function of the arm (of a path, for a tree), or a sequence with
        one entry for each. By default, on a tree, the first step of the path.
    estimate : "pooled", "mean", "max" or "pmax"
        v and n of a cluster: the average and the number of all of its rewards; the average of the
        means of its played arms, and the same number; mean and number of rewards of its best arm;
        or averages of those, weighted by the probability that an arm is the best of the cluster.
        ("pooled", "max" and "pmax" are MEAN, MAX and PMAX of the authors.)
    exploration : float
        Multiplier of the width of the confidence bounds, valid with 1; less often works better.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.TwoLevel(bough.Tree(4, 2), exploration=0.3, rng=0)
    >>> for _ in range(100):
    ...     path = search.ask()
    ...     search.tell(path, 0.5 * (path[0] == 2) + 0.1 * (path[1] == 3))
    >>> search.best().path
    (2, 3)
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        arms: Sequence[Any] | None = None,
        clusters: Callable[[Any], Hashable] | Sequence[Hashable] | None = None,
        estimate: Estimate = "pooled",
        exploration: float = 1.0,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if estimate not in get_args(Estimate):
            raise ValueError(
                f"estimate must be one of {', '.join(get_args(Estimate))}, got {estimate!r}"
            )
        super().__init__(tree, arms, reward_range, rng)
        self.estimate = estimate
        self.exploration = at_least_zero(exploration, "exploration")
        paths = self.tallies.paths
        if clusters is None and arms is not None:
            raise TypeError(
                "TwoLevel needs clusters for a list of arms: a function of an arm, or a sequence"
            )
        if clusters is None:
            names: list[Hashable] = [path[:1] for path in paths]
        elif callable(clusters):
            names = [clusters(arm) for arm in (paths if arms is None else arms)]
        else:
            names = listed(clusters, "clusters")
        if len(names) != len(paths):
            raise ValueError(f"clusters has {len(names)} entries for {len(paths)} arms")
        numbers: dict[Hashable, int] = {}
        try:
            found = [numbers.setdefault(name, len(numbers)) for name in names]
        except TypeError:
            raise TypeError(f"clusters must be hashable, got {names!r}"[:300]) from None
        #: The number of the cluster of each arm.
        self.cluster_of = np.array(found, dtype=np.int64)
        order = np.argsort(self.cluster_of, kind="stable")
        #: The arms of each cluster.
        self.clusters = np.split(order, np.flatnonzero(np.diff(self.cluster_of[order])) + 1)

    def _choose_arm(self) -> int:
        bounds = self._cluster_bounds()
        pending = self.tallies.pending > 0
        if not pending.all():  # leave out clusters all of whose arms are pending
            bounds[[bool(pending[members].all()) for members in self.clusters]] = -math.inf
        best = np.flatnonzero(bounds == bounds.max())
        cluster = int(best[0 if len(best) == 1 else self._random.below(len(best))])
        index = np.full(len(self.tallies), -math.inf)
        members = self.clusters[cluster]
        index[members] = self._bounds(self._expected()[members], self.tallies.counts[members])
        return self._highest_of(index)

    def _bounds(self, values: Floats, counts: Floats) -> Floats:
        plays = self.observations + len(self._pending)
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = np.sqrt(2.0 * math.log(max(plays, 1)) / counts)
        bounds = values + self.exploration * self._scale * bonus
        return np.where(counts == 0, math.inf, bounds)

    def _cluster_bounds(self) -> Floats:
        """Return the upper confidence bound of every cluster."""
        counts, means = self.tallies.counts, self._expected()
        plays = _sums(self.cluster_of, counts)
        values: Floats = np.zeros(len(plays))
        if self.estimate == "pooled":
            values = _sums(self.cluster_of, counts * means) / np.maximum(plays, 1.0)
        elif self.estimate == "mean":
            values = _sums(self.cluster_of, np.where(counts > 0, means, 0.0))
            values /= np.maximum(_sums(self.cluster_of, counts > 0), 1.0)
        else:
            plays = np.zeros(len(plays))
            for cluster, members in enumerate(self.clusters):
                played = members[counts[members] > 0]
                if len(played):
                    weights = self._best_arm(means[played], counts[played])
                    values[cluster] = weights @ means[played]
                    plays[cluster] = weights @ counts[played]
        return self._bounds(values, plays)

    def _best_arm(self, means: Floats, counts: Floats) -> Floats:
        """Return a weight for each arm of a cluster: the highest mean, or its probability."""
        if self.estimate == "max" or len(means) == 1:
            weights = np.zeros(len(means))
            weights[np.argmax(means)] = 1.0
            return weights
        return _probabilities(means, math.sqrt(self.tallies.variance()) / np.sqrt(counts))


def _sums(groups: Ints, values: NDArray[Any]) -> Floats:
    """Return the sum of the values of each group."""
    return np.bincount(groups, values).astype(np.float64)


def _probabilities(means: Floats, std: Floats) -> Floats:
    """Return the probability of each of several independent normal variables to be the highest.

    >>> _probabilities(np.array([0.0, 1.0]), np.array([1.0, 1.0])).round(3).tolist()
    [0.24, 0.76]
    """
    from scipy.special import log_ndtr

    top = float(means.max())
    unit = float(std.max())
    if unit == 0.0:
        weights: Floats = (means == top).astype(np.float64)
        weights /= weights.sum()
        return weights
    low = float((means - 6.0 * std).max())
    high = float((means + 6.0 * std).max())
    x = np.linspace(low, high, GRID)[:, None]
    z = (x - means) / std
    logs = log_ndtr(z)
    # The density of one at x, times the probability that all others are below.
    density = -0.5 * z**2 - np.log(std / unit) - logs
    weights = np.exp(density + logs.sum(axis=1, keepdims=True)).sum(axis=0)
    weights /= weights.sum()
    return weights
