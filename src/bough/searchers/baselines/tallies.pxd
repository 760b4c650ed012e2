"""The C declarations of `tallies.py`."""

from bough.belief.rng cimport SplitMix64

cdef int ROOT, NONE
cdef double INF, PARTS, TINY


cdef struct Tally:
    int child  # the first in the list of children, which is ordered by index, or NONE
    int sibling  # the next in the list that contains this node, or NONE
    int parent
    int index  # the position among the children of the parent
    int depth
    int branching  # children in the tree; 0 for a leaf
    int explored  # children that are nodes
    int visits  # rewards received through the node
    int pending  # evaluations pending through it
    int exhausted  # children that are exhausted
    double average  # of the rewards received through the node
    double step_average  # in `Bounds`: of the rewards of the step to the node
    double bound  # the bound of `Bounds`, or the last score given by UCT


cdef class Tallies:
    cdef readonly object tree
    cdef bint exact  # rewards have no noise
    cdef readonly long long observations
    cdef long long arms  # arms that were played
    cdef double squares_within  # sum of squared deviations from the mean of the arm,
    cdef double squares_total  # and from the mean of all rewards

    cdef Tally[::1] nodes_
    cdef readonly int used  # the number of nodes
    cdef int before  # the child before the one that `_find` looked for
    cdef int limit  # the depth below which paths are random
    cdef bint ragged  # the branching is a function
    cdef int[::1] widths  # or else the branching at each depth

    cdef int _branching(self, tuple path, int length)
    cdef int _add_node(self, int parent, int index, int branching) noexcept
    cdef int _find(self, int n, int index) noexcept
    cpdef int node_at(self, tuple path)
    cpdef tuple path_of(self, int n)
    cpdef int add(self, tuple path, double reward)
    cpdef int add_pending(self, tuple path, int change)
    cpdef double variance(self)
    cdef bint _is_exhausted(self, int n) noexcept
    cdef void _count_exhausted(self, int n, bint was_exhausted) noexcept
    cpdef tuple descend(self, SplitMix64 rng, double exploration=*)
    cdef void _score_children(self, int n, double exploration) noexcept
    cdef int _highest_child(self, int n, bint skipping, SplitMix64 rng)
    cpdef tuple random_path(self, SplitMix64 rng)
    cdef tuple _complete(self, int n, list path, SplitMix64 rng)
    cdef int _free_child(self, int n, bint unexplored, SplitMix64 rng)
    cpdef tuple most_visited(self)


cdef class Bounds(Tallies):
    cdef tuple arguments  # of the constructor
    cdef double[::1] slack  # by depth
    cdef double[::1] gain
    cdef bint stepwise  # rewards are observed step by step
    cdef bint kl  # upper bounds by the Kullback-Leibler divergence
    cdef bint known_range
    cdef double width, union
    cdef double low, high  # the lowest and the highest reward (or step) observed or possible
    cdef double base, ceiling  # the range in use
    cdef readonly double scale  # and its width

    cpdef set_width(self, double width, double union=*)
    cdef _widen(self, double low, double high)
    cdef void _set_scale(self) noexcept
    cpdef int add_steps(self, tuple path, double reward, list steps)
    cdef _back_up(self, int n)
    cdef _recompute(self)
    cdef double _bound(self, int n) noexcept
    cdef double _highest_below(self, int n) noexcept
    cdef double _upper(self, int n, double count) noexcept


cpdef double bernoulli_upper(double p, double most) noexcept
