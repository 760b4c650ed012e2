"""Points near good ones: where a quadratic is highest, or with one parameter changed.

Every second point of a forest comes from here. A quadratic finds the top of a hill in few steps,
and nothing beyond it. So once the best hill is climbed, and always where there are choices, some
steps change a single parameter of a good point: rewards often depend on parameters one by one, or
nearly so, and then what is good in one good point is good in another.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from bough.spaces.drawing import drawn
from bough.spaces.forest.failures import Failures
from bough.spaces.forest.regions import SMALL, Region, Regions, propose
from bough.spaces.forest.told import Told
from bough.spaces.slots import Point
from bough.spaces.space import Space

#: So many rewards are needed before anything can be refined.
FEWEST = 4
#: How often a good point is tried with another choice, if there are choices.
OTHER_CHOICE = 0.2
#: How often it is tried with another number, once the region of the best point is so small.
OTHER_NUMBER, CLIMBED = 0.3, 0.02
#: How often the other number is any, and not that of another good point.
ANY_NUMBER = 0.5
#: How often the best point is the one that is changed; of the others the next one, and so on.
FOCUS = 0.5
#: Rewards among the best of this share may be centres of new regions.
GOOD = 0.2
#: So many of the last rewards are looked at to refine a region.
POOL = 2000


class Refining:
    """Regions around good points, and the steps that are tried from there.

    Parameters
    ----------
    space
    told
        All that was told.
    failures
        What failed.
    """

    def __init__(self, space: Space, told: Told, failures: Failures) -> None:
        self.space = space
        self._told = told
        self._failures = failures
        self.regions = Regions()
        self._asked_by: dict[Point, Region] = {}
        self._spread = 0.0  # the standard deviation of rewards, now and then
        self._good = -math.inf

    # ------------------------------------------------------------------ steps

    def point(
        self, noise: float, is_new: Callable[[Point], bool], numbers: np.random.Generator
    ) -> tuple[Point | None, Region | None]:
        """Return a point to try, and the region that asks for it; None if there is none.

        Parameters
        ----------
        noise
            The standard deviation of rewards.
        is_new
            Whether there is something to learn at a point.
        numbers
            Where chance comes from.
        """
        if len(self._told) < FEWEST:
            return None, None
        if self._told.table.choices and numbers.random() < OTHER_CHOICE:
            return self._safe(self._with_another_choice(numbers)), None
        if self._is_climbed() and numbers.random() < OTHER_NUMBER:
            return self._safe(self._with_another_number(numbers)), None
        region = self.regions.choose(numbers)
        if region is None:
            return self._safe(self._with_another_number(numbers)), None
        point = self._top_of(region, noise, numbers)
        if point is not None and is_new(point):
            return point, region
        region.learn(False)
        return None, None

    def _safe(self, point: Point | None) -> Point | None:
        """Return a point, or None if it is likely to fail."""
        return None if point is None or self._failures.threaten(point) else point

    def _is_climbed(self) -> bool:
        best = self.regions.all[0] if self.regions.all else None
        return best is not None and best.radius < CLIMBED

    def _top_of(self, region: Region, noise: float, numbers: np.random.Generator) -> Point | None:
        """Return where in a region a quadratic is highest; None if all of it is likely to fail."""
        table = self._told.table
        centre = self._told.readings[region.number].point
        active = table.active(centre)
        rows, places, values = table.alike(centre, POOL)
        least = np.array([table.stretch(i, centre[i]) for i in active])
        fails = partial(self._failures.are_nearer, centre) if self._failures.heeded else None
        small = SMALL * self._spread
        place, best = propose(region, places, values, least, noise, small, numbers, fails)
        if place is None:
            return None
        if best is not None:
            region.number = int(rows[best])
            region.centre = table.place(region.number)
        point = list(centre)
        for i, u in zip(active, place.tolist(), strict=True):
            parameter = self.space._slots[i].parameter
            point[i] = u if parameter.count is None else parameter.index_at(u)  # type: ignore[union-attr]
        return tuple(point)

    def _good_point(self, numbers: np.random.Generator) -> Point:
        """Return the centre of a region: most often the best one."""
        rank = min(int(numbers.geometric(FOCUS)), len(self.regions.all)) - 1
        number = self.regions.all[rank].number if rank >= 0 else self._told.best
        return self._told.readings[number].point

    def _with_another_number(self, numbers: np.random.Generator) -> Point | None:
        """Return a good point with one number taken from another good one, or drawn."""
        point = self._good_point(numbers)
        active = self._told.table.active(point)
        if not active:
            return None
        slot = active[int(numbers.integers(len(active)))]
        if numbers.random() < ANY_NUMBER:
            return drawn(self.space, numbers, None, {**dict(enumerate(point)), slot: None})
        good = self.regions.all
        other = self._told.readings[good[int(numbers.integers(len(good)))].number].point
        if other[slot] is None:
            return None
        return (*point[:slot], other[slot], *point[slot + 1 :])

    def _with_another_choice(self, numbers: np.random.Generator) -> Point:
        """Return a good point with one choice made otherwise."""
        point = self._good_point(numbers)
        slots = self.space._slots
        made = [
            i for i in self._told.table.choices
            if point[i] is not None and slots[i].parameter.count != 1
        ]  # fmt: skip
        if not made:
            return drawn(self.space, numbers)
        slot = made[int(numbers.integers(len(made)))]
        count = slots[slot].parameter.count or 0
        other = (int(point[slot] or 0) + 1 + int(numbers.integers(count - 1))) % count
        return drawn(self.space, numbers, None, {**dict(enumerate(point)), slot: other})

    # ------------------------------------------------------------------ rewards

    def expect(self, point: Point, region: Region) -> None:
        """Take note that a point is evaluated which a region asked for."""
        self._asked_by[point] = region

    def forget(self, point: Point) -> None:
        """Take note that it is not evaluated after all."""
        self._asked_by.pop(point, None)

    def fail(self, point: Point) -> None:
        """Take note that it failed: whoever asked for it went too far."""
        region = self._asked_by.pop(point, None)
        if region is not None:
            region.learn(False)

    def note(self, number: int, noise: float) -> None:
        """Take note of a reading, with the standard deviation of rewards."""
        point, reward, _ = self._told.readings[number]
        table = self._told.table
        region = self._asked_by.pop(point, None)
        place = table.place(number)
        if region is None:
            self._look_at_all()
            self.regions.note(number, table.kind(point), place, reward, reward >= self._good)
            return
        gain = reward - region.value
        region.learn(gain > (0.0 if self._told.noisy else SMALL * self._spread))
        if gain > noise:
            region.move(place, number, reward)
            self.regions.sort()

    def _look_at_all(self) -> None:
        """Find out how much rewards differ, and which are among the best; now and then."""
        told = len(self._told)
        if told & (told - 1) == 0 or told % 50 == 0:
            values = self._told.table.values
            self._spread = float(values.std())
            rank = int((1 - GOOD) * (told - 1))
            self._good = float(np.partition(values, rank)[rank])
