"""Prior means: the expected reward of each node before any observation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bough._validation import real
from bough.trees import Path


@dataclass(frozen=True)
class Heuristic:
    """An estimate of the reward of every node, whose scale and offset are fitted.

    The prior mean is `offset + scale * function(path)`. (A plain function as a mean is used without
    fitting.) The function is called once for each node.

    Parameters
    ----------
    function
        `f(path) -> float`, for the path of any node.
    scale, offset
        The initial values of the fit, or, in a `Belief`, which fits nothing, the values.

    Examples
    --------
    >>> import bough
    >>> heuristic = bough.means.Heuristic(lambda path: -sum(path))
    >>> search = bough.GPTS(bough.Tree(5, 4), mean=heuristic, rng=0)
    >>> for _ in range(30):
    ...     path = search.ask()
    ...     search.tell(path, 7 - 2 * sum(path))
    >>> round(search.belief.mean.scale, 1), round(search.belief.mean.offset, 1)
    (2.0, 7.0)
    """

    function: Callable[[Path], float]
    scale: float = 1.0
    offset: float = 0.0
    _heights: dict[Path, float] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"a heuristic is a function of the path, got {self.function!r}")
        real(self.scale, "scale")
        real(self.offset, "offset")

    def height(self, path: Path) -> float:
        """Return the value of the function at a node."""
        found = self._heights.get(path)
        if found is None:
            found = self._heights[path] = real(self.function(path), f"the heuristic of {path}")
        return found

    def __call__(self, path: Path) -> float:
        """Return the prior mean of a node."""
        return self.offset + self.scale * self.height(path)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_heights": {}}


class Cached:
    """A prior mean that is computed once for each node."""

    def __init__(self, function: Callable[[Path], float]) -> None:
        self.function = function
        self._known: dict[Path, float] = {}

    def __call__(self, path: Path) -> float:
        """Return the prior mean of a node."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self.function(path)
        return found

    def __repr__(self) -> str:
        return repr(self.function)
