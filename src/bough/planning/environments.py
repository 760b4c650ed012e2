"""A simulator for a Gymnasium environment: three ways to get one, chosen automatically."""

import copy
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from bough.exceptions import Unfaithful
from bough.planning.actions import VALUES, actions_of
from bough.planning.copying import CopySimulator
from bough.planning.known import state_of
from bough.planning.layers import is_environment, record_of
from bough.planning.native import (
    NativeSimulator,
    WrappedSimulator,
    is_deterministic,
    strangers,
)
from bough.planning.probing import PROBE_SEED, Probe, probe_of, stand_in
from bough.planning.replay import ReplaySimulator
from bough.planning.simulator import Model


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
        `"copy"`: deep copies. Both only if they pass a probe: an original and its simulator take
        the same steps and must see the same (native ones only in wrappers that are not known).
        `"replay"`: reset and replay, for an environment wrapped by `recorded`. By default the first
        of these that works.
    deterministic : bool, optional
        Whether the same actions always lead to the same; by default it is known or found out, by
        stepping two copies with different random numbers. What becomes random only after
        20 steps is not noticed.
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
    if hasattr(env, "single_action_space"):
        raise TypeError(f"a plan is for one environment, not for several at a time, got {env}")
    actions = actions_of(env.action_space, values)
    known = state_of(env) is not None
    if how == "native" and not known:
        raise ValueError(f"where {env} keeps its state is not known: leave out how='native'")
    if known and how in (None, "native") and not strangers(env):
        return NativeSimulator(
            env, actions, is_deterministic(env) if deterministic is None else deterministic
        )
    probe = probe_of(env)
    own = make or maker_of(env)
    # (If nobody can make the wrappers too, the bare environment is tried alone.)
    another = own or maker_of(env.unwrapped)
    wrong: list[str] = []
    for way, kind in (("native", WrappedSimulator), ("copy", CopySimulator)):
        if how not in (None, way) or (way == "native" and not known):
            continue
        # (Of environments that are known only the wrappers are to be tried.)
        why = probe.why_unfaithful(env, kind, own if known else another, alone=own is None)
        if why is None:
            if deterministic is None:
                deterministic = not known or is_deterministic(env)  # (else its table tells)
                deterministic = deterministic and probe.looks_deterministic(partial(stand_in, env))
            return _counted(kind(env, actions, deterministic), probe, wrong)
        if why not in wrong:
            wrong.append(why)
    if how in (None, "replay") and record_of(env) is not None and own is not None:
        if deterministic is None:
            deterministic = probe.looks_deterministic(partial(_beginning, cache(own)))
        return _counted(ReplaySimulator(env, actions, deterministic, own), probe, wrong)
    raise Unfaithful(
        (f"{env} cannot be simulated on copies: {'; '.join(wrong)}; " if wrong else "")
        + "to replay it from its seed instead, wrap it before it is reset, "
        "env = bough.planning.recorded(env)"
        + ("" if own is not None else "; and give make=, which makes another, as its spec cannot")
    )


def _counted(simulator: Any, probe: Probe, wrong: list[str]) -> Any:
    """Let a simulator say how many steps it took to choose it, and why it is no quicker one."""
    simulator.replayed += probe.taken()
    if wrong:
        simulator.how += f" ({'; '.join(wrong)})"
    return simulator


def _beginning(make: Callable[[], Any]) -> Any:
    """Return an environment that was reset, to the same state each time."""
    env = make()
    env.reset(seed=PROBE_SEED)
    return env


def maker_of(env: Any) -> Callable[[], Any] | None:
    """Return what makes an environment like this one, without a picture; None if nobody knows."""
    try:
        spec = copy.deepcopy(env.spec)
    except ValueError:  # a wrapper does not say how it was made
        return None
    if spec is None:
        return None
    import gymnasium
    from gymnasium.envs.registration import load_env_creator

    spec.additional_wrappers = tuple(w for w in spec.additional_wrappers if w.name != "Recorded")
    for wrapper in spec.additional_wrappers:
        try:
            load_env_creator(wrapper.entry_point)
        except (ImportError, AttributeError):  # its class is nowhere to be found
            return None
        if wrapper.kwargs is None:
            return None
    spec.kwargs.pop("render_mode", None)
    spec.disable_env_checker = True
    return lambda: gymnasium.make(spec)


def model_of(env_or_simulator: Any) -> Model:
    """Return what the planner sees of an environment or a simulator."""
    if is_environment(env_or_simulator):
        return Model(simulator_of(env_or_simulator), counted=0)
    return Model(env_or_simulator)
