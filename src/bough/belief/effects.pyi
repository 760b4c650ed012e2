"""Types of the compiled module."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.nodes import Nodes
from bough.kernels import LabelModel

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

MOST_EFFECTS: int

class Effects:
    def __init__(self, nodes: Nodes, model: LabelModel) -> None: ...
    model: LabelModel
    keys: list[Any]
    size: int
    posterior: tuple[Array, Array]
    coordinates: Array
    labels_of_nodes: Numbers
    depth_strengths: Array
    def numbers_of(self, keys: Sequence[Any]) -> list[int]: ...
    def extrapolate(self, key: Any) -> tuple[Array, float, float]: ...
    def forget(self, labels: int, size: int) -> None: ...
    def vector(self, path: Sequence[int]) -> tuple[Array, float, float]: ...
    def at_node(self, n: int) -> tuple[float, float]: ...
    def state_of(self, n: int) -> tuple[float, float, Array, Array]: ...
    def values_of_arms(
        self, C: Array, b: float, rest: Array, pending: bool
    ) -> tuple[Numbers, Array]: ...
    def children_of(
        self, n: int, m: float, variance: float, phi: Array, smooth: Array, pending: bool
    ) -> tuple[Numbers, Numbers, Array, Array, Array, Array]: ...
    def state(self) -> Any: ...
    def restore(self, state: Any) -> None: ...
