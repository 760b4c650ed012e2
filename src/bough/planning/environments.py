"""Gymnasium environments: their states, actions and outcomes."""

import copy
import itertools
import math
from collections.abc import Callable, Hashable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough._validation import shown, whole

FloatArray = npt.NDArray[np.float64]

#: Default number of values of a Box of one dimension, and for each of two dimensions.
VALUES = {1: 5, 2: 3}
#: Maximum number of actions: a tree with more at every node is hopeless.
MOST_ACTIONS = 10_000

Outcome = tuple[Any, float, bool]  # observation, reward, whether the episode ended


class InvalidOutcome(TypeError):  # noqa: N818 - a TypeError by its base class
    """Raised for a step whose outcome has the wrong types, unlike errors within the step."""


class KnownState(NamedTuple):
    """Attributes that hold the state of an environment, and functions of its state."""

    attributes: tuple[str, ...] = ()
    observe: Callable[[Any], Any] = lambda env: None
    has_ended: Callable[[Any], bool] = lambda env: False
    #: Of a snapshot, the tuple of the attributes: equal for equal states. None if states are real
    #: numbers, which hardly ever repeat.
    key: Callable[[Any], Hashable] | None = None


def _state(env: Any) -> Any:
    return np.array(env.state, dtype=np.float32)


def _place(env: Any) -> int:
    return int(env.s)


def _is_at_goal(env: Any) -> bool:
    return bool(env.state[0] >= env.goal_position)


def _blackjack_key(snapshot: Any) -> Hashable:
    """Return the sum, a usable ace, a natural (which may win more), and the dealer's hand."""
    player, dealer = snapshot
    has_usable_ace = 1 in player and sum(player) <= 11
    is_natural = sorted(player) == [1, 10]
    return sum(player) + 10 * has_usable_ace, has_usable_ace, is_natural, dealer


#: Environments of Gymnasium whose state is known, by the name of their class.
KNOWN = {
    "AcrobotEnv": KnownState(("state",), lambda env: env._get_ob(), lambda env: env._terminal()),
    "CartPoleEnv": KnownState(
        ("state", "steps_beyond_terminated"),
        _state,
        lambda env: env.steps_beyond_terminated is not None,
    ),
    "Continuous_MountainCarEnv": KnownState(("state",), _state, _is_at_goal),
    "MountainCarEnv": KnownState(("state",), _state, _is_at_goal),
    "PendulumEnv": KnownState(("state", "last_u"), lambda env: env._get_obs()),
    "BlackjackEnv": KnownState(
        ("player", "dealer"),
        lambda env: env._get_obs(),
        lambda env: len(env.dealer) > 2 or env._get_obs()[0] > 21,  # (not every end is visible)
        _blackjack_key,
    ),
    "CliffWalkingEnv": KnownState(
        ("s", "lastaction"), _place, lambda env: env.s == env.nS - 1, itemgetter(0)
    ),
    "FrozenLakeEnv": KnownState(
        ("s", "lastaction"), _place, lambda env: env.desc.flat[env.s] in (b"G", b"H"), itemgetter(0)
    ),
    "TaxiEnv": KnownState(
        ("s", "lastaction", "fickle_step", "taxi_orientation"),
        _place,
        lambda env: len(set(tuple(env.decode(env.s))[2:])) == 1,  # passenger at the destination
        itemgetter(0, 2),
    ),
}
#: Wrappers that are left out of what is simulated: those that only observe, and the time limit. It
#: says nothing about the value of a state, and states that differ in elapsed time only are equal.
LEFT_OUT = {"HumanRendering", "OrderEnforcing", "PassiveEnvChecker", "Recorded", "TimeLimit"}
LEFT_OUT |= {"RecordEpisodeStatistics", "RecordVideo", "RenderCollection"}


def is_environment(thing: Any) -> bool:
    """Return whether this is an environment rather than a simulator."""
    return hasattr(thing, "action_space") and hasattr(thing, "unwrapped")


def wrappers_of(env: Any, kind: str | None = None) -> list[Any]:
    """Return the wrappers of an environment, or those of one kind, the outermost first."""
    found, bare = [], env.unwrapped
    while env is not bare:
        if kind in (None, type(env).__name__):
            found.append(env)
        env = env.env
    return found


def module_of(thing: Any) -> str:
    """Return the name of the module that has the class of an object."""
    return str(getattr(type(thing), "__module__", ""))  # some classes of C libraries have none


def known_of(env: Any) -> KnownState:
    """Return the entry of an environment in `KNOWN`; one without attributes if there is none."""
    is_included = module_of(env.unwrapped).startswith("gymnasium.envs.")
    name = type(env.unwrapped).__name__ if is_included else ""
    return KNOWN.get(name, KnownState())


def table_of(env: Any) -> Any:
    """Return the transition table of a toy-text environment, if it is one."""
    return getattr(env.unwrapped, "P", None) if ".toy_text." in module_of(env.unwrapped) else None


def is_deterministic(env: Any) -> bool:
    """Return whether the transitions of a known environment are deterministic."""
    bare = env.unwrapped
    if getattr(bare, "torque_noise_max", 0.0) or getattr(bare, "fickle_passenger", False):
        return False
    if type(bare).__name__ == "BlackjackEnv":
        return False
    states = (table_of(env) or {}).values()
    return all(len(moves) == 1 for state in states for moves in state.values())


class Watch:
    """What an environment shows of its state: whether an episode is under way, and what was seen.

    Which wrappers there are is found out once.
    """

    def __init__(self, env: Any) -> None:
        self.bare = env.unwrapped
        self._known = known_of(env)
        self._wrappers = wrappers_of(env)
        names = [type(wrapper).__name__ for wrapper in self._wrappers]
        named = list(zip(names, self._wrappers, strict=True))
        self._records = [wrapper for name, wrapper in named if name == "Recorded"]
        self._limits = [wrapper for name, wrapper in named if name == "TimeLimit"]
        changed = [name not in LEFT_OUT for name in names]
        outside = changed.index(True) if any(changed) else len(names)
        #: The record of what the outermost wrapper returned; without one, whether that is what the
        #: environment itself returns.
        self._record = next((w for name, w in named[:outside] if name == "Recorded"), None)
        self._is_plain = not any(changed) and len(self._known.attributes) > 0
        self._has_mask = has_mask(env)

    def why_not_underway(self) -> str | None:
        """Return why no episode is under way, as far as that is known; None if one is."""
        records, known, bare = self._records, self._known, self.bare
        if any(record.seed is None for record in records):
            return (
                "nothing was recorded yet by the wrapper that `recorded` returned, which is also "
                "the `env` of an agent, and the one to reset and step"
            )
        is_reset = all(getattr(wrapper, "_has_reset", True) for wrapper in self._wrappers)
        if not is_reset or any(getattr(bare, n, None) is None for n in known.attributes[:1]):
            return "the environment was not reset yet"
        ended = known.has_ended(bare) or any(record.ended for record in records)
        if ended or any((w._elapsed_steps or 0) >= w._max_episode_steps for w in self._limits):
            return "the episode has ended"
        return None

    def last_seen(self) -> tuple[Any, Any]:
        """Return the observation and the info of the current state; None where unknown."""
        if self._record is not None:
            return self._record.last, self._record.info
        if not self._is_plain:
            return None, None
        bare = self.bare
        info = {"action_mask": bare.action_mask(bare.s)} if self._has_mask else {}
        return self._known.observe(bare), info


def has_mask(env: Any) -> bool:
    """Return whether a known environment returns masks of actions."""
    return hasattr(env.unwrapped, "action_mask")


def split_outcome(outcome: Any) -> tuple[Any, float, bool, Any]:
    """Return the observation, the reward, the end and the info (or None) of a step of any form.

    >>> split_outcome((7, 1.0, False)), split_outcome((7, 1.0, False, True, {"lives": 2}))
    ((7, 1.0, False, None), (7, 1.0, True, {'lives': 2}))
    """
    count = len(outcome) if isinstance(outcome, (tuple, list)) else 0
    if count == 5:
        observation, reward, terminated, truncated, info = outcome
        return observation, reward, terminated or truncated, info
    if count == 4:
        observation, reward, done, info = outcome
        return observation, reward, done, info
    if count == 3:
        observation, reward, ended = outcome
        return observation, reward, ended, None
    raise TypeError(
        "step must return (observation, reward, ended), (observation, reward, done, info) or "
        f"(observation, reward, terminated, truncated, info), got {outcome!r}"
    )


def check_ends(outcome: Any) -> None:
    """Check that a step returned booleans, or 0 and 1, for the end of the episode.

    Any other object would silently count as true or false.
    """
    count = len(outcome) if isinstance(outcome, (tuple, list)) else 0
    names = {3: ("ended",), 4: ("done",), 5: ("terminated", "truncated")}.get(count, ())
    for name, flag in zip(names, outcome[2:] if names else (), strict=False):
        checked_flag(flag, f"`{name}`")


def checked_flag(flag: Any, name: str) -> bool:
    """Return what a step returned for the end of the episode as a bool."""
    is_number = isinstance(flag, (int, np.integer)) and flag in (0, 1)
    if not (isinstance(flag, (bool, np.bool_)) or is_number):
        raise InvalidOutcome(f"step must return True or False as {name}, got {shown(flag)}")
    return bool(flag)


def own_action(action: Any) -> Any:
    """Return a copy of an action for a step: some environments change arrays in place."""
    return action if type(action) is int else copy.copy(action)


# ---------------------------------------------------------------------- actions


def actions_of(space: Any, values: int | None = None) -> list[Any]:
    """Return the actions of a Discrete, MultiDiscrete, MultiBinary or bounded Box space.

    A Box is covered by evenly spaced values, its ends included: five in one dimension, 3 x 3 in
    two. In more dimensions its actions are the center and, for each dimension, the two that differ
    from it by being at an end. `values` for each dimension make a full grid.

    >>> from gymnasium.spaces import Box
    >>> [action.tolist() for action in actions_of(Box(-2, 2), values=3)]
    [[-2.0], [0.0], [2.0]]
    >>> [len(actions_of(Box(-2, 2, (dimensions,)))) for dimensions in (1, 2, 3, 17)]
    [5, 9, 7, 35]
    """
    values = None if values is None else whole(values, "values", least=1)
    kind = type(space).__name__
    if kind == "Discrete":
        # Some environments compare with `is`, or index tables: plain ints suit them all.
        return [int(space.start) + k for k in range(int(space.n))]
    if kind == "MultiDiscrete":
        starts, counts = np.ravel(space.start), np.ravel(space.nvec)
        ranges = [np.arange(s, s + n).tolist() for s, n in zip(starts, counts, strict=True)]
    elif kind == "MultiBinary":
        ranges = [[0, 1]] * int(np.prod(space.shape))
    elif kind == "Box":
        if not space.is_bounded():
            raise ValueError(
                f"a Box of actions must be bounded, got {space}: leave out a wrapper that removes "
                "its bounds, or use one that sets some, such as gymnasium.wrappers.RescaleAction"
            )
        low, high = bounds_of(space)
        if values is None and low.size > max(VALUES):
            _check_count(space, 2 * low.size + 1)
            return _center_and_ends(space)
        count = values or VALUES.get(low.size, 1)
        ends = zip(low.tolist(), high.tolist(), strict=True)
        ranges = [_covering(least, most, count, space.dtype) for least, most in ends]
    else:
        raise TypeError(
            f"actions must be Discrete, MultiDiscrete, MultiBinary or a Box, got {space}; "
            "pass a Simulator of your own, whose actions may be anything"
        )
    advice = "; pass fewer values, or none, to simulator_of(env, values=)" if kind == "Box" else ""
    _check_count(space, math.prod(len(row) for row in ranges), advice)
    rows = itertools.product(*ranges)
    return [np.array(row, dtype=space.dtype).reshape(space.shape) for row in rows]


def _check_count(space: Any, count: int, advice: str = "") -> None:
    if count > MOST_ACTIONS:
        most = f"more than the maximum of {MOST_ACTIONS}"
        raise ValueError(f"{space} makes {count} actions, {most}{advice}")


def bounds_of(space: Any) -> tuple[FloatArray, FloatArray]:
    """Return the lower and the upper bound of each dimension of a Box."""
    return np.ravel(space.low).astype(float), np.ravel(space.high).astype(float)


def box_action(space: Any, point: FloatArray) -> Any:
    """Return an action of a Box, in its shape and type: integers are rounded."""
    rounded = np.rint(point) if np.issubdtype(space.dtype, np.integer) else point
    action = rounded.astype(space.dtype) + space.dtype.type(0)  # (0.0, never -0.0)
    return action.reshape(space.shape)


def _center_and_ends(space: Any) -> list[Any]:
    low, high = bounds_of(space)
    points = [low / 2 + high / 2]
    for i, ends in enumerate(zip(low, high, strict=True)):
        for end in ends:
            points.append(points[0].copy())
            points[-1][i] = end
    actions = [box_action(space, point) for point in points]
    return list({action.tobytes(): action for action in actions}.values())  # each once


def _covering(low: float, high: float, values: int, dtype: Any) -> list[Any]:
    """Return evenly spaced values of a Box's type: there may be fewer integers."""
    points = np.linspace(low, high, values) if values > 1 else np.array([(low + high) / 2])
    rounded = np.rint(points) if np.issubdtype(dtype, np.integer) else points
    return np.unique(rounded.astype(dtype)).tolist()  # type: ignore[no-any-return]
