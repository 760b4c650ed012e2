"""What a study is of: its tree, searcher, options and seed, described, compared and made anew."""

import copy
import json
from pathlib import Path as FilePath
from typing import Any

from bough.belief.rng import SplitMix64
from bough.exceptions import StudyError
from bough.searchers import Searcher
from bough.searchers.registry import make_searcher
from bough.spaces import Space
from bough.spaces.searcher import SpaceSearcher
from bough.spaces.space import describe as describe_space
from bough.spaces.space import rebuild as rebuild_space
from bough.studies import describe as describing
from bough.studies.domain import subject_of
from bough.trees import Tree


def specify(
    tree_or_space: Tree | Space, searcher: Any, rng: Any, direction: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Return all that a file says of its search; of what is a function, its name."""
    made = callable(searcher) or isinstance(searcher, (Searcher, SpaceSearcher))
    if isinstance(tree_or_space, Space):
        whole = {"space": describe_space(tree_or_space, plain=False)}
    else:
        whole = {"tree": describing.describe_tree(tree_or_space)}
    return whole | {
        "searcher": describing.describe(searcher),
        "options": {name: describing.describe(option) for name, option in options.items()},
        "direction": direction,
        "seed": None if made else describing.describe_seed(rng),
    }


def fresh(search: Any) -> Any:
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


def compared(file: FilePath, specification: dict[str, Any], given: Any) -> Tree | Space:
    """Return what the study searches; refuse something else."""
    if given is not None:
        subject_of(given)
    if "space" not in specification:
        if isinstance(given, Space):
            raise StudyError(f"{file} is a study of a tree, not of a space")
        return _compared_tree(file, specification["tree"], given)
    if isinstance(given, Tree):
        raise StudyError(f"{file} is a study of a space, not of a tree")
    return _compared_space(file, specification["space"], given)


def _compared_space(file: FilePath, recorded: dict[str, Any], space: Any) -> Space:
    if space is None:
        if '{"object": ' in json.dumps(recorded):
            raise StudyError(f"{file} cannot hold options that are objects: open it with tree=...")
        return rebuild_space(recorded)
    given = describe_space(space, plain=False)
    if list(given.items()) != list(recorded.items()):
        names = [name for name in {**recorded, **given} if given.get(name) != recorded.get(name)]
        raise StudyError(
            f"{file} is a study of another space: "
            + (
                f"{names[0]!r} is {recorded.get(names[0])} there, not {given.get(names[0])}"
                if names
                else f"its parameters come in another order, {list(recorded)}"
            )
        )
    found: Space = space
    return found


def _compared_tree(file: FilePath, recorded: dict[str, Any], tree: Any) -> Tree:
    if tree is None:
        try:
            return describing.rebuild_tree(recorded)
        except describing.NotInFile as error:
            raise StudyError(f"{error}: open {file} with tree=...") from None
    given = describing.describe_tree(tree)
    for part, was in recorded.items():
        if given[part] != was:
            raise StudyError(
                f"{file} is a study of another tree: its {part} is {was}, not {given[part]}"
            )
    found: Tree = tree
    return found


def maker_of(
    file: FilePath, specification: dict[str, Any], tree: Tree | Space, searcher: Any, options: Any
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
        if isinstance(searcher, (Searcher, SpaceSearcher)):
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


def _as_it_began(search: Any, state: int | None) -> Any:
    """Give a searcher of the program the random state that the study began with.

    So a program that lets its seed be drawn can go on, too.
    """
    if state is not None and hasattr(search, "_random"):
        search._random = SplitMix64(state % 2**64)
    return search
