"""What is searched, a tree or a space, as the loop and a study's file see it.

A searcher asks for a path of a tree, or for params of a space: what it asked for is what it is told
about, what an objective is called with (decoded), and what a file holds.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from bough.spaces import Choice, Space
from bough.spaces.space import is_plain
from bough.studies.trials import Trial
from bough.trees import Path, Tree


class OfTree:
    """A tree, whose paths are asked for."""

    def __init__(self, tree: Tree) -> None:
        self.whole = tree

    def decode(self, asked: Path) -> Any:
        """Return what the objective is called with."""
        return self.whole.decode(asked)

    def check(self, given: Any, search: Any) -> Path:
        """Check what somebody wants to be evaluated."""
        if getattr(search, "growth", None) == "deepening":
            return self.whole.walk(given)[0]
        return self.whole.complete(given)

    def path(self, asked: Path) -> Path:
        """Return its path."""
        return asked

    def params(self, asked: Path) -> Any:
        """Return its params."""
        return None

    def asked(self, trial: Trial) -> Any:
        """Return what was asked for, of a trial."""
        return trial.path

    def write(self, asked: Path) -> str:
        """Return it as a file holds it."""
        return json.dumps(asked, separators=(",", ":"))

    def read(self, text: str) -> Any:
        """Return what a file holds."""
        return tuple(json.loads(text))

    def say(self, asked: Path) -> str:
        """Return it as a message says it."""
        return f"path {asked}"


class OfSpace:
    """A space, whose params are asked for."""

    def __init__(self, space: Space) -> None:
        self.whole = space

    def decode(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the objective is called with: a dict of its own, which it may change."""
        return dict(asked)

    def check(self, given: Any, search: Any) -> dict[str, Any]:
        """Check what somebody wants to be evaluated."""
        self.whole.point(given)
        return dict(given)

    def path(self, asked: Mapping[str, Any]) -> Path:
        """Return the path of its cell in the space's fixed partition."""
        return self.whole.encode(asked) if asked else ()

    def params(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params."""
        return dict(asked)

    def asked(self, trial: Trial) -> Any:
        """Return what was asked for, of a trial."""
        return trial.params

    def write(self, asked: Mapping[str, Any]) -> str:
        """Return params as a file holds them: an option that is an object by its number."""
        point = self.whole.point(asked)
        plain: dict[str, Any] = {}
        for slot, position in zip(self.whole.slots, point, strict=True):
            if position is None:
                continue
            value = slot.parameter.value(position)  # type: ignore[arg-type]
            if isinstance(slot.parameter, Choice):
                plain[slot.name] = value if is_plain(value) else {"option": int(position)}
            else:
                plain[slot.name] = type(value)(asked[slot.name])
        return json.dumps(plain, separators=(",", ":"))

    def read(self, text: str) -> dict[str, Any]:
        """Return what a file holds."""
        plain = json.loads(text)
        if not plain:
            return {}  # the record of this trial was damaged
        params: dict[str, Any] = {}
        active = list(self.whole.roots)
        for number in active:  # (it grows)
            slot = self.whole.slots[number]
            value = plain[slot.name]
            if isinstance(slot.parameter, Choice):
                if isinstance(value, dict):
                    value = slot.parameter.options[value["option"]]
                active.extend(slot.inner[slot.parameter.position(value, slot.name)])
            params[slot.name] = value
        return params

    def say(self, asked: Mapping[str, Any]) -> str:
        """Return it as a message says it."""
        return f"params {asked}"


class Unknown(OfTree):
    """What a file does not hold: paths and params come as they are written there."""

    def __init__(self) -> None:
        super().__init__(Tree(1, 0))

    def path(self, asked: Any) -> Path:
        """Return its path, if it is one."""
        return asked if isinstance(asked, tuple) else ()

    def params(self, asked: Any) -> Any:
        """Return its params, if that is what it is."""
        return asked if isinstance(asked, dict) else None

    def asked(self, trial: Trial) -> Any:
        """Return what was asked for, of a trial."""
        return trial.path if trial.params is None else trial.params

    def read(self, text: str) -> Any:
        """Return what a file holds."""
        found = json.loads(text)
        return found if isinstance(found, dict) else tuple(found)


Subject = OfTree | OfSpace


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return params to be read as JSON; what it has no word for by its repr.

    >>> plain_params({"x": 0.5, "layers": (8, 8), "f": len, "most": float("inf")})
    {'x': 0.5, 'layers': [8, 8], 'f': '<built-in function len>', 'most': 'inf'}
    """
    plain: dict[str, Any] = {}
    for name, value in params.items():
        value = value.item() if isinstance(value, np.generic) else value
        try:
            plain[name] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            plain[name] = repr(value)
    return plain


def subject_of(tree_or_space: Any, name: str = "tree_or_space") -> Subject:
    """Return what is searched, or say that this cannot be."""
    if isinstance(tree_or_space, Space):
        return OfSpace(tree_or_space)
    if isinstance(tree_or_space, Tree):
        return OfTree(tree_or_space)
    raise TypeError(f"{name} must be a bough.Tree or a bough.Space, got {tree_or_space!r}")
