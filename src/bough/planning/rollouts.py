"""Paths played on a simulator: every step is counted, and none is taken twice without need."""

import math
import random
import sys
from typing import Any, NamedTuple

import numpy as np

from bough._validation import real, shown
from bough.planning.simulator import GenerativeModel
from bough.trees import Path

#: Snapshots that are kept at a time; more would only save steps that are seldom taken.
MOST_SNAPSHOTS = 10_000
#: The same where each is a copy of a whole environment.
MOST_HEAVY = 1_000
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

    def is_whole(self, depth: int) -> bool:
        """Return whether nothing of a path of that depth is missing: it was not cut off."""
        return self.ended or len(self.path) == depth


class Place:
    """A state that a path of a deterministic simulator leads to."""

    __slots__ = ("children", "complete", "ended", "reward", "snapshot")

    def __init__(self, snapshot: Any, reward: float, ended: bool) -> None:
        self.snapshot = snapshot  # None if it was not kept
        self.reward = reward
        self.ended = ended
        self.children: dict[int, Place] = {}
        #: All paths of so many steps from here are known; infinitely many after an end.
        self.complete: float = math.inf if ended else 0


class Rollouts:
    """Plays paths from a state of a simulator, within a budget of steps.

    Parameters
    ----------
    model : GenerativeModel
    discount : float
        Within a repeated action; between actions discounting is the caller's.
    repeat : int
        How often each action is taken before the next one.
    rng : numpy.random.Generator
    """

    def __init__(
        self, model: GenerativeModel, discount: float, repeat: int, rng: np.random.Generator
    ) -> None:
        self.model = model
        self.repeat = repeat
        self._weights = [discount**i for i in range(repeat)]
        self._step = model.step if repeat == 1 else self._step_repeatedly
        self._rng = rng
        self._random = random.Random(int(rng.integers(2**63)))  # (faster for single numbers)
        # Those who can tell states apart will want to know which paths led where they are.
        self._states = 0 if model.same is None else 1 if model.heavy else sys.maxsize
        self._here: Place | None = None  # where the simulator is
        self._snapshots = 0
        self.calls = self.budget = 0
        self.root = Place(None, 0.0, False)

    def start(self, snapshot: Any, budget: int) -> None:
        """Begin at another state."""
        self.root = Place(snapshot, 0.0, False)
        self._snapshots = 1
        self.go_on(budget)

    def go_on(self, budget: int) -> None:
        """Begin at the same state, with so many steps to come."""
        self.calls, self.budget = 0, budget
        self._here = None  # (the simulator may have been used by others meanwhile)

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

    # ------------------------------------------------------------------ single steps

    def _step_repeatedly(self, action: Any) -> tuple[None, float, bool]:
        """Take an action as often as it is repeated; the last of its steps counts elsewhere."""
        total = 0.0
        ended = False
        for i, weight in enumerate(self._weights):
            _, reward, ended = self.model.step(action)
            total += weight * _checked(reward, action)
            if ended or i == self.repeat - 1:
                break
            self.calls += 1
        return None, total, ended

    # ------------------------------------------------------------------ random transitions

    def _play_anew(self, path: Path) -> Play | None:
        if self.left == 0:
            return None
        self.model.restore(self.root.snapshot)
        if self.model.reseed is not None:
            self.model.reseed(int(self._rng.integers(2**63)))
        step, snapshot, actions = self._step, self.model.snapshot, self.model.actions
        most = self._states
        rewards: list[float] = []
        states: list[Any] = []
        ended = False
        taken = 0
        try:
            for action in path[: self.left]:
                _, reward, ended = step(actions[action])
                taken += 1
                if type(reward) is not float or not -LARGEST <= reward <= LARGEST:
                    reward = _checked(reward, actions[action])
                rewards.append(reward)
                if taken <= most:
                    states.append(snapshot())
                if ended:
                    break
        finally:
            self.calls += taken
        return Play(path if ended else path[:taken], tuple(rewards), ended, tuple(states))

    # ------------------------------------------------------------------ deterministic transitions

    def _play_cached(self, path: Path) -> Play | None:
        place = self.root
        places = [place]
        rewards = []
        for action in path:
            child = place.children.get(action)
            if child is None:
                break
            place = child
            places.append(place)
            rewards.append(place.reward)
        known = len(rewards)
        more = known < len(path) and not place.ended and self.left > 0
        if more and (place is self._here or self._return_to(places, path)):
            self._explore(places, path, rewards)
        if not rewards:
            return None
        return Play(path[: len(rewards)], tuple(rewards), places[-1].ended, ())

    def _explore(self, places: list[Place], path: Path, rewards: list[float]) -> None:
        """Go on where nobody was before, as far as the budget and the episode go."""
        step, snapshot, actions = self._step, self.model.snapshot, self.model.actions
        place = places[-1]
        known = len(rewards)
        most = MOST_HEAVY if self.model.heavy else MOST_SNAPSHOTS
        room = most - self._snapshots
        self._here = None  # until it is known where the simulator is
        taken = 0
        try:
            for action in path[known : known + self.left]:
                _, reward, ended = step(actions[action])
                taken += 1
                if type(reward) is not float or not -LARGEST <= reward <= LARGEST:
                    reward = _checked(reward, actions[action])
                child = Place(None if ended or taken > room else snapshot(), reward, ended)
                place.children[action] = place = child
                places.append(child)
                rewards.append(reward)
                if ended:
                    break
        finally:
            self.calls += taken
            self._snapshots += max(min(taken, room), 0)
            self._complete(places, known)
        self._here = place

    def _complete(self, places: list[Place], known: int) -> None:
        """Note which places on a path are complete to a further level, the last ones first.

        The path is new after the first `known` steps, so that only one action was taken there.
        """
        count = len(self.model.actions)
        for place in reversed(places[:-1] if count == 1 else places[: known + 1]):
            if len(place.children) < count:
                return
            complete = 1 + min([child.complete for child in place.children.values()])
            if complete == place.complete:
                return
            place.complete = complete

    def _return_to(self, places: list[Place], path: Path) -> bool:
        """Bring the simulator to where a path was before; return whether a step is left."""
        end = len(places) - 1
        known = end
        while places[known].snapshot is None:
            known -= 1
        if self.left <= end - known:  # the way there, and one step
            return False
        self._here = None
        self.model.restore(places[known].snapshot)
        for action in path[known:end]:
            self._step(self.model.actions[action])
            self.calls += 1
        self._here = places[-1]
        return True

    # ------------------------------------------------------------------ what is known

    def is_complete(self, depth: int) -> bool:
        """Return whether every path of that depth is known."""
        return self.root.complete >= depth

    def unexplored(self, path: Path, depth: int) -> Path | None:
        """Return the first steps of a path until one that was never taken.

        If all of them were, it leaves the path to take one, as late as there is any. None if every
        path of that depth is known.
        """
        places = [self.root]
        for action in path:
            if places[-1].ended:
                break
            child = places[-1].children.get(action)
            if child is None:
                return path[: len(places)]
            places.append(child)
        for i in range(len(places) - 1, -1, -1):
            if places[i].complete < depth - i:
                return path[:i] + self._open(places[i], depth - i)
        return None

    def _open(self, place: Place, depth: int) -> Path:
        """Return actions that lead to a step not yet taken, below a place where there are some."""
        path: list[int] = []
        count = len(self.model.actions)
        while len(place.children) == count:
            depth -= 1
            below = [a for a, child in place.children.items() if child.complete < depth]
            path.append(self._random.choice(below))
            place = place.children[path[-1]]
        path.append(self._random.choice([a for a in range(count) if a not in place.children]))
        return tuple(path)

    def best(self, depth: int, discount: float, *, end: bool = False) -> tuple[float, Path]:
        """Return the best of all paths that are known, by dynamic programming, and its value.

        Of paths that give the same, one that ends, or one that does not.
        """
        # Each place with the number of the one before it, and the action that leads to it.
        levels = [[(self.root, 0, 0)]]
        while len(levels) <= depth and levels[-1]:
            levels.append(
                [
                    (child, i, action)
                    for i, (place, _, _) in enumerate(levels[-1])
                    for action, child in place.children.items()
                ]
            )
        values = [(0.0, place.ended == end) for place, _, _ in levels[-1]]
        chosen: list[list[int]] = []
        for above, level in zip(levels[-2::-1], levels[:0:-1], strict=True):
            best = [(0.0, place.ended == end) for place, _, _ in above]
            pick = [-1] * len(above)
            for k, (child, i, _) in enumerate(level):
                total = child.reward + discount * values[k][0], values[k][1]
                if pick[i] < 0 or total > best[i]:
                    best[i], pick[i] = total, k
            values = best
            chosen.append(pick)
        path: list[int] = []
        k = 0
        for level, pick in zip(levels[1:], reversed(chosen), strict=True):
            k = pick[k]
            if k < 0:
                break
            path.append(level[k][2])
        return values[0][0], tuple(path)


def _checked(reward: Any, action: Any) -> float:
    """Return a reward as a float, or say what is wrong with it."""
    try:
        number = real(reward, "a reward")
    except (TypeError, ValueError):
        number = math.nan
    if not -LARGEST <= number <= LARGEST:  # NaN too
        raise ValueError(
            f"rewards must be finite numbers of at most {LARGEST:.0e}, but action "
            f"{action!r} gave {shown(reward)}"
        )
    return number


def _count(place: Place) -> int:
    """Return how many snapshots are kept at a place and below."""
    count, stack = 0, [place]
    while stack:
        place = stack.pop()
        count += place.snapshot is not None
        stack.extend(place.children.values())
    return count
