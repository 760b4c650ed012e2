# cython: language_level=3
"""Declarations of playouts.py."""

cimport cython

from bough.planning.rollouts cimport RolloutPolicy


@cython.final
@cython.freelist(64)
cdef class State:
    cdef public object snapshot
    cdef public bint ended
    cdef public object legal
    cdef public double value
    cdef public object weights
    cdef public dict children
    cdef public double complete


@cython.final
cdef class Simulation:
    cdef readonly object model
    cdef readonly long long repeat
    cdef readonly object hooks
    cdef list _weights
    cdef object _rng
    cdef object _random
    cdef public RolloutPolicy rollout_policy
    cdef object _states
    cdef dict _merged
    cdef public object choices
    cdef long long _snapshots
    cdef public object observation
    cdef bint _observes
    cdef bint _deterministic
    cdef readonly bint guides
    cdef bint _is_baseline
    cdef public long long calls
    cdef public long long budget
    cdef public State root

    @cython.locals(number=double)
    cpdef tuple take(self, object action)
    cpdef play(self, tuple path, Py_ssize_t known=*)
    @cython.locals(states=list, rewards=list, taken=list, last=State)
    cpdef _play_known(self, tuple path, Py_ssize_t known)
    @cython.locals(state=State, states=list, rewards=list, child=tuple)
    cpdef tuple _known_states(self, tuple path)
    cpdef legal(self, State state)
    @cython.locals(state=State)
    cpdef State _new_state(self, object snapshot, bint ended)
    @cython.locals(
        state=State, following=State, child=tuple, i=Py_ssize_t, first=Py_ssize_t,
        guided_from=Py_ssize_t, most=Py_ssize_t, merged=bint, kept=bint, ended=bint,
    )
    cpdef _explore(self, list states, list rewards, list taken, tuple path, Py_ssize_t known)
    @cython.locals(
        state=State, child=State, pair=tuple, complete=double, i=Py_ssize_t, last=Py_ssize_t
    )
    cpdef _update_complete(self, list states, Py_ssize_t known)
    @cython.locals(end=Py_ssize_t, known=Py_ssize_t)
    cpdef bint _return_to(self, list states, list taken) except -1
    @cython.locals(states=list, last=State, i=Py_ssize_t, state=State)
    cpdef unexplored(self, tuple path, Py_ssize_t depth)
