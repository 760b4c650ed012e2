"""Lookahead in Gaussian-process optimization (Osborne, Garnett and Roberts 2009)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bough._validation import whole
from bough.kernels import Kernel
from bough.searchers.baselines.arms import ArmKernel, Floats, Ints
from bough.searchers.baselines.gpb import GPB, expected_improvement
from bough.trees import Path, Tree

#: The number of nodes of the Gauss-Hermite quadrature.
NODES = 9
#: The most arms that two steps are computed for; others are too poor by one step.
MOST_CANDIDATES = 128


class Lookahead(GPB):
    """Play the arm with the highest expected improvement over this play and the next one.

    The value of an arm is the expected gain of the incumbent, the highest posterior mean of a
    played arm, by its reward, plus the expected improvement by the best arm after that. The
    expectation over the reward is a Gauss-Hermite quadrature. With one step it is the
    expected improvement.

    Parameters
    ----------
    tree : Tree, optional
        The tree whose leaves are the arms, at most a million. Arms below the same unexplored
        children have the same posterior: two of them are considered.
    kernel, noise, arms, mean
        As for `GPB`.
    lookahead : 1 or 2
        The number of plays to look ahead.
    rng : int or numpy.random.Generator

    Notes
    -----
    A play with two steps costs O(q m^2) for q = 9 nodes and m candidates: at most 128, those with
    the highest expected improvement. While evaluations are pending, it looks one step ahead.

    Examples
    --------
    >>> import math, bough
    >>> places = [i / 20 for i in range(21)]
    >>> def covariance(x, y):
    ...     return math.exp(-((x - y) ** 2) / 0.02)
    >>> search = bough.baselines.Lookahead(arms=places, kernel=covariance, noise=0.01, rng=0)
    >>> for _ in range(12):
    ...     path = search.ask()
    ...     (x,) = search.tree.decode(path)
    ...     search.tell(path, math.sin(4 * x))
    >>> search.tree.decode(search.best().path)
    (0.4,)
    """

    def __init__(
        self,
        tree: Tree | None = None,
        kernel: ArmKernel | None = None,
        noise: float | None = None,
        *,
        arms: Sequence[Any] | None = None,
        mean: float = 0.0,
        lookahead: int = 2,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, kernel, noise, arms=arms, mean=mean, acquisition="ei", rng=rng)
        self.lookahead = whole(lookahead, "lookahead", least=1, most=2)
        of_paths = kernel is None or isinstance(kernel, Kernel)
        self._frontier = Frontier(self.tree) if of_paths else None
        self._nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        self._weights = weights / weights.sum()

    def _record(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        super()._record(path, reward, noise, steps)
        if self._frontier is not None:
            self._frontier.add(path)

    def _indices(self) -> Floats:
        """Return the value of every arm, minus infinity for those that are not considered."""
        one = super()._indices()
        if self.lookahead == 1 or not self.observations or self._pending:
            return one
        arms = self.tallies
        candidates = np.arange(len(arms))
        if self._frontier is not None:
            numbers = {arms.number_of(path) for path in self._frontier.arms()}
            candidates = np.array(sorted(numbers), dtype=np.int64)
        if self.noise == 0.0:
            candidates = candidates[arms.visits[candidates] == 0]
        if len(candidates) > MOST_CANDIDATES:
            order = np.argsort(-one[candidates], kind="stable")
            candidates = np.sort(candidates[order[:MOST_CANDIDATES]])
        values = np.full(len(arms), -np.inf)
        values[candidates] = self._two_steps(candidates)
        return values if values.max() > 0.0 else one

    def _two_steps(self, candidates: Ints) -> Floats:
        """Return the expected improvement over two plays, the first one of each candidate."""
        known, unit = self._posterior, self._units()[1]
        means, _ = self.posterior()
        played = np.flatnonzero(self.tallies.visits)
        incumbent = float(means[played].max())
        watched = np.union1d(candidates, played)
        means, variances = means[watched], known.variances[watched]
        own, seen = np.searchsorted(watched, candidates), np.searchsorted(watched, played)
        values = np.empty(len(candidates))
        for i, k in enumerate(candidates):
            total = float(variances[own[i]]) + self.noise**2
            if total <= 0.0:
                values[i] = 0.0
                continue
            row = known.covariances(int(k))[watched] / np.sqrt(total)
            std = unit * np.sqrt(np.maximum(variances - row**2, 0.0))
            # After each reward: the means, and the incumbent, which may be the arm itself.
            later = means + unit * self._nodes[:, None] * row
            best = np.maximum(later[:, seen].max(axis=1), later[:, own[i]])
            improvement = later[:, own] - best[:, None]
            further = expected_improvement(
                improvement, np.broadcast_to(std[own], improvement.shape)
            )
            values[i] = self._weights @ (best - incumbent + further.max(axis=1))
        return values


class Frontier:
    """Arms that stand for all: the played ones, and two below the unexplored children of a node."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._played: dict[Path, None] = {}
        self._children: dict[Path, set[int]] = {}  # those that are explored, by node

    def add(self, path: Path) -> None:
        """Record an arm that was played."""
        self._played[path] = None
        for d in range(len(path)):
            self._children.setdefault(path[:d], set()).add(path[d])

    def arms(self) -> list[Path]:
        """Return the arms."""
        found = list(self._played)
        for node, explored in self._children.items():
            branching, added, child = int(self.tree.children(node)), 0, 0
            while child < branching and added < 2:
                if child not in explored:
                    path = (*node, child)
                    while self.tree.children(path):
                        path = (*path, 0)
                    found.append(path)
                    added += 1
                child += 1
        return found
