"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._choice import Choice

Cells = dict[int, tuple[float, float]]

class Placing:
    def __init__(self, covering: Any, belief: Choice, finer: int) -> None: ...
    def path(self, point: NDArray[np.float64]) -> tuple[tuple[int, ...], list[int]]: ...
    def paths(self, points: NDArray[np.float64]) -> NDArray[np.int32]: ...
    def tell(
        self,
        points: NDArray[np.float64],
        values: NDArray[np.float64],
        noises: NDArray[np.float64],
        depths: NDArray[np.int32],
    ) -> None: ...
    def posterior(self, number: int) -> tuple[float, float]: ...
    def best_played(self, deviations: float) -> int: ...
    def highest(self, sqrt_beta: float, rng: Any) -> tuple[Cells, dict[int, int]]: ...
