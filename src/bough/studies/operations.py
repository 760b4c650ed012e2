"""Operations: the recorded events of a study, and the laws that a record of them obeys."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bough._validation import at_least_zero, real, whole
from bough.exceptions import StudyError
from bough.studies.trials import Report, read_reports

#: The operations by which a trial ends.
ENDS = ("tell", "prune", "fail")


class Operation(NamedTuple):
    """One recorded event of a study."""

    n: int
    kind: str
    trial: int | None
    at: float
    body: str
    state: int | None

    @classmethod
    def now(
        cls, kind: str, trial: int | None = None, body: str = "null", state: int | None = None
    ) -> "Operation":
        """Return an operation that happens now; the journal numbers it."""
        return cls(-1, kind, trial, time.time(), body, state)


def check_operation(operation: Operation, specification: dict[str, Any]) -> None:
    """Raise one of `INVALID` unless an operation has the right types and a right body."""
    _, kind, _, at, body, state = operation
    real(at, "at")
    if state is not None:
        whole(state, "state", least=-(2**63), most=2**63 - 1)
    if not isinstance(body, str):
        raise TypeError(f"the JSON object must be a text, not {body!r}")
    _check_body(kind, json.loads(body), "space" in specification)


def check_order(operations: Iterable[Operation], name: str, first: int) -> None:
    """Raise `StudyError` for the first operation that does not follow from those before it.

    Messages number them from `first` on, after a name such as "line".
    """
    running: set[int | None] = set()
    begun = 0
    for n, operation in enumerate(operations, 1):
        kind, trial = operation.kind, operation.trial
        problem = None if operation.n == n else f"its number is {operation.n}, not {n}"
        if trial is not None and type(trial) is not int:
            problem = problem or f"trial {trial} is not running"
        elif kind in ("ask", "take"):
            if trial != begun:
                problem = problem or f"its trial is {trial}, not {begun}"
            running.add(trial)
            begun += 1
        elif kind in ENDS:
            if trial not in running:
                problem = problem or f"trial {trial} is not running"
            running.discard(trial)
        if problem is not None:
            raise StudyError(f"{name} {n - 1 + first} is not the next operation: {problem}")


def write_outcome(value: float | None, noise: float | None, reports: Sequence[Report] = ()) -> str:
    """Return the body of a tell or a prune: the value, [value, noise] or [.., .., reports]."""
    if reports:
        return json.dumps([value, noise, reports])
    return repr(value) if noise is None else json.dumps([value, noise])


def read_outcome(body: Any) -> tuple[Any, Any, tuple[Report, ...]]:
    """Return value, noise and reports in the body of a tell or a prune."""
    if not isinstance(body, list):
        return body, None, ()
    value, noise, *more = body
    if len(more) > 1:
        raise ValueError(f"an outcome is [value, noise, reports], not {body!r}")
    return value, noise, read_reports(more[0]) if more else ()


def _check_body(kind: str, body: Any, of_space: bool) -> None:
    if kind in ("ask", "take", "enqueue"):
        if not isinstance(body, dict if of_space else list):
            raise TypeError(f"a path is a list, params are an object, not {body!r}")
        if not of_space:  # (params are checked when the space is known)
            for step in body:
                whole(step, "a step", least=0)
    elif kind in ("tell", "prune"):
        value, noise, reports = read_outcome(body)
        if value is not None or kind == "tell":
            real(value, "value")
        elif noise is not None:
            raise ValueError(f"the noise is {noise!r}, and there is no value")
        if noise is not None or (isinstance(body, list) and not reports):
            at_least_zero(noise, "noise")
        if kind == "prune" and not reports:
            raise ValueError("a pruned trial has reports")
    elif kind == "fail":
        if not isinstance(body, str):
            raise TypeError(f"a reason is a text, not {body!r}")
    elif kind == "refit":
        for value in body["values"].values():
            real(value, "a fitted value")
        if not isinstance(body["exact"], bool) or not isinstance(body["likelihood"], (int, float)):
            raise TypeError(f"a fit has a bool `exact` and a number `likelihood`, not {body!r}")
        float(body["likelihood"])
    elif kind not in ("restart", "exhausted"):
        raise ValueError(f"kind {kind!r}")
