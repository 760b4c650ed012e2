# cython: language_level=3
"""Declarations of rewards.py."""

cimport cython


@cython.locals(
    i=Py_ssize_t, reward=double, weight=double, total=double, rest=double, term=double,
    after=double, part=double, rounding=double,
)
cpdef double discounted_sum(tuple rewards, list weights) except? -1.0
@cython.locals(
    i=Py_ssize_t, total=double, rest=double, term=double, after=double, part=double,
    rounding=double,
)
cpdef double exact_sum(list terms) except? -1.0
@cython.locals(
    found=list, count=Py_ssize_t, i=Py_ssize_t, reward=double, gain=double, center=double
)
cpdef list in_units(tuple rewards, list gains, list expected)


@cython.final
cdef class RewardScale:
    cdef readonly double discount
    cdef readonly bint continues
    cdef public double noise
    cdef readonly list weights
    cdef readonly list rest
    cdef readonly double beyond
    cdef readonly double spread
    cdef double _least
    cdef double _most
    cdef double _largest
    cdef double _origin
    cdef double _total_origin
    cdef double _sum
    cdef double _squares
    cdef double _total_sum
    cdef double _total_squares
    cdef double _ended_sum
    cdef long long _steps
    cdef long long _missing
    cdef long long _playouts
    cdef long long _ends

    @cython.locals(
        reward=double, change=double, origin=double, total=double, length=Py_ssize_t,
        depth=Py_ssize_t, missing=Py_ssize_t, changes=list, i=Py_ssize_t,
    )
    cpdef add(self, tuple rewards, bint ended)
    @cython.locals(center=double, unit=double)
    cpdef tuple fitted(self)
    @cython.locals(mean=double, step=double, center=double, total=double)
    cpdef tuple _moments(self)
    @cython.locals(average=double, share=double, covariance=double, variance=double)
    cpdef double _variance(self, double lost)


@cython.final
cdef class StepNoise:
    cdef readonly list freedom
    cdef readonly double squares
    cdef dict _root

    @cython.locals(
        i=Py_ssize_t, length=Py_ssize_t, children=dict, node=list, freedom=list, reward=double, mean=double,
        change=double, count=Py_ssize_t,
    )
    cpdef add(self, playout)
