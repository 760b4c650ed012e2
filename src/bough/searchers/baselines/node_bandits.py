"""One Gaussian-process bandit per node (Dorard and Shawe-Taylor, their last open question).

The rewards received at a node n are those of its children k, by their labels l_k:

    y = center + e_k + noise,    e ~ N(0, v K),    K_kj = between(l_k, l_j),

one posterior per node, over its own children only. Nodes at one depth share v, the noise s, and the
center. With ratio = s^2 / v the posterior of e / sqrt(v) depends on the ratio alone.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np

from bough._validation import above_zero, listed, real
from bough.confidence import Confidence
from bough.searchers.base import read_steps
from bough.searchers.baselines.arms import ArmPosterior, Floats
from bough.searchers.baselines.counting import CountingSearcher
from bough.searchers.baselines.tallies import Tallies
from bough.trees import Path, Tree

#: The default width of the bounds, as a fraction of the theoretical one: the best average over four
#: trees with random steps, with and without rewards observed step by step.
SCALE = 0.25
#: Correlated children of a node: more are refused.
MOST_CHILDREN = 2000
#: The ratios of noise to signal that are tried in a fit, and the width of their log-normal prior.
RATIOS = tuple(2.0**e for e in range(-8, 11))
PRIOR_WIDTH = 3.0
#: The hyperparameters are fitted again when the observations have grown by this factor.
GROWTH = 1.25
#: A fit of correlated children looks at this many nodes of a depth, those played most.
MOST_NODES = 100


class NodeBandits(CountingSearcher):
    """Choose one child after the other, each by its own Gaussian-process bandit.

    If all rewards are observed step by step (`tell(path, steps=...)`), the bandit of a node learns
    the immediate rewards of its children. The path is then the one with the highest sum of upper
    confidence bounds: a child counts with its own bound plus the highest sum below it. Otherwise
    the bandit of a node learns the rewards of paths through its children, and the child with the
    highest upper confidence bound is chosen at each node, as UCT does.

    Parameters
    ----------
    tree : Tree
    labels : function of a path, optional
        A function of a node's path that returns the label of its last step. Children of one node
        with equal labels have the same reward; with a kernel `between` labels, those with similar
        ones have similar rewards. By default all children of a node are independent.
    between : kernel between labels, optional
        A kernel such as `kernels.RBF(1.0)`, or any object with `matrix(labels)`.
    noise : float or sequence of float, optional
        The standard deviation of the rewards at a node; one for each depth, or the same for all.
        By default fitted, as is the variance, by maximum marginal likelihood over all nodes of a
        depth.
    variance : float or sequence of float, optional
        The prior variance of the expected reward of a child.
    mean : float or sequence of float, optional
        Its prior mean. By default the average of all immediate rewards at that depth, or of the
        rewards through the node.
    confidence : Confidence
        The width of the bounds; at a scale of 1 `theory.node_regret_bound` holds.
    rng : int or numpy.random.Generator

    Notes
    -----
    The widths are those of `Confidence` for the plays of the node and all the children of all nodes
    of the tree; where these cannot be counted, the children of the node. The default scale of 0.25
    is the best on average with noise. With exact rewards, the search can then converge to a
    suboptimal path; `Confidence(scale=1.0)` explores more.

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.NodeBandits(bough.Tree(5, 4), rng=0)
    >>> for _ in range(60):
    ...     path = search.ask()
    ...     search.tell(path, steps=[-float(k) for k in path])
    >>> search.best("mean").path
    (0, 0, 0, 0)
    """

    def __init__(
        self,
        tree: Tree,
        *,
        labels: Callable[[Path], Any] | None = None,
        between: Any = None,
        noise: float | Sequence[float] | None = None,
        variance: float | Sequence[float] | None = None,
        mean: float | Sequence[float] | None = None,
        confidence: Confidence | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, None, rng)
        if labels is not None and not callable(labels):
            raise TypeError(f"labels must be a function of a node's path, got {labels!r}")
        if between is not None and labels is None:
            raise ValueError("between is a kernel between labels: pass labels=, a function, too")
        if confidence is not None and not isinstance(confidence, Confidence):
            raise TypeError(f"confidence must be a bough.Confidence, got {confidence!r}")
        self.labels = labels
        self.between, variance = _kernel_and_variance(between, variance)
        self.confidence = confidence or Confidence(scale=SCALE)
        self.tallies: Tallies = Tallies(tree)
        self._levels = [
            _Level(*values)
            for values in zip(
                _by_depth(mean, "mean", tree.depth, real),
                _by_depth(variance, "variance", tree.depth, above_zero),
                _by_depth(noise, "noise", tree.depth, above_zero),
                strict=True,
            )
        ]
        self._log_children = _log_children(tree)
        self._nodes: dict[Path, _Node] = {}
        self._grams: dict[tuple[Hashable, ...], _Gram] = {}
        self._largest = 1.0 if labels is None else 0.0  # variance of a child, of those seen
        self._stepwise = True
        self._next_fit = 1.0
        self._stale = False  # whether all bounds must be computed again

    # ------------------------------------------------------------------ observations

    def _record(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        rewards = [math.nan] * len(path) if steps is None else read_steps(steps, len(path))
        nodes = [self._node_at(path[:i]) for i in range(len(path))]
        super()._record(path, reward, noise, steps)
        self._stepwise &= steps is not None
        for i, node in enumerate(nodes):
            node.add(path[i], reward, rewards[i])
        if self.observations >= self._next_fit:
            self._next_fit = max(self.observations + 1, GROWTH * self.observations)
            self._fit()
        self._back_up(path)

    def _node_at(self, path: Path) -> "_Node":
        """Return the bandit of a node, a new one if it has none."""
        node = self._nodes.get(path)
        if node is None:
            branching = int(self.tree.children(path))
            node = self._nodes[path] = _Node(branching, self._gram(path, branching))
        return node

    def _gram(self, path: Path, branching: int) -> "_Gram | None":
        """Return the prior correlations of the children of a node; None if they are independent."""
        if self.labels is None:
            return None
        if branching > MOST_CHILDREN:
            raise ValueError(
                f"node {path} has {branching:,} children, but children with labels have a matrix "
                f"of covariances: at most {MOST_CHILDREN:,}, or leave out labels"
            )
        keys = tuple(self._key((*path, k)) for k in range(branching))
        if keys not in self._grams:
            if self.between is None:
                numbers = np.array([keys.index(key) for key in keys])
                matrix = (numbers[:, None] == numbers[None, :]).astype(np.float64)
            else:
                matrix = np.asarray(self.between.matrix(list(keys)), dtype=np.float64)
            self._grams[keys] = gram = _Gram(matrix, path)
            if gram.variances.max() > self._largest:
                self._largest = float(gram.variances.max())
                self._stale = True
        return self._grams[keys]

    def _key(self, path: Path) -> Hashable:
        label = self.labels(path)  # type: ignore[misc]
        if hasattr(self.between, "key"):
            key: Hashable = self.between.key(label, f"labels({path})")
            return key
        if isinstance(label, np.ndarray):
            label = tuple(label.tolist())
        try:
            hash(label)
        except TypeError:
            raise TypeError(
                f"labels must return something hashable, but labels({path}) is {label!r}"
            ) from None
        return label  # type: ignore[no-any-return]

    # ------------------------------------------------------------------ pending evaluations

    def ask(self) -> Path:
        """Return the next path to evaluate; while there are others, none that is pending."""
        if self._asked is not None:
            self._count_pending(self._asked, 1)
        return super().ask()

    def _settle(self, path: Path) -> bool:
        counted = path in self._pending
        settled = super()._settle(path)
        if counted:
            self._count_pending(path, -1)
        return settled

    def _count_pending(self, path: Path, change: int) -> None:
        """Count a pending evaluation at every node on a path.

        A child is closed while all arms below it are pending.
        """
        nodes = [self._node_at(path[:i]) for i in range(len(path))]
        closed: bool | None = None
        for node, k in zip(reversed(nodes), reversed(path), strict=True):
            node.pending[k] = node.pending.get(k, 0) + change
            if closed is None:
                closed = node.pending[k] > 0
            if not node.pending[k]:
                del node.pending[k]
            (node.closed.add if closed else node.closed.discard)(k)
            closed = len(node.closed) == node.branching
        self._back_up(path)

    # ------------------------------------------------------------------ choosing

    def _choose(self) -> Path:
        path: Path = ()
        skipping = not self._is_closed(path)
        while (node := self._nodes.get(path)) is not None:
            indices = self._indices(path, node)
            if skipping:
                indices[list(node.closed)] = -np.inf
            best = np.flatnonzero(indices == indices.max())
            path = (*path, int(best[0 if len(best) == 1 else self._random.below(len(best))]))
        while branching := self.tree.children(path):
            path = (*path, self._random.below(int(branching)))
        return path

    def _is_closed(self, path: Path) -> bool:
        node = self._nodes.get(path)
        return node is not None and len(node.closed) == node.branching

    def _indices(self, path: Path, node: "_Node") -> Floats:
        """Return the upper confidence bounds of the children, and of what lies below them."""
        upper = self._upper(len(path), node)
        if self._stepwise:
            rest = self._rest(len(path) + 1)
            upper += rest
            for k in node.played:
                child = self._nodes.get((*path, k))
                upper[k] += (0.0 if child is None else child.bound) - rest
        return upper

    def _upper(self, depth: int, node: "_Node") -> Floats:
        """Return the upper confidence bounds of the rewards of a node's children."""
        level = self._levels[depth]
        known = node.posterior(level.ratio, self._stepwise)
        own = node.plays and level.mean is None and not self._stepwise
        center = node.average() if own else level.center
        variances = known.variances
        if node.pending:  # an evaluation narrows the bound of its own child
            variances = variances.copy()
            for k, count in node.pending.items():
                variances[k] /= 1.0 + count * variances[k] / level.ratio
        plays = node.plays + sum(node.pending.values())
        width = self._width(plays + 1, node.branching) * level.scale
        upper: Floats = known.of_rewards + center * (1.0 - known.of_ones)
        return upper + width * np.sqrt(variances)

    def _width(self, plays: int, branching: int) -> float:
        log_children = self._log_children
        return self.confidence.sqrt_beta(
            plays, math.log(branching) if log_children is None else log_children
        )

    def _rest(self, depth: int) -> float:
        """Return the highest sum of bounds below a node of that depth without a bandit."""
        branching = 1 if self.tree.counts is None else int(max(self.tree.counts, default=1))
        width = self._width(1, branching)
        width *= math.sqrt(self._largest)
        return math.fsum(level.center + width * level.scale for level in self._levels[depth:])

    def _back_up(self, path: Path) -> None:
        """Recompute the highest sums of bounds on a path, or all of them after a fit."""
        if not self._stepwise:
            return
        nodes = self._nodes
        changed = [path[:i] for i in range(len(path))]
        if self._stale:
            changed = list(nodes)  # a node comes after its parent
            self._stale = False
        for prefix in reversed(changed):
            nodes[prefix].bound = float(self._indices(prefix, nodes[prefix]).max())

    # ------------------------------------------------------------------ hyperparameters

    def _fit(self) -> None:
        """Fit the hyperparameters that are not given, those of each depth by its nodes."""
        self._stale = True
        by_depth: list[list[_Node]] = [[] for _ in self._levels]
        for path, node in self._nodes.items():
            if node.plays:
                by_depth[len(path)].append(node)
        for level, nodes in zip(self._levels, by_depth, strict=True):
            if nodes:
                level.fit(nodes, self._stepwise)


# ---------------------------------------------------------------------- one node


class _Gram:
    """The prior covariances of the children of a node, per unit of their variance."""

    def __init__(self, matrix: Floats, path: Path) -> None:
        scale = float(np.abs(matrix).max(initial=0.0))
        if not np.isfinite(scale):
            raise ValueError(f"between must be finite, but is not for the children of node {path}")
        lowest = float(np.linalg.eigvalsh(matrix)[0]) if len(matrix) else 0.0
        if lowest < -1e-9 * scale * len(matrix):
            raise ValueError(
                "between must be positive semidefinite, but for the children of node "
                f"{path} its matrix has the eigenvalue {lowest:.6g}"
            )
        self.matrix = matrix
        self.variances: Floats = matrix.diagonal().copy()

    def column(self, k: int) -> Floats:
        """Return the covariances of a child with all children."""
        column: Floats = self.matrix[k]
        return column


class _Independent:
    """The posterior of independent arms: an `ArmPosterior` whose observations cost O(1)."""

    def __init__(self, arms: int) -> None:
        self.variances = np.ones(arms)
        self.of_rewards = np.zeros(arms)
        self.of_ones = np.zeros(arms)

    def observe(self, k: int, reward: float, variance: float) -> None:
        gain = self.variances[k] / (self.variances[k] + variance)
        self.of_rewards[k] += gain * (reward - self.of_rewards[k])
        self.of_ones[k] += gain * (1.0 - self.of_ones[k])
        self.variances[k] *= 1.0 - gain


@dataclass
class _Rewards:
    """The number, the mean and the sum of squared deviations of some rewards."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, reward: float) -> None:
        self.count += 1
        change = reward - self.mean
        self.mean += change / self.count
        self.squares += change * (reward - self.mean)


class _Node:
    """The bandit of a node: rewards by child, and the posterior of all children."""

    def __init__(self, branching: int, gram: _Gram | None) -> None:
        self.branching = branching
        self.gram = gram
        self.plays = 0
        #: By child: the rewards of paths through it, and its immediate rewards.
        self.played: dict[int, tuple[_Rewards, _Rewards]] = {}
        self.pending: dict[int, int] = {}
        self.closed: set[int] = set()
        self.bound = math.inf  # the highest sum of bounds of the steps below
        self._known: ArmPosterior | _Independent | None = None
        self._known_by: tuple[float, bool] | None = None

    def add(self, k: int, reward: float, step: float) -> None:
        """Record a reward through a child, and its immediate reward or nan."""
        self.plays += 1
        values, steps = self.played.setdefault(k, (_Rewards(), _Rewards()))
        values.add(reward)
        steps.add(step)
        if self._known is not None and self._known_by is not None:
            ratio, stepwise = self._known_by
            self._known.observe(k, step if stepwise else reward, ratio)

    def rewards(self, stepwise: bool) -> dict[int, _Rewards]:
        """Return the rewards of the children that were played, immediate or of paths."""
        return {k: pair[stepwise] for k, pair in self.played.items()}

    def average(self) -> float:
        """Return the average reward of the paths through the node."""
        return sum(values.count * values.mean for values, _ in self.played.values()) / self.plays

    def posterior(self, ratio: float, stepwise: bool) -> "ArmPosterior | _Independent":
        """Return the posterior of the children, per unit of their variance."""
        if self._known is None or self._known_by != (ratio, stepwise):
            gram = self.gram
            known = _Independent(self.branching) if gram is None else ArmPosterior(gram)
            for k, rewards in self.rewards(stepwise).items():
                known.observe(k, rewards.mean, ratio / rewards.count)
            self._known, self._known_by = known, (ratio, stepwise)
        return self._known


# ---------------------------------------------------------------------- one depth


@dataclass
class _Level:
    """The hyperparameters of the nodes of one depth: those that are given, and those in use."""

    mean: float | None
    variance: float | None
    noise: float | None
    center: float = field(init=False)
    scale: float = field(init=False)
    ratio: float = field(init=False)

    def __post_init__(self) -> None:
        self.center = self.mean or 0.0
        self._use(1.0 if self.variance is None else self.variance, 1.0)

    def _use(self, variance: float, ratio: float) -> None:
        self.scale = math.sqrt(variance)
        self.ratio = ratio if self.noise is None else self.noise**2 / variance

    def fit(self, nodes: list[_Node], stepwise: bool) -> None:
        """Fit what is not given: the center by the average, the rest by marginal likelihood."""
        plays = sum(node.plays for node in nodes)
        tables = [node.rewards(stepwise) for node in nodes]
        if self.mean is None:
            total = sum(r.count * r.mean for table in tables for r in table.values())
            self.center = total / plays
        if self.variance is not None and self.noise is not None:
            return
        # Without a common center each node has a mean of its own, with a flat prior.
        flat = self.mean is None and not stepwise
        alone: list[dict[int, _Rewards]] = []
        together: list[tuple[dict[int, _Rewards], _Gram | None]] = []
        for node, table in sorted(zip(nodes, tables, strict=True), key=lambda x: -x[0].plays):
            if node.gram is None:
                alone.append(table)
            elif len(together) < MOST_NODES:
                together.append((table, node.gram))
        data = [_Evidence(alone, None, self.center, flat)] if alone else []
        data += [_Evidence([table], gram, self.center, flat) for table, gram in together]
        unit = sum(x.magnitude for x in data) / sum(x.plays for x in data)
        if not unit > 0.0:  # all rewards are equal: nothing is known but their magnitude
            unit = self.center**2 or 1.0
        best, chosen = -math.inf, (unit, 1.0)
        for ratio in RATIOS:
            variance, likelihood = self._likelihood(data, ratio, unit)
            likelihood -= 0.5 * (math.log(ratio) / PRIOR_WIDTH) ** 2
            if likelihood > best:
                best, chosen = likelihood, (variance, ratio)
        self._use(*chosen)

    def _likelihood(
        self, data: list["_Evidence"], ratio: float, unit: float
    ) -> tuple[float, float]:
        """Return the best variance for a ratio of noise to signal, and its log-likelihood."""
        squares = logs = freedom = 0.0
        for evidence in data:
            terms = evidence.terms(ratio)
            squares += terms[0]
            logs += terms[1]
            freedom += terms[2]
        if self.variance is not None:
            variance = self.variance
        elif self.noise is not None:
            variance = self.noise**2 / ratio
        elif freedom > 0.0 and squares > 0.0:
            variance = squares / freedom
        else:
            variance = unit
        # In units of `unit`, so that the scale of the rewards does not matter.
        return variance, -0.5 * (squares / variance + freedom * math.log(variance / unit) + logs)


class _Evidence:
    """The rewards of nodes with independent children, or of one node, for the likelihood."""

    def __init__(
        self, tables: list[dict[int, _Rewards]], gram: _Gram | None, center: float, flat: bool
    ) -> None:
        rewards = [r for table in tables for r in table.values()]
        self.counts = np.array([float(r.count) for r in rewards])
        self.means = np.array([r.mean for r in rewards])
        sizes = [len(table) for table in tables]
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.flat = flat
        if flat:
            plays = np.add.reduceat(self.counts, self.starts)
            averages = np.add.reduceat(self.counts * self.means, self.starts) / plays
            self.means -= np.repeat(averages, sizes)
        else:
            self.means -= center
        self.within = sum(r.squares for r in rewards)
        self.plays = float(self.counts.sum())
        #: The sum of squared deviations from the center.
        self.magnitude = self.within + float(self.counts @ self.means**2)
        played = list(tables[0])
        self.matrix = None if gram is None else gram.matrix[np.ix_(played, played)]

    def terms(self, ratio: float) -> tuple[float, float, float]:
        """Return the squares per unit of variance, the logarithms and the degrees of freedom."""
        own = ratio / self.counts
        if self.matrix is None:
            of_ones = 1.0 / (1.0 + own)
            log_det = -float(np.log(of_ones).sum())
            weighted = of_ones * self.means
        else:
            factor = np.linalg.cholesky(self.matrix + np.diag(own))
            log_det = 2.0 * float(np.log(factor.diagonal()).sum())
            both = np.column_stack([self.means, np.ones_like(self.means)])
            weighted, of_ones = np.linalg.solve(factor.T, np.linalg.solve(factor, both)).T
        squares = float(self.means @ weighted)
        freedom = self.plays
        if self.flat:
            precisions = np.add.reduceat(of_ones, self.starts)
            shifts = np.add.reduceat(weighted, self.starts)
            squares -= float((shifts**2 / precisions).sum())
            log_det += float(np.log(precisions).sum())
            freedom -= len(self.starts)
        repeats = self.plays - len(self.counts)
        return max(squares, 0.0) + self.within / ratio, log_det + repeats * math.log(ratio), freedom


# ---------------------------------------------------------------------- arguments


def _by_depth(
    given: Any, name: str, depth: int, check: Callable[[Any, str], float]
) -> list[float | None]:
    """Return a value for each depth below the root."""
    if given is None:
        return [None] * depth
    if not hasattr(given, "__len__"):
        return [check(given, name)] * depth
    values = [check(x, f"{name}[{i}]") for i, x in enumerate(listed(given, name))]
    if len(values) != depth:
        raise ValueError(
            f"{name} has {len(values)} entries, one for each depth below the root, but depth is "
            f"{depth}"
        )
    return list(values)


def _kernel_and_variance(between: Any, variance: Any) -> tuple[Any, Any]:
    """Return a kernel between labels of variance 1, and the variance."""
    if between is None:
        return None, variance
    if isinstance(between, type) or not callable(getattr(between, "matrix", None)):
        raise TypeError(
            "between must be a kernel between labels such as kernels.RBF(1.0), with a method "
            f"matrix(labels), got {between!r}"
        )
    for name in getattr(between, "hyperparameters", ()):
        if name != "variance" and getattr(between, name) is None:
            raise ValueError(f"{name} of between must be a number here, got {between!r}")
    if not (is_dataclass(between) and hasattr(between, "variance")):
        return between, variance
    own = between.variance
    if own is not None and variance is not None:
        raise ValueError(
            f"variance is {variance!r}, but between={between!r} has one too: give one of them"
        )
    return replace(between, variance=1.0), variance if own is None else own  # type: ignore[type-var]


def _log_children(tree: Tree) -> float | None:
    """Return the logarithm of the number of all children of all nodes, or of an upper bound."""
    if tree.counts is None:
        return None if tree.log_arms is None else tree.log_arms + math.log(max(tree.depth, 1))
    levels = np.cumsum([math.log(count) for count in tree.counts])
    return float(np.logaddexp.reduce(levels)) if len(levels) else 0.0
