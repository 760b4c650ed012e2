"""Finished runs in a file of JSON lines, so that a run that was killed goes on where it was."""

import json
import os
import pathlib
from dataclasses import asdict
from typing import IO

from bough.exceptions import StudyError
from bough.experiments.jobs import Job, Run
from bough.studies.files import WriteLock

#: How every line begins: what does not begin so was written by somebody else.
BEGINNING = b'{"job": '


class Store:
    """The finished runs in a file, or of this process only if there is no file.

    A line is on the disk when its run is finished. If the process is killed while it writes, the
    line is incomplete: it is cut off when the file is opened the next time, and the run is done
    again. One process writes at a time.

    >>> store = Store(None)
    >>> Job("smooth", "gpts", (), 0, 10, False) in store
    False
    """

    def __init__(self, path: pathlib.Path | None) -> None:
        self._runs: dict[str, Run] = {}
        self._file: IO[str] | None = None
        self._lock: WriteLock | None = None
        if path is None:
            return
        if not path.parent.is_dir():
            raise StudyError(f"{path} cannot be made: there is no folder {path.parent}")
        self._lock = WriteLock(path)
        try:
            if path.exists():
                self._read(path)
            self._file = path.open("a", encoding="utf-8")
        except BaseException:
            self.close()
            raise

    def _read(self, path: pathlib.Path) -> None:
        content = path.read_bytes()
        whole, newline, rest = content.rpartition(b"\n")
        complete = whole + newline
        if not (rest.startswith(BEGINNING) or BEGINNING.startswith(rest)):
            raise StudyError(f"{path} is no file of finished runs; give another name")
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                record = json.loads(line)
                self._runs[record["job"]] = Run(**record["run"])
            except (ValueError, TypeError, KeyError) as error:
                raise StudyError(
                    f"line {number} of {path} is no finished run ({error!r}); delete the line, or "
                    "give another name"
                ) from None
        if rest:
            with path.open("r+b") as file:
                file.truncate(len(complete))

    def __contains__(self, job: Job) -> bool:
        return job.key in self._runs

    def __getitem__(self, job: Job) -> Run:
        return self._runs[job.key]

    def add(self, job: Job, run: Run) -> None:
        """Keep a finished run."""
        self._runs[job.key] = run
        if self._file is not None:
            self._file.write(json.dumps({"job": job.key, "run": asdict(run)}) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, and let others write."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None
