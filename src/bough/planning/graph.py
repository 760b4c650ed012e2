"""GPTS on the graph of states, where equal states can be recognized.

The belief is about the reward of each pair of a state and an action, wherever a path meets it:
independent normal variables, exactly known after one trial if transitions are deterministic. What
is unknown about a path is then its rest beyond the first untried pair, so that upper confidence
bounds of paths satisfy Bellman's equation on the graph.

Notation

==========  ======================================================================================
s, a        state and action: a pair, which is tried once it was simulated
gamma       discount of an action
p           share of trials after which the episode continued
mu, sigma   mean and standard deviation of the rewards of all trials
expected    mu / (1 - gamma p), the mean of all rewards from an untried pair on; or the user's value
optimistic  expected + b sigma / sqrt(1 - gamma^2 p), b standard deviations more
V(s)        value: maximum over a of r + gamma V(s'), of untried pairs `expected`
U(s)        upper confidence bound: the same with `optimistic`
==========  ======================================================================================

A trial follows the highest upper bounds from the root to an untried pair. With deterministic
transitions the pairs before it cost nothing, since no pair is simulated twice. With random ones r
and V(s') are averages over the n trials of a pair, of which the prior counts as one, b sigma /
sqrt(n) is added to its upper bound, and a trial continues to the horizon.
"""

import copy
import math
import random
from collections import deque
from collections.abc import Hashable
from typing import Any

import numpy as np

from bough.exceptions import Exhausted
from bough.planning.decision import PlanSettings, discount_horizon
from bough.planning.playouts import Simulation
from bough.searchers.base import Certificate
from bough.trees import Path

#: b, the width of upper bounds in standard deviations of a path's rest.
EXPLORATION = 1.0
#: The number of trials for which the prior of a pair counts, if transitions are random.
PRIOR_TRIALS = 1.0
#: Values are solved for up to this error, relative to the largest reward.
TOLERANCE = 1e-7
MOST_SWEEPS = 2000
#: With deterministic transitions one sweep in this many is followed by a step of policy iteration,
#: over 2 to the power of this many steps.
EVALUATE_EVERY = 10
DOUBLINGS = 16
#: Maximum number of states from which trials start; the same if each is a copy of an environment.
MOST_STATES = 100_000
MOST_HEAVY = 10_000


class Pair:
    """An action that was tried in a state, with the outcomes of its trials."""

    __slots__ = ("index", "outcomes", "plays", "trials")

    def __init__(self, index: int) -> None:
        self.index = index
        self.trials = 0  # number of simulated steps
        self.plays = 0  # number of trials that went through it, simulated or known
        #: By the index of the next state: the index of the outcome.
        self.outcomes: dict[int, int] = {}


class State:
    """A state, with its tried and untried actions."""

    __slots__ = ("ended", "guess", "index", "snapshot", "tried", "untried", "upper")

    def __init__(self, index: int, snapshot: Any, untried: list[int], guess: float | None) -> None:
        self.index = index
        self.snapshot = snapshot  # None if no trial can start here
        self.ended = not untried
        self.tried: dict[int, Pair] = {}
        self.untried = untried  # the next one to try is the last
        self.guess = guess  # the user's value; None without one
        self.upper = 0.0


class GraphPolicy:
    """GPTS on the graph of states, for one decision after another.

    What is known is kept from decision to decision: `set_root` only moves the root. Outcomes are
    stored as columns, for `solve`: of each the pair, the next state, the number of trials and the
    sum of their rewards.
    """

    # (`view` copies them; to copy a __dict__ would slow down the original.)
    __slots__ = (
        "_by_key",
        "_count",
        "_end",
        "_ends",
        "_largest",
        "_last_values",
        "_mean",
        "_nearest",
        "_next_update",
        "_out_count",
        "_out_next",
        "_out_pair",
        "_out_reward",
        "_pair_state",
        "_rng",
        "_squares",
        "_value_discount",
        "_values",
        "discount",
        "hooks",
        "horizon",
        "model",
        "plays",
        "root",
        "simulation",
        "states",
    )

    def __init__(
        self, simulation: Simulation, settings: PlanSettings, rng: np.random.Generator
    ) -> None:
        self.simulation = simulation
        self.model = simulation.model
        self.hooks = settings.hooks
        # (With a discount of 1 a loop would be worth infinitely much.)
        self.discount = min(settings.action_discount, 0.999)
        self._value_discount = settings.action_discount  # of the value of a plan
        self.horizon = discount_horizon(self.discount)
        self._rng = random.Random(int(rng.integers(2**63)))
        self.clear()

    def clear(self) -> None:
        """Forget all states."""
        self._end = State(0, None, [], None)  # one for all episodes that end
        self.states: list[State] = [self._end]
        self._by_key: dict[Hashable, State] = {}
        self._pair_state: list[int] = []
        self._out_pair: list[int] = []
        self._out_next: list[int] = []
        self._out_count: list[int] = []
        self._out_reward: list[float] = []
        self._count = self._ends = 0
        self._mean = self._squares = self._largest = 0.0
        self._next_update = 1
        self._nearest: deque[State] | None = None
        self._values: np.ndarray[Any, Any] | None = None
        self._last_values: np.ndarray[Any, Any] | None = None  # for a warm start
        self.plays = 0

    @property
    def reach(self) -> str:
        """The length of the plans that values are about."""
        return "any length"

    # ------------------------------------------------------------------ states and outcomes

    def set_root(self, snapshot: Any) -> int:
        """Start the next decision at a state; return the number of known pairs."""
        if self._is_full:
            self.clear()  # (else there would be nothing to try around a new root)
        kept = len(self._pair_state)
        self.root = self._state(snapshot, False)
        if self.root.snapshot is None:
            self.root.snapshot = snapshot
        self._nearest = None
        self._values = None
        self.plays = kept
        self._update_bounds()
        return kept

    @property
    def _is_full(self) -> bool:
        """Whether further states are not kept (with random transitions only the root is)."""
        most = MOST_HEAVY if self.model.heavy else MOST_STATES
        return self.model.deterministic and len(self.states) >= most

    def view(self) -> "GraphPolicy":
        """Return a policy with the same states for a plan, whose root stays where it is."""
        return copy.copy(self)

    def leads_to(self, action: int, snapshot: Any) -> bool | None:
        """Return whether an action leads from the root to this state; None if it was not tried."""
        pair = self.root.tried.get(action)
        if pair is None:
            return None
        state = self._by_key.get(self.model.key(snapshot))  # type: ignore[misc]
        return state is not None and state.index in pair.outcomes

    @property
    def depth(self) -> int:
        """The number of actions of a plan."""
        return self.horizon

    def start(self) -> None:
        """Do nothing: what is known holds for every decision."""

    def _state(self, snapshot: Any, ended: bool) -> State:
        """Return the state that the simulator is in, which may be new."""
        if ended:
            return self._end
        model, hooks = self.model, self.hooks
        key = model.key(snapshot)  # type: ignore[misc]
        state = self._by_key.get(key)
        if state is not None:
            return state
        untried = list(range(len(model.actions)) if model.legal is None else model.legal)
        self._rng.shuffle(untried)
        observation, guess = self.simulation.observation, None
        if hooks.policy is not None and observation is not None:
            untried.sort(key=hooks.weights(observation, len(model.actions)).__getitem__)
        if hooks.rollout is not None and observation is not None:
            first = self.simulation.rollout_action(untried)
            untried = [action for action in untried if action != first] + [first]
        if hooks.value is not None and observation is not None:
            guess = hooks.estimate(observation)
        kept = model.deterministic and not self._is_full
        state = State(len(self.states), snapshot if kept else None, untried, guess)
        state.upper = self._optimistic(state)
        self.states.append(state)
        self._by_key[key] = state
        return state

    def _record(self, state: State, action: int, reward: float, following: State) -> Pair:
        """Record a trial of a pair."""
        pair = state.tried.get(action)
        if pair is None:
            pair = state.tried[action] = Pair(len(self._pair_state))
            self._pair_state.append(state.index)
            state.untried.remove(action)
        pair.trials += 1
        outcome = pair.outcomes.get(following.index)
        if outcome is None:
            pair.outcomes[following.index] = len(self._out_pair)
            self._out_pair.append(pair.index)
            self._out_next.append(following.index)
            self._out_count.append(1)
            self._out_reward.append(reward)
        else:
            self._out_count[outcome] += 1
            self._out_reward[outcome] += reward
        self._count += 1
        self._ends += following is self._end
        change = reward - self._mean
        self._mean += change / self._count
        self._squares += change * (reward - self._mean)
        self._largest = max(self._largest, abs(reward))
        if self._count >= self._next_update:
            self._next_update = 2 * self._count
            self._update_bounds()
        return pair

    # ------------------------------------------------------------------ bounds and values

    @property
    def _continues(self) -> float:
        """The probability that an episode continues after a step."""
        return 1.0 - self._ends / self._count if self._count else 1.0

    def _expected(self, state: State) -> float:
        if state.guess is not None:
            return state.guess
        return self._mean / (1.0 - self.discount * self._continues)

    @property
    def _sigma(self) -> float:
        """The standard deviation of rewards."""
        sigma = math.sqrt(self._squares / self._count) if self._count else 1.0
        # Equal rewards say nothing about the variation of others: assume that it is large.
        if sigma <= 1e-9 * self._largest or sigma == 0.0:
            sigma = self._largest or 1.0
        return sigma

    @property
    def _bonus(self) -> float:
        """The distance of `optimistic` from `expected`."""
        rest = 1.0 - self.discount**2 * self._continues
        return EXPLORATION * self._sigma / math.sqrt(rest)

    def _optimistic(self, state: State) -> float:
        return self._expected(state) + self._bonus

    def _bound(self, state: State, pair: Pair) -> float:
        """Return the upper bound of a tried pair."""
        total, states = 0.0, self.states
        for following, outcome in pair.outcomes.items():
            upper = self.discount * states[following].upper
            total += self._out_reward[outcome] + self._out_count[outcome] * upper
        if self.model.deterministic:
            return total / pair.trials
        trials = pair.trials + PRIOR_TRIALS
        mean = (total + PRIOR_TRIALS * self._expected(state)) / trials
        return mean + EXPLORATION * self._sigma / math.sqrt(trials)

    def _refresh(self, state: State) -> tuple[float, int]:
        """Update the upper bound of a state; return it, and the action that has it."""
        best, action = -math.inf, -1
        if state.untried and (state.snapshot is not None or not self.model.deterministic):
            best, action = self._optimistic(state), state.untried[-1]
        for tried, pair in state.tried.items():
            bound = self._bound(state, pair)
            if bound > best:
                best, action = bound, tried
        if action >= 0:
            state.upper = best
        return state.upper, action

    def _update_bounds(self) -> None:
        """Solve for all upper bounds, after a change of what is expected of untried pairs."""
        start = np.array([state.upper for state in self.states])
        uppers = self.solve([self._expected(state) for state in self.states], self._bonus, start)
        for state, upper in zip(self.states, uppers.tolist(), strict=True):
            state.upper = upper

    def solve(
        self, expected: list[float], bonus: float, start: np.ndarray[Any, Any] | None = None
    ) -> np.ndarray[Any, Any]:
        """Return the value of every state, by value iteration; its upper bound with a `bonus`.

        `expected` are the values of untried pairs in each state.
        """
        ended = np.array([state.ended for state in self.states])
        open_ = np.array([bool(state.untried) or not state.tried for state in self.states])
        default = np.where(ended, 0.0, np.array(expected) + bonus)
        floor = np.where(open_ | ended, default, -np.inf)
        values = default.copy() if start is None else np.append(start, default[len(start) :])
        if not self._out_pair:
            return values
        pair, following = np.array(self._out_pair), np.array(self._out_next)
        count, reward = np.array(self._out_count, dtype=float), np.array(self._out_reward)
        source = np.array(self._pair_state)
        trials: np.ndarray[Any, Any] = np.bincount(pair, weights=count)
        prior = np.zeros(len(source))
        if not self.model.deterministic:
            trials = trials + PRIOR_TRIALS
            one_step = EXPLORATION * self._sigma if bonus else 0.0
            prior = PRIOR_TRIALS * np.array(expected)[source] + one_step * np.sqrt(trials)
        fixed = (np.bincount(pair, weights=reward) + prior) / trials
        share = self.discount * count / trials[pair]
        order = np.argsort(source, kind="stable")
        starts = np.flatnonzero(np.diff(source[order], prepend=-1))
        owners = source[order][starts]
        single = len(pair) == len(source)  # (one outcome each, in the order of the pairs)
        slack = TOLERANCE * max(self._largest, float(np.abs(default).max()), 1e-300)
        for sweep in range(MOST_SWEEPS):
            gained = share * values[following]
            bounds = fixed + (gained if single else np.bincount(pair, weights=gained))
            best = floor.copy()
            best[owners] = np.maximum(best[owners], np.maximum.reduceat(bounds[order], starts))
            change = float(np.abs(best - values).max())
            values = best
            if change <= slack:
                break
            if self.model.deterministic and sweep % EVALUATE_EVERY == EVALUATE_EVERY - 1:
                is_best = bounds[order] >= best[source[order]]
                chosen = order[is_best]
                values = self._followed(values, source[chosen], following[chosen], fixed[chosen])
        return values

    def _followed(
        self, values: np.ndarray[Any, Any], source: Any, following: Any, reward: Any
    ) -> np.ndarray[Any, Any]:
        """Return the values of states if in each of `source` this outcome follows, for ever.

        The number of steps is doubled each time, so that a discount of almost 1 costs little.
        """
        to, total, weight = np.arange(len(values)), np.zeros(len(values)), np.ones(len(values))
        to[source], total[source], weight[source] = following, reward, self.discount
        for _ in range(DOUBLINGS):
            total = total + weight * total[to]
            weight = weight * weight[to]
            to = to[to]
        return total + weight * values[to]  # type: ignore[no-any-return]

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """The value of every state."""
        if self._values is None or len(self._values) < len(self.states):
            expected = [self._expected(state) for state in self.states]
            self._values = self._last_values = self.solve(expected, 0.0, self._last_values)
        return self._values

    # ------------------------------------------------------------------ search

    def play(self) -> None:
        """Make one trial from the root; raise Exhausted if nothing is left to try."""
        self._values = None
        if self.model.deterministic:
            self._play_known()
        else:
            self._play_random()
        self.plays += 1

    def _play_known(self) -> None:
        """Follow the highest upper bounds to an untried pair, and try it."""
        state = self.root
        walk: list[State] = []
        seen: set[int] = set()
        solved = False  # whether all bounds are exact
        while True:
            if state.index in seen:
                # To follow the loop until its bounds have decreased would take long if the discount
                # is almost 1: solve for them, and start again. A loop that is left is best.
                if solved:
                    break
                self._update_bounds()
                state, walk, seen, solved = self.root, [], set(), True
            seen.add(state.index)
            _, action = self._refresh(state)
            walk.append(state)
            if action < 0:
                break
            pair = state.tried.get(action)
            if pair is None:
                self._try(state, action)
                self._back_up(walk)
                return
            pair.plays += 1
            state = self.states[next(iter(pair.outcomes))]
            if state.ended:
                break
        # Every pair along the best path is known. What is left may still be better than expected.
        self._back_up(walk)
        near = self._next_untried()
        self._try(near, near.untried[-1])
        self._refresh(near)

    def _try(self, state: State, action: int) -> None:
        """Simulate an untried pair."""
        self.model.restore(state.snapshot)
        reward, ended = self.simulation.take(action)
        following = self._state(self.model.snapshot(), ended)
        self._record(state, action, reward, following).plays += 1

    def _back_up(self, walk: list[State]) -> None:
        for state in reversed(walk):
            self._refresh(state)

    def _next_untried(self) -> State:
        """Return the state with an untried action that is nearest to the root."""
        for fresh in (False, True):
            if self._nearest is None or fresh:
                self._nearest = self._reachable()
            while self._nearest:
                state = self._nearest[0]
                if state.untried and state.snapshot is not None:
                    return state
                self._nearest.popleft()
        raise Exhausted("every pair of the states that are kept is known")

    def has_untried(self) -> bool:
        """Return whether a pair that can be reached is untried, though its state was not kept."""
        return any(state.untried for state in self._reachable())

    def _reachable(self) -> deque[State]:
        """Return all states that can be reached from the root, by distance."""
        seen, found = {self.root.index}, deque([self.root])
        queue = deque([self.root])
        while queue:
            for pair in queue.popleft().tried.values():
                for index in pair.outcomes:
                    if index not in seen:
                        seen.add(index)
                        found.append(self.states[index])
                        queue.append(self.states[index])
        return found

    def _play_random(self) -> None:
        """Simulate the actions with the highest upper bounds to the horizon."""
        model, simulation = self.model, self.simulation
        model.restore(self.root.snapshot)
        if model.reseed is not None:
            model.reseed(self._rng.getrandbits(63))
        state, walk = self.root, []
        for _ in range(self.horizon):
            _, action = self._refresh(state)
            if action < 0 or simulation.left == 0:
                break
            walk.append(state)
            reward, ended = simulation.take(action)
            following = self._state(model.snapshot(), ended)
            self._record(state, action, reward, following).plays += 1
            if ended:
                break
            state = following
        self._back_up(walk)

    # ------------------------------------------------------------------ recommendations

    def _pair_values(self, state: State) -> dict[int, float]:
        """Return the value of each tried action in a state."""
        values, found = self.values, {}
        for action, pair in state.tried.items():
            total = sum(
                self._out_reward[k] + self._out_count[k] * self.discount * values[index]
                for index, k in pair.outcomes.items()
            )
            if self.model.deterministic:
                found[action] = float(total / pair.trials)
            else:
                prior = PRIOR_TRIALS * self._expected(state)
                found[action] = float((total + prior) / (pair.trials + PRIOR_TRIALS))
        return found

    def _best_action(self, state: State) -> int:
        """Return the action with the highest value; of equal ones, the most promising."""
        found = self._pair_values(state)
        slack = 10 * TOLERANCE * max(self._largest, max(map(abs, found.values())))
        best = [a for a, value in found.items() if value >= max(found.values()) - slack]
        return max(best, key=lambda a: self._bound(state, state.tried[a]))

    def recommend(self, receding: bool) -> tuple[Path, float, float]:
        """Return the best path, its value and the standard deviation of the value.

        With random transitions it follows the most frequent outcome of each action.
        """
        if not self.root.tried:
            return (self.root.untried[-1],), math.nan, math.inf
        path: list[int] = []
        known: dict[int, tuple[int, float, int]] = {}  # a path may return to a state many times
        state, total, weight = self.root, 0.0, 1.0
        while state.tried and len(path) < self.horizon:
            if state.index not in known:
                action = self._best_action(state)
                outcomes = state.tried[action].outcomes
                index, outcome = max(outcomes.items(), key=lambda item: self._out_count[item[1]])
                reward = self._out_reward[outcome] / self._out_count[outcome]
                known[state.index] = action, reward, index
            action, reward, index = known[state.index]
            total += weight * reward
            weight *= self._value_discount
            path.append(action)
            state = self.states[index]
        if not self.model.deterministic:
            return tuple(path), *self.describe(tuple(path[:1]))[:2]
        if not state.ended and state.guess is not None and not state.tried:
            total += weight * state.guess
        return tuple(path), total, 0.0

    def describe(self, node: Path) -> tuple[float, float, int]:
        """Return mean and standard deviation of the value of some actions, and their plays.

        The deviation is that of what is untried, by the distance of the upper bound. A path that
        was not tried has NaN and no plays.
        """
        state, total, weight = self.root, 0.0, 1.0
        for i, action in enumerate(node):
            pair = state.tried.get(action)
            if pair is None:
                return math.nan, math.nan, 0
            if i == len(node) - 1:
                mean = self._pair_values(state)[action]
                spread = max(self._bound(state, pair) - mean, 0.0) / EXPLORATION
                return total + weight * mean, weight * spread, pair.plays
            index, outcome = max(pair.outcomes.items(), key=lambda item: self._out_count[item[1]])
            total += weight * self._out_reward[outcome] / self._out_count[outcome]
            weight *= self.discount
            state = self.states[index]
        return float(self.values[state.index]), math.nan, self.plays

    def tried(self, node: Path) -> list[int]:
        """Return the actions that were tried after some others, in order."""
        state = self.root
        for action in node:
            pair = state.tried.get(action)
            if pair is None:
                return []
            index, _ = max(pair.outcomes.items(), key=lambda item: self._out_count[item[1]])
            state = self.states[index]
        return sorted(state.tried)

    def exact_value(self, found: float) -> float | None:
        """Return the value of the root, once every pair that can be reached is known.

        None with a discount of 1, where it need not be finite.
        """
        return float(self.values[self.root.index]) if self._value_discount < 1.0 else None

    def certificate(self) -> Certificate | None:
        """Return None: bounds of values are only known once every pair is."""
        return None

    @property
    def searcher(self) -> Any:
        """There is none."""
        raise ValueError(
            "this plan was made on the graph of states, not on a tree of paths: to look at a "
            "tree, plan with merge_states=False"
        )
