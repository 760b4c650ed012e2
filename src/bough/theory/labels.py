"""Spectra of kernels in which the children of a node, or choices at one depth, are alike.

Paths x of D steps among B children, N = B^D arms; I is the identity and J the matrix of ones, both
B x B. Every kernel matrix of all arms below is a sum of Kronecker products with a factor for each
depth, and its eigenvectors are products too, of the constant vector and of *contrasts*, which sum
to 0: J v = B v for the constant vector, and J v = 0 for a contrast. With the tree kernel

    K_tree = sum over k of  c_k  I^k (x) J^(D-k),        t_i = sum over k >= i of  c_k B^(D-k),

a product of which position i is the last with a contrast has the eigenvalue t_i, and the constant
vector t_0. Labels (`bough.kernels.Labeled`), K = K_tree + sum over i, j of s_i s_j k(label of x_i,
label of x'_j), with exchangeable effects of variance v, change only products with at most one
contrast:

    label = (depth, index)    t_i + v s_i^2 N/B    for each i, B - 1 times; and, for the constant
                              vector, t_0 + v (sum of s_i^2) N/B
    label = index             the eigenvalues of diag(t_1 .. t_D) + v N/B s s', B - 1 times each;
                              and t_0 + v (sum of s_i)^2 N/B

Products with several contrasts keep t_i, i the last: (B-1) (B^(i-1) - 1) of them.

`Siblings`: the steps to the children of one node have the covariances c_k K~, those of other nodes
are independent. If K~ has rows of equal sum m, so that the constant vector is an eigenvector, and
the eigenvalues mu_j on contrasts, the eigenvalues are c_i mu_j B^(D-i) + m sum over k > i of c_k
B^(D-k), B^(i-1) times each, and c_0 N + m sum over k >= 1 of c_k B^(D-k). `Product`: the product of
K~ over the depths has the products of its eigenvalues.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bough.kernels import Chi, Kernel, Labeled, Same, check_kernel
from bough.theory._decimals import CONTEXT, Array, decimal_eigenvalues, decimal_increments

#: Eigenvalues with their multiplicities, increasing.
Classes = tuple[tuple[Decimal, int], ...]

#: Eigenvalues of a matrix that are this close, relative to the largest, count as equal.
SAME = 1e-12
#: `Product` refuses more classes of eigenvalues than this.
MOST_CLASSES = 100_000
#: The labels of this many children of a node are looked at, and of nodes on three paths.
MOST_CHILDREN_SEEN = 1000


class Structure(ABC):
    """A kernel of paths in which not only common prefixes make paths alike."""

    @abstractmethod
    def check(self, branching: int, depth: int) -> None:
        """Raise an error unless the kernel suits a tree."""

    @abstractmethod
    def variance(self, branching: int, depth: int) -> float:
        """Return the largest variance of an arm, kappa0."""

    @abstractmethod
    def classes(self, branching: int, depth: int) -> Classes:
        """Return the eigenvalues of the kernel matrix of all arms."""

    @abstractmethod
    def symmetric(self, branching: int) -> bool:
        """Return whether maps of the tree to itself carry every arm to every other."""

    def as_tree_kernel(self, depth: int) -> Kernel | None:
        """Return the kernel of prefixes that is equal to this one, if there is one."""
        return None


# ---------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Exchangeable(Structure):
    """A tree kernel plus exchangeable effects of labels: `kernels.Labeled` with `Same`.

    Attributes
    ----------
    kernel
        The tree kernel.
    effect
        The variance of an effect.
    decay
        The ratio of the strengths of effects at one depth and the one above: s_i = decay^(i-1).
    by_depth
        Whether effects at different depths are independent: labels (depth, index). Otherwise the
        label is the index alone.
    """

    kernel: Kernel
    effect: float
    decay: float = 1.0
    by_depth: bool = True

    def check(self, branching: int, depth: int) -> None:  # noqa: D102 - as above
        self.kernel.increments(depth)  # raises if a hyperparameter is missing

    def symmetric(self, branching: int) -> bool:  # noqa: D102
        return self.by_depth

    def _strengths(self, depth: int) -> list[Decimal]:
        decay = Decimal(self.decay)
        return [CONTEXT.power(decay, i) if i else Decimal(1) for i in range(depth)]

    def _strength_of_equal_steps(self, depth: int) -> Decimal:
        """Return the variance of the labels of a path of equal steps, per variance of an effect."""
        s = self._strengths(depth)
        return _total(_times(x, x) for x in s) if self.by_depth else _times(_total(s), _total(s))

    def variance(self, branching: int, depth: int) -> float:  # noqa: D102
        # With labels that are indices, paths of equal steps vary most.
        labels = self.effect * float(self._strength_of_equal_steps(depth))
        return math.fsum([*self.kernel.increments(depth).tolist(), labels])

    def classes(self, branching: int, depth: int) -> Classes:  # noqa: D102
        B, D = branching, depth
        steps = decimal_increments(self.kernel, self.kernel.increments(D).tolist())
        t = decimal_eigenvalues(steps, B)[::-1]
        if D == 0:
            return _merged([(t[0], 1)])
        scale = _times(Decimal(self.effect), CONTEXT.power(Decimal(B), D - 1))
        squares = [_times(scale, _times(s, s)) for s in self._strengths(D)]
        if self.by_depth:
            mixed = [CONTEXT.add(x, square) for x, square in zip(t[1:], squares, strict=True)]
        else:
            mixed = rank_one_eigenvalues(t[1:], squares)
        constant = CONTEXT.add(t[0], _times(scale, self._strength_of_equal_steps(D)))
        found = [(constant, 1)] + [(x, B - 1) for x in mixed]
        found += [(t[i], (B - 1) * (B ** (i - 1) - 1)) for i in range(2, D + 1)]
        return _merged(found)


def exchangeable(kernel: Labeled, branching: int, depth: int) -> Exchangeable:
    """Return the structure of a `kernels.Labeled`; other labels than those above are refused."""
    between = kernel.between
    if not isinstance(between, Same):
        raise ValueError(
            "between must be kernels.Same() for a spectrum in closed form: the effects of labels "
            f"are exchangeable; got {between!r}"
        )
    for name, value in (("variance", between.variance), ("decay", kernel.decay)):
        if value is None:
            raise ValueError(f"{name} is None, so it is to be fitted: a bound needs a number")
    by_depth = _is_by_depth(kernel.labels, branching, depth)
    effect, decay = cast(float, between.variance), cast(float, kernel.decay)
    return Exchangeable(kernel.tree_kernel, effect, decay, by_depth)


def _is_by_depth(labels: Callable[[tuple[int, ...]], Any], B: int, D: int) -> bool:
    """Return whether a label stands for (depth, index); False if it stands for the index.

    Checked for the children of nodes on three paths: a function cannot be checked everywhere.
    """
    stands_for: list[dict[Any, Any]] = [{}, {}]  # the index; or depth and index
    names: list[dict[Any, Any]] = [{}, {}]
    fits = [True, True]
    children = [*range(min(B, MOST_CHILDREN_SEEN)), B - 1]
    for prefix in ([0] * D, [B - 1] * D, [(7 * i + 3) % B for i in range(D)]):
        for depth in range(1, D + 1):
            for k in children:
                label = labels((*prefix[: depth - 1], k))
                for way, meaning in enumerate((k, (depth, k))):
                    known = names[way].setdefault(meaning, label) == label
                    fits[way] &= known and stands_for[way].setdefault(label, meaning) == meaning
    if not any(fits):
        raise ValueError(
            "labels must stand for the index of the child, as path[-1], or for depth and index, as "
            "(len(path), path[-1]): the spectrum of other labels has no closed form"
        )
    return fits[1]


def rank_one_eigenvalues(diagonal: Sequence[Decimal], squares: Sequence[Decimal]) -> list[Decimal]:
    """Return the eigenvalues of diag(d) + w w', given d and the squares of w, all at least 0.

    Equal entries of d, and zeros of w, leave eigenvalues d. Between others there is one solution
    of 1 + sum of w_j^2 / (d_j - x) = 0, and one above all; each is bisected.
    """
    weights: dict[Decimal, Decimal] = {}
    found = []
    for d, square in zip(diagonal, squares, strict=True):
        if d in weights or square == 0:
            found.append(d)
        if square > 0:
            weights[d] = CONTEXT.add(weights.get(d, Decimal(0)), square)
    poles = sorted(weights)
    for j, low in enumerate(poles):
        top = j + 1 == len(poles)
        high = CONTEXT.add(low, _total(weights.values())) if top else poles[j + 1]
        found.append(_root(list(weights.items()), low, high))
    return found


def _root(weights: list[tuple[Decimal, Decimal]], low: Decimal, high: Decimal) -> Decimal:
    """Return the solution between two poles, by bisection of its distance to the lower one."""

    def too_far(distance: Decimal) -> bool:
        total = Decimal(1)
        for pole, square in weights:
            gap = CONTEXT.subtract(CONTEXT.subtract(pole, low), distance)
            if gap == 0:
                return pole > low
            total = CONTEXT.add(total, CONTEXT.divide(square, gap))
        return total > 0

    far = CONTEXT.subtract(high, low)
    near, factor = far, Decimal(10)
    while too_far(near) and CONTEXT.add(low, near) > low:
        near, factor = CONTEXT.divide(near, factor), _times(factor, factor)
    for _ in range(200):
        if CONTEXT.subtract(far, near) <= _times(Decimal("1e-22"), CONTEXT.add(low, near)):
            break
        even = near.is_zero() or far < _times(near, Decimal(4))
        both = CONTEXT.add(near, far) if even else _times(near, far)
        middle = CONTEXT.divide(both, 2) if even else CONTEXT.sqrt(both)
        near, far = (near, middle) if too_far(middle) else (middle, far)
    return CONTEXT.add(low, far)


# ---------------------------------------------------------------------- kernels between children


@dataclass(frozen=True)
class Siblings(Structure):
    """A tree kernel in which the children of a node have correlated steps.

    The steps from a node at depth k - 1 to its children have the covariances c_k K~, where c_k is
    the k-th increment of the tree kernel; steps from different nodes are independent. This is the
    prior of one bandit per node.

    Parameters
    ----------
    kernel : Kernel
        The tree kernel.
    matrix : matrix
        K~: the covariances between the children of every node, such as
        `kernels.RBF(1.0, variance=1.0).matrix(features)`.

    Examples
    --------
    >>> import numpy as np
    >>> from bough import kernels, theory
    >>> ring = np.array([[1.0, 0.5, 0.0, 0.5], [0.5, 1.0, 0.5, 0.0],
    ...                  [0.0, 0.5, 1.0, 0.5], [0.5, 0.0, 0.5, 1.0]])
    >>> s = theory.spectrum(theory.Siblings(kernels.Discounted(0.5), ring), 4, 2)
    >>> s.eigenvalues.round(6).tolist(), s.multiplicities
    ([0.0, 0.25, 0.5, 4.5, 8.5], (4, 8, 1, 2, 1))
    """

    kernel: Kernel
    matrix: Any

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        object.__setattr__(self, "matrix", _checked_matrix(self.matrix))

    @cached_property
    def array(self) -> Array:
        """K~ as an array."""
        return np.array(self.matrix)

    def check(self, branching: int, depth: int) -> None:  # noqa: D102 - as above
        _check_size(self.array, branching)
        if self.kernel.increments(depth)[:-1].any():
            _constant_and_contrasts(self.array)  # raises unless it has equal sums

    def variance(self, branching: int, depth: int) -> float:  # noqa: D102
        steps = self.kernel.increments(depth)
        return float(steps[0]) + float(self.array.diagonal().max()) * math.fsum(steps[1:].tolist())

    def symmetric(self, branching: int) -> bool:  # noqa: D102
        return _is_circulant(self.array)

    def as_tree_kernel(self, depth: int) -> Kernel | None:
        """Return the tree kernel that this is if all pairs of children are equally correlated.

        What siblings have in common then belongs to the step of their parent.
        """
        variance = float(self.array[0, 0])
        common = float(self.array[0, 1]) if len(self.array) > 1 else 0.0
        alike = np.full(self.array.shape, common)
        np.fill_diagonal(alike, variance)
        if not np.allclose(self.array, alike, rtol=0.0, atol=SAME * variance):
            return None
        steps = self.kernel.increments(depth)
        own = np.concatenate([steps[:1], steps[1:] * (variance - common)])
        own[:-1] += steps[1:] * common
        return Chi.of_increments(own) if (own >= 0.0).all() else None

    def classes(self, branching: int, depth: int) -> Classes:  # noqa: D102
        B, D = branching, depth
        steps = decimal_increments(self.kernel, self.kernel.increments(D).tolist())
        if D > 0 and not any(steps[:-1]):  # blocks of K~, whatever it is
            return _merged(
                [
                    (_times(steps[D], Decimal(mu)), count * B ** (D - 1))
                    for mu, count in _grouped(np.linalg.eigvalsh(self.array))
                ]
            )
        row, contrasts = _constant_and_contrasts(self.array)
        found = []
        below = Decimal(0)  # the sum over k > i
        for i in range(D, 0, -1):
            power = CONTEXT.power(Decimal(B), D - i) if i < D else Decimal(1)
            here = _times(steps[i], power)
            found += [
                (CONTEXT.add(_times(here, Decimal(mu)), below), count * B ** (i - 1))
                for mu, count in contrasts
            ]
            below = CONTEXT.add(below, _times(here, Decimal(row)))
        arms = CONTEXT.power(Decimal(B), D) if D else Decimal(1)
        found.append((CONTEXT.add(_times(steps[0], arms), below), 1))
        return _merged(found)


@dataclass(frozen=True)
class Product(Structure):
    """The product over the depths of a kernel between the choices there.

    The paper's kernel of labeled nodes: with Gaussian kernels between feature vectors it is a
    Gaussian kernel between the concatenated features of two paths.

    Parameters
    ----------
    matrix : matrix
        K~: the covariances between the choices at every depth.

    Examples
    --------
    >>> from bough import theory
    >>> s = theory.spectrum(theory.Product([[1.0, 0.5], [0.5, 1.0]]), 2, 3)
    >>> s.eigenvalues.tolist(), s.multiplicities
    ([0.125, 0.375, 1.125, 3.375], (1, 3, 3, 1))
    """

    matrix: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _checked_matrix(self.matrix))

    @cached_property
    def array(self) -> Array:
        """K~ as an array."""
        return np.array(self.matrix)

    def check(self, branching: int, depth: int) -> None:  # noqa: D102 - as above
        _check_size(self.array, branching)
        distinct = len(_grouped(np.linalg.eigvalsh(self.array)))
        if math.comb(depth + distinct - 1, depth) > MOST_CLASSES:
            raise ValueError(
                f"a product of {depth} matrices with {distinct} different eigenvalues has more "
                f"than {MOST_CLASSES:,} different ones: take a smaller depth"
            )

    def variance(self, branching: int, depth: int) -> float:  # noqa: D102
        return float(self.array.diagonal().max()) ** depth

    def symmetric(self, branching: int) -> bool:  # noqa: D102
        return _is_circulant(self.array)

    def classes(self, branching: int, depth: int) -> Classes:  # noqa: D102
        found = []
        for chosen in combinations_with_replacement(
            _grouped(np.linalg.eigvalsh(self.array)), depth
        ):
            value, ways = Decimal(1), math.factorial(depth)
            for (mu, count), times in Counter(chosen).items():
                value = _times(value, CONTEXT.power(Decimal(mu), times))
                ways = ways // math.factorial(times) * count**times
            found.append((value, ways))
        return _merged(found)


def _checked_matrix(given: Any) -> tuple[tuple[float, ...], ...]:
    """Return a covariance matrix as tuples, which can be hashed."""
    try:
        matrix = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(
            f"matrix must be square, a row of covariances for each child of a node, got {given!r}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("matrix must contain finite numbers")
    scale = float(np.abs(matrix).max())
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-9 * scale):
        raise ValueError("matrix must be symmetric")
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < -1e-9 * scale * len(matrix):
        raise ValueError(
            f"matrix must be positive semidefinite, but it has the eigenvalue {lowest:.6g}"
        )
    return tuple(map(tuple, ((matrix + matrix.T) / 2).tolist()))


def _check_size(matrix: Array, branching: int) -> None:
    if len(matrix) != branching:
        raise ValueError(
            f"matrix is {len(matrix)} x {len(matrix)}, but a node has {branching} children"
        )


def _constant_and_contrasts(matrix: Array) -> tuple[float, list[tuple[float, int]]]:
    """Return the sum of a row, and the eigenvalues on contrasts with their multiplicities."""
    rows = matrix.sum(axis=1)
    if np.ptp(rows) > 1e-9 * len(matrix) * float(matrix.max()):
        raise ValueError(
            "the rows of matrix must have equal sums, so that what siblings have in common is the "
            f"same for all; they sum to between {rows.min():.6g} and {rows.max():.6g}, and the "
            "spectrum of the tree has no closed form then"
        )
    row = float(rows.mean())
    # The constant vector has eigenvalue 0 in `centered`, below all others but for rounding.
    centered = matrix - row / len(matrix)
    return max(row, 0.0), _grouped(np.linalg.eigvalsh(centered), drop=1)


def _grouped(eigenvalues: NDArray[np.floating[Any]], drop: int = 0) -> list[tuple[float, int]]:
    """Return eigenvalues with multiplicities, without `drop` of those that are 0."""
    scale = float(eigenvalues.max(initial=0.0))
    found: list[tuple[float, int]] = []
    for value in np.sort(eigenvalues).tolist()[drop:]:
        value = value if value > len(eigenvalues) * 1e-15 * scale else 0.0
        if found and value - found[-1][0] <= SAME * scale:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((value, 1))
    return found


def _is_circulant(matrix: Array) -> bool:
    """Return whether shifting the children in a circle changes nothing."""
    shifted = np.roll(matrix, (1, 1), axis=(0, 1))
    return bool(np.allclose(matrix, shifted, rtol=0.0, atol=SAME * float(matrix.max())))


# ---------------------------------------------------------------------- decimals


def _times(a: Decimal, b: Decimal) -> Decimal:
    return CONTEXT.multiply(a, b)


def _total(terms: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for term in terms:
        total = CONTEXT.add(total, term)
    return total


def _merged(classes: list[tuple[Decimal, int]]) -> Classes:
    """Return the classes in increasing order, equal eigenvalues once, without empty ones."""
    counts: dict[Decimal, int] = {}
    for value, count in classes:
        if count:
            counts[value] = counts.get(value, 0) + count
    return tuple(sorted(counts.items()))


# ---------------------------------------------------------------------- any kernel


@lru_cache(maxsize=16)
def classes_of(structure: Structure, branching: int, depth: int) -> Classes:
    """Return the eigenvalues of a structure; a bound asks for them many times."""
    return structure.classes(branching, depth)


def structure_of(kernel: Any, branching: int, depth: int) -> Structure | None:
    """Return the structure of a kernel, checked; None for kernels of common prefixes."""
    if isinstance(kernel, Structure):
        kernel.check(branching, depth)
        return kernel
    if isinstance(kernel, Labeled):
        structure = exchangeable(kernel, branching, depth)
        structure.check(branching, depth)
        return structure
    if check_kernel(kernel).label_model is not None:
        raise ValueError(f"the spectrum of {kernel!r} has no closed form")
    return None
