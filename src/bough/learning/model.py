"""What may be learnt, and what it stands for.

Parameters are found in units in which the rewards have mean 0 and variance 1, so that nothing
depends on the units of the user. A positive one is learnt by its logarithm.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bough.kernels import Kernel
from bough.learning.prior import Prior
from bough.learning.templates import Slot, filled, free_slots
from bough.means import Heuristic
from bough.trees import Path

Array = NDArray[np.float64]
Mean = float | Callable[[Path], float]


@dataclass(frozen=True)
class Settings:
    """What a belief needs to know."""

    kernel: Kernel
    noise: float
    mean: Mean


class Model:
    """A kernel, a noise and a mean, of which some are to be learnt."""

    def __init__(self, kernel: Kernel, noise: float | None, mean: Mean | None, depth: int) -> None:
        self.template = kernel
        self.noise = noise
        self.mean = mean
        self.depth = depth
        # A free increment of the root does what a free mean does.
        self.first = 1 if mean is None or isinstance(mean, Heuristic) else 0
        self.slots = list(free_slots(kernel, depth, self.first))
        self.kernel_size = len(self.slots)
        if noise is None:
            self.slots.append(Slot("noise", "noise"))
        if mean is None or isinstance(mean, Heuristic):
            self.slots.append(Slot("mean", "mean"))  # that of the root
        if isinstance(mean, Heuristic):
            self.slots.append(Slot("scale", "factor"))

    @property
    def expected_factor(self) -> float:
        """The scale of a heuristic as it was given."""
        return self.mean.scale if isinstance(self.mean, Heuristic) else 1.0

    def bounds(self, prior: Prior) -> tuple[Array, Array]:
        """Return the least and the largest of all parameters."""
        limits = [
            (-math.inf, math.inf)
            if slot.kind in ("mean", "factor")
            else (math.log(prior.guess(slot.kind).low), math.log(prior.guess(slot.kind).high))
            for slot in self.slots
        ]
        low, high = np.array(limits).reshape(-1, 2).T
        return low.copy(), high.copy()

    def typical(self, prior: Prior) -> Array:
        """Return what is expected before there are data."""
        start = []
        for slot in self.slots:
            if slot.kind == "mean":
                start.append(0.0)
            elif slot.kind == "factor":
                start.append(self.expected_factor)
            elif slot.kind == "increment":
                start.append(math.log(prior.variance / max(self.depth, 1)))
            elif slot.kind == "variance":
                start.append(math.log(prior.variance))
            else:
                start.append(math.log(prior.guess(slot.kind).typical))
        return np.array(start)

    def settings(self, theta: Array, shift: float, scale: float) -> Settings:
        """Return what parameters stand for, in the units of the user."""
        return self.settings_of(self.natural(theta, shift, scale))

    def settings_of(self, natural: Sequence[float]) -> Settings:
        """Return what natural parameters stand for: the same bits wherever it is asked."""
        values = iter(natural)
        kernel = filled(self.template, values, self.depth, self.first)
        noise = next(values) if self.noise is None else self.noise
        if self.mean is None:
            return Settings(kernel, noise, next(values))
        if isinstance(self.mean, Heuristic):
            root, factor = values
            offset = root - factor * self.mean.height(())
            return Settings(kernel, noise, self.mean.scaled(factor, offset))
        return Settings(kernel, noise, self.mean)

    def natural(self, theta: Array, shift: float, scale: float) -> list[float]:
        """Return the parameters in the units of the user."""
        values = []
        for slot, x in zip(self.slots, theta.tolist(), strict=True):
            if slot.kind == "mean":
                values.append(shift + scale * x)
            elif slot.kind == "factor":
                values.append(x)
            else:
                values.append(min(math.exp(x) * _unit(slot.kind, scale), _most(slot.kind)))
        return values

    def standard(self, values: Sequence[float], shift: float, scale: float) -> Array:
        """Return the theta of natural parameters: the opposite of `natural`."""
        theta = []
        for slot, value in zip(self.slots, values, strict=True):
            if slot.kind == "mean":
                theta.append((value - shift) / scale)
            elif slot.kind == "factor":
                theta.append(value)
            else:
                theta.append(math.log(value / _unit(slot.kind, scale)))
        return np.array(theta)

    def slopes(self, values: Sequence[float], scale: float) -> list[float]:
        """Return how fast each natural parameter changes with theta."""
        fixed = {"mean": scale, "factor": 1.0}
        return [fixed.get(slot.kind, x) for slot, x in zip(self.slots, values, strict=True)]


def _most(kind: str) -> float:
    """Return what a belief takes at most."""
    return 1e50 if kind == "noise" else math.inf


def _unit(kind: str, scale: float) -> float:
    if kind in ("variance", "increment"):
        return scale * scale
    return scale if kind == "noise" else 1.0
