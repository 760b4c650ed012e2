"""Searchers by their names, and how one is made of what a user gave."""

from collections.abc import Callable
from typing import Any

from bough.searchers.base import Searcher
from bough.searchers.baselines.air import UCBAIR
from bough.searchers.baselines.bast import BAST
from bough.searchers.baselines.best_first import BestFirst
from bough.searchers.baselines.gpb import GPB
from bough.searchers.baselines.hoo import HOO
from bough.searchers.baselines.linrel import LinRel
from bough.searchers.baselines.olop import KLOLOP, OLOP
from bough.searchers.baselines.random_search import RandomSearch
from bough.searchers.baselines.ucb import UCB1
from bough.searchers.baselines.uct import UCT
from bough.searchers.gpts import GPTS
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
#: Functions that make searchers of what is not a tree, by its class: see `register_domain`.
_DOMAINS: dict[type, Callable[..., Any]] = {}
#: Those that must know beforehand how many plays there will be.
PLANNERS = ("kl_olop", "olop")


def register_domain(kind: type, make: Callable[..., Any]) -> None:
    """Register `make(given, domain, rng, options, plays)` for domains of a class."""
    _DOMAINS[kind] = make


def make_searcher(
    given: Any,
    tree_or_space: Any,
    rng: Any,
    options: dict[str, Any] | None = None,
    plays: int | None = None,
) -> Any:
    """Return the searcher that was given, or make the one of that name, or let a function make it.

    Parameters
    ----------
    given
        A searcher, a name, a function `tree -> searcher`, or None for GPTS. (On a space GPTS is
        `Forest`, and any other searcher of trees searches the fixed partition of the space.)
    tree_or_space, rng
        What it searches, and its seed.
    options
        Keywords for a searcher that is made by its name.
    plays
        How many there will be, if that is known.
    """
    for kind, make in _DOMAINS.items():
        if isinstance(tree_or_space, kind):
            return make(given, tree_or_space, rng, options, plays)
    tree: Tree = tree_or_space
    made = given(tree) if callable(given) and not isinstance(given, Searcher) else given
    if isinstance(made, Searcher):
        if made.tree != tree:
            raise ValueError(f"the searcher is for {made.tree!r}, not for {tree!r}")
        check_made(rng, options)
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
        "searcher must be a searcher, the name of one, or a function of what is searched that "
        f"makes one, got {given!r}"
    )


def check_made(rng: Any, options: Any) -> None:
    """Refuse options for a searcher that exists already."""
    if rng is not None:
        raise ValueError("rng is for a searcher that is made here; give yours its own")
    if options:
        raise ValueError(
            f"{', '.join(options)}: options are for a searcher that is made here by its name; "
            "give them to yours"
        )
