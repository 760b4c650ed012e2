"""Environments that are simulated on deep copies, once it is known that a copy is faithful.

Some copies are not: of environments on a physics engine that lives outside of Python, a copy may
raise an exception when it is stepped, or silently go another way than the original.
"""

import copy
import sys
from typing import Any

from bough.planning.comparing import equal_states
from bough.planning.known import check_underway
from bough.planning.layers import is_watcher, module_of, table_of, wrappers_of
from bough.planning.randomness import reachable, reseed


def shared_parts(env: Any) -> list[Any]:
    """Return what all copies share: it is large, and no step changes it."""
    specs = [vars(wrapper).get("_cached_spec") for wrapper in wrappers_of(env)]
    return [env.unwrapped.spec, table_of(env), *specs]


def further_copy(clone: Any) -> Any:
    """Return a copy of a copy."""
    return copy.deepcopy(clone, {id(thing): thing for thing in shared_parts(clone)})


def private_copy(env: Any) -> Any:
    """Return a copy that draws no pictures, and shares what is large and never changes."""
    bare = env.unwrapped
    shared = shared_parts(env)
    memo: dict[int, Any] = {id(thing): thing for thing in shared}
    if "pygame" in sys.modules:
        for thing in reachable(env, tuple(shared)):
            if module_of(thing).partition(".")[0] == "pygame":
                memo[id(thing)] = None
    clone = copy.deepcopy(bare, memo)
    if getattr(clone, "render_mode", None) is not None:
        clone.render_mode = None
    # From the inside out: a wrapper may hold any of the environments within, not only the next.
    for wrapper in reversed(wrappers_of(env)):
        if is_watcher(wrapper):
            memo[id(wrapper)] = clone
        else:
            memo[id(wrapper.env)] = clone
            clone = copy.deepcopy(wrapper, memo)
    return clone


class CopySimulator:
    """An environment that is copied wherever a snapshot is needed."""

    how = "deep copies"
    heavy = True

    def __init__(self, env: Any, actions: list[Any], deterministic: bool) -> None:
        self.env = env
        self.actions = actions
        self.deterministic = deterministic
        self.replayed = 0
        self._model: Any = None

    def present(self) -> Any:
        """Return a copy of the environment that was handed in."""
        check_underway(self.env)
        return private_copy(self.env)

    def snapshot(self) -> Any:
        """Return a copy of the model."""
        return further_copy(self._model)

    def restore(self, snapshot: Any) -> None:
        """Go on with a copy of a copy: the snapshot stays as it is."""
        self._model = further_copy(snapshot)

    def step(self, action: Any) -> tuple[Any, float, bool]:
        """Take an action in the model."""
        # (Some environments change the array that they are given.)
        observation, reward, terminated, truncated, _ = self._model.step(copy.copy(action))
        return observation, reward, terminated or truncated

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed(self._model, seed)

    def same(self, snapshot: Any, other: Any) -> bool:
        """Return whether two copies hold the same."""
        return equal_states(snapshot, other)
