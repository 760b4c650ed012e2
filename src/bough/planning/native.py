"""Environments whose state is known: a snapshot is a handful of values.

Classic control and toy text, with their wrappers. What never changes, such as the transition table
of a grid, is shared by all snapshots and by the planner's own copy of the environment.
"""

import copy
from collections.abc import Callable
from operator import attrgetter
from typing import Any

#: Attributes that hold the state of an environment, by its module (in Gymnasium) and name.
STATE: dict[tuple[str, str], tuple[str, ...]] = {
    ("classic_control.acrobot", "AcrobotEnv"): ("state",),
    ("classic_control.cartpole", "CartPoleEnv"): ("state", "steps_beyond_terminated"),
    ("classic_control.continuous_mountain_car", "Continuous_MountainCarEnv"): ("state",),
    ("classic_control.mountain_car", "MountainCarEnv"): ("state",),
    ("classic_control.pendulum", "PendulumEnv"): ("state", "last_u"),
    ("toy_text.cliffwalking", "CliffWalkingEnv"): ("s", "lastaction"),
    ("toy_text.frozen_lake", "FrozenLakeEnv"): ("s", "lastaction"),
    ("toy_text.taxi", "TaxiEnv"): ("s", "lastaction", "fickle_step", "taxi_orientation"),
}
#: The same for wrappers whose every attribute need not be looked at.
WRAPPERS: dict[str, tuple[str, ...]] = {
    "TimeLimit": ("_elapsed_steps",),
}
#: Attributes that every wrapper has, and that no step changes.
COMMON = {"env", "spec", "_saved_kwargs", "_action_space", "_observation_space", "_metadata"}
COMMON |= {"_cached_spec", "_reward_range"}
#: Wrappers that only watch: they would show or record what is simulated, or check it each time.
WATCHERS = {"HumanRendering", "OrderEnforcing", "PassiveEnvChecker", "Recorded"}
WATCHERS |= {"RecordEpisodeStatistics", "RecordVideo", "RenderCollection"}
UNCHANGING = (int, float, complex, bool, str, bytes, type(None))


def state_of(env: Any) -> tuple[str, ...] | None:
    """Return the names of the attributes that hold the state of an environment, if known."""
    kind = type(env.unwrapped)
    module = kind.__module__.removeprefix("gymnasium.envs.")
    return STATE.get((module, kind.__qualname__))


def is_deterministic(env: Any) -> bool:
    """Return whether the transitions of an environment of a known kind are not random."""
    bare = env.unwrapped
    table = getattr(bare, "P", None)
    if table is not None:
        if getattr(bare, "fickle_passenger", False):
            return False
        return all(len(moves) == 1 for state in table.values() for moves in state.values())
    return not getattr(bare, "torque_noise_max", 0.0)


def wrappers_of(env: Any) -> list[Any]:
    """Return the wrappers of an environment, the outermost first."""
    found = []
    while env is not env.unwrapped:
        found.append(env)
        env = env.env
    return found


def unwatched(env: Any) -> Any:
    """Return the environment in wrappers like its own, but for those that watch."""
    if env is env.unwrapped:
        return env
    inner = unwatched(env.env)
    if type(env).__name__ in WATCHERS:
        return inner
    outer = copy.copy(env)
    outer.env = inner
    return outer


def private_copy(env: Any) -> Any:
    """Return a copy that draws nothing, and shares what is large and never changes."""
    bare = env.unwrapped
    shared: dict[int, Any] = {}
    for name, value in vars(bare).items():
        if type(value).__module__.partition(".")[0] == "pygame":
            shared[id(value)] = None
        elif name in ("P", "spec"):
            shared[id(value)] = value
    clone = copy.deepcopy(unwatched(env), shared)
    if getattr(clone.unwrapped, "render_mode", None) is not None:
        clone.unwrapped.render_mode = None
    return clone


class NativeSimulator:
    """An environment of which it is known where its state is."""

    how = "native snapshots"

    def __init__(self, env: Any, actions: list[Any], deterministic: bool | None = None) -> None:
        names = state_of(env)
        assert names is not None  # whoever makes one has asked
        self.env = env
        self.actions = actions
        self.deterministic = is_deterministic(env) if deterministic is None else deterministic
        self._model = private_copy(env)
        self._parts = _parts(self._model, names)
        self._present = _parts(env, names)

    def present(self) -> Any:
        """Return the state of the environment that was handed in."""
        if getattr(self.env.unwrapped, self._present[-1].names[0], None) is None:
            raise ValueError("the environment was not reset yet: call env.reset() first")
        return tuple([part.read(part.owner) for part in self._present])

    def snapshot(self) -> Any:
        """Return the state of the model."""
        return tuple([part.read(part.owner) for part in self._parts])

    def restore(self, snapshot: Any) -> None:
        """Set the state of the model."""
        for part, values in zip(self._parts, snapshot, strict=True):
            part.write(values)

    def step(self, action: Any) -> tuple[Any, float, bool]:
        """Take an action in the model."""
        observation, reward, terminated, truncated, _ = self._model.step(action)
        return observation, reward, terminated or truncated

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed(self._model, seed)

    def same(self, snapshot: Any, other: Any) -> bool:
        """Return whether two snapshots are of the same state."""
        return equal_states(snapshot, other)


class Part:
    """The attributes of the environment, or of one wrapper, that hold its state."""

    def __init__(self, owner: Any, names: tuple[str, ...], plain: bool) -> None:
        self.owner = owner
        self.names = names
        self._plain = plain
        get = attrgetter(*names)
        if not plain:
            self.read: Callable[[Any], Any] = lambda owner: _frozen(get(owner))
        else:
            self.read = get

    def write(self, values: Any) -> None:
        """Set the attributes."""
        if not self._plain:
            values = _frozen(values)
        if len(self.names) == 1:
            setattr(self.owner, self.names[0], values)
            return
        for name, value in zip(self.names, values, strict=True):
            setattr(self.owner, name, value)


def _parts(env: Any, names: tuple[str, ...]) -> list[Part]:
    """Return where the state is: of wrappers that nobody knows, in all that may change."""
    parts = []
    for wrapper in wrappers_of(env):
        if type(wrapper).__name__ in WATCHERS:
            continue
        known = WRAPPERS.get(type(wrapper).__name__)
        if known is None:
            known = tuple(
                name
                for name, value in vars(wrapper).items()
                if name not in COMMON and not callable(value) and not hasattr(value, "sample")
            )
            plain = False
        else:
            plain = True
        if known:
            parts.append(Part(wrapper, known, plain))
    # These environments make a new array in every step, and never change one in place.
    parts.append(Part(env.unwrapped, names, True))
    return parts


def _frozen(values: Any) -> Any:
    return values if isinstance(values, UNCHANGING) else copy.deepcopy(values)


def equal_states(one: Any, other: Any) -> bool:
    """Compare states: numbers, arrays, and containers of them."""
    if one is other:
        return True
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(equal_states, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal_states(one[k], other[k]) for k in one)
    same = one == other
    return bool(same.all()) if hasattr(same, "all") else bool(same)


def reseed(env: Any, seed: int) -> None:
    """Give an environment other random numbers, in place: parts of it may share its generator."""
    generator = env.unwrapped.np_random
    generator.bit_generator.state = type(generator.bit_generator)(seed).state
