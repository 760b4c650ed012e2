"""GPTS: the paper's algorithm, exhaustion, batches, scaling, certificates."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle
from strategies import Ragged, noise_of, some_path, trees

import bough
from bough import GPTS, Confidence, Exhausted, Tree, kernels


class AlgorithmOne:
    """The paper's Algorithm 1, literally: dense inverse, set S of leaves and dummy nodes."""

    def __init__(self, branching, depth, kernel, noise):
        self.B, self.D, self.noise = branching, depth, noise
        self.kernel = kernel
        self.S = {((), "dummy")}  # a dummy is known by its parent
        self.created = {}
        self.X, self.y = [], []

    def representative(self, arm):
        node, kind = arm
        return node if kind == "leaf" else (*node, "x", *["x"] * (self.D - len(node) - 1))

    def k(self, a, b):
        shared = 0
        while shared < self.D and a[shared] == b[shared] != "x":
            shared += 1
        return self.chi[self.D - shared]

    def upper(self, sqrt_beta):
        self.chi = self.kernel.chi(self.D)
        values = {}
        C = np.array([[self.k(a, b) for b in self.X] for a in self.X]).reshape(
            len(self.X), len(self.X)
        )
        inverse = np.linalg.inv(C + self.noise**2 * np.eye(len(self.X)))
        for arm in self.S:
            x = self.representative(arm)
            k = np.array([self.k(x, b) for b in self.X])
            mean = k @ inverse @ self.y if self.X else 0.0
            variance = self.chi[0] - (k @ inverse @ k if self.X else 0.0)
            values[arm] = mean + sqrt_beta * math.sqrt(max(variance, 0.0))
        return values

    def play(self, path, value):
        """Create the nodes of the path, with dummies, and add it to the training set."""
        for i in range(self.D):
            node, child = path[:i], path[: i + 1]
            children = self.created.setdefault(node, set())
            if child[-1] not in children:
                children.add(child[-1])
                self.S.add((child, "leaf" if i + 1 == self.D else "dummy"))
                if len(children) == self.B:
                    self.S.discard((node, "dummy"))
        self.X.append(path)
        self.y.append(value)


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [(kernels.Linear(), 1.0), (kernels.Gaussian(2.0), 0.3), (kernels.Discounted(0.7), 0.5)],
)
def test_the_arm_rule_is_algorithm_one(kernel, scale):
    tree = Tree(3, 3)
    confidence = Confidence(scale=scale)
    search = GPTS(tree, kernel, 0.3, select="arm", confidence=confidence, rng=0)
    paper = AlgorithmOne(3, 3, kernel, 0.3)
    for t in range(1, 61):
        path = search.ask()
        values = paper.upper(confidence.sqrt_beta(t, tree.log_arms))
        node = path
        while (node, "leaf") not in values and (node, "dummy") not in values:
            node = node[:-1]
        played = values[(node, "leaf" if node == path else "dummy")]
        assert played == pytest.approx(max(values.values()), abs=1e-9)
        reward = noise_of(1, path) + 0.3 * noise_of(2, t)
        search.tell(path, reward)
        paper.play(path, reward)


@pytest.mark.parametrize("select", ["arm", "ucb"])
@pytest.mark.parametrize("tree", [Tree(3, 3), Tree([2, 1, 4], 3), Tree(40, 1), Tree(1, 4)])
def test_a_small_tree_without_noise_is_exhausted(select, tree):
    search = GPTS(tree, kernels.Linear(), 0.0, select=select, rng=1)
    seen = []
    for _ in range(tree.arms):
        seen.append(search.ask())
        search.tell(seen[-1], noise_of(3, seen[-1]))
    with pytest.raises(Exhausted, match="all arms are known"):
        search.ask()
    assert len(seen) == len(set(seen)) == tree.arms
    best = max(noise_of(3, path) for path in seen)
    assert search.best().mean == best == search.best().value
    assert search.certificate.gap == 0.0
    assert search.certificate.upper == best


@pytest.mark.parametrize("select", ["arm", "ucb"])
def test_a_batch_without_noise_never_repeats_an_arm(select):
    tree = Tree(3, 3)
    search = GPTS(tree, kernels.Gaussian(1.0), 0.0, select=select, rng=1)
    batch = [search.ask() for _ in range(27)]
    assert len(set(batch)) == 27
    assert search.pending == tuple(batch)
    with pytest.raises(Exhausted, match="27 pending"):
        search.ask()
    search.forget(batch[5])
    assert search.ask() == batch[5]
    for path in batch[::-1]:
        search.tell(path, 1.0)
    assert search.pending == ()
    assert search.observations == 27


@pytest.mark.parametrize("select", ["arm", "ucb"])
@pytest.mark.parametrize("count", [0, 5, 60])
def test_a_noisy_batch_repeats_an_arm_only_when_all_are_pending(select, count):
    tree = Tree(3, 3)
    search = GPTS(tree, kernels.Gaussian(1.0), 0.3, select=select, rng=1)
    for t in range(count):
        path = search.ask()
        search.tell(path, noise_of(1, path) + 0.3 * noise_of(2, t))
    mean, _ = search.belief.posterior([(0, 0, 0), (1, 2, 0)])
    first = [search.ask() for _ in range(27)]
    assert len(set(first)) == 27
    again = [search.ask() for _ in range(3)]  # not exhausted: more rewards teach more
    assert set(again) <= set(first)
    assert np.array_equal(search.belief.posterior([(0, 0, 0), (1, 2, 0)])[0], mean)
    free = [path for path in first if path not in again][:2]
    for path in free:
        search.tell(path, 0.5)
    assert {search.ask(), search.ask()} == set(free)


@pytest.mark.parametrize("seed", range(5))
def test_the_next_of_a_batch_is_the_best_of_those_not_pending(seed):
    """The mean is that of the observations; pending evaluations reduce the deviation."""
    tree, kernel = Tree(3, 3), kernels.Linear()
    search = GPTS(tree, kernel, 0.5, select="arm", rng=seed)
    arms = list(itertools.product(range(3), repeat=3))
    observed, pending = [], []
    for t in range(12):
        path = search.ask()
        if t % 2:
            pending.append(path)
            b = search.confidence.sqrt_beta(t + 1, tree.log_arms)
            oracle = Oracle(kernel.increments(3), 0.0, observed, exact=False)
            mean, _, _ = oracle.posterior(arms)
            _, covariance, _ = oracle.posterior(arms, [(p, 0.25) for p in pending[:-1]])
            upper = mean + b * np.sqrt(np.diag(covariance))
            free = [i for i, arm in enumerate(arms) if arm not in pending[:-1]]
            assert upper[arms.index(path)] == pytest.approx(max(upper[free]), abs=1e-9)
        else:
            search.tell(path, noise_of(seed, path))
            observed.append(("sum", path, noise_of(seed, path), 0.25))


@pytest.mark.parametrize("growth", ["complete", "deepening", "rollout"])
@pytest.mark.parametrize("batch", [False, True])
def test_rewards_of_steps_instead_of_their_sum(growth, batch):
    """Each is an observation of its own, with noise in proportion to its prior variance."""
    tree, kernel = Tree(2, 3), kernels.Discounted(0.5)
    search = GPTS(tree, kernel, 0.4, growth=growth, rng=3)
    v = kernel.increments(3)
    for _ in range(10):
        path = search.ask()
        if batch:
            search.ask()
        steps = [0.5**i * noise_of(5, path[: i + 1]) for i in range(len(path))]
        before = search.observations
        search.tell(path, steps=steps)
        assert search.observations == before + 1
        if batch:
            search.forget(search.pending[0])
    assert search.pending == ()
    assert search.best().path
    belief = bough.Belief(tree, kernel, 0.4)
    one = GPTS(tree, kernel, 0.4)
    one.tell((0, 1, 1), steps=[1.0, 0.5, -0.25])
    for i, r in enumerate([1.0, 0.5, -0.25]):
        s = 0.4 * math.sqrt(v[i + 1] / v[1:].sum())
        belief.observe_step((0, 1, 1)[: i + 1], r, noise=s)
    nodes = [(0,), (0, 1), (0, 1, 1), (0, 0), (1, 1, 1)]
    for a, b in zip(one.belief.posterior(nodes), belief.posterior(nodes), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert one.best("observed").value == pytest.approx(1.25)
    assert one.best().visits == 1


def test_steps_of_a_flat_kernel_share_the_noise_evenly():
    search = GPTS(Tree(2, 3), kernels.Linear(0.0), 0.5)
    search.tell((0, 0, 1), steps=[1, 2, 3])
    assert search.best().mean == 0.0


@pytest.mark.parametrize("select", ["arm", "ucb"])
def test_the_same_seed_gives_the_same_run(select):
    def run(seed, copied=False):
        search = GPTS(Tree(4, 5), kernels.Gaussian(2.0), 0.2, select=select, rng=seed)
        paths = []
        for t in range(80):
            if copied and t == 40:
                search = pickle.loads(pickle.dumps(search))
            paths.append(search.ask())
            if t % 4:
                search.tell(paths[-1], noise_of(1, paths[-1]))
        return paths

    assert run(3) == run(3) == run(3, copied=True)
    assert run(3) != run(4)
    assert run(np.random.default_rng(3)) == run(3)


@pytest.mark.parametrize("select", ["arm", "ucb"])
@pytest.mark.parametrize("factor", [0.25, 1024.0])
def test_scaling_by_a_power_of_two_changes_no_play(select, factor):
    def run(c):
        kernel = kernels.Gaussian(2.0, c**2)
        search = GPTS(Tree(3, 5), kernel, 0.3 * c, mean=0.5 * c, select=select, rng=0)
        paths = []
        for t in range(150):
            paths.append(search.ask())
            search.tell(paths[-1], c * (noise_of(1, paths[-1]) + 0.25 * noise_of(2, t)))
        return paths, search.best()

    paths, best = run(1.0)
    scaled, scaled_best = run(factor)
    assert paths == scaled
    assert scaled_best.mean == factor * best.mean
    assert scaled_best.std == factor * best.std


def test_other_orders_and_shifts_give_the_same_belief():
    rng = np.random.default_rng(0)
    data = [(tuple(p), rng.normal()) for p in rng.integers(0, 3, (100, 4)).tolist()]
    one = GPTS(Tree(3, 4), kernels.Linear(), 0.2, rng=0)
    two = GPTS(Tree(3, 4), kernels.Linear(7.0**2), 0.2 * 7.0, mean=3.0, rng=0)
    for path, y in data:
        one.tell(path, y)
    for path, y in data[::-1]:
        two.tell(path, 7.0 * y + 3.0)
    paths = [p for p, _ in data]
    m1, s1 = one.belief.posterior(paths)
    m2, s2 = two.belief.posterior(paths)
    np.testing.assert_allclose(m2, 7.0 * m1 + 3.0, atol=1e-8)
    np.testing.assert_allclose(s2, 7.0 * s1, atol=1e-8)


def draw_from_prior(tree, kernel, rng):
    v = kernel.increments(tree.depth)
    F = {(): math.sqrt(v[0]) * rng.normal()}
    for d in range(tree.depth):
        for path in [p for p in F if len(p) == d]:
            for k in range(int(tree.counts[d])):
                F[(*path, k)] = F[path] + math.sqrt(v[d + 1]) * rng.normal()
    return {path: value for path, value in F.items() if len(path) == tree.depth}


@pytest.mark.parametrize("select", ["arm", "ucb"])
def test_the_certificate_holds_as_often_as_it_says(select):
    tree, kernel = Tree(3, 3), kernels.Gaussian(1.5)
    failures = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        f = draw_from_prior(tree, kernel, rng)
        search = GPTS(tree, kernel, 0.5, select=select, confidence=Confidence(0.1), rng=seed)
        failed = False
        for _ in range(40):
            path = search.ask()
            search.tell(path, f[path] + 0.5 * rng.normal())
            certificate = search.certificate
            failed |= certificate.upper < max(f.values()) or certificate.lower > f[certificate.path]
        failures += failed
    # At most 15 expected; 29 has a probability below 1 in 1,000 even then.
    assert failures < 29


def test_the_certificate_of_four_independent_arms_is_not_too_wide():
    """At delta = 0.1 halving every standard deviation would make it fail too often."""
    tree, kernel = Tree(4, 1), kernels.Discounted(1.0)
    failures = halved = 0
    seeds = 400
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        f = draw_from_prior(tree, kernel, rng)
        search = GPTS(tree, kernel, 1.0, select="arm", confidence=Confidence(0.1), rng=seed)
        b = search.deviations()
        mean, std = search.belief.posterior(list(f))
        truth = np.array(list(f.values()))
        path = search.ask()
        search.tell(path, f[path] + rng.normal())
        failures += search.certificate.upper < max(f.values())
        halved += bool(np.any(truth > mean + 0.5 * b * std))
    assert failures <= 0.1 * seeds
    assert halved > 0.1 * seeds


def test_the_gap_shrinks_under_noise():
    tree = Tree(2, 3)
    search = GPTS(
        tree, kernels.Linear(), 0.3, select="arm", confidence=Confidence(scale=1.0), rng=0
    )
    gaps = []
    for t in range(4000):
        path = search.ask()
        search.tell(path, noise_of(1, path) + 0.3 * noise_of(2, t))
        if t in (50, 500, 3999):
            gaps.append(search.certificate.gap)
    assert gaps[0] > gaps[1] > gaps[2] > 0
    assert gaps[2] < 0.2


@pytest.mark.parametrize("select", ["arm", "ucb"])
@pytest.mark.parametrize("growth", ["deepening", "rollout"])
@pytest.mark.parametrize(
    "tree", [Tree(3, 4), Tree(Ragged(3, 1), 5, log_arms=9.0), Tree(math.inf, 4), Tree(2, 0)]
)
def test_growing_one_node_a_play(select, growth, tree):
    search = GPTS(tree, kernels.Linear(), 0.3, select=select, growth=growth, rng=0)
    nodes = {()}
    for t in range(60):
        path = search.ask()
        if growth == "deepening":
            assert path in nodes or path[:-1] in nodes
            assert path not in nodes or tree.is_leaf(path)
            nodes.add(path)
        else:
            assert tree.is_leaf(path)
        search.tell(path, noise_of(1, path) + 0.3 * noise_of(2, t))
        assert np.sum(search.belief.nodes["count"] >= 0) <= t + 2  # groups do not count
    best = search.best()
    assert best.visits > 0
    assert tree.complete(best.path) == best.path if growth == "rollout" else best.path in nodes
    for rule in ("lower", "mean", "observed"):
        assert search.best(rule).path is not None
    if tree.log_arms is None:
        assert search.certificate.upper == math.inf


@pytest.mark.parametrize("growth", ["complete", "deepening", "rollout"])
def test_the_certificate_covers_all_that_can_be_found(growth):
    """Unexplored arms included, on functions drawn from the prior."""
    tree, kernel = Tree(2, 7), kernels.Geometric(1.0)
    nodes = [p for d in range(8) for p in itertools.product(range(2), repeat=d)]
    missed = 0
    for seed in range(25):
        F = dict(zip(nodes, bough.Belief(tree, kernel, 0.1).sample(nodes, 1, seed)[0], strict=True))
        rewarded = nodes if growth == "deepening" else [p for p in nodes if len(p) == 7]
        best = max(F[p] for p in rewarded)
        search = GPTS(tree, kernel, 0.1, growth=growth, rng=seed)
        rng = np.random.default_rng(seed)
        low = math.inf
        for _ in range(30):
            path = search.ask()
            search.tell(path, F[path] + 0.1 * rng.normal())
            low = min(low, search.certificate.upper)
        missed += low < best
    assert missed <= 4  # delta is .05


def test_rollouts_on_ragged_trees():
    """A leaf that ends early is observed as it is, and `best` says what is known of its path."""
    tree = Tree(lambda path: 0 if path == (0,) else 2, 3)
    search = GPTS(tree, kernels.Linear(), 0.0, growth="rollout", rng=0)
    search.tell((0,), 1.0)
    assert [float(x[0]) for x in search.belief.posterior([(0,)])] == [1.0, 0.0]
    seen = {(0,)}
    result = bough.maximize(lambda p: noise_of(1, p), tree, budget=200, searcher=search)
    assert result.stopped_by == "exhausted"
    assert len(seen | set(result.history.paths)) == 5
    for rule in ("observed", "mean", "lower"):
        best = search.best(rule)
        mean, std = search.belief.posterior([best.path])
        assert (best.mean, best.std) == (mean[0], std[0])
    other = GPTS(Tree(2, 2), kernels.Linear(), 0.1, growth="rollout", rng=0)
    other.tell((0, 1), steps=[0.5, 0.5])
    assert other.best().value == 1.0


def test_steps_without_prior_variance_may_be_noisy():
    search = GPTS(Tree(2, 4), kernels.Chi((1, 1, 0.5, 0.5, 0)), 0.1, rng=0)
    search.tell(search.ask(), steps=[0.1, 0.2, 0.1, 0.1])
    assert search.observations == 1


def test_a_function_and_a_number_give_the_same_certificate():
    for growth in ("complete", "deepening", "rollout"):
        uppers = []
        for branching, known in ((2, {}), (lambda path: 2, {"log_arms": 6 * math.log(2)})):
            search = GPTS(Tree(branching, 6, **known), kernels.Linear(), 0.1, growth=growth, rng=0)
            search.tell((0, 1, 0, 1, 1, 0), 1.0)
            uppers.append(search.certificate.upper)
        assert uppers[0] == uppers[1]


def test_a_path_of_no_steps():
    search = GPTS(Tree(2, 0), kernels.Linear(), 0.1)
    search.tell((), steps=[])
    assert search.observations == 1


def test_the_root_may_have_no_actions():
    for tree in (Tree(lambda path: 0, 3), Tree(4, 0)):
        for make in (lambda t: GPTS(t, kernels.Linear(), 0.1, rng=0), bough.UCT):
            search = make(tree)
            search.tell(search.ask(), 1.0)
            with pytest.raises(ValueError, match="no actions"):
                search.best_action()


def test_a_branching_function_may_return_infinity():
    tree = Tree(lambda path: math.inf, 2, log_arms=10.0)
    search = GPTS(tree, kernels.Linear(), 0.3, growth="deepening", rng=0)
    for t in range(40):
        path = search.ask()
        search.tell(path, noise_of(1, path) + 0.3 * noise_of(2, t))
    assert math.isfinite(search.certificate.gap)


@given(st.data())
@settings(deadline=None)
def test_information_gain_is_half_a_log_determinant(data):
    kernel = kernels.Gaussian(1.5)
    tree = data.draw(trees(most_children=4, most_depth=5), label="tree")
    belief = bough.Belief(tree, kernel, 0.3)
    rows, noises = [], []
    for _ in range(data.draw(st.integers(0, 10), label="observations")):
        path = some_path(data, tree)
        nodes = [path[:i] for i in range(len(path) + 1)]
        noise = data.draw(st.sampled_from([0.3, 0.7]), label="noise")
        if data.draw(st.booleans(), label="step") and path:
            belief.observe_step(path, 0.5, noise=noise)
            nodes = [path]
        else:
            belief.observe(path, 0.5, noise=noise)
        rows.append(set(nodes))
        noises.append(noise)
    v = kernel.increments(tree.depth)
    K = np.array([[sum(v[len(n)] for n in a & b) for b in rows] for a in rows])
    K = K.reshape(len(rows), len(rows)) / np.outer(noises, noises)
    truth = 0.5 * np.linalg.slogdet(np.eye(len(rows)) + K)[1]
    assert belief.information_gain() == pytest.approx(truth, rel=1e-9, abs=1e-9)


def test_an_exact_observation_has_infinite_information():
    belief = bough.Belief(Tree(3, 2), kernels.Gaussian(1.5), 0.0)
    assert belief.information_gain() == 0.0
    belief.observe((0, 1), 1.0)
    assert belief.information_gain() == math.inf


@pytest.mark.parametrize("discount", [0.1, 0.5])
def test_increments_that_count_as_zero_carry_no_information(discount):
    kernel = kernels.Discounted(discount)  # at depth 200 increments are below 1e-100, or near it
    belief = bough.Belief(Tree(2, 200), kernel, 0.1)
    assert belief.information_gain() == 0.0
    belief.observe((0,) * 200, 1.0)
    gain = 0.5 * math.log1p(kernel.increments(200).sum() / 0.1**2)
    assert belief.information_gain() == pytest.approx(gain, rel=1e-12)


def test_rules_for_the_best():
    search = GPTS(Tree(3, 1), kernels.Discounted(1.0), 1.0, rng=0)
    with pytest.raises(ValueError, match="no observations yet"):
        search.best()
    for _ in range(30):
        search.tell((0,), 1.0)
    search.tell((1,), 5.0)
    search.tell((1,), -2.2)
    search.tell((2,), 2.1)
    assert search.best("observed").path == (1,)
    assert search.best("mean").path == (2,)
    assert search.best("lower").path == search.best().path == (0,)
    assert search.best_action("mean") == 2
    b = Confidence().sqrt_beta(34, math.log(3))
    best = search.best()
    assert best.upper == pytest.approx(best.mean + b * best.std)
    assert (best.value, best.visits) == (pytest.approx(1.0), 30)
    assert GPTS(Tree(3, 1), kernels.Linear(), 0.0).belief.noise == 0.0
    with pytest.raises(ValueError, match="rule must be"):
        search.best("median")


def test_best_is_among_the_played_arms():
    """Against enumeration: over played arms only, though others may have higher means."""
    search = GPTS(Tree(4, 4), kernels.Gaussian(2.0), 0.4, rng=2)
    played = set()
    for t in range(200):
        path = search.ask()
        played.add(path)
        search.tell(path, noise_of(1, path[:2]) + 0.4 * noise_of(2, t))
        if t % 20 == 0:
            paths = sorted(played)
            mean, std = search.belief.posterior(paths)
            assert search.best("mean").mean == pytest.approx(mean.max(), abs=1e-12)
            lower = search.best("lower")
            assert lower.mean - lower.std == pytest.approx((mean - std).max(), abs=1e-12)
            assert lower.path in played


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.tell((0, 0), math.nan), ValueError, "value must be finite"),
        (lambda s: s.tell((0, 0), "high"), TypeError, "value must be one real number"),
        (lambda s: s.tell((0, 0)), ValueError, "tell takes the value"),
        (lambda s: s.tell((0,), 1.0), ValueError, "too short: it ends at a node with 3 children"),
        (lambda s: s.tell((0, 0, 0), 1.0), ValueError, "3 steps, but the tree has depth 2"),
        (lambda s: s.tell((0, 7), 1.0), ValueError, "has 3 children"),
        (lambda s: s.tell((0, 0.5), 1.0), TypeError, "must be an int"),
        (lambda s: s.tell((0, 0), 1.0, noise=-1), ValueError, "noise must not be negative"),
        (lambda s: s.tell((0, 0), 1.0, steps=[1, 2]), ValueError, "tell takes the value"),
        (lambda s: s.tell((0, 0), steps=[1.0]), ValueError, "1 rewards for a path of 2 steps"),
        (lambda s: s.tell((0, 0), steps=[1.0, math.inf]), ValueError, r"steps\[1\] must be finite"),
        (lambda s: s.tell((0, 0), steps=3.0), TypeError, "steps must be a sequence"),
        (lambda s: s.forget((0, 1)), ValueError, "is not pending"),
    ],
)
def test_bad_input_changes_nothing(call, error, message):
    search = GPTS(Tree(3, 2), kernels.Linear(), 0.1, rng=0)
    search.tell((0, 1), 1.0)
    asked = [search.ask(), search.ask()]
    before = pickle.dumps(search.belief.__getstate__())
    with pytest.raises(error, match=message):
        call(search)
    assert pickle.dumps(search.belief.__getstate__()) == before
    assert search.pending == tuple(asked)


def test_bad_options():
    tree = Tree(3, 2)
    for keywords, message in (
        ({"select": "best"}, "select must be"),
        ({"growth": "fast"}, "growth must be"),
        ({"confidence": 0.05}, "confidence must be a bough.Confidence"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            GPTS(tree, **{"kernel": kernels.Linear(), "noise": 0.1} | keywords)


def test_huge_and_empty_problems():
    for tree in (Tree(200, 10), Tree(10, 300), Tree(1, 1), Tree(5, 0)):
        search = GPTS(tree, kernels.Gaussian(3.0), 0.1, rng=0)
        for t in range(30):
            search.tell(search.ask(), noise_of(1, t))
        assert math.isfinite(search.certificate.gap)
    flat = GPTS(Tree(3, 3), kernels.Linear(0.0), 0.1, rng=0)
    for t in range(20):
        flat.tell(flat.ask(), noise_of(1, t))
    assert flat.best().mean == 0.0
    assert repr(flat).startswith("GPTS(Tree(3, 3)")
    assert len(list(itertools.islice(iter(flat.pending), 3))) == 0
    assert bough.Searcher in GPTS.__mro__
