"""Any searcher of trees on a space, by the space's one fixed covering."""

from collections.abc import Mapping
from typing import Any

from bough._checks import at_least_zero
from bough._choice import Arm
from bough.searchers.base import Searcher, SpaceSearcher
from bough.spaces import Space
from bough.trees import Path


class Covered(SpaceSearcher):
    """A searcher of `space.tree`, asked for params and told about them.

    >>> import bough
    >>> space = bough.Space(x=bough.Float(-1, 1))
    >>> search = Covered(space, bough.HOO(space.tree, rng=0))
    >>> params = search.ask()
    >>> search.tell(params, -(params["x"] ** 2))
    >>> search.best().params == params
    True
    """

    def __init__(self, space: Space, search: Searcher) -> None:
        if search.tree != space.tree:
            raise ValueError(f"the searcher is for {search.tree!r}, not for space.tree")
        self.space = space
        self.search = search
        self._told: dict[Path, dict[str, Any]] = {}  # the last params of each cell, as told

    @property
    def _random(self) -> Any:
        return getattr(self.search, "_random", None)

    @_random.setter
    def _random(self, generator: Any) -> None:
        self.search._random = generator  # type: ignore[attr-defined]

    def ask(self) -> dict[str, Any]:
        """Return params to evaluate; raise `Exhausted` if nothing is left to learn."""
        return self.space.decode(self.search.ask())

    def tell(self, params: Mapping[str, Any], value: float, *, noise: float | None = None) -> None:
        """Take in the reward of params, asked for or not; again is another observation."""
        path = self.space.encode(params)
        if noise is not None:
            at_least_zero(noise, "noise")
        self.search.tell(path, value, noise=noise)
        self._told[path] = dict(params)

    def forget(self, params: Mapping[str, Any]) -> None:
        """Drop a pending evaluation of the params, the oldest if there are several."""
        self.search.forget(self.space.encode(params))

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the cells that were told, with the last params told in it."""
        arm = self.search.best(rule)
        params = self._told.get(arm.path)
        return Arm(
            arm.path, self.space.decode(arm.path) if params is None else dict(params), arm.mean,
            arm.std, arm.lower, arm.upper, arm.value, arm.visits,
        )  # fmt: skip

    @property
    def observations(self) -> int:
        """How many rewards were told."""
        return self.search.observations

    @property
    def pending(self) -> tuple[dict[str, Any], ...]:
        """The params that were asked for and not yet told or forgotten, the oldest first."""
        return tuple(self.space.decode(path) for path in self.search.pending)

    def __repr__(self) -> str:
        return f"Covered({self.space!r}, {self.search!r})"
