"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief

Array = NDArray[np.float64]
FINER: int

class CellIndex:
    def __init__(self, partition: Any, belief: Belief) -> None: ...
    def paths(self, points: Array) -> NDArray[np.int32]: ...
    def observe(
        self,
        points: Array,
        values: Array,
        noises: Array,
        depths: NDArray[np.int32],
    ) -> None: ...
    def step_posteriors(self) -> tuple[NDArray[np.int32], Array, Array]: ...
    def posterior(self, number: int) -> tuple[float, float]: ...
    def best_played(self, deviations: float) -> int: ...

def quadratic_terms(coordinates: Array, center: Array, radius: Array, mixed: bool) -> Array: ...
def cholesky_solve(matrix: Array, vector: Array) -> Array | None: ...
