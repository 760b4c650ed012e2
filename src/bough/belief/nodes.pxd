# cython: language_level=3
"""Declarations of nodes.py: the records of a node, and every constant that compiled modules share."""

cimport cython
from libc.math cimport INFINITY as INF

from bough.belief.rng cimport SplitMix64

cdef extern from *:
    """
    #define BOUGH_TINY 1e-100
    #define BOUGH_LARGEST 1e50
    """
    double TINY "BOUGH_TINY"  # variances below it count as 0
    double LARGEST "BOUGH_LARGEST"  # no value, mean or noise may be larger

cdef enum:
    ROOT = 0
    NONE = -1  # no node
    GROUP = -1  # the `count` of a group
    ENDLESS = 2147483647  # the branching of a node that never runs out of children
    NO_ARM = -1  # the `arm` of a node: none,
    ITSELF = 0  # the node itself,
    UNEXPLORED = 1  # or one of its unexplored children, with all that lies below it

cdef int LONGEST_LIST, MOST_GROUPS, GROUP_BITS, MOST_FORESEEN


cdef struct Node:
    # Read by searches: the first cache line.
    int child  # first of the list of children, or NONE
    int sibling  # next in the list that this node is in, or NONE
    int parent  # the node (perhaps a group) whose list it is in; NONE for the root
    int index  # which child it is; of a group, the lowest index that belongs in it
    double g
    double offset  # g (mu + v h)
    double spread  # v g
    int arm  # the node's own arm: NO_ARM, ITSELF or UNEXPLORED
    int stamp  # when something at the node or below last changed
    int count  # rewards observed at this very node; GROUP for a group
    int branching  # children in the tree; 0 for a leaf, ENDLESS if they never run out
    int explored  # children that are nodes (of a group: those in it)
    int group_bits  # the list holds groups of 2^group_bits neighbors (0: the children themselves)
    # Read and written by observations: the second.
    double own_precision  # sum of 1/s^2 of the observations of F_n; inf if one had no noise
    double own_value  # their mean, weighted by 1/s^2
    double sub_precision  # sum of tau over the children; inf if one makes F_n known ...
    double sub_shift  # sum of eta; ... and then F_n itself
    double v
    double mu
    double average  # plain mean of the rewards observed at this very node
    int visits  # observations at the node or below
    int depth


# The node with pending evaluations counted as observations.
cdef struct Pending:
    long long count  # pending evaluations at the node or below; if 0, the rest is not valid
    double own  # sum of 1/s^2 of those at this very node
    double q
    double spread  # v q
    double tau  # contribution to the parent's Q


@cython.final
cdef class Nodes:
    cdef readonly object tree
    cdef readonly double center  # the root's prior mean
    cdef readonly int used  # the number of nodes, groups included

    cdef Node[::1] array
    cdef Pending[::1] pending  # as long as `array` once there was a pending evaluation
    cdef int waiting  # the number of pending evaluations
    cdef int now  # the stamp of the last change
    cdef int reopened  # that of the last change that made an arm unknown which was known

    cdef int depth
    cdef double[::1] increments  # v_0 .. v_D
    cdef double[::1] below  # variance of all steps below each depth
    cdef double[::1] beyond  # variance of an UNEXPLORED arm beyond V of its node, at each depth
    cdef int[::1] widths  # branching at each depth; if it is a function, along the last path
    cdef bint ragged  # the branching is a function
    cdef bint single_steps  # arms are new nodes, one step below old ones
    cdef object prior_mean  # a function of the path, or None

    # Scratch space.
    cdef int[::1] steps  # the last path that was read,
    cdef int length  # its length,
    cdef int found  # how many of its steps lead to nodes that exist,
    cdef double step_prior  # and the prior mean of its last step, if that does not
    cdef int[::1] trail  # nodes and groups from the root to a node
    cdef int trailed  # their number
    cdef double m  # posterior of F at the end of the last path,
    cdef double variance
    cdef double m_above  # and one step before it (0 above the root)
    cdef double variance_above
    cdef list split  # groups made by splitting a list, which have no evidence yet

    cdef void clear(self)
    cdef int read(self, path) except -1
    cdef tuple path(self, int length)
    cdef int find(self, int n, int index) noexcept
    cdef int locate(self, int length) except -1
    cdef void _start_trail(self) noexcept
    cdef void _extend(self, int n) noexcept
    cdef void climb(self, int n) noexcept
    cdef int reserve(self, int more) except -1
    cdef int _new_node(self, int parent, int index, int depth, int branching, double mu) noexcept
    cdef void _link(self, int parent, int n) noexcept
    cdef void set_arm(self, int n) noexcept
    cdef bint is_arm(self, int n) noexcept
    cdef bint is_awaited(self, int n) noexcept
    cdef bint is_visited(self, int n) noexcept
    cdef void mark_trail(self) noexcept
    cdef void mark_all(self) noexcept
    cdef int _add_child(self, int n, int index, int width, double mu)
    cdef int add_children(self, int n, int count) except -1
    cdef int _new_group(self, int place, int index, int shift) noexcept
    cdef void _split(self, int place)
    cdef int weight(self, int n) noexcept
    cdef double prior(self, tuple path) except? -1.0
    cdef dict approach(self, path, bint growing)
    cdef dict _foresee(self, tuple path, int found, int visited)
    cdef int grow(self, dict plan) except -1
    cdef int _grow_as_foreseen(self, dict plan) except -1
    cdef int real_parent(self, int n) noexcept
    cdef int deepest(self, int n) noexcept
    cdef int next_upwards(self, int n) noexcept
    cdef int observed_on_trail(self) noexcept
    cpdef list path_to(self, int n)
    cpdef list complete(self, int n, SplitMix64 rng)
    cdef int unexplored_child(self, int n, SplitMix64 rng)


cpdef double moderate(value, str name) except? -1.0
