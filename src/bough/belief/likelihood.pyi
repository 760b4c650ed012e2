"""Types of the compiled module."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief

Array = NDArray[np.float64]

class Evidence:
    def __init__(self, belief: Belief, shift: float, scale: float) -> None: ...
    @property
    def shift(self) -> float: ...
    @property
    def scale(self) -> float: ...
    @property
    def observations(self) -> int: ...
    @property
    def densities(self) -> int: ...
    @property
    def restriction(self) -> float: ...
    @property
    def node(self) -> Sequence[int]: ...
    parent: Array
    slot: Array
    rise: Array
    weight: Array
    value: Array
    m: Array
    V: Array
    tops: Sequence[int]
    bottoms: Sequence[int]
    has_steps: bool
    common: int
    scatter: float
    square: float
    determinant: float
    def columns(
        self, values: Array, steps: Array
    ) -> tuple[Array, Array, Array, Array, Array, Array]: ...
    def set_heights(self, heights: NDArray[np.float64]) -> None: ...
    def likelihood(
        self,
        increments: NDArray[np.float64],
        noise_variance: float,
        mean: float,
        factor: float,
        mean_is_free: bool = False,
    ) -> tuple[float, NDArray[np.float64], float, float, float]: ...
