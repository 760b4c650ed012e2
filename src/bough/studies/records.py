"""Files of finished jobs: JSON lines, one for each, by which a series of jobs resumes."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

from bough.exceptions import StudyError
from bough.studies.files import WriteLock

#: The beginning of every line.
BEGINNING = b'{"job": '

Record = TypeVar("Record")


class RecordFile(Generic[Record]):
    """The finished jobs in a file, or in memory only if there is no file.

    A line that is incomplete, since the process was killed while it wrote, is cut off when the file
    is opened the next time, and its job is repeated. One process writes at a time.

    Parameters
    ----------
    path
        The file, which is created if it does not exist.
    record
        A dataclass: what is known of a finished job.
    kind
        The noun for a job in messages.
    """

    def __init__(self, path: Path | None, record: Callable[..., Record], kind: str) -> None:
        self._records: dict[str, Record] = {}
        self._record = record
        self._kind = kind
        self._path = path
        if path is None:
            return
        if not path.parent.is_dir():
            raise StudyError(f"{path} cannot be created: there is no folder {path.parent}")
        self._lock = WriteLock(path)
        try:
            if path.exists():
                self._read(path)
        except BaseException:
            self.close()
            raise

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        whole, newline, rest = content.rpartition(b"\n")
        complete = whole + newline
        if not (rest.startswith(BEGINNING) or BEGINNING.startswith(rest)):
            raise StudyError(f"{path} is not a file of finished {self._kind}s; choose another name")
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                entry = json.loads(line)
                self._records[entry["job"]] = self._record(**entry["run"])
            except (ValueError, TypeError, KeyError) as error:
                raise StudyError(
                    f"line {number} of {path} is not a finished {self._kind} ({error!r}); delete "
                    "the line, or choose another name"
                ) from None
        if rest:
            os.truncate(path, len(complete))

    def __contains__(self, key: str) -> bool:
        return key in self._records

    def __getitem__(self, key: str) -> Record:
        return self._records[key]

    def add(self, key: str, record: Record) -> None:
        """Store a finished job."""
        self._records[key] = record
        if self._path is not None:
            line: Any = {"job": key, "run": asdict(record)}  # type: ignore[call-overload]
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def close(self) -> None:
        """Let another process write to the file."""
        if self._path is not None:
            self._lock.release()
