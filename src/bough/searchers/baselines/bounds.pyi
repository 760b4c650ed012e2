"""Types of the compiled module."""

from typing import Any

from numpy.typing import ArrayLike

from bough.belief.rng import SplitMix64
from bough.searchers.baselines.tallies import Tallies
from bough.trees import Path, Tree

class Bounds(Tallies):
    def __init__(
        self,
        tree: Tree,
        slack: ArrayLike,
        gain: ArrayLike | None = None,
        reward_range: tuple[float, float] | None = None,
        limit: int | None = None,
        kl: bool = False,
        single_steps: bool = False,
        exact: bool = False,
    ) -> None: ...
    @property
    def scale(self) -> float: ...
    @property
    def limit(self) -> int: ...
    def set_width(self, width: float, union: float = 0.0) -> None: ...
    def set_limit(self, limit: int) -> None: ...
    def set_slack(self, slack: ArrayLike, relative: bool = True) -> None: ...
    def add_steps(self, path: Path, reward: float, steps: list[float]) -> int: ...
    def follow(self, rng: SplitMix64) -> Path: ...
    def _state(self) -> dict[str, Any]: ...

def bernoulli_upper(p: float, most: float) -> float: ...
