"""Declarations of rng.py."""

cimport cython

cdef unsigned long long MASK, GOLDEN, MIX_A, MIX_B
cdef double TWO_TO_64


@cython.final
cdef class SplitMix64:
    cdef readonly unsigned long long state

    cdef unsigned long long draw(self) noexcept
    cpdef int below(self, int n)


cdef unsigned long long mixed(unsigned long long z) noexcept
cpdef unsigned long long child_hash(unsigned long long state, unsigned long long step)
cpdef list path_hashes(unsigned long long state, tuple path)
cpdef double weighted_hashes(unsigned long long state, tuple path, list weights)
cpdef generator(rng)
