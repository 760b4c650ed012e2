"""What searchers of a tree that have no model have in common: the tallies of its nodes."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bough.searchers.baselines.counting import Counting
from bough.searchers.baselines.tallies import Tallies
from bough.trees import Path, Tree


class Tallied(Counting):
    """A searcher whose memory is the tallies of the nodes that were visited."""

    #: Whether a reward told once is known, so that no arm is played twice.
    exact: ClassVar[bool] = False
    #: Whether plays may end at inner nodes, whose rewards are then told.
    deepening = False

    def __init__(
        self,
        tree: Tree,
        *,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a bough.Tree, got {tree!r}")
        if tree.counts is not None and math.inf in tree.counts:
            raise ValueError(
                f"{type(self).__name__} chooses among all children of a node, so the "
                f"branching must be finite, got {tree!r}; GPTS can search this tree"
            )
        super().__init__(tree, reward_range, rng)
        self.tallies = self._new_tallies()

    def _new_tallies(self) -> Tallies:
        """Return the memory that the algorithm needs."""
        return Tallies(self.tree, self.exact)

    def _add(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        self.tallies.add(path, reward)

    def _wait(self, path: Path, change: int) -> None:
        self.tallies.wait(path, change)

    def _playable(self, path: Sequence[int]) -> Path:
        return self.tree.walk(path)[0] if self.deepening else self.tree.complete(path)

    @property
    def observations(self) -> int:
        """How many rewards were told."""
        return self.tallies.observations

    # ------------------------------------------------------------------ what is best

    def _variance(self) -> float:
        return self.tallies.variance()

    def _average(self, path: Path) -> tuple[float, int]:
        tally = self.tallies.nodes[self.tallies.end_of(path)]
        return float(tally["itself" if tally["branching"] else "average"]), int(tally["ended"])

    def _most_visited(self) -> Path:
        return self.tallies.path_to(self.tallies.most_visited())

    def _highest_below_mean(self, variance: float) -> Path:
        nodes = self.tallies.nodes
        arms = np.flatnonzero(nodes["ended"])
        is_leaf = nodes["branching"][arms] == 0
        means = np.where(is_leaf, nodes["average"][arms], nodes["itself"][arms])
        lower = means - np.sqrt(variance / nodes["ended"][arms])
        return self.tallies.path_to(int(arms[np.argmax(lower)]))
