# cython: language_level=3
"""The C declarations of `smoothing.py`."""

cimport cython

cdef double LOG_TAU, LEAST_SLOPE, MOST_SLOPE
cdef Py_ssize_t SCORE, NOISE, SLOPE, OFFSET, SPREAD
cdef Py_ssize_t MEAN, PROMISE, VARIANCE, COVARIANCE, UNCERTAINTY, INFORMATION
cdef Py_ssize_t STEP_VARIANCE, STEP_COVARIANCE, M00


@cython.locals(
    i=Py_ssize_t, k=Py_ssize_t, p=Py_ssize_t, total=double, precision=double, v2=double, w=double,
    a=double, b=double, jqq=double, jqu=double, juu=double, hq=double, hu=double, det=double, inverse=double,
    m00=double, m01=double, m10=double, m11=double, fq=double, fu=double, kqq=double, kqu=double,
    kuu=double, zq=double, zu=double, cqq=double, cqu=double, cuu=double, dq=double, du=double,
    eq=double, eu=double, cqv=double,
)
cpdef double smooth(double[:, ::1] nodes, int[::1] parents, int[::1] order, double w0, double w1, bint likelihood=*)


@cython.locals(
    k=Py_ssize_t, i=Py_ssize_t, g=Py_ssize_t, c=Py_ssize_t, cells=Py_ssize_t, x=double, at=double,
    t=double, slope=double,
)
cpdef int predict(
    double[:, ::1] nodes, int[::1] parents, int[::1] generators, int[::1] steps,
    double[:, ::1] drift, double[:, ::1] variances, double low, double step,
) except -1
