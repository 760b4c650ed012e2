"""The parameters of a space in one list, those of all options included."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bough.spaces.parameters import Choice, Parameter

#: Where a point is, one entry for each slot: a number from 0 to 1, the number of a value or option,
#: or None if the slot does not matter for it.
Point = tuple[float | None, ...]


@dataclass(frozen=True)
class Slot:
    """A parameter, and for each of its options the slots that come with it."""

    name: str
    parameter: Parameter
    inner: tuple[tuple[int, ...], ...] = ()


def slots_of(parameters: Mapping[str, Parameter]) -> tuple[list[Slot], tuple[int, ...]]:
    """Return all slots of a space, and which of them are always there."""
    slots: list[Any] = []

    def add(name: str, parameter: Parameter) -> int:
        number = len(slots)
        slots.append(None)
        inner: tuple[tuple[int, ...], ...] = ()
        if isinstance(parameter, Choice):
            inner = tuple(
                tuple(add(key, value) for key, value in space.parameters.items())
                for space in parameter.spaces
            )
        slots[number] = Slot(name, parameter, inner)
        return number

    first = tuple(add(name, parameter) for name, parameter in parameters.items())
    return slots, first
