"""Test functions of global optimisation, to be minimised, with the minima of the literature.

Definitions and minima are those of Surjanovic and Bingham, "Virtual Library of Simulation
Experiments: Test Functions and Datasets" (https://www.sfu.ca/~ssurjano/optimization.html), except
for Himmelblau, "Applied Nonlinear Programming" (1972).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._validation import whole

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Function:
    """A function on a box.

    Attributes
    ----------
    name
        What it is called.
    formula
        Takes one array for each coordinate (they may broadcast) and returns the values.
    box
        The lowest and the highest value of each coordinate.
    minimum, where
        The lowest value in the box, and the places where the function has it, to the digits given
        in the literature.
    noise
        The noise of its noisy version: about a twentieth of how much the function varies.
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
_HARTMANN_RATES = (
    (10.0, 3.0, 17.0, 3.5, 1.7, 8.0),
    (0.05, 10.0, 17.0, 0.1, 8.0, 14.0),
    (3.0, 3.5, 1.7, 10.0, 17.0, 8.0),
    (17.0, 8.0, 0.05, 10.0, 0.1, 14.0),
)
_HARTMANN_CENTRES = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)


def _hartmann6(x: Sequence[Array]) -> Array:
    return _hartmann(x, _HARTMANN_RATES, _HARTMANN_CENTRES)


def _hartmann3(x: Sequence[Array]) -> Array:
    return _hartmann(x, _HARTMANN3_RATES, _HARTMANN3_CENTRES)


def _hartmann(
    x: Sequence[Array],
    all_rates: tuple[tuple[float, ...], ...],
    all_centres: tuple[tuple[float, ...], ...],
) -> Array:
    total: Array = np.zeros(())
    for weight, rates, centres in zip(_HARTMANN_WEIGHTS, all_rates, all_centres, strict=True):
        square: Array = np.zeros(())
        for coordinate, rate, centre in zip(x, rates, centres, strict=True):
            square = square + rate * (coordinate - centre) ** 2
        total = total - weight * np.exp(-square)
    return total


_HARTMANN3_RATES = ((3.0, 10.0, 30.0), (0.1, 10.0, 35.0)) * 2
_HARTMANN3_CENTRES = (
    (0.3689, 0.1170, 0.2673),
    (0.4699, 0.4387, 0.7470),
    (0.1091, 0.8732, 0.5547),
    (0.0381, 0.5743, 0.8828),
)


def _rastrigin(x: Sequence[Array]) -> Array:
    total: Array = np.full((), 10.0 * len(x))
    for coordinate in x:
        total = total + (coordinate**2 - 10 * np.cos(2 * math.pi * coordinate))
    return total


def _ackley(x: Sequence[Array]) -> Array:
    square: Array = np.zeros(())
    waves: Array = np.zeros(())
    for coordinate in x:
        square = square + coordinate**2
        waves = waves + np.cos(2 * math.pi * coordinate)
    root = np.sqrt(square / len(x))
    return -20 * np.exp(-0.2 * root) - np.exp(waves / len(x)) + 20 + math.e


def _levy(x: Sequence[Array]) -> Array:
    w = [1 + (coordinate - 1) / 4 for coordinate in x]
    total: Array = np.sin(math.pi * w[0]) ** 2
    for one in w[:-1]:
        total = total + (one - 1) ** 2 * (1 + 10 * np.sin(math.pi * one + 1) ** 2)
    total = total + (w[-1] - 1) ** 2 * (1 + np.sin(2 * math.pi * w[-1]) ** 2)
    return total


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
    _hartmann3,
    ((0.0, 1.0),) * 3,
    -3.86278,
    ((0.114614, 0.555649, 0.852547),),
    noise=0.05,
)
HARTMANN6 = Function(
    "hartmann6",
    _hartmann6,
    ((0.0, 1.0),) * 6,
    -3.32237,
    ((0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573),),
    noise=0.02,
)


def rastrigin(dimension: int = 2) -> Function:
    """Return the Rastrigin function of so many coordinates."""
    dimension = whole(dimension, "dimension", least=1)
    box, where = ((-5.12, 5.12),) * dimension, ((0.0,) * dimension,)
    return Function("rastrigin", _rastrigin, box, 0.0, where, noise=0.7)


def ackley(dimension: int = 2) -> Function:
    """Return the Ackley function of so many coordinates."""
    dimension = whole(dimension, "dimension", least=1)
    box, where = ((-32.768, 32.768),) * dimension, ((0.0,) * dimension,)
    return Function("ackley", _ackley, box, 0.0, where, noise=0.15)


def levy(dimension: int = 2) -> Function:
    """Return the Levy function of so many coordinates."""
    box, where = ((-10.0, 10.0),) * dimension, ((1.0,) * dimension,)
    return Function("levy", _levy, box, 0.0, where, noise=1.8)


def rosenbrock(dimension: int = 2) -> Function:
    """Return the Rosenbrock function of so many coordinates, on the smaller of its usual boxes."""
    box, where = ((-2.048, 2.048),) * dimension, ((1.0,) * dimension,)
    return Function("rosenbrock", _rosenbrock, box, 0.0, where, noise=60.0)
