"""Declarations of likelihood.py."""

cimport cython

from bough.belief.nodes cimport GROUP, INF, NONE
from bough.belief.posterior cimport Posterior

cdef double LOG_TWO_PI, LEAST, MOST, ROUNDING


@cython.final
cdef class Evidence:
    cdef readonly double shift
    cdef readonly double scale
    cdef readonly long long observations
    cdef readonly long long densities  # of the last likelihood,
    cdef readonly double restriction  # the term added when the mean is integrated out
    cdef int depth

    # One entry for each node that matters: parents first, then unknown nodes below known ones (rollouts).
    cdef readonly int[::1] node  # its number in the belief; NONE for an unknown one
    cdef readonly int[::1] parent
    cdef readonly int[::1] slot  # of its edge, in the arrays below
    cdef readonly double[::1] rise  # of the prior mean along the edge, by `factor`
    cdef readonly double[:, ::1] weight  # observations of F (row 0) and of the step (row 1)
    cdef readonly double[:, ::1] value
    cdef double[:, ::1] own_precision
    cdef double[:, ::1] own_value
    cdef double[::1] R
    cdef double[::1] Z
    cdef readonly double[::1] m
    cdef readonly double[::1] V
    cdef int[::1] entry  # of each node of the belief
    cdef int beyond  # the first unknown node

    # The different edges: first and last depth, sum of their increments, derivative by it.
    cdef readonly int[::1] tops
    cdef readonly int[::1] bottoms
    cdef double[::1] spans
    cdef double[::1] slopes

    cdef readonly bint has_steps
    cdef readonly long long common  # the number of observations with the common noise
    cdef long long merged
    cdef double shared
    cdef readonly double scatter
    cdef double constant
    cdef long long settled

    # Scratch space: the parameters, the message at hand, the sums, and the derivatives.
    cdef double s2
    cdef double mean
    cdef double factor
    cdef double z
    cdef double r
    cdef long long factors
    cdef readonly double square
    cdef readonly double determinant  # the density without the squares of what y misses
    cdef double product
    cdef double logs
    cdef bint impossible
    cdef double by_noise
    cdef double by_mean
    cdef double by_factor

    cdef void _find_edges(self, Posterior posterior)
    cdef void _collect(self, Posterior posterior)
    cdef void _add_common(self, int row, int k, double y, double share) noexcept
    cdef void _add_own(self, int row, int k, double y, double variance) noexcept
    cdef void _add_constant(self, double gap, double variance) noexcept
    cdef void _meet(self, double z, double r, double z2, double r2) noexcept
    cdef void _own(self, int row, int k) noexcept
    cdef void _step(self, int k) noexcept
    cdef double _mu(self, int k) noexcept
    cdef double _up(self) noexcept
    cdef void _down(self, double doubt) noexcept
    cdef void _derive(self, int k, double m_above, double V_above) noexcept
    cdef double _step_square(self, int k, double m_above, double V_above) noexcept
