"""The eigenvalues of the kernel matrix of all arms, in closed form.

lambda_i = sum over j < i of B^j c_{D-j}, i = 1..D, with multiplicity (B-1) B^(D-i), and one more,
lambda_{D+1} = lambda_D + B^D c_0, of the constant vector (erratum 12). Here c_k is the variance
that depth k adds, the k-th increment of the kernel. No matrix is needed, so the tree may have
200^10 arms, or 10^400.

Kernels with labels, and kernels between the children of a node, have eigenvalues of their own: see
`bough.theory.labels`.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np

from bough._validation import shown, whole
from bough.kernels import Kernel
from bough.theory._decimals import (
    CONTEXT,
    Array,
    decimal_eigenvalues,
    decimal_increments,
    multiplicities,
)
from bough.theory._setting import check_branching
from bough.theory.labels import Structure, classes_of, structure_of

#: `eigenvectors` refuses more arms than this: they would fill the memory.
MOST_ARMS = 4096


@dataclass(frozen=True)
class Spectrum:
    """The spectrum of the kernel matrix of the B^D arms of a tree.

    Examples
    --------
    >>> from bough import kernels
    >>> s = spectrum(kernels.Linear(), branching=2, depth=3)
    >>> s.eigenvalues
    array([0.25, 0.75, 1.75, 3.75])
    >>> s.multiplicities
    (4, 2, 1, 1)
    >>> s.eigenvalue(2)
    1.75
    """

    kernel: Kernel | Structure
    branching: int
    depth: int

    @cached_property
    def _decimals(self) -> list[Decimal]:
        if isinstance(self.kernel, Structure):
            return [value for value, _ in classes_of(self.kernel, self.branching, self.depth)]
        steps = decimal_increments(self.kernel, self.kernel.increments(self.depth).tolist())
        return decimal_eigenvalues(steps, self.branching)

    @cached_property
    def eigenvalues(self) -> Array:
        """lambda_1 <= .. <= lambda_{D+1}; infinite above 1e308, where `log_eigenvalues` is not.

        With labels, and for correlated siblings, there are more than D + 1.
        """
        return np.array([float(x) for x in self._decimals])

    @cached_property
    def log_eigenvalues(self) -> Array:
        """Log lambda_1 <= .. <= log lambda_{D+1}; minus infinity for 0."""
        return np.array([float(x.ln(CONTEXT)) for x in self._decimals])

    @cached_property
    def multiplicities(self) -> tuple[int, ...]:
        """nu_1 .. nu_{D+1}; they sum to N."""
        if isinstance(self.kernel, Structure):
            return tuple(n for _, n in classes_of(self.kernel, self.branching, self.depth))
        return multiplicities(self.branching, self.depth)

    def index(self, t: int) -> int:
        """Return the i for which lambda_i is the t-th largest eigenvalue (erratum 13)."""
        t = whole(t, "t", least=1)
        counted = 0
        for i in range(len(self.multiplicities), 0, -1):
            counted += self.multiplicities[i - 1]
            if t <= counted:
                return i
        N = f"{self.branching}^{self.depth}"
        raise ValueError(f"t must be at most the number of arms, {N}, got {shown(t)}")

    def eigenvalue(self, t: int) -> float:
        """Return the t-th largest eigenvalue, t from 1 to N, an int of any size."""
        return float(self.eigenvalues[self.index(t) - 1])

    def eigenvectors(self) -> Array:
        """Return orthonormal eigenvectors as columns, in the order of the eigenvalues.

        Arms are in the order of `itertools.product`. Each eigenvector of lambda_i, i <= D, lives on
        the arms below one node at depth D - i, is constant below each child of that node, and sums
        to 0. The last one is constant.
        """
        B, D = self.branching, self.depth
        if isinstance(self.kernel, Structure):
            raise ValueError("eigenvectors are those of kernels of common prefixes only")
        if D * math.log2(B) > math.log2(MOST_ARMS):
            raise ValueError(
                f"a tree of {B}^{D} arms is too large for dense matrices (at most {MOST_ARMS:,} "
                "arms); eigenvalues and multiplicities need none"
            )
        contrasts = np.zeros((B, B - 1))  # Helmert's: orthonormal, and each sums to 0
        for j in range(1, B):
            contrasts[:j, j - 1] = 1.0
            contrasts[j, j - 1] = -j
            contrasts[:, j - 1] /= math.sqrt(j * (j + 1))
        columns = [
            np.kron(np.eye(B ** (D - i)), np.kron(contrasts, np.ones((B ** (i - 1), 1))))
            / math.sqrt(B ** (i - 1))
            for i in range(1, D + 1)
        ]
        return np.hstack([*columns, np.full((B**D, 1), 1 / math.sqrt(B**D))])


def spectrum(kernel: Kernel | Structure, branching: int, depth: int) -> Spectrum:
    """Return the spectrum of the kernel matrix of all arms of a uniform tree.

    Parameters
    ----------
    kernel
        A kernel of common prefixes; `kernels.Labeled` with exchangeable effects of labels that
        stand for the index of the child, or for depth and index; `theory.Siblings`; or
        `theory.Product`.
    branching, depth
        The tree, which has branching^depth arms.

    Examples
    --------
    >>> from bough import kernels
    >>> s = spectrum(kernels.Gaussian(5.0), branching=200, depth=10)
    >>> f"{s.eigenvalue(200**10):.6f} {s.eigenvalue(1):.4g} {sum(s.multiplicities) == 200**10}"
    '0.039211 6.865e+22 True'
    """
    branching = check_branching(branching)
    depth = whole(depth, "depth", least=0)
    structure = structure_of(kernel, branching, depth)
    if structure is not None:
        return Spectrum(structure, branching, depth)
    kernel.increments(depth)  # type: ignore[union-attr] # raises if a hyperparameter is missing
    return Spectrum(kernel, branching, depth)
