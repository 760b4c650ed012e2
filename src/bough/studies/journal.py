"""The journal of a study: an SQLite file of operations, each with a checksum.

Opening a file never changes it: all operations are read and verified, and only the first `append`
opens it for writing. A file is damaged if SQLite finds it malformed, if the checksum of an
operation is wrong, if operations are missing, or if its log has lost commits.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal

from bough.exceptions import StudyError
from bough.studies.describe import INVALID, check_specification, fingerprint, not_valid
from bough.studies.files import (
    WriteLock,
    connect,
    exists,
    identity_of,
    open_reader,
    raise_if_locked,
    signature_of,
)
from bough.studies.operations import Operation, check_operation, check_order

#: Version of the file format. Newer formats are refused.
FORMAT = 1
APPLICATION = 0x626F7567  # "boug"
LOST = "its write-ahead log has lost commits"
NOT_A_STUDY = "this is not a study of bough, or its first page is damaged"

#: Errors of SQLite, and of its module where a message of SQLite is not UTF-8.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)

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
INSERT = "INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?)"
#: The answers of generators are large: they are read one by one, and only when they are needed.
ANSWERS = "CREATE TABLE answers (node INTEGER PRIMARY KEY, data BLOB, checksum INTEGER);"
INSERT_ANSWER = "INSERT INTO answers VALUES (?, ?, ?)"


class Journal:
    """The file of a study, open for reading, or for appending too.

    With `durability="full"` an operation is on the disk when `append` returns, and survives a loss
    of power. With `"process"` it survives the death of the process, not that of the machine.
    """

    def __init__(self, path: Path, durability: Durability, lock: WriteLock | None) -> None:
        self.path = path
        self.durability = durability
        self._owner = os.getpid()
        self.next = 0
        self._lock = lock
        self._connection: sqlite3.Connection | None = None  # for writing, made by the first append
        self._synced: bool | None = None  # whether it waits for the disk; None: not known
        # Under the name that it has now, whatever the working directory will be.
        self._real = Path(os.path.realpath(path))
        self._file_id = identity_of(self._real)
        self._log_id: tuple[int, int] | None = None  # None: nothing was written to it yet
        self._deferred: list[Operation] = []
        self._signature: Any = None  # of the files when `after` read them last

    # ------------------------------------------------------------------ create and open

    @classmethod
    def create(cls, path: Path, specification: dict[str, Any], durability: Durability) -> "Journal":
        """Make a new file, which appears as a whole or not at all."""
        lock = _lock(path, durability)
        try:
            if os.path.exists(path):
                raise StudyError(f"{path} exists already; open it, or choose another name")
            _write_file(path, specification)
        except BaseException:
            lock.release()
            raise
        journal = cls(path, durability, lock)
        journal.next = 1
        return journal

    @classmethod
    def open(cls, path: Path, durability: Durability, *, read_only: bool) -> "Journal":
        """Open a file, which the caller reads next."""
        if not exists(path):
            raise StudyError(f"there is no study {path}; make it with Study.create")
        if not read_only and not os.access(path, os.W_OK):
            raise StudyError(
                f"{path} cannot be written: it is read-only; to look at it, open it with "
                "read_only=True"
            )
        return cls(path, durability, None if read_only else _lock(path, durability))

    # ------------------------------------------------------------------ read

    def read(self) -> tuple[dict[str, Any], list[Operation]]:
        """Return the specification and all operations.

        Raises `StudyError` for a damaged file, which is left as it is.
        """
        with open_reader(self._real, live=self._is_live()) as (connection, lost):
            operations, damage = _read_operations(self.path, connection, lost)
        if damage == NOT_A_STUDY:
            raise StudyError(f"{self.path}: {damage}")
        if damage is not None:
            raise StudyError(
                f"{self.path} is damaged: {damage}. It was left as it is; "
                f"`bough study export {self.path} FILE` saves all operations that can be read"
            )
        self.next = len(operations)
        try:
            specification = check_specification(json.loads(operations[0].body))
            for operation in operations[1:]:
                check_operation(operation, specification)
            check_order(operations[1:], f"{self.path} is not valid: operation", 1)
        except StudyError:
            raise
        except INVALID as error:
            raise not_valid(self.path, error) from error
        return specification, operations

    def after(self, n: int, specification: dict[str, Any]) -> list[Operation] | None:
        """Return the operations from number n on; None if the file must be read as a whole."""
        signature = [n, *signature_of(self._real)]
        if signature == self._signature:
            return []
        try:
            with open_reader(self._real, live=self._is_live()) as (connection, lost):
                query = "SELECT * FROM operations WHERE n >= ? ORDER BY n"
                rows = connection.execute(query, (n,)).fetchall()
        except (*UNREADABLE, OSError, StudyError):
            return None
        operations = _verified(rows)
        try:
            for operation in operations:
                check_operation(operation, specification)
        except INVALID:
            return None
        if lost or [one.n for one in operations] != list(range(n, n + len(rows))):
            return None
        signature[0] = n + len(operations)
        self._signature = signature
        return operations

    def _is_live(self) -> bool:
        return self._lock is None and WriteLock.holder(self._real) is not None

    # ------------------------------------------------------------------ write

    def defer(self, operations: list[Operation]) -> None:
        """Add operations when others are added, since opening a study does not change its file."""
        self._deferred += operations

    def append(
        self,
        operations: list[Operation],
        *,
        durable: bool = True,
        answers: Sequence[tuple[int, bytes]] = (),
    ) -> None:
        """Add operations, and answers of nodes by their ids: all of them or none.

        Those that are not `durable` survive the process, and reach the disk with the next durable
        ones.
        """
        rows = []
        for n, operation in enumerate([*self._deferred, *operations], self.next):
            row = (n, *operation[1:])
            rows.append((*row, _checksum(row)))
        synced = durable and self.durability == "full"
        try:
            connection = self._writer()
            if synced is not self._synced:
                connection.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
                self._synced = synced
            if len(rows) == 1 and not answers:
                connection.execute(INSERT, rows[0])
            else:
                connection.execute("BEGIN")
                for node, data in answers:
                    connection.execute(INSERT_ANSWER, (node, data, zlib.crc32(data)))
                connection.executemany(INSERT, rows)
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._raise_if_deleted(operations[0])
            self.close()
            raise_if_locked(self.path, error)
            lost = f"{operations[0].kind} of trial {operations[0].trial}"
            raise StudyError(
                f"{self.path} cannot be written: {error} (is the disk full?). All that was "
                f"recorded before is safe; {lost} is not. Make room, and open the study again"
            ) from error
        self.next += len(rows)
        self._deferred = []
        self._raise_if_deleted(operations[0])

    def answer(self, node: int) -> bytes:
        """Return the answer of a node. Raises `StudyError` if it is missing or damaged."""
        query = "SELECT data, checksum FROM answers WHERE node = ?"
        try:
            if self._connection is not None:
                row = self._connection.execute(query, (node,)).fetchone()
            else:
                with open_reader(self._real, live=self._is_live()) as (connection, _):
                    row = connection.execute(query, (node,)).fetchone()
        except (*UNREADABLE, OSError) as error:
            raise StudyError(f"{self.path}: answer {node} cannot be read: {error}") from error
        if row is None or not isinstance(row[0], bytes) or zlib.crc32(row[0]) != row[1]:
            raise StudyError(
                f"{self.path} is damaged: answer {node} is missing, or its checksum wrong"
            )
        return row[0]

    def _writer(self) -> sqlite3.Connection:
        if self._connection is None:
            self.check_open()
            self._connection = connect(self._real, "mode=rw")
            self._synced = self._log_id = None
        return self._connection

    def _raise_if_deleted(self, operation: Operation) -> None:
        """Close, and raise an error, if a file of the study was deleted or replaced meanwhile."""
        log = identity_of(f"{self._real}-wal")
        if self._log_id is None:
            self._log_id = log
        if identity_of(self._real) != self._file_id:
            gone = self.path.name
        elif log != self._log_id:
            gone = f"{self.path.name}-wal"
        elif self._lock is not None and self._lock.is_lost():
            gone = f"{self.path.name}-lock"
        else:
            return
        self.close()
        raise StudyError(
            f"{self.path} cannot be written: {gone} was deleted or replaced by another program "
            f"during the run; {operation.kind} of trial {operation.trial} may be lost. Leave the "
            "files of a study alone while it is open"
        )

    def check_open(self) -> None:
        """Raise an error if nothing can be written any more, or not by this process."""
        if self._owner != os.getpid():  # a worker that was forked
            raise StudyError(
                f"the study {self.path} was opened by process {self._owner}, and only that one may "
                "write to it: send the value there, and tell it there"
            )
        if self._lock is None:
            raise StudyError(
                f"the study {self.path} is closed, or open for reading only; Study.open resumes it"
            )

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
    with open_reader(path, live=WriteLock.holder(path) is not None) as (connection, lost):
        operations, damage = _read_operations(path, connection, lost)
        if damage is not None:
            with suppress(*UNREADABLE):  # so that SQLite reads a file whose end is missing
                connection.execute("PRAGMA writable_schema = ON")
            size = sum(part[1] for part in signature_of(path))
            operations = _verified(_rows_one_by_one(connection, size))
        specifications = []
        with suppress(*INVALID):
            specifications = [json.loads(o.body) for o in operations[:1] if o.kind == "create"]
        with suppress(*UNREADABLE, *INVALID):
            meta = dict(connection.execute("SELECT key, value FROM meta"))
            specification = json.loads(meta["specification"])
            if fingerprint(specification) == meta["fingerprint"]:
                specifications.append(specification)
    if not specifications:
        raise StudyError(f"{path} is damaged: {damage}. Its specification is lost")
    return specifications[0], operations, damage


def read_answers(path: Path) -> dict[int, bytes]:
    """Return all answers of a study whose checksums are right, by the ids of their nodes."""
    with open_reader(path, live=WriteLock.holder(path) is not None) as (connection, _):
        try:
            rows = connection.execute("SELECT node, data, checksum FROM answers ORDER BY node")
            return {n: data for n, data, checksum in rows if zlib.crc32(data) == checksum}
        except UNREADABLE as error:
            raise StudyError(f"{path}: its answers cannot be read: {error}") from error


def _read_operations(
    path: Path, connection: sqlite3.Connection, lost: bool
) -> tuple[list[Operation], str | None]:
    """Return all operations; or none and what is wrong with the file, if anything is."""
    rows: list[Row] = []
    application, version, check = None, 0, "ok"
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION and version <= FORMAT:
            rows = connection.execute("SELECT * FROM operations ORDER BY n").fetchall()
            # Damage where no operation is would harm the next write.
            # (Answers have checksums of their own: to read them all would take long.)
            only = "operations" if _has_answers(connection) else "1"
            (check,) = connection.execute(f"PRAGMA quick_check({only})").fetchone()
    except UNREADABLE as error:
        raise_if_locked(path, error)
        if str(error) != "file is not a database":
            return [], LOST if lost else str(error)
    if application != APPLICATION:
        return [], NOT_A_STUDY
    if version > FORMAT:
        raise StudyError(
            f"{path} has format {version}, and this bough reads formats up to {FORMAT}: "
            "it was written by a newer one; upgrade"
        )
    if lost:
        return [], LOST
    operations = _verified(rows)
    if check != "ok":
        return [], " ".join(check.split())
    if len(operations) < len(rows):
        return [], f"the checksums of {len(rows) - len(operations)} operations are wrong"
    numbers = [operation.n for operation in operations]
    if numbers != list(range(len(numbers))) or not operations or operations[0].kind != "create":
        return [], "operations are missing"
    return operations, None


def _has_answers(connection: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'answers'"
    return connection.execute(query).fetchone() is not None


def _rows_one_by_one(connection: sqlite3.Connection, size: int) -> Iterator[Row]:
    """Yield the rows that SQLite can read."""
    for n in range(size // 16):  # no operation takes fewer bytes
        with suppress(*UNREADABLE):
            yield from connection.execute("SELECT * FROM operations WHERE n = ?", (n,))


def _verified(rows: Iterable[Row]) -> list[Operation]:
    """Return the operations whose checksums are right, in order, each once."""
    whole = {
        row[0]: Operation(*row[:-1])
        for row in rows
        if row[-1] == _checksum(row[:-1]) and not any(isinstance(part, bytes) for part in row)
    }
    return [whole[n] for n in sorted(whole)]


def _checksum(row: Row) -> int:
    return zlib.crc32("|".join(map(str, row)).encode("utf-8", "replace"))


def _write_file(path: Path, specification: dict[str, Any]) -> None:
    """Write a new file under another name, and rename it when it is on the disk."""
    text = json.dumps(specification)
    first = Operation.now("create", body=text)._replace(n=0)
    draft = Path(f"{path.resolve()}-new")
    for left in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
        left.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            answers = ANSWERS if "generation" in specification else ""
            connection.executescript("BEGIN;" + SCHEMA + answers)
            meta = {"specification": text, "fingerprint": fingerprint(specification)}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            connection.execute(INSERT, (*first, _checksum(first)))
            connection.execute("COMMIT")
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


def _lock(path: Path, durability: Durability) -> WriteLock:
    if durability not in ("full", "process"):
        raise ValueError(f'durability must be "full" or "process", got {durability!r}')
    return WriteLock(path)
