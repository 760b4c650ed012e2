"""Which parameters explain the rewards, read off a belief.

The step from a cell to its child is what the cut of one parameter explains. Its prior variance is
the kernel's; what is expected of its square, after what was told, says how much larger or smaller
it should have been. The average of that over all cuts of a parameter is the update by which its
variance would be learnt by expectation maximisation.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.searchers.forest.cover import Cover
from bough.spaces.covering import Plan

Array = NDArray[np.float64]


def ratios(cover: Cover) -> Array:
    """Return, for each parameter, the expected squares of its steps over their prior variances."""
    nodes = cover.belief.nodes
    parent, index = nodes["parent"].tolist(), nodes["index"].tolist()
    group = (nodes["count"] < 0).tolist()
    squares = _squares(nodes, parent, group)
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
            total[slot] += squares[n] / v[n]
            weight[slot] += 1.0
    return np.array([(1.0 + t) / (1.0 + w) for t, w in zip(total, weight, strict=True)])


def _squares(nodes: NDArray[Any], parent: list[int], group: list[bool]) -> list[float]:
    """Return the expected square of the step of each node."""
    g, offset, spread = nodes["g"].tolist(), nodes["offset"].tolist(), nodes["spread"].tolist()
    depth = nodes["depth"]
    m, V = [0.0] * len(nodes), [0.0] * len(nodes)
    squares = [0.0] * len(nodes)
    for n in np.argsort(depth, kind="stable").tolist():
        if group[n]:
            continue
        p = parent[n]
        while p >= 0 and group[p]:
            p = parent[p]
        above_m, above_V = (m[p], V[p]) if p >= 0 else (0.0, 0.0)
        m[n] = g[n] * above_m + offset[n]
        V[n] = spread[n] + g[n] ** 2 * above_V
        step = (g[n] - 1.0) * above_m + offset[n]
        squares[n] = step * step + spread[n] + (g[n] - 1.0) ** 2 * above_V
    return squares
