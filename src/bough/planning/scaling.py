"""The units of rewards: what is observed says where their middle is and how much they vary."""

import math
from collections.abc import Sequence
from operator import mul

#: Rewards that differ by less than this are the same: one can divide by it.
LEAST_UNIT = 1e-200


class Scale:
    """Running moments of immediate rewards and of the discounted sums of whole paths.

    After an episode has ended every reward is 0, and counts as such: so it is learnt how much it
    costs, or helps, to end early.

    Parameters
    ----------
    discount, depth
        Of the sums.
    reward_range : (float, float), optional
        The lowest and the highest immediate reward, if they are known.
    goes_on : bool
        Whether what has not ended is expected to go on beyond the depth. So an end costs something
        even as the last step of all.
    """

    def __init__(
        self,
        discount: float,
        depth: int,
        reward_range: tuple[float, float] | None = None,
        *,
        goes_on: bool = False,
    ) -> None:
        self.reward_range = reward_range
        self.goes_on = goes_on
        self.steps = self.paths = self.ends = 0
        self._ends_sum = 0.0  # of the sums of paths that ended
        self._sum = self._squares = self._paths_sum = self._paths_squares = 0.0
        self.noise = 0.0  # of a path's sum, in units of its deviation; 0 if nothing was learnt
        self._largest = 0.0  # of all rewards, in size
        self._origin: float | None = None  # moments are taken about the first reward seen,
        self._path_origin: float | None = None  # and about the first sum
        self.set_depth(discount, depth)

    def set_depth(self, discount: float, depth: int) -> None:
        """Weigh the rewards of paths of another depth."""
        self.weights = [discount**i for i in range(depth)]
        #: What a reward of 1 in every step from each depth on would add up to.
        self.rest = [0.0] * (depth + 1)
        for i in range(depth - 1, -1, -1):
            self.rest[i] = self.rest[i + 1] + self.weights[i]
        #: The same of each step beyond the depth, for paths that have not ended; but no more than
        #: of those within it, beside which nothing else would count if the discount is almost 1.
        beyond = discount**depth / (1.0 - discount) if discount < 1.0 else math.inf
        self.beyond = min(beyond, self.rest[0]) if self.goes_on else 0.0
        self.spread = math.sqrt(math.fsum(w * w for w in self.weights))

    def total(self, rewards: Sequence[float]) -> float:
        """Return the discounted sum of rewards."""
        return math.fsum(map(mul, self.weights, rewards))

    def add(self, rewards: Sequence[float], ended: bool) -> tuple[float, float]:
        """Take in the rewards of a path, if it ended or is of full depth.

        Returns the lowest and the highest of them.
        """
        low, high = min(rewards), max(rewards)
        self._largest = max(self._largest, high, -low)
        length, depth = len(rewards), len(self.weights)
        if not ended and length < depth:
            return low, high
        y = self.total(rewards)
        if self._origin is None or self._path_origin is None:
            self._origin, self._path_origin = rewards[0], y
        origin = self._origin
        if low == high:  # as in many environments
            self._sum += length * (low - origin)
            self._squares += length * (low - origin) ** 2
        else:
            changes = [r - origin for r in rewards]
            self._sum += math.fsum(changes)
            self._squares += math.fsum(map(mul, changes, changes))
        missing = depth - length
        self._sum -= missing * origin
        self._squares += missing * origin**2
        self.steps += depth
        self.paths += 1
        self._paths_sum += y - self._path_origin
        self._paths_squares += (y - self._path_origin) ** 2
        if ended:
            self.ends += 1
            self._ends_sum += y - self._path_origin
        return low, high

    def fitted(self) -> tuple[float, float]:
        """Return the reward that is expected of a step, and the standard deviation of a path."""
        if self._origin is None:
            if self.reward_range is None:
                return 0.0, (self._largest or 1.0) * self.spread
            low, high = self.reward_range
            return (low + high) / 2, (high - low) / math.sqrt(12) * self.spread
        mean = self._sum / self.steps
        step = math.sqrt(max(self._squares / self.steps - mean * mean, 0.0))
        center = self._origin + mean
        path = math.sqrt(max(self._variance(center * self.beyond), 0.0))
        unit = max(path, step * self.spread)
        # Rewards that are all the same say nothing of how others may vary: suppose, much.
        if unit <= 1e-9 * self._largest * self.spread:
            unit = (self._largest or 1.0) * self.spread
        return center, max(unit, LEAST_UNIT)

    def _variance(self, lost: float) -> float:
        """Return the variance of sums, less what is lost by each that has ended."""
        average = self._paths_sum / self.paths
        share = self.ends / self.paths
        together = self._ends_sum / self.paths - average * share
        squares = self._paths_squares / self.paths - average * average
        return squares - 2.0 * lost * together + lost * lost * share * (1.0 - share)
