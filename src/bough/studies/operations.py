"""Operations: the recorded events of a study, and the laws that a record of them obeys."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bough._validation import at_least_zero, listed, real, whole
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
    if "generation" in specification:
        _check_generation_body(kind, json.loads(body))
    else:
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


def write_outcome(
    value: float | None,
    noise: float | None,
    reports: Sequence[Report] = (),
    constraints: Sequence[float] = (),
) -> str:
    """Return the body of a tell or a prune: the value, or a list that begins with it.

    The list has the noise, the reports, and the values of constraints, up to the last that is
    there.
    """
    if constraints:
        return json.dumps([value, noise, reports, constraints])
    if reports:
        return json.dumps([value, noise, reports])
    return repr(value) if noise is None else json.dumps([value, noise])


def read_outcome(body: Any) -> tuple[Any, Any, tuple[Report, ...], tuple[float, ...]]:
    """Return value, noise, reports and constraints in the body of a tell or a prune."""
    if not isinstance(body, list):
        return body, None, (), ()
    value, noise, *more = body
    if len(more) > 2:
        raise ValueError(f"an outcome is [value, noise, reports, constraints], not {body!r}")
    reports = read_reports(more[0]) if more else ()
    if len(more) < 2:
        return value, noise, reports, ()
    constraints = tuple(real(one, "a constraint") for one in listed(more[1], "constraints"))
    if not constraints:
        raise ValueError(f"an outcome with constraints has values of them, not {body!r}")
    return value, noise, reports, constraints


def write_rejection(candidate: str, constraints: Sequence[float], fits: Sequence[str]) -> str:
    """Return the body of a rejection, given the candidate and the fits as JSON."""
    return f"[{candidate}, {json.dumps(constraints)}, [{', '.join(fits)}]]"


def read_rejection(body: Any) -> tuple[Any, tuple[float, ...], list[Any]]:
    """Return the candidate of a rejection, the values of its constraints, and the fits after it."""
    candidate, constraints, fits = body
    values = tuple(real(one, "a constraint") for one in listed(constraints, "constraints"))
    if not any(value > 0.0 for value in values):
        raise ValueError(f"a rejected candidate violates a constraint, not {body!r}")
    return candidate, values, listed(fits, "fits")


def _check_generation_body(kind: str, body: Any) -> None:
    """Check a body of a study of generated answers."""

    def check(value: Any, test: Any, *arguments: Any, **keywords: Any) -> None:
        if value is not None:
            test(value, *arguments, **keywords)

    if kind == "ask":
        parent, generator, budget, cost = body
        check(parent, whole, "parent", least=0)
        check(budget, whole, "budget", least=1)
        check(cost, real, "cost")
        if not isinstance(generator, str):
            raise TypeError(f"a generator is a text, not {generator!r}")
    elif kind == "tell":
        score, std, cost, same = body
        real(score, "score")
        check(std, at_least_zero, "std")
        check(cost, at_least_zero, "cost")
        check(same, whole, "node", least=0)
    elif kind == "seed":
        parent, generator, score, std, cost = body
        check(parent, whole, "parent", least=0)
        real(score, "score")
        check(std, at_least_zero, "std")
        at_least_zero(cost, "cost")
        if not isinstance(generator, (str, type(None))):
            raise TypeError(f"a generator is a text, not {generator!r}")
    elif kind == "fail":
        reason, cost = body
        check(cost, at_least_zero, "cost")
        if not isinstance(reason, str):
            raise TypeError(f"a reason is a text, not {reason!r}")
    elif kind != "restart":
        raise ValueError(f"kind {kind!r}")


def _check_body(kind: str, body: Any, of_space: bool) -> None:
    if kind == "reject":
        candidate, _, fits = read_rejection(body)
        _check_body("ask", candidate, of_space)
        for fit in fits:
            _check_body("refit", fit, of_space)
    elif kind in ("ask", "take", "enqueue"):
        if not isinstance(body, dict if of_space else list):
            raise TypeError(f"a path is a list, params are an object, not {body!r}")
        if not of_space:  # (params are checked when the space is known)
            for step in body:
                whole(step, "a step", least=0)
    elif kind in ("tell", "prune"):
        value, noise, reports, constraints = read_outcome(body)
        if value is not None or kind == "tell":
            real(value, "value")
        elif noise is not None:
            raise ValueError(f"the noise is {noise!r}, and there is no value")
        if noise is not None or (isinstance(body, list) and not reports and not constraints):
            at_least_zero(noise, "noise")
        if kind == "prune" and constraints:
            raise ValueError("a pruned trial has no constraints")
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
