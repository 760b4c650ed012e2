"""The forms of the regret bound, each a function of the same few terms.

On the event that all confidence intervals hold, the t-th play costs at most
2 sqrt(beta_t) sigma_{t-1}(x_t), and at most 2 sqrt(beta_1 kappa0); and the sum of
log(1 + sigma_{t-1}^2 / sigma^2) is twice the information gained, at most 2 I. The forms differ in
how they put these together. beta_t belongs to the t-th play, t from 1: there is no beta_0
(erratum 1).
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

from bough.confidence import Confidence
from bough.theory._envelope import envelope
from bough.theory._logsums import dawson
from bough.theory._problem import Problem


@dataclass(frozen=True)
class Terms:
    """What all bounds are made of, for one number of plays."""

    problem: Problem
    plays: int
    confidence: Confidence
    gain: float

    @functools.cached_property
    def first(self) -> float:
        """sqrt(beta_1)."""
        return self.confidence.sqrt_beta(1, self.problem.log_arms)

    @functools.cached_property
    def last(self) -> float:
        """sqrt(beta_T)."""
        return self.confidence.sqrt_beta(self.plays, self.problem.log_arms)

    @property
    def ratio(self) -> float:
        """kappa0 / log(1 + kappa0 / sigma^2)."""
        return self.problem.variance / math.log1p(self.problem.signal)


def _theorem(x: Terms) -> float:
    """Return sqrt(8 kappa0 / log(1 + kappa0/sigma^2) beta_T T I), Theorem 1 for any kappa0."""
    return x.last * math.sqrt(8 * x.ratio) * math.sqrt(x.plays) * math.sqrt(x.gain)


def _sum_beta(x: Terms) -> float:
    """Return 2 sqrt(sum beta_t 2 I kappa0 / log(1 + kappa0/sigma^2)): no beta is rounded up."""
    log_first = x.first**2 / 2
    sum_beta = 2 * x.plays * log_first + 4 * math.lgamma(x.plays + 1)
    return 2 * math.sqrt(sum_beta) * math.sqrt(2 * x.gain * x.ratio)


def _envelope(x: Terms) -> float:
    """Return 2 T sqrt(beta_T) h(2 I / T), every play capped at what the first can cost."""
    most = math.log1p(x.problem.signal * (x.first / x.last) ** 2)
    return 2 * x.plays * x.last * x.problem.noise * envelope(2 * x.gain / x.plays, most)


def _uncapped_envelope(x: Terms) -> float:
    """Return the same without the cap; never better than with it."""
    most = math.log1p(x.problem.signal)
    height = envelope(2 * x.gain / x.plays, most)
    return 2 * x.plays * x.last * x.problem.noise * height


def _weighted_envelope(x: Terms) -> float:
    """Return 2 W h(2 I sqrt(beta_T) / W), W >= sum sqrt(beta_t) by an integral."""
    first, last = x.first, x.last
    grown = x.plays * (last / 2 - dawson(last / 2)) - (first / 2 - dawson(first / 2))
    weight = last + 2 * grown  # at most T sqrt(beta_T), since beta_t grows
    most = math.log1p(x.problem.signal)
    return 2 * weight * x.problem.noise * envelope(2 * x.gain * last / weight, most)


def _trivial(x: Terms) -> float:
    """Return 2 T sqrt(beta_1 kappa0): no play is worse than the prior's intervals are wide."""
    return 2 * x.plays * x.first * math.sqrt(x.problem.variance)


METHODS: dict[str, Callable[[Terms], float]] = {
    "theorem": _theorem,
    "sum-beta": _sum_beta,
    "envelope": _envelope,
    "uncapped-envelope": _uncapped_envelope,
    "weighted-envelope": _weighted_envelope,
    "trivial": _trivial,
}
