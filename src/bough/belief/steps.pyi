"""Types of the compiled module."""

from collections.abc import Sequence
from typing import SupportsFloat

from bough.belief.core import Core

class Steps(Core):
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
