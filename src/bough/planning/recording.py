"""The wrapper that records actions, imported only when it is needed, as Gymnasium is optional."""

import copy
from typing import Any

import gymnasium
import numpy as np


class Recorded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A wrapper that records the arguments of the last reset, and the actions since (`done`).

    A reset without a seed draws one that follows from the last seed given, or there would be more
    and more to replay.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.seed: int | None = None
        self.options: Any = None
        self.done: list[Any] = []
        self.last: Any = None  # observation
        self.info: Any = None  # of the last step or reset; not copied, since it may hold anything
        self.ended = False
        self._seeds = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Reset the environment and start a new record."""
        if seed is None:
            seed = int(self._seeds.integers(2**31))
        else:
            self._seeds = np.random.default_rng(seed)
        observation, info = self.env.reset(seed=seed, options=options)
        self.seed, self.options, self.done = seed, copy.deepcopy(options), []
        self.last, self.info, self.ended = copy.deepcopy(observation), info, False
        return observation, info

    def step(self, action: Any) -> Any:
        """Take a step and record it."""
        taken = copy.deepcopy(action)  # the caller may use the same array for the next
        outcome = self.env.step(action)
        self.done.append(taken)
        self.last, self.info = copy.deepcopy(outcome[0]), outcome[4]
        self.ended = bool(outcome[2] or outcome[3])
        return outcome
