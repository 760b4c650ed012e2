# cython: language_level=3
"""The C side of `_pending.py`."""

from bough.belief.core cimport inverse
from bough.belief.steps cimport Steps

cdef int NONE, OWN_NOISE
cdef double INF


cdef class Pending(Steps):
    cdef dict tokens  # of pending evaluations: node, s^2, and kind, ends, share of the reading
    cdef dict waiting_at  # how many are pending at a node, for each s^2

    cdef void _changed(self) noexcept
    cdef void _gather(self, int group) noexcept
    cdef void _count_pending(self, int n) noexcept
    cdef void _sum_own(self, int n)
    cdef void _withdraw(self, token)
    cdef void _reopened(self) noexcept
