"""Types of the compiled module."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.rng import SplitMix64
from bough.trees import Path, Tree

NODE: np.dtype[np.void]
GROUP_COUNT: int
LEAST_VARIANCE: float

def moderate(value: object, name: str) -> float: ...

class Nodes:
    def __init__(
        self,
        tree: Tree,
        increments: NDArray[np.float64],
        mean: float | Callable[[Path], float],
        single_steps: bool,
    ) -> None: ...
    tree: Tree
    center: float
    used: int
    records: NDArray[np.void]
    def path_to(self, n: int) -> list[int]: ...
    def complete(self, n: int, rng: SplitMix64 | None) -> list[int]: ...
    def state(self) -> Any: ...
    def restore(self, state: Any) -> None: ...
