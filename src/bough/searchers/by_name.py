"""Searchers by their names, and how one is made of what a user gave."""

from collections.abc import Callable
from typing import Any

from bough.searchers.air import UCBAIR
from bough.searchers.base import Searcher
from bough.searchers.bast import BAST
from bough.searchers.best_first import BestFirst
from bough.searchers.gpb import GPB
from bough.searchers.gpts import GPTS
from bough.searchers.hoo import HOO
from bough.searchers.linrel import LinRel
from bough.searchers.olop import KLOLOP, OLOP
from bough.searchers.random_search import RandomSearch
from bough.searchers.ucb import UCB1
from bough.searchers.uct import UCT
from bough.trees import Tree

#: For `maximize(..., searcher="gpts")`, `Study.create(..., searcher="uct")`.
SEARCHERS: dict[str, Callable[..., Searcher]] = {
    "bast": BAST,
    "best_first": BestFirst,
    "gpb": GPB,
    "gpts": GPTS,
    "hoo": HOO,
    "kl_olop": KLOLOP,
    "linrel": LinRel,
    "olop": OLOP,
    "random": RandomSearch,
    "ucb1": UCB1,
    "ucb_air": UCBAIR,
    "uct": UCT,
}
#: Those that must know beforehand how many plays there will be.
PLANNERS = ("kl_olop", "olop")


def make_searcher(
    given: Any,
    tree: Tree,
    rng: Any,
    options: dict[str, Any] | None = None,
    plays: int | None = None,
) -> Any:
    """Return the searcher that was given, or make the one of that name, or let a function make it.

    Parameters
    ----------
    given
        A searcher, a name, a function `tree -> searcher`, or None for GPTS.
    tree, rng
        What it searches, and its seed.
    options
        Keywords for a searcher that is made by its name.
    plays
        How many there will be, if that is known.
    """
    made = given(tree) if callable(given) and not isinstance(given, Searcher) else given
    if isinstance(made, Searcher):
        if made.tree != tree:
            raise ValueError(f"the searcher is for {made.tree!r}, not for {tree!r}")
        if rng is not None:
            raise ValueError("rng is for a searcher that is made here; give yours its own")
        if options:
            raise ValueError(
                f"{', '.join(options)}: options are for a searcher that is made here by its name; "
                "give them to yours"
            )
        return made
    if given is None or isinstance(given, str):
        name = "gpts" if given is None else given
        if name not in SEARCHERS:
            raise ValueError(f"searcher must be one of {sorted(SEARCHERS)}, got {name!r}")
        keywords = dict(options or {})
        if name in PLANNERS and not keywords.keys() & {"budget", "plays"}:
            if plays is None:
                raise ValueError(f"{name} plans for a fixed number of plays: give a budget")
            keywords["plays"] = plays
        return SEARCHERS[name](tree, rng=rng, **keywords)
    raise TypeError(
        "searcher must be a searcher, the name of one, or a function of the tree that makes one, "
        f"got {given!r}"
    )
