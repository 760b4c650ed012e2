"""The eigenvalues of the kernel matrix of all arms, in closed form.

lambda_i = sum over j < i of B^j c_{D-j}, i = 1..D, with multiplicity (B-1) B^(D-i), and one more,
lambda_{D+1} = lambda_D + B^D c_0, of the constant vector (erratum 12). No matrix is needed, so the
tree may have 200^10 arms, or 10^400.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bough import kernels
from bough._validation import shown, whole
from bough.kernels import Kernel
from bough.theory import decay
from bough.theory._increments import wide_increments
from bough.theory._problem import (
    Array,
    read_branching,
    read_kernel,
    unscaled,
)
from bough.theory._wide import Wide, wide_eigenvalues
from bough.theory.decay import Constants

#: Above this many arms `matrix` and `eigenvectors` refuse: they would fill the memory.
MOST_ARMS = 4096


@dataclass(frozen=True)
class Spectrum:
    """The spectrum of the kernel matrix of the B^D arms of a tree.

    Examples
    --------
    >>> s = spectrum(kernels.Linear(), branching=2, depth=3)
    >>> s.eigenvalues
    array([0.25, 0.75, 1.75, 3.75])
    >>> s.multiplicities
    (4, 2, 1, 1)
    >>> s.eigenvalue(2), s.bounds(2)
    (1.75, (0.75, 1.75))
    """

    kernel: Kernel
    branching: int
    depth: int

    @cached_property
    def _wide(self) -> list[Wide]:
        steps = wide_increments(self.kernel, self.kernel.increments(self.depth).tolist())
        return wide_eigenvalues(steps, self.branching)

    @cached_property
    def eigenvalues(self) -> Array:
        """lambda_1 <= .. <= lambda_{D+1}; infinite above 1e308, where `log_eigenvalues` is not."""
        return np.array([float(x) for x in self._wide])

    @cached_property
    def log_eigenvalues(self) -> Array:
        """The same in log space, log lambda_1 <= .. <= log lambda_{D+1}; minus infinity for 0."""
        return np.array([x.log() for x in self._wide])

    @cached_property
    def multiplicities(self) -> tuple[int, ...]:
        """nu_1 .. nu_{D+1}; they sum to N."""
        counts = [1]
        power = self.branching - 1
        for _ in range(self.depth):
            counts.append(power)
            power *= self.branching
        return tuple(counts[::-1])

    def index(self, t: int) -> int:
        """Return the i of which lambda_i is the t-th largest eigenvalue (erratum 13)."""
        t = whole(t, "t", least=1)
        i, power = self.depth + 1, 1
        while power < t:  # integers: a float logarithm picks the wrong level at powers of B
            if i == 1 or self.branching == 1:
                N = f"{self.branching}^{self.depth}"
                raise ValueError(f"t must be at most the number of arms, {N}, got {shown(t)}")
            i, power = i - 1, power * self.branching
        return i

    def eigenvalue(self, t: int) -> float:
        """Return the t-th largest eigenvalue, t from 1 to N, an int of any size."""
        return float(self.eigenvalues[self.index(t) - 1])

    def bounds(self, t: int) -> tuple[float, float]:
        """Return the paper's lower and upper bound on the t-th largest eigenvalue.

        Linear: the box of the paper (erratum 14). Gaussian with q > 1: the box for t > 1, and the
        eigenvalue itself for t = 1 (errata 18 and 19); with q <= 1, where the box is wrong, the
        inequality before it (17). Discounted: the corrected bounds; those printed are off by up
        to a factor of 1e13 (38).
        """
        last = self.index(t) == self.depth + 1
        if last and isinstance(unscaled(self.kernel), kernels.Gaussian):
            return self.eigenvalue(t), self.eigenvalue(t)
        return decay.bounds(self.kernel, self.branching, self.depth, whole(t, "t", least=1))

    @property
    def constants(self) -> Constants:
        """The paper's C_s and q_s, and from which width on Gaussian beats linear."""
        return decay.constants(self.kernel, self.branching, self.depth)

    def matrix(self) -> Array:
        """Return the kernel matrix of all arms, in the order of `itertools.product`."""
        leaves = np.arange(self._small())
        K = np.zeros((len(leaves), len(leaves)))
        for k, step in enumerate(self.kernel.increments(self.depth).tolist()):
            block = leaves // self.branching ** (self.depth - k)
            K += step * (block[:, None] == block[None, :])
        return K

    def eigenvectors(self) -> Array:
        """Return orthonormal eigenvectors as columns, in the order of the eigenvalues.

        Each of lambda_i, i <= D, lives on the arms below one node at depth D - i, is constant below
        each of its children, and sums to 0. The last one is constant.
        """
        B, D, N = self.branching, self.depth, self._small()
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
        return np.hstack([*columns, np.full((N, 1), 1 / math.sqrt(N))])

    def _small(self) -> int:
        N = self.branching**self.depth if self.depth * math.log2(self.branching) < 64 else 2**64
        if N > MOST_ARMS:
            raise ValueError(
                f"a tree of {self.branching}^{self.depth} arms is too large for dense matrices "
                f"(at most {MOST_ARMS:,} arms); eigenvalues and multiplicities need none"
            )
        return N


def spectrum(kernel: Kernel, branching: int, depth: int) -> Spectrum:
    """Return the spectrum of the kernel matrix of all arms of a uniform tree.

    >>> s = spectrum(kernels.Gaussian(5.0), branching=200, depth=10)
    >>> f"{s.eigenvalue(200**10):.6f} {s.eigenvalue(1):.4g} {sum(s.multiplicities) == 200**10}"
    '0.039211 6.865e+22 True'
    """
    branching = read_branching(branching)
    depth = whole(depth, "depth", least=0)
    read_kernel(kernel).increments(depth)  # says so if it has none
    return Spectrum(kernel, branching, depth)
