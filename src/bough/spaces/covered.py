"""Any searcher of trees on a space, by the space's one fixed covering."""

from collections.abc import Iterable, Mapping
from typing import Any

from bough._validation import at_least_zero
from bough.belief.best_arm import Arm
from bough.searchers.base import Searcher
from bough.searchers.registry import check_made, make_searcher, register_domain
from bough.spaces.forest import Forest
from bough.spaces.searcher import SpaceSearcher
from bough.spaces.space import Space
from bough.trees import Path


class Covered(SpaceSearcher):
    """A searcher of `space.tree`, asked for params and told about them.

    >>> import bough
    >>> space = bough.Space(x=bough.Float(-1, 1))
    >>> search = Covered(space, bough.baselines.HOO(space.tree, rng=0))
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
    def random_state(self) -> int | None:
        """The state of the random generator, a signed int of 64 bits; None if it has none."""
        return self.search.random_state

    @random_state.setter
    def random_state(self, state: int) -> None:
        self.search.random_state = state

    def fits(self, start: int = 0) -> list[dict[str, Any]]:
        """Return the fits of hyperparameters from number `start` on, as plain values for JSON."""
        return self.search.fits(start)

    def replay_fits(self, fits: Iterable[Mapping[str, Any]] | None) -> None:
        """Take these fits, each when one is due, and no others; None: fit again from now on."""
        self.search.replay_fits(fits)

    def refit(self) -> None:
        """Fit the hyperparameters to all observations now, if there are any to fit."""
        self.search.refit()

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


def make_space_searcher(
    given: Any, space: Space, rng: Any, options: Any, plays: int | None
) -> SpaceSearcher:
    """Return `Forest`, a searcher of spaces that was given, or one of trees on `space.tree`."""
    if given is None or given == "gpts":
        return Forest(space, rng=rng, **(options or {}))
    known = isinstance(given, (Searcher, SpaceSearcher))
    made = given(space) if callable(given) and not known else given
    if isinstance(made, SpaceSearcher):
        if made.space != space:
            raise ValueError(f"the searcher is for {made.space!r}, not for {space!r}")
        check_made(rng, options)
        return made
    return Covered(space, make_searcher(made, space.tree, rng, options, plays))


register_domain(Space, make_space_searcher)
