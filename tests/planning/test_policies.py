"""Policies: rollouts, units and noise of rewards, the belief of GPTS, rules of the baselines."""

import itertools
import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import Chain

import bough
from bough import planning
from bough.planning.decision import PlanSettings
from bough.planning.model import GenerativeModel
from bough.planning.planner import Planner
from bough.planning.playouts import Playout
from bough.planning.rewards import (
    LEAST_SIGNAL,
    PRIOR_NOISE_SHARE,
    PRIOR_WEIGHT,
    RewardScale,
    StepNoise,
    exact_sum,
    survival,
)
from bough.planning.rollouts import PAIRS, STEPS, RolloutPolicy

plays_of_paths = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 2), st.floats(-5, 5)), min_size=1, max_size=6),
        st.booleans(),
    ),
    min_size=1,
    max_size=30,
).map(
    lambda made: [
        Playout(tuple(a for a, _ in steps), tuple(r for _, r in steps), ended, ())
        for steps, ended in made
    ]
)


# ---------------------------------------------------------------------- the rollout policy


def choices(count):
    """Return all that a rollout policy reads of a simulation."""
    return SimpleNamespace(choices=range(count))


@given(plays_of_paths, st.floats(0.1, 0.99), st.floats(-3, 3), st.integers(1, 8), st.integers(0, 9))
def test_the_rollout_policy_prefers_the_best_ends(plays, discount, center, depth, seed):
    policy = RolloutPolicy(choices(3), discount, random.Random(seed))
    returns = {}
    for play in plays:
        policy.add(play, center)
        for i in range(1, len(play.rewards)):
            # The reward of the end, if there was one, less what is expected from there on.
            away = len(play.rewards) - 1 - i
            worth = play.rewards[-1] - center / (1 - discount)
            value = discount**away * worth if play.ended else 0.0
            returns.setdefault(play.path[i - 1], {}).setdefault(play.path[i], []).append(value)
    path = policy.complete((0,), depth)
    assert len(path) == depth
    assert path[0] == 0
    assert set(path) <= {0, 1, 2}
    for before in range(3):
        found = {a: np.mean(values) for a, values in returns.get(before, {}).items()}
        best = policy.best_after(before)
        if len(found) < 3:
            assert best is None
        else:
            assert best
            for action in best:
                assert found[action] == pytest.approx(max(found.values()), rel=1e-9, abs=1e-9)


def test_the_rollout_policy_is_epsilon_greedy():
    policy = RolloutPolicy(choices(2), 0.9, random.Random(0))
    for action in (0, 1):
        for after in (0, 1):
            # An episode ends when an action is repeated.
            policy.add(Playout((action, after), (1.0, 1.0), action == after, ()), 0.5)
    pairs = list(itertools.pairwise(policy.complete((0,), 10_000, PAIRS)))
    changes = np.mean([one != other for one, other in pairs])
    assert 0.965 < changes < 0.985  # half of the random actions, one in twenty, are the same


def test_without_an_end_the_rollout_policy_is_uniform():
    policy = RolloutPolicy(choices(2), 0.9, random.Random(0))
    for action, after in itertools.product((0, 1), repeat=2):
        policy.add(Playout((action, after), (1.0, float(after)), False, ()), 0.5)
    pairs = list(itertools.pairwise(policy.complete((0,), 10_000, PAIRS)))
    assert all(0.23 < pairs.count(p) / 10_000 < 0.27 for p in itertools.product((0, 1), repeat=2))


@given(plays_of_paths, st.floats(0.1, 0.99), st.integers(0, 3))
def test_averages_by_step_are_those_of_the_returns(plays, discount, advances):
    policy = RolloutPolicy(choices(3), discount, random.Random(0))
    center, returns = 0.5, {}
    for play in plays:
        policy.add(play, center)
        rest = [reward - center for reward in play.rewards]
        end = -center / (1 - discount) if play.ended else 0.0
        for i in range(len(rest)):
            weights = discount ** np.arange(len(rest) - i)
            total = weights @ rest[i:] + discount ** (len(rest) - i) * end
            returns.setdefault(i, {}).setdefault(play.path[i], []).append(total)
    for _ in range(advances):
        policy.advance()
    expected = [returns[i] for i in sorted(returns)][advances:]
    assert len(policy.returns) == len(expected)
    for step, found in zip(policy.returns, expected, strict=True):
        values = [value for group in found.values() for value in group]
        assert step.mean == pytest.approx(np.mean(values), abs=1e-9)
        assert step.squares == pytest.approx(np.var(values) * len(values), rel=1e-6, abs=1e-6)
        means = {action: average.mean for action, average in step.by_action.items()}
        assert means == pytest.approx({a: np.mean(group) for a, group in found.items()}, abs=1e-9)
        counts = {action: average.count for action, average in step.by_action.items()}
        assert counts == {action: len(group) for action, group in found.items()}


def test_rollouts_by_step_take_the_best_action_of_each_step():
    policy = RolloutPolicy(choices(3), 0.9, random.Random(0))
    best, draws = (2, 0, 1, 1, 2, 0), random.Random(1)
    for _ in range(300):
        path = tuple(draws.randrange(3) for _ in best)
        rewards = tuple(float(a == b) for a, b in zip(path, best, strict=True))
        policy.add(Playout(path, rewards, False, ()), 1 / 3)
    found = np.array([policy.complete((2,), len(best), STEPS) for _ in range(1000)])
    shares = (found[:, 1:] == best[1:]).mean(axis=0)
    assert all(shares > 0.95)  # two of three random actions, one in twenty, are others
    assert all(shares < 0.99)
    policy.clear()
    assert policy.returns == []


# ---------------------------------------------------------------------- units and noise


@given(plays_of_paths, st.floats(0.1, 1.0), st.booleans())
def test_the_units_include_what_is_lost_by_an_end(plays, discount, continues):
    depth = 6
    scale = RewardScale(discount, depth, continues=continues)
    whole = [play for play in plays if play.ended or len(play.rewards) == depth]
    for play in plays:
        scale.add(play.rewards, play.ended)
    center, unit = scale.fitted()
    if not whole:
        return
    rewards = np.array([[*play.rewards, *[0.0] * (depth - len(play.rewards))] for play in whole])
    assert center == pytest.approx(rewards.mean(), abs=1e-9)
    weights = discount ** np.arange(depth)
    forever = discount**depth / (1 - discount) if discount < 1 else math.inf
    beyond = min(forever, weights.sum()) if continues else 0.0
    worth = rewards @ weights - center * beyond * np.array([play.ended for play in whole])
    spread = math.sqrt(np.sum(weights**2))
    expected = max(worth.std(), rewards.std() * spread)
    if expected > 1e-3:
        assert unit == pytest.approx(expected, rel=1e-4)


@given(st.lists(st.floats(-1e50, 1e50) | st.sampled_from([1.0, 1e16, -1e16, 0.1]), max_size=20))
def test_a_sum_is_rounded_once(terms):
    assert exact_sum(terms) == math.fsum(terms)
    assert str(exact_sum(terms)) == str(math.fsum(terms))  # -0.0, too


@given(
    plays=st.lists(
        st.tuples(
            st.lists(st.integers(0, 1), min_size=1, max_size=4),
            st.lists(st.sampled_from([-1.0, 0.0, 0.5, 3.0]), min_size=1, max_size=4),
        ),
        max_size=12,
    )
)
def test_the_noise_is_that_of_repeated_steps(plays):
    noise, groups = StepNoise(), {}
    for path, rewards in plays:
        rewards = rewards[: len(path)]
        noise.add(Playout(tuple(path), tuple(rewards), False, ()))
        for i in range(len(path)):
            reward = rewards[i] if i < len(rewards) else 0.0
            groups.setdefault(tuple(path[: i + 1]), []).append(reward)
    squares = sum(len(group) * np.var(group) for group in groups.values())
    freedom = [0] * max((len(path) for path, _ in plays), default=0)
    for node, group in groups.items():
        freedom[len(node) - 1] += len(group) - 1
    assert noise.freedom == freedom
    assert noise.squares == pytest.approx(squares, abs=1e-9)
    reached = [1.0, 0.5, 0.25, 0.25]
    share = noise.share(2.0, reached)
    expected = sum(n * s for n, s in zip(freedom, reached, strict=False))
    prior = PRIOR_WEIGHT * PRIOR_NOISE_SHARE
    assert share == pytest.approx(
        min((squares / 2.0 + prior) / (expected + PRIOR_WEIGHT), 1.0 - LEAST_SIGNAL)
    )
    assert StepNoise().share(0.0, reached) == StepNoise().share(2.0, reached)


@given(plays_of_paths, st.integers(1, 8))
def test_survival_is_the_share_of_playouts_that_reach_a_step(plays, depth):
    shares = survival(plays, depth)
    assert shares[0] == 1.0
    assert all(0.0 < after <= before for before, after in itertools.pairwise(shares))
    lengths = [(len(play.rewards), play.ended) for play in plays]
    for i in range(1, depth):
        # Those that came that far, and one more that goes on for ever.
        here = 1 + sum(length >= i for length, _ in lengths)
        ends = sum(length == i and ended for length, ended in lengths)
        assert shares[i] == pytest.approx(shares[i - 1] * (here - ends) / here)
    if all(ended or length >= depth for length, ended in lengths):  # none was cut off
        counts = [1 + sum(length > i for length, _ in lengths) for i in range(depth)]
        assert shares == pytest.approx([count / (1 + len(plays)) for count in counts])


@given(plays_of_paths, st.floats(0.1, 1.0))
def test_the_units_of_random_worlds_are_those_of_the_steps_that_are_taken(plays, discount):
    depth = 6
    scale = RewardScale(discount, depth)
    whole = [play for play in plays if play.ended or len(play.rewards) == depth]
    for play in plays:
        scale.add(play.rewards, play.ended)
    reached = survival(plays, depth)
    center, unit = scale.fitted_to(reached)
    if not any(len(play.rewards) < depth for play in whole):
        assert (center, unit) == scale.fitted()
        return
    rewards = np.concatenate([play.rewards for play in whole])
    assert center == pytest.approx(rewards.mean(), abs=1e-9)
    spread = math.sqrt(sum(discount ** (2 * i) * share for i, share in enumerate(reached)))
    expected = max(scale.fitted()[1], rewards.std() * spread)
    assert unit == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(st.floats(0.01, 1e6), st.integers(0, 3), st.booleans())
def test_the_units_of_rewards_do_not_matter(scale, seed, merge_states):
    table = [0.3, -1.0, 2.0, 0.7, 1.1]
    options = {"budget": 60, "merge_states": merge_states, "rng": seed}
    one = planning.plan(Chain(table), **options)
    # A power of two changes no rounding.
    unit = 2.0 ** round(math.log2(scale))
    other = planning.plan(Chain([unit * r for r in table]), **options)
    assert one.actions == other.actions
    assert other.value == pytest.approx(unit * one.value, rel=1e-12)


def test_only_agents_look_beyond_the_horizon():
    """A plan that is followed to its end ignores later rewards."""
    whole = planning.plan(Chain([1.0, 2.0]), budget=5, depth=3, rng=0)
    assert whole.policy.scale.beyond == 0.0
    agent = planning.Agent(Chain([1.0, 2.0]), budget=5, depth=3, rng=0)
    agent.act()
    assert agent.last.policy.scale.beyond == pytest.approx(sum(0.95**i for i in range(3)))


def test_an_end_in_the_last_step_has_a_cost():
    class Cliff(Chain):
        """Action 3 has a higher reward and ends the episode."""

        def step(self, action):
            self.steps += 1
            self.state += 1
            return self.state, 1.2 if action == 3 else 1.0, action == 3

    agent = planning.Agent(Cliff([0.0], 4), budget=9, depth=2, rng=0)
    for _ in range(20):
        assert agent.act() != 3
        agent.env.state += 1


# ---------------------------------------------------------------------- the belief


def scratch_belief(planner, rewards, noise):
    """Return a new belief with the playouts of a planner."""
    policy = planner.policy
    depth = policy.tree.depth
    weights = np.array(policy.weights)
    reached = np.array(policy.reached)
    spreads = weights * np.sqrt(reached)
    variance = 1 / np.sum(spreads**2)
    kernel = bough.kernels.Chi.of_increments([0.0, *(variance * spreads**2)])
    belief = bough.Belief(policy.tree, kernel, policy.noise)
    for play in policy.playouts:
        taken, length = len(play.rewards), len(play.path)
        given = np.array([*play.rewards, *[0.0] * (length - taken)])
        steps = weights[:length] * (given - policy.center * reached[:length]) / policy.unit
        if play.ended and not noise:
            beyond = min(policy.discount**depth / (1 - policy.discount), weights.sum())
            steps[-1] -= policy.center * (weights[length:].sum() + beyond) / policy.unit
        if rewards == "steps":
            noises = policy.step_noises[0] * spreads[:length]
            belief.observe_steps(play.path, steps.tolist(), noise=noises.tolist())
        if rewards == "sum" or not noise:
            missing = 0.0 if play.ended else variance * np.sum(spreads[length:] ** 2)
            deviation = math.sqrt(policy.noise**2 + missing)
            belief.observe(play.path, float(steps.sum()), noise=deviation)
    return belief, depth


@pytest.mark.parametrize("rewards", ["steps", "sum"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("ends", [(), {4}])
def test_the_next_belief_has_the_observations_below_the_action(ends, noise, rewards):
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2, -0.4, 0.8], 2, ends=ends, noise=noise)
    agent = planning.Agent(world, budget=60, depth=6, rewards=rewards, rng=0)
    taken = came = None
    for _ in range(5):
        before = agent.planner.policy
        action = agent.act()
        kept = agent.last.kept
        if before is not None:
            # The playouts below the action that was taken, one step shorter.
            below = [p for p in before.playouts if p.path[0] == taken and len(p.rewards) > 1]
            below = [p for p in below if not noise or p.states[0] == came]
            expected = [(p.path[1:], p.rewards[1:], p.ended) for p in below]
            assert [p[:3] for p in agent.planner.policy.playouts[:kept]] == expected[-kept:]
            assert kept > 0 or not expected
        belief, depth = scratch_belief(agent.planner, rewards, noise)
        paths = list(itertools.product((0, 1), repeat=depth))
        if not noise:
            ended = {p.path for p in agent.planner.policy.playouts if p.ended}
            paths = [p for p in paths if not any(p[: len(e)] == e for e in ended)] + sorted(ended)
        now = agent.planner.policy.belief
        for one, other in zip(now.posterior(paths), belief.posterior(paths), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        taken = agent.last.path[0]
        came, _, over = world.step(action)
        if over:
            break


def test_the_text_of_a_tree_stops_at_ends():
    found = planning.plan(Chain([0.1, 0.7, 0.3, 0.9, 0.2], 3, ends=(4,)), budget=60, depth=6, rng=0)
    ended = {p.path for p in found.policy.playouts if p.ended}
    assert any(len(path) < 3 for path in ended)
    assert found.tree(depth=4).startswith("the next actions")
    assert math.isnan(found.policy.describe((*min(ended), 0))[0])


class Bandit:
    """Episodes of one step, or of two, whose noisy rewards depend on the actions taken."""

    deterministic = False
    state = (0.5,)  # not whole numbers: such states are not merged

    def __init__(self, means, last=None):
        self.means, self.last, self.actions = means, last, range(len(means))

    def reseed(self, seed):
        self.random = np.random.default_rng(seed)

    def snapshot(self):
        return self.state

    def restore(self, snapshot):
        self.state = snapshot

    def step(self, action):
        rewards = self.means if len(self.state) == 1 else self.last[self.state[1]]
        self.state = (0.5, action)
        is_last = self.last is None or rewards is not self.means
        return None, rewards[action] + self.random.normal(), is_last


@pytest.mark.parametrize("rewards", ["steps", "sum"])
@pytest.mark.parametrize("expected", [-5.0, 0.0, 5.0])
def test_the_first_action_of_short_random_episodes_is_not_left_to_chance(expected, rewards):
    """Ten actions, one step of 17 that a path could have: the belief is about that step."""
    losses = []
    for seed in range(30):
        means = expected + 0.5 * np.random.default_rng(seed).normal(size=10)
        found = planning.plan(Bandit(means), budget=200, rewards=rewards, rng=seed)
        assert found.depth == 17
        reached = found.policy.reached
        assert reached[0] == 1.0
        assert reached[1] < 0.01
        assert len(found.actions) == 1
        losses.append(max(means) - means[found.path[0]])
    assert np.mean(losses) < 0.06  # 0.8 by chance; 0.07 to 0.36 if the prior is about 17 steps


def test_both_steps_of_a_short_random_episode_count():
    losses = []
    for seed in range(30):
        random = np.random.default_rng(seed)
        first, last = 2.0 + 0.4 * random.normal(size=3), 2.0 + 0.4 * random.normal(size=(3, 3))
        found = planning.plan(Bandit(first, last), budget=400, rng=seed)
        values = first + 0.95 * last.max(axis=1)
        losses.append(max(values) - values[found.path[0]])
    assert np.mean(losses) < 0.1  # 0.5 by chance; 0.23 if the prior is about 24 steps


# ---------------------------------------------------------------------- baselines


@given(
    st.sampled_from(["kl_olop", "olop", "random", "uct"]), st.integers(10, 120), st.booleans(),
    st.integers(0, 10**6),
)  # fmt: skip
def test_the_first_action_follows_the_rule_of_the_algorithm(searcher, budget, noisy, seed):
    world = Chain([0.3, -1.0, 2.0, 0.7, 1.1, 0.2, 5.0], 3, noise=0.4 * noisy, seed=seed)
    agent = planning.Agent(world, budget=budget, depth=4, searcher=searcher, rng=seed)
    action = agent.act()
    totals = {}
    for play in agent.planner.policy.playouts:
        total = sum(0.95**i * reward for i, reward in enumerate(play.rewards))
        totals.setdefault(play.path[0], []).append(total)
    assert agent.last.path[0] == action
    if searcher not in ("random", "uct"):
        most = max(len(some) for some in totals.values())
        totals = {a: some for a, some in totals.items() if len(some) == most}
    means = {a: np.mean(some) for a, some in totals.items()}
    assert means[action] == pytest.approx(max(means.values()), rel=1e-9, abs=1e-9)


def test_random_search_averages_over_paths():
    """Of two actions the first is better on average, and the second has the best single path."""

    class Lucky:
        actions = (0, 1)
        state = ()

        def snapshot(self):
            return self.state

        def restore(self, snapshot):
            self.state = snapshot

        def step(self, action):
            self.state = (*self.state, action)
            reward = 5.0 if self.state == (1, 1, 1) else float(self.state[0] == 0)
            return None, reward, False

    settings = PlanSettings(budget=600, depth=3, searcher="random", discount=1.0)
    found = Planner(GenerativeModel(Lucky()), settings, 0).plan(())
    assert found.path[0] == 0
    assert found.value == 3.0
    whole = Planner(GenerativeModel(Lucky()), settings, 0, receding=False).plan(())
    assert whole.path == (1, 1, 1)
