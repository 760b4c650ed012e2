"""A simulator for a Gymnasium environment: three ways to get one, chosen automatically."""

import copy
from collections.abc import Callable
from typing import Any

from bough.planning.actions import VALUES, actions_of
from bough.planning.copying import (
    OTHER_SEED,
    PROBE_SEED,
    CopySimulator,
    looks_deterministic,
    probe_actions,
    why_different,
    why_unfaithful,
)
from bough.planning.native import NativeSimulator, reseed, state_of
from bough.planning.replay import ReplaySimulator, record_of
from bough.planning.simulator import Model


class Unfaithful(ValueError):  # noqa: N818 - as a ValueError it is an error
    """Raised for an environment that no copy can stand in for, and that was not recorded."""


def simulator_of(
    env: Any,
    *,
    how: str | None = None,
    deterministic: bool | None = None,
    values: int = VALUES,
    make: Callable[[], Any] | None = None,
) -> Any:
    """Return a simulator of a Gymnasium environment, which is never touched itself.

    Parameters
    ----------
    env
        The environment. Simulators follow it: they plan for the state in which it is at the time.
    how : "native", "copy", "replay" or None
        `"native"`: the state is a few attributes that are known (classic control, toy text).
        `"copy"`: deep copies, after a probe: an original and its copy take the same steps and must
        see the same. `"replay"`: reset and replay, for an environment wrapped by `recorded`. By
        default the first of these that works.
    deterministic : bool, optional
        Whether the same actions always lead to the same; by default it is known or found out, by
        stepping two copies with different random numbers.
    values : int
        How many values each dimension of a Box of actions is covered by.
    make
        Makes an environment like this one; by default `gymnasium.make(env.spec)`. The probe and
        replays need it.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    >>> simulator = simulator_of(env)
    >>> simulator.how, simulator.deterministic, simulator.actions
    ('native snapshots', False, [0, 1, 2, 3])
    """
    if how not in (None, "native", "copy", "replay"):
        raise ValueError(f'how must be "native", "copy", "replay" or None, got {how!r}')
    actions = actions_of(env.action_space, values)
    if how == "native" and state_of(env) is None:
        raise ValueError(f"where {env} keeps its state is not known: leave out how='native'")
    if how in (None, "native") and state_of(env) is not None:
        return NativeSimulator(env, actions, deterministic)
    wrong = None
    own = make or maker_of(env)
    if how in (None, "copy"):
        # (If nobody can make the wrappers too, the bare environment is looked at alone.)
        wrong = why_unfaithful(env, own or maker_of(env.unwrapped)) or why_unfaithful(env, None)
        if wrong is None:
            if deterministic is None:
                deterministic = looks_deterministic(env)
            return CopySimulator(env, actions, deterministic)
        if how == "copy":
            raise Unfaithful(f"copies of {env} are not faithful: {wrong}")
    if record_of(env) is not None and own is not None:
        if deterministic is None:
            deterministic = _replays_alike(own)
        simulator = ReplaySimulator(env, actions, own, deterministic)
        simulator.how += "" if wrong is None else f" ({wrong})"
        return simulator
    raise Unfaithful(
        (f"copies of {env} are not faithful: {wrong}; " if wrong else "")
        + "to replay it from its seed instead, wrap it before it is reset, "
        "env = bough.planning.recorded(env), and call env.reset(seed=...)"
        + ("" if own is not None else "; it has no spec, so also give make=, which makes another")
    )


def maker_of(env: Any) -> Callable[[], Any] | None:
    """Return what makes an environment like this one, without a picture; None if nobody knows."""
    try:
        spec = copy.deepcopy(env.spec)
    except ValueError:  # a wrapper does not say how it was made
        return None
    if spec is None:
        return None
    spec.kwargs.pop("render_mode", None)

    def make() -> Any:
        import gymnasium

        return gymnasium.make(spec)

    return make


def _replays_alike(make: Callable[[], Any]) -> bool:
    """Return whether an environment that cannot be copied seems to draw no random numbers."""
    one, other = make(), make()
    for model, seed in ((one, PROBE_SEED), (other, OTHER_SEED)):
        model.reset(seed=PROBE_SEED)
        reseed(model, seed)
    return why_different(one, other, probe_actions(one)) is None


def model_of(env_or_simulator: Any) -> Model:
    """Return what the planner sees of an environment or a simulator."""
    if hasattr(env_or_simulator, "action_space") and hasattr(env_or_simulator, "unwrapped"):
        return Model(simulator_of(env_or_simulator))
    return Model(env_or_simulator)
