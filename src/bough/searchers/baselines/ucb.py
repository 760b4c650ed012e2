"""Bandits on independent arms: UCB1, and UCB-AIR for more arms than can be tried.

UCB1 is by Auer, Cesa-Bianchi and Fischer (2002), the arm-increasing rule by Wang, Audibert and
Munos (2008).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bough._validation import above_zero, at_least_zero
from bough.searchers.baselines.arms import Arms, Bandit, Floats
from bough.searchers.baselines.tallies import Tallies
from bough.trees import Path, Tree

#: The number of draws of a new arm before UCB-AIR gives up, if all are old ones.
TRIES = 100


class UCB1(Bandit):
    """Play the arm with the highest mean + sqrt(2 log t / n), each one once before that.

    Here n counts the plays of the arm and t those of all. Rewards are assumed to have a range of 1;
    others are rescaled. Arms are independent.

    Parameters
    ----------
    tree : Tree, optional
        The tree whose leaves are the arms, at most a million.
    arms : sequence, optional
        The arms themselves, of any kind, instead of a tree; `(k,)` is the path of the k-th.
    exploration : float
        Multiplier of the width of the confidence bounds, valid with 1; less often works better.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.UCB1(arms=["poor", "good", "fair"], rng=0)
    >>> worth = {"poor": 0.1, "good": 0.9, "fair": 0.5}
    >>> for _ in range(50):
    ...     path = search.ask()
    ...     (arm,) = search.tree.decode(path)
    ...     search.tell(path, worth[arm])
    >>> search.best().path
    (1,)
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        arms: Sequence[Any] | None = None,
        exploration: float = 1.0,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, arms, reward_range, rng)
        self.exploration = at_least_zero(exploration, "exploration")
        # Unplayed arms come in a random order.
        shuffler = np.random.default_rng(self._random.below(2**31 - 1))
        self._order = shuffler.permutation(len(self.tallies))
        self._turn = 0

    def _choose_arm(self) -> int:
        counts = self.tallies.counts
        while self._turn < len(counts):
            k = int(self._order[self._turn])
            self._turn += 1
            if counts[k] == 0:
                return k
        if counts.min() == 0:
            unplayed = np.flatnonzero(counts == 0)  # their evaluations were forgotten
            return int(unplayed[self._random.below(len(unplayed))])
        return self._highest_of(self._indices())

    def _indices(self) -> Floats:
        """Return the upper confidence bound of every arm; pending evaluations count as plays."""
        plays = self.observations + len(self._pending)
        bonus = np.sqrt(2.0 * math.log(max(plays, 1)) / self.tallies.counts)
        bound: Floats = self._expected() + self.exploration * self._scale * bonus
        return bound


class UCBAIR(Bandit):
    """Draw arms from a reservoir that is too large to try all, and play the good ones.

    The t-th play is of a new, random arm if fewer than t^(b/2) were drawn (for rarity b < 1 and a
    best arm below the highest reward), or fewer than t^(b/(1+b)) (else); and otherwise of the one
    with the highest mean + sqrt(2 V E / n) + 3 E / n, where V is the variance of its n rewards and
    E = 2 log(10 log t). Rewards are assumed to have a range of 1; others are rescaled.

    Parameters
    ----------
    tree : Tree, optional
        The tree whose leaves are the reservoir: random paths, at each node every child equally
        likely.
    arms : sequence, optional
        The reservoir as a list, instead of a tree; `(k,)` is the path of the k-th arm.
    rarity : float
        The probability that a random arm is within e of the best is about e^rarity.
    reaches_highest : bool
        Whether the mean of the best arm is the highest possible reward.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.UCBAIR(bough.Tree(10, 6), rng=0)
    >>> for _ in range(100):
    ...     path = search.ask()
    ...     search.tell(path, -sum(path) / 54)
    >>> len(search.drawn)
    10
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        arms: Sequence[Any] | None = None,
        rarity: float = 1.0,
        reaches_highest: bool = False,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, arms, reward_range, rng)
        self._leaves = Tallies(self.tree)
        self.rarity = above_zero(rarity, "rarity")
        self.reaches_highest = bool(reaches_highest)

    def _new_arms(self) -> Arms:
        return Arms()

    @property
    def drawn(self) -> list[Path]:
        """The arms that were drawn or observed."""
        return self.tallies.paths

    def _arms_wanted(self, t: int) -> float:
        """Return the number of arms that should be drawn at the t-th play."""
        b = self.rarity
        return float(t ** (b / 2 if b < 1 and not self.reaches_highest else b / (1 + b)))

    def _choose_arm(self) -> int:
        arms = self.tallies
        t = self.observations + len(self._pending) + 1
        if arms.pending.all() or len(arms) < self._arms_wanted(t):
            path = self._draw()
            if path is not None:
                return arms.number_of(path)
        if arms.counts.min() == 0:
            return int(arms.counts.argmin())  # its evaluation was forgotten
        return self._highest_of(self._indices(t))

    def _draw(self) -> Path | None:
        """Return a random path that was not drawn before; None if `TRIES` draws find none."""
        for _ in range(TRIES):
            path = self._leaves.random_path(self._random)
            if path not in self.tallies:
                return path
        return None

    def _indices(self, t: int) -> Floats:
        """Return the UCB-V bound (Audibert) of every arm that was drawn."""
        arms = self.tallies
        width = 2.0 * math.log(10.0 * math.log(max(t, 2)))  # log log 1 does not exist
        variances = arms.squares / np.maximum(arms.visits, 1)
        bonus = np.sqrt(2.0 * width * variances / arms.counts)
        bound: Floats = self._expected() + bonus + 3.0 * width * self._scale / arms.counts
        return bound
