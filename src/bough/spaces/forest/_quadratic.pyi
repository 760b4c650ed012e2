"""Types of the compiled module."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

def distances(places: Array, centre: Array, radius: Array) -> Array: ...
def terms(places: Array, centre: Array, radius: Array, mixed: bool) -> Array: ...
def solve(matrix: Array, vector: Array) -> Array | None: ...
