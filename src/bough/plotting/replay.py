"""What a belief was told, in order, and the same again from the beginning."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bough.belief.belief import Belief
from bough.learning.data import paths_of
from bough.planning import Plan
from bough.spaces import Forest
from bough.spaces.forest.cover import FINER, Cover, depths_apart
from bough.spaces.forest.placing import Placing
from bough.trees import Path


class Observation(NamedTuple):
    """One reward: its node, its parts, and the standard deviation of the noise of each."""

    path: Path
    values: list[float]
    noises: list[float]


def observations(belief: Belief) -> list[Observation]:
    """Return all that a belief was told, one for each reward."""
    readings = belief.observations
    paths = paths_of(belief, readings["node"].tolist())
    values = readings["value"].tolist()
    noises = np.sqrt(readings["variance"]).tolist()
    # A reward told in steps is there from its last step upwards; the first is of F.
    ends = (np.flatnonzero(readings["of_step"] == 0) + 1).tolist()
    begins = [0, *ends[:-1]]
    return [
        Observation(paths[begin] or (), values[begin:end][::-1], noises[begin:end][::-1])
        for begin, end in zip(begins, ends, strict=False)
    ]


def forgetful(belief: Belief) -> Belief:
    """Return a belief with the same prior that was told nothing."""
    kernel, noise, mean = belief.kernel, belief.noise, belief.mean
    return Belief(belief.tree, kernel, noise, mean=mean, arms=belief.arms)


def tell(belief: Belief, told: Observation) -> None:
    """Let a belief take in an observation of another."""
    if len(told.values) == 1:
        belief.observe(told.path, told.values[0], noise=told.noises[0])
    else:
        belief.observe_steps(told.path, told.values, noise=told.noises)


#: What tells a belief again all that came from one number on, up to another.
Teller = Callable[[int, int], None]


def teller(belief: Belief, again: Belief) -> tuple[int, Teller]:
    """Return how many observations a belief has, and what tells them to another belief."""
    told = observations(belief)

    def tell_some(begin: int, end: int) -> None:
        for observation in told[begin:end]:
            tell(again, observation)

    return len(told), tell_some


def teller_of(forest: Forest, cover: Cover, again: Belief) -> tuple[int, Teller]:
    """Return the same for a covering of a forest, which takes readings for those of its cells.

    They are placed as they were: those that were there when the covering was made by what all of
    them need, the others by what came before them.
    """
    table = forest.told.table
    placing = Placing(cover.covering, again, FINER)
    first = depths_apart(placing.paths(table.positions[: cover.first])) + FINER

    def tell_some(begin: int, end: int) -> None:
        rows = slice(begin, end)
        placing.tell(table.positions[rows], table.values[rows], table.noises[rows], first[rows])

    return len(table), tell_some


def teller_of_plan(plan: Plan, again: Belief) -> tuple[int, Teller]:
    """Return the same for a plan, whose belief is told each step of a play."""
    policy = plan.policy

    def tell_some(begin: int, end: int) -> None:
        for play in policy.plays[begin:end]:
            policy.observe(again, play)

    return len(policy.plays), tell_some


def checkpoints(count: int, most: int) -> list[int]:
    """Return at most so many numbers from 1 to count, evenly spread on a logarithmic scale.

    >>> checkpoints(1000, 4)
    [1, 10, 100, 1000]
    """
    if count <= most:
        return list(range(1, count + 1))
    last = math.log(count)
    numbers = {round(math.exp(last * i / (most - 1))) for i in range(most - 1)}
    return sorted(numbers | {count})
