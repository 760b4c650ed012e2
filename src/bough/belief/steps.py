# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Readings of single steps: the immediate rewards along a path. Notation as in `_core.py`.

A noisy reading of the step of one node changes what is believed of that step beforehand, (mu, v),
and all else goes on with that.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from bough.belief.core import Core

from bough._validation import at_least_zero, listed, whole
from bough.belief.core import contradiction
from bough.belief.nodes import moderate

ROOT = 0
NONE = -1
INF = float("inf")
TINY = 1e-100
LARGEST = 1e50

STEP = 1
OWN_NOISE = 2


class Steps(Core):
    """A core that may be told the rewards of single steps."""

    def __init__(self, tree, increments, noise, mean, single_steps):
        Core.__init__(self, tree, increments, noise, mean, single_steps)
        self._make_scratch()

    def _make_scratch(self):
        self.values = np.zeros(self.depth)
        self.variances = np.zeros(self.depth)
        self.shares = np.zeros(self.depth)
        self.residuals = np.zeros(self.depth)
        self.predicted = np.zeros(self.depth)

    def _step_rounding(self, n, r):
        """Return the same for a step that is certain; n is NONE if it does not exist yet."""
        if n != NONE and self.nodes_[n].v == 0.0 and self.increments[self.nodes_[n].depth] > 0.0:
            if r == self.nodes_[n].mu:
                return INF  # it was read itself, and came again
            return 0.0
        return self._rounding(r + self.center)

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
        rewards = [
            r if type(r) is float and -LARGEST <= r <= LARGEST else moderate(r, f"steps[{i}]")
            for i, r in enumerate(listed(steps, "steps"))
        ]
        if noise is None:
            length = len(rewards)
            if depth is not None:
                length = whole(depth, "depth", least=length, most=self.depth)
            self._tell_steps(path, rewards, self.step_shares(length)[: len(rewards)], 0)
            return
        # (To ask NumPy what a list is takes longer than all the rest.)
        if type(noise) is float or (type(noise) is not list and np.ndim(noise) == 0):
            variances = [self._noise_variance(noise)] * len(rewards)
        else:
            variances = [
                s * s
                if type(s) is float and 1e-50 < s <= LARGEST
                else self._noise_variance(moderate(s, f"noise[{i}]"))
                for i, s in enumerate(listed(noise, "noise"))
            ]
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

    def __setstate__(self, state):
        Core.__setstate__(self, state)
        self._make_scratch()
