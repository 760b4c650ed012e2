"""Agents of cycles in Gymnasium environments."""

import math

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from bough.planning import cycles  # noqa: E402


@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
def test_the_lake(kind):
    """The shortest way to the goal takes six steps, and then the episode starts again."""
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    done = cycles.run(lake, kind(None, range(4)), steps=1500)
    assert len(done.rewards) == 1500
    assert done.episodes >= done.rewards.sum() > 0
    found = done.certificate
    assert found.mean == pytest.approx(1 / 6)
    assert len(found.cycle) == 6
    assert found.cycle[0][0] in range(16)
    assert done.mean == done.rewards.mean()
    assert "1500 steps, mean reward" in str(done)
    again = cycles.run(lake, done.agent, steps=300)
    assert again.agent.observations == 1800
    if kind is cycles.GPCycle:
        assert again.mean > 0.8 / 6


def test_a_time_limit_does_not_end_an_episode():
    walk = gymnasium.make("CliffWalking-v1", max_episode_steps=5)
    done = cycles.run(walk, cycles.UCycle(None, range(4), exploration=0.03), steps=1500)
    assert done.certificate.mean == pytest.approx(-1.0)


class Arrays(gymnasium.Env):
    """A ring of four places, observed as an array; the actions start at 1."""

    observation_space = gymnasium.spaces.Box(0, 1, (4,))
    action_space = gymnasium.spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return np.eye(4)[0], {}

    def step(self, action):
        reward = float(self.place == 3 and action == 2)
        self.place = (self.place + (action == 2)) % 4
        return np.eye(4)[self.place], reward, False, False, {}


def test_arrays_as_observations():
    done = cycles.run(Arrays(), steps=200)
    assert done.certificate.mean == pytest.approx(0.25)
    assert all(action == 2 for _, action in done.certificate.cycle)
    assert done.certificate.cycle[0][0] in [tuple(row) for row in np.eye(4)]
    by_key = cycles.run(Arrays(), steps=200, key=lambda o: int(o.argmax()), features=lambda s, a: s)
    assert {state for state, _ in by_key.certificate.cycle} == {0, 1, 2, 3}


def test_transitions_that_are_not_deterministic():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=True)
    with pytest.raises(cycles.NotDeterministic, match="must be deterministic"):
        cycles.run(lake, steps=500)


def test_bad_runs():
    for wrong in ("FrozenLake-v1", Arrays):
        with pytest.raises(TypeError, match="env must be a Gymnasium environment"):
            cycles.run(wrong, steps=10)
    for steps in (0, -1):
        with pytest.raises(ValueError, match="steps must be at least 1"):
            cycles.run(Arrays(), steps=steps)
    with pytest.raises(TypeError, match="agent must be a GPCycle or a UCycle"):
        cycles.run(Arrays(), object(), steps=10)
    with pytest.raises(ValueError, match="features are only for a new agent"):
        cycles.run(Arrays(), cycles.UCycle(None, [1, 2]), steps=10, features=math.hypot)
    with pytest.raises(TypeError, match="Discrete space.*pass an agent"):
        cycles.run(gymnasium.make("Pendulum-v1"), steps=10)

    class Dicts(Arrays):
        def reset(self, *, seed=None, options=None):
            return {"place": 0}, {}

    with pytest.raises(TypeError, match="observations must be hashable or arrays.*key="):
        cycles.run(Dicts(), steps=10)
