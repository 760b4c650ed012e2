"""The wrapper that remembers what was done: imported when it is needed, as Gymnasium is."""

import copy
from typing import Any

import gymnasium
import numpy as np


class Recorded(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Remembers its seed, what was done since, and what was seen last.

    A reset without a seed is given one, or there would be more and more to replay. The seeds follow
    from the last one that was given.

    Attributes
    ----------
    seed, options
        Of the last reset; None if there was none.
    done
        Actions since then.
    last
        The last observation.
    ended
        Whether the episode did.
    """

    def __init__(self, env: Any) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        self.seed: int | None = None
        self.options: Any = None
        self.done: list[Any] = []
        self.last: Any = None
        self.ended = False
        self._seeds = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Reset the environment, and begin the record anew."""
        if seed is None:
            seed = int(self._seeds.integers(2**31))
        else:
            self._seeds = np.random.default_rng(seed)
        observation, info = self.env.reset(seed=seed, options=options)
        self.seed, self.options, self.done = seed, copy.deepcopy(options), []
        self.last, self.ended = copy.deepcopy(observation), False
        return observation, info

    def step(self, action: Any) -> Any:
        """Take a step, and write it down."""
        written = copy.deepcopy(action)  # whoever has it may use the same array for the next
        outcome = self.env.step(action)
        self.done.append(written)
        self.last = copy.deepcopy(outcome[0])
        self.ended = bool(outcome[2] or outcome[3])
        return outcome
