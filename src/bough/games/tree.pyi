"""Types of the compiled module."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.rng import SplitMix64

class GameTree:
    used: int
    playouts: int
    moves_played: int
    rng: SplitMix64
    def __init__(self, rng: SplitMix64, counts_moves: bool) -> None: ...
    def clear(self) -> None: ...
    def simulate(self, position: Any) -> None: ...
    @property
    def is_settled(self) -> bool: ...
    @property
    def is_expanded(self) -> bool: ...
    @property
    def bounds(self) -> tuple[float, float]: ...
    @property
    def mean_length(self) -> float: ...
    @property
    def records(self) -> NDArray[np.void]: ...
    def children(self, n: int = 0) -> tuple[list[Hashable], NDArray[np.void]]: ...
    def child(self, n: int, move: Hashable) -> int: ...
    def visits(self, n: int) -> int: ...
    def make_root(self, n: int) -> NDArray[np.intp]: ...

class TallyTree(GameTree):
    exploration: float
    equivalence: float
    bias: float
    reference: int
    def __init__(
        self,
        rng: SplitMix64,
        exploration: float,
        equivalence: float = 0.0,
        bias: float = -1.0,
        reference: int = 0,
    ) -> None: ...
