"""Export of a study as JSON lines, and import: also of what is left of a damaged file."""

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bough._validation import whole
from bough.exceptions import StudyError
from bough.studies.describe import INVALID, check_specification
from bough.studies.journal import FORMAT, Journal, read_answers, read_damaged
from bough.studies.operations import ENDS, Operation, check_operation, check_order


def export_lines(file: Path) -> tuple[list[str], str | None]:
    """Return a study as JSON lines, and what is wrong with its file (None: nothing).

    The first line is the specification, each other one an operation. Of a damaged file these are
    all operations that SQLite can read and whose checksums are right.
    """
    specification, operations, damage = read_damaged(file)
    head: dict[str, Any] = {"bough study": FORMAT, "specification": specification}
    rows = [operation for operation in operations if operation.kind != "create"]
    if damage is not None:
        last = operations[-1].n if operations else 0
        damage = (
            f"{damage}. {len(rows)} operations were saved, the last with number {last}; "
            f"{last + 1 - len(operations)} before it, and any after it, could not be read"
        )
        head["damage"] = damage
    lines = [json.dumps(row) for row in (head, *(row._asdict() for row in rows))]
    if isinstance(specification, dict) and "generation" in specification:
        answers = read_answers(file)
        lines += [
            json.dumps({"answer": node, "data": base64.b64encode(data).decode()})
            for node, data in answers.items()
        ]
    return lines, damage


def import_lines(lines: Iterable[str], file: Path) -> int:
    """Make a new study of exported lines; return the number of its operations.

    Lines of a damaged file make a study of the trials whose records are complete. They are numbered
    from 0, and the searcher observes them when the study is opened.
    """
    rows = iter(lines)
    try:
        head = json.loads(next(rows, "null"))
        version = whole(head["bough study"], "the format", least=0)
        specification = check_specification(head["specification"])
    except INVALID as error:
        raise StudyError(
            "this is not an export of a study: its first line must be a JSON object with the "
            f'format, "bough study", and a "specification" ({error!r})'
        ) from None
    if version > FORMAT:
        raise StudyError(f"this export has format {version}; this bough reads up to {FORMAT}")
    damaged = "damage" in head
    answers: list[tuple[int, bytes]] = []
    operations = []
    for n, line in enumerate(rows, 2):
        if "generation" in specification and line.startswith('{"answer"'):
            answers.append(_parse_answer(line, n))
        else:
            operations.append(_parse(line, n, specification))
    if damaged and "generation" in specification:
        raise StudyError("an export of a damaged study of generated answers cannot be imported")
    if damaged:
        operations = list(_without_gaps(operations))
    check_order(operations, "line", 2)
    journal = Journal.create(file, specification, "full")
    try:
        if operations:
            journal.append(operations, answers=answers)
    finally:
        journal.close()
    return len(operations)


def _without_gaps(operations: list[Operation]) -> Iterator[Operation]:
    """Yield operations of a damaged file as a record without gaps, of trials without gaps."""
    ids: dict[int | None, int] = {}  # the new ids of trials, by the recorded ones
    running: set[int | None] = set()
    n = 0
    for operation in operations:
        kind, trial = operation.kind, operation.trial
        if kind in ("ask", "take"):
            ids[trial] = len(ids)
            running.add(trial)
        elif kind in ENDS and trial in running:
            running.discard(trial)
        elif kind not in ("enqueue", "reject"):
            continue
        n += 1
        yield operation._replace(n=n, trial=ids.get(trial))
    yield Operation.now("restart")._replace(n=n + 1)


def _parse_answer(line: str, number: int) -> tuple[int, bytes]:
    """Return the id of a node and its answer on a line, or refuse it."""
    try:
        row = json.loads(line)
        return whole(row["answer"], "answer", least=0), base64.b64decode(row["data"])
    except INVALID as error:
        raise StudyError(f"line {number} is not an answer of a study: {error}") from None


def _parse(line: str, number: int, specification: dict[str, Any]) -> Operation:
    """Return the operation on a line, or refuse it."""
    try:
        operation = Operation(**json.loads(line))
        check_operation(operation, specification)
    except INVALID as error:
        raise StudyError(f"line {number} is not an operation of a study: {error}") from None
    return operation
