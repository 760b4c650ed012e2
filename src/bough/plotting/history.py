"""The belief of a search as it was after its first n observations."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bough.belief.belief import Belief
from bough.learning.posterior import paths_of
from bough.planning import Plan
from bough.plotting.shown import ShownTree
from bough.spaces import Forest
from bough.spaces.cells import CellIndex
from bough.spaces.ensemble import FINER, PartitionBelief
from bough.trees import Path


class Observation(NamedTuple):
    """One reward: its node, its parts, and the standard deviation of the noise of each."""

    path: Path
    values: list[float]
    noises: list[float]


def observations(belief: Belief) -> list[Observation]:
    """Return the observations of a belief, one for each reward."""
    observed = belief.observations
    paths = paths_of(belief, observed["node"].tolist())
    values = observed["value"].tolist()
    noises = np.sqrt(observed["variance"]).tolist()
    # The steps of a reward are stored from the last one upward; only the first is of F.
    ends = (np.flatnonzero(observed["of_step"] == 0) + 1).tolist()
    begins = [0, *ends[:-1]]
    return [
        Observation(paths[begin] or (), values[begin:end][::-1], noises[begin:end][::-1])
        for begin, end in zip(begins, ends, strict=False)
    ]


#: A function that gives a belief the observations from one number up to another.
Observe = Callable[[int, int], None]


class History:
    """A belief that takes in the observations of a search again, in their order.

    Its prior is the one that the search has now.

    Attributes
    ----------
    belief
        The belief after the observations so far.
    count
        Number of all observations.
    """

    def __init__(self, shown: ShownTree, plan: Plan | None) -> None:
        belief = shown.belief
        assert belief is not None  # there are observations
        prior = belief.kernel, belief.noise
        self.belief = Belief(belief.tree, *prior, mean=belief.mean, arms=belief.arms)
        self._done = 0
        if shown.forest is not None and shown.cover is not None:
            self.count, self._observe = _of_forest(shown.forest, shown.cover, self.belief)
        elif plan is not None:
            self.count, self._observe = _of_plan(plan, self.belief)
        else:
            self.count, self._observe = _of_belief(belief, self.belief)

    def advance(self, end: int) -> None:
        """Take in the observations up to a number of them."""
        self._observe(self._done, end)
        self._done = end


def _of_belief(belief: Belief, again: Belief) -> tuple[int, Observe]:
    observed = observations(belief)

    def observe(begin: int, end: int) -> None:
        for path, values, noises in observed[begin:end]:
            if len(values) == 1:
                again.observe(path, values[0], noise=noises[0])
            else:
                again.observe_steps(path, values, noise=noises)

    return len(observed), observe


def _of_forest(forest: Forest, cover: PartitionBelief, again: Belief) -> tuple[int, Observe]:
    """Return the same for a partition of a forest, which observes its cells.

    Observations are placed as they were: those that were there when the partition was made by what
    all of them need, the others by what came before them.
    """
    points, values, noises = forest.trials.table(forest.trials.rows())
    cells = CellIndex(cover.partition, again, FINER)
    first = cover.depths(points[: cover.first])

    def observe(begin: int, end: int) -> None:
        rows = slice(begin, end)
        cells.observe(points[rows], values[rows], noises[rows], first[rows])

    return len(values), observe


def _of_plan(plan: Plan, again: Belief) -> tuple[int, Observe]:
    """Return the same for a plan, whose belief observes each step of a play."""
    policy = plan.policy

    def observe(begin: int, end: int) -> None:
        for play in policy.playouts[begin:end]:
            policy.observe(again, play)

    return len(policy.playouts), observe


def checkpoints(count: int, most: int = 200) -> list[int]:
    """Return at most `most` numbers from 1 to `count`, evenly spread on a logarithmic scale.

    >>> checkpoints(1000, 4)
    [1, 10, 100, 1000]
    """
    if count <= most:
        return list(range(1, count + 1))
    last = math.log(count)
    numbers = {round(math.exp(last * i / (most - 1))) for i in range(most - 1)}
    return sorted(numbers | {count})
