"""Beliefs with labels against dense algebra with K_tree + K_label, in any order of events."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from label_strategies import CASES, LabeledTruth, LastStep, cases, decays, oracle_of, strengths
from oracle import LabelOracle
from strategies import Hill, some_kernel, some_path, trees

from bough import Belief, Tree, kernels
from bough.exceptions import Contradiction

NOISES = [0.0, 1e-3, 0.3, 1.0, 10.0]


def assert_close(found, true, scale):
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found, true, rtol=0, atol=1e-9 * max(scale, 1e-300))


class LabeledBeliefs(RuleBasedStateMachine):
    """Observations, steps, pending arms and new priors, in any order."""

    noises = NOISES

    @initialize(data=st.data(), tree=trees(most_children=4, most_depth=4), case=cases)
    def start(self, data, tree, case):
        self.tree, self.case = tree, case
        self.noise = data.draw(st.sampled_from(self.noises), label="noise")
        self.kernel = self.some_labeled(data)
        self.mean = data.draw(
            st.one_of(st.sampled_from([0.0, -3.0]), st.builds(Hill, st.integers(0, 9))),
            label="mean",
        )
        if tree.counts is None or max(tree.counts, default=0) > 50:
            self.mean = 2.0  # a function would be asked for many children a node
        arms = data.draw(st.sampled_from(["leaves", "nodes"]), label="arms")
        self.belief = Belief(tree, self.kernel, self.noise, mean=self.mean, arms=arms)
        self.key = data.draw(st.integers(0, 9), label="truth")
        self.observations = []
        self.count = 0
        self.pending = {}

    def some_labeled(self, data):
        return kernels.Labeled(
            data.draw(some_kernel(self.tree.depth), label="tree kernel"),
            labels=self.case.label,
            between=self.case.between,
            decay=data.draw(decays, label="decay"),
        )

    @property
    def v(self):
        return self.kernel.increments(self.tree.depth)

    @property
    def truth(self):
        return LabeledTruth(self.v, self.mean, self.key, self.case, self.kernel.decay)

    def variance(self, noise):
        """Return that of noise, which is 0 or at least 1e-6 of the prior standard deviation."""
        return max(noise**2, 1e-12 * self.v.sum()) if noise else 0.0

    def error(self, data, noise):
        return noise * data.draw(st.integers(-20, 20), label="error") / 10

    @rule(data=st.data(), own=st.booleans())
    def observe(self, data, own):
        path = some_path(data, self.tree)
        s = data.draw(st.sampled_from(self.noises)) if own else self.noise
        value = self.truth(path) + self.error(data, s)
        self.belief.observe(path, value, noise=s if own else None)
        self.observations.append(("sum", path, value, self.variance(s)))
        self.count += 1

    @rule(data=st.data())
    def observe_step(self, data):
        path = some_path(data, self.tree)
        s = data.draw(st.sampled_from(self.noises))
        value = self.truth.step(path) + self.error(data, s)
        self.belief.observe_step(path, value, noise=s)
        self.observations.append(("step", path, value, self.variance(s)))
        self.count += 1

    @rule(data=st.data())
    def observe_steps(self, data):
        """The first of the steps is F of the first node."""
        path = some_path(data, self.tree)
        if not path:
            return
        s = data.draw(st.sampled_from(self.noises))
        truth, nodes = self.truth, [path[: i + 1] for i in range(len(path))]
        values = [truth(nodes[0]), *(truth.step(n) for n in nodes[1:])]
        values = [y + self.error(data, s) for y in values]
        self.belief.observe_steps(path, values, noise=s)
        kinds = ["sum"] + ["step"] * (len(path) - 1)
        self.observations += [
            (k, n, y, self.variance(s)) for k, n, y in zip(kinds, nodes, values, strict=True)
        ]
        self.count += 1

    @rule(data=st.data())
    def pend(self, data):
        path = some_path(data, self.tree)
        self.pending[self.belief.pend(path)] = (path, self.variance(self.noise))

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def settle(self, data):
        token = data.draw(st.sampled_from(sorted(self.pending)))
        path, s2 = self.pending.pop(token)
        value = self.truth(path) + self.error(data, s2**0.5)
        self.belief.settle(token, value)
        self.observations.append(("sum", path, value, s2))
        self.count += 1

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def forget(self, data):
        token = data.draw(st.sampled_from(sorted(self.pending)))
        del self.pending[token]
        self.belief.forget(token)

    @precondition(lambda self: len(self.observations) > 3)
    @rule()
    def clear(self):
        self.belief.clear()
        self.observations, self.count, self.pending = [], 0, {}

    @rule()
    def pickle(self):
        """A copy has the same bits, and is the one that goes on."""
        other = pickle.loads(pickle.dumps(self.belief))
        assert other.nodes.tobytes() == self.belief.nodes.tobytes()
        one, two = self.belief.effects.state(), other.effects.state()
        for name in ("mean", "C", "label", "kappa", "columns"):
            assert one[name].tobytes() == two[name].tobytes()
        assert one["keys"] == two["keys"]
        paths = [path for _, path, _, _ in self.observations]
        for a, b in zip(self.belief.posterior(paths), other.posterior(paths), strict=True):
            assert a.tobytes() == b.tobytes()
        self.belief = other

    @precondition(lambda self: len(self.observations) < 14)
    @rule(data=st.data())
    def compare(self, data):
        paths = [some_path(data, self.tree) for _ in range(3)]
        paths += [path for _, path, _, _ in self.observations[-5:]]
        self.compare_at(paths)

    def compare_at(self, paths):
        oracle = oracle_of(self.kernel, self.case, self.tree.depth, self.mean, self.observations)
        mean, covariance, log_density = oracle.posterior(paths)
        value_scale = max([1.0, *np.abs(mean), *(abs(y) for _, _, y, _ in self.observations)])
        m, sd = self.belief.posterior(paths)
        assert_close(m, mean, value_scale)
        scale = self.v.sum() + self.tree.depth**2
        assert_close(sd**2, np.diag(covariance), scale)
        assert_close(self.belief.covariance(paths), covariance, scale)
        assert_close(self.belief.log_likelihood(), log_density, max(1.0, abs(log_density)))

    @invariant()
    def counts(self):
        if hasattr(self, "belief"):
            assert len(self.belief) == self.count
            assert self.belief.pending == len(self.pending)
            C = self.belief.effects.posterior[1]
            assert (C == C.T).all() or np.abs(C - C.T).max() <= 1e-13

    def teardown(self):
        if hasattr(self, "belief") and len(self.observations) <= 30:
            self.compare_at([path for _, path, _, _ in self.observations][:8] or [()])


LabeledBeliefs.TestCase.settings = settings(stateful_step_count=16)
TestLabeledBeliefs = LabeledBeliefs.TestCase
