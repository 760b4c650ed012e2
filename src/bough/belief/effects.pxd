# cython: language_level=3
"""Declarations of effects.py."""

cimport cython

from bough.belief.nodes cimport GROUP, INF, NO_ARM, NONE, ROOT, UNEXPLORED, Nodes

cdef enum:
    UNREAD = -2  # the label of a node that was made for its prior mean alone


@cython.final
cdef class Effects:
    cdef readonly Nodes nodes
    cdef readonly object model
    cdef readonly list keys  # the labels by number
    cdef dict number  # of each label
    cdef readonly int size  # the number of coordinates z in use
    cdef int kept_labels  # the number of labels that nodes have, or had,
    cdef int kept_size  # and of their coordinates

    cdef double[::1] strengths  # s_0 .. s_D
    cdef double[:, ::1] psi  # the effect of each label, by coordinates
    cdef list pivots  # the labels that brought a coordinate, in order
    cdef double[::1] mean  # of z, given all observations
    cdef double[::1] prior_mean
    cdef double[:, ::1] C  # covariance of z

    cdef int[::1] label  # of each node: its number, or NONE
    cdef double[::1] kappa  # the share of the node's label in mu
    cdef double[:, ::1] columns  # the coefficients of -z in sub_shift

    # Scratch space: one row for each node of the trail, and vectors.
    cdef int[::1] ids  # labels along the last path that was read
    cdef int named  # their number
    cdef double[:, ::1] phi
    cdef double[:, ::1] eta
    cdef double[::1] smooth  # E[phi] at the end of the trail, by the messages
    cdef double[::1] above  # the same one node before
    cdef double[::1] c
    cdef double[::1] gain  # C c
    cdef double residual
    cdef double variance

    cdef void _reserve_nodes(self)
    cdef void _reserve_coordinates(self, int more)
    cpdef void clear(self)
    cdef list read(self, path)
    cdef int name(self, list numbers) except -1
    cdef int drop(self) except -1
    cdef int register(self, list keys) except -1
    cdef void check_labels(self)
    cdef void _keep(self)
    cdef int _take_labels(self) except -1
    cdef void _extend(self, int i, int n) noexcept
    cdef void _message(self, int i, int n) noexcept
    cdef void open(self) noexcept
    cdef void reach(self) noexcept
    cdef void use_step(self) noexcept
    cdef void reach_step(self) noexcept
    cdef void predict(self) noexcept
    cdef bint is_certain(self, double share) noexcept
    cdef void learn(self, double residual, double variance) noexcept
    cdef void pass_up(self, int i, double tau) noexcept
    cdef void take_step(self, int n, double s2) noexcept
    cdef void gather(self, int n) noexcept
    cpdef void begin_again(self)
