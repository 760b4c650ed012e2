# cython: language_level=3, annotation_typing=False
"""The rollout policy: it completes paths beyond the simulated states.

Compiled, since it runs for every step of the simulator.
"""

import math
import random
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bough.trees import Path

if TYPE_CHECKING:
    from bough.planning.playouts import Playout, Simulation

#: Probability of a random action in the rollout policy.
EPSILON = 0.05
#: Styles of rollouts: averages over pairs of actions, the rest of the best path, averages by step.
PAIRS, BEST, STEPS = range(3)
ANY = -1
#: Number of playouts before averages by step are used: those of few are misleading.
LEAST_RETURNS = 20
#: Width of the random perturbation of averages by step, in standard deviations of a return.
PERTURBATION = 0.7
#: The success of a style of rollouts is judged by this many of the last playouts, at least by so
#: many; its average moves by a share at a time, and this much is added to its probability.
RECENT, LEAST_RECENT = 40, 8
LEARNING_RATE = 0.1
LEAST_SUCCESS = 0.1
#: Of more actions than this, only those that were tried are compared, and this many others.
MANY = 1000
#: Maximum discount in the rollout policy: the loss by an early end must be finite.
MOST_DISCOUNT = 0.99
#: No limit of a number.
UNLIMITED = math.inf
#: Number of playouts after which older ones count for less in the rollout policy.
MEMORY = 2000


class Average:
    """A running mean."""

    __slots__ = ("count", "mean")

    def __init__(self) -> None:
        self.count = 0.0
        self.mean = 0.0

    def add(self, value: float, most: float) -> None:
        """Add a value; with more than `most` of them, older ones count for less."""
        if self.count < most:
            self.count += 1.0
        self.mean += (value - self.mean) / self.count


class StepReturns:
    """Returns from one step of a decision on: their mean, variance and averages by action."""

    __slots__ = ("by_action", "count", "mean", "squares")

    def __init__(self) -> None:
        self.count = self.mean = self.squares = 0.0
        self.by_action: dict[int, Average] = {}

    def add(self, action: int, value: float) -> None:
        """Add the return of a playout that took an action in this step."""
        change = value - self.mean
        self.count += 1.0
        self.mean += change / self.count
        self.squares += change * (value - self.mean)
        found = self.by_action.get(action)
        if found is None:
            found = self.by_action[action] = Average()
        found.add(value, UNLIMITED)

    def best(self, choices: Sequence[int], uniform: Callable[[], float]) -> int:
        """Return the action with the highest average, shrunk toward the mean and perturbed."""
        spread = PERTURBATION * math.sqrt(self.squares / self.count)
        if len(choices) > MANY:
            choices = [*self.by_action, *[_drawn(choices, uniform) for _ in range(MANY)]]
        best, top = choices[0], -UNLIMITED
        for action in choices:
            score, count = 0.0, 1.0
            found = self.by_action.get(action)
            if found is not None:
                count += found.count
                score = found.count * (found.mean - self.mean) / count
            score += spread * (uniform() - 0.5) / math.sqrt(count)
            if score > top:
                best, top = action, score
        return best


class RolloutPolicy:
    """Completes paths beyond the simulated states.

    There are three styles. Each rollout has one of them, more often one whose playouts are more
    often among the best quarter.

    *Averages over pairs of actions.* Random actions soon drop a pole, and then say little about the
    steps before them. In games rollouts are guided by averages over moves (Finnsson and Bjornsson
    2008) and over sequences of moves (Tak, Winands and Bjornsson 2012), wherever they were made.
    Here the averages are over an action and the one before it, and of ends only: how soon a playout
    ended afterwards, and how much better or worse that was than to continue. Other rewards are left
    to the belief. If no episode ends, all actions are equally likely.

    *The rest of the best path.* Where actions compensate each other, a change of the best path is
    most useful if its other steps stay as they are.

    *Averages by step.* Where each action contributes its share, whatever the others are, the best
    path has the best action of every step. The averages are over the returns from a step on, so
    they hold for the decisions that follow.
    """

    def __init__(self, simulation: "Simulation", discount: float, rng: random.Random) -> None:
        self._simulation = simulation
        self._discount = min(discount, MOST_DISCOUNT)
        self._rng = rng
        #: By the previous action: the average value of ends of each action after it.
        self._after: dict[int, dict[int, Average]] = {}
        self.returns: list[StepReturns] = []  # of each step from the root on
        self._style = PAIRS  # of the last rollout
        self._follows = False  # whether rollouts may follow values
        self._success = [0.5, 0.5, 0.5]  # of each style
        self._bar = -math.inf  # the least value of the best quarter of these:
        self._recent: deque[float] = deque(maxlen=RECENT)  # values of playouts,
        self._ranked: list[float] = []  # and the same in order
        self.start_decision()

    def start_decision(self) -> None:
        """Forget the best path."""
        self.best: Path | None = None
        self.best_value = -math.inf

    def advance(self) -> None:
        """Move to the state after the first step."""
        del self.returns[:1]

    def clear(self) -> None:
        """Forget the averages by step, for a state that no playout has led to."""
        self.returns.clear()

    def renumber(self, index: dict[int, int]) -> None:
        """Give actions new numbers, and forget those that have none."""
        if self.best is not None and set(self.best[1:]) <= index.keys():
            self.best = tuple([index.get(action, 0) for action in self.best])
        else:
            self.start_decision()
        self._after = {
            index[before]: _renumbered(known, index)
            for before, known in self._after.items()
            if before in index
        }
        for step in self.returns:
            step.by_action = _renumbered(step.by_action, index)

    def consider(self, path: Path, value: float) -> None:
        """Take a path as the best one if its value is the highest."""
        if value > self.best_value:
            self.best, self.best_value = path, value

    def add(self, playout: "Playout", center: float) -> None:
        """Learn from a playout; `center` is the expected reward of a step."""
        discount, path, rewards = self._discount, playout.path, playout.rewards
        after, returns = self._after, self.returns
        length = len(rewards)
        while len(returns) < length:
            returns.append(StepReturns())
        # What is missed after an end. The value of an end is that and its reward; each step before
        # it is one step farther away.
        missed = -center / (1.0 - discount) if playout.ended else 0.0
        value = missed + rewards[length - 1] if playout.ended else 0.0
        total = missed
        for i in range(length - 1, -1, -1):  # the last ones first
            action = path[i]
            total = rewards[i] - center + discount * total
            step = returns[i]
            step.add(action, total)
            if i > 0:
                known = after.get(path[i - 1])
                if known is None:
                    known = after[path[i - 1]] = {}
                found = known.get(action)
                if found is None:
                    found = known[action] = Average()
                found.add(value, MEMORY)
                value *= discount

    def score(self, path: Path, value: float, follows: bool) -> None:
        """Record the value of a whole playout that `complete` has made.

        Further rollouts may follow values if `follows`: the best path, or averages by step.
        """
        self._follows = follows
        if len(self._recent) >= LEAST_RECENT:
            bar = self._bar = self._ranked[(3 * len(self._ranked)) // 4]
            success = 1.0 if value > bar else 0.5 if value == bar else 0.0
            self._success[self._style] += LEARNING_RATE * (success - self._success[self._style])
        if len(self._recent) == RECENT:
            self._ranked.pop(bisect_left(self._ranked, self._recent[0]))
        self._recent.append(value)
        insort(self._ranked, value)
        if follows:
            self.consider(path, value)

    def complete(self, path: Path, depth: int, style: int = ANY) -> Path:
        """Return a path of that depth that begins with this one, which is not empty."""
        choices, uniform, returns = self._simulation.choices, self._rng.random, self.returns
        known = len(path)
        self._style = self._draw_style() if style == ANY else style
        steps = list(path)
        if self._style == BEST:
            steps += self.best[known:depth]  # type: ignore[index]
            for i in range(known, depth):
                if i >= len(steps):
                    steps.append(_drawn(choices, uniform))
                elif uniform() < EPSILON:
                    steps[i] = _drawn(choices, uniform)
            return tuple(steps)
        by_pairs, by_steps = self._style == PAIRS, self._style == STEPS
        found: dict[int, list[int] | None] = {}  # by the previous action
        action = path[known - 1]
        for i in range(known, depth):
            usual = None
            if by_pairs:
                usual = found.get(action)
                if usual is None and action not in found:
                    usual = found[action] = self.best_after(action)
            if usual is not None:
                action = _drawn(usual if uniform() >= EPSILON else choices, uniform)
            elif by_steps and i < len(returns) and uniform() >= EPSILON:
                step = returns[i]
                action = step.best(choices, uniform)
            else:
                action = _drawn(choices, uniform)
            steps.append(action)
        return tuple(steps)

    def _draw_style(self) -> int:
        """Draw the style of a rollout by the success of each."""
        pairs = LEAST_SUCCESS + self._success[PAIRS]
        best = LEAST_SUCCESS + self._success[BEST]
        steps = LEAST_SUCCESS + self._success[STEPS]
        # (If many paths are as good as the best one, others that are unlike it say more.)
        if self.best is None or self.best_value <= self._bar:
            best = 0.0
        if not (self._follows and self.returns and self.returns[0].count >= LEAST_RETURNS):
            steps = 0.0
        left = self._rng.random() * (pairs + best + steps)
        if left < pairs:
            return PAIRS
        return BEST if left - pairs < best else STEPS

    def best_after(self, action: int) -> list[int] | None:
        """Return the best actions after one; None if some were never tried there."""
        known = self._after.get(action, {})
        if len(known) < len(self._simulation.choices):
            return None
        best: list[int] = []
        top = -UNLIMITED
        for after, average in known.items():
            mean = average.mean
            if mean > top:
                best, top = [], mean
            if mean == top:
                best.append(after)
        return best


def _drawn(actions: Sequence[int], uniform: Callable[[], float]) -> int:
    """Return one of these actions, drawn by a random number from 0 to 1."""
    draw = uniform()
    k = int(len(actions) * draw)
    return actions[k]


def _renumbered(averages: dict[int, Average], index: dict[int, int]) -> dict[int, Average]:
    return {index[action]: found for action, found in averages.items() if action in index}
