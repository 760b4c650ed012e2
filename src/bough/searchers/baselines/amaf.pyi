"""Types of the compiled module."""

from collections.abc import Callable, Hashable

from bough.searchers.baselines.tallies import Tallies
from bough.trees import Path, Tree

class LabeledTallies(Tallies):
    def __init__(
        self,
        tree: Tree,
        labels: Callable[[Path], Hashable] | None = None,
        reference: int = 0,
        bias: float = 0.0,
        equivalence: float = 0.0,
    ) -> None: ...
    def cell(self, path: Path, label: Hashable) -> tuple[int, float]: ...
