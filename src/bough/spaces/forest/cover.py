"""One randomised covering of a space, with the belief about its cells."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.learning.model import Settings
from bough.learning.prior import WEAK, Guess, Prior
from bough.spaces.covering import Covering, CoveringTree
from bough.spaces.forest.placing import Placing
from bough.spaces.forest.table import Table
from bough.spaces.parameters import Choice
from bough.spaces.slots import Point
from bough.spaces.space import Space
from bough.trees import Tree

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
#: No depths are given.
NOWHERE = np.zeros(0, dtype=np.int32)


class Cover:
    """A covering, and what is believed of it.

    Parameters
    ----------
    space
    covering
        Of that space.
    settings
        Kernel, noise and mean.
    first
        How many readings there are when it is made: they are placed as all of them need it.
    """

    def __init__(self, space: Space, covering: Covering, settings: Settings, first: int) -> None:
        self.space = space
        self.covering = covering
        self.first = first
        self.depth = self.covering.most
        # Where all cuts are in two, the tree is one that needs no function.
        self._tree: CoveringTree | None = None
        if not all(slot.parameter.count is None for slot in space._slots):
            self._tree = CoveringTree(self.covering, log_arms=log_cells(space))
        tree = self._tree or Tree(2, self.depth)
        self.belief = Belief(tree, settings.kernel, settings.noise, mean=settings.mean)
        self.placing = Placing(self.covering, self.belief, FINER)
        self._tokens: dict[int, int] = {}

    # ------------------------------------------------------------------ readings

    def catch_up(self, table: Table) -> None:
        """Take in all readings that are new.

        Coverings take turns, so each has some to catch up with when its turn comes. When it does
        makes no difference: whoever looks at the belief in between changes nothing.
        """
        known = len(self.belief)
        if known == len(table):
            return
        depths = NOWHERE
        if not known and self.first:
            depths = depths_apart(self.placing.paths(table.positions[: self.first])) + FINER
        self.placing.tell(
            table.positions[known:], table.values[known:], table.noises[known:], depths
        )

    def await_all(self, pending: Mapping[int, Point]) -> None:
        """Count what is pending, by number, and nothing else as pending."""
        for number in [number for number in self._tokens if number not in pending]:
            self.belief.forget(self._tokens.pop(number))
        for number, point in pending.items():
            if number not in self._tokens:
                path, widths = self.covering.path_and_counts(point)
                if self._tree is not None:
                    self._tree.expect(path, [*widths, 0])
                node = path[: self.belief.observed_steps(path) + FINER]
                self._tokens[number] = self.belief.pend(node, depth=len(path))


def random_covering(
    space: Space, priority: NDArray[np.float64], numbers: np.random.Generator
) -> Covering:
    """Return a covering whose cuts fall at random places in a random order.

    `priority` of each parameter is what the order goes by, before chance.
    """
    slots = space._slots
    shares = numbers.uniform(FIRST_SHARE, LAST_SHARE, (len(slots), DEPTH)).tolist()
    order = priority + SHUFFLE * numbers.standard_normal(len(slots))
    return Covering(
        slots,
        space._first,
        levels=LEVELS,
        depth=depth_of(space),
        priority=order.tolist(),
        shares=shares,
    )


def depths_apart(paths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return how many first steps each path shares with the one that is most like it."""
    count, length = paths.shape
    shared = np.zeros(count, dtype=np.int32)
    if count < 2 or not length:
        return shared
    # As texts of their bytes they are sorted at once; in any order those most alike come together.
    order = np.argsort(np.ascontiguousarray(paths).view(f"S{4 * length}")[:, 0])
    ordered = paths[order]
    differs = ordered[1:] != ordered[:-1]
    common = np.where(differs.any(axis=1), differs.argmax(axis=1), length).astype(np.int32)
    shared[order[1:]] = common
    shared[order[:-1]] = np.maximum(shared[order[:-1]], common)
    return shared


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
