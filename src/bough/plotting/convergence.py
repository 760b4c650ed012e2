"""How the search came closer: its best, the bounds, and the gap between them."""

import math
from typing import Any, NamedTuple

import numpy as np

from bough.belief import Belief
from bough.confidence import Confidence
from bough.plotting.replay import checkpoints, forgetful, observations, tell
from bough.plotting.run import Array, Run
from bough.plotting.style import BLUE, GREEN, GREY, ORANGE, axes, say_empty
from bough.searchers import GPTS


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
        Posterior mean of the arm that the search would have recommended.
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
    them is the certificate. Searchers without a belief have none, and `at` is empty.

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
    if run.belief is None or not isinstance(run.searcher, GPTS):
        return Convergence(values, best, empty, empty, empty, empty)
    at, mean, lower, upper = _bounds(run.searcher, run.belief, most)
    if run.sign < 0:
        mean, lower, upper = 0.0 - mean, 0.0 - upper, 0.0 - lower
    return Convergence(values, best, at, mean, lower, upper)


def _bounds(search: GPTS, belief: Belief, most: int) -> tuple[Array, Array, Array, Array]:
    """Return numbers of observations, and what the belief said after each of them."""
    told = observations(belief)
    marks = checkpoints(len(told), most)
    level = Confidence(search.confidence.delta)
    counted = search.tree.log_arms is not None
    again = forgetful(belief)
    rows = []
    begin = 0
    for mark in marks:
        for observation in told[begin:mark]:
            tell(again, observation)
        begin = mark
        b = search._sqrt_beta(level, mark + 1)
        best = again._best_played(0.0 if belief.noise == 0.0 else 1.0)
        assert best is not None  # something was told
        upper = again._ceiling(b).upper if counted else math.inf
        rows.append((best.mean, again.highest_lower(b).lower, upper))
    mean, lower, upper_ = np.array(rows).T
    return np.array(marks, dtype=float), mean, lower, upper_


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
        ax.plot(data.at, data.mean, color=GREEN, marker=alone, label="mean of the recommended path")
        shown = np.isfinite(data.lower) & np.isfinite(data.upper)
        ax.fill_between(
            data.at[shown], data.lower[shown], data.upper[shown], color=ORANGE, alpha=0.15,
            label="the best of all, by the certificate",
        )  # fmt: skip
    ax.set_xlabel("evaluations")
    ax.set_ylabel("value")
    if len(plays) > 1:
        ax.set_xscale("log")
    ax.legend(fontsize="small")
    return ax
