"""The result of a search with a generator."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough._text import brief
from bough._validation import whole
from bough.generation.answers import Node
from bough.generation.search import GenerativeSearch
from bough.generation.study import GenerationStudy, open_to_read

#: The number of nodes that a printed tree shows.
SHOWN = 40


class AnswerTree:
    """The tree of all answers; it prints as text.

    Attributes
    ----------
    nodes
        All nodes in the order of their observation.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = list(nodes)
        self._children: dict[int | None, list[Node]] = {}
        for node in self.nodes:
            above = None if node.parent is None else node.parent.id
            self._children.setdefault(above, []).append(node)

    @property
    def drafts(self) -> list[Node]:
        """The drafts and seeds."""
        return self.children(None)

    def children(self, node: Node | None) -> list[Node]:
        """Return the refinements of a node; the drafts for None."""
        return list(self._children.get(None if node is None else node.id, ()))

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        lines: list[str] = []
        stack = [(node, 0) for node in reversed(self.drafts)]
        while stack and len(lines) < SHOWN:
            node, depth = stack.pop()
            mean = node.score if node.mean is None else node.mean
            by = "" if node.generator is None else f"  {node.generator}"
            lines.append(f"{'  ' * depth}{node.id}: {mean:.6g}{by}  {brief(repr(node.answer))}")
            stack += [(child, depth + 1) for child in reversed(self.children(node))]
        if stack:
            lines.append(f"... and {len(self) - len(lines):,} more")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class GenerationResult:
    """The result of a search with a generator.

    Attributes
    ----------
    search
        The search, which can be continued in your own loop.
    stopped_by
        The rule that ended the search; empty for a search that is only inspected.
    study
        The study that recorded it, if there is one.
    resumed
        The number of calls of the study that had ended before this run.
    """

    search: GenerativeSearch
    stopped_by: str
    study: GenerationStudy | None = None
    resumed: int = 0

    @property
    def best(self) -> Node | None:
        """The node with the highest posterior mean; None if there are no answers."""
        return self.search.best() if self.search.nodes else None

    def top(self, k: int) -> list[Node]:
        """Return the k nodes with the highest posterior means, the best first."""
        k = whole(k, "k", least=1)
        return sorted(self.nodes, key=lambda node: (-(node.mean or 0.0), node.id))[:k]

    def lineage(self, node: Node | None = None) -> list[Node]:
        """Return the nodes from the draft to a node, by default to the best."""
        if node is None:
            node = self.best
        if node is not None and not isinstance(node, Node):
            raise TypeError(f"node must be a node of the result, got {node!r}")
        return [] if node is None else node.lineage

    @property
    def nodes(self) -> list[Node]:
        """All nodes in the order of their observation."""
        return self.search.nodes

    @property
    def tree(self) -> AnswerTree:
        """The tree of all answers."""
        return AnswerTree(self.nodes)

    @property
    def calls(self) -> int:
        """The number of calls that have ended, including failed ones."""
        return self.search.calls

    @property
    def failed(self) -> int:
        """The number of calls that failed."""
        return self.search.failed

    @property
    def cost(self) -> float:
        """The cost of all calls."""
        return self.search.spent

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a list for each column of a table with one row per node, without the answers."""
        nodes = self.nodes
        names = (
            "id", "generator", "depth", "score", "std", "mean", "deviation", "promise", "cost",
            "path",
        )  # fmt: skip
        columns: dict[str, list[Any]] = {
            name: [getattr(node, name) for node in nodes] for name in names
        }
        columns["parent"] = [None if node.parent is None else node.parent.id for node in nodes]
        return columns

    def to_pandas(self) -> Any:
        """Return the nodes as a `pandas.DataFrame` with one row each, and their answers."""
        import pandas as pd

        columns = self.to_columns() | {"answer": [node.answer for node in self.nodes]}
        table = pd.DataFrame(columns)
        return table.astype({"std": float, "parent": "Int64"}).set_index("id")

    def best_by_cost(self) -> tuple[Any, Any]:
        """Return the total cost of the first 1, 2, ... nodes, and the best score among them.

        Scores are posterior means given all answers. Seeds come first, and have no cost.
        """
        nodes = self.nodes
        cost = np.cumsum([node.cost for node in nodes])
        means = np.array([node.mean for node in nodes], dtype=float)
        return cost, np.maximum.accumulate(means) if len(means) else means

    def plot(self, kind: str = "cost", *, ax: Any = None) -> Any:
        """Draw a figure with matplotlib (the extra `plot`), and return its Axes.

        Parameters
        ----------
        kind
            `"cost"`: the best score against cost; or `"tree"`: all answers by depth and score.
        ax
            Axes to draw on; by default new ones.
        """
        from bough.plotting.generation import DRAWINGS

        if kind not in DRAWINGS:
            raise ValueError(f"kind must be one of {', '.join(DRAWINGS)}, got {kind!r}")
        return DRAWINGS[kind](self, ax=ax)

    def report(self, path: "str | os.PathLike[str]", *, title: str | None = None) -> None:
        """Write an interactive page about the search (the extra `report`): one file, no network."""
        from bough.report.generation import write

        write(self, path, title=title)

    def __repr__(self) -> str:
        search = self.search
        count = f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        if self.failed:
            count += f", of which {self.failed:,} failed"
        ended = f"stopped by {self.stopped_by} after " if self.stopped_by else ""
        lines = [f"{ended}{count} at cost {self.cost:.6g}"]
        best = self.best
        if best is None:
            return "\n".join([*lines, "there is no answer yet"])
        lines.append(f"best answer {brief(repr(best.answer))}")
        known = f"{best.mean:.6g} +- {best.deviation:.2g}, by the model"
        lines.append(f"its mean    {known}; observed {best.score:.6g}")
        lineage = " -> ".join(f"{node.mean:.4g}" for node in best.lineage[-8:])
        lines.append(f"its lineage {'... -> ' if best.depth > 8 else ''}{lineage}")
        drafts = sum(node.parent is None for node in search.nodes)
        lines.append(
            f"answers     {len(search.nodes):,}: {drafts:,} drafts, refined to depth "
            f"{max(node.depth for node in search.nodes)}"
        )
        return "\n".join(lines)


def result_of(path: str | os.PathLike[str]) -> GenerationResult:
    """Return the result recorded in a study file, also while the search runs."""
    study = open_to_read(path)
    return GenerationResult(study.search, "", study)
