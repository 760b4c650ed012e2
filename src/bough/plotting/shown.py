"""Which tree is shown of a search: its own, or a covering of the space that is searched."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from bough.belief.belief import Belief
from bough.searchers import GPTS
from bough.spaces import Choice, Forest, Space
from bough.spaces.covered import Covered
from bough.spaces.covering import Covering, Plan, Walk
from bough.spaces.forest.cover import Cover
from bough.spaces.parameters import Parameter
from bough.trees import Path, Tree


@dataclass(frozen=True)
class Shown:
    """The tree that figures show, and what is believed of it.

    Attributes
    ----------
    tree
        None if it is not known.
    belief
        None if the searcher has none, or was told nothing.
    search
        The GPTS whose belief it is, if it is one.
    space, covering
        What the tree is a covering of; None on a plain tree.
    number, coverings
        Of a forest: which covering it is, that whose turn it is to ask, of how many. They believe
        different things, and all of them are right to do so. Otherwise 0 of 1.
    forest, cover
        The forest, and that covering with its belief.
    unit, offset
        What the belief says is in units of its own, if it is that of a plan: a value is so many
        times that, and so much more.
    """

    tree: Tree | None = None
    belief: Belief | None = None
    search: GPTS | None = None
    space: Space | None = None
    covering: Covering | None = None
    number: int = 0
    coverings: int = 1
    forest: Forest | None = None
    cover: Cover | None = None
    unit: float = 1.0
    offset: float = 0.0

    @classmethod
    def of(cls, searcher: Any) -> "Shown":
        """Return what is shown of a searcher, or of none."""
        if isinstance(searcher, Forest):
            if not searcher.observations:
                return cls(space=searcher.space)
            cover = searcher.asking
            return cls(cover.belief.tree, cover.belief, None, searcher.space, cover.covering,
                       searcher.turn, searcher.trees, searcher, cover)  # fmt: skip
        space = None
        if isinstance(searcher, Covered):
            space, searcher = searcher.space, searcher.search
        belief = getattr(searcher, "belief", None)
        return cls(
            getattr(searcher, "tree", None),
            belief if isinstance(belief, Belief) and len(belief) else None,
            searcher if isinstance(searcher, GPTS) else None,
            space,
            None if space is None else space._covering,
        )

    def path(self, path: Path, params: Mapping[str, Any] | None) -> Path:
        """Return where an arm is in the tree that is shown; in a covering, as far as is known."""
        if self.cover is None or self.space is None or params is None:
            return path
        there = self.cover.covering.path(self.space.point(params))
        return there[: self.cover.belief.explored_steps(there)]

    @property
    def exact(self) -> bool:
        """Whether it is known of a forest that values come again as they were."""
        return self.forest is not None and self.forest.told.noisy is False

    def value(self, mean: Any) -> Any:
        """Return what the belief says of a reward in the units of the user."""
        return self.offset + self.unit * mean

    def names(self, parent: Sequence[int], step: Sequence[int]) -> list[str] | None:
        """Say of each node what the step to it does: into which cell, or which option it takes.

        Nodes come after their parents, and the first is the root, which has no name. None on a
        plain tree.
        """
        if self.covering is None:
            return None
        names = [""]
        places = [(Walk(self.covering), self.covering.first, 0)]
        for above, taken in zip(parent[1:], step[1:], strict=True):
            text, place = _step(*places[above], taken)
            names.append(text)
            places.append(place)
        return names


def of_covering(shown: Shown) -> str:
    """Say of what a figure is, if it is of one covering of several."""
    if shown.coverings == 1:
        return ""
    return f"; covering {shown.number + 1} of {shown.coverings}"


def _step(walk: Walk, plan: Plan, at: int, step: int) -> tuple[str, tuple[Walk, Plan, int]]:
    """Say what a step does, and return where it leads."""
    slots, covering = walk._covering.slots, walk._covering
    further = copy(walk)
    further.path, further.cells = [], dict(walk.cells)  # (its path is not needed)
    further.chosen = dict(walk.chosen)
    further.step(step)
    if at == len(plan.cuts):
        slot = slots[plan.slot]
        assert isinstance(slot.parameter, Choice)  # cuts are all done
        text = f"{slot.name} = {slot.parameter.options[step]}"
        return text, (further, covering.option(plan, step), 0)
    number = plan.cuts[at].slot
    low, high = further.cells[number]
    text = f"{slots[number].name} {_range(slots[number].parameter, low, high)}"
    return text, (further, plan, at + 1)


def _range(parameter: Parameter, low: Any, high: Any) -> str:
    """Say which values a cell has."""
    if parameter.count is not None:
        first, last = (str(parameter.value(i)) for i in (int(low), int(high - 1)))
        return f"= {first}" if first == last else f"{first} to {last}"
    begin, end = parameter.value(low), parameter.value(high)
    largest = max(abs(begin), abs(end))
    for digits in range(3, 17):  # as many as it takes to see how wide it is
        if end - begin > 10.0 ** (2 - digits) * largest:
            break
    return f"{begin:.{digits}g} to {end:.{digits}g}"
