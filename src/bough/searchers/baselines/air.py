"""Arm-increasing rule for infinitely many arms (Wang, Audibert and Munos 2008)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bough._validation import above_zero
from bough.searchers.baselines.bandit import Bandit
from bough.searchers.baselines.counting import Floats
from bough.trees import Path, Tree

#: How often a new arm is drawn again if it turns out to be an old one.
TRIES = 100


class UCBAIR(Bandit):
    """Draw arms from a reservoir too large to try them all, and tell the good from the bad.

    The t-th play is of a new, random arm if fewer than t^(b/2) were drawn (for rarity b < 1 and a
    best arm below the highest reward), or fewer than t^(b/(1+b)) (else); and otherwise of the one
    with the highest mean + sqrt(2 V E / n) + 3 E / n, where V is the variance of its n rewards and
    E = 2 log(10 log t). Rewards are assumed to have a range of 1; others are rescaled.

    Parameters
    ----------
    tree : Tree, optional
        Its leaves are the reservoir: random paths, at each node any child alike.
    arms : sequence, optional
        The reservoir as a list; see `Bandit` for the paths.
    rarity : float
        The probability that a random arm is within e of the best is about e^rarity.
    reaches_highest : bool
        Whether the mean of the best arm is the highest reward there can be.
    reward_range : (float, float), optional
        The lowest and the highest reward there can be; by default those seen so far.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.UCBAIR(bough.Tree(10, 6), rng=0)
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
        self.rarity = above_zero(rarity, "rarity")
        self.reaches_highest = bool(reaches_highest)
        super().__init__(tree, arms, reward_range, rng)

    def _make_arms(self) -> None:
        if self.tree.counts is not None and math.inf in self.tree.counts:
            raise ValueError(
                "UCBAIR draws every child of a node alike, so the branching must be finite, got "
                f"{self.tree!r}; GPTS can search this tree"
            )
        #: The arms that were drawn, or told.
        self.drawn: list[Path] = []
        self._numbers: dict[Path, int] = {}
        self._make_room(64)

    def _arm_of(self, path: Path) -> int:
        """Return the number of an arm, which a new one is given here."""
        k = self._numbers.get(path)
        if k is None:
            k = len(self.drawn)
            if k == len(self.visits):
                for name in ("visits", "waiting", "counts", "averages", "scatter"):
                    array = getattr(self, name)
                    setattr(self, name, np.append(array, np.zeros_like(array)))
            self.drawn.append(path)
            self._numbers[path] = k
        return k

    def _path_of(self, k: int) -> Path:
        return self.drawn[k]

    def _wanted(self, t: int) -> float:
        """Return how many arms there should be at the t-th play."""
        b = self.rarity
        return float(t ** (b / 2 if b < 1 and not self.reaches_highest else b / (1 + b)))

    def _choose_arm(self) -> int:
        t = self._told + len(self._pending) + 1
        skip = self._skipped(len(self.drawn))
        nothing_else = len(self.drawn) == 0 or (self._pending and skip is None)
        if nothing_else or len(self.drawn) < self._wanted(t):
            path = self._new_arm()
            if path is not None:
                return self._arm_of(path)
        counts = self.counts[: len(self.drawn)]
        if counts.min() == 0:
            return int(counts.argmin())  # its evaluation failed
        return self._highest_of(self._indices(t), skip)

    def _new_arm(self) -> Path | None:
        """Return a random path that was not drawn before; None if such are hard to find."""
        for _ in range(TRIES):
            path: Path = ()
            while (width := self.tree.children(path)) > 0:
                if width == math.inf:
                    raise ValueError(f"the branching must be finite, but node {path} has no end")
                path = (*path, self._random.below(int(width)))
            if path not in self._numbers:
                return path
        return None

    def _indices(self, t: int) -> Floats:
        """Return the bound of every arm that was drawn, of Audibert's UCB-V."""
        arms = len(self.drawn)
        counts = self.counts[:arms]
        width = 2.0 * math.log(10.0 * math.log(max(t, 2)))  # the first play has no log log t
        variances = self.scatter[:arms] / np.maximum(self.visits[:arms], 1)
        bonus = np.sqrt(2.0 * width * variances / counts)
        bound: Floats = self._expected(arms) + bonus + 3.0 * width * self._scale / counts
        return bound
