"""Agents of cycles: exploration, episodes, certificates, errors that change nothing."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough.planning import cycles
from bough.planning.cycles.best_cycle import Graph, best_policy


class Ring:
    """n states; "on" moves to the next one and "stay" does not; a table of mean rewards."""

    def __init__(self, states, seed=0, noise=0.1):
        self.states, self.noise = states, noise
        self.rng = np.random.default_rng(seed)
        self.means = self.rng.random((states, 2))
        self.state = 0

    def optimum(self):
        n = self.states
        targets = np.stack([(np.arange(n) + 1) % n, np.arange(n)], axis=1).ravel()
        graph = Graph(np.repeat(np.arange(n), 2), targets, np.ones(2 * n))
        return best_policy(graph, self.means.ravel()).gains[0]

    def step(self, action):
        mean = self.means[self.state, int(action == "stay")]
        reward = mean + self.noise * self.rng.normal()
        self.state = (self.state + (action == "on")) % self.states
        return reward, self.state


def play(agent, world, steps):
    """Return the states and actions of some steps."""
    taken = []
    for _ in range(steps):
        state = world.state
        action = agent.act(state)
        assert agent.act(state) == action  # asking changes nothing
        reward, following = world.step(action)
        agent.learn(state, action, reward, following)
        taken.append((state, action))
    return taken


def both(states, actions, **keywords):
    return [cycles.UCycle(states, actions, **keywords), cycles.GPCycle(states, actions, **keywords)]


# ---------------------------------------------------------------------- UCycle


def test_every_pair_is_tried_before_the_first_episode():
    agent, world = cycles.UCycle(range(6), ["on", "stay"]), Ring(6)
    taken = play(agent, world, 60)
    first = min(t for t in range(60) if len(set(taken[:t])) == 12)
    # The nearest untried pair each time: there are 12 pairs, and the way to the last state is
    # walked while they are tried, but for the last step of the ring.
    assert first <= 12 + 6
    assert all(visits > 0 for visits in agent.world.visits)


def test_an_episode_ends_when_the_visits_of_a_pair_have_doubled():
    world = Ring(5, seed=3)
    agent = cycles.UCycle(range(5), ["on", "stay"], reward_range=(0, 1), exploration=0.3)
    starts = []
    original = agent._start_episode

    def start(state):
        original(state)
        cycle = dict(agent._ends)
        starts.append((list(agent.world.visits), cycle))

    agent._start_episode = start
    play(agent, world, 3000)
    assert len(starts) > 10
    for (before, ends), (after, _) in itertools.pairwise(starts):
        doubled = [pair for pair, end in ends.items() if after[pair] >= 2 * before[pair]]
        assert all(end == 2 * before[pair] for pair, end in ends.items())
        assert len(doubled) == 1  # the last step was the one that doubled a pair
        assert after[doubled[0]] == 2 * before[doubled[0]]


def test_optimistic_rewards_by_hand():
    """2 pairs, t = 3 steps: log(4 * 2 * 81 / 0.05) = log(12960) = 9.469623; n = 2 and 1."""
    agent = cycles.UCycle(["a"], ["x", "y"], reward_range=(0, 1))
    for action, reward in (("x", 0.25), ("x", 0.75), ("y", 0.5)):
        agent.learn("a", action, reward, "a")
    means, widths = agent._means_and_widths()
    assert means == pytest.approx([0.5, 0.5])
    assert widths == pytest.approx([math.sqrt(9.469623 / 4), math.sqrt(9.469623 / 2)], abs=1e-6)
    assert agent.act("a") == "y"


def test_rewards_of_any_range():
    """Scaled and shifted rewards are played the same way."""
    runs = []
    for factor, shift in ((1.0, 0.0), (1024.0, 0.0), (0.25, 8.0)):
        world = Ring(5, seed=1, noise=0.0)
        world.means = factor * np.round(1024 * world.means) / 1024 + shift
        runs.append(play(cycles.UCycle(range(5), ["on", "stay"]), world, 300))
    assert runs[0] == runs[1] == runs[2]


# ---------------------------------------------------------------------- both


@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
@pytest.mark.parametrize("known", [True, False])
def test_the_best_cycle_is_found(kind, known):
    for seed in range(6):
        world = Ring(7, seed=seed, noise=0.05)
        keywords = {"exploration": 0.1} if kind is cycles.UCycle else {}
        agent = kind(range(7) if known else None, ["on", "stay"], **keywords)
        play(agent, world, 2500)
        found = agent.certificate()
        mean = np.mean([world.means[s, int(a == "stay")] for s, a in found.cycle])
        assert mean == pytest.approx(world.optimum(), abs=0.02)
        assert found.lower <= mean <= found.upper
        assert found.lower <= found.mean
        assert found.gap == found.upper - found.lower
        assert world.optimum() <= found.upper


def test_certificates_hold():
    """At all times, of 40 worlds: the cycle's mean is above `lower`, the optimum below `upper`."""
    wrong = {"UCycle": 0, "GPCycle": 0}
    for seed in range(20):
        for kind in (cycles.UCycle, cycles.GPCycle):
            world = Ring(4, seed=seed, noise=0.2)
            agent = kind(range(4), ["on", "stay"])
            for _ in range(8):
                play(agent, world, 40)
                found = agent.certificate()
                mean = np.mean([world.means[s, int(a == "stay")] for s, a in found.cycle])
                if not (found.lower <= mean + 1e-9 and world.optimum() <= found.upper + 1e-9):
                    wrong[kind.__name__] += 1
                    break
            assert found.conditional == (kind is cycles.GPCycle)
    assert max(wrong.values()) <= 2  # delta is 0.05


def test_a_certificate_with_untried_pairs():
    agent = cycles.UCycle(range(3), ["on", "stay"], reward_range=(0, 1))
    nothing = agent.certificate()
    assert (nothing.cycle, nothing.lower, nothing.upper) == ((), -math.inf, math.inf)
    agent.learn(0, "on", 0.5, 1)
    nothing = agent.certificate()
    assert (nothing.cycle, nothing.lower, nothing.upper) == ((), -math.inf, 1.0)
    assert math.isnan(nothing.mean)
    assert "no cycle is known yet" in str(nothing)
    agent.learn(1, "stay", 0.5, 1)
    found = agent.certificate()
    assert found.cycle == ((1, "stay"),)
    assert (found.upper, found.explored) == (1.0, False)
    assert "of every cycle at most 1" in str(found)
    without_range = cycles.UCycle(range(3), ["on", "stay"])
    without_range.learn(1, "stay", 0.5, 1)
    assert without_range.certificate().upper == math.inf
    for reward_range, highest in ((None, math.inf), ((0, 1), 1.0)):
        model = cycles.GPCycle(range(3), ["on", "stay"], reward_range=reward_range)
        model.learn(0, "on", 0.5, 1)
        model.learn(1, "stay", 0.4, 1)
        model.learn(1, "stay", 0.38, 1)
        assert model.certificate().upper == highest  # nothing is known of untried pairs
        extrapolated = model.certificate(extrapolate=True)
        assert extrapolated.mean < extrapolated.upper < math.inf
        assert extrapolated.upper <= highest


@pytest.mark.parametrize("known", [True, False])
def test_untried_pairs_may_lead_anywhere(known):
    """GPCycle tries those from which a better cycle might come, and no others."""
    rewards = {0: 1.0, 1: 0.0}  # state 0 has a loop of 1; everything else gives nothing

    def destination(state, action):
        return state if action == "stay" else (state + 1) % 40

    agent = cycles.GPCycle(range(40) if known else None, ["on", "stay"], features=lambda s, a: s)
    state = 0
    for _ in range(300):
        action = agent.act(state)
        following = destination(state, action)
        agent.learn(state, action, rewards.get(state, 0.0) * (action == "stay"), following)
        state = following
    assert agent.certificate().cycle == ((0, "stay"),)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 3), st.booleans())
def test_in_random_worlds_the_best_cycle_of_exact_rewards_is_found(seed, states, actions, gaussian):
    rng = np.random.default_rng(seed)
    targets = rng.integers(states, size=(states, actions))
    targets[:, 0] = (np.arange(states) + 1) % states
    means = rng.random((states, actions))
    kind = cycles.GPCycle if gaussian else cycles.UCycle
    agent = kind(range(states), range(actions), exploration=0.0 if not gaussian else 1.0)
    state, late = 0, []
    for t in range(600):
        action = agent.act(state)
        if t >= 500:
            late.append(means[state, action])
        following = int(targets[state, action])
        agent.learn(state, action, means[state, action], following)
        state = following
    graph = Graph(np.repeat(np.arange(states), actions), targets.ravel(), np.ones(targets.size))
    best = best_policy(graph, means.ravel()).gains[0]
    found = agent.certificate()
    assert np.mean([means[s, a] for s, a in found.cycle]) <= best + 1e-9
    assert found.upper >= best - 1e-9
    if not gaussian:
        assert np.mean([means[s, a] for s, a in found.cycle]) == pytest.approx(best)
        assert np.mean(late) > best - 2 * states / 100


@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
def test_any_hashable_states_and_any_actions(kind):
    """Strings, tuples and frozensets; arrays as actions; actions that depend on the state."""
    states = ["a", ("b", 2), frozenset({3})]
    moves = {"a": [np.array([1.0, 0.0]), np.array([0.0, 1.0])], ("b", 2): [None], states[2]: ["x"]}
    agent = kind(states, moves.__getitem__)
    state = "a"
    for _ in range(50):
        action = agent.act(state)
        following = (states[1] if action[0] else states[2]) if state == "a" else "a"
        agent.learn(state, action, float(following == states[2]), following)
        state = following
    assert len(agent.certificate().cycle) == 2
    assert {state for state, _ in agent.certificate().cycle} == {"a", states[2]}


@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
def test_copies_continue_identically(kind):
    world = Ring(6, seed=2)
    agent = kind(None, ["on", "stay"])
    play(agent, world, 80)
    others = [pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)]
    runs = [play(one, copy.deepcopy(world), 100) for one in (agent, *others)]
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
def test_certificates_change_nothing(kind):
    runs = []
    for asks in (True, False):
        agent, world = kind(range(6), ["on", "stay"]), Ring(6, seed=4)
        taken = []
        for _ in range(40):
            taken += play(agent, world, 3)
            if asks:
                agent.certificate()
        runs.append(taken)
    assert runs[0] == runs[1]


@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
def test_steps_that_were_not_asked_for_are_learned(kind):
    """From a log, in any order; and `act` in states that are no destination of the last step."""
    agent = kind(range(4), ["on", "stay"])
    for state in (3, 1, 0, 2):
        agent.learn(state, "on", 0.1, (state + 1) % 4)
        agent.learn(state, "stay", 0.9 * (state == 2), state)
    assert agent.certificate().cycle == ((2, "stay"),)
    assert agent.certificate().explored
    assert agent.act(0) in ("on", "stay")
    assert agent.act(3) in ("on", "stay")


# ---------------------------------------------------------------------- errors


def state_of(agent):
    return pickle.dumps(agent.__dict__)


@pytest.mark.parametrize("known", [True, False])
def test_bad_steps_change_nothing(known):
    nan, inf = math.nan, math.inf
    for agent in both(range(3) if known else None, ["on", "stay"]):
        agent.learn(0, "on", 0.5, 1)
        agent.learn(1, "on", 0.5, 2)
        agent.act(2)
        before = state_of(agent)
        mistakes = [
            ((0, "on", 0.5, 2), cycles.NotDeterministic, "led to 1 before, and now to 2"),
            ((0, "stay", nan, 0), ValueError, "reward must be finite, got nan"),
            ((0, "stay", inf, 0), ValueError, "reward must be finite"),
            ((0, "stay", 1e200, 0), ValueError, "reward must be between"),
            ((0, "stay", "high", 0), TypeError, "reward must be one real number"),
            ((0, "jump", 0.5, 0), ValueError, "action must be one of .* in state 0, got 'jump'"),
            (([0], "on", 0.5, 0), TypeError, "state must be hashable"),
            ((0, "stay", 0.5, [0]), TypeError, "next_state must be hashable"),
            ((0, "stay", 0.5, {}), TypeError, "next_state must be hashable"),
            ((nan, "on", 0.5, 0), ValueError, "state must"),
        ]
        if known:
            mistakes += [
                ((7, "on", 0.5, 0), ValueError, "state must be one of the 3 states, got 7"),
                ((0, "stay", 0.5, 7), ValueError, "next_state must be one of the 3 states"),
            ]
        for step, error, message in mistakes:
            with pytest.raises(error, match=message):
                agent.learn(*step)
            assert state_of(agent) == before
        for state in ([0], np.zeros(2)):
            with pytest.raises(TypeError, match="state must be hashable"):
                agent.act(state)
        assert state_of(agent) == before
        if known:
            with pytest.raises(ValueError, match="state must be one of the 3 states, got 7"):
                agent.act(7)


@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
def test_a_world_that_cannot_be_left(kind):
    """State 3 is a trap: once all of its actions were tried there is no way back."""
    agent = kind(range(4), ["on", "stay"])

    def walk(state):
        for _ in range(200):
            action = agent.act(state)
            following = min(state + (action == "on"), 3)
            agent.learn(state, action, float(state == 3), following)
            state = following

    with pytest.raises(cycles.NotCommunicating, match=r"no way leads back from state 3 to 3 vis"):
        walk(0)
    assert agent.observations < 200
    assert agent.world.means[6] == 1.0  # what was learned is kept


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda kind: kind([], ["a"]), ValueError, "at least one state"),
        (lambda kind: kind([0, 1, 0], ["a"]), ValueError, "0 is listed twice"),
        (lambda kind: kind("abc", ["a"]), TypeError, "states must be a collection"),
        (lambda kind: kind(3, ["a"]), TypeError, "states must be a collection"),
        (lambda kind: kind([[0]], ["a"]), TypeError, "each state must be hashable"),
        (lambda kind: kind([0], []), ValueError, "actions must contain at least one"),
        (lambda kind: kind([0], "ab"), TypeError, "actions must be a sequence"),
        (lambda kind: kind([0], 2), TypeError, "actions must be a sequence"),
        (lambda kind: kind([0], ["a", "a"]), ValueError, "'a' is listed twice"),
        (lambda kind: kind([0], lambda state: []), ValueError, r"actions\(0\) must contain"),
        (lambda kind: kind([0], ["a"], delta=0.0), ValueError, "delta must be between"),
        (lambda kind: kind([0], ["a"], exploration=-1), ValueError, "exploration must not be"),
    ],
)
@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
def test_bad_agents(kind, call, error, message):
    with pytest.raises(error, match=message):
        call(kind)


@pytest.mark.parametrize("kind", [cycles.UCycle, cycles.GPCycle])
def test_bad_reward_ranges(kind):
    for wrong in ((1, 0), (0, math.nan), 3, "ab"):
        with pytest.raises(ValueError, match=r"reward_range must be \(lowest, highest\)"):
            kind([0], ["a"], reward_range=wrong)


@pytest.mark.parametrize("known", [True, False])
def test_bad_features(known):
    states = range(3) if known else None
    cases = [
        (3, TypeError, "features must be a function"),
        (lambda s, a: "x", TypeError, r"features\(0, 'on'\) must be a number or a vector"),
        (lambda s, a: [], TypeError, "must be a number or a vector"),
        (lambda s, a: [math.nan], ValueError, r"features\(0, 'on'\) must be finite"),
        (lambda s, a: [1.0] * (1 + s), ValueError, "as many numbers as those before, 1, got 2"),
    ]

    def learn(features):
        cycles.GPCycle(states, ["on", "stay"], features=features).learn(0, "on", 0.5, 1)

    for features, error, message in cases:
        with pytest.raises(error, match=message):
            learn(features)
