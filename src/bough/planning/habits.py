"""Habits: which action tends to do well after which, for steps that nothing else is known of."""

import math
import random

from bough.planning.rollouts import Play
from bough.trees import Path

#: How often an action is drawn at random instead.
WHIM = 0.1
#: Old returns count for less once there are so many newer ones.
MEMORY = 2000


class Habits:
    """Completes paths where no play has been: by what came after pairs of actions elsewhere.

    A path has to go on to its end, though nothing is known of its last steps. Random ones soon
    drop a pole, and then say little of the steps before them. In games such rollouts are guided
    by averages over moves (Finnsson and Bjornsson 2008) and over sequences of moves (Tak, Winands
    and Bjornsson 2012), wherever they were made; here they are over the action and the one before.

    Parameters
    ----------
    actions : int
        How many there are.
    discount : float
        Of an action.
    numbers
        Where chance comes from.
    """

    def __init__(self, actions: int, discount: float, numbers: random.Random) -> None:
        self._actions = actions
        self._discount = discount
        self._numbers = numbers
        #: By the action before: of each that was taken after it, how often, and the mean return.
        self._after: dict[int, dict[int, list[float]]] = {}

    def add(self, play: Play, center: float) -> None:
        """Learn from a play; `center` is what is expected of each step that it does not show."""
        discount, after = self._discount, self._after
        goes_on = not play.ended and discount < 1.0
        value = center / (1.0 - discount) if goes_on else 0.0
        steps = play.path[: len(play.rewards)]
        pairs = zip(steps[-2::-1], steps[:0:-1], play.rewards[:0:-1], strict=True)
        for before, action, reward in pairs:  # the last ones first
            value = reward + discount * value
            known = after.setdefault(before, {})
            found = known.get(action)
            if found is None:
                known[action] = [1.0, value]
            else:
                if found[0] < MEMORY:
                    found[0] += 1.0
                found[1] += (value - found[1]) / found[0]

    def complete(self, path: Path, depth: int) -> Path:
        """Return a path of that depth that begins like this one, which is not empty."""
        actions, numbers = self._actions, self._numbers.random
        best: dict[int, int | None] = {}  # the best action after each
        steps = list(path)
        action = path[-1]
        for _ in range(depth - len(path)):
            if action not in best:
                best[action] = self._best_after(action)
            usual = best[action]
            if usual is None or numbers() < WHIM:
                usual = int(actions * numbers())
            steps.append(usual)
            action = usual
        return tuple(steps)

    def _best_after(self, action: int) -> int | None:
        """Return what has done best after an action; None if some were never tried."""
        known = self._after.get(action, {})
        if len(known) < self._actions:
            return None
        top = -math.inf
        best: list[int] = []
        for after, (_, mean) in known.items():
            if mean > top:
                top, best = mean, []
            if mean == top:
                best.append(after)
        return self._numbers.choice(best)
