"""Who takes part in a comparison: searchers by name, and the grids on which they are tuned."""

import difflib
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bough._texts import parameters
from bough.problems import Problem
from bough.searchers import Searcher
from bough.searchers.by_name import SEARCHERS

#: Constants as they are written into tables and files: names and values, in a fixed order.
Constants = tuple[tuple[str, Any], ...]

#: What is tried for each searcher that has constants of its own; all combinations. A searcher that
#: is not here runs as it is, and so does a constant that is given, as in `uct:exploration=0.4`.
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "uct": {"exploration": (0.05, 0.1, 0.2, 0.4, 0.8, 1.4)},
    "bast": {
        "smoothness": (0.1, 0.3, 1.0),
        "decay": (0.5, 0.7, 0.9),
        "exploration": (0.1, 0.3, 1.0),
    },
    "hoo": {"nu": (0.1, 0.3, 1.0), "rho": (0.5, 0.7, 0.9), "exploration": (0.1, 0.3, 1.0)},
    "olop": {"exploration": (0.03, 0.1, 0.3, 1.0)},
    "kl_olop": {"exploration": (0.03, 0.1, 0.3, 1.0)},
}

#: `gpts-known` is `gpts` with the kernel, noise and mean of the problem.
KNOWN = "-known"


@dataclass(frozen=True)
class Entrant:
    """A searcher that takes part, with its constants and the grid for those to be tuned.

    `factory` is called with the tree and, if it has parameters of these names, with `rng`,
    `budget` (the number of evaluations; `plays` if it has both), `discount` (the problem's) and the
    constants.
    """

    name: str
    factory: Callable[..., Searcher]
    fixed: Constants = ()
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    known: bool = False

    def candidates(self) -> list[Constants]:
        """Return the constants to choose from, one if there is nothing to choose."""
        columns = [[(name, value) for value in values] for name, values in self.grid.items()]
        return [(*self.fixed, *row) for row in itertools.product(*columns)]

    def make(self, problem: Problem, constants: Constants, budget: int, seed: int) -> Searcher:
        """Return a new searcher for a problem."""
        accepted = _accepted(self.factory)
        # (Where a searcher has both, its `budget` is one of single steps.)
        horizon = "plays" if {"plays", "budget"} <= set(accepted) else "budget"
        offers: dict[str, Any] = {horizon: budget, "rng": np.random.default_rng([seed, 2])}
        if hasattr(problem, "discount"):
            offers["discount"] = problem.discount
        if self.known:
            if problem.kernel is None:
                raise ValueError(f"{problem.name} is not drawn from a prior that {self.name} knows")
            offers |= {"kernel": problem.kernel, "noise": problem.noise, "mean": problem.mean}
        keywords = {name: value for name, value in offers.items() if name in accepted}
        return self.factory(problem.tree, **{**keywords, **dict(constants)})


def entrant(text: str, grids: Mapping[str, Mapping[str, Sequence[Any]]] = GRIDS) -> Entrant:
    """Read a searcher's name, with constants if they are given: `uct`, `gpts:select=arm`.

    >>> entrant("uct:exploration=0.4").candidates()
    [(('exploration', 0.4),)]
    >>> len(entrant("uct").candidates())
    6
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
