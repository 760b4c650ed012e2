"""Parameters of a space: numbers from a range, and choices of options.

A partition cuts *positions*. The position of a continuous value is a number from 0 to 1, linear in
the value or in its logarithm; the position of a discrete value is its index 0, 1, 2, ..., and the
value takes the interval from `edge(i)` to `edge(i + 1)` of the line from 0 to 1.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bough._validation import above_zero, real, whole

if TYPE_CHECKING:
    from bough.spaces.space import Space

#: Tolerance of values on a grid, in steps: decimal fractions are not exact in binary.
GRID_TOLERANCE = 1e-6
#: Largest absolute value of an integer, and largest number of steps of a grid: floats can still
#: distinguish neighbors.
LARGEST_INT = 2**52
#: Smallest step of a grid, in units of the distance between neighboring floats.
SMALLEST_STEP = 8


class Parameter(ABC):
    """Base of `Float`, `Int` and `Choice`: positions, and values as intervals from 0 to 1."""

    @property
    @abstractmethod
    def count(self) -> int | None:
        """The number of values; None for a continuum."""

    @abstractmethod
    def value(self, position: Any) -> Any:
        """Return the value at a position."""

    @abstractmethod
    def position(self, value: Any, name: str) -> float:
        """Return the position of a value; raise if it is not one of this parameter."""

    def edge(self, i: int) -> float:
        """Return the left end of the interval of the i-th value, between 0 and 1."""
        assert self.count is not None  # discrete
        return i / self.count

    def index_at(self, u: float) -> int:
        """Return the index of the value whose interval contains u."""
        assert self.count is not None  # discrete
        return min(max(int(u * self.count), 0), self.count - 1)

    def middle(self, low: int, high: int) -> int:
        """Return the index of the middle value of those from low to high - 1."""
        return (low + high - 1) // 2


class Numeric(Parameter):
    """Base of `Float` and `Int`."""

    low: float
    high: float
    log: bool
    step: float | None

    def _set_range(self, low: float, high: float, step: float | None) -> None:
        """Check the range, and set it."""
        if not isinstance(self.log, bool):
            raise TypeError(f"log must be True or False, got {self.log!r}")
        if low > high:
            raise ValueError(f"low must not be above high, got low={low!r} and high={high!r}")
        if self.log and low <= 0:
            raise ValueError(f"low must be positive on a log scale, got low={low!r}")
        if self.log and step != type(self).step:
            raise ValueError("step and log=True cannot be combined: give one of them")
        vars(self).update(low=low, high=high, step=step)

    def __str__(self) -> str:
        kind = "whole number" if isinstance(self, Int) else "number"
        step = "" if self.step == type(self).step else f" in steps of {self.step!r}"
        return f"a {kind} from {self.low!r} to {self.high!r}{step}"

    def __repr__(self) -> str:
        log = ", log=True" if self.log else ""
        step = "" if self.step == type(self).step else f", step={self.step!r}"
        return f"{type(self).__name__}({self.low!r}, {self.high!r}{log}{step})"


@dataclass(frozen=True, repr=False)
class Float(Numeric):
    """A real number from low to high.

    Parameters
    ----------
    low, high
        The ends of the range, both included.
    log
        Whether the scale is logarithmic: the distance from 1e-3 to 1e-2 is that from 1 to 10.
    step
        The spacing of a grid: low, low + step, ... up to high; None for all real numbers.

    Examples
    --------
    >>> round(Float(1e-3, 1e3, log=True).value(0.5), 12)
    1.0
    >>> tenths = Float(0.0, 1.0, step=0.1)
    >>> tenths.count, tenths.value(3)
    (11, 0.3)
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        low, high = real(self.low, "low"), real(self.high, "high")
        step = None if self.step is None else above_zero(self.step, "step")
        self._set_range(low, high, step)
        if not math.isfinite(high - low):
            raise ValueError(f"high - low must be finite, got low={low!r} and high={high!r}")
        if self.log and low < sys.float_info.min:
            raise ValueError(
                f"low must be at least {sys.float_info.min:.3g} on a log scale, since floats are "
                f"coarse below that, got low={low!r}"
            )
        if step is not None and (
            (high - low) / step > LARGEST_INT or step < SMALLEST_STEP * self._spacing()
        ):
            raise ValueError(
                "step is too short for floats to distinguish neighbors, got "
                f"low={low!r}, high={high!r} and step={step!r}"
            )

    @cached_property
    def count(self) -> int | None:
        if self.step is None:
            return 1 if self.low == self.high else None
        return int((self.high - self.low) / self.step + self._grid_tolerance()) + 1

    @property
    def levels(self) -> int:
        """The number of times the range can be halved before a cell has only a few floats."""
        if self.low == self.high:
            return 0
        if self.log:
            spacing = sys.float_info.epsilon / self._log_of(self.high)
        else:
            spacing = self._spacing() / (self.high - self.low)
        return max(math.floor(-math.log2(spacing)) - 3, 0)

    def _spacing(self) -> float:
        """Return the largest distance between neighboring floats of the range."""
        return math.ulp(max(abs(self.low), abs(self.high)))

    def _grid_tolerance(self) -> float:
        """Return the tolerance of values on the grid, in steps."""
        assert self.step is not None
        return GRID_TOLERANCE + 2.0 * self._spacing() / self.step

    def _log_of(self, number: float) -> float:
        """Return the logarithm of number / low, a ratio that may overflow."""
        ratio = number / self.low
        return math.log(ratio) if ratio < math.inf else math.log(number) - math.log(self.low)

    def value(self, position: float) -> float:
        if self.step is not None:  # 0.3, not the 0.30000000000000004 of 3 * 0.1
            exact = Decimal(repr(self.low)) + int(position) * Decimal(repr(self.step))
            return min(float(exact), self.high)
        if not self.log:
            value = self.low + position * (self.high - self.low)
        else:  # from the nearer end, in two halves, to avoid overflow
            begin, way = (self.low, position) if position < 0.5 else (self.high, position - 1.0)
            half = math.exp(0.5 * way * self._log_of(self.high))
            value = begin * half * half
        return min(max(value, self.low), self.high)

    def position(self, value: Any, name: str) -> float:
        number = real(value, name)
        if self.step is not None:
            place = (number - self.low) / self.step
            index = round(place) if abs(place) <= LARGEST_INT else -1
            if 0 <= index < (self.count or 0) and abs(place - index) <= self._grid_tolerance():
                return index
        elif self.low <= number <= self.high:
            if self.count == 1:
                return 0
            if self.log:
                return min(self._log_of(number) / self._log_of(self.high), 1.0)
            return (number - self.low) / (self.high - self.low)
        raise ValueError(f"{name} must be {self}, got {value!r}")


@dataclass(frozen=True, repr=False)
class Int(Numeric):
    """A whole number from low to high.

    Parameters
    ----------
    low, high
        The ends of the range, both included (high only if it is a whole number of steps from low).
    log
        Whether the scale is logarithmic.
    step
        The spacing of the values: low, low + step, ... up to high.

    Examples
    --------
    >>> depth = Int(1, 9, step=2)
    >>> [depth.value(i) for i in range(depth.count)]
    [1, 3, 5, 7, 9]
    """

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        low = whole(self.low, "low", least=-LARGEST_INT, most=LARGEST_INT)
        high = whole(self.high, "high", least=-LARGEST_INT, most=LARGEST_INT)
        step = whole(self.step, "step", least=1)
        self._set_range(low, high, step)

    @cached_property
    def count(self) -> int:
        return (self.high - self.low) // self.step + 1

    def value(self, position: int) -> int:
        return self.low + position * self.step

    def position(self, value: Any, name: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # as data frames and JSON return it
        number = whole(value, name, least=-LARGEST_INT, most=LARGEST_INT)
        index, beside = divmod(number - self.low, self.step)
        if beside or not 0 <= index < self.count:
            raise ValueError(f"{name} must be {self}, got {value!r}")
        return index

    # On a log scale, i takes the interval from i - 1/2 to i + 1/2.

    def edge(self, i: int) -> float:
        if not self.log:
            return super().edge(i)
        first = self.low - 0.5
        return math.log((first + i) / first) / math.log((first + self.count) / first)

    def index_at(self, u: float) -> int:
        if not self.log:
            return super().index_at(u)
        first = self.low - 0.5
        place = first * math.exp(u * math.log((first + self.count) / first)) - first
        return min(max(int(place), 0), self.count - 1)

    def middle(self, low: int, high: int) -> int:
        if not self.log:
            return super().middle(low, high)
        index = self.index_at(0.5 * (self.edge(low) + self.edge(high)))
        return min(max(index, low), high - 1)


class Choice(Parameter):
    """One of several options, each of which may have parameters of its own.

    Parameters
    ----------
    options
        A list of any objects; or a dict from options to the `Space` of the parameters that exist
        only with this option (None, or an empty space, if there are none).

    Examples
    --------
    >>> from bough import Choice, Float, Int, Space
    >>> Choice(["relu", "tanh", None])
    Choice(['relu', 'tanh', None])
    >>> model = Choice({"svm": Space(C=Float(1e-3, 1e3, log=True)), "forest": Space(n=Int(10, 99))})
    >>> model.options
    ('svm', 'forest')
    """

    def __init__(self, options: Iterable[Any] | Mapping[Any, "Space | None"]) -> None:
        from bough.spaces.space import Space

        # (The order of a set differs between processes, so runs would not be reproducible.)
        refused = (str, bytes, set, frozenset)
        if isinstance(options, refused) or not isinstance(options, Iterable):
            raise TypeError(
                f"options must be a list, or a dict from options to spaces, got {options!r}"
            )
        self.options = tuple(options)
        if not self.options:
            raise ValueError("a choice needs at least one option, got none")
        for i, option in enumerate(self.options):
            if any(same(option, other) for other in self.options[:i]):
                raise ValueError(f"options must differ, but {option!r} is given twice")
            if isinstance(option, Space):
                raise TypeError(
                    "an option with parameters of its own needs a name: write "
                    'Choice({"name": Space(...)})'
                )
        self.spaces: tuple[Space, ...] = tuple(Space() for _ in self.options)
        if isinstance(options, Mapping):
            for option, inner in options.items():
                if inner is not None and not isinstance(inner, Space):
                    raise TypeError(
                        f"the parameters of option {option!r} must be a bough.Space, got {inner!r}"
                    )
            self.spaces = tuple(inner or Space() for inner in options.values())

    @classmethod
    def with_spaces(cls, options: Iterable[Any], spaces: Iterable["Space"]) -> "Choice":
        """Return a choice of options, which need not be hashable, with these spaces."""
        choice = cls(options)
        choice.spaces = tuple(spaces)
        if len(choice.spaces) != len(choice.options):
            raise ValueError(
                f"there are {len(choice.options)} options, but {len(choice.spaces)} spaces"
            )
        return choice

    @property
    def count(self) -> int:
        return len(self.options)

    def value(self, position: int) -> Any:
        return self.options[position]

    def position(self, value: Any, name: str) -> int:
        for i, option in enumerate(self.options):
            if same(option, value):
                return i
        raise ValueError(f"{name} must be {self}, got {value!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Choice) or len(self.options) != len(other.options):
            return False
        pairs = zip(self.options, other.options, strict=True)
        return all(same(a, b) for a, b in pairs) and self.spaces == other.spaces

    def __hash__(self) -> int:
        return hash((Choice, len(self.options), self.spaces))

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.options))

    def __repr__(self) -> str:
        if not any(inner.parameters for inner in self.spaces):
            return f"Choice({list(self.options)!r})"
        pairs = zip(self.options, self.spaces, strict=True)
        return "Choice({" + ", ".join(f"{a!r}: {inner!r}" for a, inner in pairs) + "})"


def same(a: Any, b: Any) -> bool:
    """Return whether two options are the same: True is not 1, NaN is NaN, arrays are never equal.

    >>> same(True, 1), same(math.nan, float("nan")), same(True, np.True_), same(1, 1.0)
    (False, True, True, True)
    """
    if a is b:
        return True
    if isinstance(a, (bool, np.bool_)) != isinstance(b, (bool, np.bool_)):
        return False
    try:
        if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
            return True
        return bool(a == b)
    except Exception:  # not comparable
        return False


# ---------------------------------------------------------------------- slots

#: Positions of a point, one for each slot; None where the slot is not active.
Point = tuple[float | None, ...]


@dataclass(frozen=True)
class Slot:
    """A parameter of a space or of one of its options; for a choice, the slots of each option."""

    name: str
    parameter: Parameter
    inner: tuple[tuple[int, ...], ...] = ()


def slots_of(parameters: Mapping[str, Parameter]) -> tuple[list[Slot], tuple[int, ...]]:
    """Return all slots, those of options included, and the indices of the ones always active."""
    slots: list[Any] = []

    def add(name: str, parameter: Parameter) -> int:
        index = len(slots)
        slots.append(None)
        inner: tuple[tuple[int, ...], ...] = ()
        if isinstance(parameter, Choice):
            inner = tuple(
                tuple(add(key, value) for key, value in space.parameters.items())
                for space in parameter.spaces
            )
        slots[index] = Slot(name, parameter, inner)
        return index

    roots = tuple(add(name, parameter) for name, parameter in parameters.items())
    return slots, roots
