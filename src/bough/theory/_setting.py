"""The setting of every bound (tree, kernel, noise) and the validation of arguments.

Bounds are computed in units in which the variance of an arm is 1: `steps` are the increments of the
kernel divided by kappa0, `signal` is kappa0 / noise^2. Information does not depend on the units.
"""

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._validation import above_zero, whole
from bough.kernels import Kernel
from bough.theory.labels import Structure, structure_of

Array = NDArray[np.float64]

#: With more plays some float would overflow.
MOST_PLAYS = 10**100
MOST_CHILDREN = 2**31 - 2
#: The noise, in prior standard deviations of an arm, must lie between this and its inverse.
LEAST_NOISE = 1e-75


@dataclass(frozen=True)
class Setting:
    """A tree of B^D arms, the prior of their rewards, and the noise of a play."""

    kernel: Kernel | Structure
    branching: int
    depth: int
    noise: float
    variance: float  # of an arm, the largest if they differ: kappa0 = chi_0
    steps: tuple[float, ...]  # variance that each depth adds, in units of kappa0; they sum to 1
    signal: float  # kappa0 / noise^2; 0 if the kernel has no variance

    @property
    def structure(self) -> Structure | None:
        """The kernel, if it is not one of common prefixes; `steps` is then empty."""
        return self.kernel if isinstance(self.kernel, Structure) else None

    @property
    def log_arms(self) -> float:
        """Log N, N = B^D."""
        return self.depth * math.log(self.branching)

    def rank(self, plays: int) -> int:
        """Return min(T, N); N itself is computed only if it may be the smaller one."""
        if self.log_arms > math.log(MOST_PLAYS) + 1:
            return plays
        arms: int = self.branching**self.depth
        return min(plays, arms)


def check_setting(kernel: Any, branching: Any, depth: Any, noise: Any) -> Setting:
    """Return the validated setting."""
    branching = check_branching(branching)
    depth = whole(depth, "depth", least=0)
    structure = structure_of(kernel, branching, depth)
    if structure is not None:
        kernel = structure.as_tree_kernel(depth) or structure
    if isinstance(kernel, Structure):
        variance, steps = kernel.variance(branching, depth), np.zeros(0)
    else:
        steps = kernel.increments(depth)
        variance = math.fsum(steps.tolist())
    noise = check_noise(noise, variance)
    if variance == 0.0:
        return Setting(kernel, branching, depth, noise, 0.0, (0.0,) * len(steps), 0.0)
    relative = noise / math.sqrt(variance)
    signal = 1.0 / relative / relative
    shares = tuple((steps / variance).tolist())
    return Setting(kernel, branching, depth, noise, variance, shares, signal)


def check_noise(noise: Any, variance: float) -> float:
    """Return the noise, which must suit the variance of an arm."""
    if noise is None:
        raise TypeError("noise is None: a bound needs the standard deviation of a reward")
    if isinstance(noise, (int, float)) and noise == 0:
        raise ValueError(
            "noise must be above zero, got 0: exact observations give infinite information, and "
            "no bound is finite; pass the smallest noise that the rewards may have"
        )
    number = above_zero(noise, "noise")
    if variance and not LEAST_NOISE <= number / math.sqrt(variance) <= 1 / LEAST_NOISE:
        raise ValueError(
            f"noise must be between {LEAST_NOISE:g} and {1 / LEAST_NOISE:g} times the prior "
            f"standard deviation of an arm, {math.sqrt(variance):g}, got {number:g}; it is a "
            "standard deviation, in the units of the rewards"
        )
    return number


def check_branching(branching: Any, least: int = 1) -> int:
    """Return the number of children of every node; ragged trees are refused."""
    many = isinstance(branching, (list, tuple, np.ndarray)) and np.ndim(branching) > 0
    if many or callable(branching) or (isinstance(branching, float) and math.isinf(branching)):
        raise TypeError(
            f"branching must be an int, the same for every node, got {branching!r}; for a ragged "
            "tree pass the largest number of children: the bounds hold for every subtree"
        )
    return whole(branching, "branching", least=least, most=MOST_CHILDREN)


def check_plays(plays: Any, least: int = 0) -> int:
    """Return a number of plays; a whole float such as 1e9 is converted."""
    if isinstance(plays, (float, np.floating)):
        if not float(plays).is_integer():
            raise ValueError(f"plays must be a whole number, got {plays!r}")
        plays = int(plays)
    number = whole(plays, "plays", least=least)
    if number > MOST_PLAYS:
        raise ValueError(f"plays must be at most 10^100, got about 10^{math.log10(number):.0f}")
    return number


def check_all_plays(plays: Any, least: int) -> tuple[list[int], tuple[int, ...]]:
    """Return one or several numbers of plays as a list, and their shape: `()` for one."""
    if isinstance(plays, np.ndarray) and plays.dtype.kind not in "iufO":
        raise TypeError(f"plays must be whole numbers, got an array of {plays.dtype}")
    if not isinstance(plays, (list, tuple, range, np.ndarray)):
        return [check_plays(plays, least)], ()
    given = np.array(plays, dtype=object)
    return [check_plays(n, least) for n in given.ravel().tolist()], given.shape


def shaped(values: Sequence[float], shape: tuple[int, ...]) -> "float | Array":
    """Return values in the shape of the plays that they belong to."""
    return np.array(values, dtype=np.float64).reshape(shape) if shape else values[0]


def smallest_enough(too_few: Callable[[int], bool]) -> int:
    """Return an n >= 1 that is not too few while n - 1 is, by doubling and bisection."""
    last, n = 0, 1
    while too_few(n):
        last, n = n, 2 * n
    while n - last > 1:
        middle = (last + n) // 2
        last, n = (middle, n) if too_few(middle) else (last, middle)
    return n


def check_discount(discount: Any) -> float:
    """Return a discount in (0, 1]."""
    number = above_zero(discount, "discount")
    if number > 1:
        raise ValueError(f"discount must be between 0 and 1, got {discount!r}")
    return number


def check_choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return one of a few names."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, one of {', '.join(choices)}, got {value!r}")
    if value not in choices:
        close = difflib.get_close_matches(value, choices, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}{hint}")
    return value
