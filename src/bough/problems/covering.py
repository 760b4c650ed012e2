"""Continuous functions on a tree of coverings: each step cuts one coordinate of a box."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bough._validation import whole
from bough.problems.functions import Function
from bough.problems.listed import Listed
from bough.trees import Path, Tree


class Covering(Listed):
    """Minimise a function on a box, by cutting the box into smaller and smaller cells.

    The first step cuts the first coordinate into `parts`, the next one the second coordinate, and
    so on in turn, `cuts` times each. A complete path is a cell, and is worth minus the function at
    the centre of the cell.

    `optimum` is the best over all cells, found by looking at every one of them, so it is exact for
    the covering. `limit`, minus the function's minimum in the literature, is what finer and finer
    coverings come to; it is a little higher.

    Parameters
    ----------
    function : bough.problems.functions.Function
    cuts : int
        How often each coordinate is cut: the depth of the tree over the number of coordinates.
    parts : int
        Into how many parts a step cuts.
    noise : float
    seed : int
        Of the noise; the function has no randomness of its own.

    Examples
    --------
    >>> from bough.problems.functions import BRANIN
    >>> problem = Covering(BRANIN, cuts=7)
    >>> problem.centre(problem.best_path)
    (3.14453125, 2.28515625)
    >>> problem.optimum, problem.limit
    (-0.39..., -0.397887)
    """

    def __init__(
        self,
        function: Function,
        cuts: int = 8,
        parts: int = 2,
        *,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        if not isinstance(function, Function):
            raise TypeError(f"function must be a bough.problems.Function, got {function!r}")
        self.function = function
        self.cuts = whole(cuts, "cuts", least=1)
        self.parts = whole(parts, "parts", least=2)
        self.name = function.name
        tree = Tree(self.parts, self.cuts * len(function.box))
        super().__init__(tree, noise=noise, seed=seed)

    @property
    def limit(self) -> float:
        """Minus the minimum of the function, as the literature gives it."""
        return 0.0 - self.function.minimum

    def centre(self, path: Sequence[int]) -> tuple[float, ...]:
        """Return the centre of the cell of a complete path."""
        steps = self.tree.complete(path)
        box = self.function.box
        return tuple(
            _centre(low, high, self._cell(steps[j :: len(box)]), self.parts**self.cuts)
            for j, (low, high) in enumerate(box)
        )

    def _cell(self, steps: Path) -> int:
        cell = 0
        for step in steps:
            cell = cell * self.parts + step
        return cell

    def _list(self) -> NDArray[np.float64]:
        return _values(self.function, self.cuts, self.parts)


def _centre(low: float, high: float, cell: int, cells: int) -> float:
    return low + (high - low) * (2 * cell + 1) / (2 * cells)


@lru_cache(maxsize=8)  # every seed has the same function
def _values(function: Function, cuts: int, parts: int) -> NDArray[np.float64]:
    """Return minus the function at the centres of all cells, in the order of their paths."""
    dimension, cells = len(function.box), parts**cuts
    points = []
    for j, (low, high) in enumerate(function.box):
        centres = np.array([_centre(low, high, cell, cells) for cell in range(cells)])
        # An axis for each step, of length 1 unless the step cuts this coordinate: so the arrays
        # broadcast to one value for each path.
        shape = [parts if i % dimension == j else 1 for i in range(dimension * cuts)]
        points.append(centres.reshape(shape))
    values = 0.0 - function.formula(points).ravel()
    values.flags.writeable = False
    return values
