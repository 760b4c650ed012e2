"""Environments that can only be brought back by resetting them and doing all again."""

from collections.abc import Callable
from typing import Any

from bough.planning.copying import same_observation
from bough.planning.native import equal_states, reseed, wrappers_of

#: Stands in the record for a reset that was given no seed, as in `recording.py`.
RESET = "reset"


def recorded(env: Any) -> Any:
    """Wrap an environment so that everything since its last seeded reset is written down.

    Then it can be planned for by replaying that, even if it cannot be copied. Wrap it before it is
    reset, and reset it with a seed at least once.

    >>> import gymnasium
    >>> env = recorded(gymnasium.make("CartPole-v1"))
    >>> _ = env.reset(seed=3)
    >>> _ = env.step(1)
    >>> env.seed, env.done
    (3, [1])
    """
    from bough.planning.recording import Recorded

    return Recorded(env)


def record_of(env: Any) -> Any | None:
    """Return the wrapper that `recorded` put around an environment, if it did."""
    return next((w for w in wrappers_of(env) if type(w).__name__ == "Recorded"), None)


class ReplaySimulator:
    """An environment whose snapshots are what was done since it was reset with a seed.

    `replayed` counts the steps that only led back to a state seen before.
    """

    how = "reset and replay"

    def __init__(
        self, env: Any, actions: list[Any], make: Callable[[], Any], deterministic: bool
    ) -> None:
        record = record_of(env)
        assert record is not None  # whoever makes one has asked
        self.record = record
        self.actions = actions
        self.deterministic = deterministic
        self.replayed = 0
        self._model = make()
        self._done: tuple[Any, ...] = ()

    def present(self) -> Any:
        """Return what was done in the environment that was handed in; check that it leads there."""
        if self.record.seed is None:
            raise ValueError(
                "the environment can only be replayed from a seed: call env.reset(seed=...)"
            )
        done = tuple(self.record.done)
        observation = self._replay(done)
        if not same_observation(observation, self.record.last):
            raise ValueError(
                "replaying all that was done does not lead back to where the environment is: "
                f"it sees {observation!r} instead of {self.record.last!r}"
            )
        return done

    def snapshot(self) -> Any:
        """Return all that was done."""
        return self._done

    def restore(self, snapshot: Any) -> None:
        """Reset the model and do all again."""
        if snapshot != self._done or not self.deterministic:
            self._replay(snapshot)

    def _replay(self, done: tuple[Any, ...]) -> Any:
        record = self.record
        observation, _ = self._model.reset(seed=record.seed, options=record.options)
        for action in done:
            if isinstance(action, tuple) and len(action) == 2 and action[0] == RESET:
                observation, _ = self._model.reset(options=action[1])
            else:
                observation = self._model.step(action)[0]
                self.replayed += 1
        self._done = done
        return observation

    def step(self, action: Any) -> tuple[Any, float, bool]:
        """Take an action in the model."""
        observation, reward, terminated, truncated, _ = self._model.step(action)
        self._done = (*self._done, action)
        return observation, reward, terminated or truncated

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed(self._model, seed)

    def same(self, snapshot: Any, other: Any) -> bool:
        """Return whether the same was done."""
        return self.deterministic and equal_states(snapshot, other)
