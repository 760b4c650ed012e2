"""How much regret a given amount of information can hide: a concave envelope.

A play that gives u/2 nats has posterior standard deviation h(u) = sigma sqrt(exp(u) - 1) before it.
h is concave up to log 2 and convex after, so the sum of h(u_t) for a given sum of u_t is at most T
times the concave envelope of h at their mean: h itself up to where the line through (U, h(U))
touches it, and that line from there on.
"""

import functools
import math


def envelope(u: float, most: float) -> float:
    """Return the concave envelope of sqrt(exp(u) - 1) on [0, most], at u.

    >>> envelope(0.5, 0.5) == math.sqrt(math.expm1(0.5))
    True
    >>> round(envelope(1.0, 5.0), 6)
    2.513271
    """
    u = min(max(u, 0.0), most)
    if most <= math.log(2):
        return _height(u)
    touch = _touch(most)
    if u <= touch:
        return _height(u)
    share = (u - touch) / (most - touch)
    return _height(touch) + share * (_height(most) - _height(touch))


def _height(u: float) -> float:
    return math.sqrt(math.expm1(u))


@functools.lru_cache(maxsize=16)  # it does not depend on the number of plays
def _touch(most: float) -> float:
    """Return where the tangent of the height passes through its value at `most`."""
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
