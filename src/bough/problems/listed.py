"""Problems small enough to hold the value of every path."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.problems.base import Problem
from bough.trees import Path, Tree

#: 32 MB of values.
MOST_ARMS = 4_000_000


class Listed(Problem):
    """A problem whose optimum is known since every path was looked at."""

    def __init__(self, tree: Tree, *, noise: float, seed: int) -> None:
        if tree.arms is None or tree.arms > MOST_ARMS:
            raise ValueError(
                f"the best path is found by looking at all of them, so there may be at most "
                f"{MOST_ARMS:,}, got {tree!r}"
            )
        super().__init__(tree, noise=noise, seed=seed)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many children nodes have, at each depth."""
        return tuple(int(count) for count in self.tree.counts or ())

    @abstractmethod
    def _list(self) -> NDArray[np.float64]:
        """Return the value of every path, in the order of paths; called once."""

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return self._list()

    def _place(self, path: Path) -> int:
        place = 0
        for step, count in zip(path, self.tree.counts or (), strict=True):
            place = place * int(count) + step
        return place

    def _value(self, path: Path) -> float:
        return float(self._values[self._place(path)])

    def _solve(self) -> tuple[float, Path]:
        place = int(self._values.argmax())
        path: list[int] = []
        rest: Any = place
        for count in reversed(self.shape):
            rest, step = divmod(rest, count)
            path.append(step)
        return float(self._values[place]), tuple(reversed(path))
