"""The reward of the best arm of all: draws from its exact posterior.

    F_n    posterior of a node given its parent: normal, mean offset_n + g_n F_parent, variance
           spread_n (the notation of `posterior.py`)
    M_n    the best of u unexplored children of n, relative to F_n: the maximum of u independent
           variables w + M, where w is the step of a child and M the same for all its children
    M      the best arm of all: the maximum of F_n over the leaves and of F_n + M_n over the nodes
           with unexplored children

Nodes are drawn from the root downwards. M_n depends on the prior alone, and is drawn by the inverse
of its distribution function, which is tabulated on a grid, from the leaves upwards. So draws are
exact up to the grid. Nodes that have no chance to be the best are left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from bough.belief.nodes import GROUP_COUNT

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

#: Points of the grid on which the distribution of an unexplored child is kept.
POINTS = 1024
#: Nodes are left out if the probability that one of them has the best arm is about this.
RAREST = 1e-3
#: The number of values drawn at a time: 16 MB.
BLOCK = 2_000_000


class Distribution:
    """A distribution as masses on a grid, which is replaced when it becomes too narrow.

    All masses are sums of products that are not negative, and tails are summed from their far end,
    so that even the smallest of them has many correct digits: the maximum of 5^30 paths lies where
    a single one does with a probability of 5^-30.
    """

    def __init__(self, points: int, deviations: float) -> None:
        self.points = points
        self.deviations = deviations  # the length to which the tail of a step is followed
        self.low = self.high = self.step = 0.0
        self.mass = np.ones(1)  # all of it at 0

    @property
    def places(self) -> Array:
        """The points of the grid."""
        return np.arange(len(self.mass), dtype=np.float64) * self.step + self.low

    @property
    def tail(self) -> Array:
        """The probability of each point and all above it."""
        tail: Array = np.cumsum(self.mass[::-1])[::-1]
        tail = np.minimum(tail / tail[0], 1.0)
        return tail

    def make_room(self, low: float, high: float) -> None:
        """Take a wider grid, unless this one is wide enough; masses go to both neighbors."""
        if self.low <= low and high <= self.high:
            return
        places, mass = self.places, self.mass
        self.low, self.high = 1.5 * low, 1.5 * high
        self.step = (self.high - self.low) / (self.points - 1)
        where = (places - self.low) / self.step
        left = np.minimum(where.astype(int), self.points - 2)
        self.mass = np.zeros(self.points)
        np.add.at(self.mass, left, mass * (1.0 - (where - left)))
        np.add.at(self.mass, left + 1, mass * (where - left))

    def add_normal(self, variance: float) -> None:
        """Add an independent normal variable."""
        if variance == 0.0:
            return
        share = (math.sqrt(variance) / self.step) ** 2  # (the square of a step may underflow)
        if share < 1.0:  # narrower than the grid: the same variance on three points
            kernel = np.array([0.5 * share, 1.0 - share, 0.5 * share])
        else:
            reach = min(math.ceil(self.deviations * math.sqrt(share)), self.points - 1)
            kernel = np.exp(-0.5 * np.arange(-reach, reach + 1) ** 2 / share)
            kernel /= kernel.sum()
        reach = len(kernel) // 2
        self.mass = np.convolve(self.mass, kernel)[reach : reach + self.points]

    def take_best_of(self, count: float) -> None:
        """Become the distribution of the highest of some independent variables."""
        with np.errstate(divide="ignore"):
            tail = -np.expm1(count * np.log1p(-self.tail))
        self.mass = np.append(tail[:-1] - tail[1:], tail[-1])


@dataclass(frozen=True)
class UnexploredChild:
    """The best arm below one unexplored child, relative to F of its parent: w + M.

    `rarity` is the negative logarithm of the probability of each place or a higher one.
    """

    places: Array
    rarity: Array

    def best_of(self, count: Array, exponential: Array) -> Array:
        """Return draws of the best of some such children, given standard exponential variables."""
        # 1 - U^(1/count) for U = exp(-exponential) is the tail probability of the best.
        with np.errstate(divide="ignore"):
            rarity = -np.log(-np.expm1(-exponential / count))
        return np.interp(rarity, self.rarity, self.places)


@lru_cache(maxsize=64)  # one kernel is asked about many times
def unexplored_children(
    increments: tuple[float, ...], widths: tuple[int, ...]
) -> tuple[UnexploredChild, ...]:
    """Return the distribution of an unexplored child of a node at each depth.

    Parameters
    ----------
    increments
        v_0 .. v_D.
    widths
        The number of children of a node at depth 0 .. D-1.
    """
    # The best of N hardly exceeds its expectation, nor that sqrt(2 log N) standard deviations.
    highest = math.sqrt(2.0 * math.fsum(math.log(width) for width in widths)) + 8.0
    best = Distribution(POINTS, highest)
    found: list[UnexploredChild] = []
    total = 0.0
    for i in range(len(widths) - 1, -1, -1):
        total += increments[i + 1]
        if total > 0.0:
            unit = math.sqrt(total)
            best.make_room(-8.0 * unit, highest * unit)
            best.add_normal(increments[i + 1])
        tail = best.tail
        # (Points that no mass reaches have no rarity of their own.)
        reached = np.append(True, (tail[1:] > 0.0) & (tail[1:] < tail[:-1]))
        # Mass is spread evenly around its point, so the tail of a point is that half a step below.
        places = best.places[reached] - 0.5 * best.step
        found.append(UnexploredChild(places, 0.0 - np.log(tail[reached])))
        if total > 0.0:
            best.take_best_of(float(widths[i]))
    return tuple(reversed(found))


@dataclass
class Level:
    """The nodes of one depth, as arrays; parents by their place in the level above."""

    parent: Numbers
    index: NDArray[np.int32]
    g: Array
    offset: Array
    spread: Array
    is_leaf: NDArray[np.bool_]
    unexplored: Array  #: the number of unexplored children
    is_candidate: NDArray[np.bool_]  #: whether it may have the best arm

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Leave out all other nodes."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name)[kept])


class BestArms:
    """The nodes of a belief that may lead to the best arm.

    Parameters
    ----------
    nodes
        The records of the belief's nodes.
    children
        The distribution of an unexplored child of a node at each depth.
    factor
        The largest factor of standard deviations that will be asked for.
    path
        A path that is drawn too.
    center
        The prior mean of the root, relative to which the nodes are.
    """

    def __init__(
        self,
        nodes: NDArray[np.void],
        children: Sequence[UnexploredChild],
        *,
        factor: float = 1.0,
        path: Sequence[int] | None = None,
        center: float = 0.0,
    ) -> None:
        self._children = children
        self._center = center
        self._levels = _levels(nodes)
        self._chosen = (-1, 0) if path is None else _find(self._levels, path)
        self._find_candidates(factor)
        self._prune()

    def _find_candidates(self, factor: float) -> None:
        rarest = RAREST / sum(len(level.g) for level in self._levels)
        below, above = (-NormalDist().inv_cdf(p) for p in (RAREST, rarest))  # standard deviations
        m, variance = np.zeros(1), np.zeros(1)
        best, highest = -math.inf, []
        for depth, level in enumerate(self._levels):
            m = level.g * m[level.parent] + level.offset
            variance = level.spread + level.g**2 * variance[level.parent]
            std = factor * np.sqrt(variance)
            low, high = m - below * std, m + above * std
            is_open = level.unexplored > 0
            if is_open.any():
                best_of, count = self._children[depth].best_of, level.unexplored[is_open]
                low[is_open] += factor * best_of(count, np.array([-math.log(RAREST)]))
                high[is_open] += factor * best_of(count, np.array([-math.log1p(-rarest)]))
            has_arm = is_open | level.is_leaf
            highest.append(np.where(has_arm, high, -math.inf))
            best = max(best, float(low[has_arm].max(initial=-math.inf)))
        for level, high in zip(self._levels, highest, strict=True):
            level.is_candidate = high >= best

    def _prune(self) -> None:
        """Leave out nodes that are neither candidates nor above one."""
        chosen_depth, chosen = self._chosen
        above: Numbers = np.zeros(0, dtype=np.intp)  # the parents of the nodes kept below
        kept = []
        for depth in range(len(self._levels) - 1, -1, -1):
            level = self._levels[depth]
            keep = level.is_candidate.copy()
            keep[above] = True
            if depth == chosen_depth:
                keep[chosen] = True
            above = level.parent[keep]
            kept.append(keep)
        # The place of each node of the level above among those that are kept.
        place: Numbers = np.zeros(1, dtype=np.intp)
        for depth, (level, keep) in enumerate(zip(self._levels, reversed(kept), strict=True)):
            level.keep(keep)
            level.parent = place[level.parent]
            place = np.cumsum(keep) - 1
            if depth == chosen_depth:
                self._chosen = depth, int(place[chosen])

    def __len__(self) -> int:
        return sum(len(level.g) for level in self._levels)

    def draw(self, factors: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw the reward of the best arm, and of the chosen path, in the same draws.

        `factors` multiply the standard deviations, one for each draw.
        """
        size = max(1, BLOCK // max(len(self), 1))
        blocks = [factors[i : i + size] for i in range(0, len(factors), size)]
        drawn = [self._draw(block, rng) for block in blocks]
        best, chosen = (np.concatenate(values) for values in zip(*drawn, strict=True))
        return np.maximum(best, chosen) + self._center, chosen + self._center

    def _draw(self, factors: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        F = np.zeros((1, len(factors)))
        best = chosen = np.full(len(factors), -math.inf)
        for depth, level in enumerate(self._levels):
            noise = rng.standard_normal((len(level.g), len(factors))) * factors
            F = level.g[:, None] * F[level.parent] + level.offset[:, None]
            F += np.sqrt(level.spread)[:, None] * noise
            if depth == self._chosen[0]:
                chosen = F[self._chosen[1]]
            ends = level.is_candidate & level.is_leaf
            best = np.maximum(best, F[ends].max(axis=0, initial=-math.inf))
            is_open = level.is_candidate & (level.unexplored > 0)
            if is_open.any():
                exponential = rng.standard_exponential((int(is_open.sum()), len(factors)))
                count = level.unexplored[is_open][:, None]
                rise = factors * self._children[depth].best_of(count, exponential)
                best = np.maximum(best, (F[is_open] + rise).max(axis=0))
        return best, chosen


def _levels(nodes: NDArray[np.void]) -> list[Level]:
    """Return the nodes of each depth, without groups."""
    is_group = nodes["count"] == GROUP_COUNT
    parent = nodes["parent"].astype(np.intp)
    while (grouped := (parent >= 0) & is_group[parent]).any():
        parent[grouped] = parent[parent[grouped]]
    real = np.flatnonzero(~is_group)
    real = real[np.argsort(nodes["depth"][real], kind="stable")]
    ends = np.searchsorted(nodes["depth"][real], np.arange(nodes["depth"].max() + 2))
    place = np.zeros(len(nodes), dtype=np.intp)
    levels = []
    for depth in range(len(ends) - 1):
        numbers = real[ends[depth] : ends[depth + 1]]
        place[numbers] = np.arange(len(numbers))
        level = nodes[numbers]
        levels.append(
            Level(
                parent=place[parent[numbers]] if depth else np.zeros(1, dtype=np.intp),
                index=level["index"].copy(),
                g=level["g"].copy(),
                offset=level["offset"].copy(),
                spread=level["spread"].copy(),
                is_leaf=level["branching"] == 0,
                unexplored=(level["branching"] - level["explored"]).astype(np.float64),
                is_candidate=np.ones(len(numbers), dtype=np.bool_),
            )
        )
    return levels


def _find(levels: Sequence[Level], path: Sequence[int]) -> tuple[int, int]:
    """Return the depth of a node and its place there."""
    place = 0
    for step, level in zip(path, levels[1:], strict=False):
        places = np.flatnonzero((level.parent == place) & (level.index == step))
        place = int(places[0]) if len(places) else -1
    if place < 0 or len(path) >= len(levels):
        raise ValueError(f"path must lead to an explored node, got {path!r}")
    return len(path), place
