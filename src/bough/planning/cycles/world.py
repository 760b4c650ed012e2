"""What is known of a deterministic world: its states, transitions and rewards so far."""

import math
from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from bough._validation import real
from bough.exceptions import NotCommunicating, NotDeterministic
from bough.planning.cycles.best_cycle import Floats, Ints

State = Hashable
Action = Any
Actions = Sequence[Action] | Callable[[Any], Sequence[Action]]
Features = Callable[[Any, Any], Any]

UNKNOWN = -1


class World:
    """States, and for each pair of a state and an action its destination, visits and rewards.

    States and pairs are numbered in the order in which they appear; the pairs of a state follow one
    another.

    Parameters
    ----------
    states
        All states, or None if they are not known beforehand: then they are added when they appear.
    actions
        The actions of every state, or a function that returns those of a state.
    features
        A function of a state and an action that returns a number or a vector.
    """

    def __init__(
        self, states: Iterable[State] | None, actions: Actions, features: Features | None
    ) -> None:
        self.is_open = states is None
        self._actions_of = actions if callable(actions) else None
        self._shared = () if callable(actions) else _actions(actions, "actions")
        if features is not None and not callable(features):
            raise TypeError(
                f"features must be a function of a state and an action, got {features!r}"
            )
        self._features = features
        self._dimensions = 0
        self.states: list[State] = []
        self.visited: list[bool] = []  # by state
        self.first: list[int] = [0]  # the first pair of each state, and the number of all pairs
        self.actions: list[Action] = []  # by pair, from here on
        self.rows: list[Floats] = []
        self.sources, self.targets, self.visits = array("q"), array("q"), array("q")
        self.means = array("d")
        self.squares = 0.0  # the sum of squared deviations from the means of the pairs
        self.observations = 0
        self.lowest, self.highest = math.inf, -math.inf  # of all rewards
        self._numbers: dict[State, int] = {}
        if states is not None:
            if isinstance(states, (str, bytes)) or not hasattr(states, "__iter__"):
                raise TypeError(
                    "states must be a collection of hashable states, or None if they are not "
                    f"known beforehand, got {states!r}"
                )
            for state in states:
                if _hashable(state, "each state") in self._numbers:
                    raise ValueError(f"states must differ, but {state!r} is listed twice")
                self._add(state, *self._describe(state))
            if not self.states:
                raise ValueError("states must contain at least one state, got none")

    # ------------------------------------------------------------------ states and pairs

    def number_of(self, state: Any) -> int:
        """Return the number of a state; a new one is added if the world is open."""
        description = self._looked_up(state, "state")
        if description is not None:
            self._add(state, *description)
        return self._numbers[state]

    def pairs_of(self, state: int) -> range:
        """Return the pairs of a state."""
        return range(self.first[state], self.first[state + 1])

    def _looked_up(self, state: Any, name: str) -> tuple[list[Action], list[Floats]] | None:
        """Return the actions and features of a new state, None if it is known; or raise."""
        if _hashable(state, name) in self._numbers:
            return None
        if not self.is_open:
            raise ValueError(
                f"{name} must be one of the {len(self.states)} states, got {state!r}; pass "
                "states=None if they are not known beforehand"
            )
        return self._describe(state)

    def _describe(self, state: State) -> tuple[list[Action], list[Floats]]:
        if self._actions_of is None:
            actions = list(self._shared)
        else:
            actions = list(_actions(self._actions_of(state), f"actions({state!r})"))
        rows = []
        for action in actions if self._features is not None else ():
            name = f"features({state!r}, {action!r})"
            row = _vector(self._features(state, action), name)  # type: ignore[misc]
            self._dimensions = self._dimensions or len(row)
            if len(row) != self._dimensions:
                raise ValueError(
                    f"{name} must have as many numbers as those before, {self._dimensions}, "
                    f"got {len(row)}"
                )
            rows.append(row)
        return actions, rows

    def _add(self, state: State, actions: list[Action], rows: list[Floats]) -> None:
        if state in self._numbers:
            return
        number = self._numbers[state] = len(self.states)
        self.states.append(state)
        self.visited.append(False)
        count = len(actions)
        self.actions += actions
        self.rows += rows
        self.sources.extend([number] * count)
        self.targets.extend([UNKNOWN] * count)
        self.visits.extend([0] * count)
        self.means.extend([0.0] * count)
        self.first.append(len(self.sources))

    def actions_of(self, state: int) -> list[Action]:
        """Return the actions of a state."""
        return self.actions[self.first[state] : self.first[state + 1]]

    def _index(self, action: Action, actions: list[Action], state: State) -> int:
        for index, other in enumerate(actions):
            if _equal(other, action):
                return index
        raise ValueError(f"action must be one of {actions} in state {state!r}, got {action!r}")

    # ------------------------------------------------------------------ transitions and rewards

    def learn(self, state: Any, action: Action, reward: Any, next_state: Any) -> int:
        """Record a step, and return its pair; or raise, and change nothing."""
        reward = real(reward, "reward")
        if abs(reward) > 1e100:
            raise ValueError(f"reward must be between -1e100 and 1e100, got {reward!r}")
        here, there = self._looked_up(state, "state"), self._looked_up(next_state, "next_state")
        actions = self.actions_of(self._numbers[state]) if here is None else here[0]
        index = self._index(action, actions, state)
        if here is None:
            known = self.targets[self.first[self._numbers[state]] + index]
            if known != UNKNOWN and self._numbers.get(next_state, UNKNOWN) != known:
                raise NotDeterministic(
                    f"action {action!r} in state {state!r} led to {self.states[known]!r} before, "
                    f"and now to {next_state!r}: the transitions of the world must be "
                    "deterministic, and its states must contain all that they depend on"
                )
        for one, description in ((state, here), (next_state, there)):
            if description is not None:
                self._add(one, *description)
        source, target = self._numbers[state], self._numbers[next_state]
        pair = self.first[source] + index
        self.targets[pair] = target
        self.visited[source] = self.visited[target] = True
        self.observations += 1
        self.lowest, self.highest = min(self.lowest, reward), max(self.highest, reward)
        self.visits[pair] += 1
        change = reward - self.means[pair]
        self.means[pair] += change / self.visits[pair]
        self.squares += change * (reward - self.means[pair])
        return pair

    def way(self, state: int, is_goal: Callable[[int], bool]) -> list[int] | None:
        """Return the pairs of a shortest known way to a goal; None if there is none."""
        came_by: dict[int, int] = {state: UNKNOWN}
        queue = deque([state])
        while queue:
            here = queue.popleft()
            if is_goal(here):
                pairs: list[int] = []
                while came_by[here] != UNKNOWN:
                    pairs.append(came_by[here])
                    here = self.sources[pairs[-1]]
                return pairs[::-1]
            for pair in self.pairs_of(here):
                target = self.targets[pair]
                if target != UNKNOWN and target not in came_by:
                    came_by[target] = pair
                    queue.append(target)
        return None

    def untried_pair(self, state: int) -> int | None:
        """Return the first pair of a state that was never tried."""
        for pair in self.pairs_of(state):
            if self.targets[pair] == UNKNOWN:
                return pair
        return None

    def reachable(self, state: int) -> Ints:
        """Return the states that known transitions reach from a state, in order."""
        found = {state}

        def visit(here: int) -> bool:
            found.add(here)
            return False

        self.way(state, visit)
        return np.array(sorted(found), dtype=np.int64)

    def check_communicating(self, state: int, reached: Iterable[int]) -> None:
        """Raise if no pair leads back from the states that can be reached to all visited ones.

        To be called when every pair of the reachable states has been tried.
        """
        left = set(np.flatnonzero(self.visited).tolist()) - set(reached)
        if left:
            raise NotCommunicating(
                f"no way leads back from state {self.states[state]!r} to {len(left)} visited "
                f"states, such as {self.states[min(left)]!r}, although every action of the "
                "states that can be reached was tried: the world must be communicating. If "
                "episodes end, let the next state of the last step be the one after the reset"
            )


# ---------------------------------------------------------------------- checks


def _hashable(state: Any, name: str) -> State:
    try:
        hash(state)
    except TypeError:
        raise TypeError(
            f"{name} must be hashable, such as a number, a string or a tuple of them, got {state!r}"
        ) from None
    if isinstance(state, (float, np.floating)) and state != state:
        raise ValueError(f"{name} must equal itself, got {state!r}")
    known: State = state
    return known


def _actions(actions: Any, name: str) -> Sequence[Action]:
    if isinstance(actions, (str, bytes)) or not hasattr(actions, "__iter__"):
        raise TypeError(f"{name} must be a sequence of actions, got {actions!r}")
    found = list(actions)
    if not found:
        raise ValueError(f"{name} must contain at least one action, got none")
    for index, action in enumerate(found):
        if any(_equal(action, other) for other in found[:index]):
            raise ValueError(f"{name} must differ, but {action!r} is listed twice")
    return found


def _equal(one: Any, other: Any) -> bool:
    same = one is other or one == other
    return same if isinstance(same, bool) else bool(np.all(same))


def _vector(value: Any, name: str) -> Floats:
    try:
        row = np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        row = np.empty((0, 0))
    if row.ndim != 1 or not len(row):
        raise TypeError(
            f"{name} must be a number or a vector of numbers, got {value!r}; compare a label with "
            "each of its values, as in (action == 'left', action == 'right')"
        )
    if not np.isfinite(row).all():
        raise ValueError(f"{name} must be finite, got {value!r}")
    return row
