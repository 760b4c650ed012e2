"""The coverings of a forest: what they learn together, and what they believe of a point."""

import math

import numpy as np

from bough.learning.learner import Learner
from bough.learning.model import Settings
from bough.spaces.forest.cover import Cover, depth_of, prior_of, random_covering
from bough.spaces.forest.failures import Failures
from bough.spaces.forest.relevance import ratios
from bough.spaces.forest.told import Told
from bough.spaces.parameters import Choice
from bough.spaces.slots import Point
from bough.spaces.space import Space

#: Learnt again, and all coverings made anew, when there are so many times as many rewards; and so
#: many times once there are OFTEN.
GROWTH, OFTEN, LATER_GROWTH = 1.4, 500, 2.0
#: So few rewards say nothing of which parameters matter.
FEW = 8
#: Priorities stay in this range.
RANGE = math.log(1e4)
#: What fails is taken for a reward that is as poor as this share of them, and so looked for less.
POOR = 0.25
#: What a choice has more than a number, before anything is known: options differ in kind.
CHOICES_FIRST = 1.5


class Coverings:
    """Several randomised coverings of a space, with one prior.

    Parameters
    ----------
    space, count
    told
        All that was told. Each covering takes in what is new to it when it is looked at.
    failures
        What failed.
    noise
        The standard deviation of rewards, or None if it is to be learnt.
    """

    def __init__(
        self, space: Space, count: int, told: Told, failures: Failures, noise: float | None
    ) -> None:
        self.space = space
        self.count = count
        self._told = told
        self._failures = failures
        # Values of a deterministic function differ within a cell like noise, so some is learnt.
        self.learner = Learner(None, noise or None, None, depth_of(space), prior_of(space))
        # Rewards that agree say nothing more: near an optimum those of different points do.
        self.learner.watching = False
        self.settings: Settings = self.learner.first()
        slots = space._slots
        self.priority = np.array([CHOICES_FIRST * isinstance(s.parameter, Choice) for s in slots])
        self._covers: list[Cover] = []  # made when they are first needed, and anew at times
        self._wary: list[Cover] = []  # the same, which take failures for poor rewards

    def cover(self, turn: int, numbers: np.random.Generator, *, wary: bool = False) -> Cover:
        """Return a covering that knows all that was told.

        If it is to be wary, it takes failures for poor rewards; there must be some.
        """
        if not self._covers:
            self._plant(numbers)
        cover = (self._wary if wary else self._covers)[turn]
        cover.catch_up(self._failures.table if wary else self._told.table)
        return cover

    def all(self, numbers: np.random.Generator) -> list[Cover]:
        """Return all coverings, which know all that was told."""
        return [self.cover(turn, numbers) for turn in range(self.count)]

    def _plant(self, numbers: np.random.Generator) -> None:
        """Make all coverings anew, by what is known now of the parameters."""
        told = len(self._told)
        coverings = [random_covering(self.space, self.priority, numbers) for _ in range(self.count)]
        self._covers = [Cover(self.space, c, self.settings, told) for c in coverings]
        self._grow_wary()

    def _grow_wary(self) -> None:
        """Make anew what chooses the next point, if anything has failed."""
        self._wary = []
        if not len(self._failures):
            return
        self._failures.take(self._poor())
        known = len(self._failures.table)
        self._wary = [
            Cover(self.space, cover.covering, self.settings, known) for cover in self._covers
        ]

    def _poor(self) -> float:
        """Return what stands for the reward of what failed: a poor one of those that were told.

        Before any was told it is the mean that is believed in.
        """
        if not len(self._told):
            mean = self.settings.mean
            assert not callable(mean)  # a constant is learnt
            return mean
        return float(np.quantile(self._told.table.values, POOR))

    def fail(self, point: Point) -> None:
        """Take in a failure."""
        self._failures.add(point, self._poor())
        if self._covers and not self._wary:
            self._grow_wary()

    def recover(self, point: Point, reward: float, noise: float | None) -> None:
        """Take note that a point which failed has a reward after all."""
        self._failures.recover(point, reward, noise)
        self._grow_wary()

    def doubt(self, numbers: np.random.Generator) -> None:
        """Have all learnt after this reward, the first that differs from one of the same point.

        What was learnt knows nothing of noise. Coverings that are there have taken the two readings
        for those of two points in a cell; those that are made anew take them for what they are.
        """
        self._plant(numbers)
        self.learner.next = 0

    def learn(self, reward: float, numbers: np.random.Generator) -> None:
        """After a reward: take the prior that suits all that was told, if it is time."""
        if self.learner.only_zeros:
            self.learner.note([reward])
        if self.learner.is_due(len(self._told)):
            self.learn_now(numbers)

    def learn_now(self, numbers: np.random.Generator) -> None:
        """Take the prior that suits all that was told.

        Which parameters matter is learnt as well, and the coverings are made anew by it.
        """
        told = len(self._told)
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
