"""What is known about environments: where some keep their state, and whether an episode goes on."""

from collections.abc import Callable
from typing import Any

from bough.planning.layers import wrappers_of

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
#: Whether one is in a state that ends its episode, where a state tells.
ENDED: dict[str, Callable[[Any], bool]] = {
    "AcrobotEnv": lambda env: env._terminal(),
    "CartPoleEnv": lambda env: env.steps_beyond_terminated is not None,
    "CliffWalkingEnv": lambda env: env.s == env.nS - 1,
    "Continuous_MountainCarEnv": lambda env: env.state[0] >= env.goal_position,
    "FrozenLakeEnv": lambda env: env.desc.flat[env.s] in (b"G", b"H"),
    "MountainCarEnv": lambda env: env.state[0] >= env.goal_position,
    "TaxiEnv": lambda env: len(set(tuple(env.decode(env.s))[2:])) == 1,  # he is where he goes to
}


def state_of(env: Any) -> tuple[str, ...] | None:
    """Return the names of the attributes that hold the state of an environment, if known."""
    kind = type(env.unwrapped)
    module = kind.__module__.removeprefix("gymnasium.envs.")
    return STATE.get((module, kind.__qualname__))


def was_reset(env: Any) -> bool:
    """Return whether an environment was reset, as far as that is known."""
    if not all(getattr(wrapper, "_has_reset", True) for wrapper in wrappers_of(env)):
        return False
    names = state_of(env)
    return names is None or getattr(env.unwrapped, names[0], None) is not None


def has_ended(env: Any) -> bool:
    """Return whether the episode of one that was reset is over, as far as that is known."""
    for wrapper in wrappers_of(env):
        kind = type(wrapper).__name__
        if kind == "Recorded" and wrapper.ended:
            return True
        if kind == "TimeLimit" and (wrapper._elapsed_steps or 0) >= wrapper._max_episode_steps:
            return True
    bare = env.unwrapped
    return state_of(env) is not None and bool(ENDED.get(type(bare).__name__, _never)(bare))


def _never(env: Any) -> bool:
    return False


def check_underway(env: Any) -> None:
    """Refuse to plan for an environment in which nothing can be done."""
    if not was_reset(env):
        raise ValueError("the environment was not reset yet: call env.reset() first")
    if has_ended(env):
        raise ValueError("the episode has ended: call env.reset() first")
