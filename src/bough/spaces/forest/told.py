"""What a forest was told: every reward, by its number and by its point."""

import heapq
from collections.abc import Mapping
from operator import is_
from typing import Any, NamedTuple

from bough.spaces.forest.table import Table
from bough.spaces.slots import Point
from bough.spaces.space import Space

#: How many of the highest rewards are kept in mind: with noise, the highest may be a lucky one.
SHORT_LIST = 8


class Reading(NamedTuple):
    """A reward that was told."""

    point: Point
    value: float
    noise: float | None


class Told:
    """All readings in their order, and what can be said of them without a belief.

    Attributes
    ----------
    noisy
        Whether rewards vary: True, False, or None if nobody knows yet.
    best
        The number of the highest reward, -1 if there is none.
    """

    def __init__(self, space: Space, noisy: bool | None) -> None:
        self.space = space
        self.noisy = noisy
        self.readings: list[Reading] = []
        self.of_point: dict[Point, list[int]] = {}
        self.table = Table(space)
        self.best = -1
        self._highest: list[tuple[float, int]] = []  # a heap
        self._params: dict[Point, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self.readings)

    def add(self, point: Point, value: float, noise: float | None) -> int:
        """Take in a reading, and return its number."""
        number = len(self.readings)
        before = self.of_point.setdefault(point, [])
        differs = bool(before) and self.readings[before[-1]].value != value
        if differs or noise:
            self.noisy = True
        elif before and self.noisy is None and noise is None:
            self.noisy = False
        before.append(number)
        # (What is said to be exact still varies in its cell, like the others.)
        self.readings.append(Reading(point, value, noise or None))
        self.table.add(point, value, noise or None)
        heapq.heappush(self._highest, (value, number))
        if len(self._highest) > SHORT_LIST:
            heapq.heappop(self._highest)
        if self.best < 0 or value > self.readings[self.best].value:
            self.best = number
        return number

    def highest(self) -> list[int]:
        """Return the numbers of the highest rewards."""
        return [number for _, number in self._highest]

    # ------------------------------------------------------------------ params as they came

    def keep(self, point: Point, params: Mapping[str, Any]) -> None:
        """Keep params as they were first asked for or told: that of their point may be rounded."""
        if point not in self._params:
            self._params[point] = dict(params)

    def params_of(self, point: Point) -> dict[str, Any]:
        """Return the params of a point, a dict of the caller's own."""
        params = self._params.get(point)
        return self.space.params(point) if params is None else dict(params)

    def is_of(self, point: Point, params: Mapping[str, Any]) -> bool:
        """Return whether params are the very objects that were kept for a point."""
        kept = self._params.get(point)
        if kept is None or type(params) is not dict or tuple(params) != tuple(kept):
            return False
        return all(map(is_, params.values(), kept.values()))
