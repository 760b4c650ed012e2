"""Walks through a graph to a goal."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bough._validation import whole
from bough.structures.structure import (
    MOST_DEPTH,
    Path,
    Stateful,
    check_hashable,
    check_label,
    fix,
)

#: The most states that are explored: about 200 MB and some seconds.
MOST_STATES = 500_000


@dataclass(frozen=True, repr=False)
class Graph(Stateful):
    """Walks that end where they first arrive at a goal; each step leads to a state in its reach.

    The state of a node is that of the graph.
    """

    kind = "graph"
    successors: Callable[[Any], Iterable[Any]]
    start: Hashable
    goal: Any
    depth: int
    label: str = "edge"

    def __post_init__(self) -> None:
        fix(self, "depth", whole(self.depth, "depth", least=1, most=MOST_DEPTH))
        check_label(self.label, "edge", "state")
        if not callable(self.successors):
            raise TypeError(
                "successors must be a function that returns the states after a state (of a dict "
                f"of lists: successors.__getitem__), got {self.successors!r}"
            )
        check_hashable(self.start, "start")
        if not callable(self.goal):
            check_hashable(self.goal, "goal")
        self._walks  # noqa: B018 - fail now if there are none

    @cached_property
    def _walks(self) -> tuple[dict[Any, list[Any]], dict[Any, int]]:
        """The next states of all states on walks, and the least number of steps to a goal."""
        edges, levels, goals = self._explore()
        before: dict[Any, list[Any]] = {}
        for state, following in edges.items():
            for after in following:
                before.setdefault(after, []).append(state)
        steps = dict.fromkeys(goals, 0)
        reached = list(goals)
        for state in reached:  # (it grows)
            for earlier in before.get(state, ()):
                if earlier not in steps:
                    steps[earlier] = steps[state] + 1
                    reached.append(earlier)
        least = 1 + min((steps[s] for s in edges[self.start] if s in steps), default=self.depth)
        if least > self.depth:
            limit = (
                f" among the {MOST_STATES:,} nearest states" if len(levels) > MOST_STATES else ""
            )
            raise ValueError(
                f"goal {self.goal!r} cannot be reached from {self.start!r} within depth "
                f"{self.depth}{limit}"
            )
        useful = {s: n for s, n in steps.items() if levels[s] + n <= self.depth}
        walks = {
            state: [after for after in following if after in useful]
            for state, following in edges.items()
            if state in useful or state == self.start
        }
        return walks, useful

    def _explore(self) -> tuple[dict[Any, tuple[Any, ...]], dict[Any, int], list[Any]]:
        """Explore the states within reach, breadth first.

        Return their successors, as far as walks may go on, their distances from the start, and
        those that are goals.
        """
        is_goal = self.goal if callable(self.goal) else lambda state: state == self.goal
        edges: dict[Any, tuple[Any, ...]] = {}
        levels: dict[Any, int] = {self.start: 0}
        goals = [self.start] if is_goal(self.start) else []
        frontier = [self.start]
        while frontier and len(levels) <= MOST_STATES:
            following = []
            for state in frontier:
                edges[state] = self._after_state(state)
                for after in edges[state]:
                    if after in levels:
                        continue
                    levels[after] = levels[state] + 1
                    if is_goal(after):
                        goals.append(after)
                    elif levels[after] < self.depth:
                        following.append(after)
                if len(levels) > MOST_STATES:
                    break
            frontier = following
        return edges, levels, goals

    def _after_state(self, state: Any) -> tuple[Any, ...]:
        found = self.successors(state)
        if not isinstance(found, Iterable):
            raise TypeError(f"successors({state!r}) must return states, got {found!r}")
        states = tuple(found)
        for after in states:
            check_hashable(after, f"each of successors({state!r})")
        if len(set(states)) < len(states):
            raise ValueError(f"successors({state!r}) must be different states, got {states!r}")
        return states

    @property
    def steps(self) -> int:
        return self.depth

    @property
    def _first(self) -> Any:
        return self.start, True

    def _options(self, state: Any, depth: int) -> list[Any]:
        walks, steps = self._walks
        here, is_first = state
        if not is_first and steps[here] == 0:
            return []
        room = self.depth - depth - 1
        return [after for after in walks[here] if steps[after] <= room]

    def _after(self, state: Any, option: Any) -> Any:
        return option, False

    def decode(self, path: Path) -> list[Any]:
        state, walk = self._first, [self.start]
        for depth, step in enumerate(path):
            walk.append(self._options(state, depth)[step])
            state = walk[-1], False
        return walk

    def label_of(self, path: Path) -> Hashable:
        after: Hashable = self._taken(path)
        return (self._state(path[:-1])[0], after) if self.label == "edge" else after

    def name_of(self, path: Path) -> Any:
        return self._taken(path)

    @property
    def _widest(self) -> int:
        return max(map(len, self._walks[0].values()))

    @property
    def _additions(self) -> int:
        return self.depth * sum(map(len, self._walks[0].values()))

    def _count(self) -> int:
        """Count walks by dynamic programming over the steps that are left."""
        walks, steps = self._walks
        ways: dict[Any, int] = {}
        for left in range(1, self.depth + 1):
            ways = {
                state: sum(
                    1 if steps[after] == 0 else ways.get(after, 0)
                    for after in following
                    if steps[after] < left
                )
                for state, following in walks.items()
            }
        return ways[self.start]

    def __repr__(self) -> str:
        names = [getattr(f, "__qualname__", None) or repr(f) for f in (self.successors, self.goal)]
        return (
            f"Tree.graph({names[0]}, start={self.start!r}, goal={names[1]}, depth={self.depth}, "
            f"label={self.label!r})"
        )
