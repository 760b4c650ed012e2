"""Points that were asked for, and of which nothing was told yet."""

from collections import deque

from bough.spaces.slots import Point


class Pending:
    """Pending points, the oldest first; a point may be there more than once.

    Coverings know them by number. A point gets one when the next one is asked for: if its reward
    comes before that, as it does when there is one evaluation at a time, no covering hears of it.
    """

    def __init__(self) -> None:
        self.points: deque[Point] = deque()
        self.numbered: dict[int, Point] = {}
        self._number_of: dict[Point, int] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self.points)

    def __contains__(self, point: object) -> bool:
        return point in self.points

    def add(self, point: Point) -> None:
        """Take in a point that was asked for."""
        self.points.append(point)

    def settle(self, point: Point) -> None:
        """Drop the oldest of a point, if there is one."""
        if point in self.points:
            self.points.remove(point)
        number = self._number_of.pop(point, None)
        if number is not None:
            del self.numbered[number]

    def number_all(self) -> None:
        """Give a number to each point that has none, since more is asked for now."""
        for point in self.points:
            if point not in self._number_of:
                self._number_of[point] = self._next
                self.numbered[self._next] = point
                self._next += 1
