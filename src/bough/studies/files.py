"""Files of studies: the lock of a writer, and connections that read without changing anything.

SQLite would rebuild the index of a log that a killed process has left, and move its pages into the
file. So a file that no process writes is read from an immutable connection, or, if there is a log,
from a copy.

SQLite alone ignores a log from the first damaged page on, silently. A killed process leaves an
index of the log (`-shm`) that says how many pages were committed, so that losing even the last
commit is noticed. Without an index (the file and its log were copied elsewhere, or the machine was
restarted) any loss is noticed but that of the last commit, or of the end of the log by truncation:
these look like a commit that was never completed, as a loss of power leaves it.
"""

import json
import os
import shutil
import socket
import sqlite3
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from bough.exceptions import Locked, StudyError

#: Seconds to wait for another connection that locks the file.
PATIENCE = 30.0
#: Copies of a file to try while it changes.
TRIES = 10
#: Sizes of the headers of a write-ahead log and of its frames: sqlite.org/fileformat.html, and of
#: its index: sqlite.org/walformat.html.
LOG_HEADER, FRAME_HEADER, INDEX_HEADER = 32, 24, 48


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
def open_reader(path: Path, *, live: bool) -> Iterator[tuple[sqlite3.Connection, str | None]]:
    """Connect to a file without changing it; also say what its log has lost.

    A file that is `live` has a writer, which takes care of the log.
    """
    log = Path(f"{path}-wal")
    with ExitStack() as stack:
        lost = None
        if live:
            connection = connect(path, "mode=ro")
        elif not log.exists() or not log.stat().st_size:
            connection = connect(path, "mode=ro&immutable=1")
            index = _LogIndex.read(path)
            if index is not None and index.frames > index.stored:
                lost = "its write-ahead log is missing"
        else:
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bough-")), "copy")
            index, data = _copy(path, copy)
            connection = connect(copy, "mode=rw")
            if _has_lost_commits(connection, copy, index, data):
                lost = "its write-ahead log has lost commits"
        try:
            yield connection, lost
        finally:
            connection.close()


def _copy(path: Path, copy: Path) -> "tuple[_LogIndex | None, bytes]":
    """Copy a file and its log; return the index of the log, and the log."""
    for _ in range(TRIES):
        before = signature_of(path)
        index = _LogIndex.read(path)  # first: what it knows of is in the log
        try:
            shutil.copyfile(path, copy)
            log = Path(f"{path}-wal").read_bytes()
            Path(f"{copy}-wal").write_bytes(log)
        except OSError as error:
            raise StudyError(
                f"{path} cannot be copied to {copy.parent} to be checked: {error.strerror}"
            ) from error
        if signature_of(path) == before:
            return index, log
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


class _LogIndex(NamedTuple):
    """SQLite's index of a write-ahead log: how many frames were committed, and moved to the file.

    Attributes
    ----------
    salts
        The random bytes that mark the frames of this log.
    frames
        The number of frames up to the last commit.
    stored
        The number of them that are in the file too.
    """

    salts: bytes
    frames: int
    stored: int

    @classmethod
    def read(cls, path: Path) -> "_LogIndex | None":
        """Return the index that lies beside a file, None if there is none that is valid.

        One from before the machine was started is not: after a loss of power it may be ahead of the
        log.
        """
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # (both begin at the start)
        booted = time.time() - time.clock_gettime(clock)
        try:
            with Path(f"{path}-shm").open("rb") as file:
                data = file.read(2 * INDEX_HEADER + 4)
                if os.fstat(file.fileno()).st_mtime < booted:
                    return None
        except OSError:
            return None
        if len(data) < 2 * INDEX_HEADER + 4:
            return None
        (stored,) = struct.unpack("=I", data[2 * INDEX_HEADER :])
        for header in (data[:INDEX_HEADER], data[INDEX_HEADER : 2 * INDEX_HEADER]):
            first = second = 0
            for a, b in struct.iter_unpack("=II", header[:40]):
                first = (first + a + second) & 0xFFFFFFFF
                second = (second + b + first) & 0xFFFFFFFF
            if header[12] and struct.pack("=II", first, second) == header[40:]:
                return cls(header[32:40], struct.unpack("=I", header[16:20])[0], stored)
        return None


def _has_lost_commits(
    connection: sqlite3.Connection, copy: Path, index: _LogIndex | None, log: bytes
) -> bool:
    """Return whether SQLite ignores commits at the end of a copied log."""
    page = 4096  # (that of all files that we make, if SQLite cannot say)
    with suppress(sqlite3.Error):
        connection.execute("SELECT * FROM sqlite_master").fetchall()  # now the log is read
        (page,) = connection.execute("PRAGMA page_size").fetchone()
    read = _LogIndex.read(copy)
    frames = 0 if read is None else read.frames
    salts = log[16:24]
    if index is not None and len(log) < LOG_HEADER:
        return index.frames > index.stored
    if index is not None and index.salts == salts:
        return frames < index.frames
    # Without an index: frames of this log that end a commit, behind those that SQLite has read.
    step = FRAME_HEADER + page
    for start in range(LOG_HEADER + frames * step, len(log) - step + 1, step):
        head = log[start : start + FRAME_HEADER]
        ours = head[8:12] == salts[:4] or head[12:16] == salts[4:]
        if ours and head[4:8] != b"\0\0\0\0":
            return True
    return False


def is_locked(error: sqlite3.Error) -> bool:
    """Return whether an error says that another connection locks the file."""
    code = getattr(error, "sqlite_errorcode", None)  # (errors of the module itself have none)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def locked_error(path: Path, error: sqlite3.Error) -> Locked:
    """Return the exception for a locked file."""
    return Locked(
        f"{path} is locked by another program ({error}); it is not damaged, and what was recorded "
        "is safe. Close that program, and open the study again"
    )


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
        me = {"pid": os.getpid(), "host": socket.gethostname()}
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
                holder = os.pread(self._file, 1000, 0)
                os.close(self._file)
                raise Locked(
                    f"{path} {_held_by(_parse_holder(holder))}; wait for it, or open the study "
                    "with read_only=True"
                ) from None
            _held[self._key] = os.getpid()
        with suppress(OSError):  # a full disk makes the next message less clear, and no more
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(me).encode(), 0)

    @classmethod
    def is_held(cls, path: Path) -> bool:
        """Return whether this process or another one writes to a file."""
        return _held.get(os.path.realpath(path)) == os.getpid() or cls.holder(path) is not None

    @staticmethod
    def holder(path: Path) -> dict[str, object] | None:
        """Return the other process that holds the lock of a file now, None if there is none."""
        import fcntl

        key = os.path.realpath(path)
        if _held.get(key) == os.getpid():  # (closing the file below would release our own lock)
            return None
        try:
            file = os.open(f"{key}-lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _parse_holder(os.pread(file, 1000, 0))
        finally:
            os.close(file)
        return None

    def release(self) -> None:
        """Let others write."""
        with _held_guard:
            if _held.get(self._key) == os.getpid():
                del _held[self._key]
                os.close(self._file)


def _parse_holder(text: bytes) -> dict[str, object]:
    try:
        found = json.loads(text)
        return found if isinstance(found, dict) else {}
    except ValueError:
        return {}


def _held_by(holder: dict[str, object]) -> str:
    return (
        f"is being written by process {holder.get('pid', 'unknown')} "
        f"on host {holder.get('host', 'unknown')}"
    )
