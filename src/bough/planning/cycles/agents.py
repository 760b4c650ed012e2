"""Agents that learn the best cycle of a world while they act in it: their base, and UCycle."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough._validation import at_least_zero, between_zero_and_one
from bough.planning.cycles.best_cycle import Floats, Graph, Ints, best_policy, cycle_of
from bough.planning.cycles.world import UNKNOWN, Action, Actions, Features, State, World
from bough.searchers.baselines.counting import checked_range

#: Estimates of all pairs, the widths of their bounds, and the upper bound of a pair not listed.
Bounds = tuple[Floats, Floats, float]


@dataclass(frozen=True)
class CycleCertificate:
    """A cycle, and bounds of mean rewards that hold with probability 1 - delta.

    Attributes
    ----------
    cycle
        The states and actions of the known cycle with the highest lower confidence bound, from the
        state that was listed or seen first; empty while none is known.
    mean
        The estimate of its mean reward for each step; nan while none is known.
    lower
        A lower bound of that.
    upper
        An upper bound of the mean reward of every cycle that can be reached, known or not.
    gap
        `upper - lower`: no cycle is better by more than this.
    delta
        The failure probability of the bounds, for all steps together.
    explored
        Whether every action was tried in all states that can be reached.
    conditional
        Whether the bounds are conditional on fitted hyperparameters.
    """

    cycle: tuple[tuple[State, Action], ...]
    mean: float
    lower: float
    upper: float
    gap: float
    delta: float
    explored: bool
    conditional: bool = False

    def __str__(self) -> str:
        if not self.cycle:
            return f"no cycle is known yet; mean reward of every cycle at most {self.upper:.4g}"
        steps = " -> ".join(f"{state!r}: {action!r}" for state, action in self.cycle[:6])
        more = f" -> ... ({len(self.cycle)} steps)" if len(self.cycle) > 6 else ""
        return (
            f"{steps}{more}\nmean reward {self.mean:.4g}, at least {self.lower:.4g}; "
            f"of every cycle at most {self.upper:.4g}"
        )


class CycleAgent(ABC):
    """An agent for a world with deterministic transitions, whose rewards are random."""

    #: Whether bounds are conditional on fitted hyperparameters.
    conditional = False

    def __init__(
        self,
        states: Iterable[State] | None,
        actions: Actions,
        features: Features | None,
        delta: float,
        reward_range: tuple[float, float] | None,
    ) -> None:
        self.delta = between_zero_and_one(delta, "delta")
        self.reward_range = None if reward_range is None else checked_range(reward_range)
        self.world = World(states, actions, features)
        self._here: int | None = None  # the present state
        self._explored: set[int] = set()  # states from which no untried pair can be reached

    @abstractmethod
    def _choose(self, state: int) -> int:
        """Return the pair to try in a state."""

    @abstractmethod
    def _recorded(self, pair: int, is_new: bool) -> None:
        """Update what depends on a recorded step; `is_new`: the first one of its pair."""

    @abstractmethod
    def _certain_widths(self) -> Bounds:
        """Return the bounds of a certificate."""

    @abstractmethod
    def _reward_bounds(self) -> tuple[float, float]:
        """Return the lowest and the highest possible reward."""

    # ------------------------------------------------------------------ act and learn

    def act(self, state: Any) -> Action:
        """Return the action to take in a state. A repeated call returns the same action.

        Raises
        ------
        bough.exceptions.NotCommunicating
            If states that were visited can never be reached again.
        """
        number = self.world.number_of(state)
        self._here = number
        return self.world.actions[self._choose(number)]

    def learn(self, state: Any, action: Action, reward: float, next_state: Any) -> None:
        """Record a step, by the action that `act` returned or by another one.

        Raises
        ------
        bough.exceptions.NotDeterministic
            If the same step led to another state before.
        """
        pair = self.world.learn(state, action, reward, next_state)
        self._here = self.world.targets[pair]
        self._recorded(pair, self.world.visits[pair] == 1)

    @property
    def observations(self) -> int:
        """The number of steps recorded."""
        return self.world.observations

    def __repr__(self) -> str:
        tried = sum(target != UNKNOWN for target in self.world.targets)
        return (
            f"{type(self).__name__}({len(self.world.states)} states: {self.observations} steps, "
            f"{tried} of {len(self.world.targets)} pairs tried)"
        )

    # ------------------------------------------------------------------ the certificate

    def certificate(self) -> CycleCertificate:
        """Return the best known cycle, and bounds of its mean reward and of that of all others.

        Raises
        ------
        bough.exceptions.NotCommunicating
            If states that were visited can never be reached again.
        """
        return self._certificate(self._certain_widths)

    def _certificate(self, bounds: Callable[[], Bounds]) -> CycleCertificate:
        if self._here is None:
            return CycleCertificate((), math.nan, -math.inf, math.inf, math.inf, self.delta, False)
        reached, explored = self._reachable(self._here)
        estimates, widths, elsewhere = bounds()
        lowest, most = self._reward_bounds()
        lower, upper = estimates - widths, np.minimum(estimates + widths, most)
        graph, pairs = self._known_graph(reached)
        cycle, mean, low = pairs, math.nan, -math.inf
        if len(pairs):
            # (Before anything is known of the noise, by the estimates.)
            ranks = lower if np.isfinite(lower[pairs]).all() else estimates
            policy = best_policy(graph, ranks[pairs])
            cycle = pairs[cycle_of(graph, policy.edges, int(np.argmax(policy.gains)))]
            cycle = np.roll(cycle, -int(np.argmin(cycle)))  # from the state listed first
            mean, low = (
                float(estimates[cycle].mean()),
                float(np.maximum(lower[cycle], lowest).mean()),
            )
        if not np.isfinite(upper[pairs] if explored else np.append(upper, elsewhere)).all():
            highest = math.inf
        elif explored:
            highest = float(best_policy(graph, upper[pairs]).gains.max())
        else:
            everything, weights = self._optimistic_graph(upper, elsewhere)
            highest = float(best_policy(everything, weights).gains[self._here])
        world = self.world
        return CycleCertificate(
            tuple((world.states[world.sources[p]], world.actions[p]) for p in cycle),
            mean,
            low,
            highest,
            highest - low,
            self.delta,
            explored,
            self.conditional,
        )

    def _reachable(self, state: int) -> tuple[Ints, bool]:
        """Return the states that can be reached, and whether all of their pairs were tried."""
        reached = self.world.reachable(state)
        if state not in self._explored:
            if any(self.world.untried_pair(s) is not None for s in reached.tolist()):
                return reached, False
            self.world.check_communicating(state, reached.tolist())
            self._explored.update(reached.tolist())
        return reached, True

    def _known_graph(self, states: Ints) -> tuple[Graph, Ints]:
        """Return the graph of the known transitions between states, and the pairs of its edges.

        States without a known way on are left out.
        """
        world = self.world
        sources, targets = np.array(world.sources), np.array(world.targets)
        inside = np.zeros(len(world.states) + 1, dtype=bool)  # the last one for UNKNOWN
        inside[states] = True
        while True:
            pairs = np.flatnonzero(inside[sources] & inside[targets])
            going_on = np.zeros_like(inside)
            going_on[sources[pairs]] = True
            if (going_on == inside).all():
                break
            inside = going_on
        number = np.cumsum(inside) - 1
        ones = np.ones(len(pairs))
        return Graph(number[sources[pairs]], number[targets[pairs]], ones), pairs

    def _optimistic_graph(self, weights: Floats, elsewhere: float) -> tuple[Graph, Floats]:
        """Return a graph in which untried pairs lead wherever it is best, and its weights.

        Its first edges are the pairs. Untried ones lead to a node from which every state is reached
        at once; if the world is open, also a state that was not seen yet, one of whose pairs has
        the reward `elsewhere`.
        """
        world = self.world
        count = len(world.states)
        hub, unseen = count, count + 1
        targets = np.array(world.targets)
        sources = [np.array(world.sources), np.full(count, hub)]
        ends = [np.where(targets == UNKNOWN, hub, targets), np.arange(count)]
        times, rewards = [np.ones(len(targets)), np.zeros(count)], [weights, np.zeros(count)]
        if world.is_open:
            sources.append(np.array([hub, unseen]))
            ends.append(np.array([unseen, hub]))
            times.append(np.array([0.0, 1.0]))
            rewards.append(np.array([0.0, elsewhere]))
        graph = Graph(np.concatenate(sources), np.concatenate(ends), np.concatenate(times))
        return graph, np.concatenate(rewards)


class UCycle(CycleAgent):
    """Follow the cycle with the highest upper confidence bound (Ortner 2010).

    First each pair of a state and an action is tried once, the nearest untried one each time.
    Episodes follow. After t steps a pair that was tried n times, one of P, has the optimistic
    reward mean + exploration sqrt(log(4 P t^4 / delta) / (2 n)); the agent takes the shortest path
    to the cycle with the highest mean of these, and follows it until the visits of one of its pairs
    have doubled. Rewards are assumed to have a range of 1; others are rescaled.

    Parameters
    ----------
    states : collection of hashables, or None
        All states; None if they are not known beforehand.
    actions : sequence or function
        The actions, or a function that returns those of a state.
    exploration : float
        Multiplier of the width of the confidence bounds, valid with 1; less often works better.
        (A certificate is always made with 1.)
    delta : float
        Failure probability of the bounds.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far.

    Examples
    --------
    >>> from bough.planning import cycles
    >>> agent = cycles.UCycle(["work", "home"], ["stay", "go"])
    >>> state = "home"
    >>> for _ in range(100):
    ...     action = agent.act(state)
    ...     other = "work" if state == "home" else "home"
    ...     arrived = other if action == "go" else state
    ...     agent.learn(state, action, float(action == "go" and state == "work"), arrived)
    ...     state = arrived
    >>> agent.certificate().cycle
    (('work', 'go'), ('home', 'go'))
    """

    def __init__(
        self,
        states: Iterable[State] | None,
        actions: Actions,
        *,
        exploration: float = 1.0,
        delta: float = 0.05,
        reward_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(states, actions, None, delta, reward_range)
        self.exploration = at_least_zero(exploration, "exploration")
        self._route: dict[int, int] = {}  # the pair to take, by state
        self._ends: dict[int, int] = {}  # the visits of a pair at which the episode ends
        self._closed: tuple[Graph, Ints] | None = None  # once everything was tried
        self._edges: Ints | None = None  # those of the last policy

    def _recorded(self, pair: int, is_new: bool) -> None:
        if is_new or self.world.visits[pair] >= self._ends.get(pair, math.inf):
            self._route = {}

    def _choose(self, state: int) -> int:
        if state not in self._route and not self._explore(state):
            self._start_episode(state)
        return self._route[state]

    def _explore(self, state: int) -> bool:
        """Go to the nearest untried pair, and try it; return whether there is one."""
        world = self.world
        if state in self._explored:
            return False
        way = world.way(state, lambda s: world.untried_pair(s) is not None)
        if way is None:
            return False
        end = world.targets[way[-1]] if way else state
        pair = world.untried_pair(end)
        assert pair is not None
        self._route = {world.sources[p]: p for p in (*way, pair)}
        return True

    def _start_episode(self, state: int) -> None:
        """Find the best cycle by optimistic rewards, and the way to it."""
        if self._closed is None:
            reached, _ = self._reachable(state)  # raises if the world is not communicating
            self._closed = self._known_graph(reached)
        world, (graph, pairs) = self.world, self._closed
        means, widths = self._means_and_widths()
        weights = (means + self.exploration * widths)[pairs]
        policy = best_policy(graph, weights, self._edges)
        self._edges = policy.edges
        cycle = pairs[cycle_of(graph, policy.edges, int(np.argmax(policy.gains)))].tolist()
        round_trip = {world.sources[p]: p for p in cycle}
        way = world.way(state, round_trip.__contains__)
        assert way is not None  # since the world is communicating
        self._ends = {p: 2 * world.visits[p] for p in cycle}
        self._route = {**{world.sources[p]: p for p in way}, **round_trip}

    def _reward_bounds(self) -> tuple[float, float]:
        return self.reward_range or (self.world.lowest, self.world.highest)

    def _means_and_widths(self) -> tuple[Floats, Floats]:
        """Return the mean reward of each pair, and the width of its confidence interval."""
        world = self.world
        visits = np.array(world.visits, dtype=np.float64)
        low, high = self._reward_bounds()
        scale = high - low if high > low else 1.0
        log = math.log(4.0 * len(visits) / self.delta) + 4.0 * math.log(max(world.observations, 1))
        with np.errstate(divide="ignore"):
            return np.array(world.means), scale * np.sqrt(0.5 * log / visits)

    def _certain_widths(self) -> Bounds:
        return *self._means_and_widths(), self.reward_range[1] if self.reward_range else math.inf
