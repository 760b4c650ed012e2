"""The result of a search, and the history of its evaluations."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.best_arm import Arm
from bough.run.render import result_html, result_text
from bough.searchers import Certificate, Searcher
from bough.searchers.base import ExpectedBest, negative_arm, negative_certificate
from bough.spaces.searcher import SpaceSearcher
from bough.studies.trials import Trial, Trials, best_completed
from bough.trees import Path

if TYPE_CHECKING:
    from bough.studies.study import Study


@dataclass(frozen=True)
class History:
    """The evaluations of a run in the order of their ends, failed and pruned ones included.

    Attributes
    ----------
    trials
        The trials, with states, times, reports, and the reasons of failures.
    seconds
        The seconds from the start of the run to the end of each trial.
    """

    trials: list[Trial]
    seconds: NDArray[np.float64]

    @cached_property
    def paths(self) -> list[Path]:
        """The path of each trial; in a space that of its cell in the fixed partition."""
        return [trial.path for trial in self.trials]

    @cached_property
    def params(self) -> list[Any]:
        """The params of each trial; on a plain tree all are None."""
        return [trial.params for trial in self.trials]

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The final value of each trial, feasible or not; nan where it failed or was pruned."""
        return np.array([trial.value for trial in self.trials], dtype=float)

    @cached_property
    def failed(self) -> int:
        """The number of trials that failed."""
        return sum(trial.state == "failed" for trial in self.trials)

    @cached_property
    def infeasible(self) -> int:
        """The number of trials that have a value and violate a constraint."""
        return sum(trial.state == "infeasible" for trial in self.trials)

    @cached_property
    def pruned(self) -> int:
        """The number of trials that were pruned."""
        return sum(trial.state == "pruned" for trial in self.trials)

    @cached_property
    def steps(self) -> float:
        """The total number of steps: the sum of the last step that each trial reported."""
        return sum(trial.steps for trial in self.trials)

    def __len__(self) -> int:
        return len(self.trials)

    def to_pandas(self) -> Any:
        """Return the history as a `pandas.DataFrame`: `Trials.to_pandas` with `seconds`."""
        return Trials(self.trials).to_pandas().assign(seconds=self.seconds)


@dataclass(frozen=True)
class Evaluation:
    """One evaluation: its path, its params in a space (else None), and the measured value."""

    path: Path
    params: Any
    value: float


def best_trial(trials: Iterable[Trial], sign: float) -> Evaluation | None:
    """Return the completed trial with the highest sign times value, None if there is none."""
    completed = (trial for trial in trials if trial.state == "completed")
    top = max(completed, key=lambda trial: sign * (trial.value or 0.0), default=None)
    return None if top is None else Evaluation(top.path, top.params, top.value or 0.0)


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a search.

    Attributes
    ----------
    best
        The best of the evaluated arms according to the searcher's model, None if there are none:
        `best.mean` is its posterior mean, `best.value` the mean of its measured values.
    best_observed
        The evaluation with the best measured value (of all in the study, if there is one); None if
        there are none. With noise it can be the best by luck.
    best_value
        Mean and standard deviation of the value of the best of all arms, evaluated or not. None if
        the searcher has no such estimate, like those of spaces; infinite and nan if there are too
        few observations.
    expected_gap
        The expected loss of `best`: the expected value of the best of all arms minus that of `best`
        (when minimizing, the other way round), at least 0. None if `best_value` is None.
    certificate
        The bounds on the best of all arms; None if there are no observations.
    history
        The evaluations of this run, including failed ones.
    stopped_by
        The rule that ended the search.
    searcher
        The searcher, with which the search can be continued.
    study
        The study that recorded the search, if there is one.
    direction
        `"maximize"` or `"minimize"`. When minimizing, the searcher observes the negative of each
        value.
    """

    best: Arm | None
    certificate: Certificate | None
    history: History
    stopped_by: str
    searcher: Searcher | SpaceSearcher
    study: "Study | None" = None
    direction: str = "maximize"
    best_observed: Evaluation | None = None
    _expected: ExpectedBest | None = None  # of rewards as the searcher sees them

    @classmethod
    def of(
        cls,
        searcher: Searcher | SpaceSearcher,
        history: History,
        stopped_by: str,
        *,
        study: "Study | None",
        direction: str,
        best_observed: Evaluation | None,
    ) -> "Result":
        """Return the current result of a searcher."""
        best = certificate = expected = None
        if searcher.observations:
            sign = -1.0 if direction == "minimize" else 1.0
            best = best_completed(searcher, history.trials if study is None else study.trials, sign)
            certificate = getattr(searcher, "certificate", None)
            expect = getattr(searcher, "expected_best", None)
            expected = None if expect is None else expect()
        if direction == "minimize":
            best = None if best is None else negative_arm(best)
            certificate = None if certificate is None else negative_certificate(certificate)
        return cls(best, certificate, history, stopped_by, searcher, study, direction,
                   best_observed, expected)  # fmt: skip

    @property
    def best_value(self) -> tuple[float, float] | None:
        """Mean and standard deviation of the value of the best of all arms."""
        if self._expected is None:
            return None
        mean, std = self._expected.mean, self._expected.std
        return (0.0 - mean if self.direction == "minimize" else mean), std

    @property
    def expected_gap(self) -> float | None:
        """The expected value of the best of all arms minus that of `best`, at least 0."""
        return None if self._expected is None else self._expected.gap

    @property
    def misfit(self) -> str | None:
        """A message about evidence that the model does not fit; None if there is none."""
        return getattr(self.searcher, "misfit", None)

    def plot(self, kind: str = "convergence", *, ax: Any = None, **options: Any) -> Any:
        """Draw a figure with matplotlib (the extra `plot`), and return its Axes.

        Parameters
        ----------
        kind
            `"convergence"`, `"tree"`, `"along"` (the best path), `"increments"` (the variance that
            each depth adds), `"importance"` (of parameters), `"relevance"` (of those of a space),
            `"slice"`, or `"regret"` (needs `optimum=`).
        ax
            Axes to draw on; by default new ones.
        options
            Options of the function of that name in `bough.plotting`.
        """
        from bough.plotting import DRAWINGS

        if kind not in DRAWINGS:
            raise ValueError(f"kind must be one of {', '.join(DRAWINGS)}, got {kind!r}")
        return DRAWINGS[kind](self, ax=ax, **options)

    def report(self, path: "str | os.PathLike[str]") -> None:
        """Write an interactive page about the search (the extra `report`): one file, no network."""
        from bough.report import write

        write(self, path)

    def __repr__(self) -> str:
        return result_text(self)

    def _repr_html_(self) -> str:
        return result_html(self)
