"""Searchers of spaces: their base class, their certificates, and tree searchers on a space."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bough._validation import at_least_zero
from bough.belief.best_arm import Arm
from bough.searchers.base import Certificate, Resumable, Searcher
from bough.spaces.space import Space
from bough.trees import Path


@dataclass(frozen=True)
class SpaceCertificate(Certificate):
    """A certificate about one partition of a space: its cells are the arms.

    Attributes
    ----------
    params
        The params of `path`.
    partition, partitions
        The index of this partition, which is the one that asks next, and the number of partitions.
        Certificates of other partitions can differ.
    """

    params: Any = None
    partition: int = 0
    partitions: int = 1

    def _place(self) -> list[tuple[str, object]]:
        return [
            ("params", self.params),
            ("partition", f"{self.partition + 1} of {self.partitions}"),
        ]


class SpaceSearcher(Resumable, ABC):
    """A policy that chooses the params of a space to evaluate next; otherwise like `Searcher`."""

    space: Space

    @abstractmethod
    def ask(self) -> dict[str, Any]:
        """Return params to evaluate; raise `Exhausted` if none are left."""

    @abstractmethod
    def tell(self, params: Mapping[str, Any], value: float, *, noise: float | None = None) -> None:
        """Record a reward of params, which need not come from `ask`, as a further observation."""

    @abstractmethod
    def forget(self, params: Mapping[str, Any]) -> None:
        """Drop a pending evaluation of the params, the oldest if there are several."""

    def fail(self, params: Mapping[str, Any]) -> None:
        """Record that evaluating the params failed, which is not an observation.

        By default the params stay pending, so that the search continues elsewhere.
        """
        self.space.point(params)

    @abstractmethod
    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the observed points."""

    @property
    @abstractmethod
    def observations(self) -> int:
        """The number of observations."""

    @property
    @abstractmethod
    def pending(self) -> tuple[dict[str, Any], ...]:
        """The params that were asked for and not yet observed or forgotten, the oldest first."""


class PartitionSearcher(SpaceSearcher):
    """A tree searcher on a space, by the fixed partition `space.tree`.

    Parameters
    ----------
    space : Space
    search : Searcher
        A searcher of `space.tree`.

    Examples
    --------
    >>> import bough
    >>> space = bough.Space(x=bough.Float(-1, 1))
    >>> search = PartitionSearcher(space, bough.baselines.HOO(space.tree, rng=0))
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
        self._params: dict[Path, dict[str, Any]] = {}  # the last params observed in each cell

    @property
    def random_state(self) -> int | None:
        return self.search.random_state

    @random_state.setter
    def random_state(self, state: int) -> None:
        self.search.random_state = state

    def fits(self, start: int = 0) -> list[dict[str, Any]]:
        return self.search.fits(start)

    def replay_fits(self, fits: Iterable[Mapping[str, Any]] | None) -> None:
        self.search.replay_fits(fits)

    def refit(self) -> None:
        self.search.refit()

    def ask(self) -> dict[str, Any]:
        return self.space.decode(self.search.ask())

    def tell(self, params: Mapping[str, Any], value: float, *, noise: float | None = None) -> None:
        path = self.space.encode(params)
        if noise is not None:
            at_least_zero(noise, "noise")
        self.search.tell(path, value, noise=noise)
        self._params[path] = dict(params)

    def forget(self, params: Mapping[str, Any]) -> None:
        self.search.forget(self.space.encode(params))

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the observed cells, with the last params observed in it."""
        arm = self.search.best(rule)
        params = self._params.get(arm.path)
        return Arm(
            arm.path, self.space.decode(arm.path) if params is None else dict(params), arm.mean,
            arm.std, arm.lower, arm.upper, arm.value, arm.visits,
        )  # fmt: skip

    @property
    def observations(self) -> int:
        return self.search.observations

    @property
    def pending(self) -> tuple[dict[str, Any], ...]:
        return tuple(self.space.decode(path) for path in self.search.pending)

    def __repr__(self) -> str:
        return f"PartitionSearcher({self.space!r}, {self.search!r})"
