"""A study that is being written, followed by reading what is new in its file, and nothing else."""

import warnings
from pathlib import Path

from bough.studies.journal import Journal
from bough.studies.study import Study, open_to_read


class Following:
    """A study as it grows, read by a connection that cannot write.

    The searcher is taken along operation by operation, so that a look costs what is new, and not
    the whole history.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.beginnings = 0  # how often all was read
        self._journal: Journal | None = None
        self._study: Study | None = None
        self._next = 0
        self._inode = 0

    def look(self) -> tuple[Study, int]:
        """Return the study as it is now, and how many operations it has seen."""
        if self._study is None or not self._catch_up(self._study):
            self._begin()
        assert self._study is not None  # it has begun
        return self._study, self._next

    def _begin(self) -> None:
        """Read all of it."""
        self.close()
        self._inode = self.file.stat().st_ino
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of damage: `bough study` says that
            study = open_to_read(self.file)
        self._journal = Journal.open(self.file, "full", read_only=True)
        self._study, self._next = study, study._journal.next
        self.beginnings += 1

    def _catch_up(self, study: Study) -> bool:
        """Do what is new; return whether that was possible."""
        assert self._journal is not None  # it has begun
        if not self.file.exists() or self.file.stat().st_ino != self._inode:
            return False  # a damaged file was replaced
        new = self._journal.after(self._next)
        if new is None or any(operation.kind == "restart" for operation in new):
            return False
        if new and study._replay.run(new) is not None:
            return False  # the searcher does not do what it did: all is read anew, as it was told
        self._next += len(new)
        return True

    def close(self) -> None:
        """Let the file go."""
        if self._journal is not None:
            self._journal.close()
        self._journal = self._study = None
