"""The risk that an evaluation fails, estimated from the failures near it.

A failure is not a reward: hyperparameters, recommendations and certificates depend on the rewards
alone. Failures matter only for the choice of the next point: beliefs that penalize failures observe
a poor reward at each, and a point is *at risk* if its nearest neighbor has failed. The rate at
which points at risk do fail shows whether failures depend on the place or on chance, and so the
probability with which failures are penalized.
"""

import numpy as np
from numpy.typing import NDArray

from bough.spaces.parameters import Point
from bough.spaces.trials import Array, TrialTable

#: Steps of trust regions keep away from failures by this factor: they often end at a border.
MARGIN = 1.3


class FailureRisk:
    """The points at risk of failing.

    If failures are `penalized`, the next point is not at risk; else they are treated as pending.
    """

    def __init__(self, trials: TrialTable) -> None:
        self._trials = trials
        self.penalized = False
        self.at_risk = self.confirmed = 0  # evaluations of points at risk, and those that failed

    def record(self, point: Point, *, failed: bool) -> None:
        """Record the outcome of an evaluation, before it is added to the trials."""
        if self._is_at_risk(point):
            self.at_risk += 1
            self.confirmed += failed

    def draw(self, rng: np.random.Generator) -> None:
        """Draw whether failures are penalized for the next point.

        The probability is the rate at which points at risk failed, by Laplace's rule of succession:
        failures by chance tell nothing about their neighbors, and only trying shows which they are.
        """
        rate = (1 + self.confirmed) / (2 + self.at_risk)
        self.penalized = bool(self._trials.failed) and rng.random() < rate

    def excludes(self, point: Point) -> bool:
        """Return whether a point is at risk, and failures are penalized."""
        return self.penalized and self._is_at_risk(point)

    def _is_at_risk(self, point: Point) -> bool:
        if not self._trials.failed:
            return False
        return bool(self.are_at_risk(point, np.array([self._trials.coordinates_of(point)]))[0])

    def safe(self, point: Point, coordinates: Array, *, held: bool = False) -> Array:
        """Return the coordinates that are not at risk; all, unless failures are penalized.

        The rows of coordinates are those of points with the same choices as the given one, and
        if discrete values are held, with its discrete numbers.
        """
        if not self.penalized:
            return coordinates
        full = coordinates
        if held:
            active = self._trials.active(point)
            real = [active.index(i) for i in self._trials.active(point, held=True)]
            full = np.tile(self._trials.coordinates_of(point), (len(coordinates), 1))
            full[:, real] = coordinates
        return coordinates[~self.are_at_risk(point, full, margin=MARGIN)]

    def are_at_risk(
        self, point: Point, coordinates: Array, *, margin: float = 1.0
    ) -> NDArray[np.bool_]:
        """Return whether the nearest neighbors of some coordinates have failed.

        With a margin, also if a failure is at most that many times as far away as the nearest
        success. The rows of coordinates are those of points with the same choices as the given one.
        """
        rows, known, _ = self._trials.alike(point, failures=True)
        failed = self._trials.is_failed(rows)
        # (Relative to one of them, to avoid cancellation if all of them are close.)
        there, here = known - coordinates[0], coordinates - coordinates[0]
        distance = (there**2).sum(axis=1) - 2.0 * here @ there.T  # less a constant for each
        nearest = margin**2 * distance[:, ~failed].min(axis=1, initial=np.inf)
        nearest += (margin**2 - 1.0) * (here**2).sum(axis=1)
        found: NDArray[np.bool_] = distance[:, failed].min(axis=1, initial=np.inf) < nearest
        return found
