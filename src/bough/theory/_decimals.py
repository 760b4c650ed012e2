"""Increments and eigenvalues of tree kernels as decimals.

On a deep tree a kernel's increments underflow, yet times B^D arms they make large eigenvalues: both
are decimals, whose exponents have no limit that matters.
"""

import math
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bough import kernels
from bough.kernels import Kernel

Array = NDArray[np.float64]

#: The context of all arithmetic with decimals.
CONTEXT = Context(prec=25, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
#: Increments below this are computed by their logarithms.
LEAST_INCREMENT = 1e-290


def log1p(x: Decimal) -> float:
    """Return log(1 + x), for x of any size."""
    return float(x.ln(CONTEXT)) if x.adjusted() > 300 else math.log1p(float(x))


def decimal_increments(kernel: Kernel, steps: Sequence[float], unit: float = 1.0) -> list[Decimal]:
    """Return c_0 .. c_D in the given unit; `steps` are the same as floats, which may underflow."""
    if min(steps) >= LEAST_INCREMENT or unit == 0.0:
        return [Decimal(step) for step in steps]
    logs = (log_increments(kernel, len(steps) - 1) - math.log(unit)).tolist()
    return [
        Decimal(step) if step >= LEAST_INCREMENT else Decimal(log).exp(CONTEXT)
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


def scaled_eigenvalues(steps: Sequence[Decimal], branching: int) -> list[Decimal]:
    """Return u_1 .. u_{D+1}, where lambda_i = B^(i-1) u_i.

    Sums of positive terms, by Horner's rule: nothing cancels.
    """
    u, scaled = Decimal(0), []
    for step in reversed(steps):
        u = CONTEXT.add(CONTEXT.divide(u, branching), step)
        scaled.append(u)
    return scaled


def decimal_eigenvalues(steps: Sequence[Decimal], branching: int) -> list[Decimal]:
    """Return lambda_1 <= .. <= lambda_{D+1} of a kernel with these increments (erratum 12).

    A depth without variance makes two eigenvalues equal to the last digit.
    """
    power = Decimal(1)
    found: list[Decimal] = []
    for step, u in zip(reversed(steps), scaled_eigenvalues(steps, branching), strict=True):
        found.append(CONTEXT.multiply(u, power) if step or not found else found[-1])
        power = CONTEXT.multiply(power, branching)
    return found


def multiplicities(branching: int, depth: int) -> tuple[int, ...]:
    """Return nu_1 .. nu_{D+1}, the multiplicities of lambda_1 .. lambda_{D+1}."""
    counts = [1]
    count = branching - 1
    for _ in range(depth):
        counts.append(count)
        count *= branching
    return tuple(counts[::-1])
