"""The C side of `_tallies.py`."""

from bough.belief.rng cimport SplitMix64

cdef int ROOT, NONE
cdef double INF


cdef struct Tally:
    int child  # first of the list of children, which is in the order of the index, or NONE
    int sibling  # next in the list that this node is in, or NONE
    int parent
    int index  # which child it is
    int branching  # children in the tree; 0 for a leaf
    int explored  # children that are nodes
    int visits  # rewards received through the node
    int waiting  # evaluations pending through it
    int busy  # children below which nothing new can be learnt now
    int ended  # rewards of paths that end here
    double average  # of the rewards received through the node
    double itself  # of those of paths that end here, if others go on; or of the step to the node
    double bound  # what `_bounds.py` makes of it: the most that can be hoped for below


cdef class Tallies:
    cdef readonly object tree
    cdef bint exact  # a reward told once is known
    cdef readonly long long observations
    cdef long long arms  # how many were played
    cdef double within  # sum of squared deviations from the average of the arm,
    cdef double scatter  # and from that of all rewards

    cdef Tally[::1] nodes_
    cdef readonly int used  # how many of them there are
    cdef int before  # the node in front of where the last one sought is, or belongs
    cdef bint ragged  # a function says how many children a node has
    cdef int[::1] widths  # else branching at each depth

    cdef int _width(self, tuple path, int length)
    cdef int _new(self, int parent, int index, int branching) noexcept
    cdef int _find(self, int n, int index) noexcept
    cpdef int end_of(self, tuple path)
    cpdef tuple path_to(self, int n)
    cpdef int add(self, tuple path, double reward)
    cpdef double variance(self)
    cpdef int wait(self, tuple path, int change)
    cdef bint _is_busy(self, int n) noexcept
    cdef void _count_busy(self, int n, int change) noexcept
    cpdef tuple descend(self, double exploration, SplitMix64 rng)
    cpdef tuple wander(self, SplitMix64 rng)
    cdef tuple _wander(self, int n, list path, SplitMix64 rng)
    cdef tuple _finish(self, list path, SplitMix64 rng)
    cpdef int most_visited(self)
    cdef int _fresh(self, int n, SplitMix64 rng)
    cdef int _idle(self, int n, int rank) noexcept
