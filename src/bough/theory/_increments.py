"""The variance that each depth adds, also where a float cannot hold it.

On a deep tree a kernel's increments underflow; times B^D arms they still make large eigenvalues.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bough import kernels
from bough.kernels import Kernel
from bough.theory._wide import Wide, wide, wide_exp

#: Increments below this are computed by their logarithms.
LEAST = 1e-290


def rate(kernel: kernels.Gaussian) -> float:
    """Return 1 / s^2."""
    if kernel.width is None:
        kernel.increments(0)  # says that it is to be learnt
        raise ValueError("width is None")
    return min(1.0 / kernel.width / kernel.width, 1e300)


def wide_increments(kernel: Kernel, steps: Sequence[float], unit: float = 1.0) -> list[Wide]:
    """Return c_0 .. c_D in the given unit, of which `steps` are the values as floats."""
    if min(steps) >= LEAST or unit == 0.0:
        return [wide(step) for step in steps]
    logs = (log_increments(kernel, len(steps) - 1) - math.log(unit)).tolist()
    return [
        wide(step) if step >= LEAST else wide_exp(log)
        for step, log in zip(steps, logs, strict=True)
    ]


def log_increments(kernel: Kernel, depth: int) -> NDArray[np.float64]:
    """Return log c_0 .. log c_D, also of those that underflow."""
    steps = kernel.increments(depth)
    if isinstance(kernel, kernels.Scaled) and kernel.factor > 0.0:
        return math.log(kernel.factor) + log_increments(kernel.kernel, depth)
    k = np.arange(depth + 1.0)
    logs: NDArray[np.float64]
    with np.errstate(divide="ignore"):
        if isinstance(kernel, kernels.Gaussian):
            x = rate(kernel)
            logs = np.log(kernel.variance or 0.0) - (depth - k) * x
            logs[1:] += np.log(-np.expm1(-x))
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
