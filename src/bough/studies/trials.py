"""Trials, and the domains (trees and spaces) that they are evaluated in.

A searcher asks for a path of a tree, or for params of a space: the *candidate* of a trial. It is
what the searcher observes, what a file holds, and, decoded, what an objective is called with.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, overload

from bough.spaces import Choice, Space
from bough.spaces.space import is_plain
from bough.trees import Path, Tree

#: `json.dumps` makes a new encoder at each call.
_compact = json.JSONEncoder(separators=(",", ":")).encode


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
        The observed value, None until there is one.
    state
        `"running"`, `"completed"` (there is a value) or `"failed"`.
    started, ended
        The times of `ask` and of `tell` or `fail`, in seconds since 1970.
    noise
        The standard deviation of the value, if one was given.
    reason
        The reason of a failure.
    """

    id: int
    path: Path
    params: Any
    value: float | None
    state: Literal["running", "completed", "failed"]
    started: float
    ended: float | None = None
    noise: float | None = None
    reason: str | None = None

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
        `reason`, and `params_x` for each parameter `x`, or `path` on a plain tree. What a trial
        does not have is None.
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
        return columns

    def to_pandas(self) -> Any:
        """Return the trials as a `pandas.DataFrame` with one row each: see `to_columns`."""
        import pandas as pd

        table = pd.DataFrame(self.to_columns())
        times = {"started": "datetime64[us, UTC]", "ended": "datetime64[us, UTC]"}
        numbers = {"value": float, "noise": float, "duration": "timedelta64[us]"}
        return table.astype(times | numbers)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(s)} {s}" for s in ("completed", "failed", "running"))
        return f"Trials({len(self)}: {counts})"


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
