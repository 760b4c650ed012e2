"""Agents: receding-horizon control, reuse of playouts, surprises, repeated actions."""

import copy
import gc
import itertools
import math

import numpy as np
import pytest
from worlds import Chain, best_value

from bough import planning
from bough.planning.planner import Planner


def test_a_simulator_that_was_moved_is_restored():
    """After a decision the simulator is not where the last playout ended."""

    class Hashed(Chain):
        def step(self, action):
            self.state = hash((self.state, action)) % 2**32
            return self.state, self.state / 2**32, False

    for seed in range(20):
        world = Hashed([0.0])
        world.state = seed
        agent = planning.Agent(world, budget=12, depth=4, rng=seed)
        for _ in range(10):
            action = agent.act()
            twin, total = Hashed([0.0]), 0.0
            twin.state = world.state
            for i, step in enumerate(agent.last.actions):
                total += 0.95**i * twin.step(step)[1]
            assert agent.last.value == pytest.approx(total)
            world.step(action)


def shown(plan):
    return plan.certificate, plan.choices, plan.tree(), repr(plan)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_old_plans_keep_their_beliefs(noise):
    """Their beliefs were reused for other decisions meanwhile."""
    worlds = [Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2, noise=noise) for _ in range(2)]
    agent, same = (planning.Agent(world, budget=100, depth=4, rng=0) for world in worlds)
    plans, then = [], []
    for _ in range(4):
        worlds[0].step(agent.act())
        worlds[1].step(same.act())
        plans.append(agent.last)
        then.append(shown(same.last))
    for plan, expected in zip(plans, then, strict=True):
        certificate, choices, tree, text = shown(plan)
        assert certificate == expected[0]
        assert choices == expected[1]
        assert tree == expected[2]
        # (All but the duration.)
        assert text.splitlines()[:-1] == expected[3].splitlines()[:-1]


# ---------------------------------------------------------------------- reuse of playouts


def test_an_agent_reuses_simulated_steps():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    agent = planning.Agent(world, budget=500, depth=5, rng=0)
    calls = []
    for _ in range(4):
        action = agent.act()
        calls.append(agent.last.calls)
        assert agent.last.value == pytest.approx(
            best_value(Chain(world.table), world.state, 0.95, 5)
        )
        world.step(action)
    assert calls == [62, 32, 32, 32]  # afterwards only the last of five levels is new


def test_an_unexpected_state_is_a_surprise():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    agent = planning.Agent(world, budget=100, depth=4, rng=0)
    world.step(agent.act())
    agent.act()
    assert agent.surprises == 0
    world.state = (world.state + 1) % 5  # where no action leads
    action = agent.act()
    assert agent.surprises == 1
    assert agent.last.kept == 0
    assert "not in the expected state" in agent.last.note
    assert "not in the expected state" in repr(agent.last)
    expected = best_value(Chain(world.table), world.state, 0.95, 4)
    assert agent.last.value == pytest.approx(expected)
    assert action == agent.last.action


def test_with_random_transitions_playouts_through_the_new_state_are_reused():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2, noise=0.5)
    agent = planning.Agent(world, budget=200, depth=4, rng=0)
    agent.act()
    policy = agent.planner.policy
    state, _, _ = world.step(agent.last.action)
    expected = [p for p in policy.playouts if p.path[0] == agent.last.path[0]]
    some = [p for p in expected if p.states[0] == state]
    assert 0 < len(some) < len(expected)
    agent.act()
    assert agent.last.kept == len(some)
    now = agent.planner.policy.playouts[: len(some)]
    assert [p.rewards for p in now] == [p.rewards[1:] for p in some]


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_playouts_that_are_deeper_than_the_next_tree_are_truncated(noise, monkeypatch):
    """With a time limit the depth grows within a decision, and the next one starts shallow."""
    clock = itertools.count()
    monkeypatch.setattr("bough.planning.planner.time.perf_counter", lambda: next(clock) / 1000)
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2, 0.5, 0.4], 2, noise=noise, ends={6})
    agent = planning.Agent(world, seconds=0.03, merge_states=False, rng=0)
    for _ in range(3):
        world.step(agent.act())
        assert agent.last.depth > 12  # the depth of the first stage
    assert agent.last.kept > 0


def test_an_error_is_not_a_surprise():
    class Failing(Chain):
        fails = False

        def step(self, action):
            if self.fails:
                self.fails = False
                raise OSError("once")
            return super().step(action)

    world = Failing([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    agent = planning.Agent(world, budget=20, depth=5, rng=0)
    world.step(agent.act())
    world.fails = True
    at = world.state
    with pytest.raises(OSError, match="once"):
        agent.act()
    assert world.state == at
    agent.act()
    assert agent.surprises == 0
    assert agent.last.note is None
    assert agent.last.calls == 20
    world.step(agent.last.action)
    agent.act()
    assert agent.last.kept > 0


def test_without_comparison_of_states_nothing_is_reused():
    class Bare(Chain):
        same = None

        def snapshot(self):
            return [self.state]

        def restore(self, snapshot):
            (self.state,) = snapshot

    world = Bare([0.1, 0.7, 0.3])
    agent = planning.Agent(world, budget=20, rng=0)
    world.step(agent.act())
    agent.act()
    assert agent.last.kept == 0
    assert "cannot compare" in agent.last.note
    with pytest.raises(TypeError, match="a simulator has no reset"):
        agent.run(1)


@pytest.mark.parametrize("merge_states", [True, False])
def test_an_agent_that_keeps_nothing(merge_states):
    """Each decision costs as much as the first."""
    for keep in (True, False):
        world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
        depth = None if merge_states else 4
        options = {"budget": 500, "depth": depth, "merge_states": merge_states}
        agent = planning.Agent(world, keep=keep, rng=0, **options)
        calls = []
        for _ in range(4):
            action = agent.act()
            calls.append(agent.last.calls)
            assert agent.last.stopped_by == "exhausted"
            assert keep or agent.last.kept == 0
            assert agent.last.note is None
            world.step(action)
        assert calls[0] == (10 if merge_states else 30)
        assert all(count < calls[0] if keep else count == calls[0] for count in calls[1:])
        assert agent.surprises == 0


def test_a_random_simulator_without_keys():
    class Loaded:
        """Action 1 gives 1 with probability 0.8, action 0 with probability 0.2."""

        actions = ("low", "high")

        def __init__(self):
            self.random = np.random.default_rng(0)

        def snapshot(self):
            return None

        def restore(self, snapshot):
            pass

        def step(self, action):
            chance = 0.8 if action == "high" else 0.2
            return None, float(self.random.random() < chance), False

    world = Loaded()
    agent = planning.Agent(world, budget=300, depth=2, rng=0)
    for _ in range(5):
        assert agent.act() == "high"
        world.step("high")
    assert agent.last.kept == 0
    assert "cannot compare" in agent.last.note


@pytest.mark.parametrize("budget", [9, 200])
def test_an_end_has_a_cost_even_if_every_path_is_known(budget):
    class Cliff(Chain):
        """Action 3 has a higher reward and ends the episode."""

        def step(self, action):
            self.state += 1
            return self.state, 1.2 if action == 3 else 1.0, action == 3

    agent = planning.Agent(Cliff([0.0], 4), budget=budget, depth=2, rng=0)
    for _ in range(10):
        assert agent.act() != 3
        assert agent.last.value == pytest.approx(1.95)
        agent.env.state += 1


# ---------------------------------------------------------------------- repeated actions


def test_actions_are_repeated():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    agent = planning.Agent(world, budget=90, depth=3, repeat=3, rng=0)
    given = []
    for _ in range(6):
        given.append(agent.act())
        if len(given) % 3 == 1:
            decision = agent.last
        assert agent.last is decision
        world.step(given[-1])
    assert given == [given[0]] * 3 + [given[3]] * 3
    assert agent.surprises == 0
    assert agent.last.kept > 0
    assert agent.last.calls % 3 == 0
    # The value of a plan discounts every single step.
    fresh = Chain(world.table)
    found = planning.plan(fresh, budget=1000, depth=2, repeat=3, discount=0.5, rng=0)
    total = 0.0
    for i, action in enumerate(a for a in found.actions for _ in range(3)):
        total += 0.5**i * fresh.step(action)[1]
    assert found.value == pytest.approx(total)


# ---------------------------------------------------------------------- Gymnasium


@pytest.fixture
def cart_pole():
    return pytest.importorskip("gymnasium").make("CartPole-v1")


def test_an_agent_balances_the_pole(cart_pole):
    agent = planning.Agent(cart_pole, budget=100, rng=0)
    summary = agent.run(1, seed=0, most_steps=80, progress=False)
    (episode,) = summary.episodes
    assert episode.total == episode.steps == episode.decisions == 80
    assert episode.calls <= 80 * 100
    assert episode.surprises == 0
    assert math.isinf(summary.error)
    assert "by native snapshots" in repr(summary)


def test_a_decision_without_a_playout_is_no_surprise():
    agent = planning.Agent(Chain([0.1, 0.7, 0.3], 2), seconds=1e-9, depth=3, rng=0)
    for _ in range(5):
        agent.env.step(agent.act())
        assert agent.last.plays == 0
    assert agent.surprises == 0
    expected = "the time limit passed before the first playout: the action is random"
    assert agent.last.note == expected
    assert expected in repr(agent.last)


def test_the_time_limit_includes_what_it_takes_to_follow_the_world(monkeypatch):
    now = 0.0
    monkeypatch.setattr("bough.planning.agent.time.perf_counter", lambda: now)

    class Slow(Chain):
        """The first snapshot of a decision takes 0.3 seconds, each step a millisecond."""

        is_first = True

        def snapshot(self):
            nonlocal now
            now += 0.3 * self.is_first
            self.is_first = False
            return super().snapshot()

        def step(self, action):
            nonlocal now
            now += 0.001
            return super().step(action)

    world = Slow([0.1, 0.7, 0.3, 0.9, 0.2], 2, noise=0.5)
    agent = planning.Agent(world, seconds=0.5, rng=0)
    for _ in range(3):
        world.is_first, begin = True, now
        agent.act()
        assert now - begin <= 0.5
        assert agent.last.calls > 100
        assert agent.last.seconds == pytest.approx(now - begin)


@pytest.mark.parametrize("name", ["CartPole-v1", "Acrobot-v1"])
def test_an_agent_with_little_time(name):
    env = pytest.importorskip("gymnasium").make(name)
    agent = planning.Agent(env, seconds=0.002, rng=0)
    (episode,) = agent.run(1, seed=0, most_steps=60, progress=False).episodes
    assert episode.decisions == episode.steps <= 60
    assert episode.surprises == 0


def test_an_agent_swings_a_pendulum():
    """Actions of a Box are added to the first five, and playouts are reused nevertheless."""
    env = pytest.importorskip("gymnasium").make("Pendulum-v1")
    returns = {}
    for budget in (5, 100):
        agent = planning.Agent(env, budget=budget, rng=0)
        summary = agent.run(1, seed=0, most_steps=120, progress=False)
        assert summary.episodes[0].surprises == 0
        assert agent.last.kept > 0
        returns[budget] = summary.mean
    assert returns[100] > returns[5]
    assert len(agent.last.available) > 5
    assert all(env.action_space.contains(action) for action in agent.last.available)


def test_actions_of_a_box_do_not_accumulate_over_episodes():
    env = pytest.importorskip("gymnasium").make("Pendulum-v1")
    agent = planning.Agent(env, budget=20, rng=0)
    counts = []
    for _ in range(4):
        agent.run(1, seed=0, most_steps=10, progress=False)
        counts.append(len(agent.last.available))
    assert max(counts) <= 5 + 10 * 4  # two at random and two near the best path, in each decision


def test_actions_of_a_box_do_not_accumulate_within_an_episode(monkeypatch):
    """Those that are on no known path are dropped: plans are still what was simulated."""
    monkeypatch.setattr("bough.planning.planner.MOST_ADDED", 10)
    env = pytest.importorskip("gymnasium").make("Pendulum-v1")
    agent = planning.Agent(env, budget=60, rng=0)
    env.reset(seed=0)
    counts = []
    for k in range(60):
        action = agent.act()
        plan = agent.last
        if k % 6 == 0:
            twin = copy.deepcopy(env)
            rewards = [twin.step(each)[1] for each in plan.actions]
            value = sum(0.95**i * reward for i, reward in enumerate(rewards))
            assert value == pytest.approx(plan.value, rel=1e-9)
        assert all(env.action_space.contains(each) for each in plan.available)
        counts.append(len(plan.available))
        env.step(action)
    assert agent.surprises == 0
    assert agent.last.kept > 0
    assert max(counts[30:]) <= max(counts[:30]) + 10


class Toll(Chain):
    """A walk to an end beyond the depth of the tree that is not worth its cost."""

    end = 15

    def __init__(self):
        super().__init__([0.0])

    def step(self, action):
        self.state += action
        return self.state, -float(action), self.state == self.end


def test_an_end_without_worth_does_not_stop_scouts(monkeypatch):
    scouts = []
    scout = Planner._scout

    def recorded(self, budget):
        scouts.append(scout(self, budget))
        return scouts[-1]

    monkeypatch.setattr(Planner, "_scout", recorded)
    world = Toll()
    agent = planning.Agent(world, budget=60, merge_states=False, rng=0)
    for _ in range(50):
        world.step(agent.act())
    assert any(playout.ended for playout in scouts[:-3])
    assert len(scouts) == 10
    assert world.state < 3


def test_a_hand_of_blackjack_is_short():
    env = pytest.importorskip("gymnasium").make("Blackjack-v1")
    for seed in range(10):
        env.reset(seed=seed)
        found = planning.plan(env, budget=300, rng=0)
        assert 1 <= len(found.actions) <= 6
        assert -1.0 <= found.value <= 1.5


def test_episodes_that_end_and_those_that_are_cut_off(cart_pole):
    agent = planning.Agent(cart_pole, budget=2, rng=0)
    short, long = (agent.run(1, seed=0, most_steps=n, progress=False) for n in (3, None))
    assert not short.episodes[0].ended
    assert long.episodes[0].ended


def test_an_agent_notices_an_unexpected_state(cart_pole):
    env = cart_pole
    env.reset(seed=3)
    agent = planning.Agent(env, budget=40, rng=0)
    env.step(agent.act())
    env.step(1 - agent.act())  # not the recommended action
    agent.act()
    assert agent.surprises == 1
    assert agent.last.kept == 0
    copied = planning.Agent(planning.simulator_of(env, how="copy"), budget=20, rng=0)
    env.step(copied.act())
    copied.act()
    assert copied.surprises == 0
    assert copied.last.kept > 0
    env.step(1 - copied.last.action)
    copied.act()
    assert copied.surprises == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most_steps": 0}, "most_steps must be at least 1"),
        ({"most_steps": "a"}, "most_steps must be an int"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"episodes": 0}, "episodes must be at least 1"),
    ],
)
def test_invalid_arguments_of_run(options, message, cart_pole):
    agent = planning.Agent(cart_pole, budget=10, rng=0)
    with pytest.raises((TypeError, ValueError), match=message):
        agent.run(**options)


def test_only_gpts_adds_actions_of_a_box():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("Pendulum-v1")
    for searcher in ("uct", "gpts"):
        agent = planning.Agent(env, budget=50, searcher=searcher, rng=0)
        agent.run(1, seed=0, most_steps=3, progress=False)
        assert (len(agent.last.available) > 5) == (searcher == "gpts")


def test_garbage_is_collected_again_after_a_decision():
    seen = []

    class Watched(Chain):
        def step(self, action):
            seen.append(gc.isenabled())
            return super().step(action)

    world = Watched([1.0, 0.0])
    planning.plan(world, seconds=0.9, depth=3, rng=0)  # (ends when all paths are known)
    planning.plan(world, budget=20, depth=3, rng=0)
    assert gc.isenabled()
    assert seen[-1]
    assert not all(seen)
