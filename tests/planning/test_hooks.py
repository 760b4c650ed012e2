"""Functions of the user: value, policy, rollout and mask, on trees of paths and on the graph."""

import math

import numpy as np
import pytest
from worlds import Chain

from bough import Tree, planning
from bough.planning.policies import PUCT

gymnasium = pytest.importorskip("gymnasium")


class Line(Chain):
    """Places 0, 1, 2, ... without rewards: action 0 leads by 1 and action 1 by 2, and so on."""

    def __init__(self, actions=2, noise=0.0):
        super().__init__([0.0], actions, noise=noise)
        self.taken = []  # pairs of a place and an action

    def step(self, action):
        self.steps += 1
        self.taken.append((self.state, action))
        self.state += action + 1
        return self.state, 0.0, False


kinds = pytest.mark.parametrize(
    ("noise", "merge_states"), [(0.0, True), (0.0, False), (0.5, False)],
    ids=["graph", "tree", "random"],
)  # fmt: skip


def started(world, **options):
    agent = planning.Agent(world, rng=0, **options)
    with agent.model.present(world.state):
        world.taken.clear()
    return agent


# ---------------------------------------------------------------------- value


@kinds
@pytest.mark.parametrize("better", [0, 1])
def test_a_value_function_decides_where_there_are_no_rewards(noise, merge_states, better):
    def value(place):  # it stays the same with the better action, and decreases with the other
        return 0.95 ** (-place / 2) if better else -(0.95**-place)

    world = Line(noise=noise)
    depth = None if merge_states else 2
    options = {"budget": 40, "depth": depth, "merge_states": merge_states}
    agent = started(world, value=value, **options)
    for _ in range(3):
        action = agent.act(world.state)
        assert action == better
        world.step(action)


def test_the_value_of_a_plan_includes_that_of_its_last_state():
    found = planning.plan(Line(), budget=100, depth=3, discount=0.5, value=lambda s: s, rng=0)
    assert found.actions == (1, 1, 1)
    assert found.value == pytest.approx(0.5**3 * 6)


def test_a_value_of_zero_is_a_value():
    """The expected rewards beyond the depth are not added to it."""

    class Fork(Line):
        def step(self, action):
            super().step(action)
            return self.state, 1.0 + 0.1 * action, action == 1

    options = {"budget": 20, "depth": 1, "rng": 0}
    assert planning.Agent(Fork(), **options).act() == 0  # which does not end
    assert planning.Agent(Fork(), value=lambda place: 0.0, **options).act() == 1
    assert planning.Agent(Fork(), value=lambda place: 1.0, **options).act() == 0


def test_a_crude_value_function_helps_to_balance_the_pole():
    def balance(**options):
        env = gymnasium.make("CartPole-v1")
        agent = planning.Agent(env, budget=20, rng=0, **options)
        return agent.run(2, seed=0, most_steps=400, progress=False).steps

    def crude(seen):
        return 20 * (1 - abs(seen[2]) / 0.21 - abs(seen[0]) / 2.4)

    assert balance(value=crude) > balance()


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e60, None, "1"])
@kinds
def test_invalid_values(value, noise, merge_states):
    world = Line(noise=noise)
    with pytest.raises((ValueError, TypeError), match=r"value\(observation\) must be"):
        planning.plan(world, budget=20, value=lambda place: value, merge_states=merge_states, rng=0)
    assert world.state == 0


# ---------------------------------------------------------------------- policy


@kinds
def test_actions_without_weight_are_tried_last(noise, merge_states):
    world = Line(3, noise=noise)
    agent = started(world, budget=60, policy=lambda place: [0, 0, 1], merge_states=merge_states)
    agent.act(world.state)
    tried = {}
    for place, action in world.taken:
        tried.setdefault(place, []).append(action)
    # (With random transitions the first actions of a path are those of the belief.)
    places = [place for place in tried if place > 3 or noise == 0.0]
    first = [tried[place][0] == 2 for place in places]
    assert np.mean(first) > 0.9 if noise else all(first)


@kinds
def test_weights_are_those_of_the_actions(noise, merge_states):
    """The policy sees the observation of each state."""
    world = Line(2, noise=noise)
    options = {"budget": 60, "merge_states": merge_states}
    agent = started(world, policy=lambda place: [place % 2, (place + 1) % 2], **options)
    agent.act(world.state)
    first = {}
    for place, action in world.taken:
        first.setdefault(place, action)
    if noise == 0.0:
        assert all(action == (place + 1) % 2 for place, action in first.items())


@pytest.mark.parametrize(
    "weights", [[1.0], [1.0] * 3, [1.0, -1.0], [1.0, math.nan], [0.0, 0.0], [1.0, "a"], None, 3.0]
)
@kinds
def test_invalid_weights(weights, noise, merge_states):
    world = Line(noise=noise)
    options = {"budget": 50, "merge_states": merge_states, "rng": 0}
    with pytest.raises((ValueError, TypeError), match=r"policy\(observation\)"):
        planning.plan(world, policy=lambda place: weights, **options)
    assert world.state == 0


def test_a_policy_is_for_discrete_actions():
    env = gymnasium.make("Pendulum-v1")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="policy is for discrete actions"):
        planning.plan(env, budget=20, policy=lambda seen: [1.0] * 5)


# ---------------------------------------------------------------------- rollout


@kinds
def test_rollouts_are_followed(noise, merge_states):
    world, seen = Line(3, noise=noise), []

    def rollout(place):
        seen.append(place)
        return place % 3

    agent = started(world, budget=60, rollout=rollout, merge_states=merge_states)
    agent.act(world.state)
    assert seen
    first = {}
    for place, action in world.taken:
        first.setdefault(place, action)
    followed = [first[place] == place % 3 for place in first if place > 3]
    assert np.mean(followed) > 0.5
    if merge_states:
        assert all(first[place] == place % 3 for place in first)


def test_rollouts_in_a_box():
    env = gymnasium.make("Pendulum-v1")
    env.reset(seed=0)
    found = planning.plan(env, budget=60, rollout=lambda seen: np.array([0.123]), rng=0)
    assert any(np.allclose(choice.action, 0.123) for choice in found.choices)


@pytest.mark.parametrize("action", [7, "left", None])
@kinds
def test_unknown_actions_of_rollouts(action, noise, merge_states):
    world = Line(noise=noise)
    options = {"budget": 50, "merge_states": merge_states, "rng": 0}
    with pytest.raises(ValueError, match=r"rollout\(observation\) must return one of the actions"):
        planning.plan(world, rollout=lambda place: action, **options)
    assert world.state == 0


@kinds
def test_illegal_actions_of_rollouts(noise, merge_states):
    world = Line(noise=noise)
    options = {"budget": 50, "merge_states": merge_states, "mask": lambda place: [True, False]}
    agent = planning.Agent(world, rollout=lambda place: 1, rng=0, **options)
    with pytest.raises(ValueError, match=r"rollout\(observation\) must return a legal action"):
        agent.act(0)
    assert (0, 1) not in world.taken


# ---------------------------------------------------------------------- mask, and all


@kinds
def test_a_mask_is_respected(noise, merge_states):
    world = Line(3, noise=noise)
    agent = planning.Agent(
        world, budget=40, mask=lambda place: np.arange(3) != place % 3,
        merge_states=merge_states, rng=0,
    )  # fmt: skip
    for _ in range(4):
        world.step(agent.act(world.state))
    assert all(action != place % 3 for place, action in world.taken)


@pytest.mark.parametrize("name", ["value", "policy", "rollout", "mask"])
def test_hooks_must_be_functions(name):
    world = Line()
    for call in (planning.plan, planning.Agent):
        with pytest.raises(TypeError, match=f"{name} must be a function of the observation"):
            call(world, budget=10, **{name: 3})
    assert world.steps == 0


@pytest.mark.parametrize("name", ["value", "policy", "rollout", "mask", "merge_states"])
def test_errors_of_a_function_name_it(name):
    def broken(place):
        raise KeyError("height")

    with pytest.raises(KeyError, match="height") as caught:
        planning.plan(Line(), budget=20, observation=0, rng=0, **{name: broken})
    assert caught.value.__notes__[0] == f"raised by {name}(observation)"


def test_puct_is_its_formula():
    """On two actions: the first plays by hand, with c = 1 and rewards between 0 and 1."""
    search = PUCT(Tree(2, 1), lambda path: [3.0, 1.0], seed=0)
    plays, means = [0, 0], [0.0, 0.0]
    rewards = [0.0, 1.0]
    for t in range(40):
        path = search.ask()
        if t > 1 and min(plays) > 0:
            scores = [
                means[a] + w * math.sqrt(t) / (1 + plays[a]) for a, w in ((0, 0.75), (1, 0.25))
            ]
            assert path == (scores.index(max(scores)),)
        means[path[0]] = rewards[path[0]]
        plays[path[0]] += 1
        search.tell(path, rewards[path[0]])
    assert plays[1] > plays[0]  # the better action, in spite of its lower weight


def test_uct_follows_a_policy():
    world = Chain([0.0] * 6, actions=4)
    for policy in (lambda state: [0.0, 0.0, 1.0, 0.0], None):
        found = planning.plan(
            world, budget=40, depth=4, searcher="uct", policy=policy, observation=0, rng=0
        )
        firsts = {choice.action for choice in found.choices if choice.plays}
        assert firsts == ({2} if policy else {0, 1, 2, 3})


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("searcher", ["uct", "olop", "random"])
def test_rollouts_are_for_gpts(noise, searcher):
    world = Line(noise=noise)
    with pytest.raises(ValueError, match=f"rollout is for gpts: '{searcher}'"):
        planning.plan(world, budget=20, searcher=searcher, rollout=lambda place: 0)
    assert world.steps == 0


@pytest.mark.parametrize("searcher", ["olop", "best_first", "random"])
def test_policies_are_for_gpts_and_uct(searcher):
    world = Line()
    with pytest.raises(ValueError, match=f"policy is for gpts and uct: '{searcher}'"):
        planning.plan(world, budget=20, searcher=searcher, policy=lambda place: [1, 1, 1, 1])
    assert world.steps == 0
