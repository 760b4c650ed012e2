# cython: language_level=3
"""Declarations of playouts.py."""

cimport cython


cdef double EPSILON, PERTURBATION, MEMORY, LEAST_SUCCESS


@cython.final
cdef class Average:
    cdef public double count
    cdef public double mean

    cdef void add(self, double value, double most) noexcept


@cython.final
cdef class StepReturns:
    cdef public double count
    cdef public double mean
    cdef public double squares
    cdef public dict by_action

    @cython.locals(change=double, found=Average)
    cdef int add(self, object action, double value) except -1
    @cython.locals(spread=double, score=double, count=double, top=double, found=Average)
    cpdef best(self, object choices, object uniform)


@cython.final
cdef class RolloutPolicy:
    cdef object _simulation
    cdef double _discount
    cdef object _rng
    cdef dict _after
    cdef public list returns
    cdef int _style
    cdef bint _follows
    cdef list _success
    cdef double _bar
    cdef object _recent
    cdef public object best
    cdef public double best_value

    cpdef consider(self, object path, double value)
    @cython.locals(
        discount=double, missed=double, value=double, total=double, i=Py_ssize_t,
        length=Py_ssize_t, path=tuple, rewards=tuple, after=dict, known=dict, returns=list,
        found=Average, step=StepReturns,
    )
    cpdef add(self, object playout, double center)
    @cython.locals(
        steps=list, found=dict, usual=list, count=Py_ssize_t, i=Py_ssize_t, known=Py_ssize_t,
        returns=list, step=StepReturns,
    )
    cpdef complete(self, tuple path, Py_ssize_t depth, object style=*)
    @cython.locals(weights=list, left=double, style=int)
    cdef int _draw_style(self) except -1
    @cython.locals(known=dict, average=Average)
    cpdef best_after(self, object action)


@cython.final
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
    @cython.locals(state=State, complete=double)
    cpdef _update_complete(self, list states, Py_ssize_t known)
    @cython.locals(end=Py_ssize_t, known=Py_ssize_t)
    cpdef bint _return_to(self, list states, list taken) except -1
    @cython.locals(states=list, last=State, i=Py_ssize_t, state=State)
    cpdef unexplored(self, tuple path, Py_ssize_t depth)
