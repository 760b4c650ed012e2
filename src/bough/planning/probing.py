"""Trying out whether a simulator sees what the environment would, before it is relied on.

What is tried is never the environment itself, but another one like it or a copy. The steps are
counted, and what was found is remembered for as long as the environment lives.
"""

import copy
import weakref
from collections.abc import Callable
from typing import Any

from bough.planning.comparing import equal_states
from bough.planning.copying import private_copy
from bough.planning.known import has_ended, was_reset
from bough.planning.layers import is_space, table_of, wrappers_of
from bough.planning.randomness import GENERATORS, global_numbers, reachable, reseed

#: How many steps are compared, and how many are taken before.
PROBE_STEPS = 10
#: The seeds of the probe: nothing about them matters.
PROBE_SEED, OTHER_SEED = 12_345, 54_321

Outcome = tuple[Any, float, bool]  # observation, reward, whether the episode ended


class Probe:
    """What is found out about one environment."""

    def __init__(self) -> None:
        self._found: dict[Any, Any] = {}
        self._steps = 0

    def taken(self) -> int:
        """Return how many steps were taken since this was asked last."""
        steps, self._steps = self._steps, 0
        return steps

    def why_unfaithful(
        self, env: Any, kind: Callable[..., Any], make: Callable[[], Any] | None, alone: bool
    ) -> str | None:
        """Return what is wrong with a kind of simulator for an environment; None if nothing is.

        An original and its simulator take the same steps, and must see the same. The original is a
        new environment, if `make` makes one (`alone`: without wrappers that nobody can make); and
        then a copy stands in for the present one, which finds less.
        """
        wrong: str | None = None
        if make is not None:
            if ("new", kind) not in self._found:
                self._found["new", kind] = self._why_new(env, kind, make)
            wrong = self._found["new", kind]
        if wrong is None and ("present", kind) not in self._found:
            wrong = self._why_present(env, kind, alone or make is None)
            if wrong is None:  # (or it may be that it was not reset yet)
                self._found["present", kind] = None
        return wrong

    def _why_new(self, env: Any, kind: Callable[..., Any], make: Callable[[], Any]) -> str | None:
        try:
            original = make()
            original.reset(seed=PROBE_SEED)
            for action in probe_actions(original)[:PROBE_STEPS]:
                (outcome,) = self._run(_plain(original), [action], PROBE_SEED)
                if outcome[2]:
                    original.reset()
        except Exception as error:  # whatever an environment does that is one too many
            return f"another one of its kind raised {error!r}"
        wrong = _why_shared(env, original) or self._why_different(original, kind)
        original.close()
        return wrong

    def _why_present(self, env: Any, kind: Callable[..., Any], strict: bool) -> str | None:
        try:
            original = stand_in(env)
        except Exception as error:  # whatever an environment does when it is copied
            return f"it cannot be copied: {error!r}"
        # (If its copy looks at it by mistake, so does the copy of that, and nothing shows.)
        wrong = _why_shared(env, original) if strict else None
        return wrong or self._why_different(original, kind)

    def _why_different(self, original: Any, kind: Callable[..., Any]) -> str | None:
        actions = probe_actions(original)[PROBE_STEPS:]
        try:
            simulator = kind(original, actions, False)
            start = simulator.present()
        except Exception as error:  # whatever an environment does when it is copied
            return f"it cannot be copied: {error!r}"
        # First the one, then the other: in turns, one that looks at the other's state by mistake
        # would see what it should.
        half = len(actions) // 2
        try:
            expected = self._run(_plain(original), actions, PROBE_SEED)
            simulator.restore(start)
            wrong = _difference(expected, self._run(simulator.step, actions, PROBE_SEED))
            if wrong is not None or len(expected) < len(actions):
                return wrong
            simulator.restore(start)
            self._run(simulator.step, actions[:half], PROBE_SEED)
            middle = simulator.snapshot()
            lots = []
            for _ in range(2):
                simulator.restore(middle)
                simulator.reseed(PROBE_SEED)
                lots.append(self._run(simulator.step, actions[half:], PROBE_SEED))
        except Exception as error:  # whatever an environment does when its copy is stepped
            return f"stepping a copy raised {error!r}"
        return _difference(*lots)

    def looks_deterministic(self, fresh: Callable[[], Any]) -> bool:
        """Return whether the same steps led to the same, whatever the random numbers were.

        `fresh` returns an environment that is in the same state each time.
        """
        if "deterministic" not in self._found:
            self._found["deterministic"] = self._repeats(fresh)
        return self._found["deterministic"] is True

    def _repeats(self, fresh: Callable[[], Any]) -> bool:
        actions = probe_actions(fresh())
        while actions:  # until so many steps were taken, even if episodes are short
            lots = []
            for seed in (PROBE_SEED, OTHER_SEED):
                env = fresh()
                reseed(env, seed + len(actions))
                lots.append(self._run(_plain(env), actions, seed + len(actions)))
            if _difference(*lots) is not None:
                return False
            actions = actions[len(lots[0]) :]
        return True

    def _run(self, step: Callable[[Any], Outcome], actions: list[Any], seed: int) -> list[Outcome]:
        """Take steps until the episode ends; what whole modules draw from is left as it was."""
        seen = []
        with global_numbers(seed):
            for action in actions:
                self._steps += 1
                outcome = copy.deepcopy(step(copy.deepcopy(action)))
                seen.append(outcome)
                if outcome[2]:
                    break
        return seen


_known: dict[int, tuple[weakref.ref[Any], Probe]] = {}


def probe_of(env: Any) -> Probe:
    """Return what is remembered of an environment, whether or not it is recorded."""
    if type(env).__name__ == "Recorded":
        env = env.env
    key = id(env)  # (an environment need not have a hash)
    reference, probe = _known.get(key, (None, None))
    if probe is None or reference is None or reference() is not env:
        probe = Probe()
        _known[key] = weakref.ref(env, lambda _: _known.pop(key, None)), probe
    return probe


def stand_in(env: Any) -> Any:
    """Return a copy of an environment in its present state; at a beginning, if it has none."""
    clone = private_copy(env)
    if not was_reset(env) or has_ended(env):
        clone.reset(seed=PROBE_SEED)
    return clone


def probe_actions(env: Any) -> list[Any]:
    """Draw actions without touching the generator of the environment's own action space."""
    space = copy.deepcopy(env.action_space)
    space.seed(PROBE_SEED)
    return [space.sample() for _ in range(2 * PROBE_STEPS)]


def _plain(env: Any) -> Callable[[Any], Outcome]:
    """Return the step of an environment, with what a simulator's step returns."""

    def step(action: Any) -> Outcome:
        observation, reward, terminated, truncated, _ = env.step(action)
        return observation, reward, terminated or truncated

    return step


def _difference(expected: list[Outcome], got: list[Outcome]) -> str | None:
    for i, (outcome, other) in enumerate(zip(expected, got, strict=False)):
        for name, one, two in zip(("observation", "reward", "end"), outcome, other, strict=True):
            if not equal_states(one, two):
                return f"{name} of a copy differs after {i + 1} steps: {two!r} for {one!r}"
    return None


def _why_shared(env: Any, other: Any) -> str | None:
    """Return what is wrong if another environment holds parts of this one."""
    skip = (env.unwrapped.spec, other.unwrapped.spec, table_of(env))
    # (The spaces of a class are those of all its environments, each with a generator.)
    skip += tuple(
        thing for one in (env, other) for thing in reachable(one, skip) if is_space(thing)
    )
    parts = [*wrappers_of(env), env.unwrapped]
    parts += [thing for thing in reachable(env, skip) if isinstance(thing, GENERATORS)]
    ids = {id(thing) for thing in parts}
    shared = next((thing for thing in reachable(other, skip) if id(thing) in ids), None)
    if shared is None:
        return None
    return f"it cannot be copied: the copy holds {shared!r} of the original, maybe in a function"
