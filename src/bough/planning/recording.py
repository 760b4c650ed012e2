"""The wrapper that remembers what was done: imported when it is needed, as Gymnasium is."""

from typing import Any

import gymnasium

#: Stands in the record for a reset that was given no seed.
RESET = "reset"


class Recorded(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Remembers its seed, what was done since, and what was seen last.

    Attributes
    ----------
    seed, options
        Of the last reset that was given a seed; None if there was none.
    done
        Actions since then, and `(RESET, options)` for a reset without a seed.
    last
        The last observation.
    """

    def __init__(self, env: Any) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        self.seed: int | None = None
        self.options: Any = None
        self.done: list[Any] = []
        self.last: Any = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Reset the environment, and begin the record anew if there is a seed."""
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self.seed, self.options, self.done = seed, options, []
        else:
            self.done.append((RESET, options))
        self.last = observation
        return observation, info

    def step(self, action: Any) -> Any:
        """Take a step, and write it down."""
        outcome = self.env.step(action)
        self.done.append(action)
        self.last = outcome[0]
        return outcome
