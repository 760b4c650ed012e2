# cython: language_level=3
"""Declarations of best_arm.py."""

cimport cython

from bough.belief.nodes cimport GROUP, INF, NONE, NO_ARM, ROOT, UNEXPLORED, Nodes
from bough.belief.rng cimport SplitMix64

cdef enum:
    UPPER = 0
    UNKNOWN = 1
    ALL = 2
    LOWER = 3
    MEAN = 4
    OBSERVED_LOWER = 5
    OBSERVED_MEAN = 6
    SEARCHES = 7


# An upper bound of the best arm below the children of a node, as it was when they were searched.
cdef struct Bound:
    double top  # the bound when the node had ...
    double m  # ... this posterior mean,
    double sd  # this standard deviation,
    double b  # and this b was asked for
    double gmax  # most and least that an arm below moves with F of the node
    double gmin
    double smax  # largest standard deviation of those arms
    long long stamp  # the last change before the search


# A node that the search is in the middle of, and a child of it that may be worth entering.
cdef struct Frame:
    int node
    int entry  # where the parent's frame keeps this node
    int start  # first entry of this frame
    double m
    double sd
    double top  # best of the arms of the children, and of the bounds not worth an entry
    double gmax
    double gmin
    double smax


cdef struct Entry:
    double bound
    double m
    double variance
    double sd
    long long node


@cython.final
@cython.freelist(16)
cdef class Arm:
    cdef readonly tuple path
    cdef readonly object params
    cdef readonly double mean
    cdef readonly double std
    cdef readonly double lower
    cdef readonly double upper
    cdef readonly object value
    cdef readonly int visits


@cython.final
cdef class ArmSearch:
    cdef Nodes nodes
    cdef readonly long long touched  # nodes, by the last search

    cdef Bound[:, ::1] bounds  # one row for each kind of search made so far
    cdef int[::1] row  # the row of each kind, NONE if there was no such search
    cdef int rows

    # Scratch space.
    cdef Frame[::1] frames
    cdef Entry[::1] entries
    cdef int bounds_row  # of the search being made: its bounds,
    cdef double b  # its b,
    cdef bint counts_pending  # whether its standard deviations count pending evaluations,
    cdef bint skips_known  # whether it leaves out arms that are known exactly or pending,
    cdef bint observed_only  # or those without observations,
    cdef bint covers_all  # or counts all nodes there can be, where arms are new nodes only,
    cdef double best  # and the best arm so far; best_node is NONE if there is none
    cdef int best_node
    cdef double best_m
    cdef double best_sd
    cdef int ties

    cdef int _make_room(self, int kind) except -1
    cdef object _highest(self, int kind, double b, SplitMix64 rng)
    cdef int _search(self, int kind, double b, SplitMix64 rng) except -1
    cdef double _bound(self, int c, double m, double sd) noexcept
    cdef int _enter(self, int top, int n, int entry, int entries, double m, double variance, double sd, SplitMix64 rng) except -1
    cdef double _extra(self, int n, double variance) noexcept
    cdef double _largest_sd(self, int c, double sd) noexcept
    cdef void _leave(self, int top, double hi, int entries) noexcept
    cdef void _consider(self, int n, double m, double sd, SplitMix64 rng) noexcept
    cdef bint _prefer(self, int n, int other, int weight, int total, SplitMix64 rng) noexcept
    cpdef highest_upper(self, sqrt_beta, rng)
