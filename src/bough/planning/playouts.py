"""Playouts: paths of actions that are simulated, every step counted and none repeated needlessly.

A tree policy chooses the first actions of a playout; where nothing was simulated yet, a rollout
policy completes it.
"""

import math
import random
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bough._validation import real, shown
from bough.planning.simulator import GenerativeModel
from bough.trees import Path

#: Maximum number of snapshots for a decision; more would only save steps that are seldom taken.
MOST_SNAPSHOTS = 10_000
#: The same if each is a copy of a whole environment.
MOST_HEAVY = 1_000
#: Maximum size of a reward: its square must be finite too.
LARGEST = 1e50
#: Probability of a random action in the rollout policy.
EPSILON = 0.1
#: Maximum discount in the rollout policy: the loss by an early end must be finite.
MOST_DISCOUNT = 0.99
#: Number of playouts after which older ones count for less in the rollout policy.
MEMORY = 2000


class Playout(NamedTuple):
    """The outcome of a path, which is shorter than requested if the episode or the budget ended.

    If transitions are random and the episode ended, the path is the requested one: it did not end
    because of its actions alone, and the rewards of all further steps are zero this time.
    """

    path: Path
    rewards: tuple[float, ...]  # of each step taken, not discounted
    ended: bool
    states: tuple[Any, ...]  # snapshots after the first steps, if transitions are random

    def is_whole(self, depth: int) -> bool:
        """Return whether it is complete at that depth, not cut off by the budget."""
        return self.ended or len(self.path) == depth

    def after_first_action(self) -> "Playout":
        """Return the playout from the state that the first action led to."""
        return Playout(self.path[1:], self.rewards[1:], self.ended, self.states[1:])

    def truncated(self, depth: int) -> "Playout":
        """Return the first steps of the playout, up to a depth."""
        if len(self.path) <= depth:
            return self
        ended = self.ended and len(self.rewards) <= depth
        return Playout(self.path[:depth], self.rewards[:depth], ended, self.states[:depth])


class RolloutPolicy:
    """Completes paths beyond the simulated states, by averages over pairs of successive actions.

    Random actions soon drop a pole, and then say little about the steps before them. In games
    rollouts are guided by averages over moves (Finnsson and Bjornsson 2008) and over sequences of
    moves (Tak, Winands and Bjornsson 2012), wherever they were made. Here the averages are over an
    action and the one before it, and of ends only: how soon a playout ended afterwards, and how
    much better or worse that was than to continue. Other rewards are left to the belief. If no
    episode ends, all actions are equally likely.
    """

    def __init__(self, actions: int, discount: float, rng: random.Random) -> None:
        self._actions = actions
        self._discount = min(discount, MOST_DISCOUNT)
        self._rng = rng
        #: By the previous action: the count and the mean value of ends of each action after it.
        self._after: dict[int, dict[int, list[float]]] = {}

    def add(self, playout: Playout, center: float) -> None:
        """Learn from a playout; `center` is the expected reward of a step."""
        discount, after = self._discount, self._after
        steps = playout.path[: len(playout.rewards)]
        # The reward of an end less what it misses; each step before it is one step farther away.
        value = playout.rewards[-1] - center / (1.0 - discount) if playout.ended else 0.0
        for before, action in zip(steps[-2::-1], steps[:0:-1], strict=True):  # the last ones first
            known = after.setdefault(before, {})
            found = known.get(action)
            if found is None:
                known[action] = [1.0, value]
            else:
                if found[0] < MEMORY:
                    found[0] += 1.0
                found[1] += (value - found[1]) / found[0]
            value *= discount

    def complete(self, path: Path, depth: int) -> Path:
        """Return a path of that depth that begins with this one, which is not empty."""
        actions, uniform = self._actions, self._rng.random
        best: dict[int, list[int] | None] = {}  # by the previous action
        steps = list(path)
        action = path[-1]
        for _ in range(depth - len(path)):
            if action not in best:
                best[action] = self.best_after(action)
            usual = best[action]
            if usual is None or uniform() < EPSILON:
                action = int(actions * uniform())
            else:
                action = usual[int(len(usual) * uniform())]
            steps.append(action)
        return tuple(steps)

    def best_after(self, action: int) -> list[int] | None:
        """Return the best actions after one; None if some were never tried there."""
        known = self._after.get(action, {})
        if len(known) < self._actions:
            return None
        top = max(mean for _, mean in known.values())
        return [after for after, (_, mean) in known.items() if mean == top]


class State:
    """A state that a path of a deterministic simulator leads to."""

    __slots__ = ("children", "complete", "ended", "reward", "snapshot")

    def __init__(self, snapshot: Any, reward: float, ended: bool) -> None:
        self.snapshot = snapshot  # None if it was not kept
        self.reward = reward
        self.ended = ended
        self.children: dict[int, State] = {}
        #: All paths of this many steps from here are known; of any length after an end.
        self.complete: float = math.inf if ended else 0


class Playouts:
    """Simulates paths from the state `root`, within a budget of steps, of which it counts `calls`.

    `discount` is that within a repeated action; the caller discounts between actions.
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
        rollout_rng = random.Random(int(rng.integers(2**63)))
        self.rollout_policy = RolloutPolicy(len(model.actions), discount**repeat, rollout_rng)
        # The number of snapshots of a random playout: they show which playouts can be reused.
        self._states = 0 if model.same is None else 1 if model.heavy else sys.maxsize
        self._snapshots = 0
        self.calls = self.budget = 0
        self.root = State(None, 0.0, False)

    def start(self, snapshot: Any) -> None:
        """Start from another state."""
        self.root = State(snapshot, 0.0, False)
        self._snapshots = 1

    def advance(self, state: State) -> None:
        """Start from a known state, and keep what was simulated below it."""
        self.root = state
        self._snapshots = 0

    def set_budget(self, budget: int) -> None:
        """Allow a number of further steps."""
        self.calls, self.budget = 0, budget

    @property
    def left(self) -> int:
        """The number of actions that the budget still allows."""
        return (self.budget - self.calls) // self.repeat

    def play(self, path: Path) -> Playout:
        """Simulate a path until the budget, of which a step must be left, or the episode ends."""
        return self._play_known(path) if self.model.deterministic else self._play_random(path)

    def _take(self, path: Path) -> Iterator[tuple[int, float, bool]]:
        """Take actions until the budget or the episode ends; yield each with reward and end."""
        step, actions = self._step, self.model.actions
        for action in path[: self.left]:
            _, reward, ended = step(actions[action])
            self.calls += 1
            if type(reward) is not float or not -LARGEST <= reward <= LARGEST:
                reward = _checked(reward, actions[action])
            yield action, reward, ended
            if ended:
                return

    def _step_repeatedly(self, action: Any) -> tuple[None, float, bool]:
        """Repeat an action; the caller counts the last of its steps."""
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

    def _play_random(self, path: Path) -> Playout:
        self.model.restore(self.root.snapshot)
        if self.model.reseed is not None:
            self.model.reseed(int(self._rng.integers(2**63)))
        rewards: list[float] = []
        states: list[Any] = []
        ended = False
        for _, reward, is_last in self._take(path):
            ended = is_last
            rewards.append(reward)
            if len(rewards) <= self._states:
                states.append(self.model.snapshot())
        taken = path if ended else path[: len(rewards)]
        return Playout(taken, tuple(rewards), ended, tuple(states))

    # ------------------------------------------------------------------ deterministic transitions

    def _play_known(self, path: Path) -> Playout:
        """Simulate only the steps of a path that were never taken."""
        states = self._known_states(path)
        has_new = len(states) <= len(path) and not states[-1].ended
        if has_new and self._return_to(states, path):
            self._explore(states, path)
        rewards = [state.reward for state in states[1:]]
        return Playout(path[: len(rewards)], tuple(rewards), states[-1].ended, ())

    def _known_states(self, path: Path) -> list[State]:
        """Return the states along a path, as far as its steps were taken."""
        states = [self.root]
        for action in path:
            child = states[-1].children.get(action)
            if child is None:
                break
            states.append(child)
        return states

    def _explore(self, states: list[State], path: Path) -> None:
        """Take the further steps of a path, until the budget or the episode ends."""
        known = len(states) - 1
        most = MOST_HEAVY if self.model.heavy else MOST_SNAPSHOTS
        try:
            for action, reward, ended in self._take(path[known:]):
                kept = not ended and self._snapshots < most
                child = State(self.model.snapshot() if kept else None, reward, ended)
                self._snapshots += kept
                states[-1].children[action] = child
                states.append(child)
        finally:
            self._update_complete(states, known)

    def _update_complete(self, states: list[State], known: int) -> None:
        """Update to which depth all paths are known, from the last state of a path upward.

        The path is new after the first `known` steps, so that only one action was taken there.
        """
        count = len(self.model.actions)
        for state in reversed(states[:-1] if count == 1 else states[: known + 1]):
            if len(state.children) < count:
                return
            complete = 1 + min([child.complete for child in state.children.values()])
            if complete == state.complete:
                return
            state.complete = complete

    def _return_to(self, states: list[State], path: Path) -> bool:
        """Restore the last state of a path; return False if the budget does not allow a step."""
        end = len(states) - 1
        known = end
        while states[known].snapshot is None:
            known -= 1
        if self.left <= end - known:  # the steps to it, and one more
            return False
        self.model.restore(states[known].snapshot)
        for action in path[known:end]:
            self._step(self.model.actions[action])
            self.calls += 1
        return True

    def unexplored(self, path: Path, depth: int) -> Path | None:
        """Return the first actions of a path up to a step that was never taken.

        If all its steps were taken, leave it for such a step as late as possible. None if every
        path of that depth is known.
        """
        states = self._known_states(path)
        if len(states) <= len(path) and not states[-1].ended:
            return path[: len(states)]
        for i in range(len(states) - 1, -1, -1):
            if states[i].complete < depth - i:
                return path[:i] + self._unexplored_below(states[i], depth - i)
        return None

    def _unexplored_below(self, state: State, depth: int) -> Path:
        """Return random actions that lead from a state to a step never taken."""
        path: list[int] = []
        count = len(self.model.actions)
        while len(state.children) == count:
            depth -= 1
            below = [a for a, child in state.children.items() if child.complete < depth]
            path.append(self._random.choice(below))
            state = state.children[path[-1]]
        path.append(self._random.choice([a for a in range(count) if a not in state.children]))
        return tuple(path)

    def best(self, depth: int, discount: float, *, end: bool = False) -> tuple[float, Path]:
        """Return the value of the best known path and the path, by dynamic programming.

        Of paths of the same value, one that ends if `end`, else one that does not.
        """
        levels = [[self.root]]
        while len(levels) <= depth and levels[-1]:
            levels.append([child for state in levels[-1] for child in state.children.values()])
        # For each state: the value of the best path from it, whether that is preferred, its action.
        best = {state: (0.0, state.ended == end, -1) for level in levels for state in level}
        for state in (state for level in levels[-2::-1] for state in level if state.children):
            options = [
                (child.reward + discount * best[child][0], best[child][1], action)
                for action, child in state.children.items()
            ]
            best[state] = max(options, key=lambda option: option[:2])
        path: list[int] = []
        state = self.root
        while (action := best[state][2]) >= 0:
            path.append(action)
            state = state.children[action]
        return best[self.root][0], tuple(path)


def _checked(reward: Any, action: Any) -> float:
    """Return a reward as a float, or raise an error that names the action."""
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
