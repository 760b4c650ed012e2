"""Kernels between labels: what one branch of a tree says about another.

    f(path) = F(path) + sum over the nodes n of the path, but the root, of  s_d h(label(n))

======  ===================  ====================================================================
F       `tree_kernel`        the sum of independent steps, as without labels
h       `between`            effects of labels: a Gaussian process with covariance k(l, l')
s_d     `LabelModel`         strength of the effect of a node at depth d: decay^(d-1)
K       `Labeled.matrix`     K_tree(x, x') + sum over the nodes of x and of x' of s_d s_d' k(l, l')
======  ===================  ====================================================================

A label is a hashable, or a vector of features (any sequence of numbers). Where labels are equal so
are their effects, whatever came before on the path.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bough._validation import real
from bough.kernels.tree import (
    VARIANCE,
    Array,
    Hyperparameter,
    Kernel,
    LogNormal,
    Parameterized,
    check_kernel,
    read_paths,
)
from bough.trees import Path

Key = Hashable

#: The hyperparameters of kernels between features.
LENGTH = Hyperparameter(LogNormal(1.0, 1.5, low=1e-3, high=1e3))
DECAY = Hyperparameter(LogNormal(1.0, 0.5, low=1e-2, high=1e1), fitted=False)

_registry: dict[str, type["LabelKernel"]] = {}


class LabelKernel(Parameterized, ABC):
    """A prior covariance of the effects of labels.

    A subclass is a frozen dataclass that defines `matrix`, and declares in `hyperparameters` which
    of its fields can be fitted. It may define `gradients`, which are otherwise computed by finite
    differences.
    """

    #: Whether effects of different labels are independent.
    independent: ClassVar[bool] = False
    #: Whether effects are sums of features, each times a weight.
    linear: ClassVar[bool] = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _registry[cls.__name__] = cls

    def key(self, label: Any, name: str) -> Key:
        """Return a label as a hashable, equal for labels with equal effects."""
        return _features(label, name)

    @abstractmethod
    def matrix(self, labels: Sequence[Any], others: Sequence[Any] | None = None) -> Array:
        """Return the covariances of the effects of labels with those of others."""

    def means(self, labels: Sequence[Any]) -> Array:
        """Return the prior means of the effects."""
        return np.zeros(len(labels))

    def gradients(self, labels: Sequence[Any]) -> dict[str, Array]:
        """Return the derivatives of the matrix by the logarithm of each hyperparameter."""
        h = 1e-4
        found = {}
        for name, x in zip(self.hyperparameters, self._numbers(), strict=True):
            above, below = (
                replace(self, **{name: x * math.exp(way * h)}).matrix(labels)  # type: ignore[type-var]
                for way in (1, -1)
            )
            found[name] = (above - below) / (2 * h)
        return found


@dataclass(frozen=True)
class Same(LabelKernel):
    """Exchangeable effects: the same effect for equal labels, independent ones for others.

    Labels are any hashables.
    """

    variance: float | None = None
    hyperparameters: ClassVar = {"variance": VARIANCE}
    independent: ClassVar[bool] = True

    def key(self, label: Any, name: str) -> Key:  # noqa: D102 - as above
        try:
            hash(label)
        except TypeError:
            raise TypeError(
                f"{name} must be hashable, got {label!r}; vectors of features need a kernel "
                "between them: between=kernels.RBF(), Matern() or LinearFeatures()"
            ) from None
        return label  # type: ignore[no-any-return]

    def matrix(self, labels: Sequence[Any], others: Sequence[Any] | None = None) -> Array:  # noqa: D102
        (variance,) = self._numbers()
        place = {label: i for i, label in enumerate(others if others is not None else labels)}
        found = np.zeros((len(labels), len(place)))
        for i, label in enumerate(labels):
            if label in place:
                found[i, place[label]] = variance
        return found

    def gradients(self, labels: Sequence[Any]) -> dict[str, Array]:  # noqa: D102
        return {"variance": self.matrix(labels)}


@dataclass(frozen=True)
class LinearFeatures(LabelKernel):
    """Effects that are linear in the features of a label, with independent normal weights.

    `variance` is that of each weight. The cost depends on the number of features, not of labels.
    """

    variance: float | None = None
    hyperparameters: ClassVar = {"variance": VARIANCE}
    linear: ClassVar[bool] = True

    def matrix(self, labels: Sequence[Any], others: Sequence[Any] | None = None) -> Array:  # noqa: D102
        (variance,) = self._numbers()
        a, b = _pair(labels, others)
        return variance * (a @ b.T)

    def gradients(self, labels: Sequence[Any]) -> dict[str, Array]:  # noqa: D102
        return {"variance": self.matrix(labels)}


@dataclass(frozen=True)
class RBF(LabelKernel):
    """Effects smooth in the features: `variance exp(-r^2 / (2 length^2))` at distance r."""

    length: float | None = None
    variance: float | None = None
    hyperparameters: ClassVar = {"length": LENGTH, "variance": VARIANCE}

    def matrix(self, labels: Sequence[Any], others: Sequence[Any] | None = None) -> Array:  # noqa: D102
        length, variance = self._numbers()
        return variance * np.exp(-0.5 * _squares(labels, others) / length**2)

    def gradients(self, labels: Sequence[Any]) -> dict[str, Array]:  # noqa: D102
        K = self.matrix(labels)
        return {"length": K * _squares(labels, None) / self._numbers()[0] ** 2, "variance": K}


@dataclass(frozen=True)
class Matern(LabelKernel):
    """Effects that are continuous in the features, by the Matern kernel of order `nu`.

    `nu` is 0.5 (continuous), 1.5 (differentiable once) or 2.5 (twice).
    """

    length: float | None = None
    nu: float = 1.5
    variance: float | None = None
    hyperparameters: ClassVar = {"length": LENGTH, "variance": VARIANCE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {self.nu!r}")

    def matrix(self, labels: Sequence[Any], others: Sequence[Any] | None = None) -> Array:  # noqa: D102
        length, variance = self._numbers()
        r = np.sqrt(2 * self.nu * _squares(labels, others)) / length
        polynomial = 1.0 + (r if self.nu > 0.5 else 0.0) + (r**2 / 3 if self.nu > 1.5 else 0.0)
        found: Array = variance * polynomial * np.exp(-r)
        return found

    def gradients(self, labels: Sequence[Any]) -> dict[str, Array]:  # noqa: D102
        length, variance = self._numbers()
        r = np.sqrt(2 * self.nu * _squares(labels, None)) / length
        slope = {0.5: r, 1.5: r**2, 2.5: r**2 * (1.0 + r) / 3}[self.nu]
        return {"length": variance * slope * np.exp(-r), "variance": self.matrix(labels)}


@dataclass(frozen=True)
class Carried(LabelKernel):
    """Effects known from an earlier search, as the prior of the next: see `Belief.carry_over`.

    Attributes
    ----------
    labels, mean, covariance
        The labels whose effects are known, and the posterior of these.
    base
        The kernel between labels of the earlier search, by which effects of other labels follow.
    """

    labels: tuple[Any, ...]
    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    base: LabelKernel

    def key(self, label: Any, name: str) -> Key:  # noqa: D102 - as above
        return self.base.key(label, name)

    @cached_property
    def _known(self) -> tuple[dict[Any, int], Array, Array, Array]:
        """Places of the known labels, mean, covariance, and the inverse of their prior."""
        place = {label: i for i, label in enumerate(self.labels)}
        inverse: Array = np.linalg.pinv(
            self.base.matrix(self.labels), rcond=1e-12, hermitian=True
        ).astype(np.float64)
        return place, np.array(self.mean), np.array(self.covariance), inverse

    def _weights(self, labels: Sequence[Any]) -> Array:
        """Return the known effects that each effect is expected to be, as weights."""
        place, _, _, inverse = self._known
        weights: Array = self.base.matrix(labels, self.labels) @ inverse
        for i, label in enumerate(labels):
            if label in place:
                weights[i] = 0.0
                weights[i, place[label]] = 1.0
        return weights

    def matrix(self, labels: Sequence[Any], others: Sequence[Any] | None = None) -> Array:  # noqa: D102
        others = labels if others is None else others
        place, _, covariance, _ = self._known
        left, right = self._weights(labels), self._weights(others)
        found: Array = left @ covariance @ right.T
        new = [np.array([label not in place for label in both]) for both in (labels, others)]
        rest = self.base.matrix(labels, others) - left @ self.base.matrix(self.labels, others)
        return found + np.where(np.outer(new[0], new[1]), rest, 0.0)

    def means(self, labels: Sequence[Any]) -> Array:  # noqa: D102
        return self._weights(labels) @ self._known[1]

    def gradients(self, labels: Sequence[Any]) -> dict[str, Array]:  # noqa: D102
        return {}

    def __repr__(self) -> str:
        return f"Carried({len(self.labels)} labels, base={self.base!r})"


@dataclass(frozen=True)
class _OfFunction(LabelKernel):
    """Any positive definite function, as the kernel between labels."""

    function: Callable[[Any, Any], float]

    def key(self, label: Any, name: str) -> Key:
        return label  # type: ignore[no-any-return]

    def matrix(self, labels: Sequence[Any], others: Sequence[Any] | None = None) -> Array:
        if others is not None:
            return np.array([[self._of(a, b) for b in others] for a in labels]).reshape(
                len(labels), len(others)
            )
        found = np.zeros((len(labels), len(labels)))
        for i, a in enumerate(labels):
            for j in range(i + 1):
                found[i, j] = found[j, i] = self._of(a, labels[j])
        return found

    def _of(self, a: Any, b: Any) -> float:
        return real(self.function(a, b), f"function({a!r}, {b!r})")

    def gradients(self, labels: Sequence[Any]) -> dict[str, Array]:
        return {}


@dataclass(frozen=True)
class LabelModel:
    """The effects of labels in a kernel: which label a node has, and how strong its effect is.

    Attributes
    ----------
    labels
        `f(path) -> label` for every node but the root.
    between
        The kernel between labels.
    decay
        The ratio of the strengths of one depth and the one above: s_d = decay^(d-1).
    of_leaves
        Whether leaves alone have labels, which are their paths.
    """

    labels: Callable[[Path], Any]
    between: LabelKernel
    decay: float = 1.0
    of_leaves: bool = False

    def keys(self, path: Path, ends: bool) -> list[Key | None]:
        """Return the labels of the nodes of a path, without the root.

        None for a node without a label. `ends` says whether the path is complete.
        """
        last = len(path)
        if type(self.between) is Same:  # whose keys are the labels, once they have been hashed
            labels = self.labels
            return [labels(path[:i]) for i in range(1, last + 1)]
        return [self.key(path[:i], ends and i == last) for i in range(1, last + 1)]

    def key(self, path: Path, ends: bool) -> Key | None:
        """Return the label of a node that is not the root; `ends`: whether it is a leaf."""
        if self.of_leaves:
            return path if ends else None
        label = self.labels(path)
        if label is None:
            return None
        try:
            return self.between.key(label, "label")
        except (TypeError, ValueError) as error:
            raise type(error)(f"labels({path}): {error}") from error

    def strengths(self, depth: int) -> Array:
        """Return s_0 .. s_D; the root has no label, so s_0 is 0."""
        found = np.zeros(depth + 1)
        found[1:] = self.decay ** np.arange(depth)
        return found

    def variances(self, paths: Sequence[Path], ends: Sequence[bool], depth: int) -> Array:
        """Return the prior variances of the label effects of paths, the diagonal of `matrix`."""
        place: dict[Key, int] = {}
        known: dict[tuple[Path, bool], int | None] = {}  # the paths may have common prefixes
        strengths = self.strengths(depth)
        rows = []
        for path, end in zip(paths, ends, strict=True):
            row: list[tuple[int, float]] = []
            for i in range(1, len(path) + 1):
                node = path[:i], end and i == len(path)
                if node not in known:
                    key = self.key(*node)
                    known[node] = None if key is None else place.setdefault(key, len(place))
                if (number := known[node]) is not None:
                    row.append((number, strengths[i]))
            rows.append(row)
        K = self.between.matrix(list(place))
        found = np.zeros(len(rows))
        for i, row in enumerate(rows):
            if row:
                labels, s = (np.array(part) for part in zip(*row, strict=True))
                found[i] = s @ K[np.ix_(labels, labels)] @ s
        return np.maximum(found, 0.0)

    def matrix(self, paths: Sequence[Path], ends: Sequence[bool], depth: int) -> Array:
        """Return the covariance matrix of the label effects of paths."""
        place: dict[Key, int] = {}
        strengths = self.strengths(depth)
        rows = []
        for path, end in zip(paths, ends, strict=True):
            row: dict[int, float] = {}
            for i, key in enumerate(self.keys(path, end)):
                if key is not None:
                    k = place.setdefault(key, len(place))
                    row[k] = row.get(k, 0.0) + strengths[i + 1]
            rows.append(row)
        phi = np.zeros((len(rows), len(place)))
        for i, row in enumerate(rows):
            for k, weight in row.items():
                phi[i, k] = weight
        found: Array = phi @ self.between.matrix(list(place)) @ phi.T
        return found


@dataclass(frozen=True)
class Labeled(Kernel):
    """A kernel of prefixes plus effects of labels, which nodes of different branches share.

    Parameters
    ----------
    tree_kernel : Kernel
        The kernel of the part that labels do not explain.
    labels : function
        `f(path) -> label` of every node but the root, given its path; usually a function of its
        last step. A label is a hashable, or a vector of features. It may contain the depth, for
        separate effects at each depth. The function must always return the same label for the same
        node.
    between : LabelKernel
        The kernel between labels: `Same()`, the default, `RBF()`, `Matern()` or
        `LinearFeatures()`. Hyperparameters that are None are fitted.
    decay : float, optional
        The ratio of the strengths of effects at one depth to those at the depth above; None:
        fitted.

    Examples
    --------
    >>> from bough import kernels
    >>> kernel = kernels.Labeled(
    ...     kernels.Linear(3.0), labels=lambda path: path[-1], between=kernels.Same(0.5)
    ... )
    >>> kernel.matrix([(0, 1), (1, 0), (1, 1)], 2)
    array([[4., 2., 2.],
           [2., 4., 3.],
           [2., 3., 5.]])
    """

    tree_kernel: Kernel
    labels: Callable[[Path], Any] = field(kw_only=True)
    between: LabelKernel = field(default_factory=Same, kw_only=True)
    decay: float | None = field(default=1.0, kw_only=True)
    hyperparameters: ClassVar = {"decay": DECAY}
    is_text: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        kernel = check_kernel(self.tree_kernel)
        if isinstance(kernel, Labeled | Paths) or kernel.label_model is not None:
            raise TypeError("tree_kernel has labels already: give it a kernel without")
        if not callable(self.labels):
            raise TypeError(f"labels must be a function of the path, got {self.labels!r}")
        if self.between is None:
            object.__setattr__(self, "between", Same())
        check_label_kernel(self.between, "between")

    def __repr__(self) -> str:
        decay = "" if self.decay == 1.0 else f", decay={self.decay!r}"
        return (
            f"Labeled({self.tree_kernel!r}, labels={_name(self.labels)}, "
            f"between={self.between!r}{decay})"
        )

    @property
    def label_model(self) -> LabelModel:  # noqa: D102 - as above
        (decay,) = self._numbers()
        self.between._numbers()
        return LabelModel(self.labels, self.between, decay)

    def _increments(self, depth: int) -> Array:
        return self.tree_kernel.increments(depth)

    def matrix(self, paths: Sequence[Sequence[int]], depth: int) -> Array:  # noqa: D102 - as above
        steps = read_paths(paths, depth)
        return self.tree_kernel.matrix(steps, depth) + self.label_model.matrix(
            steps, [True] * len(steps), depth
        )


@dataclass(frozen=True)
class Paths(Kernel):
    """Any positive definite function of two complete paths, by dense algebra.

    It is feasible for up to about 2,000 different evaluated paths. A search compares explored paths
    with random continuations of their prefixes. The only hyperparameter is the scale of the
    function.

    Parameters
    ----------
    function
        `f(path, path) -> float`, symmetric and positive definite.
    scale
        The factor of the function; None: fitted.

    Examples
    --------
    >>> from bough import kernels
    >>> def alike(a, b):  # the number of equal choices, in whatever order
    ...     return len(set(a) & set(b)) / len(a)
    >>> kernels.Paths(alike).matrix([(0, 1), (1, 0), (1, 2)], 2)
    array([[1. , 1. , 0.5],
           [1. , 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """

    function: Callable[[Path, Path], float]
    scale: float | None = 1.0
    hyperparameters: ClassVar = {"scale": VARIANCE}
    is_text: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise TypeError(f"function must be a function of two paths, got {self.function!r}")

    def __repr__(self) -> str:
        return f"Paths({_name(self.function)}, scale={self.scale!r})"

    @property
    def between(self) -> LabelKernel:
        """The function, as a kernel between the labels of leaves."""
        return _Scaled(_OfFunction(self.function), self._numbers()[0])

    @property
    def label_model(self) -> LabelModel:  # noqa: D102 - as above
        return LabelModel(tuple, self.between, of_leaves=True)

    def _increments(self, depth: int) -> Array:
        return np.zeros(depth + 1)

    def matrix(self, paths: Sequence[Sequence[int]], depth: int) -> Array:  # noqa: D102 - as above
        return self.between.matrix(read_paths(paths, depth))


@dataclass(frozen=True)
class _Scaled(LabelKernel):
    """A multiple of a kernel between labels."""

    kernel: LabelKernel
    variance: float | None
    hyperparameters: ClassVar = {"variance": VARIANCE}

    def key(self, label: Any, name: str) -> Key:
        return self.kernel.key(label, name)

    def matrix(self, labels: Sequence[Any], others: Sequence[Any] | None = None) -> Array:
        return self._numbers()[0] * self.kernel.matrix(labels, others)

    def gradients(self, labels: Sequence[Any]) -> dict[str, Array]:
        return {"variance": self.matrix(labels)}


def _name(function: Any) -> str:
    """Return the name of a function, without the address that its repr has."""
    return getattr(function, "__name__", None) or repr(function)


def check_label_kernel(kernel: Any, name: str) -> LabelKernel:
    """Return a kernel between labels; other objects are refused."""
    if not isinstance(kernel, LabelKernel):
        hint = "; did you mean an instance of it?" if isinstance(kernel, type) else ""
        raise TypeError(
            f"{name} must be a kernel between labels such as kernels.Same() or kernels.RBF(), "
            f"got {kernel!r}{hint}"
        )
    return kernel


def registered_label_kernels() -> Mapping[str, type[LabelKernel]]:
    """Return all classes of kernels between labels by name."""
    return dict(_registry)


def _features(label: Any, name: str) -> tuple[float, ...]:
    """Return a label as a tuple of features."""
    try:
        given = np.asarray(label, dtype=np.float64)
    except (TypeError, ValueError):
        given = None
    if given is None or given.ndim > 1 or (given.ndim == 1 and not len(given)):
        raise TypeError(
            f"{name} must be a vector of features, which this kernel compares, got {label!r}; "
            "labels that are only equal or different need between=kernels.Same()"
        )
    features = tuple(given.reshape(-1).tolist())
    if not all(map(math.isfinite, features)):
        raise ValueError(f"{name} must be finite features, got {label!r}")
    return features


def _pair(labels: Sequence[Any], others: Sequence[Any] | None) -> tuple[Array, Array]:
    a = _table(labels)
    if others is None:
        return a, a
    if len(labels) and len(others):
        _check_sizes([labels[0], others[0]])
    return a, _table(others)


def _check_sizes(labels: Sequence[Any]) -> None:
    """Refuse vectors of different lengths."""
    if len({np.size(label) for label in labels}) > 1:
        first = next(label for label in labels if np.size(label) != np.size(labels[0]))
        raise ValueError(
            f"labels have {np.size(labels[0])} and {np.size(first)} features: {labels[0]!r} and "
            f"{first!r}"
        )


def _table(labels: Sequence[Any]) -> Array:
    """Return features as a matrix with a row for each label."""
    _check_sizes(labels)
    return np.array([np.reshape(label, -1) for label in labels], dtype=np.float64).reshape(
        len(labels), -1
    )


def _squares(labels: Sequence[Any], others: Sequence[Any] | None) -> Array:
    """Return the squared distances of features."""
    a, b = _pair(labels, others)
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)))
    difference = a[:, None, :] - b[None, :, :]
    squares: Array = np.einsum("ijk,ijk->ij", difference, difference)
    return squares
