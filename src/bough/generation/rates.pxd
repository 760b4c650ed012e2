# cython: language_level=3
"""The C declarations of `rates.py`."""

cimport cython

cdef double ROOT_HALF, INVERSE_ROOT_TAU, LIMIT, CELLS, LEAST_GAIN
cdef int FINE, MOST_CALLS, MOST_STEPS, QUANTILES, REFRESH
cdef Py_ssize_t MEAN, PROMISE, UNCERTAINTY


@cython.final
cdef class Rates:
    cdef double[::1] normal
    cdef double[::1] shares
    cdef int[::1] calls  # the numbers of calls of a course
    cdef double[:, ::1] rises  # above the best after each, for pairs of a score and a promise
    cdef double low, inverse
    cdef Py_ssize_t cells
    cdef double[:, ::1] drift
    cdef double[:, ::1] spread
    cdef double[:, ::1] gains
    cdef double[::1] squares

    @cython.locals(
        g=Py_ssize_t, i=Py_ssize_t, k=Py_ssize_t, at=Py_ssize_t, top=double, second=double,
        rate=double,
    )
    cpdef Py_ssize_t choose(
        self, Py_ssize_t n, double[:, ::1] table, double[:, ::1] index, int[:, ::1] stamps,
        int now, Py_ssize_t refresh, double[::1] tie, int[::1] pending, int[::1] closed,
        double[::1] extra, double best, int[::1] calls, double[::1] costs,
    )
    cdef int _compute(
        self, double[:, ::1] table, double[:, ::1] index, int[:, ::1] stamps, int now,
        int[::1] pending, int[::1] closed, double[::1] extra, double best, int[::1] calls,
        double[::1] costs, Py_ssize_t g, Py_ssize_t i,
    ) except -1
    @cython.locals(at=double, t=double, i=Py_ssize_t)
    cdef double _gain(self, Py_ssize_t j, double x) noexcept
    @cython.locals(
        level=double, at=double, t=double, v=double, m=double, x=double, gain=double, rise=double,
        s=double, sd=double, z=double, c=Py_ssize_t, i=Py_ssize_t, done=int, jump=int,
        variance=double,
    )
    cdef int _fill_course(
        self, Py_ssize_t row, Py_ssize_t generator, double q, double u, double best, int calls,
        int start,
    ) except -1
    @cython.locals(i=Py_ssize_t)
    cdef Py_ssize_t _stages(self, int calls) noexcept
    @cython.locals(
        stages=Py_ssize_t, i=Py_ssize_t, r=Py_ssize_t, k=Py_ssize_t, first=Py_ssize_t,
        at=Py_ssize_t, top=double, rise=double, rate=double, weight=double, rises=double,
        costs=double, best=double, best_rise=double, best_cost=double, spent=double,
        all_rise=double, all_cost=double, one=double, value=double,
    )
    cdef double _rate(
        self, Py_ssize_t rows, double first_cost, double cost, int calls, double known
    ) noexcept
    @cython.locals(ratio=double)
    cdef double _known(self, double v, double sd) noexcept
    @cython.locals(k=Py_ssize_t, at=double, c=Py_ssize_t, t=double, v=double, m=double, rate=double)
    cpdef double node(
        self, Py_ssize_t generator, double q, double u, double sd, double best, int calls,
        double cost, int pending,
    )
    @cython.locals(one=double, most=int, j=int)
    cdef double _share(self, int pending, double x) noexcept
    @cython.locals(
        top=double, g=Py_ssize_t, k=Py_ssize_t, n=Py_ssize_t, q=double, rate=double, at=double,
        v=double,
    )
    cpdef double draft(
        self, double mean, double sd, int[::1] generators, double[::1] promise, double best,
        int calls, double first_cost, double[::1] costs,
    )
