"""The interface of structures, and checks of what they are made of."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar

from bough._validation import listed

Path = tuple[int, ...]

#: Every belief keeps some memory for each depth.
MOST_DEPTH = 1_000_000
#: The most additions to count paths, about a second.
MOST_ADDITIONS = 2_000_000
#: The nodes whose state is remembered.
REMEMBERED = 10_000


class Structure(ABC):
    """The objects that the paths of a tree stand for.

    Methods take paths that are known to be valid.
    """

    kind: ClassVar[str]  # the name of the method of `Tree` that makes it

    @property
    @abstractmethod
    def steps(self) -> int:
        """The number of steps of the longest path."""

    @property
    @abstractmethod
    def branching(self) -> Sequence[int] | Callable[[Path], int]:
        """The numbers of children of nodes, as an argument of `Tree`."""

    @property
    @abstractmethod
    def arms(self) -> int | None:
        """The number of complete paths; None if counting them takes too long."""

    @property
    def log_arms(self) -> float:
        """The logarithm of the number of complete paths, or an upper bound of it."""
        assert self.arms is not None
        return math.log(self.arms)

    @abstractmethod
    def decode(self, path: Path) -> Any:
        """Return the object of a path; of an incomplete path, the part that is known."""

    def text(self, path: Path) -> str:
        """Return the object of a path as text, always the same."""
        return str(self.decode(path))

    @abstractmethod
    def label_of(self, path: Path) -> Hashable:
        """Return the label of the last step of a path."""

    @abstractmethod
    def name_of(self, path: Path) -> Any:
        """Return what figures call the last step of a path."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        written = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))  # type: ignore[arg-type]
        return f"Tree.{self.kind}({', '.join(written)})"


class Stateful(Structure):
    """A structure whose children depend on a state that each step of the path changes."""

    @property
    @abstractmethod
    def _first(self) -> Any:
        """The state of the root."""

    @abstractmethod
    def _options(self, state: Any, depth: int) -> Sequence[Any]:
        """Return what can be chosen at a node."""

    @abstractmethod
    def _after(self, state: Any, option: Any) -> Any:
        """Return the state of a child."""

    @abstractmethod
    def _count(self) -> int:
        """Return the number of complete paths."""

    @property
    @abstractmethod
    def _additions(self) -> int:
        """The number of additions that this takes."""

    @property
    def branching(self) -> Callable[[Path], int]:
        return self._children

    def _children(self, path: Path) -> int:
        return len(self._options(self._state(path), len(path)))

    @cached_property
    def _known(self) -> dict[Path, Any]:
        return {(): self._first}

    def _state(self, path: Path) -> Any:
        """Return the state of a node, from that of its parent if it is remembered."""
        known = self._known
        state = known.get(path)
        if state is None:
            depth = len(path) - 1
            state = known.get(path[:-1])
            if state is None:
                depth, state = 0, self._first
            for d in range(depth, len(path)):
                state = self._after(state, self._options(state, d)[path[d]])
            if len(known) >= REMEMBERED:
                known.clear()
            known[path] = state
        return state

    def _taken(self, path: Path) -> Any:
        """Return the option that the last step of a path took."""
        before = path[:-1]
        return self._options(self._state(before), len(before))[path[-1]]

    @cached_property
    def arms(self) -> int | None:
        return self._count() if self._additions <= MOST_ADDITIONS else None

    @cached_property
    def log_arms(self) -> float:
        # (A tree with b children at most has at most b^depth leaves.)
        return self.steps * math.log(self._widest) if self.arms is None else math.log(self.arms)

    @property
    @abstractmethod
    def _widest(self) -> int:
        """An upper bound of the number of children."""


# ---------------------------------------------------------------------- checks


def fix(structure: Structure, name: str, value: Any) -> None:
    """Set an attribute of a frozen value while it is made."""
    object.__setattr__(structure, name, value)


def is_hashable(value: Any) -> bool:
    """Return whether a value is hashable, and all that is in it."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def check_hashable(value: Any, name: str) -> None:
    """Refuse a value that is not hashable."""
    if not is_hashable(value):
        raise TypeError(f"{name} must be hashable (a tuple, not a list), got {value!r}")


def check_label(label: Any, *known: str) -> None:
    """Refuse the name of a label that is not one of those known."""
    if label not in known:
        raise ValueError(f"label must be {' or '.join(map(repr, known))}, got {label!r}")


def read_items(values: Any, name: str) -> tuple[Hashable, ...]:
    """Return different hashable items, NumPy's numbers as Python's; a string is its characters."""
    found = list(values) if isinstance(values, str) else listed(values, name)
    if not found:
        raise ValueError(f"{name} must not be empty")
    places: dict[Hashable, int] = {}
    for i, value in enumerate(found):
        if hasattr(value, "dtype") and not getattr(value, "shape", True):
            found[i] = value = value.item()
        check_hashable(value, f"{name}[{i}]")
        if value != value:
            raise ValueError(f"{name}[{i}] must be equal to itself, got {value!r}")
        if value in places:
            raise ValueError(
                f"{name} must be different, but {name}[{places[value]}] and {name}[{i}] are both "
                f"{value!r}"
            )
        places[value] = i
    return tuple(found)
