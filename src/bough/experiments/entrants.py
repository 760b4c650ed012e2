"""Who takes part in a comparison: searchers by name, or of the user's own."""

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bough._text import parameters
from bough.experiments.grids import GRIDS, Constants, Grid, Window
from bough.problems import Problem
from bough.searchers import Searcher
from bough.searchers.registry import SEARCHERS

#: `gpts-known` is `gpts` with the kernel, noise and mean of the problem.
KNOWN = "-known"


@dataclass(frozen=True)
class Entrant:
    """A searcher that takes part, with its constants and the grid for those to be tuned.

    `factory` is called with the tree and, if it has parameters of these names, with `rng`,
    `budget` (the number of evaluations; `plays` if it says `needs_plays`), `discount` (the
    problem's) and the constants.
    """

    name: str
    factory: Callable[..., Searcher]
    fixed: Constants = ()
    grid: Mapping[str, Grid | Sequence[Any]] = field(default_factory=dict)
    known: bool = False

    def window(self, problem: Problem) -> Window:
        """Return the constants to choose from: those that the problem does not say."""
        said = self._said_by(problem)
        return Window({name: g for name, g in self.grid.items() if name not in said}, self.fixed)

    def make(self, problem: Problem, constants: Constants, budget: int, seed: int) -> Searcher:
        """Return a new searcher for a problem."""
        accepted = _accepted(self.factory)
        # (The `budget` of searchers that need the number of plays is one of single steps.)
        horizon = "plays" if getattr(self.factory, "needs_plays", False) else "budget"
        offers = {horizon: budget, "rng": np.random.default_rng([seed, 2])}
        offers |= self._said_by(problem)
        keywords = {name: value for name, value in offers.items() if name in accepted}
        return self.factory(problem.tree, **{**keywords, **dict(constants)})

    def _said_by(self, problem: Problem) -> dict[str, Any]:
        """Return the constants that a problem says to this searcher."""
        said: dict[str, Any] = {}
        if hasattr(problem, "discount"):
            said["discount"] = problem.discount
        if self.known:
            if problem.kernel is None:
                raise ValueError(f"{problem.name} is not drawn from a prior that {self.name} knows")
            said |= {"kernel": problem.kernel, "noise": problem.noise, "mean": problem.mean}
        return said


def entrant(text: str, grids: Mapping[str, Mapping[str, Any]] = GRIDS) -> Entrant:
    """Read a searcher's name, with constants if they are given: `uct`, `gpts:select=arm`.

    >>> entrant("uct:exploration=0.4").fixed, entrant("uct").fixed
    ((('exploration', 0.4),), ())
    """
    name, _, rest = text.partition(":")
    plain = name.removesuffix(KNOWN)
    if plain not in SEARCHERS:
        near = difflib.get_close_matches(plain, SEARCHERS, n=1)
        raise ValueError(
            f"there is no searcher {name!r}"
            + (f" (did you mean {near[0]!r}?)" if near else "")
            + f"; there are {', '.join(sorted(SEARCHERS))}, and NAME{KNOWN} for one that is given "
            "the kernel, noise and mean of the problem"
        )
    places, given = parameters(rest)
    if places:
        raise ValueError(f"searcher {text!r}: write its constants as NAME=VALUE")
    factory = SEARCHERS[plain]
    grid = {key: values for key, values in grids.get(plain, {}).items() if key not in given}
    accepted = _accepted(factory)
    for key in (*given, *grid):
        if key not in accepted:
            raise ValueError(f"{plain} has no constant {key!r}; it has {', '.join(accepted)}")
    return Entrant(text, factory, tuple(given.items()), grid, name != plain)


def entrant_of(name: str, factory: Callable[..., Searcher], grid: Mapping[str, Any]) -> Entrant:
    """Return a searcher of the user's own, made by a function of the tree."""
    if not callable(factory):
        raise TypeError(f"searcher {name!r} must be a function of the tree, got {factory!r}")
    accepted = _accepted(factory)
    for key in grid:
        if key not in accepted:
            raise ValueError(f"the function that makes {name!r} has no parameter {key!r}")
    return Entrant(name, factory, (), grid)


def _accepted(factory: Callable[..., Searcher]) -> list[str]:
    """Return the names of the parameters of a factory, after the tree."""
    found = list(inspect.signature(factory).parameters.values())[1:]
    return [p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
