"""Types of the compiled module."""

import numpy as np
from numpy.typing import NDArray

from bough.belief.best_arm import Choice
from bough.belief.rng import SplitMix64
from bough.trees import Path

def table_counts(most: int) -> list[float]: ...

class Subtree(Choice):
    def look_ahead(self, mean: NDArray[np.float64], sd: NDArray[np.float64]) -> None: ...
    @property
    def subtree_maxima(self) -> NDArray[np.void]: ...
    def best_first_step(self) -> int: ...
    def descend(
        self, exploration: float, skip_known: bool, rng: SplitMix64 | None
    ) -> Path | None: ...
