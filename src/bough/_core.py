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
    from bough._nodes import Nodes

from bough._checks import Contradiction, at_least_zero, listed, whole
from bough._nodes import PENDING, aligned, grown, moderate
from bough._precise import log_density

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
        self.tokens = {}
        self.waiting_at = {}
        self.observations = 0
        self.likelihood = 0.0
        self.likelihood_rest = 0.0
        self.farthest = 0.0
        self.fine = False
        self.told = 0
        self.readings_ = aligned(READING, 0)
        Nodes.__init__(self, tree, increments, mean, single_steps)
        self._make_scratch()

    def _make_scratch(self):
        self.values = np.zeros(self.depth)
        self.variances = np.zeros(self.depth)
        self.shares = np.zeros(self.depth)
        self.residuals = np.zeros(self.depth)
        self.predicted = np.zeros(self.depth)

    # ------------------------------------------------------------------ reading the state

    def __len__(self):
        return self.observations

    @property
    def pending(self):
        """How many evaluations are pending."""
        return self.waiting

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
        raw = np.asarray(self.readings_)[: self.told].view(np.uint8)
        return np.frombuffer(memoryview(raw).toreadonly(), dtype=READING)

    def _reserve(self, more):
        """Make room for so many more nodes, and for the readings of a path."""
        if self.told + self.depth + 1 > self.readings_.shape[0]:
            room = max(64, 2 * self.readings_.shape[0], self.told + self.depth + 1)
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
        if self.waiting and self.pending_[group].count:
            self._count_pending(group)

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
        if self.single_steps or self.waiting:
            for i in range(self.trailed - 1, -1, -1):
                n = self.trail[i]
                if self.single_steps:
                    self._set_arm(n)
                if self.waiting and self.pending_[n].count:
                    self._count_pending(n)

    def _reopened(self):
        """Note that arms which a pending exact reading made known are so no longer."""

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
        ends = self.length
        if depth is not None:
            ends = whole(depth, "depth", least=self.length, most=self.depth)
        kind = 0 if noise is None else OWN_NOISE
        s2 = self._variance_of(kind, share, self.length, ends)
        self._check_exact(y, s2)
        self._tell(self._grow(plan), y, s2, kind, ends, share)

    def _variance_of(self, kind, share, depth, ends):
        """Return the variance of the noise of a reading at so deep a node."""
        s2 = share if kind & OWN_NOISE else share * self._noise_variance(None)
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

    def _step_rounding(self, n, r):
        """Return the same for a step that is certain; n is NONE if it does not exist yet."""
        if n != NONE and self.nodes_[n].v == 0.0 and self.increments[self.nodes_[n].depth] > 0.0:
            if r == self.nodes_[n].mu:
                return INF  # it was read itself, and came again
            return 0.0
        return self._rounding(r + self.center)

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

    def observe_step(self, path, value, *, noise):
        """Take in a noisy reading of the step of one node, in the units of the sum.

        The immediate reward of a node at depth i under a discount is such a step, once it (and
        its noise) have been multiplied by discount^(i-1). The root's step is that of path `()`.
        """
        r: cython.double = moderate(value, "value")
        s2 = self._noise_variance(at_least_zero(noise, "noise"))
        plan = self._approach(path, True)
        offset = self.center if self.length == 0 else 0.0  # F of the root is its step
        if self.found == self.length:
            n = self.trail[self.trailed - 1]
            g = self.nodes_[n].g
            step_mean = (g - 1.0) * self.m_above + self.nodes_[n].offset
            step_variance = self.nodes_[n].spread + (1.0 - g) ** 2 * self.variance_above
        else:
            n = NONE
            step_mean = self.step_prior
            step_variance = self.increments[self.length]
        certain = s2 == 0.0 and step_variance == 0.0
        if certain and abs(r - offset - step_mean) > self._step_rounding(n, r - offset):
            raise contradiction("value", r, "step is", step_mean + offset)
        n = self._grow(plan)
        ends = self.length
        self._log(n, STEP | OWN_NOISE, ends, s2, r, r - offset, step_variance, s2)
        r -= offset
        tau = self._tau(n)
        eta = self._eta(n)
        self._take_step(n, r, s2)
        self._pass_up(tau, eta)
        self._note(r - step_mean, step_variance + s2)
        self._changed()

    def _take_step(self, n, r, s2):
        """Let a reading of the node's step change what is believed of it beforehand."""
        v = self.nodes_[n].v
        if v > 0.0:
            self.nodes_[n].mu += (r - self.nodes_[n].mu) * (v / (v + s2))
            v *= s2 / (v + s2)
            self.nodes_[n].v = v if v >= TINY else 0.0
            if s2 == 0.0:
                self.nodes_[n].mu = r

    def observe_steps(self, path, steps, *, noise=None, depth=None):
        """Take in the immediate rewards along a path: one observation, of the node at its end.

        They sum up to F there. So the first is a reading of F of the first node (the root's step is
        part of it), and each other one a reading of its own step.

        Parameters
        ----------
        path : sequence of int
            The node, not the root.
        steps : sequence of float
            The rewards, one for each step, in the units of the sum.
        noise : float or sequence of float, optional
            The standard deviation of each. By default that of the belief is the noise of their sum,
            shared out as the kernel expects the rewards to be.
        depth : int, optional
            If these are the first rewards of a longer path: its length. The noise is that of the
            whole path.
        """
        rewards = [moderate(r, f"steps[{i}]") for i, r in enumerate(listed(steps, "steps"))]
        if noise is None:
            length = len(rewards)
            if depth is not None:
                length = whole(depth, "depth", least=length, most=self.depth)
            self._tell_steps(path, rewards, self.step_shares(length)[: len(rewards)], 0)
            return
        if np.ndim(noise) == 0:
            variances = [self._noise_variance(noise)] * len(rewards)
        else:
            noises = enumerate(listed(noise, "noise"))
            variances = [self._noise_variance(moderate(s, f"noise[{i}]")) for i, s in noises]
        self._tell_steps(path, rewards, variances, OWN_NOISE)

    def step_shares(self, length):
        """Return the share of each of so many steps in the variance of the noise of their sum."""
        v = np.asarray(self.increments)[1 : length + 1]
        # A step of which the kernel expects nothing may still be read with noise.
        v = np.maximum(v, 1e-3 * v.mean()) if v.any() else np.ones(len(v))
        return (v / v.sum()).tolist()

    def _tell_steps(self, path, rewards, shares, kind):
        """Take in rewards along a path, with a share of the common noise or variances of noise."""
        plan = self._approach(path, True)
        length = self.length
        if length == 0:
            raise ValueError("the root has no steps; observe its value")
        if len(rewards) != length or len(shares) != length:
            raise ValueError(
                f"a path of {length} steps needs a reward and a noise for each, "
                f"got {len(rewards)} rewards and {len(shares)} noises"
            )
        for i in range(length):
            self.values[i] = rewards[i]
            self.shares[i] = shares[i]
            self.variances[i] = self._variance_of(kind, self.shares[i], 0, 0)
        self._foretell_steps(plan)
        total: cython.double = 0.0
        for i in range(length):
            total += self.values[i]
        n = self._grow(plan)
        self.nodes_[n].count += 1
        self.nodes_[n].average += (total - self.nodes_[n].average) / self.nodes_[n].count
        self._take_steps(kind)
        self._changed()

    def _foretell_steps(self, plan):
        """Find how far each reward is from what those before it say, and how far it could be.

        Given what was told before, F along the path is a Markov chain: a Kalman filter.
        """
        m = self.nodes_[ROOT].offset
        V = self.nodes_[ROOT].spread
        place = 0  # on the trail
        for i in range(self.length):
            n = NONE
            g = 1.0
            offset = 0.0
            spread = self.increments[i + 1]
            if i < self.found:
                place += 1
                while self._is_group(self.trail[place]):
                    place += 1
                n = self.trail[place]
                g = self.nodes_[n].g
                offset = self.nodes_[n].offset
                spread = self.nodes_[n].spread
            elif plan is not None:
                for index, _, mu in plan[i]:
                    if index == self.steps[i]:
                        offset = mu
            s2 = self.variances[i]
            m_here = g * m + offset
            V_here = spread + g * g * V
            if i == 0:
                residual = self.values[i] - self.center - m_here
                variance = V_here
                share = V_here
                left = s2 * V_here
            else:
                residual = self.values[i] - (m_here - m)
                variance = spread + (1.0 - g) * (1.0 - g) * V
                share = spread - g * (1.0 - g) * V
                left = spread * V + s2 * V_here
            if variance + s2 > 0.0:
                m_here += residual * (share / (variance + s2))
                V_here = left / (variance + s2)
            elif abs(residual) > self._certain_rounding(i, n):
                y = self.values[i]
                raise contradiction(f"steps[{i}]", y, "step is", y - residual)
            self.residuals[i] = residual
            self.predicted[i] = variance
            m = m_here
            V = V_here

    def _certain_rounding(self, i, n):
        """Return what rounding excuses in the i-th reward, which is certain."""
        if i > 0:
            return self._step_rounding(n, self.values[i])
        if n != NONE and self.nodes_[n].own_precision == INF:
            return 0.0
        return self._rounding(self.values[i])

    def _take_steps(self, kind):
        """Take in the rewards along the trail, from its end upwards, and bring it up to date."""
        tau = 0.0  # what the node below sent before
        eta = 0.0
        below = NONE
        self.observations += 1
        for k in range(self.trailed - 1, -1, -1):
            n = self.trail[k]
            self.nodes_[n].visits += 1
            old_tau = self._tau(n)
            old_eta = self._eta(n)
            i = self.nodes_[n].depth - 1
            if below != NONE:
                new_tau = self._tau(below)
                if new_tau < INF:
                    self._add_message(n, new_tau - tau, self._eta(below) - eta)
                else:
                    self._add_message(n, new_tau, self._eta(below))
            if i >= 0 and not self._is_group(n):
                y = self.values[i]
                s2 = self.variances[i]
                offset = self.center if i == 0 else 0.0
                self._log(
                    n,
                    kind if i == 0 else kind | STEP,
                    self.nodes_[n].depth,
                    self.shares[i],
                    y,
                    y - offset,
                    self.predicted[i],
                    s2,
                )
                if i == 0:
                    self._take_value(n, y - offset, s2)
                else:
                    self._take_step(n, y, s2)
                self._add_density(self.residuals[i], self.predicted[i] + s2)
            self._refresh(n)
            below = n
            tau = old_tau
            eta = old_eta

    # ------------------------------------------------------------------ pending evaluations

    def pend(self, path, *, noise=None, depth=None):
        """Count an evaluation that has no value yet, and return a token for it.

        It narrows the standard deviations by which `highest_upper` chooses. Means, and all that is
        said of told observations only, stay as they are; but the nodes of the path exist from now
        on, which tells how long it is (if a function says) and shows the prior means of their
        neighbours (if that is a function), and stays so when the token is forgotten. `noise` and
        `depth` are as for `observe`.
        """
        share: cython.double = 1.0 if noise is None else self._noise_variance(noise)
        plan = self._approach(path, True)
        ends = self.length
        if depth is not None:
            ends = whole(depth, "depth", least=self.length, most=self.depth)
        kind = 0 if noise is None else OWN_NOISE
        s2 = self._variance_of(kind, share, self.length, ends)
        if self.last_token == 0:
            self.pending_ = aligned(PENDING, self.nodes_.shape[0])
        self.last_token += 1  # from now on `_reserve` makes room for pending ones
        n = self._grow(plan)
        self.tokens[self.last_token] = (n, s2, kind, ends, share)
        kinds = self.waiting_at.setdefault(n, {})
        kinds[s2] = kinds.get(s2, 0) + 1
        self.waiting += 1
        for i in range(self.trailed):
            self.pending_[self.trail[i]].count += 1
        self._sum_own(n)
        self._changed()
        return self.last_token

    def _sum_own(self, n):
        """Sum 1/s^2 of the evaluations that are pending at this very node."""
        total: cython.double = 0.0
        for s2, count in self.waiting_at.get(n, {}).items():
            total += count * inverse(s2)
        self.pending_[n].own = total

    def _count_pending(self, n):
        """Compute q, spread and tau of a node with pending evaluations at or below it.

        The sum over the children is taken anew each time, so that nothing is ever subtracted.
        """
        Q = self.nodes_[n].own_precision + self.pending_[n].own
        v = self.nodes_[n].v
        c = self.nodes_[n].child
        while c != NONE:
            Q += self.pending_[c].tau if self.pending_[c].count else self._tau(c)
            c = self.nodes_[c].sibling
        if Q < INF:
            self.pending_[n].q = 1.0 / (1.0 + v * Q)
            self.pending_[n].spread = v * self.pending_[n].q
            self.pending_[n].tau = Q * self.pending_[n].q
        else:
            self.pending_[n].q = 0.0
            self.pending_[n].spread = 0.0
            self.pending_[n].tau = inverse(v)

    def _withdraw(self, token):
        """Take the pending evaluation out of the counts along the trail, which leads to it."""
        n, s2, _, _, _ = self.tokens.pop(token)
        self.waiting -= 1
        self.waiting_at[n][s2] -= 1
        if self.waiting_at[n][s2] == 0:
            del self.waiting_at[n][s2]
        if not self.waiting_at[n]:
            del self.waiting_at[n]
        for i in range(self.trailed):
            self.pending_[self.trail[i]].count -= 1
        self._sum_own(n)

    def _node_of(self, token):
        if type(token) is not int or token not in self.tokens:
            raise ValueError(
                f"token {token!r} is not pending: it was settled or forgotten before, "
                "or `pend` of this belief never gave it"
            )
        return self.tokens[token][0]

    def settle(self, token, value, *, noise=None):
        """Give a pending evaluation its value; `noise` as for `observe`."""
        y: cython.double = moderate(value, "value")
        own = None if noise is None else self._noise_variance(noise)
        n: cython.int = self._node_of(token)
        _, expected, kind_, ends_, share_ = self.tokens[token]
        kind: cython.int = kind_
        ends: cython.int = ends_
        share: cython.double = share_
        if own is not None:
            kind = OWN_NOISE
            share = own
        self._climb(n)
        s2 = self._variance_of(kind, share, self.length, ends)
        self._check_exact(y, s2)
        self._reserve(0)
        self._withdraw(token)
        self._tell(n, y, s2, kind, ends, share)
        if expected == 0.0 and s2 > 0.0:
            self._reopened()

    def forget(self, token):
        """Drop a pending evaluation: it will not come."""
        n: cython.int = self._node_of(token)
        exact = self.tokens[token][1] == 0.0
        self._climb(n)
        self._withdraw(token)
        self._changed()
        if exact:
            self._reopened()

    # ------------------------------------------------------------------ another prior

    def _believe(self, increments, noise, mean, likelihood):
        """Take another kernel, noise and mean; what was told stays told.

        `likelihood` is that of it all, which the caller has found in choosing them.
        """
        mus = self._prior_means(mean)
        self._set_prior(increments, mean)
        self.noise = moderate(noise, "noise")
        self.farthest = 0.0
        self.fine = False
        for n in range(self.used):
            if self._is_group(n):
                self.nodes_[n].sub_precision = 0.0
                self.nodes_[n].sub_shift = 0.0
                continue
            self.nodes_[n].v = self.increments[self.nodes_[n].depth]
            self.nodes_[n].mu = 0.0 if mus is None else mus[n]
            self.nodes_[n].own_precision = 0.0
            self.nodes_[n].own_value = 0.0
            self.nodes_[n].sub_precision = 0.0
            self.nodes_[n].sub_shift = 0.0
            self._set_arm(n)
        for i in range(self.told):
            self._read_again(i)
        self._pend_again()
        self._gather_all()
        self.likelihood = likelihood
        self.likelihood_rest = 0.0

    def _prior_means(self, mean):
        """Return the prior mean of each node's step; None if they are all 0."""
        if not callable(mean):
            return None
        paths = [()] * self.used
        heights = np.zeros(self.used)
        mus = np.zeros(self.used)
        heights[ROOT] = moderate(mean(()), "mean(())")
        for n in range(1, self.used):
            if not self._is_group(n):
                p = self.nodes_[n].parent
                while self._is_group(p):
                    p = self.nodes_[p].parent
                paths[n] = (*paths[p], int(self.nodes_[n].index))
                heights[n] = moderate(mean(paths[n]), f"mean({paths[n]})")
                mus[n] = heights[n] - heights[p]
        return mus

    def _read_again(self, i):
        """Take in a reading whose noise, or whose prior, has changed; leave out what follows."""
        n = self.readings_[i].node
        kind = self.readings_[i].kind & ~CERTAIN
        y = self.readings_[i].value
        s2 = self._variance_of(
            kind, self.readings_[i].share, self.nodes_[n].depth, self.readings_[i].ends
        )
        if n == ROOT or not kind & STEP:
            y -= self.center
        if s2 == 0.0 and (
            self.nodes_[n].v == 0.0 if kind & STEP else self.nodes_[n].own_precision == INF
        ):
            self.readings_[i].kind = kind | CERTAIN
        else:
            self.readings_[i].kind = kind
            self._judge(y, INF, s2)
        self.readings_[i].variance = s2
        if kind & STEP:
            self._take_step(n, y, s2)
        else:
            self._take_value(n, y, s2)

    def _pend_again(self):
        """Give pending evaluations the noise that they have now."""
        self.waiting_at = {}
        for token, (n, _, kind, ends, share) in self.tokens.items():
            s2 = self._variance_of(kind, share, self.nodes_[n].depth, ends)
            self.tokens[token] = (n, s2, kind, ends, share)
            kinds = self.waiting_at.setdefault(n, {})
            kinds[s2] = kinds.get(s2, 0) + 1
        for n in self.waiting_at:
            self._sum_own(n)

    def _gather_all(self):
        """Send all messages anew, those of the deepest nodes first."""
        n = ROOT
        while True:
            while self.nodes_[n].child != NONE:
                n = self.nodes_[n].child
            while True:
                self._refresh(n)
                if self.waiting and self.pending_[n].count:
                    self._count_pending(n)
                parent = self.nodes_[n].parent
                if parent == NONE:
                    return
                self._add_message(parent, self._tau(n), self._eta(n))
                if self.nodes_[n].sibling != NONE:
                    break
                n = parent
            n = self.nodes_[n].sibling

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
            "tokens": dict(self.tokens),
            "waiting_at": {n: dict(kinds) for n, kinds in self.waiting_at.items()},
            "observations": self.observations,
            "likelihood": (self.likelihood, self.likelihood_rest),
            "farthest": self.farthest,
            "fine": bool(self.fine),
            "readings": np.array(np.asarray(self.readings_)[: self.told]),
        }

    def __setstate__(self, state):
        Nodes.__setstate__(self, state)
        self.noise = state["noise"]
        self.tokens = dict(state["tokens"])
        self.waiting = len(self.tokens)
        self.waiting_at = {n: dict(kinds) for n, kinds in state["waiting_at"].items()}
        self.observations = state["observations"]
        self.likelihood, self.likelihood_rest = state["likelihood"]
        self.farthest = state["farthest"]
        self.fine = state["fine"]
        self.told = len(state["readings"])
        self.readings_ = grown(state["readings"], READING, self.told)
        self._make_scratch()


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
