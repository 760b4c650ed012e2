"""Trees whose every edge carries a reward, made up as one goes along by hashing the path to it."""

import math
from functools import lru_cache

from bough._validation import whole
from bough.kernels import Chi, Kernel
from bough.problems.base import Problem
from bough.trees import Path, Tree

_MASK = 2**64 - 1
#: A best path that takes more steps to find than this, some ten seconds, is not looked for.
MOST_STEPS = 30_000_000


def child_hash(state: int, step: int) -> int:
    """Return the hash of a child: that of the parent and the step, well mixed."""
    z = (state + (step + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class EdgeRewards(Problem):
    """A path is worth the weighted sum of the rewards of its edges.

    The reward of each edge is uniform on [0, 1], a hash of the seed and of the path to it, so that
    a tree of any size takes no memory. `weights` has one weight for each depth.
    """

    def __init__(
        self, branching: int, depth: int, weights: list[float], *, noise: float, seed: int
    ) -> None:
        super().__init__(
            Tree(whole(branching, "branching", least=1), depth), noise=noise, seed=seed
        )
        self._weights = weights

    @property
    def kernel(self) -> Kernel:
        """The variances of the steps: those of uniform rewards, times the squares of the weights.

        The steps are uniform, not normal: of the prior it has the covariance, not the law.
        """
        return Chi.of_increments([0.0, *(w * w / 12 for w in self._weights)])

    @property
    def mean(self) -> float:
        """The prior mean of a path: every reward is 1/2 on average."""
        return math.fsum(self._weights) / 2

    def _rewards(self, path: Path) -> list[float]:
        """Return the rewards along a checked path, without weights."""
        state = child_hash(self.seed, 0)
        rewards = []
        for step in path:
            state = child_hash(state, step)
            rewards.append(state / 2**64)
        return rewards

    def _value(self, path: Path) -> float:
        total = 0.0
        for weight, reward in zip(self._weights, self._rewards(path), strict=True):
            total += weight * reward
        return total

    def _solve(self) -> tuple[float, Path]:
        branching = int(self.tree.branching(())) if self.tree.depth else 1
        return _best_path(branching, tuple(self._weights), self.seed)


@lru_cache(maxsize=1024)  # a comparison makes the same problem anew for every searcher
def _best_path(branching: int, weights: tuple[float, ...], seed: int) -> tuple[float, Path]:
    """Find the best path by depth-first branch and bound: no edge gives more than 1.

    The bound is rounded as the value of a path is, step by step, and rounding keeps the order of
    sums: so the best path is best to the last bit.
    """
    best = -math.inf
    best_path: Path = ()
    stack: list[tuple[float, int, Path]] = [(0.0, child_hash(seed, 0), ())]
    steps = 0
    while stack:
        total, state, path = stack.pop()
        depth = len(path)
        if depth == len(weights):
            if total > best:
                best, best_path = total, path
            continue
        steps += branching + len(weights) - depth
        if steps > MOST_STEPS:
            raise ValueError(
                f"the best of {branching}^{len(weights)} paths takes too long to find: too many "
                "are nearly as good; take a smaller depth or a lower discount"
            )
        bound = total
        for weight in weights[depth:]:
            bound += weight
        if bound <= best:
            continue
        children = []
        for step in range(branching):
            child = child_hash(state, step)
            gain = weights[depth] * (child / 2**64)
            children.append((total + gain, child, (*path, step)))
        stack.extend(sorted(children))  # the most promising is popped first
    return best, best_path
