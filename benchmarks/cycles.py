"""Regrets of agents that learn the best cycle of a world: `python -m benchmarks.cycles`.

The regret after T steps is T times the mean reward of the best cycle less the sum of the mean
rewards of the pairs that were tried, in units of the range of rewards. Reported seeds start at 0,
those that constants are tuned on at 1000.
"""

import math
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import click
import gymnasium
import numpy as np

from bough.planning import cycles
from bough.planning.cycles.best_cycle import Graph, best_policy

TUNING_SEEDS = range(1000, 1005)
EXPLORATIONS = (0.01, 0.03, 0.1, 0.3, 1.0)
EPSILONS = (0.003, 0.01, 0.03, 0.1, 0.3)
DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))


# ---------------------------------------------------------------------- worlds


@dataclass(frozen=True)
class DeterministicWorld:
    """Destinations and mean rewards in [0, 1] of each state (row) and action (column)."""

    targets: np.ndarray
    means: np.ndarray
    noise: float | None = None  # standard deviation of a reward; None: rewards are 0 or 1
    features: Callable[[Any, Any], Any] | None = None

    def optimum(self):
        """Return the mean reward of the best cycle, and the action to take in each state."""
        states, actions = self.targets.shape
        sources = np.repeat(np.arange(states), actions)
        graph = Graph(sources, self.targets.ravel(), np.ones(states * actions))
        policy = best_policy(graph, self.means.ravel())
        return policy.gains[0], policy.edges - np.arange(states) * actions


def waves(rng, angles):
    """Return a random smooth periodic function with values in [0, 1]."""
    values = sum(
        rng.normal() / k * np.cos(k * angles + rng.uniform(0, 2 * math.pi)) for k in (1, 2, 3)
    )
    return (values - values.min()) / np.ptp(values)


def ring(seed: int, states: int) -> DeterministicWorld:
    """Swim on, drift back or stay; swimming round pays best in about half of the rings."""
    rng = np.random.default_rng([seed, 1])
    angles = np.arange(states) * 2 * math.pi / states
    place = np.arange(states)
    targets = np.stack([(place + 1) % states, (place - 1) % states, place], axis=1)
    means = np.stack([0.3 + 0.7 * waves(rng, angles), *(0.6 * waves(rng, angles) for _ in "ab")])

    def features(state, action):
        where = math.cos(angles[state]), math.sin(angles[state])
        return (*where, action == 0, action == 1)

    return DeterministicWorld(targets, means.T, None, features)


def river(seed: int, states: int) -> DeterministicWorld:
    """Swim up for the large reward at the end, or stay at the small one: nothing is smooth."""
    place = np.arange(states)
    targets = np.stack([np.maximum(place - 1, 0), np.minimum(place + 1, states - 1)], axis=1)
    means = np.zeros((states, 2))
    means[0, 0], means[-1, 1] = 0.05, 0.9
    return DeterministicWorld(targets, means, None, lambda state, action: (state, action))


def grid(seed: int, width: int) -> DeterministicWorld:
    """Four directions, walls around, and rewards that are smooth in the position."""
    rng = np.random.default_rng([seed, 2])
    x, y = np.divmod(np.arange(width * width), width)
    hills = np.zeros(width * width)
    for _ in range(3):
        a, b = rng.uniform(0, width - 1, size=2)
        size = width * rng.uniform(0.15, 0.35)
        hills += rng.uniform(0.4, 1.0) * np.exp(-0.5 * ((x - a) ** 2 + (y - b) ** 2) / size**2)
    columns = [
        np.clip(x + dx, 0, width - 1) * width + np.clip(y + dy, 0, width - 1)
        for dx, dy in DIRECTIONS
    ]
    means = np.repeat((hills / hills.max())[:, None], 4, axis=1)
    return DeterministicWorld(np.stack(columns, axis=1), means, 0.2, lambda s, a: divmod(s, width))


def random_world(seed: int, states: int, misleading: bool = False) -> DeterministicWorld:
    """Three actions: to the next state, and to two random ones; independent rewards."""
    rng = np.random.default_rng([seed, 3])
    targets = rng.integers(states, size=(states, 3))
    targets[:, 0] = (np.arange(states) + 1) % states
    means = rng.random((states, 3))
    rows = rng.random((states, 3, 2))
    features = (lambda state, action: rows[state, action]) if misleading else None
    return DeterministicWorld(targets, means, None, features)


def toy_text(seed: int, name: str, **keywords: Any) -> DeterministicWorld:
    """Return an environment of Gymnasium that starts again where an episode ends."""
    env = gymnasium.make(name, **keywords)
    start, _ = env.reset(seed=seed)
    table = env.unwrapped.P
    numbers, order, steps = {int(start): 0}, [int(start)], []
    for state in order:  # which grows
        row = []
        for action in range(int(env.action_space.n)):
            ((_, target, reward, ended),) = table[state][action]
            target = int(start) if ended else int(target)
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            row.append((numbers[target], float(reward)))
        steps.append(row)
    rewards = np.array([[reward for _, reward in row] for row in steps])
    targets = np.array([[target for target, _ in row] for row in steps])
    return DeterministicWorld(targets, (rewards - rewards.min()) / np.ptp(rewards), 0.0)


#: By name: whether rewards are smooth in the features, the world of a seed, and the steps.
WORLDS: dict[str, tuple[bool, Callable[[int], DeterministicWorld], int]] = {
    "ring of 20": (True, lambda seed: ring(seed, 20), 3_000),
    "ring of 60": (True, lambda seed: ring(seed, 60), 3_000),
    "grid 7 x 7": (True, lambda seed: grid(seed, 7), 3_000),
    "grid 12 x 12": (True, lambda seed: grid(seed, 12), 3_000),
    "river of 20": (False, lambda seed: river(seed, 20), 2_000),
    "random, 20 states": (False, lambda seed: random_world(seed, 20), 3_000),
    "random, 100 states": (False, lambda seed: random_world(seed, 100), 3_000),
    "misleading features, 100 states": (
        False,
        lambda seed: random_world(seed, 100, misleading=True),
        3_000,
    ),
    "FrozenLake 4 x 4": (
        False,
        lambda seed: toy_text(seed, "FrozenLake-v1", is_slippery=False),
        2_000,
    ),
    "FrozenLake 8 x 8": (
        False,
        lambda seed: toy_text(seed, "FrozenLake-v1", is_slippery=False, map_name="8x8"),
        2_000,
    ),
    "CliffWalking": (False, lambda seed: toy_text(seed, "CliffWalking-v1"), 2_000),
    "random, 500 states": (False, lambda seed: random_world(seed, 500), 4_000),
    "Taxi": (False, lambda seed: toy_text(seed, "Taxi-v4"), 4_000),
}


# ---------------------------------------------------------------------- rivals


class UCRL2:
    """UCRL2 (Jaksch, Ortner and Auer 2010), for rewards in [0, 1].

    With deterministic transitions the empirical distribution of a pair has one state, so that the
    optimistic one moves half of the L1 radius from it to the best state.
    """

    def __init__(self, states: int, actions: int, delta: float = 0.05) -> None:
        self.delta = delta
        self.visits = np.zeros((states, actions))
        self.sums = np.zeros((states, actions))
        self.targets = np.zeros((states, actions), dtype=int)
        self.steps = 0
        self._policy: np.ndarray | None = None
        self._during = np.zeros((states, actions))  # visits of this episode

    def act(self, state: int) -> int:
        if self._policy is None:
            self._policy = self._plan()
            self._during[:] = 0
        return int(self._policy[state])

    def learn(self, state: int, action: int, reward: float, next_state: int) -> None:
        self.steps += 1
        before = self.visits[state, action] - self._during[state, action]
        self.visits[state, action] += 1
        self._during[state, action] += 1
        self.sums[state, action] += reward
        self.targets[state, action] = next_state
        if self._during[state, action] >= max(before, 1):
            self._policy = None

    def _plan(self) -> np.ndarray:
        """Return an optimistic policy, by extended value iteration."""
        states, actions = self.visits.shape
        t, n = max(self.steps, 1), np.maximum(self.visits, 1)
        log = math.log(2 * actions * t / self.delta)
        rewards = self.sums / n + np.sqrt(
            7 * math.log(2 * states * actions * t / self.delta) / (2 * n)
        )
        moved = np.minimum(0.5 * np.sqrt(14 * states * log / n), 1.0)
        moved[self.visits == 0] = 1.0
        values = np.zeros(states)
        for _ in range(10_000):
            totals = rewards + (1 - moved) * values[self.targets] + moved * values.max()
            change = totals.max(axis=1) - values
            values = totals.max(axis=1) - totals.max()
            if np.ptp(change) < 1 / math.sqrt(t):
                break
        return totals.argmax(axis=1)


class QLearning:
    """Q-learning with a random action in a share epsilon of the steps."""

    def __init__(
        self, states: int, actions: int, epsilon: float, rng: np.random.Generator,
        discount: float = 0.99, rate: float = 0.1,
    ) -> None:  # fmt: skip
        self.values = [[0.0] * actions for _ in range(states)]
        self.epsilon, self.discount, self.rate, self._rng = epsilon, discount, rate, rng

    def act(self, state: int) -> int:
        row = self.values[state]
        if self._rng.random() < self.epsilon:
            return int(self._rng.integers(len(row)))
        highest = max(row)
        best = [a for a, value in enumerate(row) if value == highest]
        return best[0] if len(best) == 1 else best[int(self._rng.integers(len(best)))]

    def learn(self, state: int, action: int, reward: float, next_state: int) -> None:
        goal = reward + self.discount * max(self.values[next_state])
        self.values[state][action] += self.rate * (goal - self.values[state][action])


class Oracle:
    """The best policy, known from the start."""

    def __init__(self, world: DeterministicWorld) -> None:
        self._policy = world.optimum()[1]

    def act(self, state: int) -> int:
        return int(self._policy[state])

    def learn(self, *step: Hashable) -> None:
        pass


def agent_of(name: str, world: DeterministicWorld, constant: float | None, seed: int) -> Any:
    """Return a new agent; UCycle and UCRL2 know the range of rewards, Q-learning needs none."""
    states, actions = world.targets.shape
    if name == "GPCycle":
        keywords = {} if constant is None else {"exploration": constant}
        return cycles.GPCycle(range(states), range(actions), features=world.features, **keywords)
    if name.startswith("UCycle"):
        exploration = 1.0 if constant is None else constant
        return cycles.UCycle(
            range(states), range(actions), exploration=exploration, reward_range=(0, 1)
        )
    if name == "UCRL2":
        return UCRL2(states, actions)
    if name == "Q-learning":
        return QLearning(states, actions, constant or 0.1, np.random.default_rng([seed, 9]))
    return Oracle(world)


#: By name: the constants to choose from, on other seeds.
GRIDS = {"UCycle, tuned": EXPLORATIONS, "Q-learning": EPSILONS}
AGENTS = ("GPCycle", "UCycle", "UCycle, tuned", "UCRL2", "Q-learning", "Oracle")


# ---------------------------------------------------------------------- runs and the table


def regret(
    name: str, make: Callable[[int], DeterministicWorld], steps: int, seed: int, constant: Any
) -> float:
    """Return the cumulative regret of one run."""
    world = make(seed)
    best, _ = world.optimum()
    agent = agent_of(name, world, constant, seed)
    noise = np.random.default_rng([seed, 7])
    targets, means = world.targets.tolist(), world.means.tolist()
    uniform, normal = noise.random(steps).tolist(), noise.normal(size=steps).tolist()
    state, earned = 0, 0.0
    for t in range(steps):
        action = agent.act(state)
        mean, target = means[state][action], targets[state][action]
        reward = float(uniform[t] < mean) if world.noise is None else mean + world.noise * normal[t]
        agent.learn(state, action, reward, target)
        state, earned = target, earned + mean
    return steps * best - earned


def tuned(name: str, make: Callable[[int], DeterministicWorld], steps: int) -> float | None:
    """Return the constant with the least mean regret on the tuning seeds."""
    scores = {
        constant: np.mean([regret(name, make, steps, seed, constant) for seed in TUNING_SEEDS])
        for constant in GRIDS.get(name, ())
    }
    return min(scores, key=scores.__getitem__, default=None)


def ratio(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Return the ratio of mean regrets, with a 95 % bootstrap interval (paired by seed)."""
    draws = np.random.default_rng(0).integers(len(ours), size=(2_000, len(ours)))
    low, high = np.quantile(ours[draws].mean(axis=1) / theirs[draws].mean(axis=1), [0.025, 0.975])
    return f"{ours.mean() / theirs.mean():.2f} ({low:.2f} to {high:.2f})"


def lines(only: str, seeds: int, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of the table."""
    ratios = [f"GPCycle / {name}" for name in names[1:3]]
    head = ["world", "smooth", "steps", *names, *ratios]
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    seconds = dict.fromkeys(names, 0.0)
    for label, (smooth, make, steps) in WORLDS.items():
        if not any(word in label for word in only.split(",")):
            continue
        cells, found = [], {}
        for name in names:
            constant = tuned(name, make, steps)
            begin = time.process_time()
            runs = [regret(name, make, steps, seed, constant) for seed in range(seeds)]
            seconds[name] += time.process_time() - begin
            found[name] = np.array(runs)
            error = found[name].std(ddof=1) / math.sqrt(seeds) if seeds > 1 else 0.0
            chosen = "" if constant is None else f" [{constant:g}]"
            cells.append(f"{found[name].mean():,.0f} +- {error:,.0f}{chosen}")
        cells += [ratio(found[names[0]], found[name]) for name in names[1:3]]
        yield f"| {label} | {'yes' if smooth else 'no'} | {steps:,} | " + " | ".join(cells) + " |"
    yield ""
    yield "CPU seconds: " + ", ".join(f"{name} {spent:.0f}" for name, spent in seconds.items())


@click.command()
@click.option("--only", default="", help="Worlds whose names contain one of these words.")
@click.option("--seeds", type=click.IntRange(1), default=30, show_default=True)
def main(only: str, seeds: int) -> None:
    """Cumulative regrets: mean and standard error, with the tuned constant in brackets."""
    for line in lines(only, seeds, AGENTS):
        print(line, flush=True)


if __name__ == "__main__":
    main()
