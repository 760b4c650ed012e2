"""The C declarations of `cells.py`."""

from bough.belief.best_arm cimport ArmSearch
from bough.belief.nodes cimport GROUP, NONE, TINY, Nodes
from bough.belief.posterior cimport Posterior


cdef struct Cut:
    double share  # of the cell that goes to the left child
    int slot  # the parameter that is cut
    int last  # whether all remaining values become children


cdef class CellIndex:
    cdef readonly object partition
    cdef readonly object belief
    cdef Nodes nodes  # the parts of the belief
    cdef Posterior posterior_
    cdef ArmSearch search

    # Of each parameter: whether it is discrete, and the end of its positions.
    cdef int[::1] single
    cdef double[::1] size

    # Of each plan that was needed so far:
    cdef list plans
    cdef int[::1] first  # of its cuts; those of the next plan begin where they end
    cdef Cut[::1] cuts
    cdef int[::1] begins  # the depth where it begins
    cdef int[::1] choice  # the parameter of its choice, or NONE
    cdef dict after  # the number of the plan of each of its options that was needed

    # Scratch space: the cell of the last descent.
    cdef double[::1] low
    cdef double[::1] high

    cdef int _add_plan(self, plan) except -1
    cdef int _plan_after(self, int p, int option) except -1
    cdef int _descend(self, double[::1] point) except -1
