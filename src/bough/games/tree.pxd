# cython: language_level=3
"""Declarations of tree.py."""

cimport cython

from bough.belief.nodes cimport INF, NONE, ROOT
from bough.belief.rng cimport SplitMix64

cdef int MOST_DEPTH

cpdef bint is_second(player) except -1
cpdef double checked(result) except? -2.0


cdef struct GameNode:
    int parent  # NONE for the root
    int first  # the first of its children, whose numbers are consecutive; NONE: not expanded
    int count  # the number of children
    int label  # the number of the label of the move that leads here
    int table  # the row of its tables, NONE if it is not expanded
    int visits  # playouts through the node
    int depth
    double sign  # +1 if the first player moves here, -1 for the second; 0: not known so far
    double total  # the sum of the results of these playouts
    double low  # bounds of the value of optimal play
    double high


cdef class GameTree:
    cdef GameNode[::1] node
    cdef readonly int used  # the number of nodes
    cdef list moves  # the move that leads to each node
    cdef dict numbers  # the number of each label
    cdef list labels
    cdef int[:, ::1] counts  # of playouts through an expanded node by code, in all or later moves
    cdef double[:, ::1] sums  # of their results
    cdef int tables  # the number of rows in use
    cdef bint counts_moves  # whether tables are kept
    cdef readonly SplitMix64 rng
    cdef readonly long long playouts  # since the root is the root
    cdef readonly long long moves_played  # in these playouts

    # Scratch space.
    cdef int[::1] path  # from the root to where the playout leaves the tree
    cdef int length
    cdef int[::1] codes  # 2 label + player of each move of the playout
    cdef int coded
    cdef int[::1] marks
    cdef int[::1] distinct
    cdef int mark
    cdef bint has_ended  # whether the playout has come to the end of the game in the tree

    cdef double _play(self, position) except? -2.0
    cdef int _observe_result(self, double value) except -1
    cdef int _number(self, label) except -1
    cdef int _grow_tables(self, int rows, int columns) except -1
    cdef int _reserve(self, int more) except -1
    cdef int _append_code(self, int number, bint is_second) except -1
    cdef int _new_node(self, int parent, int label, int depth) except -1
    cdef int _expand(self, int n, position) except -1
    cdef double _finish(self, position) except? -2.0
    cdef void _settle(self, int n, double value) noexcept
    cdef void _count_moves(self, double result) noexcept
    cdef bint _is_open(self, int n, int c) noexcept

    cdef int _begin(self) except -1
    cdef int _undo(self) except -1
    cdef int _choose(self, int n) except -1
    cdef int _expanded(self, int n, position) except -1
    cdef int _observe(self, double result) except -1
    cdef bint _expands(self, int n) noexcept


@cython.final
cdef class TallyTree(GameTree):
    cdef readonly double exploration
    cdef readonly double equivalence
    cdef readonly double bias
    cdef readonly int reference


