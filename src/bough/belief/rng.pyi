"""Types of the compiled module."""

from typing import SupportsIndex

import numpy as np

class SplitMix64:
    def __init__(self, seed: SupportsIndex = 0) -> None: ...
    def below(self, n: int) -> int: ...

Rng = SplitMix64 | np.random.Generator | int | None

def generator(rng: Rng) -> SplitMix64 | None: ...
