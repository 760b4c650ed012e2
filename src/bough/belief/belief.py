"""What is believed of every path after what was observed: the exact posterior."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero, real, whole
from bough.belief.core import several
from bough.belief.maxima import Subtree
from bough.kernels import Kernel, common_steps
from bough.trees import Path, Tree

Array = NDArray[np.float64]


class Belief(Subtree):
    """The exact posterior of the reward of every path of a tree.

    The reward of a path is a sum of independent Gaussian steps, one for each node on it, whose
    variances the kernel gives. An observation costs O(depth), however many there were before.

    Parameters
    ----------
    tree : Tree
    kernel : bough.kernels.Kernel
    noise : float
        Standard deviation of an observation. With 0 every value is exact.
    mean : float or function
        The prior mean: a number, or `f(path) -> float` for any node. With a function unexplored
        children are not alike: when a node is first visited all its children (up to 1,000; none
        where `branching` is `math.inf`) become nodes, each with its own mean, and what lies below
        an unvisited node is taken to have that node's mean. `highest_upper` and the like are exact
        for that prior; `posterior`, `covariance` and `sample` ask f along the paths given.
    arms : "leaves" or "nodes"
        What there is to choose from: complete paths; or, for iterative deepening, one new child of
        each node that has unexplored children, and every leaf.

    Examples
    --------
    >>> import bough
    >>> belief = bough.Belief(bough.Tree(5, 10), bough.kernels.Gaussian(3.0), noise=0.1)
    >>> belief.observe((0, 1, 2, 3, 4, 0, 1, 2, 3, 4), 0.7)
    >>> arm = belief.highest_upper(2.0, rng=0)
    >>> mean, std = belief.posterior([arm.path])
    >>> bool(abs(mean[0] + 2.0 * std[0] - arm.upper) < 1e-12)
    True
    """

    def __init__(
        self,
        tree: Tree,
        kernel: Kernel,
        noise: float,
        *,
        mean: float | Callable[[Path], float] = 0.0,
        arms: Literal["leaves", "nodes"] = "leaves",
    ) -> None:
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a bough.Tree, got {tree!r}")
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a kernel such as Gaussian(3.0), got {kernel!r}")
        if arms not in ("leaves", "nodes"):
            raise ValueError(f'arms must be "leaves" or "nodes", got {arms!r}')
        self.kernel = kernel
        self.mean = mean if callable(mean) else real(mean, "mean")
        self.arms = arms
        increments = kernel.increments(tree.depth)
        super().__init__(
            tree, increments, at_least_zero(noise, "noise"), self.mean, arms == "nodes"
        )

    def take_prior(
        self,
        kernel: Kernel,
        noise: float,
        mean: float | Callable[[Path], float],
        likelihood: float,
    ) -> None:
        """Take another kernel, noise and mean, in O(nodes); what was told stays told.

        `likelihood` is what `log_likelihood` is to give, which those who learn a prior know.
        """
        self._believe(kernel.increments(self.tree.depth), noise, mean, likelihood)
        self.kernel = kernel
        self.mean = mean

    def information_gain(self) -> float:
        """Return how much all readings together tell about the rewards, in nats.

        It is log det(I + K/noise^2)/2 for readings of a common noise: here a sum over nodes, each
        with the factor by which what is told below it shrinks the variance of its step. Infinite if
        something was read exactly.
        """
        nodes = self.nodes
        nodes = nodes[nodes["count"] >= 0]
        prior = self.kernel.increments(self.tree.depth)[nodes["depth"]]
        uncertain = prior > 0.0
        left = nodes["g"][uncertain] * (nodes["v"][uncertain] / prior[uncertain])
        with np.errstate(divide="ignore"):
            return 0.0 - 0.5 * float(np.log(left).sum())

    def covariance(self, paths: Sequence[Sequence[int]]) -> Array:
        """Return the posterior covariance matrix of F at some nodes.

        That of two nodes is the variance of F where their paths part, times the g of all nodes
        below that on both sides.
        """
        steps = [self.tree.walk(path)[0] for path in several(paths)]
        longest = max(map(len, steps), default=0)
        variance = np.zeros((len(steps), longest + 1))  # of F along each path
        below = np.ones((len(steps), longest + 1))  # product of the g further down
        for row, path in enumerate(steps):
            g, _, spread = self._chain(path)
            above = 0.0
            for i in range(len(g)):
                above = variance[row, i] = spread[i] + g[i] ** 2 * above
            below[row, : len(g) - 1] = np.cumprod(g[:0:-1])[::-1]
        parted = common_steps(steps)
        rows = np.arange(len(steps))
        left = (variance * below)[rows[:, None], parted]
        return left * below[rows[None, :], parted]

    def sample(
        self,
        paths: Sequence[Sequence[int]],
        n: int,
        rng: np.random.Generator | int | None = None,
    ) -> Array:
        """Draw F at some nodes from their joint posterior: an array of n rows.

        Samples are drawn from the root downwards, each node given its parent, so they are exact
        however many paths there are.
        """
        n = whole(n, "n", least=0)
        g, offset, spread, parent, ends = self._union(paths)
        draws = np.random.default_rng(rng).standard_normal((n, len(parent)))
        F = draws * np.sqrt(spread) + offset
        for i, p in enumerate(parent):
            if p >= 0:
                F[:, i] += g[i] * F[:, p]
        return F[:, ends] + self.center

    def _union(
        self, paths: Sequence[Sequence[int]]
    ) -> tuple[Array, Array, Array, list[int], list[int]]:
        """Return the nodes on some paths, parents first.

        Given its parent, F of node i is normal with mean `g[i] F_parent + offset[i]` and variance
        `spread[i]`; `ends[k]` is the node where path k ends.
        """
        number: dict[Path, int] = {}
        rows: list[tuple[float, float, float]] = []
        parent: list[int] = []
        ends: list[int] = []
        for given in several(paths):
            path, _ = self.tree.walk(given)
            chain = self._chain(path)
            for i in range(len(path) + 1):
                if path[:i] not in number:
                    number[path[:i]] = len(parent)
                    parent.append(number[path[: i - 1]] if i else -1)
                    rows.append((chain[0][i], chain[1][i], chain[2][i]))
            ends.append(number[path])
        g, offset, spread = np.array(rows).reshape(-1, 3).T
        return g, offset, spread, parent, ends

    def __repr__(self) -> str:
        return (
            f"Belief({self.tree!r}, {self.kernel!r}, noise={self.noise!r}: "
            f"{len(self)} observations, {self.pending} pending)"
        )
