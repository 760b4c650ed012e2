"""What may be learnt: free parameters, their ranges and priors, and what they stand for.

Parameters are found in units in which the rewards have mean 0 and variance 1, so that nothing
depends on the units of the user. A positive one is learnt by its logarithm.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough import kernels
from bough._evidence import Evidence
from bough.kernels import Chi, Kernel, Scaled, Sum
from bough.mean import Heuristic
from bough.trees import Path

Array = NDArray[np.float64]
Mean = float | Callable[[Path], float]


@dataclass(frozen=True)
class Guess:
    """What is known of a positive parameter beforehand: about `typical`, within factors of e^spread.

    It is never taken to be outside of [`low`, `high`].
    """

    typical: float
    spread: float
    low: float
    high: float


@dataclass(frozen=True)
class Prior:
    """Weak knowledge that keeps few data from saying too much.

    The variance of the rewards themselves is the unit. A search forgives a kernel whose variance is
    too large, but not one whose variance is too small; so the prior of all steps together is an
    inverse gamma distribution, which falls off steeply towards 0 and slowly upwards.

    Attributes
    ----------
    variance, worth
        Of all steps of a path but the root's: as if it had been seen in `worth` observations.
    noise, width, discount, ratio, root
        Of each parameter by its name.
    bend
        Of a free profile: the standard deviation of how much log increments turn at each depth.
    trust
        Of a heuristic: the standard deviation of its scale, which is expected to be 1.
    """

    variance: float = 1.5
    worth: float = 4.0
    noise: Guess = Guess(0.1, 1.5, 1e-3, 1e2)
    width: Guess = Guess(2.0, 1.0, 0.2, 1e3)
    discount: Guess = Guess(0.8, 0.5, 1e-2, 1.0)
    ratio: Guess = Guess(0.7, 1.0, 1e-4, 1e4)
    root: Guess = Guess(0.1, 1.5, 1e-6, 0.999)
    bend: float = 0.5
    trust: float = 1.0

    def guess(self, name: str) -> Guess:
        """Return what is known of a parameter; of variances, only what they cannot be."""
        if name in ("variance", "increment"):
            return Guess(1.0, math.inf, 1e-10, 1e8)
        return getattr(self, name, Guess(1.0, 2.0, 1e-6, 1e6))


WEAK = Prior()
#: No prior at all: plain maximum likelihood, within the same ranges.
FLAT = Prior(
    worth=0.0,
    bend=math.inf,
    trust=math.inf,
    **{
        name: replace(getattr(WEAK, name), spread=math.inf)
        for name in ("noise", "width", "discount", "ratio", "root")
    },
)


@dataclass(frozen=True)
class Slot:
    """A parameter to be learnt."""

    name: str  # where it is
    kind: str  # what it is: "variance", "width", "noise", ...


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
        self.slots = list(_free(kernel, depth, self.first))
        self.kernel_size = len(self.slots)
        if noise is None:
            self.slots.append(Slot("noise", "noise"))
        if mean is None or isinstance(mean, Heuristic):
            self.slots.append(Slot("mean" if mean is None else "mean.offset", "mean"))
            if mean is not None:
                self.slots.append(Slot("mean.scale", "factor"))

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
                start.append(1.0)
            elif slot.kind == "increment":
                start.append(math.log(prior.variance / max(self.depth, 1)))
            elif slot.kind == "variance":
                start.append(math.log(prior.variance))
            else:
                start.append(math.log(prior.guess(slot.kind).typical))
        return np.array(start)

    def settings(self, theta: Array, shift: float, scale: float) -> Settings:
        """Return what parameters stand for, in the units of the user."""
        values = iter(self.natural(theta, shift, scale))
        kernel = _filled(self.template, values, self.depth, self.first)
        noise = next(values) if self.noise is None else self.noise
        if self.mean is None:
            return Settings(kernel, noise, next(values))
        if isinstance(self.mean, Heuristic):
            offset, factor = values
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
                values.append(math.exp(x) * _unit(slot.kind, scale))
        if isinstance(self.mean, Heuristic):  # the mean is that of the root
            values[-2] -= values[-1] * self.mean.height(())
        return values

    def standard(self, values: Sequence[float], shift: float, scale: float) -> Array:
        """Return the theta of natural parameters: the opposite of `natural`."""
        values = list(values)
        if isinstance(self.mean, Heuristic):
            values[-2] += values[-1] * self.mean.height(())
        theta = []
        for slot, value in zip(self.slots, values, strict=True):
            if slot.kind == "mean":
                theta.append((value - shift) / scale)
            elif slot.kind == "factor":
                theta.append(value)
            else:
                theta.append(math.log(value / _unit(slot.kind, scale)))
        return np.array(theta)

    def slope(self, theta: Array, values: Sequence[float], scale: float) -> Array:
        """Return how fast each natural parameter changes with theta."""
        by_kind = {"mean": scale, "factor": 1.0}
        return np.array(
            [by_kind.get(slot.kind, v) for slot, v in zip(self.slots, values, strict=True)]
        )


@dataclass
class Found:
    """Where an optimiser has got to."""

    theta: Array
    density: float
    gradient: Array
    iterations: int = 0
    curvature: Array | None = None  # the negative Hessian, of those not at a bound
    converged: bool = False


class Posterior:
    """The log posterior density of the parameters of a model, given what was told."""

    def __init__(self, model: Model, evidence: Evidence, prior: Prior) -> None:
        self.model = model
        self.evidence = evidence
        self.prior = prior
        self.low, self.high = model.bounds(prior)
        self.evaluations = 0
        self.likelihood = -math.inf  # of the last evaluation
        guesses = [prior.guess(slot.kind) for slot in model.slots]
        known = [
            slot.kind not in ("mean", "factor", "variance", "increment") for slot in model.slots
        ]
        self._typical = np.array([math.log(g.typical) for g in guesses])
        self._tight = np.array([k / g.spread**2 for k, g in zip(known, guesses, strict=True)])
        kinds = [slot.kind for slot in model.slots]
        self._has_variance = "variance" in kinds or "increment" in kinds
        self._profile = [
            [i for i, slot in enumerate(model.slots) if slot.name.startswith(start)]
            for start in sorted({s.name[: s.name.index("increments")] for s in model.slots
                                 if s.kind == "increment"})
        ]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return the log posterior density and its gradient."""
        self.evaluations += 1
        model, evidence = self.model, self.evidence
        shift, scale = evidence.shift, evidence.scale
        now = model.settings(theta, shift, scale)
        v = now.kernel.increments(model.depth) / scale**2
        s2 = (now.noise / scale) ** 2
        mean, factor = now.mean, 1.0
        if callable(mean):
            factor = mean.scale if isinstance(mean, Heuristic) else 1.0
            mean = mean(())
        density, by_v, by_s2, by_mean, by_factor = evidence.likelihood(
            v, s2, (mean - shift) / scale, factor
        )
        self.likelihood = density
        size = model.kernel_size
        slopes = [s / scale**2 for s in _slopes(model.template, now.kernel, model)]
        gradient = np.empty(len(theta))
        gradient[:size] = [s @ by_v for s in slopes]
        rest = [2.0 * s2 * by_s2] if model.noise is None else []
        if model.first:
            rest.append(by_mean)
        if isinstance(model.mean, Heuristic):
            rest.append(by_factor)
        gradient[size:] = rest
        return self._add_prior(theta, v, slopes, density, gradient)

    def found(self, theta: Array, iterations: int = 0) -> Found:
        """Return theta with its density and gradient."""
        return Found(theta, *self(theta), iterations)

    def _add_prior(
        self, theta: Array, v: Array, slopes: list[Array], density: float, gradient: Array
    ) -> tuple[float, Array]:
        prior = self.prior
        gap = theta - self._typical
        density -= 0.5 * float(gap @ (self._tight * gap))
        gradient -= self._tight * gap
        if self._has_variance and prior.worth > 0.0:
            total = float(v[1:].sum()) if len(v) > 1 else float(v[0])
            total = max(total, 1e-300)
            density -= 0.5 * prior.worth * (math.log(total) + prior.variance / total)
            by_total = -0.5 * prior.worth * (1.0 - prior.variance / total) / total
            sums = [float(s[1:].sum()) if len(s) > 1 else float(s[0]) for s in slopes]
            gradient[: len(slopes)] += by_total * np.array(sums)
        for places in self._profile:
            if self.model.first == 0:
                places = places[1:]
            if len(places) < 2:
                continue
            # The average slope of the logarithms is that of a geometric kernel ...
            x = theta[places]
            guess = prior.ratio
            slope = (x[-1] - x[0]) / (len(x) - 1)
            off = (slope - math.log(guess.typical)) / guess.spread**2
            density -= 0.5 * off * (slope - math.log(guess.typical))
            gradient[places[-1]] -= off / (len(x) - 1)
            gradient[places[0]] += off / (len(x) - 1)
            # ... and they turn little.
            turns = np.diff(x, 2) / prior.bend**2
            density -= 0.5 * float(turns @ np.diff(x, 2))
            for j, turn in enumerate(turns.tolist()):
                gradient[places[j]] -= turn
                gradient[places[j + 1]] += 2.0 * turn
                gradient[places[j + 2]] -= turn
        for i, slot in enumerate(self.model.slots):
            if slot.kind == "factor":
                density -= 0.5 * ((theta[i] - 1.0) / prior.trust) ** 2
                gradient[i] -= (theta[i] - 1.0) / prior.trust**2
        return density, gradient


def _unit(kind: str, scale: float) -> float:
    if kind in ("variance", "increment"):
        return scale * scale
    return scale if kind == "noise" else 1.0


# ---------------------------------------------------------------------- kernels with None in them


def template_of(family: Any) -> Kernel:
    """Return a kernel with None for what is to be learnt, given a class or an instance."""
    if isinstance(family, Kernel):
        return family
    known: dict[Any, Kernel] = {
        kernels.Linear: kernels.Linear(None),
        kernels.Gaussian: kernels.Gaussian(None, None),
        kernels.Discounted: kernels.Discounted(None, None),
        kernels.Geometric: kernels.Geometric(None, None),
        kernels.Chi: kernels.Chi(None),
    }
    try:
        return known[family]
    except (KeyError, TypeError):
        raise TypeError(
            "family must be a class of kernels (Linear, Gaussian, Discounted, Geometric or Chi) "
            f"or a kernel with None for what is to be learnt, got {family!r}"
        ) from None


def is_free(kernel: Kernel) -> bool:
    """Return whether something of the kernel is to be learnt."""
    return any(True for _ in _free(kernel, 1, 1))


def _free(kernel: Kernel, depth: int, first: int) -> Iterator[Slot]:
    for prefix, inner in _inner(kernel):
        for slot in _free(inner, depth, first):
            yield Slot(prefix + slot.name, slot.kind)
    if isinstance(kernel, Chi) and kernel.values is None:
        for i in range(first, depth + 1):
            yield Slot(f"increments[{i}]", "increment")
    elif not isinstance(kernel, Sum | Scaled | Chi):
        for name in _parameters(kernel):
            if getattr(kernel, name) is None:
                yield Slot(name, name)


def _inner(kernel: Kernel) -> list[tuple[str, Kernel]]:
    if isinstance(kernel, Sum):
        return [(f"terms[{i}].", term) for i, term in enumerate(kernel.terms)]
    return [("kernel.", kernel.kernel)] if isinstance(kernel, Scaled) else []


def _parameters(kernel: Kernel) -> list[str]:
    return [f.name for f in fields(kernel)]  # type: ignore[arg-type]


def _filled(kernel: Kernel, values: Iterator[float], depth: int, first: int) -> Kernel:
    """Return the kernel with the next values in the place of each None."""
    if isinstance(kernel, Sum):
        return Sum(tuple(_filled(term, values, depth, first) for term in kernel.terms))
    if isinstance(kernel, Scaled):
        return Scaled(kernel.factor, _filled(kernel.kernel, values, depth, first))
    if isinstance(kernel, Chi):
        if kernel.values is not None:
            return kernel
        return Chi.of_increments([0.0] * first + [next(values) for _ in range(first, depth + 1)])
    missing = [name for name in _parameters(kernel) if getattr(kernel, name) is None]
    if not missing:
        return kernel
    return replace(kernel, **{name: next(values) for name in missing})  # type: ignore[type-var]


def _slopes(template: Kernel, kernel: Kernel, model: Model) -> list[Array]:
    """Return how the increments change with the logarithm of each free parameter."""
    if isinstance(template, Sum) and isinstance(kernel, Sum):
        pairs = zip(template.terms, kernel.terms, strict=True)
        return [slope for pair in pairs for slope in _slopes(*pair, model)]
    if isinstance(template, Scaled) and isinstance(kernel, Scaled):
        return [kernel.factor * s for s in _slopes(template.kernel, kernel.kernel, model)]
    if isinstance(template, Chi):
        if template.values is not None:
            return []
        v = kernel.increments(model.depth)
        return list(np.diag(v)[model.first :])
    missing = [name for name in _parameters(template) if getattr(template, name) is None]
    if not missing:
        return []
    slopes = kernel.slopes(model.depth)
    return [slopes[name] for name in missing]
