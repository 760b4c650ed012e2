"""The belief against the dense oracle, quantity by quantity, in any order of events."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from oracle import Oracle, oracle_for
from strategies import Hill, Truth, some_kernel, some_path, trees

import bough
from bough import GPTS, Belief, Tree, kernels
from bough.searchers.base import new_generator

NOISES = [0.0, 1e-12, 1e-8, 1e-6, 1e-4, 0.01, 0.3, 1.0, 10.0]


def assert_close(found, true, scale):
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found, true, rtol=0, atol=1e-9 * max(scale, 1e-300))


class Beliefs(RuleBasedStateMachine):
    """Observations, steps, pending arms and forgotten ones, in any order."""

    @initialize(data=st.data(), tree=trees(), noise=st.sampled_from(NOISES))
    def start(self, data, tree, noise):
        self.tree = tree
        self.noise = noise
        self.kernel = data.draw(some_kernel(tree.depth), label="kernel")
        self.mean = data.draw(
            st.one_of(st.sampled_from([0.0, -3.0, 1e4]), st.builds(Hill, st.integers(0, 9))),
            label="mean",
        )
        if tree.counts is not None and max(tree.counts, default=0) > 1000:
            self.mean = 2.0  # a function would be asked for a thousand children a node
        arms = data.draw(st.sampled_from(["leaves", "nodes"]), label="arms")
        self.belief = Belief(tree, self.kernel, noise, mean=self.mean, arms=arms)
        self.v = self.kernel.increments(tree.depth)
        self.truth = Truth(self.v, self.mean, data.draw(st.integers(0, 9), label="truth"))
        self.observations = []
        self.count = 0
        self.pending = {}

    def variance(self, noise):
        """Return that of noise, which is 0 or at least 1e-6 of the prior standard deviation."""
        return max(noise**2, 1e-12 * self.v.sum()) if noise else 0.0

    def error(self, data, noise):
        return noise * data.draw(st.integers(-20, 20), label="error") / 10

    @rule(data=st.data(), own=st.sampled_from([None, None, *NOISES]))
    def observe(self, data, own):
        path = some_path(data, self.tree)
        s = self.noise if own is None else own
        value = self.truth(path) + self.error(data, s)
        self.belief.observe(path, value, noise=own)
        self.observations.append(("sum", path, value, self.variance(s)))
        self.count += 1

    @rule(data=st.data(), s=st.sampled_from(NOISES))
    def observe_step(self, data, s):
        path = some_path(data, self.tree)
        value = self.truth.step(path) + self.error(data, s)
        self.belief.observe_step(path, value, noise=s)
        self.observations.append(("step", path, value, self.variance(s)))
        self.count += 1

    @rule(data=st.data(), s=st.sampled_from(NOISES))
    def observe_steps(self, data, s):
        """The first of the steps is F of the first node."""
        path = some_path(data, self.tree)
        if not path:
            return
        nodes = [path[: i + 1] for i in range(len(path))]
        values = [self.truth(nodes[0]), *(self.truth.step(n) for n in nodes[1:])]
        values = [y + self.error(data, s) for y in values]
        self.belief.observe_steps(path, values, noise=s)
        kinds = ["sum"] + ["step"] * (len(path) - 1)
        self.observations += [
            (k, n, y, self.variance(s)) for k, n, y in zip(kinds, nodes, values, strict=True)
        ]
        self.count += 1

    @rule(data=st.data())
    def observe_many(self, data):
        """Enough children of one node to make groups of them."""
        path = some_path(data, self.tree)
        width = self.tree.children(path)
        if width < 33 or len(self.observations) > 60:
            return
        start = data.draw(st.integers(0, int(min(width, 200)) - 33))
        stride = data.draw(st.sampled_from([1, 3])) if width > 200 else 1
        for k in range(start, start + 33 * stride, stride):
            child = (*path, k)
            value = self.truth(child) + self.error(data, max(self.noise, 0.3))
            self.belief.observe(child, value, noise=max(self.noise, 0.3))
            self.observations.append(("sum", child, value, self.variance(max(self.noise, 0.3))))
            self.count += 1

    @rule(data=st.data(), own=st.sampled_from([None, None, 0.0, 0.5]))
    def pend(self, data, own):
        path = some_path(data, self.tree)
        s = self.noise if own is None else own
        self.pending[self.belief.pend(path, noise=own)] = (path, self.variance(s))

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

    @precondition(lambda self: len(self.observations) < 14)
    @rule(data=st.data())
    def compare(self, data):
        paths = [some_path(data, self.tree) for _ in range(3)]
        paths += [path for _, path, _, _ in self.observations[-5:]]
        oracle = oracle_for(self.v, self.mean, self.observations)
        mean, covariance, log_density = oracle.posterior(paths)
        value_scale = max([1.0, *np.abs(mean), *(abs(y) for _, _, y, _ in self.observations)])
        m, sd = self.belief.posterior(paths)
        assert_close(m, mean, value_scale)
        assert_close(sd**2, np.diag(covariance), self.v.sum())
        assert_close(self.belief.covariance(paths), covariance, self.v.sum())
        assert_close(self.belief.log_likelihood(), log_density, max(1.0, abs(log_density)))

    @invariant()
    def counts(self):
        if hasattr(self, "belief"):
            assert len(self.belief) == self.count
            assert self.belief.pending == len(self.pending)

    def teardown(self):
        if hasattr(self, "belief"):
            for token in list(self.pending):
                self.belief.forget(token)
            if len(self.observations) <= 40:
                self.compare_all()

    def compare_all(self):
        paths = [path for _, path, _, _ in self.observations] or [()]
        paths = paths[:10]
        oracle = oracle_for(self.v, self.mean, self.observations)
        mean, covariance, _ = oracle.posterior(paths)
        value_scale = max([1.0, *np.abs(mean), *(abs(y) for _, _, y, _ in self.observations)])
        m, _ = self.belief.posterior(paths)
        assert_close(m, mean, value_scale)
        assert_close(self.belief.covariance(paths), covariance, self.v.sum())


Beliefs.TestCase.settings = settings(stateful_step_count=25)
TestBeliefs = Beliefs.TestCase


def test_pending_narrows_the_choice_as_an_observation_would():
    kernel, tree = kernels.Gaussian(2.0), Tree(3, 3)
    belief = Belief(tree, kernel, 0.5)
    belief.observe((0, 0, 0), 1.0)
    belief.pend((0, 1, 0))
    belief.pend((0, 1, 0))
    v = kernel.increments(3)
    arms = [(a, b, c) for a in range(3) for b in range(3) for c in range(3)]
    oracle = Oracle(v, 0.0, [("sum", (0, 0, 0), 1.0, 0.25)], exact=True)
    mean, _, _ = oracle.posterior(arms)
    _, narrow, _ = oracle.posterior(arms, [((0, 1, 0), 0.25)] * 2)
    upper = mean + 1.5 * np.sqrt(np.diag(narrow))
    arm = belief.highest_upper(1.5, rng=1)
    assert arm.upper == pytest.approx(upper.max(), abs=1e-12)
    assert arm.upper == pytest.approx(upper[arms.index(arm.path)], abs=1e-12)


def test_forgetting_restores_the_belief():
    belief = Belief(Tree(4, 4), kernels.Linear(), 1e-6)
    rng = np.random.default_rng(0)
    paths = [tuple(p) for p in rng.integers(0, 4, (60, 4)).tolist()]
    for path in paths[:30]:
        belief.observe(path, rng.normal())
    kept = belief.pend(paths[0], noise=2.0)
    before = belief.highest_upper(2.0)
    tokens = [belief.pend(p, noise=s) for p, s in zip(paths, [0.0, 1e-9, 1.0] * 20, strict=True)]
    belief.highest_upper(2.0)
    for token in tokens:
        belief.forget(token)
    after = belief.highest_upper(2.0)
    assert after.path == before.path
    assert after.upper == pytest.approx(before.upper, abs=1e-12)
    belief.forget(kept)
    assert belief.pending == 0


@pytest.mark.parametrize("width", [3, 200])
def test_a_belief_that_was_cleared_is_as_good_as_new(width):
    tree, kernel = Tree(width, 4), kernels.Gaussian(2.0)

    def run(search, seed):
        random = np.random.default_rng(seed)
        chosen = []
        for _ in range(60):
            path = search.ask()
            search.tell(path, float(random.normal()))
            chosen.append((path, search.belief.highest_upper(2.0).upper, search.best().path))
        return chosen, search.belief.log_likelihood(), search.belief.best_value()

    used, new = (GPTS(tree, kernel, 0.1, rng=0) for _ in range(2))
    run(used, 1)
    token = used.belief.pend((0, 1, 2, 0))
    used.belief.clear()
    assert len(used.belief) == used.belief.pending == 0
    with pytest.raises(ValueError, match="token"):
        used.belief.forget(token)
    used._random, used._highest_reward = new_generator(0), -math.inf
    assert run(used, 2) == run(new, 2)


def test_samples_have_the_posterior_covariance():
    """With unit vectors for draws, the samples are the rows of a root of the covariance."""
    tree, kernel = Tree(3, 3), kernels.Gaussian(1.5, 2.0)
    belief = Belief(tree, kernel, 0.1, mean=5.0)
    belief.observe((0, 1, 2), 4.0)
    belief.observe((0, 2), 6.0)
    belief.observe_step((1,), 0.3, noise=0.0)
    paths = [(0, 1, 2), (0, 1, 0), (1, 2, 2), (2,), (), (0, 2, 1)]

    class UnitVectors(np.random.Generator):
        def standard_normal(self, shape):
            return np.eye(*shape)

    F = belief.sample(paths, 30, UnitVectors(np.random.PCG64()))
    mean, _ = belief.posterior(paths)
    assert_close(F[-1], mean, 10.0)  # no draw is left for the last row
    root = F - mean
    assert_close(root.T @ root, belief.covariance(paths), 2.0)
    assert belief.sample(paths, 0, 1).shape == (0, 6)
    assert np.array_equal(belief.sample(paths, 5, 7), belief.sample(paths, 5, 7))


def test_other_orders_give_the_same_belief():
    rng = np.random.default_rng(1)
    tree, kernel = Tree(3, 5), kernels.Discounted(0.8)
    data = [(tuple(p), rng.normal()) for p in rng.integers(0, 3, (200, 5)).tolist()]
    one, two = Belief(tree, kernel, 0.2), Belief(tree, kernel, 0.2)
    for path, y in data:
        one.observe(path, y)
    for i in rng.permutation(len(data)):
        two.observe(*data[i])
    paths = [p for p, _ in data[:50]]
    for a, b in zip(one.posterior(paths), two.posterior(paths), strict=True):
        assert_close(a, b, 3.0)
    assert one.log_likelihood() == pytest.approx(two.log_likelihood(), rel=1e-12)


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.thorough)])
def test_a_long_run_does_not_drift(count):
    """After many observations the evidence is that of a rebuild from the observations."""
    tree = Tree(5, 10)
    belief = Belief(tree, kernels.Gaussian(3.0), 0.3, mean=0.5)
    rng = np.random.default_rng(2)
    # Few arms played often, many played once: the root is updated every time.
    pool = [tuple(p) for p in rng.integers(0, 5, (20_000, 10)).tolist()]
    picks = (rng.random(count) ** 3 * len(pool)).astype(int).tolist()
    values = rng.normal(size=count).tolist()
    for i, y in zip(picks, values, strict=True):
        belief.observe(pool[i], y)
    n = belief.nodes
    assert len(belief) == n["visits"][0] == count
    P, h = n["own_precision"].copy(), n["own_precision"] * n["own_value"]
    for depth in range(10, 0, -1):
        c = np.flatnonzero(n["depth"] == depth)
        g = 1 / (1 + n["v"][c] * P[c])
        np.add.at(P, n["parent"][c], P[c] * g)
        np.add.at(h, n["parent"][c], (h[c] - P[c] * n["mu"][c]) * g)
    kept_h = n["own_precision"] * n["own_value"] + n["sub_shift"]
    np.testing.assert_allclose(n["own_precision"] + n["sub_precision"], P, rtol=1e-9)
    assert_close(kept_h, h, np.abs(h).max())
    for path in pool[:20]:
        assert np.isfinite(belief.posterior([path])[0][0])


def test_values_and_visits():
    belief = Belief(Tree(2, 1), kernels.Linear(), 1.0)
    assert belief.highest_mean().value is None
    belief.observe((0,), 2.0)
    belief.observe((0,), 5.0, noise=0.1)
    arm = belief.highest_mean()
    assert (arm.path, arm.value, arm.visits) == ((0,), 3.5, 2)
    assert isinstance(arm, bough.Arm)


@given(
    plays=st.lists(
        st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.booleans()),
        min_size=1,
        max_size=12,
    ),
    noise=st.floats(0.1, 3.0),
)
def test_a_path_is_observed_at_once(plays, noise):
    """The steps of a path and their sum, as by `observe_steps` and `observe`."""
    one, other = (
        bough.Belief(bough.Tree(3, 4), bough.kernels.Discounted(0.8), 0.7) for _ in range(2)
    )
    rng = np.random.default_rng(len(plays))
    for path, with_sum in plays:
        steps, total = rng.normal(size=len(path)).tolist(), float(rng.normal())
        one.observe_steps(path, steps, noise=[noise] * len(path))
        if with_sum:
            one.observe(path, total, depth=4)
        variances = [noise * noise] * len(path)
        ends = 4 if with_sum else 0
        other.propagation.observe_path(tuple(path), steps, variances, total, ends)
    assert one.log_likelihood() == other.log_likelihood()
    assert one.highest_upper(2.0, rng=0) == other.highest_upper(2.0, rng=0)
    assert one.nodes.tobytes() == other.nodes.tobytes()
