"""Spaces: parameters by name, their points, and their JSON."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from bough.spaces.parameters import Choice, Float, Int, Parameter, Point, slots_of
from bough.spaces.partition import Cell, Partition
from bough.trees import Path, Tree

#: Cuts of a continuous parameter by the fixed partition: to cells of a millionth of its range.
LEVELS = 20
NOTHING: Mapping[int, Any] = {}


class Space:
    """Parameters by name.

    Parameters
    ----------
    parameters
        `Float`, `Int` and `Choice` objects. The options of a choice may have spaces of their own,
        nested to any depth. A name may recur in different options of one choice, since only one of
        them is active at a time.

    Attributes
    ----------
    slots, roots
        All parameters in one list, including those of options, and the indices of those that are
        always active.

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
        self.names: set[str] = set()  # those of options included
        for name, parameter in parameters.items():
            if not isinstance(parameter, Parameter):
                hint = '; a space inside a space is an option: Choice({"name": Space(...)})'
                raise TypeError(
                    f"parameter {name!r} must be a Float, Int or Choice, got {parameter!r}"
                    + (hint if isinstance(parameter, Space) else "")
                )
            spaces = parameter.spaces if isinstance(parameter, Choice) else ()
            inner = set().union(*(space.names for space in spaces))
            if name in inner:
                raise ValueError(f"an option of {name!r} has a parameter of the same name")
            twice = self.names & (inner | {name})
            if twice:
                raise ValueError(
                    f"the name {min(twice)!r} is given twice; a name may recur only in different "
                    "options of one choice"
                )
            self.names |= inner | {name}
        self.parameters = dict(parameters)
        self.slots, self.roots = slots_of(self.parameters)

    # ------------------------------------------------------------------ points

    @cached_property
    def size(self) -> float:
        """The number of points: an int, or `math.inf`."""
        sizes = [_size(parameter) for parameter in self.parameters.values()]
        return math.inf if math.inf in sizes else math.prod(sizes)

    def _assemble(self, position_of: Callable[[int], float]) -> Point:
        """Return the point whose active slots have the positions that a function returns."""
        point: list[float | None] = [None] * len(self.slots)
        active = list(self.roots)
        for slot in active:  # (it grows)
            position = point[slot] = position_of(slot)
            inner = self.slots[slot].inner
            if inner:
                active.extend(inner[int(position)])
        return tuple(point)

    def point(self, params: Mapping[str, Any]) -> Point:
        """Return the point of params; raise if they do not belong to the space."""
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict with a value for each name, got {params!r}")
        left = dict(params)

        def position_of(slot: int) -> float:
            name, parameter = self.slots[slot].name, self.slots[slot].parameter
            if name not in left:
                raise ValueError(f"params must have {name!r}, {parameter}; got {params!r}")
            return parameter.position(left.pop(name), name)

        point = self._assemble(position_of)
        if left:
            active = [slot.name for slot, p in zip(self.slots, point, strict=True) if p is not None]
            raise ValueError(
                f"params has {', '.join(map(repr, left))}, which this space does not have with "
                f"these choices; it has {', '.join(map(repr, active))}"
            )
        return point

    def points(self) -> Iterator[Point]:
        """Yield all points of a finite space."""
        if self.size == math.inf:
            raise ValueError("this space has infinitely many points: it has a continuous parameter")
        point: list[float | None] = [None] * len(self.slots)

        def rest(active: tuple[int, ...]) -> Iterator[Point]:
            if not active:
                yield tuple(point)
                return
            slot = active[0]
            inner = self.slots[slot].inner
            for position in range(self.slots[slot].parameter.count or 0):
                point[slot] = position
                yield from rest((*(inner[position] if inner else ()), *active[1:]))
            point[slot] = None

        yield from rest(self.roots)

    def params(self, point: Point) -> dict[str, Any]:
        """Return the params of a point."""
        pairs = zip(self.slots, point, strict=True)
        return {slot.name: slot.parameter.value(p) for slot, p in pairs if p is not None}

    # ------------------------------------------------------------------ the fixed partition

    @cached_property
    def partition(self) -> Partition:
        """The fixed partition, whose tree is `tree`."""
        levels = [_levels(slot.parameter) for slot in self.slots]
        return Partition(self.slots, self.roots, levels=levels)

    @cached_property
    def tree(self) -> Tree:
        """The fixed partition as a tree, for tree searchers.

        The steps halve the range of one parameter after the other, in turn: 20 times each (fewer if
        the resolution of floats is reached), or, for discrete parameters, until one value is left.
        A choice has a child for each option.
        """
        return self.partition.tree(self.log_cells)

    @cached_property
    def log_cells(self) -> float:
        """The logarithm of the number of leaves of the fixed partition."""
        return math.fsum(_log_cells(parameter) for parameter in self.parameters.values())

    def encode(self, params: Mapping[str, Any]) -> Path:
        """Return the path of the cell that contains the params, in the fixed partition `tree`."""
        return self.partition.path(self.point(params))

    def decode(self, path: Sequence[int]) -> dict[str, Any]:
        """Return the params at the center of the cell of a complete path of `tree`."""
        return self.params(self.center(self.partition.cell(self.tree.complete(path))))

    def center(self, cell: Cell) -> Point:
        """Return the center of a cell; for choices that are not made there, the first option."""

        def position_of(slot: int) -> float:
            parameter = self.slots[slot].parameter
            count = 1 if isinstance(parameter, Choice) else parameter.count
            low, high = cell.ranges.get(slot, (0, count or 1))
            return 0.5 * (low + high) if count is None else parameter.middle(int(low), int(high))

        return self._assemble(position_of)

    def random_point(
        self,
        rng: np.random.Generator,
        ranges: Mapping[int, tuple[float, float]] = NOTHING,
        fixed: Mapping[int, float | None] = NOTHING,
    ) -> Point:
        """Return a random point within ranges of some slots, with some positions fixed."""
        draws: list[float] = rng.random(len(self.slots)).tolist()

        def position_of(slot: int) -> float:
            parameter, u, given = self.slots[slot].parameter, draws[slot], fixed.get(slot)
            if given is not None:
                return given
            low, high = ranges.get(slot, (0, parameter.count or 1))
            if parameter.count is None:
                return low + u * (high - low)
            left, right = parameter.edge(int(low)), parameter.edge(int(high))
            index = parameter.index_at(left + u * (right - left))
            return min(max(index, int(low)), int(high) - 1)

        return self._assemble(position_of)

    # ------------------------------------------------------------------ to and from JSON

    def to_json(self) -> str:
        """Return the space as JSON; options must be strings, numbers, True, False or None.

        >>> Space(x=Int(1, 3)).to_json()
        '{"x": {"kind": "int", "low": 1, "high": 3, "log": false, "step": 1}}'
        """
        return json.dumps(describe(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Space":
        """Return the space described by the output of `to_json`."""
        try:
            description = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"text must be the JSON of a space, but it cannot be parsed: {error}"
            ) from None
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
    """Return a space as JSON objects; unless `plain`, options JSON cannot hold by their repr."""
    found: dict[str, Any] = {}
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Choice):
            found[name] = {
                "kind": "choice",
                "options": [_describe_option(name, option, plain) for option in parameter.options],
                "spaces": [describe(inner, plain=plain) for inner in parameter.spaces],
            }
        elif isinstance(parameter, (Float, Int)):
            found[name] = {"kind": type(parameter).__name__.lower()} | asdict(parameter)
    return found


def _describe_option(name: str, option: Any, plain: bool) -> Any:
    if isinstance(option, np.generic):
        option = option.item()
    if is_plain(option):
        return option
    if type(option) is float:  # not finite, which JSON cannot express
        return {"float": repr(option)}
    if plain:
        raise TypeError(
            f"option {option!r} of {name!r} cannot be written as JSON: options must be strings, "
            "numbers, True, False or None"
        )
    return {"object": re.sub(" at 0x[0-9a-fA-F]+", "", repr(option))}  # (differs between runs)


def is_plain(option: Any) -> bool:
    """Return whether an option survives a round trip through JSON."""
    if type(option) is float:
        return math.isfinite(option)
    return option is None or type(option) in (str, int, bool)  # (not subclasses)


def rebuild(description: Mapping[str, Any]) -> Space:
    """Return the space of a description."""
    if not isinstance(description, Mapping):
        raise ValueError(f"the JSON of a space must be an object, got {description!r}")
    parameters: dict[str, Parameter] = {}
    for name, given in description.items():
        try:
            parameters[name] = _rebuild_parameter(dict(given))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"the JSON of parameter {name!r} does not describe a parameter: {error!r}"
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
    """Return the number of cuts of a continuous parameter: while both halves contain floats."""
    return min(LEVELS, parameter.levels) if isinstance(parameter, Float) else LEVELS
