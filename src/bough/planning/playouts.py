# cython: language_level=3, annotation_typing=False
"""Playouts: paths of actions that are simulated, every step counted and none repeated needlessly.

A tree policy chooses the first actions of a playout; where nothing was simulated yet, a rollout
policy completes it. Compiled, since it runs for every step of the simulator.
"""

import math
import random
import sys
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough._validation import listed, real, shown
from bough.planning.model import GenerativeModel
from bough.trees import Path

if TYPE_CHECKING:
    from bough.planning.decision import PlanSettings

#: Maximum number of snapshots for a decision; more would only save steps that are seldom taken.
MOST_SNAPSHOTS = 10_000
#: The same if each is a copy of a whole environment.
MOST_HEAVY = 1_000
#: Maximum size of a reward: its square must be finite too.
LARGEST = 1e50
#: Probability of a random action in the rollout policy.
EPSILON = 0.05
#: Styles of rollouts: averages over pairs of actions, the rest of the best path, averages by step.
PAIRS, BEST, STEPS = range(3)
ANY = -1
#: Number of playouts before averages by step are used: those of few are misleading.
LEAST_RETURNS = 20
#: Width of the random perturbation of averages by step, in standard deviations of a return.
PERTURBATION = 0.7
#: The success of a style of rollouts is judged by this many of the last playouts, at least by so
#: many; its average moves by a share at a time, and this much is added to its probability.
RECENT, LEAST_RECENT = 40, 8
LEARNING_RATE = 0.1
LEAST_SUCCESS = 0.1
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
    bootstrap: float = 0.0  # the user's value of the last state, unless the episode ended there

    def is_whole(self, depth: int) -> bool:
        """Return whether it is complete at that depth, not cut off by the budget."""
        return self.ended or len(self.path) == depth

    def after_first_action(self) -> "Playout":
        """Return the playout from the state that the first action led to."""
        return self._replace(path=self.path[1:], rewards=self.rewards[1:], states=self.states[1:])

    def truncated(self, depth: int) -> "Playout":
        """Return the first steps of the playout, up to a depth."""
        if len(self.path) <= depth:
            return self
        ended = self.ended and len(self.rewards) <= depth
        return Playout(self.path[:depth], self.rewards[:depth], ended, self.states[:depth])


@dataclass(frozen=True)
class Hooks:
    """Functions of the user about a state, given its observation; None where there is none.

    `value` returns the discounted sum of rewards to expect from there, `policy` a weight of at
    least 0 for each action, `rollout` the action to take in a playout.
    """

    value: Callable[[Any], float] | None = None
    policy: Callable[[Any], Sequence[float]] | None = None
    rollout: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        for name in ("value", "policy", "rollout"):
            hook = getattr(self, name)
            if hook is not None and not callable(hook):
                raise TypeError(f"{name} must be a function of the observation, got {hook!r}")

    def estimate(self, observation: Any) -> float:
        """Return the value of a state."""
        return _finite(self.value(observation), "value(observation)")  # type: ignore[misc]

    def weights(self, observation: Any, actions: int) -> list[float]:
        """Return the weight of each action in a state."""
        given = listed(self.policy(observation), "policy(observation)")  # type: ignore[misc]
        weights = [_finite(weight, "policy(observation)") for weight in given]
        if len(weights) != actions or min(weights) < 0.0 or sum(weights) <= 0.0:
            raise ValueError(
                f"policy(observation) must return {actions} weights, one for each action, of at "
                f"least 0 and not all 0, got {shown(given)}"
            )
        return weights


class Average:
    """A running mean."""

    __slots__ = ("count", "mean")

    def __init__(self) -> None:
        self.count = 0.0
        self.mean = 0.0

    def add(self, value: float, most: float) -> None:
        """Add a value; with more than `most` of them, older ones count for less."""
        if self.count < most:
            self.count += 1.0
        self.mean += (value - self.mean) / self.count


class StepReturns:
    """Returns from one step of a decision on: their mean, variance and averages by action."""

    __slots__ = ("by_action", "count", "mean", "squares")

    def __init__(self) -> None:
        self.count = self.mean = self.squares = 0.0
        self.by_action: dict[int, Average] = {}

    def add(self, action: int, value: float) -> None:
        """Add the return of a playout that took an action in this step."""
        change = value - self.mean
        self.count += 1.0
        self.mean += change / self.count
        self.squares += change * (value - self.mean)
        found = self.by_action.get(action)
        if found is None:
            found = self.by_action[action] = Average()
        found.add(value, math.inf)

    def best(self, choices: Sequence[int], uniform: Callable[[], float]) -> int:
        """Return the action with the highest average, shrunk toward the mean and perturbed."""
        spread = PERTURBATION * math.sqrt(self.squares / self.count)
        best, top = choices[0], -math.inf
        for action in choices:
            score, count = 0.0, 1.0
            found = self.by_action.get(action)
            if found is not None:
                count += found.count
                score = found.count * (found.mean - self.mean) / count
            score += spread * (uniform() - 0.5) / math.sqrt(count)
            if score > top:
                best, top = action, score
        return best


class RolloutPolicy:
    """Completes paths beyond the simulated states.

    There are three styles. Each rollout has one of them, more often one whose playouts are more
    often among the best quarter.

    *Averages over pairs of actions.* Random actions soon drop a pole, and then say little about the
    steps before them. In games rollouts are guided by averages over moves (Finnsson and Bjornsson
    2008) and over sequences of moves (Tak, Winands and Bjornsson 2012), wherever they were made.
    Here the averages are over an action and the one before it, and of ends only: how soon a playout
    ended afterwards, and how much better or worse that was than to continue. Other rewards are left
    to the belief. If no episode ends, all actions are equally likely.

    *The rest of the best path.* Where actions compensate each other, a change of the best path is
    most useful if its other steps stay as they are.

    *Averages by step.* Where each action contributes its share, whatever the others are, the best
    path has the best action of every step. The averages are over the returns from a step on, so
    they hold for the decisions that follow.
    """

    def __init__(self, simulation: "Simulation", discount: float, rng: random.Random) -> None:
        self._simulation = simulation
        self._discount = min(discount, MOST_DISCOUNT)
        self._rng = rng
        #: By the previous action: the average value of ends of each action after it.
        self._after: dict[int, dict[int, Average]] = {}
        self.returns: list[StepReturns] = []  # of each step from the root on
        self._style = PAIRS  # of the last rollout
        self._follows = False  # whether rollouts may follow values
        self._success = [0.5, 0.5, 0.5]  # of each style
        self._bar = -math.inf  # the least value of the best quarter of these:
        self._recent: deque[float] = deque(maxlen=RECENT)  # values of playouts
        self.start_decision()

    def start_decision(self) -> None:
        """Forget the best path."""
        self.best: Path | None = None
        self.best_value = -math.inf

    def advance(self) -> None:
        """Move to the state after the first step."""
        del self.returns[:1]

    def clear(self) -> None:
        """Forget the averages by step, for a state that no playout has led to."""
        self.returns.clear()

    def drop_actions(self, count: int) -> None:
        """Forget all actions but the first ones, `count` of them."""
        self.start_decision()
        self.clear()
        self._after = {
            before: {action: average for action, average in known.items() if action < count}
            for before, known in self._after.items()
            if before < count
        }

    def consider(self, path: Path, value: float) -> None:
        """Take a path as the best one if its value is the highest."""
        if value > self.best_value:
            self.best, self.best_value = path, value

    def add(self, playout: Playout, center: float) -> None:
        """Learn from a playout; `center` is the expected reward of a step."""
        discount, path, rewards = self._discount, playout.path, playout.rewards
        after, returns = self._after, self.returns
        length = len(rewards)
        while len(returns) < length:
            returns.append(StepReturns())
        # What is missed after an end. The value of an end is that and its reward; each step before
        # it is one step farther away.
        missed = -center / (1.0 - discount) if playout.ended else 0.0
        value = missed + rewards[length - 1] if playout.ended else 0.0
        total = missed
        for i in range(length - 1, -1, -1):  # the last ones first
            action = path[i]
            total = rewards[i] - center + discount * total
            step = returns[i]
            step.add(action, total)
            if i > 0:
                known = after.get(path[i - 1])
                if known is None:
                    known = after[path[i - 1]] = {}
                found = known.get(action)
                if found is None:
                    found = known[action] = Average()
                found.add(value, MEMORY)
                value *= discount

    def score(self, path: Path, value: float, follows: bool) -> None:
        """Record the value of a whole playout that `complete` has made.

        Further rollouts may follow values if `follows`: the best path, or averages by step.
        """
        self._follows = follows
        if len(self._recent) >= LEAST_RECENT:
            bar = self._bar = sorted(self._recent)[(3 * len(self._recent)) // 4]
            success = 1.0 if value > bar else 0.5 if value == bar else 0.0
            self._success[self._style] += LEARNING_RATE * (success - self._success[self._style])
        self._recent.append(value)
        if follows:
            self.consider(path, value)

    def complete(self, path: Path, depth: int, style: int = ANY) -> Path:
        """Return a path of that depth that begins with this one, which is not empty."""
        choices, uniform, returns = self._simulation.choices, self._rng.random, self.returns
        count, known = len(choices), len(path)
        self._style = self._draw_style() if style == ANY else style
        steps = list(path)
        if self._style == BEST:
            steps += self.best[known:depth]  # type: ignore[index]
            for i in range(known, depth):
                if i >= len(steps):
                    steps.append(choices[int(count * uniform())])
                elif uniform() < EPSILON:
                    steps[i] = choices[int(count * uniform())]
            return tuple(steps)
        found: dict[int, list[int] | None] = {}  # by the previous action
        action = path[known - 1]
        for i in range(known, depth):
            usual = None
            if self._style == PAIRS:
                if action not in found:
                    found[action] = self.best_after(action)
                usual = found[action]
            if usual is not None and uniform() >= EPSILON:
                action = usual[int(len(usual) * uniform())]
            elif self._style == STEPS and i < len(returns) and uniform() >= EPSILON:
                step = returns[i]
                action = step.best(choices, uniform)
            else:
                action = choices[int(count * uniform())]
            steps.append(action)
        return tuple(steps)

    def _draw_style(self) -> int:
        weights = [LEAST_SUCCESS + success for success in self._success]
        # (If many paths are as good as the best one, others that are unlike it say more.)
        if self.best is None or self.best_value <= self._bar:
            weights[BEST] = 0.0
        if not (self._follows and self.returns and self.returns[0].count >= LEAST_RETURNS):
            weights[STEPS] = 0.0
        left = self._rng.random() * sum(weights)
        for style in (PAIRS, BEST):
            left -= weights[style]
            if left < 0.0:
                return style
        return STEPS

    def best_after(self, action: int) -> list[int] | None:
        """Return the best actions after one; None if some were never tried there."""
        known = self._after.get(action, {})
        if len(known) < len(self._simulation.choices):
            return None
        top = max([average.mean for average in known.values()])
        return [after for after, average in known.items() if average.mean == top]


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
        self, model: GenerativeModel, settings: "PlanSettings", rng: np.random.Generator
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
        self.choices: Sequence[int] = range(len(model.actions))
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
        self.observation, reward, ended = self.model.step(chosen)
        self.calls += 1
        if type(reward) is not float or not -LARGEST <= reward <= LARGEST:
            reward = _checked(reward, chosen)
        return reward, ended

    def _take_repeatedly(self, action: Any) -> tuple[float, bool]:
        total = 0.0
        ended = False
        for weight in self._weights:
            self.observation, reward, ended = self.model.step(action)
            self.calls += 1
            total += weight * _checked(reward, action)
            if ended:
                break
        return total, ended

    def play(self, path: Path, known: int = 0) -> Playout:
        """Simulate a path until the budget, of which a step must be left, or the episode ends.

        Beyond the first `known` actions, which a searcher chose, the hooks choose others.
        """
        if self.model.deterministic:
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
        given = self.hooks.rollout(self.observation)  # type: ignore[misc]
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
        masked = any([state.legal for state in states])  # noqa: C419 (no closure where compiled)
        lone = masked or len(self.model.actions) == 1
        for state in reversed(states[:-1] if lone else states[: known + 1]):
            if len(state.children) < len(self.legal(state)):
                return
            complete = 1 + min([child.complete for _, child in state.children.values()])
            if complete == state.complete:
                return
            state.complete = complete

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
        left = [a for a in self.legal(state) if a not in state.children]
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


def _finite(number: Any, name: str) -> float:
    """Return what a hook returned as a float, or raise an error that names the hook."""
    value = real(number, name)
    if not -LARGEST <= value <= LARGEST:
        raise ValueError(f"{name} must be finite and at most {LARGEST:.0e}, got {shown(number)}")
    return value


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
