"""What is believed: how much variance each depth of the tree adds.

A kernel is a sequence of increments v_0 .. v_D. The reward of a path is a sum of independent
steps, one for each of its nodes, and v_i is the variance of a step at depth i (v_0: of the root).
Two paths share the steps of their common prefix, so their covariance is the sum of the increments
down to the node where they part. In the paper's words, chi_d is the covariance of two complete
paths that differ in d nodes: v_0 = chi_D and v_i = chi_{D-i} - chi_{D-i+1}.

A parameter that is None is to be learnt from the data: `Gaussian(width=None, variance=1.0)`. Such a
kernel has no increments yet; `bough.GPTS` and `bough.learning.fit` take it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bough._validation import above_zero, at_least_zero, listed, real, whole
from bough.trees import MOST_CHILDREN

Array = NDArray[np.float64]
Parameter = TypeVar("Parameter", float, tuple[float, ...])


class Kernel(ABC):
    """A prior on smoothness. Subclasses say `increments`; the rest follows."""

    def increments(self, depth: int) -> Array:
        """Return v_0 .. v_D, the variance added at each depth of a tree of depth D."""
        return self._increments(whole(depth, "depth", least=0))

    @abstractmethod
    def _increments(self, depth: int) -> Array: ...

    def slopes(self, depth: int) -> dict[str, Array]:
        """Return how the increments change with the logarithm of each parameter, by its name."""
        raise TypeError(f"{type(self).__name__} has no parameters to learn")

    def chi(self, depth: int) -> Array:
        """Return chi_0 .. chi_D: the covariance of paths that differ in d nodes."""
        return np.cumsum(self.increments(depth))[::-1].copy()

    def __call__(self, path_a: Sequence[int], path_b: Sequence[int], depth: int) -> float:
        """Return the covariance of two paths (of any two nodes) of a tree of that depth."""
        return float(self.matrix([path_a, path_b], depth)[0, 1])

    def matrix(self, paths: Sequence[Sequence[int]], depth: int) -> Array:
        """Return the covariance matrix of some paths.

        >>> Linear(3.0).matrix([(0, 0), (0, 1), (1, 1)], 2)
        array([[3., 2., 1.],
               [2., 3., 1.],
               [1., 1., 3.]])
        """
        shared = np.cumsum(self.increments(depth))
        return shared[common_steps(_read(paths, depth))]

    def features(self, paths: Sequence[Sequence[int]], depth: int) -> Array:
        """Return the paper's features: a column for each node that some path visits.

        A path has sqrt(v_i) in the columns of its nodes and 0 elsewhere, so that
        `features @ features.T` is `matrix`. Columns are in the order of depth, then of path.
        """
        steps = _read(paths, depth)
        nodes = sorted({p[:i] for p in steps for i in range(len(p) + 1)}, key=lambda n: (len(n), n))
        column = {node: j for j, node in enumerate(nodes)}
        root = np.sqrt(self.increments(depth))
        table = np.zeros((len(steps), len(nodes)))
        for row, path in enumerate(steps):
            for i in range(len(path) + 1):
                table[row, column[path[:i]]] = root[i]
        return table

    def __add__(self, other: Any) -> "Sum":
        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, factor: Any) -> "Scaled":
        return NotImplemented if isinstance(factor, Kernel) else Scaled(factor, self)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Linear(Kernel):
    """Every node in common counts alike: chi_d = variance (D+1-d)/(D+1)."""

    variance: float | None = 1.0

    def __post_init__(self) -> None:
        _check(self.variance, at_least_zero, "variance")

    def _increments(self, depth: int) -> Array:
        return np.full(depth + 1, _given(self.variance, "variance") / (depth + 1))

    def slopes(self, depth: int) -> dict[str, Array]:  # noqa: D102 - as above
        return {"variance": self.increments(depth)}


@dataclass(frozen=True)
class Gaussian(Kernel):
    """Correlation falls exponentially: chi_d = variance exp(-d/width^2)."""

    width: float | None
    variance: float | None = 1.0

    def __post_init__(self) -> None:
        _check(self.width, above_zero, "width")
        _check(self.variance, at_least_zero, "variance")

    def _rate(self) -> float:
        width = _given(self.width, "width")
        return min(1.0 / width / width, 1e300)

    def _increments(self, depth: int) -> Array:
        # Not as differences of chi: for wide kernels those would cancel.
        rate = self._rate()
        v = np.exp(-rate * np.arange(depth, -1, -1.0))
        v[1:] *= -np.expm1(-rate)
        return _given(self.variance, "variance") * v

    def slopes(self, depth: int) -> dict[str, Array]:  # noqa: D102 - as above
        v, rate = self.increments(depth), self._rate()
        fall = -rate * np.arange(depth, -1, -1.0)  # by the logarithm of the rate, 1/width^2
        fall[1:] += rate / np.expm1(min(rate, 700.0))
        return {"width": -2.0 * v * fall, "variance": v}


@dataclass(frozen=True)
class Discounted(Kernel):
    """Discounted sums of rewards: variance discount^(2(i-1)) at depth i >= 1, none at the root.

    `variance` is that of the first step's reward. The kernel of Markov decision processes.
    """

    discount: float | None
    variance: float | None = 1.0

    def __post_init__(self) -> None:
        _check(self.discount, _share, "discount")
        _check(self.variance, at_least_zero, "variance")

    def _increments(self, depth: int) -> Array:
        v = np.zeros(depth + 1)
        discount = float(_given(self.discount, "discount"))
        v[1:] = _given(self.variance, "variance") * discount ** (2.0 * np.arange(depth))
        return v

    def slopes(self, depth: int) -> dict[str, Array]:  # noqa: D102 - as above
        v = self.increments(depth)
        return {"discount": 2.0 * np.maximum(np.arange(depth + 1.0) - 1.0, 0.0) * v, "variance": v}


@dataclass(frozen=True)
class Geometric(Kernel):
    """A share `root` at the root, the rest in steps that shrink (or grow) by `ratio`.

    variance (1 - root) ratio^i / sum_{j=1..D} ratio^j at depth i >= 1: for coverings, where each
    split of a cell halves what is left to know.
    """

    ratio: float | None
    variance: float | None = 1.0
    root: float | None = 0.0

    def __post_init__(self) -> None:
        _check(self.ratio, above_zero, "ratio")
        _check(self.variance, at_least_zero, "variance")
        _check(self.root, _share, "root")

    def _shares(self, depth: int) -> Array:
        i = np.arange(1.0, depth + 1)
        # The largest share is 1 before it is normalised, so that no power overflows.
        ratio = float(_given(self.ratio, "ratio"))
        share = ratio ** (i - 1 if ratio <= 1 else i - depth)
        shares: Array = share / (share.sum() or 1.0)
        return shares

    def _increments(self, depth: int) -> Array:
        variance, root = _given(self.variance, "variance"), _given(self.root, "root")
        v = np.empty(depth + 1)
        v[0] = variance * root
        v[1:] = variance * (1 - root) * self._shares(depth)
        return v

    def slopes(self, depth: int) -> dict[str, Array]:  # noqa: D102 - as above
        v, root = self.increments(depth), _given(self.root, "root")
        i = np.arange(depth + 1.0)
        ratio = v * (i - i[1:] @ self._shares(depth))
        ratio[0] = 0.0
        rest = v * -(root / (1 - root) if root < 1 else 0.0)
        rest[0] = v[0]
        return {"ratio": ratio, "variance": v, "root": rest}


@dataclass(frozen=True)
class Chi(Kernel):
    """Any kernel of paths: non-increasing, non-negative values chi_0 .. chi_D.

    `Chi(None)` is to be learnt: one increment for each depth.
    """

    values: tuple[float, ...] | None

    def __post_init__(self) -> None:
        if self.values is None:
            return
        given = listed(self.values, "values")
        values = tuple(at_least_zero(x, f"values[{d}]") for d, x in enumerate(given))
        if not values:
            raise ValueError("values must hold chi_0 to chi_D, got none")
        for d in range(1, len(values)):
            if values[d] > values[d - 1]:
                raise ValueError(
                    f"values must not increase, but values[{d}] = {values[d]} is above "
                    f"values[{d - 1}] = {values[d - 1]}; chi_0 is the variance of a path"
                )
        object.__setattr__(self, "values", values)

    def _increments(self, depth: int) -> Array:
        values = _given(self.values, "values")
        if len(values) != depth + 1:
            raise ValueError(
                f"values has {len(values)} entries, but a tree of depth {depth} needs "
                f"chi_0 to chi_{depth}, that is {depth + 1}"
            )
        rising = np.array(values[::-1])
        return np.diff(rising, prepend=0.0)

    def chi(self, depth: int) -> Array:
        """Return the values as they were given."""
        self.increments(depth)
        return np.array(self.values)

    @classmethod
    def of_increments(cls, increments: Sequence[float] | Array) -> "Chi":
        """Return the kernel that adds so much variance at each depth.

        >>> Chi.of_increments([0.5, 0.25, 0.25])
        Chi(values=(1.0, 0.75, 0.5))
        """
        return cls(tuple(np.cumsum(increments)[::-1].tolist()))


@dataclass(frozen=True)
class Sum(Kernel):
    """The sum of some kernels; written `a + b`."""

    terms: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        flat: list[Kernel] = []
        for term in self.terms:
            if not isinstance(term, Kernel):
                raise TypeError(f"a sum takes kernels, got {term!r}")
            flat.extend(term.terms if isinstance(term, Sum) else [term])
        object.__setattr__(self, "terms", tuple(flat))

    def _increments(self, depth: int) -> Array:
        total: Array = np.sum([term.increments(depth) for term in self.terms], axis=0)
        return total

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))


@dataclass(frozen=True)
class Scaled(Kernel):
    """A multiple of a kernel; written `2.0 * k`."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        at_least_zero(self.factor, "factor")
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a kernel such as Gaussian(3.0), got {self.kernel!r}")

    def _increments(self, depth: int) -> Array:
        return self.factor * self.kernel.increments(depth)

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, Sum) else repr(self.kernel)
        return f"{self.factor!r} * {inner}"


def _check(value: float | None, rule: Callable[[Any, str], float], name: str) -> None:
    """Check a parameter, unless it is to be learnt."""
    if value is not None:
        rule(value, name)


def _share(value: Any, name: str) -> float:
    if not 0 <= real(value, name) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
    return float(value)


def _given(value: Parameter | None, name: str) -> Parameter:
    if value is None:
        raise ValueError(
            f"{name} is None, so it is to be learnt: give the kernel to bough.GPTS or to "
            "bough.learning.fit, or give it a number"
        )
    return value


def _read(paths: Sequence[Sequence[int]], depth: int) -> list[tuple[int, ...]]:
    steps = [
        tuple(whole(k, "a step", least=0, most=MOST_CHILDREN) for k in listed(path, "path"))
        for path in listed(paths, "paths")
    ]
    for path in steps:
        if len(path) > depth:
            raise ValueError(f"path {path} has {len(path)} steps, but depth is {depth}")
    return steps


def common_steps(paths: list[tuple[int, ...]]) -> NDArray[np.intp]:
    """Return how many steps each pair of paths has in common."""
    longest = max(map(len, paths), default=0)
    # Padding differs from every step, and from the padding of the other side.
    left = np.array([p + (-1,) * (longest - len(p)) for p in paths], dtype=np.int64)
    right = np.where(left == -1, -2, left)
    common = np.zeros((len(paths), len(paths)), dtype=np.intp)
    alike = np.ones_like(common, dtype=bool)
    for i in range(longest):
        alike &= left[:, None, i] == right[None, :, i]
        common += alike
    return common
