"""How the search came closer: its best, the bounds, and the gap between them."""

import math
from typing import Any, NamedTuple

import numpy as np

from bough.belief.belief import Belief
from bough.confidence import Confidence
from bough.planning import Plan
from bough.plotting.replay import checkpoints, forgetful, teller, teller_of, teller_of_plan
from bough.plotting.run import Array, Run
from bough.plotting.shown import Shown, of_covering
from bough.plotting.style import BLUE, GREEN, GREY, ORANGE, axes, say_empty
from bough.searchers import GPTS
from bough.spaces import Forest


class Convergence(NamedTuple):
    """How the search came closer.

    Attributes
    ----------
    values
        Every value, in the order in which they were told.
    best
        The best value up to each of them.
    at
        Numbers of evaluations, after which the following held.
    mean
        Posterior mean of the arm that the search would have recommended. In a space with noise it
        is that of the cell which one covering, that of the bounds, takes for the best: `best`
        weighs what all of them say, and differs a little.
    lower, upper
        The certificate: with its confidence the best of all arms is between them. One of them is
        infinite if nobody knows how many arms there are.
    """

    values: Array
    best: Array
    at: Array
    mean: Array
    lower: Array
    upper: Array

    @property
    def gap(self) -> Array:
        """How much better than the incumbent anything can be."""
        return self.upper - self.lower


def convergence_data(source: Any, most: int = 200) -> Convergence:
    """Return best, bounds and gap as the search went on.

    The bounds are those of the prior that the search has in the end, at up to `most` moments: what
    was learnt later is taken to have been known, so that the curves are of one belief. The last of
    them is the certificate. In a space they are those of one covering, that whose turn it is to
    ask. Searchers without a belief have none, and `at` is empty.

    >>> import bough
    >>> result = bough.maximize(sum, bough.Tree(2, 4), budget=20, rng=0)
    >>> data = convergence_data(result)
    >>> bool(abs(data.gap[-1] - result.certificate.gap) < 1e-9)
    True
    """
    run = Run.of(source)
    values = run.told
    best = run.sign * np.maximum.accumulate(run.sign * values)
    empty = np.empty(0)
    if run.belief is None or (run.shown.search is None and run.shown.forest is None):
        return Convergence(values, best, empty, empty, empty, empty)
    at, *bounds = _bounds(run.shown, run.belief, run.plan, most)
    mean, lower, upper = map(run.shown.value, bounds)
    if run.sign < 0:
        mean, lower, upper = 0.0 - mean, 0.0 - upper, 0.0 - lower
    return Convergence(values, best, at, mean, lower, upper)


def _bounds(
    shown: Shown, belief: Belief, plan: Plan | None, most: int
) -> tuple[Array, Array, Array, Array]:
    """Return numbers of observations, and what the belief said after each of them."""
    again = forgetful(belief)
    exact = None  # the best value at each moment, if values are known to be exact
    all_known = math.inf  # after so many there is no other point
    if shown.forest is not None and shown.cover is not None:
        search: GPTS | Forest = shown.forest
        count, tell_some = teller_of(shown.forest, shown.cover, again)
        if shown.exact:
            told = shown.forest.told
            exact = np.maximum.accumulate(told.table.values)
            if len(told.of_point) >= told.space.size:
                all_known = 1 + max(numbers[0] for numbers in told.of_point.values())
    else:
        assert shown.search is not None  # it is one or the other
        search = shown.search
        count, tell_some = teller(belief, again) if plan is None else teller_of_plan(plan, again)
        if plan is not None and plan.deterministic:
            exact = np.maximum.accumulate(plan.policy.known_worths())
    rows = []
    begin = 0
    marks = checkpoints(count, most)
    for mark in marks:
        tell_some(begin, mark)
        begin = mark
        b = _sqrt_beta(search, belief, len(again) + 1)
        recommended = again.best_observed(0.0 if belief.noise == 0.0 else 1.0)
        assert recommended is not None  # something was told
        mean, lower = recommended.mean, again.highest_lower(b).lower
        upper = math.inf if belief.tree.log_arms is None else again.upper_bound(b)
        if exact is not None and exact[mark - 1] > -math.inf:  # as the certificate has it
            mean = float(exact[mark - 1])
            if mean >= lower or plan is not None:
                lower, upper = mean, mean if mark >= all_known else max(upper, mean)
        rows.append((mean, lower, upper))
    means, lowers, uppers = np.array(rows).T
    return np.array(marks, dtype=float), means, lowers, uppers


def _sqrt_beta(search: GPTS | Forest, belief: Belief, t: int) -> float:
    """Return how wide the bounds of the certificate are."""
    level = Confidence(search.confidence.delta)
    if isinstance(search, GPTS):
        return search._sqrt_beta(level, t)
    return level.sqrt_beta(t, belief.tree.log_arms or 0.0)


def _recommended(shown: Shown) -> str:
    """Say of what the mean is."""
    if shown.forest is not None and not shown.exact:
        return "mean of the best cell" + of_covering(shown)  # `best` weighs what all of them say
    return f"mean of the recommended {'path' if shown.space is None else 'point'}"


def convergence(source: Any, *, ax: Any = None) -> Any:
    """Draw every value, the best so far, and the bounds; return the Axes."""
    run = Run.of(source)
    data = convergence_data(run)
    ax = axes(ax)
    if not len(data.values):
        return say_empty(ax, "nothing was told")
    plays = np.arange(1, len(data.values) + 1)
    dense = len(plays) > 2000
    ax.plot(
        plays, data.values, ".", color=GREY, alpha=0.15 if dense else 0.4,
        markersize=3, label="values", rasterized=dense,
    )  # fmt: skip
    alone = "o" if len(plays) == 1 else None  # one point makes no line
    ax.plot(
        plays, data.best, color=BLUE, drawstyle="steps-post", marker=alone,
        label="best value so far",
    )  # fmt: skip
    if len(data.at):
        ax.plot(data.at, data.mean, color=GREEN, marker=alone, label=_recommended(run.shown))
        shown = np.isfinite(data.lower) & np.isfinite(data.upper)
        ax.fill_between(
            data.at[shown], data.lower[shown], data.upper[shown], color=ORANGE, alpha=0.15,
            label="the best of all, by the certificate" + of_covering(run.shown),
        )  # fmt: skip
    ax.set_xlabel("evaluations")
    ax.set_ylabel("value")
    if len(plays) > 1:
        ax.set_xscale("log")
    ax.legend(fontsize="small")
    return ax
