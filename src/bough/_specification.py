"""What a study is of: its tree, searcher, options and seed, described, compared and made anew."""

import copy
from pathlib import Path as FilePath
from typing import Any

from bough import _describe as describing
from bough._lock import StudyError
from bough._random import SplitMix64
from bough.searchers import Searcher
from bough.searchers.by_name import make_searcher
from bough.trees import Tree


def specify(
    tree: Tree, searcher: Any, rng: Any, direction: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Return all that a file says of its search; of what is a function, its name."""
    made = callable(searcher) or isinstance(searcher, Searcher)
    return {
        "tree": describing.describe_tree(tree),
        "searcher": describing.describe(searcher),
        "options": {name: describing.describe(option) for name, option in options.items()},
        "direction": direction,
        "seed": None if made else describing.describe_seed(rng),
    }


def checked_tree(tree: Any) -> Tree:
    """Refuse what is no tree."""
    if not isinstance(tree, Tree):
        raise TypeError(f"tree_or_space must be a bough.Tree, got {tree!r}")
    return tree


def fresh(search: Searcher) -> Searcher:
    """Refuse a searcher that was told something before: that would not be in the record."""
    if search.observations or search.pending:
        raise ValueError(
            f"searcher must be a new one, since the study records all that it is told; {search!r} "
            f"has {search.observations} observations and {len(search.pending)} pending"
        )
    return search


def sign_of(specification: dict[str, Any]) -> float:
    """Return what values are multiplied by before a searcher, which maximizes, is told."""
    return -1.0 if specification["direction"] == "minimize" else 1.0


def compared_tree(file: FilePath, specification: dict[str, Any], tree: Any) -> Tree:
    """Return the study's tree; refuse another one."""
    recorded = specification["tree"]
    if tree is None:
        try:
            return describing.rebuild_tree(recorded)
        except describing.NotInFile as error:
            raise StudyError(f"{error}: open {file} with tree=...") from None
    given = describing.describe_tree(checked_tree(tree))
    for part, was in recorded.items():
        if given[part] != was:
            raise StudyError(
                f"{file} is a study of another tree: its {part} is {was}, not {given[part]}"
            )
    found: Tree = tree
    return found


def maker_of(
    file: FilePath, specification: dict[str, Any], tree: Tree, searcher: Any, options: Any
) -> Any:
    """Return a function that makes the study's searcher anew; None if the file cannot say how."""
    was = specification["searcher"]
    if searcher is not None and describing.describe(searcher) != was:
        raise StudyError(f"{file} is a study by {was}, not by {describing.describe(searcher)}")
    recorded = specification["options"]
    for name, option in options.items():
        if option is not None and name not in recorded:
            raise StudyError(
                f"{file} is a study without the option {name}; it has {recorded or 'none'}"
            )
        if describing.describe(option) != recorded.get(name):
            raise StudyError(
                f"{file} is a study with {name}={recorded.get(name)}, not "
                f"{describing.describe(option)}"
            )
    if isinstance(was, dict):
        if searcher is None:
            return None
        begin = specification["begin"]
        if isinstance(searcher, Searcher):
            given = fresh(searcher)
            return lambda: _as_it_began(copy.deepcopy(given), begin)
        return lambda: _as_it_began(fresh(make_searcher(searcher, tree, None)), begin)
    try:
        settings = {
            name: options[name] if name in options else describing.rebuild(option, name)
            for name, option in recorded.items()
        }
    except describing.NotInFile:
        return None
    return lambda: make_searcher(
        was, tree, describing.rebuild_seed(specification["seed"]), settings
    )


def _as_it_began(search: Searcher, state: int | None) -> Searcher:
    """Give a searcher of the program the random state that the study began with.

    So a program that lets its seed be drawn can go on, too.
    """
    if state is not None and hasattr(search, "_random"):
        search._random = SplitMix64(state % 2**64)
    return search
