"""Test functions of global optimization, to be minimized, and partitions of their boxes as trees.

Definitions and minima are those of Surjanovic and Bingham, "Virtual Library of Simulation
Experiments: Test Functions and Datasets" (https://www.sfu.ca/~ssurjano/optimization.html), except
for Himmelblau, "Applied Nonlinear Programming" (1972).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._validation import whole
from bough.problems.base import Enumerated
from bough.trees import Tree

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Function:
    """A function on a box.

    Attributes
    ----------
    name
        The name in tables.
    formula
        A function of one array for each coordinate (they may broadcast) that returns the values.
    box
        The lowest and the highest value of each coordinate.
    minimum, where
        The lowest value in the box, and the places where the function has it, to the digits given
        in the literature.
    noise
        The noise of its noisy version: about a twentieth of the function's standard deviation.
    """

    name: str
    formula: Callable[[Sequence[Array]], Array]
    box: tuple[tuple[float, float], ...]
    minimum: float
    where: tuple[tuple[float, ...], ...]
    noise: float

    def __call__(self, *point: Any) -> Any:
        """Return the value at a point, one argument for each coordinate.

        >>> round(BRANIN(9.42478, 2.475), 6)
        0.397887
        """
        if len(point) != len(self.box):
            raise TypeError(f"{self.name} has {len(self.box)} coordinates, got {len(point)}")
        values = self.formula([np.asarray(x, dtype=float) for x in point])
        return values if np.ndim(values) else float(values)


def _branin(x: Sequence[Array]) -> Array:
    curve = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return curve**2 + 10 * (1 - 1 / (8 * math.pi)) * np.cos(x[0]) + 10


def _himmelblau(x: Sequence[Array]) -> Array:
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


_HARTMANN_WEIGHTS = (1.0, 1.2, 3.0, 3.2)
_HARTMANN6_RATES = (
    (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
    (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
    (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
    (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
)
_HARTMANN6_CENTERS = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)
_HARTMANN3_RATES = ((3.0, 10.0, 30.0), (0.1, 10.0, 35.0)) * 2
_HARTMANN3_CENTERS = (
    (0.3689, 0.1170, 0.2673),
    (0.4699, 0.4387, 0.7470),
    (0.1091, 0.8732, 0.5547),
    (0.0381, 0.5743, 0.8828),
)


def _hartmann(x: Sequence[Array]) -> Array:
    tables: Any = (_HARTMANN3_RATES, _HARTMANN3_CENTERS)
    if len(x) == 6:
        tables = (_HARTMANN6_RATES, _HARTMANN6_CENTERS)
    total = np.zeros(())
    for weight, rates, centers in zip(_HARTMANN_WEIGHTS, *tables, strict=True):
        terms = zip(x, rates, centers, strict=True)
        square = _sum(rate * (coordinate - center) ** 2 for coordinate, rate, center in terms)
        total = total - weight * np.exp(-square)
    return total


def _sum(terms: Iterable[Array], start: Array | float = 0.0) -> Array:
    """Return the sum of arrays that broadcast."""
    return sum(terms, start=np.asarray(start))


def _rastrigin(x: Sequence[Array]) -> Array:
    waves = (coordinate**2 - 10 * np.cos(2 * math.pi * coordinate) for coordinate in x)
    return _sum(waves, 10.0 * len(x))


def _ackley(x: Sequence[Array]) -> Array:
    root = np.sqrt(_sum(coordinate**2 for coordinate in x) / len(x))
    waves = _sum(np.cos(2 * math.pi * coordinate) for coordinate in x)
    return -20 * np.exp(-0.2 * root) - np.exp(waves / len(x)) + 20 + math.e


def _levy(x: Sequence[Array]) -> Array:
    w = [1 + (coordinate - 1) / 4 for coordinate in x]
    waves = [(one - 1) ** 2 * (1 + 10 * np.sin(math.pi * one + 1) ** 2) for one in w[:-1]]
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * math.pi * w[-1]) ** 2)
    return _sum([*waves, last], np.sin(math.pi * w[0]) ** 2)


def _rosenbrock(x: Sequence[Array]) -> Array:
    total: Array = np.zeros(())
    for one, following in pairwise(x):
        total = total + 100 * (following - one**2) ** 2 + (1 - one) ** 2
    return total


BRANIN = Function(
    "branin",
    _branin,
    ((-5.0, 10.0), (0.0, 15.0)),
    0.397887,
    ((-math.pi, 12.275), (math.pi, 2.275), (9.42478, 2.475)),
    noise=2.5,
)
HIMMELBLAU = Function(
    "himmelblau",
    _himmelblau,
    ((-5.0, 5.0), (-5.0, 5.0)),
    0.0,
    ((3.0, 2.0), (-2.805118, 3.131312), (-3.779310, -3.283186), (3.584428, -1.848126)),
    noise=6.0,
)
HARTMANN3 = Function(
    "hartmann3",
    _hartmann,
    ((0.0, 1.0),) * 3,
    -3.86278,
    ((0.114614, 0.555649, 0.852547),),
    noise=0.05,
)
HARTMANN6 = Function(
    "hartmann6",
    _hartmann,
    ((0.0, 1.0),) * 6,
    -3.32237,
    ((0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573),),
    noise=0.02,
)


#: The largest dimension of the functions that have any.
MOST_DIMENSION = 1000


def _of_any_dimension(
    name: str, formula: Callable[[Sequence[Array]], Array], bound: float, best: float, noise: float
) -> Callable[[int], Function]:
    """Return a function of the dimension; the minimum, 0, is where all coordinates are `best`."""

    def make(dimension: int = 2) -> Function:
        dimension = whole(dimension, "dimension", least=1, most=MOST_DIMENSION)
        box, where = ((-bound, bound),) * dimension, ((best,) * dimension,)
        return Function(name, formula, box, 0.0, where, noise)

    return make


rastrigin = _of_any_dimension("rastrigin", _rastrigin, 5.12, best=0.0, noise=0.7)
ackley = _of_any_dimension("ackley", _ackley, 32.768, best=0.0, noise=0.15)
levy = _of_any_dimension("levy", _levy, 10.0, best=1.0, noise=1.8)
#: On the smaller of its usual boxes.
rosenbrock = _of_any_dimension("rosenbrock", _rosenbrock, 2.048, best=1.0, noise=60.0)


class Partitioned(Enumerated):
    """Minimize a function on a box, by partitioning the box into smaller and smaller cells.

    The first step cuts the first coordinate into `parts`, the next one the second coordinate, and
    so on in turn, `cuts` times each. A complete path is a cell, and its value is minus the function
    at the center of the cell.

    `optimum` is the best of all cells, found by evaluating every one of them, so it is exact for
    the partition. `limit`, minus the function's minimum in the literature, is the limit for finer
    and finer partitions; it is a little higher.

    Parameters
    ----------
    function : bough.problems.functions.Function
    cuts : int
        The number of cuts of each coordinate: the depth of the tree over the dimension.
    parts : int
        The number of parts per cut.
    noise : float
    seed : int
        The seed of the noise; the function itself is not random.

    Examples
    --------
    >>> problem = Partitioned(BRANIN, cuts=7)
    >>> problem.center(problem.best_path)
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

    def center(self, path: Sequence[int]) -> tuple[float, ...]:
        """Return the center of the cell of a complete path."""
        steps = self.tree.complete(path)
        box = self.function.box
        centers = []
        for j, (low, high) in enumerate(box):
            cell = 0
            for step in steps[j :: len(box)]:
                cell = cell * self.parts + step
            centers.append(_center(low, high, cell, self.parts**self.cuts))
        return tuple(centers)

    @cached_property
    def _values(self) -> Array:
        return _cell_values(self.function, self.cuts, self.parts)


def _center(low: float, high: float, cell: int, cells: int) -> float:
    return low + (high - low) * (2 * cell + 1) / (2 * cells)


@lru_cache(maxsize=8)  # every seed has the same function
def _cell_values(function: Function, cuts: int, parts: int) -> Array:
    """Return minus the function at the centers of all cells, in the order of their paths."""
    dimension, cells = len(function.box), parts**cuts
    points = []
    for j, (low, high) in enumerate(function.box):
        centers = np.array([_center(low, high, cell, cells) for cell in range(cells)])
        # An axis for each step, of length 1 unless the step cuts this coordinate: so the arrays
        # broadcast to one value for each path.
        shape = [parts if i % dimension == j else 1 for i in range(dimension * cuts)]
        points.append(centers.reshape(shape))
    values = 0.0 - function.formula(points).ravel()
    values.flags.writeable = False
    return values
