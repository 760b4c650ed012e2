"""Habits: which action tends to do well after which, for steps that nothing else is known of."""

import random

from bough.planning.rollouts import Play
from bough.trees import Path

#: How often an action is drawn at random instead.
WHIM = 0.1
#: Discounts above this count as this, since what an end misses must be finite.
LONGEST = 0.99
#: Old plays count for less once there are so many newer ones.
MEMORY = 2000


class Habits:
    """Completes paths where no play has been: by what came after pairs of actions elsewhere.

    A path has to go on, though nothing is known of its last steps. Random ones soon drop a pole,
    and then say little of the steps before them. In games such rollouts are guided by averages
    over moves (Finnsson and Bjornsson 2008) and over sequences of moves (Tak, Winands and Bjornsson
    2012), wherever they were made. Here they are over an action and the one before it, and of ends
    only: how soon a path ended afterwards, and how much better or worse that was than to go on.
    Rewards on the way do not lure: to weigh them is for the belief. Where nothing ends all actions
    are alike.

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
        self._discount = min(discount, LONGEST)
        self._numbers = numbers
        #: By the action before: of each that was taken after it, how often, and how good ends were.
        self._after: dict[int, dict[int, list[float]]] = {}

    def add(self, play: Play, center: float) -> None:
        """Learn from a play; `center` is what is expected of a step."""
        discount, after = self._discount, self._after
        steps = play.path[: len(play.rewards)]
        # What an end gives less what it misses; each step before it is one step farther away.
        value = play.rewards[-1] - center / (1.0 - discount) if play.ended else 0.0
        for before, action in zip(steps[-2::-1], steps[:0:-1], strict=True):  # the last ones first
            known = after.setdefault(before, {})
            found = known.get(action)
            if found is None:
                known[action] = [1.0, value]
            else:
                if found[0] < MEMORY:
                    found[0] += 1.0
                found[1] += (value - found[1]) / found[0]
            value *= discount

    def complete(self, path: Path, depth: int) -> Path:
        """Return a path of that depth that begins like this one, which is not empty."""
        actions, numbers = self._actions, self._numbers.random
        best: dict[int, list[int] | None] = {}  # actions after each
        steps = list(path)
        action = path[-1]
        for _ in range(depth - len(path)):
            if action not in best:
                best[action] = self._best_after(action)
            usual = best[action]
            if usual is None or numbers() < WHIM:
                action = int(actions * numbers())
            else:
                action = usual[int(len(usual) * numbers())]
            steps.append(action)
        return tuple(steps)

    def _best_after(self, action: int) -> list[int] | None:
        """Return the actions that did best after one; None if some were never tried there."""
        known = self._after.get(action, {})
        if len(known) < self._actions:
            return None
        top = max(mean for _, mean in known.values())
        return [after for after, (_, mean) in known.items() if mean == top]
