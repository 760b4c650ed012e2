"""Points whose evaluation failed: they say where not to look.

A failure is no reward. What is learnt, what is best, and the certificate are those of the rewards
alone. Only the choice of the next point knows of failures: by coverings that take each for a poor
reward, and since a point is *threatened* if what is known next to it has failed. How often a threat
comes true says whether things fail by place or by chance, and so how often to heed all this.
"""

import numpy as np
from numpy.typing import NDArray

from bough.spaces.forest.table import Table
from bough.spaces.forest.told import Told
from bough.spaces.slots import Point
from bough.spaces.space import Space

#: So many of the last evaluations are looked at for neighbours.
POOL = 2000


class Failures:
    """The points that failed and have no reward, and all that happened, in its order.

    Parameters
    ----------
    space
    told
        All that was told.

    Attributes
    ----------
    heeded
        Whether the next point is chosen by what failed. If not, it is as if that were pending.
    """

    def __init__(self, space: Space, told: Told) -> None:
        self._told = told
        self.heeded = False
        self._table = Table(space)  # rewards and failures
        self._synced = 0  # so many of the rewards are in it
        self._rows: dict[Point, int] = {}  # where failures are in it
        self._recovered: set[int] = set()  # rewards that took the rows of failures
        self._threats = self._true = 0  # how often a threatened point was evaluated, and failed

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, point: object) -> bool:
        return point in self._rows

    def weigh(self, point: Point, failed: bool) -> None:
        """Take note of what came of a point, before that is added: a threat may have come true."""
        if self._is_threatened(point):
            self._threats += 1
            self._true += failed

    def heed(self, numbers: np.random.Generator) -> None:
        """Draw whether failures are heeded for the next point.

        That is done as often as threats have come true, by Laplace's rule of succession. What fails
        by chance threatens nothing, and only who goes there can tell.
        """
        true = (1 + self._true) / (2 + self._threats)
        self.heeded = bool(self._rows) and numbers.random() < true

    @property
    def numbered(self) -> dict[int, Point]:
        """Points by numbers that no pending one has."""
        return {~row: point for point, row in self._rows.items()}

    @property
    def table(self) -> Table:
        """Rewards and failures; what stands for the reward of a failure was set last by `take`."""
        for number in range(self._synced, len(self._told)):
            if number not in self._recovered:
                self._table.add(*self._told.readings[number])
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

    def recover(self, point: Point, value: float, noise: float | None) -> None:
        """Take note that a point which failed has a reward after all: the next that is told."""
        row = self._rows.pop(point)
        self._table.values[row] = value
        self._table.noises[row] = np.nan if noise is None else noise
        self._recovered.add(len(self._told))

    def threaten(self, point: Point) -> bool:
        """Return whether a point is likely to fail, if threats are heeded."""
        return self.heeded and self._is_threatened(point)

    def _is_threatened(self, point: Point) -> bool:
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
        failed = np.zeros(len(self._table), dtype=bool)
        failed[list(self._rows.values())] = True
        failed = failed[rows]
        # (Seen from one of the places, what is close to all of them has no large coordinates.)
        there, here = known - places[0], places - places[0]
        distance = (there**2).sum(axis=1) - 2.0 * here @ there.T  # less what is the same for all
        nearest = distance[:, ~failed].min(axis=1, initial=np.inf)
        found: NDArray[np.bool_] = distance[:, failed].min(axis=1, initial=np.inf) < nearest
        return found
