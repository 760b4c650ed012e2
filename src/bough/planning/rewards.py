# cython: language_level=3, annotation_typing=False
"""Statistics of rewards: their units, and the noise of repeated steps.

Compiled, since they are updated after every playout.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bough.planning.playouts import Playout

#: Least unit: one can divide by it.
LEAST_UNIT = 1e-200
#: Prior of the share of noise in the variance of rewards, with the weight of this many repetitions.
PRIOR_NOISE_SHARE = 0.3
PRIOR_WEIGHT = 4.0
#: Least share of the variance of rewards that is not noise.
LEAST_SIGNAL = 0.05


def discounted_sum(rewards: tuple[float, ...], weights: list[float]) -> float:
    """Return the sum of rewards, each times the weight of its step."""
    total = rest = 0.0
    for i in range(min(len(rewards), len(weights))):
        weight = weights[i]
        reward = rewards[i]
        term = weight * reward  # (the rest of the loop is that of `exact_sum`)
        after = total + term
        part = after - total
        rounding = (total - (after - part)) + (term - part)
        total = after
        after = rest + rounding
        part = after - rest
        if (rest - (after - part)) + (rounding - part) != 0.0:
            return math.fsum(map(mul, rewards, weights))
        rest = after
    return total + rest


def exact_sum(terms: list[float]) -> float:
    """Return the sum of some numbers, rounded only once: `math.fsum`, but faster.

    The sum of roundings is kept beside the sum. That is exact unless it is rounded, too.
    """
    total = rest = 0.0
    for i in range(len(terms)):
        term = terms[i]
        after = total + term
        part = after - total
        rounding = (total - (after - part)) + (term - part)
        total = after
        after = rest + rounding
        part = after - rest
        if (rest - (after - part)) + (rounding - part) != 0.0:
            return math.fsum(terms)
        rest = after
    return total + rest


def in_units(rewards: tuple[float, ...], gains: list[float], expected: list[float]) -> list[float]:
    """Return rewards less their expected values, each times the gain of its step."""
    count = min(len(rewards), len(gains))
    found = [0.0] * count
    for i in range(count):
        reward = rewards[i]
        gain = gains[i]
        center = expected[i]
        found[i] = gain * (reward - center)
    return found


def survival(playouts: Sequence["Playout"], depth: int) -> list[float]:
    """Return the share of playouts that reach each step, the first included.

    The estimator of Kaplan and Meier, since some were cut off, with one more playout that does not
    end.
    """
    counts, ends = [0] * (depth + 1), [0] * (depth + 1)  # by length
    for playout in playouts:
        length = min(len(playout.rewards), depth)
        counts[length] += 1
        ends[length] += playout.ended
    shares, left = [1.0], len(playouts) - counts[0]
    for length in range(1, depth):
        shares.append(shares[-1] * (1.0 - ends[length] / (left + 1.0)))
        left -= counts[length]
    return shares


class RewardScale:
    """Running moments of immediate rewards and of the discounted sums of whole playouts.

    After the end of an episode every reward is 0, and counts as such, so that the moments reflect
    the loss, or gain, by an early end. If an episode that has not ended `continues` beyond the
    depth, even an end in the last step has a cost.
    """

    def __init__(self, discount: float, depth: int, *, continues: bool = False) -> None:
        self.discount = discount
        self.continues = continues
        self.noise = 0.0  # of a sum, in units of its standard deviation; 0 before the first fit
        self._steps = self._missing = self._playouts = self._ends = 0
        self._sum = self._squares = 0.0
        self._total_sum = self._total_squares = self._ended_sum = 0.0
        self._least, self._most = math.inf, -math.inf  # rewards
        self._largest = 0.0  # absolute reward
        #: Moments are taken about the first reward, and about the first sum.
        self._origin = self._total_origin = 0.0
        self.weights: list[float] = []
        self.set_depth(depth)

    def set_depth(self, depth: int) -> None:
        """Change the number of rewards of a playout."""
        discount = self.discount
        if depth == len(self.weights):
            return
        self.weights = [discount**i for i in range(depth)]
        #: The discounted sum of a reward of 1 in every step from each depth on.
        self.rest = list(accumulate(reversed(self.weights), initial=0.0))[::-1]
        #: The same for the steps beyond the depth, of playouts that have not ended; at most as much
        #: as within it, or nothing else would count if the discount is almost 1.
        beyond = discount**depth / (1.0 - discount) if discount < 1.0 else math.inf
        self.beyond = min(beyond, self.rest[0]) if self.continues else 0.0
        self.spread = math.sqrt(math.fsum(w * w for w in self.weights))

    def add(self, rewards: tuple[float, ...], ended: bool) -> None:
        """Add the rewards of a playout, unless it was cut off."""
        length, depth = len(rewards), len(self.weights)
        for reward in rewards:
            self._least, self._most = min(self._least, reward), max(self._most, reward)
        self._largest = max(self._largest, self._most, -self._least)
        if not ended and length < depth:
            return
        total = discounted_sum(rewards, self.weights)
        if not self._playouts:
            self._origin, self._total_origin = rewards[0], total
        origin = self._origin
        changes = [0.0] * length
        for i in range(length):
            reward = rewards[i]
            changes[i] = reward - origin
        self._sum += exact_sum(changes)
        for i in range(length):
            change = changes[i]
            changes[i] = change * change
        self._squares += exact_sum(changes)
        missing = depth - length
        self._sum -= missing * origin
        self._squares += missing * (origin * origin)
        self._steps += depth
        self._missing += missing
        self._playouts += 1
        total -= self._total_origin
        self._total_sum += total
        self._total_squares += total * total
        if ended:
            self._ends += 1
            self._ended_sum += total

    @property
    def only_survival_counts(self) -> bool:
        """Whether every step has given the same reward, above 0: only an end makes a difference."""
        return self._least == self._most > 0.0

    @property
    def is_fitted(self) -> bool:
        """Whether sums have varied, so that their unit is not an assumption."""
        return self._playouts > 0 and self._moments()[1] > self._negligible

    def fitted(self) -> tuple[float, float]:
        """Return the expected reward of a step, and the standard deviation of a playout's sum."""
        if not self._playouts:
            return 0.0, (self._largest or 1.0) * self.spread
        center, unit = self._moments()
        # Equal rewards say nothing about the variation of others: assume that it is large.
        if unit <= self._negligible:
            unit = (self._largest or 1.0) * self.spread
        return center, max(unit, LEAST_UNIT)

    def fitted_to(self, reached: list[float]) -> tuple[float, float]:
        """Return the expected reward of a step that is taken, and the deviation of a sum.

        `reached` are the shares of playouts that reach each step.
        """
        center, unit = self.fitted()
        taken = self._steps - self._missing
        if not self._missing or not taken:
            return center, unit
        origin = self._origin
        mean = self._sum / taken + origin * self._missing / taken
        squares = self._squares / taken - origin * origin * self._missing / taken
        step = math.sqrt(max(squares - mean * mean, 0.0))
        weights = self.weights
        spread = math.sqrt(math.fsum([w * w * s for w, s in zip(weights, reached, strict=True)]))
        return origin + mean, max(unit, step * spread)

    @property
    def _negligible(self) -> float:
        """The standard deviation of equal sums, which is due to rounding."""
        return 1e-9 * self._largest * self.spread

    def _moments(self) -> tuple[float, float]:
        """Return the mean of rewards, and the larger estimate of the deviation of their sums."""
        mean = self._sum / self._steps
        step = math.sqrt(max(self._squares / self._steps - mean * mean, 0.0))
        center = self._origin + mean
        total = math.sqrt(max(self._variance(center * self.beyond), 0.0))
        return center, max(total, step * self.spread)

    def _variance(self, lost: float) -> float:
        """Return the variance of sums, less what is lost by each that has ended."""
        average = self._total_sum / self._playouts
        share = self._ends / self._playouts
        covariance = self._ended_sum / self._playouts - average * share
        variance = self._total_squares / self._playouts - average * average
        return variance - 2.0 * lost * covariance + lost * lost * share * (1.0 - share)


class StepNoise:
    """The variance of rewards after the same actions, pooled over all nodes of the tree."""

    def __init__(self) -> None:
        #: The number of repetitions of each step, beyond the first time.
        self.freedom: list[int] = []
        self.squares = 0.0
        self._root: dict[int, list[Any]] = {}  # for each child: count, mean, children

    def add(self, playout: "Playout") -> None:
        """Add the rewards of a playout; those after its end are zero."""
        children, rewards, freedom = self._root, playout.rewards, self.freedom
        length = len(rewards)
        if len(freedom) < len(playout.path):
            freedom += [0] * (len(playout.path) - len(freedom))
        for i, action in enumerate(playout.path):
            reward = rewards[i] if i < length else 0.0
            node = children.get(action)
            if node is None:
                node = children[action] = [1, reward, {}]
            else:
                count, mean, _ = node
                # Welford's update: the sum of squares about a mean that changes meanwhile.
                change = reward - mean
                node[0] = count + 1
                node[1] = mean + change / (count + 1)
                self.squares += change * (reward - node[1])
                freedom[i] += 1
            children = node[2]

    def share(self, variance: float, reached: list[float]) -> float:
        """Return the share of noise in the variance of all rewards.

        `variance` is that of the reward of a step that is taken, `reached` the share of playouts
        that take each.
        """
        if variance <= 0.0:
            return PRIOR_NOISE_SHARE
        prior = PRIOR_WEIGHT * PRIOR_NOISE_SHARE
        freedom = math.fsum([n * s for n, s in zip(self.freedom, reached, strict=False)])
        share = (self.squares / variance + prior) / (freedom + PRIOR_WEIGHT)
        return min(share, 1.0 - LEAST_SIGNAL)
