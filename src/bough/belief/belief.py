"""The exact posterior of the reward of every path, given the observations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from bough import kernels
from bough._validation import at_least_zero, real, whole
from bough.belief.best_arm import Arm, ArmSearch
from bough.belief.best_value import BestArms, unexplored_children
from bough.belief.effects import Effects
from bough.belief.labeled_arms import LIMIT, LabeledArmSearch
from bough.belief.nodes import LEAST_VARIANCE, Nodes
from bough.belief.posterior import Posterior
from bough.belief.rng import Rng
from bough.kernels import Kernel, common_steps
from bough.trees import MOST_CHILDREN, Path, Tree

Array = NDArray[np.float64]

#: The number of draws in `best_value`.
BEST_DRAWS = 256
#: With labels the reward of the best arm is drawn if there are at most this many arms; with a
#: kernel of whole paths fewer, since it is evaluated for every pair of them.
MOST_DRAWN, MOST_PATHS_DRAWN = 8192, 1024


@dataclass(frozen=True)
class Effect:
    """The effect of a label on the reward of a path: its posterior, and how often it occurred.

    At the first depth, if strengths decay.
    """

    label: Any
    mean: float
    std: float
    visits: int


PARTS = ("node_array", "effects", "propagation", "arm_search", "quick_search")


class Belief:
    """The exact posterior of the reward of every path of a tree.

    The reward of a path is a sum of independent Gaussian steps, one for each node on it, whose
    variances the kernel gives. An observation costs O(depth), however many there were before.

    Parameters
    ----------
    tree : Tree
    kernel : bough.kernels.Kernel
    noise : float
        Standard deviation of an observation. With 0 every value is exact. Other noise below 1e-6 of
        the prior standard deviation (the root of the sum of the increments) is raised to this
        value, here and wherever noise is given. (Below 1e-50 it counts as 0.)
    mean : float or function
        The prior mean: a number, or `f(path) -> float` for any node. With a function, unexplored
        children differ: when a node is first visited, all its children (up to 1,000; none if
        `branching` is `math.inf`) become nodes, each with its own mean, and everything below an
        unvisited node is assumed to have the mean of this node. `highest_upper` and similar methods
        are exact for this prior; `posterior`, `covariance` and `sample` evaluate f along the given
        paths.
    arms : "leaves" or "nodes"
        The arms to choose from: complete paths; or, for iterative deepening, one new child of each
        node that has unexplored children, and every leaf.

    Attributes
    ----------
    node_array, propagation, arm_search, effects
        The parts: the explored nodes of the tree; observations and messages between nodes; the
        search for the best arm; and effects of labels, None if the kernel has none.
    quick_search
        The search for the best arm without a proof, for a belief with labels.

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
        self.tree = tree
        self.kernel = kernel
        self.mean = mean if callable(mean) else real(mean, "mean")
        self.arms = arms
        self._make_parts(at_least_zero(noise, "noise"), self.mean)

    def _make_parts(self, noise: float, mean: float | Callable[[Path], float]) -> None:
        increments = self.kernel.increments(self.tree.depth)
        model = self.kernel.label_model
        self.node_array = Nodes(self.tree, increments, mean, self.arms == "nodes")
        self.effects = None if model is None else Effects(self.node_array, model)
        self.propagation = Posterior(self.node_array, noise, self.effects)
        self.arm_search: ArmSearch | LabeledArmSearch
        self.quick_search: ArmSearch | LabeledArmSearch
        if self.effects is None:
            self.arm_search = self.quick_search = ArmSearch(self.node_array)
        else:
            self.arm_search = LabeledArmSearch(self, self.effects, LIMIT)
            self.quick_search = LabeledArmSearch(self, self.effects, 0)

    # ------------------------------------------------------------------ observations

    def observe(
        self,
        path: Sequence[int],
        value: SupportsFloat,
        *,
        noise: SupportsFloat | None = None,
        depth: int | None = None,
    ) -> None:
        """Condition on a noisy value of F at a node (the reward of an arm, if it is a leaf).

        Parameters
        ----------
        path, value
            The node and its value.
        noise
            The standard deviation of this observation, if it is not that of the belief. With 0 the
            value is exact, and a different value for the same node raises an exception.
        depth
            The depth of the observed node, if it is an unknown node drawn at random below this one.
            The increments of the steps in between then count as noise.
        """
        self.propagation.observe(path, value, noise, depth)

    def observe_step(
        self, path: Sequence[int], value: SupportsFloat, *, noise: SupportsFloat
    ) -> None:
        """Condition on a noisy value of the step of one node, in the units of the sum.

        With a discount, the step of a node at depth i is its immediate reward times discount^(i-1);
        the noise is multiplied by the same factor. The root's step is that of path `()`.
        """
        self.propagation.observe_step(path, value, noise)

    def observe_steps(
        self,
        path: Sequence[int],
        steps: Sequence[SupportsFloat],
        *,
        noise: SupportsFloat | Sequence[SupportsFloat] | None = None,
        depth: int | None = None,
    ) -> None:
        """Condition on the immediate rewards along a path: one observation, of its last node.

        Their sum is F of this node. The first reward is a value of F of the first node (which
        includes the root's step), and each other one a value of the step of its node.

        Parameters
        ----------
        path
            The node, not the root.
        steps
            The rewards, one for each step, in the units of the sum.
        noise
            The standard deviation of each reward, or one for all. By default the noise of their sum
            is that of the belief, divided according to `step_shares`.
        depth
            If these are the first rewards of a longer path: its length. The noise is that of the
            whole path.
        """
        self.propagation.observe_steps(path, steps, noise, depth)

    def step_shares(self, length: int) -> list[float]:
        """Return the share of each step of a path in the variance of the noise of their sum.

        They are proportional to the prior variances of the steps.
        """
        return self.propagation.step_shares(length)

    def pend(
        self,
        path: Sequence[int],
        *,
        noise: SupportsFloat | None = None,
        depth: int | None = None,
    ) -> int:
        """Count an evaluation that has no value yet, and return a token for it.

        It reduces the standard deviations used by `highest_upper`. Means and all other standard
        deviations do not change. The nodes of the path exist from now on, even after the token is
        forgotten: this fixes the length of the path (if branching is a function) and the prior
        means of neighbors (if the mean is a function). `noise` and `depth` are as for `observe`.
        """
        return self.propagation.pend(path, noise, depth)

    def settle(
        self, token: int, value: SupportsFloat, *, noise: SupportsFloat | None = None
    ) -> None:
        """Give a pending evaluation its value; `noise` as for `observe`."""
        self.propagation.settle(token, value, noise)

    def forget(self, token: int) -> None:
        """Drop a pending evaluation that will have no value."""
        self.propagation.forget(token)

    def end(self, path: Sequence[int]) -> None:
        """Declare that a path ends at a node with observations.

        This is for trees whose paths end where an evaluation, such as that of a simulator, ends.
        The reward of the path is F of the node, as in any tree.
        """
        self.propagation.end(path)

    def clear(self) -> None:
        """Forget all observations and all pending evaluations, but keep the memory."""
        self.propagation.clear()

    @property
    def noise(self) -> float:
        """The standard deviation of an observation for which no other is given."""
        return self.propagation.noise

    @property
    def center(self) -> float:
        """The prior mean of the root."""
        return self.node_array.center

    @property
    def pending(self) -> int:
        """The number of pending evaluations."""
        return self.propagation.pending

    @property
    def observations(self) -> NDArray[np.void]:
        """All observations in order, as a read-only record array.

        An observation along a path has several records. `node` is a number in `nodes`. `of_step` is
        true for an observation of the node's step instead of F, and `own_noise` if its noise is not
        that of the belief. `variance` is that of its noise: `share` times that of the belief (with
        `own_noise` the given one), plus, for an observation of an unknown node below at depth
        `ends`, the increments up to there.
        """
        return self.propagation.observations

    @property
    def nodes(self) -> NDArray[np.void]:
        """The nodes as a read-only record array, parents by number; 0 is the root.

        Groups of children (see the module `bough.belief.nodes`) have `count == -1`. The view
        becomes outdated when the array grows, so access it again after observations.
        """
        return self.node_array.records

    def __len__(self) -> int:
        return self.propagation.count

    # ------------------------------------------------------------------ posterior

    def posterior(self, paths: Sequence[Sequence[int]]) -> tuple[Array, Array]:
        """Return mean and standard deviation of F at some nodes, as two arrays.

        >>> import bough
        >>> belief = bough.Belief(bough.Tree(2, 2), bough.kernels.Linear(3.0), noise=1.0)
        >>> belief.observe((0, 0), 4.0)
        >>> mean, std = belief.posterior([(0, 0), (0, 1), (1, 1)])
        >>> mean
        array([3., 2., 1.])
        """
        return self.propagation.posterior(_several(paths))

    def arm(self, path: Sequence[int]) -> Arm:
        """Return the node as an arm, without pending evaluations, with bounds equal to its mean."""
        path, mean, std, value, visits = self.propagation.at(path)
        return Arm(path, None, mean, std, mean, mean, value, visits)

    def explored_steps(self, path: Sequence[int]) -> int:
        """Return the number of steps of a path that lead to existing nodes."""
        return self.propagation.explored_steps(path)

    def observed_steps(self, path: Sequence[int]) -> int:
        """Return the number of steps of a path to nodes with observations there or below."""
        return self.propagation.observed_steps(path)

    def covariance(self, paths: Sequence[Sequence[int]]) -> Array:
        """Return the posterior covariance matrix of F at some nodes.

        The covariance of two nodes is the variance of F where their paths part, times the g of all
        nodes below on both sides.
        """
        steps = [self.tree.walk(path)[0] for path in _several(paths)]
        longest = max(map(len, steps), default=0)
        variance = np.zeros((len(steps), longest + 1))  # of F along each path
        below = np.ones((len(steps), longest + 1))  # product of the g further down
        for row, path in enumerate(steps):
            g, _, spread = self.propagation.chain(path)
            above = 0.0
            for i in range(len(g)):
                above = variance[row, i] = spread[i] + g[i] ** 2 * above
            below[row, : len(g) - 1] = np.cumprod(g[:0:-1])[::-1]
        parted = common_steps(steps)
        rows = np.arange(len(steps))
        left = (variance * below)[rows[:, None], parted]
        covariance: Array = left * below[rows[None, :], parted]
        if self.effects is not None:
            c, _, C = self._label_vectors(steps)
            covariance = covariance + c @ C @ c.T
        return covariance

    def _label_vectors(self, paths: Sequence[Sequence[int]]) -> tuple[Array, Array, Array]:
        """Return what the rewards of paths depend on of the effects, their mean and covariance."""
        effects = self.effects
        assert effects is not None
        known = len(effects.keys), effects.size
        vectors = [effects.vector(path)[0] for path in paths]
        z, C = (np.array(part) for part in effects.posterior)
        effects.forget(*known)
        c = np.zeros((len(vectors), len(z)))
        for row, vector in zip(c, vectors, strict=True):
            row[: len(vector)] = vector  # labels that came later have no share in it
        return c, z, C

    def sample(
        self,
        paths: Sequence[Sequence[int]],
        n: int,
        rng: np.random.Generator | int | None = None,
    ) -> Array:
        """Draw F at some nodes from their joint posterior: an array of n rows.

        Samples are drawn from the root downwards, each node given its parent, so they are exact for
        any number of paths.
        """
        n = whole(n, "n", least=0)
        number: dict[Path, int] = {}  # of the nodes on the paths, parents first
        rows: list[tuple[float, float, float, int]] = []  # g, offset, spread and parent of each
        ends: list[int] = []
        for given in _several(paths):
            path, _ = self.tree.walk(given)
            for i, row in enumerate(zip(*self.propagation.chain(path), strict=True)):
                if path[:i] not in number:
                    number[path[:i]] = len(rows)
                    rows.append((*row, number[path[: i - 1]] if i else -1))
            ends.append(number[path])
        _, offset, spread, _ = np.array(rows).reshape(-1, 4).T
        random = np.random.default_rng(rng)
        draws = random.standard_normal((n, len(rows)))
        F: Array = draws * np.sqrt(spread) + offset
        for i, (g, _, _, parent) in enumerate(rows):
            if parent >= 0:
                F[:, i] += g * F[:, parent]
        if self.effects is None:
            return F[:, ends] + self.center
        c, z, C = self._label_vectors(_several(paths))
        values, vectors = np.linalg.eigh(C)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = random.standard_normal((n, len(z))) @ root.T + z
        found: Array = F[:, ends] + drawn @ c.T + self.center
        return found

    def label_effects(self) -> list[Effect]:
        """Return the posterior of the effect of every label observed, the highest mean first.

        >>> import bough
        >>> from bough import kernels
        >>> kernel = kernels.Labeled(
        ...     kernels.Linear(0.1), labels=lambda path: path[-1], between=kernels.Same(1.0)
        ... )
        >>> belief = bough.Belief(bough.Tree(2, 2), kernel, noise=0.1)
        >>> belief.observe((0, 1), 1.0)
        >>> belief.observe((0, 0), -2.0)
        >>> [(effect.label, round(effect.mean, 1)) for effect in belief.label_effects()]
        [(1, 1.9), (0, -1.0)]
        """
        effects = self._labeled()
        z, C = effects.posterior
        psi, label = effects.coordinates, effects.labels_of_nodes
        means, stds = psi @ z, np.sqrt(np.maximum(np.einsum("ij,ij->i", psi @ C, psi), 0.0))
        visits = np.bincount(
            label[label >= 0], self.nodes["visits"][label >= 0], minlength=len(effects.keys)
        )
        rows = zip(effects.keys, means.tolist(), stds.tolist(), visits.tolist(), strict=True)
        found = [Effect(key, mean, std, int(count)) for key, mean, std, count in rows if count]
        return sorted(found, key=lambda effect: -effect.mean)

    def carry_over(self) -> kernels.Labeled:
        """Return the kernel with the posterior of the effects as their prior.

        It is for the next search in which labels have the same effects.
        """
        effects, kernel = self._labeled(), self.kernel
        if not isinstance(kernel, kernels.Labeled):
            raise TypeError(f"only effects of labels are carried over, not those of {kernel!r}")
        z, C = effects.posterior
        psi = effects.coordinates
        between = kernel.between
        carried = kernels.Carried(
            tuple(effects.keys),
            tuple((psi @ z).tolist()),
            tuple(map(tuple, (psi @ C @ psi.T).tolist())),
            between.base if isinstance(between, kernels.Carried) else between,
        )
        return replace(kernel, between=carried)

    def _labeled(self) -> Effects:
        if self.effects is None:
            raise ValueError(
                f"{self.kernel!r} has no labels: give the belief or searcher a kernels.Labeled"
            )
        return self.effects

    def log_likelihood(self) -> float:
        """Return the logarithm of the density of all observations.

        An observation that was certain beforehand has no density, and is omitted.
        """
        return self.propagation.log_likelihood()

    def information_gain(self) -> float:
        """Return the information in all observations about the rewards, in nats.

        For observations with a common noise it is log det(I + K/noise^2)/2, computed as a sum over
        nodes from the factor by which the observations below a node reduce the variance of its
        step. Infinite if an observation was exact.
        """
        nodes = self.nodes
        nodes = nodes[nodes["count"] >= 0]
        prior = self.kernel.increments(self.tree.depth)[nodes["depth"]]
        uncertain = prior >= LEAST_VARIANCE
        left = nodes["g"][uncertain] * (nodes["v"][uncertain] / prior[uncertain])
        with np.errstate(divide="ignore"):
            gain = 0.0 - 0.5 * float(np.log(left).sum())
            if self.effects is not None:
                gain -= 0.5 * float(np.linalg.slogdet(self.effects.posterior[1])[1])
        return gain

    def take_prior(
        self,
        kernel: Kernel,
        noise: float,
        mean: float | Callable[[Path], float],
        likelihood: float,
    ) -> None:
        """Replace kernel, noise and mean, in O(nodes), and keep the observations.

        Noise that is too small is raised, as in a new belief. `likelihood` is the new value of
        `log_likelihood`, which is known after a fit.
        """
        increments, model = kernel.increments(self.tree.depth), kernel.label_model
        if (model is None) != (self.effects is None):
            raise ValueError("a belief has labels from the start or never: make a new one")
        self.propagation.take_prior(increments, noise, mean, likelihood, model)
        self.kernel = kernel
        self.mean = mean

    # ------------------------------------------------------------------ the best arm

    def highest_upper(self, sqrt_beta: SupportsFloat, *, rng: Rng = None) -> Arm:
        """Return the arm with the highest mean + sqrt_beta std.

        Exact unless the branching is a function: then arms below unexplored children, whose length
        is not known, are compared with the standard deviation at full depth. (The returned arm has
        that of its own length.)

        The standard deviations count pending evaluations as observations. Ties are broken at
        random (`rng`: an int or a `numpy.random.Generator`), or without an rng by lowest index.
        """
        return self.arm_search.highest_upper(sqrt_beta, rng)

    def highest_upper_unknown(self, sqrt_beta: SupportsFloat, *, rng: Rng = None) -> Arm | None:
        """Return `highest_upper` over arms that are neither known exactly nor pending, or None."""
        return self.arm_search.highest_upper_unknown(sqrt_beta, rng)

    def highest_lower(self, sqrt_beta: SupportsFloat, *, rng: Rng = None) -> Arm:
        """Return the arm with the highest mean - sqrt_beta std, by observations only.

        Exact in the same cases as `highest_upper`; otherwise another arm can have a higher one.
        """
        return self.arm_search.highest_lower(sqrt_beta, rng)

    def highest_mean(self, *, rng: Rng = None) -> Arm:
        """Return the arm with the highest mean. Exact."""
        return self.arm_search.highest_mean(rng)

    def upper_bound(self, sqrt_beta: SupportsFloat) -> float:
        """Return the highest mean + sqrt_beta std of all arms, by observations only.

        Exact if the branching is not a function; otherwise a bound, in which arms below unexplored
        children are assumed to have full depth. If arms are nodes, it is that of all possible
        nodes, down to the leaves.
        """
        return self.arm_search.highest_upper_of_all(sqrt_beta).upper

    def bounds(self, sqrt_beta: float) -> tuple[Path, float, float]:
        """Return the arm with the highest lower bound, that bound, and `upper_bound`.

        The upper bound is infinite if there is none: if the number of arms is not known, or the
        prior mean is a function, whose values at unexplored nodes are not known; the lower bound is
        then that of an observed node, if there is one. Both are infinite if sqrt_beta is.
        """
        if sqrt_beta == math.inf:
            return self.highest_mean().path, -math.inf, math.inf
        arm = self.best_observed(sqrt_beta) if callable(self.mean) else None
        arm = arm or self.highest_lower(sqrt_beta)
        has_bound = self.tree.log_arms is not None and not callable(self.mean)
        return arm.path, arm.lower, self.upper_bound(sqrt_beta) if has_bound else math.inf

    def best_observed(self, deviations: SupportsFloat) -> Arm | None:
        """Return the node with the highest mean - deviations std of those with observations.

        None without observations.
        """
        return self.arm_search.best_observed(deviations)

    def best_value(self) -> tuple[float, float]:
        """Return mean and standard deviation of the reward of the best arm of all.

        Computed by `sample_best` with a fixed seed; infinite and nan if a node has infinitely many
        children.

        >>> import bough
        >>> belief = bough.Belief(bough.Tree(2, 1), bough.kernels.Discounted(1.0), noise=0.0)
        >>> mean, std = belief.best_value()  # exactly 0.56 and 0.83, and 256 draws
        >>> abs(mean - 0.56) < 0.1, abs(std - 0.83) < 0.1
        (True, True)
        """
        best, _ = self.sample_best(BEST_DRAWS, rng=0)
        return float(best.mean()), float(best.std()) if math.isfinite(best[0]) else math.nan

    def sample_best(
        self,
        n: int,
        path: Sequence[int] | None = None,
        *,
        degrees_of_freedom: float = math.inf,
        rng: np.random.Generator | int | None = None,
    ) -> tuple[Array, Array]:
        """Draw the reward of the best arm of all from its posterior, without pending evaluations.

        Exact, up to the width of a numerical grid, unless the branching is a function: then
        unexplored subtrees have the average width of those explored. Infinite if a node has
        infinitely many children, or if the prior mean is a function and not all nodes are explored.
        With labels all arms are drawn together, at most 8,192 (1,024 with a kernel of whole paths);
        infinite if there are more.

        Parameters
        ----------
        n
            The number of draws.
        path
            An explored node, by default that with the highest mean of those observed.
        degrees_of_freedom
            The number of observations from which the scale of the prior was estimated. Draws then
            follow a Student distribution.
        rng
            A seed or a generator.

        Returns
        -------
        best, chosen : array
            The reward of the best arm, and that of `path`, in the same draws.
        """
        return self.prepare_best(n, path, degrees_of_freedom=degrees_of_freedom, rng=rng)()

    def prepare_best(
        self,
        n: int,
        path: Sequence[int] | None = None,
        *,
        degrees_of_freedom: float = math.inf,
        rng: np.random.Generator | int | None = None,
    ) -> Callable[[], tuple[Array, Array]]:
        """Return a function that draws like `sample_best`, from the observations so far.

        Without labels, drawing takes ten times as long as this preparation.
        """
        n = whole(n, "n", least=1)
        random = np.random.default_rng(rng)
        if path is None:
            observed = self.best_observed(0.0)
            path = None if observed is None else observed.path
        if not degrees_of_freedom > 0.0:
            raise ValueError(f"degrees_of_freedom must be positive, got {degrees_of_freedom!r}")
        factors = np.ones(n)
        if degrees_of_freedom < math.inf:
            factors = np.sqrt(degrees_of_freedom / random.chisquare(degrees_of_freedom, n))
        arms = None if self.effects is None else self._all_arms()
        if arms is not None:
            return partial(_as_they_are, *self._draw_all(arms, path, factors, random))
        widths = self._seen_widths() if self.tree.counts is None else list(self.tree.counts)
        if math.inf in widths or self._has_unknown_means() or self.effects is not None:
            chosen = np.full(n, math.nan)
            if path is not None:
                arm = self.arm(path)
                chosen = arm.mean + arm.std * factors * random.standard_normal(n)
            return partial(_as_they_are, np.full(n, math.inf), chosen)
        increments = tuple(self.kernel.increments(self.tree.depth).tolist())
        children = unexplored_children(increments, tuple(map(int, widths)))
        best = BestArms(
            self.nodes, children, factor=float(factors.max()), path=path, center=self.center
        )
        return partial(best.draw, factors, random)

    def _all_arms(self) -> list[Path] | None:
        """Return all leaves, or None if there are more than can be drawn together."""
        tree = self.tree
        is_known = tree.counts is not None or tree.structure is not None
        if not is_known or tree.log_arms is None:
            return None
        of_leaves = self.effects is not None and self.effects.model.of_leaves
        most = MOST_PATHS_DRAWN if of_leaves else MOST_DRAWN
        if tree.log_arms > math.log(most) + 1e-9:
            return None
        leaves: list[Path] = []
        stack: list[Path] = [()]
        while stack:
            path = stack.pop()
            width = int(tree.children(path))
            if not width:
                leaves.append(path)
            stack += [(*path, k) for k in range(width)]
        return leaves

    def _draw_all(
        self,
        arms: list[Path],
        path: Sequence[int] | None,
        factors: Array,
        random: np.random.Generator,
    ) -> tuple[Array, Array]:
        """Draw all arms and a path; return the best of them, and the path, by draw."""
        paths = arms if path is None else [*arms, path]
        means, _ = self.posterior(paths)
        draws = self.sample(paths, len(factors), random)
        draws = means + factors[:, None] * (draws - means)
        best = draws[:, : len(arms)].max(axis=1)
        return best, np.full(len(best), math.nan) if path is None else draws[:, -1]

    def _has_unknown_means(self) -> bool:
        """Return whether there are arms whose prior mean, a function, is not known."""
        if not callable(self.mean):
            return False
        nodes = self.nodes[self.nodes["count"] >= 0]
        return bool((nodes["explored"] < nodes["branching"]).any())

    def _seen_widths(self) -> list[float]:
        nodes = self.nodes
        nodes = nodes[nodes["count"] >= 0]
        if (nodes["branching"] > MOST_CHILDREN).any():
            return [math.inf] * self.tree.depth
        seen = np.bincount(nodes["depth"], minlength=self.tree.depth + 1)
        children = np.bincount(nodes["depth"], nodes["branching"], minlength=self.tree.depth + 1)
        # Depths without an inner node so far are as wide as the others on average.
        inner = np.bincount(nodes["depth"][nodes["branching"] > 0], minlength=self.tree.depth + 1)
        usual = children.sum() / max(inner.sum(), 1)
        means = np.where(inner > 0, children / np.maximum(seen, 1), usual)[:-1]
        return [max(round(mean), 1) for mean in means.tolist()]

    # ------------------------------------------------------------------ saving

    def __getstate__(self) -> dict[str, Any]:
        own = ("tree", "kernel", "mean", "arms")
        parts = {name: self.__dict__[name].state() for name in self._parts}
        return {name: self.__dict__[name] for name in own} | {"parts": parts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        saved = state.pop("parts")
        self.__dict__.update(state)
        self._make_parts(0.0, 0.0)
        for name in self._parts:
            self.__dict__[name].restore(saved[name])

    @property
    def _parts(self) -> tuple[str, ...]:
        """The names of the parts that a belief has."""
        return PARTS if self.effects is not None else (PARTS[0], *PARTS[2:4])

    def __repr__(self) -> str:
        return (
            f"Belief({self.tree!r}, {self.kernel!r}, noise={self.noise!r}: "
            f"{len(self)} observations, {self.pending} pending)"
        )


def _as_they_are(best: Array, chosen: Array) -> tuple[Array, Array]:
    return best, chosen


def _several(paths: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return a list of paths, or say that it was one."""
    try:
        several = None if isinstance(paths, str | bytes) else list(paths)
    except TypeError:
        several = None
    if several is None:
        raise TypeError("paths must be a list of paths, such as [(0, 1), (0, 2)]")
    if several and isinstance(several[0], int | np.integer):
        raise TypeError(f"paths must be a list of paths, got one path; write [{tuple(several)}]")
    return several
