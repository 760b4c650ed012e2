"""Paths played on a simulator: every step is counted, and none is taken twice without need."""

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from bough.planning.simulator import Model
from bough.trees import Path

#: Snapshots that are kept at a time; more would only save steps that are seldom taken.
MOST_SNAPSHOTS = 10_000
#: Rewards beyond this are refused: their squares must be numbers too.
LARGEST = 1e50


class Play(NamedTuple):
    """A path that was played: shorter than it was asked for if the episode or the budget ended.

    Where transitions are random and the episode ended, the path is the whole one: it did not end
    because of its steps alone, and what comes after them is worth nothing this time.
    """

    path: Path
    rewards: tuple[float, ...]  # of each step taken, not discounted
    ended: bool
    states: tuple[Any, ...]  # snapshots of the first of them, where transitions are random


class Place:
    """A state that a path of a deterministic simulator leads to."""

    __slots__ = ("children", "ended", "reward", "snapshot")

    def __init__(self, snapshot: Any, reward: float, ended: bool) -> None:
        self.snapshot = snapshot  # None if it was not kept
        self.reward = reward
        self.ended = ended
        self.children: dict[int, Place] = {}


class Rollouts:
    """Plays paths from a state of a simulator, within a budget of steps.

    Parameters
    ----------
    model : Model
    discount : float
        Within a repeated action; between actions discounting is the caller's.
    repeat : int
        How often each action is taken before the next one.
    rng : numpy.random.Generator
    """

    def __init__(
        self, model: Model, discount: float, repeat: int, rng: np.random.Generator
    ) -> None:
        self.model = model
        self.repeat = repeat
        self._weights = [discount**i for i in range(repeat)]
        self._rng = rng
        # Those who can tell states apart will want to know which paths led where they are.
        self._states = 0 if model.same is None else 1 if model.heavy else sys.maxsize
        self._here: Place | None = None  # where the simulator is
        self._snapshots = 0
        self.calls = self.budget = 0
        self.root = Place(None, 0.0, False)

    def start(self, snapshot: Any, budget: int) -> None:
        """Begin at another state."""
        self.root = Place(snapshot, 0.0, False)
        self._here = None
        self._snapshots = 1
        self.go_on(budget)

    def go_on(self, budget: int) -> None:
        """Begin at the same state, with so many steps to come."""
        self.calls, self.budget = 0, budget

    def advance(self, action: int, budget: int) -> bool:
        """Begin at the state that an action leads to, if that is known; return whether it is."""
        child = self.root.children.get(action)
        if child is None or child.ended or child.snapshot is None:
            return False
        self.root = child
        if self._snapshots > MOST_SNAPSHOTS // 2:  # (those of other actions are gone)
            self._snapshots = _count(child)
        self.go_on(budget)
        return True

    @property
    def left(self) -> int:
        """How many actions the budget still allows."""
        return (self.budget - self.calls) // self.repeat

    def play(self, path: Path) -> Play | None:
        """Play a path as far as the budget and the episode go; None if that is not one step."""
        if self.model.deterministic:
            return self._play_cached(path)
        return self._play_anew(path)

    def _take(self, action: int, done: int) -> tuple[float, bool]:
        """Take an action in the simulator, as often as it is repeated."""
        total = 0.0
        for weight in self._weights:
            _, reward, ended = self.model.step(self.model.actions[action])
            self.calls += 1
            if not -LARGEST <= reward <= LARGEST:  # NaN too
                raise ValueError(
                    f"rewards must be finite numbers of at most {LARGEST:.0e}, but action "
                    f"{self.model.actions[action]!r} gave {reward!r} {done} actions ahead"
                )
            total += weight * float(reward)
            if ended:
                return total, True
        return total, False

    def _play_anew(self, path: Path) -> Play | None:
        if self.left == 0:
            return None
        self.model.restore(self.root.snapshot)
        if self.model.reseed is not None:
            self.model.reseed(int(self._rng.integers(2**63)))
        rewards: list[float] = []
        states: list[Any] = []
        most = self._states
        ended = False
        for action in path[: self.left]:
            reward, ended = self._take(action, len(rewards))
            rewards.append(reward)
            if len(states) < most:
                states.append(self.model.snapshot())
            if ended:
                break
        return Play(path if ended else path[: len(rewards)], tuple(rewards), ended, tuple(states))

    def _play_cached(self, path: Path) -> Play | None:
        place = self.root
        rewards = []
        for action in path:
            child = place.children.get(action)
            if child is None:
                break
            rewards.append(child.reward)
            place = child
        known = len(rewards)
        more = known < len(path) and not place.ended and self.left > 0
        if more and (place is self._here or self._return_to(path[:known])):
            place = self._explore(place, path, rewards)
        if not rewards:
            return None
        return Play(path[: len(rewards)], tuple(rewards), place.ended, ())

    def _explore(self, place: Place, path: Path, rewards: list[float]) -> Place:
        """Go on where nobody was before, as far as the budget and the episode go."""
        snapshot = self.model.snapshot
        self._here = None  # until it is known where the simulator is
        for action in path[len(rewards) : len(rewards) + self.left]:
            reward, ended = self._take(action, len(rewards))
            kept = None
            if not ended and self._snapshots < MOST_SNAPSHOTS:
                kept = snapshot()
                self._snapshots += 1
            child = Place(kept, reward, ended)
            place.children[action] = child
            place = child
            rewards.append(reward)
            if ended:
                break
        self._here = place
        return place

    def _return_to(self, path: Path) -> bool:
        """Bring the simulator to a place that it was at before; return whether a step is left."""
        places = [self.root]
        for action in path:
            places.append(places[-1].children[action])
        known = max(i for i, place in enumerate(places) if place.snapshot is not None)
        if self.left <= len(path) - known:  # the way there, and one step
            return False
        self._here = None
        self.model.restore(places[known].snapshot)
        for i in range(known, len(path)):
            self._take(path[i], i)
        self._here = places[-1]
        return True

    def best(self, depth: int, discount: float) -> tuple[float, Path]:
        """Return the best of all paths that are known, by dynamic programming, and its value."""
        return _best(self.root, depth, discount)

    def unexplored(self, path: Path, depth: int) -> Path | None:
        """Return the way to the nearest step that was never taken, if all of this path were.

        Nearest is what leaves the path last. None if every path of that depth is known.
        """
        places = [self.root]
        for action in path:
            child = places[-1].children.get(action)
            if child is None:
                return path
            places.append(child)
        for i in range(len(places) - 1, -1, -1):
            found = self._open(places[i], depth - i)
            if found is not None:
                return path[:i] + found
        return None

    def _open(self, place: Place, depth: int) -> Path | None:
        """Return actions that lead to a step not yet taken, within so many; None if none do."""
        if place.ended or depth <= 0:
            return None
        order = self._rng.permutation(len(self.model.actions)).tolist()
        for action in order:
            if action not in place.children:
                return (action,)
        for action in order:
            found = self._open(place.children[action], depth - 1)
            if found is not None:
                return (action, *found)
        return None


def _best(place: Place, depth: int, discount: float) -> tuple[float, Path]:
    if depth == 0 or not place.children:
        return 0.0, ()
    value = -math.inf
    path: Path = ()
    for action, child in place.children.items():
        rest, further = _best(child, depth - 1, discount)
        total = child.reward + discount * rest
        if total > value:
            value, path = total, (action, *further)
    return value, path


def _count(place: Place) -> int:
    """Return how many snapshots are kept at a place and below."""
    count, stack = 0, [place]
    while stack:
        place = stack.pop()
        count += place.snapshot is not None
        stack.extend(place.children.values())
    return count
