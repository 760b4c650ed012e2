# cython: language_level=3
"""The C side of `_steps.py`."""

from bough.belief.core cimport Core

cdef int ROOT, NONE, STEP, OWN_NOISE
cdef double INF, TINY, LARGEST


cdef class Steps(Core):
    # Scratch space.
    cdef double[::1] values  # the last rewards of single steps,
    cdef double[::1] variances  # of their noise,
    cdef double[::1] shares  # their `share`,
    cdef double[::1] residuals  # how far each was from what was predicted,
    cdef double[::1] predicted  # and the variance of that, without the noise

    cdef void _make_scratch(self)
    cdef void _take_step(self, int n, double r, double s2) noexcept
    cdef void _foretell_steps(self, dict plan)
    cdef void _tell_steps(self, path, list rewards, list shares, int kind)
    cdef void _take_steps(self, int kind)
    cdef double _step_rounding(self, int n, double r) noexcept
    cdef double _certain_rounding(self, int i, int n) noexcept
