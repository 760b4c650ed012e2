"""The file of a study: an append-only list of operations in SQLite, each with a checksum."""

import json
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bough.exceptions import StudyError
from bough.studies.describe import fingerprint
from bough.studies.lock import WriteLock
from bough.studies.salvage import lost_commits, scanned_rows

#: Written into every file. A program refuses formats that are newer than its own.
FORMAT = 1
APPLICATION = 0x626F7567  # "boug"
#: How long to wait for a reader that holds what a checkpoint needs.
PATIENCE = 30.0

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
    """One thing that happened to a study."""

    n: int
    kind: str
    trial: int | None
    at: float
    body: str
    state: int | None


class Contents(NamedTuple):
    """What a file holds, and what is wrong with it, in words (None if nothing is)."""

    specification: dict[str, Any]
    operations: list[Operation]
    damage: str | None


class Journal:
    """A study's file, open for reading, or for appending too.

    `durability="full"`: what was told is on the disk when `append` returns, and survives a loss of
    power. `"process"`: it survives the death of the process, not that of the machine.
    """

    def __init__(self, path: Path, durability: Durability, lock: WriteLock | None) -> None:
        self.path = path
        self.durability = durability
        self._lock = lock
        self.owner = os.getpid()
        self._synced: bool | None = None  # what SQLite was told last
        self.next = 0
        self._lost = lost_commits(path)
        self._broken: str | None = None  # why SQLite cannot read the file at all
        self._connection: sqlite3.Connection | None = _connect(path, writing=lock is not None)
        try:
            self._check_format(self._connection)
        except BaseException:
            self._disconnect()
            raise

    # ------------------------------------------------------------------ making and opening

    @classmethod
    def create(cls, path: Path, specification: dict[str, Any], durability: Durability) -> "Journal":
        """Make a new file; it appears as a whole or not at all."""
        _check_durability(durability)
        if path.exists():
            raise StudyError(f"{path} exists already; open it, or choose another name")
        lock = _locked(path)
        try:
            if path.exists():
                raise StudyError(f"{path} exists already; open it, or choose another name")
            first = Operation(0, "create", None, time.time(), json.dumps(specification), None)
            _write_file(path, specification, [first])
            journal = cls(path, durability, lock)
            journal.next = 1
        except BaseException:
            lock.release()
            raise
        return journal

    @classmethod
    def open(cls, path: Path, durability: Durability, *, read_only: bool) -> "Journal":
        """Open a file; the caller reads it next."""
        _check_durability(durability)
        if not path.is_file():
            raise StudyError(f"there is no study {path}; make it by Study.create")
        lock = None if read_only else _locked(path)
        try:
            return cls(path, durability, lock)
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    def _check_format(self, connection: sqlite3.Connection) -> None:
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError as error:
            application, version, self._broken = None, 0, str(error)
        if application != APPLICATION:
            self._broken = self._broken or "its first page is damaged"
            if not any(operation.kind == "create" for operation in _scanned(self.path)):
                raise StudyError(
                    f"{self.path} is no study of bough, or is damaged beyond recovery"
                    + (f": {self._broken}" if application is None else "")
                )
        elif version > FORMAT:
            raise StudyError(
                f"{self.path} has format {version}, and this bough reads formats up to {FORMAT}: "
                "it was written by a newer one; upgrade"
            )

    # ------------------------------------------------------------------ reading

    def read(self) -> Contents:
        """Return all operations that are whole; a damaged file is read as far as it goes."""
        connection = self._open_connection()
        complaint = self._broken or ("its write-ahead log is damaged" if self._lost else None)
        rows: Iterable[Row] = ()
        if complaint is None:
            try:
                rows = connection.execute("SELECT * FROM operations ORDER BY n").fetchall()
                # Damage where no operation is would hurt the next write.
                (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                complaint = None if found == "ok" else " ".join(found.split())
            except sqlite3.DatabaseError as error:
                complaint = str(error)
        operations = _whole_ones(rows)
        if complaint is not None or len(operations) < len(list(rows)) or _gaps(operations):
            operations = _scanned(self.path)
            complaint = complaint or "some checksums are wrong"
        specification = self._specification(connection, operations)
        self.next = operations[-1].n + 1 if operations else 0
        gaps = _gaps(operations)
        if gaps:
            complaint = f"{complaint}; {len(gaps)} operations are lost (number {_some(gaps)})"
        return Contents(specification, operations, complaint)

    def after(self, n: int) -> list[Operation] | None:
        """Return what was added from operation n on; None if that cannot be told."""
        try:
            query = "SELECT * FROM operations WHERE n >= ? ORDER BY n"
            rows = self._open_connection().execute(query, (n,)).fetchall()
        except sqlite3.DatabaseError:
            return None
        operations = _whole_ones(rows)
        if [operation.n for operation in operations] != list(range(n, n + len(rows))):
            return None
        return operations

    def _specification(
        self, connection: sqlite3.Connection, operations: list[Operation]
    ) -> dict[str, Any]:
        """Return what is searched, and how: from the first operation, or the copy of it."""
        texts = [operation.body for operation in operations[:1] if operation.kind == "create"]
        with suppress(sqlite3.DatabaseError):
            meta = dict(connection.execute("SELECT key, value FROM meta"))
            with suppress(KeyError, TypeError, ValueError):
                if fingerprint(json.loads(meta["specification"])) == meta["fingerprint"]:
                    texts.append(meta["specification"])
        if not texts:
            raise StudyError(f"{self.path} is damaged beyond recovery: it does not say of what")
        found: dict[str, Any] = json.loads(texts[0])
        return found

    # ------------------------------------------------------------------ writing

    def append(self, operations: list[Row], *, durable: bool = True) -> None:
        """Add operations (kind, trial, at, body, state), all of them or none.

        Those that are not `durable` survive the process, and reach the disk with the next that are.
        """
        connection = self._open_connection()
        rows = []
        for i, operation in enumerate(operations):
            row = (self.next + i, *operation)
            rows.append((*row, _checksum(row)))
        synced = durable and self.durability == "full"
        try:
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
            raise StudyError(
                f"{self.path} cannot be written: {error} (is the disk full?). All that was "
                f"recorded before is safe; {operations[0][0]} of trial {operations[0][1]} is not. "
                "Make room, and open the study again"
            ) from error
        self.next += len(rows)

    def rewrite(self, specification: dict[str, Any], operations: list[Operation]) -> Path:
        """Replace a damaged file by what could be read of it; return where it is kept."""
        kept = next(
            place
            for i in range(1_000_000)
            if not (place := Path(f"{self.path}.damaged{i or ''}")).exists()
        )
        self._disconnect()
        try:
            for ending in ("", "-wal", "-shm"):
                if Path(f"{self.path}{ending}").exists():
                    shutil.copy(f"{self.path}{ending}", f"{kept}{ending}")
        except OSError as error:
            for ending in ("", "-wal", "-shm"):
                Path(f"{kept}{ending}").unlink(missing_ok=True)
            raise StudyError(
                f"{self.path} is damaged, and cannot be kept as {kept} before it is mended: "
                f"{error.strerror}. Make room, or look at it with read_only=True"
            ) from error
        whole = [operation._replace(n=n) for n, operation in enumerate(operations)]
        _write_file(self.path, specification, whole)
        self._lost = 0
        self._connection = _connect(self.path, writing=True)
        self._synced = None
        self.next = len(whole)
        return kept

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StudyError(f"the study {self.path} is closed; open it again")
        return self._connection

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more, or not by this process."""
        return self._connection is None or self._lock is None or self.owner != os.getpid()

    def close(self) -> None:
        """Close the file, and let others write."""
        self._disconnect()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _check_durability(durability: Any) -> None:
    if durability not in ("full", "process"):
        raise ValueError(f'durability must be "full" or "process", got {durability!r}')


def _locked(path: Path) -> WriteLock:
    if not path.parent.is_dir():
        raise StudyError(f"{path} cannot be made: there is no folder {path.parent}")
    return WriteLock(path)


def _connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    place = path.resolve().as_uri()
    if writing:
        if not os.access(path, os.W_OK):
            raise StudyError(
                f"{path} cannot be written: it is read-only; to look at it, open it with "
                "read_only=True"
            )
        mode = "mode=rw"
    else:
        alone = not Path(f"{path}-wal").exists() and not os.access(path.resolve().parent, os.W_OK)
        mode = "mode=ro" + ("&immutable=1" if alone else "")
    connection = sqlite3.connect(
        f"{place}?{mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,  # every statement is a transaction, unless we say otherwise
        check_same_thread=False,
    )
    # A flipped byte must not stop us from reading the rest.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _write_file(path: Path, specification: dict[str, Any], operations: list[Operation]) -> None:
    """Write a whole file under another name, and give it its own name when it is on the disk."""
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
            connection.executemany(
                "INSERT INTO operations VALUES (?,?,?,?,?,?,?)",
                ((*operation, _checksum(operation)) for operation in operations),
            )
            connection.execute("COMMIT")
        finally:
            connection.close()
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        # SQLite would take the log of a file that was here before for one of this file.
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


def _checksum(row: Row) -> int:
    return zlib.crc32("|".join(map(str, row)).encode("utf-8", "replace"))


def _whole_ones(rows: Iterable[Row]) -> list[Operation]:
    """Return the operations whose checksums are right, in order, each once."""
    whole = {row[0]: Operation(*row[:-1]) for row in rows if row[-1] == _checksum(row[:-1])}
    return [whole[n] for n in sorted(whole)]


def _scanned(path: Path) -> list[Operation]:
    return _whole_ones(scanned_rows(path))


def _gaps(operations: list[Operation]) -> list[int]:
    """Return the numbers that are missing."""
    if not operations or len(operations) == operations[-1].n + 1:
        return []
    return sorted(set(range(operations[-1].n)) - {operation.n for operation in operations})


def _some(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:5]))
    return shown + (", ..." if len(numbers) > 5 else "")
