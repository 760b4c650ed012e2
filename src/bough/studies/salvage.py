"""What can still be read of a damaged file, and what a damaged write-ahead log has lost."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Sizes of the header of a write-ahead log and of each of its frames: sqlite.org/fileformat.html.
LOG_HEADER, FRAME_HEADER = 32, 24
#: Of every file that we make; the mark of a page with rows; how many columns an operation has.
PAGE = 4096
TABLE_LEAF = 13
COLUMNS = 7


def scanned_rows(path: Path) -> list[tuple[Any, ...]]:
    """Return all operations on whatever pages of a file are left, in order.

    Nothing but the pages that hold rows is needed: SQLite itself gives up on a file whose end is
    missing. Pages of the write-ahead log count too, the later one of two being the newer. What is
    found may be nonsense; whoever reads it compares checksums.
    """
    pages: dict[int, list[bytes]] = {}
    data = _read(path)
    for number in range(len(data) // PAGE + 1):
        pages.setdefault(number + 1, []).append(data[number * PAGE : (number + 1) * PAGE])
    log = _read(Path(f"{path}-wal"))
    for start in range(LOG_HEADER, len(log) - FRAME_HEADER - PAGE + 1, FRAME_HEADER + PAGE):
        (number,) = struct.unpack(">I", log[start : start + 4])
        page = log[start + FRAME_HEADER : start + FRAME_HEADER + PAGE]
        pages.setdefault(number, []).append(page)
    newest = {number: versions[-1] for number, versions in pages.items()}
    found: list[tuple[Any, ...]] = []
    for versions in pages.values():
        for page in versions:
            found.extend(_rows_on(page, newest))
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _rows_on(page: bytes, pages: dict[int, bytes]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a leaf of a table, as far as they can be read."""
    if len(page) < 8 or page[0] != TABLE_LEAF:
        return
    (count,) = struct.unpack(">H", page[3:5])
    for i in range(count):
        with suppress(struct.error, IndexError, KeyError, TypeError, ValueError):
            (at,) = struct.unpack(">H", page[8 + 2 * i : 10 + 2 * i])
            size, at = _varint(page, at)
            n, at = _varint(page, at)
            row = _columns(_payload(page, at, size, pages))
            if len(row) == COLUMNS:
                yield n, row[1], row[2], float(row[3]), *row[4:]


def _payload(page: bytes, at: int, size: int, pages: dict[int, bytes]) -> bytes:
    """Return a row's bytes, which may go on elsewhere if they are many."""
    if size <= PAGE - 35:
        return page[at : at + size]
    least = (PAGE - 12) * 32 // 255 - 23
    here = least + (size - least) % (PAGE - 4)
    here = here if here <= PAGE - 35 else least
    payload = page[at : at + here]
    (number,) = struct.unpack(">I", page[at + here : at + here + 4])
    while len(payload) < size:
        more = pages[number]
        if len(more) < PAGE:
            raise ValueError("its end is missing")
        payload += more[4 : 4 + size - len(payload)]
        (number,) = struct.unpack(">I", more[:4])
    return payload


def _columns(payload: bytes) -> list[Any]:
    """Read a record."""
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[Any] = []
    for kind in kinds:
        if kind in (0, 8, 9):
            values.append(None if kind == 0 else kind - 8)
        elif kind <= 6:
            size = (0, 1, 2, 3, 4, 6, 8)[kind]
            values.append(int.from_bytes(payload[at : at + size], "big", signed=True))
            at += size
        elif kind == 7:
            values.append(struct.unpack(">d", payload[at : at + 8])[0])
            at += 8
        else:
            size = (kind - 12) // 2
            values.append(payload[at : at + size].decode("utf-8", "replace"))
            at += size
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    value = 0
    for i in range(9):
        byte = data[at + i]
        if i == 8:
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + i + 1
    raise ValueError("no number")


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
