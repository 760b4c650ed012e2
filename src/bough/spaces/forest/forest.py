"""GPTS on a space: a forest of coverings, which learn together and take turns to ask."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero, real, whole
from bough.belief.best_arm import Arm
from bough.belief.nodes import moderate
from bough.confidence import Confidence
from bough.exceptions import Exhausted
from bough.searchers.base import check_rule, new_generator
from bough.spaces.covering import Walk
from bough.spaces.drawing import drawn
from bough.spaces.forest.cover import Cover
from bough.spaces.forest.coverings import Coverings
from bough.spaces.forest.failures import Failures
from bough.spaces.forest.pending import Pending
from bough.spaces.forest.recommending import arm_of, best_point, certificate_of
from bough.spaces.forest.refining import Refining
from bough.spaces.forest.told import Told
from bough.spaces.searcher import SpaceCertificate, SpaceSearcher
from bough.spaces.slots import Point
from bough.spaces.space import Space

#: How many coverings there are.
TREES = 8
#: Of the confidence: how much the coverings explore.
SCALE = 0.2
#: After so many different points the best one is evaluated again, once: whether its value is the
#: same says whether there is noise.
CHECK = 20
#: With noise, the best point is evaluated again once in so many evaluations.
AGAIN = 10
#: How often a point is drawn anew that is known already, before all points are looked through.
ATTEMPTS = 20


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
        self._told = Told(space, None if noise is None else noise > 0.0)
        self._failures = Failures(space, self._told)
        self._coverings = Coverings(space, self.trees, self._told, self._failures, noise)
        self._learner = self._coverings.learner
        self._refining = Refining(space, self._told, self._failures)
        self._pending = Pending()
        self._asks = 0
        self._checked = (
            False  # whether the best point was evaluated again, to see if there is noise
        )
        self._again = CHECK  # how many rewards there are when it is evaluated again, if there is
        self._random = new_generator(rng)
        self._numbers_: np.random.Generator | None = None

    @property
    def _numbers(self) -> np.random.Generator:
        """The generator of real numbers, made from the small one when it is first needed."""
        if self._numbers_ is None:
            seed = [self._random.below(2**31 - 1) for _ in range(4)]
            self._numbers_ = np.random.default_rng(seed)
        return self._numbers_

    # ------------------------------------------------------------------ ask

    def ask(self) -> dict[str, Any]:
        """Return params to evaluate; raise `Exhausted` if nothing is left to learn."""
        self._pending.number_all()
        point = self._once_more()
        if point is None:
            point = self._choose()
        self._pending.add(point)
        return self._told.params_of(point)

    def _once_more(self) -> Point | None:
        """Return the best point, if it is time to see whether its value is the same.

        If there is noise, that is done now and then: whatever is believed to be the best is so by
        luck, too, and only more of its values can tell how much.
        """
        told = self._told
        if told.noisy and len(told) >= self._again:
            self._again = len(told) + AGAIN
            best = self._best_point("lower")
            return None if best in self._pending else best
        if told.noisy is not None or self._checked:
            return None
        if len(told.of_point) < max(min(CHECK, self.space.size - len(self._failures)), 1):
            return None
        self._checked = True
        return told.readings[told.best].point

    def _choose(self) -> Point:
        """Return a point: every other one near a good one, the others as a covering asks."""
        self._asks += 1
        self._failures.heed(self._numbers)
        point = region = None
        if self._asks % 2 == 0:
            point, region = self._refining.point(self._noise, self._is_new, self._numbers)
        if point is None or not self._is_new(point):
            point = self._in_cell()
        # What params are told as may differ in the last digit from where they came from.
        params = self.space.params(point)
        point = self.space.point(params)
        self._told.keep(point, params)
        if region is not None:
            self._refining.expect(point, region)
        return point

    @property
    def turn(self) -> int:
        """Whose turn it is to ask."""
        return self._asks // 2 % self.trees

    @property
    def _noise(self) -> float:
        """The standard deviation of rewards, as far as is known."""
        return self._coverings.settings.noise if self._told.noisy else 0.0

    def _is_new(self, point: Point) -> bool:
        """Return whether there is something to learn at a point that is not under way already."""
        if point in self._pending or point in self._failures:
            return False
        return self._told.noisy is True or point not in self._told.of_point

    def _in_cell(self) -> Point:
        """Return a point in the cell that a covering says is best to look into."""
        heeded = self._failures.heeded
        cover = self._coverings.cover(self.turn, self._numbers, wary=heeded)
        awaited = self._pending.numbered
        if len(self._failures) and not heeded:
            awaited = self._failures.numbered | awaited
        cover.await_all(awaited)
        plays = len(self._told) + len(self._failures) + len(self._pending)
        sqrt_beta = self.confidence.sqrt_beta(plays + 1, cover.belief.tree.log_arms or 0.0)
        walk = Walk(cover.covering)
        walk.cells, walk.chosen = cover.placing.highest(sqrt_beta, self._random)
        if self._where == "centre":
            point = self.space.centre(walk)
            if self._is_new(point):
                return point
        for _ in range(ATTEMPTS):
            point = drawn(self.space, self._numbers, walk)
            if self._is_new(point) and not self._failures.threaten(point):
                return point
        for _ in range(ATTEMPTS):  # anywhere, as there is nothing better to try in the cell
            point = drawn(self.space, self._numbers)
            if self._is_new(point):
                return point
        return self._any_new_point()

    def _any_new_point(self) -> Point:
        """Return the first point that is new, if there is one."""
        if self.space.size < math.inf:
            for point in self.space.points():
                if self._is_new(point):
                    return point
            if not self._told.noisy or len(self._failures) == self.space.size:
                raise Exhausted(
                    f"all {self.space.size:,} points are known after {self.observations} "
                    "observations"
                    + (f", or failed ({len(self._failures)})" if len(self._failures) else "")
                    + (f" and {len(self._pending)} pending ones" if len(self._pending) else "")
                )
        point = drawn(self.space, self._numbers)
        if point in self._failures:  # one that is under way, again, is better
            return next(p for p in self.space.points() if p not in self._failures)
        return point

    # ------------------------------------------------------------------ tell

    def tell(self, params: Mapping[str, Any], value: float, *, noise: float | None = None) -> None:
        """Take in the reward of params, asked for or not; again is another observation."""
        point = self._point_of(params)
        reward = moderate(real(value, "value"), "value")
        if noise is not None:
            noise = moderate(at_least_zero(noise, "noise"), "noise")
        self._pending.settle(point)
        self._told.keep(point, params)
        self._failures.weigh(point, failed=False)
        if point in self._failures:
            self._coverings.recover(point, reward, noise)
        varied = self._told.noisy
        number = self._told.add(point, reward, noise)
        if self._told.noisy and not varied and len(self._told.of_point[point]) > 1:
            self._coverings.doubt(self._numbers)
        self._refining.note(number, self._noise)
        self._coverings.learn(reward, self._numbers)

    def _learn(self) -> None:
        """Take the prior that suits what was told."""
        self._coverings.learn_now(self._numbers)

    def _point_of(self, params: Mapping[str, Any]) -> Point:
        """Return where params are; those that were asked for last need no second look."""
        if len(self._pending) and self._told.is_of(self._pending.points[-1], params):
            return self._pending.points[-1]
        return self.space.point(params)

    def pend(self, params: Mapping[str, Any]) -> None:
        """Count params as asked for: somebody else has begun to evaluate them."""
        self._pending.add(self.space.point(params))

    def fail(self, params: Mapping[str, Any]) -> None:
        """Take note that evaluating params failed, asked for or not: what is near is avoided.

        They are not asked for again, and are no observation. Where a reward is known already it
        stays, and the failure is taken for chance.
        """
        point = self._point_of(params)
        self._pending.settle(point)
        self._told.keep(point, params)
        self._failures.weigh(point, failed=True)
        self._refining.fail(point)
        if point not in self._told.of_point and point not in self._failures:
            self._coverings.fail(point)

    def forget(self, params: Mapping[str, Any]) -> None:
        """Drop a pending evaluation of the params, the oldest if there are several.

        It is as if they had not been asked for. If the evaluation has failed, say so by `fail`.
        """
        point = self.space.point(params)
        if point not in self._pending:
            raise ValueError(
                f"params {params!r} are not pending: they were told or never asked for"
            )
        self._pending.settle(point)
        self._refining.forget(point)

    # ------------------------------------------------------------------ what is known

    @property
    def observations(self) -> int:
        """How many rewards were told."""
        return len(self._told)

    @property
    def pending(self) -> tuple[dict[str, Any], ...]:
        """The params that were asked for and not yet told or forgotten, the oldest first."""
        return tuple(map(self._told.params_of, self._pending.points))

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the points that were told."""
        check_rule(rule)
        if not len(self._told):
            raise ValueError("no observations yet: call tell() before best()")
        if rule is None:
            rule = "lower" if self._told.noisy else "observed"
        point = self._best_point(rule)
        return arm_of(point, self.confidence.delta, self._told, self._coverings, self._numbers)

    def _best_point(self, rule: str) -> Point:
        return best_point(rule, self._told, self._coverings, self._refining, self._numbers)

    @property
    def certificate(self) -> SpaceCertificate:
        """The incumbent and its gap by the covering whose turn it is to ask."""
        return certificate_of(
            self.turn, self.confidence.delta, self._told, self._coverings, self._numbers
        )

    # ------------------------------------------------------------------ for whoever looks at it

    @property
    def told(self) -> Told:
        """All that was told, in order: to be read, and not to be changed."""
        return self._told

    @property
    def asking(self) -> Cover:
        """The covering whose turn it is to ask. It knows all that was told."""
        return self._coverings.cover(self.turn, self._numbers)

    @property
    def priority(self) -> NDArray[np.float64]:
        """Of each parameter the logarithm of how much its cuts are learnt to change rewards."""
        return self._coverings.priority.copy()

    def __repr__(self) -> str:
        return f"Forest({self.space!r}: {self.observations} observations)"
