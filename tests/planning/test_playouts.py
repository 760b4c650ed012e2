"""Playouts: simulated steps are counted, and none is repeated needlessly."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from uncompiled import load
from worlds import Chain, best_value

from bough import planning
from bough.planning.decision import PlanSettings
from bough.planning.model import GenerativeModel
from bough.planning.playouts import Playout, Simulation


@pytest.fixture
def source(monkeypatch):
    """Plan with the compiled modules as plain Python, and return that of playouts."""
    module = load("bough.planning.playouts")
    module.RolloutPolicy = load("bough.planning.rollouts").RolloutPolicy
    monkeypatch.setattr("bough.planning.planner.Simulation", module.Simulation)
    rewards = load("bough.planning.rewards")
    monkeypatch.setattr("bough.planning.planner.RewardScale", rewards.RewardScale)
    policy = load("bough.planning.gpts_policy")
    for name in ("StepNoise", "discounted_sum", "in_units", "survival"):
        setattr(policy, name, getattr(rewards, name))
    monkeypatch.setattr("bough.planning.planner.GPTSPolicy", policy.GPTSPolicy)
    return module


def _plans():
    """Return what plans of two searchers are, with ends and without."""
    found = [
        planning.plan(
            Chain([0.1, 0.7, 0.3, 0.9, 0.2], 3, ends=ends, noise=noise), budget=300, depth=8, rng=4,
            searcher=searcher,
        )
        for ends in ((), (4,)) for searcher in ("gpts", "uct") for noise in (0.0, 0.3)
    ]  # fmt: skip
    return [(plan.path, plan.value, plan.calls, plan.plays) for plan in found]


def test_the_compiled_module_is_its_source(request):
    compiled = _plans()
    source = request.getfixturevalue("source")
    assert source.__file__.endswith(".py")
    assert _plans() == compiled


def test_a_truncated_playout():
    playout = Playout((0, 1, 1), (1.0, 2.0), True, ("a", "b"))
    assert playout.truncated(3) == playout
    assert playout.truncated(2) == Playout((0, 1), (1.0, 2.0), True, ("a", "b"))
    assert playout.truncated(1) == Playout((0,), (1.0,), False, ("a",))


@given(
    st.integers(1, 3), st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), max_size=40),
    st.sets(st.integers(1, 8), max_size=4),
)  # fmt: skip
def test_each_state_knows_to_which_depth_it_is_complete(actions, paths, ends):
    simulation = Simulation(
        GenerativeModel(Chain([0.1] * 9, actions, ends=ends)),
        PlanSettings(budget=1),
        np.random.default_rng(0),
    )
    simulation.start(0)
    simulation.set_budget(10**6)
    for path in paths:
        simulation.play(tuple(action % actions for action in path))

    def complete(state, depth):
        if state.ended or depth == 0:
            return True
        children = state.children
        return len(children) == actions and all(
            complete(child, depth - 1) for _, child in children.values()
        )

    stack = [simulation.root]
    while stack:
        state = stack.pop()
        for depth in range(1, 6):
            assert complete(state, depth) == (state.complete >= depth)
        stack.extend(child for _, child in state.children.values())
    for depth in range(1, 6):
        assert (simulation.root.complete >= depth) == complete(simulation.root, depth)
        for path in itertools.product(range(actions), repeat=depth):
            found = simulation.unexplored(path, depth)
            assert (found is None) == complete(simulation.root, depth)
            if found is not None:
                state = simulation.root
                for action in found[:-1]:
                    if action not in state.children:
                        assert found == path
                        break
                    _, state = state.children[action]
                else:
                    assert found[-1] not in state.children


def test_the_cost_per_step_does_not_grow_with_the_tree(source):
    """A playout does not walk through the whole tree: each state is read a few times."""
    reads = 0

    def counting(name):
        def read(self, *arguments):
            nonlocal reads
            reads += 1
            return getattr(dict, name)(self, *arguments)

        return read

    names = ("__contains__", "__getitem__", "get", "items", "values")
    counted_dict = type("Counted", (dict,), {name: counting(name) for name in names})

    def run(depth):
        nonlocal reads
        reads = 0
        found = planning.plan(Chain([0.1, 0.7, 0.3, 0.9], 2), budget=10**5, depth=depth, rng=0)
        assert found.stopped_by == "exhausted"
        return reads / found.calls

    with pytest.MonkeyPatch.context() as patch:
        init = source.State.__init__

        def counted(self, *arguments):
            init(self, *arguments)
            self.children = counted_dict()

        patch.setattr(source.State, "__init__", counted)
        assert run(9) < 2 * run(6)


def test_common_prefixes_are_not_simulated_again():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    found = planning.plan(world, budget=1000, depth=6, rng=0)
    assert found.stopped_by == "exhausted"
    assert found.calls == sum(2**i for i in range(1, 7))  # every edge once


def test_a_path_of_thousands_of_steps():
    found = planning.plan(Chain([1.0], actions=1), budget=5000, depth=3000, discount=1.0, rng=0)
    assert found.value == 3000.0
    assert found.stopped_by == "exhausted"


def test_steps_to_return_without_a_snapshot_are_counted(monkeypatch):
    """Without a snapshot the steps from the last one are taken again, and counted."""
    monkeypatch.setattr("bough.planning.playouts.MOST_SNAPSHOTS", 3)
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    found = planning.plan(world, budget=1000, depth=5, rng=0)
    assert found.stopped_by == "exhausted"
    assert world.steps - found.replayed == found.calls > sum(2**i for i in range(1, 6))
    expected = best_value(Chain(world.table), 0, 0.95, 5)
    assert found.value == pytest.approx(expected)
    for budget in range(1, 40):
        assert planning.plan(world, budget=budget, depth=5, rng=0).calls <= budget


def test_each_random_playout_is_reseeded():
    """A plan does not know the next random numbers of the world."""

    class Lottery:
        actions = (0, 1)

        def __init__(self):
            self.random = np.random.default_rng(5)
            self.seeds = []

        def snapshot(self):
            return self.random.bit_generator.state

        def restore(self, snapshot):
            self.random.bit_generator.state = snapshot

        def reseed(self, seed):
            self.seeds.append(seed)
            self.random = np.random.default_rng(seed)

        def step(self, action):
            return None, float(self.random.integers(2) == action), False

    world = Lottery()
    found = planning.plan(world, budget=600, depth=1, rng=0)
    assert world.seeds[0] == 0  # of the check of `restore`
    assert len(set(world.seeds[1:])) == found.plays == 600
    assert 0.4 < found.value < 0.6  # 1 with foresight
    assert found.std > 0


@pytest.mark.parametrize("reward", [math.nan, math.inf, 1e60])
def test_infinite_rewards_are_refused(reward):
    world = Chain([0.0, reward, 0.0])
    with pytest.raises(ValueError, match="rewards must be finite numbers .* action 0 gave"):
        planning.plan(world, budget=50, rng=0)
    assert world.state == 0


@pytest.mark.parametrize(
    "reward", [None, "1", np.array([1.0]), 1 + 0j, 10**400, math.nan], ids=repr
)
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("repeat", [1, 2])
def test_rewards_of_a_wrong_type_are_refused(reward, noise, repeat):
    world = Chain([reward] * 3, noise=noise)
    with pytest.raises(ValueError, match="rewards must be finite numbers .* action [01] gave"):
        planning.plan(world, budget=50, repeat=repeat, rng=0)
    assert world.state == 0


@pytest.mark.parametrize("reward", [1, True, np.float32(1.0), np.int64(1), np.array(1.0)])
def test_rewards_of_other_numeric_types(reward):
    found = planning.plan(Chain([reward] * 3), budget=50, depth=2, discount=0.5, rng=0)
    assert found.value == 1.5
    assert type(found.value) is float
