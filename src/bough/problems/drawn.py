"""Functions drawn from the prior of a kernel: what a searcher with that kernel expects."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bough._validation import real
from bough.kernels import Kernel
from bough.problems.listed import Listed
from bough.trees import Tree


class Drawn(Listed):
    """A function drawn from a Gaussian process on the paths of a tree.

    The step of every node is normal, with the variance that the kernel gives to its depth, and a
    path is worth `mean` plus the sum of its steps. All paths are drawn, and the best one is looked
    up, so the tree must be small.

    Parameters
    ----------
    kernel : bough.kernels.Kernel
    branching, depth : int
        `branching` may be a sequence, one entry for each depth.
    mean : float
    noise : float
    seed : int

    Examples
    --------
    >>> from bough import kernels
    >>> problem = Drawn(kernels.Gaussian(2.0), branching=3, depth=4, noise=0.0, seed=1)
    >>> problem(problem.best_path) == problem.optimum
    True
    """

    name = "drawn"

    def __init__(
        self,
        kernel: Kernel,
        branching: int = 4,
        depth: int = 7,
        *,
        mean: float = 0.0,
        noise: float = 0.1,
        seed: int = 0,
    ) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a kernel such as Gaussian(3.0), got {kernel!r}")
        super().__init__(Tree(branching, depth), noise=noise, seed=seed)
        self._kernel = kernel
        self._increments = kernel.increments(self.tree.depth)
        self._mean = real(mean, "mean")

    @property
    def kernel(self) -> Kernel:
        """The kernel that it was drawn from."""
        return self._kernel

    @property
    def mean(self) -> float:
        """The prior mean of a path."""
        return self._mean

    def _list(self) -> NDArray[np.float64]:
        rng = np.random.default_rng([self.seed, 0])
        values = np.full(1, self._mean)
        for variance, count in zip(self._increments, (1, *self.shape), strict=True):
            values = np.repeat(values, count)
            values += math.sqrt(variance) * rng.standard_normal(len(values))
        return values


def drawn_from(family: type[Kernel]) -> Callable[..., Drawn]:
    """Return a function that draws from a kernel with given, or else typical, hyperparameters."""

    def draw(*values: float, seed: int = 0, **keywords: float) -> Drawn:
        kernel = family(*values) if values else family.typical()
        return Drawn(kernel, seed=seed, **keywords)  # type: ignore[arg-type]

    return draw
