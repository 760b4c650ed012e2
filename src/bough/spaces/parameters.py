"""What one parameter may be: a number from a range, or one of some options.

A covering cuts *positions*. Those of a continuous parameter are the numbers from 0 to 1, spread
over its range (or over the logarithms); those of a parameter with single values are their numbers
0, 1, 2, .., each with its stretch from `edge(i)` to `edge(i + 1)` of the same line from 0 to 1.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bough._checks import above_zero, real, whole

if TYPE_CHECKING:
    from bough.spaces.space import Space

#: A value may lie so far beside the grid, in steps: decimal fractions are not exact in binary.
OFF_GRID = 1e-6
#: No whole number may be farther from 0 than this, so that floats can tell neighbours apart.
FARTHEST = 2**52


def _check_bounds(low: float, high: float, log: bool) -> None:
    if not isinstance(log, bool):
        raise TypeError(f"log must be True or False, got {log!r}")
    if low > high:
        raise ValueError(f"low must not be above high, got low={low!r} and high={high!r}")
    if log and low <= 0:
        raise ValueError(f"low must be positive on a log scale, got low={low!r}")


class Numeric:
    """What `Float` and `Int` share: single values on a line from 0 to 1."""

    low: float
    high: float
    log: bool
    _step: float
    _size: int | None

    @property
    def count(self) -> int | None:
        """How many values there are; None if there is a continuum."""
        return self._size

    def edge(self, i: int) -> float:
        """Return where the stretch of the i-th value begins, between 0 and 1."""
        assert self._size is not None  # there are single values
        if not self.log:
            return i / self._size
        first = self.low - self._step / 2
        return math.log((first + i * self._step) / first) / self._log_ratio()

    def index_at(self, u: float) -> int:
        """Return the number of the value in whose stretch a place lies."""
        assert self._size is not None  # there are single values
        if self.log:
            first = self.low - self._step / 2
            place = (first * math.exp(u * self._log_ratio()) - first) / self._step
        else:
            place = u * self._size
        return min(max(int(place), 0), self._size - 1)

    def _log_ratio(self) -> float:
        assert self._size is not None  # there are single values
        first = self.low - self._step / 2
        return math.log((first + self._size * self._step) / first)

    def _grid_index(self, value: float, name: str) -> int:
        """Return the number of a value, or say that it is none."""
        assert self._size is not None  # there are single values
        place = (value - self.low) / self._step
        index = round(place)
        if not 0 <= index < self._size or abs(place - index) > OFF_GRID:
            raise ValueError(f"{name} must be {self}, got {value!r}")
        return index


@dataclass(frozen=True)
class Float(Numeric):
    """A real number from low to high.

    Parameters
    ----------
    low, high
        Both ends belong to it.
    log
        Whether factors matter, not differences: from 1e-3 to 1e-2 is as far as from 1 to 10.
    step
        Only low, low + step, .. up to high.

    Examples
    --------
    >>> round(Float(1e-3, 1e3, log=True).value(0.5), 12)
    1.0
    >>> Float(0.0, 1.0, step=0.25).count
    5
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        low, high = real(self.low, "low"), real(self.high, "high")
        _check_bounds(low, high, self.log)
        if not math.isfinite(high - low):
            raise ValueError(f"high - low must be finite, got low={low!r} and high={high!r}")
        step = None if self.step is None else above_zero(self.step, "step")
        if step is not None and self.log:
            raise ValueError("a step is a difference, and log is about factors: give one of them")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "step", step)
        size = None
        if low == high:
            size = 1
        elif step is not None:
            size = int((high - low) / step + OFF_GRID) + 1
        object.__setattr__(self, "_size", size)
        object.__setattr__(self, "_step", 1.0 if step is None else step)

    def edge(self, i: int) -> float:  # noqa: D102 - one value on a log scale has no ratio
        return float(i) if self._size == 1 else super().edge(i)

    def index_at(self, u: float) -> int:  # noqa: D102
        return 0 if self._size == 1 else super().index_at(u)

    def value(self, position: float) -> float:
        """Return the value at a position."""
        if self._size == 1:
            return self.low
        if self._size is not None:
            return min(self.low + position * self._step, self.high)
        if not self.log:
            value = self.low + position * (self.high - self.low)
        else:
            value = self.low * math.exp(position * math.log(self.high / self.low))
        return min(max(value, self.low), self.high)

    def position(self, value: Any, name: str) -> float:
        """Return where a value is, or say what is wrong with it."""
        number = real(value, name)
        if not self.low <= number <= self.high and self.step is None:
            raise ValueError(f"{name} must be {self}, got {value!r}")
        if self._size == 1:
            return 0 if number == self.low else self._grid_index(number, name)
        if self._size is not None:
            return self._grid_index(number, name)
        if not self.log:
            return (number - self.low) / (self.high - self.low)
        return math.log(number / self.low) / math.log(self.high / self.low)

    def __str__(self) -> str:
        kind = f" in steps of {self.step:g}" if self.step is not None else ""
        return f"a number from {self.low!r} to {self.high!r}{kind}"


@dataclass(frozen=True)
class Int(Numeric):
    """A whole number from low to high.

    Parameters
    ----------
    low, high
        Both ends belong to it (high, if a whole number of steps leads there).
    log
        Whether factors matter, not differences.
    step
        Only low, low + step, .. up to high.

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
        low = whole(self.low, "low", least=-FARTHEST, most=FARTHEST)
        high = whole(self.high, "high", least=-FARTHEST, most=FARTHEST)
        step = whole(self.step, "step", least=1)
        _check_bounds(low, high, self.log)
        if self.log and step != 1:
            raise ValueError("a step is a difference, and log is about factors: give one of them")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "_size", (high - low) // step + 1)
        object.__setattr__(self, "_step", step)

    def value(self, position: int) -> int:
        """Return the value of a number."""
        return self.low + position * self.step

    def position(self, value: Any, name: str) -> int:
        """Return the number of a value, or say what is wrong with it."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # as tables and JSON of others give it back
        number = whole(value, name, least=-FARTHEST, most=FARTHEST)
        index, beside = divmod(number - self.low, self.step)
        assert self._size is not None  # there are single values
        if beside or not 0 <= index < self._size:
            raise ValueError(f"{name} must be {self}, got {value!r}")
        return index

    def __str__(self) -> str:
        kind = f" in steps of {self.step}" if self.step != 1 else ""
        return f"a whole number from {self.low} to {self.high}{kind}"


class Choice:
    """One of some options, each of which may bring parameters of its own.

    Parameters
    ----------
    options
        A list of any objects; or a dict from options to the `Space` of the parameters that only
        matter with this option (None, or an empty space, if there are none).

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

        if isinstance(options, (str, bytes)) or not isinstance(options, Iterable):
            raise TypeError(
                f"options must be a list, or a dict from options to spaces, got {options!r}"
            )
        self.options = tuple(options)
        if not self.options:
            raise ValueError("a choice needs at least one option, got none")
        for i, option in enumerate(self.options):
            if any(same(option, other) for other in self.options[:i]):
                raise ValueError(f"options must differ, but {option!r} is there twice")
            if isinstance(option, Space):
                raise TypeError(
                    "an option with a space of its own needs a name: write "
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

    @property
    def count(self) -> int:
        """How many options there are."""
        return len(self.options)

    def value(self, position: int) -> Any:
        """Return the option of a number."""
        return self.options[position]

    def position(self, value: Any, name: str) -> int:
        """Return the number of an option, or say that it is none."""
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


Parameter = Float | Int | Choice


def same(a: Any, b: Any) -> bool:
    """Return whether two options are the same: True is not 1, and arrays are not compared."""
    if a is b:
        return True
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    try:
        return bool(a == b)
    except Exception:  # what cannot be compared is not the same
        return False
