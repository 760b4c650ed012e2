"""Types of the compiled module."""

from collections.abc import Sequence
from typing import SupportsFloat

from bough.belief.steps import Steps

class Pending(Steps):
    @property
    def pending(self) -> int: ...
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
