"""Environments that are simulated on deep copies, once it is known that a copy is faithful.

Some copies are not: of environments on a physics engine that lives outside of Python, a copy may
raise an exception when it is stepped, or silently go another way than the original.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from bough.planning.native import equal_states, private_copy, reseed

#: How many steps an original and its copy are compared for, before and after the copy is made.
PROBE_STEPS = 10
#: The seeds of the probe: nothing about them matters.
PROBE_SEED, OTHER_SEED = 12_345, 54_321


class CopySimulator:
    """An environment that is copied wherever a snapshot is needed."""

    how = "deep copies"
    heavy = True

    def __init__(self, env: Any, actions: list[Any], deterministic: bool) -> None:
        self.env = env
        self.actions = actions
        self.deterministic = deterministic
        self.replayed = 0  # steps that were only taken to compare two states
        self._model: Any = None

    def present(self) -> Any:
        """Return a copy of the environment that was handed in."""
        return private_copy(self.env)

    def snapshot(self) -> Any:
        """Return a copy of the model."""
        return copy.deepcopy(self._model)

    def restore(self, snapshot: Any) -> None:
        """Go on with a copy of a copy: the snapshot stays as it is."""
        self._model = copy.deepcopy(snapshot)

    def step(self, action: Any) -> tuple[Any, float, bool]:
        """Take an action in the model."""
        observation, reward, terminated, truncated, _ = self._model.step(action)
        return observation, reward, terminated or truncated

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed(self._model, seed)

    def same(self, snapshot: Any, other: Any) -> bool:
        """Return whether two copies see the same after the same step: states are hidden."""
        one, two = copy.deepcopy(snapshot), copy.deepcopy(other)
        for model in (one, two):
            reseed(model, PROBE_SEED)
        self.replayed += 2
        return why_different(one, two, [self.actions[0]]) is None


def why_unfaithful(env: Any, make: Callable[[], Any] | None) -> str | None:
    """Return what is wrong with copies of an environment; None if nothing was found.

    An original and its copy take the same steps, and must see the same. The environment itself must
    not be touched, so the original is a new one if `make` can make it; if not, a copy stands in for
    it, which finds less.
    """
    try:
        if make is None:
            original = private_copy(env)
        else:
            original = make()
            original.reset(seed=PROBE_SEED)
        actions = probe_actions(original)
        if make is not None:
            for action in actions[:PROBE_STEPS]:
                _, _, terminated, truncated, _ = original.step(action)
                if terminated or truncated:
                    original.reset()
        copied = private_copy(original)
    except Exception as error:  # whatever an environment does when it is copied
        return f"it cannot be copied: {error!r}"
    return why_different(original, copied, actions[PROBE_STEPS:])


def looks_deterministic(env: Any) -> bool:
    """Return whether two copies with other random numbers see the same after the same steps."""
    one, other = private_copy(env), private_copy(env)
    actions = probe_actions(one)
    reseed(one, PROBE_SEED)
    reseed(other, OTHER_SEED)
    return why_different(one, other, actions) is None


def probe_actions(env: Any) -> list[Any]:
    """Draw actions without touching the generator of the environment's own action space."""
    space = copy.deepcopy(env.action_space)
    space.seed(PROBE_SEED)
    return [space.sample() for _ in range(2 * PROBE_STEPS)]


def why_different(original: Any, copied: Any, actions: list[Any]) -> str | None:
    """Step both alike; return where they differ, or what was raised."""
    for i, action in enumerate(actions):
        expected = original.step(action)
        try:
            got = copied.step(action)
        except Exception as error:  # whatever an environment does when its copy is stepped
            return f"stepping a copy raised {error!r}"
        for name, one, other in zip(
            ("observation", "reward", "terminated", "truncated"), expected, got, strict=False
        ):
            if not same_observation(one, other):
                return f"{name} of a copy differs after {i + 1} steps: {other!r} for {one!r}"
        if expected[2] or expected[3]:
            break
    return None


def same_observation(one: Any, other: Any) -> bool:
    """Return whether two observations are equal, bit for bit; NaN equals NaN."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    return equal_states(one, other)
