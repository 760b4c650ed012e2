# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The exact posterior: Gaussian belief propagation on the nodes of a tree.

Notation

=============  =====================================================================================
v_n, mu_n      variance and mean of the step of node n, after observations of the step itself
F_n            the sum of the steps from the root to n; the reward of an arm is F at its end
               (in here less the prior mean of the root, `center`, which may be large)
s^2            variance of the noise of an observation
P_n, h_n       all observations at n or below, as the likelihood exp(-P F^2/2 + h F):
               P = own_precision + sum of tau, h = own_precision own_value + sum of eta
g_n            1/(1 + v P): how much of a change of the parent's F arrives at n
tau_n, eta_n   the message to the parent, its share in the parent's P and h:
               tau = g P, eta = g (h - P mu)
m_n, V_n       posterior mean and variance of F_n:
               m = g m_parent + offset, offset = g (mu + v h)
               V = g^2 V_parent + spread, spread = g v
Q_n, q_n       P_n and g_n with pending evaluations counted as observations
=============  =====================================================================================

An observation changes P and h of its node, and the messages from there up to the root: O(depth).
An observation without noise makes P infinite; then F is known, and tau = 1/v, eta = (F - mu)/v.
A step without variance passes what is known up as it is.

Pending evaluations count in the standard deviations by which the next arm is chosen, and in nothing
else: each node on their way has a second precision Q, in which they count as observations.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

if not cython.compiled:
    from bough.belief.effects import Effects
    from bough.belief.nodes import GROUP, INF, LARGEST, NONE, ROOT, TINY, Nodes, moderate

from bough._validation import at_least_zero, listed, whole
from bough.belief.nodes import PENDING, aligned, grown, read_only, record
from bough.exceptions import Contradiction

LOG_TWO_PI = float(np.log(2 * np.pi))
#: Noise that is not 0 is at least this share of the prior standard deviation of an arm. With less
#: the digits of a double would not suffice for the likelihood.
LEAST_NOISE = 1e-6
#: The relative error of a value that is known from effects of labels.
LABEL_ROUNDING = 1e-5
#: A value that is known from effects of labels up to this share of its prior variance can be
#: contradicted.
NEARLY_CERTAIN = 1e-12

OBSERVATION = record(
    ("node ends of_step own_noise", np.int32), ("value variance share", np.float64)
)


class Posterior:
    """Observations and pending evaluations, and the evidence about F that they are."""

    def __init__(self, nodes: Nodes, noise, effects: Effects = None):
        self.nodes = nodes
        self.effects = effects
        self.log = aligned(OBSERVATION, 0)
        self.last_token = 0
        self._set_noise(moderate(noise, "noise"))
        self.values = np.zeros(nodes.depth)
        self.variances = np.zeros(nodes.depth)
        self.shares = np.zeros(nodes.depth)
        self.residuals = np.zeros(nodes.depth)
        self.predicted = np.zeros(nodes.depth)
        self.taus = np.zeros(nodes.trail.shape[0])
        self.etas = np.zeros(nodes.trail.shape[0])
        self._start()

    def _start(self):
        self.count = 0
        self.likelihood = 0.0
        self.likelihood_rest = 0.0
        self.logged = 0
        self.tokens = {}
        self.waiting_at = {}

    def clear(self):
        """Forget all observations and all pending evaluations, but keep the memory."""
        self._start()
        self.nodes.clear()
        if self.effects is not None:
            self.effects.clear()

    # ------------------------------------------------------------------ observations

    @property
    def pending(self):
        """The number of pending evaluations."""
        return self.nodes.waiting

    @property
    def observations(self):
        """Every observation as it came, as a read-only record array."""
        return read_only(self.log, OBSERVATION, self.logged)

    def log_likelihood(self):
        """Return the log density of all observations that were not certain beforehand."""
        return self.likelihood + self.likelihood_rest

    def observe(self, path, value, noise, depth):
        """Condition on a noisy value of F at a node, or at a random node below it at a depth."""
        nodes = self.nodes
        y: cython.double = moderate(value, "value")
        own_noise = noise is not None
        share: cython.double = self._squared(noise) if own_noise else 1.0
        try:
            plan = self._approach(path)
            ends = self._ends(depth)
            s2 = self.variance_of(own_noise, share, nodes.length, ends)
            self.observe_at_trail(plan, y, s2, own_noise, ends, share)
        finally:
            self._drop_labels()

    def observe_at_trail(self, plan, y, s2, own_noise, ends, share):
        """Observe F at the end of the path that `nodes` has approached."""
        self.check_exact(y, s2)
        self._observe_value(self._grow(plan), y, s2, own_noise, ends, share)
        return 0

    def _approach(self, path):
        """Find the end of a path that is to be grown, and the labels of its nodes."""
        if self.effects is None:
            return self.nodes.approach(path, True)
        numbers = self.effects.read(path)
        plan = self.nodes.approach(path, True)
        self.effects.name(numbers)
        self.effects.check_labels()
        return plan

    def _drop_labels(self):
        """Forget labels that were read for an observation that was refused."""
        if self.effects is not None:
            self.effects.drop()
        return 0

    def _grow(self, plan):
        """Make the nodes of the path that do not exist, and room for its observations."""
        nodes = self.nodes
        self._reserve_log()
        n = nodes.grow(plan)
        if self.effects is not None:
            self.effects._take_labels()
        if nodes.split:
            for group in nodes.split:
                self._gather(group)
                if self.effects is not None:
                    self.effects.gather(group)
            nodes.split.clear()
        return n

    def _reserve_log(self):
        """Make room for the observations of a path."""
        if self.logged + self.nodes.depth + 1 > self.log.shape[0]:
            room = max(64, 4 * self.log.shape[0], self.logged + self.nodes.depth + 1)
            self.log = grown(self.log, OBSERVATION, room)
        return 0

    def _set_noise(self, noise):
        """Take a common noise, raised to what the prior allows, and the same for all others."""
        nodes = self.nodes
        least = LEAST_NOISE * sqrt(nodes.increments[0] + nodes.below[0])
        self.least_variance = least * least
        self.noise = noise if noise * noise < TINY or noise > least else least

    def variance_of(self, own_noise, share, depth, ends):
        """Return s^2 of an observation at a node of some depth, of what ends at another."""
        s2 = share
        if not own_noise:
            s2 = self.noise * self.noise
            s2 = share * s2 if s2 >= TINY else 0.0
        elif 0.0 < s2 < self.least_variance:
            s2 = self.least_variance
        for i in range(depth, ends):
            s2 += self.nodes.increments[i + 1]
        return s2

    def _squared(self, noise):
        """Return the variance of a noise that was given for one observation."""
        s: cython.double = at_least_zero(moderate(noise, "noise"), "noise")
        return s * s if s * s >= TINY else 0.0

    def _ends(self, depth):
        """Return the depth of what is observed: the end of the path, or what was given."""
        length = self.nodes.length
        if self.effects is not None and depth is not None and depth != length:
            raise ValueError(
                "an observation of an unknown node below this one needs its labels, which are "
                "unknown too: observe the node itself"
            )
        return (
            length if depth is None else whole(depth, "depth", least=length, most=self.nodes.depth)
        )

    def check_exact(self, y, s2):
        """Refuse an exact value of something that is known to be otherwise."""
        nodes = self.nodes
        if s2 > 0.0 or nodes.variance > 0.0:
            return 0
        if self.effects is not None:
            self.effects.named = nodes.length
            self.effects.reach()
            return self._check_certain(y, nodes.center, nodes.m, "node has")
        n = nodes.trail[nodes.trailed - 1] if nodes.found == nodes.length else NONE
        if abs(y - nodes.center - nodes.m) > self._rounding(n, y):
            raise contradiction("value", y, "node has", nodes.m + nodes.center)
        return 0

    def _check_certain(self, y, center, m, what):
        """Refuse an exact value that contradicts known effects, m being known without these."""
        self.effects.predict()
        known = m + self.effects.residual
        gap = abs(y - center - known)
        slack = LABEL_ROUNDING * (abs(y - center) + abs(known)) + 10.0 * sqrt(self.effects.variance)
        slack += self._rounding(NONE, y)
        if self.effects.is_certain(NEARLY_CERTAIN) and gap > slack:
            raise contradiction("value", y, what, known + center)
        return 0

    def _rounding(self, observed, y):
        """Bound the effect of rounding on what is known of F at the end of the trail.

        That depends on how large the numbers are from which it is known: those on the way, and
        those below that are tied to it by steps without variance. What was `observed` itself (a
        node, or NONE) is kept as it came.
        """
        nodes = self.nodes
        if observed != NONE and nodes.array[observed].own_precision == INF:
            return 0.0
        scale = abs(y - nodes.center)
        m = 0.0
        n = ROOT
        for i in range(nodes.trailed):
            n = nodes.trail[i]
            m = nodes.array[n].g * m + nodes.array[n].offset
            scale = max(scale, abs(m), abs(nodes.array[n].mu))
        while n != NONE:
            c = nodes.array[n].child
            while c != NONE and self._tau(c) < INF:
                c = nodes.array[c].sibling
            if c != NONE:
                scale = max(scale, abs(self._known_value(c)), abs(nodes.array[c].mu))
            n = c
        return 1e-9 * scale + 1e-15 * (abs(y) + abs(nodes.center))

    def _observe_value(self, n, y, s2, own_noise, ends, share):
        """Condition on F at the end of the trail, whose posterior is (m, variance)."""
        nodes = self.nodes
        self._open()
        self._record(n, False, own_noise, ends, share, y, s2)
        self._count_reward(n, y)
        self._take_value(n, y - nodes.center, s2)
        self._add_density(residual_of(y, nodes.center, nodes.m), nodes.variance + s2)
        self._close()

    def _count_reward(self, n, y):
        """Count a reward that was observed at this very node."""
        nodes = self.nodes
        nodes.array[n].count += 1
        nodes.array[n].average += (y - nodes.array[n].average) / nodes.array[n].count

    def _record(self, n, of_step, own_noise, ends, share, value, s2):
        """Log an observation; there must be room for it."""
        i = self.logged
        self.logged += 1
        self.log[i].node = n
        self.log[i].ends = ends
        self.log[i].of_step = of_step
        self.log[i].own_noise = own_noise
        self.log[i].value = value
        self.log[i].variance = s2
        self.log[i].share = share

    def _add_density(self, residual, variance):
        """Add log N(residual; 0, variance) to the likelihood."""
        if self.effects is not None:
            self.effects.learn(residual, variance)
            residual = self.effects.residual
            variance = self.effects.variance
        if variance < TINY:
            return  # the value was certain, and is as expected
        term = -0.5 * (LOG_TWO_PI + log(variance) + residual * residual / variance)
        total = self.likelihood + term
        if abs(self.likelihood) >= abs(term):
            self.likelihood_rest += (self.likelihood - total) + term
        else:
            self.likelihood_rest += (term - total) + self.likelihood
        self.likelihood = total

    def end(self, path):
        """Let a path end at a node with observations: nothing lies below it."""
        nodes = self.nodes
        if nodes.ragged:
            raise ValueError("the branching function of this tree determines where paths end")
        nodes.approach(path, False)
        if nodes.found < nodes.length:
            raise ValueError(f"no observation at {nodes.path(nodes.length)}: it cannot end there")
        n = nodes.trail[nodes.trailed - 1]
        if nodes.array[n].explored > 0:
            raise ValueError(f"the path {nodes.path(nodes.length)} had further steps before")
        nodes.array[n].branching = 0
        nodes.set_arm(n)
        self._finish()

    # ------------------------------------------------------------------ messages, upwards

    def _precision(self, n):
        """Return P."""
        return self.nodes.array[n].own_precision + self.nodes.array[n].sub_precision

    def _shift(self, n):
        """Return h, where P is finite."""
        nodes = self.nodes
        return nodes.array[n].own_precision * nodes.array[n].own_value + nodes.array[n].sub_shift

    def _known_value(self, n):
        """Return F of a node that is known, P = inf."""
        if self.nodes.array[n].own_precision == INF:
            return self.nodes.array[n].own_value
        return self.nodes.array[n].sub_shift

    def _tau(self, n):
        """Return tau = g P, or 1/v where P = inf."""
        P = self._precision(n)
        if P < INF:
            return P * self.nodes.array[n].g
        return inverse(self.nodes.array[n].v)

    def _eta(self, n):
        """Return eta = g (h - P mu); where P = inf, (F - mu)/v, or F of the parent if v = 0."""
        nodes = self.nodes
        P = self._precision(n)
        if P < INF:
            return (self._shift(n) - P * nodes.array[n].mu) * nodes.array[n].g
        value = self._known_value(n) - nodes.array[n].mu
        return value / nodes.array[n].v if nodes.array[n].v > 0.0 else value

    def _refresh(self, n):
        """Compute g, offset and spread from the evidence."""
        nodes = self.nodes
        P = self._precision(n)
        v = nodes.array[n].v
        if P < INF:
            g = 1.0 / (1.0 + v * P)
            nodes.array[n].g = g
            nodes.array[n].offset = g * (nodes.array[n].mu + v * self._shift(n))
            nodes.array[n].spread = v * g
        else:
            nodes.array[n].g = 0.0
            nodes.array[n].offset = self._known_value(n)
            nodes.array[n].spread = 0.0

    def _add_message(self, n, tau, eta):
        """Add (a change of) a child's message to the evidence of n."""
        nodes = self.nodes
        if nodes.array[n].sub_precision < INF:
            if tau < INF:
                nodes.array[n].sub_precision += tau
                nodes.array[n].sub_shift += eta
            else:
                nodes.array[n].sub_precision = INF
                nodes.array[n].sub_shift = eta

    def _gather(self, n):
        """Compute the evidence of a node that has none yet from the messages of its children."""
        nodes = self.nodes
        c = nodes.array[n].child
        while c != NONE:
            self._add_message(n, self._tau(c), self._eta(c))
            c = nodes.array[c].sibling
        self._refresh(n)
        if nodes.waiting and nodes.pending[n].count:
            self._count_pending(n)

    def _open(self):
        """Keep the messages along the trail, before observations change them."""
        nodes = self.nodes
        for i in range(nodes.trailed):
            self.taus[i] = self._tau(nodes.trail[i])
            self.etas[i] = self._eta(nodes.trail[i])
        if self.effects is not None:
            self.effects.open()

    def _pass_up(self):
        """Pass up what has changed along the trail since `_open`."""
        nodes = self.nodes
        for i in range(nodes.trailed - 1, -1, -1):
            n = nodes.trail[i]
            self._refresh(n)
            if i > 0:
                tau = self._tau(n)
                eta = self._eta(n)
                if self.effects is not None:
                    self.effects.pass_up(i, tau)
                if tau < INF:
                    tau -= self.taus[i]
                    eta -= self.etas[i]
                self._add_message(nodes.trail[i - 1], tau, eta)

    def _close(self):
        """Pass up what has changed along the trail since `_open`, and count the observation."""
        nodes = self.nodes
        self._pass_up()
        for i in range(nodes.trailed):
            nodes.array[nodes.trail[i]].visits += 1
        self.count += 1
        self._finish()

    def _take_value(self, n, y, s2):
        """Add an observation of F to the node's own evidence."""
        nodes = self.nodes
        if s2 > 0.0:
            precision = 1.0 / s2
            if nodes.array[n].own_precision < INF:
                nodes.array[n].own_precision += precision
                nodes.array[n].own_value += (y - nodes.array[n].own_value) * (
                    precision / nodes.array[n].own_precision
                )
        else:
            nodes.array[n].own_precision = INF
            nodes.array[n].own_value = y

    def _take_step(self, n, r, s2):
        """Condition the step of a node on an observation of it: change mu and v."""
        nodes = self.nodes
        v = nodes.array[n].v
        if self.effects is not None:
            self.effects.take_step(n, s2)
        if v > 0.0:
            nodes.array[n].mu += (r - nodes.array[n].mu) * (v / (v + s2))
            v *= s2 / (v + s2)
            nodes.array[n].v = v if v >= TINY else 0.0
            if s2 == 0.0:
                nodes.array[n].mu = r

    def _finish(self):
        """Stamp the trail, at the end of which something has changed, and update its Q."""
        nodes = self.nodes
        nodes.mark_trail()
        if nodes.waiting:
            for i in range(nodes.trailed - 1, -1, -1):
                if nodes.pending[nodes.trail[i]].count:
                    self._count_pending(nodes.trail[i])

    # ------------------------------------------------------------------ single steps

    def observe_step(self, path, value, noise):
        """Condition on a noisy value of the step of one node."""
        r: cython.double = moderate(value, "value")
        share = self._squared(noise)
        s2 = self.variance_of(True, share, 0, 0)
        try:
            self._observe_step(path, r, s2, share)
        finally:
            self._drop_labels()

    def _observe_step(self, path, r, s2, share):
        """Condition on a value of a step with noise of variance s2."""
        nodes = self.nodes
        plan = self._approach(path)
        self._predict_step(r, s2)
        mean, variance = self.step_mean, self.step_variance
        offset = nodes.center if nodes.length == 0 else 0.0
        n = self._grow(plan)
        self._record(n, True, True, nodes.length, share, r, s2)
        self._open()
        if self.effects is not None:
            self.effects.use_step()
        self._take_step(n, r - offset, s2)
        self._add_density(residual_of(r, offset, mean), variance + s2)
        self._close()
        return 0

    def _predict_step(self, r, s2):
        """Find mean and variance of the last step of the path; refuse an exact value if it differs.

        That is if the step is known to be otherwise.
        """
        nodes = self.nodes
        offset = nodes.center if nodes.length == 0 else 0.0  # F of the root is its step
        n = NONE
        self.step_mean = nodes.step_prior
        self.step_variance = nodes.increments[nodes.length]
        if nodes.found == nodes.length:
            n = nodes.trail[nodes.trailed - 1]
            g = nodes.array[n].g
            self.step_mean = (g - 1.0) * nodes.m_above + nodes.array[n].offset
            self.step_variance = nodes.array[n].spread + (1.0 - g) ** 2 * nodes.variance_above
        if s2 > 0.0 or self.step_variance > 0.0:
            return 0
        if self.effects is not None:
            self.effects.reach_step()
            return self._check_certain(r, offset, self.step_mean, "step is")
        if abs(r - offset - self.step_mean) > self._step_rounding(n, r - offset):
            raise contradiction("value", r, "step is", self.step_mean + offset)
        return 0

    def _step_rounding(self, n, r):
        """Bound the effect of rounding on a step that is certain; n is NONE if it is new."""
        nodes = self.nodes
        if n != NONE and nodes.array[n].v == 0.0 and nodes.increments[nodes.array[n].depth] > 0.0:
            if r == nodes.array[n].mu:
                return INF  # it was observed itself, and came again
            return 0.0
        return self._rounding(NONE, r + nodes.center)

    def observe_steps(self, path, steps, noise, depth):
        """Condition on the rewards of all steps along a path."""
        rewards = [
            r if type(r) is float and -LARGEST <= r <= LARGEST else moderate(r, f"steps[{i}]")
            for i, r in enumerate(steps if type(steps) is list else listed(steps, "steps"))
        ]
        if noise is None:
            length = len(rewards)
            if depth is not None:
                length = whole(depth, "depth", least=length, most=self.nodes.depth)
            shares = self.step_shares(length)[: len(rewards)]
        else:
            shares = self._step_variances(noise, len(rewards))
        try:
            self._observe_steps(path, rewards, shares, noise is not None)
        finally:
            self._drop_labels()

    def observe_path(self, path, steps, variances, total, ends):
        """Condition on all steps along a path, with variances of their noise, and on a value of F.

        That is with the common noise, of a node at the depth `ends`, unless this is 0. As
        `observe_steps` and `observe`, but for callers with lists of numbers that need no check.
        """
        try:
            self._observe_steps(path, steps, variances, True)
            if ends > 0:
                s2 = self.variance_of(False, 1.0, self.nodes.length, ends)
                self.observe_at_trail(self._approach(path), total, s2, False, ends, 1.0)
        finally:
            self._drop_labels()
        return 0

    def _step_variances(self, noise, count):
        """Return the variances of noises that were given for steps: one of each, or one of all."""
        # (To ask NumPy what a list is takes longer than all the rest.)
        if type(noise) is float or (type(noise) is not list and np.ndim(noise) == 0):
            return [self._squared(noise)] * count
        return [
            s * s
            if type(s) is float and 1e-50 < s <= LARGEST
            else self._squared(moderate(s, f"noise[{i}]"))
            for i, s in enumerate(noise if type(noise) is list else listed(noise, "noise"))
        ]

    def step_shares(self, length):
        """Return the share of each step in the variance of the noise of their sum."""
        v = np.asarray(self.nodes.increments)[1 : length + 1]
        # A step of which the kernel expects nothing may still be observed with noise.
        v = np.maximum(v, 1e-3 * v.mean()) if v.any() else np.ones(len(v))
        return (v / v.sum()).tolist()

    def _observe_steps(self, path, rewards, shares, own_noise):
        """Condition on rewards with shares of the common noise, or variances of their own."""
        nodes = self.nodes
        plan = self._approach(path)
        length = nodes.length
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
            self.variances[i] = self.variance_of(own_noise, self.shares[i], 0, 0)
        if self.effects is not None:
            return self._observe_labeled_steps(path, own_noise)
        self._predict_steps(plan)
        total: cython.double = 0.0
        for i in range(length):
            total += self.values[i]
        self._count_reward(self._grow(plan), total)
        self._open()
        for k in range(nodes.trailed - 1, -1, -1):
            n = nodes.trail[k]
            i = nodes.array[n].depth - 1
            if i >= 0 and nodes.array[n].count != GROUP:
                y = self.values[i]
                s2 = self.variances[i]
                self._record(n, i > 0, own_noise, i + 1, self.shares[i], y, s2)
                if i == 0:
                    self._take_value(n, y - nodes.center, s2)
                else:
                    self._take_step(n, y, s2)
                self._add_density(self.residuals[i], self.predicted[i] + s2)
        self._close()
        return 0

    def _observe_labeled_steps(self, path, own_noise):
        """Condition on the rewards of a path one by one, since they share effects of labels."""
        nodes = self.nodes
        length = nodes.length
        for i in range(length):
            if self.variances[i] == 0.0:  # it may contradict what is known
                self._approach(path[: i + 1])
                if i > 0:
                    self._predict_step(self.values[i], 0.0)
                else:
                    self.check_exact(self.values[i], 0.0)
        plan = self._approach(path)
        total: cython.double = 0.0
        for i in range(nodes.length):
            total += self.values[i]
        end = self._grow(plan)
        self._count_reward(end, total)
        path = [nodes.trail[k] for k in range(nodes.trailed)]
        for n in path:
            i: cython.int = nodes.array[n].depth - 1
            if i >= 0 and nodes.array[n].count != GROUP:
                s2 = self.variances[i]
                self._record(n, i > 0, own_noise, i + 1, self.shares[i], self.values[i], s2)
                self._condition(n, i > 0, self.values[i], s2)
        nodes.climb(end)
        for i in range(nodes.trailed):
            nodes.array[nodes.trail[i]].visits += 1
        self.count += 1
        self._finish()
        return 0

    def _condition(self, n, of_step, y, s2):
        """Condition on an observation of a node that exists, without counting it."""
        nodes = self.nodes
        nodes.climb(n)
        m = nodes.m
        variance = nodes.variance
        offset = nodes.center
        self._open()
        if of_step:
            g = nodes.array[n].g
            m = (g - 1.0) * nodes.m_above + nodes.array[n].offset
            variance = nodes.array[n].spread + (1.0 - g) ** 2 * nodes.variance_above
            if n != ROOT:
                offset = 0.0
            self.effects.use_step()
            self._take_step(n, y - offset, s2)
        else:
            self._take_value(n, y - offset, s2)
        self._add_density(residual_of(y, offset, m), variance + s2)
        self._pass_up()

    def _predict_steps(self, plan):
        """Find how far each reward is from what those before it predict, and with what variance.

        Given all earlier observations, F along the path is a Markov chain: a Kalman filter.
        """
        nodes = self.nodes
        m = nodes.array[ROOT].offset
        V = nodes.array[ROOT].spread
        place = 0  # on the trail
        for i in range(nodes.length):
            n = NONE
            g = 1.0
            offset = 0.0
            spread = nodes.increments[i + 1]
            if i < nodes.found:
                place += 1
                while nodes.array[nodes.trail[place]].count == GROUP:
                    place += 1
                n = nodes.trail[place]
                g = nodes.array[n].g
                offset = nodes.array[n].offset
                spread = nodes.array[n].spread
            elif plan is not None:
                for index, _, prior_mean in plan[i]:
                    if index == nodes.steps[i]:
                        mu: cython.double = prior_mean  # (else all that follows is no C double)
                        offset = mu
            s2 = self.variances[i]
            m_here = g * m + offset
            V_here = spread + g * g * V
            if i == 0:  # an observation of F
                residual = residual_of(self.values[i], nodes.center, m_here)
                variance = V_here
                share = V_here
                left = s2 * V_here
            else:  # of F less F of the parent
                residual = self.values[i] - (m_here - m)
                variance = spread + (1.0 - g) * (1.0 - g) * V
                share = spread - g * (1.0 - g) * V
                left = spread * V + s2 * V_here
            if variance + s2 > 0.0:
                m_here += residual * (share / (variance + s2))
                V_here = left / (variance + s2)
            else:
                y = self.values[i]
                slack = self._step_rounding(n, y) if i > 0 else self._rounding(n, y)
                if abs(residual) > slack:
                    raise contradiction(f"steps[{i}]", y, "step is", y - residual)
            self.residuals[i] = residual
            self.predicted[i] = variance
            m = m_here
            V = V_here
        return 0

    # ------------------------------------------------------------------ steps with a new prior

    def follow(self, n):
        """Extend the trail by a node, and keep its message."""
        nodes = self.nodes
        self.taus[nodes.trailed] = self._tau(n)
        self.etas[nodes.trailed] = self._eta(n)
        nodes._extend(n)

    def replace_step(self, n, mu, v):
        """Replace the prior of the step of a node, before its parent gathers messages again."""
        self.nodes.array[n].mu = mu
        self.nodes.array[n].v = v
        self._refresh(n)

    def gather_again(self):
        """Compute the evidence of the last node of the trail, whose children's steps are new."""
        nodes = self.nodes
        n = nodes.trail[nodes.trailed - 1]
        nodes.array[n].sub_precision = 0.0
        nodes.array[n].sub_shift = 0.0
        self._gather(n)
        g = nodes.array[n].g
        nodes.m = g * nodes.m_above + nodes.array[n].offset
        nodes.variance = nodes.array[n].spread + g * g * nodes.variance_above

    def observe_followed(self, y, s2):
        """Condition on F at the end of a trail of nodes that were followed."""
        nodes = self.nodes
        self._take_value(nodes.trail[nodes.trailed - 1], y, s2)
        self._pass_up()

    # ------------------------------------------------------------------ pending evaluations

    def pend(self, path, noise, depth):
        """Count an evaluation that has no value yet, and return a token for it."""
        nodes = self.nodes
        own_noise = noise is not None
        share: cython.double = self._squared(noise) if own_noise else 1.0
        try:
            plan = self._approach(path)
            ends = self._ends(depth)
            s2 = self.variance_of(own_noise, share, nodes.length, ends)
            if nodes.pending.shape[0] == 0:
                nodes.pending = aligned(PENDING, nodes.array.shape[0])
            n = self._grow(plan)
        finally:
            self._drop_labels()
        self.last_token += 1
        self.tokens[self.last_token] = (n, s2, own_noise, ends, share)
        self._wait(n, s2, 1)
        self._finish()
        return self.last_token

    def _wait(self, n, s2, change):
        """Change the number of evaluations that are pending at the end of the trail."""
        nodes = self.nodes
        nodes.waiting += change
        for i in range(nodes.trailed):
            nodes.pending[nodes.trail[i]].count += change
        self._sum_own(n, s2, change)
        return 0

    def _sum_own(self, n, s2, change):
        """Change the number of pending evaluations of some s^2 at a node, and sum their 1/s^2."""
        kinds = self.waiting_at.setdefault(n, {})
        kinds[s2] = kinds.get(s2, 0) + change
        if not kinds[s2]:
            del kinds[s2]
        total: cython.double = 0.0
        for variance, count in kinds.items():
            total += count * inverse(variance)
        self.nodes.pending[n].own = total
        if not kinds:
            del self.waiting_at[n]
        return 0

    def _count_pending(self, n):
        """Compute q, spread and tau of a node with pending evaluations at or below it.

        The sum over the children is computed from the start each time, so that nothing is ever
        subtracted.
        """
        nodes = self.nodes
        Q = nodes.array[n].own_precision + nodes.pending[n].own
        v = nodes.array[n].v
        c = nodes.array[n].child
        while c != NONE:
            Q += nodes.pending[c].tau if nodes.pending[c].count else self._tau(c)
            c = nodes.array[c].sibling
        if Q < INF:
            nodes.pending[n].q = 1.0 / (1.0 + v * Q)
            nodes.pending[n].spread = v * nodes.pending[n].q
            nodes.pending[n].tau = Q * nodes.pending[n].q
        else:
            nodes.pending[n].q = 0.0
            nodes.pending[n].spread = 0.0
            nodes.pending[n].tau = inverse(v)

    def covariance_with_pending(self):
        """Return the covariance of z if pending evaluations count as observations.

        Each counts with the variance of F that it has without the others.
        """
        effects = self.effects
        C = np.array(effects.posterior[1])
        for n, s2, _, _, _ in self.tokens.values():
            self.nodes.climb(n)
            effects.open()
            c = np.array(effects.c[: effects.size])
            gain = C @ c
            total = float(c @ gain) + self.nodes.variance + s2
            if total > 0.0:
                C -= np.outer(gain, gain) / total
        return C

    def awaited(self):
        """Return the paths of pending evaluations."""
        return [tuple(self.nodes.path_to(token[0])) for token in self.tokens.values()]

    def _check_token(self, token):
        if type(token) is not int or token not in self.tokens:
            raise ValueError(
                f"token {token!r} is not pending: it was settled or forgotten before, "
                "or it was not returned by `pend` of this belief"
            )

    def settle(self, token, value, noise):
        """Give a pending evaluation its value."""
        nodes = self.nodes
        y: cython.double = moderate(value, "value")
        given = None if noise is None else self._squared(noise)
        self._check_token(token)
        n: cython.int
        own_noise: cython.bint
        ends: cython.int
        share: cython.double
        n, expected, own_noise, ends, share = self.tokens[token]
        if given is not None:
            own_noise = True
            share = given
        nodes.climb(n)
        s2 = self.variance_of(own_noise, share, nodes.length, ends)
        self.check_exact(y, s2)
        self._reserve_log()
        del self.tokens[token]
        self._wait(n, expected, -1)
        self._observe_value(n, y, s2, own_noise, ends, share)
        if expected == 0.0 and s2 > 0.0:
            nodes.reopened = nodes.now  # also what hangs on it by steps without variance

    def forget(self, token):
        """Drop a pending evaluation."""
        nodes = self.nodes
        self._check_token(token)
        n: cython.int
        n, s2, _, _, _ = self.tokens.pop(token)
        nodes.climb(n)
        self._wait(n, s2, -1)
        self._finish()
        if s2 == 0.0:
            nodes.reopened = nodes.now

    # ------------------------------------------------------------------ posterior, downwards

    def posterior(self, paths):
        """Return mean and standard deviation of F at some nodes, as two arrays."""
        nodes = self.nodes
        mean = np.empty(len(paths))
        std = np.empty(len(paths))
        if self.effects is not None:
            known = len(self.effects.keys), self.effects.size
            for i in range(len(paths)):
                _, label_mean, label_variance = self.effects.vector(paths[i])
                mean[i] = nodes.m + nodes.center + label_mean
                std[i] = sqrt(nodes.variance + label_variance)
                self.effects.forget(*known)
            return mean, std
        for i in range(len(paths)):
            nodes.approach(paths[i], False)
            mean[i] = nodes.m + nodes.center
            std[i] = sqrt(nodes.variance)
        return mean, std

    def chain(self, path):
        """Return g, offset and spread of each node from the root to the end of a path."""
        nodes = self.nodes
        nodes.approach(path, False)
        length = nodes.length
        d = -1
        g = np.ones(length + 1)
        offset = np.zeros(length + 1)
        spread = np.asarray(nodes.increments)[: length + 1].copy()
        for i in range(nodes.trailed):
            n = nodes.trail[i]
            if nodes.array[n].count != GROUP:
                d += 1
                g[d] = nodes.array[n].g
                offset[d] = nodes.array[n].offset
                spread[d] = nodes.array[n].spread
        if nodes.prior_mean is not None:
            path = nodes.path(length)
            for i in range(d + 1, length + 1):
                offset[i] = nodes.prior(path[:i]) - nodes.prior(path[: i - 1])
        return g, offset, spread

    def at(self, path):
        """Return what is known at a node: path, mean, std, average and number of its rewards."""
        nodes = self.nodes
        if self.effects is not None:
            (mean,), (std,) = self.posterior([path])
        nodes.approach(path, False)
        value = None
        count = 0
        n = nodes.trail[nodes.trailed - 1]
        if nodes.found == nodes.length and nodes.array[n].count > 0:
            count = nodes.array[n].count
            value = nodes.array[n].average
        if self.effects is None:
            mean = nodes.m + nodes.center
            std = sqrt(nodes.variance)
        return nodes.path(nodes.length), float(mean), float(std), value, count

    def explored_steps(self, path):
        """Return how many steps of a path lead to nodes that exist."""
        self.nodes.approach(path, False)
        return self.nodes.found

    def observed_steps(self, path):
        """Return how many steps of a path lead to nodes with observations there or below."""
        self.nodes.approach(path, False)
        return self.nodes.observed_on_trail()

    # ------------------------------------------------------------------ another prior

    def take_prior(self, increments, noise, mean, likelihood, labels=None):
        """Replace kernel, noise and mean, and keep the observations.

        All observations are made again at their nodes, and then all messages are sent once, from
        the deepest nodes upwards: O(nodes), and nothing is left of the old posterior.
        """
        nodes = self.nodes
        n: cython.int
        noise = moderate(noise, "noise")
        mus = self._prior_means(mean)
        nodes.set_prior(increments, mean)
        self._set_noise(noise)
        for n in range(nodes.used):
            if nodes.array[n].count != GROUP:
                nodes.array[n].v = nodes.increments[nodes.array[n].depth]
                nodes.array[n].mu = 0.0 if mus is None else mus[n]
                nodes.array[n].own_precision = 0.0
                nodes.array[n].own_value = 0.0
            nodes.array[n].sub_precision = 0.0
            nodes.array[n].sub_shift = 0.0
        if self.effects is not None:
            self.effects.take_model(labels)
            self._replay()
        else:
            for i in range(self.logged):
                self._observe_again(i)
        self.waiting_at = {}
        for token, (n, _, own_noise, ends, share) in self.tokens.items():
            s2 = self.variance_of(own_noise, share, nodes.array[n].depth, ends)
            self.tokens[token] = (n, s2, own_noise, ends, share)
            self._sum_own(n, s2, 1)
        n = nodes.deepest(ROOT)
        while n != NONE:
            if self.effects is None:
                self._gather(n)
            elif nodes.waiting and nodes.pending[n].count:
                self._count_pending(n)
            n = nodes.next_upwards(n)
        nodes.mark_all()
        self.likelihood = likelihood
        self.likelihood_rest = 0.0

    def _replay(self):
        """Observe everything again, one after the other, on nodes without evidence."""
        nodes = self.nodes
        self.effects.begin_again()
        for n in range(nodes.used):
            self._refresh(n)
        for i in range(self.logged):
            n = self.log[i].node
            s2 = self.variance_of(
                self.log[i].own_noise, self.log[i].share, nodes.array[n].depth, self.log[i].ends
            )
            self.log[i].variance = s2
            self._condition(n, self.log[i].of_step, self.log[i].value, s2)
        return 0

    def _prior_means(self, mean):
        """Return the prior mean of each node's step; None if they are all 0."""
        if not callable(mean):
            return None
        nodes = self.nodes
        heights = np.zeros(nodes.used)
        mus = np.zeros(nodes.used)
        heights[ROOT] = moderate(mean(()), "mean(())")
        for n in range(1, nodes.used):
            if nodes.array[n].count != GROUP:
                path = tuple(nodes.path_to(n))
                heights[n] = moderate(mean(path), f"mean({path})")
                mus[n] = heights[n] - heights[nodes.real_parent(n)]
        return mus

    def _observe_again(self, i):
        """Add a logged observation to the evidence of its node, with the noise that it has now."""
        nodes = self.nodes
        n = self.log[i].node
        y = self.log[i].value
        s2 = self.variance_of(
            self.log[i].own_noise, self.log[i].share, nodes.array[n].depth, self.log[i].ends
        )
        self.log[i].variance = s2
        if n == ROOT or not self.log[i].of_step:
            y -= nodes.center
        if self.log[i].of_step:
            self._take_step(n, y, s2)
        else:
            self._take_value(n, y, s2)

    # ------------------------------------------------------------------ saving

    def state(self):
        """Return what `restore` needs, as plain objects and arrays."""
        return {
            "noise": self.noise,
            "count": self.count,
            "likelihood": (self.likelihood, self.likelihood_rest),
            "observations": np.array(self.observations),
            "last_token": self.last_token,
            "tokens": dict(self.tokens),
            "waiting_at": {n: dict(kinds) for n, kinds in self.waiting_at.items()},
        }

    def restore(self, state):
        """Take the state of another posterior on equal nodes, which are restored already."""
        self._set_noise(state["noise"])
        self.count = state["count"]
        self.likelihood, self.likelihood_rest = state["likelihood"]
        self.logged = len(state["observations"])
        self.log = grown(state["observations"], OBSERVATION, self.logged)
        self.last_token = state["last_token"]
        self.tokens = dict(state["tokens"])
        self.waiting_at = {n: dict(kinds) for n, kinds in state["waiting_at"].items()}


def inverse(x):
    return 1.0 / x if x > 0.0 else INF


def residual_of(y, center, m):
    """Return y - center - m, without rounding the first difference.

    What that would lose is far more than noise of 1e-8, which is not raised if the prior has no
    variance. (The error of a difference is itself a float: Moller 1965, Knuth 4.2.2.)
    """
    moved = y - center
    back = moved - y
    lost = (y - (moved - back)) - (center + back)
    return (moved - m) + lost


def contradiction(name, value, what, known):
    return Contradiction(
        f"{name} {value!r} contradicts what is known: without noise, and after the observations "
        f"before, this {what} exactly {known!r}; if rewards vary, give noise > 0"
    )
