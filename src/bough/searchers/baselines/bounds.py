# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Optimistic bounds by node, backed up along one path a reward: BAST, HOO, OLOP and others.

Each node with n rewards, at depth d, has an estimate (the average of its rewards) and an upper
confidence bound of what that estimates,

    upper = estimate + scale sqrt((width + union log(n (n+1))) / n),

where `scale` is the range of the rewards. From these comes its bound, in one of two ways:

    by averages:  bound = min(upper + scale slack_d, highest bound of its children)
    step by step: bound = gain_d upper + min(high slack_d, highest bound of its children)

An unvisited node has the bound infinity. By averages, slack_d says by how much the best arm below a
node may exceed the average there; step by step, the estimate is of the reward of the one step to
the node, gain_d is that step's discount, and slack_d the sum of the discounts of the steps to come.
A leaf has the slack of full depth, wherever it ends. A bound depends on what lies below the node
alone, so a reward changes those on its path only, unless the range of rewards changes.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log, sqrt

if not cython.compiled:
    from bough.searchers.baselines.tallies import Tallies

ROOT = 0
NONE = -1
INF = float("inf")

#: The range of the rewards seen so far is rounded up to a multiple of such a part of the power of
#: two above it: all bounds must be renewed when it changes, so it should change rarely.
PARTS = 32.0
#: Rewards that differ by less are the same.
TINY = 1e-200


class Bounds(Tallies):
    """Tallies that keep a bound for each node."""

    def __init__(
        self, tree, slack, gain=None, reward_range=None, limit=None, kl=False, single_steps=False,
        exact=False,
    ):  # fmt: skip
        self.slack = np.array(slack, dtype=np.float64)
        self.stepwise = gain is not None
        self.gain = np.array(slack if gain is None else gain, dtype=np.float64)
        self.limit = tree.depth if limit is None else limit
        self.kl = kl
        self.single_steps = single_steps
        self.width = 0.0
        self.union = 0.0
        self.relative = True
        self.low = INF
        self.high = -INF
        self.known_range = reward_range is not None
        self.base = 0.0
        self.ceiling = 0.0
        self.scale = 1.0
        if self.known_range:
            self.low, self.high = reward_range
            self._set_scale(True)
        Tallies.__init__(self, tree, exact)
        self.nodes_[ROOT].bound = INF

    def set_width(self, width, union=0.0):
        """Take other confidence bounds, and renew all that follow from them."""
        self.width = width
        self.union = union
        self._renew()

    def set_limit(self, limit):
        """Say at which depth nodes are not told apart any more."""
        self.limit = limit
        self._renew()

    def set_slack(self, slack, relative=True):
        """Take other slacks, in units of the range of rewards or, if not relative, in their own."""
        self.slack = np.array(slack, dtype=np.float64)
        self.relative = relative
        self._renew()

    # ------------------------------------------------------------------ the range of rewards

    def _widen(self, low, high):
        """Take in more rewards; return whether the range that is worked with has changed."""
        if self.known_range or (low >= self.low and high <= self.high):
            return False
        self.low = min(self.low, low)
        self.high = max(self.high, high)
        return self._set_scale(False)

    def _set_scale(self, as_it_is):
        """Set the range that is worked with from the lowest and the highest reward."""
        base, ceiling, scale = self.base, self.ceiling, self.scale
        spread = self.high - self.low
        if spread < TINY or as_it_is:
            # One reward says nothing of the range, except what size rewards may have.
            self.base, self.ceiling = self.low, self.high
            self.scale = spread or abs(self.high) or 1.0
        else:
            part = 1.0 / PARTS
            while part * PARTS < spread:
                part *= 2.0
            while part * PARTS >= 2.0 * spread:
                part *= 0.5
            if self.stepwise:
                self.base = part * (self.low // part)
                self.ceiling = -part * (-self.high // part)
                self.scale = self.ceiling - self.base
            else:  # only the difference matters: then shifting the rewards changes nothing
                self.scale = -part * (-spread // part)
        return self.base != base or self.ceiling != ceiling or self.scale != scale

    # ------------------------------------------------------------------ rewards

    def add(self, path, reward):
        """Take in the reward of a checked path; return where it ends."""
        end = Tallies.add(self, path, reward)
        self._back_up(end, len(path), self._widen(reward, reward))
        return end

    def add_steps(self, path, reward, steps):
        """Take in the reward of a checked path and, undiscounted, those of its first steps."""
        end = Tallies.add(self, path, reward)
        low = INF
        high = -INF
        given = len(steps)
        mean: cython.double = 0.0
        n = end
        for depth in range(len(path), 0, -1):
            if depth <= given:
                step: cython.double = steps[depth - 1]
                low = min(low, step)
                high = max(high, step)
                mean += step / given
                self.nodes_[n].itself += (step - self.nodes_[n].itself) / self.nodes_[n].visits
            n = self.nodes_[n].parent
        # What to expect of a step nobody has told of.
        self.nodes_[ROOT].itself += (mean - self.nodes_[ROOT].itself) / self.nodes_[ROOT].visits
        self._back_up(end, len(path), self._widen(low, high))
        return end

    def wait(self, path, change):
        """Count one more (or one fewer) pending evaluation of a checked path."""
        end = Tallies.wait(self, path, change)
        self._back_up(end, len(path), False)
        return end

    # ------------------------------------------------------------------ bounds

    def _back_up(self, n, depth, everywhere):
        """Renew the bounds from a node up to the root, or all."""
        if everywhere:
            self._renew()
            return
        while n != NONE:
            self.nodes_[n].bound = self._bound(n, depth)
            depth -= 1
            n = self.nodes_[n].parent

    def _renew(self):
        """Renew all bounds, children first: a node has a higher number than its parent."""
        depths = np.zeros(self.used, dtype=np.int32)
        view: cython.int[::1] = depths
        for n in range(1, self.used):
            view[n] = view[self.nodes_[n].parent] + 1
        for n in range(self.used - 1, -1, -1):
            self.nodes_[n].bound = self._bound(n, view[n])

    def _bound(self, n, depth):
        """Return the bound of a node whose children have theirs."""
        count = self.nodes_[n].visits + self.nodes_[n].waiting
        if count == 0:
            return INF
        is_leaf = self.nodes_[n].branching == 0
        slack = self.slack[self.slack.shape[0] - 1 if is_leaf else depth]
        below = INF
        if not is_leaf and depth < self.limit:
            below = self._highest_below(n)
        if self.stepwise:
            gain = self.gain[depth]
            step = gain * self._upper(n, count) if gain > 0.0 else 0.0
            return step + min(self.ceiling * slack, below)
        hope = slack * self.scale if self.relative else slack
        return min(self._upper(n, count) + hope, below)

    def _highest_below(self, n):
        """Return the highest bound of the children; where rewards are exact, of those not known."""
        if self.nodes_[n].explored < self.nodes_[n].branching:
            return INF
        best = -INF
        c = self.nodes_[n].child
        while c != NONE:
            if not (self.exact and self._is_busy(c)):
                best = max(best, self.nodes_[c].bound)
            c = self.nodes_[c].sibling
        return best

    def _upper(self, n, count):
        """Return the upper confidence bound of what a node's rewards estimate."""
        # Of a node that is pending only, what the one above it gave is expected.
        while self.nodes_[n].visits == 0 and self.nodes_[n].parent != NONE:
            n = self.nodes_[n].parent
        estimate = self.nodes_[n].itself if self.stepwise else self.nodes_[n].average
        if self.kl:
            share = (estimate - self.base) / self.scale
            return self.base + self.scale * bernoulli_upper(share, self.width / count)
        squared = self.width / count
        if self.union > 0.0:
            squared += self.union * log(count * (count + 1.0)) / count
        return estimate + self.scale * sqrt(squared)

    # ------------------------------------------------------------------ selection

    def follow(self, rng):
        """Return the path that always goes on to the child with the highest bound.

        It is random below the nodes that exist and below the limit.
        """
        n = ROOT
        depth = 0
        path = []
        skipping = not self._is_busy(ROOT)
        while depth < self.limit and self.nodes_[n].branching:
            if self.nodes_[n].explored < self.nodes_[n].branching:
                path.append(self._fresh(n, rng))
                return tuple(path) if self.single_steps else self._finish(path, rng)
            best = -INF
            choice = NONE
            ties = 0
            c = self.nodes_[n].child
            while c != NONE:
                if not (skipping and self._is_busy(c)):
                    score = self.nodes_[c].bound
                    if choice == NONE or score > best:
                        best = score
                        choice = c
                        ties = 1
                    elif score == best:
                        ties += 1
                        if rng.below(ties) == 0:
                            choice = c
                c = self.nodes_[c].sibling
            n = choice
            depth += 1
            path.append(int(self.nodes_[n].index))
            if self.single_steps and self.nodes_[n].visits + self.nodes_[n].waiting == 0:
                return tuple(path)  # it is there because an evaluation of it has failed
        return self._wander(n, path, rng)

    # ------------------------------------------------------------------ saving

    def _state(self):
        state = Tallies._state(self)
        state["bounds"] = {
            "slack": np.array(self.slack),
            "gain": np.array(self.gain),
            "flags": tuple(
                bool(flag)
                for flag in (
                    self.stepwise, self.kl, self.single_steps, self.relative, self.known_range,
                )
            ),
            "limit": self.limit,
            "widths": (self.width, self.union),
            "rewards": (self.low, self.high, self.base, self.ceiling, self.scale),
        }  # fmt: skip
        return state

    def __setstate__(self, state):
        Tallies.__setstate__(self, state)
        own = state["bounds"]
        self.slack = np.array(own["slack"])
        self.gain = np.array(own["gain"])
        self.stepwise, self.kl, self.single_steps, self.relative, self.known_range = own["flags"]
        self.limit = own["limit"]
        self.width, self.union = own["widths"]
        self.low, self.high, self.base, self.ceiling, self.scale = own["rewards"]


def bernoulli_upper(p, most):
    """Return the largest q <= 1 with kl(p, q) <= most, for the kl of two Bernoulli variables.

    >>> round(bernoulli_upper(0.0, 1.0), 6)  # 1 - 1/e
    0.632121
    """
    if p >= 1.0:
        return 1.0
    if p <= 0.0:
        return 1.0 - exp(-most)
    if most <= 0.0:
        return p
    entropy = -p * log(p) - (1.0 - p) * log(1.0 - p)
    # Two values above the solution: kl >= 2 (q - p)^2, and kl >= -(1 - p) log(1 - q) - entropy.
    # From there Newton's method comes down to it and never passes it, kl being convex in q.
    q = min(p + sqrt(most / 2.0), 1.0 - exp(-(most + entropy) / (1.0 - p)))
    for _ in range(60):
        if q >= 1.0:
            return 1.0  # but for the rounding
        excess = -entropy - p * log(q) - (1.0 - p) * log(1.0 - q) - most
        step = excess * q * (1.0 - q) / (q - p)
        if not step > 1e-15:
            break
        q -= step
        if q <= p:
            return p
    return q
