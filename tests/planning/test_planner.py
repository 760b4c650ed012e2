"""Plans of one decision, on small worlds whose best plans are known."""

import itertools
import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import Chain, best_value

import bough
from bough import planning
from bough.planning.decision import horizon

SEARCHERS = ("best_first", "gpts", "kl_olop", "olop", "random", "uct")


tables = st.lists(st.floats(-10, 10, allow_nan=False), min_size=2, max_size=9)


@given(tables, st.integers(1, 3), st.integers(1, 5), st.floats(0.3, 1.0), st.integers(0, 8))
def test_with_enough_steps_a_plan_equals_dynamic_programming(table, actions, depth, discount, end):
    world = Chain(table, actions, ends={end} - {0})
    steps = sum(actions**i for i in range(1, depth + 1))
    found = planning.plan(world, budget=steps, depth=depth, discount=discount, rng=0)
    expected = best_value(Chain(table, actions, ends={end} - {0}), 0, discount, depth)
    assert found.value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.std == 0.0
    # The actions have that value in the world itself.
    total, state = 0.0, Chain(table, actions, ends={end} - {0})
    for i, action in enumerate(found.actions):
        _, reward, ended = state.step(action)
        total += discount**i * reward
        assert not ended or i == len(found.actions) - 1
    assert total == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.action == found.actions[0] == world.actions[found.path[0]]


@given(
    st.sampled_from(SEARCHERS), st.sampled_from(["steps", "sum"]), st.integers(1, 60),
    st.integers(1, 8), st.booleans(), st.integers(1, 3),
)  # fmt: skip
def test_the_budget_is_respected_and_the_world_is_restored(
    searcher, rewards, budget, depth, noisy, repeat
):
    noisy = noisy and searcher != "best_first"
    world = Chain([0.0, 1.0, 0.5, -1.0, 2.0], 3, ends={3}, noise=0.3 if noisy else 0.0)
    world.state = 1
    if budget < repeat:
        with pytest.raises(ValueError, match="too small for one action"):
            planning.plan(world, budget=budget, repeat=repeat)
        return
    found = planning.plan(
        world, budget=budget, depth=depth, searcher=searcher, rewards=rewards, repeat=repeat, rng=0
    )
    assert world.steps - found.replayed == found.calls <= budget
    assert world.state == 1
    assert found.action in world.actions


@pytest.mark.parametrize("searcher", SEARCHERS)
@pytest.mark.parametrize("rewards", ["steps", "sum"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_every_searcher_finds_an_obvious_action(searcher, rewards, noise):
    table = [0.0] * 9
    table[2] = 5.0  # where action 1 leads from state 0 (and action 0 by chance, with noise)
    world = Chain(table, 3, noise=noise if searcher != "best_first" else 0.0)
    found = planning.plan(
        world, budget=400, depth=2, searcher=searcher, rewards=rewards, discount=0.5, rng=0
    )
    assert found.action == 1


def test_best_first_search_requires_deterministic_transitions():
    world = Chain([0.0, 1.0], noise=0.2)
    with pytest.raises(ValueError, match="best_first is for deterministic problems"):
        planning.plan(world, budget=20, searcher="best_first")
    assert world.steps == 0


def test_a_single_action():
    found = planning.plan(Chain([1.0, 2.0], actions=1), budget=50, depth=6, discount=0.5, rng=0)
    assert found.path == (0,) * 6
    assert found.stopped_by == "exhausted"
    assert found.calls == 6


@pytest.mark.parametrize("searcher", SEARCHERS)
@pytest.mark.parametrize("reward", [0.0, 1.0, -3.0, 1e30, -1e40])
def test_constant_and_huge_rewards(searcher, reward):
    found = planning.plan(
        Chain([reward] * 5), budget=60, depth=5, searcher=searcher, discount=0.9, rng=0
    )
    assert found.value == pytest.approx(reward * sum(0.9**i for i in range(5)), rel=1e-12)


class Corridors(Chain):
    """The first action selects a corridor: one ends after some steps, the other does not."""

    def __init__(self, length, reward):
        super().__init__([0.0])
        self.length, self.reward = length, reward
        self.state = (0, 0)

    def step(self, action):
        which, at = self.state
        self.state = (action if at == 0 else which, at + 1)
        return self.state, self.reward, self.state == (0, self.length)


@pytest.mark.parametrize("reward", [1.0, -1.0])
@pytest.mark.parametrize("budget", [12, 200])
def test_ties_between_plans_are_broken_by_what_follows(reward, budget):
    found = planning.plan(Corridors(4, reward), discount=0.9, budget=budget, depth=4, rng=0)
    assert found.stopped_by == ("exhausted" if budget == 200 else "budget")
    assert found.value == pytest.approx(reward * (1 - 0.9**4) / 0.1)
    assert found.action == (reward > 0)


def test_contents_of_a_plan():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    found = planning.plan(world, budget=60, merge_states=False, rng=0)
    assert [choice.action for choice in found.choices] == [0, 1]
    assert sum(choice.plays for choice in found.choices) == found.plays
    assert all(choice.std > 0 for choice in found.choices)
    assert found.certificate.lower <= found.certificate.upper
    assert found.certificate.conditional
    lines = found.tree(depth=2).splitlines()
    visited = {playout.path[:d] for playout in found.policy.playouts for d in (1, 2)}
    assert len(lines) == 1 + len(visited) >= 1 + 2 + 2
    assert sum("*" in line for line in lines) == 2  # the recommended path
    assert "+-" in lines[1]
    assert "60 steps" in repr(found)
    peer = planning.plan(world, budget=60, searcher="uct", rng=0)
    assert peer.certificate is None
    assert "+-" not in peer.tree()
    with pytest.raises(TypeError, match="depth must be an int, got 'all'"):
        found.tree("all")
    with pytest.raises(ValueError, match="depth must be at least 1, got 0"):
        found.tree(0)


@pytest.mark.parametrize("searcher", ["best_first", "gpts"])
def test_an_exhausted_tree_has_an_exact_certificate(searcher):
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    found = planning.plan(world, budget=1000, depth=4, searcher=searcher, rng=0)
    assert found.stopped_by == "exhausted"
    certificate = found.certificate
    assert certificate.lower == certificate.upper == found.value
    assert (certificate.path, certificate.gap, certificate.delta) == (found.path, 0.0, 0.0)
    assert not certificate.conditional
    assert "at confidence 1" in repr(found)


def test_a_custom_searcher():
    made = []

    def make(tree):
        made.append(bough.GPTS(tree, bough.kernels.Discounted(0.9), 0.1, rng=0))
        return made[0]

    found = planning.plan(Chain([0.1, 0.7, 0.3]), budget=60, depth=3, searcher=make)
    assert found.searcher is made[0]
    assert found.searcher.observations > 5


def test_the_same_seed_gives_the_same_plan():
    def plan(seed):
        found = planning.plan(Chain([0.1, 0.7, 0.3, 0.9], noise=0.3), budget=90, rng=seed)
        return found.actions, found.value, found.calls

    assert plan(3) == plan(3)
    assert plan(3) != plan(4)


# ---------------------------------------------------------------------- horizon and time


def test_the_default_horizon():
    assert horizon(None, 2, 0.95, 2000) == 45  # log 0.1 / log 0.95 = 44.9
    assert horizon(None, 2, 0.95, 1000) == 38  # 1.2 sqrt(1000) = 37.9
    assert horizon(None, 2, 0.95, 100) == 12
    assert horizon(None, 2, 0.5, 1000) == 4  # log 0.1 / log 0.5 = 3.3
    assert horizon(None, 4, 0.95, 1) == 1  # at most the budget
    assert horizon(None, 1, 1.0, 50) == 9  # 1.2 sqrt(50) = 8.5
    assert horizon("paper", 2, 0.95, 100) == 5
    assert horizon(7, 2, 0.95, 100) == 7


@pytest.fixture
def clock(monkeypatch):
    """Let time pass by a millisecond at each look at the clock."""
    ticks = itertools.count()
    monkeypatch.setattr("bough.planning.planner.time.perf_counter", lambda: next(ticks) / 1000)


def test_with_a_time_limit_the_depth_grows(clock):
    short = planning.plan(Chain([0.1, 0.7, 0.3]), seconds=1e-9, rng=0)
    assert short.stopped_by == "seconds"
    assert short.calls == 0
    assert short.action in (0, 1)
    options = {"discount": 0.99, "merge_states": False, "rng": 0}
    long = planning.plan(Chain([0.1, 0.7, 0.3]), seconds=0.1, **options)
    assert long.depth > 12  # the depth of the first stage
    assert long.calls > 100


@pytest.mark.parametrize("searcher", ["gpts", "kl_olop", "olop", "random", "uct"])
def test_with_a_time_limit_no_stage_is_lost(searcher, clock):
    """When time runs out soon after the depth has grown, the stage before it still counts."""
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2, noise=0.3)
    for seconds in np.arange(0.01, 0.2, 0.01).tolist():
        found = planning.plan(world, seconds=seconds, searcher=searcher, rng=0)
        assert math.isfinite(found.value)
        # Each stage has twice the steps, so the plan uses at least a third of them.
        assert found.plays * found.depth >= found.calls / 3 - found.depth


def test_a_mask_needs_the_present_observation():
    options = {"budget": 20, "mask": lambda state: [True, state > 0], "rng": 0}
    with pytest.raises(ValueError, match="pass observation= to plan"):
        planning.plan(Chain([1.0, 0.0]), **options)
    found = planning.plan(Chain([1.0, 0.0]), observation=0, **options)
    assert found.path[0] == 0


def test_a_detached_plan_can_be_pickled_and_printed():
    found = planning.plan(Chain([1.0, 0.0]), budget=20, depth=3, rng=0)
    detached = pickle.loads(pickle.dumps(found.detached()))
    assert repr(detached) == repr(found)
    assert detached.choices == found.choices
    with pytest.raises(ValueError, match="detached plan"):
        detached.tree()


class Dice:
    """The first action decides on the mean of all rewards, whose noise is large."""

    actions = range(8)

    def __init__(self):
        self.first, self.random = None, np.random.default_rng(0)

    def snapshot(self):
        return self.first

    def restore(self, snapshot):
        self.first = snapshot

    def reseed(self, seed):
        self.random = np.random.default_rng(seed)

    def step(self, action):
        self.first = action if self.first is None else self.first
        return None, -1.0 - self.first + 5.0 * self.random.standard_normal(), False


@pytest.mark.parametrize("seed", range(5))
def test_an_agent_takes_an_action_that_was_played(seed):
    """Rewards are negative, so that actions without a playout look better than all others."""
    agent = planning.Agent(Dice(), budget=20, depth=4, rng=seed)
    agent.act()
    assert all(choice.plays <= 1 for choice in agent.last.choices)
    assert agent.last.choices[agent.last.path[0]].plays == 1


def test_with_a_time_limit_an_exhausted_tree_grows():
    options = {"seconds": 60.0, "merge_states": False, "rng": 0}
    found = planning.plan(Chain([1.0], actions=1), discount=0.99, **options)
    assert found.depth == found.calls == 230  # log 0.1 / log 0.99
    assert found.stopped_by == "exhausted"
    ending = planning.plan(Chain([0.0, 1.0], 1, ends={1}), discount=1.0, **options)
    assert ending.calls == 1
    assert ending.stopped_by == "exhausted"


# ---------------------------------------------------------------------- invalid arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give a budget"),
        ({"budget": 0}, "budget must be at least 1"),
        ({"budget": 2.5}, "budget must be an int"),
        ({"seconds": 0.0}, "seconds must be above zero"),
        ({"budget": 10, "discount": 0.0}, "discount must be above 0"),
        ({"budget": 10, "discount": 1.5}, "discount must be above 0 and at most 1"),
        ({"budget": 10, "discount": 1.0, "searcher": "olop"}, "needs a discount below 1"),
        ({"budget": 10, "depth": 0}, "depth must be at least 1"),
        ({"budget": 10, "depth": "deep"}, "depth must be an int"),
        ({"budget": 10, "rewards": "total"}, 'rewards must be "steps" or "sum"'),
        ({"budget": 10, "searcher": "gpb"}, "not made for planning"),
        ({"budget": 10, "searcher": "best"}, "is not a searcher"),
        ({"budget": 10, "searcher": None}, "searcher must be a name or a function"),
        ({"budget": 10, "searcher": 3}, "searcher must be a name or a function"),
        ({"budget": 10, "repeat": 0}, "repeat must be at least 1"),
    ],
)
def test_invalid_arguments(options, message):
    world = Chain([0.0, 1.0])
    with pytest.raises((ValueError, TypeError), match=message):
        planning.plan(world, **options)
    assert world.steps == 0


def test_invalid_simulators():
    with pytest.raises(TypeError, match="has no snapshot"):
        planning.plan("CartPole-v1", budget=10)

    class Idle(Chain):
        def __init__(self):
            super().__init__([0.0])
            self.actions = []

    with pytest.raises(ValueError, match="at least one action"):
        planning.plan(Idle(), budget=10)


@pytest.mark.parametrize("rng", ["x", -1, 1.5, [1.5]])
def test_invalid_rng(rng):
    world = Chain([0.0, 1.0])
    for call in (planning.plan, planning.Agent):
        with pytest.raises(TypeError, match=r"rng must be a numpy.random.Generator, an int"):
            call(world, budget=10, rng=rng)
    assert world.steps == 0


@pytest.mark.parametrize("table", [[0.0] * 5, [2.0] * 5])
def test_equal_rewards_certify_nothing(table):
    """Nothing is known of how much other paths may differ: bounds would be a guess."""
    world = Chain(table, 3)
    found = planning.plan(world, budget=30, rng=0, merge_states=False)
    assert found.stopped_by == "budget"
    assert found.certificate is None
    assert "certificate" not in repr(found)
    assert planning.plan(Chain(table, 3), budget=200, depth=3).certificate.gap == 0.0


def test_a_plan_without_time_certifies_nothing():
    found = planning.plan(Chain([0.0, 1.0, 0.5], 3), seconds=1e-9, rng=0, merge_states=False)
    assert (found.calls, found.plays, found.certificate) == (0, 0, None)


@pytest.mark.parametrize("executor", [None, "threads"])
def test_errors_of_many_plans_name_the_environment(executor):
    pool = None if executor is None else ThreadPoolExecutor(2)
    with pytest.raises(TypeError, match="a simulator must have") as caught:
        planning.plan_many([Chain([0.0]), "no environment"], budget=10, executor=pool)
    assert caught.value.__notes__ == ["raised in planning for environments[1]"]


def test_environments_that_cannot_be_pickled_are_not_for_worker_processes():
    pytest.importorskip("loky")
    world = Chain([0.0, 1.0], 2)
    world.lock = threading.Lock()
    with pytest.raises(pickle.PicklingError) as caught:
        planning.plan_many([world], budget=10, executor=1)
    assert "leave out executor=, or pass a ThreadPoolExecutor" in caught.value.__notes__[0]
    with ThreadPoolExecutor(1) as threads:
        (found,) = planning.plan_many([world], budget=10, executor=threads)
    assert found.calls > 0


class Wide:
    """Two million actions, of which few numbers are good, for five steps."""

    actions = range(2_000_000)
    deterministic = True
    state = 0.5

    def snapshot(self):
        return self.state

    def restore(self, snapshot):
        self.state = snapshot

    def step(self, action):
        self.state += 1.0
        return self.state, -abs(action - 12_345) / 1e6, self.state >= 5


@pytest.mark.parametrize("deterministic", [True, False])
def test_of_very_many_actions_only_some_are_looked_at(deterministic, monkeypatch):
    """No step of a decision goes through all actions."""
    world = Wide()
    world.deterministic = deterministic
    agent = planning.Agent(world, budget=150, rng=0)
    agent.act()

    class Counted:
        """The actions, which count how many are looked at."""

        looked = 0

        def __len__(self):
            return 2_000_000

        def __getitem__(self, k):
            Counted.looked += 1
            return range(2_000_000)[k]

        def __contains__(self, k):
            return 0 <= k < 2_000_000

    monkeypatch.setattr(agent.planner.simulation, "choices", Counted())
    for _ in range(4):
        agent.reset()
        world.state = 0.5
        action = agent.act()
        assert action in range(2_000_000)
    assert Counted.looked < 200_000
    lines = agent.last.tree(depth=2).splitlines()
    assert 2 < len(lines) < 200
