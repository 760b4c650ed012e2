"""What every searcher does: ask for a path, be told its reward, say what is best."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bough._validation import listed, real
from bough.belief.best_arm import Arm
from bough.belief.rng import SplitMix64
from bough.trees import Path, Tree

RULES = ("lower", "mean", "observed")


@dataclass(frozen=True)
class Certificate:
    """How good the incumbent is, and how good anything can be, with probability 1 - delta.

    Attributes
    ----------
    path
        The arm with the highest lower confidence bound.
    lower, upper
        That bound, and the highest upper confidence bound of all arms. `upper` is infinite if the
        number of arms is not known.
    gap
        `upper - lower`: no arm is better than `path` by more than this.
    delta
        The probability with which the bounds may fail, all plays taken together.
    conditional
        True if the kernel, the noise or the mean was learnt from the data: then the bounds hold as
        far as what was learnt is right.
    """

    path: Path
    lower: float
    upper: float
    gap: float
    delta: float
    conditional: bool = False


class Searcher(ABC):
    """A policy that says which path to evaluate next.

    `ask` may be called again before `tell`, and `tell` for paths that were never asked for.
    """

    tree: Tree

    @abstractmethod
    def ask(self) -> Path:
        """Return the next path to evaluate; raise `Exhausted` if nothing is left to learn."""

    @abstractmethod
    def tell(
        self,
        path: Sequence[int],
        value: float | None = None,
        *,
        noise: float | None = None,
        steps: Sequence[float] | None = None,
    ) -> None:
        """Take in the reward of a path, asked for or not; again is another observation."""

    @abstractmethod
    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several."""

    def fail(self, path: Sequence[int]) -> None:  # noqa: B027 - what most searchers do
        """Take note that evaluating the path failed, which is no observation.

        For a searcher that does not say otherwise it stays pending: the search goes on elsewhere.
        """

    @abstractmethod
    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played."""

    @property
    @abstractmethod
    def observations(self) -> int:
        """How many rewards were told."""

    @property
    @abstractmethod
    def pending(self) -> tuple[Path, ...]:
        """The paths that were asked for and not yet told or forgotten, the oldest first."""

    def best_action(self, rule: str | None = None) -> int:
        """Return the first step of the best arm."""
        path = self.best(rule).path
        if not path:
            raise ValueError("the best path is that of the root: it has no actions")
        return path[0]


def new_generator(rng: np.random.Generator | int | None) -> SplitMix64:
    """Return the core's own small generator, seeded by an rng of any kind."""
    return SplitMix64(np.random.default_rng(rng).integers(2**64, dtype=np.uint64))


def check_rule(rule: str | None, rules: Sequence[str] = RULES) -> None:
    """Refuse what is no rule of `best`."""
    if rule is not None and rule not in rules:
        raise ValueError(f"rule must be one of {', '.join(rules)}, got {rule!r}")


def reward_of(value: float | None, steps: Sequence[float] | None, length: int) -> float:
    """Return the reward that `tell` was given: the value, or the steps that sum up to it."""
    if (value is None) == (steps is None):
        raise ValueError("tell takes the value of the reward, or the steps that sum up to it")
    if steps is None:
        return real(value, "value")
    return math.fsum(read_steps(steps, length))


def read_steps(steps: Sequence[float], length: int) -> list[float]:
    """Check the immediate rewards along a path."""
    rewards = [real(r, f"steps[{i}]") for i, r in enumerate(listed(steps, "steps"))]
    if len(rewards) != length:
        raise ValueError(f"steps has {len(rewards)} rewards for a path of {length} steps")
    return rewards


def checked_range(given: tuple[float, float]) -> tuple[float, float]:
    """Return the lowest and the highest reward there can be, or say what is wrong with them."""
    try:
        low, high = (real(end, "reward_range") for end in given)
    except (TypeError, ValueError):
        raise ValueError(f"reward_range must be (lowest, highest), got {given!r}") from None
    if not low < high:
        raise ValueError(f"reward_range must be (lowest, highest), got {given!r}")
    return low, high


def negative_arm(arm: Arm) -> Arm:
    """Return an arm with its reward negated (as 0 - x, so that 0 does not become -0)."""
    value = None if arm.value is None else 0.0 - arm.value
    bounds = 0.0 - arm.upper, 0.0 - arm.lower
    return Arm(arm.path, arm.params, 0.0 - arm.mean, arm.std, *bounds, value, arm.visits)


def negative_certificate(certificate: Certificate) -> Certificate:
    """Return a certificate with its bounds negated."""
    return replace(certificate, lower=0.0 - certificate.upper, upper=0.0 - certificate.lower)
