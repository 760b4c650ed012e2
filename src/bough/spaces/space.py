"""What is searched when it is no tree: numbers and choices by name."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bough.spaces.covering import Covering, Walk
from bough.spaces.parameters import Choice, Float, Int, Parameter
from bough.spaces.slots import Point, slots_of
from bough.trees import Path, Tree

#: How often the one fixed covering cuts a continuous parameter: cells of a millionth of its range.
LEVELS = 20


class Space:
    """Parameters by name.

    Parameters
    ----------
    parameters
        `Float`, `Int` and `Choice` objects. The options of a choice may bring spaces of their own,
        as deep as one likes. A name may recur in different options of a choice, where only one of
        them is there at a time.

    Examples
    --------
    >>> from bough import Choice, Float, Int, Space
    >>> space = Space(
    ...     model=Choice({"svm": Space(C=Float(0.1, 9, log=True)), "forest": Space(n=Int(10, 99))}),
    ...     scale=Choice([True, False]),
    ... )
    >>> path = space.encode({"model": "forest", "n": 32, "scale": True})
    >>> space.decode(path)
    {'model': 'forest', 'n': 32, 'scale': True}
    """

    def __init__(self, /, **parameters: Parameter) -> None:
        for name, parameter in parameters.items():
            if not isinstance(parameter, (Float, Int, Choice)):
                raise TypeError(
                    f"parameter {name!r} must be a Float, Int or Choice, got {parameter!r}"
                    + (
                        '; a space inside a space is an option: Choice({"name": Space(...)})'
                        if isinstance(parameter, Space)
                        else ""
                    )
                )
        self.parameters = dict(parameters)
        _check_names(self)
        self._slots, self._first = slots_of(self.parameters)

    # ------------------------------------------------------------------ points

    @cached_property
    def size(self) -> float:
        """How many points there are: an int, or `math.inf`."""
        sizes = [_size(parameter) for parameter in self.parameters.values()]
        return math.inf if math.inf in sizes else math.prod(sizes)

    def point(self, params: Mapping[str, Any]) -> Point:
        """Return where params are, or say what is wrong with them."""
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict with a value for each name, got {params!r}")
        point: list[float | None] = [None] * len(self._slots)
        left = dict(params)
        active = list(self._first)
        for slot in active:  # (it grows)
            name, parameter = self._slots[slot].name, self._slots[slot].parameter
            if name not in left:
                raise ValueError(f"params must have {name!r}, {parameter}; got {params!r}")
            place = parameter.position(left.pop(name), name)
            point[slot] = place
            if isinstance(parameter, Choice):
                active.extend(self._slots[slot].inner[int(place)])
        if left:
            raise ValueError(
                f"params has {', '.join(map(repr, left))}, which this space does not have with "
                f"these choices; it has {', '.join(repr(self._slots[i].name) for i in active)}"
            )
        return tuple(point)

    def points(self) -> Iterator[Point]:
        """Yield all points of a space with single values only, one by one."""
        if self.size == math.inf:
            raise ValueError("this space has a continuum of points")
        point: list[float | None] = [None] * len(self._slots)

        def rest(active: tuple[int, ...]) -> Iterator[Point]:
            if not active:
                yield tuple(point)
                return
            slot = active[0]
            inner = self._slots[slot].inner
            for position in range(self._slots[slot].parameter.count or 0):
                point[slot] = position
                yield from rest((*(inner[position] if inner else ()), *active[1:]))
            point[slot] = None

        yield from rest(self._first)

    def params(self, point: Point) -> dict[str, Any]:
        """Return the params of a point."""
        found: dict[str, Any] = {}

        def add(slots: Sequence[int]) -> None:
            for slot in slots:
                name, parameter = self._slots[slot].name, self._slots[slot].parameter
                place = point[slot]
                assert place is not None  # it matters here
                found[name] = parameter.value(place)  # type: ignore[arg-type]
                if isinstance(parameter, Choice):
                    add(self._slots[slot].inner[int(place)])

        add(self._first)
        return found

    # ------------------------------------------------------------------ the fixed covering

    @cached_property
    def _covering(self) -> Covering:
        levels = tuple(_levels(slot.parameter) for slot in self._slots)
        return Covering(self._slots, self._first, levels=levels)

    @cached_property
    def tree(self) -> Tree:
        """One fixed covering as a tree, for searchers that know trees only.

        Each step cuts a parameter's range in half, in turn, 20 times each (less often if floats are
        not that fine); those with single values until one is left. A choice has a child for each
        option.
        """
        covering = self._covering
        longest = _longest(self, covering)
        return Tree(covering, longest, log_arms=self.log_cells if longest else None)

    @cached_property
    def log_cells(self) -> float:
        """The logarithm of the number of leaves of the fixed covering."""
        return math.fsum(_log_cells(parameter) for parameter in self.parameters.values())

    def encode(self, params: Mapping[str, Any]) -> Path:
        """Return the path of the cell that holds the params, in the fixed covering `tree`."""
        return self._covering.path(self.point(params))

    def decode(self, path: Sequence[int]) -> dict[str, Any]:
        """Return the params at the centre of the cell of a complete path of `tree`."""
        return self.params(self.centre(self._covering.cell(self.tree.complete(path))))

    def centre(self, walk: Walk) -> Point:
        """Return the middle of a cell; of choices that are not made yet the first option."""
        point: list[float | None] = [None] * len(self._slots)
        active = list(self._first)
        for slot in active:  # (it grows)
            parameter = self._slots[slot].parameter
            if isinstance(parameter, Choice):
                choice = walk.chosen.get(slot, 0)
                point[slot] = choice
                active.extend(self._slots[slot].inner[choice])
            elif parameter.count is None:
                low, high = walk.cells.get(slot, (0.0, 1.0))
                point[slot] = 0.5 * (low + high)
            else:
                low, high = walk.cells.get(slot, (0, parameter.count))
                point[slot] = parameter.middle(int(low), int(high))
        return tuple(point)

    # ------------------------------------------------------------------ to and from JSON

    def to_json(self) -> str:
        """Return the space as JSON; options must be texts, numbers, True, False or None.

        >>> Space(x=Int(1, 3)).to_json()
        '{"x": {"kind": "int", "low": 1, "high": 3, "log": false, "step": 1}}'
        """
        return json.dumps(describe(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Space":
        """Return the space that `to_json` wrote."""
        try:
            description = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"text must be the JSON of a space, got no JSON: {error}") from None
        return rebuild(description)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.parameters.items()) == list(
            other.parameters.items()
        )

    def __hash__(self) -> int:
        return hash(tuple(self.parameters.items()))

    def __repr__(self) -> str:
        if all(name.isidentifier() for name in self.parameters):
            inner = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        else:
            inner = f"**{self.parameters!r}"
        return f"Space({inner})"


def describe(space: Space, *, plain: bool = True) -> dict[str, Any]:
    """Return a space as JSON can say it; if not all must be plain, other options by their repr."""
    found: dict[str, Any] = {}
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Choice):
            found[name] = {
                "kind": "choice",
                "options": [_describe_option(name, option, plain) for option in parameter.options],
                "spaces": [describe(inner, plain=plain) for inner in parameter.spaces],
            }
        else:
            kind = "int" if isinstance(parameter, Int) else "float"
            found[name] = {
                "kind": kind, "low": parameter.low, "high": parameter.high,
                "log": parameter.log, "step": parameter.step,
            }  # fmt: skip
    return found


def _describe_option(name: str, option: Any, plain: bool) -> Any:
    if isinstance(option, np.generic):
        option = option.item()
    if is_plain(option):
        return option
    if type(option) is float:  # not finite: JSON has no word for it
        return {"float": repr(option)}
    if plain:
        raise TypeError(
            f"option {option!r} of {name!r} cannot be written as JSON: options must be texts, "
            "numbers, True, False or None"
        )
    return {"object": re.sub(" at 0x[0-9a-fA-F]+", "", repr(option))}  # (not the same in each run)


def is_plain(option: Any) -> bool:
    """Return whether JSON can hold an option, and gives it back as it was."""
    if type(option) is float:
        return math.isfinite(option)
    return option is None or type(option) in (str, int, bool)  # (not what is derived of them)


def rebuild(description: Mapping[str, Any]) -> Space:
    """Return the space that was described."""
    if not isinstance(description, Mapping):
        raise ValueError(f"the JSON of a space is an object, got {description!r}")
    parameters: dict[str, Parameter] = {}
    for name, given in description.items():
        try:
            parameters[name] = _rebuild_parameter(dict(given))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"the JSON of parameter {name!r} is not one of a space: {error!r}"
            ) from None
    return Space(**parameters)


def _rebuild_parameter(parts: dict[str, Any]) -> Parameter:
    kind = parts.pop("kind")
    if kind == "choice":
        options = [
            float(option["float"]) if isinstance(option, dict) else option
            for option in parts["options"]
        ]
        return Choice.with_spaces(options, map(rebuild, parts["spaces"]))
    kinds: dict[str, type[Int] | type[Float]] = {"int": Int, "float": Float}
    return kinds[kind](**parts)


def _check_names(space: Space) -> None:
    seen: set[str] = set()
    for name, parameter in space.parameters.items():
        twice = seen & _names(name, parameter)
        if twice:
            raise ValueError(
                f"the name {min(twice)!r} is there twice at the same time; a name may recur in "
                "different options of one choice only"
            )
        seen |= _names(name, parameter)


def _names(name: str, parameter: Parameter) -> set[str]:
    """Return all names that a parameter may bring."""
    found = {name}
    if isinstance(parameter, Choice):
        for inner in parameter.spaces:
            for key, value in inner.parameters.items():
                names = _names(key, value)
                if name in names:
                    raise ValueError(f"an option of {name!r} has a parameter of that name too")
                found |= names
    return found


def _size(parameter: Parameter) -> float:
    if isinstance(parameter, Choice):
        sizes = [inner.size for inner in parameter.spaces]
        return math.inf if math.inf in sizes else sum(sizes)
    return math.inf if parameter.count is None else parameter.count


def _log_cells(parameter: Parameter) -> float:
    if isinstance(parameter, Choice):
        logs = [inner.log_cells for inner in parameter.spaces]
        most = max(logs)
        return most + math.log(math.fsum(math.exp(x - most) for x in logs))
    if parameter.count is None:
        return _levels(parameter) * math.log(2.0)
    return math.log(parameter.count)


def _levels(parameter: Parameter) -> int:
    """Return how often a continuous parameter is cut: while there are floats in both halves."""
    return min(LEVELS, parameter.levels) if isinstance(parameter, Float) else LEVELS


def _longest(space: Space, covering: Covering) -> int:
    """Return the length of the longest path of the fixed covering."""

    def longest(slots: Sequence[int]) -> int:
        return sum(
            covering.cuts_of(slot) + max(map(longest, covering.slots[slot].inner), default=0)
            for slot in slots
        )

    return longest(space._first)
