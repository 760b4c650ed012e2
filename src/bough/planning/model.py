"""The generative model of a planner: a simulator with all optional members filled in."""

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bough._validation import listed
from bough.planning.copies import (
    CHECK_STEPS,
    equal_states,
    is_changed,
    is_discrete,
    is_random_state,
    pickled,
    reachable,
)
from bough.planning.decision import called
from bough.planning.environments import (
    FloatArray,
    Outcome,
    bounds_of,
    box_action,
    check_ends,
    has_mask,
    is_environment,
    split_outcome,
)
from bough.planning.simulator import EnvironmentSimulator, NativeSimulator, simulator_of


class GenerativeModel:
    """An environment, or a simulator with all optional members filled in.

    `step` returns the observation, the reward, and whether the episode ended, in whatever form the
    simulator returns them. The form is detected in the first step, which replaces `step`.

    Parameters
    ----------
    merge_states : bool or function, optional
        Whether states that are reached in several ways are recognized, by their `key`. True:
        required. A function of the observation that returns a hashable: its result is the key of
        the state after the last step. By default where keys are known.
    mask : function, optional
        Function of the observation that returns a sequence of booleans, whether each action is
        legal. By default `info["action_mask"]`, if the first step or the present state has it.

    Attributes
    ----------
    actions
        A list; `add_action` appends to it.
    low, high
        Flat arrays of the bounds of a Box of actions; None for other actions.
    key
        Function of a snapshot that returns a key, equal for equal states; None if states are not
        merged. If `merge_states` is a function, call it right after the step that led to the
        snapshot. A key may be known only after `present` was called.
    observation
        The observation of the current state, and then, if there is a mask or `merge_states` is a
        function, that of the last step. None if it is unknown.
    legal : tuple of int or None
        The indices of the legal actions in the state of that observation; None if all are legal, if
        the episode has ended, or if it is unknown. `restore` changes neither of them: keep them
        with the snapshot.
    """

    def __init__(
        self,
        env_or_simulator: Any,
        *,
        merge_states: bool | Callable[[Any], Hashable] | None = None,
        mask: Callable[[Any], Sequence[Any]] | None = None,
    ) -> None:
        if not (merge_states is None or isinstance(merge_states, bool) or callable(merge_states)):
            raise TypeError(
                "merge_states must be True, False, None or a function of the observation, got "
                f"{merge_states!r}"
            )
        if mask is not None and not callable(mask):
            raise TypeError(f"mask must be a function of the observation or None, got {mask!r}")
        if isinstance(env_or_simulator, type):
            raise TypeError(
                "an environment or a simulator must be an object, got the class "
                f"{env_or_simulator.__name__}: call it"
            )
        is_env = is_environment(env_or_simulator)
        simulator = simulator_of(env_or_simulator, mask=mask) if is_env else env_or_simulator
        for name in ("snapshot", "restore", "step", "actions"):
            if not hasattr(simulator, name):
                raise TypeError(
                    "a simulator must have snapshot, restore, step and actions, but "
                    f"{simulator!r} has no {name}; a Gymnasium environment works too"
                )
        self.simulator = simulator
        self.actions = listed(simulator.actions, "simulator.actions")
        if not self.actions:
            raise ValueError("simulator.actions must hold at least one action, got none")
        self.deterministic = getattr(simulator, "deterministic", False)
        if not isinstance(self.deterministic, bool):
            raise TypeError(
                f"simulator.deterministic must be True or False, got {self.deterministic!r}"
            )
        self.how = str(getattr(simulator, "how", type(simulator).__name__))
        self.snapshot: Callable[[], Any] = simulator.snapshot
        self.restore: Callable[[Any], None] = simulator.restore
        self._is_world = not isinstance(simulator, EnvironmentSimulator)
        self.low: FloatArray | None = None
        self.high: FloatArray | None = None
        self._space = None if self._is_world else simulator.env.action_space
        if type(self._space).__name__ == "Box":
            self.low, self.high = bounds_of(self._space)
            if mask is not None:
                raise ValueError(f"mask is for discrete actions, got a mask and {self._space}")
        self._indices: dict[bytes, int] = {}  # of the actions of a Box, once one is added
        self._mask = mask
        #: Whether steps update `observation` and `legal`.
        self._observes = callable(merge_states) or mask is not None
        self._full_step: Callable[[Any], Any] = (
            simulator.step if self._is_world else simulator.step_with_info
        )
        self.step: Callable[[Any], Outcome] = self._first_step
        is_native = isinstance(simulator, NativeSimulator)
        if is_native and not has_mask(simulator.env) and not self._observes:
            self.step = simulator.step
        self.reseed: Callable[[int], None] | None = getattr(simulator, "reseed", None)
        self.same: Callable[[Any, Any], bool] | None = getattr(simulator, "same", None)
        self.observation: Any = None
        self.legal: tuple[int, ...] | None = None
        self.key: Callable[[Any], Hashable] | None = None
        self._merge_states = merge_states
        self.must_merge = merge_states is True
        key = getattr(simulator, "key", None)
        if callable(merge_states):
            self.key = self._observed_key
        elif merge_states is not False and callable(key):
            self._set_key(key)
        elif merge_states is True and not self._is_world:
            raise self._no_key()
        self._checked = not self._is_world  # whether `restore` is known to work
        self._replayed = 0
        #: Whether a snapshot costs about as much as a step.
        self.heavy = bool(getattr(simulator, "heavy", False))

    @contextmanager
    def present(self, observation: Any = None, info: Any = None) -> Iterator[Any]:
        """Provide a snapshot of the world, which is restored if the simulator is the world.

        Before the first plan a simulator is checked: see `check_restore`.

        Parameters
        ----------
        observation, info
            The last ones, if the caller has seen them. By default those of the environment, where
            they are known.
        """
        if self._is_world:
            snapshot = self.snapshot()
        else:
            snapshot = self.simulator.present()
            known_observation, known_info = self.simulator.watch.last_seen()
            observation = known_observation if observation is None else observation
            info = known_info if info is None else info
        if observation is None and (self._mask is not None or callable(self._merge_states)):
            raise ValueError(
                "the observation of the current state is unknown, but mask= or merge_states= needs "
                "it: pass observation= to plan, or agent.act(observation, info)"
            )
        self._observe(observation, info)
        holds_chance = not self.deterministic and any(map(is_random_state, reachable(snapshot)))
        if holds_chance and self.reseed is None:
            raise ValueError(
                "snapshots of the simulator hold a random generator, or the state of one, so "
                "that every playout would draw the same numbers and foresee the future: give "
                "it reseed(seed), or deterministic = True if nothing is random"
            )
        if not self._checked:
            self.check_restore(snapshot)
            if self.key is None and self._merge_states is not False:
                self._use_snapshots_as_keys(snapshot, holds_chance)
            self._checked = True
        try:
            yield snapshot
        finally:
            if self._is_world:
                self.restore(snapshot)

    def _set_key(self, key: Callable[[Any], Hashable]) -> None:
        self.key = key
        # (Merged states need not be equal in all that a snapshot holds, such as the last action.)
        if self.same is None or not self._is_world:
            self.same = lambda one, other: key(one) == key(other)

    def _use_snapshots_as_keys(self, snapshot: Any, holds_chance: bool) -> None:
        """Let snapshots be their own keys, if one of them can be."""
        if snapshot is not None and not holds_chance and is_discrete(snapshot):
            self._set_key(_itself)
        elif self._merge_states is True:
            raise self._no_key()

    def _no_key(self) -> ValueError:
        return ValueError(
            f"merge_states=True needs keys of states, and there are none ({self.how}): pass a "
            "function of the observation that returns a hashable, or give a simulator key(snapshot)"
        )

    def _observed_key(self, snapshot: Any) -> Hashable:
        if self.observation is None:  # unknown
            return object()
        key: Hashable = called(self._merge_states, "merge_states", self.observation)
        try:
            hash(key)
        except TypeError:
            raise TypeError(
                f"merge_states must return a hashable object, such as a tuple, got {key!r}"
            ) from None
        return key

    def check_restore(self, snapshot: Any) -> None:
        """Check by a few steps that `restore` returns to a snapshot, which steps do not change.

        States that cannot be pickled are not compared. The simulator is left in the state of the
        snapshot; the steps count as replayed.
        """
        try:
            before, untouched = pickled(snapshot), copy.deepcopy(snapshot)
        except Exception:  # anything that an object may raise when it is pickled or copied
            return

        def differs(state: Any) -> bool:
            if self.same is not None and self.same(untouched, state):
                return False
            return is_changed(state, before)

        observation, legal = self.observation, self.legal
        try:
            fault = self._restore_fault(snapshot, differs)
        finally:
            self.restore(untouched if differs(snapshot) else snapshot)
            self.observation, self.legal = observation, legal
        if fault is not None:
            raise ValueError(fault)

    def _restore_fault(self, snapshot: Any, differs: Callable[[Any], bool]) -> str | None:
        """Return what is wrong with `snapshot` or `restore`, by the first action with an effect."""
        actions = self.actions if self.legal is None else [self.actions[k] for k in self.legal]
        if self.reseed is not None and not self.deterministic:
            self.reseed(0)  # (as before every playout: a simulator may rely on it)
        for action in actions[:CHECK_STEPS]:
            self._replayed += 1
            ended = self.step(action)[2]
            if differs(snapshot):
                return (
                    "snapshot() returns an object that later steps change: "
                    "return a copy, such as copy.deepcopy(self.state)"
                )
            after = self.snapshot()
            if ended or differs(after):
                break
        else:
            return None
        self.restore(snapshot)
        restored = self.snapshot()
        if differs(restored) and equal_states(restored, after):
            return (
                f"restore() does not return to the snapshot: after step({action!r}) and "
                "restore(snapshot) the state is still that after the step; restore() must set "
                "everything that step() changes"
            )
        self._replayed += 1
        self.step(action)
        if differs(snapshot):
            return (
                "restore() uses the snapshot itself, which later steps change: "
                "use a copy, such as copy.deepcopy(snapshot)"
            )
        return None

    def add_action(self, vector: Any) -> int:
        """Return the index of an action of a Box, which is appended to `actions` if it is new.

        Parameters
        ----------
        vector
            One number for each dimension, flat. It is clipped to the bounds.
        """
        if self.low is None or self.high is None:
            raise TypeError("add_action needs an environment with a Box of actions")
        try:
            point = np.ravel(np.asarray(vector, dtype=float))
        except (TypeError, ValueError):
            point = np.array([])
        if point.shape != self.low.shape or np.isnan(point).any():
            raise ValueError(f"vector must hold {self.low.size} numbers, got {vector!r}")
        action = box_action(self._space, np.clip(point, self.low, self.high))
        if not self._indices:
            self._indices = {known.tobytes(): k for k, known in enumerate(self.actions)}
        index = self._indices.setdefault(action.tobytes(), len(self.actions))
        if index == len(self.actions):
            self.actions.append(action)
        return index

    def keep_actions(self, indices: Iterable[int]) -> None:
        """Keep only these actions of a Box, which are numbered in this order."""
        self.actions[:] = [self.actions[k] for k in indices]
        self._indices.clear()

    def index(self, action: Any) -> int:
        """Return the index of an action, which is added if it is one of a Box."""
        if self.low is not None:
            return self.add_action(np.ravel(action))
        for k, known in enumerate(self.actions):
            if np.array_equal(known, action):
                return k
        raise ValueError(f"rollout(observation) must return one of the actions, got {action!r}")

    def _first_step(self, action: Any) -> Outcome:
        if self.step != self._first_step:  # (the caller has kept this one)
            return self.step(action)
        try:
            outcome = self._full_step(action)
        except Exception as error:  # anything that an environment may raise
            if self._is_world:
                raise
            raise ValueError(
                f"the first step of a copy of {self.simulator.env} raised {error!r}: call "
                "env.reset() before planning; if not every action is legal, also pass "
                "observation= and info= to plan, or agent.act(observation, info)"
            ) from error
        check_ends(outcome)
        observation, reward, ended, info = split_outcome(outcome)
        if self._observes or self._mask_in(info) is not None:
            self.step = self._step_and_observe
            self._observe(observation, info, ended)
        elif self._is_world and len(outcome) > 3:
            self.step = self._step_with_info
        else:
            self.step = self.simulator.step
        return observation, reward, ended

    def _step_with_info(self, action: Any) -> Outcome:
        return split_outcome(self.simulator.step(action))[:3]

    def _step_and_observe(self, action: Any) -> Outcome:
        observation, reward, ended, info = split_outcome(self._full_step(action))
        self._observe(observation, info, ended)
        return observation, reward, ended

    def _observe(self, observation: Any, info: Any, ended: bool = False) -> None:
        """Set `observation` and `legal`; from the first mask on, also after each step."""
        self.observation, self.legal = observation, None
        if self._mask is None:
            flags = self._mask_in(info)
            if flags is not None and not self._observes:
                self._observes = True
                if self.step != self._first_step:
                    self.step = self._step_and_observe
        else:
            unknown = observation is None or ended
            flags = None if unknown else called(self._mask, "mask", observation)
        if flags is not None and not ended:
            self.legal = self._legal(flags)

    def _mask_in(self, info: Any) -> Any:
        is_mask = isinstance(info, dict) and self.low is None
        return info.get("action_mask") if is_mask else None

    def _legal(self, flags: Any) -> tuple[int, ...] | None:
        flags = listed(flags, "a mask of actions")
        is_valid = len(flags) == len(self.actions) and _are_flags(flags)
        legal = tuple(k for k, flag in enumerate(flags) if flag) if is_valid else ()
        if not legal:
            raise ValueError(
                f"a mask must hold one boolean for each of the {len(self.actions)} actions, and "
                f"one action at least must be legal unless the episode has ended, got {flags}"
            )
        return legal if len(legal) < len(flags) else None

    @property
    def knows_legal(self) -> bool:
        """Whether illegal actions would be known."""
        return self._mask is not None or self.legal is not None or self.low is not None

    def take_replayed(self) -> int:
        """Return the number of steps since the last call that led back to a state, or checked."""
        if self._is_world:
            count, self._replayed = self._replayed, 0
        else:
            count, self.simulator.replayed = self.simulator.replayed, 0
        return count


def _are_flags(flags: list[Any]) -> bool:
    """Return whether these are booleans, or 0 and 1."""
    try:
        return set(flags) <= {0, 1}
    except TypeError:  # arrays
        return False


def _itself(snapshot: Any) -> Hashable:
    try:
        hash(snapshot)
    except TypeError:  # unlike the first one
        return object()
    return snapshot  # type: ignore[no-any-return]
