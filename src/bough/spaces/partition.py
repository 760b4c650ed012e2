"""Partitions: a space as a tree of cells (the paper's "tree of coverings").

Each step of a path cuts one parameter of a cell in two, or makes a choice. The order of the cuts
depends only on the choices made on the way whose options have parameters of their own, so it is
kept as a *plan*: a list of cuts up to the next such choice, and a plan for each of its options. Any
other choice is a cut into all of its options.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bough.spaces.parameters import Choice, Point, Slot
from bough.trees import Path, Tree

#: Decrease of a parameter's priority at each cut in half: a smooth function varies a quarter as
#: much (in variance) in a cell half as wide.
FALL = math.log(4.0)
#: Cuts of a discrete parameter beyond those needed if all were in the middle; the last one splits
#: all remaining values at once.
SPARE_CUTS = 2
#: A heap of cuts: the negative priority, the slot, and the number of its cuts before.
Queue = list[tuple[float, int, int]]


class Cut(NamedTuple):
    """A step of a plan that cuts a parameter, or makes a choice without parameters."""

    slot: int
    share: float  # of the cell that goes to the left child
    last: bool  # whether all remaining values become children


@dataclass(slots=True, eq=False)
class CutPlan:
    """Cuts in order, then the end or a choice with parameters, and a plan for each option."""

    depth: int  # of the node where it begins
    queue: Queue  # what remains to be cut
    cuts: list[Cut] = field(default_factory=list)
    slot: int = -1  # of the choice
    options: list["CutPlan | None"] = field(default_factory=list)


class Partition:
    """A tree of cells of a space; calling it with a path returns the cell's number of children.

    Parameters
    ----------
    slots, roots
        The slots of a space, and the indices of those that are always active.
    levels
        The number of cuts of a continuous parameter: one for all, or one for each.
    depth
        The maximum length of a path.
    priority
        A number for each parameter: the highest is cut first, and each cut lowers it by log(4).
    shares
        The part of a cell that goes to the left child, by parameter and cut; by default half of it.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        roots: Sequence[int],
        *,
        levels: int | Sequence[int],
        depth: float = math.inf,
        priority: Sequence[float] | None = None,
        shares: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self.slots = slots
        self.counts = [slot.parameter.count for slot in slots]
        self._roots = tuple(roots)
        self._shares = shares
        self._priority = [0.0] * len(slots) if priority is None else list(priority)
        each = np.broadcast_to(levels, len(slots)).tolist()
        self._cuts = list(map(_most_cuts, slots, each))
        self.depth = int(min(largest_sum(slots, roots, self._cuts), depth))
        self._between: dict[tuple[int, int, int, float], int] = {}
        self._last: list[tuple[Path, Cell]] = []  # that was called for, to continue from there
        self.first = self._plan(0, [], roots)

    # ------------------------------------------------------------------ plans

    def _plan(self, depth: int, queue: Queue, activated: Sequence[int]) -> CutPlan:
        """Return the cuts up to the next choice, those of activated slots included."""
        for slot in activated:
            if self._cuts[slot]:
                heapq.heappush(queue, (-self._priority[slot], slot, 0))
        plan = CutPlan(depth, queue)
        while queue and depth + len(plan.cuts) < self.depth:
            key, slot, level = heapq.heappop(queue)
            parameter = self.slots[slot].parameter
            if isinstance(parameter, Choice) and any(self.slots[slot].inner):
                plan.slot = slot
                plan.options = [None] * parameter.count
                break
            share = 0.5 if self._shares is None else self._shares[slot][level]
            last = parameter.count is not None and level + 1 == self._cuts[slot]
            plan.cuts.append(Cut(slot, share, last))
            if level + 1 < self._cuts[slot]:
                heapq.heappush(queue, (key + FALL, slot, level + 1))
        return plan

    def option(self, plan: CutPlan, choice: int) -> CutPlan:
        """Return the plan that follows an option of a plan's choice."""
        found = plan.options[choice]
        if found is None:
            inner = self.slots[plan.slot].inner
            depth = plan.depth + len(plan.cuts) + 1
            found = self._plan(depth, list(plan.queue), inner[choice])
            for i in range(len(inner)):  # options without parameters share a plan
                if i == choice or not (inner[i] or inner[choice]):
                    plan.options[i] = found
        return found

    # ------------------------------------------------------------------ paths and cells

    def __call__(self, path: Path) -> int:
        """Return the number of children of the cell of a path."""
        try:  # (removed while it is in use: threads may share a space)
            known, cell = self._last.pop()
        except IndexError:
            known, cell = (), Cell(self)
        if path[: len(known)] != known:
            known, cell = (), Cell(self)
        for step in path[len(known) :]:
            cell.enter(step)
        count = cell.children()
        self._last.append((tuple(path), cell))
        return count

    def path(self, point: Point) -> Path:
        """Return the complete path of the cell that contains a point."""
        cell = Cell(self)
        path: list[int] = []
        while cell.slot >= 0:
            position: Any = point[cell.slot]
            path.append(position - cell.low if cell.cut is None else int(position >= cell.cut))
            cell.enter(path[-1])
        return tuple(path)

    def cut_between(self, slot: int, low: int, high: int, share: float) -> int:
        """Return the first value of the right child of the values from low to high - 1."""
        key = slot, low, high, share
        if key not in self._between:
            parameter = self.slots[slot].parameter
            left, right = parameter.edge(low), parameter.edge(high)
            u = left + share * (right - left)
            cut = parameter.index_at(u)
            if u - parameter.edge(cut) > parameter.edge(cut + 1) - u:
                cut += 1
            self._between[key] = min(max(cut, low + 1), high - 1)
        return self._between[key]

    def cell(self, path: Sequence[int]) -> "Cell":
        """Return the cell of a path."""
        cell = Cell(self)
        for step in path:
            cell.enter(step)
        return cell

    def tree(self, log_cells: float) -> Tree:
        """Return the tree, given the logarithm of the number of leaves."""
        return Tree(self, self.depth, log_arms=log_cells if self.depth else None)

    def _key(self) -> tuple[Any, ...]:
        return self._cuts, self.depth, self._priority, self._shares, self._roots, self.slots

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((*self._cuts, self.depth))

    def __repr__(self) -> str:
        return f"<partition by {', '.join(repr(slot.name) for slot in self.slots)}>"


class Cell:
    """A cell of a partition, at first that of the root.

    Attributes
    ----------
    ranges
        The positions from low to high of each parameter that was cut or chosen, by slot.
    slot, low, high, cut
        The parameter that its children divide (-1 for a leaf), the range of its positions, and the
        position that separates two children; None if each position is a child.
    """

    low: Any
    high: Any
    cut: Any

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._plan = partition.first
        self._done = 0  # cuts of the plan
        self.ranges: dict[int, tuple[float, float]] = {}
        self._divide()

    def _divide(self) -> None:
        """Set the division into children."""
        plan = self._plan
        self.cut = None
        if self._done == len(plan.cuts):
            self.slot, self.low, self.high = plan.slot, 0, len(plan.options)
            return
        slot, share, last = plan.cuts[self._done]
        self.slot = slot
        count = self.partition.counts[slot]
        self.low, self.high = low, high = self.ranges.get(slot) or (0, count or 1)
        if count is None:
            self.cut = low + share * (high - low)
        elif not last and high - low > 1:
            self.cut = self.partition.cut_between(slot, int(low), int(high), share)

    def children(self) -> int:
        """Return the number of children."""
        return int(self.high - self.low) if self.cut is None else 2

    def enter(self, child: int) -> None:
        """Go to a child."""
        low, cut, high = self.low, self.cut, self.high
        if cut is None:
            self.ranges[self.slot] = (low + child, low + child + 1)
        else:
            self.ranges[self.slot] = (cut, high) if child else (low, cut)
        if self._done < len(self._plan.cuts):
            self._done += 1
        else:
            self._plan = self.partition.option(self._plan, child)
            self._done = 0
        self._divide()


def largest_sum(slots: Sequence[Slot], active: Sequence[int], weights: Sequence[int]) -> int:
    """Return the largest sum of weights of slots that are active together."""
    total = 0
    for i in active:
        inner = (largest_sum(slots, option, weights) for option in slots[i].inner)
        total += weights[i] + max(inner, default=0)
    return total


def _most_cuts(slot: Slot, levels: int) -> int:
    """Return the maximum number of cuts of a parameter."""
    count = slot.parameter.count
    if isinstance(slot.parameter, Choice):
        return 1
    if count is None:
        return levels
    return math.ceil(math.log2(count)) + SPARE_CUTS if count > 1 else 0
