"""Which parameters explain the rewards, read off a belief.

The step from a cell to its child is what the cut of one parameter explains. Its prior variance v is
the kernel's. After what was told it has a mean and a variance; 1 - variance/v says how much of the
step is determined by the data, between 0 and 1. The sum of all squared means over v, divided by the
sum of what is determined, is how much larger the variance of this parameter should have been: the
update of automatic relevance determination (MacKay 1992).
"""

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.spaces.forest.cover import Cover

Array = NDArray[np.float64]

#: Few data change little: as if so much had been determined, and found to be as expected.
SHY = 1.0


def ratios(cover: Cover) -> Array:
    """Return, for each parameter, by how much the variances of its steps should be multiplied."""
    v = cover.belief.nodes["v"]
    slots = cover.placing.slots()
    means, variances = steps_of(cover.belief)
    here = (v > 0.0) & (slots >= 0)
    v, slots = v[here], slots[here]
    count = len(cover.space._slots)
    total = np.bincount(slots, means[here] ** 2 / v, count)
    determined = np.bincount(slots, 1.0 - variances[here] / v, count)
    ratio: Array = (SHY + total) / (SHY + determined)
    return ratio


def steps_of(belief: Belief) -> tuple[Array, Array]:
    """Return posterior mean and variance of the step of each node (of groups, which have none, 0).

    A group has the depth of the node that it belongs to, and F of that node.
    """
    nodes = belief.nodes
    g, offset, spread = nodes["g"], nodes["offset"], nodes["spread"]
    means, variances = np.zeros((2, len(nodes)))
    m, V = np.zeros((2, len(nodes)))
    parent = real_parents(belief)
    real = nodes["count"] >= 0
    means[0], variances[0] = m[0], V[0] = offset[0], spread[0]
    for depth in range(1, belief.tree.depth + 1):
        n = np.flatnonzero(real & (nodes["depth"] == depth))
        above_m, above_V = m[parent[n]], V[parent[n]]
        m[n] = g[n] * above_m + offset[n]
        V[n] = spread[n] + g[n] ** 2 * above_V
        means[n] = (g[n] - 1.0) * above_m + offset[n]
        variances[n] = spread[n] + (g[n] - 1.0) ** 2 * above_V
    return means, variances


def real_parents(belief: Belief) -> NDArray[np.int32]:
    """Return the parent of each node, groups passed."""
    nodes = belief.nodes
    parent: NDArray[np.int32] = nodes["parent"].copy()
    group = nodes["count"] < 0
    while group.any() and (passed := group[parent]).any():
        parent[passed] = parent[parent[passed]]
    return parent
