"""What a search has missed, beside what the theory allows."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bough import theory
from bough._validation import real
from bough.plotting.replay import checkpoints
from bough.plotting.run import Array, Run
from bough.plotting.style import BLUE, GREEN, ORANGE, axes, say_empty
from bough.trees import Path


class Regret(NamedTuple):
    """The sum over plays of what the best arm is worth more, and bounds of it.

    Attributes
    ----------
    plays
        Numbers of plays.
    cumulative
        The regret of so many.
    bound
        The least bound of the theory for the kernel, noise and tree of the search; empty if there
        is none (for a searcher without a belief, or a tree that is not the same everywhere).
    """

    plays: Array
    cumulative: Array
    bound: Array


def regret_data(
    source: Any, optimum: float, value: Callable[[Path], float] | None = None, most: int = 200
) -> Regret:
    """Return the regret after up to `most` numbers of plays.

    Parameters
    ----------
    source
        The search.
    optimum
        What the best arm is worth.
    value
        The true value of a path; by default what was told, noise and all.
    most
        How many numbers of plays.

    >>> import bough
    >>> result = bough.maximize(sum, bough.Tree(2, 4), budget=10, rng=0)
    >>> bool(regret_data(result, 4.0).cumulative[-1] == 40 - sum(result.history.values))
    True
    """
    run = Run.of(source)
    optimum = real(optimum, "optimum")
    truth = run.told
    if value is not None:
        truth = np.array([value(trial.path) for trial in run.told_trials], dtype=float)
    missed = np.cumsum(run.sign * (optimum - truth))
    plays = np.array(checkpoints(len(missed), most))
    return Regret(
        plays.astype(float), missed[plays - 1] if len(plays) else missed, _bound(run, plays)
    )


def _bound(run: Run, plays: Any) -> Array:
    belief = run.belief
    counts = None if belief is None else belief.tree.counts
    if run.shown.partitions > 1 or run.plan is not None:
        # It is about one tree whose kernel is known; a forest asks by turns, and by other means.
        return np.empty(0)
    if belief is None or not counts or len(set(counts)) != 1 or not len(plays):
        return np.empty(0)
    setting = belief.kernel, int(counts[0]) if counts[0] < np.inf else 0, len(counts), belief.noise
    try:
        delta = 0.05 if run.certificate is None else run.certificate.delta
        return np.asarray(theory.regret_bound(*setting, plays, delta), dtype=float)
    except ValueError:  # there is none for such a setting
        return np.empty(0)


def regret(
    source: Any, optimum: float, value: Callable[[Path], float] | None = None, *, ax: Any = None
) -> Any:
    """Draw the cumulative regret and its bound; return the Axes."""
    data = regret_data(source, optimum, value)
    ax = axes(ax)
    if not len(data.plays):
        return say_empty(ax, "nothing was told")
    alone = "o" if len(data.plays) == 1 else None  # one point makes no line
    ax.plot(data.plays, data.cumulative, color=BLUE, marker=alone, label="regret")
    if len(data.bound):
        ax.plot(
            data.plays, data.bound, "--", color=ORANGE, marker=alone, label="bound of the theory"
        )
    ax.plot(data.plays, data.plays * (data.cumulative[0] / data.plays[0]), ":", color=GREEN,
            label="every play as the first")  # fmt: skip
    positive = data.cumulative[0] > 0 and bool((data.cumulative > 0).all())
    ax.set_xscale("log")
    ax.set_yscale("log" if positive else "linear")
    ax.set_xlabel("plays")
    ax.set_ylabel("cumulative regret")
    ax.legend(fontsize="small")
    return ax
