"""Regret bounds of other algorithms (BAST, UCB, OLOP), for comparison with those of GPTS.

They rest on other assumptions (bounded rewards, a smallest gap, a known horizon), and that of OLOP
is a rate without constants, so compare how they grow rather than their values. The derivations for
BAST and flat UCB are our own, for noise of standard deviation sigma, with all constants; BAST's is
in the setting and of the form of Theorem 4 of Coquelin and Munos (2007).
"""

import math
from typing import Any

import numpy as np

from bough._validation import above_zero, at_least_zero, between_zero_and_one, listed, whole
from bough.kernels import Kernel, check_kernel
from bough.theory._setting import (
    Array,
    check_branching,
    check_choice,
    check_discount,
    check_plays,
    smallest_enough,
)


def smoothness(
    kernel: Kernel,
    depth: int,
    delta: float = 0.05,
    *,
    branching: int,
    among: str = "children",
) -> Array:
    """Return delta_0 .. delta_D, the smoothness in the sense of BAST of functions from a prior.

    Coquelin and Munos (2007) give every node the value of the best arm below it, f^(n), and assume,
    for nodes n at depth d, that f^(n) is at most delta_d above the value of any child (as the paper
    words it), or of any arm below n (which BAST's bounds need, being averages over the arms played
    below n). A Gaussian-process prior implies this with high probability:

    Arms: two arms below n differ by a Gaussian of variance at most 2 (c_{d+1} + .. + c_D), and
    depth d has N B^(D-d) ordered pairs of them. Children: take two children i and j of n, and for
    each arm below j its mirror image below i, with the same steps after the first. The best arm
    below j is better than its mirror image by such a Gaussian, and the mirror image is no better
    than the best arm below i. That makes N (B-1) pairs, all of which count, since the best arm is
    not known beforehand (the paper counts a single pair, which is not enough).

    Parameters
    ----------
    kernel, depth, branching
        The prior and the tree.
    delta : float
        The probability that the condition fails anywhere in the tree.
    among : str
        `"children"`: the value of a node is at most delta_d above that of each child. `"arms"`:
        above that of each arm below it.

    Examples
    --------
    >>> from bough.kernels import Discounted
    >>> smoothness(Discounted(0.5), 3, branching=2).round(3)
    array([5.364, 2.617, 1.171, 0.   ])
    """
    depth = whole(depth, "depth", least=0)
    delta = between_zero_and_one(delta, "delta")
    steps = check_kernel(kernel).increments(depth)
    check_choice(among, "among", ("children", "arms"))
    log_B = math.log(check_branching(branching))
    if log_B == 0.0:
        return np.zeros(depth + 1)  # an only child is as good as its parent
    below = np.append(np.cumsum(steps[:0:-1])[::-1], 0.0)  # sum of c_k over k > d
    # P(Z > z) <= exp(-z^2/2) / 2, over the pairs of all depths.
    levels = np.arange(depth, -1.0, -1.0)
    others = levels * log_B if among == "arms" else np.full(depth + 1, math.log(branching - 1))
    log_pairs = depth * log_B + others + math.log(max(depth, 1))
    z = np.sqrt(np.maximum(2 * (log_pairs - math.log(2 * delta)), 0.0))
    deltas: Array = z * np.sqrt(2 * below)
    return deltas


def visits_needed(gap: float, log_nodes: float, noise: float, delta: float) -> int:
    """Return the visits of a node that is worse by `gap` until its upper bound shows that.

    The average of n rewards is within c_n = sigma sqrt(2 log(2 M n (n+1) / delta) / n) of what it
    estimates, for all n and all M nodes at once, with probability 1 - delta. A node whose upper
    bound is at most its value plus 2 c_n is not visited again once 2 c_n < gap.

    >>> visits_needed(0.5, math.log(1023), noise=0.5, delta=0.05)
    167
    """
    gap, noise = above_zero(gap, "gap"), at_least_zero(noise, "noise")
    constant = log_nodes + math.log(2) - math.log(delta)
    log_square = 2 * (math.log(gap) - math.log(noise)) if noise > 0.0 else math.inf

    def too_few(n: int) -> bool:
        log = constant + math.log(n) + math.log(n + 1)
        # 8 log >= (gap / noise)^2 n, by logarithms: the square of 1e-170 would be 0
        return noise > 0.0 and math.log(8 * log) >= log_square + math.log(n)

    return smallest_enough(too_few)


def bast_bound(
    branching: int,
    depth: int,
    smoothness: Any,
    gap: float,
    *,
    noise: float = 0.5,
    spread: float = 1.0,
    delta: float = 0.05,
) -> float:
    """Return a bound on BAST's regret after any number of plays, with probability 1 - delta.

    On the event of `visits_needed` no node on the path to the best arm has an upper bound below f*,
    since all arms played below it are within delta_d of f*. So a node i at depth d is visited only
    while Delta_i <= delta_d + 2 c_n. Cut the tree at depth d: all other nodes there are worse by
    `gap` at least, and so are, below, the B - 1 siblings of each node on the path to the best arm.
    So the suboptimal plays are at most

        B^d n(gap - delta_d) + (B-1) sum_{d < j <= D} n(gap - delta_j),

    n(x) = `visits_needed(x)`, for each d with delta_d < gap. With delta_d = delta gamma^d the best
    d is about log(2 delta / gap) / log(1/gamma), and the bound grows like (2 delta / gap)^c /
    gap^2, c = log B / log(1/gamma): the form of BAST's Theorem 4.

    Parameters
    ----------
    branching, depth
        The tree.
    smoothness
        delta_0 .. delta_D: every arm below a node at depth d on the way to the best arm is within
        delta_d of it, as from `smoothness(..., branching=B, among="arms")`; delta_D is 0.
    gap
        The smallest f* - f(x) over suboptimal arms. It cannot be known in advance, and the smoother
        the rewards, the smaller it is.
    noise, spread
        Standard deviation of the noise (1/2 for rewards in [0, 1]), and the largest f* - f(x).
    delta
        The failure probability of the bound.

    Examples
    --------
    >>> deltas = [0.5**d for d in range(10)] + [0.0]
    >>> round(bast_bound(2, 10, deltas, gap=0.1))
    442307
    """
    B = check_branching(branching)
    D = whole(depth, "depth", least=0)
    gap, spread = above_zero(gap, "gap"), at_least_zero(spread, "spread")
    delta = between_zero_and_one(delta, "delta")
    deltas = [
        at_least_zero(x, f"smoothness[{d}]") for d, x in enumerate(listed(smoothness, "smoothness"))
    ]
    if len(deltas) != D + 1 or deltas[-1] != 0.0:
        raise ValueError(
            f"smoothness must be delta_0 .. delta_{D}, {D + 1} numbers of which the last is 0, "
            f"got {deltas}"
        )
    if B == 1 or D == 0:
        return 0.0  # there is one arm
    log_nodes = (D + 1) * math.log(B) - math.log(B - 1)
    visits = [visits_needed(gap - x, log_nodes, noise, delta) if x < gap else None for x in deltas]
    siblings, totals, power = 0, [], B**D
    for each in reversed(visits):
        if each is None:
            break
        totals.append(power * each + siblings)
        siblings += (B - 1) * each
        power //= B
    return _product(spread, min(totals))


def ucb_bound(
    arms: int,
    plays: Any,
    *,
    noise: float,
    spread: float,
    delta: float = 0.05,
    gap: float | None = None,
) -> float:
    """Return a bound on the regret of UCB on arms that it takes to be unrelated.

    With the intervals of `visits_needed` an arm's n-th replay costs at most 2 c_n, its first play
    at most `spread`. Without a gap: N spread + 4 sigma sqrt(2 log(2 N T (T+1) / delta) N T), if T >
    N; until then every play is of a new arm. With a gap each arm is replayed at most n(gap) times.

    >>> round(ucb_bound(1024, 10**6, noise=0.5, spread=1.0))
    560805
    """
    N = whole(arms, "arms", least=1)
    T = check_plays(plays, 1)
    noise, spread = at_least_zero(noise, "noise"), at_least_zero(spread, "spread")
    delta = between_zero_and_one(delta, "delta")
    if N == 1:
        return 0.0
    if T <= N:
        return spread * T
    log = math.log(2) + math.log(N) + math.log(T) + math.log(T + 1) - math.log(delta)
    free = N * spread + 4 * noise * math.sqrt(2 * log * N) * math.sqrt(T)
    bounds = [free, spread * T]
    if gap is not None:
        bounds.append(_product(spread, (N - 1) * visits_needed(gap, math.log(N), noise, delta)))
    return min(bounds)


def olop_rate(branching: int, discount: float) -> float:
    """Return the exponent e of OLOP's simple regret, O~(n^-e) after n calls of the model.

    e = min(a, 1/2), a = log_B(1/gamma), for the hardest problems (Bubeck and Munos, 2010). A play
    of a path of depth D is D calls: n = D T.

    >>> olop_rate(4, 0.5)
    0.5
    """
    B = check_branching(branching, least=2)
    return min(-math.log(check_discount(discount)) / math.log(B), 0.5)


def olop_rate_bound(branching: int, discount: float, depth: int, plays: Any) -> float:
    """Return T (D T)^-e, the growth of OLOP's regret without its constants and logarithms.

    >>> round(olop_rate_bound(4, 0.5, depth=10, plays=1000), 9)
    10.0
    """
    depth = whole(depth, "depth", least=1)
    T = check_plays(plays, 1)
    return T * math.exp(-olop_rate(branching, discount) * math.log(depth * T))


def _product(factor: float, count: int) -> float:
    try:
        return factor * count
    except OverflowError:
        return math.inf if factor else 0.0
