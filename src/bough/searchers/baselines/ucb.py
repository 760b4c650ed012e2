"""Upper confidence bounds on independent arms (Auer, Cesa-Bianchi and Fischer 2002)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bough._validation import at_least_zero
from bough.searchers.baselines.bandit import Enumerated
from bough.searchers.baselines.counting import Floats
from bough.trees import Tree


class UCB1(Enumerated):
    """Play the arm with the highest mean + sqrt(2 log t / n), each one once before that.

    Here n counts the plays of the arm and t those of all. Rewards are assumed to have a range of 1;
    others are rescaled. What one arm gives says nothing of the others.

    Parameters
    ----------
    tree : Tree, optional
        Its leaves are the arms, at most a million.
    arms : sequence, optional
        The arms themselves, of any kind; see `Bandit` for their paths.
    exploration : float
        What the width of the confidence bounds is multiplied with. They hold with 1, and are then
        so wide that much less is usually better.
    reward_range : (float, float), optional
        The lowest and the highest reward there can be; by default those seen so far.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.UCB1(arms=["poor", "good", "fair"], rng=0)
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
        self.exploration = at_least_zero(exploration, "exploration")
        super().__init__(tree, arms, reward_range, rng)
        # Arms not yet played come in a random order.
        shuffler = np.random.default_rng(self._random.below(2**31 - 1))
        self._order = shuffler.permutation(self.arms)
        self._turn = 0

    def _choose_arm(self) -> int:
        while self._turn < self.arms:
            k = int(self._order[self._turn])
            self._turn += 1
            if self.counts[k] == 0:
                return k
        if self.counts.min() == 0:
            fresh = np.flatnonzero(self.counts == 0)  # whose evaluation failed
            return int(fresh[self._random.below(len(fresh))])
        return self._highest_of(self._indices(), self._skipped(self.arms))

    def _indices(self) -> Floats:
        """Return the upper confidence bound of every arm; pending evaluations are plays."""
        plays = self._told + len(self._pending)
        bonus = np.sqrt(2.0 * math.log(max(plays, 1)) / self.counts)
        bound: Floats = self._expected(self.arms) + self.exploration * self._scale * bonus
        return bound
