"""Certificates in worlds where one pair deviates from what the others suggest, by enumeration."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from bough.planning import cycles

STEPS = 200
CHECKS = (2, 5, 10, 25, 50, 100, 200)


@dataclass(frozen=True)
class Deviating:
    """A small world with constant or smooth mean rewards, but for those of one random pair."""

    targets: np.ndarray
    means: np.ndarray
    rows: np.ndarray
    noise: float | None  # None: rewards are 0 or 1


def deviating(seed: int, noise: float | None) -> Deviating:
    """Return a ring, a grid or a random world of 3 to 9 states, with rewards in [0, 1]."""
    rng = np.random.default_rng([seed, 1])
    states, kind = int(rng.integers(3, 8)), rng.integers(3)
    place = np.arange(states)
    if kind == 0:
        targets = np.stack([(place + 1) % states, place], axis=1)
    elif kind == 1:
        x, y = np.divmod(np.arange(9), 3)
        moves = ((0, 1), (1, 0), (0, -1), (-1, 0))
        ends = [np.clip(x + a, 0, 2) * 3 + np.clip(y + b, 0, 2) for a, b in moves]
        targets = np.stack(ends, axis=1)
    else:
        targets = rng.integers(states, size=(states, 3))
        targets[:, 0] = (place + 1) % states
    states, actions = targets.shape
    where = np.arange(states) / states
    slope = rng.uniform(0.0, 0.2) * rng.integers(2)
    means = 0.1 + slope * np.cos(2 * math.pi * (where[:, None] + rng.random()))
    means = np.clip(means + rng.choice([0.0, 0.1], size=actions), 0.0, 1.0)
    means[rng.integers(states), rng.integers(actions)] = rng.uniform(0.5, 0.95)
    rows = np.zeros((states, actions, 1 + actions))
    rows[:, :, 0] = where[:, None]
    rows[:, range(actions), range(1, 1 + actions)] = 1.0
    return Deviating(targets, means, rows, noise)


def best_mean(world: Deviating) -> float:
    """Return the highest mean reward of a simple cycle, by enumeration."""
    best = -math.inf

    def extend(start: int, state: int, seen: frozenset[int], total: float) -> None:
        nonlocal best
        for target, mean in zip(world.targets[state], world.means[state], strict=True):
            if target == start:
                best = max(best, (total + mean) / len(seen))
            elif target > start and target not in seen:
                extend(start, int(target), seen | {int(target)}, total + mean)

    for start in range(len(world.targets)):
        extend(start, start, frozenset({start}), 0.0)
    return best


def certificates(world, agent, seed):
    """Yield certificates, by default and extrapolated, each with the mean of its cycle."""
    noise = np.random.default_rng([seed, 2])
    state = 0
    for t in range(1, STEPS + 1):
        action = agent.act(state)
        mean = world.means[state, action]
        if world.noise is None:
            reward = noise.random() < mean
        else:
            reward = mean + world.noise * noise.normal()
        following = int(world.targets[state, action])
        agent.learn(state, action, float(reward), following)
        state = following
        if t in CHECKS:
            pair = agent.certificate(), agent.certificate(extrapolate=True)
            yield [
                (found, np.mean([world.means[step] for step in found.cycle] or [math.nan]))
                for found in pair
            ]


@pytest.mark.parametrize("worlds", [48, pytest.param(720, marks=pytest.mark.thorough)])
def test_certificates_hold_where_one_pair_deviates(worlds):
    """At all times in at least 95 % of the worlds; extrapolated ones are false more often.

    Also after two steps, when hardly anything is known of the noise.
    """
    false, extrapolated = 0, 0
    for seed in range(worlds):
        world = deviating(seed, (0.0, 0.1, 0.3, None)[seed // 2 % 4])
        states, actions = world.targets.shape
        features = (lambda s, a, rows=world.rows: rows[s, a]) if seed % 2 else None
        agent = cycles.GPCycle(range(states), range(actions), features=features)
        best = best_mean(world)
        wrong = [
            [found.lower > mean + 1e-9 or found.upper < best - 1e-9 for found, mean in pair]
            for pair in certificates(world, agent, seed)
        ]
        false += any(default for default, _ in wrong)
        extrapolated += any(other for _, other in wrong)
    assert false <= 0.05 * worlds
    assert extrapolated > 0.05 * worlds  # the reason why it is not the default


def test_every_pair_of_a_small_world_is_tried():
    """Also those that features, with exact rewards, predict to be worse than a known cycle."""
    agent = cycles.GPCycle(
        range(6), ["on", "stay"], features=lambda s, a: (s / 6, float(a == "on"))
    )
    state, tried = 0, []
    for _ in range(400):
        action = agent.act(state)
        reward = 0.2 if action == "on" else 0.9 if state == 3 else 0.1
        following = (state + (action == "on")) % 6
        agent.learn(state, action, reward, following)
        state = following
        tried.append(sum(visits > 0 for visits in agent.world.visits))
    assert tried[-1] == 12
    found = agent.certificate()
    assert found.cycle == ((3, "stay"),)
    assert found.upper == pytest.approx(0.9, abs=1e-4)


def test_a_few_equal_rewards_prove_nothing():
    """The first ten rewards of a pair with mean 0.6 may all be 1."""
    agent = cycles.GPCycle([0], ["stay"], reward_range=(0, 1))
    for t in range(1, 39):
        agent.learn(0, "stay", 1.0, 0)
        found = agent.certificate()
        assert (found.mean, found.lower, found.upper) == (1.0, 0.0, 1.0), t
    for _ in range(2):
        agent.learn(0, "stay", 1.0, 0)
    assert agent.certificate().lower > 0.99  # of 40 the next one is equal with probability 0.976


def test_certificates_without_repeated_rewards():
    """The noise is not known, so that neither bound is."""
    agent = cycles.GPCycle([0, 1], ["on"])
    agent.act(0)
    assert agent.certificate().cycle == ()
    agent.learn(0, "on", 0.3, 1)
    agent.learn(1, "on", 0.5, 0)
    found = agent.certificate()
    assert found.explored
    assert found.cycle == ((0, "on"), (1, "on"))
    assert found.mean == pytest.approx(0.4)
    assert (found.lower, found.upper) == (-math.inf, math.inf)
    agent.learn(0, "on", 0.31, 1)
    found = agent.certificate()
    assert -math.inf < found.lower < 0.3 < 0.5 < found.upper < math.inf
