"""Checks of arguments, whose messages name the argument, what it must be and what it was."""

import math
import operator
from typing import Any

import numpy as np


def real(value: Any, name: str) -> float:
    """Return `value` as a finite float, or refuse it.

    >>> real(3, "value")
    3.0
    >>> real(float("nan"), "value")
    Traceback (most recent call last):
    ...
    ValueError: value must be finite, got nan
    """
    if type(value) is float and -math.inf < value < math.inf:
        return value
    is_numpy = isinstance(value, (np.generic, np.ndarray))
    not_one_real = is_numpy and (value.shape or value.dtype.kind not in "biuf")
    if not_one_real or isinstance(value, (str, bytes, complex)):
        raise TypeError(f"{name} must be one real number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be one real number, got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {shown(value)}")
    return number


def at_least_zero(value: Any, name: str) -> float:
    """Return `value` as a finite float that is not negative."""
    number = real(value, name)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {value!r}")
    return number


def above_zero(value: Any, name: str) -> float:
    """Return `value` as a finite float above zero."""
    number = real(value, name)
    if number <= 0:
        raise ValueError(f"{name} must be above zero, got {value!r}")
    return number


def between_zero_and_one(value: Any, name: str) -> float:
    """Return `value` as a float between 0 and 1, neither of them included."""
    number = real(value, name)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
    return number


def whole(value: Any, name: str, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int of at least `least`; floats and bools are refused."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(number)}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(number)}")
    return number


def interval(value: Any, name: str) -> tuple[float, float]:
    """Return a pair of bounds, infinite where one is None, or both if there is no pair.

    >>> interval((0, None), "bounds"), interval(None, "bounds")
    ((0.0, inf), (-inf, inf))
    """
    if value is None:
        return -math.inf, math.inf
    if not hasattr(value, "__len__") or len(value) != 2:
        raise TypeError(f"{name} must be a pair (low, high), got {value!r}")
    low, high = (
        free if end is None or (isinstance(end, float) and end == free) else real(end, name)
        for end, free in zip(listed(value, name), (-math.inf, math.inf), strict=True)
    )
    if not low < high:
        raise ValueError(f"{name} must be (low, high) with low below high, got {value!r}")
    return low, high


def clipped(value: float, bounds: tuple[float, float]) -> float:
    """Return the number within bounds that is closest to a value."""
    return min(max(value, bounds[0]), bounds[1])


def shown(value: Any) -> str:
    """Return a value as messages show it: a very long int by its order of magnitude.

    >>> shown(-3), shown(-10**5000)
    ('-3', 'about -10^5000')
    """
    if not isinstance(value, int) or abs(value) < 10**100:
        return repr(value)
    return f"about {'-' if value < 0 else ''}10^{math.log10(abs(value)):.0f}"


def listed(values: Any, name: str) -> list[Any]:
    """Return a sequence as a list; strings, sets and dicts are refused, having no order."""
    if not hasattr(values, "__getitem__") or isinstance(values, (str, bytes, dict)):
        raise TypeError(f"{name} must be a sequence, got {values!r}")
    return list(values)
