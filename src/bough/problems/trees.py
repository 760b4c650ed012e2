"""Problems on trees: hashed edge rewards, draws from a prior, traps, needles, hidden scores."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._validation import real, whole
from bough.belief.rng import child_hash, path_hashes, weighted_hashes
from bough.kernels import Chi, Discounted, Kernel
from bough.problems.base import Enumerated, Problem
from bough.trees import MOST_DEPTH, Path, Tree

#: The most steps of branch and bound for a best path, about ten seconds.
MOST_STEPS = 30_000_000
#: The most arms of a rough tree, where branch and bound may visit nearly all paths.
MOST_ROUGH_ARMS = 2_000_000


def _root_hash(seed: int) -> int:
    return child_hash(seed % 2**64, 0)


class EdgeRewards(Problem):
    """The value of a path is the weighted sum of the rewards of its edges.

    The reward of each edge is uniform on [0, 1], a hash of the seed and of the path to it, so that
    a tree of any size takes no memory. `weights` has one weight for each depth.
    """

    def __init__(
        self, branching: int, depth: int, weights: list[float], *, noise: float, seed: int
    ) -> None:
        self._branching = whole(branching, "branching", least=1)
        super().__init__(Tree(self._branching, depth), noise=noise, seed=seed)
        self._weights = weights
        self._root = _root_hash(self.seed)
        # The steps are uniform, not normal: the prior has their means and variances, not their law.
        self.kernel = Chi.of_increments([0.0, *(w * w / 12 for w in weights)])
        self.mean = math.fsum(weights) / 2

    def _rewards(self, path: Path) -> list[float]:
        """Return the unweighted rewards along a validated path."""
        return path_hashes(self._root, path)

    def _value(self, path: Path) -> float:
        return weighted_hashes(self._root, path, self._weights)

    def _solve(self) -> tuple[float, Path]:
        return _best_path(self._branching, tuple(self._weights), self.seed)


@lru_cache(maxsize=1024)  # a comparison makes the same problem for every searcher
def _best_path(branching: int, weights: tuple[float, ...], seed: int) -> tuple[float, Path]:
    """Find the best path by depth-first branch and bound: no edge gives more than 1.

    The bound is rounded as the value of a path is, step by step, and rounding keeps the order of
    sums: so the best path is best to the last bit.
    """
    best = -math.inf
    best_path: Path = ()
    stack: list[tuple[float, int, Path]] = [(0.0, _root_hash(seed), ())]
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
                "are nearly as good; choose a smaller depth or a lower discount"
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


def _shares(weights: NDArray[np.floating[Any]]) -> list[float]:
    shares: list[float] = (weights / (weights.sum() or 1.0)).tolist()
    return shares


def _checked_discount(discount: float) -> float:
    if not 0 < real(discount, "discount") <= 1:
        raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")
    return discount


class Smooth(EdgeRewards):
    """A tree whose first steps matter most, so that paths with a common prefix are similar.

    The value of a path is sum_i discount^(i-1) r_i / sum_i discount^(i-1), for edge rewards r_i
    that are uniform on [0, 1]. The best path is found by branch and bound.

    >>> problem = Smooth(branching=3, depth=4, seed=1)
    >>> round(problem.value((0, 1, 2, 0)), 3) <= problem.optimum
    True
    """

    name = "smooth"

    def __init__(
        self,
        branching: int = 5,
        depth: int = 10,
        *,
        discount: float = 0.7,
        noise: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.discount = _checked_discount(discount)
        shares = _shares(discount ** np.arange(whole(depth, "depth", least=0, most=MOST_DEPTH)))
        super().__init__(branching, depth, shares, noise=noise, seed=seed)
        self.mean = 0.5 if self.tree.depth else 0.0  # the sum of the weights is rounded


class Rough(EdgeRewards):
    """The opposite of `Smooth`: each step weighs `growth` times as much as the one before.

    With growth 2 the last step makes half of the value of a path, and with a very large one all
    paths are independent. The best path is found by branch and bound; since bounds prune little if
    the growth is large, the tree must be small.

    >>> problem = Rough(3, 4, growth=3.0, noise=0.0)
    >>> problem(problem.best_path) == problem.optimum
    True
    """

    name = "rough"

    def __init__(
        self,
        branching: int = 5,
        depth: int = 6,
        *,
        growth: float = 2.0,
        noise: float = 0.1,
        seed: int = 0,
    ) -> None:
        if real(growth, "growth") < 1:
            raise ValueError(f"growth must be at least 1, got {growth!r}; below it is Smooth")
        self.growth = growth
        # The largest weight is 1 before they are normalized, so that no power overflows.
        depth = whole(depth, "depth", least=0, most=MOST_DEPTH)
        weights = float(growth) ** -np.arange(depth)[::-1].astype(float)
        super().__init__(branching, depth, _shares(weights), noise=noise, seed=seed)
        if self.tree.arms is not None and self.tree.arms > MOST_ROUGH_ARMS:
            raise ValueError(
                f"a rough tree has at most {MOST_ROUGH_ARMS:,} paths, since finding its best one "
                f"may need all of them; got {branching}^{depth}"
            )


class DiscountedBandits(EdgeRewards):
    """A tree with a bandit's arm on every edge, and discounted sums of their rewards.

    This is the setting of open-loop optimistic planning (Bubeck and Munos, "Open loop optimistic
    planning", COLT 2010; Leurent and Maillard, "Practical open-loop optimistic planning", ECML
    2019): a path is a sequence of actions, its i-th step pays a reward in [0, 1], and the value of
    the path is the mean of sum_i discount^(i-1) r_i. The mean of each step is uniform on [0, 1], a
    hash of the seed and of the path to it. The best path is found by branch and bound.

    Parameters
    ----------
    branching, depth : int
    rewards : "bernoulli" or "uniform"
        The law of a step of mean p: 1 with probability p and else 0, or uniform on the widest
        interval inside [0, 1] around p.
    discount : float
    noise : float, optional
        If given, steps pay their means plus normal noise instead, larger for steps with a larger
        weight, so that the sum has this standard deviation.
    seed : int

    Examples
    --------
    >>> problem = DiscountedBandits(2, 3, discount=0.5, seed=1)
    >>> problem.steps((0, 1, 1))
    [1.0, 0.5, 0.0]
    """

    #: The mean square of a step's deviation from its mean p, for p uniform on [0, 1]:
    #: p (1 - p) for Bernoulli rewards, min(p, 1 - p)^2 / 3 for uniform ones.
    _VARIANCES = {"bernoulli": 1 / 6, "uniform": 1 / 36}  # noqa: RUF012

    def __init__(
        self,
        branching: int = 5,
        depth: int = 10,
        *,
        rewards: str = "bernoulli",
        discount: float = 0.7,
        noise: float | None = None,
        seed: int = 0,
    ) -> None:
        if rewards not in self._VARIANCES:
            raise ValueError(f'rewards must be "bernoulli" or "uniform", got {rewards!r}')
        self.name = f"discounted:{rewards}"
        self.rewards = rewards
        self.discount = float(_checked_discount(discount))
        weights = [self.discount**i for i in range(whole(depth, "depth", least=0, most=MOST_DEPTH))]
        self._length = math.sqrt(math.fsum(w * w for w in weights)) or 1.0
        self._drawn = noise is None
        if noise is None:
            noise = math.sqrt(self._VARIANCES[rewards]) * self._length if weights else 0.0
        super().__init__(branching, depth, weights, noise=noise, seed=seed)
        self.kernel = Discounted(self.discount, 1 / 12)

    def steps(self, path: Sequence[int]) -> list[float]:
        """Play a path, and return the discounted rewards of its steps, which sum to the reward.

        They are the `steps` argument of `Searcher.tell`.
        """
        means = self._rewards(self.tree.complete(path))
        if self._drawn:
            paid = self._draw(means)
        else:
            normal = self._random.standard_normal(len(means)).tolist()
            scale = self.noise / self._length
            paid = [p + scale * z for p, z in zip(means, normal, strict=True)]
        return [weight * r for weight, r in zip(self._weights, paid, strict=True)]

    def _draw(self, means: list[float]) -> list[float]:
        draws = self._random.random(len(means)).tolist()
        if self.rewards == "bernoulli":
            return [float(u < p) for p, u in zip(means, draws, strict=True)]
        return [p + (2 * u - 1) * min(p, 1 - p) for p, u in zip(means, draws, strict=True)]

    def __call__(self, path: Sequence[int]) -> float:
        """Return the reward of playing a complete path: the sum of its steps' rewards."""
        return math.fsum(self.steps(path))


class Drawn(Enumerated):
    """A function drawn from a Gaussian process on the paths of a tree.

    The step of every node is normal, with the variance of the kernel at its depth, and the value of
    a path is `mean` plus the sum of its steps. All paths are drawn, so the tree must be small.

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
        self.kernel = kernel
        self.mean = real(mean, "mean")
        self._increments = kernel.increments(self.tree.depth)

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        rng = np.random.default_rng([self.seed, 0])
        values = np.full(1, self.mean)
        for variance, count in zip(self._increments, (1, *self._shape), strict=True):
            values = np.repeat(values, count)
            values += math.sqrt(variance) * rng.standard_normal(len(values))
        return values


def drawn_from(family: type[Kernel]) -> Callable[..., Drawn]:
    """Return a function that draws from a kernel with given, or else typical, hyperparameters."""

    def draw(*values: float, seed: int = 0, **keywords: float) -> Drawn:
        kernel = family(*values) if values else family.typical()
        return Drawn(kernel, seed=seed, **keywords)  # type: ignore[arg-type]

    return draw


class _HiddenPath(Problem):
    """A problem whose best path, of the value 1, is drawn by the seed."""

    def __init__(self, branching: int, depth: int, *, noise: float, seed: int) -> None:
        tree = Tree(whole(branching, "branching", least=1), depth)
        super().__init__(tree, noise=noise, seed=seed)
        rng = np.random.default_rng([self.seed, 0])
        self._hidden: Path = tuple(rng.integers(branching, size=tree.depth).tolist())

    def _solve(self) -> tuple[float, Path]:
        return 1.0, self._hidden


class Trap(_HiddenPath):
    """A binary tree in which a step towards the best path looks worse than turning away.

    After Coquelin and Munos, "Bandit algorithms for tree search" (UAI 2007); see also Orseau and
    Munos, "Super-exponential regret for UCT, AlphaGo and variants" (2024). One path has the value
    1. A path that leaves it at the node of depth d (the root has depth 0) has (D-1-d)/D: 0.9 at the
    root of a tree of depth 10, and less and less further down, to 0 at the last step. A searcher
    that evaluates a subtree by the average of its rewards is drawn away from the best path at all
    but its last few nodes.

    In the paper the best path always takes the second action. Here the action at each node depends
    on the seed, so that no searcher finds it by the order in which it tries actions.

    >>> problem = Trap(depth=4, noise=0.0)
    >>> best = problem.best_path
    >>> [problem((*best[:d], 1 - best[d], *best[d + 1 :])) for d in range(4)]
    [0.75, 0.5, 0.25, 0.0]
    """

    name = "trap"

    def __init__(self, depth: int = 10, *, noise: float = 0.0, seed: int = 0) -> None:
        super().__init__(2, whole(depth, "depth", least=1, most=MOST_DEPTH), noise=noise, seed=seed)

    def _value(self, path: Path) -> float:
        for d, (step, good) in enumerate(zip(path, self._hidden, strict=True)):
            if step != good:
                return (self.tree.depth - 1 - d) / self.tree.depth
        return 1.0


class Needle(_HiddenPath):
    """A needle in a haystack: one path has the value 1, every other one 0.

    No searcher can do better than to try path after path without repeating itself.

    >>> problem = Needle(10, 3, noise=0.0)
    >>> problem.value(problem.best_path), problem.optimum
    (1.0, 1.0)
    """

    name = "needle"

    def __init__(
        self, branching: int = 10, depth: int = 3, *, noise: float = 0.1, seed: int = 0
    ) -> None:
        super().__init__(branching, depth, noise=noise, seed=seed)

    def _value(self, path: Path) -> float:
        return 1.0 if path == self._hidden else 0.0


class HiddenScore(Problem):
    """Find the string with the highest score, where only scores are observed.

    Every letter has a weight at each place, and every pair of neighbors one that is the same at all
    places; all weights are standard normal, and a string's score is their sum over the root of
    their number. Pairs make strings with different prefixes similar, which no kernel of shared
    prefixes can express. The best string is found by dynamic programming (Viterbi).

    Parameters
    ----------
    letters : int
        The size of the alphabet, at most 26.
    length : int
        The length of the strings.
    noise : float
    seed : int

    Examples
    --------
    >>> problem = HiddenScore(letters=3, length=5)
    >>> problem.value((0, 1, 2, 2, 0)) <= problem.optimum
    True
    """

    name = "sequence"

    def __init__(
        self, letters: int = 4, length: int = 12, *, noise: float = 0.1, seed: int = 0
    ) -> None:
        letters = whole(letters, "letters", least=1, most=26)
        length = whole(length, "length", least=1, most=MOST_DEPTH)
        super().__init__(Tree(letters, length), noise=noise, seed=seed)
        rng = np.random.default_rng([self.seed, 0])
        scale = 1 / math.sqrt(2 * length - 1)
        self._places = scale * rng.standard_normal((length, letters))
        self._pairs = scale * rng.standard_normal((letters, letters))
        # (Lists are faster than arrays, one entry at a time.)
        self._place_lists: list[list[float]] = self._places.tolist()
        self._pair_lists: list[list[float]] = self._pairs.tolist()

    def _value(self, path: Path) -> float:
        total = self._place_lists[0][path[0]]
        for i in range(1, len(path)):
            total += self._pair_lists[path[i - 1]][path[i]] + self._place_lists[i][path[i]]
        return total

    def _solve(self) -> tuple[float, Path]:
        best = self._places[0]  # of the strings so far that end in each letter
        before = []
        for weights in self._places[1:]:
            scores = best[:, None] + (self._pairs + weights)
            before.append(scores.argmax(axis=0))
            best = scores.max(axis=0)
        path = [int(best.argmax())]
        for choice in reversed(before):
            path.append(int(choice[path[-1]]))
        found = tuple(reversed(path))
        return self._value(found), found
