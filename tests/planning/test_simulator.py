"""Simulators: those of users, native snapshots, deep copies, replay."""

import copy
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import Corridor

from bough import planning
from bough.planning.copies import equal_states
from bough.planning.environments import actions_of
from bough.planning.model import GenerativeModel

gymnasium = pytest.importorskip("gymnasium")
spaces = gymnasium.spaces


NATIVE = [
    ("Acrobot-v1", {}),
    ("Blackjack-v1", {"natural": True}),
    ("CartPole-v1", {}),
    ("CliffWalking-v1", {}),
    ("CliffWalking-v1", {"is_slippery": True}),
    ("FrozenLake-v1", {"is_slippery": False}),
    ("FrozenLake-v1", {"is_slippery": True}),
    ("MountainCar-v0", {}),
    ("MountainCarContinuous-v0", {}),
    ("Pendulum-v1", {}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"fickle_passenger": True}),
]


def made(name, **keywords):
    env = gymnasium.make(name, **keywords)
    env.reset(seed=3)
    env.action_space.seed(3)
    return env


def everything(env):
    """Return all that a step may change in the environment, its wrappers and its generator."""
    seen, at = [], env
    while True:
        skip = ("env", "P", "spec", "_cached_spec", "_np_random")
        seen.append({k: repr(v) for k, v in vars(at).items() if k not in skip})
        if at is at.unwrapped:
            break
        at = at.env
    random = env.unwrapped.np_random.bit_generator.state
    return seen, random


@pytest.mark.parametrize(("name", "keywords"), NATIVE)
def test_native_snapshots_are_faithful(name, keywords):
    """A restored model has the outcomes of a deep copy of the environment."""
    env = made(name, **keywords)
    for _ in range(5):
        _, _, terminated, _, _ = env.step(env.action_space.sample())
        if terminated:
            env.reset()
    simulator = planning.simulator_of(env)
    assert simulator.how == "native snapshots"
    before = everything(env)
    start = simulator.present()
    actions = [simulator.actions[k % len(simulator.actions)] for k in (0, 2, 1, 1, 0, 2, 5, 3)]
    for _ in range(2):  # twice: a snapshot can be used again
        simulator.restore(start)
        assert simulator.same(simulator.snapshot(), start)
        simulator.reseed(7)
        clone = copy.deepcopy(env)
        clone.unwrapped.np_random.bit_generator.state = np.random.PCG64(7).state
        for action in actions:
            expected = clone.step(action)
            observation, reward, ended = simulator.step(action)
            assert equal_states(observation, expected[0])
            assert (reward, ended) == (expected[1], expected[2] or expected[3])
            if ended:
                break
    assert everything(env) == before


@pytest.mark.parametrize(("name", "keywords"), NATIVE)
@pytest.mark.parametrize("how", ["native", "copy"])
def test_the_environment_is_left_exactly_as_it_was(name, keywords, how):
    env = made(name, **keywords)
    before = everything(env)
    simulator = planning.simulator_of(env, how=how)
    found = planning.plan(simulator, budget=30, rng=0)
    assert found.calls <= 30
    assert everything(env) == before


def test_deterministic_transitions_are_known_or_detected():
    for name, keywords in NATIVE:
        env = made(name, **keywords)
        expected = "is_slippery" not in keywords or not keywords["is_slippery"]
        expected = expected and "fickle_passenger" not in keywords and "natural" not in keywords
        assert planning.simulator_of(env).deterministic is expected, (name, keywords)
    for slippery in (False, True):
        env = made("FrozenLake-v1", is_slippery=slippery)
        assert planning.simulator_of(env, how="copy").deterministic is not slippery


def test_all_simulators_give_the_same_plan():
    env = planning.recorded(gymnasium.make("CartPole-v1"))
    env.reset(seed=3)
    env.step(1)
    plans = {}
    for how in ("native", "copy", "replay"):
        plans[how] = planning.plan(planning.simulator_of(env, how=how), budget=60, rng=0)
    assert len({(p.actions, p.value, p.calls) for p in plans.values()}) == 1
    assert plans["native"].replayed == 0
    assert plans["replay"].replayed > 0


def test_snapshots_share_the_transition_table():
    env = made("Taxi-v4")
    simulator = planning.simulator_of(env)
    assert simulator._model.unwrapped.P is env.unwrapped.P


def test_the_state_of_wrappers_is_part_of_a_snapshot():
    class Tired(gymnasium.Wrapper):
        def __init__(self, env):
            super().__init__(env)
            self.history = []

        def step(self, action):
            observation, reward, *rest = super().step(action)
            self.history.append(action)
            return (observation, reward - len(self.history), *rest)

    env = Tired(gymnasium.make("CartPole-v1"))
    env.reset(seed=0)
    env.step(0)
    found = planning.plan(env, budget=200, depth=3, discount=1.0, rng=0)
    assert found.how == "deep copies"
    assert found.value == (1 - 2) + (1 - 3) + (1 - 4)
    assert env.history == [0]


@pytest.mark.parametrize("how", ["native", "copy", "replay"])
def test_time_limits_are_not_simulated(how):
    env = planning.recorded(gymnasium.make("CartPole-v1", max_episode_steps=4))
    env.reset(seed=0)
    env.step(0)
    simulator = planning.simulator_of(env, how=how)
    assert simulator.how.startswith({"native": "nat", "copy": "deep", "replay": "reset"}[how])
    simulator.restore(simulator.present())
    assert not any(simulator.step(k % 2)[2] for k in range(9))
    found = planning.plan(simulator, budget=300, depth=8, discount=1.0, rng=0)
    assert found.value == 8.0
    for _ in range(3):
        env.step(1)
    with pytest.raises(ValueError, match="the episode has ended"):
        planning.plan(simulator, budget=30)


@pytest.mark.parametrize("how", ["native", "copy"])
def test_states_at_different_times_are_equal(how):
    """Walking into the wall of the lake."""
    env = made("FrozenLake-v1", is_slippery=False)
    env.step(0)
    simulator = planning.simulator_of(env, how=how)
    before = simulator.present()
    env.step(0)
    assert simulator.same(before, simulator.present())


def test_truncation_by_the_environment_itself_is_simulated():
    class Brief(Stub):
        def step(self, action):
            observation, reward, *_ = super().step(action)
            return observation, reward, False, self.hidden >= 4, {}

        def __deepcopy__(self, memo):
            new = Brief()
            new.place, new.hidden = self.place, self.hidden
            return new

    env = Brief()
    env.reset(seed=0)
    env.step(1)
    assert len(planning.plan(env, budget=200, depth=6, rng=0).actions) == 3


class Stub(gymnasium.Env):
    """Counts modulo 7; `fault` determines what is wrong with its copies."""

    observation_space = spaces.Discrete(7)
    action_space = spaces.Discrete(2)

    def __init__(self, fault="none"):
        self.fault = fault
        self.place = 0
        self.hidden = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.hidden = 0
        return self.place, {}

    def step(self, action):
        if self.hidden < 0:
            raise RuntimeError("the physics engine is not here")
        self.hidden += 1
        self.place = (self.place + action + self.hidden) % 7
        return self.place, float(self.place == 3), False, False, {}

    def __deepcopy__(self, memo):
        new = Stub(self.fault)
        new.place = self.place
        if self.fault == "copy":
            raise TypeError("cannot pickle a physics engine")
        new.hidden = {"none": self.hidden, "silent": 0, "step": -1}[self.fault]
        return new


for fault in ("none", "silent", "step", "copy"):
    gymnasium.register(f"bough/{fault}-v0", lambda fault=fault: Stub(fault))


FAULTS = {
    "silent": "of a copy differs after",
    "step": "stepping a copy, raised RuntimeError",
    "copy": "copying it, or stepping a copy, raised TypeError",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_unfaithful_copies_are_refused(fault):
    env = made(f"bough/{fault}-v0")
    with pytest.raises(planning.Unfaithful, match=FAULTS[fault]):
        planning.plan(env, budget=20)
    with pytest.raises(planning.Unfaithful, match=FAULTS[fault]):
        planning.simulator_of(env, how="copy")


def test_faithful_copies_are_used():
    assert planning.plan(made("bough/none-v0"), budget=20, rng=0).how == "deep copies"


@pytest.mark.parametrize("fault", FAULTS)
def test_an_environment_that_cannot_be_copied_is_replayed(fault):
    env = planning.recorded(gymnasium.make(f"bough/{fault}-v0"))
    env.reset(seed=1)
    env.step(1)
    env.reset()  # without a seed one is drawn
    env.step(0)
    env.step(1)
    state = env.unwrapped.place, env.unwrapped.hidden
    found = planning.plan(env, budget=100, depth=4, rng=0)
    assert (env.unwrapped.place, env.unwrapped.hidden) == state
    assert found.how.startswith("reset and replay")
    assert FAULTS[fault] in found.how
    assert found.calls <= 100
    assert found.replayed > 0
    assert found.deterministic
    total = sum(0.95**i * env.step(action)[1] for i, action in enumerate(found.actions))
    assert total == pytest.approx(found.value)


def test_an_agent_records_its_environment_if_needed():
    agent = planning.Agent(gymnasium.make("bough/silent-v0"), budget=30, depth=5, rng=0)
    summary = agent.run(2, seed=0, most_steps=6, progress=False)
    assert summary.how.startswith("reset and replay")
    assert [e.steps for e in summary.episodes] == [6, 6]
    assert all(e.replayed > 0 and e.surprises == 0 for e in summary.episodes)


def test_an_environment_must_be_reset():
    for name in ("CartPole-v1", "FrozenLake-v1"):
        with pytest.raises(ValueError, match="not reset yet"):
            planning.plan(gymnasium.make(name), budget=20)


def test_randomness_is_not_foreseen():
    """On the slippery lake, a plan only knows the probabilities of the next step."""
    env = made("FrozenLake-v1", is_slippery=True)
    after = set()
    simulator = planning.simulator_of(env)
    start = simulator.present()
    for seed in range(30):
        simulator.restore(start)
        simulator.reseed(seed)
        after.add(simulator.step(2)[0])
    assert len(after) == 3
    before = env.unwrapped.np_random.bit_generator.state
    planning.plan(env, budget=100, rng=0)
    assert env.unwrapped.np_random.bit_generator.state == before


def test_actions():
    assert actions_of(spaces.Discrete(3, start=5)) == [5, 6, 7]
    several = actions_of(spaces.MultiDiscrete([2, 3]))
    assert [a.tolist() for a in several] == [[i, j] for i in range(2) for j in range(3)]
    assert len(actions_of(spaces.MultiBinary(3))) == 8
    low, high = np.array([[-1, 0], [1, 4]], dtype=np.float32)
    box = spaces.Box(low, high)
    covering = actions_of(box, values=3)
    assert len(covering) == 9
    assert all(box.contains(a) for a in covering)
    rng = np.random.default_rng(0)
    for _ in range(50):  # no point is farther away than half the distance of two values
        point = rng.uniform(box.low, box.high)
        gaps = [np.max(np.abs(a - point) / np.array([0.5, 1.0])) for a in covering]
        assert min(gaps) <= 1.0 + 1e-6
    with pytest.raises(ValueError, match="bounded"):
        actions_of(spaces.Box(-np.inf, np.inf))
    with pytest.raises(ValueError, match="makes 100000 actions.* fewer values"):
        actions_of(spaces.Box(-1, 1, shape=(5,)), values=10)
    with pytest.raises(TypeError, match="actions must be"):
        actions_of(spaces.Text(3))


def test_a_box_of_actions():
    env = made("Pendulum-v1")
    found = planning.plan(env, budget=300, depth=3, rng=0)
    assert [c.action.tolist() for c in found.choices[:5]] == [[-2.0], [-1.0], [0.0], [1.0], [2.0]]
    assert len(found.choices) > 5  # and random ones
    assert env.action_space.contains(found.action)


# ---------------------------------------------------------------------- simulators of users


FORMS = {
    "three values": lambda place, reward, ended: (place, reward, ended),
    "a list": lambda place, reward, ended: [place, reward, ended],
    "Gym": lambda place, reward, ended: (place, reward, ended, {"lives": 1}),
    "terminated": lambda place, reward, ended: (place, reward, ended, False, {}),
    "truncated": lambda place, reward, ended: (place, reward, False, ended, {"lives": 1}),
}


class Formed(Corridor):
    """A corridor whose outcomes have another form."""

    def __init__(self, form):
        super().__init__()
        self.form = form

    def step(self, action):
        return self.form(*super().step(action))


@pytest.mark.parametrize("form", FORMS)
def test_outcomes_of_every_form_are_accepted(form):
    model = GenerativeModel(Formed(FORMS[form]))
    plain = Corridor()
    first = model.step  # (a caller may keep it)
    for action in ("left", "right", "right"):
        assert tuple(model.step(action)) == plain.step(action)
    assert tuple(first("right")) == plain.step("right")
    assert (model.step == model.simulator.step) is (form in ("three values", "a list"))
    plans = [
        planning.plan(world, budget=50, depth=4, rng=0)
        for world in (Corridor(), Formed(FORMS[form]))
    ]
    assert plans[0] == replace(plans[1], how="Corridor", seconds=plans[0].seconds)


@pytest.mark.parametrize("outcome", [(1, 2.0), (1, 2.0, False, False, {}, 0), 7, None])
def test_outcomes_of_another_form_are_refused(outcome):
    world = Formed(lambda *_: outcome)
    with pytest.raises(TypeError, match=r"step must return .*, got"):
        planning.plan(world, budget=10)
    assert world.place == 0


class Secret:
    """A state that cannot be pickled."""

    def __init__(self, stones):
        self.stones = stones

    def __reduce__(self):
        raise TypeError("cannot pickle a secret")


class Heap:
    """A heap of stones; `fault` determines what is wrong with its snapshots."""

    deterministic = True

    def __init__(self, fault="none", actions=(0, 1, 2)):
        self.fault = fault
        self.actions = actions
        self.stones = [5, 3]
        self.steps = 0

    def snapshot(self):
        if self.fault == "unknown":
            return Secret(tuple(self.stones))
        return self.stones if self.fault == "live" else list(self.stones)

    def restore(self, snapshot):
        if self.fault == "alias":
            self.stones = snapshot
        elif self.fault == "unknown":
            self.stones = list(snapshot.stones)
        elif self.fault != "nothing":
            self.stones = list(snapshot)

    def step(self, action):
        self.steps += 1
        self.stones[0] -= action
        return None, float(self.stones[0] == 1), self.stones[0] <= 0


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("nothing", r"restore\(\) does not return to the snapshot: after step\(1\)"),
        ("live", r"snapshot\(\) returns an object that later steps change: return a copy"),
        ("alias", r"restore\(\) uses the snapshot itself, which later steps change: use a copy"),
    ],
)
def test_faults_of_snapshots_are_noticed(fault, message):
    world = Heap(fault)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            planning.plan(world, budget=50, rng=0)
    if fault != "nothing":
        assert world.stones == [5, 3]


@pytest.mark.parametrize("fault", ["none", "unknown"])
def test_the_check_of_restore_is_done_once_and_counted(fault):
    world = Heap(fault)
    agent = planning.Agent(world, budget=50, rng=0)
    for first in (True, False):
        world.steps = 0
        agent.act()
        assert world.stones == [5, 3]
        assert world.steps == agent.last.calls + agent.last.replayed
        assert agent.last.replayed == (3 if first and fault == "none" else 0)


def test_actions_without_effect_are_no_fault():
    assert planning.plan(Heap("nothing", actions=(0,) * 50), budget=50, rng=0).replayed == 10


def test_the_check_of_restore_uses_same():
    class Lazy(Heap):
        """Its snapshots hold a cache, which steps fill."""

        def snapshot(self):
            self.cache = {"stones": tuple(self.stones)}
            return self.cache

        def restore(self, snapshot):
            self.cache, self.stones = snapshot, list(snapshot["stones"])

        def step(self, action):
            self.cache["sum"] = sum(self.stones)
            return super().step(action)

    with pytest.raises(ValueError, match="later steps change"):
        planning.plan(Lazy(), budget=50, rng=0)
    world = Lazy()
    world.same = lambda one, other: one["stones"] == other["stones"]
    assert planning.plan(world, budget=50, rng=0).calls > 0


# ---------------------------------------------------------------------- keys of states


def walk(model, start, steps=200, seed=0):
    """Yield snapshots of random walks from a state, until the end of each."""
    rng = np.random.default_rng(seed)
    ended = True
    for _ in range(steps):
        if ended:
            model.restore(start)
            model.reseed(int(rng.integers(2**31)))
        ended = model.step(model.actions[rng.integers(len(model.actions))])[2]
        if not ended:
            yield model.snapshot()


def outcomes(model, snapshot):
    """Return the outcomes of all actions in a state, with one seed."""
    found = []
    for action in model.actions:
        model.restore(snapshot)
        model.reseed(7)
        found.append((*model.step(action), model.key(model.snapshot())))
    return found


DISCRETE = [(name, k) for name, k in NATIVE if name[:3] in ("Bla", "Cli", "Fro", "Tax")]


@pytest.mark.parametrize(("name", "keywords"), NATIVE)
def test_native_states_with_equal_keys_are_equal(name, keywords):
    model = GenerativeModel(made(name, **keywords))
    assert (model.key is not None) is ((name, keywords) in DISCRETE)
    if model.key is None:
        return
    with model.present() as start:
        first, pairs = {}, 0
        for snapshot in walk(model, start):
            other = first.setdefault(model.key(snapshot), snapshot)
            assert model.same(snapshot, other)
            if other != snapshot and pairs < 20:
                pairs += 1
                assert outcomes(model, other) == outcomes(model, snapshot)
        assert pairs > 0 or name == "Blackjack-v1"
        assert 1 < len(first) < 150


def test_the_hidden_card_is_not_foreseen():
    """Sticking has the same probabilities whatever the hidden card is, and those of the game."""
    env = made("Blackjack-v1", sab=False)
    bare = env.unwrapped
    rewards = {}
    for hidden in (5, 10):
        bare.player, bare.dealer = [10, 9], [8, hidden]
        simulator = planning.simulator_of(env)
        assert simulator.how == "native snapshots"
        start = simulator.present()
        seen = []
        for seed in range(400):
            simulator.restore(start)
            simulator.reseed(seed)
            seen.append(simulator.step(0)[1])
        rewards[hidden] = seen
        assert (bare.player, bare.dealer) == ([10, 9], [8, hidden])
    assert rewards[5] == rewards[10]
    real = []
    for seed in range(400):
        env.reset(seed=seed)
        bare.player, bare.dealer = [10, 9], [8, bare.dealer[1]]
        real.append(env.step(0)[1])
    for reward in (-1.0, 0.0, 1.0):
        assert real.count(reward) == pytest.approx(rewards[5].count(reward), abs=50)


def test_hands_of_equal_worth_have_one_key():
    model = GenerativeModel(made("Blackjack-v1"))
    hands = [(10, 2, 3), (3, 10, 2), (5, 10), (1, 4), (1, 4, 10), (1, 10), (1, 5, 5)]
    keys = [model.key((hand, (7,))) for hand in hands]
    assert keys[0] == keys[1] == keys[2] == keys[4] != keys[3]
    assert keys[5] != keys[6]  # a natural
    assert keys[0] != model.key((hands[0], (8,)))


@pytest.mark.parametrize(  # (in the second, a key is in a box)
    "name", ["MiniGrid-DoorKey-5x5-v0", "MiniGrid-ObstructedMaze-1Dlh-v0"]
)
def test_states_of_minigrid_with_equal_keys_are_equal(name):
    minigrid = pytest.importorskip("minigrid")
    model = GenerativeModel(minigrid.wrappers.ImgObsWrapper(made(name)))
    assert model.how == "deep copies"
    with model.present() as start:
        first, pairs = {}, 0
        for snapshot in walk(model, start, 60):
            other = first.setdefault(model.key(snapshot), snapshot)
            assert model.same(snapshot, other)
            if other.unwrapped.step_count != snapshot.unwrapped.step_count:
                pairs += 1
                snapshot.unwrapped.step_count = other.unwrapped.step_count
                assert equal_states(outcomes(model, other), outcomes(model, snapshot))
        assert pairs > 0


def test_minigrid_with_a_memory_has_no_key():
    minigrid = pytest.importorskip("minigrid")
    env = made("MiniGrid-Empty-5x5-v0")
    assert GenerativeModel(env).key is not None
    assert GenerativeModel(minigrid.wrappers.PositionBonus(env)).key is None
    assert GenerativeModel(made("BabyAI-GoToObj-v0")).key is None


def test_keys_of_simulators():
    class Own(Heap):
        def key(self, snapshot):
            return sum(snapshot)

    class Plain(Corridor):
        def __init__(self, make=lambda place: place):
            super().__init__()
            self.make = make

        def snapshot(self):
            return self.make(self.place)

        def restore(self, snapshot):
            self.place = int(snapshot if isinstance(snapshot, (int, float)) else snapshot[0])

    def key_of(world, **keywords):
        model = GenerativeModel(world, **keywords)
        with model.present() as snapshot:
            return model.key and model.key(snapshot)

    assert key_of(Own()) == 8
    assert key_of(Own(), merge_states=True) == 8
    assert key_of(Own(), merge_states=False) is None
    assert key_of(Plain()) == 0
    assert key_of(Plain(lambda place: (place, "a", (None, b"c", True)))) is not None
    assert key_of(Plain(float)) is None
    assert key_of(Plain(lambda place: (place, 0.5))) is None
    assert key_of(Plain(lambda place: [place])) is None
    assert key_of(Plain(), merge_states=False) is None
    for world in (Plain(float), Heap(), made("CartPole-v1"), made("bough/none-v0")):
        with pytest.raises(ValueError, match="merge_states=True needs keys of states"):
            key_of(world, merge_states=True)
    with pytest.raises(TypeError, match="merge_states must be True, False, None or a function"):
        GenerativeModel(Plain(), merge_states="yes")


def test_keys_of_random_simulators():
    class Plain(Corridor):
        deterministic = False

        def snapshot(self):
            return self.place

        def restore(self, snapshot):
            self.place = snapshot

    class WithGenerator(Plain):
        def reseed(self, seed):
            self.random = random.Random(seed)

        def snapshot(self):
            return self.place, random.Random(0).getstate()

        def restore(self, snapshot):
            self.place, _ = snapshot

    for world, key in ((Plain(), 0), (WithGenerator(), None)):
        model = GenerativeModel(world)
        with model.present() as snapshot:
            assert (model.key and model.key(snapshot)) == key
    world = WithGenerator()
    with pytest.raises(ValueError, match="merge_states=True needs keys"):
        planning.plan(world, budget=10, merge_states=True)


def test_a_random_world_that_ends_early_is_planned_by_its_states():
    """The values of first actions are 7.77, 10.14 and 10.26, by dynamic programming."""

    class Warehouse:
        actions = (0, 2, 4)
        deterministic = False

        def __init__(self):
            self.stock = self.day = 0
            self._random = random.Random(0)

        def snapshot(self):
            return self.stock, self.day

        def restore(self, snapshot):
            self.stock, self.day = snapshot

        def reseed(self, seed):
            self._random.seed(seed)

        def step(self, action):
            self.stock, self.day = min(self.stock + action, 6), self.day + 1
            sold = min(self.stock, self._random.randrange(4))
            self.stock -= sold
            reward = 3.0 * sold - action - 0.2 * self.stock
            return (self.stock, self.day), reward, self.day == 5

    plans = [planning.plan(Warehouse(), budget=1000, rng=seed) for seed in range(4)]
    assert all(found.action in (2, 4) for found in plans)


def test_a_snapshot_that_is_no_key_is_not_merged():
    class Odd(Corridor):
        def snapshot(self):
            return self.place if self.place == 0 else [self.place]

        def restore(self, snapshot):
            self.place = snapshot if snapshot == 0 else snapshot[0]

    model = GenerativeModel(Odd())
    with model.present():
        model.step("right")
        assert model.key(model.snapshot()) != model.key(model.snapshot())


@pytest.mark.parametrize("how", ["native", "copy"])
def test_keys_by_a_function_of_the_observation(how):
    simulator = planning.simulator_of(made("CartPole-v1"), how=how)
    model = GenerativeModel(simulator, merge_states=lambda seen: tuple(np.round(seen, 1)))
    with model.present() as start:
        model.restore(start)
        observation, *_ = model.step(0)
        assert model.key(model.snapshot()) == tuple(np.round(observation, 1))
        other, *_ = model.step(1)
        assert model.observation is other
    model = GenerativeModel(simulator, merge_states=list)
    with model.present() as start:
        model.restore(start)
        model.step(0)
        with pytest.raises(TypeError, match="merge_states must return a hashable object"):
            model.key(start)


# ---------------------------------------------------------------------- observations, legal actions


@pytest.mark.parametrize(("name", "keywords"), NATIVE)
def test_the_present_observation_is_known(name, keywords):
    env = gymnasium.make(name, **keywords)
    expected, _ = env.reset(seed=5)
    env.action_space.seed(5)
    for _ in range(5):
        model = GenerativeModel(env)
        with model.present():
            assert equal_states(model.observation, expected)
        expected, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            break


def legal_in(mask):
    legal = tuple(np.flatnonzero(mask).tolist())
    return legal if len(legal) < len(mask) else None


@pytest.mark.parametrize("how", ["native", "copy", "replay"])
def test_masks_of_the_environment_are_used(how):
    env = planning.recorded(gymnasium.make("Taxi-v4"))
    _, info = env.reset(seed=4)
    model = GenerativeModel(planning.simulator_of(env, how=how))
    first = model.step  # (a caller may keep it)
    with model.present() as start:
        assert model.legal == legal_in(info["action_mask"])
        bare = copy.deepcopy(env.unwrapped)
        for step in (first, model.step):
            model.restore(start)
            for k in (0, 1, 0, 2, 3, 3):
                state = step(k)[0]
                assert model.observation == state
                assert model.legal == legal_in(bare.action_mask(state))
    env.step(model.legal[0])
    with model.present():
        assert model.legal == legal_in(bare.action_mask(env.unwrapped.s))


def test_nothing_is_observed_without_a_mask():
    model = GenerativeModel(made("CartPole-v1"))
    assert model.step == model.simulator.step
    model = GenerativeModel(made("bough/none-v0"))
    with model.present() as start:
        model.restore(start)
        model.step(0)
        assert model.step == model.simulator.step
        assert model.legal is model.observation is None


def test_a_mask_by_a_function_of_the_observation():
    def mask(place):
        return [place > -1, place < 2, True]

    model = GenerativeModel(Corridor(), mask=mask)
    with pytest.raises(ValueError, match="current state is unknown"), model.present():
        pass
    with model.present(observation=2) as start:
        assert (model.observation, model.legal) == (2, (0, 2))
        for action, legal in (
            ("left", (1, 2)),
            ("right", None),
            ("right", None),
            ("right", (0, 2)),
        ):
            model.step(action)
            assert model.legal == legal
        assert model.step("right")[2]
        assert model.legal is None  # after the end
    env = made("FrozenLake-v1")
    model = GenerativeModel(env, mask=lambda place: [place == 0, True, True, False])
    with model.present() as start:
        assert model.legal == (0, 1, 2)
        model.restore(start)
        while model.step(1)[0] == 0:
            pass
        assert model.legal == (1, 2)


@pytest.mark.parametrize(
    "flags",
    [
        [], [True], [True] * 4, [False] * 3, np.zeros(3, np.int8), ["no"] * 3, [0, 1, 2],
        [None, True, True], np.ones((3, 2), bool),
    ],
)  # fmt: skip
def test_masks_without_a_legal_action_are_refused(flags):
    model = GenerativeModel(Corridor(), mask=lambda place: flags)
    with pytest.raises(ValueError, match="one boolean for each of the 3 actions"):
        model.step("left")
    with pytest.raises(ValueError, match="one boolean"), model.present(observation=0):
        pass
    given = GenerativeModel(Corridor()).present(info={"action_mask": flags})
    with pytest.raises(ValueError, match="one boolean"), given:
        pass
    with pytest.raises(TypeError, match="mask must be a function"):
        GenerativeModel(Corridor(), mask=flags)


class Strict(Corridor):
    """Returns masks, and refuses illegal actions."""

    def mask(self):
        return np.array([self.place > 0, True, False])

    def step(self, action):
        assert self.mask()[self.actions.index(action)], "an illegal action"
        return *super().step(action), {"action_mask": self.mask()}


def test_only_legal_actions_are_taken_to_check_a_simulator():
    world = Strict()
    model = GenerativeModel(world)
    with model.present(info={"action_mask": world.mask()}):
        assert model.legal == (1,)
        assert model.take_replayed() == 2
        model.step("right")
        assert model.legal == (0, 1)


# ---------------------------------------------------------------------- actions of a Box


class Steered(gymnasium.Env):
    """A point that actions push; the space of actions is given."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,))

    def __init__(self, space):
        self.action_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0.0
        return np.array([self.place]), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.place += float(np.sum(action))
        return np.array([self.place]), -abs(self.place - 1.0), False, False, {"action_mask": [1]}


@given(st.lists(st.lists(st.floats(allow_nan=False), min_size=4, max_size=4), max_size=5))
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_actions_are_added_to_those_of_a_box(dtype, vectors):
    low, high = np.array([[-2, -1], [0, 0]]), np.array([[-1, 1], [0, 3]])
    env = Steered(spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype))
    env.reset(seed=0)
    model = GenerativeModel(env)
    assert model.low.tolist() == [-2, -1, 0, 0]
    assert model.high.tolist() == [-1, 1, 0, 3]
    before = len(model.actions)
    with model.present() as start:
        for vector in vectors:
            index = model.add_action(vector)
            action = model.actions[index]
            assert env.action_space.contains(action)
            expected = np.clip(vector, model.low, model.high)
            error = 0.5 if dtype is np.int16 else 1e-6
            assert np.abs(action.ravel() - expected).max() <= error
            assert model.add_action(vector) == model.add_action(action.ravel()) == index
            model.restore(start)
            model.step(action)
        assert model.legal is None
    assert len({a.tobytes() for a in model.actions}) == len(model.actions) <= before + len(vectors)
    assert [model.add_action(a) for a in model.actions] == list(range(len(model.actions)))
    assert len(model.simulator.actions) == before


def test_actions_that_cannot_be_added():
    env = made("Pendulum-v1")
    model = GenerativeModel(env)
    for vector in ([], [1.0, 2.0], [np.nan], ["a"], None):
        with pytest.raises(ValueError, match="vector must hold 1 numbers"):
            model.add_action(vector)
    assert len(model.actions) == 5
    with pytest.raises(ValueError, match="mask is for discrete actions"):
        GenerativeModel(env, mask=lambda seen: [True] * 5)
    for discrete in (made("CartPole-v1"), Corridor()):
        model = GenerativeModel(discrete)
        assert model.low is model.high is None
        with pytest.raises(TypeError, match="Box of actions"):
            model.add_action([1.0])


def test_actions_of_three_dimensions():
    env = Steered(spaces.Box(-1, 1, (3,)))
    env.reset(seed=0)
    found = planning.plan(env, budget=100, depth=1, rng=0)
    assert len(found.choices) == 7 + 4  # and random ones
    assert found.value == 0.0
    assert len(planning.simulator_of(env, values=2).actions) == 8


def test_actions_of_six_dimensions():
    env = Steered(spaces.Box(-1, 1, (6,)))
    env.reset(seed=0)
    agent = planning.Agent(env, budget=40, rng=0)
    for _ in range(5):
        action = agent.act()
        assert env.action_space.contains(action)
        assert agent.last.calls <= 40
        env.step(action)
    assert agent.surprises == 0


# ---------------------------------------------------------------------- ends


def ending(*rest):
    """Return a corridor whose steps end with these values."""

    class Ending(Corridor):
        def step(self, action):
            return (*super().step(action)[:2], *rest)

    return Ending()


WRONG = ["no", None, np.zeros(2, dtype=bool), 2, 0.0]


@pytest.mark.parametrize("end", WRONG)
@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("ended", lambda end: (end,)),
        ("done", lambda end: (end, {})),
        ("terminated", lambda end: (end, False, {})),
        ("truncated", lambda end: (False, end, {})),
    ],
)
def test_ends_must_be_booleans(end, name, rest):
    world = ending(*rest(end))
    with pytest.raises(TypeError, match=f"step must return True or False as `{name}`"):
        planning.plan(world, budget=10)
    assert world.place == 0


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize("end", WRONG)
def test_later_ends_must_be_booleans_too(end, repeat):
    class Late(Corridor):
        steps = 0

        def step(self, action):
            self.steps += 1
            return *super().step(action)[:2], end if self.steps > 9 else False

    world = Late()
    with pytest.raises(TypeError, match="step must return True or False as the end"):
        planning.plan(world, budget=40, repeat=repeat)
    assert world.place == 0


@pytest.mark.parametrize("deterministic", ["no", 1, lambda: False])
def test_deterministic_must_be_a_bool(deterministic):
    world = Corridor()
    world.deterministic = deterministic
    with pytest.raises(TypeError, match="deterministic must be True or False, got"):
        planning.plan(world, budget=10)
    with pytest.raises(TypeError, match="deterministic must be True, False or None, got"):
        planning.simulator_of(made("CartPole-v1"), deterministic=deterministic)


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize("mask", [None, lambda place: [place > -9, True, True]])
def test_errors_of_a_simulated_step_say_so(mask, repeat):
    class Fragile(Corridor):
        def step(self, action):
            if self.place == -2:
                raise RuntimeError("out of bounds")
            return super().step(action)

    with pytest.raises(RuntimeError, match="out of bounds") as caught:
        planning.plan(Fragile(), budget=200, repeat=repeat, mask=mask, observation=0, rng=0)
    (note,) = caught.value.__notes__
    assert note.startswith("raised by a simulated step('")
    assert ("pass mask=" in note) == (mask is None)


@pytest.mark.parametrize("end", [np.bool_(False), 0, np.int64(0), False])
def test_ends_may_be_zero_or_one(end):
    for rest in ((end,), (end, {}), (end, end, {})):
        assert planning.plan(ending(*rest), budget=10, rng=0).calls == 10


@pytest.mark.parametrize("kind", [Corridor, gymnasium.Env])
def test_a_class_is_not_an_environment(kind):
    with pytest.raises(TypeError, match=f"got the class {kind.__name__}: call it"):
        planning.plan(kind, budget=10)
