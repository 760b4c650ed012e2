"""Types of the compiled module."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bough.belief.pending import Pending
from bough.trees import Path

class Reprior(Pending):
    def _believe(
        self,
        increments: NDArray[np.float64],
        noise: float,
        mean: float | Callable[[Path], float],
        likelihood: float,
    ) -> None: ...
