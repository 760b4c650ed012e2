"""Tables of the best of many unexplored paths: the maximum of a branching random walk."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bough.belief.maxima import table_counts

Array = NDArray[np.float64]

#: Points of the grid on which distributions are kept, for trees up to a depth of DEEP.
POINTS = 2048
DEEP = 200
#: The same for deeper ones, and where two or three digits are enough.
FEWER_POINTS = 512
#: The most unexplored children that are tabulated where the branching is a function.
MOST_UNEXPLORED = 10_000


class Spread:
    """A distribution as masses on a grid, which is laid out again when it gets too narrow.

    All masses are sums of products that are not negative, and tails are summed from their far end,
    so that even the smallest of them is right to many digits: the maximum of 5^30 paths lives where
    a single one comes once in 5^30 times.
    """

    def __init__(self, points: int, deviations: float) -> None:
        self.points = points
        self.deviations = deviations  # how far out a step is followed
        self.low = self.high = self.step = 0.0
        self.mass = np.ones(1)  # all of it at 0

    @property
    def places(self) -> Array:
        """Where the masses are."""
        return np.arange(len(self.mass), dtype=np.float64) * self.step + self.low

    def make_room(self, low: float, high: float) -> None:
        """Lay out a wider grid, unless this one is wide enough; masses go to both neighbours."""
        if self.low <= low and high <= self.high:
            return
        places, mass = self.places, self.mass
        self.low, self.high = 1.5 * low, 1.5 * high
        self.step = (self.high - self.low) / (self.points - 1)
        where = (places - self.low) / self.step
        left = np.minimum(where.astype(int), self.points - 2)
        self.mass = np.zeros(self.points)
        np.add.at(self.mass, left, mass * (1.0 - (where - left)))
        np.add.at(self.mass, left + 1, mass * (where - left))

    def add_normal(self, variance: float) -> None:
        """Add an independent normal variable."""
        if variance == 0.0:
            return
        share = (math.sqrt(variance) / self.step) ** 2  # (the square of a step may underflow)
        if share < 1.0:  # narrower than the grid: the same variance on three points
            kernel = np.array([0.5 * share, 1.0 - share, 0.5 * share])
        else:
            reach = min(math.ceil(self.deviations * math.sqrt(share)), self.points - 1)
            kernel = np.exp(-0.5 * np.arange(-reach, reach + 1) ** 2 / share)
            kernel /= kernel.sum()
        reach = len(kernel) // 2
        self.mass = np.convolve(self.mass, kernel)[reach : reach + self.points]

    def best_of(self, counts: Array) -> Array:
        """Return the masses of the highest of some independent ones, a row for each count."""
        above = np.cumsum(self.mass[::-1])[::-1] / self.mass.sum()  # that it is here or higher
        with np.errstate(divide="ignore"):
            above = -np.expm1(np.multiply.outer(counts, np.log1p(-np.minimum(above, 1.0))))
        masses: Array = above.copy()
        masses[..., :-1] -= above[..., 1:]
        return masses


def unexplored_maxima(
    increments: Array, widths: Sequence[float], most: int | None = None, points: int = POINTS
) -> tuple[Array, Array]:
    """Tabulate the best of u unexplored children of a node at each depth, relative to F there.

    That best is the maximum over u children of w + M, where w is the child's step and M the same
    for all of its own children. Its distribution is found from the bottom up. Where a node has no
    end of children, M counts as 0: it makes no sense to look further down.

    Parameters
    ----------
    increments
        v_0 .. v_D.
    widths
        The number of children of a node at depth 0 .. D-1, perhaps infinite.
    most
        The largest u to tabulate, if it is not the largest of the widths.
    points
        Of the grid.

    Returns
    -------
    mean, sd : array
        Of shape (D + 1, len(counts)), where counts = `table_counts(most)`.
    """
    if math.inf in widths:
        mean, sd = _unexplored_maxima((0.0, 1.0), (1,), MOST_UNEXPLORED, POINTS)
        steps = np.append(np.sqrt(increments[1:]), 0.0)[:, None]
        return steps * mean[0], steps * sd[0]
    variances = tuple(np.asarray(increments, dtype=np.float64).tolist())
    return _unexplored_maxima(variances, tuple(map(int, widths)), most, points)


@lru_cache(maxsize=64)  # a planner makes the same belief for every decision
def _unexplored_maxima(
    increments: tuple[float, ...], widths: tuple[int, ...], most: int | None, points: int
) -> tuple[Array, Array]:
    depth = len(increments) - 1
    counts = np.array(table_counts(max(widths, default=1) if most is None else most))
    mean, sd = np.zeros((depth + 1, len(counts))), np.zeros((depth + 1, len(counts)))
    # The best of N does not exceed its expectation by much, nor that sqrt(2 log N) deviations.
    log_arms = math.fsum(math.log(width) for width in widths) + float(np.log(counts[-1]))
    highest = math.sqrt(2.0 * log_arms) + 8.0
    spread = Spread(points if depth <= DEEP else FEWER_POINTS, highest)
    total = 0.0
    for i in range(depth - 1, -1, -1):
        total += increments[i + 1]
        if total == 0.0:
            continue
        unit = math.sqrt(total)
        spread.make_room(-8.0 * unit, highest * unit)
        spread.add_normal(increments[i + 1])
        places = spread.places
        best = spread.best_of(counts)
        mean[i] = best @ places
        sd[i] = np.sqrt(np.sum(best * (places - mean[i][:, None]) ** 2, axis=1))
        spread.mass = spread.best_of(np.array(float(widths[i])))
    return mean, sd
