"""What a forest recommends, and how sure it is."""

import math

import numpy as np

from bough.belief.best_arm import Arm
from bough.confidence import Confidence
from bough.spaces.forest.cover import Cover
from bough.spaces.forest.coverings import Coverings
from bough.spaces.forest.refining import Refining
from bough.spaces.forest.told import Told
from bough.spaces.searcher import SpaceCertificate
from bough.spaces.slots import Point

#: The centres of so many of the best regions may be recommended.
BEST_REGIONS = 2


def best_point(
    rule: str,
    told: Told,
    coverings: Coverings,
    refining: Refining,
    numbers: np.random.Generator,
) -> Point:
    """Return the best of the points that were told.

    With noise those are compared that have a claim: what each covering takes for the best, the
    centres of the best regions, and the highest rewards.
    """
    if rule == "observed":
        return told.readings[told.best].point
    deviations = 1.0 if rule == "lower" else 0.0
    claims = {told.best}
    claims.update(cover.placing.best_played(deviations) for cover in coverings.all(numbers))
    claims.update(region.number for region in refining.regions.all[:BEST_REGIONS])
    claims.update(told.highest())
    points = list(dict.fromkeys(told.readings[number].point for number in sorted(claims)))
    beliefs = [believed(point, told, coverings, numbers) for point in points]
    scores = [mean - deviations * std for mean, std in beliefs]
    return points[scores.index(max(scores))]


def believed(
    point: Point, told: Told, coverings: Coverings, numbers: np.random.Generator
) -> tuple[float, float]:
    """Return mean and standard deviation of a point that was told."""
    number = told.of_point[point][-1]
    if told.noisy is False:
        return told.readings[number].value, 0.0
    return coverings.believed(number, numbers)


def arm_of(
    point: Point, delta: float, told: Told, coverings: Coverings, numbers: np.random.Generator
) -> Arm:
    """Return a point that was told as an arm."""
    values = [told.readings[number].value for number in told.of_point[point]]
    mean, std = believed(point, told, coverings, numbers)
    spread = std * theoretical(coverings.cover(0, numbers), delta) if std else 0.0
    return Arm(
        told.space._covering.path(point), told.params_of(point), mean, std, mean - spread,
        mean + spread, math.fsum(values) / len(values), len(values),
    )  # fmt: skip


def theoretical(cover: Cover, delta: float) -> float:
    """Return the sqrt_beta with which the bounds of a covering hold."""
    return Confidence(delta).sqrt_beta(len(cover.belief) + 1, cover.belief.tree.log_arms or 0.0)


def certificate_of(
    turn: int, delta: float, told: Told, coverings: Coverings, numbers: np.random.Generator
) -> SpaceCertificate:
    """Return the incumbent and its gap by one of the coverings."""
    cover = coverings.cover(turn, numbers)
    b = theoretical(cover, delta)
    lower = cover.belief.highest_lower(b)
    upper = cover.belief.upper_bound(b)
    point, bound = told.space.centre(cover.covering.cell(lower.path)), lower.lower
    if told.noisy is False and len(told) and told.readings[told.best].value >= bound:
        point, bound, _ = told.readings[told.best]  # which is exact
        all_known = len(told.of_point) >= told.space.size
        upper = bound if all_known else max(upper, bound)
    return SpaceCertificate(
        path=told.space._covering.path(point), lower=bound, upper=upper, gap=upper - bound,
        delta=delta, conditional=True, params=told.params_of(point), covering=turn,
        coverings=coverings.count,
    )  # fmt: skip
