"""Types of the compiled module."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int32]
FIELDS: tuple[str, ...]

def smooth(
    nodes: Array,
    parents: Ints,
    order: Ints,
    w0: float,
    w1: float,
    likelihood: bool = True,
) -> float: ...
def predict(
    nodes: Array,
    parents: Ints,
    generators: Ints,
    steps: Ints,
    drift: Array,
    variances: Array,
    low: float,
    step: float,
) -> int: ...
