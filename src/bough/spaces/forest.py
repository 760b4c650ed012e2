"""GPTS on a space: a forest of partitions, whose beliefs share a prior and take turns to ask."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero, clipped, interval, real, whole
from bough.belief.best_arm import Arm
from bough.belief.nodes import moderate
from bough.confidence import Confidence
from bough.exceptions import Exhausted
from bough.learning.learner import largest_scale
from bough.searchers.base import BOUNDS_ARE_WRONG, Searcher, check_rule, holding, new_generator
from bough.searchers.registry import check_made, make_searcher, register_domain
from bough.spaces.ensemble import Ensemble, PartitionBelief
from bough.spaces.failures import FailureRisk
from bough.spaces.parameters import Point
from bough.spaces.searcher import PartitionSearcher, SpaceCertificate, SpaceSearcher
from bough.spaces.space import Space
from bough.spaces.trials import TrialTable
from bough.spaces.trust_regions import TrustRegions

#: The default number of partitions, and the largest.
TREES, MOST_TREES = 8, 1000
#: The default scale of the confidence bounds: how much the partitions explore.
SCALE = 0.2
#: The number of different points after which the best one is evaluated a second time, once: if its
#: value is the same, there is no noise.
CHECK = 20
#: The number of evaluations between repetitions of the best point, if there is noise.
AGAIN = 10
#: One point of this many is chosen by a partition, the others by a trust region.
CYCLE = 3
#: The number of random points that are tried in a cell, before all points are looked through.
ATTEMPTS = 20
#: The chance to explore an option with parameters of its own, for each option that has a better
#: reward; once it has this many rewards for each parameter, and as many more.
EXPLORED, ENOUGH = 0.8, 2
#: The number of best trust regions whose centers may be recommended.
BEST_REGIONS = 2


class Forest(SpaceSearcher):
    """Optimize over a space by exact Gaussian-process beliefs about several partitions of it.

    Parameters
    ----------
    space : Space
    noise : float, optional
        The standard deviation of a reward; by default it is fitted, and the best point is evaluated
        a second time to detect noise. With 0 no point is evaluated twice.
    point : "random" or "centre"
        The point of a cell that is evaluated.
    trees : int
        The number of partitions.
    confidence : Confidence
        The confidence bounds: `scale` multiplies the exploration, `delta` is the certificate's.
    bounds : pair of float, optional
        Known bounds of the expected reward, which the certificate respects; an end may be None.
    rng : int or numpy.random.Generator
        The seed.

    Attributes
    ----------
    trials : TrialTable
        The evaluations so far, to be read only.

    Examples
    --------
    >>> import bough
    >>> space = bough.Space(x=bough.Float(-1, 1), kind=bough.Choice(["square", "line"]))
    >>> search = bough.Forest(space, rng=0)
    >>> for _ in range(60):
    ...     params = search.ask()
    ...     x = params["x"]
    ...     search.tell(params, -(x**2) if params["kind"] == "square" else -1.5 - x)
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
        bounds: tuple[float | None, float | None] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"space must be a bough.Space, got {space!r}")
        if point not in ("random", "centre"):
            raise ValueError(f'point must be "random" or "centre", got {point!r}')
        if confidence is not None and not isinstance(confidence, Confidence):
            raise TypeError(f"confidence must be a bough.Confidence, got {confidence!r}")
        self.space = space
        self.trees = whole(trees, "trees", least=1, most=MOST_TREES)
        self.confidence = confidence or Confidence(scale=SCALE)
        self._given_bounds = interval(bounds, "bounds")
        self._where = point
        noise = None if noise is None else moderate(at_least_zero(noise, "noise"), "noise")
        self.trials = TrialTable(space, None if noise is None else noise > 0.0)
        self._ensemble = Ensemble(space, self.trees, self.trials, noise)
        self._learner = self._ensemble.learner
        self._risk = FailureRisk(self.trials)
        self._trust_regions = TrustRegions(space, self.trials, self._risk)
        self._feasibility: Forest | None = None  # minimizes the violation until one is feasible,
        self._feasibility_fits: list[dict[str, Any]] = []  # and its fits when it has ended
        self._asks = 0
        self._checked = False  # whether the best point was repeated, to see if there is noise
        # The numbers of rewards that are enough, of choices whose options have parameters.
        self._conditional = {
            i: [ENOUGH * (len(inner) + 1) for inner in slot.inner]
            for i, slot in enumerate(space.slots) if any(slot.inner)
        }  # fmt: skip
        self._again = CHECK  # the number of rewards at which it is repeated, if there is noise
        self._random = new_generator(rng)
        self._generator: np.random.Generator | None = None

    @property
    def _rng(self) -> np.random.Generator:
        """The NumPy generator, seeded from the small one when it is first needed."""
        if self._generator is None:
            seed = [self._random.below(2**31 - 1) for _ in range(4)]
            self._generator = np.random.default_rng(seed)
        return self._generator

    # ------------------------------------------------------------------ ask

    def ask(self) -> dict[str, Any]:
        if self._feasibility is not None:
            params = self._feasibility.ask()
            self.trials.pend(self.space.point(params))
            return params
        point = self._repetition()
        if point is None:
            point = self._choose()
        self.trials.pend(point)
        return self.trials.params_of(point)

    def _repetition(self) -> Point | None:
        """Return the best point, if it is time to evaluate it again: it may be best by luck."""
        trials = self.trials
        if trials.noisy and len(trials) >= self._again:
            self._again = len(trials) + AGAIN
            best = self._best_point("lower")
            return None if best in trials.pending.values() else best
        if trials.noisy is not None or self._checked:
            return None
        if len(trials.observed) < max(min(CHECK, self.space.size - len(trials.failed)), 1):
            return None
        self._checked = True
        return trials[trials.best].point

    def _choose(self) -> Point:
        """Return a point: two of three from a trust region, the others by a partition."""
        self._asks += 1
        self._risk.draw(self._rng)
        point = region = None
        if self._asks % CYCLE != 1:
            point, region = self._trust_regions.propose(self._noise, self._is_new, self._rng)
        if point is None or not self._is_new(point):
            point = self._in_cell()
            if self._has_poor_option(point):  # one of a trust region instead
                other, region = self._trust_regions.propose(self._noise, self._is_new, self._rng)
                point = point if other is None else other
        # (The params of a point may have another point, by rounding.)
        params = self.space.params(point)
        point = self.space.point(params)
        self.trials.keep_params(point, params)
        if region is not None:
            self._trust_regions.asked_by[point] = region
        return point

    def _has_poor_option(self, point: Point) -> bool:
        """Return, at random, whether an option with parameters is too poor to be explored.

        Beliefs are slow to tell that an option has been explored: to them the cells of all options
        vary alike at the same depth. So the chance to explore an option falls with its rank by the
        best reward, once it has some rewards for each of its parameters.
        """
        for slot, enough in self._conditional.items():
            option = point[slot]
            if option is not None:
                best, counts = self.trials.best_values(slot)
                better = (best > best[int(option)]) & (counts > 0)
                chance = EXPLORED ** int(better.sum())
                if counts[int(option)] >= enough[int(option)] and self._rng.random() >= chance:
                    return True
        return False

    @property
    def turn(self) -> int:
        """The index of the partition whose turn it is to ask."""
        return self._asks // CYCLE % self.trees

    @property
    def _noise(self) -> float:
        """The standard deviation of rewards, as far as is known."""
        return self._ensemble.settings.noise if self.trials.noisy else 0.0

    def _is_new(self, point: Point) -> bool:
        """Return whether evaluating a point would be informative."""
        if point in self.trials.pending.values() or point in self.trials.failed:
            return False
        return self.trials.noisy is True or point not in self.trials.observed

    def _in_cell(self) -> Point:
        """Return a point of the cell with the highest upper confidence bound."""
        trials, penalized = self.trials, self._risk.penalized
        found = self._ensemble.belief(self.turn, self._rng, penalized=penalized)
        # (The numbers of failures are negative.)
        failed = {} if penalized else {point: ~row for point, row in trials.failed.items()}
        found.set_pending(failed | trials.pending_numbers())
        plays = len(trials) + len(trials.failed) + len(trials.pending)
        sqrt_beta = self.confidence.sqrt_beta(plays + 1, found.belief.tree.log_arms or 0.0)
        path = found.belief.highest_upper(sqrt_beta, rng=self._random).path
        # The largest cell around this arm that has no node yet.
        cell = found.partition.cell(path[: found.belief.explored_steps(path) + 1])
        if self._where == "centre":
            point = self.space.center(cell)
            if self._is_new(point):
                return point
        for _ in range(ATTEMPTS):
            point = self.space.random_point(self._rng, cell.ranges)
            if self._is_new(point) and not self._risk.excludes(point):
                return point
        for _ in range(ATTEMPTS):  # anywhere, since the cell has nothing better
            point = self.space.random_point(self._rng)
            if self._is_new(point):
                return point
        return self._any_new_point()

    def _any_new_point(self) -> Point:
        """Return the first point that is new; raise `Exhausted` if there is none."""
        failed = self.trials.failed
        if self.space.size < math.inf:
            for point in self.space.points():
                if self._is_new(point):
                    return point
            if not self.trials.noisy or len(failed) == self.space.size:
                pending = len(self.trials.pending)
                raise Exhausted(
                    f"all {self.space.size:,} points are known after {self.observations} "
                    "observations"
                    + (f", or failed ({len(failed)})" if failed else "")
                    + (f" and {pending} pending ones" if pending else "")
                )
        point = self.space.random_point(self._rng)
        if point in failed:  # one that is pending already is better
            return next(p for p in self.space.points() if p not in failed)
        return point

    # ------------------------------------------------------------------ tell

    def tell(self, params: Mapping[str, Any], value: float, *, noise: float | None = None) -> None:
        self._observe(params, value, noise)

    def _observe(
        self,
        params: Mapping[str, Any],
        value: float,
        noise: float | None,
        *,
        predicted: bool = False,
        constraints: Sequence[float] = (),
    ) -> None:
        trials = self.trials
        point = self.space.point(params)
        reward = moderate(real(value, "value"), "value")
        if noise is not None:
            noise = moderate(at_least_zero(noise, "noise"), "noise")
        trials.settle(point)
        trials.keep_params(point, params)
        self._risk.record(point, failed=False)
        recovered, was_noisy = point in trials.failed, trials.noisy
        row = trials.observe(point, reward, noise, predicted=predicted)
        if constraints:
            trials.constrain(reward, constraints)
        if self._feasibility is not None:
            self._feasibility_fits, self._feasibility = self._feasibility.fits(), None
        if recovered:
            self._ensemble.replace_penalized()
        if trials.noisy and not was_noisy and len(trials.observed[point]) > 1:
            self._ensemble.restart_with_noise(self._rng)
        self._trust_regions.observe(row, self._noise)
        self._ensemble.refit_if_due(reward, self._rng)

    def prune(self, params: Mapping[str, Any], value: float, *, noise: float | None = None) -> None:
        """Record a reward that is predicted, since the evaluation was stopped before its end.

        It counts as an observation, but does not show whether rewards have noise.
        """
        self._observe(params, value, noise, predicted=True)

    def tell_constrained(
        self,
        params: Mapping[str, Any],
        value: float | None,
        constraints: Sequence[float],
        *,
        noise: float | None = None,
    ) -> None:
        """Record the values of constraints: the params are feasible if all are at most 0.

        Others are treated as failed, and the values of the constraints show where the feasible ones
        are. Until one is found, the search is for the smallest violation.
        """
        values = [moderate(real(one, "constraints"), "constraints") for one in constraints]
        if value is not None and max(values) <= 0.0:
            self._observe(params, value, noise, constraints=values)
            return
        reward = None if value is None else moderate(real(value, "value"), "value")
        point = self.space.point(params)
        if not len(self.trials) and self._feasibility is None:
            self._feasibility = Forest(self.space, noise=0.0, rng=int(self._rng.integers(2**31)))
            self._share_recorded_fits()
            for other in self.trials.pending.values():
                self._feasibility.pend(self.trials.params_of(other))
        if self._feasibility is not None:
            self._feasibility.tell(params, -violation(values))
        self._fail(point, params)
        if self.trials.failed.get(point) == self.trials.ended - 1:
            self.trials.constrain(reward, values)

    def fits(self, start: int = 0) -> list[dict[str, Any]]:
        if self._feasibility is not None:
            return self._feasibility.fits(start)
        first = self._feasibility_fits
        return [*first[start:], *super().fits(max(start - len(first), 0))]

    def replay_fits(self, fits: Iterable[Mapping[str, Any]] | None) -> None:
        super().replay_fits(fits)
        self._share_recorded_fits()

    def _share_recorded_fits(self) -> None:
        """Have the search for a feasible point take the recorded fits that are due."""
        if self._feasibility is not None:
            self._feasibility._ensemble.learner.recorded = self._ensemble.learner.recorded

    def refit(self) -> None:
        self._ensemble.refit(self._rng)

    def pend(self, params: Mapping[str, Any]) -> None:
        """Count params as asked for: their evaluation has begun elsewhere."""
        self.trials.pend(self.space.point(params))
        if self._feasibility is not None:
            self._feasibility.pend(params)

    def fail(self, params: Mapping[str, Any]) -> None:
        """Record that the evaluation of params failed, and avoid their neighborhood.

        They are not proposed again, and do not count as an observation. If the same params have
        been observed before, the failure is attributed to chance. The params need not come from
        `ask`.
        """
        point = self.space.point(params)
        if self._feasibility is not None:
            self._feasibility.fail(params)
        self._fail(point, params)

    def _fail(self, point: Point, params: Mapping[str, Any]) -> None:
        self.trials.settle(point)
        self.trials.keep_params(point, params)
        self._risk.record(point, failed=True)
        self._trust_regions.fail(point)
        if point not in self.trials.observed and point not in self.trials.failed:
            self._ensemble.fail(point)

    def forget(self, params: Mapping[str, Any]) -> None:
        """Drop a pending evaluation of the params, the oldest if there are several.

        It is as if they had not been asked for. If the evaluation has failed, call `fail` instead.
        """
        point = self.space.point(params)
        if point not in self.trials.pending.values():
            raise ValueError(
                f"params {params!r} are not pending: they were observed or never asked for"
            )
        if self._feasibility is not None:
            self._feasibility.forget(params)
        self.trials.settle(point)
        self.trials.drop_params(point)
        self._trust_regions.asked_by.pop(point, None)

    # ------------------------------------------------------------------ recommendation

    @property
    def observations(self) -> int:
        return len(self.trials)

    @property
    def pending(self) -> tuple[dict[str, Any], ...]:
        return tuple(map(self.trials.params_of, self.trials.pending.values()))

    def best(self, rule: str | None = None) -> Arm:
        check_rule(rule)
        trials = self.trials
        if not len(trials):
            raise ValueError("no observations yet: call tell() before best()")
        if rule is None:
            rule = "lower" if trials.noisy else "observed"
        point = self._best_point(rule)
        values = [trials[row].value for row in trials.observed[point]]
        mean, std = self._posterior(point)
        spread = std * self.deviations() if std else 0.0
        ends = (clipped(mean + way * spread, self.bounds) for way in (-1.0, 1.0))
        lower, upper = min(next(ends), mean), max(next(ends), mean)
        return Arm(
            self.space.partition.path(point), trials.params_of(point), mean, std, lower, upper,
            math.fsum(values) / len(values), len(values),
        )  # fmt: skip

    def _best_point(self, rule: str) -> Point:
        """Return the best of the observed points by a rule.

        With noise, the candidates are the best point by each belief, the centers of the best trust
        regions, and the points with the highest rewards.
        """
        trials = self.trials
        if rule == "observed":
            return trials[trials.best].point
        deviations = 1.0 if rule == "lower" else 0.0
        rows = {trials.best, *trials.highest_rows()}
        rows |= self._ensemble.best_rows(deviations, self._rng)
        rows.update(region.row for region in self._trust_regions.regions[:BEST_REGIONS])
        points = list(dict.fromkeys(trials[row].point for row in sorted(rows)))
        beliefs = [self._posterior(point) for point in points]
        scores = [mean - deviations * std for mean, std in beliefs]
        return points[scores.index(max(scores))]

    def _posterior(self, point: Point) -> tuple[float, float]:
        """Return mean and standard deviation at an observed point."""
        row = self.trials.observed[point][-1]
        if self.trials.noisy is False:
            return self.trials[row].value, 0.0
        return self._ensemble.posterior(row, self._rng)

    @property
    def bounds(self) -> tuple[float, float]:
        """The known bounds of the expected reward; infinite if rewards contradict them."""
        values = self.trials.values
        noise = 0.0 if self.trials.noisy is False else self._ensemble.settings.noise
        return holding(
            self._given_bounds, float(values.min(initial=math.inf)),
            float(values.max(initial=-math.inf)), noise,
        )  # fmt: skip

    @property
    def misfit(self) -> str | None:
        """One sentence if rewards contradict the given bounds, or None."""
        return None if self.bounds == self._given_bounds else BOUNDS_ARE_WRONG

    def deviations(self, observations: int | None = None) -> float:
        """Return the number of standard deviations in bounds that hold with probability 1 - delta.

        By the partition whose turn it is; see `GPTS.deviations`.
        """
        belief, half = self.asking.belief, self.confidence.delta / 2
        count = len(belief) if observations is None else observations
        b = Confidence(half).sqrt_beta(count + 1, belief.tree.log_arms or 0.0)
        return b * largest_scale(count - 1, half)

    @property
    def certificate(self) -> SpaceCertificate:
        """The certificate of the partition that asks next."""
        trials, found = self.trials, self.asking
        path, *ends = found.belief.bounds(self.deviations())
        bound, upper = (clipped(end, self.bounds) for end in ends)
        point = self.space.center(found.partition.cell(path))
        if trials.noisy is False and len(trials) and trials[trials.best].value >= bound:
            point, bound, _ = trials[trials.best]  # which is exact
            all_known = len(trials.observed) >= self.space.size
            upper = bound if all_known else max(upper, bound)
        return SpaceCertificate(
            path=self.space.partition.path(point), lower=bound, upper=upper, gap=upper - bound,
            delta=self.confidence.delta, conditional=True, params=trials.params_of(point),
            partition=self.turn, partitions=self.trees,
        )  # fmt: skip

    # ------------------------------------------------------------------ for figures and reports

    @property
    def asking(self) -> PartitionBelief:
        """The partition whose turn it is to ask, with the belief about it."""
        return self._ensemble.belief(self.turn, self._rng)

    @property
    def priority(self) -> NDArray[np.float64]:
        """The logarithm of the fitted relevance of each parameter, those of options included."""
        return self._ensemble.priority.copy()

    def __repr__(self) -> str:
        return f"Forest({self.space!r}: {self.observations} observations)"


def violation(constraints: Sequence[float]) -> float:
    """Return how much constraints are violated: the sum of log(1 + value) over positive values.

    The logarithm makes constraints of different scales comparable (Eriksson and Poloczek 2021).
    """
    return math.fsum(math.log1p(value) for value in constraints if value > 0.0)


def make_space_searcher(
    given: Any, space: Space, rng: Any, options: Any, plays: int | None
) -> SpaceSearcher:
    """Return `Forest`, a given searcher of spaces, or a tree searcher on `space.tree`."""
    if given is None or given == "gpts":
        return Forest(space, rng=rng, **(options or {}))
    known = isinstance(given, (Searcher, SpaceSearcher))
    made = given(space) if callable(given) and not known else given
    if isinstance(made, SpaceSearcher):
        if made.space != space:
            raise ValueError(f"the searcher is for {made.space!r}, not for {space!r}")
        check_made(rng, options)
        return made
    return PartitionSearcher(space, make_searcher(made, space.tree, rng, options, plays))


register_domain(Space, make_space_searcher)
