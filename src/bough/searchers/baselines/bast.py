"""BAST: a bandit algorithm for smooth trees (Coquelin and Munos 2007)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero, between_zero_and_one, listed
from bough.searchers.baselines.counting import CountingSearcher
from bough.searchers.baselines.tallies import Bounds
from bough.trees import Path, Tree


class BAST(CountingSearcher):
    """Descend the tree by bounds that use its smoothness.

    A leaf has the bound mean + c_n; an inner node at depth d has the minimum of mean + delta_d +
    c_n and of the highest bound of its children, where delta_d limits how much the best leaf below
    a node exceeds any other there, and c_n = sqrt(log(2 N n (n+1) / delta) / (2 n)) for n rewards
    and N nodes. All bounds hold at all times with probability 1 - delta, for rewards of a range of
    1; others are rescaled. With `smoothness=0` this is UCT with valid bounds; with `math.inf`, UCB
    on the leaves.

    Parameters
    ----------
    tree : Tree
    smoothness : float or sequence of float
        A number: delta_d = smoothness * decay^d, in units of the range of rewards. A sequence:
        delta_0, delta_1, ... themselves, one for each depth above the leaves, in those units.
    decay : float
    delta : float
        Failure probability of the bounds.
    exploration : float
        Multiplier of the width of the confidence bounds, valid with 1; less often works better.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far (their
        difference is rounded up by a sixteenth or less, so that it changes rarely).
    rng : int or numpy.random.Generator

    Notes
    -----
    If the branching is a function, N comes from the `log_arms` of the tree; without them it is
    twice the number of nodes visited, rounded up to a power of two, and the bounds are not
    guaranteed.

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.BAST(bough.Tree(3, 4), smoothness=1.0, decay=0.5, rng=0)
    >>> for _ in range(150):
    ...     path = search.ask()
    ...     search.tell(path, -sum(path) / 4)
    >>> search.best("mean").path
    (0, 0, 0, 0)
    """

    def __init__(
        self,
        tree: Tree,
        *,
        smoothness: float | Sequence[float] = 1.0,
        decay: float = 0.5,
        delta: float = 0.05,
        exploration: float = 1.0,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, reward_range, rng)
        self.decay = at_least_zero(decay, "decay")
        self.delta = between_zero_and_one(delta, "delta")
        self.exploration = at_least_zero(exploration, "exploration")
        self.smoothness = smoothness
        self._log_nodes = _log_nodes(tree)
        self._nodes_expected = 512
        #: delta_0 .. delta_D, in units of the range of rewards.
        self.deltas = smoothness_by_depth(tree, smoothness, self.decay)
        self.tallies: Bounds = Bounds(tree, self.deltas, reward_range=self.reward_range)
        self._set_width()

    def _set_width(self) -> None:
        log_nodes = self._log_nodes
        if log_nodes is None:
            log_nodes = math.log(self._nodes_expected)
        half = 0.5 * self.exploration**2
        self.tallies.set_width(half * (math.log(2.0 / self.delta) + log_nodes), half)

    def _choose(self) -> Path:
        if self._log_nodes is None and 2 * self.tallies.used > self._nodes_expected:
            self._nodes_expected = 1 << (2 * self.tallies.used - 1).bit_length()
            self._set_width()
        return self.tallies.descend(self._random)


def smoothness_by_depth(
    tree: Tree, given: float | Sequence[float], decay: float
) -> NDArray[np.float64]:
    """Return delta_0 .. delta_D, in units of the range of rewards."""
    depth = tree.depth
    deltas = np.zeros(depth + 1)  # a leaf has none
    if not hasattr(given, "__len__"):
        first = _slack(given, "smoothness")
        with np.errstate(over="ignore", invalid="ignore"):  # a power may become infinite
            deltas[:depth] = np.nan_to_num(first * decay ** np.arange(depth), posinf=np.inf)
        return deltas
    entries = [_slack(x, f"smoothness[{d}]") for d, x in enumerate(listed(given, "smoothness"))]
    if len(entries) not in (depth, depth + 1):
        raise ValueError(
            f"smoothness has {len(entries)} entries, but a tree of depth {depth} needs "
            f"{depth}, one for each depth above that of the leaves"
        )
    deltas[:depth] = entries[:depth]
    return deltas


def _log_nodes(tree: Tree) -> float | None:
    """Return the logarithm of the number of nodes, or an upper bound of it; None if unknown."""
    if tree.counts is None:
        return None if tree.log_arms is None else tree.log_arms + math.log(tree.depth + 1)
    levels = np.cumsum([0.0, *map(math.log, tree.counts)])
    return float(np.logaddexp.reduce(levels))


def _slack(value: Any, name: str) -> float:
    """Return a nonnegative number, which may be infinite."""
    if isinstance(value, (float, np.floating)) and value == math.inf:
        return math.inf
    return at_least_zero(value, name)
