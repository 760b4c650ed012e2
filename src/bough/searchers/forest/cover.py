"""One randomised covering of a space, with the belief about its cells."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough._choice import Arm
from bough.belief import Belief
from bough.learning.model import Settings
from bough.learning.prior import WEAK, Guess, Prior
from bough.spaces import Choice, Space
from bough.spaces.bulk import depths_apart, paths_of
from bough.spaces.covering import Covering, CoveringTree, Walk
from bough.spaces.slots import Point
from bough.trees import Path, Tree

#: The longest path, and how often a continuous parameter is cut at most.
DEPTH = 40
LEVELS = 24
#: Cuts fall at random in this middle part of a cell.
FIRST_SHARE, LAST_SHARE = 0.3, 0.7
#: How much the order of cuts differs between coverings, as a standard deviation of priorities.
SHUFFLE = 1.0
#: A reading is placed so many steps below the last node that was there before. What varies further
#: down in the cell counts as noise, until the covering is made anew, finer where there is more.
FINER = 3
#: The least factor, as a power of 2, by which the variance falls when a cell gets half as wide.
ROUGHEST = 0.6


class Reading(NamedTuple):
    """A reward that was told."""

    point: Point
    value: float
    noise: float | None


class Cover:
    """A covering whose cuts fall at random places in a random order, and what is believed of it.

    Parameters
    ----------
    space
    priority
        Of each parameter, for the order of cuts.
    settings
        Kernel, noise and mean.
    numbers
        Where chance comes from.
    first
        How many readings there are when it is made: they are placed as all of them need it.
    """

    def __init__(
        self,
        space: Space,
        priority: NDArray[np.float64],
        settings: Settings,
        numbers: np.random.Generator,
        first: int,
    ) -> None:
        slots = space._slots
        shares = numbers.uniform(FIRST_SHARE, LAST_SHARE, (len(slots), DEPTH)).tolist()
        order = priority + SHUFFLE * numbers.standard_normal(len(slots))
        self.space = space
        self._first = first
        self.covering = Covering(
            slots,
            space._first,
            levels=LEVELS,
            depth=depth_of(space),
            priority=order.tolist(),
            shares=shares,
        )
        self.depth = self.covering.most
        # Where all cuts are in two, the tree is one that needs no function.
        self._tree: CoveringTree | None = None
        if not all(slot.parameter.count is None for slot in slots):
            self._tree = CoveringTree(self.covering, log_arms=log_cells(space))
        tree = self._tree or Tree(2, self.depth)
        self.belief = Belief(tree, settings.kernel, settings.noise, mean=settings.mean)
        self._rest = np.append(
            np.cumsum(settings.kernel.increments(self.depth)[:0:-1])[::-1], 0.0
        ).tolist()
        self.last_at: dict[Path, int] = {}  # the last reading at each node
        self._placed: list[tuple[Path, int]] = []  # where each reading is, and how deep its point
        self._tokens: dict[int, int] = {}

    # ------------------------------------------------------------------ readings

    def catch_up(
        self,
        positions: NDArray[np.float64],
        readings: Sequence[Reading],
    ) -> None:
        """Take in all readings that are new.

        Coverings take turns, so each has some to catch up with when its turn comes. When it does
        makes no difference: whoever looks at the belief in between changes nothing.
        """
        known = len(self._placed)
        if known == len(readings):
            return
        steps, widths = paths_of(self.covering, positions[known:])
        lengths = (steps >= 0).sum(axis=1).tolist()
        apart = [] if known else (depths_apart(steps[: self._first]) + FINER).tolist()
        rows, counts = steps.tolist(), widths.tolist()
        for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            path = tuple(row[:length])
            self._expect(path, counts[i])
            finest = apart[i] if i < len(apart) else self._finest(path)
            self._tell(known + i, path[:finest], length, readings[known + i])

    def await_all(self, pending: Mapping[int, Point]) -> None:
        """Count what is pending, by number, and nothing else as pending."""
        for number in [number for number in self._tokens if number not in pending]:
            self.belief.forget(self._tokens.pop(number))
        for number, point in pending.items():
            if number not in self._tokens:
                path, width = self.covering.path_and_counts(point)
                self._expect(path, [*width, 0])
                node = path[: self._finest(path)]
                self._tokens[number] = self.belief.pend(node, depth=len(path))

    def _expect(self, path: Path, widths: list[int]) -> None:
        if self._tree is not None:
            self._tree.expect(path, widths)

    def _finest(self, path: Path) -> int:
        """Return how many steps of a path are taken: a few more than were told about."""
        return self.belief._told_steps(path) + FINER

    def _tell(self, number: int, node: Path, depth: int, reading: Reading) -> None:
        self.belief.observe(node, reading.value, noise=reading.noise, depth=depth)
        self.last_at[node] = number
        self._placed.append((node, depth))

    # ------------------------------------------------------------------ what is believed

    def posterior(self, number: int, reading: Reading) -> tuple[float, float]:
        """Return mean and variance of the point of a reading, given it and all others.

        The belief takes the reading for one of a random point of the cell, with the variance that
        is left there as noise. That this very point was read is added here: without the reading
        the cell has some other mean and variance, and the point that variance and what is left.
        """
        node, depth = self._placed[number]
        arm = self.belief._arm_at(node)
        m, V = arm.mean, arm.std**2
        value, noise = reading.value, reading.noise
        s2 = self.belief.noise**2 if noise is None else noise**2
        rest = self._rest[len(node)] - self._rest[depth]
        if rest <= 0.0 or V <= 0.0:
            return m, V
        if rest + s2 <= V:  # rounding: the reading said all that is known of the cell
            return value, s2
        precision = 1.0 / V - 1.0 / (rest + s2)
        prior = 1.0 / precision + rest
        prior_mean = (m / V - value / (rest + s2)) / precision
        share = prior / (prior + s2)
        return prior_mean + share * (value - prior_mean), share * s2

    def highest(self, sqrt_beta: float, rng: Any) -> Walk:
        """Return the cell in which the arm with the highest upper confidence bound lies.

        That is the largest cell around it of which nothing is known.
        """
        arm: Arm = self.belief.highest_upper(sqrt_beta, rng=rng)
        there = self.belief._existing_steps(arm.path)
        return self.covering.cell(arm.path[: there + 1])


def depth_of(space: Space) -> int:
    """Return how long the longest path of a covering is."""

    def longest(slots: Sequence[int]) -> int:
        total = 0
        for number in slots:
            slot = space._slots[number]
            count = slot.parameter.count
            if isinstance(slot.parameter, Choice):
                total += 1 + max(map(longest, slot.inner), default=0)
            elif count is None:
                total += LEVELS
            elif count > 1:
                total += math.ceil(math.log2(count)) + 2
        return total

    return min(longest(space._first), DEPTH)


def prior_of(space: Space) -> Prior:
    """Return what is known of the kernel beforehand.

    If d parameters are cut in turn, a cell gets half as wide in d steps, and what varies in it
    falls by a factor of 4 in variance if rewards are smooth. Rewards much rougher than that could
    not be told from noise, of which there is little as a rule: the best point is played again.
    """

    def parallel(slots: Sequence[int]) -> int:
        inner = [max(map(parallel, space._slots[i].inner), default=0) for i in slots]
        return len(slots) + sum(inner)

    d = max(parallel(space._first), 1)
    ratio = Guess(typical=2.0 ** (-2.0 / d), spread=0.5, low=1e-2, high=2.0 ** (-ROUGHEST / d))
    return replace(WEAK, ratio=ratio, noise=replace(WEAK.noise, typical=0.1))


def log_cells(space: Space) -> float:
    """Bound the logarithm of the number of cells."""
    return space.log_cells + (LEVELS - 20) * math.log(2.0) * len(space._slots)
