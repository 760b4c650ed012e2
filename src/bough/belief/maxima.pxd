# cython: language_level=3
"""Declarations of maxima.py."""

cimport cython

from bough.belief.nodes cimport ENDLESS, GROUP, INF, NONE, ROOT, Nodes
from bough.belief.rng cimport SplitMix64

cdef int EXACT_COUNTS
cdef double COUNT_RATIO, FARTHEST, PLACES
cdef double[:, ::1] NORMAL


# M, the best F of the arms below a node, given F = x of the node: normal, mean a + k x
cdef struct Maximum:
    double a
    double k
    double variance
    double x  # where it was linearized: the node's posterior mean at the time
    int closed  # whether all arms below are known exactly or pending,
    int determined  # or would be if F of the node were known


@cython.final
cdef class Maxima:
    cdef Nodes nodes
    cdef readonly bint prepared  # whether there are tables, and maxima are kept
    cdef Maximum[::1] array
    cdef int seen  # the last change that they reflect
    cdef double[:, ::1] table_mean  # of the best of u unexplored children of a node at each depth
    cdef double[:, ::1] table_sd
    # The maximum of the variables that were merged so far: its moments at x, and its slope.
    cdef double top
    cdef double top_variance
    cdef double top_slope
    cdef bint merged

    cdef int _next_changed(self, int c, int since) noexcept
    cdef void _set_mean(self, int n, int parent) noexcept
    cdef void _summarize(self, int n, double x) noexcept
    cdef void _merge(self, double mean, double variance, double slope) noexcept
    cdef double _look_up(self, double[:, ::1] table, int depth, int count) noexcept
    cdef int _unexplored(self, int n) noexcept
    cdef int _highest_child(self, int n, double m, double variance, double bonus, bint skip, SplitMix64 random) noexcept
    cdef bint _is_known(self, int c, double spread, double variance) noexcept
    cdef int _next(self, int c, int n) noexcept
    cdef double _q(self, int n) noexcept
    cdef double _spread(self, int n) noexcept
