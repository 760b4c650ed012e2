"""A space as a tree of cells: each step cuts one parameter of a cell in two, or makes a choice.

Which parameter is cut next depends on the choices made on the way and on nothing else, so the order
is kept as a *plan*: a list of cuts up to the next choice, and a plan for each of its options.
"""

import heapq
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from bough.spaces.parameters import Choice
from bough.spaces.slots import Point, Slot
from bough.trees import Path, Tree

#: By how much a cut in half lets the priority of a parameter fall: smooth functions vary a quarter
#: as much (in variance) in a cell half as wide.
FALL = math.log(4.0)
#: After as many cuts as would be enough in the middle, and so many more, all that is left of a
#: parameter with single values is split at once.
SPARE_CUTS = 2


class Cut(NamedTuple):
    """A step of a plan: which parameter is cut, and where in the cell."""

    slot: int
    share: float  # of the cell that goes to the left child
    last: bool  # all values that are left become children


class Plan:
    """Cuts in their order, and then a choice with a plan for each option; or the end."""

    __slots__ = ("cuts", "depth", "options", "queue", "slot")

    def __init__(self, depth: int, queue: list[tuple[float, int, int]]) -> None:
        self.depth = depth  # where it begins
        self.queue = queue  # what is still to be cut after its choice
        self.cuts: list[Cut] = []
        self.slot = -1  # of the choice
        self.options: list[Plan | None] = []


class Covering:
    """A tree of cells of a space; called with a path it says how many children the cell has.

    Parameters
    ----------
    slots, first
        The parameters of a space, and which of them are always there.
    levels
        How often a continuous parameter is cut, or each of them.
    depth
        The longest path; by default as long as it takes.
    priority
        The parameter with the highest one is cut first; each cut lowers it by log(4).
    shares
        For each parameter, and each time that it is cut, how much of a cell goes to the left child;
        half of it by default.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        first: Sequence[int],
        *,
        levels: int | Sequence[int],
        depth: int | None = None,
        priority: Sequence[float] | None = None,
        shares: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self.slots = slots
        self.levels = levels
        self._shares = shares
        self._priority = [0.0] * len(slots) if priority is None else list(priority)
        each = [levels] * len(slots) if isinstance(levels, int) else levels
        self._cuts = [_cuts_of(slot, n) for slot, n in zip(slots, each, strict=True)]
        self.counts = [slot.parameter.count for slot in slots]
        self._between: dict[tuple[int, int, int, float], int] = {}
        longest = sum(self._cuts) if depth is None else depth
        self.most = longest
        self._first_slots = tuple(first)
        queue: list[tuple[float, int, int]] = []
        self._push(queue, first)
        self._first = Plan(0, queue)
        self._lay_out(self._first)
        self._walks: list[Walk] = []  # where the last call was, to go on from there

    # ------------------------------------------------------------------ the plan

    def _push(self, queue: list[tuple[float, int, int]], slots: Sequence[int]) -> None:
        for slot in slots:
            if self._cuts[slot]:
                heapq.heappush(queue, (-self._priority[slot], slot, 0))

    def _lay_out(self, plan: Plan) -> None:
        """Put cuts in their order up to the next choice."""
        queue, depth = plan.queue, plan.depth
        while queue and depth < self.most:
            key, slot, level = heapq.heappop(queue)
            parameter = self.slots[slot].parameter
            if isinstance(parameter, Choice):
                plan.slot = slot
                plan.options = [None] * parameter.count
                return
            share = 0.5 if self._shares is None else self._shares[slot][level]
            last = parameter.count is not None and level + 1 == self._cuts[slot]
            plan.cuts.append(Cut(slot, share, last))
            depth += 1
            if level + 1 < self._cuts[slot]:
                heapq.heappush(queue, (key + FALL, slot, level + 1))

    def option(self, plan: Plan, choice: int) -> Plan:
        """Return the plan after an option was chosen."""
        found = plan.options[choice]
        if found is None:
            inner = self.slots[plan.slot].inner
            queue = list(plan.queue)
            self._push(queue, inner[choice])
            found = Plan(plan.depth + len(plan.cuts) + 1, queue)
            self._lay_out(found)
            for i in range(len(inner)):  # options that bring nothing go on alike
                if i == choice or not (inner[i] or inner[choice]):
                    plan.options[i] = found
        return found

    def cuts_of(self, slot: int) -> int:
        """Return how often a parameter is cut."""
        return self._cuts[slot]

    @property
    def first(self) -> Plan:
        """The plan with which every path begins."""
        return self._first

    # ------------------------------------------------------------------ paths and cells

    def __call__(self, path: Path) -> int:
        """Return how many children the cell of a path has."""
        try:  # (taken while it is in use: threads may share a space)
            walk = self._walks.pop()
        except IndexError:
            walk = Walk(self)
        done = len(walk.path)
        if len(path) < done or path[:done] != tuple(walk.path):
            walk = Walk(self)
            done = 0
        for step in path[done:]:
            walk.step(step)
        count = walk.children()
        self._walks.append(walk)
        return count

    def path(self, point: Point) -> Path:
        """Return the complete path of the cell that holds a point."""
        return self.path_and_counts(point)[0]

    def path_and_counts(self, point: Point) -> tuple[Path, list[int]]:
        """Return that path, and how many children there are at each of its steps."""
        plan: Plan = self._first
        counts: list[Any] = self.counts
        cells: dict[int, tuple[Any, Any]] = {}
        path: list[int] = []
        widths: list[int] = []
        while True:
            for slot, share, last in plan.cuts:
                place: Any = point[slot]
                count = counts[slot]
                if count is None:
                    low, high = cells.get(slot, (0.0, 1.0))
                    cut = low + share * (high - low)
                else:
                    low, high = cells.get(slot, (0, count))
                    if last or high - low == 1:
                        path.append(place - low)
                        widths.append(high - low)
                        continue
                    cut = self.cut_between(slot, low, high, share)
                widths.append(2)
                if place >= cut:
                    cells[slot] = (cut, high)
                    path.append(1)
                else:
                    cells[slot] = (low, cut)
                    path.append(0)
            if plan.slot < 0:
                return tuple(path), widths
            choice: Any = point[plan.slot]
            path.append(choice)
            widths.append(len(plan.options))
            plan = self.option(plan, choice)

    def cut_between(self, slot: int, low: int, high: int, share: float) -> int:
        """Return the first value of the right child of the values from low to high - 1."""
        key = slot, low, high, share
        found = self._between.get(key)
        if found is None:
            found = _cut_between(self.slots[slot].parameter, low, high, share)
            self._between[key] = found
        return found

    def cell(self, path: Sequence[int]) -> "Walk":
        """Return where a path leads."""
        walk = Walk(self)
        for step in path:
            walk.step(step)
        return walk

    def _key(self) -> tuple[Any, ...]:
        return self.levels, self.most, self._priority, self._shares, self._first_slots, self.slots

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Covering) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.levels, self.most, len(self.slots)))

    def __repr__(self) -> str:
        return f"<a covering of {', '.join(repr(slot.name) for slot in self.slots)}>"


class CoveringTree(Tree):
    """The tree of a covering, which need not ask for what a path has just been found to have."""

    def __init__(self, covering: Covering, *, log_arms: float) -> None:
        super().__init__(covering, covering.most, log_arms=log_arms if covering.most else None)
        self._covering = covering
        self._path: Path = ()
        self._widths: list[int] = []

    def expect(self, path: Path, widths: list[int]) -> None:
        """Take note of a path and the number of children along it: it is what comes next."""
        self._path = path
        self._widths = widths

    def walk(self, path: Sequence[int]) -> tuple[Path, list[float]]:
        """Check a path, unless it is the one that was expected, or its first steps."""
        length = len(path)
        if type(path) is tuple and 0 < length < len(self._widths) and path == self._path[:length]:
            return path, self._widths[: length + 1]  # type: ignore[return-value]
        return super().walk(path)


class Walk:
    """A walk down a covering: the cell where it is, and how many children that has."""

    def __init__(self, covering: Covering) -> None:
        self._covering = covering
        self._plan = covering.first
        self._at = 0  # how many cuts of the plan are done
        self.path: list[int] = []
        self.cells: dict[int, tuple[float, float]] = {}  # those that were cut, by slot
        self.chosen: dict[int, int] = {}

    def children(self) -> int:
        """Return how many children the cell has."""
        plan = self._plan
        if self._at < len(plan.cuts):
            cut = plan.cuts[self._at]
            count = self._covering.counts[cut.slot]
            if count is None:
                return 2
            low, high = self.cells.get(cut.slot, (0, count))
            return int(high - low) if cut.last else min(int(high - low), 2)
        return len(plan.options) if plan.slot >= 0 else 0

    def step(self, step: int) -> None:
        """Go to a child."""
        self.path.append(step)
        plan = self._plan
        if self._at == len(plan.cuts):
            self.chosen[plan.slot] = step
            self._plan = self._covering.option(plan, step)
            self._at = 0
            return
        slot, share, last = plan.cuts[self._at]
        self._at += 1
        count = self._covering.counts[slot]
        low: Any
        high: Any
        if count is None:
            low, high = self.cells.get(slot, (0.0, 1.0))
            cut = low + share * (high - low)
        else:
            low, high = self.cells.get(slot, (0, count))
            if last or high - low == 1:
                self.cells[slot] = (low + step, low + step + 1)
                return
            cut = self._covering.cut_between(slot, low, high, share)
        self.cells[slot] = (cut, high) if step else (low, cut)


def _cuts_of(slot: Slot, levels: int) -> int:
    """Return how often a parameter is cut at most."""
    count = slot.parameter.count
    if isinstance(slot.parameter, Choice):
        return 1
    if count is None:
        return levels
    if count == 1:
        return 0
    return math.ceil(math.log2(count)) + SPARE_CUTS


def _cut_between(parameter: object, low: int, high: int, share: float) -> int:
    """Return the first value of the right child of the values from low to high - 1."""
    left, right = parameter.edge(low), parameter.edge(high)  # type: ignore[attr-defined]
    place = left + share * (right - left)
    cut: int = parameter.index_at(place)  # type: ignore[attr-defined]
    if place - parameter.edge(cut) > parameter.edge(cut + 1) - place:  # type: ignore[attr-defined]
        cut += 1
    return min(max(cut, low + 1), high - 1)
