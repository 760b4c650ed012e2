"""Types of the compiled module."""

from collections.abc import Callable, Sequence
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from bough.belief.nodes import Nodes
from bough.trees import Path, Tree

def several(paths: Sequence[Sequence[int]]) -> list[Sequence[int]]: ...

class Core(Nodes):
    def __init__(
        self,
        tree: Tree,
        increments: NDArray[np.float64],
        noise: float,
        mean: float | Callable[[Path], float],
        single_steps: bool,
    ) -> None: ...
    @property
    def noise(self) -> float: ...
    @property
    def readings(self) -> NDArray[np.void]: ...
    def __len__(self) -> int: ...
    def clear(self) -> None: ...
    def log_likelihood(self) -> float: ...
    def observe(
        self,
        path: Sequence[int],
        value: SupportsFloat,
        *,
        noise: SupportsFloat | None = None,
        depth: int | None = None,
    ) -> None: ...
    def end(self, path: Sequence[int]) -> None: ...
    def posterior(
        self, paths: Sequence[Sequence[int]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def _chain(
        self, path: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
