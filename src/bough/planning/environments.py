"""Gymnasium environments: their states, actions, copies and random numbers.

A deep copy is relied on only after a check: an environment and its copy take the same steps and
must give the same outcomes, bit for bit. Some copies do not, such as those of physics engines that
live outside of Python.
"""

import copy
import enum
import gc
import io
import itertools
import math
import pickle
import random
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import partial
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
#: Number of steps that a check compares, after this many others; its arbitrary seeds.
CHECK_STEPS = 10
CHECK_SEED, OTHER_SEED = 12_345, 54_321
#: Sources of random numbers. All of them can be reseeded in place.
GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
#: Objects that hold nothing of an environment's own: classes, modules, functions of C libraries.
CLOSED = (type, types.ModuleType, types.BuiltinFunctionType)

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
    found = []
    while env is not env.unwrapped:
        found.append(env)
        env = env.env
    return [wrapper for wrapper in found if kind in (None, type(wrapper).__name__)]


def _module_of(thing: Any) -> str:
    return str(getattr(type(thing), "__module__", ""))  # some classes of C libraries have none


def known_of(env: Any) -> KnownState:
    """Return the entry of an environment in `KNOWN`; one without attributes if there is none."""
    is_included = _module_of(env.unwrapped).startswith("gymnasium.envs.")
    name = type(env.unwrapped).__name__ if is_included else ""
    return KNOWN.get(name, KnownState())


def _table_of(env: Any) -> Any:
    """Return the transition table of a toy-text environment, if it is one."""
    return getattr(env.unwrapped, "P", None) if ".toy_text." in _module_of(env.unwrapped) else None


def is_deterministic(env: Any) -> bool:
    """Return whether the transitions of a known environment are deterministic."""
    bare = env.unwrapped
    if getattr(bare, "torque_noise_max", 0.0) or getattr(bare, "fickle_passenger", False):
        return False
    if type(bare).__name__ == "BlackjackEnv":
        return False
    states = (_table_of(env) or {}).values()
    return all(len(moves) == 1 for state in states for moves in state.values())


def why_not_underway(env: Any) -> str | None:
    """Return why no episode is under way, as far as that is known; None if one is."""
    records = wrappers_of(env, "Recorded")
    if any(record.seed is None for record in records):
        return (
            "nothing was recorded yet by the wrapper that `recorded` returned, which is also the "
            "`env` of an agent, and the one to reset and step"
        )
    known, bare = known_of(env), env.unwrapped
    is_reset = all(getattr(wrapper, "_has_reset", True) for wrapper in wrappers_of(env))
    if not is_reset or any(getattr(bare, name, None) is None for name in known.attributes[:1]):
        return "the environment was not reset yet"
    limits = wrappers_of(env, "TimeLimit")
    ended = known.has_ended(bare) or any(record.ended for record in records)
    if ended or any((w._elapsed_steps or 0) >= w._max_episode_steps for w in limits):
        return "the episode has ended"
    return None


def last_seen(env: Any) -> tuple[Any, Any]:
    """Return the observation and the info of the current state; None where they are unknown."""
    for wrapper in wrappers_of(env):
        if type(wrapper).__name__ == "Recorded":
            return wrapper.last, wrapper.info
        if type(wrapper).__name__ not in LEFT_OUT:
            return None, None
    known, bare = known_of(env), env.unwrapped
    if not known.attributes:
        return None, None
    return known.observe(bare), {"action_mask": bare.action_mask(bare.s)} if has_mask(env) else {}


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
        is_number = isinstance(flag, (int, np.integer)) and flag in (0, 1)
        if not (isinstance(flag, (bool, np.bool_)) or is_number):
            raise InvalidOutcome(f"step must return True or False as `{name}`, got {shown(flag)}")


def step_in(env: Any, action: Any) -> Outcome:
    """Take a step with a copy of the action: some environments change the array in place."""
    observation, reward, terminated, truncated, _ = env.step(copy.copy(action))
    return observation, reward, terminated or truncated


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
            raise ValueError(f"a Box of actions must be bounded, got {space}")
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


# ---------------------------------------------------------------------- copies


def shared_parts(env: Any) -> list[Any]:
    """Return the parts that all copies share: they are large, and no step changes them."""
    specs = [vars(wrapper).get("_cached_spec") for wrapper in wrappers_of(env)]
    return [env.unwrapped.spec, _table_of(env), *specs]


def private_copy(env: Any) -> Any:
    """Return a copy without rendering and the wrappers in `LEFT_OUT`."""
    shared = shared_parts(env)
    memo: dict[int, Any] = {id(thing): thing for thing in shared}
    if "pygame" in sys.modules:
        for thing in reachable(env, shared):
            if _module_of(thing).partition(".")[0] == "pygame":
                memo[id(thing)] = None
    clone = copy.deepcopy(env.unwrapped, memo)
    clone.render_mode = None
    # From the inside out: a wrapper may hold any of the environments within, not only the next.
    for wrapper in reversed(wrappers_of(env)):
        if type(wrapper).__name__ in LEFT_OUT:
            memo[id(wrapper)] = clone
        else:
            memo[id(wrapper.env)] = clone
            clone = copy.deepcopy(wrapper, memo)
    return clone


def without_limit(env: Any) -> Any:
    """Return an environment after its time limits were removed."""
    for wrapper in wrappers_of(env, "TimeLimit"):
        wrapper._max_episode_steps = math.inf
    return env


def further_copy(clone: Any) -> Any:
    """Return a copy of a copy."""
    return copy.deepcopy(clone, {id(thing): thing for thing in shared_parts(clone)})


# ---------------------------------------------------------------------- equality of states


class _StatePickler(pickle.Pickler):
    """Writes functions by identity, arrays by their contents, and no random generators.

    The next random numbers are not part of a state that a planner may know.
    """

    def persistent_id(self, thing: Any) -> Any:
        if isinstance(thing, GENERATORS):
            return "random numbers"
        if isinstance(thing, (*CLOSED, types.FunctionType)):
            return id(thing)
        if isinstance(thing, (np.ndarray, np.generic)) and not thing.dtype.hasobject:
            return thing.dtype.str, thing.shape, thing.tobytes()
        return None


def equal_states(one: Any, other: Any) -> bool:
    """Return whether two states are equal, bit for bit; False if they cannot be pickled."""
    try:
        return pickled(one) == pickled(other)
    except Exception:  # anything that an object may raise when it is pickled
        return False


def pickled(state: Any) -> bytes:
    """Return a state as bytes that are equal for equal states."""
    stream = io.BytesIO()
    _StatePickler(stream).dump(state)
    return stream.getvalue()


def is_changed(state: Any, before: bytes) -> bool:
    """Return whether a state differs from what it was when pickled; False if that is unknown."""
    try:
        return pickled(state) != before
    except Exception:
        return False


# ---------------------------------------------------------------------- keys of states


def is_discrete(state: Any) -> bool:
    """Return whether a state is hashable and made of integers, strings and the like only.

    Real numbers hardly ever repeat: it would not be worthwhile to look for equal states.

    >>> is_discrete((3, ("b", None), frozenset({True}))), is_discrete((3, 0.5)), is_discrete([3])
    (True, False, False)
    """
    if isinstance(state, (tuple, frozenset)):
        return all(map(is_discrete, state))
    return state is None or isinstance(state, (int, str, bytes, enum.Enum, np.integer, np.bool_))


def key_of_copies(env: Any) -> Callable[[Any], Hashable] | None:
    """Return the key of copies of an environment of MiniGrid; None for others."""
    module = _module_of(env.unwrapped)
    if not module.startswith("minigrid.") or module.startswith("minigrid.envs.babyai."):
        return None  # (BabyAI remembers the instructions that were followed)
    wrappers = (w for w in wrappers_of(env) if type(w).__name__ not in LEFT_OUT)
    return _minigrid_key if all(map(_only_shows, wrappers)) else None


def _only_shows(wrapper: Any) -> bool:
    """Return whether a wrapper of MiniGrid only changes observations."""
    kinds = {kind.__name__ for kind in type(wrapper).__mro__}
    return _module_of(wrapper).startswith("minigrid.") and "ObservationWrapper" in kinds


def _minigrid_key(env: Any) -> Hashable:
    """Return the state without the number of steps.

    States that differ in it only are not quite equal: the reward of the goal decreases slightly
    with every step, and after a maximum of steps the episode is truncated.
    """
    bare = env.unwrapped
    boxes = [_encoded(thing.contains) for thing in bare.grid.grid if hasattr(thing, "contains")]
    position, grid = tuple(map(int, bare.agent_pos)), bare.grid.encode().tobytes()
    return position, int(bare.agent_dir), _encoded(bare.carrying), tuple(boxes), grid


def _encoded(thing: Any) -> Hashable:
    """Return the type, color and state of an object of MiniGrid, and of what is in it."""
    return thing and (*thing.encode(), _encoded(getattr(thing, "contains", None)))


# ---------------------------------------------------------------------- random numbers


def reachable(thing: Any, skip: Sequence[Any] = ()) -> Iterator[Any]:
    """Yield an object and everything that it holds, at any depth, each object once."""
    seen = {id(other): other for other in (*skip, thing)}
    queue = deque([thing])
    while queue:
        thing = queue.popleft()
        yield thing
        if isinstance(thing, (*GENERATORS, *CLOSED)):
            continue
        parts = gc.get_referents(thing)
        if isinstance(thing, types.FunctionType):  # (it refers to its module, too)
            parts = [thing.__closure__, thing.__defaults__, thing.__kwdefaults__]
        for part in parts:
            if id(part) not in seen:
                seen[id(part)] = part  # (kept alive, or another object might get its id)
                queue.append(part)


def is_random_state(thing: Any) -> bool:
    """Return whether this is a random generator, or the state of one."""
    if isinstance(thing, dict):
        return "bit_generator" in thing
    if isinstance(thing, tuple):  # of NumPy's legacy generators, and of Python's
        legacy = len(thing) == 5 and isinstance(thing[0], str) and thing[0] == "MT19937"
        return legacy or (len(thing) == 3 and isinstance(thing[1], tuple) and len(thing[1]) == 625)
    return isinstance(thing, GENERATORS)


def generators_of(env: Any) -> list[Any]:
    """Return all random generators that an environment holds, its own `np_random` first."""
    own = getattr(env.unwrapped, "np_random", None)  # (created on first access)
    found = [x for x in reachable(env, shared_parts(env)) if isinstance(x, GENERATORS)]
    return sorted(found, key=lambda generator: generator is not own)


def reseed(generators: Sequence[Any], seed: int) -> None:
    """Reseed generators in place, independently of one another: parts may share one."""
    for stream, generator in enumerate(generators):
        source = np.random.SeedSequence(seed, spawn_key=(stream,) if stream else ())
        if isinstance(generator, random.Random):
            generator.seed(int(source.generate_state(1, np.uint64)[0]))
        elif isinstance(generator, np.random.RandomState):
            generator.seed(source.generate_state(4))
        else:
            bits = getattr(generator, "bit_generator", generator)
            bits.state = type(bits)(source).state


# ---------------------------------------------------------------------- checks


class CopyCheck:
    """A check of the deep copies of an environment, in place of which a new one is stepped.

    If there is no `make`, or it fails, a copy is. `difference` is that of a further copy, None if
    they agree. Steps are legal wherever a mask is known: always after a reset, and in the current
    state if it was `seen` there (observation and info).
    """

    def __init__(
        self,
        env: Any,
        make: Callable[[], Any] | None,
        mask: Callable[[Any], Sequence[Any]] | None = None,
        seen: tuple[Any, Any] = (None, None),
    ) -> None:
        self.steps = 0  # number of steps that no simulator has reported yet
        self.deterministic = False  # whether outcomes do not depend on random numbers
        self.mask_id = id(mask)  # (a reference might keep the environment alive)
        space = copy.deepcopy(env.action_space)  # (the environment keeps its own generator)
        space.seed(CHECK_SEED)
        draws = random.Random(CHECK_SEED)
        self._actions = [(draws.random(), space.sample()) for _ in range(2 * CHECK_STEPS)]
        probe = partial(_Probe, mask=mask)

        def current() -> _Probe:
            return probe(private_copy(env), seen=seen)

        def restarted() -> _Probe:
            return probe(private_copy(env)).restarted()

        def made() -> _Probe:
            return probe(without_limit(make())).restarted()  # type: ignore[misc]

        # An environment that does not say whether it was reset may not be steppable as it is.
        copies = [current, restarted] if why_not_underway(env) is None else [restarted]
        self.raised = False  # whether there is no result but an error
        try:
            starts = copies if make is None else [made, *copies]
            self.difference = self._copy_difference(env, starts)
        except InvalidOutcome:
            raise
        except Exception as error:  # anything that an environment may raise
            self.raised = True
            self.difference = f"copying it, or stepping a copy, raised {error!r}"
        repeated = copies if self.difference is None else [made] if make is not None else []
        for fresh in repeated:
            try:
                self.deterministic = self._repeats(fresh)
                break
            except Exception:  # a simulator would raise it again, if there is one
                self.raised = fresh is repeated[-1]

    def _copy_difference(self, env: Any, starts: list[Callable[[], "_Probe"]]) -> str | None:
        """Return a difference between an environment and its deep copy, or None."""
        shared = _shared_by_copy(env)
        if shared is not None:
            return f"the copy holds {shared!r} of the original"
        original = self._warmed_up(starts)
        try:
            clone = original.copy()
            # First the one, then the other: in turns, a copy that uses the original's state by
            # mistake would find what it should.
            expected = self._run(original, self._actions[CHECK_STEPS:], CHECK_SEED)
            return _difference(expected, self._run(clone, self._actions[CHECK_STEPS:], CHECK_SEED))
        finally:
            original.env.close()

    def _warmed_up(self, starts: list[Callable[[], "_Probe"]]) -> "_Probe":
        """Return the first of these that can be stepped, after some steps."""
        for start in starts[:-1]:
            with suppress(Exception):  # the last one may raise it
                return self._after_steps(start())
        return self._after_steps(starts[-1]())

    def _after_steps(self, probe: "_Probe") -> "_Probe":
        try:
            for action in self._actions[:CHECK_STEPS]:
                ((_, _, ended),) = self._run(probe, [action], CHECK_SEED)
                if ended:
                    probe.reset()
        except Exception:
            probe.env.close()
            raise
        return probe

    def _repeats(self, fresh: Callable[[], "_Probe"]) -> bool:
        """Return whether steps have the same outcome with different random numbers.

        `fresh` returns an environment in the same state each time.
        """
        actions = self._actions
        while actions:  # until all were taken, even if episodes are short
            runs = []
            for seed in (CHECK_SEED + len(actions), OTHER_SEED + len(actions)):
                probe = fresh()
                reseed(generators_of(probe.env), seed)
                runs.append(self._run(probe, actions, seed))
            if _difference(*runs) is not None:
                return False
            actions = actions[len(runs[0]) :]
        return True

    def _run(self, probe: "_Probe", actions: list[tuple[float, Any]], seed: int) -> list[Outcome]:
        """Take and count steps until the episode ends; module-level generators stay as they are."""
        python = random.getstate()
        numpy = np.random.get_state()  # noqa: NPY002 - environments may still use it
        outcomes: list[Outcome] = []
        try:
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            for draw, action in actions:
                self.steps += 1
                outcomes.append(copy.deepcopy(probe.step(draw, action)))
                if outcomes[-1][2]:
                    break
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002
        return outcomes


class _Probe:
    """An environment that is stepped by a check, and the legal actions of its state if known."""

    def __init__(
        self,
        env: Any,
        *,
        mask: Callable[[Any], Sequence[Any]] | None = None,
        seen: tuple[Any, Any] = (None, None),
    ) -> None:
        self.env = env
        self._mask = mask
        self._observe(*seen)

    def copy(self) -> "_Probe":
        """Return a probe with a copy of the environment."""
        other = _Probe(private_copy(self.env), mask=self._mask)
        other._legal = self._legal
        return other

    def restarted(self) -> "_Probe":
        """Return the probe after a reset to the same state each time."""
        self.reset(seed=CHECK_SEED)
        return self

    def reset(self, **options: Any) -> None:
        seen = self.env.reset(**options)
        self._observe(*(seen if isinstance(seen, tuple) and len(seen) == 2 else (None, None)))

    def step(self, draw: float, action: Any) -> Outcome:
        """Take an action; where legal ones are known, the one at this share of their list."""
        if self._legal:
            action = self._legal[int(draw * len(self._legal))]
        outcome = self.env.step(copy.copy(action))
        check_ends(outcome)
        observation, reward, terminated, truncated, info = outcome
        self._observe(observation, info)
        return observation, reward, terminated or truncated

    def _observe(self, observation: Any, info: Any) -> None:
        """Set the legal actions, None if they are unknown; a wrong mask is refused elsewhere."""
        self._legal: list[Any] | None = None
        if type(self.env.action_space).__name__ == "Box":
            return
        with suppress(Exception):  # anything that the user's function may raise
            if self._mask is None:
                flags = info.get("action_mask")
            else:
                flags = None if observation is None else self._mask(observation)
            if flags is not None:
                actions = actions_of(self.env.action_space)
                self._legal = [a for a, flag in zip(actions, flags, strict=True) if flag]


_checks: dict[int, CopyCheck] = {}


def copy_check(
    env: Any,
    make: Callable[[], Any] | None,
    mask: Callable[[Any], Sequence[Any]] | None = None,
) -> CopyCheck:
    """Check the copies of an environment, once for as long as it lives, recorded or not.

    A check that an environment has stopped by an error is made again with another mask.
    """
    seen = last_seen(env) if why_not_underway(env) is None else (None, None)
    if type(env).__name__ == "Recorded":
        env = env.env
    key = id(env)  # (an environment need not be hashable)
    check = _checks.get(key)
    if check is None or (check.raised and check.mask_id != id(mask)):
        known, check = check, CopyCheck(env, make, mask, seen)
        if known is not None:
            check.steps += known.steps
            _checks[key] = check
        elif check.difference is None or make is not None:  # (else `make` may still be given)
            _checks[key] = check
            weakref.finalize(env, _checks.pop, key)
    return check


def _difference(expected: list[Outcome], outcomes: list[Outcome]) -> str | None:
    for i, (one, other) in enumerate(zip(expected, outcomes, strict=False)):
        if not equal_states(one, other):
            return f"the outcome of a copy differs after {i + 1} steps: {other} instead of {one}"
    return None


def _shared_by_copy(env: Any) -> Any | None:
    """Return a part of an environment that its copy uses too, perhaps through a function."""
    shared = shared_parts(env)
    # (Environments of a class may share its spaces, each with a generator.)
    spaces = [x for x in reachable(env, shared) if _module_of(x).startswith("gymnasium.spaces.")]
    generators = [x for x in reachable(env, shared + spaces) if isinstance(x, GENERATORS)]
    ids = {id(part) for part in (*wrappers_of(env), env.unwrapped, *generators)}
    return next((x for x in reachable(private_copy(env), shared) if id(x) in ids), None)
