"""What other algorithms promise, to put beside our own bounds.

They assume other things (bounded rewards, a smallest gap, a known horizon) and some are rates
without constants, so the columns compare how bounds grow rather than who wins. The derivations for
BAST and flat UCB are our own, for noise of standard deviation sigma, with all constants; BAST's is
in the setting and of the form of Theorem 4 of Coquelin and Munos (2007).
"""

import math
from typing import Any

from bough._validation import above_zero, at_least_zero, listed, real, whole
from bough.theory._problem import read_branching, read_plays


def visits_needed(gap: float, log_nodes: float, noise: float, delta: float) -> int:
    """Return how often a node that is worse by `gap` can be visited before its bound shows it.

    The average of n rewards is within c_n = sigma sqrt(2 log(2 M n (n+1) / delta) / n) of what it
    estimates, for all n and all M nodes at once, with probability 1 - delta. A node whose upper
    bound is at most its value plus 2 c_n is not visited again once 2 c_n < gap.

    >>> visits_needed(0.5, math.log(1023), noise=0.5, delta=0.05)
    167
    """
    gap, noise = above_zero(gap, "gap"), at_least_zero(noise, "noise")
    constant = log_nodes + math.log(2) - math.log(delta)
    log_square = 2 * (math.log(gap) - math.log(noise)) if noise > 0.0 else math.inf

    def wide(n: int) -> bool:
        log = constant + math.log(n) + math.log(n + 1)
        # 8 log >= (gap / noise)^2 n, by logarithms: the square of 1e-170 would be 0
        return noise > 0.0 and math.log(8 * log) >= log_square + math.log(n)

    if not wide(1):
        return 1
    few, many = 1, 2  # wide at `few`; not at `many`, once it is large enough
    while wide(many):
        few, many = many, many * 2
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if wide(middle) else (few, middle)
    return many


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
    """Return a bound on BAST's regret, whatever the number of plays, with probability 1 - delta.

    On the event of `visits_needed` no node on the path to the best arm has an upper bound below f*,
    since what is played below it is within delta_d of f*. So a node i at depth d is visited only
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
        The probability with which the bound may fail.

    Examples
    --------
    >>> deltas = [0.5**d for d in range(10)] + [0.0]
    >>> round(bast_bound(2, 10, deltas, gap=0.1))
    442307
    """
    B = read_branching(branching)
    D = whole(depth, "depth", least=0)
    gap, spread = above_zero(gap, "gap"), at_least_zero(spread, "spread")
    if not 0 < real(delta, "delta") < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta!r}")
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
    """Return a bound on the regret of UCB that takes the arms to be unrelated.

    With the intervals of `visits_needed` an arm's n-th replay costs at most 2 c_n, its first play
    at most `spread`. Without a gap: N spread + 4 sigma sqrt(2 log(2 N T (T+1) / delta) N T), if T >
    N; until then every play is of a new arm. With a gap each arm is replayed at most n(gap) times.

    >>> round(ucb_bound(1024, 10**6, noise=0.5, spread=1.0))
    560805
    """
    N = whole(arms, "arms", least=1)
    T = read_plays(plays, 1)
    noise, spread = at_least_zero(noise, "noise"), at_least_zero(spread, "spread")
    if not 0 < real(delta, "delta") < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta!r}")
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
    """Return e of OLOP's simple regret, O~(n^-e) after n calls of the generative model.

    e = min(a, 1/2), a = log_B(1/gamma), for the hardest problems (Bubeck and Munos, 2010). A play
    of a path of depth D is D calls: n = D T.

    >>> olop_rate(4, 0.5)
    0.5
    """
    B = read_branching(branching, least=2)
    discount = above_zero(discount, "discount")
    if discount > 1:
        raise ValueError(f"discount must be at most 1, got {discount!r}")
    return min(-math.log(discount) / math.log(B), 0.5)


def olop_rate_bound(branching: int, discount: float, depth: int, plays: Any) -> float:
    """Return T (D T)^-e: how OLOP's regret grows, without its constants and logarithms.

    >>> round(olop_rate_bound(4, 0.5, depth=10, plays=1000), 9)
    10.0
    """
    depth = whole(depth, "depth", least=1)
    T = read_plays(plays, 1)
    return T * math.exp(-olop_rate(branching, discount) * math.log(depth * T))


def _product(factor: float, count: int) -> float:
    try:
        return factor * count
    except OverflowError:
        return math.inf if factor else 0.0
