"""Searchers of spaces: their base class, their certificates, and how one is made by name."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bough.belief.best_arm import Arm
from bough.searchers.base import Certificate, Resumable
from bough.spaces.space import Space


@dataclass(frozen=True)
class SpaceCertificate(Certificate):
    """A certificate about one covering of a space: its cells are the arms.

    Attributes
    ----------
    params
        What `path` stands for.
    covering, coverings
        Which covering it is, the one that asks next, of how many. The others may say otherwise.
    """

    params: Any = None
    covering: int = 0
    coverings: int = 1


class SpaceSearcher(Resumable, ABC):
    """A policy that says which params of a space to evaluate next; otherwise like `Searcher`."""

    space: Space

    @abstractmethod
    def ask(self) -> dict[str, Any]:
        """Return params to evaluate; raise `Exhausted` if nothing is left to learn."""

    @abstractmethod
    def tell(self, params: Mapping[str, Any], value: float, *, noise: float | None = None) -> None:
        """Take in the reward of params, asked for or not; again is another observation."""

    @abstractmethod
    def forget(self, params: Mapping[str, Any]) -> None:
        """Drop a pending evaluation of the params, the oldest if there are several."""

    def fail(self, params: Mapping[str, Any]) -> None:
        """Take note that evaluating the params failed, which is no observation.

        For a searcher that does not say otherwise it stays pending: the search goes on elsewhere.
        """

    @abstractmethod
    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the points that were told."""

    @property
    @abstractmethod
    def observations(self) -> int:
        """How many rewards were told."""

    @property
    @abstractmethod
    def pending(self) -> tuple[dict[str, Any], ...]:
        """The params that were asked for and not yet told or forgotten, the oldest first."""
