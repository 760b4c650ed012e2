"""The slow truth: dense algebra that knows nothing of trees but shared prefixes.

Every quantity is a sum of independent steps, one for each node; an observation or a query is the
list of nodes whose steps it sums. Their joint covariance matrix is conditioned on one observation
after another. In floats this is fine while the problem is well conditioned; with `mpmath` numbers
of 100 digits it is right always.
"""

import math

import mpmath
import numpy as np

mpmath.mp.dps = 100


def nodes_of(path):
    return [path[:i] for i in range(len(path) + 1)]


class Oracle:
    """Readings are (kind, path, value, variance), kind "sum" (of F) or "step" (of one node)."""

    def __init__(self, increments, mean, observations, *, exact):
        number = mpmath.mpf if exact else float
        self.number = number
        self.v = [number(float(v)) for v in increments]
        self.mean = mean
        self.observations = observations

    def prior(self, path):
        if callable(self.mean):
            return self.number(float(self.mean(path)))
        return self.number(float(self.mean))

    def step_mean(self, path):
        if not path:
            return self.prior(())
        return self.prior(path) - self.prior(path[:-1])

    def covariance(self, nodes, others):
        """Return the prior covariance of two sums of steps, given by the nodes of these."""
        return sum((self.v[len(n)] for n in nodes & others), self.number(0))

    def posterior(self, paths, pending=()):
        """Return mean, covariance and log likelihood; pending evaluations narrow the covariance."""
        paths = [tuple(p) for p in paths]
        observed = list(self.observations)
        waiting = [("sum", p, None, s2) for p, s2 in pending]
        functionals = [nodes_of(p) for p in paths]
        means = [self.prior(p) for p in paths]
        for kind, path, _, _ in observed + waiting:
            functionals.append(nodes_of(path) if kind == "sum" else [path])
            means.append(self.prior(path) if kind == "sum" else self.step_mean(path))
        sets = [set(f) for f in functionals]
        size = len(functionals)
        dtype = object if self.number is not float else float
        C = np.empty((size, size), dtype=dtype)
        for i in range(size):
            for j in range(size):
                C[i, j] = self.covariance(sets[i], sets[j])
        m = np.array(means, dtype=dtype)
        scale = max([*self.v, *np.diag(C)])
        log_density = self.number(0)
        for t, (_, _, value, s2) in enumerate(observed + waiting):
            i = len(paths) + t
            total = C[i, i] + self.number(float(s2))
            if total <= scale * (self.number(10) ** -60 if self.number is not float else 1e-15):
                continue  # known for certain before
            gain = C[:, i] / total
            if value is not None:
                residual = self.number(float(value)) - m[i]
                log = mpmath.log if self.number is not float else math.log
                log_density -= (log(2 * self.number(math.pi) * total) + residual**2 / total) / 2
                m = m + gain * residual
            C = C - np.outer(gain, C[i, :])
        k = len(paths)
        return (
            m[:k].astype(float),
            C[:k, :k].astype(float),
            float(log_density),
        )


class LabelOracle(Oracle):
    """The same with effects of labels: k(label, label) between the nodes below the root.

    `label(path)` may be None, for a node without one; `strengths` are those of each depth.
    """

    def __init__(self, increments, mean, observations, label, k, strengths, *, exact):
        super().__init__(increments, mean, observations, exact=exact)
        self.label, self.k = label, k
        self.strengths = [self.number(float(s)) for s in strengths]
        self.known = {}

    def covariance(self, nodes, others):
        total = super().covariance(nodes, others)
        for a in nodes:
            for b in others:
                if a and b:
                    strength = self.strengths[len(a)] * self.strengths[len(b)]
                    total += strength * self.between(self.label(a), self.label(b))
        return total

    def between(self, a, b):
        if a is None or b is None:
            return self.number(0)
        if (a, b) not in self.known:
            self.known[a, b] = self.number(self.k(a, b))
        return self.known[a, b]


def condition_number(increments, observations):
    """Return that of the covariance matrix of the observations."""
    sets = [set(nodes_of(p)) if kind == "sum" else {p} for kind, p, _, _ in observations]
    K = np.array([[sum(increments[len(n)] for n in a & b) for b in sets] for a in sets])
    K = K.reshape(len(sets), len(sets)) + np.diag([s2 for _, _, _, s2 in observations])
    with np.errstate(all="ignore"):
        return np.linalg.cond(K) if observations else 1.0


def oracle_for(increments, mean, observations):
    """Return the oracle that can be trusted for these observations."""
    smallest = min((s2 for _, _, _, s2 in observations), default=1.0)
    well = condition_number(increments, observations) < 1e5 and smallest >= 1e-6
    return Oracle(increments, mean, observations, exact=not well)
