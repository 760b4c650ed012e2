"""Types of the compiled module."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.rng import SplitMix64
from bough.games.regression import BoardRegression
from bough.games.tree import GameTree

class BeliefTree(GameTree):
    exploration: float
    v: float
    v_label: float
    q: float
    boards: BoardRegression | None
    nodes: Any
    posterior: Any
    def __init__(
        self,
        rng: SplitMix64,
        exploration: float,
        shares: tuple[float, float, float],
        prior: Mapping[tuple[int, Hashable], tuple[float, float]] | None = None,
        boards: BoardRegression | None = None,
    ) -> None: ...
    def values(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]: ...
    def effects(self) -> dict[tuple[int, Hashable], tuple[float, float]]: ...

def moments_of_best(count: int) -> tuple[float, float]: ...
