# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The compiled heart: evidence on the nodes of a tree.

This is Python that Cython compiles; run as it is, it gives the same bits, slowly. What the arrays
hold, and the types of all methods, stand in the `.pxd` files. (Methods that are called in the
innermost loops are `final`, so that the C compiler may inline them.)

Notation

=============  =====================================================================================
v_n, mu_n      variance and mean of the step of node n, after readings of the step itself
F_n            the sum of the steps from the root to n; the reward of an arm is F at its end
               (in here less the prior mean of the root, `center`, which may be large)
P_n, h_n       what was observed at n or below, as the likelihood exp(-P F^2/2 + h F)
tau_n, eta_n   the same as seen from the parent: its contribution to the parent's P and h
g_n            1/(1 + v P): how much of a change of the parent's F arrives at n
m_n, V_n       posterior mean and variance of F_n:
               m = g m_parent + offset, V = spread + g^2 V_parent
Q_n, q_n       P_n and g_n with pending evaluations counted as observations
=============  =====================================================================================
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

if not cython.compiled:
    from bough.belief.nodes import Nodes

from bough._validation import at_least_zero, whole
from bough.belief.nodes import aligned, grown, moderate, read_only
from bough.belief.precise import log_density
from bough.exceptions import Contradiction

ROOT = 0
NONE = -1
INF = float("inf")
LOG_TWO_PI = float(np.log(2 * np.pi))

LARGEST = 1e50
TINY = 1e-100
#: If the variance of a reading, or of its prediction, is below this share of the largest squared
#: deviation from the root's prior mean, the likelihood asks for more digits than a double has.
PRECISE = 1e-10
READING = np.dtype(
    [("node", np.int32), ("kind", np.int32), ("ends", np.int64)]
    + [(name, np.float64) for name in ("value", "variance", "share")],
    align=True,
)
# The kind of a reading is the sum of these.
STEP = 1
OWN_NOISE = 2
CERTAIN = 4


class Core(Nodes):
    """Evidence about F on the nodes of a tree. `bough.Belief` is its public face."""

    def __init__(self, tree, increments, noise, mean, single_steps):
        self.noise = moderate(noise, "noise")
        self._forget_readings()
        self.readings_ = aligned(READING, 0)
        Nodes.__init__(self, tree, increments, mean, single_steps)

    def _forget_readings(self):
        self.observations = 0
        self.likelihood = 0.0
        self.likelihood_rest = 0.0
        self.farthest = 0.0
        self.fine = False
        self.told = 0

    def clear(self):
        self._forget_readings()
        Nodes.clear(self)

    # ------------------------------------------------------------------ reading the state

    def __len__(self):
        return self.observations

    def log_likelihood(self):
        """Return the logarithm of the density of everything told so far.

        A reading that was certain beforehand has no density, and is left out. The sum is kept up to
        date, unless there was noise of less than 1e-5 of the values (and more than none): then it
        is taken anew from all readings, with more digits, which takes a while.
        """
        if not self.fine:
            return self.likelihood + self.likelihood_rest
        mean = None if self.prior_mean is None else self._prior_checked
        return log_density(
            self.nodes, self.readings, np.asarray(self.increments), self.center, mean
        )

    def _prior_checked(self, path):
        return self._prior(path)

    @property
    def readings(self):
        """All that was told, in order, as a read-only NumPy record array.

        `node` is a number in `nodes`; `kind` adds up STEP (a reading of its step, not of F),
        OWN_NOISE (not that of the belief) and CERTAIN (it could only be what it was). `variance`
        is that of its noise: `share` times the belief's (with OWN_NOISE `share` itself), and, if
        the reading was of an unknown node below at depth `ends`, the increments down to there.
        """
        return read_only(self.readings_, READING, self.told)

    def _reserve(self, more):
        """Make room for so many more nodes, and for the readings of a path."""
        if self.told + self.depth + 1 > self.readings_.shape[0]:
            room = max(64, 4 * self.readings_.shape[0], self.told + self.depth + 1)
            self.readings_ = grown(self.readings_, READING, room)
        Nodes._reserve(self, more)

    # ------------------------------------------------------------------ evidence, upwards

    @cython.final
    def _precision(self, n):
        return self.nodes_[n].own_precision + self.nodes_[n].sub_precision

    @cython.final
    def _known_value(self, n):
        """Return F of a node that is known, P = inf."""
        if self.nodes_[n].own_precision == INF:
            return self.nodes_[n].own_value
        return self.nodes_[n].sub_shift

    @cython.final
    def _shift(self, n):
        return self.nodes_[n].own_precision * self.nodes_[n].own_value + self.nodes_[n].sub_shift

    @cython.final
    def _tau(self, n):
        P = self._precision(n)
        if P < INF:
            return P * self.nodes_[n].g
        return inverse(self.nodes_[n].v)

    @cython.final
    def _eta(self, n):
        """Return eta; of a known node whose step has no variance, F of the parent."""
        P = self._precision(n)
        if P < INF:
            return (self._shift(n) - P * self.nodes_[n].mu) * self.nodes_[n].g
        value = self._known_value(n) - self.nodes_[n].mu
        return value / self.nodes_[n].v if self.nodes_[n].v > 0.0 else value

    @cython.final
    def _refresh(self, n):
        """Compute g, offset and spread anew from the evidence."""
        P = self._precision(n)
        v = self.nodes_[n].v
        if P < INF:
            g = 1.0 / (1.0 + v * P)
            self.nodes_[n].g = g
            self.nodes_[n].offset = g * (self.nodes_[n].mu + v * self._shift(n))
            self.nodes_[n].spread = v * g
        else:
            self.nodes_[n].g = 0.0
            self.nodes_[n].offset = self._known_value(n)
            self.nodes_[n].spread = 0.0

    @cython.final
    def _add_message(self, n, tau, eta):
        """Add (a change of) a child's message to the evidence of n."""
        if self.nodes_[n].sub_precision < INF:
            if tau < INF:
                self.nodes_[n].sub_precision += tau
                self.nodes_[n].sub_shift += eta
            else:
                self.nodes_[n].sub_precision = INF
                self.nodes_[n].sub_shift = eta

    def _gather(self, group):
        c = self.nodes_[group].child
        while c != NONE:
            self._add_message(group, self._tau(c), self._eta(c))
            c = self.nodes_[c].sibling
        self._refresh(group)

    @cython.final
    def _pass_up(self, tau, eta):
        """Bring the ancestors up to date with the node at the end of the trail.

        tau and eta are the message that it sent before its evidence changed.
        """
        n = self.trail[self.trailed - 1]
        self._refresh(n)
        for i in range(self.trailed - 2, -1, -1):
            parent = self.trail[i]
            new_tau = self._tau(n)
            new_eta = self._eta(n)
            old_tau = self._tau(parent)
            old_eta = self._eta(parent)
            if new_tau < INF:
                self._add_message(parent, new_tau - tau, new_eta - eta)
            else:
                self._add_message(parent, new_tau, new_eta)
            self._refresh(parent)
            n = parent
            tau = old_tau
            eta = old_eta

    def _changed(self):
        """Note that something changed at the end of the trail: a reading, or a pending one."""
        if self.single_steps:
            for i in range(self.trailed):
                self._set_arm(self.trail[i])

    def _note(self, residual, variance):
        """Count a reading, and add its log density to the likelihood."""
        for i in range(self.trailed):
            self.nodes_[self.trail[i]].visits += 1
        self.observations += 1
        self._add_density(residual, variance)

    def _add_density(self, residual, variance):
        if variance < TINY:
            return  # it was certain, and so it came
        term = -0.5 * (LOG_TWO_PI + log(variance) + residual * residual / variance)
        total = self.likelihood + term
        if abs(self.likelihood) >= abs(term):
            self.likelihood_rest += (self.likelihood - total) + term
        else:
            self.likelihood_rest += (term - total) + self.likelihood
        self.likelihood = total

    def _log(self, n, kind, ends, share, value, deviation, variance, s2):
        """Keep a reading as it is; there must be room for it.

        It is so far from the prior mean, and was predicted to have the given variance, to which its
        noise adds s2.
        """
        i = self.told
        self.told += 1
        self.readings_[i].node = n
        self.readings_[i].kind = kind if variance + s2 > 0.0 else kind | CERTAIN
        self.readings_[i].ends = ends
        self.readings_[i].value = value
        self.readings_[i].variance = s2
        self.readings_[i].share = share
        self._judge(deviation, variance + s2, s2)

    def _judge(self, deviation, total, s2):
        """Note whether the likelihood of a reading asks for more digits than a double has."""
        self.farthest = max(self.farthest, abs(deviation))
        limit = PRECISE * self.farthest * self.farthest
        if 0.0 < s2 < limit or 0.0 < total < limit:
            self.fine = True

    def observe(self, path, value, *, noise=None, depth=None):
        """Take in a noisy reading of F at a node (the reward of an arm, if the node is a leaf).

        Parameters
        ----------
        path : sequence of int
            The node.
        value : float
        noise : float, optional
            The standard deviation of this reading, if it is not that of the belief. Below 1e-50
            it counts as 0: then the value is exact, and another one for the node is an error.
        depth : int, optional
            If what was read is a node drawn at random below this one, and forgotten: its depth.
            The increments of the steps in between then count as noise.
        """
        y: cython.double = (
            value
            if type(value) is float and -LARGEST <= value <= LARGEST
            else moderate(value, "value")
        )
        share: cython.double = 1.0 if noise is None else self._noise_variance(noise)
        plan = self._approach(path, True)
        ends = self._ends(depth)
        kind = 0 if noise is None else OWN_NOISE
        s2 = self._variance_of(kind, share, self.length, ends)
        self._check_exact(y, s2)
        self._tell(self._grow(plan), y, s2, kind, ends, share)

    def end(self, path):
        """Let a path end at a node of which something was told: nothing lies below it.

        So a tree of which it is only learnt on the way where paths end, as those of a simulator do,
        need not be given as a function. The reward of the path is F of the node, as in any tree.
        """
        if self.ragged:
            raise ValueError("where paths end is for the branching function of this tree to say")
        self.length = self._read(path)
        self.found = self._locate(self.length)
        n = self.trail[self.trailed - 1]
        if self.found < self.length or self._is_group(n):
            raise ValueError(f"nothing was told of {self._path(self.length)} that could end there")
        if self.nodes_[n].explored > 0:
            raise ValueError(f"the path {self._path(self.length)} went on before")
        self.nodes_[n].branching = 0
        self._set_arm(n)
        self._changed()

    def _ends(self, depth):
        """Return how deep what is read lies: where the path ends, or as deep as was said."""
        return (
            self.length
            if depth is None
            else whole(depth, "depth", least=self.length, most=self.depth)
        )

    def _variance_of(self, kind, share, depth, ends):
        """Return the variance of the noise of a reading at so deep a node."""
        s2 = share
        if not kind & OWN_NOISE:
            s2 = self.noise * self.noise
            s2 = share * s2 if s2 >= TINY else 0.0
        for i in range(depth, ends):
            s2 += self.increments[i + 1]
        return s2

    def _noise_variance(self, noise):
        s: cython.double = (
            self.noise if noise is None else at_least_zero(moderate(noise, "noise"), "noise")
        )
        return s * s if s * s >= TINY else 0.0

    def _check_exact(self, y, s2):
        """Refuse an exact reading of something that is known to be otherwise."""
        if s2 > 0.0 or self.variance > 0.0:
            return
        n = self.trail[self.trailed - 1]
        itself = self.found == self.length and self.nodes_[n].own_precision == INF
        # What was read itself is kept as it came, so no rounding is to be excused.
        slack = 0.0 if itself else self._rounding(y)
        if abs(y - self.center - self.m) > slack:
            raise contradiction("value", y, "node has", self.m + self.center)

    def _rounding(self, y):
        """Return how much rounding may have changed what is known of F at the end of the trail.

        That depends on how large the numbers are from which it is known: those on the way, and
        those below that are tied to it by steps without variance.
        """
        scale = abs(y - self.center)
        m = 0.0
        n = ROOT
        for i in range(self.trailed):
            n = self.trail[i]
            m = self.nodes_[n].g * m + self.nodes_[n].offset
            scale = max(scale, abs(m), abs(self.nodes_[n].mu))
        while n != NONE:
            c = self.nodes_[n].child
            while c != NONE and self._tau(c) < INF:
                c = self.nodes_[c].sibling
            if c != NONE:
                scale = max(scale, abs(self._known_value(c)), abs(self.nodes_[c].mu))
            n = c
        return 1e-9 * scale + 1e-15 * (abs(y) + abs(self.center))

    def _tell(self, n, y, s2, kind, ends, share):
        """Take in a reading of F at the end of the trail, whose posterior is (m, variance)."""
        tau = self._tau(n)
        eta = self._eta(n)
        self._log(n, kind, ends, share, y, y - self.center, self.variance, s2)
        self.nodes_[n].count += 1
        self.nodes_[n].average += (y - self.nodes_[n].average) / self.nodes_[n].count
        y -= self.center
        self._take_value(n, y, s2)
        self._pass_up(tau, eta)
        self._note(y - self.m, self.variance + s2)
        self._changed()

    def _take_value(self, n, y, s2):
        """Add a reading of F to the node's own."""
        if s2 > 0.0:
            precision = 1.0 / s2
            if self.nodes_[n].own_precision < INF:
                self.nodes_[n].own_precision += precision
                self.nodes_[n].own_value += (y - self.nodes_[n].own_value) * (
                    precision / self.nodes_[n].own_precision
                )
        else:
            self.nodes_[n].own_precision = INF
            self.nodes_[n].own_value = y

    # ------------------------------------------------------------------ posterior, downwards

    def posterior(self, paths):
        """Return mean and standard deviation of F at some nodes, as two arrays.

        >>> import bough
        >>> belief = bough.Belief(bough.Tree(2, 2), bough.kernels.Linear(3.0), noise=1.0)
        >>> belief.observe((0, 0), 4.0)
        >>> mean, std = belief.posterior([(0, 0), (0, 1), (1, 1)])
        >>> mean
        array([3., 2., 1.])
        """
        paths = several(paths)
        mean = np.empty(len(paths))
        std = np.empty(len(paths))
        for i in range(len(paths)):
            self._approach(paths[i], False)
            mean[i] = self.m + self.center
            std[i] = sqrt(self.variance)
        return mean, std

    def _chain(self, path):
        """Return g, offset and spread of each node from the root to the end of a path."""
        self._approach(path, False)
        length = self.length
        d = -1
        g = np.ones(length + 1)
        offset = np.zeros(length + 1)
        spread = np.asarray(self.increments)[: length + 1].copy()
        for i in range(self.trailed):
            n = self.trail[i]
            if not self._is_group(n):
                d += 1
                g[d] = self.nodes_[n].g
                offset[d] = self.nodes_[n].offset
                spread[d] = self.nodes_[n].spread
        if self.prior_mean is not None:
            path = self._path(length)
            for i in range(d + 1, length + 1):
                offset[i] = self._prior(path[:i]) - self._prior(path[: i - 1])
        return g, offset, spread

    # ------------------------------------------------------------------ saving

    def _state(self):
        return Nodes._state(self) | {
            "noise": self.noise,
            "observations": self.observations,
            "likelihood": (self.likelihood, self.likelihood_rest),
            "farthest": self.farthest,
            "fine": bool(self.fine),
            "readings": np.array(np.asarray(self.readings_)[: self.told]),
        }

    def __setstate__(self, state):
        Nodes.__setstate__(self, state)
        self.noise = state["noise"]
        self.observations = state["observations"]
        self.likelihood, self.likelihood_rest = state["likelihood"]
        self.farthest = state["farthest"]
        self.fine = state["fine"]
        self.told = len(state["readings"])
        self.readings_ = grown(state["readings"], READING, self.told)


def contradiction(name, value, what, known):
    return Contradiction(
        f"{name} {value!r} contradicts what is known: without noise, and after what was told "
        f"before, this {what} exactly {known!r}; if rewards vary, give noise > 0"
    )


def inverse(x):
    return 1.0 / x if x > 0.0 else INF


def several(paths):
    """Return a list of paths, or say that it was one."""
    try:
        paths = list(paths) if not isinstance(paths, (str, bytes)) else None
    except TypeError:
        paths = None
    if paths is None:
        raise TypeError("paths must be a list of paths, such as [(0, 1), (0, 2)]")
    if paths and isinstance(paths[0], (int, np.integer)):
        raise TypeError(f"paths must be a list of paths, got one path; write [{tuple(paths)}]")
    return paths
