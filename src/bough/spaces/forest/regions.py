"""Local refinement: regions around good points, each with a quadratic that is trusted so far.

Cells of a tree know nothing of slopes, and smooth rewards have them. So a quadratic is fitted near
a good point, and its top evaluated. There are several such regions, since the best point so far may
be near a local optimum only, or have the wrong option of a choice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import sub

import numpy as np
from numpy.typing import NDArray

from bough.spaces.forest.quadratic import fit

Array = NDArray[np.float64]

#: How far from its centre a region reaches: at first, at least, at most. Parameters range over 1.
RADIUS, LEAST, MOST = 0.2, 1e-6, 0.4
GROWTH = 1.6
#: Points nearer to a centre than this belong to its region.
APART = 0.05
#: How many regions there may be that are not spent, and all in all.
MOST_REGIONS = 8
MOST_SPENT = 40
#: How often the best region is chosen; of the others the next one, and so on.
FOCUS = 0.75
#: So many places are tried for the top of a quadratic.
TRIALS = 64
#: A gain of less than this share of the spread of rewards is none.
SMALL = 1e-6
#: Noise matters where rewards differ by less than so many times as much.
BLURRED = 6.0
#: Where no more is to be gained a region shrinks so fast.
CONVERGED = 0.3


@dataclass(eq=False)
class Region:
    """A good point, and how far around it its quadratic has proved right."""

    kind: tuple[float, ...]  # which choices were made
    centre: list[float]
    number: int  # of the reading at the centre
    value: float
    radius: float = RADIUS

    @property
    def spent(self) -> bool:
        """Whether it is so small that there is nothing more to gain."""
        return self.radius <= LEAST

    def holds(self, place: list[float]) -> bool:
        """Return whether a place belongs to it."""
        reach = max(APART, self.radius)
        for a, b in zip(place, self.centre, strict=True):  # noqa: SIM110 - `all` takes twice as long
            if not -reach <= a - b <= reach:
                return False
        return True

    def move(self, place: list[float], number: int, value: float) -> None:
        """Take a better point for the centre."""
        self.centre, self.number, self.value = place, number, value

    def learn(self, better: bool) -> None:
        """Take note whether the last step was for the better."""
        shrink = 0.5 ** (1.0 / max(len(self.centre), 2))
        self.radius = min(max(self.radius * (GROWTH if better else shrink), LEAST), MOST)


class Regions:
    """All regions of a search."""

    def __init__(self) -> None:
        self.all: list[Region] = []

    def note(
        self, number: int, kind: tuple[float, ...], place: list[float], value: float, good: bool
    ) -> None:
        """Take note of a reward that no region asked for, one of the better ones or not."""
        first = True
        for region in self.all:
            if region.kind != kind:
                continue
            first = False
            if region.holds(place):
                if value > region.value:
                    distance = max(map(abs, map(sub, place, region.centre)))
                    region.move(place, number, value)
                    region.radius = max(region.radius, distance)
                return
        if (first or good) and place:
            self.all.append(Region(kind, place, number, value))
            self.sort()
            self._drop([region for region in self.all if not region.spent], MOST_REGIONS)
            self._drop([region for region in self.all if region.spent], MOST_SPENT)

    def sort(self) -> None:
        """Put the best first."""
        self.all.sort(key=lambda region: region.value, reverse=True)

    def _drop(self, some: list[Region], most: int) -> None:
        """If there are too many, leave out the worst of those whose choices a better one has."""
        if len(some) <= most:
            return
        kinds = [region.kind for region in some]
        worst = some[-1]
        for region in reversed(some):
            if kinds.count(region.kind) > 1:
                worst = region
                break
        self.all.remove(worst)

    def choose(self, numbers: np.random.Generator) -> Region | None:
        """Return a region that is not spent: most often the best one."""
        active = [region for region in self.all if not region.spent]
        if not active:
            return None
        rank = int(numbers.geometric(FOCUS)) - 1
        return active[min(rank, len(active) - 1)]


def propose(
    region: Region,
    places: Array,
    values: Array,
    least: Array,
    noise: float,
    small: float,
    numbers: np.random.Generator,
    fails: Callable[[Array], NDArray[np.bool_]] | None = None,
) -> tuple[Array | None, int | None]:
    """Return where in a region rewards should be high; None if there is nowhere to go.

    If there is noise, also which of the places is the best by the quadratic.

    Parameters
    ----------
    region
    places, values
        Of all that was told with the same choices.
    least
        How far the region reaches at least, along each parameter: single values are so far apart.
    noise
        The standard deviation of rewards.
    small
        A gain that is none.
    fails
        Says of places whether they are likely to fail.
    """
    centre = np.array(region.centre)
    radius = np.maximum(region.radius, least)
    low = np.maximum(centre - radius, 0.0)
    high = np.minimum(centre + radius, 1.0)
    tries = low + (high - low) * numbers.random((TRIALS, len(low)))
    found = fit(places, values, centre, radius, False)
    if found is None:
        tries = _safe(tries, fails)
        return (tries[0] if len(tries) else None), None
    noisy = noise > 0.0 and float(np.ptp(found(tries))) < BLURRED * noise
    if noisy:
        found = fit(places, values, centre, radius, True) or found
    top = found.top()
    if top is not None:
        tries[-1] = np.minimum(np.maximum(top, low), high)
    tries = _safe(tries, fails)
    if not len(tries):
        return None, None
    fitted = found(tries)
    best = tries[fitted.argmax()]
    if noise == 0.0 and top is not None and float(fitted.max()) - region.value < small:
        region.radius *= CONVERGED  # there is little to gain
    highest = None
    if noisy:
        inside = found.near[(np.abs(places[found.near] - centre) <= radius).all(axis=1)]
        if len(inside):
            fitted = found(places[inside])
            highest = int(inside[fitted.argmax()])
            region.value = float(fitted.max())
    return best, highest


def _safe(places: Array, fails: Callable[[Array], NDArray[np.bool_]] | None) -> Array:
    """Return the places that are not likely to fail."""
    return places if fails is None else places[~fails(places)]
