"""The journal of a study: an SQLite file of operations with checksums, and the lock of its writer.

Opening a file never changes it. A study that no process writes is read from an immutable
connection; if its writer was killed and left a write-ahead log, from a copy, since SQLite would
rebuild the index of the log and move its pages into the file. Only the first `append` opens the
file itself for writing, after all operations were verified.

A file is damaged if SQLite finds it malformed, if the checksum of an operation is wrong, if
operations are missing in the middle, or if its log has lost commits. SQLite alone ignores a log
from the first damaged page on, silently. A killed process leaves an index of the log (`-shm`) that
says how many pages were committed, so that losing even the last commit is noticed. Without an index
(the file and its log were copied elsewhere, or the machine was restarted) any loss is noticed but
that of the last commit, or of the end of the log by truncation: these look like a commit that was
never completed, as a loss of power leaves it.
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
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bough.exceptions import Locked, StudyError
from bough.studies.describe import fingerprint

#: Version of the file format. Newer formats are refused.
FORMAT = 1
APPLICATION = 0x626F7567  # "boug"
#: Seconds to wait for another connection that locks the file.
PATIENCE = 30.0
#: Copies of a file to try while it changes.
TRIES = 10
#: Sizes of the headers of a write-ahead log and of its frames: sqlite.org/fileformat.html, and of
#: its index: sqlite.org/walformat.html.
LOG_HEADER, FRAME_HEADER, INDEX_HEADER = 32, 24, 48

Durability = Literal["full", "process"]
Row = tuple[Any, ...]

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE operations (
    n INTEGER PRIMARY KEY,  -- 0, 1, 2, ... without gaps
    kind TEXT,
    trial INTEGER,
    at REAL,                -- seconds since 1970
    body TEXT,              -- JSON
    state INTEGER,          -- of the searcher's generator after an ask
    checksum INTEGER
);
"""


class Operation(NamedTuple):
    """One recorded event of a study."""

    n: int
    kind: str
    trial: int | None
    at: float
    body: str
    state: int | None


class Journal:
    """The file of a study, open for reading, or for appending too.

    With `durability="full"` an operation is on the disk when `append` returns, and survives a loss
    of power. With `"process"` it survives the death of the process, not that of the machine.
    """

    def __init__(self, path: Path, durability: Durability, lock: "WriteLock | None") -> None:
        self.path = path
        self.durability = durability
        self.owner = os.getpid()
        self.next = 0
        self._lock = lock
        self._connection: sqlite3.Connection | None = None  # for writing, made by the first append
        self._synced: bool | None = None  # the last setting of `PRAGMA synchronous`
        self._deferred: list[Row] = []
        self._signature: Any = None  # of the files when `after` read them last

    # ------------------------------------------------------------------ create and open

    @classmethod
    def create(cls, path: Path, specification: dict[str, Any], durability: Durability) -> "Journal":
        """Make a new file, which appears as a whole or not at all."""
        _check_durability(durability)
        lock = _lock(path)
        try:
            if path.exists():
                raise StudyError(f"{path} exists already; open it, or choose another name")
            first = Operation(0, "create", None, time.time(), json.dumps(specification), None)
            _write_file(path, specification, first)
        except BaseException:
            lock.release()
            raise
        journal = cls(path, durability, lock)
        journal.next = 1
        return journal

    @classmethod
    def open(cls, path: Path, durability: Durability, *, read_only: bool) -> "Journal":
        """Open a file, which the caller reads next."""
        _check_durability(durability)
        if not path.is_file():
            raise StudyError(f"there is no study {path}; make it with Study.create")
        if not read_only and not os.access(path, os.W_OK):
            raise StudyError(
                f"{path} cannot be written: it is read-only; to look at it, open it with "
                "read_only=True"
            )
        return cls(path, durability, None if read_only else _lock(path))

    # ------------------------------------------------------------------ read

    def read(self) -> tuple[dict[str, Any], list[Operation]]:
        """Return the specification and all operations.

        Raises `StudyError` for a damaged file, which is left as it is.
        """
        with _reader(self.path, live=self._is_live()) as (connection, damage):
            operations, damage = _read_operations(self.path, connection, damage)
        if damage is not None:
            raise StudyError(
                f"{self.path} is damaged: {damage}. It was left as it is; "
                f"`bough study export {self.path} FILE` saves all operations that can be read"
            )
        self.next = len(operations)
        return json.loads(operations[0].body), operations

    def after(self, n: int) -> list[Operation] | None:
        """Return the operations from number n on; None if the file must be read as a whole."""
        signature = [n, *_signature(self.path)]
        if signature == self._signature:
            return []
        try:
            with _reader(self.path, live=self._is_live()) as (connection, lost):
                query = "SELECT * FROM operations WHERE n >= ? ORDER BY n"
                rows = connection.execute(query, (n,)).fetchall()
        except (sqlite3.Error, StudyError):
            return None
        operations = _verified(rows)
        if lost or [one.n for one in operations] != list(range(n, n + len(rows))):
            return None
        signature[0] = n + len(operations)
        self._signature = signature
        return operations

    def _is_live(self) -> bool:
        return self._lock is None and WriteLock.is_held(self.path)

    # ------------------------------------------------------------------ write

    def defer(self, operations: list[Row]) -> None:
        """Add operations when others are added, since opening a study does not change its file."""
        self._deferred += operations

    def append(self, operations: list[Row], *, durable: bool = True) -> None:
        """Add operations (kind, trial, at, body, state), all of them or none.

        Those that are not `durable` survive the process, and reach the disk with the next durable
        ones.
        """
        rows = []
        for i, operation in enumerate([*self._deferred, *operations]):
            row = (self.next + i, *operation)
            rows.append((*row, _checksum(row)))
        synced = durable and self.durability == "full"
        try:
            connection = self._writer()
            if synced != self._synced:
                connection.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
                self._synced = synced
            if len(rows) == 1:
                connection.execute("INSERT INTO operations VALUES (?,?,?,?,?,?,?)", rows[0])
            else:
                connection.execute("BEGIN")
                connection.executemany("INSERT INTO operations VALUES (?,?,?,?,?,?,?)", rows)
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            self.close()
            if _is_locked(error):
                raise _locked_error(self.path, error) from error
            raise StudyError(
                f"{self.path} cannot be written: {error} (is the disk full?). All that was "
                f"recorded before is safe; {operations[0][0]} of trial {operations[0][1]} is not. "
                "Make room, and open the study again"
            ) from error
        self.next += len(rows)
        self._deferred = []

    def _writer(self) -> sqlite3.Connection:
        if self.closed:
            raise StudyError(f"the study {self.path} is closed; open it again")
        if self._connection is None:
            self._connection = _connect(self.path, "mode=rw")
        return self._connection

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more, or not by this process."""
        return self._lock is None or self.owner != os.getpid()

    def close(self) -> None:
        """Close the file, and let others write."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def read_damaged(path: Path) -> tuple[dict[str, Any], list[Operation], str | None]:
    """Return the readable part of a file, which may be damaged, and what is wrong with it.

    The operations are those that SQLite can read and whose checksums are right.
    """
    with _reader(path, live=WriteLock.is_held(path)) as (connection, damage):
        try:
            operations, damage = _read_operations(path, connection, damage)
        except _NotAStudyError as error:  # or only its first page is damaged
            operations, damage, refusal = [], str(error), error
        else:
            refusal = _NotAStudyError(f"{path} is damaged: {damage}. Its specification is lost")
        if damage is not None:
            with suppress(sqlite3.Error):  # so that SQLite reads a file whose end is missing
                connection.execute("PRAGMA writable_schema = ON")
            operations = _verified(_rows_one_by_one(connection, path.stat().st_size))
        specifications = [one.body for one in operations[:1] if one.kind == "create"]
        with suppress(sqlite3.Error, KeyError, TypeError, ValueError):
            meta = dict(connection.execute("SELECT key, value FROM meta"))
            if fingerprint(json.loads(meta["specification"])) == meta["fingerprint"]:
                specifications.append(meta["specification"])
    if not specifications:
        raise refusal
    return json.loads(specifications[0]), operations, damage


class _NotAStudyError(StudyError):
    """Raised for a file that is not a study of bough."""


def _read_operations(
    path: Path, connection: sqlite3.Connection, damage: str | None
) -> tuple[list[Operation], str | None]:
    """Return all operations; or none and what is wrong with the file, if anything is."""
    rows: list[Row] = []
    application, version, check = None, 0, "ok"
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION and version <= FORMAT and damage is None:
            rows = connection.execute("SELECT * FROM operations ORDER BY n").fetchall()
            # Damage where no operation is would harm the next write.
            (check,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        if _is_locked(error):
            raise _locked_error(path, error) from error
        if str(error) != "file is not a database":
            return [], damage or str(error)
    if application != APPLICATION:
        raise _NotAStudyError(f"{path} is not a study of bough, or its first page is damaged")
    if version > FORMAT:
        raise StudyError(
            f"{path} has format {version}, and this bough reads formats up to {FORMAT}: "
            "it was written by a newer one; upgrade"
        )
    operations = _verified(rows)
    if damage is None and check != "ok":
        damage = " ".join(check.split())
    elif damage is None and len(operations) < len(rows):
        damage = f"the checksums of {len(rows) - len(operations)} operations are wrong"
    elif damage is None and _missing(operations):
        damage = "operations are missing"
    return ([], damage) if damage else (operations, None)


def _missing(operations: list[Operation]) -> bool:
    numbers = [operation.n for operation in operations]
    return not operations or operations[0].kind != "create" or numbers != list(range(len(numbers)))


def _rows_one_by_one(connection: sqlite3.Connection, size: int) -> Iterator[Row]:
    """Yield the rows that SQLite can read: from both ends, and one by one between them."""
    first, last = -1, -1
    with suppress(sqlite3.Error):
        for row in connection.execute("SELECT * FROM operations ORDER BY n"):
            first = row[0]
            yield row
        return
    with suppress(sqlite3.Error):
        for row in connection.execute("SELECT * FROM operations ORDER BY n DESC"):
            last = row[0]
            yield row
    if last < 0:  # the end cannot be read: no operation takes fewer bytes than this
        last = first + size // 16
    for n in range(first + 1, last):
        with suppress(sqlite3.Error):
            yield from connection.execute("SELECT * FROM operations WHERE n = ?", (n,))


def _verified(rows: Iterable[Row]) -> list[Operation]:
    """Return the operations whose checksums are right, in order, each once."""
    whole = {row[0]: Operation(*row[:-1]) for row in rows if row[-1] == _checksum(row[:-1])}
    return [whole[n] for n in sorted(whole)]


def _checksum(row: Row) -> int:
    return zlib.crc32("|".join(map(str, row)).encode("utf-8", "replace"))


def _check_durability(durability: Any) -> None:
    if durability not in ("full", "process"):
        raise ValueError(f'durability must be "full" or "process", got {durability!r}')


def _is_locked(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)  # (errors of the module itself have none)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _locked_error(path: Path, error: sqlite3.Error) -> Locked:
    return Locked(
        f"{path} is locked by another program ({error}); it is not damaged, and what was recorded "
        "is safe. Close that program, and open the study again"
    )


# ---------------------------------------------------------------------- connections and files


def _connect(path: Path, mode: str) -> sqlite3.Connection:
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
def _reader(path: Path, *, live: bool) -> Iterator[tuple[sqlite3.Connection, str | None]]:
    """Connect to a file without changing it; also say what its log has lost.

    A file that is `live` has a writer, which takes care of the log.
    """
    log = Path(f"{path}-wal")
    with ExitStack() as stack:
        lost = None
        if live:
            connection = _connect(path, "mode=ro")
        elif not log.exists() or not log.stat().st_size:
            connection = _connect(path, "mode=ro&immutable=1")
            index = _LogIndex.read(path)
            if index is not None and index.frames > index.stored:
                lost = "its write-ahead log is missing"
        else:
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bough-")), "copy")
            index, data = _copy(path, copy)
            connection = _connect(copy, "mode=rw")
            if _has_lost_commits(connection, copy, index, data):
                lost = "its write-ahead log has lost commits"
        try:
            yield connection, lost
        finally:
            connection.close()


def _copy(path: Path, copy: Path) -> "tuple[_LogIndex | None, bytes]":
    """Copy a file and its log; return the index of the log, and the log."""
    for _ in range(TRIES):
        before = _signature(path)
        index = _LogIndex.read(path)  # first: what it knows of is in the log
        try:
            shutil.copyfile(path, copy)
            log = Path(f"{path}-wal").read_bytes()
            Path(f"{copy}-wal").write_bytes(log)
        except OSError as error:
            raise StudyError(
                f"{path} cannot be copied to {copy.parent} to be checked: {error.strerror}"
            ) from error
        if _signature(path) == before:
            return index, log
    raise Locked(f"{path} is being changed by another program; wait for it")


def _signature(path: Path) -> list[Any]:
    """Return values that differ after the file or its log has changed."""
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


def _write_file(path: Path, specification: dict[str, Any], first: Operation) -> None:
    """Write a new file under another name, and rename it when it is on the disk."""
    draft = Path(f"{path.resolve()}-new")
    for left in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
        left.unlink(missing_ok=True)
    try:
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript("BEGIN;" + SCHEMA)
            text = json.dumps(specification)
            meta = {"specification": text, "fingerprint": fingerprint(specification)}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            row = (*first, _checksum(first))
            connection.execute("INSERT INTO operations VALUES (?,?,?,?,?,?,?)", row)
            connection.execute("COMMIT")
        finally:
            connection.close()
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        # SQLite would apply the log of a deleted file of this name to the new one.
        for ending in ("-wal", "-shm"):
            Path(f"{path.resolve()}{ending}").unlink(missing_ok=True)
        draft.replace(path.resolve())
        folder = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StudyError(f"{path} cannot be made: {error}") from error


# ---------------------------------------------------------------------- one writer at a time


def _lock(path: Path) -> "WriteLock":
    if not path.parent.is_dir():
        raise StudyError(f"{path} cannot be made: there is no folder {path.parent}")
    return WriteLock(path)


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
