"""A study as JSON lines, to be read or taken elsewhere, and back."""

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bough._validation import at_least_zero, real, whole
from bough.exceptions import StudyError
from bough.studies.domain import Unknown
from bough.studies.journal import FORMAT, Journal, Operation
from bough.studies.replay import Replay
from bough.studies.specification import sign_of


def exported(file: Path) -> tuple[Iterator[str], str | None]:
    """Return all that a study's file holds as lines, and what is wrong with it (None: nothing).

    Of a damaged file, what could be read and still means something.
    """
    journal = Journal.open(file, "full", read_only=True)
    try:
        specification, operations, damage = journal.read()
    finally:
        journal.close()
    if damage is not None:
        replay = Replay(Unknown(), None, sign_of(specification))
        replay.load(operations)
        operations = consistent(specification, operations, replay)
        operations.append(Operation(0, "restart", None, time.time(), "null", None))
        damage = f"{damage}. {replay.summary()}"
    head = {"bough study": FORMAT, "specification": specification}
    rows = [operation for operation in operations if operation.kind != "create"]
    numbered = (operation._replace(n=n) for n, operation in enumerate(rows, 1))
    return (json.dumps(row) for row in (head, *(row._asdict() for row in numbered))), damage


def imported(lines: Iterable[str], file: Path) -> int:
    """Make a new study of lines; return how many operations it has."""
    rows = iter(lines)
    try:
        head = json.loads(next(rows, "null"))
        version, specification = head["bough study"], head["specification"]
        sign_of(specification)
    except (KeyError, TypeError, ValueError) as error:
        raise StudyError(f"this is no export of a study: {error!r}") from None
    if version > FORMAT:
        raise StudyError(f"this export has format {version}; this bough reads up to {FORMAT}")
    operations = list(_checked(rows))
    journal = Journal.create(file, specification, "full")
    try:
        if operations:
            journal.append([tuple(operation[1:]) for operation in operations])
    finally:
        journal.close()
    return len(operations)


def consistent(
    specification: dict[str, Any], operations: list[Operation], replay: Replay
) -> list[Operation]:
    """Return what could be read of a damaged file as a record without gaps."""
    record = [Operation(0, "create", None, time.time(), json.dumps(specification), None)]
    begun = 0
    for operation in operations:
        if not replay.used(operation):
            continue
        if operation.kind in ("ask", "take"):
            assert operation.trial is not None  # it begins one
            for lost in replay.trials[begun : operation.trial]:
                record.append(Operation(0, "take", lost.id, lost.started, "[]", None))
                reason = json.dumps(lost.reason)
                record.append(Operation(0, "fail", lost.id, lost.started, reason, None))
            begun = operation.trial + 1
        record.append(operation)
    return record


def _checked(lines: Iterable[str]) -> Iterator[Operation]:
    """Read operations, each of which must follow from those before it."""
    running: set[int] = set()
    begun = 0
    for n, line in enumerate(lines, 1):
        try:
            operation = Operation(**json.loads(line))
            kind, trial = operation.kind, operation.trial
            if operation.n != n:
                raise ValueError(f"its number is {operation.n}, not {n}")
            real(operation.at, "at")
            if operation.state is not None:
                whole(operation.state, "state", least=-(2**63))
            body = json.loads(operation.body)
            if kind in ("ask", "take") and (begun != trial or trial in running):
                raise ValueError(f"its trial is {trial}, not {begun}")
            if kind in ("tell", "fail") and trial not in running:
                raise ValueError(f"trial {trial} does not run")
            _check_body(kind, body)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StudyError(f"line {n + 1} is no operation of a study: {error}") from None
        if kind in ("ask", "take"):
            running.add(begun)
            begun += 1
        elif kind in ("tell", "fail"):
            running.discard(trial or 0)
        yield operation


def _check_body(kind: str, body: Any) -> None:
    if kind in ("ask", "take", "enqueue"):
        if isinstance(body, dict):
            return  # params, which are checked when there is a space to check them by
        if not isinstance(body, list):
            raise TypeError(f"a path is a list, params are an object, not {body!r}")
        for step in body:
            whole(step, "a step", least=0)
    elif kind == "tell":
        value, noise = body if isinstance(body, list) else (body, 0.0)
        real(value, "value")
        at_least_zero(noise, "noise")
    elif kind == "fail":
        if not isinstance(body, str):
            raise TypeError(f"a reason is a text, not {body!r}")
    elif kind == "refit":
        for value in (*body["values"].values(), body["exact"]):
            real(float(value), "what was learnt")
        float(body["likelihood"])
    elif kind not in ("restart", "exhausted"):
        raise ValueError(f"kind {kind!r}")
