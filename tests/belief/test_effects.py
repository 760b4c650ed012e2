"""Beliefs with labels against dense algebra with K_tree + K_label, in any order of events."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from label_strategies import (
    CASES,
    Case,
    DepthAndStep,
    LabeledTruth,
    LastStep,
    cases,
    decays,
    oracle_of,
    strengths,
)
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


LabeledBeliefs.TestCase.settings = settings(stateful_step_count=10)
TestLabeledBeliefs = LabeledBeliefs.TestCase


def labeled(between=None, labels=None, tree_kernel=None, decay=1.0):
    return kernels.Labeled(
        tree_kernel or kernels.Gaussian(1.5, 1.0),
        labels=labels or LastStep(),
        between=between or kernels.Same(0.75),
        decay=decay,
    )


@pytest.mark.parametrize("name", CASES)
def test_a_new_prior_gives_a_new_belief(name):
    case, tree = CASES[name], Tree(3, 3)
    rng = np.random.default_rng(0)
    one = Belief(tree, labeled(case.between, case.label), 0.3)
    other = labeled(case.between, case.label, kernels.Linear(0.5), 0.5)
    two = Belief(tree, other, 0.2, mean=1.0)
    for belief in (one, two):
        rng = np.random.default_rng(0)
        for i in range(12):
            path = tuple(rng.integers(0, 3, 3).tolist())
            if i % 4 == 3:
                belief.observe_steps(path, rng.normal(size=3).tolist(), noise=0.4)
            else:
                belief.observe(path, rng.normal(), noise=0.5 if i % 3 else None)
    one.take_prior(other, 0.2, 1.0, two.log_likelihood())
    paths = [(0, 1, 2), (2, 2, 2), (1,), (), (2, 0)]
    for a, b in zip(one.posterior(paths), two.posterior(paths), strict=True):
        assert_close(a, b, 1.0)
    assert_close(one.covariance(paths), two.covariance(paths), 1.0)
    assert one.effects.posterior[0].tolist() == two.effects.posterior[0].tolist()


def test_samples_have_the_posterior_moments():
    belief = Belief(Tree(3, 3), labeled(decay=0.8), 0.2, mean=2.0)
    for path, y in [((0, 1, 2), 3.0), ((1, 1, 0), 0.5), ((2, 0), 1.5)]:
        belief.observe(path, y)
    paths = [(0, 0, 0), (1, 1, 1), (2,), (0, 1, 2)]
    draws = belief.sample(paths, 40_000, rng=0)
    mean, std = belief.posterior(paths)
    assert np.abs(draws.mean(axis=0) - mean).max() < 5 * std.max() / 200
    assert np.abs(np.cov(draws.T) - belief.covariance(paths)).max() < 0.05 * std.max() ** 2 * 2


def test_many_children_make_groups():
    tree, rng = Tree(300, 2), np.random.default_rng(0)
    case = CASES["few"]
    kernel = labeled(case.between, case.label)
    belief, readings = Belief(tree, kernel, 0.3), []
    for k in rng.permutation(300)[:80].tolist():
        path, y = (k, int(rng.integers(300))), float(rng.normal())
        belief.observe(path, y)
        readings.append(("sum", path, y, 0.09))
    paths = [path for _, path, _, _ in readings[:5]] + [(7, 7), (3,), ()]
    mean, covariance, density = oracle_of(kernel, case, 2, 0.0, readings, exact=False).posterior(
        paths
    )
    m, sd = belief.posterior(paths)
    assert_close(m, mean, 1.0)
    assert_close(sd**2, np.diag(covariance), 1.0)
    assert_close(belief.log_likelihood(), density, abs(density))


def test_contradictory_exact_values_change_nothing():
    kernel = labeled(tree_kernel=kernels.Linear(0.0))
    belief = Belief(Tree(3, 2), kernel, 0.0)
    belief.observe((0, 1), 1.0)
    belief.observe((0, 1), 1.0)
    before = belief.nodes.tobytes(), belief.effects.posterior[1].tobytes(), len(belief)
    with pytest.raises(Contradiction):
        belief.observe((1, 0), 2.0)
    assert (belief.nodes.tobytes(), belief.effects.posterior[1].tobytes(), len(belief)) == before


def test_a_contradictory_exact_step_is_refused():
    belief = Belief(Tree(3, 2), labeled(tree_kernel=kernels.Linear(0.0)), 0.0)
    belief.observe((0, 1), 1.0)
    belief.observe_step((0,), 0.25, noise=0.0)
    with pytest.raises(Contradiction):
        belief.observe_step((2, 1), 0.5, noise=0.0)  # 0.75 since (0, 1) is 1
    mean, std = belief.posterior([(1, 1)])
    assert_close(mean, [1.5], 1.0)
    assert_close(std, [0.0], 1e3)


@pytest.mark.parametrize("name", CASES)
def test_an_exact_value_that_is_known_up_to_rounding_is_accepted(name):
    """The root, which has no labels, after noisy observations of it and of its children."""
    case = CASES[name]
    kernel = labeled(case.between, case.label, kernels.Linear(0.0))
    for key in range(5):
        truth = LabeledTruth(kernel.increments(1), -3.0, key, case, 1.0)
        belief = Belief(Tree(4, 1), kernel, 1.0, mean=-3.0)
        belief.observe((3,), truth((3,)), noise=0.0)
        belief.observe((), truth(()) - 0.8)
        belief.observe((0,), truth((0,)) + 0.7)
        belief.observe((), truth(()), noise=0.0)
        assert belief.posterior([()])[0] == pytest.approx([-3.0], abs=1e-9)


def test_contradictory_exact_steps_of_a_path_change_nothing():
    belief = Belief(Tree(3, 2), labeled(tree_kernel=kernels.Linear(0.0)), 0.0)
    belief.observe_steps((0, 1), [0.25, 0.75], noise=0.0)
    belief.observe_steps((2, 1), [0.5, 0.75], noise=0.0)
    before = belief.nodes.tobytes(), belief.effects.posterior[1].tobytes(), len(belief)
    for path, steps in (((0, 1), [0.25, 0.5]), ((1, 2), [0.75, 0.0]), ((1, 0), [0.5, 0.25])):
        with pytest.raises(Contradiction):
            belief.observe_steps(path, steps, noise=0.0)
    assert (belief.nodes.tobytes(), belief.effects.posterior[1].tobytes(), len(belief)) == before
    belief.observe_steps((1, 2), [0.75, 0.5], noise=0.0)
    assert belief.posterior([(2, 2)])[0] == pytest.approx([1.0])


@pytest.mark.parametrize("label", [LastStep(), DepthAndStep()])
@pytest.mark.parametrize("least", [1e-5, 1e-6])
def test_small_noise_beside_larger(label, least):
    """Without variance of the tree: mean and deviation, not the likelihood, to 1e-9."""
    rng = np.random.default_rng(2)
    case = Case(label, kernels.Same(1.0), lambda a, b: float(a == b))
    kernel = labeled(case.between, label, kernels.Linear(0.0))
    belief, observations, effects = Belief(Tree(4, 3), kernel, 0.3), [], {}
    for _ in range(40):
        path = tuple(rng.integers(4, size=3).tolist())
        s = (least, least, 0.3, 1e-3)[rng.integers(4)]
        f = sum(effects.setdefault(label(path[: i + 1]), rng.normal()) for i in range(3))
        observations.append(("sum", path, f + s * rng.normal(), s**2))
        belief.observe(path, observations[-1][2], noise=s)
    oracle = oracle_of(kernel, case, 3, 0.0, observations)
    paths = [path for _, path, _, _ in observations[:8]]
    mean, covariance, _ = oracle.posterior(paths)
    found, std = belief.posterior(paths)
    assert_close(found, mean, 1.0)
    assert_close(std, np.sqrt(np.diag(covariance).astype(float)), 1.0)


def test_copies_go_on_alike():
    belief = Belief(Tree(3, 4), labeled(), 0.2, mean=1.0)
    for i in range(15):
        belief.observe(belief.highest_upper(2.0, rng=i).path, 0.1 * i)
    token = belief.pend((0, 0, 0, 0))
    other = copy.deepcopy(belief)
    for i in range(10):
        one, two = belief.highest_upper(2.0, rng=i), other.highest_upper(2.0, rng=i)
        assert one == two
        belief.observe(one.path, -0.1 * i)
        other.observe(two.path, -0.1 * i)
    belief.settle(token, 0.5)
    other.settle(token, 0.5)
    assert belief.nodes.tobytes() == other.nodes.tobytes()
    assert belief.effects.posterior[1].tobytes() == other.effects.posterior[1].tobytes()


def test_little_noise_and_many_observations():
    """C loses digits if noise is small, but stays symmetric, and nothing becomes negative."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=6)
    belief = Belief(Tree(6, 4), labeled(kernels.Same(1.0), tree_kernel=kernels.Linear(0.01)), 1e-6)
    for _ in range(400):
        path = tuple(rng.integers(0, 6, 4).tolist())
        belief.observe(path, float(w[list(path)].sum()) + 1e-6 * rng.normal())
    C = belief.effects.posterior[1]
    assert (C == C.T).all()
    assert np.linalg.eigvalsh(C).min() > -1e-12
    mean, std = belief.posterior([(0, 1, 2, 3), (5, 5, 5, 5)])
    assert_close(mean[0], w[:4].sum(), 1e8 * max(std[0], 1e-6))
    assert np.isfinite(std).all()


@pytest.mark.parametrize("variance", [1e-10, 1e6])
def test_variances_of_any_size(variance):
    case, rng = CASES["same"], np.random.default_rng(1)
    readings = []
    kernel = labeled(kernels.Same(variance))
    belief = Belief(Tree(3, 3), kernel, 0.3)
    for _ in range(25):
        path, y = tuple(rng.integers(0, 3, 3).tolist()), float(rng.normal())
        belief.observe(path, y)
        readings.append(("sum", path, y, 0.3**2))
    k = strengths(1.0, 3)
    oracle = LabelOracle(
        kernel.increments(3), 0.0, readings, case.label, lambda a, b: variance * (a == b), k,
        exact=True,
    )  # fmt: skip
    paths = [(0, 1, 2), (1, 1, 1), (2,)]
    mean, covariance, density = oracle.posterior(paths)
    m, sd = belief.posterior(paths)
    assert_close(m, mean, max(1.0, np.abs(mean).max()))
    assert_close(sd**2, np.diag(covariance), variance + 1.0)
    assert_close(belief.log_likelihood(), density, max(1.0, abs(density)))


def test_a_deep_tree_with_many_labels():
    tree, rng = Tree(5, 100), np.random.default_rng(2)
    kernel = labeled(kernels.Same(0.1), CASES["same, by depth"].label, decay=0.99)
    belief = Belief(tree, kernel, 0.1)
    for _ in range(20):
        belief.observe(tuple(rng.integers(0, 5, 100).tolist()), float(rng.normal()))
    C = belief.effects.posterior[1]
    assert belief.effects.size > 400
    assert (C == C.T).all()
    assert np.linalg.eigvalsh(C).min() > 0.0
