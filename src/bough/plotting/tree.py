"""The explored tree: visited nodes with their posterior, drawn as an icicle."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough.plotting.style import COLORS, GRAY, axes, empty
from bough.plotting.view import Array, SearchView
from bough.trees import Path

Ints = NDArray[np.int64]
NONE = -1
#: Opacity of the least certain nodes.
FAINTEST = 0.15
#: Boxes of a smaller share of the width have no lines around them.
NARROW = 0.008
#: Share of a node's width for children that are unexplored or not drawn.
FRONTIER = 0.08


class Explored(NamedTuple):
    """Nodes of the explored tree, parents first; the root is number 0.

    Without a belief, and with a kernel of whole paths, `mean` is that of the rewards, and `std` is
    NaN.
    """

    parent: Ints  #: -1 for the root
    step: Ints  #: index among the children of the parent; -1 for the root
    depth: Ints
    visits: Ints  #: number of observations at the node or below
    mean: Array
    std: Array
    certainty: Array  #: from 0 (as uncertain as the prior) to 1
    unexplored: Array  #: number of unexplored children: perhaps infinite; NaN if it is not known
    hidden: Ints  #: number of explored children that are left out

    def path(self, number: int) -> Path:
        """Return the path of a node."""
        steps = []
        while self.parent[number] != NONE:
            steps.append(int(self.step[number]))
            number = int(self.parent[number])
        return tuple(reversed(steps))


def tree_data(source: Any, most: int = 2000) -> Explored:
    """Return the most visited nodes of the explored tree (and those of the best path).

    >>> import bough
    >>> search = bough.GPTS(bough.Tree(2, 2), rng=0)
    >>> for path, value in (((0, 0), 1.0), ((0, 1), 2.0), ((1, 0), 3.0)):
    ...     search.tell(path, value)
    >>> explored = tree_data(search)
    >>> [explored.path(n) for n in range(len(explored.parent))]
    [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]
    >>> explored.visits.tolist(), explored.unexplored.tolist()
    ([3, 2, 1, 1, 1, 1], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    """
    view = SearchView.of(source)
    below, depth, visits, totals = _visited(view)
    order = np.lexsort((depth, [-count for count in visits]))  # a parent before its children
    kept = {0, *order[:most].tolist()}
    n = 0
    for step in view.best_path or ():
        if step not in below[n]:
            break
        kept.add(n := below[n][step])
    numbers, parent = [0], [NONE]
    paths: list[Path] = [()]
    for i, n in enumerate(numbers):  # grows by a level at a time; siblings are sorted
        for step, child in sorted(below[n].items()):
            if child in kept:
                numbers.append(child)
                parent.append(i)
                paths.append((*paths[i], step))
    children = np.array([len(below[n]) for n in numbers])
    shown = np.bincount(parent[1:], minlength=len(parent))
    tree, counts = view.shown.tree, np.array(visits)[numbers]
    branching = [np.nan if tree is None else tree.children(path) for path in paths]
    if not view.has_node_means:
        mean, std = np.array(totals)[numbers] / np.maximum(counts, 1), np.full(len(paths), np.nan)
        certainty = 1.0 - 1.0 / np.sqrt(1.0 + counts)
    else:
        mean, std = view.posterior(paths)
        prior = view.prior_std(paths)
        with np.errstate(invalid="ignore", divide="ignore"):
            certainty = np.clip(np.where(prior > 0, 1.0 - std / prior, 1.0), 0.0, 1.0)
    return Explored(
        parent=np.array(parent),
        step=np.array([path[-1] if path else NONE for path in paths]),
        depth=np.array([len(path) for path in paths]),
        visits=counts,
        mean=mean,
        std=std,
        certainty=certainty,
        unexplored=np.array(branching, dtype=float) - children,
        hidden=children - shown,
    )


def _visited(
    view: SearchView,
) -> tuple[list[dict[int, int]], list[int], list[int], list[float]]:
    """Return the children (by step), depth, visits and sum of rewards of all visited nodes."""
    below: list[dict[int, int]] = [{}]
    depth, visits, totals = [0], [0], [0.0]
    values = [0.0] * len(view.paths) if view.has_node_means else view.values.tolist()
    for path, value in zip(view.paths, values, strict=True):
        n = 0
        visits[0] += 1
        totals[0] += value
        for i, step in enumerate(path):
            n = below[n].setdefault(step, len(below))
            if n == len(below):
                below.append({})
                depth.append(i + 1)
                visits.append(0)
                totals.append(0.0)
            visits[n] += 1
            totals[n] += value
    return below, depth, visits, totals


def icicle(explored: Explored) -> tuple[Array, Array]:
    """Return the left and right ends of the boxes of all nodes, between 0 and 1.

    Children share the width of their parent in proportion to their visits; children that are
    unexplored or hidden have a share of FRONTIER, at the right.
    """
    count = len(explored.parent)
    left, right = np.zeros(count), np.ones(count)
    shown = np.bincount(explored.parent[1:], explored.visits[1:], minlength=count)
    rest = (explored.hidden > 0) | (explored.unexplored > 0)
    taken = np.zeros(count)
    for n in range(1, count):
        p = explored.parent[n]
        width = (right[p] - left[p]) * (1.0 - FRONTIER if rest[p] else 1.0)
        left[n] = left[p] + width * taken[p] / shown[p]
        taken[p] += explored.visits[n]
        right[n] = left[p] + width * taken[p] / shown[p]
    return left, right


def tree(source: Any, *, ax: Any = None) -> Any:
    """Draw the explored tree as an icicle, root on top; return the Axes.

    The width of a node shows its visits, the color its mean, the opacity its certainty. The white
    space at the right of a node stands for children that are unexplored or not drawn.
    """
    view = SearchView.of(source)
    explored = tree_data(view)
    ax = axes(ax, (8.0, 4.5))
    if not explored.visits[0]:
        return empty(ax)
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    left, right = icicle(explored)
    scale = Normalize(float(explored.mean.min()), float(explored.mean.max()))
    colors = colormaps[COLORS](scale(explored.mean))
    colors[:, 3] = FAINTEST + (1.0 - FAINTEST) * explored.certainty
    boxes = [
        Rectangle((a, d), b - a, 1.0)
        for a, b, d in zip(left, right, explored.depth, strict=True)
    ]  # fmt: skip
    # Lines around narrow boxes would hide them, and explored nodes would look unexplored.
    lines = np.where(right - left > NARROW, 0.4, 0.0)
    ax.add_collection(
        PatchCollection(boxes, facecolors=colors, edgecolors="white", linewidths=lines)
    )
    best = view.best_path
    if best is not None:
        number = {explored.path(n): n for n in range(len(explored.parent))}
        way = [number[best[:i]] for i in range(len(best) + 1) if best[:i] in number]
        middle = (left[way] + right[way]) / 2
        ax.plot(middle, explored.depth[way] + 0.5, ".-", color="black", linewidth=0.8, markersize=4,
                label="best path")  # fmt: skip
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(int(explored.depth.max()) + 1, 0)
    ax.set_xticks([])
    levels = np.arange(int(explored.depth.max()) + 1)[:: 1 + int(explored.depth.max()) // 16]
    ax.set_yticks(levels + 0.5, levels)  # in the middle of each level
    ax.set_ylabel("depth")
    title = "width: visits, color: mean, opacity: certainty" + view.shown.suffix
    ax.set_title(title, fontsize="small", color=GRAY)
    ax.figure.colorbar(ScalarMappable(scale, COLORS), ax=ax, label="mean", fraction=0.05)
    return ax
