"""GPTS on a space: a forest of coverings, which learn together and take turns to ask."""

import heapq
import math
from collections import deque
from collections.abc import Mapping
from operator import is_
from typing import Any, Literal, NamedTuple

import numpy as np

from bough._checks import at_least_zero, real, whole
from bough._choice import Arm
from bough._nodes import moderate
from bough.confidence import Confidence
from bough.learning.model import Settings
from bough.searchers.base import (
    Exhausted,
    SpaceCertificate,
    SpaceSearcher,
    check_rule,
    new_generator,
)
from bough.searchers.forest.cover import Cover, depth_of, prior_of
from bough.searchers.forest.regions import SMALL, Region, Regions, propose
from bough.searchers.forest.relevance import ratios
from bough.searchers.forest.table import Table
from bough.searchers.learner import Learner
from bough.spaces import Choice, Space
from bough.spaces.covering import Walk
from bough.spaces.drawing import NOTHING, drawn
from bough.spaces.slots import Point

#: How many coverings there are.
TREES = 8
#: Of the confidence: how much the coverings explore.
SCALE = 0.2
#: After so many different points the best one is evaluated again, once: whether its value is the
#: same says whether there is noise.
CHECK = 20
#: With noise, the best point is evaluated again once in so many evaluations.
AGAIN = 10
#: Learnt again, and all coverings made anew, when there are so many times as many rewards; and so
#: many times once there are OFTEN.
GROWTH, OFTEN, LATER_GROWTH = 1.4, 500, 2.0
#: Priorities stay in this range.
RANGE = math.log(1e4)
#: How often a good point is tried with another choice, among refinements.
MUTATIONS = 0.2
#: Rewards among the best of this share may be centres of new regions.
GOOD = 0.2
#: So many of the last rewards are looked at to refine a region.
POOL = 2000
#: How many of the highest rewards are looked at to find the best point if there is noise.
SHORT_LIST = 8
#: How often a point is drawn anew that is known already, before all points are looked through.
ATTEMPTS = 20


class Reading(NamedTuple):
    """A reward that was told."""

    point: Point
    value: float
    noise: float | None


class Forest(SpaceSearcher):
    """Optimise over a space by exact Gaussian-process beliefs about several coverings of it.

    Parameters
    ----------
    space : Space
    noise : float, optional
        The standard deviation of a reward; by default it is learnt. The best point is evaluated
        again once, to see whether there is any. With 0 no point is evaluated twice.
    point : "random" or "centre"
        Where in a cell a point is evaluated.
    trees : int
        How many coverings there are.
    confidence : Confidence
        Its `scale` multiplies the exploration, its `delta` is the certificate's.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> space = bough.Space(x=bough.Float(-1, 1), kind=bough.Choice(["square", "line"]))
    >>> search = bough.Forest(space, rng=0)
    >>> for _ in range(60):
    ...     params = search.ask()
    ...     x = params["x"]
    ...     search.tell(params, -(x**2) if params["kind"] == "square" else -1 - x)
    >>> search.best().params["kind"], abs(search.best().params["x"]) < 0.01
    ('square', True)
    """

    def __init__(
        self,
        space: Space,
        *,
        noise: float | None = None,
        point: Literal["random", "centre"] = "random",
        trees: int = TREES,
        confidence: Confidence | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"space must be a bough.Space, got {space!r}")
        if point not in ("random", "centre"):
            raise ValueError(f'point must be "random" or "centre", got {point!r}')
        if confidence is not None and not isinstance(confidence, Confidence):
            raise TypeError(f"confidence must be a bough.Confidence, got {confidence!r}")
        self.space = space
        self.trees = whole(trees, "trees", least=1)
        self.confidence = confidence or Confidence(scale=SCALE)
        self._where = point
        noise = None if noise is None else moderate(at_least_zero(noise, "noise"), "noise")
        # Whether rewards vary: True, False, or None if nobody knows yet.
        self._noisy: bool | None = None if noise is None else noise > 0.0
        self._checking: Point | None = None
        self._again = CHECK  # how many rewards there are when the best point is evaluated again
        self._random = new_generator(rng)
        self._numbers_: np.random.Generator | None = None
        # Values of a deterministic function differ within a cell like noise, so some is learnt.
        self._learner = Learner(None, noise or None, None, depth_of(space), prior_of(space))
        self._settings: Settings = self._learner.first()
        self._priority = np.array([1.5 * isinstance(s.parameter, Choice) for s in space._slots])
        self._readings: list[Reading] = []
        self._of_point: dict[Point, list[int]] = {}
        self._params: dict[Point, dict[str, Any]] = {}  # as they were asked for or told
        self._best_number = -1
        self._highest: list[tuple[float, int]] = []  # a heap of the highest rewards
        self._covers: list[Cover] = []  # made when they are first needed, and anew at times
        self._asked: deque[Point] = deque()  # pending, the oldest first
        self._numbers_of: dict[Point, deque[int]] = {}
        self._counted: dict[int, Point] = {}  # those that the coverings count, by number
        self._next_number = 0
        self._asks = 0
        self._regions = Regions()
        self._asking: Region | None = None  # which of them the last point came from
        self._asked_by: dict[Point, Region] = {}
        self._table = Table(space)
        self._spread = 0.0  # the standard deviation of rewards, now and then
        self._good = -math.inf

    # ------------------------------------------------------------------ chance, and coverings

    @property
    def _numbers(self) -> np.random.Generator:
        """The generator of real numbers, made from the small one when it is first needed."""
        if self._numbers_ is None:
            seed = [self._random.below(2**31 - 1) for _ in range(4)]
            self._numbers_ = np.random.default_rng(seed)
        return self._numbers_

    def _cover(self, turn: int) -> Cover:
        """Return a covering that knows all that was told."""
        if not self._covers:
            self._plant()
        cover = self._covers[turn]
        cover.catch_up(self._table)
        return cover

    def _plant(self) -> None:
        """Make all coverings anew, by what is known now of the parameters."""
        told = len(self._readings)
        self._covers = [
            Cover(self.space, self._priority, self._settings, self._numbers, told)
            for _ in range(self.trees)
        ]

    @property
    def _turn(self) -> int:
        """Whose turn it is to ask."""
        return self._asks // 2 % self.trees

    # ------------------------------------------------------------------ ask

    def ask(self) -> dict[str, Any]:
        """Return params to evaluate; raise `Exhausted` if nothing is left to learn."""
        self._count_pending()
        point = self._check_again()
        if point is None:
            self._asking = None
            params = self.space.params(self._choose())
            # What params are told as may differ in the last digit from where they came from.
            point = self.space.point(params)
            self._params.setdefault(point, params)
            if self._asking is not None:
                self._asked_by[point] = self._asking
        self._asked.append(point)
        return self._params_of(point)

    def _params_of(self, point: Point) -> dict[str, Any]:
        params = self._params.get(point)
        return self.space.params(point) if params is None else dict(params)

    def pend(self, params: Mapping[str, Any]) -> None:
        """Count params as asked for: somebody else has begun to evaluate them."""
        self._asked.append(self.space.point(params))

    def _count_pending(self) -> None:
        """Let the coverings count what is pending, now that more is asked for."""
        for point in self._asked:
            if point not in self._numbers_of:
                number = self._next_number
                self._next_number += 1
                self._numbers_of.setdefault(point, deque()).append(number)
                self._counted[number] = point

    def _check_again(self) -> Point | None:
        """Return the best point once more, if it is time to see whether its value is the same.

        If there is noise, that is done now and then: whatever is believed to be the best is so by
        luck, too, and only more of its values can tell how much.
        """
        told = len(self._readings)
        if self._noisy and told >= self._again:
            self._again = told + AGAIN
            best = self._best_point("lower")
            return None if best in self._asked else best
        if self._noisy is not None or self._checking is not None:
            return None
        if len(self._of_point) < min(CHECK, self.space.size):
            return None
        self._checking = self._readings[self._best_number].point
        return self._checking

    def _choose(self) -> Point:
        self._asks += 1
        point = None
        if self._asks % 2 == 0 and len(self._readings) >= 4:
            point = self._near_best()
        if point is None or not self._is_new(point):
            cover = self._cover(self._turn)
            cover.await_all(self._counted)
            point = self._in_cell(cover)
        return point

    def _is_new(self, point: Point) -> bool:
        """Return whether there is something to learn at a point that is not under way already."""
        return point not in self._asked and (self._noisy is True or point not in self._of_point)

    def _in_cell(self, cover: Cover) -> Point:
        """Return a point in the cell that a covering says is best to look into."""
        plays = len(self._readings) + len(self._asked)
        log_arms = cover.belief.tree.log_arms or 0.0
        walk = Walk(cover.covering)
        sqrt_beta = self.confidence.sqrt_beta(plays + 1, log_arms)
        walk.cells, walk.chosen = cover.placing.highest(sqrt_beta, self._random)
        point = self.space.centre(walk) if self._where == "centre" else self._drawn(walk)
        for _ in range(ATTEMPTS):
            if self._is_new(point):
                return point
            point = self._drawn(walk)
        for _ in range(ATTEMPTS):
            point = self._drawn(None)
            if self._is_new(point):
                return point
        return self._any_new_point()

    def _any_new_point(self) -> Point:
        """Return the first point that is new, if there is one."""
        if self.space.size < math.inf:
            for point in self.space.points():
                if self._is_new(point):
                    return point
            if self._noisy:
                return self._drawn(None)
            raise Exhausted(
                f"all {self.space.size:,} points are known after {self.observations} observations"
                + (f" and {len(self._asked)} pending ones" if self._asked else "")
            )
        return self._drawn(None)

    def _drawn(self, walk: Walk | None, fixed: Mapping[int, float | None] = NOTHING) -> Point:
        return drawn(self.space, self._numbers, walk, fixed)

    # ------------------------------------------------------------------ near the best point

    def _near_best(self) -> Point | None:
        """Return a point near a good one; None if there is nothing to refine."""
        if self._table.choices and self._numbers.random() < MUTATIONS:
            return self._with_another_choice()
        region = self._regions.choose(self._numbers)
        if region is None:
            return None
        centre = self._readings[region.number].point
        table, active = self._table, self._table.active(centre)
        rows, places, values = table.alike(centre, POOL)
        least = np.array([table.stretch(i, centre[i]) for i in active])
        place, best = propose(
            region, places, values, least, self._noise, SMALL * self._spread, self._numbers
        )
        if best is not None:
            region.number = int(rows[best])
            region.centre = table.places[region.number, active].tolist()
        point = list(centre)
        for i, u in zip(active, place.tolist(), strict=True):
            parameter = self.space._slots[i].parameter
            point[i] = u if parameter.count is None else parameter.index_at(u)  # type: ignore[union-attr]
        result = tuple(point)
        if self._is_new(result):
            self._asking = region
        else:
            region.learn(False)
        return result

    def _with_another_choice(self) -> Point:
        """Return a good point with one choice made otherwise."""
        rank = min(int(self._numbers.geometric(0.5)), len(self._regions.all)) - 1
        number = self._regions.all[rank].number if rank >= 0 else self._best_number
        point = self._readings[number].point
        made = [
            i for i in self._table.choices
            if point[i] is not None and self.space._slots[i].parameter.count != 1
        ]  # fmt: skip
        if not made:
            return self._drawn(None)
        slot = made[int(self._numbers.integers(len(made)))]
        count = self.space._slots[slot].parameter.count or 0
        other = (int(point[slot] or 0) + 1 + int(self._numbers.integers(count - 1))) % count
        return self._drawn(None, {**dict(enumerate(point)), slot: other})

    # ------------------------------------------------------------------ tell

    def tell(self, params: Mapping[str, Any], value: float, *, noise: float | None = None) -> None:
        """Take in the reward of params, asked for or not; again is another observation."""
        point = self._point_of(params)
        reward = moderate(real(value, "value"), "value")
        if noise is not None:
            noise = moderate(at_least_zero(noise, "noise"), "noise")
        self._settle(point)
        number = len(self._readings)
        before = self._of_point.setdefault(point, [])
        if before and self._readings[before[-1]].value != reward:
            self._noisy = True
        elif before and self._noisy is None and noise is None:
            self._noisy = False
        if noise is not None and noise > 0.0:
            self._noisy = True
        before.append(number)
        self._params.setdefault(point, dict(params))
        # (What is said to be exact still varies in its cell, like the others.)
        self._readings.append(Reading(point, reward, noise or None))
        self._table.add(point, reward, noise or None)
        heapq.heappush(self._highest, (reward, number))
        if len(self._highest) > SHORT_LIST:
            heapq.heappop(self._highest)
        better = self._best_number < 0 or reward > self._readings[self._best_number].value
        if better:
            self._best_number = number
        self._note_regions(number, point, reward)
        if self._learner.only_zeros:
            self._learner.note([reward])
        if self._learner.is_due(number + 1):
            self._learn()

    def _point_of(self, params: Mapping[str, Any]) -> Point:
        """Return where params are; those that were asked for last need no second look."""
        if self._asked and type(params) is dict:
            asked = self._params.get(self._asked[-1])
            if (
                asked is not None
                and params.keys() == asked.keys()
                and all(map(is_, params.values(), asked.values()))
            ):
                return self._asked[-1]
        return self.space.point(params)

    def _note_regions(self, number: int, point: Point, reward: float) -> None:
        region = self._asked_by.pop(point, None)
        place = self._table.places[number, self._table.active(point)].tolist()
        if region is None:
            self._spread_and_good()
            self._regions.note(number, self._table.kind(point), place, reward, reward >= self._good)
            return
        gain = reward - region.value
        region.learn(gain > (0.0 if self._noisy else SMALL * self._spread))
        if gain > self._noise:
            region.centre, region.number, region.value = place, number, reward
            self._regions.all.sort(key=lambda region: region.value, reverse=True)

    @property
    def _noise(self) -> float:
        """The standard deviation of rewards, as far as is known."""
        return self._settings.noise if self._noisy else 0.0

    def _spread_and_good(self) -> None:
        """Find out how much rewards differ, and which are among the best; now and then."""
        told = len(self._readings)
        if told & (told - 1) == 0 or told % 50 == 0:
            values = self._table.values
            self._spread = float(values.std())
            self._good = float(np.quantile(values, 1 - GOOD))

    def _learn(self) -> None:
        """Take what suits all that was told, and make the coverings anew by it."""
        told = len(self._readings)
        cover = self._cover(told % self.trees)
        self._learner.learn(cover.belief)
        self._learner.next = math.ceil(told * (GROWTH if told < OFTEN else LATER_GROWTH)) + 1
        belief = cover.belief
        self._settings = Settings(belief.kernel, belief.noise, belief.mean)
        if told >= 8:
            change = np.log(ratios(cover))
            priority = self._priority + change
            priority -= priority.mean()
            self._priority = np.clip(priority, -RANGE, RANGE)
        self._plant()

    def _settle(self, point: Point) -> None:
        """Count a pending evaluation no longer, if there is one of this point."""
        if point in self._asked:
            self._asked.remove(point)
        numbers = self._numbers_of.get(point)
        if numbers:
            number = numbers.popleft()
            del self._counted[number]
            if not numbers:
                del self._numbers_of[point]

    def forget(self, params: Mapping[str, Any]) -> None:
        """Drop a pending evaluation of the params, the oldest if there are several: it failed."""
        point = self.space.point(params)
        if point not in self._asked:
            raise ValueError(
                f"params {params!r} are not pending: they were told or never asked for"
            )
        self._settle(point)
        self._asked_by.pop(point, None)

    # ------------------------------------------------------------------ what is known

    @property
    def observations(self) -> int:
        """How many rewards were told."""
        return len(self._readings)

    @property
    def pending(self) -> tuple[dict[str, Any], ...]:
        """The params that were asked for and not yet told or forgotten, the oldest first."""
        return tuple(self._params_of(point) for point in self._asked)

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the points that were told."""
        check_rule(rule)
        if not self._readings:
            raise ValueError("nothing was told yet, so nothing is best")
        if rule is None:
            rule = "lower" if self._noisy else "observed"
        return self._arm(self._best_point(rule))

    def _best_point(self, rule: str) -> Point:
        if rule == "observed":
            return self._readings[self._best_number].point
        candidates = {self._best_number}
        covers = [self._cover(turn) for turn in range(self.trees)]
        for cover in covers:
            candidates.add(cover.placing.best_played(1.0 if rule == "lower" else 0.0))
        candidates.update(region.number for region in self._regions.all[:2])
        candidates.update(number for _, number in self._highest)
        points = list(dict.fromkeys(self._readings[number].point for number in sorted(candidates)))
        beliefs = [self._believed(point) for point in points]
        less = 1.0 if rule == "lower" else 0.0
        scores = [mean - less * std for mean, std in beliefs]
        return points[scores.index(max(scores))]

    def _arm(self, point: Point) -> Arm:
        """Return a told point as an arm."""
        numbers = self._of_point[point]
        value = math.fsum(self._readings[number].value for number in numbers) / len(numbers)
        mean, std = self._believed(point)
        params = self._params_of(point)
        spread = self._theoretical(self._cover(0)) * std if std else 0.0
        path = self.space._covering.path(point)
        return Arm(path, params, mean, std, mean - spread, mean + spread, value, len(numbers))

    def _believed(self, point: Point) -> tuple[float, float]:
        """Return mean and standard deviation of a told point, by the mixture of all coverings."""
        number = self._of_point[point][-1]
        reading = self._readings[number]
        if self._noisy is False:
            return reading.value, 0.0
        beliefs = [self._cover(turn).placing.posterior(number) for turn in range(self.trees)]
        mean = math.fsum(m for m, _ in beliefs) / len(beliefs)
        variance = math.fsum(V + (m - mean) ** 2 for m, V in beliefs) / len(beliefs)
        return mean, math.sqrt(variance)

    def _theoretical(self, cover: Cover) -> float:
        log_arms = cover.belief.tree.log_arms or 0.0
        return Confidence(self.confidence.delta).sqrt_beta(self.observations + 1, log_arms)

    @property
    def certificate(self) -> SpaceCertificate:
        """The incumbent and its gap by the covering whose turn it is to ask."""
        turn = self._turn
        cover = self._cover(turn)
        b = self._theoretical(cover)
        lower = cover.belief.highest_lower(b)
        upper = cover.belief._ceiling(b).upper
        point, bound = self.space.centre(cover.covering.cell(lower.path)), lower.lower
        best = self._readings[self._best_number] if self._readings else None
        if best is not None and self._noisy is False and best.value >= bound:
            point, bound = best.point, best.value  # which is exact
            upper = max(upper, bound)
        return SpaceCertificate(
            path=self.space._covering.path(point), lower=bound, upper=upper,
            gap=upper - bound, delta=self.confidence.delta, conditional=True,
            params=self._params_of(point), covering=turn, coverings=self.trees,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Forest({self.space!r}: {self.observations} observations)"
