"""The paths of many points of a covering at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.spaces.covering import Covering, Plan

#: So few points are faster one by one.
FEW = 12


def paths_of(
    covering: Covering, table: NDArray[np.float64], length: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a row of steps for each row of positions, and how many children there are at each.

    Where a path has ended there is -1, and 0. With a length only so many first steps are found.
    """
    most = covering.most if length is None else min(length, covering.most)
    steps = np.full((most, len(table)), -1, dtype=np.int64)
    widths = np.zeros((most + 1, len(table)), dtype=np.int64)
    first = np.arange(len(table))
    todo: list[tuple[Plan, NDArray[Any], dict[int, Any]]] = [(covering.first, first, {})]
    while todo:
        plan, rows, cells = todo.pop()
        if len(rows) < FEW:
            _one_by_one(covering, table, rows, steps, widths)
            continue
        every: Any = slice(None) if len(rows) == len(table) else rows
        columns = table[every].T
        at = plan.depth
        for slot, share, level, last in plan.cuts[: most - at]:
            place, count = columns[slot], covering.counts[slot]
            low, high = cells.get(slot, (0.0, 1.0 if count is None else float(count)))
            if last:
                steps[at, every] = place - low
                widths[at, every] = high - low
                at += 1
                continue
            if count is None:
                cut = low + share * (high - low)
                widths[at, every] = 2
            else:
                low, high = np.broadcast_to(low, place.shape), np.broadcast_to(high, place.shape)
                cut = _cuts(covering, slot, level, low, high, share)
                widths[at, every] = np.minimum(high - low, 2)
            right = place >= cut
            cells[slot] = np.where(right, cut, low), np.where(right, high, cut)
            steps[at, every] = right
            at += 1
        if plan.slot >= 0 and at < most:
            chosen = columns[plan.slot].astype(np.int64)
            steps[at, every] = chosen
            widths[at, every] = len(plan.options)
            for choice in np.unique(chosen).tolist():
                same = chosen == choice
                inner = {slot: (low[same], high[same]) for slot, (low, high) in cells.items()}
                todo.append((covering.option(plan, choice), rows[same], inner))
    return steps.T, widths.T


def _one_by_one(covering: Covering, table: Any, rows: Any, steps: Any, widths: Any) -> None:
    for row in rows.tolist():
        point = tuple(
            None if x != x else x if count is None else int(x)
            for x, count in zip(table[row].tolist(), covering.counts, strict=True)
        )
        path, counts = covering.path_and_counts(point, len(steps))
        steps[: len(path), row] = path
        widths[: len(path), row] = counts


def _cuts(
    covering: Covering, slot: int, level: int, low: Any, high: Any, share: float
) -> NDArray[np.float64]:
    """Return where cells of single values are cut; one that holds one value, behind it."""
    cells, which = np.unique(low + 1j * high, return_inverse=True)  # pairs, as numpy sorts them
    cuts = []
    for cell in cells.tolist():
        a, b = int(cell.real), int(cell.imag)
        cuts.append(b if b - a == 1 else covering.cut_between(slot, level, a, b, share))
    found: NDArray[np.float64] = np.array(cuts, dtype=float)[which]
    return found


def depths_apart(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many first steps each path shares with the one that is most like it."""
    if len(steps) < 2 or not steps.shape[1]:
        return np.zeros(len(steps), dtype=np.int64)
    order = np.lexsort(steps.T[::-1])
    ordered = steps[order]
    differs = ordered[1:] != ordered[:-1]
    common = np.where(differs.any(axis=1), differs.argmax(axis=1), steps.shape[1])
    shared = np.zeros(len(steps), dtype=np.int64)
    shared[order[1:]] = common
    shared[order[:-1]] = np.maximum(shared[order[:-1]], common)
    return shared
