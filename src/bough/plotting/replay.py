"""What a belief was told, in order, and the same again from the beginning."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bough.belief import Belief
from bough.learning.data import STEP
from bough.learning.data import paths_of as paths_of_nodes
from bough.planning import Plan
from bough.searchers import Forest
from bough.searchers.forest.cover import Cover
from bough.spaces.bulk import paths_of
from bough.trees import Path


class Observation(NamedTuple):
    """One reward: its node, its parts, and the standard deviation of the noise of each."""

    path: Path
    values: list[float]
    noises: list[float]


def observations(belief: Belief) -> list[Observation]:
    """Return all that a belief was told, one for each reward."""
    readings = belief.readings
    paths = paths_of_nodes(belief, readings["node"].tolist())
    values = readings["value"].tolist()
    noises = np.sqrt(readings["variance"]).tolist()
    # A reward told in steps is there from its last step upwards; the first is no STEP but an F.
    ends = (np.flatnonzero((readings["kind"] & STEP) == 0) + 1).tolist()
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


def teller(belief: Belief, again: Belief) -> tuple[int, Callable[[int], None]]:
    """Return how many observations a belief has, and what tells one of them to another belief."""
    told = observations(belief)
    return len(told), lambda number: tell(again, told[number])


def teller_of(forest: Forest, cover: Cover, again: Belief) -> tuple[int, Callable[[int], None]]:
    """Return the same for a covering of a forest, which takes readings for those of its cells."""
    steps, widths = paths_of(cover.covering, forest._table.positions)
    rows, counts = steps.tolist(), widths.tolist()
    expect = getattr(again.tree, "expect", None)

    def tell_next(number: int) -> None:
        node, depth = cover._placed[number]
        reading = forest._readings[number]
        if expect is not None:
            expect(tuple(rows[number][:depth]), counts[number])
        again.observe(node, reading.value, noise=reading.noise, depth=depth)

    return forest.observations, tell_next


def teller_of_plan(plan: Plan, again: Belief) -> tuple[int, Callable[[int], None]]:
    """Return the same for a plan, whose belief is told each step of a play."""
    policy = plan.policy
    return len(policy.plays), lambda number: policy._observe(again, policy.plays[number])


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
