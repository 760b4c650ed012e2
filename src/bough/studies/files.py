"""Files of studies: the lock of a writer, and connections that read without changing anything.

SQLite would move the pages of a log that a killed process has left into the file. So a file that no
process writes is read from an immutable connection, or, if there is a log, from a copy.

SQLite silently ignores a log from the first damaged page on. A log with commits behind that page
counts as damaged; the loss of its end looks like a commit that was never completed.
"""

import json
import os
import shutil
import socket
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bough._text import printable
from bough.exceptions import Locked, StudyError

#: Seconds to wait for another connection that locks the file.
PATIENCE = 30.0
#: Copies of a file to try while it changes.
TRIES = 10
#: Sizes of the headers of a write-ahead log and of its frames: sqlite.org/fileformat.html.
LOG_HEADER, FRAME_HEADER = 32, 24


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection in a mode such as `mode=ro`."""
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?{mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,  # every statement is a transaction of its own
        check_same_thread=False,
    )
    # Text that is not UTF-8 fails its checksum, and must not keep other rows from being read.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


@contextmanager
def open_reader(path: Path, *, live: bool) -> Iterator[tuple[sqlite3.Connection, bool]]:
    """Connect to a file without changing it; also return whether its log has lost commits.

    A file that is `live` has a writer, which takes care of the log.
    """
    with tempfile.TemporaryDirectory(prefix="bough-") as folder:
        lost = False
        if live:
            connection = connect(path, "mode=ro")
        elif not signature_of(path)[1][1]:  # an empty log, or none
            connection = connect(path, "mode=ro&immutable=1")
        else:
            copy = Path(folder, "copy")
            log = _copy(path, copy)
            connection = connect(copy, "mode=rw")
            lost = _has_lost_commits(connection, log)
        try:
            yield connection, lost
        finally:
            connection.close()


def _copy(path: Path, copy: Path) -> bytes:
    """Copy a file and its log; return the log."""
    for _ in range(TRIES):
        before = signature_of(path)
        shutil.copyfile(path, copy)
        log = Path(f"{path}-wal").read_bytes()
        Path(f"{copy}-wal").write_bytes(log)
        if signature_of(path) == before:
            return log
    raise Locked(f"{path} is being changed by another program; wait for it")


def signature_of(path: Path) -> list[Any]:
    """Return inode, size and time of the last change of the file and of its log."""
    found: list[Any] = []
    for name in (path, f"{path}-wal"):
        try:
            status = os.stat(name)
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except OSError:
            found.append((0, 0, 0))
    return found


def _has_lost_commits(connection: sqlite3.Connection, log: bytes) -> bool:
    """Return whether a copied log has commits behind the frames that SQLite has read."""
    page, frames = 4096, 0  # (the page size of all files that we make, if SQLite cannot say)
    with suppress(sqlite3.Error, UnicodeDecodeError):
        connection.execute("SELECT * FROM sqlite_master").fetchall()  # now the log is read
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        _, frames, _ = connection.execute("PRAGMA wal_checkpoint").fetchone()
    salts = log[16:24]  # the random bytes that mark the frames of this log
    step = FRAME_HEADER + page
    for start in range(LOG_HEADER + max(frames, 0) * step, len(log) - step + 1, step):
        head = log[start : start + FRAME_HEADER]
        ours = head[8:12] == salts[:4] or head[12:16] == salts[4:]
        if ours and head[4:8] != b"\0\0\0\0":  # it ends a commit
            return True
    return False


def raise_if_locked(path: Path, error: Exception) -> None:
    """Raise `Locked` if an error says that another connection locks the file."""
    code = getattr(error, "sqlite_errorcode", 0)  # (errors of the module itself have none)
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        raise Locked(
            f"{path} is locked by another program ({error}); it is not damaged, and what was "
            "recorded is safe. Close that program, and open the study again"
        ) from error


# ---------------------------------------------------------------------- one writer at a time

#: The longest ending of the names of files beside a study: of a new one, until it is complete.
LONGEST_ENDING = "-new-journal"
#: Attempts to lock a file, and seconds between them: a process that asks who writes to it holds a
#: lock too, for some microseconds.
ATTEMPTS, PAUSE = 5, 0.01
#: The locks of this process.
_held: set["WriteLock"] = set()
_held_guard = threading.Lock()


class WriteLock:
    """The exclusive right to write to a file, until released or the process has ended.

    The lock is on a file beside it, `run.db-lock`, which names the holder and is never deleted
    (another process may be about to lock it). It belongs to the open file (`flock`), so it survives
    that another part of the program opens and closes the same file, such as to copy the folder. A
    forked worker inherits the open file, and closes it at once: otherwise the workers of a killed
    process would keep the study locked.

    A file with several names (hard links) is refused: each name has a lock, and a log, of its own.
    """

    def __init__(self, path: Path) -> None:
        check_name(path)
        self._path = path
        self._beside = f"{os.path.realpath(path)}-lock"
        self._identity = self._acquire()
        links = _status(path)[1]
        if links > 1:
            self.release()
            raise StudyError(
                f"{path} has {links} names (hard links), each of which would have a log of its "
                "own, so it cannot be written: delete the other names, or write to a copy; to look "
                "at it, open it with read_only=True"
            )
        with suppress(OSError):  # a full disk makes the next message less clear, and no more
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(_this_process()).encode(), 0)

    def _acquire(self) -> tuple[int, int]:
        """Open and lock the file beside; return its identity."""
        import fcntl

        for attempt in range(ATTEMPTS):
            with _held_guard:  # no fork of another thread comes between opening and noting it
                try:
                    file = os.open(self._beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                except OSError as error:
                    raise StudyError(
                        f"{self._path} cannot be written: {error.strerror} ({self._beside}); "
                        "to look at it, open it with read_only=True"
                    ) from error
                with suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    identity = _identity(os.fstat(file))
                    if identity_of(self._beside) == identity:
                        self._file = file
                        _held.add(self)
                        return identity
                holder = _read_holder(file)  # (or the file was deleted meanwhile)
                os.close(file)
            if attempt < ATTEMPTS - 1:
                time.sleep(PAUSE)
        if holder == _this_process():
            raise Locked(f"{self._path} {_held_by(holder)}: this one, which opened it before")
        raise Locked(
            f"{self._path} {_held_by(holder)}; wait for it, or open the study with read_only=True"
        )

    @staticmethod
    def holder(path: Path) -> dict[str, object] | None:
        """Return the process that writes to a file now, None if there is none."""
        import fcntl

        try:
            file = os.open(f"{os.path.realpath(path)}-lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _read_holder(file)
        finally:
            os.close(file)
        return None

    def is_lost(self) -> bool:
        """Return whether the file that is locked was deleted, so that others may write."""
        return identity_of(self._beside) != self._identity

    def release(self) -> None:
        """Let others write."""
        with _held_guard:
            if self in _held:
                _held.discard(self)
                os.close(self._file)


def _forget_locks() -> None:
    """Close the files that a forked process has inherited; the locks stay with its parent."""
    for lock in _held:
        os.close(lock._file)
    _held.clear()
    _held_guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_held_guard.acquire,
        after_in_parent=_held_guard.release,
        after_in_child=_forget_locks,
    )


def check_name(path: Path) -> None:
    """Refuse a file in a missing folder, or whose name is too long for those of files beside it."""
    try:
        if not path.parent.is_dir():
            raise StudyError(f"{path} cannot be made: there is no folder {path.parent}")
        most = os.pathconf(path.parent, "PC_NAME_MAX") - len(LONGEST_ENDING)
        length = len(os.fsencode(path.name))
    except OSError as error:
        raise StudyError(f"{path} cannot be used: {error.strerror}") from None
    if length > most:
        raise StudyError(
            f"the name of a study may have up to {most} bytes here, since the names of files "
            f"beside it are longer; {path.name!r} has {length}"
        )


def exists(path: Path) -> bool:
    """Return whether there is such a file; refuse what cannot be the name of one."""
    try:
        return path.is_file()
    except OSError as error:
        raise StudyError(f"{path} cannot be used: {error.strerror}") from None


def identity_of(path: Path | str) -> tuple[int, int] | None:
    """Return what tells a file from all others that exist; None if there is none."""
    return _status(path)[0]


def _status(path: Path | str) -> tuple[tuple[int, int] | None, int]:
    """Return identity and number of names of a file; None and 0 if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None, 0
    return _identity(status), status.st_nlink


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _this_process() -> dict[str, object]:
    return {"pid": os.getpid(), "host": socket.gethostname()}


def _read_holder(file: int) -> dict[str, object]:
    """Return process and host that a lock file names; unknown ones if it is being written."""
    holder: dict[str, object] = {"pid": "unknown", "host": "unknown"}
    with suppress(LookupError, TypeError, ValueError, RecursionError):
        found = json.loads(os.pread(file, 1000, 0))
        holder |= {name: found[name] for name in holder if isinstance(found[name], (int, str))}
    return holder


def _held_by(holder: dict[str, Any]) -> str:
    return f"is being written by process {holder['pid']} on host {printable(holder['host'])}"
