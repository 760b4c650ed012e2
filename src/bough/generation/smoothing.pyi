"""Types of the compiled module."""

import numpy as np
from numpy.typing import NDArray

FIELDS: tuple[str, ...]

def smooth(
    nodes: NDArray[np.float64],
    parents: NDArray[np.int32],
    order: NDArray[np.int32],
    w0: float,
    w1: float,
    likelihood: bool = True,
) -> float: ...
