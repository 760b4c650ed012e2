"""Trials, and the domains (trees and spaces) that they are evaluated in.

A searcher asks for a path of a tree, or for params of a space: the *candidate* of a trial. It is
what the searcher observes, what a file holds, and, decoded, what an objective is called with.
"""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from bough._validation import above_zero, listed, real
from bough.belief.best_arm import Arm
from bough.spaces import Choice, Space
from bough.spaces.space import is_plain
from bough.trees import Path, Tree

#: `json.dumps` makes a new encoder at each call.
_compact = json.JSONEncoder(separators=(",", ":")).encode

#: The states of trials.
STATES = ("completed", "infeasible", "pruned", "failed", "running")
#: A step, and the intermediate value that was reported after it.
Report = tuple[float, float]


class Trial(NamedTuple):
    """One evaluation with its state.

    Attributes
    ----------
    id
        The number in the study: 0, 1, 2, ...
    path
        The path to evaluate.
    params
        The parameters that the path stands for in a space; None on a plain tree.
    value
        The final value, None unless the trial is completed or infeasible.
    state
        `"running"`, `"completed"` (there is a value), `"infeasible"` (there is a value, and a
        constraint is violated), `"pruned"` (stopped before its end) or `"failed"`.
    started, ended
        The times of the first `ask`, and of `tell`, `prune` or `fail`, in seconds since 1970.
    noise
        The standard deviation of the value, if one was given.
    reason
        The reason of a failure.
    reports
        The intermediate values that the objective reported, as pairs of a step and a value.
    constraints
        The values of the constraints, feasible if all are at most 0; while the trial is running,
        those known beforehand.
    """

    id: int
    path: Path
    params: Any
    value: float | None
    state: Literal["running", "completed", "infeasible", "pruned", "failed"]
    started: float
    ended: float | None = None
    noise: float | None = None
    reason: str | None = None
    reports: tuple[Report, ...] = ()
    constraints: tuple[float, ...] = ()

    @property
    def steps(self) -> float:
        """The last step that was reported; 0 if there are no reports."""
        return self.reports[-1][0] if self.reports else 0

    @property
    def candidate(self) -> Any:
        """The path or the params: what the searcher asked for."""
        return self.path if self.params is None else self.params


class Trials(Sequence[Trial]):
    """The trials of a study, in the order of their ids."""

    def __init__(self, trials: list[Trial]) -> None:
        self._trials = trials

    @overload
    def __getitem__(self, index: int) -> Trial: ...
    @overload
    def __getitem__(self, index: slice) -> list[Trial]: ...
    def __getitem__(self, index: int | slice) -> Trial | list[Trial]:
        return self._trials[index]

    def __len__(self) -> int:
        return len(self._trials)

    def count(self, state: Any) -> int:
        """Return the number of trials in a state, such as `"completed"`."""
        return sum(trial.state == state for trial in self._trials)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a list for each column of a table with one row per trial.

        The columns are `id`, `value`, `state`, `started`, `ended`, `duration`, `noise` and
        `reason`, and `params_x` for each parameter `x`, or `path` on a plain tree. If trials have
        reports there are `steps` and `last_report`, the last step and its value; if they have
        constraints, `constraints_0`, `constraints_1`, .. What a trial does not have is None.
        """
        trials = self._trials
        started = [_time(trial.started) for trial in trials]
        ended = [_time(trial.ended) for trial in trials]
        columns: dict[str, list[Any]] = {
            "id": [trial.id for trial in trials],
            "value": [trial.value for trial in trials],
            "state": [trial.state for trial in trials],
            "started": started,
            "ended": ended,
            "duration": [
                None if start is None or end is None else end - start
                for start, end in zip(started, ended, strict=True)
            ],
        }
        names = dict.fromkeys(name for trial in trials for name in trial.params or ())
        for name in names:
            columns[f"params_{name}"] = [(trial.params or {}).get(name) for trial in trials]
        if any(trial.params is None for trial in trials):
            columns["path"] = [trial.path for trial in trials]
        columns["noise"] = [trial.noise for trial in trials]
        columns["reason"] = [trial.reason for trial in trials]
        if any(trial.reports for trial in trials):
            columns["steps"] = [trial.steps if trial.reports else None for trial in trials]
            columns["last_report"] = [t.reports[-1][1] if t.reports else None for t in trials]
        for i in range(max((len(trial.constraints) for trial in trials), default=0)):
            columns[f"constraints_{i}"] = [
                trial.constraints[i] if i < len(trial.constraints) else None for trial in trials
            ]
        return columns

    def to_pandas(self) -> Any:
        """Return the trials as a `pandas.DataFrame` with one row each: see `to_columns`."""
        import pandas as pd

        table = pd.DataFrame(self.to_columns())
        times = {"started": "datetime64[us, UTC]", "ended": "datetime64[us, UTC]"}
        numbers = {"value": float, "noise": float, "duration": "timedelta64[us]"}
        return table.astype(times | numbers)

    def __repr__(self) -> str:
        return f"Trials({len(self)}: {counts_text(self)})"


def counts_text(trials: Trials) -> str:
    """Return the number of trials in each state; of infeasible and pruned ones if there are any."""
    counts = {state: trials.count(state) for state in STATES}
    rare = ("infeasible", "pruned")
    shown = [f"{n:,} {state}" for state, n in counts.items() if n or state not in rare]
    return ", ".join(shown)


def best_completed(
    searcher: Any, trials: Sequence[Trial], sign: float, rule: str | None = None
) -> Arm | None:
    """Return the best arm by a rule of the searcher; None if only pruned trials were observed.

    The searcher observes predicted values of pruned trials, and may recommend one. Then the arm
    with the highest observed reward is returned: a prediction is below the best value measured
    before. The value of an arm is the average of those of its completed trials.
    """
    for choice in (rule, "observed"):
        arm: Arm = searcher.best(choice)
        here = [trial for trial in trials if (trial.path, trial.params) == (arm.path, arm.params)]
        if all(trial.state != "pruned" for trial in here):
            return arm
        values = [sign * (t.value or 0.0) for t in here if t.state == "completed"]
        if values:
            value, visits = math.fsum(values) / len(values), len(values)
            posterior = arm.mean, arm.std, arm.lower, arm.upper
            return Arm(arm.path, arm.params, *posterior, value, visits)
    return None


def next_report(reports: Sequence[Report], step: Any, value: Any) -> Report:
    """Return the step and the value of a report that follows others, or refuse them."""
    number = above_zero(step, "step")
    number = int(step) if isinstance(step, (int, np.integer)) else number
    if reports and number <= reports[-1][0]:
        raise ValueError(f"step must be above {reports[-1][0]}, the last one, got {step!r}")
    return number, real(value, "value")


def read_reports(given: Any) -> tuple[Report, ...]:
    """Return reports, pairs of a step and a value with increasing steps, or refuse them."""
    reports: list[Report] = []
    for report in listed(given, "reports"):
        pair = listed(report, "a report")
        if len(pair) != 2:
            raise ValueError(f"a report must be a pair (step, value), got {report!r}")
        reports.append(next_report(reports, *pair))
    return tuple(reports)


def _time(seconds: float | None) -> datetime | None:
    """Return a time, None if there is none or a file has one that no calendar has."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


class Domain:
    """A tree, whose candidates are paths, or a space, whose candidates are params.

    To look at a study whose tree or space is not in its file, any tree will do: paths and params
    come as they are written there.
    """

    def __init__(self, source: Any, name: str = "tree_or_space") -> None:
        if not isinstance(source, (Tree, Space)):
            raise TypeError(f"{name} must be a bough.Tree or a bough.Space, got {source!r}")
        self.source = source
        self.space = source if isinstance(source, Space) else None
        self.tree = source.tree if isinstance(source, Space) else source

    def decode(self, candidate: Any) -> Any:
        """Return the argument of the objective; if a dict, one of its own, which it may change."""
        return self.tree.decode(candidate) if self.space is None else dict(candidate)

    def check(self, given: Any, search: Any) -> Any:
        """Return a path or params given by the user as a candidate, or refuse them."""
        if self.space is not None:
            self.space.point(given)
            return dict(given)
        if getattr(search, "growth", None) == "deepening":
            return self.tree.walk(given)[0]
        return self.tree.complete(given)

    def place(self, candidate: Any) -> tuple[Path, Any]:
        """Return path and params: in a space, the path of the cell in its fixed partition."""
        if isinstance(candidate, tuple):
            return candidate, None
        return () if self.space is None else self.space.encode(candidate), dict(candidate)

    def write(self, candidate: Any) -> str:
        """Return a candidate as JSON: options that are objects by their numbers."""
        if self.space is None:
            return _compact(candidate)
        plain: dict[str, Any] = {}
        for slot, position in zip(self.space.slots, self.space.point(candidate), strict=True):
            if position is None:
                continue
            value = slot.parameter.value(position)
            if isinstance(slot.parameter, Choice):
                plain[slot.name] = value if is_plain(value) else {"option": int(position)}
            else:
                plain[slot.name] = type(value)(candidate[slot.name])
        return _compact(plain)

    def read(self, text: str) -> Any:
        """Return the candidate that was written as JSON."""
        plain = json.loads(text)
        if self.space is None:
            return plain if isinstance(plain, dict) else tuple(plain)
        params: dict[str, Any] = {}
        active = list(self.space.roots)
        for number in active:  # (it grows)
            slot = self.space.slots[number]
            value = plain[slot.name]
            if isinstance(slot.parameter, Choice):
                if isinstance(value, dict):
                    value = slot.parameter.options[value["option"]]
                active.extend(slot.inner[slot.parameter.position(value, slot.name)])
            params[slot.name] = value
        return params
