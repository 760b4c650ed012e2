"""The likelihood of readings that are more precise than doubles can tell apart.

A reading of value 1 and noise 1e-8 is predicted by the readings around it to within 1e-8, and a
double keeps that prediction to 1e-16: of the difference, in units of the noise, only eight digits
are left. So such readings are kept as they came, and their joint density is taken from scratch in
decimals when somebody asks for it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

#: Values up to 1e50 with noise down to 1e-50, and twenty digits of what is between them.
DIGITS = 120

Message = tuple[Decimal, Decimal]  # mean and variance of something about F
Readings = dict[int, list[tuple[float, float]]]  # by node: value and variance


class Precise:
    """What was known when the first precise reading came, and all readings since then.

    Parameters
    ----------
    nodes
        Those of the belief, before the reading.
    increments, center
        Variances of the steps, and the prior mean of the root.
    log_likelihood
        That of all earlier readings, which were not precise.
    """

    def __init__(
        self,
        nodes: NDArray[np.void],
        increments: NDArray[np.float64],
        center: float,
        log_likelihood: float,
    ) -> None:
        self.increments = increments.tolist()
        self.center = Decimal(center)
        self.log_likelihood = log_likelihood
        self.known: dict[int, Message] = {}
        self.prior: dict[int, Message] = {}  # of steps that were read
        self.sums: Readings = {}
        self.steps: Readings = {}
        real = nodes["count"] >= 0
        for n in np.flatnonzero(real & (nodes["own_precision"] > 0)).tolist():
            own = nodes[n]
            value = Decimal(float(own["own_value"])) + self.center
            if own["own_precision"] == np.inf and own["average"] - center == own["own_value"]:
                value = Decimal(float(own["average"]))  # just as it was told
            self.known[n] = (value, Decimal(1) / Decimal(float(own["own_precision"])))
        for n in np.flatnonzero(real & (nodes["v"] != increments[nodes["depth"]])).tolist():
            mu = Decimal(float(nodes["mu"][n])) + (self.center if n == 0 else 0)
            self.prior[n] = (mu, Decimal(float(nodes["v"][n])))

    def add(self, n: int, value: float, variance: float, is_step: bool) -> None:
        """Keep a reading of F of a node, or of its step."""
        (self.steps if is_step else self.sums).setdefault(n, []).append((value, variance))

    def total(self, nodes: NDArray[np.void], mean: Callable[[tuple[int, ...]], float]) -> float:
        """Return the log density of everything told, for the nodes as they are now."""
        with localcontext(prec=DIGITS):
            now = self._density(nodes, mean, self.sums, self.steps)
            before = self._density(nodes, mean, {}, {})
        return self.log_likelihood + (now - before)

    def _density(
        self,
        nodes: NDArray[np.void],
        mean: Callable[[tuple[int, ...]], float],
        sums: Readings,
        steps: Readings,
    ) -> float:
        """Pass messages up from the deepest nodes; each meeting of two has a density."""
        density = _Density()
        prior = dict(self.prior)
        for n, readings in steps.items():
            prior[n] = density.meet([self._step(nodes, n, prior, mean), *_exact(readings)])
        levels: list[dict[int, Message]] = [{} for _ in self.increments]
        for n in sorted({*self.known, *sums}):
            known = [self.known[n]] if n in self.known else []
            levels[nodes["depth"][n]][n] = density.meet([*known, *_exact(sums.get(n, []))])
        for depth in range(len(levels) - 1, -1, -1):
            for n, (value, variance) in levels[depth].items():
                mu, v = self._step(nodes, n, prior, mean)
                message = (value - mu, variance + v)
                if depth == 0:
                    density.meet([(Decimal(0), Decimal(0)), message])
                else:
                    above = _parent(nodes, n)
                    met = levels[depth - 1].get(above)
                    levels[depth - 1][above] = density.meet([met, message]) if met else message
        return math.fsum(density.terms)

    def _step(
        self,
        nodes: NDArray[np.void],
        n: int,
        prior: dict[int, Message],
        mean: Callable[[tuple[int, ...]], float],
    ) -> Message:
        """Return mean and variance of the step of a node, before it meets what is below."""
        if n in prior:
            return prior[n]
        path = _path(nodes, n)
        above = Decimal(float(mean(path[:-1]))) if path else Decimal(0)
        return Decimal(float(mean(path))) - above, Decimal(self.increments[len(path)])

    def __copy__(self) -> Precise:
        return copy.deepcopy(self)


class _Density:
    """Sums the log densities of independent messages about one thing meeting."""

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
                -0.5 * (math.log(2 * math.pi) + float(both.ln()) + float(gap * gap / both))
            )
            value += gap * variance / both
            variance *= spread / both
        return value, variance


def _exact(readings: list[tuple[float, float]]) -> list[Message]:
    return [(Decimal(value), Decimal(variance)) for value, variance in readings]


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
