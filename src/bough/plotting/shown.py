"""The tree that figures show of a search: its own, or a partition of the space it searches."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from bough.belief.belief import Belief
from bough.searchers import GPTS
from bough.spaces import Choice, Forest, PartitionSearcher, Space
from bough.spaces.ensemble import PartitionBelief
from bough.spaces.parameters import Parameter
from bough.spaces.partition import Cell, Partition, Plan
from bough.trees import Path, Tree


@dataclass(frozen=True)
class ShownTree:
    """The tree that figures show, and the belief about it.

    Attributes
    ----------
    tree
        The tree; None if it is not known.
    belief
        The belief; None if the searcher has none, or no observations.
    search
        The GPTS whose belief it is, if it is one.
    space, partition
        The space and its partition that the tree stands for; None on a plain tree.
    number, partitions
        The number of the partition of a forest that asks next, and the number of partitions, each
        of which has a belief of its own. Otherwise 0 of 1.
    forest, cover
        The forest, and that partition with its belief.
    unit, offset
        The scale of a plan's belief: a value is `offset` plus `unit` times what the belief says.
    """

    tree: Tree | None = None
    belief: Belief | None = None
    search: GPTS | None = None
    space: Space | None = None
    partition: Partition | None = None
    number: int = 0
    partitions: int = 1
    forest: Forest | None = None
    cover: PartitionBelief | None = None
    unit: float = 1.0
    offset: float = 0.0

    @classmethod
    def of(cls, searcher: Any) -> "ShownTree":
        """Return the tree that is shown of a searcher, or of None."""
        if isinstance(searcher, Forest):
            if not searcher.observations:
                return cls(space=searcher.space)
            cover = searcher.asking
            return cls(cover.belief.tree, cover.belief, None, searcher.space, cover.partition,
                       searcher.turn, searcher.trees, searcher, cover)  # fmt: skip
        space = None
        if isinstance(searcher, PartitionSearcher):
            space, searcher = searcher.space, searcher.search
        belief = getattr(searcher, "belief", None)
        return cls(
            getattr(searcher, "tree", None),
            belief if isinstance(belief, Belief) and len(belief) else None,
            searcher if isinstance(searcher, GPTS) else None,
            space,
            None if space is None else space.partition,
        )

    def path(self, path: Path, params: Mapping[str, Any] | None) -> Path:
        """Return the path of an arm in this tree, as far as nodes exist in a partition."""
        if self.cover is None or self.space is None or params is None:
            return path
        there = self.cover.partition.path(self.space.point(params))
        return there[: self.cover.belief.explored_steps(there)]

    @property
    def exact(self) -> bool:
        """Whether this is a forest whose values are known to have no noise."""
        return self.forest is not None and self.forest.trials.noisy is False

    def value(self, mean: Any) -> Any:
        """Return a mean of the belief in the units of the user."""
        return self.offset + self.unit * mean

    def names(self, parent: Sequence[int], step: Sequence[int]) -> list[str] | None:
        """Return a name for each node, its cell or its option; None on a plain tree.

        Nodes come after their parents; the first is the root, whose name is empty.
        """
        if self.partition is None:
            return None
        names = [""]
        places = [(Cell(self.partition), self.partition.first, 0)]
        for above, taken in zip(parent[1:], step[1:], strict=True):
            text, place = _named_step(*places[above], taken)
            names.append(text)
            places.append(place)
        return names


def of_partition(shown: ShownTree) -> str:
    """Return a suffix for labels that names the partition, if it is one of several."""
    if shown.partitions == 1:
        return ""
    return f"; partition {shown.number + 1} of {shown.partitions}"


def _named_step(cell: Cell, plan: Plan, at: int, step: int) -> tuple[str, tuple[Cell, Plan, int]]:
    """Return the name of a step, and the place that it leads to."""
    slots, partition = cell.partition.slots, cell.partition
    further = copy(cell)
    further.ranges = dict(cell.ranges)
    further.enter(step)
    if at == len(plan.cuts):
        slot = slots[plan.slot]
        assert isinstance(slot.parameter, Choice)  # cuts are all done
        text = f"{slot.name} = {slot.parameter.options[step]}"
        return text, (further, partition.option(plan, step), 0)
    number = plan.cuts[at].slot
    low, high = further.ranges[number]
    text = f"{slots[number].name} {_range(slots[number].parameter, low, high)}"
    return text, (further, plan, at + 1)


def _range(parameter: Parameter, low: Any, high: Any) -> str:
    """Return the values of a cell as text."""
    if parameter.count is not None:
        first, last = (str(parameter.value(i)) for i in (int(low), int(high - 1)))
        return f"= {first}" if first == last else f"{first} to {last}"
    begin, end = parameter.value(low), parameter.value(high)
    largest = max(abs(begin), abs(end))
    for digits in range(3, 17):  # enough to tell the ends apart
        if end - begin > 10.0 ** (2 - digits) * largest:
            break
    return f"{begin:.{digits}g} to {end:.{digits}g}"
