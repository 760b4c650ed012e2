"""The ensemble of a forest: random partitions of a space, a belief about each, and one prior."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.learning import WEAK, LogNormal, Prior
from bough.learning.learner import Learner
from bough.learning.model import Settings
from bough.spaces.cells import FINER, CellIndex
from bough.spaces.parameters import Choice, Point
from bough.spaces.partition import Partition, largest_sum
from bough.spaces.space import LEVELS as FIXED_LEVELS
from bough.spaces.space import Space
from bough.spaces.trials import TrialTable
from bough.trees import Tree

Array = NDArray[np.float64]

#: The maximum length of a path, and the maximum number of cuts of a continuous parameter.
DEPTH = 40
LEVELS = 24
#: The range of the random share of a cell that goes to the left child.
FIRST_SHARE, LAST_SHARE = 0.3, 0.7
#: The standard deviation of priorities between partitions, which have their cuts in random orders.
SHUFFLE = 1.0
#: The least factor, as a power of 2, by which the variance falls when a cell gets half as wide.
ROUGHEST = 0.6
#: Hyperparameters are fitted and all partitions replaced when the number of rewards has grown by
#: the first factor; by the second one once there are MANY.
GROWTH, MANY, LATER_GROWTH = 1.4, 500, 2.0
#: The number of rewards below which nothing is inferred about the relevance of parameters.
FEW = 8
#: Priorities are between -RANGE and RANGE.
RANGE = math.log(1e4)
#: The quantile of the rewards that is the penalty of a failure.
PENALTY = 0.25
#: The initial priority of choices; that of numbers is 0.
CHOICES_FIRST = 1.5
#: Weight of the prior in the relevance of a parameter: 1 step determined, and found as expected.
SHRINKAGE = 1.0


class PartitionBelief:
    """A partition of a space, and the belief about its cells.

    `first` is the number of observations when it is made: the depths of their nodes suit all of
    them. If it is `penalized`, failures are observed as well, with a poor reward.
    """

    def __init__(
        self,
        space: Space,
        partition: Partition,
        settings: Settings,
        first: int,
        penalized: bool = False,
    ) -> None:
        self.space = space
        self.partition = partition
        self.first = first
        self._penalized = penalized
        if all(count is None for count in partition.counts):
            tree = Tree(2, partition.depth)  # which needs no function
        else:
            further = (LEVELS - FIXED_LEVELS) * math.log(2.0) * len(space.slots)
            tree = partition.tree(space.log_cells + further)
        self.belief = Belief(tree, settings.kernel, settings.noise, mean=settings.mean)
        self.cells = CellIndex(partition, self.belief)
        self._pending: dict[Point, tuple[int, int]] = {}  # numbers, and tokens of the belief

    def catch_up(self, trials: TrialTable) -> None:
        """Observe the rewards that are new; queries in between make no difference."""
        known = len(self.belief)
        if known == len(trials) + (len(trials.failed) if self._penalized else 0):
            return
        points, values, noises = trials.table(trials.rows(known, failures=self._penalized))
        depths = np.zeros(0, np.int32) if known else self.depths(points[: self.first])
        self.cells.observe(points, values, noises, depths)

    def depths(self, points: Array) -> NDArray[np.int32]:
        """Return depths of nodes that suit all of some points: a little below where they part."""
        return shared_steps(self.cells.paths(points)) + FINER

    def set_pending(self, numbers: Mapping[Point, int]) -> None:
        """Count these points as pending, and no others; another number is another evaluation."""
        for point, (number, token) in list(self._pending.items()):
            if numbers.get(point) != number:
                self.belief.forget(token)
                del self._pending[point]
        for point, number in numbers.items():
            if point not in self._pending:
                path = self.partition.path(point)
                node = path[: self.belief.observed_steps(path) + FINER]
                self._pending[point] = number, self.belief.pend(node, depth=len(path))

    def relevance(self) -> Array:
        """Return the factors by which the variance of each parameter's steps should be multiplied.

        The step from a cell to its child is the effect of cutting one parameter. Its prior variance
        v is the kernel's; given the observations it has a mean and a variance, and 1 - variance/v
        is the extent to which the data determine it, between 0 and 1. The sum of squared means over
        v, divided by the sum of these extents, is the update of automatic relevance determination
        (MacKay 1992).
        """
        v = self.belief.nodes["v"]
        slots, means, variances = self.cells.step_posteriors()
        here = (v > 0.0) & (slots >= 0)
        v, slots = v[here], slots[here]
        count = len(self.space.slots)
        total = np.bincount(slots, means[here] ** 2 / v, count)
        determined = np.bincount(slots, 1.0 - variances[here] / v, count)
        ratio: Array = (SHRINKAGE + total) / (SHRINKAGE + determined)
        return ratio


class Ensemble:
    """Several random partitions of a space, with beliefs that share one prior.

    Each belief observes what is new among the trials when it is queried. Noise is that of rewards,
    a standard deviation; None to fit it.
    """

    def __init__(self, space: Space, count: int, trials: TrialTable, noise: float | None) -> None:
        self.space = space
        self.count = count
        self._trials = trials
        # Even values of a deterministic function vary within a cell like noise, so some is fitted.
        depth = Partition(space.slots, space.roots, levels=LEVELS, depth=DEPTH).depth
        self.learner = Learner(None, noise or None, None, depth, prior_of(space))
        # Rewards that agree do not prove that there is no noise: near an optimum they do anyway.
        self.learner.watching = False
        self.settings: Settings = self.learner.first()
        self.priority = np.array(
            [CHOICES_FIRST * isinstance(slot.parameter, Choice) for slot in space.slots]
        )
        self._beliefs: list[PartitionBelief] = []  # made when they are first needed
        self._penalized: list[PartitionBelief] = []  # the same partitions, with failures

    def belief(
        self, turn: int, rng: np.random.Generator, *, penalized: bool = False
    ) -> PartitionBelief:
        """Return the belief about a partition, or the one that penalizes failures."""
        if not self._beliefs:
            self._replace(rng)
        found = (self._penalized if penalized else self._beliefs)[turn]
        found.catch_up(self._trials)
        return found

    def beliefs(self, rng: np.random.Generator) -> list[PartitionBelief]:
        """Return the beliefs about all partitions."""
        return [self.belief(turn, rng) for turn in range(self.count)]

    def _replace(self, rng: np.random.Generator) -> None:
        """Replace all partitions, by the priorities and the prior as they are now."""
        partitions = [random_partition(self.space, self.priority, rng) for _ in range(self.count)]
        self._beliefs = [
            PartitionBelief(self.space, partition, self.settings, len(self._trials))
            for partition in partitions
        ]
        self.replace_penalized()

    def replace_penalized(self) -> None:
        """Replace the beliefs that penalize failures, if there are any."""
        self._penalized = []
        if self._trials.failed:
            self._trials.set_penalty(self.penalty())
            first = len(self._trials) + len(self._trials.failed)
            self._penalized = [
                PartitionBelief(self.space, belief.partition, self.settings, first, penalized=True)
                for belief in self._beliefs
            ]

    def penalty(self) -> float:
        """Return the value that stands for a failure: a poor reward, or the prior mean."""
        if not len(self._trials):
            mean = self.settings.mean
            assert not callable(mean)  # a constant is fitted
            return mean
        return float(np.quantile(self._trials.values, PENALTY))

    def fail(self, point: Point) -> None:
        """Record a failure."""
        self._trials.fail(point, self.penalty())
        if self._beliefs and not self._penalized:
            self.replace_penalized()

    def restart_with_noise(self, rng: np.random.Generator) -> None:
        """Replace all beliefs, which took two rewards of a point for those of two points."""
        self._replace(rng)
        self.learner.next = 0

    def refit_if_due(self, reward: float, rng: np.random.Generator) -> None:
        """Fit the hyperparameters after a reward, if it is time."""
        if self.learner.only_zeros:
            self.learner.note([reward])
        if self.learner.is_due(len(self._trials)):
            self.refit(rng)

    def refit(self, rng: np.random.Generator) -> None:
        """Fit the hyperparameters and the relevance of parameters, and replace the partitions."""
        count = len(self._trials)
        found = self.belief(count % self.count, rng)
        belief = found.belief
        self.learner.learn(belief)
        self.learner.next = math.ceil(count * (GROWTH if count < MANY else LATER_GROWTH)) + 1
        self.settings = Settings(belief.kernel, belief.noise, belief.mean)
        if count >= FEW and len(self.priority):
            priority = self.priority + np.log(found.relevance())
            priority -= priority.mean()
            self.priority = np.clip(priority, -RANGE, RANGE)
        self._replace(rng)

    def posterior(self, row: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return mean and standard deviation at the point of an observation, by the mixture."""
        number = self._trials.number(row)
        beliefs = [belief.cells.posterior(number) for belief in self.beliefs(rng)]
        mean = math.fsum(m for m, _ in beliefs) / self.count
        variance = math.fsum(V + (m - mean) ** 2 for m, V in beliefs) / self.count
        return mean, math.sqrt(variance)

    def best_rows(self, deviations: float, rng: np.random.Generator) -> set[int]:
        """Return, by each belief, the last row of the cell with the best mean - deviations std."""
        best = [belief.cells.best_played(deviations) for belief in self.beliefs(rng)]
        return set(self._trials.rows()[best].tolist())


def random_partition(space: Space, priority: Array, rng: np.random.Generator) -> Partition:
    """Return a partition with cuts at random positions, in a random order around `priority`."""
    count = len(space.slots)
    shares = rng.uniform(FIRST_SHARE, LAST_SHARE, (count, DEPTH)).tolist()
    order = priority + SHUFFLE * rng.standard_normal(count)
    return Partition(
        space.slots, space.roots, levels=LEVELS, depth=DEPTH, priority=order.tolist(), shares=shares
    )


def prior_of(space: Space) -> Prior:
    """Return the prior of the hyperparameters.

    If d parameters are cut in turn, a cell gets half as wide in d steps, and the variance within it
    falls by a factor of 4 if rewards are smooth. Much rougher rewards could not be distinguished
    from noise, which is small as a rule: the best point is evaluated again.
    """
    d = max(largest_sum(space.slots, space.roots, [1] * len(space.slots)), 1)
    ratio = LogNormal(median=2.0 ** (-2.0 / d), sigma=0.5, low=1e-2, high=2.0 ** (-ROUGHEST / d))
    noise = replace(WEAK.noise, median=0.1)
    return replace(WEAK, hyperparameters={"ratio": ratio}, noise=noise)


def shared_steps(paths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the number of first steps that each path shares with the one most like it."""
    count, length = paths.shape
    shared = np.zeros(count, dtype=np.int32)
    if count < 2 or not length:
        return shared
    # Sorted as byte strings, in whatever order, paths that are alike come together.
    order = np.argsort(np.ascontiguousarray(paths).view(f"S{4 * length}")[:, 0])
    ordered = paths[order]
    differs = ordered[1:] != ordered[:-1]
    common = np.where(differs.any(axis=1), differs.argmax(axis=1), length).astype(np.int32)
    shared[order[1:]] = common
    shared[order[:-1]] = np.maximum(shared[order[:-1]], common)
    return shared
