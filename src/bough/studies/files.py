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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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
    with suppress(sqlite3.Error):
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


def raise_if_locked(path: Path, error: sqlite3.Error) -> None:
    """Raise `Locked` if an error says that another connection locks the file."""
    code = getattr(error, "sqlite_errorcode", 0)  # (errors of the module itself have none)
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        raise Locked(
            f"{path} is locked by another program ({error}); it is not damaged, and what was "
            "recorded is safe. Close that program, and open the study again"
        ) from error


# ---------------------------------------------------------------------- one writer at a time

#: Files locked by this process. A process is not excluded by its own locks, and a forked child
#: holds none of its parent's: hence the process ids.
_held: dict[str, int] = {}
_held_guard = threading.Lock()


class WriteLock:
    """The exclusive right to write to a file, until released or the process has ended.

    The lock is on a file beside it, `run.db-lock`, which names the holder and is never deleted
    (another process may be about to lock it). It is of the kind that forked workers do not inherit:
    otherwise those of a killed process would keep the study locked.
    """

    def __init__(self, path: Path) -> None:
        import fcntl

        self._key = os.path.realpath(path)
        beside = f"{self._key}-lock"
        me = _this_process()
        with _held_guard:
            if _held.get(self._key) == os.getpid():
                raise Locked(f"{path} {_held_by(me)}: this one, which opened it before")
            try:
                self._file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError as error:
                raise StudyError(
                    f"{path} cannot be written: {error.strerror} ({beside}); "
                    "to look at it, open it with read_only=True"
                ) from error
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = _read_holder(self._file)
                os.close(self._file)
                raise Locked(
                    f"{path} {_held_by(holder)}; wait for it, or open the study with read_only=True"
                ) from None
            _held[self._key] = os.getpid()
        with suppress(OSError):  # a full disk makes the next message less clear, and no more
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(me).encode(), 0)

    @staticmethod
    def holder(path: Path) -> dict[str, object] | None:
        """Return the process that writes to a file now, None if there is none."""
        import fcntl

        key = os.path.realpath(path)
        if _held.get(key) == os.getpid():  # (closing the file below would release our own lock)
            return _this_process()
        try:
            file = os.open(f"{key}-lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _read_holder(file)
        finally:
            os.close(file)
        return None

    def release(self) -> None:
        """Let others write."""
        with _held_guard:
            if _held.get(self._key) == os.getpid():
                del _held[self._key]
                os.close(self._file)


def _this_process() -> dict[str, object]:
    return {"pid": os.getpid(), "host": socket.gethostname()}


def _read_holder(file: int) -> dict[str, object]:
    """Return process and host that a lock file names; unknown ones if it is being written."""
    holder: dict[str, object] = {"pid": "unknown", "host": "unknown"}
    with suppress(TypeError, ValueError):
        holder |= json.loads(os.pread(file, 1000, 0))
    return holder


def _held_by(holder: dict[str, Any]) -> str:
    return f"is being written by process {holder['pid']} on host {holder['host']}"
