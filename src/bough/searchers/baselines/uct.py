"""UCT: upper confidence bounds applied to trees (Kocsis and Szepesvari 2006)."""

import numpy as np

from bough._validation import at_least_zero
from bough.searchers.baselines.counting import CountingSearcher
from bough.searchers.baselines.tallies import Tallies
from bough.trees import Path, Tree

#: The constant with the best average over eight problems with rewards in [0, 1].
EXPLORATION = 0.2


class UCT(CountingSearcher):
    """Descend the tree as if every node were a bandit whose arms are its children.

    At a node whose children were all visited, choose the child with the highest mean reward plus
    `exploration` sqrt(log n_node / n_child), in units of the range of rewards; before that, a
    random unvisited child.

    Parameters
    ----------
    tree : Tree
    exploration : float
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.UCT(bough.Tree(3, 4), rng=0)
    >>> for _ in range(100):
    ...     path = search.ask()
    ...     search.tell(path, -sum(path) / 4)
    >>> search.best().path
    (0, 0, 0, 0)
    """

    def __init__(
        self,
        tree: Tree,
        *,
        exploration: float = EXPLORATION,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, reward_range, rng)
        self.exploration = at_least_zero(exploration, "exploration")
        self.tallies: Tallies = Tallies(tree)

    def _choose(self) -> Path:
        return self.tallies.descend(self._random, self.exploration * self._scale)
