"""The coverings of a forest: what they learn together, and what they believe of a point."""

import math

import numpy as np

from bough.learning.model import Settings
from bough.searchers.forest.cover import Cover, depth_of, prior_of
from bough.searchers.forest.relevance import ratios
from bough.searchers.forest.told import Told
from bough.searchers.learner import Learner
from bough.spaces import Choice, Space

#: Learnt again, and all coverings made anew, when there are so many times as many rewards; and so
#: many times once there are OFTEN.
GROWTH, OFTEN, LATER_GROWTH = 1.4, 500, 2.0
#: So few rewards say nothing of which parameters matter.
FEW = 8
#: Priorities stay in this range.
RANGE = math.log(1e4)
#: What a choice has more than a number, before anything is known: options differ in kind.
CHOICES_FIRST = 1.5


class Coverings:
    """Several randomised coverings of a space, with one prior.

    Parameters
    ----------
    space, count
    told
        All that was told. Each covering takes in what is new to it when it is looked at.
    noise
        The standard deviation of rewards, or None if it is to be learnt.
    """

    def __init__(self, space: Space, count: int, told: Told, noise: float | None) -> None:
        self.space = space
        self.count = count
        self._told = told
        # Values of a deterministic function differ within a cell like noise, so some is learnt.
        self.learner = Learner(None, noise or None, None, depth_of(space), prior_of(space))
        # Rewards that agree say nothing more: near an optimum those of different points do.
        self.learner.watching = False
        self.settings: Settings = self.learner.first()
        slots = space._slots
        self.priority = np.array([CHOICES_FIRST * isinstance(s.parameter, Choice) for s in slots])
        self._covers: list[Cover] = []  # made when they are first needed, and anew at times

    def cover(self, turn: int, numbers: np.random.Generator) -> Cover:
        """Return a covering that knows all that was told."""
        if not self._covers:
            self._plant(numbers)
        cover = self._covers[turn]
        cover.catch_up(self._told.table)
        return cover

    def all(self, numbers: np.random.Generator) -> list[Cover]:
        """Return all coverings, which know all that was told."""
        return [self.cover(turn, numbers) for turn in range(self.count)]

    def _plant(self, numbers: np.random.Generator) -> None:
        """Make all coverings anew, by what is known now of the parameters."""
        told = len(self._told)
        self._covers = [
            Cover(self.space, self.priority, self.settings, numbers, told)
            for _ in range(self.count)
        ]

    def learn(self, reward: float, numbers: np.random.Generator) -> None:
        """After a reward, if it is time: take the prior that suits all that was told.

        Which parameters matter is learnt as well, and the coverings are made anew by it.
        """
        told = len(self._told)
        if self.learner.only_zeros:
            self.learner.note([reward])
        if not self.learner.is_due(told):
            return
        cover = self.cover(told % self.count, numbers)
        belief = cover.belief
        self.learner.learn(belief)
        self.learner.next = math.ceil(told * (GROWTH if told < OFTEN else LATER_GROWTH)) + 1
        self.settings = Settings(belief.kernel, belief.noise, belief.mean)
        if told >= FEW and len(self.priority):
            priority = self.priority + np.log(ratios(cover))
            priority -= priority.mean()
            self.priority = np.clip(priority, -RANGE, RANGE)
        self._plant(numbers)

    def believed(self, number: int, numbers: np.random.Generator) -> tuple[float, float]:
        """Return mean and standard deviation of the point of a reading, by the mixture of all."""
        beliefs = [cover.placing.posterior(number) for cover in self.all(numbers)]
        mean = math.fsum(m for m, _ in beliefs) / self.count
        variance = math.fsum(V + (m - mean) ** 2 for m, V in beliefs) / self.count
        return mean, math.sqrt(variance)
