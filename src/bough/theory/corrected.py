"""What the paper's bounds on the information gain should be.

All hold for every T; `exact` is better than any of them, and as cheap. The notation is in
`bough.theory._spectral`, the proofs in docs/paper-checked.md.
"""

import math
from collections.abc import Callable

from bough import kernels
from bough.theory._increments import rate
from bough.theory._logsums import log_product_gain
from bough.theory._problem import Problem, unscaled
from bough.theory._spectral import Bound, Spectral, exp, softplus


class CorrectedLinear(Bound):
    """(T/2) log(1 + kappa0 / sigma^2): the trace of a play is kappa0 (errata 22 and 23)."""

    def _value(self, plays: int) -> float:
        return plays / 2 * math.log1p(self.problem.signal)


class CorrectedLog(Spectral):
    """1/2 [r log((1/lambda_r + sigma^-2) T) + log lambda_1 + (r-1) log A - log r!] (erratum 26)."""

    discounted = True

    def _value(self, plays: int) -> float:
        rank = self.problem.rank(plays)
        first, last = self.log_eigenvalue(1), self.log_eigenvalue(rank)
        # Logarithms relative to that of lambda_r, so that at T = 1 nothing is left but the gain.
        total = rank * softplus(last + math.log(self.problem.signal))
        total += (first - last) + (rank - 1) * (self.log_A - last)
        return (total + rank * math.log(plays) - math.lgamma(rank + 1)) / 2


class CorrectedTail(Spectral):
    """T A / (2 sigma^2 T_*): the eigenvalues after T_*, since m_t <= T / t (erratum 28)."""

    discounted = True

    def _value(self, plays: int) -> float:
        return self.tail(plays, self.split(plays))

    def tail(self, plays: int, split: int) -> float:
        """Return the bound on 1/2 sum over t > T_* of log(1 + m_t lambda_t / sigma^2)."""
        if split >= self.problem.rank(plays):
            return 0.0  # there are none
        log = math.log(self.problem.signal) + math.log(plays) + self.log_A - math.log(split)
        return exp(log) / 2

    def split(self, plays: int) -> int:
        """Return T_*, by default min(T, N): with T_* the head grows less than the tail falls."""
        return self.given or self.problem.rank(plays)

    def distinct(self, plays: int) -> float | None:
        """Return max(1, min(T, N, B sqrt((T-1) A / (sigma^2 (q-1))))) >= T' (erratum 30)."""
        kernel = unscaled(self.problem.kernel)
        if not isinstance(kernel, kernels.Gaussian):
            return None
        if plays == 1:
            return 1.0
        log_B = math.log(self.problem.branching)
        log = math.log(self.problem.signal) + self.log_A + math.log(plays - 1)
        log -= math.log(math.expm1(log_B - rate(kernel)))
        return max(1.0, min(float(self.problem.rank(plays)), exp(log_B + log / 2)))


class CorrectedFinal(CorrectedTail):
    """What the final bound should be (erratum 31), valid for every T_*.

    1/2 [log(1 + T lambda_1 / sigma^2) + sum_{t=2..T_*} log(1 + T A / (sigma^2 t^2))]
    + T A / (2 sigma^2 T_*).

    Since log(1 + z) <= z it falls with T_*, so the best T_* is min(T, N), where no tail is left.
    """

    def _value(self, plays: int) -> float:
        split = min(self.split(plays), self.problem.rank(plays))
        log_scale = math.log(self.problem.signal) + math.log(plays)
        first = softplus(log_scale + self.log_eigenvalue(1))
        head = log_product_gain(log_scale + self.log_A, split)
        return (first + head) / 2 + self.tail(plays, split)


METHODS: dict[str, Callable[[Problem, int | None], Bound]] = {
    "corrected-linear": CorrectedLinear,
    "corrected-log": CorrectedLog,
    "corrected-tail": CorrectedTail,
    "corrected-final": CorrectedFinal,
}
