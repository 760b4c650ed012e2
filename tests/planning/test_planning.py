"""Planning on simulators of our own: small worlds whose best plans are known."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bough
from bough import planning
from bough.planning.planner import Planner, Settings, default_horizon, horizon
from bough.planning.playouts import Playout, Playouts, RolloutPolicy, State
from bough.planning.policies import SUM_NOISE
from bough.planning.rewards import RewardScale, StepNoise
from bough.planning.simulator import GenerativeModel

SEARCHERS = ("best_first", "gpts", "kl_olop", "olop", "random", "uct")


class Chain:
    """States 0, 1, 2, ..; actions move by their numbers; rewards come from a table."""

    deterministic = True

    def __init__(self, table, actions=2, ends=(), noise=0.0, seed=0):
        self.table, self.actions, self.ends, self.noise = table, list(range(actions)), ends, noise
        self.random = np.random.default_rng(seed)
        self.deterministic = noise == 0
        self.state, self.steps = 0, 0

    def snapshot(self):
        return self.state

    def restore(self, snapshot):
        self.state = snapshot

    def same(self, one, other):
        return one == other

    def step(self, action):
        assert self.state not in self.ends, "an episode that has ended goes on"
        self.steps += 1
        shift = int(self.random.random() < self.noise)
        self.state = (3 * self.state + action + 1 + shift) % len(self.table)
        return self.state, self.table[self.state], self.state in self.ends


def best_value(world, state, discount, depth):
    """Dynamic programming, a page long in any textbook."""
    if depth == 0:
        return 0.0
    values = []
    for action in world.actions:
        world.restore(state)
        after, reward, ended = world.step(action)
        rest = 0.0 if ended else best_value(world, after, discount, depth - 1)
        values.append(reward + discount * rest)
    return max(values)


tables = st.lists(st.floats(-10, 10, allow_nan=False), min_size=2, max_size=9)


@given(tables, st.integers(1, 3), st.integers(1, 5), st.floats(0.3, 1.0), st.integers(0, 8))
def test_with_enough_steps_the_plan_is_that_of_dynamic_programming(
    table, actions, depth, discount, end
):
    world = Chain(table, actions, ends={end} - {0})
    steps = sum(actions**i for i in range(1, depth + 1))
    found = planning.plan(world, budget=steps, depth=depth, discount=discount, rng=0)
    expected = best_value(Chain(table, actions, ends={end} - {0}), 0, discount, depth)
    assert found.value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.std == 0.0
    # The actions lead to just that, in the world itself.
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
def test_the_budget_is_never_exceeded_and_the_world_is_left_as_it_was(
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
    assert world.steps == found.calls <= budget
    assert world.state == 1
    assert found.action in world.actions


@pytest.mark.parametrize("searcher", SEARCHERS)
@pytest.mark.parametrize("rewards", ["steps", "sum"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_every_searcher_finds_an_obvious_action(searcher, rewards, noise):
    table = [0.0] * 9
    table[2] = 5.0  # where action 1 leads from state 0 (and 0, with luck, if there is noise)
    world = Chain(table, 3, noise=noise if searcher != "best_first" else 0.0)
    found = planning.plan(
        world, budget=400, depth=2, searcher=searcher, rewards=rewards, discount=0.5, rng=0
    )
    assert found.action == 1


def test_best_first_search_is_refused_where_transitions_are_random():
    world = Chain([0.0, 1.0], noise=0.2)
    with pytest.raises(ValueError, match="best_first is for deterministic problems"):
        planning.plan(world, budget=20, searcher="best_first")
    assert world.steps == 0


@given(
    st.sampled_from(["kl_olop", "olop", "random", "uct"]), st.integers(10, 120), st.booleans(),
    st.integers(0, 10**6),
)  # fmt: skip
def test_the_first_action_is_given_out_by_the_rule_of_the_algorithm(searcher, budget, noisy, seed):
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


def test_random_search_does_not_follow_one_lucky_path():
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

    settings = Settings(budget=600, depth=3, searcher="random", discount=1.0)
    found = Planner(GenerativeModel(Lucky()), settings, 0).plan(())
    assert found.path[0] == 0
    assert found.value == 3.0
    whole = Planner(GenerativeModel(Lucky()), settings, 0, receding=False).plan(())
    assert whole.path == (1, 1, 1)


def test_a_simulator_that_others_have_moved_is_brought_back():
    """An agent leaves the simulator elsewhere than where its last play ended."""

    class Hashed(Chain):
        def step(self, action):
            self.state = hash((self.state, action)) % 2**32
            return self.state, self.state / 2**32, False

    for seed in range(60):
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


def test_one_action_and_thousands_of_steps():
    found = planning.plan(Chain([1.0], actions=1), budget=5000, depth=3000, discount=1.0, rng=0)
    assert found.value == 3000.0
    assert found.stopped_by == "exhausted"


@given(
    st.integers(1, 3), st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), max_size=40),
    st.sets(st.integers(1, 8), max_size=4),
)  # fmt: skip
def test_what_is_complete_is_known_at_every_place(actions, paths, ends):
    rollouts = Playouts(
        GenerativeModel(Chain([0.1] * 9, actions, ends=ends)), 1.0, 1, np.random.default_rng(0)
    )
    rollouts.start(0)
    rollouts.set_budget(10**6)
    for path in paths:
        rollouts.play(tuple(action % actions for action in path))

    def complete(place, depth):
        if place.ended or depth == 0:
            return True
        children = place.children
        return len(children) == actions and all(
            complete(child, depth - 1) for child in children.values()
        )

    stack = [rollouts.root]
    while stack:
        place = stack.pop()
        for depth in range(1, 6):
            assert complete(place, depth) == (place.complete >= depth)
        stack.extend(place.children.values())
    for depth in range(1, 6):
        assert (rollouts.root.complete >= depth) == complete(rollouts.root, depth)
        for path in itertools.product(range(actions), repeat=depth):
            found = rollouts.unexplored(path, depth)
            assert (found is None) == complete(rollouts.root, depth)
            if found is not None:
                place = rollouts.root
                for action in found[:-1]:
                    if action not in place.children:
                        assert found == path
                        break
                    place = place.children[action]
                else:
                    assert found[-1] not in place.children


def test_searching_everything_takes_no_longer_per_step_near_the_end():
    """The whole tree is not walked through at every play: places are read a few times each."""
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
        init = State.__init__

        def counted(self, *arguments):
            init(self, *arguments)
            self.children = counted_dict()

        patch.setattr(State, "__init__", counted)
        assert run(9) < 2 * run(6)


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


@pytest.mark.parametrize("reward", [math.nan, math.inf, 1e60])
def test_rewards_that_are_no_numbers_are_refused(reward):
    world = Chain([0.0, reward, 0.0])
    with pytest.raises(ValueError, match="rewards must be finite numbers .* action 0 gave"):
        planning.plan(world, budget=50, rng=0)
    assert world.state == 0


@given(st.floats(0.01, 1e6), st.integers(0, 3))
def test_the_units_of_rewards_do_not_matter(scale, seed):
    table = [0.3, -1.0, 2.0, 0.7, 1.1]
    one = planning.plan(Chain(table), budget=60, rng=seed)
    # A power of two changes no rounding.
    unit = 2.0 ** round(math.log2(scale))
    other = planning.plan(Chain([unit * r for r in table]), budget=60, rng=seed)
    assert one.actions == other.actions
    assert other.value == pytest.approx(unit * one.value, rel=1e-12)


def test_common_prefixes_are_not_simulated_again():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    found = planning.plan(world, budget=1000, depth=6, rng=0)
    assert found.stopped_by == "exhausted"
    assert found.calls == sum(2**i for i in range(1, 7))  # every edge once


def test_a_few_snapshots_are_enough(monkeypatch):
    """Without a snapshot the way is taken again from the last one, and counted."""
    monkeypatch.setattr("bough.planning.playouts.MOST_SNAPSHOTS", 3)
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    found = planning.plan(world, budget=1000, depth=5, rng=0)
    assert found.stopped_by == "exhausted"
    assert world.steps == found.calls > sum(2**i for i in range(1, 6))
    expected = best_value(Chain(world.table), 0, 0.95, 5)
    assert found.value == pytest.approx(expected)
    for budget in range(1, 40):
        assert planning.plan(world, budget=budget, depth=5, rng=0).calls <= budget


def test_the_random_state_of_the_world_is_not_used():
    """Each simulated path is reseeded, so a plan does not know what will be drawn."""

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
    assert len(set(world.seeds)) == found.plays == 600
    assert 0.4 < found.value < 0.6  # whoever knew the numbers to come would expect 1
    assert found.std > 0


# ---------------------------------------------------------------------- agents


def scratch_belief(planner, rewards, noise):
    """The belief that the plays of a planner make, told one by one to a new one."""
    policy = planner.policy
    depth = policy.tree.depth
    weights = np.array(policy.weights)
    variance = 1 / np.sum(weights**2)
    belief = bough.Belief(
        policy.tree, bough.kernels.Discounted(policy.discount, variance), policy.noise
    )
    for play in policy.playouts:
        taken, length = len(play.rewards), len(play.path)
        given = np.array([*play.rewards, *[0.0] * (length - taken)])
        steps = weights[:length] * (given - policy.center) / policy.unit
        if play.ended and not noise:
            beyond = min(policy.discount**depth / (1 - policy.discount), weights.sum())
            steps[-1] -= policy.center * (weights[length:].sum() + beyond) / policy.unit
        if rewards == "steps":
            noises = policy.step_noises[0] * weights[:length]
            belief.observe_steps(play.path, steps.tolist(), noise=noises.tolist())
        if rewards == "sum" or not noise:
            missing = 0.0 if play.ended else variance * np.sum(weights[length:] ** 2)
            told = math.sqrt(policy.noise**2 + missing)
            belief.observe(play.path, float(steps.sum()), noise=told)
    return belief, depth


@pytest.mark.parametrize("rewards", ["steps", "sum"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("ends", [(), {4}])
def test_the_rerooted_belief_is_that_of_what_was_seen_below_the_action(ends, noise, rewards):
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2, -0.4, 0.8], 2, ends=ends, noise=noise)
    agent = planning.Agent(world, budget=60, depth=6, rewards=rewards, rng=0)
    taken = came = None
    for _ in range(5):
        before = agent.planner.policy
        action = agent.act()
        kept = agent.last.kept
        if before is not None:
            # Kept is what was played below the action that was taken, one step shorter.
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


def shown(plan):
    return plan.certificate, plan.choices, plan.tree(), repr(plan)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_old_plans_say_what_was_believed_then(noise):
    """Their searchers have gone on to other decisions meanwhile."""
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
        # (All but the time it took.)
        assert text.splitlines()[:-1] == expected[3].splitlines()[:-1]


@given(
    plays=st.lists(
        st.tuples(
            st.lists(st.integers(0, 1), min_size=1, max_size=4),
            st.lists(st.sampled_from([-1.0, 0.0, 0.5, 3.0]), min_size=1, max_size=4),
        ),
        max_size=12,
    )
)
def test_repeated_steps_tell_the_noise(plays):
    repeats, groups = StepNoise(), {}
    for path, rewards in plays:
        rewards = rewards[: len(path)]
        repeats.add(Playout(tuple(path), tuple(rewards), False, ()))
        for i in range(len(path)):
            reward = rewards[i] if i < len(rewards) else 0.0
            groups.setdefault(tuple(path[: i + 1]), []).append(reward)
    squares = sum(len(group) * np.var(group) for group in groups.values())
    freedom = sum(len(group) - 1 for group in groups.values())
    assert repeats.freedom == freedom
    assert repeats.squares == pytest.approx(squares, abs=1e-9)
    assert 0.0 < repeats.share(2.0) < 1.0
    assert StepNoise().share(0.0) == StepNoise().share(2.0)


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


@given(plays_of_paths, st.floats(0.1, 0.99), st.floats(-3, 3), st.integers(1, 8), st.integers(0, 9))
def test_paths_go_on_as_ended_best_elsewhere(plays, discount, center, depth, seed):
    habits = RolloutPolicy(3, discount, random.Random(seed))
    returns = {}
    for play in plays:
        habits.add(play, center)
        for i in range(1, len(play.rewards)):
            # What the end gave, if there was one, less all that is expected from there on.
            away = len(play.rewards) - 1 - i
            worth = play.rewards[-1] - center / (1 - discount)
            value = discount**away * worth if play.ended else 0.0
            returns.setdefault(play.path[i - 1], {}).setdefault(play.path[i], []).append(value)
    path = habits.complete((0,), depth)
    assert len(path) == depth
    assert path[0] == 0
    assert set(path) <= {0, 1, 2}
    for before in range(3):
        found = {a: np.mean(values) for a, values in returns.get(before, {}).items()}
        best = habits.best_after(before)
        if len(found) < 3:
            assert best is None
        else:
            assert best
            for action in best:
                assert found[action] == pytest.approx(max(found.values()), rel=1e-9, abs=1e-9)


def test_habits_are_kept_but_for_a_whim():
    habits = RolloutPolicy(2, 0.9, random.Random(0))
    for action in (0, 1):
        for after in (0, 1):
            # Two times the same is the end.
            habits.add(Playout((action, after), (1.0, 1.0), action == after, ()), 0.5)
    pairs = list(itertools.pairwise(habits.complete((0,), 10_000)))
    changes = np.mean([one != other for one, other in pairs])
    assert 0.93 < changes < 0.97  # a whim, one time in ten, is as often as not the same


def test_without_an_end_there_are_no_habits():
    habits = RolloutPolicy(2, 0.9, random.Random(0))
    for action, after in itertools.product((0, 1), repeat=2):
        habits.add(Playout((action, after), (1.0, float(after)), False, ()), 0.5)
    pairs = list(itertools.pairwise(habits.complete((0,), 10_000)))
    assert all(0.23 < pairs.count(p) / 10_000 < 0.27 for p in itertools.product((0, 1), repeat=2))


@given(plays_of_paths, st.floats(0.1, 1.0), st.booleans())
def test_the_units_are_those_of_paths_that_lose_what_comes_after_an_end(plays, discount, goes_on):
    depth = 6
    scale = RewardScale(discount, depth, continues=goes_on)
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
    beyond = min(forever, weights.sum()) if goes_on else 0.0
    worth = rewards @ weights - center * beyond * np.array([play.ended for play in whole])
    spread = math.sqrt(np.sum(weights**2))
    expected = max(worth.std(), rewards.std() * spread)
    if expected > 1e-3:
        assert unit == pytest.approx(expected, rel=1e-4)


def test_an_end_in_the_last_step_costs_what_would_come_after_it():
    class Cliff(Chain):
        """To the right more is paid, once."""

        def step(self, action):
            self.steps += 1
            self.state += 1
            return self.state, 1.2 if action == 3 else 1.0, action == 3

    agent = planning.Agent(Cliff([0.0], 4), budget=9, depth=2, rng=0)
    for _ in range(20):
        assert agent.act() != 3
        agent.env.state += 1


class Corridors(Chain):
    """The first action chooses a corridor: one ends after some steps, the other goes on."""

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
def test_of_plans_that_give_the_same_one_that_leads_on_to_more(reward, budget):
    found = planning.plan(Corridors(4, reward), discount=0.9, budget=budget, depth=4, rng=0)
    assert found.stopped_by == ("exhausted" if budget == 200 else "budget")
    assert found.value == pytest.approx(reward * (1 - 0.9**4) / 0.1)
    assert found.action == (reward > 0)


def test_a_whole_plan_is_made_for_what_it_says_it_is_worth():
    """What lies beyond its depth is for those who plan again on the way."""
    whole = planning.plan(Chain([1.0, 2.0]), budget=5, depth=3, rng=0)
    assert whole.policy.scale.beyond == 0.0
    agent = planning.Agent(Chain([1.0, 2.0]), budget=5, depth=3, rng=0)
    agent.act()
    assert agent.last.policy.scale.beyond == pytest.approx(sum(0.95**i for i in range(3)))


def test_an_agent_keeps_the_steps_it_has_simulated():
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


def test_an_agent_notices_that_the_world_went_elsewhere():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    agent = planning.Agent(world, budget=100, depth=4, rng=0)
    world.step(agent.act())
    agent.act()
    assert agent.surprises == 0
    world.state = (world.state + 1) % 5  # and not where any action leads
    action = agent.act()
    assert agent.surprises == 1
    assert agent.last.kept == 0
    assert "not in the expected state" in agent.last.note
    assert "not in the expected state" in repr(agent.last)
    expected = best_value(Chain(world.table), world.state, 0.95, 4)
    assert agent.last.value == pytest.approx(expected)
    assert action == agent.last.action


def test_in_a_random_world_paths_are_kept_that_led_to_the_state_that_came():
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


def test_an_action_is_not_repeated_if_the_world_went_elsewhere():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2, 0.6, 0.4], 2)
    agent = planning.Agent(world, budget=90, depth=3, repeat=3, rng=0)
    world.step(agent.act())
    first = agent.last
    steps = world.steps
    agent.act()
    assert agent.last is first
    assert world.steps == steps + 1  # to see where the action leads
    world.state = (world.state + 1) % 7  # a reset, for example, that nobody told the agent of
    agent.act()
    assert agent.last is not first
    assert agent.surprises == 1
    assert agent.last.value == pytest.approx(
        planning.plan(Starting(world.state), budget=90, depth=3, repeat=3, rng=0).value
    )


class Starting(Chain):
    def __init__(self, state):
        super().__init__([0.1, 0.7, 0.3, 0.9, 0.2, 0.6, 0.4], 2)
        self.state = state


def test_after_an_error_an_agent_is_not_surprised():
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


def test_a_simulator_that_cannot_compare_states_is_planned_anew():
    class Bare(Chain):
        same = None

    world = Bare([0.1, 0.7, 0.3])
    agent = planning.Agent(world, budget=20, rng=0)
    world.step(agent.act())
    agent.act()
    assert agent.last.kept == 0
    assert "cannot compare" in agent.last.note
    with pytest.raises(TypeError, match="a simulator has no reset"):
        agent.run(1)


# ---------------------------------------------------------------------- depth, time, what is shown


def test_the_default_horizon():
    assert default_horizon(2, 0.95, 1000) == 45  # log 0.1 / log 0.95 = 44.9
    assert default_horizon(2, 0.95, 100) == 20  # a fifth of the budget
    assert default_horizon(2, 0.5, 1000) == 4  # log 0.1 / log 0.5 = 3.3
    assert default_horizon(2, 0.5, 10**9) == 10  # 8^10 > 10^9: the smallest useful depth
    assert default_horizon(4, 0.95, 3) == 1
    assert default_horizon(1, 1.0, 50) == 10
    assert horizon("paper", 2, 0.95, 100) == 5
    assert horizon(7, 2, 0.95, 100) == 7


def test_with_time_and_no_budget_the_depth_grows():
    short = planning.plan(Chain([0.1, 0.7, 0.3]), seconds=1e-9, rng=0)
    assert short.stopped_by == "seconds"
    assert short.calls == 0
    assert short.action in (0, 1)
    long = planning.plan(Chain([0.1, 0.7, 0.3]), seconds=1.0, discount=0.99, rng=0)
    assert long.depth > 20
    assert long.calls > 100


def test_what_a_plan_shows():
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    found = planning.plan(world, budget=60, rng=0)
    assert [choice.action for choice in found.choices] == [0, 1]
    assert sum(choice.plays for choice in found.choices) == found.plays
    assert all(choice.std > 0 for choice in found.choices)
    assert found.certificate.lower <= found.certificate.upper
    assert found.certificate.conditional
    lines = found.tree(depth=2).splitlines()
    assert len(lines) == 1 + 2 + 4
    assert sum("*" in line for line in lines) == 2  # the path it recommends
    assert "+-" in lines[1]
    assert "60 steps" in repr(found)
    peer = planning.plan(world, budget=60, searcher="uct", rng=0)
    assert peer.certificate is None
    assert "+-" not in peer.tree()


def test_a_searcher_of_the_users_own():
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
        ({"budget": 10, "reward_range": (1, 0)}, "reward_range must be"),
        ({"budget": 10, "repeat": 0}, "repeat must be at least 1"),
    ],
)
def test_bad_input(options, message):
    world = Chain([0.0, 1.0])
    with pytest.raises((ValueError, TypeError), match=message):
        planning.plan(world, **options)
    assert world.steps == 0


def test_what_is_no_simulator():
    with pytest.raises(TypeError, match="has no snapshot"):
        planning.plan("CartPole-v1", budget=10)

    class Idle(Chain):
        def __init__(self):
            super().__init__([0.0])
            self.actions = []

    with pytest.raises(ValueError, match="at least one action"):
        planning.plan(Idle(), budget=10)


def test_a_known_range_of_rewards_is_where_it_begins():
    settings = Settings(budget=10, depth=3, reward_range=(2.0, 6.0))
    planner = Planner(GenerativeModel(Chain([0.0, 1.0])), settings, 0)
    policy = planner._new_policy(10, ())
    assert policy.center == 4.0
    spread = math.sqrt(sum(0.95 ** (2 * i) for i in range(3)))
    assert policy.unit == pytest.approx(4.0 / math.sqrt(12) * spread)
    assert policy.noise == SUM_NOISE


@pytest.mark.parametrize("searcher", ["gpts", "kl_olop", "olop", "random", "uct"])
def test_with_time_and_no_budget_no_stage_is_thrown_away(searcher, monkeypatch):
    """When time runs out soon after the depth has grown, the stage before it still counts."""
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2, noise=0.3)
    clock = itertools.count()
    monkeypatch.setattr("bough.planning.planner.time.perf_counter", lambda: next(clock) / 1000)
    for seconds in np.arange(0.01, 0.2, 0.005).tolist():
        found = planning.plan(world, seconds=seconds, searcher=searcher, rng=0)
        assert math.isfinite(found.value)
        # The answer rests on a third of what was played at least: each stage has twice the steps.
        assert found.plays * found.depth >= found.calls / 3 - found.depth


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_playouts_that_are_deeper_than_the_next_tree_are_truncated(noise, monkeypatch):
    """With a time limit the depth grows within a decision, and the next one starts shallow."""
    clock = itertools.count()
    monkeypatch.setattr("bough.planning.planner.time.perf_counter", lambda: next(clock) / 1000)
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2, 0.5, 0.4], 2, noise=noise, ends={6})
    agent = planning.Agent(world, seconds=0.03, rng=0)
    for _ in range(3):
        world.step(agent.act())
        assert agent.last.depth > 20  # the depth of the first stage
    assert agent.last.kept > 0


def test_a_truncated_playout():
    playout = Playout((0, 1, 1), (1.0, 2.0), True, ("a", "b"))
    assert playout.truncated(3) == playout
    assert playout.truncated(2) == Playout((0, 1), (1.0, 2.0), True, ("a", "b"))
    assert playout.truncated(1) == Playout((0,), (1.0,), False, ("a",))


def test_with_time_and_no_budget_the_depth_grows_after_all_is_known():
    found = planning.plan(Chain([1.0], actions=1), seconds=60.0, discount=0.99, rng=0)
    assert found.depth == found.calls == 230  # log 0.1 / log 0.99: less than a tenth comes later
    assert found.stopped_by == "exhausted"
    ending = planning.plan(Chain([0.0, 1.0], 1, ends={1}), seconds=60.0, discount=1.0, rng=0)
    assert ending.calls == 1
    assert ending.stopped_by == "exhausted"


@pytest.mark.parametrize("searcher", ["best_first", "gpts"])
def test_a_plan_that_knows_everything_is_certain(searcher):
    world = Chain([0.1, 0.7, 0.3, 0.9, 0.2], 2)
    found = planning.plan(world, budget=1000, depth=4, searcher=searcher, rng=0)
    assert found.stopped_by == "exhausted"
    certificate = found.certificate
    assert certificate.lower == certificate.upper == found.value
    assert (certificate.path, certificate.gap, certificate.delta) == (found.path, 0.0, 0.0)
    assert not certificate.conditional
    assert "at confidence 1" in repr(found)


def test_a_known_range_counts_repeated_actions_and_the_end():
    settings = Settings(budget=90, depth=3, reward_range=(1.0, 2.0), repeat=3, discount=0.5)
    assert settings.action_range == (1.0, 3.5)  # an action may end the episode at once
    assert Settings(budget=9, reward_range=(-2.0, -1.0), repeat=2).action_range == (-3.9, -1.0)
    assert Settings(budget=9, reward_range=(-2.0, 2.0)).action_range == (-2.0, 2.0)
    world = Chain([0.0, 1.0, 2.0], ends={1})
    for searcher, expected in (("olop", (0.0, 2.0)), ("uct", (0.0, 3.5))):
        settings = Settings(
            budget=90, depth=3, reward_range=(1.0, 2.0), searcher=searcher, discount=0.5
        )
        policy = Planner(GenerativeModel(world), settings, 0)._new_policy(90, ())
        assert policy.searcher.reward_range == pytest.approx(expected)


@pytest.mark.parametrize(
    "reward", [None, "1", np.array([1.0]), 1 + 0j, 10**400, math.nan], ids=repr
)
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("repeat", [1, 2])
def test_rewards_of_a_wrong_kind_are_refused(reward, noise, repeat):
    world = Chain([reward] * 3, noise=noise)
    with pytest.raises(ValueError, match="rewards must be finite numbers .* action [01] gave"):
        planning.plan(world, budget=50, repeat=repeat, rng=0)
    assert world.state == 0


@pytest.mark.parametrize("reward", [1, True, np.float32(1.0), np.int64(1), np.array(1.0)])
def test_rewards_of_other_kinds_of_numbers(reward):
    found = planning.plan(Chain([reward] * 3), budget=50, depth=2, discount=0.5, rng=0)
    assert found.value == 1.5
    assert type(found.value) is float


@pytest.mark.parametrize("rng", ["x", -1, 1.5, [1.5]])
def test_a_bad_rng(rng):
    world = Chain([0.0, 1.0])
    for call in (planning.plan, planning.Agent):
        with pytest.raises(TypeError, match=r"rng must be a numpy.random.Generator, an int"):
            call(world, budget=10, rng=rng)
    assert world.steps == 0
