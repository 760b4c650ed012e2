"""Kernels with labels and between siblings: spectra by enumeration, gains, regret bounds."""

import itertools
import math

import numpy as np
import pytest
import theory_oracle as oracle
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import some_kernel

from bough import Confidence, Tree, theory
from bough.baselines import NodeBandits
from bough.kernels import RBF, Chi, Discounted, Gaussian, Labeled, Linear, Paths, Same
from bough.theory.labels import Exchangeable, rank_one_eigenvalues

LABELS = {True: lambda path: (len(path), path[-1]), False: lambda path: path[-1]}


def labeled(kernel, variance=0.5, decay=1.0, by_depth=True):
    return Labeled(kernel, labels=LABELS[by_depth], between=Same(variance), decay=decay)


def paths_of(B, D):
    return list(itertools.product(range(B), repeat=D))


def check_spectrum(s, K):
    assert sum(s.multiplicities) == len(K)
    assert all(s.multiplicities)
    found = np.repeat(s.eigenvalues, s.multiplicities)
    np.testing.assert_allclose(np.linalg.eigvalsh(K), found, rtol=1e-9, atol=1e-12 * found[-1])
    assert (np.diff(s.eigenvalues) >= 0).all()
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(s.log_eigenvalues, np.log(s.eigenvalues), atol=1e-12)
    assert [s.eigenvalue(t) for t in range(1, len(K) + 1)] == found[::-1].tolist()


def siblings_matrix(kernel, K, B, D):
    """Return the kernel matrix of correlated siblings, from the definition."""
    steps = kernel.increments(D)
    paths = paths_of(B, D)
    found = np.full((len(paths), len(paths)), steps[0])
    for (a, x), (b, y) in itertools.product(enumerate(paths), repeat=2):
        for i in range(D):
            if x[:i] == y[:i]:
                found[a, b] += steps[i + 1] * K[x[i], y[i]]
    return found


@st.composite
def matrices(draw, size, *, equal_rows):
    """Return a covariance matrix, with rows of equal sum if asked for."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    if not equal_rows:
        A = rng.standard_normal((size, size + 1))
        return A @ A.T
    row = draw(st.sampled_from([0.0, 0.5, 2.0]))
    A = rng.standard_normal((size, size))
    A -= A.mean(axis=0)
    return A @ A.T + row / size


# ---------------------------------------------------------------------- spectra


@given(
    st.sampled_from([(1, 0), (3, 0), (1, 3), (5, 1), (2, 2), (2, 5), (3, 3), (4, 3), (6, 2)]),
    st.sampled_from([0.0, 0.3, 5.0]),
    st.sampled_from([1.0, 0.6, 1.5]),
    st.booleans(),
    st.data(),
)
def test_spectrum_of_labels(size, variance, decay, by_depth, data):
    B, D = size
    kernel = data.draw(some_kernel(D))
    assume(not (variance == 0.0 and kernel.increments(D).sum() == 0.0))
    kernel = labeled(kernel, variance, decay, by_depth)
    check_spectrum(theory.spectrum(kernel, B, D), kernel.matrix(paths_of(B, D), D))


@given(
    st.sampled_from([(2, 2), (2, 4), (3, 3), (4, 2), (5, 1), (3, 0), (1, 2)]),
    st.data(),
)
def test_spectrum_of_correlated_siblings(size, data):
    B, D = size
    kernel = data.draw(some_kernel(D))
    K = data.draw(matrices(B, equal_rows=True))
    dense = siblings_matrix(kernel, K, B, D)
    assume(np.trace(dense) > 0)
    check_spectrum(theory.spectrum(theory.Siblings(kernel, K), B, D), dense)


@given(st.integers(2, 4), st.integers(1, 3), st.data())
def test_siblings_of_the_last_depth_alone_may_have_any_covariances(B, D, data):
    K = data.draw(matrices(B, equal_rows=False))
    kernel = Chi.of_increments([0.0] * D + [0.7])
    dense = siblings_matrix(kernel, K, B, D)
    check_spectrum(theory.spectrum(theory.Siblings(kernel, K), B, D), dense)


@given(st.integers(1, 4), st.integers(0, 3), st.data())
def test_spectrum_of_a_product(B, D, data):
    K = data.draw(matrices(B, equal_rows=False))
    dense = np.ones((1, 1))
    for _ in range(D):
        dense = np.kron(K, dense)
    check_spectrum(theory.spectrum(theory.Product(K), B, D), dense)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 1.0 + 1e-9, 40.0]), st.floats(0, 2)),
        min_size=1,
        max_size=7,
    )
)
def test_eigenvalues_after_an_update_of_rank_one(pairs):
    from decimal import Decimal

    d, w = np.array(pairs).T
    found = rank_one_eigenvalues([Decimal(x) for x in d], [Decimal(x) ** 2 for x in w])
    dense = np.linalg.eigvalsh(np.diag(d) + np.outer(w, w))
    np.testing.assert_allclose(sorted(map(float, found)), dense, atol=1e-13 * max(dense.max(), 1))


@pytest.mark.parametrize("by_depth", [True, False])
def test_trees_of_any_size(by_depth):
    """The trace is that of the matrix, far above what a float can hold."""
    for B, D, kernel in ((200, 10, Gaussian(5.0)), (10, 30, Discounted(0.9)), (2, 60, Linear())):
        s = theory.spectrum(labeled(kernel, 0.5, 0.9, by_depth), B, D)
        assert sum(s.multiplicities) == B**D
        strengths = 0.9 ** np.arange(D)
        common = 1.0 if by_depth else 1.0 + (strengths.sum() ** 2 / (strengths**2).sum() - 1) / B
        mean_variance = kernel.increments(D).sum() + 0.5 * common * (strengths**2).sum()
        logs = [math.log(n) + x for n, x in zip(s.multiplicities, s.log_eigenvalues, strict=True)]
        trace = np.logaddexp.reduce(logs)
        assert trace == pytest.approx(D * math.log(B) + math.log(mean_variance), abs=1e-9)


def test_labels_that_stand_for_nothing_else():
    """Names of depths and indices do not matter, only which of them are equal."""
    kernel = labeled(Linear())
    named = Labeled(Linear(), labels=lambda path: f"{path[-1]} of {len(path)}", between=Same(0.5))
    found = theory.spectrum(named, 5, 4)
    assert (found.eigenvalues == theory.spectrum(kernel, 5, 4).eigenvalues).all()
    assert found.kernel == Exchangeable(Linear(), 0.5)


# ---------------------------------------------------------------------- information


@given(
    st.sampled_from([(2, 2, 5), (3, 2, 4), (2, 3, 4), (4, 1, 6)]),
    st.sampled_from(["depth", "index", "siblings", "product"]),
    st.sampled_from([0.2, 1.0]),
    st.data(),
)
def test_no_arms_give_more_information(size, kind, noise, data):
    B, D, plays = size
    tree_kernel = data.draw(some_kernel(D))
    if kind in ("depth", "index"):
        kernel = labeled(tree_kernel, 0.5, 0.8, kind == "depth")
        K = kernel.matrix(paths_of(B, D), D)
    elif kind == "product":
        between = data.draw(matrices(B, equal_rows=False))
        kernel = theory.Product(between)
        K = np.ones((1, 1))
        for _ in range(D):
            K = np.kron(K, between)
    else:
        between = data.draw(matrices(B, equal_rows=True))
        kernel = theory.Siblings(tree_kernel, between)
        K = siblings_matrix(tree_kernel, between, B, D)
    best = oracle.enumerated_gain(K, noise, plays)
    setting = (kernel, B, D, noise, plays)
    least = theory.information_gain(*setting)
    assert best <= least * (1 + 1e-9) + 1e-12
    greedy = theory.information_gain(*setting, method="greedy")
    values = np.maximum(np.linalg.eigvalsh(K), 0.0)
    assert greedy == pytest.approx(oracle.heap_greedy(values, noise, plays)[0], rel=1e-7, abs=1e-9)
    assert least <= greedy * (1 + 1e-9)
    assert greedy <= theory.information_gain(*setting, method="waterfilling") * (1 + 1e-9)
    picks = theory.greedy_counts(*setting)
    total = sum(c.multiplicity * c.picks + c.extra for c in picks)
    assert total in (0, plays)


@pytest.mark.parametrize("common", [0.0, 0.4])
def test_equally_correlated_siblings_are_a_tree_kernel(common):
    """What siblings have in common belongs to their parent, so the gain is exact."""
    K = np.full((3, 3), common) + (1 - common) * np.eye(3)
    kernel = theory.Siblings(Gaussian(1.5), K)
    K = siblings_matrix(Gaussian(1.5), K, 3, 2)
    best = oracle.enumerated_gain(K, 0.3, 4)
    assert theory.information_gain(kernel, 3, 2, 0.3, 4) == pytest.approx(best, rel=1e-9)
    found = theory.information_gain(kernel, 3, 2, 0.3, 4, method="exact")
    assert found == pytest.approx(best, rel=1e-9)


def test_uniform_plays_attain_the_uniform_gain():
    kernel = labeled(Gaussian(2.0), 0.5)
    K = kernel.matrix(paths_of(3, 2), 2)
    dense = 0.5 * np.linalg.slogdet(np.eye(9) + K * 4 / 0.3**2)[1]
    found = theory.information_gain(kernel, 3, 2, 0.3, 36, method="uniform")
    assert found == pytest.approx(dense, rel=1e-9)
    for B, D in ((200, 10), (10, 400)):  # large trees, plays far below the number of arms
        least = theory.information_gain(labeled(Gaussian(5.0)), B, D, 1.0, 10**6)
        uniform = theory.information_gain(labeled(Gaussian(5.0)), B, D, 1.0, 10**6, "uniform")
        assert 0 < least <= uniform < math.inf


def test_regret_bounds_take_labels():
    kernel = labeled(Gaussian(5.0))
    table = theory.regret_bound(kernel, 10, 5, 0.3, 10**4, breakdown=True)
    assert table["best"] == min(table.values())
    one = theory.regret_bound(kernel, 10, 5, 0.3, 10**4, gain="greedy")
    assert table["best"] <= one
    assert theory.plays_needed(kernel, 4, 3, 0.3, 0.5) > 1


# ---------------------------------------------------------------------- one bandit per node


@pytest.mark.parametrize("correlated", [False, True])
def test_the_regret_of_node_bandits_is_below_the_bound(correlated):
    B, D, noise, plays = 3, 3, 0.4, 60
    features = np.arange(float(B))[:, None]
    between = RBF(1.5, variance=1.0).matrix(features) if correlated else np.eye(B)
    kernel = Discounted(0.8)
    prior = theory.Siblings(kernel, between) if correlated else kernel
    most = theory.node_regret_bound(prior, B, D, noise, plays)
    root = np.linalg.cholesky(between)
    steps = kernel.increments(D)
    options = {"labels": lambda path: (path[-1],), "between": RBF(1.5)} if correlated else {}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        effects = {}
        for i in range(D):
            for node in itertools.product(range(B), repeat=i):
                draws = math.sqrt(steps[i + 1]) * root @ rng.standard_normal(B)
                effects |= {(*node, k): x for k, x in enumerate(draws)}

        def f(path, effects=effects):
            return [effects[path[: i + 1]] for i in range(D)]

        best = max(sum(f(path)) for path in paths_of(B, D))
        search = NodeBandits(
            Tree(B, D),
            noise=noise,
            variance=steps[1:].tolist(),
            mean=0.0,
            confidence=Confidence(0.05),
            rng=seed,
            **options,
        )
        regret = 0.0
        for _ in range(plays):
            path = search.ask()
            regret += best - sum(f(path))
            search.tell(path, steps=[x + noise * rng.standard_normal() for x in f(path)])
        assert 0 <= regret <= most


def test_the_bound_of_one_level_is_that_of_a_bandit():
    """A tree of depth 1 has one node: the bound is that of its arms, whose number is the same."""
    kernel = Chi((1.0, 0.0))
    for plays in (1, 100, 10**6):
        for method in ("theorem", "sum-beta", "weighted-envelope", "trivial"):
            a = theory.node_regret_bound(kernel, 7, 1, 0.3, plays, method=method)
            b = theory.regret_bound(kernel, 7, 1, 0.3, plays, method=method)
            assert a == pytest.approx(b, rel=1e-12)


def test_the_bounds_add_up():
    """Independent bandits at each depth, whose arms are all the nodes there."""
    kernel, plays = Discounted(0.7), 5000
    total = theory.node_regret_bound(kernel, 3, 4, [0.1, 0.2, 0.3, 0.4], plays, method="theorem")
    M = 3 + 9 + 27 + 81
    beta = 2 * math.log(M * plays**2 * math.pi**2 / (6 * 0.05))
    expected = 0.0
    for i in range(1, 5):
        c, noise = 0.7 ** (2 * (i - 1)), 0.1 * i
        arms = 3**i
        few, more = divmod(plays, arms)
        gain = (arms - more) * math.log1p(c * few / noise**2)
        gain = 0.5 * (gain + more * math.log1p(c * (few + 1) / noise**2))
        expected += math.sqrt(8 * c / math.log1p(c / noise**2) * beta * plays * gain)
    assert total == pytest.approx(expected, rel=1e-9)
    deep = theory.node_regret_bound(Discounted(0.1), 3, 200, 1.0, [10, 1000])
    assert deep.shape == (2,)
    assert np.isfinite(deep).all()
    assert theory.node_regret_bound(Linear(), 3, 0, 1.0, 10) == 0.0
    assert theory.node_regret_bound(Linear(0.0), 3, 2, 1.0, 10) == 0.0


def test_the_greedy_sequence_of_bandits_has_no_bound():
    """The best immediate reward may lead away from the best path, with any number of plays."""
    steps = {(0,): 0.1, (1,): 0.0, (0, 0): 0.0, (0, 1): 0.0, (1, 0): 1.0, (1, 1): 0.0}
    search = NodeBandits(Tree(2, 2), noise=0.05, variance=1.0, mean=0.0, rng=0)
    for _ in range(60):
        path = search.ask()
        search.tell(path, steps=[steps[path[:1]], steps[path]])
    assert search.best().path == (1, 0)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (Labeled(Linear(), labels=lambda p: 0, between=Same(1.0)), ValueError, "labels must stand"),
        (Labeled(Linear(), labels=tuple, between=Same(1.0)), ValueError, "labels must stand for"),
        (Labeled(Linear(), labels=LABELS[False]), ValueError, "variance is None"),
        (Labeled(Linear(), labels=LABELS[True], between=RBF(1.0, 1.0)), ValueError, "Same"),
        (labeled(Linear(None)), ValueError, "variance is None"),
        (labeled(Linear(), decay=None), ValueError, "decay is None"),
        (Paths(lambda a, b: 1.0), ValueError, "no closed form"),
        (theory.Siblings(Linear(), np.eye(2)), ValueError, "matrix is 2 x 2, but a node has 3"),
        (theory.Product(np.eye(4)), ValueError, "matrix is 4 x 4"),
        (theory.Siblings(Linear(), np.diag([1.0, 2.0, 3.0])), ValueError, "equal sums"),
        (3.0, TypeError, "kernel must be a kernel"),
    ],
)
def test_kernels_without_a_spectrum(kernel, error, message):
    with pytest.raises(error, match=message):
        theory.spectrum(kernel, 3, 2)
    with pytest.raises(error, match=message):
        theory.information_gain(kernel, 3, 2, 1.0, 10)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "positive semidefinite"),
        ([[1.0, 0.5], [0.4, 1.0]], "symmetric"),
        ([[1.0, 0.5]], "square"),
        ([], "square"),
        ("no", "square"),
        ([[math.nan]], "finite"),
    ],
)
def test_matrices_are_checked(matrix, message):
    for make in (theory.Product, lambda K: theory.Siblings(Linear(), K)):
        with pytest.raises(ValueError, match=message):
            make(matrix)


def test_methods_that_do_not_hold():
    by_index = labeled(Linear(), by_depth=False)  # arms differ in variance
    with pytest.raises(ValueError, match="method 'uniform' does not hold"):
        theory.information_gain(by_index, 3, 2, 1.0, 10, "uniform")
    for kernel in (by_index, labeled(Linear()), theory.Product(np.eye(3))):
        with pytest.raises(ValueError, match="gain 'exact' does not hold"):
            theory.regret_bound(kernel, 3, 2, 1.0, 10, gain="exact")
        with pytest.raises(ValueError, match="eigenvectors are those of kernels of common"):
            theory.spectrum(kernel, 3, 2).eigenvectors()
    with pytest.raises(ValueError, match="different eigenvalues"):
        theory.spectrum(theory.Product(np.diag(np.arange(1.0, 31))), 30, 20)
    for noise, error in ((0.0, ValueError), ([1.0], ValueError), ("1", TypeError)):
        with pytest.raises(error, match="noise"):
            theory.node_regret_bound(Linear(), 3, 2, noise, 10)
    with pytest.raises(ValueError, match="method must be one of"):
        theory.node_regret_bound(Linear(), 3, 2, 1.0, 10, method="envelope")
