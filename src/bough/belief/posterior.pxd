# cython: language_level=3
"""Declarations of posterior.py."""

cimport cython

from bough.belief.effects cimport Effects
from bough.belief.nodes cimport GROUP, INF, LARGEST, NONE, ROOT, TINY, Nodes, moderate

cdef double LOG_TWO_PI, LEAST_NOISE, LABEL_ROUNDING, NEARLY_CERTAIN


cdef struct Observation:
    int node
    int ends  # the depth of what was observed: the node's own, or of an unknown node below it
    int of_step  # whether it is of the node's step, not of F
    int own_noise  # whether its noise is not that of the belief
    double value
    double variance  # of the noise, with that of the steps down to where it ends
    double share  # of the variance of the common noise; with `own_noise`, the variance that was given


@cython.final
cdef class Posterior:
    cdef readonly Nodes nodes
    cdef readonly Effects effects  # of labels, or None
    cdef readonly double noise
    cdef readonly long long count  # the number of observations; one along a path counts once
    cdef double least_variance  # of noise that is not 0
    cdef double likelihood  # a compensated sum: the total is likelihood + likelihood_rest
    cdef double likelihood_rest
    cdef Observation[::1] log  # every observation as it came
    cdef int logged  # their number

    cdef long long last_token  # of a pending evaluation
    cdef dict tokens  # of pending evaluations: node, s^2, and own_noise, ends, share as observed
    cdef dict waiting_at  # the number that is pending at a node, for each s^2

    # Scratch space.
    cdef double step_mean  # of the last step of a path, and its variance,
    cdef double step_variance
    cdef double[::1] values  # the last rewards of single steps,
    cdef double[::1] variances  # of their noise,
    cdef double[::1] shares  # their `share`,
    cdef double[::1] residuals  # how far each was from what was predicted,
    cdef double[::1] predicted  # and the variance of that, without the noise
    cdef double[::1] taus  # messages along the trail, before an observation
    cdef double[::1] etas

    cdef dict _approach(self, path)
    cdef int _drop_labels(self) except -1
    cdef int _observe_step(self, path, double r, double s2, double share) except -1
    cdef list _step_variances(self, noise, Py_ssize_t count)
    cdef int _grow(self, dict plan) except -1
    cdef int _reserve_log(self) except -1
    cdef double _precision(self, int n) noexcept
    cdef double _known_value(self, int n) noexcept
    cdef double _shift(self, int n) noexcept
    cdef double _tau(self, int n) noexcept
    cdef double _eta(self, int n) noexcept
    cdef void _refresh(self, int n) noexcept
    cdef void _add_message(self, int n, double tau, double eta) noexcept
    cdef void _gather(self, int n) noexcept
    cdef void _open(self) noexcept
    cdef void _pass_up(self) noexcept
    cdef void _close(self) noexcept
    cdef void _count_reward(self, int n, double y) noexcept
    cdef void _finish(self) noexcept
    cdef void _add_density(self, double residual, double variance) noexcept
    cdef void _record(self, int n, bint of_step, bint own_noise, int ends, double share, double value, double s2) noexcept
    cdef double variance_of(self, bint own_noise, double share, int depth, int ends) noexcept
    cdef double _squared(self, noise) except? -1.0
    cdef int _ends(self, depth) except -1
    cdef int check_exact(self, double y, double s2) except -1
    cdef int _check_certain(self, double y, double center, double m, what) except -1
    cdef double _rounding(self, int observed, double y) noexcept
    cdef int _predict_step(self, double r, double s2) except -1
    cdef double _step_rounding(self, int n, double r) noexcept
    cdef int observe_at_trail(self, dict plan, double y, double s2, bint own_noise, int ends, double share) except -1
    cdef void _observe_value(self, int n, double y, double s2, bint own_noise, int ends, double share) noexcept
    cdef void _take_value(self, int n, double y, double s2) noexcept
    cdef void _take_step(self, int n, double r, double s2) noexcept
    cdef int _observe_steps(self, path, list rewards, list shares, bint own_noise) except -1
    cdef int _predict_steps(self, dict plan) except -1
    cdef void follow(self, int n) noexcept
    cdef void replace_step(self, int n, double mu, double v) noexcept
    cdef void gather_again(self) noexcept
    cdef void observe_followed(self, double y, double s2) noexcept
    cdef void _count_pending(self, int n) noexcept
    cdef int _wait(self, int n, double s2, int change) except -1
    cdef int _sum_own(self, int n, double s2, int change) except -1
    cdef void _observe_again(self, int i) noexcept
    cdef void _condition(self, int n, bint of_step, double y, double s2) noexcept
    cdef int _observe_labeled_steps(self, path, bint own_noise) except -1
    cdef int _replay(self) except -1
    cpdef int observe_path(self, tuple path, list steps, list variances, double total, int ends) except -1


cdef double inverse(double x) noexcept
cdef double residual_of(double y, double center, double m) noexcept
