"""Figures of a search: a function for the data of each, and one that draws it.

Functions that end in `_data` return plain arrays, and need only NumPy. The others draw these data
with matplotlib (the extra `plot`); they take `ax=`, and return the Axes. All take a `Result`, a
`Study`, a `planning.Plan`, or a searcher with a belief; `effects` also takes a `Belief`. `board`
takes the decision of a player of a game and the position.

A search of a space has several partitions, each with a belief of its own. Figures show the
partition that asks next, as the certificate does.
"""

from collections.abc import Callable
from typing import Any

from bough.plotting.beliefs import Along, Increments, along, along_data, increments, increments_data
from bough.plotting.boards import BoardValues, board, board_data
from bough.plotting.convergence import (
    Convergence,
    Progress,
    Regret,
    comparison,
    comparison_data,
    convergence,
    convergence_data,
    regret,
    regret_data,
)
from bough.plotting.effects import Effects, effects, effects_data
from bough.plotting.parameters import (
    Importance,
    Relevance,
    Slice,
    importance,
    importance_data,
    relevance,
    relevance_data,
    slice_data,
    slice_of,
)
from bough.plotting.tree import Explored, tree, tree_data
from bough.plotting.view import SearchView

__all__ = [
    "Along",
    "BoardValues",
    "Convergence",
    "Effects",
    "Explored",
    "Importance",
    "Increments",
    "Progress",
    "Regret",
    "Relevance",
    "SearchView",
    "Slice",
    "along",
    "along_data",
    "board",
    "board_data",
    "comparison",
    "comparison_data",
    "convergence",
    "convergence_data",
    "effects",
    "effects_data",
    "importance",
    "importance_data",
    "increments",
    "increments_data",
    "regret",
    "regret_data",
    "relevance",
    "relevance_data",
    "slice_data",
    "slice_of",
    "tree",
    "tree_data",
]

#: The kinds of `Result.plot`.
DRAWINGS: dict[str, Callable[..., Any]] = {
    "convergence": convergence,
    "tree": tree,
    "along": along,
    "increments": increments,
    "effects": effects,
    "importance": importance,
    "relevance": relevance,
    "slice": slice_of,
    "regret": regret,
}
