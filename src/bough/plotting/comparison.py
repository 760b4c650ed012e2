"""Searchers side by side."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bough.experiments.figures import LINEAR, draw_panel
from bough.experiments.results import Comparison, Estimate
from bough.experiments.runs import MEASURES
from bough.plotting.replay import checkpoints
from bough.plotting.run import Array, Run
from bough.plotting.style import axes, literal


class Progress(NamedTuple):
    """How one searcher got on: a measure at numbers of evaluations, with an interval.

    For a `Comparison` the interval is that of the mean over seeds; for results of your own it runs
    from the lowest to the highest of them.
    """

    at: Array
    mean: Array
    low: Array
    high: Array


def comparison_data(
    source: Comparison | Mapping[str, Any], problem: str | None = None, measure: str = "simple"
) -> dict[str, Progress]:
    """Return how each searcher got on, by its name.

    Parameters
    ----------
    source
        What `experiments.compare` returned; or results (or lists of them, one for each seed) by
        name, of which the best value so far is compared.
    problem
        Which one, of a comparison with several.
    measure
        Of a comparison: `"simple"`, or another of `experiments.runs.MEASURES`.

    >>> import bough
    >>> tree = bough.Tree(2, 3)
    >>> runs = {name: bough.maximize(sum, tree, budget=5, searcher=name) for name in ("uct", "hoo")}
    >>> sorted(comparison_data(runs))
    ['hoo', 'uct']
    """
    if not isinstance(source, Comparison):
        return {name: _of_results(name, found) for name, found in source.items()}
    problem = _checked(source, problem, measure)
    return {
        curve.searcher: Progress(np.asarray(curve.at, dtype=float), *curve.measures[measure])
        for curve in source.by_evaluations()
        if curve.problem == problem
    }


def _checked(source: Comparison, problem: str | None, measure: str) -> str:
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
    if problem is None and len(source.problems) == 1:
        return source.problems[0]
    if problem not in source.problems:
        raise ValueError(f"problem must be one of {', '.join(source.problems)}, got {problem!r}")
    return problem


def _of_results(name: str, found: Any) -> Progress:
    runs = [Run.of(run) for run in (found if isinstance(found, Sequence) else [found])]
    shortest = min((len(run.told) for run in runs), default=0)
    if not shortest:
        raise ValueError(f"{name} has no results, or one of them was told nothing")
    at = np.array(checkpoints(shortest, 200))
    best = [run.sign * np.maximum.accumulate(run.sign * run.told)[at - 1] for run in runs]
    rows = np.array(best)
    return Progress(at.astype(float), rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0))


def comparison(
    source: Comparison | Mapping[str, Any],
    problem: str | None = None,
    measure: str = "simple",
    *,
    ax: Any = None,
) -> Any:
    """Draw searchers side by side; return the Axes."""
    data = comparison_data(source, problem, measure)
    ax = axes(ax)
    rows = [(literal(name), p.at, Estimate(p.mean, p.low, p.high)) for name, p in data.items()]
    draw_panel(ax, rows, linear=measure in LINEAR)
    ax.set_xlabel("evaluations")
    ax.set_ylabel(MEASURES[measure] if isinstance(source, Comparison) else "best value so far")
    ax.legend(fontsize="small")
    return ax
