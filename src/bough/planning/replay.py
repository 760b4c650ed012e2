"""Environments that can only be brought back by resetting them and doing all again."""

import copy
from collections.abc import Callable
from typing import Any

from bough.planning.comparing import equal_states
from bough.planning.known import check_underway
from bough.planning.layers import record_of
from bough.planning.randomness import reseed


def recorded(env: Any) -> Any:
    """Wrap an environment so that everything since its last reset is written down.

    Then it can be planned for by replaying that, even if it cannot be copied. Wrap it before it is
    reset. A reset without a seed is given one.

    >>> import gymnasium
    >>> env = recorded(gymnasium.make("CartPole-v1"))
    >>> _ = env.reset(seed=3)
    >>> _ = env.step(1)
    >>> env.seed, env.done
    (3, [1])
    """
    from bough.planning.recording import Recorded

    return Recorded(env)


class ReplaySimulator:
    """An environment whose snapshots are what was done since it was reset.

    `replayed` counts the steps that only led back to a state seen before.
    """

    how = "reset and replay"

    def __init__(
        self, env: Any, actions: list[Any], deterministic: bool, make: Callable[[], Any]
    ) -> None:
        self.env = env
        self.record: Any = record_of(env)
        self.actions = actions
        self.deterministic = deterministic
        self.replayed = 0
        self._model = make()
        self._done: tuple[Any, ...] = ()

    def present(self) -> Any:
        """Return what was done in the environment that was handed in; check that it leads there."""
        if self.record.seed is None:
            raise ValueError(
                f"this environment is simulated by {self.how}, and nothing was recorded yet: reset "
                "and step the one that `recorded` returned, which is also the `env` of an agent, "
                "and not the one within"
            )
        check_underway(self.env)
        done = tuple(self.record.done)
        observation = self._replay(done)
        if not equal_states(observation, self.record.last):
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
        if not self.deterministic or not equal_states(snapshot, self._done):
            self._replay(snapshot)

    def _replay(self, done: tuple[Any, ...]) -> Any:
        observation, _ = self._model.reset(seed=self.record.seed, options=self.record.options)
        for action in done:
            observation = self._model.step(copy.copy(action))[0]
            self.replayed += 1
        self._done = done
        return observation

    def step(self, action: Any) -> tuple[Any, float, bool]:
        """Take an action in the model."""
        # (Some environments change the array that they are given.)
        observation, reward, terminated, truncated, _ = self._model.step(copy.copy(action))
        self._done = (*self._done, action)
        return observation, reward, terminated or truncated

    def reseed(self, seed: int) -> None:
        """Let the model draw other random numbers than the environment will."""
        reseed(self._model, seed)

    def same(self, snapshot: Any, other: Any) -> bool:
        """Return whether the same was done."""
        return self.deterministic and equal_states(snapshot, other)
