"""Types of the compiled module."""

from collections.abc import Callable, Sequence
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from bough._nodes import Nodes
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
    @property
    def pending(self) -> int: ...
    def __len__(self) -> int: ...
    def log_likelihood(self) -> float: ...
    def observe(
        self,
        path: Sequence[int],
        value: SupportsFloat,
        *,
        noise: SupportsFloat | None = None,
        depth: int | None = None,
    ) -> None: ...
    def observe_step(
        self, path: Sequence[int], value: SupportsFloat, *, noise: SupportsFloat
    ) -> None: ...
    def observe_steps(
        self,
        path: Sequence[int],
        steps: Sequence[SupportsFloat],
        *,
        noise: SupportsFloat | Sequence[SupportsFloat] | None = None,
        depth: int | None = None,
    ) -> None: ...
    def step_shares(self, length: int) -> list[float]: ...
    def pend(
        self,
        path: Sequence[int],
        *,
        noise: SupportsFloat | None = None,
        depth: int | None = None,
    ) -> int: ...
    def settle(
        self, token: int, value: SupportsFloat, *, noise: SupportsFloat | None = None
    ) -> None: ...
    def forget(self, token: int) -> None: ...
    def posterior(
        self, paths: Sequence[Sequence[int]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def _believe(
        self,
        increments: NDArray[np.float64],
        noise: float,
        mean: float | Callable[[Path], float],
        likelihood: float,
    ) -> None: ...
    def _chain(
        self, path: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
