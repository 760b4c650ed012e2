"""Copies of Gymnasium environments: equal states, random numbers, and the check of copies.

A deep copy is relied on only after a check: an environment and its copy take the same steps and
must give the same outcomes, bit for bit. Some copies do not, such as those of physics engines that
live outside of Python.
"""

import copy
import enum
import gc
import io
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
from typing import Any

import numpy as np

from bough.planning.environments import (
    LEFT_OUT,
    InvalidOutcome,
    Outcome,
    Watch,
    actions_of,
    check_ends,
    module_of,
    table_of,
    wrappers_of,
)

#: Number of steps that a check compares, after this many others; its arbitrary seeds.
CHECK_STEPS = 10
CHECK_SEED, OTHER_SEED = 12_345, 54_321
#: Sources of random numbers. All of them can be reseeded in place.
GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
#: Objects that hold nothing of an environment's own: classes, modules, functions of C libraries.
CLOSED = (type, types.ModuleType, types.BuiltinFunctionType)


# ---------------------------------------------------------------------- copies


def shared_parts(env: Any) -> list[Any]:
    """Return the parts that all copies share: they are large, and no step changes them."""
    specs = [vars(wrapper).get("_cached_spec") for wrapper in wrappers_of(env)]
    return [env.unwrapped.spec, table_of(env), *specs]


def private_copy(env: Any) -> Any:
    """Return a copy without rendering and the wrappers in `LEFT_OUT`."""
    shared = shared_parts(env)
    memo: dict[int, Any] = {id(thing): thing for thing in shared}
    if "pygame" in sys.modules:
        for thing in reachable(env, shared):
            if module_of(thing).partition(".")[0] == "pygame":
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
        return _are_equal_numbers(one, other) or pickled(one) == pickled(other)
    except Exception:  # anything that an object may raise when it is pickled
        return False


def _are_equal_numbers(one: Any, other: Any) -> bool:
    """Return whether two states are tuples of the same numbers or arrays, without pickling them.

    They may be equal if not: zero has two signs, and there are other types.
    """
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is tuple:
        return len(one) == len(other) and all(map(_are_equal_numbers, one, other))
    if kind is np.ndarray and not one.dtype.hasobject:
        is_alike = one.dtype == other.dtype and one.shape == other.shape
        return bool(is_alike and one.tobytes() == other.tobytes())
    if kind is float or kind is np.float64:
        return bool(one == other != 0.0)
    return one is None or (kind is int and one == other)


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
    module = module_of(env.unwrapped)
    if not module.startswith("minigrid.") or module.startswith("minigrid.envs.babyai."):
        return None  # (BabyAI remembers the instructions that were followed)
    wrappers = (w for w in wrappers_of(env) if type(w).__name__ not in LEFT_OUT)
    return _minigrid_key if all(map(_only_shows, wrappers)) else None


def _only_shows(wrapper: Any) -> bool:
    """Return whether a wrapper of MiniGrid only changes observations."""
    kinds = {kind.__name__ for kind in type(wrapper).__mro__}
    return module_of(wrapper).startswith("minigrid.") and "ObservationWrapper" in kinds


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
        copies = [current, restarted] if Watch(env).why_not_underway() is None else [restarted]
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
    seen = Watch(env).last_seen() if Watch(env).why_not_underway() is None else (None, None)
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
    spaces = [x for x in reachable(env, shared) if module_of(x).startswith("gymnasium.spaces.")]
    generators = [x for x in reachable(env, shared + spaces) if isinstance(x, GENERATORS)]
    ids = {id(part) for part in (*wrappers_of(env), env.unwrapped, *generators)}
    return next((x for x in reachable(private_copy(env), shared) if id(x) in ids), None)
