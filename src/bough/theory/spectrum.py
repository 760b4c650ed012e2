"""The eigenvalues of the kernel matrix of all arms, in closed form.

lambda_i = sum over j < i of B^j c_{D-j}, i = 1..D, with multiplicity (B-1) B^(D-i), and one more,
lambda_{D+1} = lambda_D + B^D c_0, of the constant vector (erratum 12). Here c_k is the variance
that depth k adds, the k-th increment of the kernel. No matrix is needed, so the tree may have
200^10 arms, or 10^400.

On a deep tree a kernel's increments underflow, yet times B^D arms they make large eigenvalues: both
are decimals, whose exponents have no limit that matters.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import cached_property
from typing import cast

import numpy as np

from bough import kernels
from bough._validation import shown, whole
from bough.kernels import Kernel, check_kernel
from bough.theory._setting import Array, check_branching

#: The context of all arithmetic with decimals.
CONTEXT = Context(prec=25, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
#: Increments below this are computed by their logarithms.
LEAST_INCREMENT = 1e-290
#: `eigenvectors` refuses more arms than this: they would fill the memory.
MOST_ARMS = 4096


def log1p(x: Decimal) -> float:
    """Return log(1 + x), for x of any size."""
    return float(x.ln(CONTEXT)) if x.adjusted() > 300 else math.log1p(float(x))


def decimal_increments(kernel: Kernel, steps: Sequence[float], unit: float = 1.0) -> list[Decimal]:
    """Return c_0 .. c_D in the given unit; `steps` are the same as floats, which may underflow."""
    if min(steps) >= LEAST_INCREMENT or unit == 0.0:
        return [Decimal(step) for step in steps]
    logs = (log_increments(kernel, len(steps) - 1) - math.log(unit)).tolist()
    return [
        Decimal(step) if step >= LEAST_INCREMENT else Decimal(log).exp(CONTEXT)
        for step, log in zip(steps, logs, strict=True)
    ]


def log_increments(kernel: Kernel, depth: int) -> Array:
    """Return log c_0 .. log c_D, also of increments that underflow."""
    steps = kernel.increments(depth)
    if isinstance(kernel, kernels.Scaled) and kernel.factor > 0.0:
        return math.log(kernel.factor) + log_increments(kernel.kernel, depth)
    k = np.arange(depth + 1.0)
    logs: Array
    with np.errstate(divide="ignore"):
        if isinstance(kernel, kernels.Gaussian):
            width = cast(float, kernel.width)  # not None, or there would be no increments
            rate = min(1.0 / width / width, 1e300)
            logs = np.log(kernel.variance or 0.0) - (depth - k) * rate
            logs[1:] += np.log(-np.expm1(-rate))
        elif isinstance(kernel, kernels.Discounted) and kernel.discount:
            logs = np.log(kernel.variance or 0.0) + 2 * (k - 1) * math.log(kernel.discount)
            logs[0] = -math.inf
        elif isinstance(kernel, kernels.Geometric) and kernel.ratio:
            log_ratio = math.log(kernel.ratio)
            powers = (k[1:] - (1.0 if log_ratio <= 0.0 else depth)) * log_ratio
            logs = np.log(steps)
            scale = np.log(kernel.variance or 0.0) + np.log1p(-(kernel.root or 0.0))
            logs[1:] = scale + powers - math.log(np.exp(powers).sum() or 1.0)
        elif isinstance(kernel, kernels.Sum):
            logs = np.logaddexp.reduce([log_increments(x, depth) for x in kernel.terms], axis=0)
        else:
            logs = np.log(steps)
    return logs


def scaled_eigenvalues(steps: Sequence[Decimal], branching: int) -> list[Decimal]:
    """Return u_1 .. u_{D+1}, where lambda_i = B^(i-1) u_i.

    Sums of positive terms, by Horner's rule: nothing cancels.
    """
    u, scaled = Decimal(0), []
    for step in reversed(steps):
        u = CONTEXT.add(CONTEXT.divide(u, branching), step)
        scaled.append(u)
    return scaled


def decimal_eigenvalues(steps: Sequence[Decimal], branching: int) -> list[Decimal]:
    """Return lambda_1 <= .. <= lambda_{D+1} of a kernel with these increments (erratum 12).

    A depth without variance makes two eigenvalues equal to the last digit.
    """
    power = Decimal(1)
    found: list[Decimal] = []
    for step, u in zip(reversed(steps), scaled_eigenvalues(steps, branching), strict=True):
        found.append(CONTEXT.multiply(u, power) if step or not found else found[-1])
        power = CONTEXT.multiply(power, branching)
    return found


def multiplicities(branching: int, depth: int) -> tuple[int, ...]:
    """Return nu_1 .. nu_{D+1}, the multiplicities of lambda_1 .. lambda_{D+1}."""
    counts = [1]
    count = branching - 1
    for _ in range(depth):
        counts.append(count)
        count *= branching
    return tuple(counts[::-1])


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
    >>> s.eigenvalue(2)
    1.75
    """

    kernel: Kernel
    branching: int
    depth: int

    @cached_property
    def _decimals(self) -> list[Decimal]:
        steps = decimal_increments(self.kernel, self.kernel.increments(self.depth).tolist())
        return decimal_eigenvalues(steps, self.branching)

    @cached_property
    def eigenvalues(self) -> Array:
        """lambda_1 <= .. <= lambda_{D+1}; infinite above 1e308, where `log_eigenvalues` is not."""
        return np.array([float(x) for x in self._decimals])

    @cached_property
    def log_eigenvalues(self) -> Array:
        """Log lambda_1 <= .. <= log lambda_{D+1}; minus infinity for 0."""
        return np.array([float(x.ln(CONTEXT)) for x in self._decimals])

    @cached_property
    def multiplicities(self) -> tuple[int, ...]:
        """nu_1 .. nu_{D+1}; they sum to N."""
        return multiplicities(self.branching, self.depth)

    def index(self, t: int) -> int:
        """Return the i for which lambda_i is the t-th largest eigenvalue (erratum 13)."""
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

    def eigenvectors(self) -> Array:
        """Return orthonormal eigenvectors as columns, in the order of the eigenvalues.

        Arms are in the order of `itertools.product`. Each eigenvector of lambda_i, i <= D, lives on
        the arms below one node at depth D - i, is constant below each child of that node, and sums
        to 0. The last one is constant.
        """
        B, D = self.branching, self.depth
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


def spectrum(kernel: Kernel, branching: int, depth: int) -> Spectrum:
    """Return the spectrum of the kernel matrix of all arms of a uniform tree.

    >>> s = spectrum(kernels.Gaussian(5.0), branching=200, depth=10)
    >>> f"{s.eigenvalue(200**10):.6f} {s.eigenvalue(1):.4g} {sum(s.multiplicities) == 200**10}"
    '0.039211 6.865e+22 True'
    """
    branching = check_branching(branching)
    depth = whole(depth, "depth", least=0)
    check_kernel(kernel).increments(depth)  # raises if a hyperparameter is missing
    return Spectrum(kernel, branching, depth)
