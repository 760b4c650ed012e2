"""A tree whose every edge carries a reward, and the reward of a path is their discounted mean."""

import math

import numpy as np

from bough._checks import at_least_zero, real, whole
from bough.kernels import Chi, Kernel
from bough.trees import Path, Tree

_MASK = 2**64 - 1


class Smooth:
    """A seeded, noisy problem whose optimum is known.

    Each edge carries a reward that is uniform on [0, 1], a hash of the seed and of the path to
    it. A path is worth sum_i discount^(i-1) r_i / sum_i discount^(i-1), so that paths that share
    their first steps are worth nearly the same.

    >>> problem = Smooth(branching=3, depth=4, seed=1)
    >>> round(problem.value((0, 1, 2, 0)), 3) <= problem.optimum
    True
    """

    def __init__(
        self,
        branching: int = 5,
        depth: int = 10,
        *,
        discount: float = 0.7,
        noise: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.tree = Tree(whole(branching, "branching", least=1), depth)
        if not 0 < real(discount, "discount") <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")
        self.discount = discount
        self.noise = at_least_zero(noise, "noise")
        self.seed = whole(seed, "seed", least=0)
        weights = discount ** np.arange(self.tree.depth)
        self._weights: list[float] = (weights / (weights.sum() or 1.0)).tolist()
        self._branching = int(branching)
        self._random = np.random.default_rng([self.seed, 1])
        self._best: tuple[float, Path] | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel of this problem: the variances of its steps, those of uniform rewards."""
        steps = [0.0, *(w * w / 12 for w in self._weights)]
        return Chi(tuple(np.cumsum(steps)[::-1].tolist()))

    @property
    def mean(self) -> float:
        """The prior mean of a path."""
        return 0.5 if self.tree.depth else 0.0

    def _child(self, state: int, step: int) -> int:
        """Return the hash of a child: that of the parent and the step, well mixed."""
        z = (state + (step + 1) * 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def value(self, path: Path) -> float:
        """Return what a path is really worth."""
        state, total = self._child(self.seed, 0), 0.0
        for step, weight in zip(path, self._weights, strict=False):
            state = self._child(state, step)
            total += weight * (state / 2**64)
        return total

    def __call__(self, path: Path) -> float:
        """Return the reward of playing a path: its value and some noise."""
        return self.value(path) + self.noise * float(self._random.standard_normal())

    @property
    def optimum(self) -> float:
        """The value of the best path."""
        return self._solve()[0]

    @property
    def best_path(self) -> Path:
        """The best path."""
        return self._solve()[1]

    def _solve(self) -> tuple[float, Path]:
        """Find the best path by depth-first branch and bound: no edge gives more than 1."""
        if self._best is None:
            left = np.append(np.cumsum(self._weights[::-1])[::-1], 0.0).tolist()
            best = -math.inf
            best_path: Path = ()
            stack: list[tuple[float, int, Path]] = [(0.0, self._child(self.seed, 0), ())]
            while stack:
                total, state, path = stack.pop()
                depth = len(path)
                if total + left[depth] <= best:
                    continue
                if depth == self.tree.depth:
                    best, best_path = total, path
                    continue
                children = []
                for step in range(self._branching):
                    child = self._child(state, step)
                    gain = self._weights[depth] * (child / 2**64)
                    children.append((total + gain, child, (*path, step)))
                stack.extend(sorted(children))  # the most promising is popped first
            self._best = best, best_path
        return self._best
