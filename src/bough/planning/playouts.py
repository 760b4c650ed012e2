# cython: language_level=3, annotation_typing=False
"""Playouts: paths of actions that are simulated, every step counted and none repeated needlessly.

A tree policy chooses the first actions of a playout, and a rollout policy the others. Compiled,
since it runs for every step of the simulator.
"""

import math
import random
import sys
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bough._validation import real, shown
from bough.planning.decision import LARGEST, Hooks, PlanSettings, called
from bough.planning.environments import InvalidOutcome, checked_flag
from bough.planning.model import GenerativeModel
from bough.planning.rollouts import MANY, RolloutPolicy
from bough.trees import Path

#: Maximum number of snapshots for a decision; more would only save steps that are seldom taken.
MOST_SNAPSHOTS = 10_000
#: The same if each is a copy of a whole environment.
MOST_HEAVY = 1_000


class Playout(NamedTuple):
    """The outcome of a path, which is shorter than requested if the episode or the budget ended.

    If transitions are random and the episode ended, the path is the requested one: it did not end
    because of its actions alone, and the rewards of all further steps are zero this time.
    """

    path: Path
    rewards: tuple[float, ...]  # of each step taken, not discounted
    ended: bool
    states: tuple[Any, ...]  # snapshots after the first steps, if transitions are random
    bootstrap: float = 0.0  # the user's value of the last state, unless the episode ended there

    def is_whole(self, depth: int) -> bool:
        """Return whether it is complete at that depth, not cut off by the budget."""
        return self.ended or len(self.path) == depth

    def after_first_action(self) -> "Playout":
        """Return the playout from the state that the first action led to."""
        path, rewards, ended, states, bootstrap = self
        return tuple.__new__(Playout, (path[1:], rewards[1:], ended, states[1:], bootstrap))

    def truncated(self, depth: int) -> "Playout":
        """Return the first steps of the playout, up to a depth."""
        if len(self.path) <= depth:
            return self
        ended = self.ended and len(self.rewards) <= depth
        return Playout(self.path[:depth], self.rewards[:depth], ended, self.states[:depth])


class State:
    """A state that paths of a deterministic simulator lead to: several, if states are merged."""

    __slots__ = ("children", "complete", "ended", "legal", "snapshot", "value", "weights")

    def __init__(self, snapshot: Any, ended: bool) -> None:
        self.snapshot = snapshot  # None if it was not kept
        self.ended = ended
        self.legal: tuple[int, ...] | None = None  # actions; None if all are legal
        self.value = 0.0  # the user's, if there is a hook
        self.weights: list[float] | None = None  # of actions, by the user's policy
        #: For each action that was taken: its reward, and the state that it led to.
        self.children: dict[int, tuple[float, State]] = {}
        #: All paths of this many steps from here are known; of any length after an end. (Only used
        #: if states are not merged.)
        self.complete: float = math.inf if ended else 0


class Simulation:
    """Simulates paths from the state `root`, within a budget of steps, of which it counts `calls`.

    `discount` is that within a repeated action; the caller discounts between actions. If states are
    `merged`, paths that meet share what was simulated from there.
    """

    def __init__(
        self, model: GenerativeModel, settings: PlanSettings, rng: np.random.Generator
    ) -> None:
        self.model = model
        self.repeat = repeat = settings.repeat
        discount = settings.discount
        self.hooks = hooks = settings.hooks
        self._weights = [discount**i for i in range(repeat)]
        self._rng = rng
        self._random = random.Random(int(rng.integers(2**63)))  # (faster for single numbers)
        rollout_rng = random.Random(int(rng.integers(2**63)))
        self.rollout_policy = RolloutPolicy(self, discount**repeat, rollout_rng)
        # The number of snapshots of a random playout: they show which playouts can be reused.
        self._states = 0 if model.same is None else 1 if model.heavy else sys.maxsize
        #: States by their keys; None if they are not merged.
        self._merged: dict[Hashable, State] | None = None
        #: The actions to choose from; of a Box, those of this decision.
        count = range(len(model.actions))
        self.choices: Sequence[int] = count if len(count) > MANY else tuple(count)
        self._deterministic = model.deterministic
        self._snapshots = 0
        self.observation: Any = None  # after the last step
        self._observes = hooks != Hooks()
        #: Whether hooks choose the actions of rollouts.
        self.guides = hooks.policy is not None or hooks.rollout is not None
        self._is_baseline = settings.searcher != "gpts"
        self.calls = self.budget = 0
        self.root = State(None, False)

    def start(self, snapshot: Any) -> None:
        """Start from another state, and forget what was simulated."""
        # (GPTS on a tree of paths does not merge states: it counts the paths that are known.)
        merged = self.model.key is not None and self.model.deterministic and self._is_baseline
        self._merged = {} if merged else None
        self._snapshots = 0
        self.observation = self.model.observation
        self.rollout_policy.clear()
        self.root = self._new_state(snapshot, False)

    def advance(self, state: State) -> None:
        """Start from the state after an action, and keep what was simulated below it."""
        self.root = state
        self.rollout_policy.advance()
        if self._merged is None:
            self._snapshots = 0

    def renumber(self, index: dict[int, int]) -> None:
        """Give new numbers to the actions of the states below the root, and forget all others."""
        states = [self.root]
        for state in states:
            state.children = {index[action]: child for action, child in state.children.items()}
            states += [child for _, child in state.children.values()]
        self.rollout_policy.renumber(index)

    def actions_below(self) -> set[int]:
        """Return the actions that were taken in the states below the root."""
        found: set[int] = set()
        states = [self.root]
        for state in states:
            found.update(state.children)
            states += [child for _, child in state.children.values()]
        return found

    def set_budget(self, budget: int) -> None:
        """Allow a number of further steps."""
        self.calls, self.budget = 0, budget

    @property
    def left(self) -> int:
        """The number of actions that the budget still allows."""
        return (self.budget - self.calls) // self.repeat

    def take(self, action: int) -> tuple[float, bool]:
        """Take an action in the simulator; return its reward and whether the episode ended."""
        chosen = self.model.actions[action]
        if self.repeat > 1:
            return self._take_repeatedly(chosen)
        try:
            self.observation, reward, ended = self.model.step(chosen)
        except Exception as error:  # anything that a simulator may raise
            self._explain(error, chosen)
            raise
        self.calls += 1
        if type(reward) is not float or not -LARGEST <= reward <= LARGEST:
            reward = _checked(reward, chosen)
        if ended is not True and ended is not False:
            ended = checked_flag(ended, "the end of the episode")
        return reward, ended

    def _explain(self, error: Exception, action: Any) -> None:
        """Add to an error of the simulator where it came from."""
        if error.__cause__ is None and not isinstance(error, InvalidOutcome):
            advice = "if not every action is legal in every state, pass mask="
            note = f"raised by a simulated step({action!r})"
            error.add_note(note if self.model.knows_legal else f"{note}; {advice}")

    def _take_repeatedly(self, action: Any) -> tuple[float, bool]:
        total = 0.0
        ended = False
        for weight in self._weights:
            try:
                self.observation, reward, flag = self.model.step(action)
            except Exception as error:  # anything that a simulator may raise
                self._explain(error, action)
                raise
            self.calls += 1
            total += weight * _checked(reward, action)
            ended = checked_flag(flag, "the end of the episode")
            if ended:
                break
        return total, ended

    def play(self, path: Path, known: int = 0) -> Playout:
        """Simulate a path until the budget, of which a step must be left, or the episode ends.

        Beyond the first `known` actions, which a searcher chose, the hooks choose others.
        """
        if self._deterministic:
            return self._play_known(path, known)
        return self._play_random(path, known)

    def _guided(self, proposed: int, legal: Sequence[int], weights: list[float] | None) -> int:
        """Return the action of a rollout in the state after the last step."""
        if self.hooks.rollout is not None:
            return self.rollout_action(legal)
        if weights is not None:
            total = sum(weights[a] for a in legal)
            if total > 0.0:
                return self._random.choices(legal, [weights[a] for a in legal])[0]
        if proposed in legal:
            return proposed
        # (To other searchers an illegal action is always the same legal one.)
        return legal[proposed % len(legal)] if self._is_baseline else self._random.choice(legal)

    def rollout_action(self, legal: Sequence[int]) -> int:
        """Return the action of the user's rollout policy in the state after the last step."""
        given = called(self.hooks.rollout, "rollout", self.observation)
        action = self.model.index(given)
        if self.model.low is None and action not in legal:
            raise ValueError(f"rollout(observation) must return a legal action, got {given!r}")
        return action

    # ------------------------------------------------------------------ random transitions

    def _play_random(self, path: Path, known: int) -> Playout:
        model = self.model
        model.restore(self.root.snapshot)
        if model.reseed is not None:
            model.reseed(int(self._rng.integers(2**63)))
        rewards: list[float] = []
        states: list[Any] = []
        taken: list[int] = []
        ended = False
        legal, count = self.root.legal, len(model.actions)
        for action in path[: self.left]:
            guided = self.guides and len(taken) >= known and len(taken) > 0
            is_illegal = action >= count or (legal is not None and action not in legal)
            if guided or is_illegal:
                weights = None
                if guided and self.hooks.policy is not None:
                    weights = self.hooks.weights(self.observation, count)
                action = self._guided(action, legal or range(count), weights)
            reward, ended = self.take(action)
            taken.append(action)
            rewards.append(reward)
            legal = model.legal
            if len(rewards) <= self._states:
                states.append(model.snapshot())
            if ended:
                break
        bootstrap = 0.0
        if self.hooks.value is not None and not ended:
            bootstrap = self.hooks.estimate(self.observation)
        done = (*taken, *path[len(taken) :]) if ended else tuple(taken)
        return Playout(done, tuple(rewards), ended, tuple(states), bootstrap)

    # ------------------------------------------------------------------ deterministic transitions

    def _play_known(self, path: Path, known: int) -> Playout:
        """Simulate only the steps of a path that were never taken."""
        states, rewards = self._known_states(path)
        taken = list(path[: len(rewards)])
        has_new = len(states) <= len(path) and not states[-1].ended
        if has_new and self._return_to(states, taken):
            self._explore(states, rewards, taken, path, known)
        last = states[-1]
        return Playout(tuple(taken), tuple(rewards), last.ended, (), last.value)

    def _known_states(self, path: Path) -> tuple[list[State], list[float]]:
        """Return the states along a path and the rewards, as far as its steps were taken."""
        state = self.root
        states, rewards = [state], []
        for action in path:
            child = state.children.get(action)
            if child is None:
                break
            reward, state = child
            rewards.append(reward)
            states.append(state)
        return states, rewards

    def legal(self, state: State) -> Sequence[int]:
        """Return the actions to choose from in a state."""
        return self.choices if state.legal is None else state.legal

    def weights_after(self, path: Path) -> list[float]:
        """Return the user's weights of actions after a path; equal ones where it is not known."""
        states, _ = self._known_states(path)
        known = states[-1].weights if len(states) == len(path) + 1 else None
        return known or [1.0] * len(self.model.actions)

    def _new_state(self, snapshot: Any, ended: bool) -> State:
        """Return the state after the last step, which is not new if states are merged."""
        model, hooks = self.model, self.hooks
        key: Hashable = None
        if self._merged is not None and not ended:
            key = model.key(snapshot)  # type: ignore[misc]
            state = self._merged.get(key)
            if state is not None:
                return state
        state = State(snapshot, ended)
        self._snapshots += snapshot is not None
        if not ended:
            state.legal = model.legal
            if self._observes and self.observation is not None:
                if hooks.value is not None:
                    state.value = hooks.estimate(self.observation)
                if hooks.policy is not None:
                    state.weights = hooks.weights(self.observation, len(model.actions))
        if self._merged is not None and not ended:
            self._merged[key] = state
        return state

    def _explore(
        self, states: list[State], rewards: list[float], taken: list[int], path: Path, known: int
    ) -> None:
        """Take the further steps of a path, until the budget or the episode ends."""
        first = len(rewards)
        model = self.model
        most = MOST_HEAVY if model.heavy else MOST_SNAPSHOTS
        merged = self._merged is not None
        state = states[-1]
        guided_from = max(known, first + 1) if self.guides else len(path)
        try:
            for i in range(first, min(len(path), first + self.left)):
                action = path[i]
                if state.legal is not None or i >= guided_from:
                    legal = self.legal(state)
                    if i >= guided_from or action not in legal:
                        weights = state.weights if i >= guided_from else None
                        action = self._guided(action, legal, weights)
                child = state.children.get(action)  # (a path may meet one that was simulated)
                if child is not None and (child[1].ended or child[1].snapshot is not None):
                    reward, state = child
                    if not state.ended and i + 1 < len(path):
                        model.restore(state.snapshot)
                else:
                    reward, ended = self.take(action)
                    kept = merged or (not ended and self._snapshots < most)
                    following = self._new_state(model.snapshot() if kept else None, ended)
                    state.children[action] = (reward, following)
                    state = following
                taken.append(action)
                rewards.append(reward)
                states.append(state)
                if state.ended:
                    break
        finally:
            if not merged and model.low is None:
                self._update_complete(states, first)

    def _update_complete(self, states: list[State], known: int) -> None:
        """Update to which depth all paths are known, from the last state of a path upward.

        The path is new after the first `known` steps, so that only one action was taken there.
        """
        last = known if len(self.choices) > 1 else len(states) - 2
        for i in range(len(states)):
            state = states[i]
            if state.legal is not None:
                last = len(states) - 2
                break
        for i in range(last, -1, -1):
            state = states[i]
            if len(state.children) < len(self.legal(state)):
                return
            complete = math.inf
            for pair in state.children.values():
                child = pair[1]
                complete = min(complete, child.complete)
            if 1.0 + complete == state.complete:
                return
            state.complete = 1.0 + complete

    def _return_to(self, states: list[State], taken: list[int]) -> bool:
        """Restore the last state of a path; return False if the budget does not allow a step."""
        end = len(states) - 1
        known = end
        while states[known].snapshot is None:
            known -= 1
        if self.left <= end - known:  # the steps to it, and one more
            return False
        self.model.restore(states[known].snapshot)
        for action in taken[known:end]:
            self.take(action)
        return True

    def unexplored(self, path: Path, depth: int) -> Path | None:
        """Return the first actions of a path up to a step that was never taken.

        If all its steps were taken, leave it for such a step as late as possible. None if every
        path of that depth is known.
        """
        states, _ = self._known_states(path)
        last = states[-1]
        has_new = len(states) <= len(path) and not last.ended
        if has_new and path[len(states) - 1] in self.legal(last):
            if last.weights is None:
                return path[: len(states)]
            return (*path[: len(states) - 1], self._untried(last))
        for i in range(len(states) - 1, -1, -1):
            if states[i].complete < depth - i:
                return path[:i] + self._unexplored_below(states[i], depth - i)
        return None

    def _unexplored_below(self, state: State, depth: int) -> Path:
        """Return random actions that lead from a state to a step never taken."""
        path: list[int] = []
        while all(a in state.children for a in self.legal(state)):
            depth -= 1
            below = [a for a, (_, child) in state.children.items() if child.complete < depth]
            if not below:  # (of a Box it is not known which states are complete)
                return tuple(path or state.children)[:1]
            path.append(self._random.choice(below))
            state = state.children[path[-1]][1]
        return (*path, self._untried(state))

    def _untried(self, state: State) -> int:
        """Return a random action that was never taken in a state, by the user's weights."""
        legal = self.legal(state)
        if len(legal) > max(MANY, 2 * len(state.children)) and state.weights is None:
            while True:
                action = self._random.choice(legal)
                if action not in state.children:
                    return action
        left = [a for a in legal if a not in state.children]
        if state.weights is not None and any(state.weights[a] for a in left):
            return self._random.choices(left, [state.weights[a] for a in left])[0]
        return self._random.choice(left)

    def best(
        self, depth: int, discount: float, *, end: bool = False, cost: float = 0.0
    ) -> tuple[float, Path]:
        """Return the value of the best known path and the path, by dynamic programming.

        Of paths of the same value, one that ends if `end`, else one that does not. `cost` is that
        of an end, which is not part of the value. States must not be merged.
        """
        levels = [[self.root]]
        while len(levels) <= depth and levels[-1]:
            levels.append([child for state in levels[-1] for _, child in state.children.values()])
        # For each state: the value of the best path from it, as seen from the root, whether that is
        # preferred, and its action.
        best: dict[State, tuple[float, bool, int]] = {}
        for i in range(len(levels) - 1, -1, -1):
            weight = discount**i
            for state in levels[i]:
                if i < depth and state.children:
                    options = [
                        (weight * reward + best[child][0], best[child][1], action)
                        for action, (reward, child) in state.children.items()
                    ]
                    best[state] = max(options, key=lambda option: option[:2])
                else:
                    rest = -cost if state.ended else weight * state.value
                    best[state] = rest, state.ended == end, -1
        path: list[int] = []
        state = self.root
        while (action := best[state][2]) >= 0:
            path.append(action)
            state = state.children[action][1]
        return best[self.root][0] + cost * state.ended, tuple(path)


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
