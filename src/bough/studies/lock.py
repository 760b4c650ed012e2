"""One writer at a time: an operating-system lock that dies with its process."""

import json
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

from bough.exceptions import Locked, StudyError

#: Files locked by this process. Its own locks do not keep a process out, and a child that was
#: forked holds none of its parent's: hence the process ids.
_held: dict[str, int] = {}
_held_guard = threading.Lock()


class WriteLock:
    """Hold the right to write to a file, until released or the process is gone.

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
                    f"{path} {_held_by(_read(holder))}; wait for it, or open the study with "
                    "read_only=True"
                ) from None
            _held[self._key] = os.getpid()
        with suppress(OSError):  # a full disk makes the next message less clear, and no more
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(me).encode(), 0)

    @staticmethod
    def holder(path: Path) -> dict[str, object] | None:
        """Return who holds the lock of a file now, if it is another process."""
        import fcntl

        key = os.path.realpath(path)
        if _held.get(key) == os.getpid():  # (closing the file below would give up our own lock)
            return None
        try:
            file = os.open(f"{key}-lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return _read(os.pread(file, 1000, 0))
        finally:
            os.close(file)
        return None

    def release(self) -> None:
        """Let others write."""
        with _held_guard:
            if _held.get(self._key) == os.getpid():
                del _held[self._key]
                os.close(self._file)


def _read(text: bytes) -> dict[str, object]:
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
