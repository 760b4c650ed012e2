# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""What a quadratic in a few parameters needs, without the price of calling NumPy for small arrays.

`bough.spaces.forest.quadratic` says what it is for.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import fabs, sqrt

if not cython.compiled:
    from math import fabs, sqrt


def distances(places, centre, radius):
    """Return how far each of some places (rows) is from a centre: most along any parameter."""
    x: cython.double[:, :] = places
    c: cython.double[::1] = centre
    inverse: cython.double[::1] = 1.0 / radius  # a division takes longer than all the rest
    found = np.empty(len(places))
    farthest: cython.double[::1] = found
    for i in range(x.shape[0]):
        most: cython.double = 0.0
        for j in range(x.shape[1]):
            away: cython.double = fabs(x[i, j] - c[j]) * inverse[j]
            if away > most:
                most = away
        farthest[i] = most
    return found


def terms(places, centre, radius, mixed):
    """Return the terms of a quadratic at some places: 1, s, s^2/2, and products if it is mixed.

    s are the steps from the centre in units of the radius.
    """
    x: cython.double[:, :] = places
    c: cython.double[::1] = centre
    r: cython.double[::1] = radius
    d: cython.int = x.shape[1]
    found = np.empty((len(places), 1 + 2 * d + (d * (d - 1) // 2 if mixed else 0)))
    t: cython.double[:, ::1] = found
    with_products: cython.bint = mixed
    for i in range(x.shape[0]):
        t[i, 0] = 1.0
        for j in range(d):
            s: cython.double = (x[i, j] - c[j]) / r[j]
            t[i, 1 + j] = s
            t[i, 1 + d + j] = 0.5 * s * s
        if with_products:
            column: cython.int = 1 + 2 * d
            for j in range(d):
                for k in range(j + 1, d):
                    t[i, column] = t[i, 1 + j] * t[i, 1 + k]
                    column += 1
    return found


def solve(matrix, vector):
    """Solve a system with a symmetric matrix by Cholesky; None if it is not positive definite."""
    lower = np.array(matrix)
    solution = np.array(vector)
    a: cython.double[:, ::1] = lower
    x: cython.double[::1] = solution
    n: cython.int = x.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total: cython.double = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            if j < i:
                a[i, j] = total / a[j, j]
            elif total > 0.0:
                a[i, i] = sqrt(total)
            else:
                return None
    for i in range(n):
        for k in range(i):
            x[i] -= a[i, k] * x[k]
        x[i] /= a[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= a[k, i] * x[k]
        x[i] /= a[i, i]
    return solution
