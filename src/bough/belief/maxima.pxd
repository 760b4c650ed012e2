"""The C side of `_subtree.py`."""

from bough.belief.best_arm cimport Choice
from bough.belief.rng cimport SplitMix64

cdef int ROOT, NONE, ENDLESS
cdef double INF
cdef int EXACT_COUNTS
cdef double COUNT_RATIO, FARTHEST, PLACES
cdef double[:, ::1] NORMAL


# M, the best F of the arms below a node, given F = x of the node: normal, mean a + k x
cdef struct Maximum:
    double a
    double k
    double variance
    double x  # where it was linearised: the node's posterior mean at the time
    int closed  # whether all arms below are known exactly or pending,
    int determined  # or would be if F of the node were known


cdef class Subtree(Choice):
    cdef Maximum[::1] maxima
    cdef int summarised  # how many nodes have one; 0 if nobody asked for maxima
    cdef double[:, ::1] ahead_mean  # of the best of u fresh children of a node at each depth
    cdef double[:, ::1] ahead_sd
    cdef double[::1] means  # posterior means along the trail
    # The maximum of what was merged so far: its moments at x, and its slope.
    cdef double top
    cdef double top_variance
    cdef double top_slope
    cdef bint merged

    cdef void _reserve(self, int more)
    cdef void _changed(self) noexcept
    cdef void _summarise_all(self) noexcept
    cdef void _set_mean(self, int n, int parent) noexcept
    cdef void _summarise(self, int n, double x) noexcept
    cdef void _merge(self, double mean, double variance, double slope) noexcept
    cdef double _ahead(self, double[:, ::1] table, int depth, int count) noexcept
    cdef int _fresh(self, int n) noexcept
    cdef int _highest_child(self, int n, double m, double variance, double bonus, bint skip, SplitMix64 random)
    cdef bint _is_known(self, int c, double spread, double variance) noexcept
    cdef int _next(self, int c, int n) noexcept
    cdef double _q(self, int n) noexcept
    cdef double _spread(self, int n) noexcept
