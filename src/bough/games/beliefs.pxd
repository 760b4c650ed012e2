# cython: language_level=3
"""Declarations of beliefs.py."""

cimport cython

from bough.belief.nodes cimport INF, NONE, ROOT, Nodes
from bough.belief.posterior cimport Posterior
from bough.games.tree cimport MOST_DEPTH, GameTree

cdef double ROOT_HALF, INVERSE_ROOT_TAU, FAR, PLAYOUT_NOISE
cdef int PILOTS


cdef struct Link:
    int table  # of a node on the path, and of the next node
    int next_table
    int code  # of the move from one to the other
    int visits  # of the next node
    double average  # of the results at the node
    double total  # of those at the next


@cython.final
cdef class BeliefTree(GameTree):
    cdef readonly Nodes nodes
    cdef readonly Posterior posterior
    cdef readonly double exploration
    cdef double step_share
    cdef double label_share
    cdef double drift_share
    cdef readonly double v  # variance of a step,
    cdef readonly double v_label  # of the effect of a label at the root,
    cdef readonly double q  # and of its change from a node to the next
    cdef double v_new  # prior variance at the root of the effect of a label not seen so far
    cdef bint is_kept  # whether the effects at the root are those of a tree that went on above it
    cdef double[::1] intercept  # a, of each node,
    cdef double[::1] slope  # k,
    cdef double[::1] width  # and W
    cdef double[::1] shift  # prior mean of each step beside the effect of its move
    cdef double[::1] prior_mean  # effects of labels at the root, by code
    cdef double[::1] prior_variance
    cdef object prior  # the same by player and label, for labels that are new
    cdef readonly object boards  # the regression that gives `shift`, or None

    # Scratch space.
    cdef double effect  # mean and variance of the effect of a code at the end of the path
    cdef double variance
    cdef Link[::1] link  # from each node of the path to the next
    cdef int noted  # the number of these that are set
    cdef double[::1] means  # m along the path
    cdef double[:, ::1] old_steps  # mean and variance of steps before this playout replaced them
    cdef int old  # the number of these,
    cdef int replaced  # which are steps from the first nodes of the path

    cdef int _reserve_effects(self) except -1
    cdef void _note_path(self) noexcept
    cdef void _carry_effect(self, int code) noexcept
    cdef void _condition_effect(self, double later, double total, double m) noexcept
    cdef void _replace_steps(self, int n) noexcept
    cdef void _start_value(self, int n, int siblings) noexcept
    cdef void _merge(self, int n, double m) noexcept
    cdef int _reserve_values(self) except -1
    cdef int _reserve_steps(self, int count) except -1
