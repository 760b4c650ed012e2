"""One evaluation of a study, and the list of all of them."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

from bough.trees import Path


class Trial(NamedTuple):
    """One evaluation: asked for, and perhaps told or failed.

    Attributes
    ----------
    id
        Its number in the study: 0, 1, 2, ...
    path
        What to evaluate.
    params
        What the path stands for in a space; None on a plain tree.
    value
        What was told, None until then.
    state
        `"running"`, `"told"` or `"failed"`.
    started, ended
        When it was asked for, and told or failed, in seconds since 1970.
    noise
        The standard deviation of the value, if one was told.
    reason
        Why it failed.
    """

    id: int
    path: Path
    params: Any
    value: float | None
    state: Literal["running", "told", "failed"]
    started: float
    ended: float | None = None
    noise: float | None = None
    reason: str | None = None


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
        """Return how many trials are in a state, such as `"told"`."""
        return sum(trial.state == state for trial in self._trials)

    def to_pandas(self) -> Any:
        """Return the trials as a `pandas.DataFrame`, a row each."""
        import pandas as pd

        return pd.DataFrame(list(self._trials), columns=list(Trial._fields))

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(s)} {s}" for s in ("told", "failed", "running"))
        return f"Trials({len(self)}: {counts})"
