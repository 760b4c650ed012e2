"""Slow reference implementations of the bounds: enumeration, dense algebra, heaps, mpmath.

Nothing here uses bough.theory, and wherever possible another algorithm.
"""

import functools
import heapq
import itertools
import math

import mpmath
import numpy as np
from mpmath import mp, mpf

from bough import kernels


def dense_matrix(kernel, branching, depth):
    """Return the kernel matrix of all arms, from the definition of a kernel of paths."""
    arms = list(itertools.product(range(branching), repeat=depth))
    return kernel.matrix(arms, depth)


def enumerated_gain(K, noise, plays):
    """Return the largest information gain over all multisets of arms."""
    best = 0.0
    for chosen in itertools.combinations_with_replacement(range(len(K)), plays):
        C = K[np.ix_(chosen, chosen)]
        best = max(best, 0.5 * np.linalg.slogdet(np.eye(plays) + C / noise**2)[1])
    return best


def heap_greedy(eigenvalues, noise, plays):
    """Return the greedy gain over eigenvectors, one pick at a time, and the counts."""
    heap = [(-value, i, 0) for i, value in enumerate(eigenvalues) if value > 0]
    heapq.heapify(heap)
    counts = [0] * len(eigenvalues)
    total = 0.0
    for _ in range(plays if heap else 0):  # a kernel without variance has none
        variance, i, picks = heap[0]
        total += 0.5 * math.log1p(-variance / noise**2)
        counts[i] += 1
        rest = eigenvalues[i] / (1 + (picks + 1) * eigenvalues[i] / noise**2)
        heapq.heapreplace(heap, (-rest, i, picks + 1))
    return total, counts


# ------------------------------------------------------------------------- with many digits


def steps(kernel, depth):
    """Return the increments of a kernel, with all the digits that mpmath has."""
    if isinstance(kernel, kernels.Scaled):
        return [mpf(kernel.factor) * v for v in steps(kernel.kernel, depth)]
    if isinstance(kernel, kernels.Linear):
        return [mpf(kernel.variance) / (depth + 1)] * (depth + 1)
    if isinstance(kernel, kernels.Gaussian):
        rate, v = 1 / mpf(kernel.width) ** 2, mpf(kernel.variance)
        chi = [v * mpmath.exp(-d * rate) for d in range(depth + 1)]
        return [chi[depth]] + [chi[depth - k] - chi[depth - k + 1] for k in range(1, depth + 1)]
    if isinstance(kernel, kernels.Geometric):
        ratio, v, root = mpf(kernel.ratio), mpf(kernel.variance), mpf(kernel.root)
        shares = [ratio**k for k in range(1, depth + 1)]
        scale = v * (1 - root) / (sum(shares) or 1)
        return [v * root] + [scale * share for share in shares]
    assert isinstance(kernel, kernels.Discounted)
    gamma, v = mpf(kernel.discount), mpf(kernel.variance)
    return [mpf(0)] + [v * gamma ** (2 * (k - 1)) for k in range(1, depth + 1)]


def eigenvalues(kernel, branching, depth):
    """Return (eigenvalue, multiplicity), increasing, by the sums of the theorem."""
    return _eigenvalues(kernel, branching, depth, mp.dps)


@functools.lru_cache(maxsize=16)
def _eigenvalues(kernel, branching, depth, digits):
    c = steps(kernel, depth)
    total, power, found = mpf(0), mpf(1), []
    for i in range(1, depth + 1):
        total += power * c[depth - i + 1]
        power *= branching
        found.append((total, (branching - 1) * branching ** (depth - i)))
    return [*found, (total + power * c[0], 1)]


def exact_gain(kernel, branching, depth, noise, plays):
    """Return I*: the recursion over evenly split plays, top down."""
    c, known = steps(kernel, depth), {}

    def node(k, n):
        if (k, n) not in known:
            if k == depth:
                L, S = mpf(0), mpf(n) / mpf(noise) ** 2
            else:
                each, rest = divmod(n, branching)
                L0, S0 = node(k + 1, each)
                L1, S1 = node(k + 1, each + 1) if rest else (mpf(0), mpf(0))
                L, S = (branching - rest) * L0 + rest * L1, (branching - rest) * S0 + rest * S1
            known[k, n] = L + mpmath.log1p(c[k] * S), S / (1 + c[k] * S)
        return known[k, n]

    for k in range(depth, -1, -1):  # from the leaves, so that no call goes deep
        for n in {plays // branching**k, plays // branching**k + 1}:
            node(k, n)
    return node(0, plays)[0] / 2


def greedy_gain(kernel, branching, depth, noise, plays):
    """Return I_g: bisection for the level below which at most T keys lie."""
    spectrum = eigenvalues(kernel, branching, depth)
    classes = [(mpf(noise) ** 2 / x, nu) for x, nu in spectrum if x > 0 and nu]
    floors = [int(mpmath.floor(rho)) for rho, _ in classes]

    def count(h):
        return sum(nu * (h - f) for (_, nu), f in zip(classes, floors, strict=True) if h > f)

    low = min(floors)
    high = low + plays + 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) <= plays else (low, middle)
    picks = [max(0, low - f) for f in floors]
    left = plays - sum(nu * m for (_, nu), m in zip(classes, picks, strict=True))
    total = mpf(0)
    keys = sorted(
        (rho + m, rho, j) for j, ((rho, _), m) in enumerate(zip(classes, picks, strict=True))
    )
    extra = [0] * len(classes)
    for key, _, j in keys:
        if key < low + 1:
            extra[j] = min(left, classes[j][1])
            left -= extra[j]
    assert left == 0
    for (rho, nu), m, e in zip(classes, picks, extra, strict=True):
        total += (nu - e) * mpmath.log1p(m / rho) + e * mpmath.log1p((m + 1) / rho)
    return total / 2


def waterfilling_gain(kernel, branching, depth, noise, plays):
    """Return I_wf: the level of the water by trying all numbers of active classes."""
    left, kept = min(plays, branching**depth), []
    for x, nu in reversed(eigenvalues(kernel, branching, depth)):
        size = min(nu, left)
        left -= size
        if size and x > 0:
            kept.append((mpf(noise) ** 2 / x, size))
    best = mpf(0)
    for j in range(1, len(kept) + 1):
        members = sum(n for _, n in kept[:j])
        level = (plays + sum(n * rho for rho, n in kept[:j])) / members
        if level > kept[j - 1][0] and (j == len(kept) or level <= kept[j][0]):
            best = sum(n * mpmath.log(level / rho) for rho, n in kept[:j]) / 2
    return best


def uniform_gain(kernel, branching, depth, noise, plays):
    """Return I_unif."""
    each = plays / (mpf(branching) ** depth * mpf(noise) ** 2)
    total = sum(nu * mpmath.log1p(x * each) for x, nu in eigenvalues(kernel, branching, depth))
    return total / 2


def hadamard_gain(kernel, branching, depth, noise, plays):
    rank = min(plays, branching**depth)
    variance = sum(steps(kernel, depth))
    return mpf(rank) / 2 * mpmath.log1p(variance * plays / (rank * mpf(noise) ** 2))


def envelope(u, most):
    """Return the concave envelope of sqrt(e^u - 1) on [0, most]: the highest chord, by sections."""

    def height(x):
        return mpmath.sqrt(mpmath.expm1(x))

    u = min(u, most)
    if most <= mpmath.log(2):
        return height(u)
    slope = lambda a: height(a) + mpmath.exp(a) / (2 * height(a)) * (most - a) - height(most)  # noqa: E731
    low, high = mpf(10) ** -400, mpmath.log(2)
    while high / low - 1 > mpf(10) ** -20:
        middle = mpmath.sqrt(low * high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    if u <= low:
        return height(u)
    return height(low) + (u - low) / (most - low) * (height(most) - height(low))


def regret_bounds(kernel, branching, depth, noise, plays, delta):
    """Return all forms of the regret bound."""
    T, sigma = plays, mpf(noise)
    variance = sum(steps(kernel, depth))
    gain = exact_gain(kernel, branching, depth, noise, plays)
    log_first = depth * mpmath.log(branching) + mpmath.log(mp.pi**2 / (6 * mpf(delta)))
    first, last = 2 * log_first, 2 * (log_first + 2 * mpmath.log(T))
    signal = variance / sigma**2
    ratio = variance / mpmath.log1p(signal)
    most = mpmath.log1p(signal)

    def dawson(x):
        return mpmath.sqrt(mp.pi) / 2 * mpmath.exp(-(x**2)) * mpmath.erfi(x)

    z1, zT = mpmath.sqrt(first) / 2, mpmath.sqrt(last) / 2
    W = mpmath.sqrt(last) + 2 * (T * (zT - dawson(zT)) - (z1 - dawson(z1)))
    W = min(W, T * mpmath.sqrt(last))
    sum_beta = 2 * T * log_first + 4 * mpmath.loggamma(T + 1)
    cap = mpmath.log1p(signal * first / last)
    bounds = {
        "theorem": mpmath.sqrt(8 * ratio * last * T * gain),
        "sum-beta": 2 * mpmath.sqrt(sum_beta * 2 * gain * ratio),
        "envelope": 2 * T * mpmath.sqrt(last) * sigma * envelope(2 * gain / T, cap),
        "weighted-envelope": 2 * W * sigma * envelope(2 * gain * mpmath.sqrt(last) / W, most),
        "trivial": 2 * T * mpmath.sqrt(first * variance),
    }
    bounds["best"] = min(bounds.values())
    return bounds
