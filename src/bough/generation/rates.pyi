"""Types of the compiled module."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int32]
GRID: Array

class Rates:
    def __init__(self) -> None: ...
    def take(
        self, low: float, step: float, drift: Array, spread: Array, gains: Array, squares: Array
    ) -> None: ...
    def choose(
        self,
        n: int,
        table: Array,
        index: Array,
        stamps: Ints,
        now: int,
        refresh: int,
        tie: Array,
        pending: Ints,
        closed: Ints,
        extra: Array,
        best: float,
        calls: Ints,
        costs: Array,
    ) -> int: ...
    def node(
        self,
        generator: int,
        q: float,
        u: float,
        sd: float,
        best: float,
        calls: int,
        cost: float,
        pending: int,
    ) -> float: ...
    def draft(
        self,
        mean: float,
        sd: float,
        generators: Ints,
        promise: Array,
        best: float,
        calls: int,
        first_cost: float,
        costs: Array,
    ) -> float: ...
