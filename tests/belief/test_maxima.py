"""Subtree maxima: the tables against Monte Carlo, the recursion against itself from scratch."""

import math

import mpmath
import numpy as np
import pytest
from strategies import Hill, Ragged, noise_of

from bough import Belief, Tree, kernels
from bough.belief.maxima import table_counts
from bough.belief.rng import SplitMix64
from bough.belief.unexplored import unexplored_maxima


def simulate(increments, widths, depth, count, draws, rng):
    """Draw the best of `count` unexplored children of a node at that depth."""
    if depth == len(widths):
        return np.zeros(draws)
    best = np.full(draws, -np.inf)
    for _ in range(count):
        step = math.sqrt(increments[depth + 1]) * rng.standard_normal(draws)
        below = 0.0
        if depth + 1 < len(widths):
            below = simulate(increments, widths, depth + 1, widths[depth + 1], draws, rng)
        best = np.maximum(best, step + below)
    return best


@pytest.mark.parametrize(
    ("kernel", "widths"),
    [
        (kernels.Linear(), [3, 3, 3]),
        (kernels.Discounted(0.5, 4.0), [2, 5, 2, 2]),
        (kernels.Gaussian(0.7), [4, 2, 3]),
        (kernels.Geometric(0.2, 1e-8), [6, 3]),
    ],
)
def test_tables_agree_with_monte_carlo(kernel, widths):
    v = kernel.increments(len(widths))
    mean, sd = unexplored_maxima(v, widths)
    counts = table_counts(max(widths))
    rng = np.random.default_rng(0)
    draws = 40_000
    for depth in range(len(widths)):
        for j, count in enumerate(counts):
            sample = simulate(v, widths, depth, int(count), draws, rng)
            error = sample.std() / math.sqrt(draws)
            assert abs(sample.mean() - mean[depth, j]) < 3.5 * error + 1e-4 * sample.std()
            # The error of a standard deviation is about sd/sqrt(2 draws).
            assert abs(sample.std() / sd[depth, j] - 1) < 4 / math.sqrt(2 * draws) + 1e-3


@pytest.mark.parametrize(
    ("kernel", "width", "depth"),
    [
        (kernels.Discounted(0.5), 5, 10),
        (kernels.Discounted(0.3), 5, 10),
        (kernels.Discounted(0.8), 5, 30),
        (kernels.Discounted(0.9), 2, 60),
        (kernels.Geometric(0.25), 4, 10),
        (kernels.Chi((1.0, 1.0, 1e-6, 0.0)), 20, 3),
    ],
)
def test_tables_of_deep_trees_agree_with_a_population(kernel, width, depth):
    """Steps small beside others, and tails far out, at every depth."""
    rng = np.random.default_rng(0)
    v = kernel.increments(depth)
    mean, sd = unexplored_maxima(v, [width] * depth)
    draws = np.zeros(40_000)
    for i in range(depth - 1, -1, -1):
        steps = math.sqrt(v[i + 1]) * rng.standard_normal((len(draws), width))
        draws = (rng.choice(draws, (len(draws), width)) + steps).max(axis=1)
        assert abs(mean[i, -1] - draws.mean()) <= 0.05 * draws.std()
        assert sd[i, -1] == pytest.approx(draws.std(), rel=0.05)


@pytest.mark.parametrize("depth", [10, 30, 100])
def test_the_best_of_very_many_independent_arms(depth):
    """All variance in the last step: the maximum of 5^depth normal variables, by its quantiles."""
    v = np.zeros(depth + 1)
    v[depth] = 1.0
    mean, sd = unexplored_maxima(v, [5] * depth)
    mpmath.mp.dps = 40
    quantile = []
    for share in ("0.25", "0.5", "0.75"):
        # P(max <= x) = (1 - tail)^N = share
        tail = -mpmath.log(mpmath.mpf(share)) / mpmath.mpf(5) ** depth
        start = math.sqrt(2 * depth * math.log(5)) - 1
        found = mpmath.findroot(
            lambda x, tail=tail: mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2 / tail), start
        )
        quantile.append(float(found))
    # Of a Gumbel variable with these quartiles:
    scale = (quantile[2] - quantile[0]) / (math.log(math.log(4)) - math.log(math.log(4 / 3)))
    assert mean[0, -1] == pytest.approx(quantile[1] + scale * (0.5772 - 0.3665), abs=0.02)
    assert sd[0, -1] == pytest.approx(scale * math.pi / math.sqrt(6), rel=0.05)


def test_one_level_has_a_closed_form():
    """The best of 1, 2 and 3 standard normal variables."""
    mean, sd = unexplored_maxima(np.array([0.0, 4.0]), [3])
    np.testing.assert_allclose(
        mean[0], [0, 2 / math.sqrt(math.pi), 3 / math.sqrt(math.pi)], atol=1e-4
    )
    two = 2 * math.sqrt(1 - 1 / math.pi)
    three = 2 * math.sqrt(1 + math.sqrt(3) / (2 * math.pi) - 9 / (4 * math.pi))
    np.testing.assert_allclose(sd[0], [2, two, three], rtol=1e-4)
    assert mean[1].tolist() == [0.0, 0.0, 0.0]


def test_tables_scale_exactly():
    v = kernels.Gaussian(2.0).increments(6)
    one, two = unexplored_maxima(v, [3] * 6), unexplored_maxima(4.0 * v, [3] * 6)
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(2.0 * a, b)
    zero = unexplored_maxima(0.0 * v, [3] * 6)
    assert not np.any(zero)


def test_wide_nodes_are_interpolated():
    v = np.array([0.0, 1.0])
    mean, sd = unexplored_maxima(v, [1000])
    counts = np.array(table_counts(1000))
    belief = Belief(Tree(1000, 1), kernels.Discounted(1.0), 0.1)
    belief.maxima.prepare(mean, sd)
    assert np.all(np.diff(counts) > 0)
    # One child is explored, 999 are unexplored; the child is so bad that it does not matter.
    belief.observe((0,), -50.0)
    top = belief.maxima.records[0]
    found = top["a"] + top["k"] * belief.posterior([()])[0][0]
    true = np.interp(math.log(999), np.log(counts), mean[0]) + belief.posterior([()])[0][0]
    assert found == pytest.approx(true, abs=1e-3)


def with_tables(tree, kernel, noise, **keywords):
    belief = Belief(tree, kernel, noise, **keywords)
    belief.maxima.prepare(
        *unexplored_maxima(kernel.increments(tree.depth), [int(c) for c in tree.counts])
    )
    return belief


def clark(parts):
    """Return moments and slope of the maximum of normal variables (mean, variance, slope)."""
    mean, variance, slope = parts[0]
    for m, v, k in parts[1:]:
        theta = math.sqrt(v + variance)
        if theta == 0.0:
            if m > mean:
                mean, variance, slope = m, v, k
            continue
        alpha = (mean - m) / theta
        phi = math.exp(-alpha * alpha / 2) / math.sqrt(2 * math.pi)
        Phi = math.erfc(-alpha / math.sqrt(2)) / 2
        first = mean * Phi + m * (1 - Phi) + theta * phi
        second = (mean**2 + variance) * Phi + (m**2 + v) * (1 - Phi) + (mean + m) * theta * phi
        mean, variance, slope = first, max(second - first**2, 0.0), slope * Phi + k * (1 - Phi)
    return mean, variance, slope


def check_from_scratch(belief, kernel):
    """Recompute every maximum from those of its children, at the same reference point."""
    nodes, maxima = belief.nodes, belief.maxima.records
    mean, sd = unexplored_maxima(
        kernel.increments(belief.tree.depth), [int(c) for c in belief.tree.counts]
    )
    assert len(nodes) == len(maxima)
    for n in range(len(nodes)):
        x = maxima["x"][n]
        parts = []
        c = nodes["child"][n]
        while c != -1:
            k = maxima["k"][c]
            parts.append(
                (
                    maxima["a"][c] + k * (nodes["g"][c] * x + nodes["offset"][c]),
                    maxima["variance"][c] + k * k * nodes["spread"][c],
                    k * nodes["g"][c],
                )
            )
            c = nodes["sibling"][c]
        unexplored = nodes["branching"][n] - nodes["explored"][n] if nodes["count"][n] >= 0 else 0
        depth = nodes["depth"][n]
        if unexplored:
            parts.append((x + mean[depth, unexplored - 1], sd[depth, unexplored - 1] ** 2, 1.0))
        if not parts:
            parts.append((x, 0.0, 1.0))
        m, v, k = clark(parts)
        assert maxima["a"][n] + maxima["k"][n] * x == pytest.approx(m, abs=1e-9)
        assert maxima["variance"][n] == pytest.approx(v, abs=1e-9)
        assert maxima["k"][n] == pytest.approx(k, abs=1e-9)


@pytest.mark.parametrize("branching", [1, 2, 5, 40])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_maxima_are_those_of_a_recomputation(branching, noise):
    tree = Tree(branching, 4 if branching < 40 else 2)
    kernel = kernels.Gaussian(1.5)
    belief = with_tables(tree, kernel, noise)
    rng = SplitMix64(4)
    for t in range(150):
        path = belief.select_by_maxima(0.7, skip_known=noise == 0.0 and t > 0, rng=rng)
        if path is None:
            break
        belief.observe(path, noise_of(6, path) + noise * noise_of(7, t))
        if t % 10 == 0:
            check_from_scratch(belief, kernel)
    check_from_scratch(belief, kernel)


def test_a_recomputation_is_never_below_the_best_mean():
    tree, kernel = Tree(3, 4), kernels.Linear()
    belief = with_tables(tree, kernel, 0.2)
    rng = SplitMix64(4)
    for t in range(300):
        path = belief.select_by_maxima(0.7, rng=rng)
        belief.observe(path, noise_of(6, path) + 0.2 * noise_of(7, t))
    belief.maxima.prepare(*unexplored_maxima(kernel.increments(4), [3] * 4))
    nodes, maxima = belief.nodes, belief.maxima.records
    for n in range(len(nodes)):
        path, p = [], n
        while p > 0:
            path.insert(0, int(nodes["index"][p]))
            p = nodes["parent"][p]
        ends = [[]]
        for _ in range(4 - len(path)):
            ends = [[*end, k] for end in ends for k in range(3)]
        best = belief.posterior([tuple(path + end) for end in ends])[0].max()
        assert maxima["a"][n] + maxima["k"][n] * maxima["x"][n] >= best - 1e-9


def test_one_child_and_a_tree_searched_out():
    one = with_tables(Tree(1, 5), kernels.Linear(), 0.1)
    one.observe((0,) * 5, 2.0)
    mean, std = one.posterior([(0,) * 5])
    top = one.maxima.records[0]
    assert top["a"] + top["k"] * top["x"] == pytest.approx(mean[0], abs=1e-12)
    spread = one.nodes["spread"][0]
    assert top["variance"] + top["k"] ** 2 * spread == pytest.approx(std[0] ** 2, abs=1e-12)

    out = with_tables(Tree(2, 3), kernels.Linear(), 0.0)
    values = {}
    for t in range(8):
        path = out.select_by_maxima(0.7, skip_known=t > 0, rng=SplitMix64(t))
        values[path] = noise_of(1, path)
        out.observe(path, values[path])
    assert len(values) == 8
    assert out.select_by_maxima(0.7, skip_known=True, rng=SplitMix64(1)) is None
    top = out.maxima.records[0]
    assert top["a"] + top["k"] * top["x"] == pytest.approx(max(values.values()), abs=1e-12)
    assert top["variance"] == 0.0
    assert top["closed"]


def test_pending_arms_are_counted_and_forgotten():
    belief = with_tables(Tree(3, 3), kernels.Linear(), 0.3)
    rng = SplitMix64(1)
    observed = []
    for t in range(30):
        observed.append(belief.select_by_maxima(0.7, rng=rng))
        belief.observe(observed[-1], noise_of(6, observed[-1]) + 0.3 * noise_of(7, t))
    belief.maxima.prepare(*unexplored_maxima(kernels.Linear().increments(3), [3] * 3))
    before = belief.maxima.records.copy()
    tokens = [belief.pend(path) for path in observed[:7]]
    counted = belief.maxima.records.copy()
    assert counted["variance"][0] < before["variance"][0]
    for token in tokens:
        belief.forget(token)
    for name in ("a", "k", "variance", "x"):
        np.testing.assert_allclose(belief.maxima.records[name], before[name], atol=1e-12)


def test_pending_arms_send_the_search_elsewhere():
    belief = with_tables(Tree(3, 3), kernels.Linear(), 0.3)
    rng = SplitMix64(1)
    for t in range(6):
        path = belief.select_by_maxima(0.7, rng=rng)
        belief.observe(path, noise_of(6, path) + 0.3 * noise_of(7, t))
    batch = []
    for _ in range(10):
        batch.append(belief.select_by_maxima(0.7, skip_known=True, rng=rng))
        belief.pend(batch[-1])
    assert len(set(batch)) == 10


def test_maxima_of_groups_with_a_mean_function():
    """All children become nodes at the first visit, in groups and groups of groups."""
    tree, kernel = Tree([600, 40], 2), kernels.Gaussian(1.5)
    belief = with_tables(tree, kernel, 0.3, mean=Hill(2))
    for path in ((0, 0), (300, 1), (17, 39)):
        belief.observe(path, 1.0)
        check_from_scratch(belief, kernel)


def test_maxima_catch_up_with_several_changes():
    tree, kernel = Tree(3, 4), kernels.Linear()
    belief = with_tables(tree, kernel, 0.3)
    rng = np.random.default_rng(0)
    for path in [tuple(p) for p in rng.integers(0, 3, (40, 4)).tolist()]:
        belief.propagation.observe(path, noise_of(6, path), None, None)
    assert belief.maxima.records["x"][0] == belief.nodes["offset"][0]
    check_from_scratch(belief, kernel)


@pytest.mark.parametrize("tree", [Tree(3, 3), Tree(Ragged(3, 2), 3), Tree(math.inf, 2)])
def test_the_best_value_of_all(tree):
    """It is that of the root's maximum, with or without maxima kept before."""
    belief = Belief(tree, kernels.Linear(), 0.3, mean=5.0)
    before = belief.best_value()
    for k in range(3):
        belief.observe(belief.select_by_maxima(1.0, rng=k), 6.0)
    mean, std = belief.best_value()
    assert mean != before[0]
    assert std < before[1]
    top = belief.maxima.records[0]
    root = belief.nodes["offset"][0], belief.nodes["spread"][0]
    assert mean == pytest.approx(5.0 + top["a"] + top["k"] * root[0])
    assert std**2 == pytest.approx(top["variance"] + top["k"] ** 2 * root[1])
    belief.take_prior(kernels.Linear(4.0), 0.3, 5.0, 0.0)
    assert belief.best_value()[1] > std


def test_the_best_value_agrees_with_samples():
    """As closely as the module says."""
    belief = Belief(Tree(3, 3), kernels.Linear(), 0.3)
    for k in range(12):
        path = belief.select_by_maxima(1.0, rng=k)
        belief.observe(path, noise_of(6, path))
    arms = [(a, b, c) for a in range(3) for b in range(3) for c in range(3)]
    best = belief.sample(arms, 20_000, 0).max(axis=1)
    mean, std = belief.best_value()
    assert abs(mean - best.mean()) < best.std() / 4
    assert std == pytest.approx(best.std(), rel=0.4)


def test_the_best_value_of_a_tree_searched_out():
    belief = Belief(Tree(2, 2), kernels.Linear(), 0.0)
    for path, value in zip(((0, 0), (0, 1), (1, 0), (1, 1)), (1.0, 4.0, 2.0, 3.0), strict=True):
        belief.observe(path, value)
    assert belief.best_value() == (pytest.approx(4.0), 0.0)
