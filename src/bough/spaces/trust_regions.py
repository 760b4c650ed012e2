"""Trust regions: points near good ones, where a local quadratic model is highest.

Two of three points of a forest come from here. Cells of a tree have no slopes, and smooth rewards
do, so a quadratic is fitted to the rewards near a good point, and trusted in a region around it: an
ellipsoid whose shape is that of the best points nearby. It finds a local optimum in few steps, and
nothing beyond it. So there are several regions; and once the best one has nearly converged, and
always where there are choices, some steps change a single parameter of a good point (all steps, if
there are only choices): rewards often depend on parameters nearly independently, and then a value
that is good in one good point is good in another. Where there are both real and discrete numbers,
some steps hold the discrete ones and have a region of their own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import attrgetter, sub

import numpy as np
from numpy.typing import NDArray

from bough.spaces.cells import cholesky_solve, climb_quadratic, distances, quadratic_terms
from bough.spaces.failures import FailureRisk
from bough.spaces.parameters import Point
from bough.spaces.space import Space
from bough.spaces.trials import Array, TrialTable

#: The largest number of parameters of a quadratic with mixed terms.
MIXED = 10
#: The number of nearest rewards that are fitted for each coefficient: exact ones, and noisy ones.
EXACT_SHARE, NOISY_SHARE = 1.5, 6.0
#: Keeps the model from extrapolating in directions without data.
RIDGE = 1e-9

#: The ellipsoid of a region is that of the better half of the nearest points, this many for each
#: parameter; the second constant keeps it from becoming flat: its axes differ by at most the
#: inverse of its square root.
ELLIPSOID, ROUNDNESS = 5, 1e-4
#: A step shorter than this, in units of the radius, is no reason for a larger radius.
INTERIOR = 0.7

#: The radius of a region: initial, least and greatest. Coordinates are from 0 to 1.
RADIUS, LEAST, MOST = 0.2, 1e-6, 0.4
GROWTH = 1.6
#: The model of a region that was opened again ignores data that are nearer to its center than this,
#: in units of the radius: those of its last steps.
CROWDED = 0.1
#: Points nearer to a center than this belong to its region.
APART = 0.05
#: The maximum number of regions that have not converged, and of those that have.
MOST_ACTIVE, MOST_CONVERGED = 8, 40
#: Probability of choosing the best region; else of choosing the next, and so on.
FOCUS = 0.75
#: The number of random candidates for the maximum of a quadratic in a region.
CANDIDATES = 64
#: The mean number of discrete parameters that half of the candidates change, if there are more.
FEW_CHANGES = 2
#: The points on the way to a maximum that are candidates too: it may be at risk of failing.
SHARES = (1.0, 0.6, 0.3)
#: The number of candidates, the best first, that are looked through for a new point.
ATTEMPTS = 8
#: The number of times that more candidates are drawn near the best one, if there are constraints:
#: then the maximum is often on an edge.
POLISH = 4
#: The least share of the spread of the best rewards that counts as a promise of a gain.
SMALL = 1e-6
#: Noise matters where rewards differ by less than this many standard deviations.
BLURRED = 6.0
#: The least radius along a discrete parameter, in units of its spacing.
NEIGHBORS = 1.5
#: The smallest positive number to speak of.
TINY = 1e-300
#: The factor by which a region shrinks if its model promises no gain.
NO_GAIN = 0.3
#: The number of steps without a gain after which every second one goes to a random point.
MISLED = 3

#: The number of rewards below which there are no trust regions.
FEWEST = 4
#: Probability of holding the discrete numbers of a good point in a step of its region.
HOLD = 1 / 3
#: Probability of changing a choice of a good point, if there are choices.
OTHER_CHOICE = 0.2
#: Probability of changing a number of a good point, once the best region is this small.
OTHER_NUMBER, NEARLY_CONVERGED = 0.3, 0.02
#: Probability of a random number, rather than that of another good point.
ANY_NUMBER = 0.5
#: Probability that the best point is the one that is changed, and of the option with the best
#: reward if a choice is changed; else the next, and so on.
GOOD_FOCUS = 0.5
#: The share of the rewards that are good enough for a new region.
GOOD = 0.2


# ---------------------------------------------------------------------- local quadratic models

_pairs = lru_cache(maxsize=16)(np.triu_indices)


@dataclass(frozen=True)
class Quadratic:
    """A quadratic around a center, in units of a radius."""

    center: Array
    radius: Array
    coefficients: Array
    mixed: bool
    near: NDArray[np.intp]  # the rows that were fitted

    def __call__(self, coordinates: Array) -> Array:
        """Return its values at some coordinates."""
        values: Array = (
            quadratic_terms(coordinates, self.center, self.radius, self.mixed) @ self.coefficients
        )
        return values

    def maximum(self) -> Array | None:
        """Return the coordinates of its maximum, if it has one."""
        d = len(self.center)
        curvature = np.diag(-self.coefficients[d + 1 : 2 * d + 1])
        if self.mixed:
            i, j = _pairs(d, 1)
            curvature[i, j] = curvature[j, i] = -self.coefficients[2 * d + 1 :]
        step = cholesky_solve(curvature, self.coefficients[1 : d + 1])
        return None if step is None else self.center + self.radius * step


def fit_quadratic(
    coordinates: Array, values: Array, center: Array, radius: Array, *, noisy: bool
) -> Quadratic | None:
    """Fit the nearest data by weighted least squares; None if there are too few."""
    d = len(center)
    full = 1 + 2 * d + d * (d - 1) // 2
    mixed = d <= MIXED and len(coordinates) >= 1.3 * full
    wanted = full if mixed else 1 + 2 * d
    if len(coordinates) < wanted + 2:
        return None
    distance = distances(coordinates, center, radius)
    count = min(len(coordinates), int((NOISY_SHARE if noisy else EXACT_SHARE) * wanted) + 2)
    near = distance.argpartition(count - 1)[:count]
    weights = 1.0 / (1.0 + distance[near] ** 2)
    weighted = quadratic_terms(coordinates[near], center, radius, mixed) * weights[:, None]
    y = values[near]
    shift = y.sum() / count
    gram = weighted.T @ weighted
    gram.flat[:: wanted + 1] += RIDGE * gram.trace()
    coefficients = cholesky_solve(gram, weighted.T @ (weights * (y - shift)))
    if coefficients is None:  # rounding: the data are nearly all in one place
        return None
    coefficients[0] += shift
    return Quadratic(center, radius, coefficients, mixed, near)


class Ellipsoid:
    """Local coordinates: distances from a center along the axes of an ellipsoid.

    Its shape is that of the better half of the points nearest to the center, and its volume that of
    a ball of the given radius. So along a ridge or a valley it is long, and across it is short (as
    the distribution of CMA-ES). Discrete parameters remain axes of their own.

    Parameters
    ----------
    center, radius
        The center, and the radius along each parameter.
    coordinates, values
        The data.
    real
        Whether each parameter is continuous.
    """

    def __init__(
        self,
        center: Array,
        radius: Array,
        coordinates: Array,
        values: Array,
        real: NDArray[np.bool_],
    ) -> None:
        self._center, self._radius = center, radius
        self._inward = self._outward = np.eye(len(center))
        count = ELLIPSOID * (len(center) + 2)
        slots = np.flatnonzero(real)
        if len(values) < count or len(slots) < 2:
            return
        near = distances(coordinates, center, radius).argpartition(count - 1)[:count]
        good = near[values[near].argsort()[-(count // 2) :]]
        offsets = (coordinates[good] - center) / radius
        offsets /= np.maximum(np.abs(offsets).max(axis=1, keepdims=True), 1.0)  # not too far
        moments = (offsets.T @ offsets)[np.ix_(slots, slots)]
        moments.flat[:: len(slots) + 1] += ROUNDNESS * moments.trace() / len(slots) + TINY
        if len(slots) <= MIXED:
            variances, axes = np.linalg.eigh(moments)
        else:
            variances, axes = np.diag(moments), np.eye(len(slots))
        scales = np.sqrt(variances)
        scales /= np.exp(np.log(scales).mean())
        block = np.ix_(slots, slots)
        self._outward = self._inward.copy()
        self._inward[block] = axes / scales
        self._outward[block] = scales[:, None] * axes.T

    def to_local(self, coordinates: Array) -> Array:
        """Return local coordinates."""
        local: Array = ((coordinates - self._center) / self._radius) @ self._inward
        return local

    def from_local(self, local: Array) -> Array:
        """Return coordinates, moved into the space if they are outside."""
        outside = self._center + (local @ self._outward) * self._radius
        return np.minimum(np.maximum(outside, 0.0), 1.0)


def on_grid(local: Array, step: Array) -> Array:
    """Return local coordinates, rounded to multiples of the step where it is not 0."""
    discrete = np.flatnonzero(step)
    if len(discrete):
        local[:, discrete] = np.rint(local[:, discrete] / step[discrete]) * step[discrete]
    return local


def uncrowded(
    coordinates: Array, values: Array, center: Array, radius: Array
) -> tuple[Array, Array]:
    """Return the center, and the data that are not crowded around it."""
    away = distances(coordinates, center, radius)
    apart = (away >= CROWDED) | (away == 0.0)
    return coordinates[apart], values[apart]


# ---------------------------------------------------------------------- constraints


class ConstraintModels:
    """Local quadratic models of constraints, each with the scale of its values.

    Parameters
    ----------
    coordinates
        The coordinates of the trials.
    constraints
        A row for each trial with the values of the constraints, NaN where they are not known.
    center, radius
        The center and the radius of a trust region.
    """

    def __init__(
        self, coordinates: Array, constraints: Array, center: Array, radius: Array
    ) -> None:
        self._models: list[tuple[Quadratic | None, float]] = []
        for values in constraints.T:
            known = ~np.isnan(values)
            if known.any():
                values = values[known]
                model = fit_quadratic(coordinates[known], values, center, radius, noisy=False)
                self._models.append((model, float(values.std()) or 1.0))

    @property
    def are_known(self) -> bool:
        """Whether there are enough data for a model of each constraint."""
        return all(model is not None for model, _ in self._models)

    def feasible(self, coordinates: Array) -> Array:
        """Return the coordinates that satisfy all models; if there are none, the nearest to it."""
        violation = np.zeros(len(coordinates))
        for model, scale in self._models:
            assert model is not None
            violation += np.maximum(model(coordinates), 0.0) / scale
        least = violation.argmin()
        return coordinates[violation == 0.0] if violation[least] == 0.0 else coordinates[[least]]


# ---------------------------------------------------------------------- regions


@dataclass(eq=False)
class TrustRegion:
    """A good point, and the radius within which its local model is trusted."""

    kind: Point  # the choices of its points, and their discrete numbers if these are held
    center: list[float]
    row: int  # of the observation at the center
    value: float
    radius: float = RADIUS
    held: bool = False
    moved: bool = False  # since it was opened
    opened_again: bool = False
    failures: int = 0  # steps without a gain since the last one with a gain
    reach: float = 1.0  # the length of the last step, in units of the radius

    @property
    def converged(self) -> bool:
        """Whether it is so small that there is nothing more to gain."""
        return self.radius <= LEAST

    def distance(self, coordinates: list[float]) -> float:
        """Return the maximum-norm distance of coordinates from the center."""
        return max(map(abs, map(sub, coordinates, self.center)), default=0.0)

    def move(self, coordinates: list[float], row: int, value: float) -> None:
        """Move the center to a better point."""
        self.center, self.row, self.value = coordinates, row, value
        self.moved = True

    def open_again(self) -> None:
        """Start again from the center with the initial radius."""
        self.radius, self.failures = RADIUS, 0
        self.moved, self.opened_again = False, True

    def resize(self, *, success: bool) -> None:
        """Grow after a long step with a gain, and shrink after one without."""
        self.failures = 0 if success else self.failures + 1
        if not success:
            self.radius = max(self.radius * 0.5 ** (1.0 / max(len(self.center), 2)), LEAST)
        elif self.reach >= INTERIOR:
            self.radius = min(self.radius * GROWTH, MOST)

    def propose(
        self,
        coordinates: Array,
        values: Array,
        spacing: Array,
        noise: float,
        rng: np.random.Generator,
        safe: Callable[[Array], Array],
        *,
        polish: int = 0,
        feasible: tuple[Array, Array] | None = None,
    ) -> tuple[Array, int | None]:
        """Return candidates, the one where the local model is highest first.

        If there is noise, also return the index of the best of the data by the model. The data are
        all observations of the same kind; `spacing` is that of discrete values along each
        parameter, and 0 for real ones; and `safe` returns the coordinates that are not at risk of
        failing, or are expected to be feasible. `polish` is the number of times that more
        candidates are drawn, each time nearer to the best one. `feasible` has the coordinates and
        values that shape the ellipsoid, if the data contain infeasible ones.
        """
        center = np.array(self.center)
        radius = np.maximum(self.radius, NEIGHBORS * spacing)
        shaping = feasible or (coordinates, values)
        if self.opened_again and noise == 0.0:
            coordinates, values = uncrowded(coordinates, values, center, radius)
            shaping = uncrowded(*shaping, center, radius)
        frame = Ellipsoid(center, radius, *shaping, spacing == 0.0)
        step = spacing / radius
        candidates = on_grid(rng.uniform(-1.0, 1.0, (CANDIDATES, len(center))), step)
        discrete = np.flatnonzero(step)
        if len(discrete) > FEW_CHANGES:
            half = CANDIDATES // 2
            changed = rng.random((half, len(discrete))) < FEW_CHANGES / len(discrete)
            candidates[half:, discrete] *= changed
        local = frame.to_local(coordinates)
        origin, unit = np.zeros(len(center)), np.ones(len(center))
        model = fit_quadratic(local, values, origin, unit, noisy=False)
        self.reach = 1.0
        # A model that fails repeatedly needs other data than those at its maxima.
        misled = noise == 0.0 and self.failures >= MISLED and self.failures % 2 == 1
        if model is None or misled:
            return safe(frame.from_local(candidates[::-1]))[:ATTEMPTS], None
        noisy = noise > 0.0 and float(np.ptp(model(candidates))) < BLURRED * noise
        if noisy:
            model = fit_quadratic(local, values, origin, unit, noisy=True) or model
        starts = [origin, candidates[model(candidates).argmax()]]
        maximum = model.maximum()
        if maximum is not None:
            starts.append(np.minimum(np.maximum(maximum, -1.0), 1.0))
        tops = [
            climb_quadratic(model.coefficients, model.mixed, start, -unit, unit, step)
            for start in starts
        ]
        on_the_way = [share * top for share in SHARES for top in tops]
        candidates[: len(on_the_way)] = on_grid(np.array(on_the_way), step)
        found = safe(frame.from_local(candidates))
        if not len(found):
            return found, None
        candidates = frame.to_local(found)
        fitted = model(candidates)
        for i in range(1, polish + 1):
            top = candidates[fitted.argmax()]
            near = top + 0.5**i * rng.uniform(-1.0, 1.0, (CANDIDATES, len(center)))
            near = on_grid(np.minimum(np.maximum(near, -1.0), 1.0), step)
            found = safe(frame.from_local(np.concatenate([top[None], near])))
            candidates = frame.to_local(found)
            fitted = model(candidates)
        order = (-fitted).argsort()[:ATTEMPTS]
        if len(found) == CANDIDATES:  # else the model's maximum may be at risk, and the step short
            self.reach = float(np.abs(candidates[order[0]]).max())
        if noise == 0.0:
            best = min(2 * len(center) + 2, len(values))
            spread = self.value - float(np.partition(values, -best)[-best])
            if fitted[order[0]] - model.coefficients[0] < SMALL * spread:
                self.radius *= NO_GAIN
        highest = None
        if noisy:
            inside = model.near[(np.abs(local[model.near]) <= 1.0).all(axis=1)]
            if len(inside):
                fitted = model(local[inside])
                highest = int(inside[fitted.argmax()])
                self.value = float(fitted.max())
        return found[order], highest


# ---------------------------------------------------------------------- all regions of a search


class TrustRegions:
    """Trust regions around good points, the best first, and the points to try next.

    Attributes
    ----------
    regions
        The regions, the best first.
    asked_by
        The region that asked for each point that is being evaluated for one.
    """

    def __init__(self, space: Space, trials: TrialTable, risk: FailureRisk) -> None:
        self._space = space
        self._trials = trials
        self._risk = risk
        self.regions: list[TrustRegion] = []
        self.asked_by: dict[Point, TrustRegion] = {}
        self._held: dict[Point, TrustRegion] = {}  # regions with discrete numbers held, by kind
        self._good = -math.inf  # the least reward that is good enough for a new region

    # ------------------------------------------------------------------ points to try

    def propose(
        self, noise: float, is_new: Callable[[Point], bool], rng: np.random.Generator
    ) -> tuple[Point | None, TrustRegion | None]:
        """Return a point to try, and the region that asks for it; None if there is none.

        `is_new` returns whether evaluating a point would be informative.
        """
        count = len(self._trials)
        if self.regions and self._trials.are_constrained:  # infeasible points are modeled, too
            count = self._trials.ended
        if count < FEWEST:
            return None, None
        if self._trials.choices and (not self.regions or rng.random() < OTHER_CHOICE):
            point: Point | None = self._with_another_choice(rng)
        elif region := self._choose(rng):
            if self._trials.is_mixed and rng.random() < HOLD:
                region = self._holding(region)
            point = self._maximum_in(region, noise, is_new, rng)
            if point is not None:
                return point, region
            region.resize(success=False)
            return None, None
        else:
            point = self._with_another_number(rng)
        return None if point is None or self._risk.excludes(point) else point, None

    def _choose(self, rng: np.random.Generator) -> TrustRegion | None:
        """Return a region that has not converged, most often the best; None for another number.

        If all have converged, the best one that has moved since it was opened is opened again.
        """
        active = [region for region in self.regions if not region.converged]
        if not active:
            # A kink or a narrow valley makes a region converge before its center is an optimum.
            again = next((region for region in self.regions if region.moved), None)
            if again is not None:
                again.open_again()
            return again
        if self.regions[0].radius < NEARLY_CONVERGED and rng.random() < OTHER_NUMBER:
            return None
        rank = int(rng.geometric(FOCUS)) - 1
        return active[min(rank, len(active) - 1)]

    def _maximum_in(
        self,
        region: TrustRegion,
        noise: float,
        is_new: Callable[[Point], bool],
        rng: np.random.Generator,
    ) -> Point | None:
        """Return the new point of a region where its model is highest; None if there is none."""
        trials = self._trials
        center, held = trials[region.row].point, region.held
        active = trials.active(center, held=held)
        rows, coordinates, values = trials.alike(center, held=held)
        spacing = np.array([trials.spacing(i, center[i]) for i in active])
        safe: Callable[[Array], Array] = partial(self._risk.safe, center, held=held)
        polish, feasible = 0, None
        constrained = trials.constrained(center, held=held)
        if constrained is not None:
            everywhere, outcomes = constrained
            radius = np.maximum(region.radius, spacing)
            models = ConstraintModels(everywhere, outcomes[:, 1:], np.array(region.center), radius)
            if models.are_known:
                safe, polish = models.feasible, POLISH
            if noise == 0.0:  # else the center moves to the best of the data
                feasible = coordinates, values
                measured = ~np.isnan(outcomes[:, 0])
                coordinates, values = everywhere[measured], outcomes[measured, 0]
        found, best = region.propose(
            coordinates, values, spacing, noise, rng, safe, polish=polish, feasible=feasible
        )
        if best is not None:
            region.row = int(rows[best])
            region.center = trials.coordinates_of(trials[region.row].point, held=held)
        parameters = [self._space.slots[i].parameter for i in active]
        point = list(center)
        for candidate in found.tolist():
            for i, parameter, u in zip(active, parameters, candidate, strict=True):
                point[i] = u if parameter.count is None else parameter.index_at(u)
            if is_new(tuple(point)):
                return tuple(point)
        return None

    def _holding(self, region: TrustRegion) -> TrustRegion:
        """Return the region with the same center whose discrete numbers are held, if any."""
        trials = self._trials
        point = trials[region.row].point
        center = trials.coordinates_of(point, held=True)
        if not center:
            return region
        kind = trials.kind(point, held=True)
        found = self._held.get(kind)
        if found is None:
            found = TrustRegion(kind, center, region.row, region.value, held=True)
            self._held[kind] = found
            if len(self._held) > MOST_CONVERGED:
                del self._held[min(self._held, key=lambda kind: self._held[kind].value)]
        elif region.value > found.value:
            found.move(center, region.row, region.value)
        return region if found.converged else found

    def _good_point(self, rng: np.random.Generator) -> Point:
        """Return the center of a region, most often of the best one."""
        rank = min(int(rng.geometric(GOOD_FOCUS)), len(self.regions)) - 1
        return self._trials[self.regions[rank].row if rank >= 0 else self._trials.best].point

    def _with_another_number(self, rng: np.random.Generator) -> Point | None:
        """Return a good point with one number of another good point, or a random one."""
        point = self._good_point(rng)
        active = self._trials.active(point)
        if not active:
            return None
        slot = active[int(rng.integers(len(active)))]
        if rng.random() < ANY_NUMBER:
            fixed = {**dict(enumerate(point)), slot: None}
            return self._space.random_point(rng, fixed=fixed)
        other = self._trials[self.regions[int(rng.integers(len(self.regions)))].row].point
        if other[slot] is None:
            return None
        return (*point[:slot], other[slot], *point[slot + 1 :])

    def _with_another_choice(self, rng: np.random.Generator) -> Point:
        """Return a good point with another option of one choice, most often a good one."""
        point = self._good_point(rng)
        slots = self._space.slots
        active = [i for i in self._trials.choices if point[i] is not None]
        made = [i for i in active if slots[i].parameter.count != 1]
        if not made:
            return self._space.random_point(rng)
        slot = made[int(rng.integers(len(made)))]
        best, _ = self._trials.best_values(slot)
        others = np.flatnonzero(np.arange(len(best)) != point[slot])
        order = others[(-best[others]).argsort(kind="stable")]
        other = order[min(int(rng.geometric(GOOD_FOCUS)), len(order)) - 1]
        return self._space.random_point(rng, fixed={**dict(enumerate(point)), slot: int(other)})

    # ------------------------------------------------------------------ outcomes

    def fail(self, point: Point) -> None:
        """Record that an evaluation failed, which tells nothing about the local model."""
        self.asked_by.pop(point, None)

    def observe(self, row: int, noise: float) -> None:
        """Record an observation, given the standard deviation of rewards."""
        point, reward, _ = self._trials[row]
        region = self.asked_by.pop(point, None)
        coordinates = self._trials.coordinates_of(point)
        if region is None:
            self._update_threshold()
            self._add(row, self._trials.kind(point), coordinates, reward)
            return
        gain = reward - region.value
        region.resize(success=gain > 0.0)
        if gain > noise:
            if region.held:
                region.move(self._trials.coordinates_of(point, held=True), row, reward)
                self._add(row, self._trials.kind(point), coordinates, reward)
            else:
                region.move(coordinates, row, reward)
            self._sort()

    def _add(self, row: int, kind: Point, coordinates: list[float], value: float) -> None:
        """Move the region of a reward that no region asked for there, or make a new one."""
        alike = [region for region in self.regions if region.kind == kind]
        for region in alike:
            distance = region.distance(coordinates)
            if distance <= max(APART, region.radius):
                if value > region.value:
                    region.move(coordinates, row, value)
                    region.radius = max(region.radius, distance)
                return
        if (not alike or value >= self._good) and coordinates:
            self.regions.append(TrustRegion(kind, coordinates, row, value))
            self._sort()
            self._drop([region for region in self.regions if not region.converged], MOST_ACTIVE)
            self._drop([region for region in self.regions if region.converged], MOST_CONVERGED)

    def _sort(self) -> None:
        self.regions.sort(key=attrgetter("value"), reverse=True)

    def _drop(self, some: list[TrustRegion], most: int) -> None:
        """If there are too many, drop the worst of those whose choices a better one has."""
        if len(some) <= most:
            return
        kinds = [region.kind for region in some]
        recurring = (region for region in reversed(some) if kinds.count(region.kind) > 1)
        self.regions.remove(next(recurring, some[-1]))

    def _update_threshold(self) -> None:
        """Compute now and then which rewards are good."""
        count = len(self._trials)
        if count & (count - 1) == 0 or count % 50 == 0:
            values = self._trials.values
            rank = int((1 - GOOD) * (count - 1))
            self._good = float(np.partition(values, rank)[rank])
