"""Figures of a search: each is a function that gives the data, and one that draws them.

Whatever ends in `_data` returns plain arrays, and needs nothing but NumPy. The others draw them
with matplotlib (the extra `plot`): they take `ax=`, and return the Axes. All take a `Result`, a
`Study`, a `planning.Plan`, or a searcher with a belief.

A search of a space has several beliefs, one about each partition of it. What is shown is what the
partition believes whose turn it is to ask, as in the certificate.
"""

from collections.abc import Callable
from typing import Any

from bough.plotting.beliefs import Along, Increments, along, along_data, increments, increments_data
from bough.plotting.comparison import Progress, comparison, comparison_data
from bough.plotting.convergence import Convergence, convergence, convergence_data
from bough.plotting.parameters import (
    Importance,
    Slice,
    importance,
    importance_data,
    slice_data,
    slice_of,
)
from bough.plotting.regret import Regret, regret, regret_data
from bough.plotting.relevance import Relevance, relevance, relevance_data
from bough.plotting.run import Run
from bough.plotting.tree import Explored, tree, tree_data

__all__ = [
    "Along",
    "Convergence",
    "Explored",
    "Importance",
    "Increments",
    "Progress",
    "Regret",
    "Relevance",
    "Run",
    "Slice",
    "along",
    "along_data",
    "comparison",
    "comparison_data",
    "convergence",
    "convergence_data",
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

#: What `Result.plot` draws, by name.
DRAWINGS: dict[str, Callable[..., Any]] = {
    "convergence": convergence,
    "tree": tree,
    "along": along,
    "increments": increments,
    "importance": importance,
    "relevance": relevance,
    "slice": slice_of,
    "regret": regret,
}
