"""Simulators: the interface, three kinds for Gymnasium environments, and the choice of one."""

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bough._validation import listed
from bough.exceptions import Unfaithful
from bough.planning.environments import (
    CHECK_STEPS,
    LEFT_OUT,
    FloatArray,
    Outcome,
    actions_of,
    bounds_of,
    box_action,
    check_ends,
    copy_check,
    equal_states,
    further_copy,
    generators_of,
    has_mask,
    is_changed,
    is_deterministic,
    is_discrete,
    is_environment,
    is_random_state,
    key_of_copies,
    known_of,
    last_seen,
    pickled,
    private_copy,
    reachable,
    reseed,
    split_outcome,
    step_in,
    why_not_underway,
    without_limit,
    wrappers_of,
)


@runtime_checkable
class Simulator(Protocol):
    """A generative model of the world: it answers where an action would lead.

    `actions` are those of every state, in any form that `step` accepts. Optional members:

    `deterministic` (False if it is missing)
        Whether the same actions from the same state always have the same outcome. If so, no step is
        simulated twice.
    `reseed(seed)`
        Make random transitions independent of those of the world itself. It is called before every
        playout, unless transitions are deterministic: a planner must not foresee the future. It may
        be missing if `restore` does not restore random numbers, so that playouts differ; a snapshot
        that holds a generator or its state is refused then.
    `same(snapshot, other) -> bool`
        Whether two snapshots are of the same state.
    `key(snapshot)`
        A hashable object, equal for snapshots of the same state. If there is none and transitions
        are deterministic, snapshots made of integers, strings, None and tuples of them only are
        their own keys.

    An agent reuses playouts only if there is `same` or a key.
    """

    actions: Sequence[Any]

    def snapshot(self) -> Any:
        """Return the current state, in a form that later steps do not change."""

    def restore(self, snapshot: Any) -> None:
        """Return to the state of a snapshot, which can be used again."""

    def step(self, action: Any) -> tuple[Any, ...]:
        """Take an action; return the observation, the reward, and whether the episode ended.

        Outcomes of Gymnasium (observation, reward, terminated, truncated, info) and of the old Gym
        (observation, reward, done, info) are accepted too.
        """


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
        The observation of the present state, and then, if there is a mask or `merge_states` is a
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
        self.deterministic = bool(getattr(simulator, "deterministic", False))
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
        is_native = isinstance(simulator, _NativeSimulator)
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
        elif merge_states is True and not (self._is_world and self.deterministic):
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
            known_observation, known_info = last_seen(self.simulator.env)
            observation = known_observation if observation is None else observation
            info = known_info if info is None else info
        if observation is None and (self._mask is not None or callable(self._merge_states)):
            raise ValueError(
                "the observation of the present state is unknown, and mask= or merge_states= needs "
                "it: pass observation= to plan, or agent.act(observation, info)"
            )
        self._observe(observation, info)
        needs_reseed = self.reseed is None and not self.deterministic
        if needs_reseed and any(map(is_random_state, reachable(snapshot))):
            raise ValueError(
                "snapshots of the simulator hold a random generator, or the state of one, so "
                "that every playout would draw the same numbers and foresee the future: give "
                "it reseed(seed), or deterministic = True if nothing is random"
            )
        if not self._checked:
            self.check_restore(snapshot)
            if self.key is None and self._merge_states is not False and self.deterministic:
                self._use_snapshots_as_keys(snapshot)
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

    def _use_snapshots_as_keys(self, snapshot: Any) -> None:
        """Let snapshots be their own keys, if one of them can be."""
        if is_discrete(snapshot):
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
        key = self._merge_states(self.observation)  # type: ignore[operator, misc]
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
            flags = None if observation is None or ended else self._mask(observation)
        if flags is not None and not ended:
            self.legal = self._legal(flags)

    def _mask_in(self, info: Any) -> Any:
        is_mask = isinstance(info, dict) and self.low is None
        return info.get("action_mask") if is_mask else None

    def _legal(self, flags: Any) -> tuple[int, ...] | None:
        flags = listed(flags, "a mask of actions")
        is_complete = len(flags) == len(self.actions)
        legal = tuple(k for k, flag in enumerate(flags) if flag) if is_complete else ()
        if not legal:
            raise ValueError(
                f"a mask must hold one boolean for each of the {len(self.actions)} actions, and "
                f"one action at least must be legal unless the episode has ended, got {flags}"
            )
        return legal if len(legal) < len(flags) else None

    def take_replayed(self) -> int:
        """Return the number of steps since the last call that led back to a state, or checked."""
        if self._is_world:
            count, self._replayed = self._replayed, 0
        else:
            count, self.simulator.replayed = self.simulator.replayed, 0
        return count


def _itself(snapshot: Any) -> Hashable:
    try:
        hash(snapshot)
    except TypeError:  # unlike the first one
        return object()
    return snapshot  # type: ignore[no-any-return]


class EnvironmentSimulator:
    """A simulator that steps a model of an environment, and follows the environment itself.

    The model has no time limit: the end of an episode by `TimeLimit` is not simulated.
    """

    how = ""
    key: Callable[[Any], Hashable] | None = None

    def __init__(self, env: Any, actions: list[Any], deterministic: bool) -> None:
        self.env = env
        self.actions = actions
        self.deterministic = deterministic
        self.replayed = 0  # steps that only led back to a previous state, or were part of a check
        self._model: Any = None

    def present(self) -> Any:
        """Return a snapshot of the environment."""
        reason = why_not_underway(self.env)
        if reason is not None:
            raise ValueError(f"{reason}: call env.reset() first")
        return self._read_env()

    def _read_env(self) -> Any:
        raise NotImplementedError

    def step(self, action: Any) -> Outcome:
        """Take an action in the model."""
        return step_in(self._model, action)

    def step_with_info(self, action: Any) -> Any:
        """Take an action in the model, and return the outcome in the form of Gymnasium."""
        return self._model.step(copy.copy(action))

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed(generators_of(self._model), seed)

    def same(self, snapshot: Any, other: Any) -> bool:
        """Return whether two snapshots are of the same state."""
        return equal_states(snapshot, other)


class _NativeSimulator(EnvironmentSimulator):
    """Snapshots of known attributes.

    These environments make a new array in every step and change none in place, so a snapshot need
    not copy anything: this is the quickest way to take one.
    """

    how = "native snapshots"

    def __init__(self, env: Any, actions: list[Any], deterministic: bool) -> None:
        super().__init__(env, actions, deterministic)
        self._model = private_copy(env)
        bare = self._model.unwrapped
        self._generators = [bare.np_random]  # the only one
        self._names = known_of(env).attributes
        self.key = known_of(env).key
        self._owners = [bare] * len(self._names)

    def _read_env(self) -> Any:
        return tuple(getattr(self.env.unwrapped, name) for name in self._names)

    def snapshot(self) -> Any:
        return tuple(map(getattr, self._owners, self._names))

    def restore(self, snapshot: Any) -> None:
        for _ in map(setattr, self._owners, self._names, snapshot):
            pass

    def reseed(self, seed: int) -> None:
        reseed(self._generators, seed)


class _BlackjackSimulator(_NativeSimulator):
    """Snapshots of the hands of Blackjack.

    The card that the dealer hides is left out. Every card is drawn from a full deck, and the dealer
    draws at least one after the first (at most 11), so that it can as well be drawn at the end: the
    probabilities are the same, and nothing is foreseen.
    """

    def _read_env(self) -> Any:
        player, dealer = super()._read_env()
        return tuple(player), tuple(dealer[:1])

    def snapshot(self) -> Any:
        return tuple(map(tuple, super().snapshot()))

    def restore(self, snapshot: Any) -> None:
        super().restore(map(list, snapshot))


class _CopySimulator(EnvironmentSimulator):
    """Snapshots that are deep copies of the environment."""

    how = "deep copies"
    heavy = True

    def __init__(self, env: Any, actions: list[Any], deterministic: bool) -> None:
        super().__init__(env, actions, deterministic)
        self.key = key_of_copies(env)

    def _read_env(self) -> Any:
        return private_copy(self.env)

    def snapshot(self) -> Any:
        return further_copy(self._model)

    def restore(self, snapshot: Any) -> None:
        self._model = further_copy(snapshot)


class _ReplaySimulator(EnvironmentSimulator):
    """Snapshots that are the actions since the reset."""

    how = "reset and replay"

    def __init__(self, env: Any, actions: list[Any], deterministic: bool, another: Any) -> None:
        super().__init__(env, actions, deterministic)
        self._record = wrappers_of(env, "Recorded")[0]
        self._model = recorded(without_limit(another))

    def _read_env(self) -> Any:
        done, expected = tuple(self._record.done), self._record.last
        self._replay(done)
        if not equal_states(self._model.last, expected):
            raise ValueError(
                "replaying the recorded actions does not lead to the state of the environment: "
                f"the observation is {self._model.last!r} instead of {expected!r}"
            )
        return done

    def snapshot(self) -> Any:
        return tuple(self._model.done)

    def restore(self, snapshot: Any) -> None:
        if not self.same(snapshot, self.snapshot()):
            self._replay(snapshot)

    def _replay(self, done: tuple[Any, ...]) -> None:
        self._model.reset(seed=self._record.seed, options=self._record.options)
        for action in done:
            self.step(action)
        self.replayed += len(done)

    def reseed(self, seed: int) -> None:
        reseed(generators_of(self._model.env), seed)  # (not that of the record)

    def same(self, snapshot: Any, other: Any) -> bool:
        # (Random actions may have another outcome each time.)
        return self.deterministic and equal_states(snapshot, other)


def simulator_of(
    env: Any,
    *,
    how: str | None = None,
    deterministic: bool | None = None,
    values: int | None = None,
    make: Callable[[], Any] | None = None,
    mask: Callable[[Any], Sequence[Any]] | None = None,
) -> Any:
    """Return a simulator of a Gymnasium environment, which itself is not changed.

    The wrapper `TimeLimit` is not simulated: its end of an episode says nothing about the value of
    a state. An environment that truncates episodes itself does so when it is simulated.

    Parameters
    ----------
    env
        The environment. The simulator follows it: a plan starts at its current state.
    how : "native", "copy", "replay" or None
        `"native"`: the state is a few known attributes (classic control, toy text). `"copy"`: deep
        copies, which are checked first. `"replay"`: reset and replay the actions, for an
        environment wrapped by `recorded`. By default the first of these that works.
    deterministic : bool, optional
        Whether the same actions always have the same outcome; by default it is known, or detected
        by stepping two copies with different random numbers. Randomness that only shows after 20
        steps is not detected.
    values : int, optional
        Number of values for each dimension of a Box of actions, which make a full grid. By default
        five in one dimension, 3 x 3 in two, and in d dimensions 2 d + 1: the center, and each
        dimension's two ends.
    make
        Function that makes another environment of this kind; by default `gymnasium.make(env.spec)`.
    mask : function, optional
        Function of the observation: whether each action is legal. The check of copies only takes
        legal actions. By default `info["action_mask"]`, where the environment has it.

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
        raise TypeError(f"env must be one environment, not a vector of several, got {env}")
    actions = actions_of(env.action_space, values)
    known = bool(known_of(env).attributes)
    wrappers = {type(wrapper).__name__ for wrapper in wrappers_of(env)}
    if known and wrappers <= LEFT_OUT and how in (None, "native"):
        if deterministic is None:
            deterministic = is_deterministic(env)
        is_blackjack = type(env.unwrapped).__name__ == "BlackjackEnv"
        kind = _BlackjackSimulator if is_blackjack else _NativeSimulator
        return kind(env, actions, deterministic)
    if how == "native":
        raise ValueError(
            f"the state of {env} is not known, or that of its wrappers: leave out how='native'"
        )
    make = make or maker_of(env)
    check = copy_check(env, make, mask)
    if deterministic is None:
        deterministic = check.deterministic and (not known or is_deterministic(env))
    wrong = check.difference
    simulator: EnvironmentSimulator
    if how in (None, "copy") and wrong is None:
        simulator = _CopySimulator(env, actions, deterministic)
    elif how in (None, "replay") and make is not None and wrappers_of(env, "Recorded"):
        try:
            another = make()
        except Exception as error:  # anything that an environment may raise
            raise Unfaithful(_unfaithful(env, wrong, f"making it raised {error!r}")) from error
        simulator = _ReplaySimulator(env, actions, deterministic, another)
        simulator.how += "" if wrong is None else f" ({wrong})"
    else:
        unknown = "gymnasium.make(env.spec) cannot make it"
        raise Unfaithful(_unfaithful(env, wrong, None if make else unknown))
    simulator.replayed, check.steps = check.steps, 0
    return simulator


def _unfaithful(env: Any, wrong: str | None, unmade: str | None) -> str:
    """Return why an environment is not simulated, and what to do.

    `wrong` is the fault of copies, `unmade` the reason why there is no other one for replaying;
    None if there is no such fault.
    """
    text = "" if wrong is None else f"{env} cannot be simulated on copies: {wrong}; "
    if unmade is None:
        return (
            f"{text}to replay its actions instead, wrap it before it is reset, "
            "env = bough.planning.recorded(env)"
        )
    return (
        f"{text}to replay its actions instead takes another environment of this kind, and {unmade}:"
        " wrap it before it is reset, env = bough.planning.recorded(env), and pass make= to "
        "bough.planning.simulator_of(env, make=...), which returns a simulator to pass to plan or "
        "Agent in place of env; or write a bough.planning.Simulator of your own"
    )


def maker_of(env: Any) -> Callable[[], Any] | None:
    """Return a function that makes such an environment, without rendering; None if unknown."""
    try:
        spec = copy.deepcopy(env.spec)
    except ValueError:  # a wrapper does not record its arguments
        return None
    if spec is None:
        return None
    import gymnasium

    spec.additional_wrappers = tuple(w for w in spec.additional_wrappers if w.name != "Recorded")
    if any(wrapper.kwargs is None for wrapper in spec.additional_wrappers):
        return None
    spec.kwargs.pop("render_mode", None)
    spec.disable_env_checker = True
    return lambda: gymnasium.make(spec)


def recorded(env: Any) -> Any:
    """Wrap an environment so that all actions since its last reset are recorded.

    It can be planned for by replaying them, even if it cannot be copied. Wrap it before it is
    reset. A reset without a seed draws one.

    >>> import gymnasium
    >>> env = recorded(gymnasium.make("CartPole-v1"))
    >>> _ = env.reset(seed=3)
    >>> _ = env.step(1)
    >>> env.seed, env.done
    (3, [1])
    """
    from bough.planning.recording import Recorded

    return Recorded(env)
