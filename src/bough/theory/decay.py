"""How fast the eigenvalues fall: the paper's constants and bounds for its three kernels."""

import math
from dataclasses import dataclass

from bough import kernels
from bough.kernels import Kernel
from bough.theory._increments import rate
from bough.theory._problem import power, unscaled


@dataclass(frozen=True)
class Constants:
    """The paper's constants of a tree and a Gaussian kernel.

    Attributes
    ----------
    q, C
        q_s = B exp(-1/s^2) and C_s = (1 - q_s/B) / (q_s - 1), infinite at q_s = 1; None for kernels
        that are not Gaussian.
    product
        C_s q_s, by which eigenvalues are at most N C_s q_s / t for t > 1 (erratum 19); for the
        linear kernel B / ((B-1)(D+1)) in its place. None for other kernels, and for q_s <= 1.
    width
        From this width on the Gaussian kernel's C_s q_s is at most the linear kernel's constant.
    """

    q: float | None
    C: float | None
    product: float | None
    width: float


def constants(kernel: Kernel, branching: int, depth: int) -> Constants:
    """Return C_s and q_s, and from which width on Gaussian beats linear."""
    B, D = branching, depth
    if B < 2 or D < 1:
        raise ValueError(f"constants need branching >= 2 and depth >= 1, got {B} and {D}")
    # With y = exp(1/s^2) = 1 + w, C_s q_s = B / ((B-1)(D+1)) is a quadratic equation in w.
    half = 2 + (B - 1) * (D + 1) - B
    w = 2 * (B - 1) / (half + math.sqrt(half**2 + 4 * (B - 1)))
    width = 1 / math.sqrt(math.log1p(w))
    kernel = unscaled(kernel)
    if isinstance(kernel, kernels.Linear):
        return Constants(None, None, B / ((B - 1) * (D + 1)), width)
    if not isinstance(kernel, kernels.Gaussian):
        return Constants(None, None, None, width)
    x = rate(kernel)
    log_q = math.log(B) - x
    C = -math.expm1(-x) / math.expm1(log_q) if log_q != 0.0 else math.inf
    # C_s q_s without the q - 1 that C_s divides by.
    product = math.expm1(-x) / math.expm1(-log_q) if log_q > 0.0 else None
    return Constants(math.exp(log_q), C, product, width)


def bounds(kernel: Kernel, branching: int, depth: int, t: int) -> tuple[float, float]:
    """Return the bounds on the t-th largest eigenvalue; for Gaussian kernels t must be above 1."""
    B, D = branching, depth
    if B < 2 or D < 1:
        raise ValueError(f"bounds need branching >= 2 and depth >= 1, got {B} and {D}")
    variance = float(kernel.chi(D)[0])
    inner = unscaled(kernel)
    log_ratio = math.log(power(B, D)) - math.log(t)  # log(N / t), exactly 0 at t = N
    if isinstance(inner, kernels.Linear):
        scale = variance / ((B - 1) * (D + 1))
        low, high = _quotient(power(B, D) - t, t), _quotient(power(B, D + 1) - t, t)
    elif isinstance(inner, kernels.Gaussian):
        x = rate(inner)
        log_q = math.log(B) - x
        scale = variance * -math.expm1(-x)
        if log_q > 0.0:
            scale /= _expm1(log_q)
            low, high = _expm1(log_ratio - D * x), _expm1(log_ratio + log_q)
        else:
            levels = log_ratio / math.log(B)
            low, high = _geometric(log_q, levels), _geometric(log_q, levels + 1)
    elif isinstance(inner, kernels.Discounted) and inner.discount:
        log_fall = -2 * math.log(inner.discount)
        scale = float(kernel.increments(D)[1]) / (B - inner.discount**2)
        # N t^(-1-2a) = gamma^2D (B / gamma^2)^(D - log_B t)
        growth = (math.log(B) + log_fall) / math.log(B)
        low = _expm1(growth * log_ratio, -D * log_fall)
        high = _expm1(growth * (log_ratio + math.log(B)), -D * log_fall)
    else:
        raise ValueError(
            "there are closed bounds for Linear, Gaussian and Discounted kernels (of a discount "
            f"above 0) only, got {kernel!r}; eigenvalue(t) is exact for every kernel"
        )
    return (scale * low, scale * high) if scale else (0.0, 0.0)


def _quotient(a: int, b: int) -> float:
    try:
        return a / b
    except OverflowError:
        return math.inf


def _expm1(x: float, log_factor: float = 0.0) -> float:
    """Return (e^x - 1) exp(log_factor), of which both may be out of range."""
    if x < 1.0:
        return math.expm1(x) * math.exp(log_factor)
    total = x + log_factor
    return -math.expm1(-x) * math.exp(total) if total < 709.0 else math.inf


def _geometric(log_q: float, levels: float) -> float:
    """Return (q^levels - 1) / (q - 1), which is `levels` at q = 1."""
    return levels if log_q == 0.0 else math.expm1(levels * log_q) / math.expm1(log_q)
