"""What every bound is computed from: a uniform tree, a kernel and a noise, checked once.

Everything is kept in units in which the variance of a path is 1: `steps` are the increments
divided by kappa0, `signal` is kappa0 / noise^2. Information does not change with the units, and the
paper's formulas, which assume kappa0 = 1, become right for every kernel.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._validation import above_zero, whole
from bough.kernels import Kernel, Scaled
from bough.theory._increments import wide_increments
from bough.theory._wide import Wide, wide_eigenvalues

Array = NDArray[np.float64]

#: More plays than this and float arithmetic would have to overflow somewhere.
MOST_PLAYS = 10**100
MOST_CHILDREN = 2**31 - 2
#: The noise, in prior standard deviations of a path, must lie between this and its inverse.
LEAST_NOISE = 1e-75


@dataclass(frozen=True)
class Problem:
    """A tree of B^D arms, the prior on their rewards, and the noise of a play."""

    kernel: Kernel
    branching: int
    depth: int
    noise: float
    variance: float  # of a path: kappa0 = chi_0
    steps: tuple[float, ...]  # variance that each depth adds, in units of kappa0; they sum to 1
    signal: float  # kappa0 / noise^2; 0 if the kernel has no variance

    @cached_property
    def arms(self) -> int:
        """N = B^D, as an int of any size."""
        return power(self.branching, self.depth)

    @cached_property
    def log_arms(self) -> float:
        """Log N."""
        return self.depth * math.log(self.branching)

    @cached_property
    def eigenvalues(self) -> list[Wide]:
        """lambda_1 <= .. <= lambda_{D+1}, in units of kappa0."""
        steps = wide_increments(self.kernel, self.steps, self.variance)
        return wide_eigenvalues(steps, self.branching)

    def rank(self, plays: int) -> int:
        """Return r = min(T, N), without the power if it cannot matter."""
        if self.log_arms > math.log(MOST_PLAYS) + 1:
            return plays
        return min(plays, self.arms)


def power(base: int, exponent: int) -> int:
    """Return base**exponent, which mypy takes for a float if the exponent may be negative."""
    result: int = base**exponent
    return result


def scaled_eigenvalues(steps: tuple[float, ...], branching: int) -> list[float]:
    """Return u_1 .. u_{D+1}, so that the eigenvalues are u_i B^(i-1) (erratum 12).

    A sum of positive terms, by Horner's rule: nothing cancels, nothing overflows. They underflow to
    0, though, where `Problem.eigenvalues` do not: for sums in which those count as 0.
    """
    u, scaled = 0.0, []
    for step in reversed(steps):
        u = u / branching + step
        scaled.append(u)
    return scaled


def read_problem(kernel: Any, branching: Any, depth: Any, noise: Any) -> Problem:
    """Check what a caller passed in."""
    branching = read_branching(branching)
    depth = whole(depth, "depth", least=0)
    steps = read_kernel(kernel).increments(depth)
    variance = math.fsum(steps.tolist())
    if noise is None:
        raise TypeError("noise is None: a bound needs to know the standard deviation of a reward")
    if isinstance(noise, (int, float)) and noise == 0:
        raise ValueError(
            "noise must be above zero, got 0: exact observations give infinite information, and "
            "the bounds say nothing; give the smallest noise that the rewards may have"
        )
    noise = above_zero(noise, "noise")
    if variance > 0.0:
        relative = noise / math.sqrt(variance)
        if not LEAST_NOISE <= relative <= 1 / LEAST_NOISE:
            raise ValueError(
                f"noise must be between {LEAST_NOISE:g} and {1 / LEAST_NOISE:g} times the prior "
                f"standard deviation of a path, {math.sqrt(variance):g}, got {noise:g}; it is a "
                "standard deviation, in the units of the rewards"
            )
        signal = 1.0 / relative / relative
        steps = steps / variance
    else:
        signal = 0.0
    return Problem(kernel, branching, depth, noise, variance, tuple(steps.tolist()), signal)


def read_kernel(kernel: Any) -> Kernel:
    """Check that it is a kernel."""
    if not isinstance(kernel, Kernel):
        hint = "; did you mean an instance of it?" if isinstance(kernel, type) else ""
        raise TypeError(f"kernel must be a kernel such as Gaussian(3.0), got {kernel!r}{hint}")
    return kernel


def read_branching(branching: Any, least: int = 1) -> int:
    """Check the number of children of a node."""
    many = isinstance(branching, (list, tuple, np.ndarray)) and np.ndim(branching) > 0
    if many or callable(branching) or (isinstance(branching, float) and math.isinf(branching)):
        raise TypeError(
            f"branching must be an int, the same for every node, got {branching!r}; for a ragged "
            "tree give the largest number of children: the bounds hold for every subtree"
        )
    return whole(branching, "branching", least=least, most=MOST_CHILDREN)


def read_plays(plays: Any, least: int = 0) -> int:
    """Return a number of plays; a float such as 1e9 will do if it is whole."""
    if isinstance(plays, (float, np.floating)):
        if not float(plays).is_integer():
            raise ValueError(f"plays must be a whole number, got {plays!r}")
        plays = int(plays)
    number = whole(plays, "plays", least=least)
    if number > MOST_PLAYS:
        raise ValueError(f"plays must be at most 10^100, got about 10^{math.log10(number):.0f}")
    return number


def for_each(plays: Any, least: int, function: Callable[[int], float]) -> "float | Array":
    """Apply a function to one number of plays, or to each of an array of them."""
    if isinstance(plays, (list, tuple, range)) or (isinstance(plays, np.ndarray) and plays.ndim):
        if isinstance(plays, np.ndarray) and plays.dtype.kind not in "iufO":
            raise TypeError(f"plays must be whole numbers, got an array of {plays.dtype}")
        given = np.array(plays, dtype=object)
        results = [function(read_plays(n, least)) for n in given.ravel().tolist()]
        return np.array(results, dtype=np.float64).reshape(given.shape)
    if isinstance(plays, np.ndarray):
        plays = plays.item()
    return function(read_plays(plays, least))


def unscaled(kernel: Kernel) -> Kernel:
    """Return the kernel inside multiples of it; the units take care of the factor."""
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    return kernel


def named(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Check a choice by name."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, one of {', '.join(choices)}, got {value!r}")
    if value not in choices:
        close = [
            c for c in choices if value.lower().replace("_", "-") == c or (value and value in c)
        ]
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}{hint}")
    return value
