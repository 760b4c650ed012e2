"""Results of a comparison: means over the seeds, with bootstrap intervals."""

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist, median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough._html import table
from bough.experiments.competitors import Constants, in_words
from bough.experiments.runs import MEASURES, Run, scored_marks

Array = NDArray[np.float64]

#: The confidence of the intervals, and the number of resamples.
CONFIDENCE = 0.95
DRAWS = 2000


class Estimate(NamedTuple):
    """Means over the seeds, one for each mark, and the bounds of their intervals."""

    mean: Array
    low: Array
    high: Array


def bootstrap(values: Array) -> Estimate:
    """Return the means of the columns, with bootstrap intervals at 95 %.

    The intervals are bias-corrected and accelerated (Efron, "Better bootstrap confidence
    intervals", 1987): regrets are skewed, and plain percentiles would be too low too often. Rows
    are seeds, and the draws are always the same. With a single row there is no interval, and the
    bounds are NaN.

    >>> estimate = bootstrap(np.array([[1.0], [2.0], [3.0], [6.0]]))
    >>> float(estimate.mean[0]), bool(estimate.low[0] < 3.0 < estimate.high[0])
    (3.0, True)
    """
    count = len(values)
    mean = values.mean(axis=0)
    if count < 2:
        return Estimate(mean, np.full_like(mean, math.nan), np.full_like(mean, math.nan))
    rng = np.random.default_rng(0)
    times = rng.multinomial(count, np.full(count, 1 / count), size=DRAWS)
    means = np.sort(times @ values / count, axis=0)
    low, high = mean.copy(), mean.copy()
    for j in np.flatnonzero(np.ptp(values, axis=0) > 0):  # where all are equal, so are the bounds
        deviations = values[:, j] - mean[j]
        skew = float((deviations**3).sum() / (deviations**2).sum() ** 1.5) / 6
        low[j], high[j] = _corrected(means[:, j], mean[j], skew)
    return Estimate(mean, low, high)


def _corrected(means: Array, mean: float, acceleration: float) -> tuple[float, float]:
    """Return the bounds, given the sorted means of the resamples."""
    normal = NormalDist()
    below = (np.searchsorted(means, mean) + np.searchsorted(means, mean, side="right")) / 2
    bias = normal.inv_cdf(min(max(below / len(means), 1 / DRAWS), 1 - 1 / DRAWS))
    bounds = []
    for share in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2):
        z = bias + normal.inv_cdf(share)
        bounds.append(float(np.quantile(means, normal.cdf(bias + z / (1 - acceleration * z)))))
    return bounds[0], bounds[1]


@dataclass(frozen=True)
class Curve:
    """The measures of one searcher on one problem `at` numbers of evaluations, or seconds."""

    problem: str
    searcher: str
    constants: Constants
    seeds: int
    at: Array
    measures: dict[str, Estimate]

    @property
    def label(self) -> str:
        """The searcher's name with the constants that are not part of it."""
        hidden = [(name, x) for name, x in self.constants if f"{name}=" not in self.searcher]
        return f"{self.searcher} ({in_words(tuple(hidden))})" if hidden else self.searcher


@dataclass(frozen=True)
class TuningChoice:
    """The constants that were chosen for a searcher on a problem, and the candidates.

    `scores` has one for each candidate: its simple regret on the tuning seeds relative to the
    average candidate, on average over `scored_marks`; the lowest was chosen. `at_ends` are the
    names of the constants that lie at an end of the values tried.
    """

    constants: Constants
    candidates: tuple[Constants, ...]
    scores: tuple[float, ...]
    at_ends: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether all candidates have the same score."""
        return len(set(self.scores)) <= 1


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `compare`: every run, and estimates from them. It prints as a table.

    `runs` has, by problem and searcher, a run for each of `seeds`, in their order; constants were
    chosen on `tuning_seeds`.
    `failures` are the reasons why a searcher is not among the runs of a problem.
    """

    problems: tuple[str, ...]
    searchers: tuple[str, ...]
    budget: int
    steps: bool
    seeds: range
    tuning_seeds: range
    # All by problem and searcher:
    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)
    choices: dict[tuple[str, str], TuningChoice] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)

    def by_evaluations(self) -> list[Curve]:
        """Return the measures against the number of evaluations."""
        return [
            Curve(
                problem,
                searcher,
                self.choices[problem, searcher].constants,
                len(runs),
                np.array(runs[0].marks, dtype=float),
                {name: bootstrap(self._table(problem, searcher, name)) for name in MEASURES},
            )
            for (problem, searcher), runs in self.runs.items()
        ]

    def _table(self, problem: str, searcher: str, measure: str) -> Array:
        """Return a measure, with a row for each seed."""
        return np.array([getattr(run, measure) for run in self.runs[problem, searcher]], float)

    def by_seconds(self) -> list[Curve]:
        """Return the measures against the seconds spent in ask and tell.

        They are those after as many evaluations as the median run had made in that time, so a run
        that the machine held up has no effect.
        """
        return [
            replace(curve, at=np.median(self._table(curve.problem, curve.searcher, "seconds"), 0))
            for curve in self.by_evaluations()
        ]

    def difference(self, problem: str, one: str, other: str, measure: str = "simple") -> Estimate:
        """Return the mean excess of one searcher's measure over another's, seed by seed."""
        return bootstrap(self._table(problem, one, measure) - self._table(problem, other, measure))

    def microseconds(self) -> dict[tuple[str, str], float]:
        """Return the microseconds of ask and tell per evaluation, of the median run.

        The first run in a process, which includes imports, has no effect then.
        """
        return {
            pair: 1e6 * median(run.seconds[-1] / max(run.evaluations, 1) for run in runs)
            for pair, runs in self.runs.items()
        }

    def __repr__(self) -> str:
        """Return a table of simple regrets."""
        title, lines, failures = self._table_of_regrets()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([title, *texts, *failures])

    def _repr_html_(self) -> str:
        title, (head, *rows), failures = self._table_of_regrets()
        return table(title, rows, head, "; ".join(failures))

    def _table_of_regrets(self) -> tuple[str, list[list[str]], list[str]]:
        """Return a title, lines of cells with the head first, and what was not run."""
        marks = scored_marks(self.budget)
        head = ["problem", "searcher", *(f"after {mark:,}" for mark in marks), "microseconds"]
        cost = self.microseconds()
        lines = [head]
        for curve in self.by_evaluations():
            at = [int(np.searchsorted(curve.at, mark)) for mark in marks]
            cells = [_interval_text(curve.measures["simple"], i) for i in at]
            spent = f"{cost[curve.problem, curve.searcher]:.3g}"
            lines.append([curve.problem, curve.label, *cells, spent])
        title = f"simple regret, means over {len(self.seeds)} seeds with 95 % intervals"
        failures = [f"not run: {s} on {p}: {why}" for (p, s), why in self.failures.items()]
        return title, lines, failures


def _interval_text(estimate: Estimate, i: int) -> str:
    text = f"{estimate.mean[i]:.3g}"
    if math.isnan(estimate.low[i]):
        return text
    return f"{text} [{estimate.low[i]:.3g}, {estimate.high[i]:.3g}]"
