"""Competitors: the searchers of a comparison, with the grids on which their constants are tuned."""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bough._text import parameters
from bough.problems import Problem
from bough.problems.names import unknown_name
from bough.searchers import Searcher
from bough.searchers.registry import SEARCHERS

#: Constants as they are written into tables and files: names and values, in a fixed order.
Constants = tuple[tuple[str, Any], ...]


def in_words(constants: Constants) -> str:
    """Return constants as text, such as `nu=0.3, rho=0.5`."""
    return ", ".join(f"{name}={value}" for name, value in constants)


@dataclass(frozen=True)
class Grid:
    """Values of a constant to try, and further ones to add while the best is at an end.

    All rise from `lower[-1]` to `higher[-1]`; `lower` and `higher` are added one by one.
    """

    values: Sequence[Any]
    lower: Sequence[Any] = ()
    higher: Sequence[Any] = ()


_EXPLORATION = Grid((0.03, 0.1, 0.3), (0.01, 0.003, 0.001, 0.0), (1.0, 3.0, 10.0))
_SLACK = Grid((0.3, 1.0, 3.0), (0.1, 0.03, 0.01, 0.0), (10.0, 30.0, math.inf))
_DISCOUNT = Grid((0.5, 0.7, 0.9), (0.3, 0.1, 0.01), (0.97, 0.99, 0.999))

#: The grids of each searcher that has constants of its own; all combinations are tried. A searcher
#: that is not here runs as it is; so does a constant that is given, as in `uct:exploration=0.4`,
#: and one that the problem defines, as the discount of a discounted tree.
GRIDS: dict[str, dict[str, Grid]] = {
    "bast": {
        "smoothness": _SLACK,
        "decay": Grid((0.5, 0.7, 0.9), (0.3, 0.1, 0.0), (1.0,)),
        "exploration": _EXPLORATION,
    },
    "best_first": {"discount": _DISCOUNT},
    "gittins": {"discount": Grid((0.9, 0.97, 0.99), (0.7, 0.5), (0.997, 0.999))},
    "gpb": {"noise": Grid((0.03, 0.1, 0.3), (0.01, 0.003, 0.001), (1.0, 3.0, 10.0))},
    "hoo": {
        "nu": Grid((0.3, 1.0, 3.0), (0.1, 0.03, 0.01, 0.001), (10.0, 30.0, 100.0)),
        "rho": _DISCOUNT,
        "exploration": _EXPLORATION,
    },
    "kl_olop": {"exploration": _EXPLORATION, "discount": _DISCOUNT},
    "linrel": {
        "exploration": Grid((0.1, 0.3, 1.0), (0.03, 0.01, 0.0), (3.0, 10.0, 30.0)),
        "regularization": Grid((0.03, 0.1, 0.3), (0.01, 0.003, 0.001), (1.0, 3.0, 10.0)),
    },
    "lookahead": {"noise": Grid((0.03, 0.1, 0.3), (0.01, 0.003, 0.001), (1.0, 3.0, 10.0))},
    "olop": {"exploration": _EXPLORATION, "discount": _DISCOUNT},
    "rave": {
        "exploration": _EXPLORATION,
        "bias": Grid((0.03, 0.1, 0.3), (0.01, 0.0), (1.0, 3.0)),
    },
    "two_level": {"exploration": Grid((0.1, 0.3, 1.0), (0.03, 0.01, 0.0), (3.0, 10.0))},
    "ucb1": {"exploration": Grid((0.1, 0.3, 1.0), (0.03, 0.01, 0.0), (3.0, 10.0))},
    "ucb_air": {"rarity": Grid((0.5, 1.0, 2.0), (0.3, 0.1, 0.03), (5.0, 10.0, 30.0))},
    "uct": {"exploration": Grid((0.1, 0.2, 0.4), (0.05, 0.02, 0.01, 0.0), (0.8, 1.6, 3.2, 6.4))},
    "zooming": {
        "smoothness": _SLACK,
        "decay": Grid((0.5, 0.7, 0.9), (0.3, 0.1, 0.0), (1.0,)),
        "exploration": _EXPLORATION,
    },
}
#: Where all candidates are equally bad, grids grow in all directions, but not beyond this number.
MOST_CANDIDATES = 400
#: `gpts-known` is `gpts` with the kernel, noise and mean of the problem.
KNOWN = "-known"


class GridWindow:
    """The parts of the grids of one searcher on one problem that are tried so far.

    >>> window = GridWindow({"c": Grid((1, 2, 3), higher=(4, 5))})
    >>> window.candidates()
    [(('c', 1),), (('c', 2),), (('c', 3),)]
    >>> window.widen((("c", 3),)), window.tried
    (True, {'c': [1, 2, 3, 4]})
    >>> window.widen((("c", 2),))
    False
    """

    def __init__(self, grids: Mapping[str, Grid | Sequence[Any]], fixed: Constants = ()) -> None:
        self.fixed = fixed
        self._values: dict[str, list[Any]] = {}
        self._ranges: dict[str, range] = {}  # of the values that are tried
        for name, given in grids.items():
            grid = given if isinstance(given, Grid) else Grid(given)
            self._values[name] = [*reversed(grid.lower), *grid.values, *grid.higher]
            self._ranges[name] = range(len(grid.lower), len(grid.lower) + len(grid.values))

    @property
    def tried(self) -> dict[str, list[Any]]:
        """The values tried so far, by the name of the constant."""
        return {name: self._values[name][r.start : r.stop] for name, r in self._ranges.items()}

    def candidates(self) -> list[Constants]:
        """Return all combinations of tried values, one if there is nothing to tune."""
        columns = [[(name, value) for value in values] for name, values in self.tried.items()]
        return [(*self.fixed, *row) for row in itertools.product(*columns)]

    def ends(self, constants: Constants) -> list[str]:
        """Return the names of the constants that are the lowest or highest of several tried."""
        tried = {name: values for name, values in self.tried.items() if len(values) > 1}
        return [n for n, value in constants if n in tried and value in (tried[n][0], tried[n][-1])]

    def widen(self, chosen: Constants | None) -> bool:
        """Extend the grids at each end at which the chosen values lie; return whether any could be.

        With None extend them at every end, up to `MOST_CANDIDATES`.
        """
        wider = {}
        for name, tried in self._ranges.items():
            values = self._values[name]
            low = chosen is None or dict(chosen)[name] == values[tried.start]
            high = chosen is None or dict(chosen)[name] == values[tried.stop - 1]
            wider[name] = range(max(tried.start - low, 0), min(tried.stop + high, len(values)))
        too_many = chosen is None and math.prod(map(len, wider.values())) > MOST_CANDIDATES
        if wider == self._ranges or too_many:
            return False
        self._ranges = wider
        return True


@dataclass(frozen=True)
class Competitor:
    """A searcher that takes part, with its constants and the grids for those to be tuned.

    `factory` is called with the tree, the constants and, if it has such parameters, with `rng`,
    `budget` (or `plays`, if it says `needs_plays`) and the `discount` of the problem.
    """

    name: str
    factory: Callable[..., Searcher]
    fixed: Constants = ()
    grid: Mapping[str, Grid | Sequence[Any]] = field(default_factory=dict)
    known: bool = False

    def window(self, problem: Problem) -> GridWindow:
        """Return the grids of the constants that the problem does not define."""
        defined = self._defined_by(problem)
        return GridWindow(
            {name: g for name, g in self.grid.items() if name not in defined}, self.fixed
        )

    def make(self, problem: Problem, constants: Constants, budget: int, seed: int) -> Searcher:
        """Return a new searcher for a problem."""
        accepted = _parameters(self.factory)
        # (The `budget` of searchers that need the number of plays is one of single steps.)
        horizon = "plays" if getattr(self.factory, "needs_plays", False) else "budget"
        offers = {horizon: budget, "rng": np.random.default_rng([seed, 2])}
        offers |= self._defined_by(problem)
        keywords = {name: value for name, value in offers.items() if name in accepted}
        made = self.factory(problem.tree, **{**keywords, **dict(constants)})
        if not isinstance(made, Searcher):
            raise TypeError(f"searcher {self.name!r} must make a bough.Searcher, got {made!r}")
        return made

    def _defined_by(self, problem: Problem) -> dict[str, Any]:
        """Return the constants that a problem defines for this searcher."""
        defined: dict[str, Any] = {}
        if hasattr(problem, "discount"):
            defined["discount"] = problem.discount
        if self.known:
            if problem.kernel is None:
                raise ValueError(f"{problem.name} is not drawn from a prior that {self.name} knows")
            defined |= {"kernel": problem.kernel, "noise": problem.noise, "mean": problem.mean}
        return defined


def named_competitor(text: str, grids: Mapping[str, Mapping[str, Any]] = GRIDS) -> Competitor:
    """Return the searcher of a name, with constants if there are any: `uct`, `gpts:select=arm`."""
    name, _, rest = text.partition(":")
    plain = name.removesuffix(KNOWN)
    if plain not in SEARCHERS:
        raise ValueError(
            f"{unknown_name('searcher', name, plain, SEARCHERS)}, and NAME{KNOWN} for one that is "
            "given the kernel, noise and mean of the problem"
        )
    places, given = parameters(rest)
    if places:
        raise ValueError(f"searcher {text!r}: write its constants as NAME=VALUE")
    grid = {key: values for key, values in grids.get(plain, {}).items() if key not in given}
    _check_constants(plain, SEARCHERS[plain], (*given, *grid))
    return Competitor(text, SEARCHERS[plain], tuple(given.items()), grid, name != plain)


def custom_competitor(
    name: str, factory: Callable[..., Searcher], grids: Mapping[str, Mapping[str, Any]]
) -> Competitor:
    """Return a searcher of the user's own, made by a function of the tree."""
    if not callable(factory):
        raise TypeError(f"searcher {name!r} must be a function of the tree, got {factory!r}")
    grid = grids.get(name, {})
    _check_constants(name, factory, grid)
    return Competitor(name, factory, (), grid)


def _check_constants(name: str, factory: Callable[..., Searcher], constants: Iterable[str]) -> None:
    accepted = _parameters(factory)
    for key in constants:
        if key not in accepted:
            raise ValueError(f"{name} has no constant {key!r}; it has {', '.join(accepted)}")


def _parameters(factory: Callable[..., Searcher]) -> list[str]:
    """Return the names of the parameters of a factory, after the tree."""
    found = list(inspect.signature(factory).parameters.values())[1:]
    return [p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
