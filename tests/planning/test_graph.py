"""GPTS on the graph of states, against value iteration in plain Python."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough import planning
from bough.planning.graph import GraphPolicy

seeds = st.integers(0, 10**6)
discounts = st.sampled_from([0.3, 0.8, 0.95, 0.97])


class Table:
    """A random decision process with states 0, 1, 2, ..., whose steps are recorded.

    Each action leads to one of `outcomes` states at random. The reward depends on all three.
    """

    def __init__(self, seed, states=7, actions=3, *, outcomes=1, ends=1, legal=1.0):
        rng = np.random.default_rng(seed)
        self.actions = list(range(actions))
        self.deterministic = outcomes == 1
        self.next = rng.integers(states, size=(states, actions, outcomes)).tolist()
        self.rewards = rng.normal(size=(states, actions, states)).tolist()
        self.ends = set(range(states - ends, states))
        allowed = rng.random((states, actions)) < legal
        allowed[:, 0] |= ~allowed.any(1)
        self.legal = allowed.tolist()
        self.random = np.random.default_rng(seed)
        self.state = 0
        self.record = []

    def snapshot(self):
        return self.state

    def restore(self, snapshot):
        self.state = snapshot

    def key(self, snapshot):
        return snapshot

    def step(self, action):
        assert self.state not in self.ends, "step after the end of an episode"
        before = self.state
        following = self.next[before][action]
        self.state = following[int(self.random.integers(len(following)))]
        reward = self.rewards[before][action][self.state]
        self.record.append((before, action, reward, self.state))
        return self.state, reward, self.state in self.ends

    def mask(self, state):
        return self.legal[state]

    def value(self, discount):
        """Return the value of every state and of every pair, by value iteration."""
        values = [0.0] * len(self.next)
        for _ in range(math.ceil(math.log(1e-12) / math.log(discount))):
            pairs = [
                [
                    math.fsum(self.rewards[s][a][t] + discount * values[t] for t in self.next[s][a])
                    / len(self.next[s][a])
                    for a in self.actions
                    if self.legal[s][a]
                ]
                for s in range(len(self.next))
            ]
            values = [0.0 if s in self.ends else max(pairs[s]) for s in range(len(values))]
        return values, pairs


def started(world, **options):
    """Return an agent, after the check of the simulator, which is not recorded."""
    agent = planning.Agent(world, **options)
    with agent.model.present(world.state):
        world.record.clear()
    return agent


def close(value, size):
    return pytest.approx(value, rel=1e-5, abs=1e-5 * size)


# ---------------------------------------------------------------------- deterministic worlds


@given(seeds, discounts, st.integers(1, 4), st.integers(0, 3))
def test_an_exhausted_graph_is_optimal(seed, discount, actions, ends):
    world = Table(seed, actions=actions, ends=ends)
    found = planning.plan(world, budget=1000, discount=discount, rng=seed)
    assert found.stopped_by == "exhausted"
    values, pairs = world.value(discount)
    size = max(map(abs, values))
    assert found.certificate.upper == close(values[0], size)
    # What the path does not reach any more is the value of its last state.
    total = 0.0
    for i, action in enumerate(found.actions):
        assert pairs[world.state][action] == close(values[world.state], size)
        _, reward, ended = world.step(action)
        total += discount**i * reward
    assert found.value == pytest.approx(total, rel=1e-12, abs=1e-12)
    assert ended or len(found.actions) == found.depth
    assert total + discount ** len(found.actions) * values[world.state] == close(values[0], size)
    assert found.std == 0.0
    assert found.certificate.lower == found.certificate.upper
    assert not found.certificate.conditional
    assert "no plan of any length" in repr(found)


@pytest.mark.parametrize("discount", [0.999, 1.0])
def test_discounts_of_almost_one(discount):
    world = Table(3, states=15)
    found = planning.plan(world, budget=1000, discount=discount, rng=0)
    assert found.stopped_by == "exhausted"
    values, _ = world.value(0.999)
    total = math.fsum(discount**i * world.step(a)[1] for i, a in enumerate(found.actions))
    assert found.value == pytest.approx(total, rel=1e-9)
    assert found.policy.values[found.policy.root.index] == pytest.approx(values[0], rel=1e-5)
    assert (found.certificate is None) == (discount == 1.0)


@given(seeds, st.integers(1, 12))
def test_no_pair_is_simulated_twice(seed, budget):
    world = Table(seed, states=12, ends=0)
    agent = started(world, budget=budget, rng=seed)
    known = set()
    for _ in range(10):
        action = agent.act()
        assert len(world.record) == agent.last.calls == agent.last.plays <= budget
        new = Counter(step[:2] for step in world.record)
        assert max(new.values(), default=0) <= 1
        assert known.isdisjoint(new)
        assert agent.last.kept == len(known)
        known.update(new)
        world.step(action)
        world.record.clear()
    assert agent.surprises == 0


@given(seeds, st.integers(0, 11))
def test_the_root_can_be_moved(seed, place):
    """What is known holds wherever the world is, and an old plan is about its own state."""
    world = Table(seed, states=12, ends=1)
    place = min(place, 10)
    agent = started(world, budget=1000, rng=seed)
    agent.act()
    first, pairs = agent.last, {step[:2] for step in world.record}
    choices = first.choices
    world.record.clear()
    world.state = place
    agent.act()
    assert agent.last.kept == len(pairs)
    assert pairs.isdisjoint(step[:2] for step in world.record)
    values, pairs_values = world.value(0.95)
    size = max(map(abs, values))
    assert agent.last.certificate.upper == close(values[place], size)
    for choice, value in zip(agent.last.choices, pairs_values[place], strict=True):
        assert choice.mean == close(value, size)
    assert first.certificate.upper == close(values[0], size)
    assert [choice.mean for choice in choices] == [
        close(first.policy.describe((a,))[0], size) for a in range(3)
    ]


def test_a_state_that_was_not_expected():
    world = Table(0, states=12, ends=0)
    agent = started(world, budget=5, rng=0)
    world.step(agent.act())
    world.state = (world.state + 1) % 12
    agent.act()
    assert agent.surprises == 1
    assert agent.last.note == "the environment is not in the expected state"
    assert agent.last.kept == 5


def test_an_end_has_value_zero():
    world = Table(1, states=4, ends=3)
    world.next = [[[1], [2], [3]]] * 4
    found = planning.plan(world, budget=10, rng=0)
    rewards = [world.rewards[0][a][a + 1] for a in range(3)]
    assert found.value == max(rewards)
    assert found.path == (int(np.argmax(rewards)),)
    assert [choice.mean for choice in found.choices] == rewards
    assert found.policy.values[0] == 0.0
    assert found.calls == 3


def test_contents_of_a_plan():
    found = planning.plan(Table(0), budget=8, rng=0)
    assert isinstance(found.policy, GraphPolicy)
    assert found.stopped_by == "budget"
    assert found.certificate is None
    assert found.plays == found.calls == 8
    assert found.depth == 45
    assert "8 steps" in repr(found)
    assert sum("*" in line for line in found.tree(depth=2).splitlines()) == 2
    with pytest.raises(ValueError, match="merge_states=False"):
        _ = found.searcher


# ---------------------------------------------------------------------- random worlds


@pytest.mark.parametrize("seed", range(8))
def test_with_many_samples_a_random_world_is_solved(seed):
    world = Table(seed, states=5, actions=2, outcomes=2)
    found = planning.plan(world, budget=20_000, discount=0.8, rng=seed)
    values, pairs = world.value(0.8)
    assert pairs[0][found.action] == max(pairs[0])
    assert found.value == pytest.approx(values[0], abs=0.1)
    assert found.stopped_by == "budget"
    assert found.calls == 20_000


class Slippery:
    """Places -5 to 3, from 0 on; a step goes astray one time in five, and 3 is the goal."""

    actions = (-1, 1)

    def __init__(self):
        self.place, self.random = 0, np.random.default_rng(0)

    def snapshot(self):
        return self.place

    def restore(self, snapshot):
        self.place = snapshot

    def key(self, snapshot):
        return snapshot

    def reseed(self, seed):
        self.random = np.random.default_rng(seed)

    def step(self, action):
        change = action if self.random.random() < 0.8 else -action
        self.place = max(self.place + change, -5)
        return self.place, float(self.place == 3), self.place == 3


def test_every_action_of_a_random_world_is_tried():
    right = 0
    for seed in range(10):
        agent = planning.Agent(Slippery(), budget=1500, rng=seed)
        right += agent.act() == 1
        assert all(choice.plays for choice in agent.last.choices)
    assert right >= 9


@given(seeds, discounts, st.integers(1, 200), st.sampled_from([1, 2]))
def test_values_are_those_of_what_was_observed(seed, discount, budget, outcomes):
    """Value iteration on the observed outcomes; untried pairs have the mean reward until the end.

    With random transitions the mean counts as one trial of each pair.
    """
    world = Table(seed, outcomes=outcomes)
    agent = started(world, budget=budget, discount=discount, rng=seed)
    agent.act()
    trials = {}
    for before, action, reward, after in world.record:
        trials.setdefault((before, action), []).append((reward, after))
    mean = math.fsum(step[2] for step in world.record) / len(world.record)
    continues = sum(step[3] not in world.ends for step in world.record) / len(world.record)
    expected = mean / (1 - discount * continues)
    values = dict.fromkeys(range(len(world.next)), 0.0)
    for _ in range(math.ceil(math.log(1e-12) / math.log(discount))):
        pairs = {}
        for pair, seen in trials.items():
            total = math.fsum(reward + discount * values[after] for reward, after in seen)
            prior = int(outcomes > 1)
            pairs[pair] = (total + prior * expected) / (len(seen) + prior)
        values = {
            s: 0.0 if s in world.ends else max(pairs.get((s, a), expected) for a in world.actions)
            for s in values
        }
    policy = agent.last.policy
    size = max(map(abs, values.values()))
    found = policy.solve([expected] * len(policy.states), 0.0)
    assert policy.values[policy.root.index] == close(values[0], size)
    for key, state in policy._by_key.items():
        assert found[state.index] == close(values[key], size)
    for choice in agent.last.choices:
        if choice.plays:
            assert choice.mean == close(pairs[0, choice.action], size)
        else:
            assert (0, choice.action) not in trials


# ---------------------------------------------------------------------- both


@given(
    seeds, st.sampled_from([1, 2]), st.sampled_from(["gpts", "uct", "olop", "random"]),
    st.booleans(), st.integers(1, 60),
)  # fmt: skip
def test_illegal_actions_are_never_simulated(seed, outcomes, searcher, merged, budget):
    world = Table(seed, outcomes=outcomes, legal=0.6)
    options = {"searcher": searcher, "merge_states": merged, "mask": world.mask}
    agent = planning.Agent(world, budget=budget, rng=seed, **options)
    for _ in range(4):
        action = agent.act(world.state)
        assert world.legal[world.state][action]
        if world.step(action)[2]:
            break
    assert all(world.legal[state][action] for state, action, *_ in world.record)
    if searcher == "gpts" and merged and outcomes == 1:
        alone = Table(seed, legal=0.6)
        agent = planning.Agent(alone, budget=1000, mask=alone.mask, rng=seed)
        agent.act(alone.state)
        values, _ = alone.value(0.95)
        assert agent.last.certificate.upper == close(values[0], max(map(abs, values)))


@given(seeds, st.integers(1, 40), st.integers(1, 4), st.sampled_from([1, 2]))
def test_the_budget_is_respected(seed, budget, repeat, outcomes):
    world = Table(seed, outcomes=outcomes, ends=2)
    agent = started(world, budget=max(budget, repeat), repeat=repeat, rng=seed)
    for _ in range(4):
        before = len(world.record)
        action = agent.act()
        if agent.last.plays:
            assert len(world.record) - before <= max(budget, repeat)
        if world.step(action)[2]:
            break


@pytest.mark.parametrize("outcomes", [1, 2])
def test_a_seed_repeats_all_decisions(outcomes):
    def play(seed):
        world = Table(0, states=30, outcomes=outcomes, ends=0)
        agent = planning.Agent(world, budget=15, rng=seed)
        for _ in range(8):
            world.step(agent.act())
        return world.record

    assert play(1) == play(1)
    assert play(1) != play(2)


# ---------------------------------------------------------------------- many states


class Endless:
    """Places on a line without ends: action 0 stays, the others lead on by their number."""

    deterministic = True
    actions = (0, 1, 2)

    def __init__(self):
        self.place = 0

    def snapshot(self):
        return self.place

    def restore(self, snapshot):
        self.place = snapshot

    def step(self, action):
        self.place += action
        return self.place, float(action), False


def test_more_states_than_are_kept(monkeypatch):
    monkeypatch.setattr("bough.planning.graph.MOST_STATES", 20)
    world = Endless()
    agent = planning.Agent(world, budget=200, rng=0)
    for _ in range(5):
        world.step(agent.act())
        assert agent.last.stopped_by == "states"
        assert agent.last.certificate is None
        assert len(agent.last.actions) > 5  # (it does not stop at the root)
        assert len(agent.planner.policy.states) < 20 * 4


def test_a_closed_part_is_exhausted_whatever_is_kept(monkeypatch):
    world = Table(3, states=7)
    found = planning.plan(world, budget=500, rng=0)
    monkeypatch.setattr("bough.planning.graph.MOST_STATES", 8)  # (one is the end)
    assert planning.plan(world, budget=500, rng=0).stopped_by == found.stopped_by == "exhausted"


def test_random_worlds_have_no_maximum_of_states(monkeypatch):
    plans = []
    for most in (100_000, 3):
        monkeypatch.setattr("bough.planning.graph.MOST_STATES", most)
        plans.append(planning.plan(Table(1, outcomes=2), budget=300, rng=0))
    assert plans[0].choices == plans[1].choices
    assert plans[1].stopped_by == "budget"
