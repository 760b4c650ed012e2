"""The C side of `_nodes.py`: what a node holds."""

cdef int ROOT, NONE, ENDLESS, LONGEST_LIST, MOST_GROUPS, GROUP_BITS, MOST_FORESEEN
cdef double INF, LARGEST, TINY


cdef struct Node:
    # What the search reads: one cache line.
    int child  # first of the list of children, or NONE
    int sibling  # next in the list that this node is in, or NONE
    int parent  # the node (perhaps a group) whose list it is in; NONE for the root
    int index  # which child it is; of a group, the lowest index that belongs in it
    double g
    double offset  # g (mu + v h)
    double spread  # v g
    double extra  # variance that the node's own arm adds to V; -1 if it has no own arm
    int count  # rewards told at this very node; -1 for a group
    int branching  # children in the tree; 0 for a leaf, ENDLESS if they never run out
    int explored  # children that are nodes (of a group: those in it)
    int group_bits  # the list holds groups of 2^group_bits neighbours (0: the children themselves)
    # What observations read and write: the second.
    double own_precision  # sum of 1/s^2 of the readings of F_n; inf if one had no noise
    double own_value  # their mean, weighted by 1/s^2
    double sub_precision  # sum of tau over the children; inf if one makes F_n known ...
    double sub_shift  # sum of eta; ... and then F_n itself
    double v
    double mu
    double average  # plain mean of the rewards told at this very node
    int visits  # readings at the node or below
    int depth


# What a node with pending evaluations at or below it looks like when they are counted.
cdef struct Pending:
    long long count  # pending evaluations at the node or below; else nothing here is valid
    double own  # sum of 1/s^2 of those at this very node
    double q
    double spread  # v q
    double tau  # contribution to the parent's Q


cdef class Nodes:
    cdef readonly object tree
    cdef readonly double center  # the root's prior mean

    cdef Node[::1] nodes_
    cdef readonly int used  # how many of them there are
    cdef Pending[::1] pending_
    cdef int waiting  # how many evaluations are pending
    cdef long long last_token  # of a pending evaluation

    cdef int depth
    cdef double[::1] increments  # v_0 .. v_D
    cdef double[::1] tail  # variance of a frontier arm beyond V of its node, at each depth
    cdef double[::1] rest  # variance of all steps below each depth
    cdef int[::1] widths  # branching at each depth; if a function says, along the last path
    cdef bint ragged  # a function says
    cdef bint single_steps  # arms are new nodes, one step below old ones
    cdef object prior_mean  # a function of the path, or None

    # Scratch space.
    cdef int[::1] steps  # the last path that was read,
    cdef int length  # its length,
    cdef int found  # how many of its steps lead to nodes that exist,
    cdef double step_prior  # and the prior mean of its last step, if that does not
    cdef int[::1] trail  # nodes and groups from the root to a node
    cdef int trailed
    cdef double m  # posterior of F at the end of the last path,
    cdef double variance
    cdef double m_above  # and one step before it (0 above the root)
    cdef double variance_above

    cdef int _read(self, path)
    cdef tuple _path(self, int length)
    cdef int _find(self, int n, int index) noexcept
    cdef int _locate(self, int length)
    cdef void _climb(self, int n) noexcept
    cdef void _reserve(self, int more)
    cdef int _new_node(self, int parent, int index, int depth, int branching, double mu) noexcept
    cdef void _link(self, int parent, int n) noexcept
    cdef void _set_arm(self, int n) noexcept
    cdef bint _is_arm(self, int n) noexcept
    cdef bint _is_awaited(self, int n) noexcept
    cdef bint _is_visited(self, int n) noexcept
    cdef int _add_child(self, int n, int index, int width, double mu)
    cdef int _new_group(self, int place, int index, int shift) noexcept
    cdef void _regroup(self, int place)
    cdef void _gather(self, int group) noexcept
    cdef bint _is_group(self, int n) noexcept
    cdef int _weight(self, int n) noexcept
    cdef double _prior(self, tuple path)
    cdef dict _approach(self, path, bint growing)
    cdef int _grow(self, dict plan)
