"""Permutations, subsets and strings."""

import itertools
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bough._validation import whole
from bough.structures.structure import (
    MOST_DEPTH,
    Path,
    Structure,
    check_label,
    fix,
    read_items,
)


@dataclass(frozen=True, repr=False)
class Permutations(Structure):
    """Orders of items: the k-th child takes the k-th of those that are left."""

    kind = "permutations"
    items: tuple[Hashable, ...]
    label: str = "position"

    def __post_init__(self) -> None:
        fix(self, "items", read_items(self.items, "items"))
        check_label(self.label, "position", "pair")

    @property
    def steps(self) -> int:
        return len(self.items)

    @property
    def branching(self) -> list[int]:
        return list(range(len(self.items), 0, -1))

    @cached_property
    def arms(self) -> int:
        return math.factorial(len(self.items))

    @cached_property
    def log_arms(self) -> float:  # (the factorial of a large number would take long)
        return math.fsum(map(math.log, self.branching))

    def decode(self, path: Path) -> list[Hashable]:
        left = list(self.items)
        return [left.pop(k) for k in path]

    def label_of(self, path: Path) -> tuple[Hashable, ...]:
        order = self.decode(path)
        return tuple(order[-2:]) if self.label == "pair" else (len(path) - 1, order[-1])

    def name_of(self, path: Path) -> Hashable:
        return self.decode(path)[-1]


@dataclass(frozen=True, repr=False)
class Subsets(Structure):
    """Subsets of one size: each child takes an item behind the one taken before."""

    kind = "subsets"
    items: tuple[Hashable, ...]
    size: int

    def __post_init__(self) -> None:
        fix(self, "items", read_items(self.items, "items"))
        fix(self, "size", whole(self.size, "size", least=1))
        if self.size > len(self.items):
            raise ValueError(
                f"size must be at most the number of items, {len(self.items)}, got {self.size}"
            )

    @property
    def steps(self) -> int:
        return self.size

    @property
    def branching(self) -> Callable[[Path], int]:
        return self._children

    def _children(self, path: Path) -> int:
        if len(path) == self.size:
            return 0
        return len(self.items) - self.size + 1 - sum(path)  # items are left for later steps

    @cached_property
    def arms(self) -> int:
        return math.comb(len(self.items), self.size)

    def decode(self, path: Path) -> set[Hashable]:
        return set(self._taken(path))

    def text(self, path: Path) -> str:
        return f"{{{', '.join(map(repr, self._taken(path)))}}}"

    def _taken(self, path: Path) -> list[Hashable]:
        places = itertools.accumulate(path, lambda place, k: place + k + 1)
        return [self.items[place] for place in places]

    def label_of(self, path: Path) -> Hashable:
        return self.items[sum(path) + len(path) - 1]

    name_of = label_of


@dataclass(frozen=True, repr=False)
class Strings(Structure):
    """Sequences of letters, all of one length."""

    kind = "strings"
    alphabet: tuple[Hashable, ...]
    length: int

    def __post_init__(self) -> None:
        fix(self, "alphabet", read_items(self.alphabet, "alphabet"))
        fix(self, "length", whole(self.length, "length", least=1, most=MOST_DEPTH))

    @property
    def steps(self) -> int:
        return self.length

    @property
    def branching(self) -> list[int]:
        return [len(self.alphabet)] * self.length

    @cached_property
    def arms(self) -> int:
        return int(len(self.alphabet) ** self.length)

    @cached_property
    def log_arms(self) -> float:
        return self.length * math.log(len(self.alphabet))

    @cached_property
    def _of_characters(self) -> bool:
        return all(isinstance(letter, str) and len(letter) == 1 for letter in self.alphabet)

    def decode(self, path: Path) -> str | list[Hashable]:
        letters: Any = [self.alphabet[k] for k in path]
        return "".join(letters) if self._of_characters else letters

    def label_of(self, path: Path) -> tuple[int, Hashable]:
        return len(path) - 1, self.alphabet[path[-1]]

    def name_of(self, path: Path) -> Hashable:
        return self.alphabet[path[-1]]
