"""Positive numbers of any size: eigenvalues are products of 10^400 and 1e-360, and as large as 1.

A float has digits enough, but not range enough. So the binary exponent is kept beside it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Wide(NamedTuple):
    """The number mantissa * 2^exponent; the mantissa is in [1/2, 1), or 0.

    >>> x = wide(3.0).times(10**400)
    >>> float(x), round(x.log() / math.log(10), 9)
    (inf, 400.477121255)
    """

    mantissa: float
    exponent: int

    def __float__(self) -> float:
        try:
            return math.ldexp(self.mantissa, self.exponent)
        except OverflowError:
            return math.inf

    def log(self) -> float:
        """Return its logarithm, minus infinity for 0."""
        if self.mantissa == 0.0:
            return -math.inf
        if -1000 < self.exponent < 1000:  # no rounding but one, also near log 1 = 0
            return math.log(float(self))
        return math.log(self.mantissa) + self.exponent * math.log(2)

    def log1p(self) -> float:
        """Return log(1 + x)."""
        return self.log() if self.exponent > 1000 else math.log1p(float(self))

    def plus(self, other: "Wide") -> "Wide":
        """Return the sum of both."""
        if self.mantissa == 0.0 or other.mantissa == 0.0:
            return other if self.mantissa == 0.0 else self
        top = max(self.exponent, other.exponent)
        a, b = (math.ldexp(x.mantissa, x.exponent - top) for x in (self, other))
        return wide(a + b, top)

    def times(self, factor: "int | float") -> "Wide":
        """Return a multiple; the factor may be an int above 1e308."""
        shift = max(factor.bit_length() - 64, 0) if isinstance(factor, int) else 0
        if shift:
            factor = int(factor) >> shift
        return wide(self.mantissa * factor, self.exponent + shift)

    def over(self, divisor: int) -> "Wide":
        """Return the quotient by an int of no more than 1e308."""
        return wide(self.mantissa / divisor, self.exponent)

    def inverse(self) -> "Wide":
        """Return 1 / x, for x above 0."""
        return wide(1.0 / self.mantissa, -self.exponent)


ZERO = Wide(0.0, 0)


def wide(value: float, exponent: int = 0) -> Wide:
    """Return value * 2^exponent."""
    mantissa, more = math.frexp(value)
    return Wide(mantissa, exponent + more) if mantissa else ZERO


def wide_exp(log: float) -> Wide:
    """Return e^log, for any log; 0 for minus infinity."""
    if log == -math.inf:
        return ZERO
    exponent = math.floor(log / math.log(2))
    rest = log - exponent * math.log(2)
    return wide(math.exp(min(max(rest, 0.0), 1.0)), exponent)  # in [0, log 2), but for rounding


def wide_eigenvalues(steps: Sequence[Wide], branching: int) -> list[Wide]:
    """Return lambda_1 <= .. <= lambda_{D+1} of a kernel with these increments (erratum 12).

    lambda_i = B^(i-1) u_i, and u_i is a sum of positive terms, by Horner's rule: nothing cancels. A
    depth without variance makes two eigenvalues equal to the last bit.
    """
    u, power = ZERO, 1
    found: list[Wide] = []
    for step in reversed(steps):
        u = u.over(branching).plus(step)
        found.append(u.times(power) if step.mantissa or not found else found[-1])
        power *= branching
    return found
