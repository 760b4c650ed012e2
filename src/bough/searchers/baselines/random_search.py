"""Random paths: the floor that every other searcher should be above."""

from typing import ClassVar

from bough.searchers.baselines.tallied import Tallied
from bough.trees import Path


class RandomSearch(Tallied):
    """Play random paths: at each node any child is as likely as another.

    It assumes nothing of the rewards. `best` averages those of one and the same path. (In ragged
    trees short paths are likelier than long ones.)

    Parameters
    ----------
    tree : Tree
    reward_range : (float, float), optional
        Not used, as no reward is compared with any bound.
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

    def _choose(self) -> Path:
        return self.tallies.wander(self._random)
