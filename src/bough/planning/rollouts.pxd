# cython: language_level=3
"""Declarations of rollouts.py."""

cimport cython


cdef double EPSILON, PERTURBATION, MEMORY, LEAST_SUCCESS, UNLIMITED


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
    cdef list _ranked
    cdef public object best
    cdef public double best_value

    cpdef renumber(self, dict index)
    cpdef score(self, path, double value, bint follows)
    cpdef consider(self, object path, double value)
    @cython.locals(
        discount=double, missed=double, value=double, total=double, i=Py_ssize_t,
        length=Py_ssize_t, path=tuple, rewards=tuple, after=dict, known=dict, returns=list,
        found=Average, step=StepReturns,
    )
    cpdef add(self, object playout, double center)
    @cython.locals(
        steps=list, found=dict, usual=list, i=Py_ssize_t, known=Py_ssize_t, returns=list,
        step=StepReturns, by_pairs=bint, by_steps=bint,
    )
    cpdef complete(self, tuple path, Py_ssize_t depth, object style=*)
    @cython.locals(pairs=double, best=double, steps=double, left=double)
    cdef int _draw_style(self) except -1
    @cython.locals(known=dict, average=Average, best=list, mean=double, top=double)
    cpdef best_after(self, object action)


@cython.locals(draw=double, k=Py_ssize_t)
cdef object _drawn(object actions, object uniform)
