"""Figures of a search with a generator: the best score against cost, and the tree of answers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.plotting.style import BLUE, COLORS, GRAY, ORANGE, axes, empty, labeled, literal

if TYPE_CHECKING:
    from bough.generation.result import GenerationResult

#: The marks of generators.
MARKS = "os^Dvp*h"


def best_by_cost(result: "GenerationResult", ax: Any = None) -> Any:
    """Draw the score of every answer, and the best mean so far, against the total cost."""
    ax = axes(ax)
    nodes = result.nodes
    if not nodes:
        return empty(ax, "no answers yet")
    cost, best = result.best_by_cost()
    ax.scatter(cost, [node.score for node in nodes], s=9, color=GRAY, alpha=0.6, label="answers")
    ax.step(cost, best, where="post", color=BLUE, label="best mean so far")
    return labeled(ax, "cost", "score")


def answers(result: "GenerationResult", ax: Any = None) -> Any:
    """Draw all answers by depth and score, with lines to their parents; the best lineage bold."""
    ax = axes(ax)
    nodes = result.nodes
    if not nodes:
        return empty(ax, "no answers yet")
    for node in nodes:
        if node.parent is not None:
            ends = [node.parent, node]
            ax.plot([n.depth for n in ends], [n.mean for n in ends], color=GRAY, lw=0.5, zorder=1)
    means = np.array([node.mean for node in nodes], dtype=float)
    limits = {"vmin": float(means.min()), "vmax": float(means.max())}
    names = list(dict.fromkeys(node.generator for node in nodes))
    for i, name in enumerate(names):
        mine = [node for node in nodes if node.generator == name]
        ax.scatter(
            [n.depth for n in mine], [n.mean for n in mine], c=[n.mean for n in mine], s=22,
            marker=MARKS[i % len(MARKS)], cmap=COLORS, zorder=2, label=literal(name or "seed"),
            **limits,
        )  # fmt: skip
    lineage = result.lineage()
    ax.plot([n.depth for n in lineage], [n.mean for n in lineage], color=ORANGE, lw=2,
            label="lineage of the best")  # fmt: skip
    return labeled(ax, "depth", "mean of the score")


#: The kinds of `GenerationResult.plot`.
DRAWINGS: dict[str, Callable[..., Any]] = {"cost": best_by_cost, "tree": answers}
