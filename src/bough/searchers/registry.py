"""The registry of searchers: names, and how a `searcher=` argument becomes a searcher."""

from collections.abc import Callable
from typing import Any

from bough.searchers.base import Searcher
from bough.searchers.baselines import BASELINES
from bough.searchers.gpts import GPTS
from bough.trees import Tree

#: Searchers by name: called with a tree, `rng=` and their options.
SEARCHERS: dict[str, Callable[..., Searcher]] = {"gpts": GPTS, **BASELINES}
#: The names of those that need the number of plays beforehand.
PLANNERS = tuple(name for name, made in SEARCHERS.items() if getattr(made, "needs_plays", False))
#: Functions that make searchers of other domains than trees, by the class of the domain.
_DOMAINS: dict[type, Callable[..., Any]] = {}


def register(name: str, factory: Callable[..., Searcher]) -> None:
    """Register your own searcher, so that `searcher=name` works everywhere.

    This includes studies and `bough compare`. Register it before opening a study that uses it.

    Parameters
    ----------
    name
        A name that is not yet in use.
    factory
        A class or function that is called as `factory(tree, rng=rng, **options)`; with the
        attribute `needs_plays = True` also with `plays=`, the number of plays.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"name must be an identifier such as 'my_searcher', got {name!r}")
    if SEARCHERS.get(name, factory) is not factory:
        raise ValueError(f"name {name!r} is in use, for {SEARCHERS[name]!r}: choose another one")
    if not callable(factory):
        raise TypeError(f"factory must be a class or a function of the tree, got {factory!r}")
    SEARCHERS[name] = factory


def register_domain(kind: type, make: Callable[..., Any]) -> None:
    """Register `make(searcher, domain, rng, options, plays)` for domains of a class."""
    _DOMAINS[kind] = make


def make_searcher(
    searcher: Any,
    domain: Any,
    rng: Any,
    options: dict[str, Any] | None = None,
    plays: int | None = None,
) -> Any:
    """Return the searcher that a `searcher=` argument stands for.

    Parameters
    ----------
    searcher
        A searcher, a name, a function `tree -> searcher`, or None for GPTS. (On a space GPTS is
        `Forest`, and any other searcher of trees searches the fixed partition of the space.)
    domain
        The tree or space to search.
    rng
        The seed of a new searcher.
    options
        Keyword arguments of a searcher given by its name.
    plays
        The number of plays, if it is known.
    """
    for kind, make in _DOMAINS.items():
        if isinstance(domain, kind):
            return make(searcher, domain, rng, options, plays)
    tree: Tree = domain
    made = searcher
    if callable(searcher) and not isinstance(searcher, Searcher):
        made = searcher(tree)
    if isinstance(made, Searcher):
        if made.tree != tree:
            raise ValueError(f"the searcher is for {made.tree!r}, not for {tree!r}")
        check_made(rng, options)
        return made
    if searcher is not None and not isinstance(searcher, str):
        raise TypeError(
            "searcher must be a searcher, the name of one, or a function that makes one of the "
            f"tree or space, got {searcher!r}"
        )
    name = "gpts" if searcher is None else searcher
    if name not in SEARCHERS:
        raise ValueError(f"searcher must be one of {sorted(SEARCHERS)}, got {name!r}")
    factory, keywords = SEARCHERS[name], dict(options or {})
    if getattr(factory, "needs_plays", False) and not keywords.keys() & {"budget", "plays"}:
        if plays is None:
            raise ValueError(f"{name} plans for a fixed number of plays: give a budget")
        keywords["plays"] = plays
    return factory(tree, rng=rng, **keywords)


def check_made(rng: Any, options: Any) -> None:
    """Raise if a searcher that exists already is given a seed or options."""
    if rng is not None:
        raise ValueError(
            "rng is only for a new searcher: pass it to the constructor of your searcher"
        )
    if options:
        raise ValueError(
            f"{', '.join(options)}: options are only for a searcher given by its name; "
            "pass them to the constructor of your searcher"
        )
