"""The likelihood of readings that are more precise than doubles can tell apart.

A reading of value 1 and noise 1e-8 is predicted by the readings around it to within 1e-8, and a
double keeps that prediction to 1e-16: of the difference, in units of the noise, only eight digits
are left. So the joint density is taken from scratch, in decimals.
"""

import math
from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

#: Values up to 1e50 with noise down to 1e-50, and twenty digits of what is between them.
DIGITS = 120
# Kinds of readings, as in `_core.py`.
STEP = 1
CERTAIN = 4

Message = tuple[Decimal, Decimal]  # mean and variance of something about F, or about a step


def log_density(
    nodes: NDArray[np.void],
    readings: NDArray[np.void],
    increments: NDArray[np.float64],
    center: float,
    mean: Callable[[tuple[int, ...]], float] | None,
) -> float:
    """Return the log density of all readings that were not certain.

    Messages go up from the deepest nodes to the root. Where several meet that speak of the same
    thing, each but the first has a density given those before it. The prior mean of the root is
    `center`, and that of all other nodes what `mean` says, or the same.
    """
    # A context of our own: the user's may have few digits, and traps.
    with localcontext(Context(prec=DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])):
        variances = [Decimal(v) for v in increments.tolist()]
        sums: dict[int, list[Message]] = {}
        steps: dict[int, list[Message]] = {}
        for n, kind, value, variance in readings[["node", "kind", "value", "variance"]].tolist():
            if not kind & CERTAIN:
                of = steps if kind & STEP else sums
                of.setdefault(n, []).append((Decimal(value), Decimal(variance)))
        density = _Density()

        def step(n: int) -> Message:
            """Return mean and variance of a node's step, as its own readings leave them."""
            mu = Decimal(center if n == 0 else 0)
            if mean is not None and n != 0:
                path = _path(nodes, n)
                mu = Decimal(mean(path)) - Decimal(mean(path[:-1]))
            return density.meet([(mu, variances[nodes["depth"][n]]), *steps.pop(n, [])])

        levels: list[dict[int, Message]] = [{} for _ in variances]
        for n in sorted(sums):
            levels[nodes["depth"][n]][n] = density.meet(sums[n])
        for depth in range(len(levels) - 1, -1, -1):
            for n, (value, variance) in levels[depth].items():
                mu, v = step(n)
                message = (value - mu, variance + v)
                if depth == 0:
                    density.meet([(Decimal(0), Decimal(0)), message])
                else:
                    parent = _parent(nodes, n)
                    met = levels[depth - 1].get(parent)
                    levels[depth - 1][parent] = density.meet([met, message]) if met else message
        for n in sorted(steps):  # with nothing said about F there or below
            step(n)
        return math.fsum(density.terms)


class _Density:
    """The log densities of independent messages about one thing meeting."""

    def __init__(self) -> None:
        self.terms: list[float] = []

    def meet(self, messages: Iterable[Message]) -> Message:
        value, variance = Decimal(0), Decimal("inf")
        for other, spread in messages:
            both = variance + spread
            if both == 0:
                continue  # both are certain, and so they came
            if variance.is_infinite():
                value, variance = other, spread
                continue
            gap = other - value
            self.terms.append(
                -0.5 * (math.log(2 * math.pi) + math.log(both) + float(gap * gap / both))
            )
            value += gap * variance / both
            variance *= spread / both
        return value, variance


def _parent(nodes: NDArray[np.void], n: int) -> int:
    n = int(nodes["parent"][n])
    while nodes["count"][n] < 0:  # a group
        n = int(nodes["parent"][n])
    return n


def _path(nodes: NDArray[np.void], n: int) -> tuple[int, ...]:
    path: list[int] = []
    while n != 0:
        path.append(int(nodes["index"][n]))
        n = _parent(nodes, n)
    return tuple(reversed(path))
