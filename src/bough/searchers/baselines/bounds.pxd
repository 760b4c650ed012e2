"""The C side of `_bounds.py`."""

from bough.belief.rng cimport SplitMix64
from bough.searchers.baselines.tallies cimport Tallies

cdef int ROOT, NONE
cdef double INF, PARTS, TINY


cdef class Bounds(Tallies):
    cdef double[::1] slack  # by depth, as the head of `_bounds.py` says
    cdef double[::1] gain
    cdef readonly int limit  # at this depth nodes are not told apart any more
    cdef bint stepwise  # rewards are told step by step
    cdef bint kl  # bounds by the Kullback-Leibler divergence
    cdef bint single_steps  # a play ends at the first node that did not exist
    cdef bint relative  # slack is in units of the range of rewards
    cdef bint known_range
    cdef double width, union
    cdef double low, high  # of the rewards (or steps) told, or as they are known to be
    cdef double base, ceiling  # the range that is worked with
    cdef readonly double scale  # and how wide that is

    cpdef set_width(self, double width, double union=*)
    cpdef set_limit(self, int limit)
    cdef bint _widen(self, double low, double high) noexcept
    cdef bint _set_scale(self, bint as_it_is) noexcept
    cpdef int add(self, tuple path, double reward)
    cpdef int add_steps(self, tuple path, double reward, list steps)
    cpdef int wait(self, tuple path, int change)
    cdef _back_up(self, int n, int depth, bint everywhere)
    cdef _renew(self)
    cdef double _bound(self, int n, int depth) noexcept
    cdef double _highest_below(self, int n) noexcept
    cdef double _upper(self, int n, double count) noexcept
    cpdef tuple follow(self, SplitMix64 rng)


cpdef double bernoulli_upper(double p, double most) noexcept
