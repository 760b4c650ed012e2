"""Simulators: the interface, three kinds for Gymnasium environments, and the choice of one."""

import copy
from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

from bough.exceptions import Unfaithful
from bough.planning.copies import (
    copy_check,
    equal_states,
    further_copy,
    generators_of,
    key_of_copies,
    private_copy,
    reseed,
    without_limit,
)
from bough.planning.environments import (
    LEFT_OUT,
    Outcome,
    Watch,
    actions_of,
    is_deterministic,
    known_of,
    own_action,
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
        self.watch = Watch(env)
        self.replayed = 0  # steps that only led back to a previous state, or were part of a check
        self._model: Any = None

    def present(self) -> Any:
        """Return a snapshot of the environment."""
        reason = self.watch.why_not_underway()
        if reason is not None:
            raise ValueError(f"{reason}: call env.reset() first")
        return self._read_env()

    def _read_env(self) -> Any:
        raise NotImplementedError

    def step(self, action: Any) -> Outcome:
        """Take an action in the model."""
        own = action if type(action) is int else own_action(action)
        observation, reward, terminated, truncated, _ = self._model.step(own)
        return observation, reward, terminated or truncated

    def step_with_info(self, action: Any) -> Any:
        """Take an action in the model, and return the outcome in the form of Gymnasium."""
        return self._model.step(own_action(action))

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed(generators_of(self._model), seed)

    def same(self, snapshot: Any, other: Any) -> bool:
        """Return whether two snapshots are of the same state."""
        return equal_states(snapshot, other)


class NativeSimulator(EnvironmentSimulator):
    """Snapshots of known attributes.

    These environments make a new array in every step and change none in place, so a snapshot need
    not copy anything: this is the quickest way to take one.
    """

    how = "native snapshots"

    def __init__(self, env: Any, actions: list[Any], deterministic: bool) -> None:
        super().__init__(env, actions, deterministic)
        self._model = private_copy(env)
        self._bare = bare = self._model.unwrapped
        self._generators = [bare.np_random]  # the only one
        self._names = known_of(env).attributes
        self.key = known_of(env).key
        self._owners = [bare] * len(self._names)
        self._read = attrgetter(*self._names)
        self._is_one = len(self._names) == 1

    def _read_env(self) -> Any:
        return self._attributes_of(self.watch.bare)

    def _attributes_of(self, bare: Any) -> Any:
        found = self._read(bare)
        return (found,) if self._is_one else found

    def snapshot(self) -> Any:
        """Return the attributes that hold the state of the model."""
        found = self._read(self._bare)
        return (found,) if self._is_one else found

    def restore(self, snapshot: Any) -> None:
        """Set these attributes."""
        for _ in map(setattr, self._owners, self._names, snapshot):
            pass

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed(self._generators, seed)


class _BlackjackSimulator(NativeSimulator):
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

    The wrapper `TimeLimit` is not simulated, since its limit does not affect the value of a state.
    An environment that truncates episodes itself also does so in simulation.

    Parameters
    ----------
    env
        The environment. The simulator follows it: a plan starts at its current state.
    how : "native", "copy", "replay" or None
        `"native"`: the state is a few known attributes (classic control, toy text). `"copy"`: deep
        copies, which are checked first. `"replay"`: reset and replay the actions, for an
        environment wrapped by `recorded`. By default the first of these that works.
    deterministic : bool, optional
        Whether the same actions always have the same outcome; by default known, or detected by
        stepping two copies with different random numbers. Randomness that appears only after 20
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
    if deterministic is not None and not isinstance(deterministic, bool):
        raise TypeError(f"deterministic must be True, False or None, got {deterministic!r}")
    if hasattr(env, "single_action_space"):
        raise TypeError(f"env must be one environment, not a vector of several, got {env}")
    actions = actions_of(env.action_space, values)
    known = bool(known_of(env).attributes)
    wrappers = {type(wrapper).__name__ for wrapper in wrappers_of(env)}
    if known and wrappers <= LEFT_OUT and how in (None, "native"):
        if deterministic is None:
            deterministic = is_deterministic(env)
        is_blackjack = type(env.unwrapped).__name__ == "BlackjackEnv"
        kind = _BlackjackSimulator if is_blackjack else NativeSimulator
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
