"""Searchers by their names, and how one is made of what a user gave."""

from collections.abc import Callable
from typing import Any

from bough.searchers.base import Searcher
from bough.searchers.gpts import GPTS
from bough.searchers.uct import UCT
from bough.trees import Tree

#: For `maximize(..., searcher="gpts")`, `Study.create(..., searcher="uct")`.
SEARCHERS: dict[str, Callable[..., Searcher]] = {"gpts": GPTS, "uct": UCT}


def make_searcher(given: Any, tree: Tree, rng: Any, options: dict[str, Any] | None = None) -> Any:
    """Return the searcher that was given, or make the one of that name, or let a function make it.

    Parameters
    ----------
    given
        A searcher, a name, a function `tree -> searcher`, or None for GPTS.
    tree, rng
        What it searches, and its seed.
    options
        Keywords for a searcher that is made by its name.
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
        return SEARCHERS[name](tree, rng=rng, **(options or {}))
    raise TypeError(
        "searcher must be a searcher, the name of one, or a function of the tree that makes one, "
        f"got {given!r}"
    )
