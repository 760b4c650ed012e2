"""Finished runs in a file of JSON lines, so that a run that was killed goes on where it was."""

import json
import pathlib
from dataclasses import asdict
from typing import IO

from bough.experiments.jobs import Job, Run


class Store:
    """The finished runs of a folder, or of this process only if there is no folder.

    A line is written when its run is finished. If the process is killed while it writes, the line
    is incomplete: it is cut off when the file is opened the next time, and the run is done again.

    >>> store = Store(None)
    >>> Job("smooth", "gpts", (), 0, 10, False) in store
    False
    """

    def __init__(self, folder: pathlib.Path | None) -> None:
        self._runs: dict[str, Run] = {}
        self._file: IO[str] | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / "runs.jsonl"
            if path.exists():
                self._read(path)
            self._file = path.open("a", encoding="utf-8")

    def _read(self, path: pathlib.Path) -> None:
        content = path.read_bytes()
        whole, newline, _ = content.rpartition(b"\n")
        complete = whole + newline
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                record = json.loads(line)
                self._runs[record["job"]] = Run(**record["run"])
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError(
                    f"line {number} of {path} is no finished run ({error!r}); delete the line, or "
                    "give another folder"
                ) from None
        if len(complete) < len(content):
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

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
