"""The C declarations of `amaf.py`."""

from bough.belief.rng cimport SplitMix64
from bough.searchers.baselines.tallies cimport Tallies

cdef int ROOT, NONE
cdef double INF
cdef unsigned long long MASK, GOLDEN


cdef struct LabelState:
    int label  # the number of the label of the step to the node
    int children  # where the labels of its children begin in `child_labels`, or NONE
    int kept  # whether the node has cells


cdef struct Cell:
    unsigned long long key  # (node << 32) + label + 1, or 0 if it is empty
    double average
    int count


cdef class LabeledTallies(Tallies):
    cdef object labels  # a function of the path, or None: labels are indices
    cdef int reference  # statistics are those of the closest ancestor with as many rewards
    cdef double bias, equivalence  # of the weight
    cdef dict numbers  # of the labels
    cdef LabelState[::1] states
    cdef Cell[::1] cells
    cdef int shift  # 64 minus the logarithm of their number
    cdef long long filled  # the number of cells that are not empty
    cdef int[::1] child_labels
    cdef int listed
    cdef long long[::1] stamps  # by label: when it was last noted
    cdef long long now
    cdef int[::1] distinct
    cdef double[::1] scores  # of the children of one node

    cdef int _number(self, tuple path) except -1
    cpdef int node_at(self, tuple path)
    cdef _list_children(self, int n, tuple path)
    cdef unsigned long long _key(self, int n, int label) noexcept
    cdef unsigned long long _home(self, unsigned long long key) noexcept
    cdef long long _slot(self, int n, int label) noexcept
    cdef _add_to_cell(self, int n, int label, double reward)
    cdef _rehash(self)
    cdef int _note(self, int label, int noted)
    cdef _keep(self, int n)
    cpdef int add(self, tuple path, double reward)
    cpdef tuple descend(self, SplitMix64 rng, double exploration=*)
    cdef int _choose_child(
        self, int n, int source, bint skipping, double exploration, SplitMix64 rng
    )
    cdef int _score_all(self, int n, int source, double exploration) noexcept
    cdef double _weight(self, int visits, int shared) noexcept
