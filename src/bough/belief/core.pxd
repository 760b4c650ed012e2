# cython: language_level=3
"""The C side of `_core.py`: what its arrays hold, and the types of its classes and methods.

Doubles and ints inside the methods are inferred.
"""

from bough.belief.nodes cimport Nodes

cdef int ROOT, NONE
cdef int STEP, OWN_NOISE, CERTAIN
cdef double INF, LOG_TWO_PI, LARGEST, TINY, PRECISE

cdef double inverse(double x) noexcept


# What was told, as it was told.
cdef struct Reading:
    int node
    int kind  # the sum of STEP (of the node's step, not of F), OWN_NOISE and CERTAIN
    long long ends  # the depth of what was read: the node's own, or of an unknown node below it
    double value
    double variance  # of the noise, with that of the steps down to where it ends
    double share  # of the variance of the common noise; with OWN_NOISE, variance of the own one


cdef class Core(Nodes):
    cdef readonly double noise
    cdef long long observations
    cdef double likelihood  # a compensated sum: the total is likelihood + likelihood_rest
    cdef double likelihood_rest
    cdef double farthest  # deviation from the root's prior mean told so far
    cdef bint fine  # the likelihood asks for more digits than a double has
    cdef Reading[::1] readings_
    cdef int told  # how many of them there are

    cdef void _forget_readings(self) noexcept
    cdef void _reserve(self, int more)
    cdef void _gather(self, int group) noexcept
    cdef double _precision(self, int n) noexcept
    cdef double _known_value(self, int n) noexcept
    cdef double _shift(self, int n) noexcept
    cdef double _tau(self, int n) noexcept
    cdef double _eta(self, int n) noexcept
    cdef void _refresh(self, int n) noexcept
    cdef void _add_message(self, int n, double tau, double eta) noexcept
    cdef void _pass_up(self, double tau, double eta) noexcept
    cdef void _changed(self) noexcept
    cdef void _note(self, double residual, double variance) noexcept
    cdef void _add_density(self, double residual, double variance) noexcept
    cdef void _take_value(self, int n, double y, double s2) noexcept
    cdef void _log(self, int n, int kind, int ends, double share, double value, double deviation, double variance, double s2) noexcept
    cdef void _judge(self, double deviation, double total, double s2) noexcept
    cdef int _ends(self, depth) except -1
    cdef double _variance_of(self, int kind, double share, int depth, int ends) noexcept
    cdef double _noise_variance(self, noise)
    cdef void _check_exact(self, double y, double s2)
    cdef double _rounding(self, double y) noexcept
    cdef void _tell(self, int n, double y, double s2, int kind, int ends, double share)
