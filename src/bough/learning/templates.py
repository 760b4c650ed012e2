"""Kernels with None in them: what is to be learnt of a kernel, and how it fills in."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough import kernels
from bough.kernels import Chi, Kernel, Scaled, Sum

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Slot:
    """A parameter to be learnt."""

    name: str  # where it is
    kind: str  # what it is: "variance", "width", "noise", ...


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
    return any(True for _ in free_slots(kernel, 1, 1))


def free_slots(kernel: Kernel, depth: int, first: int) -> Iterator[Slot]:
    """Yield what is to be learnt; of a free profile, the increments from depth `first` on."""
    for prefix, inner in _inner(kernel):
        for slot in free_slots(inner, depth, first):
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
    return [f.name for f in fields(kernel)] if is_dataclass(kernel) else []


def filled(kernel: Kernel, values: Iterator[float], depth: int, first: int) -> Kernel:
    """Return the kernel with the next values in the place of each None."""
    if isinstance(kernel, Sum):
        return Sum(tuple(filled(term, values, depth, first) for term in kernel.terms))
    if isinstance(kernel, Scaled):
        return Scaled(kernel.factor, filled(kernel.kernel, values, depth, first))
    if isinstance(kernel, Chi):
        if kernel.values is not None:
            return kernel
        return Chi.of_increments([0.0] * first + [next(values) for _ in range(first, depth + 1)])
    missing = [name for name in _parameters(kernel) if getattr(kernel, name) is None]
    if not missing:
        return kernel
    return replace(kernel, **{name: next(values) for name in missing})  # type: ignore[type-var]


def free_slopes(template: Kernel, kernel: Kernel, depth: int, first: int) -> list[Array]:
    """Return how the increments change with the logarithm of each free parameter."""
    if isinstance(template, Sum) and isinstance(kernel, Sum):
        pairs = zip(template.terms, kernel.terms, strict=True)
        return [slope for pair in pairs for slope in free_slopes(*pair, depth, first)]
    if isinstance(template, Scaled) and isinstance(kernel, Scaled):
        return [
            kernel.factor * s for s in free_slopes(template.kernel, kernel.kernel, depth, first)
        ]
    if isinstance(template, Chi):
        if template.values is not None:
            return []
        v = kernel.increments(depth)
        return list(np.diag(v)[first:])
    missing = [name for name in _parameters(template) if getattr(template, name) is None]
    if not missing:
        return []
    slopes = kernel.slopes(depth)
    return [slopes[name] for name in missing]
