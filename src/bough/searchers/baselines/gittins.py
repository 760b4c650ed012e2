"""Gittins indices of independent arms with normal or Bernoulli rewards (Gittins 1979)."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from bough._validation import above_zero, between_zero_and_one
from bough.searchers.baselines.arms import Bandit, Floats
from bough.trees import Tree

#: Rewards later than this many times 1 / (1 - discount) are evaluated without further learning.
HORIZON = 8.0
#: Beyond this number of rewards the index of a normal arm is inversely proportional to it.
MOST_TABULATED = 2_048
#: The grid of posterior means, in their standard deviations; nodes and range of the quadrature.
GRID = np.linspace(-5.0, 7.0, 121)
NODES, RANGE = 32, 6.0


class Gittins(Bandit):
    """Play the arm with the highest Gittins index, which maximizes the discounted sum of rewards.

    The index of an arm is the reward of an equally good known arm, if one can switch from the first
    to the second at any time. Normal rewards have a known variance and a flat prior of the mean, so
    each arm is first played once; the index is mean + noise v(n, discount) after n rewards.
    Bernoulli rewards have a uniform prior, which counts as a success and a failure; rewards between
    0 and 1 count as a fraction of a success, and others are rescaled.

    Parameters
    ----------
    tree : Tree, optional
        The tree whose leaves are the arms, at most a million.
    arms : sequence, optional
        The arms themselves, of any kind, instead of a tree; `(k,)` is the path of the k-th.
    discount : float
        The factor of the weight of a reward from one play to the next; about 1 / (1 - discount)
        plays matter.
    rewards : "normal" or "bernoulli"
    noise : float, optional
        The standard deviation of normal rewards; by default it is estimated from those observed.
    reward_range : (float, float), optional
        The lowest and the highest possible reward, for Bernoulli rewards; by default those observed
        so far.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.Gittins(arms=["poor", "good", "fair"], discount=0.95, rng=0)
    >>> worth = {"poor": 0.1, "good": 0.9, "fair": 0.5}
    >>> for t in range(50):
    ...     path = search.ask()
    ...     (arm,) = search.tree.decode(path)
    ...     search.tell(path, worth[arm] + 0.1 * (-1) ** t)
    >>> search.best().path
    (1,)
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        arms: Sequence[Any] | None = None,
        discount: float = 0.99,
        rewards: Literal["normal", "bernoulli"] = "normal",
        noise: float | None = None,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if rewards not in ("normal", "bernoulli"):
            raise ValueError(f'rewards must be "normal" or "bernoulli", got {rewards!r}')
        super().__init__(tree, arms, reward_range, rng)
        self.discount = between_zero_and_one(discount, "discount")
        self.rewards = rewards
        self.noise = None if noise is None else above_zero(noise, "noise")

    def _choose_arm(self) -> int:
        return self._highest_of(self._indices())

    def _indices(self) -> Floats:
        """Return the index of every arm."""
        visits, means = self.tallies.visits, self.tallies.means
        if self.rewards == "normal":
            noise = math.sqrt(self.tallies.variance()) if self.noise is None else self.noise
            index = np.full(len(visits), math.inf)
            played = np.flatnonzero(visits)
            bonus = [normal_index(int(n), self.discount) for n in visits[played]]
            index[played] = means[played] + noise * np.array(bonus)
            return index
        low = self.reward_range[0] if self.reward_range else min(self._lowest_reward, 1e300)
        shares = np.clip(np.where(visits > 0, means - low, 0.0) / self._scale, 0.0, 1.0) * visits
        index = np.array(
            [
                bernoulli_index(1.0 + share, 1.0 + n - share, self.discount)
                for share, n in zip(shares.tolist(), visits.tolist(), strict=True)
            ]
        )
        return index


def normal_index(n: int, discount: float) -> float:
    """Return the index v(n, a) of an arm with mean 0 after n rewards of standard deviation 1.

    >>> round(normal_index(1, 0.95), 4), round(normal_index(10, 0.99), 4)
    (0.9956, 0.3528)
    """
    size = 64
    while size < min(n, MOST_TABULATED):
        size *= 4
    table = _normal_table(min(size, MOST_TABULATED), discount)
    last = len(table)
    return float(table[n - 1]) if n <= last else float(table[-1]) * last / n


@lru_cache(maxsize=64)
def _normal_table(size: int, discount: float) -> Floats:
    """Return v(n, a) for n = 1 .. size, by backward induction against a known arm of value 0.

    With a mean x after n rewards, going on is worth Q_n(x) = x + a E max(Q_{n+1}(x'), 0), where
    x' ~ N(x, 1/n - 1/(n+1)), and v(n) is minus the root of Q_n. The smooth function that is
    interpolated is Q_n less x / (1 - a), the value of never changing: it vanishes for large x.
    """
    from scipy.interpolate import CubicSpline

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    forever = 1.0 / (1.0 - discount)
    table = np.empty(size)
    spline = CubicSpline(GRID, np.zeros(len(GRID)))  # of Q_{n+1}(x) - x / (1 - a)
    root = 0.0
    for n in range(size + math.ceil(HORIZON * forever), 0, -1):
        x = GRID / math.sqrt(n)
        step = math.sqrt(1.0 / (n * (n + 1.0)))
        # E max(Q(x'), 0) is an integral from the root of Q on.
        low = np.clip((root - x) / step, -RANGE, RANGE)
        half = 0.5 * (RANGE - low)[:, None]
        u = low[:, None] + half * (1.0 + nodes)
        later = x[:, None] + step * u
        z = later * math.sqrt(n + 1.0)
        value = forever * later + np.where(z < GRID[-1], spline(z), 0.0)
        density = np.exp(-0.5 * u**2) / math.sqrt(2.0 * math.pi)
        spline = CubicSpline(GRID, x + discount * (half * value * density) @ weights - forever * x)
        slope = forever / math.sqrt(n)
        start = np.interp(0.0, spline(GRID) + slope * GRID, GRID)
        for _ in range(3):  # Newton's method
            start -= (spline(start) + slope * start) / (spline(start, 1) + slope)
        root = float(start) / math.sqrt(n)
        if n <= size:
            table[n - 1] = -root
    return table


@lru_cache(maxsize=100_000)
def bernoulli_index(a: float, b: float, discount: float) -> float:
    """Return the index of an arm whose probability of success has the posterior Beta(a, b).

    >>> round(bernoulli_index(1.0, 1.0, 0.9), 4), round(bernoulli_index(1.0, 1.0, 0.99), 4)
    (0.7029, 0.8699)
    """
    from scipy.optimize import brentq

    depth = math.ceil(HORIZON / (1.0 - discount))
    forever = 1.0 / (1.0 - discount)
    counts = np.arange(depth + 1.0)
    probabilities = [(a + counts[: d + 1]) / (a + b + d) for d in range(depth + 1)]

    def gain(known: float) -> float:
        """Return what going on is worth beyond changing to the known arm at once."""
        values: Floats = np.maximum(probabilities[depth], known) * forever
        for p in probabilities[depth - 1 : 0 : -1]:
            going_on = p + discount * (values[:-1] + p * (values[1:] - values[:-1]))
            values = np.maximum(going_on, known * forever)
        first = float(probabilities[0][0])
        later = first * float(values[1]) + (1.0 - first) * float(values[0])
        return first + discount * later - known * forever

    return float(brentq(gain, a / (a + b), 1.0, xtol=1e-7))
