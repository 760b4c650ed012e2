"""The points that were told, as arrays."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.spaces.parameters import Choice
from bough.spaces.slots import Point
from bough.spaces.space import Space

Array = NDArray[np.float64]


class Table:
    """Points and their rewards, a row each; NaN for what does not matter for a point."""

    def __init__(self, space: Space) -> None:
        slots = space._slots
        self._space = space
        self.choices = [i for i, s in enumerate(slots) if isinstance(s.parameter, Choice)]
        numeric = [i for i, s in enumerate(slots) if not isinstance(s.parameter, Choice)]
        self._numeric = [i for i in numeric if slots[i].parameter.count != 1]
        self._single = [i for i in numeric if slots[i].parameter.count is not None]
        self._active: dict[tuple[float, ...], list[int]] = {}
        self._size = 0
        self._positions = np.empty((16, len(slots)))
        self._places = np.empty((16, len(slots)))
        self._values = np.empty(16)
        self._noises = np.empty(16)

    def __len__(self) -> int:
        return self._size

    @property
    def positions(self) -> Array:
        """Where points are, as coverings cut them."""
        return self._positions[: self._size]

    @property
    def places(self) -> Array:
        """Where points lie between 0 and 1; of a choice, the number of the option."""
        return self._places[: self._size]

    @property
    def values(self) -> Array:
        """Their rewards."""
        return self._values[: self._size]

    @property
    def noises(self) -> Array:
        """The standard deviations that came with rewards, or NaN."""
        return self._noises[: self._size]

    def add(self, point: Point, value: float, noise: float | None) -> None:
        """Add a row."""
        number = self._size
        if number == len(self._values):
            self._places = np.concatenate([self._places, np.empty_like(self._places)])
            self._positions = np.concatenate([self._positions, np.empty_like(self._positions)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
            self._noises = np.concatenate([self._noises, np.empty_like(self._noises)])
        self._positions[number] = [math.nan if p is None else p for p in point]
        self._places[number] = self._placed(point)
        self._values[number] = value
        self._noises[number] = math.nan if noise is None else noise
        self._size += 1

    def _placed(self, point: Point) -> list[float]:
        """Return where a point lies, along all parameters."""
        row = [math.nan if p is None else p for p in point]
        for i in self._single:
            if point[i] is not None:
                row[i] = self._place(i, int(row[i]))
        return row

    def _place(self, slot: int, i: int) -> float:
        """Return the middle of the stretch of a single value."""
        parameter: Any = self._space._slots[slot].parameter
        return float(0.5 * (parameter.edge(i) + parameter.edge(i + 1)))

    def active(self, point: Point) -> list[int]:
        """Return the numbers (not the choices) that matter for a point, and can vary."""
        kind = self.kind(point)
        found = self._active.get(kind)
        if found is None:
            found = self._active[kind] = [i for i in self._numeric if point[i] is not None]
        return found

    def place(self, number: int) -> list[float]:
        """Return the place of a row: that of its active numbers."""
        row = self._places[number].tolist()
        return [row[i] for i in self._numeric if row[i] == row[i]]

    def active_place(self, point: Point) -> list[float]:
        """Return the place of a point that need not be a row."""
        row = self._placed(point)
        return [row[i] for i in self.active(point)]

    def kind(self, point: Point) -> tuple[float, ...]:
        """Return which choices a point has made; -1 for those that do not matter."""
        return tuple(-1.0 if point[i] is None else float(point[i] or 0) for i in self.choices)

    def alike(self, point: Point, most: int) -> tuple[NDArray[np.intp], Array, Array]:
        """Return the last rows of points with the same choices, their places, and their rewards.

        Only so many of the last points are looked at. Places are those of the active numbers.
        """
        since = max(self._size - most, 0)
        active = self.active(point)
        if not self.choices:
            rows = np.arange(since, self._size)
            places = self.places[since:]
            whole = len(active) == places.shape[1]
            return rows, places if whole else places[:, active], self.values[since:]
        mine = [i for i in self.choices if point[i] is not None]
        same = (self.places[since:, mine] == [point[i] for i in mine]).all(axis=1)
        rows = same.nonzero()[0] + since
        return rows, self.places[rows[:, None], active], self.values[rows]

    def stretch(self, slot: int, position: float | None) -> float:
        """Return how far one must look to see the neighbours of a single value."""
        parameter = self._space._slots[slot].parameter
        if isinstance(parameter, Choice) or parameter.count is None:
            return 0.0
        i = int(position or 0)
        return 1.5 * (parameter.edge(i + 1) - parameter.edge(i))
