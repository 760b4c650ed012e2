"""Progress over the evaluations: convergence, regret, and comparisons of searchers."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bough import theory
from bough._validation import clipped, real
from bough.belief.belief import Belief
from bough.experiments.figures import LINEAR, draw_panel
from bough.experiments.results import Comparison, Estimate
from bough.experiments.runs import MEASURES
from bough.plotting.style import BLUE, GRAY, GREEN, ORANGE, axes, empty, labeled, literal
from bough.plotting.view import Array, SearchView, ShownTree, observations
from bough.searchers import GPTS
from bough.spaces import Forest
from bough.trees import Path

#: The number of evaluations after which bounds are computed: with labels each takes some tenths of
#: a second.
MOST_BOUNDS, MOST_LABELED_BOUNDS = 200, 10
#: The share of the range of the values by which bounds may extend an axis.
BEYOND = 0.25
#: Number of marks at an edge of the axis, where a bound leaves it.
MOST_MARKS = 12


class Convergence(NamedTuple):
    """Values, and the bounds of the certificate over the evaluations.

    The arrays from `at` on belong to those numbers of evaluations. In a space with noise, `mean` is
    that of the best cell of one partition, that of the bounds; `best` of the search combines all
    partitions, so its mean differs a little.
    """

    values: Array  #: in the order of the observations
    best: Array  #: the best value up to each of them
    at: Array
    mean: Array  #: posterior mean of the recommended arm
    lower: Array  #: lower bound of the certificate on the value of the best arm
    upper: Array  #: upper bound of the certificate; infinite if the number of arms is not known

    @property
    def gap(self) -> Array:
        """The gap between the bounds."""
        return self.upper - self.lower

    @property
    def limits(self) -> tuple[float, float] | None:
        """Limits of an axis: all values, and the last bounds if these are close to the values.

        Bounds count up to a quarter of the range of the values, so that they never set the scale.
        None if that range is empty.
        """
        low, high = self.values.min(initial=np.inf), self.values.max(initial=-np.inf)
        room = high - low
        if not 0.0 < room < np.inf:
            return None
        last = np.array([self.lower[-1:], self.upper[-1:]])
        last = last[np.isfinite(last)]
        lowest = max(min(low, last.min(initial=low)), low - BEYOND * room)
        highest = min(max(high, last.max(initial=high)), high + BEYOND * room)
        margin = 0.04 * (highest - lowest)
        return float(lowest - margin), float(highest + margin)

    @property
    def clipped(self) -> tuple[Array, Array]:
        """The numbers of evaluations after which the lower and the upper bound leave the axis.

        At most a dozen each, evenly spread over those with such a bound.
        """
        low, high = self.limits or (-np.inf, np.inf)
        beyond = (self.at[self.lower < low], self.at[self.upper > high])
        return tuple(at[:: -(-len(at) // MOST_MARKS) or 1] for at in beyond)  # type: ignore[return-value]


def convergence_data(source: Any) -> Convergence:
    """Return values, best values and bounds over the evaluations.

    The bounds are computed at up to 200 numbers of evaluations (10 for a kernel with labels), with
    the current prior of the search: the hyperparameters fitted last are used from the first
    evaluation on. The last bounds are those of the certificate. In a space they belong to the
    partition that asks next. Searchers without a belief have no bounds, and `at` is empty.

    >>> import bough
    >>> result = bough.maximize(sum, bough.Tree(2, 4), budget=20, rng=0)
    >>> data = convergence_data(result)
    >>> bool(abs(data.gap[-1] - result.certificate.gap) < 1e-9)
    True
    """
    view = SearchView.of(source)
    values, best = view.values, view.best_values
    nothing = np.empty(0)
    if view.belief is None or view.shown.search is None:
        return Convergence(values, best, nothing, nothing, nothing, nothing)
    at, *bounds = _bounds(view.shown.search, view.belief, view)
    mean, lower, upper = map(view.shown.value, bounds)
    if view.sign < 0:
        mean, lower, upper = 0.0 - mean, 0.0 - upper, 0.0 - lower
    return Convergence(values, best, at, mean, lower, upper)


def _bounds(search: GPTS | Forest, belief: Belief, view: SearchView) -> list[Array]:
    """Return numbers of observations, and mean, lower and upper bound after each of them."""
    plan = view.plan
    exact = None  # the best value after each observation, if values are known to be exact
    all_known = math.inf  # the number of observations after which every point is known
    if isinstance(search, Forest) and view.shown.exact:
        trials = search.trials
        exact = np.maximum.accumulate(trials.values)
        if len(trials.observed) >= trials.space.size:
            all_known = 1 + trials.number(max(rows[0] for rows in trials.observed.values()))
    elif plan is not None and plan.deterministic:
        exact = np.maximum.accumulate(plan.policy.known_values())
    again = Belief(belief.tree, belief.kernel, belief.noise, mean=belief.mean, arms=belief.arms)
    observe: list[Callable[[Belief], None]]
    if plan is None:
        observe = [reward.give_to for reward in observations(belief)]
    else:
        observe = [partial(plan.policy.observe, playout=play) for play in plan.policy.playouts]
    done, rows = 0, []
    most = MOST_BOUNDS if belief.effects is None else MOST_LABELED_BOUNDS
    for mark in checkpoints(len(observe), most):
        for observe_one in observe[done:mark]:
            observe_one(again)
        done = mark
        recommended = again.best_observed(0.0 if belief.noise == 0.0 else 1.0)
        assert recommended is not None  # there are observations
        mean = recommended.mean
        _, *ends = again.bounds(search.deviations(len(again)))
        lower, upper = (clipped(end, search.bounds) for end in ends)
        if exact is not None and exact[mark - 1] > -math.inf:  # as in the certificate
            mean = float(exact[mark - 1])
            if mean >= lower or plan is not None:
                lower, upper = mean, mean if mark >= all_known else max(upper, mean)
        rows.append((float(mark), mean, lower, upper))
    return list(np.array(rows).T)


def checkpoints(count: int, most: int = MOST_BOUNDS) -> list[int]:
    """Return at most `most` numbers from 1 to `count`, evenly spread on a logarithmic scale.

    >>> checkpoints(1000, 4)
    [1, 10, 100, 1000]
    """
    if count <= most:
        return list(range(1, count + 1))
    last = math.log(count)
    numbers = {round(math.exp(last * i / (most - 1))) for i in range(most - 1)}
    return sorted(numbers | {count})


def convergence(source: Any, *, ax: Any = None) -> Any:
    """Draw every value, the best so far, and the bounds; return the Axes."""
    view = SearchView.of(source)
    data = convergence_data(view)
    ax = axes(ax)
    if not len(data.values):
        return empty(ax)
    plays = np.arange(1, len(data.values) + 1)
    dense = len(plays) > 2000
    ax.plot(
        plays, data.values, ".", color=GRAY, alpha=0.15 if dense else 0.4,
        markersize=3, label="values", rasterized=dense,
    )  # fmt: skip
    marker = "o" if len(plays) == 1 else None  # one point would not be visible as a line
    ax.plot(
        plays, data.best, color=BLUE, drawstyle="steps-post", marker=marker,
        label="best value so far",
    )  # fmt: skip
    if len(data.at):
        ax.plot(data.at, data.mean, color=GREEN, marker=marker, label=_recommended(view.shown))
        finite = np.isfinite(data.lower) & np.isfinite(data.upper)
        ax.fill_between(
            data.at[finite], data.lower[finite], data.upper[finite], color=ORANGE, alpha=0.15,
            label="bounds on the best value" + view.shown.suffix,
        )  # fmt: skip
    if len(plays) > 1:
        ax.set_xscale("log")
    if data.limits is not None:
        ax.set_ylim(*data.limits)
        _mark_clipped(ax, data)
    return labeled(ax, "evaluations", "value")


def _mark_clipped(ax: Any, data: Convergence) -> None:
    """Mark at the edges of the axis where a bound is beyond it."""
    label = "bound beyond the axis"
    for at, edge, marker in zip(data.clipped, data.limits or (), "v^", strict=False):
        if len(at):
            ax.plot(
                at, np.full(len(at), edge), marker, color=ORANGE, markersize=5, clip_on=False,
                label=label,
            )  # fmt: skip
            label = "_nolegend_"  # once is enough


def _recommended(shown: ShownTree) -> str:
    """Return the label of the mean."""
    if shown.forest is not None and not shown.exact:
        return "mean of the best cell" + shown.suffix  # `best` combines all partitions
    return f"mean of the recommended {'path' if shown.space is None else 'point'}"


# ---------------------------------------------------------------------- regret


class Regret(NamedTuple):
    """The cumulative regret of a search, and the lowest bound on it for its kernel, noise and tree.

    `bound` is empty for a searcher without a belief, and if branching varies.
    """

    plays: Array
    cumulative: Array
    bound: Array


def regret_data(
    source: Any, optimum: float, value: Callable[[Path], float] | None = None
) -> Regret:
    """Return the cumulative regret at up to 200 numbers of plays.

    `optimum` is the value of the best arm; `value` gives the true value of a path, by default the
    observed one, with its noise.

    >>> import bough
    >>> result = bough.maximize(sum, bough.Tree(2, 4), budget=10, rng=0)
    >>> bool(regret_data(result, 4.0).cumulative[-1] == 40 - sum(result.history.values))
    True
    """
    view = SearchView.of(source)
    optimum = real(optimum, "optimum")
    truth = view.values
    if value is not None:
        truth = np.array([value(trial.path) for trial in view.completed], dtype=float)
    regrets = np.cumsum(view.sign * (optimum - truth))
    plays = np.array(checkpoints(len(regrets)), dtype=int)
    return Regret(plays.astype(float), regrets[plays - 1], _regret_bound(view, plays))


def _regret_bound(view: SearchView, plays: Any) -> Array:
    """Return the bound of the theory, which is about one tree of constant branching."""
    belief = view.belief
    several = view.shown.partitions > 1 or view.plan is not None
    counts = None if belief is None or several else belief.tree.counts
    if belief is None or not counts or len(set(counts)) != 1 or not len(plays):
        return np.empty(0)
    if belief.kernel.label_model is not None:  # the theory is about kernels of prefixes
        return np.empty(0)
    setting = belief.kernel, int(counts[0]) if counts[0] < np.inf else 0, len(counts), belief.noise
    try:
        delta = 0.05 if view.certificate is None else view.certificate.delta
        return np.asarray(theory.regret_bound(*setting, plays, delta), dtype=float)
    except ValueError:  # no bound for this setting
        return np.empty(0)


def regret(
    source: Any, optimum: float, value: Callable[[Path], float] | None = None, *, ax: Any = None
) -> Any:
    """Draw the cumulative regret and its bound; return the Axes."""
    data = regret_data(source, optimum, value)
    ax = axes(ax)
    if not len(data.plays):
        return empty(ax)
    marker = "o" if len(data.plays) == 1 else None
    ax.plot(data.plays, data.cumulative, color=BLUE, marker=marker, label="regret")
    if len(data.bound):
        ax.plot(
            data.plays, data.bound, "--", color=ORANGE, marker=marker, label="theoretical bound"
        )
    ax.plot(data.plays, data.plays * (data.cumulative[0] / data.plays[0]), ":", color=GREEN,
            label="constant regret of the first play")  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log" if bool((data.cumulative > 0).all()) else "linear")
    return labeled(ax, "plays", "cumulative regret")


# ---------------------------------------------------------------------- searchers side by side


class Progress(NamedTuple):
    """A measure of one searcher at numbers of evaluations, with an interval.

    The interval is that of the mean over seeds for a `Comparison`, and the range for results.
    """

    at: Array
    mean: Array
    low: Array
    high: Array


def comparison_data(
    source: Comparison | Mapping[str, Any], problem: str | None = None, measure: str = "simple"
) -> dict[str, Progress]:
    """Return the progress of each searcher, by its name.

    `source` is a `Comparison` from `experiments.compare`, of which a problem and a measure
    (`"simple"`, or another of `experiments.runs.MEASURES`) are shown; or results (or lists of them,
    one for each seed) by name, whose best values so far are compared.

    >>> import bough
    >>> tree = bough.Tree(2, 3)
    >>> runs = {name: bough.maximize(sum, tree, budget=5, searcher=name) for name in ("uct", "hoo")}
    >>> sorted(comparison_data(runs))
    ['hoo', 'uct']
    """
    if not isinstance(source, Comparison):
        return {name: _progress(name, results) for name, results in source.items()}
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
    if problem is None and len(source.problems) == 1:
        problem = source.problems[0]
    if problem not in source.problems:
        raise ValueError(f"problem must be one of {', '.join(source.problems)}, got {problem!r}")
    return {
        curve.searcher: Progress(np.asarray(curve.at, dtype=float), *curve.measures[measure])
        for curve in source.by_evaluations()
        if curve.problem == problem
    }


def _progress(name: str, results: Any) -> Progress:
    views = [SearchView.of(r) for r in (results if isinstance(results, Sequence) else [results])]
    shortest = min((len(view.values) for view in views), default=0)
    if not shortest:
        raise ValueError(f"{name} has no results, or one of them has no observations")
    at = np.array(checkpoints(shortest))
    rows = np.array([view.best_values[at - 1] for view in views])
    return Progress(at.astype(float), rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0))


def comparison(
    source: Comparison | Mapping[str, Any],
    problem: str | None = None,
    measure: str = "simple",
    *,
    ax: Any = None,
) -> Any:
    """Draw a comparison of searchers; return the Axes."""
    data = comparison_data(source, problem, measure)
    ax = axes(ax)
    rows = [(literal(name), at, Estimate(*bounds)) for name, (at, *bounds) in data.items()]
    of_regrets = isinstance(source, Comparison)
    draw_panel(ax, rows, linear=measure in LINEAR or not of_regrets)
    return labeled(ax, "evaluations", MEASURES[measure] if of_regrets else "best value so far")
