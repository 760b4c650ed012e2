"""BAST: a bandit algorithm for smooth trees (Coquelin and Munos 2007)."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero, listed, real
from bough.kernels import Kernel
from bough.searchers.baselines.counting import CountingSearcher
from bough.searchers.baselines.tallies import Bounds
from bough.trees import Path, Tree


class BAST(CountingSearcher):
    """Descend the tree by bounds that use its smoothness.

    A leaf has the bound mean + c_n; an inner node at depth d the lesser of mean + delta_d + c_n and
    of the highest bound of its children, where delta_d limits how much the best leaf below a node
    exceeds any other there, and c_n = sqrt(log(2 N n (n+1) / delta) / (2 n)) for n rewards and N
    nodes. All bounds hold at all times with probability 1 - delta, for rewards of a range of 1;
    others are rescaled. With `smoothness=0` this is UCT with true bounds; with `math.inf`, UCB on
    the leaves.

    Parameters
    ----------
    tree : Tree
    smoothness : float, sequence of float, or bough.kernels.Kernel
        A number: delta_d = smoothness * decay^d, in units of the range of rewards. A sequence:
        delta_0, delta_1, ... themselves, one for each depth above the leaves, in those units. A
        kernel: the bound that holds for all leaves, with probability 1 - delta, if the rewards are
        drawn from it (in its own units): 2 sqrt(2 s_d log(N (D+1) / delta)), where s_d is the
        variance that the kernel adds below depth d, N the number of arms and D the depth.
    decay : float
    delta : float
        Failure probability of the bounds.
    exploration : float
        Multiplier of the width of the confidence bounds. They hold with 1, and are then so wide
        that much less is usually better.
    growth : "complete" or "deepening"
        `"complete"`: a play is a path to a leaf. `"deepening"`: a play ends at the first new node,
        or at a leaf, and its reward is that of the node; `best` then ranges over all nodes played.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far (their
        difference is rounded up by a sixteenth or less, so that it changes rarely).
    rng : int or numpy.random.Generator

    Notes
    -----
    If the branching is a function, N comes from the `log_arms` of the tree; without them it is
    twice the number of nodes visited, rounded up to a power of two: a working value without
    guarantee.

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
        smoothness: float | Sequence[float] | Kernel = 1.0,
        decay: float = 0.5,
        delta: float = 0.05,
        exploration: float = 1.0,
        growth: Literal["complete", "deepening"] = "complete",
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if growth not in ("complete", "deepening"):
            raise ValueError(f'growth must be "complete" or "deepening", got {growth!r}')
        if not 0 < real(delta, "delta") < 1:
            raise ValueError(f"delta must be between 0 and 1, got {delta!r}")
        super().__init__(tree, reward_range, rng)
        self._require_finite_branching()
        self.smoothness = smoothness
        self.decay = at_least_zero(decay, "decay")
        self.delta = float(delta)
        self.exploration = at_least_zero(exploration, "exploration")
        self.growth = growth
        self._log_nodes = _log_nodes(tree)
        self._nodes_expected = 512
        slack, relative = self._deltas()
        self.tallies: Bounds = Bounds(
            tree,
            slack,
            reward_range=self.reward_range,
            single_steps=growth == "deepening",
            relative=relative,
        )
        self._set_width()

    def _deltas(self) -> tuple[NDArray[np.float64], bool]:
        """Return delta_0 .. delta_D, and whether they are in units of the range of rewards."""
        depth = self.tree.depth
        if isinstance(self.smoothness, Kernel):
            variances = self.smoothness.increments(depth)
            below = np.append(np.cumsum(variances[:0:-1])[::-1], 0.0)
            log_arms = self.tree.log_arms
            if log_arms is None:
                raise ValueError(
                    "smoothness can be a kernel if the arms of the tree can be counted: give the "
                    f"tree its log_arms, got {self.tree!r}"
                )
            log_ratio = log_arms + math.log((depth + 1) / self.delta)
            return 2.0 * np.sqrt(2.0 * below * log_ratio), False
        slack = np.zeros(depth + 1)  # a leaf has none
        slack[:depth] = self._given_deltas(depth)
        return slack, True

    def _given_deltas(self, depth: int) -> list[float]:
        given: Any = self.smoothness
        if not hasattr(given, "__len__"):
            first = _slack(given, "smoothness")
            with np.errstate(over="ignore"):  # a power may become zero or infinite
                powers = self.decay ** np.arange(depth)
            return [first * float(p) if first > 0 and p > 0 else 0.0 for p in powers]
        deltas = [_slack(x, f"smoothness[{d}]") for d, x in enumerate(listed(given, "smoothness"))]
        if len(deltas) not in (depth, depth + 1):
            raise ValueError(
                f"smoothness has {len(deltas)} entries, but a tree of depth {depth} needs {depth}, "
                "one for each depth above that of the leaves"
            )
        return deltas[:depth]

    def _set_width(self) -> None:
        log_nodes = self._log_nodes
        if log_nodes is None:
            log_nodes = math.log(self._nodes_expected)
        half = 0.5 * self.exploration**2
        self.tallies.set_width(half * (math.log(2.0 / self.delta) + log_nodes), half)

    def _choose(self) -> Path:
        if self._log_nodes is None and 2 * self.tallies.used > self._nodes_expected:
            while 2 * self.tallies.used > self._nodes_expected:
                self._nodes_expected *= 2
            self._set_width()
        return self.tallies.follow(self._random)

    def _playable(self, path: Sequence[int]) -> Path:
        if self.growth == "deepening":
            return self.tree.walk(path)[0]
        return self.tree.complete(path)


def _log_nodes(tree: Tree) -> float | None:
    """Return the logarithm of the number of nodes, or an upper bound of it; None if unknown."""
    if tree.counts is None:
        return None if tree.log_arms is None else tree.log_arms + math.log(tree.depth + 1)
    level = total = 0.0
    for count in tree.counts:
        level += math.log(count)
        total = float(np.logaddexp(total, level))
    return total


def _slack(value: Any, name: str) -> float:
    """Return a nonnegative number, which may be infinite."""
    if isinstance(value, (float, np.floating)) and value == math.inf:
        return math.inf
    return at_least_zero(value, name)
