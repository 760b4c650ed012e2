"""What was told to a belief, made ready for learning."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from bough.belief.belief import Belief
from bough.belief.likelihood import Evidence
from bough.belief.nodes import moderate
from bough.means import Heuristic
from bough.trees import Path

#: Rewards whose size is below this count as 0: a belief takes noise of less than 1e-50 for none.
SMALLEST = 1e-45


def gathered(belief: Belief, mean: Any) -> Evidence:
    """Return what was told, ready for likelihoods under a mean."""
    evidence = Evidence(belief, *units(belief))
    if callable(mean):
        height = mean.height if isinstance(mean, Heuristic) else mean
        paths = paths_of(belief, evidence.node)
        heights = [
            0.0 if path is None else moderate(height(path), f"mean({path})") for path in paths
        ]
        evidence.set_heights(np.array(heights))
    return evidence


def units(belief: Belief) -> tuple[float, float]:
    """Return mean and standard deviation of the rewards; if they are all alike, their size."""
    readings, nodes = belief.observations, belief.nodes
    values, weights = readings["value"], None
    size = float(np.abs(values).max())
    if readings["of_step"].any():
        # Rewards were told in parts: their sums are kept where the paths end.
        nodes = nodes[nodes["count"] > 0]
        values, weights = nodes["average"], nodes["count"].astype(float)
    shift = scale = 0.0
    if len(values):
        shift = float(np.average(values, weights=weights))
        scale = math.sqrt(float(np.average((values - shift) ** 2, weights=weights)))
    # Differences that are only rounding are none, and rewards that a belief takes for 0 are 0.
    scale = scale if scale > 1e-13 * size else size
    return shift, scale if scale > SMALLEST else 1.0


def paths_of(belief: Belief, numbers: Iterable[int]) -> list[Path | None]:
    """Return the paths of nodes given by number; None for -1."""
    nodes = belief.nodes
    parent, index = nodes["parent"].tolist(), nodes["index"].tolist()
    group = (nodes["count"] < 0).tolist()
    known: dict[int, Path] = {0: ()}
    found: list[Path | None] = []
    for number in numbers:
        if number < 0:
            found.append(None)
            continue
        way = []
        n = number
        while n not in known:
            if not group[n]:
                way.append(n)
            n = parent[n]
        path = known[n]
        for n in reversed(way):
            path = (*path, index[n])
            known[n] = path
        found.append(path)
    return found
