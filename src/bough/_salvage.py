"""What can still be read of a damaged file, and what a damaged write-ahead log has lost."""

import sqlite3
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Sizes of the header of a write-ahead log and of each of its frames: sqlite.org/fileformat.html.
LOG_HEADER, FRAME_HEADER = 32, 24
#: How many operations in a row may be missing before the search for more ends.
HOPE = 1000


def reachable_rows(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return all operations that SQLite can still reach, in order.

    From the front up to the damage, from the back down to it, and what lies between one by one.
    """
    found: dict[int, tuple[Any, ...]] = {}
    for order in ("ASC", "DESC"):
        try:
            for row in connection.execute(f"SELECT * FROM operations ORDER BY n {order}"):
                if row[0] in found:
                    break
                found[row[0]] = row
        except sqlite3.DatabaseError:
            continue
    n, last = 0, max(found, default=-1)
    while n <= last + HOPE:
        if n not in found:
            with suppress(sqlite3.DatabaseError):
                row = connection.execute("SELECT * FROM operations WHERE n = ?", (n,)).fetchone()
                if row is not None:
                    found[n] = row
                    last = max(last, n)
        n += 1
    return [found[n] for n in sorted(found)]


def lost_commits(path: Path) -> int:
    """Return how many commits of a write-ahead log SQLite is going to ignore as damaged.

    SQLite reads a log up to the first frame whose checksum is wrong, and says nothing. That is
    right for the last frame, which a process that was killed may have left half written. But when
    other frames of the same log come after it, it was whole once, and so were they.
    """
    log = Path(f"{path}-wal")
    try:
        data = log.read_bytes()
        lost = _commits_after_damage(data)
        # A log that changes meanwhile has a writer, who is fine.
        return lost if lost and log.read_bytes() == data else 0
    except OSError:
        return 0


def _commits_after_damage(data: bytes) -> int:
    if len(data) <= LOG_HEADER:
        return 0
    magic, _, size = struct.unpack(">III", data[:12])
    order = ">" if magic & 1 else "<"
    sums = _sums(data[:24], (0, 0), order)
    if magic & ~1 != 0x377F0682 or struct.pack(">II", *sums) != data[24:32]:
        return 1  # at least: without its header nothing of a log can be read
    salts = data[16:24]
    step = FRAME_HEADER + size
    starts = range(LOG_HEADER, len(data) - step + 1, step)
    heads = [data[start : start + FRAME_HEADER] for start in starts]
    of_this_log = [i for i, head in enumerate(heads) if head[8:16] == salts]
    for i, (start, head) in enumerate(zip(starts, heads, strict=True)):
        sums = _sums(head[:8], sums, order)
        sums = _sums(data[start + FRAME_HEADER : start + step], sums, order)
        if head[8:16] == salts and struct.pack(">II", *sums) == head[16:24]:
            continue
        if not of_this_log or of_this_log[-1] <= i:
            return 0
        return sum(heads[k][4:8] != b"\0\0\0\0" for k in of_this_log if k >= i)
    return 0


def _sums(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    """Go on with the checksum of a log."""
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for i in range(0, len(words), 2):
        first = (first + words[i] + second) & 0xFFFFFFFF
        second = (second + words[i + 1] + first) & 0xFFFFFFFF
    return first, second
