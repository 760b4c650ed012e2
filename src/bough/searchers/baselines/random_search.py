"""Random search: the floor that every other searcher should be above."""

from typing import ClassVar

import numpy as np

from bough.searchers.baselines.counting import CountingSearcher
from bough.searchers.baselines.tallies import Tallies
from bough.trees import Path, Tree


class RandomSearch(CountingSearcher):
    """Play random paths: at each node every child is equally likely.

    It assumes nothing about the rewards, and `best` averages the rewards of each path. (In ragged
    trees short paths are more likely than long ones.)

    Parameters
    ----------
    tree : Tree
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.RandomSearch(bough.Tree(3, 2), rng=0)
    >>> for _ in range(60):
    ...     path = search.ask()
    ...     search.tell(path, -sum(path))
    >>> search.best().path
    (0, 0)
    """

    default_rule: ClassVar[str] = "lower"

    def __init__(self, tree: Tree, *, rng: np.random.Generator | int | None = None) -> None:
        super().__init__(tree, rng=rng)
        self.tallies: Tallies = Tallies(tree)

    def _choose(self) -> Path:
        return self.tallies.random_path(self._random)
