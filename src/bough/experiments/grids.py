"""The constants that are tried for each searcher, and how a grid grows until it is wide enough."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Constants as they are written into tables and files: names and values, in a fixed order.
Constants = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Grid:
    """Values of a constant to try, rising, and where to go on while the best is the last of them.

    `lower` and `higher` are added one by one, the first first: so the best is never at an end of
    what was tried, unless there is nothing beyond (a smoothness below 0, a decay above 1).
    """

    values: Sequence[Any]
    lower: Sequence[Any] = ()
    higher: Sequence[Any] = ()


_EXPLORATION = Grid((0.03, 0.1, 0.3), (0.01, 0.003, 0.001, 0.0), (1.0, 3.0, 10.0))
_SLACK = Grid((0.3, 1.0, 3.0), (0.1, 0.03, 0.01, 0.0), (10.0, 30.0, math.inf))
_DISCOUNT = Grid((0.5, 0.7, 0.9), (0.3, 0.1, 0.01), (0.97, 0.99, 0.999))

#: Where all that was tried is equally bad, not more than this is tried in search of a difference.
MOST_CANDIDATES = 400

#: What is tried for each searcher that has constants of its own; all combinations. A searcher that
#: is not here runs as it is; so does a constant that is given, as in `uct:exploration=0.4`, and one
#: that the problem says, as the discount of a discounted tree.
GRIDS: dict[str, dict[str, Grid]] = {
    "bast": {
        "smoothness": _SLACK,
        "decay": Grid((0.5, 0.7, 0.9), (0.3, 0.1, 0.0), (1.0,)),
        "exploration": _EXPLORATION,
    },
    "best_first": {"discount": _DISCOUNT},
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
    "olop": {"exploration": _EXPLORATION, "discount": _DISCOUNT},
    "ucb1": {"exploration": Grid((0.1, 0.3, 1.0), (0.03, 0.01, 0.0), (3.0, 10.0))},
    "ucb_air": {"rarity": Grid((0.5, 1.0, 2.0), (0.3, 0.1, 0.03), (5.0, 10.0, 30.0))},
    "uct": {"exploration": Grid((0.1, 0.2, 0.4), (0.05, 0.02, 0.01, 0.0), (0.8, 1.6, 3.2, 6.4))},
}


class Window:
    """What has been tried so far of the grids of one searcher on one problem.

    >>> window = Window({"c": Grid((1, 2, 3), higher=(4, 5))})
    >>> window.candidates()
    [(('c', 1),), (('c', 2),), (('c', 3),)]
    >>> window.widen((("c", 3),)), window.tried
    (True, {'c': [1, 2, 3, 4]})
    >>> window.widen((("c", 2),))
    False
    """

    def __init__(self, grids: Mapping[str, Grid | Sequence[Any]], fixed: Constants = ()) -> None:
        self.fixed = fixed
        full = {name: g if isinstance(g, Grid) else Grid(g) for name, g in grids.items()}
        self.tried = {name: list(grid.values) for name, grid in full.items()}
        self._lower = {name: list(grid.lower) for name, grid in full.items()}
        self._higher = {name: list(grid.higher) for name, grid in full.items()}

    def candidates(self) -> list[Constants]:
        """Return all combinations of what is tried, one if there is nothing to choose."""
        columns = [[(name, value) for value in values] for name, values in self.tried.items()]
        return [(*self.fixed, *row) for row in itertools.product(*columns)]

    def ends(self, constants: Constants) -> list[str]:
        """Return which of the constants are the lowest or highest of several that are tried."""
        return [
            name
            for name, value in constants
            if len(tried := self.tried.get(name, [])) > 1 and value in (tried[0], tried[-1])
        ]

    def widen(self, chosen: Constants) -> bool:
        """Try more beyond each end at which the best lies; return whether there is more."""
        lows = [name for name, value in chosen if value in self.tried.get(name, [])[:1]]
        highs = [name for name, value in chosen if value in self.tried.get(name, [])[-1:]]
        return self._extend(lows, highs)

    def widen_all(self) -> bool:
        """Try more beyond every end, if that is not too much; return whether there is more."""
        more = math.prod(
            len(values) + bool(self._lower[name]) + bool(self._higher[name])
            for name, values in self.tried.items()
        )
        return more <= MOST_CANDIDATES and self._extend(list(self.tried), list(self.tried))

    def _extend(self, lows: Sequence[str], highs: Sequence[str]) -> bool:
        before = len(self.candidates())
        for name in lows:
            self.tried[name][:0] = self._lower[name][:1]
            del self._lower[name][:1]
        for name in highs:
            self.tried[name] += self._higher[name][:1]
            del self._higher[name][:1]
        return len(self.candidates()) > before
