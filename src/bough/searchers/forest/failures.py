"""Points whose evaluation failed: they say where not to look.

A failure is no reward. What is learnt, what is best, and the certificate are those of the rewards
alone. Only the choice of the next point knows of failures: by coverings that take each for a reward
that is a poor one, and by the neighbours of a point that is to be tried.
"""

import numpy as np
from numpy.typing import NDArray

from bough.searchers.forest.table import Table
from bough.searchers.forest.told import Told
from bough.spaces import Space
from bough.spaces.slots import Point

#: So many of the last evaluations are looked at for neighbours.
POOL = 2000


class Failures:
    """The points that failed and have no reward, and all that happened, in its order.

    Parameters
    ----------
    space
    told
        All that was told.
    """

    def __init__(self, space: Space, told: Told) -> None:
        self._space = space
        self._told = told
        self._table = Table(space)  # rewards and failures
        self._synced = 0  # so many of the rewards are in it
        self._rows: dict[Point, int] = {}  # of failures, where they are in it

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, point: object) -> bool:
        return point in self._rows

    @property
    def table(self) -> Table:
        """Rewards and failures; what stands for the reward of a failure was set last by `take`."""
        for reading in self._told.readings[self._synced :]:
            self._table.add(*reading)
        self._synced = len(self._told)
        return self._table

    def add(self, point: Point, value: float) -> None:
        """Take in a point that failed, and what is to stand for its reward."""
        table = self.table
        self._rows[point] = len(table)
        table.add(point, value, None)

    def take(self, value: float) -> None:
        """Let this stand for the reward of each failure from now on."""
        self.table.values[list(self._rows.values())] = value

    def recover(self, point: Point, value: float) -> None:
        """Take note that a point which failed has a reward after all."""
        self._table.values[self._rows.pop(point)] = value

    def threaten(self, point: Point) -> bool:
        """Return whether a failure is nearer to a point than all that has a reward."""
        if not self._rows:
            return False
        place = np.array([self._table.active_place(point)])
        return bool(self.are_nearer(point, place)[0])

    def are_nearer(self, point: Point, places: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return of some places whether a failure is nearer to each than all that has a reward.

        Parameters
        ----------
        point
            A point that has the same choices.
        places : array of shape (count, number of active parameters)
        """
        rows, known, _ = self.table.alike(point, POOL)
        failed = np.isin(rows, list(self._rows.values()))
        distance = np.square(places[:, None, :] - known[None, :, :]).sum(axis=2)
        nearest = distance.min(axis=1, where=~failed, initial=np.inf)
        found: NDArray[np.bool_] = distance.min(axis=1, where=failed, initial=np.inf) < nearest
        return found
