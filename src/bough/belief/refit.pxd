# cython: language_level=3
"""The C side of `_reprior.py`."""

from bough.belief.pending cimport Pending

cdef int ROOT, NONE, STEP, CERTAIN
cdef double INF


cdef class Reprior(Pending):
    cdef void _read_again(self, int i) noexcept
    cdef void _pend_again(self)
    cdef void _gather_all(self) noexcept
