# cython: language_level=3
"""Declarations of gpts_policy.py."""

cimport cython

from bough.belief.best_arm cimport ArmSearch
from bough.belief.posterior cimport Posterior
from bough.belief.rng cimport SplitMix64
from bough.planning.playouts cimport Simulation
from bough.planning.rewards cimport RewardScale, StepNoise
from bough.planning.rewards cimport discounted_sum, exact_sum, in_units
from bough.planning.rollouts cimport RolloutPolicy


cdef class PathPolicy:
    cdef public object tree
    cdef public list playouts


@cython.final
cdef class GPTSPolicy(PathPolicy):
    cdef readonly double discount
    cdef readonly RewardScale scale
    cdef readonly list weights
    cdef readonly list rest
    cdef readonly list reached
    cdef readonly double noise
    cdef readonly double center
    cdef readonly double unit
    cdef readonly double offset
    cdef readonly list step_noises
    cdef Simulation _simulated
    cdef object _rng
    cdef SplitMix64 _selection_rng
    cdef bint _deterministic
    cdef bint _observes_steps
    cdef bint _is_exact
    cdef double _beyond
    cdef double _last_weight
    cdef object _plain_kernel
    cdef object _kernel
    cdef object _belief
    cdef Posterior _posterior
    cdef ArmSearch _arms
    cdef object _searcher
    cdef StepNoise _step_noise
    cdef set _played
    cdef set _beginnings
    cdef Py_ssize_t _next
    cdef list _totals
    cdef list _step_variances
    cdef list _gains
    cdef list _expected

    cdef int _take_over(self, GPTSPolicy previous) except -1
    @cython.locals(
        fields=tuple, path=tuple, rewards=tuple, ended=bint, length=Py_ssize_t, depth=Py_ssize_t,
        taken=Py_ssize_t, short=bint, steps=list, bootstrap=double, variances=list, ends=int,
    )
    cdef int _observe(self, Posterior posterior, object playout) except -1
    @cython.locals(simulated=Simulation, rollouts=RolloutPolicy, depth=Py_ssize_t)
    cpdef play(self)
    @cython.locals(fields=tuple, rewards=tuple, far=double, reward=double, i=Py_ssize_t, moved=bint)
    cdef int _record(self, object playout) except -1
    @cython.locals(total=double, fields=tuple)
    cdef double _worth(self, Py_ssize_t i) except? -1.0
    @cython.locals(total=double, bootstrap=double, fields=tuple, rewards=tuple)
    cpdef double total(self, object playout) except? -1.0
    @cython.locals(fields=tuple)
    cdef bint _is_whole(self, Py_ssize_t i) except -1
    @cython.locals(playouts=list, i=Py_ssize_t, candidates=list, best=list, top=double)
    cdef tuple _best_known(self)
