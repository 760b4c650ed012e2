"""Types of the compiled module."""

import numpy as np
from numpy.typing import NDArray

from bough.trees import Tree

NODE: np.dtype[np.void]

def moderate(value: object, name: str) -> float: ...

class Nodes:
    @property
    def tree(self) -> Tree: ...
    @property
    def center(self) -> float: ...
    @property
    def used(self) -> int: ...
    @property
    def nodes(self) -> NDArray[np.void]: ...
