"""Trials, and the domains (trees and spaces) that they are evaluated in.

A searcher asks for a path of a tree, or for params of a space: the *candidate* of a trial. It is
what the searcher observes, what a file holds, and, decoded, what an objective is called with.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

from bough.spaces import Choice, Space
from bough.spaces.space import is_plain
from bough.trees import Path, Tree


class Trial(NamedTuple):
    """One evaluation with its state.

    Attributes
    ----------
    id
        The number in the study: 0, 1, 2, ...
    path
        The path to evaluate.
    params
        The parameters that the path stands for in a space; None on a plain tree.
    value
        The observed value, None until there is one.
    state
        `"running"`, `"told"` (there is a value) or `"failed"`.
    started, ended
        The times of `ask` and of `tell` or `fail`, in seconds since 1970.
    noise
        The standard deviation of the value, if one was given.
    reason
        The reason of a failure.
    """

    id: int
    path: Path
    params: Any
    value: float | None
    state: Literal["running", "told", "failed"]
    started: float
    ended: float | None = None
    noise: float | None = None
    reason: str | None = None


class Trials(Sequence[Trial]):
    """The trials of a study, in the order of their ids."""

    def __init__(self, trials: list[Trial]) -> None:
        self._trials = trials

    @overload
    def __getitem__(self, index: int) -> Trial: ...
    @overload
    def __getitem__(self, index: slice) -> list[Trial]: ...
    def __getitem__(self, index: int | slice) -> Trial | list[Trial]:
        return self._trials[index]

    def __len__(self) -> int:
        return len(self._trials)

    def count(self, state: Any) -> int:
        """Return the number of trials in a state, such as `"told"`."""
        return sum(trial.state == state for trial in self._trials)

    def to_pandas(self) -> Any:
        """Return the trials as a `pandas.DataFrame` with one row each."""
        import pandas as pd

        return pd.DataFrame(list(self._trials), columns=list(Trial._fields))

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(s)} {s}" for s in ("told", "failed", "running"))
        return f"Trials({len(self)}: {counts})"


# ---------------------------------------------------------------------- domains


class TreeDomain:
    """A tree, whose candidates are paths."""

    def __init__(self, tree: Tree) -> None:
        self.source = tree

    def decode(self, candidate: Path) -> Any:
        """Return the argument of the objective."""
        return self.source.decode(candidate)

    def check(self, given: Any, search: Any) -> Path:
        """Return a path given by the user as a candidate, or refuse it."""
        if getattr(search, "growth", None) == "deepening":
            return self.source.walk(given)[0]
        return self.source.complete(given)

    def path(self, candidate: Path) -> Path:
        """Return the path of a candidate."""
        return candidate

    def params(self, candidate: Path) -> Any:
        """Return the params of a candidate, None on a tree."""
        return None

    def candidate(self, trial: Trial) -> Any:
        """Return the candidate of a trial."""
        return trial.path

    def write(self, candidate: Path) -> str:
        """Return a candidate as JSON."""
        return json.dumps(candidate, separators=(",", ":"))

    def read(self, text: str) -> Any:
        """Return the candidate that was written as JSON."""
        return tuple(json.loads(text))

    def describe(self, candidate: Path) -> str:
        """Return a candidate in words, for messages."""
        return f"path {candidate}"


class SpaceDomain:
    """A space, whose candidates are params."""

    def __init__(self, space: Space) -> None:
        self.source = space

    def decode(self, candidate: Mapping[str, Any]) -> dict[str, Any]:
        """Return the argument of the objective: a dict of its own, which it may change."""
        return dict(candidate)

    def check(self, given: Any, search: Any) -> dict[str, Any]:
        """Return params given by the user as a candidate, or refuse them."""
        self.source.point(given)
        return dict(given)

    def path(self, candidate: Mapping[str, Any]) -> Path:
        """Return the path of the candidate's cell in the fixed partition of the space."""
        return self.source.encode(candidate)

    def params(self, candidate: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params of a candidate."""
        return dict(candidate)

    def candidate(self, trial: Trial) -> Any:
        """Return the candidate of a trial."""
        return trial.params

    def write(self, candidate: Mapping[str, Any]) -> str:
        """Return a candidate as JSON: options that are objects by their numbers."""
        point = self.source.point(candidate)
        plain: dict[str, Any] = {}
        for slot, position in zip(self.source.slots, point, strict=True):
            if position is None:
                continue
            value = slot.parameter.value(position)
            if isinstance(slot.parameter, Choice):
                plain[slot.name] = value if is_plain(value) else {"option": int(position)}
            else:
                plain[slot.name] = type(value)(candidate[slot.name])
        return json.dumps(plain, separators=(",", ":"))

    def read(self, text: str) -> dict[str, Any]:
        """Return the candidate that was written as JSON."""
        plain = json.loads(text)
        params: dict[str, Any] = {}
        active = list(self.source.roots)
        for number in active:  # (it grows)
            slot = self.source.slots[number]
            value = plain[slot.name]
            if isinstance(slot.parameter, Choice):
                if isinstance(value, dict):
                    value = slot.parameter.options[value["option"]]
                active.extend(slot.inner[slot.parameter.position(value, slot.name)])
            params[slot.name] = value
        return params

    def describe(self, candidate: Mapping[str, Any]) -> str:
        """Return a candidate in words, for messages."""
        return f"params {candidate}"


class UnknownDomain(TreeDomain):
    """A domain that a file does not hold: paths and params come as they are written there."""

    def __init__(self) -> None:
        super().__init__(Tree(1, 0))

    def path(self, candidate: Any) -> Path:
        """Return the path of a candidate, if it is one."""
        return candidate if isinstance(candidate, tuple) else ()

    def params(self, candidate: Any) -> Any:
        """Return the params of a candidate, if it has any."""
        return candidate if isinstance(candidate, dict) else None

    def candidate(self, trial: Trial) -> Any:
        """Return the candidate of a trial."""
        return trial.path if trial.params is None else trial.params

    def read(self, text: str) -> Any:
        """Return the candidate that was written as JSON."""
        found = json.loads(text)
        return found if isinstance(found, dict) else tuple(found)


Domain = TreeDomain | SpaceDomain


def domain_of(tree_or_space: Any, name: str = "tree_or_space") -> Domain:
    """Return the domain of a tree or space, or refuse anything else."""
    if isinstance(tree_or_space, Space):
        return SpaceDomain(tree_or_space)
    if isinstance(tree_or_space, Tree):
        return TreeDomain(tree_or_space)
    raise TypeError(f"{name} must be a bough.Tree or a bough.Space, got {tree_or_space!r}")
