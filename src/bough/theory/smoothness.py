"""Smoothness in the sense of BAST: how much the best arm below a node may be better than others.

Coquelin and Munos (2007) give every node the value of the best arm below it, f^(n), and assume, for
nodes n at depth d, that f^(n) is at most delta_d above the value of any child (as our paper words
it), or of any arm below n (what BAST's bounds need, being averages over the arms played below n). A
Gaussian-process prior makes no such promise, but with high probability it implies one.

Arms: two arms below n differ by a Gaussian of variance at most 2 (c_{d+1} + .. + c_D), and depth d
has N B^(D-d) ordered pairs of them. Children: take two children i and j of n, and for each arm
below j its mirror image below i, with the same steps after the first. The best arm below j is
better than its mirror image by such a Gaussian, and the mirror image is no better than the best arm
below i. That makes N (B-1) pairs, all of which count, since nobody knows beforehand which arm is
the best (the paper takes a single pair, which is not enough).
"""

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from bough._validation import listed, real, whole
from bough.kernels import Kernel
from bough.theory._problem import Array, named, read_branching, read_kernel


def smoothness(
    kernel: Kernel,
    depth: int,
    delta: float = 0.05,
    *,
    branching: int | None = None,
    among: str = "children",
) -> Array:
    """Return delta_0 .. delta_D: by how much a node at each depth may be better than a child.

    Parameters
    ----------
    kernel, depth
        The prior.
    delta
        The probability with which they may fail.
    branching
        If given: all nodes, children and depths at once, as BAST assumes. If not: for each depth,
        the difference of two given arms that part below a node at that depth, one pair alone.
    among
        `"children"`: the value of a node is at most delta_d above that of each child. `"arms"`:
        above that of each arm below it. It matters with `branching` only.

    Examples
    --------
    >>> from bough.kernels import Discounted
    >>> smoothness(Discounted(0.5), 3).round(3)
    array([2.665, 1.3  , 0.582, 0.   ])
    >>> smoothness(Discounted(0.5), 3, branching=2).round(3)
    array([5.364, 2.617, 1.171, 0.   ])
    """
    depth = whole(depth, "depth", least=0)
    if not 0 < real(delta, "delta") < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta!r}")
    steps = read_kernel(kernel).increments(depth)
    below = np.append(np.cumsum(steps[:0:-1])[::-1], 0.0)  # sum of c_k over k > d
    named(among, "among", ("children", "arms"))
    if branching is None:
        width = max(-NormalDist().inv_cdf(delta), 0.0)
        return _times(width, below)
    log_B = math.log(read_branching(branching))
    if log_B == 0.0:
        return np.zeros(depth + 1)  # an only child is as good as its parent
    # P(Z > z) <= exp(-z^2/2) / 2, over the pairs of all depths.
    levels = np.arange(depth, -1.0, -1.0)
    others = levels * log_B if among == "arms" else np.full(depth + 1, math.log(branching - 1))
    log_pairs = depth * log_B + others + math.log(max(depth, 1))
    return _times(np.sqrt(np.maximum(2 * (log_pairs - math.log(2 * delta)), 0.0)), below)


def _times(width: "float | Array", below: Array) -> Array:
    scaled: Array = width * np.sqrt(2 * below)
    return scaled


def exponential_smoothness(deltas: Any) -> tuple[float, float]:
    """Return the least delta and then the least gamma with delta_d <= delta gamma^d for all d < D.

    The form that BAST's Theorem 4 assumes. The last of `deltas`, of the leaves, is left out.

    >>> delta, gamma = exponential_smoothness([1.0, 0.6, 0.2, 0.0])
    >>> delta, gamma
    (1.0, 0.6)
    """
    if isinstance(deltas, np.ndarray) and deltas.ndim != 1:
        raise TypeError(f"deltas must be a sequence of numbers, got {deltas!r}")
    values = [real(d, f"deltas[{i}]") for i, d in enumerate(listed(deltas, "deltas"))]
    if not values or min(values) < 0:
        raise ValueError(f"deltas must be delta_0 .. delta_D, none negative, got {deltas!r}")
    inner = values[:-1] if len(values) > 1 else values
    first = inner[0]
    if first == 0.0:
        if any(inner):
            raise ValueError(f"deltas must not start with 0 and grow later, got {deltas!r}")
        return 0.0, 0.0
    return first, max(((d / first) ** (1 / k) for k, d in enumerate(inner) if k), default=0.0)
