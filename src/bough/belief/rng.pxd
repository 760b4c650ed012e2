"""Declarations of rng.py."""

cimport cython

cdef unsigned long long MASK, GOLDEN, MIX_A, MIX_B


@cython.final
cdef class SplitMix64:
    cdef unsigned long long state

    cdef unsigned long long draw(self) noexcept
    cpdef int below(self, int n)


cpdef generator(rng)
