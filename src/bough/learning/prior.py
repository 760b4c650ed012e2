"""What is known of parameters before there are data: little, but not nothing."""

import math
from dataclasses import dataclass, replace

from bough._validation import above_zero, at_least_zero


@dataclass(frozen=True)
class Guess:
    """What is known of a positive parameter beforehand.

    It is about `typical`, give or take a factor of e^spread, and never outside of `low` to `high`.
    """

    typical: float
    spread: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (0 < self.low <= self.typical <= self.high and self.spread > 0):
            raise ValueError(
                "a guess needs 0 < low <= typical <= high and spread > 0, got "
                f"typical={self.typical!r}, spread={self.spread!r}, low={self.low!r}, "
                f"high={self.high!r}"
            )


@dataclass(frozen=True)
class Prior:
    """Weak knowledge that keeps few data from saying too much.

    The variance of the rewards themselves is the unit. A search forgives a kernel whose variance is
    too large, but not one whose variance is too small; so the prior of all steps together is an
    inverse gamma distribution, which falls off steeply towards 0 and slowly upwards. Much noise is
    expected: while no arm was played twice it looks like the last steps of a path, and a search
    that believes in noise plays arms again, and finds out, while one that does not never would.

    Attributes
    ----------
    variance, worth
        Of all steps of a path but the root's: as if it had been seen in `worth` observations.
    noise, width, discount, ratio, root
        Of each parameter by its name.
    bend
        Of a free profile: the standard deviation of how much log increments turn at each depth.
    trust
        Of a heuristic: the standard deviation of its scale about the one that it was given.
    """

    variance: float = 2.0
    worth: float = 4.0
    noise: Guess = Guess(0.5, 1.5, 1e-3, 1e2)
    width: Guess = Guess(2.0, 1.0, 0.2, 1e3)
    discount: Guess = Guess(0.8, 0.5, 1e-2, 1.0)
    ratio: Guess = Guess(0.7, 1.0, 1e-4, 1e4)
    root: Guess = Guess(0.1, 1.5, 1e-6, 0.999)
    bend: float = 0.5
    trust: float = 1.0

    def __post_init__(self) -> None:
        for name in ("noise", "width", "discount", "ratio", "root"):
            if not isinstance(getattr(self, name), Guess):
                raise TypeError(
                    f"{name} must be a Guess(typical, spread, low, high), "
                    f"got {getattr(self, name)!r}"
                )
        for name in ("variance", "bend", "trust"):
            if getattr(self, name) != math.inf:
                above_zero(getattr(self, name), name)
        at_least_zero(self.worth, "worth")

    def guess(self, name: str) -> Guess:
        """Return what is known of a parameter; of variances, only what they cannot be."""
        if name in ("variance", "increment"):
            return Guess(1.0, math.inf, 1e-10, 1e8)
        return getattr(self, name, Guess(1.0, 2.0, 1e-6, 1e6))


WEAK = Prior()
#: No prior at all: maximum likelihood (restricted, if the mean is learnt), within the same ranges.
FLAT = Prior(
    worth=0.0,
    bend=math.inf,
    trust=math.inf,
    **{
        name: replace(getattr(WEAK, name), spread=math.inf)
        for name in ("noise", "width", "discount", "ratio", "root")
    },
)
