"""Which parameters explain the rewards, read off a belief.

The step from a cell to its child is what the cut of one parameter explains. Its prior variance v is
the kernel's. After what was told it has a mean and a variance; 1 - variance/v says how much of the
step is determined by the data, between 0 and 1. The sum of all squared means over v, divided by the
sum of what is determined, is how much larger the variance of this parameter should have been: the
update of automatic relevance determination (MacKay 1992).
"""

import numpy as np
from numpy.typing import NDArray

from bough.belief import Belief
from bough.searchers.forest.cover import Cover
from bough.spaces.covering import Plan

Array = NDArray[np.float64]

#: Few data change little: as if so much had been determined, and found to be as expected.
SHY = 1.0


def ratios(cover: Cover) -> Array:
    """Return, for each parameter, by how much the variances of its steps should be multiplied."""
    nodes = cover.belief.nodes
    parent, index = nodes["parent"].tolist(), nodes["index"].tolist()
    group = (nodes["count"] < 0).tolist()
    means, variances = steps_of(cover.belief)
    v = nodes["v"].tolist()
    slots = len(cover.space._slots)
    total, weight = [0.0] * slots, [0.0] * slots
    where: dict[int, tuple[Plan, int]] = {0: (cover.covering.first, 0)}
    order = np.argsort(nodes["depth"], kind="stable").tolist()
    for n in order:
        if n == 0 or group[n]:
            continue
        p = parent[n]
        while group[p]:
            p = parent[p]
        plan, at = where[p]
        if at < len(plan.cuts):
            slot = plan.cuts[at].slot
            where[n] = plan, at + 1
        else:
            slot = plan.slot
            where[n] = cover.covering.option(plan, index[n]), 0
        if v[n] > 0.0:
            total[slot] += means[n] ** 2 / v[n]
            weight[slot] += 1.0 - variances[n] / v[n]
    return np.array([(SHY + t) / (SHY + w) for t, w in zip(total, weight, strict=True)])


def steps_of(belief: Belief) -> tuple[list[float], list[float]]:
    """Return posterior mean and variance of the step of each node."""
    nodes = belief.nodes
    g, offset, spread = nodes["g"].tolist(), nodes["offset"].tolist(), nodes["spread"].tolist()
    parent, group = nodes["parent"].tolist(), (nodes["count"] < 0).tolist()
    m, V = [0.0] * len(nodes), [0.0] * len(nodes)
    means, variances = [0.0] * len(nodes), [0.0] * len(nodes)
    for n in np.argsort(nodes["depth"], kind="stable").tolist():
        if group[n]:
            continue
        p = parent[n]
        while p >= 0 and group[p]:
            p = parent[p]
        above_m, above_V = (m[p], V[p]) if p >= 0 else (0.0, 0.0)
        m[n] = g[n] * above_m + offset[n]
        V[n] = spread[n] + g[n] ** 2 * above_V
        means[n] = (g[n] - 1.0) * above_m + offset[n]
        variances[n] = spread[n] + (g[n] - 1.0) ** 2 * above_V
    return means, variances
