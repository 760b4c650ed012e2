"""The posterior of scores and promises is that of dense Gaussian algebra, and of `Belief`."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from uncompiled import load

import bough
from bough.generation import smoothing
from bough.generation.smoothing import FIELDS, smooth

COLUMN = {name: i for i, name in enumerate(FIELDS)}


@st.composite
def forests(draw):
    n = draw(st.integers(1, 9))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    parents = np.array([int(rng.integers(-1, i)) for i in range(n)], dtype=np.int32)
    table = np.zeros((n, len(FIELDS)))
    table[:, COLUMN["score"]] = rng.normal(size=n)
    table[:, COLUMN["noise"]] = rng.uniform(0.01, 1.0, n)
    table[:, COLUMN["slope"]] = rng.uniform(0.3, 1.3, n)
    table[:, COLUMN["offset"]] = rng.normal(size=n)
    table[:, COLUMN["spread"]] = rng.uniform(0.05, 1.0, n)
    return table, parents, float(rng.uniform(0.05, 1.0)), float(rng.uniform(0.01, 0.5))


def dense(table, parents, w0, w1):
    """Return mean and covariance of (q_0 .., u_0 ..) given the scores, and the log likelihood."""
    n = len(table)
    score, noise, slope, offset, spread = table[:, :5].T
    # Each state as a linear function of independent normals: 2 for each node.
    weights, mean = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    for i, p in enumerate(parents):
        weights[i, i] = math.sqrt(spread[i])
        weights[n + i, n + i] = math.sqrt(w0 if p < 0 else w1)
        mean[i] = offset[i]
        if p >= 0:
            weights[i] += slope[i] * weights[p] + weights[n + p]
            weights[n + i] += weights[n + p]
            mean[i] += slope[i] * mean[p] + mean[n + p]
    prior = weights @ weights.T
    seen = prior[:n, :n] + np.diag(noise)
    gain = np.linalg.solve(seen, prior[:n]).T
    residual = score - mean[:n]
    _, logdet = np.linalg.slogdet(2 * np.pi * seen)
    likelihood = -0.5 * (logdet + residual @ np.linalg.solve(seen, residual))
    return mean + gain @ residual, prior - gain @ prior[:n], likelihood


@given(forests())
def test_the_posterior_is_the_dense_one(forest):
    table, parents, w0, w1 = forest
    n = len(table)
    likelihood = smooth(table, parents, np.arange(n, dtype=np.int32), w0, w1)
    mean, covariance, wanted = dense(table, parents, w0, w1)
    assert likelihood == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    found = {name: table[:, i] for name, i in COLUMN.items()}
    assert found["mean"] == pytest.approx(mean[:n], rel=1e-9, abs=1e-9)
    assert found["promise"] == pytest.approx(mean[n:], rel=1e-9, abs=1e-9)
    variances = np.diag(covariance)
    assert found["variance"] == pytest.approx(variances[:n], rel=1e-9, abs=1e-9)
    assert found["uncertainty"] == pytest.approx(variances[n:], rel=1e-9, abs=1e-9)
    assert found["covariance"] == pytest.approx(np.diag(covariance[:n, n:]), rel=1e-9, abs=1e-9)
    for i, p in enumerate(parents):
        step = np.zeros(2 * n)
        step[i] = 1.0
        if p >= 0:
            step[p], step[n + p] = -table[i, COLUMN["slope"]], -1.0
        assert found["step_variance"][i] == pytest.approx(step @ covariance @ step, abs=1e-9)
        if p >= 0:
            step[p] = -1.0
            wanted = step @ covariance[:, p]
            assert found["step_covariance"][i] == pytest.approx(wanted, rel=1e-8, abs=1e-9)


@given(forests())
def test_one_tree_alone_has_the_same_posterior(forest):
    table, parents, w0, w1 = forest
    everything = np.arange(len(table), dtype=np.int32)
    smooth(table, parents, everything, w0, w1)
    whole = table.copy()
    roots = np.array([i if p < 0 else -1 for i, p in enumerate(parents)])
    for i, p in enumerate(parents):
        roots[i] = i if p < 0 else roots[p]
    for root in set(roots):
        smooth(table, parents, np.flatnonzero(roots == root).astype(np.int32), w0, w1)
    assert np.array_equal(table, whole)


@given(forests())
def test_promises_are_those_of_a_belief_if_scores_are_exact(forest):
    """Each child is an observation of its parent's promise, with the noise of a step."""
    table, parents, w0, w1 = forest
    table[:, COLUMN["noise"]] = 1e-12
    table[:, COLUMN["slope"]] = 1.0
    table[:, COLUMN["spread"]] = 0.04
    n = len(table)
    smooth(table, parents, np.arange(n, dtype=np.int32), w0, w1)
    kernel = bough.kernels.Chi.of_increments([0.0, w0, *[w1] * 11])
    belief = bough.Belief(bough.Tree(math.inf, 12), kernel, noise=0.2, arms="nodes")
    paths, score = [], table[:, COLUMN["score"]]
    for i, p in enumerate(parents):
        above = () if p < 0 else paths[p]
        paths.append((*above, int(np.sum(parents[:i] == p))))
        if p >= 0:
            belief.observe(above, score[i] - score[p] - table[i, COLUMN["offset"]])
    mean, std = belief.posterior(paths)
    assert table[:, COLUMN["promise"]] == pytest.approx(mean, rel=1e-6, abs=1e-6)
    assert table[:, COLUMN["uncertainty"]] == pytest.approx(std**2, rel=1e-6, abs=1e-6)


@given(forests())
def test_the_source_gives_the_same_bits(forest):
    table, parents, w0, w1 = forest
    source = load("bough.generation.smoothing")
    assert source.__file__.endswith(".py")
    order = np.arange(len(table), dtype=np.int32)
    other = table.copy()
    assert source.smooth(other, parents, order, w0, w1) == smooth(table, parents, order, w0, w1)
    assert np.array_equal(other, table)


def test_predictions_are_the_interpolated_curves():
    """Slopes, offsets and variances of steps, and the same bits from the source."""
    rng = np.random.default_rng(0)
    n, grid = 30, np.linspace(-1.0, 1.0, 9)
    parents = np.array([-1, *(int(rng.integers(i)) for i in range(1, n))], dtype=np.int32)
    generators = rng.integers(0, 2, n).astype(np.int32)
    drift, variances = rng.normal(0, 0.1, (2, 9)), rng.uniform(0.1, 1, (2, 9))
    steps = np.arange(1, n, dtype=np.int32)
    tables = [np.zeros((n, len(FIELDS))) for _ in range(2)]
    for table, module in zip(tables, (smoothing, load("bough.generation.smoothing")), strict=True):
        table[:, COLUMN["mean"]] = np.linspace(-0.99, 0.99, n)
        module.predict(table, parents, generators, steps, drift, variances, -1.0, 0.25)
    assert np.array_equal(*tables)
    for i in steps:
        x, g = tables[0][parents[i], COLUMN["mean"]], generators[i]
        slope, offset, spread = (tables[0][i, COLUMN[c]] for c in ("slope", "offset", "spread"))
        assert offset + (slope - 1.0) * x == pytest.approx(np.interp(x, grid, drift[g]))
        assert spread == pytest.approx(np.interp(x, grid, variances[g]))
        assert -0.9 <= slope - 1.0 <= 0.5
