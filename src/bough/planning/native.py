"""Environments whose state is known: a snapshot is a handful of values.

Classic control and toy text, with their wrappers. What never changes, such as the transition table
of a grid, is shared by all snapshots and by the planner's own copy of the environment.
"""

import copy
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from bough.planning.comparing import equal_states
from bough.planning.copying import private_copy
from bough.planning.known import check_underway, state_of
from bough.planning.layers import is_space, is_watcher, table_of, wrappers_of
from bough.planning.randomness import reseed, reseed_one

#: Wrappers of which it is known what a step changes.
WRAPPERS: dict[str, tuple[str, ...]] = {"TimeLimit": ("_elapsed_steps",)}
#: Attributes that every wrapper has, and that no step changes.
COMMON = {"env", "spec", "_saved_kwargs", "_action_space", "_observation_space", "_metadata"}
COMMON |= {"_cached_spec", "_reward_range"}


def strangers(env: Any) -> list[Any]:
    """Return the wrappers of which it is not known what they do."""
    return [w for w in wrappers_of(env) if not is_watcher(w) and type(w).__name__ not in WRAPPERS]


def is_deterministic(env: Any) -> bool:
    """Return whether the transitions of an environment of a known kind are not random.

    Its wrappers are another matter, unless they are known too.
    """
    bare = env.unwrapped
    table = table_of(env)
    if table is not None:
        if getattr(bare, "fickle_passenger", False):
            return False
        return all(len(moves) == 1 for state in table.values() for moves in state.values())
    return not getattr(bare, "torque_noise_max", 0.0)


class NativeSimulator:
    """An environment of which it is known where its state is, in wrappers that are known."""

    how = "native snapshots"

    def __init__(self, env: Any, actions: list[Any], deterministic: bool) -> None:
        self.env = env
        self.actions = actions
        self.deterministic = deterministic
        self.replayed = 0
        self._model = private_copy(env)
        self._generator = self._model.unwrapped.np_random  # the only one
        # These environments make a new array in every step, and never change one in place. So
        # their states need not be copied: snapshots are taken once for every step simulated, and
        # this is the quickest way to take one.
        self.snapshot: Callable[[], Any] = partial(attrgetter(*_paths(self._model)), self._model)
        self._read_present = attrgetter(*_paths(env))
        places = [(_owner(self._model, path), path.split(".")[-1]) for path in _paths(self._model)]
        self._owners, self._names = zip(*places, strict=True)
        self._step = self._model.step

    def present(self) -> Any:
        """Return the state of the environment that was handed in."""
        check_underway(self.env)
        return self._read_present(self.env)

    def restore(self, snapshot: Any) -> None:
        """Set the state of the model."""
        for _ in map(setattr, self._owners, self._names, snapshot):
            pass

    def step(self, action: Any) -> tuple[Any, float, bool]:
        """Take an action in the model."""
        observation, reward, terminated, truncated, _ = self._step(action)
        return observation, reward, terminated or truncated

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed_one(self._generator, seed)

    def same(self, snapshot: Any, other: Any) -> bool:
        """Return whether two snapshots are of the same state."""
        return equal_states(snapshot, other)


class WrappedSimulator(NativeSimulator):
    """One in wrappers of which nothing is known: all their attributes are part of the state."""

    def __init__(self, env: Any, actions: list[Any], deterministic: bool) -> None:
        super().__init__(env, actions, deterministic)
        self._known = self.snapshot
        self.snapshot = self._snapshot
        self._wrappers = strangers(self._model)
        # What a wrapper holds may refer to the environments within: the model's own ones then.
        self._own = {
            id(layer): layer for layer in [*wrappers_of(self._model), self._model.unwrapped]
        }
        self._theirs = _counterparts(env, self._model)

    def present(self) -> Any:
        """Return the state of the environment that was handed in, and that of its wrappers."""
        kept = [_frozen(wrapper, self._theirs) for wrapper in strangers(self.env)]
        return super().present(), kept

    def _snapshot(self) -> Any:
        return self._known(), [_frozen(wrapper, self._own) for wrapper in self._wrappers]

    def restore(self, snapshot: Any) -> None:
        """Set the state of the model, and of its wrappers."""
        known, kept = snapshot
        super().restore(known)
        for wrapper, values in zip(self._wrappers, kept, strict=True):
            attributes = vars(wrapper)
            for name in [name for name in _changing(wrapper) if name not in values]:
                del attributes[name]
            if values:
                attributes.update(copy.deepcopy(values, dict(self._own)))

    def reseed(self, seed: int) -> None:
        """Let the model, and whatever its wrappers hold now, draw other random numbers."""
        reseed(self._model, seed)


def _paths(env: Any) -> list[str]:
    """Return where all is that holds a state, as dotted names seen from the outermost wrapper."""
    paths, prefix = [], ""
    for wrapper in wrappers_of(env):
        if not is_watcher(wrapper):
            paths += [prefix + name for name in WRAPPERS.get(type(wrapper).__name__, ())]
        prefix += "env."
    paths += [prefix + name for name in state_of(env) or ()]
    return paths if len(paths) > 1 else 2 * paths  # several, or `attrgetter` returns no tuple


def _owner(env: Any, path: str) -> Any:
    for _ in range(path.count(".")):
        env = env.env
    return env


def _counterparts(env: Any, model: Any) -> dict[int, Any]:
    """Return what in a model stands for an environment and each of its wrappers, by their ids."""
    found = {}
    for wrapper in wrappers_of(env):
        found[id(wrapper)] = model
        if not is_watcher(wrapper):
            model = model.env
    return {**found, id(env.unwrapped): model}


def _changing(wrapper: Any) -> list[str]:
    """Return the names of all attributes of a wrapper that a step may change."""
    return [
        name for name, value in vars(wrapper).items() if name not in COMMON and not is_space(value)
    ]


def _frozen(wrapper: Any, counterparts: dict[int, Any]) -> dict[str, Any]:
    """Return a copy of what a step may change in a wrapper."""
    attributes = vars(wrapper)
    if attributes.keys() <= COMMON:
        return {}
    values = {name: attributes[name] for name in _changing(wrapper)}
    return copy.deepcopy(values, dict(counterparts)) if values else values
