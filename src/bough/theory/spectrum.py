"""The eigenvalues of the kernel matrix of all arms, in closed form.

lambda_i = sum over j < i of B^j c_{D-j}, i = 1..D, with multiplicity (B-1) B^(D-i), and one more,
lambda_{D+1} = lambda_D + B^D c_0, of the constant vector (erratum 12). Here c_k is the variance
that depth k adds, the k-th increment of the kernel. No matrix is needed, so the tree may have
200^10 arms, or 10^400.

On a deep tree a kernel's increments underflow, yet times B^D arms they make large eigenvalues. A
float has enough digits for them, but not enough range, so `Wide` keeps the exponent beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from bough import kernels
from bough._validation import shown, whole
from bough.kernels import Kernel
from bough.theory._setting import Array, check_branching, check_kernel

#: Increments below this are computed by their logarithms.
LEAST_INCREMENT = 1e-290


class Wide(NamedTuple):
    """The number mantissa * 2^exponent, with a mantissa in [1/2, 1), or 0.

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
        """Return the logarithm, minus infinity for 0."""
        if self.mantissa == 0.0:
            return -math.inf
        if -1000 < self.exponent < 1000:  # rounded once, also near log 1 = 0
            return math.log(float(self))
        return math.log(self.mantissa) + self.exponent * math.log(2)

    def log1p(self) -> float:
        """Return log(1 + x)."""
        return self.log() if self.exponent > 1000 else math.log1p(float(self))

    def plus(self, other: "Wide") -> "Wide":
        """Return the sum."""
        if self.mantissa == 0.0 or other.mantissa == 0.0:
            return other if self.mantissa == 0.0 else self
        top = max(self.exponent, other.exponent)
        a, b = (math.ldexp(x.mantissa, x.exponent - top) for x in (self, other))
        return wide(a + b, top)

    def times(self, factor: "int | float") -> "Wide":
        """Return the product with a float, or with an int of any size."""
        shift = max(factor.bit_length() - 64, 0) if isinstance(factor, int) else 0
        if shift:
            factor = int(factor) >> shift
        return wide(self.mantissa * factor, self.exponent + shift)

    def over(self, divisor: int) -> "Wide":
        """Return the quotient by an int of at most 1e308."""
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
    """Return e^log, 0 for minus infinity."""
    if log == -math.inf:
        return ZERO
    exponent = math.floor(log / math.log(2))
    rest = log - exponent * math.log(2)
    return wide(math.exp(min(max(rest, 0.0), 1.0)), exponent)  # in [0, log 2), but for rounding


def wide_increments(kernel: Kernel, steps: Sequence[float], unit: float = 1.0) -> list[Wide]:
    """Return c_0 .. c_D in the given unit; `steps` are the same as floats, which may underflow."""
    if min(steps) >= LEAST_INCREMENT or unit == 0.0:
        return [wide(step) for step in steps]
    logs = (log_increments(kernel, len(steps) - 1) - math.log(unit)).tolist()
    return [
        wide(step) if step >= LEAST_INCREMENT else wide_exp(log)
        for step, log in zip(steps, logs, strict=True)
    ]


def log_increments(kernel: Kernel, depth: int) -> Array:
    """Return log c_0 .. log c_D, also of increments that underflow."""
    steps = kernel.increments(depth)
    if isinstance(kernel, kernels.Scaled) and kernel.factor > 0.0:
        return math.log(kernel.factor) + log_increments(kernel.kernel, depth)
    k = np.arange(depth + 1.0)
    logs: Array
    with np.errstate(divide="ignore"):
        if isinstance(kernel, kernels.Gaussian):
            width = cast(float, kernel.width)  # not None, or there would be no increments
            rate = min(1.0 / width / width, 1e300)
            logs = np.log(kernel.variance or 0.0) - (depth - k) * rate
            logs[1:] += np.log(-np.expm1(-rate))
        elif isinstance(kernel, kernels.Discounted) and kernel.discount:
            logs = np.log(kernel.variance or 0.0) + 2 * (k - 1) * math.log(kernel.discount)
            logs[0] = -math.inf
        elif isinstance(kernel, kernels.Geometric) and kernel.ratio:
            log_ratio = math.log(kernel.ratio)
            powers = (k[1:] - (1.0 if log_ratio <= 0.0 else depth)) * log_ratio
            logs = np.log(steps)
            scale = np.log(kernel.variance or 0.0) + np.log1p(-(kernel.root or 0.0))
            logs[1:] = scale + powers - math.log(np.exp(powers).sum() or 1.0)
        elif isinstance(kernel, kernels.Sum):
            logs = np.logaddexp.reduce([log_increments(x, depth) for x in kernel.terms], axis=0)
        else:
            logs = np.log(steps)
    return logs


def scaled_eigenvalues(steps: Sequence[Wide], branching: int) -> list[Wide]:
    """Return u_1 .. u_{D+1}, where lambda_i = B^(i-1) u_i.

    Sums of positive terms, by Horner's rule: nothing cancels.
    """
    u, scaled = ZERO, []
    for step in reversed(steps):
        u = u.over(branching).plus(step)
        scaled.append(u)
    return scaled


def wide_eigenvalues(steps: Sequence[Wide], branching: int) -> list[Wide]:
    """Return lambda_1 <= .. <= lambda_{D+1} of a kernel with these increments (erratum 12).

    A depth without variance makes two eigenvalues equal to the last bit.
    """
    power = 1
    found: list[Wide] = []
    for step, u in zip(reversed(steps), scaled_eigenvalues(steps, branching), strict=True):
        found.append(u.times(power) if step.mantissa or not found else found[-1])
        power *= branching
    return found


def multiplicities(branching: int, depth: int) -> tuple[int, ...]:
    """Return nu_1 .. nu_{D+1}, the multiplicities of lambda_1 .. lambda_{D+1}."""
    counts = [1]
    count = branching - 1
    for _ in range(depth):
        counts.append(count)
        count *= branching
    return tuple(counts[::-1])


@dataclass(frozen=True)
class Spectrum:
    """The spectrum of the kernel matrix of the B^D arms of a tree.

    Examples
    --------
    >>> s = spectrum(kernels.Linear(), branching=2, depth=3)
    >>> s.eigenvalues
    array([0.25, 0.75, 1.75, 3.75])
    >>> s.multiplicities
    (4, 2, 1, 1)
    >>> s.eigenvalue(2)
    1.75
    """

    kernel: Kernel
    branching: int
    depth: int

    @cached_property
    def _wide(self) -> list[Wide]:
        steps = wide_increments(self.kernel, self.kernel.increments(self.depth).tolist())
        return wide_eigenvalues(steps, self.branching)

    @cached_property
    def eigenvalues(self) -> Array:
        """lambda_1 <= .. <= lambda_{D+1}; infinite above 1e308, where `log_eigenvalues` is not."""
        return np.array([float(x) for x in self._wide])

    @cached_property
    def log_eigenvalues(self) -> Array:
        """Log lambda_1 <= .. <= log lambda_{D+1}; minus infinity for 0."""
        return np.array([x.log() for x in self._wide])

    @cached_property
    def multiplicities(self) -> tuple[int, ...]:
        """nu_1 .. nu_{D+1}; they sum to N."""
        return multiplicities(self.branching, self.depth)

    def index(self, t: int) -> int:
        """Return the i for which lambda_i is the t-th largest eigenvalue (erratum 13)."""
        t = whole(t, "t", least=1)
        i, power = self.depth + 1, 1
        while power < t:  # integers: a float logarithm picks the wrong level at powers of B
            if i == 1 or self.branching == 1:
                N = f"{self.branching}^{self.depth}"
                raise ValueError(f"t must be at most the number of arms, {N}, got {shown(t)}")
            i, power = i - 1, power * self.branching
        return i

    def eigenvalue(self, t: int) -> float:
        """Return the t-th largest eigenvalue, t from 1 to N, an int of any size."""
        return float(self.eigenvalues[self.index(t) - 1])


def spectrum(kernel: Kernel, branching: int, depth: int) -> Spectrum:
    """Return the spectrum of the kernel matrix of all arms of a uniform tree.

    >>> s = spectrum(kernels.Gaussian(5.0), branching=200, depth=10)
    >>> f"{s.eigenvalue(200**10):.6f} {s.eigenvalue(1):.4g} {sum(s.multiplicities) == 200**10}"
    '0.039211 6.865e+22 True'
    """
    branching = check_branching(branching)
    depth = whole(depth, "depth", least=0)
    check_kernel(kernel).increments(depth)  # raises if a hyperparameter is missing
    return Spectrum(kernel, branching, depth)
