"""Random points of a space, or of a cell of it."""

from collections.abc import Mapping

import numpy as np

from bough.spaces.covering import Walk
from bough.spaces.parameters import Choice
from bough.spaces.slots import Point
from bough.spaces.space import Space

NOTHING: Mapping[int, float | None] = {}


def drawn(
    space: Space,
    numbers: np.random.Generator,
    walk: Walk | None = None,
    fixed: Mapping[int, float | None] = NOTHING,
) -> Point:
    """Return a random point: of the cell where a walk is, and with some positions fixed."""
    slots = space._slots
    point: list[float | None] = [None] * len(slots)
    active = list(space._first)
    cells = {} if walk is None else walk.cells
    chosen = {} if walk is None else walk.chosen
    draws = numbers.random(len(slots)).tolist()
    for slot in active:  # (it grows)
        parameter = slots[slot].parameter
        u, given = draws[slot], fixed.get(slot)
        if isinstance(parameter, Choice):
            choice = chosen[slot] if slot in chosen else int(u * parameter.count)
            choice = choice if given is None else int(given)
            point[slot] = choice
            active.extend(slots[slot].inner[choice])
        elif given is not None:
            point[slot] = given
        elif parameter.count is None:
            low, high = cells.get(slot, (0.0, 1.0))
            point[slot] = low + u * (high - low)
        else:
            low, high = cells.get(slot, (0, parameter.count))
            left, right = parameter.edge(int(low)), parameter.edge(int(high))
            index = parameter.index_at(left + u * (right - left))
            point[slot] = min(max(index, int(low)), int(high) - 1)
    return tuple(point)
