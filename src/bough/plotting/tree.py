"""The explored tree: where the search looked, what it believes there, and how sure it is."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.plotting.run import Array, Run
from bough.plotting.shown import of_partition
from bough.plotting.style import COLOURS, GREY, axes, say_empty
from bough.trees import Path

Ints = NDArray[np.int64]
NONE = -1
#: Opacity of what is least certain.
FAINTEST = 0.15
#: Boxes of a smaller share of the width have no lines around them.
NARROW = 0.008


class Explored(NamedTuple):
    """Nodes of the explored tree, parents first; the root is number 0.

    Attributes
    ----------
    parent
        The number of the parent; -1 for the root.
    step
        Which child of its parent it is; -1 for the root.
    depth, visits
        Its depth, and how many rewards were told at it or below.
    mean, std
        What is believed of the reward there; for searchers without a belief the mean of the
        rewards, and no standard deviation (NaN).
    certainty
        From 0 (as uncertain as before anything was told) to 1.
    unexplored
        Children that nobody has looked at: the frontier. Infinite if they never run out, NaN if
        nobody knows.
    hidden
        Children that were visited and are left out here.
    """

    parent: Ints
    step: Ints
    depth: Ints
    visits: Ints
    mean: Array
    std: Array
    certainty: Array
    unexplored: Array
    hidden: Ints

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
    run = Run.of(source)
    everything = explored_nodes(run)
    keep = np.zeros(len(everything.parent), dtype=bool)
    order = np.lexsort((everything.depth, -everything.visits))  # a parent before its children
    keep[order[:most]] = True
    if run.best_path is not None:
        keep[nodes_along(everything, run.best_path)] = True
    return _chosen(everything, keep)


def explored_nodes(run: Run) -> Explored:
    """Return all visited nodes."""
    return _counted(run) if run.belief is None else _believed(run, run.belief)


def _chosen(nodes: Explored, keep: NDArray[np.bool_]) -> Explored:
    """Return some nodes, among them the parents of all of them, with new numbers."""
    number = np.cumsum(keep) - 1
    parent = np.where(nodes.parent == NONE, NONE, number[nodes.parent])
    left_out = nodes.parent[~keep]
    hidden = nodes.hidden + np.bincount(left_out, minlength=len(keep))
    rows = [column[keep] for column in nodes]
    return Explored(*rows)._replace(parent=parent[keep], hidden=hidden[keep])  # type: ignore[arg-type]


def nodes_along(nodes: Explored, path: Path) -> list[int]:
    """Return the numbers of the nodes on a path, as far as they exist."""
    found = [0]
    for step in path:
        children = np.flatnonzero((nodes.parent == found[-1]) & (nodes.step == step))
        if not len(children):
            break
        found.append(int(children[0]))
    return found


# ---------------------------------------------------------------------- from a belief


def _believed(run: Run, belief: Belief) -> Explored:
    """Return all visited nodes of a belief."""
    nodes = belief.nodes
    mean, variance, owner, order = _posterior(nodes)
    group = nodes["count"] < 0
    # Nodes that a prior mean foresaw, or that are only pending, were not looked at.
    keep = order[(~group & (nodes["visits"] > 0))[order]]
    number = np.full(len(nodes), NONE)
    number[keep] = np.arange(len(keep))
    chosen = nodes[keep]
    parent = np.where(owner[keep] == NONE, NONE, number[owner[keep]])
    children = np.bincount(parent[1:], minlength=len(keep))
    branching = chosen["branching"].astype(float)
    branching[chosen["branching"] == 2**31 - 1] = np.inf
    prior = np.cumsum(belief.kernel.increments(belief.tree.depth))[chosen["depth"]]
    std = np.sqrt(variance[keep])
    with np.errstate(invalid="ignore", divide="ignore"):
        certainty = np.where(prior > 0, 1.0 - std / np.sqrt(prior), 1.0)
    return Explored(
        parent=parent,
        step=np.where(parent == NONE, NONE, chosen["index"]),
        depth=chosen["depth"].astype(np.int64),
        visits=chosen["visits"].astype(np.int64)
        // (len(belief) // len(run.trials) if run.plan else 1),
        mean=0.0 + run.sign * run.shown.value(mean[keep] + belief.center),
        std=run.shown.unit * std,
        certainty=np.clip(certainty, 0.0, 1.0),
        unexplored=branching - children,
        hidden=np.zeros(len(keep), dtype=np.int64),
    )


def _posterior(nodes: Any) -> tuple[Array, Array, Ints, Ints]:
    """Return the posterior of every node, the node above it that is no group, and an order.

    In that order parents come before their children. All nodes of one level are done at once.
    """
    count = len(nodes)
    mean, variance = np.zeros(count), np.zeros(count)
    owner = np.full(count, NONE)
    by_parent = np.argsort(nodes["parent"], kind="stable")[1:]  # without the root
    parents = nodes["parent"][by_parent]
    g, offset, spread = nodes["g"], nodes["offset"], nodes["spread"]
    mean[0], variance[0] = offset[0], spread[0]
    level = np.array([0])
    order = [level]
    while len(level):
        begin = np.searchsorted(parents, level, "left")
        length = np.searchsorted(parents, level, "right") - begin
        # The children of all of them, one list after another.
        place = np.arange(length.sum()) + np.repeat(begin - np.cumsum(length) + length, length)
        above = np.repeat(level, length)
        level = by_parent[place]
        mean[level] = g[level] * mean[above] + offset[level]
        variance[level] = spread[level] + g[level] ** 2 * variance[above]
        owner[level] = np.where(nodes["count"][above] < 0, owner[above], above)
        # Siblings in their order, so that figures do not depend on the order of plays.
        level = level[np.lexsort((nodes["index"][level], owner[level]))]
        order.append(level)
    return mean, variance, owner, np.concatenate(order)


# ---------------------------------------------------------------------- from the trials


def _counted(run: Run) -> Explored:
    """Return all nodes on the paths of told trials, with the means of their rewards."""
    number: dict[Path, int] = {(): 0}
    sums, visits = [0.0], [0]
    for trial in run.told_trials:
        for i in range(len(trial.path) + 1):
            n = number.setdefault(trial.path[:i], len(number))
            if n == len(sums):
                sums.append(0.0)
                visits.append(0)
            sums[n] += trial.value or 0.0
            visits[n] += 1
    paths = list(number)  # a path comes after its prefixes
    counts = np.array(visits)
    parent = np.array([number[path[:-1]] if path else NONE for path in paths])
    children = np.bincount(parent[1:], minlength=len(paths))
    tree = run.shown.tree
    branching = [np.nan if tree is None else tree.children(path) for path in paths]
    return Explored(
        parent=parent,
        step=np.array([path[-1] if path else NONE for path in paths]),
        depth=np.array([len(path) for path in paths]),
        visits=counts,
        mean=np.array(sums) / np.maximum(counts, 1),
        std=np.full(len(paths), np.nan),
        certainty=1.0 - 1.0 / np.sqrt(1.0 + counts),
        unexplored=np.array(branching, dtype=float) - children,
        hidden=np.zeros(len(paths), dtype=np.int64),
    )


# ---------------------------------------------------------------------- drawing


def icicle(explored: Explored, frontier: float = 0.08) -> tuple[Array, Array]:
    """Return from where to where each node reaches, between 0 and 1.

    Children share the width of their parent in proportion to their visits; what was not explored,
    or is hidden, has a share of `frontier`, at the right.
    """
    count = len(explored.parent)
    left, right = np.zeros(count), np.ones(count)
    shown = np.bincount(explored.parent[1:], explored.visits[1:], minlength=count)
    rest = (explored.hidden > 0) | (explored.unexplored > 0)
    taken = np.zeros(count)
    for n in range(1, count):
        p = explored.parent[n]
        width = (right[p] - left[p]) * (1.0 - frontier if rest[p] else 1.0)
        left[n] = left[p] + width * taken[p] / shown[p]
        taken[p] += explored.visits[n]
        right[n] = left[p] + width * taken[p] / shown[p]
    return left, right


def tree(source: Any, *, most: int = 2000, ax: Any = None) -> Any:
    """Draw the explored tree as an icicle, root on top; return the Axes.

    The width of a node says how often the search went there, its colour what it expects, its
    opacity how sure it is. The white space at the right of a node is what was not explored (or is
    not drawn).
    """
    run = Run.of(source)
    explored = tree_data(run, most)
    ax = axes(ax, (8.0, 4.5))
    if not explored.visits[0]:
        return say_empty(ax, "nothing was told")
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    left, right = icicle(explored)
    scale = Normalize(float(explored.mean.min()), float(explored.mean.max()))
    colours = colormaps[COLOURS](scale(explored.mean))
    colours[:, 3] = FAINTEST + (1.0 - FAINTEST) * explored.certainty
    boxes = [
        Rectangle((a, d), b - a, 1.0)
        for a, b, d in zip(left, right, explored.depth, strict=True)
    ]  # fmt: skip
    # Lines around narrow boxes would hide them: what was explored would look as if it were not.
    lines = np.where(right - left > NARROW, 0.4, 0.0)
    ax.add_collection(
        PatchCollection(boxes, facecolors=colours, edgecolors="white", linewidths=lines)
    )
    if run.best_path is not None:
        way = nodes_along(explored, run.best_path)
        middle = (left[way] + right[way]) / 2
        ax.plot(middle, explored.depth[way] + 0.5, ".-", color="black", linewidth=0.8, markersize=4,
                label="best path")  # fmt: skip
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(int(explored.depth.max()) + 1, 0)
    ax.set_xticks([])
    levels = np.arange(int(explored.depth.max()) + 1)[:: 1 + int(explored.depth.max()) // 16]
    ax.set_yticks(levels + 0.5, levels)  # in the middle of each level
    ax.set_ylabel("depth")
    title = "width: visits, colour: mean, opacity: certainty" + of_partition(run.shown)
    ax.set_title(title, fontsize="small", color=GREY)
    ax.figure.colorbar(ScalarMappable(scale, COLOURS), ax=ax, label="mean", fraction=0.05)
    return ax
