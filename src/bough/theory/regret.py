"""Bounds on the cumulative and simple regret, and the number of plays that they ask for.

With probability at least 1 - delta, for all T at once, the paper's rule (`GPTS(select="arm")` with
`Confidence(delta, scale=1)`) on rewards drawn from the prior has cumulative regret R_T at most each
of the bounds below.

On the event that all confidence intervals hold, the t-th play costs at most
2 sqrt(beta_t) sigma_{t-1}(x_t), and at most 2 sqrt(beta_1 kappa0); and the sum of
log(1 + sigma_{t-1}^2 / sigma^2) is twice the information gained, at most 2 I. The bounds differ in
how they combine these. beta_t belongs to the t-th play, t from 1: there is no beta_0 (erratum 1).
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bough._validation import above_zero, at_least_zero, between_zero_and_one
from bough.confidence import Confidence
from bough.kernels import Kernel
from bough.theory import gain as gains
from bough.theory._setting import (
    MOST_PLAYS,
    Setting,
    check_all_plays,
    check_choice,
    check_plays,
    check_setting,
    shaped,
    smallest_enough,
)
from bough.theory.labels import Structure


@dataclass(frozen=True)
class Terms:
    """The terms of all bounds, for one number of plays."""

    setting: Setting
    plays: int
    gain: float
    first: float  # sqrt(beta_1)
    last: float  # sqrt(beta_T)

    @property
    def ratio(self) -> float:
        """kappa0 / log(1 + kappa0 / sigma^2)."""
        return self.setting.variance / math.log1p(self.setting.signal)


def _theorem(x: Terms) -> float:
    """Return sqrt(8 kappa0 / log(1 + kappa0/sigma^2) beta_T T I): Theorem 1, any kappa0."""
    return x.last * math.sqrt(8 * x.ratio) * math.sqrt(x.plays) * math.sqrt(x.gain)


def _sum_beta(x: Terms) -> float:
    """Return 2 sqrt(sum beta_t 2 I kappa0 / log(1 + kappa0/sigma^2)): no beta is rounded up."""
    sum_beta = x.plays * x.first**2 + 4 * math.lgamma(x.plays + 1)
    return 2 * math.sqrt(sum_beta) * math.sqrt(2 * x.gain * x.ratio)


def _envelope(x: Terms) -> float:
    """Return 2 T sqrt(beta_T) h(2 I / T), every play capped at the cost of the first one."""
    most = math.log1p(x.setting.signal * (x.first / x.last) ** 2)
    return 2 * x.plays * x.last * x.setting.noise * envelope(2 * x.gain / x.plays, most)


def _weighted_envelope(x: Terms) -> float:
    """Return 2 W h(2 I sqrt(beta_T) / W), W >= sum sqrt(beta_t) by an integral."""
    from scipy.special import dawsn

    z_first, z_last = x.first / 2, x.last / 2
    integral = x.plays * (z_last - float(dawsn(z_last))) - (z_first - float(dawsn(z_first)))
    weight = x.last + 2 * integral  # at most T sqrt(beta_T), since beta_t grows
    most = math.log1p(x.setting.signal)
    return 2 * weight * x.setting.noise * envelope(2 * x.gain * x.last / weight, most)


def _trivial(x: Terms) -> float:
    """Return 2 T sqrt(beta_1 kappa0): no play costs more than the width of the prior interval."""
    return 2 * x.plays * x.first * math.sqrt(x.setting.variance)


METHODS: dict[str, Callable[[Terms], float]] = {
    "theorem": _theorem,
    "sum-beta": _sum_beta,
    "envelope": _envelope,
    "weighted-envelope": _weighted_envelope,
    "trivial": _trivial,
}


def envelope(u: float, most: float) -> float:
    """Return the concave envelope of h(u) = sqrt(exp(u) - 1) on [0, most], at u.

    A play that gives u/2 nats has posterior standard deviation sigma h(u) before it. h is concave
    up to log 2 and convex after, so the sum of h(u_t) for a given sum of u_t is at most T times the
    envelope at their mean: h itself up to the point where the line through (most, h(most)) touches
    it, and that line from there on.

    >>> envelope(0.5, 0.5) == math.sqrt(math.expm1(0.5))
    True
    >>> round(envelope(1.0, 5.0), 6)
    2.513271
    """
    u = min(max(u, 0.0), most)
    if most <= math.log(2):
        return _height(u)
    touch = _tangent_point(most)
    if u <= touch:
        return _height(u)
    share = (u - touch) / (most - touch)
    return _height(touch) + share * (_height(most) - _height(touch))


def _height(u: float) -> float:
    return math.sqrt(math.expm1(u))


@functools.lru_cache(maxsize=16)  # it does not depend on the number of plays
def _tangent_point(most: float) -> float:
    """Return the point at which the tangent of h passes through (most, h(most))."""
    top = _height(most)
    # The tangent's value at `most` falls as the point moves up to log 2. The point may be as small
    # as 1e-150, so its logarithm is bisected; an error in it changes the line in second order only.
    low, high = math.log(1e-300), math.log(math.log(2))
    for _ in range(80):
        middle = (low + high) / 2
        a = math.exp(middle)
        height = _height(a)
        if height + math.exp(a) / (2 * height) * (most - a) > top:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def _agnostic(x: Terms, delta: float, norm: float) -> float:
    """Return the bound for functions of bounded norm (Srinivas et al., their Theorem 3)."""
    log = math.log(x.plays) - math.log(delta)
    # sqrt(beta), without the square of a norm, which may overflow
    sqrt_beta = math.hypot(math.sqrt(2) * norm, math.sqrt(300 * x.gain * log**3))
    return math.sqrt(8 * x.ratio * x.plays) * sqrt_beta * math.sqrt(x.gain)


def regret_bound(
    kernel: Kernel | Structure,
    branching: int,
    depth: int,
    noise: float,
    plays: Any,
    delta: float = 0.05,
    method: str = "best",
    *,
    gain: str | None = None,
    norm: float | None = None,
    breakdown: bool = False,
) -> Any:
    """Return a bound on the cumulative regret, which holds with probability 1 - delta.

    Parameters
    ----------
    kernel, branching, depth, noise, plays
        As for `information_gain`; plays from 1.
    delta : float
        The failure probability of the bounds, the same as that of the searcher.
    method : str
        `"theorem"`: Theorem 1 of Srinivas et al. for any kappa0 (erratum 3). `"sum-beta"`: with
        each play's own beta. `"envelope"`: never above `"theorem"` and `"trivial"`.
        `"weighted-envelope"`, `"trivial"`. `"best"`: the least of all these. `"agnostic"`: for any
        reward function whose norm in the kernel's Hilbert space is at most `norm`, and noise that
        is any martingale difference bounded by `noise` (their Theorem 3, for the searcher that uses
        its beta).
    gain : str, optional
        The method of `information_gain` to use; by default as there.
    norm : float, optional
        The norm for `"agnostic"`.
    breakdown : bool
        Whether to return all bounds by name, `"agnostic"` among them if there is a norm.

    Returns
    -------
    float, or an array in the shape of `plays`; or a dict of them

    Examples
    --------
    >>> from bough.kernels import Gaussian
    >>> f"{regret_bound(Gaussian(100.0), 200, 10, noise=0.1, plays=1e9):.4e}"
    '7.7576e+08'
    >>> table = regret_bound(Gaussian(3.0), 10, 6, 0.3, plays=1000, breakdown=True)
    >>> min(table, key=table.get)
    'envelope'
    """
    setting = check_setting(kernel, branching, depth, noise)
    confidence = Confidence(delta)
    check_choice(method, "method", (*METHODS, "best", "agnostic"))
    compute_gain = gains.check_method(gain, "gain", setting)
    names = [*METHODS, "best"]
    if norm is not None:
        norm = at_least_zero(norm, "norm")
        names.append("agnostic")
    elif method == "agnostic":
        raise ValueError(
            "method 'agnostic' needs norm: an upper bound on the norm of the reward function in "
            "the kernel's Hilbert space"
        )

    def table(plays: int) -> dict[str, float]:
        if setting.variance == 0.0:
            return dict.fromkeys(names, 0.0)
        first, last = (confidence.sqrt_beta(t, setting.log_arms) for t in (1, plays))
        terms = Terms(setting, plays, compute_gain(setting, plays), first, last)
        bounds = {name: compute(terms) for name, compute in METHODS.items()}
        bounds["best"] = min(bounds.values())
        if norm is not None:
            bounds["agnostic"] = _agnostic(terms, delta, norm)
        return bounds

    counts, shape = check_all_plays(plays, 1)
    tables = [table(n) for n in counts]
    if breakdown:
        return {name: shaped([bounds[name] for bounds in tables], shape) for name in names}
    return shaped([bounds[method] for bounds in tables], shape)


def simple_regret_bound(
    kernel: Kernel | Structure,
    branching: int,
    depth: int,
    noise: float,
    plays: Any,
    delta: float = 0.05,
    method: str = "best",
    *,
    gain: str | None = None,
    norm: float | None = None,
) -> Any:
    """Return a bound on f* - max f(x_t), the regret of the best arm played: R_T / T.

    The parameters are those of `regret_bound`.

    >>> from bough.kernels import Linear
    >>> round(simple_regret_bound(Linear(), 2, 3, noise=0.1, plays=10**6), 4)
    0.018
    """
    setting = (kernel, branching, depth, noise)
    totals = regret_bound(*setting, plays, delta, method, gain=gain, norm=norm)
    return totals / shaped(*check_all_plays(plays, 1))


def empirical_regret_bounds(
    kernel: Kernel | Structure,
    branching: int,
    depth: int,
    noise: float,
    plays: int,
    delta: float = 0.05,
    method: str = "best",
    *,
    noise_delta: float = 0.05,
    gain: str | None = None,
    norm: float | None = None,
) -> tuple[float, float]:
    """Return bounds on f* - y_best and on y_best - f*, where y_best is the highest reward seen.

    f* - y_best <= R_T / T + sigma sqrt(2 log(1/d) / T) with probability 1 - delta - d, and y_best -
    f* <= sigma sqrt(2 log(T/d)) with probability 1 - d, d = `noise_delta`. The second grows with T:
    no two-sided bound falls with T, as the paper claims (erratum 42).

    >>> from bough.kernels import Linear
    >>> above, below = empirical_regret_bounds(Linear(), 2, 3, noise=0.1, plays=10**6)
    >>> f"{above:.4f} {below:.4f}"
    '0.0183 0.5798'
    """
    log = -math.log(between_zero_and_one(noise_delta, "noise_delta"))
    plays = check_plays(plays, 1)
    simple = simple_regret_bound(
        kernel, branching, depth, noise, plays, delta, method, gain=gain, norm=norm
    )
    above = simple + noise * math.sqrt(2 * log / plays)
    return above, noise * math.sqrt(2 * (math.log(plays) + log))


def plays_needed(
    kernel: Kernel | Structure,
    branching: int,
    depth: int,
    noise: float,
    regret: float,
    delta: float = 0.05,
    method: str = "best",
    *,
    gain: str | None = None,
    norm: float | None = None,
) -> int:
    """Return the number of plays after which the average regret is at most `regret`.

    The other parameters are those of `regret_bound`.

    One play fewer does not guarantee it, nor does any smaller power of two: the bound on the
    average may rise a little before it falls.

    Raises
    ------
    ValueError
        If 10^100 plays do not suffice.

    Examples
    --------
    >>> from bough.kernels import Gaussian
    >>> plays_needed(Gaussian(3.0), 5, 10, noise=0.1, regret=0.1)
    61471696038
    """
    target = above_zero(regret, "regret")

    def too_few(plays: int) -> bool:
        if plays > MOST_PLAYS:
            raise ValueError(
                f"regret must be larger than {target:g}: the bound does not guarantee it within "
                "10^100 plays of this tree"
            )
        setting = (kernel, branching, depth, noise)
        bound: float = regret_bound(*setting, plays, delta, method, gain=gain, norm=norm)
        return bound / plays > target

    return smallest_enough(too_few)
