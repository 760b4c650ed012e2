"""The model whose hyperparameters are fitted: a kernel, a noise and a prior mean, partly unknown.

    theta          vector of the unknowns, one entry for each of `Model.slots`: the logarithm of
                   positive ones, for standardized rewards (mean 0, variance 1)
    values         the same unknowns themselves, in the units of the rewards
    shift, scale   mean and standard deviation of the rewards

Standardizing makes the fit independent of the units of the rewards.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bough._validation import above_zero, at_least_zero
from bough.kernels import VARIANCE, Chi, Kernel, Labeled, LogNormal, Paths, Scaled, Sum
from bough.means import Heuristic
from bough.trees import Path

Array = NDArray[np.float64]
Mean = float | Callable[[Path], float]

#: The largest noise that a belief accepts.
LARGEST_NOISE = 1e50
#: The prefix of the names of what is fitted of a kernel between labels.
LABELS = "labels."
#: The default prior of the noise.
NOISE = LogNormal(0.5, 1.5, low=1e-3, high=1e2)


@dataclass(frozen=True)
class Prior:
    """Weak priors of the hyperparameters, which prevent overfitting to few observations.

    The variance of the rewards is the unit. Too large a kernel variance costs a search little, too
    small a variance much; so the variance of all steps together has an inverse gamma prior, which
    falls off steeply toward 0. The prior favors noise: before any arm is played twice, noise looks
    like the last steps of a path, and only a search that expects noise plays arms again.

    Attributes
    ----------
    variance, worth
        The typical variance of all steps of a path but the root's, and the weight of this prior as
        a number of observations.
    noise
        The prior of the noise.
    hyperparameters
        Priors of kernel hyperparameters by name, instead of those that the kernels declare.
    bend
        The standard deviation of the second differences of the log increments of `Chi(None)`.
    trust
        The standard deviation of the scale of a `means.Heuristic` about its initial value.
    flat
        Whether all log-normal priors are replaced by flat ones on the same intervals.
    """

    variance: float = 2.0
    worth: float = 4.0
    noise: LogNormal = NOISE
    hyperparameters: Mapping[str, LogNormal] = field(default_factory=dict, hash=False)
    bend: float = 0.5
    trust: float = 1.0
    flat: bool = False

    def __post_init__(self) -> None:
        for name, prior in {"noise": self.noise, **self.hyperparameters}.items():
            if not isinstance(prior, LogNormal):
                raise TypeError(
                    f"{name} must be a LogNormal(median, sigma, low, high), got {prior!r}"
                )
        for name in ("variance", "bend", "trust"):
            if getattr(self, name) != math.inf:
                above_zero(getattr(self, name), name)
        at_least_zero(self.worth, "worth")

    def of(self, name: str, declared: LogNormal) -> LogNormal:
        """Return the prior of a hyperparameter, given the one that its kernel declares."""
        prior = self.hyperparameters.get(name, declared)
        return replace(prior, sigma=math.inf) if self.flat else prior


#: The default prior.
WEAK = Prior()
#: No prior: (restricted) maximum marginal likelihood, on the same intervals.
FLAT = Prior(worth=0.0, bend=math.inf, trust=math.inf, flat=True)


@dataclass(frozen=True)
class Settings:
    """The kernel, the noise and the prior mean of a belief."""

    kernel: Kernel
    noise: float
    mean: Mean


@dataclass(frozen=True)
class Slot:
    """One unknown: its name, its kind, its prior (None on a linear scale), its initial theta."""

    name: str
    kind: Literal["variance", "increment", "shape", "noise", "mean", "scale"]
    prior: LogNormal | None
    start: float

    def value(self, theta: float, shift: float, scale: float) -> float:
        """Return the unknown in the units of the rewards."""
        if self.kind == "mean":
            return shift + scale * theta
        if self.kind == "scale":
            return theta
        value = math.exp(theta) * self._unit(scale)
        return min(value, LARGEST_NOISE) if self.kind == "noise" else value

    def theta(self, value: float, shift: float, scale: float) -> float:
        """Return theta: the inverse of `value`."""
        if self.kind == "mean":
            return (value - shift) / scale
        return value if self.kind == "scale" else math.log(value / self._unit(scale))

    def derivative(self, value: float, scale: float) -> float:
        """Return the derivative of the value by theta."""
        if self.kind == "mean":
            return scale
        return 1.0 if self.kind == "scale" else value

    def _unit(self, scale: float) -> float:
        if self.kind in ("variance", "increment"):
            return scale * scale
        return scale if self.kind == "noise" else 1.0


class Model:
    """A kernel with None for what is to be fitted, a noise and a mean (None: to be fitted)."""

    def __init__(
        self,
        kernel: Kernel,
        noise: float | None,
        mean: Mean | None,
        depth: int,
        prior: Prior = WEAK,
    ) -> None:
        self.template = kernel
        self.noise = noise
        self.mean = mean
        self.depth = depth
        self.prior = prior
        self.fits_mean = mean is None or isinstance(mean, Heuristic)
        # A free increment of the root would do what a free mean does.
        self.first = 1 if self.fits_mean else 0
        self.slots = list(_kernel_slots(kernel, depth, self.first, prior))
        self.kernel_size = len(self.slots)
        #: The places of the hyperparameters of labels, with their names in the kernel between them.
        self.label_slots = list(_label_slots(kernel, self.slots))
        if noise is None:
            known = prior.of("noise", prior.noise)
            self.slots.append(Slot("noise", "noise", known, math.log(known.median)))
        if self.fits_mean:
            self.slots.append(Slot("mean", "mean", None, 0.0))  # of the root
        if isinstance(mean, Heuristic):
            self.slots.append(Slot("scale", "scale", None, mean.scale))
        ends = [(s.prior.low, s.prior.high) if s.prior else (0.0, math.inf) for s in self.slots]
        limits = [[math.log(end) if end else -math.inf for end in pair] for pair in ends]
        self.low, self.high = np.array(limits).reshape(-1, 2).T.copy()
        self.start = np.array([slot.start for slot in self.slots])

    def settings(self, values: Sequence[float]) -> Settings:
        """Return the kernel, noise and mean with these values for the unknowns."""
        rest = iter(values)
        kernel = _filled(self.template, rest, self.depth, self.first)
        noise = next(rest) if self.noise is None else self.noise
        if self.mean is None:
            return Settings(kernel, noise, next(rest))
        if isinstance(self.mean, Heuristic):
            root, scale = rest
            offset = root - scale * self.mean.height(())
            return Settings(kernel, noise, replace(self.mean, scale=scale, offset=offset))
        return Settings(kernel, noise, self.mean)

    def values(self, theta: Array, shift: float, scale: float) -> list[float]:
        """Return the unknowns in the units of the rewards."""
        pairs = zip(self.slots, theta.tolist(), strict=True)
        return [slot.value(x, shift, scale) for slot, x in pairs]

    def theta(self, values: Sequence[float], shift: float, scale: float) -> Array:
        """Return theta: the inverse of `values`."""
        pairs = zip(self.slots, values, strict=True)
        return np.array([slot.theta(value, shift, scale) for slot, value in pairs])

    def gradients(self, kernel: Kernel) -> Array:
        """Return the derivatives of the increments of a filled kernel, a row for each unknown."""
        rows = _gradients(self.template, kernel, self.depth, self.first)
        return np.array(rows).reshape(self.kernel_size, self.depth + 1)


# ---------------------------------------------------------------------- unknowns of a kernel


def _label_slots(kernel: Kernel, slots: Sequence[Slot]) -> Iterator[tuple[int, str]]:
    """Yield the places of the unknowns of labels, and the names of their derivatives."""
    for i, slot in enumerate(slots):
        if isinstance(kernel, Paths):
            yield i, "variance"
        elif slot.name.startswith(LABELS):
            yield i, slot.name.removeprefix(LABELS)
        elif isinstance(kernel, Labeled) and slot.name == "decay":
            yield i, "decay"


def template_of(family: Any) -> Kernel:
    """Return a kernel with None for what is to be fitted, given a class or an instance."""
    if isinstance(family, Kernel):
        return family
    if not isinstance(family, type) or not issubclass(family, Kernel):
        raise TypeError(
            "family must be a class of kernels such as kernels.Gaussian, or a kernel with None for "
            f"what is to be fitted, got {family!r}"
        )
    return family.template()


def is_free(kernel: Kernel) -> bool:
    """Return whether a kernel has hyperparameters to be fitted."""
    return any(True for _ in _kernel_slots(kernel, 1, 1, WEAK))


def _parts(kernel: Any) -> list[tuple[str, Any]]:
    """Return the kernels that a kernel consists of, with the prefix of their names."""
    if isinstance(kernel, Labeled):
        return [("", kernel.tree_kernel), (LABELS, kernel.between)]
    if isinstance(kernel, Sum):
        return [(f"terms[{i}].", term) for i, term in enumerate(kernel.terms)]
    return [("kernel.", kernel.kernel)] if isinstance(kernel, Scaled) else []


def _missing(kernel: Any) -> list[str]:
    return [name for name in kernel.hyperparameters if getattr(kernel, name) is None]


def _kernel_slots(kernel: Any, depth: int, first: int, prior: Prior) -> Iterator[Slot]:
    """Yield the unknowns of a kernel; of `Chi(None)`, the increments from depth `first` on."""
    for prefix, part in _parts(kernel):
        for slot in _kernel_slots(part, depth, first, prior):
            named = replace(slot, name=prefix + slot.name)
            if prefix == LABELS and slot.kind == "variance":
                # At first labels explain half of the variance.
                named = replace(named, start=slot.start - math.log(2.0 * max(depth, 1)))
            yield named
    if isinstance(kernel, Chi) and kernel.values is None:
        start = math.log(prior.variance / max(depth, 1))
        for i in range(first, depth + 1):
            yield Slot(f"increments[{i}]", "increment", VARIANCE.prior, start)
    for name in _missing(kernel):
        declared = kernel.hyperparameters[name]
        known = prior.of(name, declared.prior)
        if declared.is_variance:
            yield Slot(name, "variance", known, math.log(prior.variance))
        else:
            yield Slot(name, "shape", known, math.log(known.median))


def _filled(kernel: Any, values: Iterator[float], depth: int, first: int) -> Any:
    """Return the kernel with the next values in place of each None."""
    if isinstance(kernel, Labeled):
        tree_kernel, between = (_filled(part, values, depth, first) for _, part in _parts(kernel))
        kernel = replace(kernel, tree_kernel=tree_kernel, between=between)
    if isinstance(kernel, Sum):
        return Sum(tuple(_filled(term, values, depth, first) for term in kernel.terms))
    if isinstance(kernel, Scaled):
        return Scaled(kernel.factor, _filled(kernel.kernel, values, depth, first))
    if isinstance(kernel, Chi) and kernel.values is None:
        return Chi.of_increments([0.0] * first + [next(values) for _ in range(first, depth + 1)])
    missing = {name: next(values) for name in _missing(kernel)}
    return replace(kernel, **missing) if missing else kernel


def _gradients(template: Any, kernel: Any, depth: int, first: int) -> list[Array]:
    """Return the derivatives of the increments by the logarithm of each unknown."""
    if isinstance(template, Labeled):
        rows = _gradients(template.tree_kernel, kernel.tree_kernel, depth, first)
        others = len(_missing(template.between)) + len(_missing(template))
        return rows + [np.zeros(depth + 1)] * others
    if isinstance(template, Paths):
        return [np.zeros(depth + 1)] * len(_missing(template))
    parts = zip(_parts(template), _parts(kernel), strict=True)
    rows = [row for (_, a), (_, b) in parts for row in _gradients(a, b, depth, first)]
    if isinstance(template, Scaled):
        return [template.factor * row for row in rows]
    if isinstance(template, Chi) and template.values is None:
        return list(np.diag(kernel.increments(depth))[first:])
    missing = _missing(template)
    if missing:
        gradients = kernel.gradients(depth)
        rows += [gradients[name] for name in missing]
    return rows
