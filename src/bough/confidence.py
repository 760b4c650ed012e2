"""Widths of confidence bounds: the paper's beta_t."""

import math
from dataclasses import dataclass
from functools import cached_property

from bough._validation import at_least_zero, between_zero_and_one, whole


@dataclass(frozen=True)
class Confidence:
    """The schedule sqrt(beta_t) = scale sqrt(2 log(N t^2 pi^2 / (6 delta))).

    The upper confidence bound of an arm at play t is its posterior mean plus sqrt(beta_t) posterior
    standard deviations. If scale is 1 and the rewards are drawn from the prior, all N arms lie
    below their bounds at all plays t = 1, 2, ... with probability at least 1 - delta (Srinivas et
    al., 2010).

    Parameters
    ----------
    delta
        The failure probability of the bounds.
    scale
        The factor of exploration.

    >>> round(Confidence(delta=0.05).sqrt_beta(1, math.log(1000)), 3)
    4.561
    """

    delta: float = 0.05
    scale: float = 1.0

    def __post_init__(self) -> None:
        between_zero_and_one(self.delta, "delta")
        at_least_zero(self.scale, "scale")

    def sqrt_beta(self, t: int, log_arms: float) -> float:
        """Return sqrt(beta_t) for the t-th play (from 1) over exp(log_arms) arms."""
        # Valid arguments pass quickly: searchers call this at every play.
        if type(t) is not int or t < 1:
            t = whole(t, "t", least=1)
        if type(log_arms) is not float or not 0.0 <= log_arms < math.inf:
            if log_arms is None:
                raise TypeError("log_arms is None: pass a bound to Tree(log_arms=)")
            log_arms = at_least_zero(log_arms, "log_arms")
        log_ratio = log_arms + 2 * math.log(t) + self._log_share
        return self.scale * math.sqrt(2 * log_ratio)

    @cached_property
    def _log_share(self) -> float:
        return math.log(math.pi**2 / (6 * self.delta))
