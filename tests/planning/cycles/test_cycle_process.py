"""The Gaussian process over pairs: dense algebra, finite differences, recovered hyperparameters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from bough.planning.cycles.process import (
    TINY,
    Evidence,
    Factor,
    Hyperparameters,
    Tried,
    fit,
    posterior,
    rbf,
)


def an_example(seed, pairs, dimensions, tried, length=0.5, own=0.2):
    """Return hyperparameters, features, the pairs that were tried, and single rewards."""
    rng = np.random.default_rng(seed)
    rows = rng.random((pairs, dimensions))
    lengths = rng.uniform(0.5, 1.5, size=dimensions) * length
    fitted = Hyperparameters(2.0, 3.0, 0.3, own, 0.7, lengths)
    at = np.sort(rng.permutation(pairs)[:tried])
    rewards = [rng.normal(2.0, 3.0, size=rng.integers(1, 5)) for _ in at]
    visits = np.array([len(r) for r in rewards], dtype=float)
    means = np.array([r.mean() for r in rewards])
    squares = sum(((r - r.mean()) ** 2).sum() for r in rewards)
    return fitted, rows, Tried(at, visits, means, float(squares)), rewards


def dense(fitted, rows, tried, rewards):
    """Return posterior moments by one row for every single reward."""
    K = np.ones((len(rows), len(rows))) + fitted.own * np.eye(len(rows))
    if len(fitted.lengths):
        K += fitted.smooth * rbf(rows / fitted.lengths, rows / fitted.lengths)
    which = np.repeat(tried.pairs, tried.visits.astype(int))
    y = (np.concatenate(rewards) - fitted.center) / fitted.unit
    gram = K[np.ix_(which, which)] + fitted.noise * np.eye(len(which))
    solved = np.linalg.solve(gram, K[which])
    variances = K.diagonal() - (K[which] * solved).sum(axis=0)
    return fitted.center + fitted.unit * solved.T @ y, fitted.unit * np.sqrt(variances)


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(0, 3), st.floats(0.2, 2.0))
def test_the_posterior_is_that_of_dense_algebra(seed, pairs, dimensions, length):
    tried = 1 + seed % pairs
    fitted, rows, data, rewards = an_example(seed, pairs, dimensions, tried, length)
    factor = None
    if dimensions:
        factor = Factor(fitted.lengths)
        for part in np.array_split(rows, 3):  # pairs may appear one after the other
            if len(part):
                factor.extend(part)
        exact = rbf(rows / fitted.lengths, rows / fitted.lengths)
        assert factor.columns @ factor.columns.T == pytest.approx(exact, abs=10 * math.sqrt(TINY))
    found = posterior(fitted, factor, data, pairs)
    expected = dense(fitted, rows, data, rewards)
    assert found[0] == pytest.approx(expected[0], abs=1e-5)
    assert found[1] == pytest.approx(expected[1], abs=1e-5)


def test_what_the_factor_lacks_is_uncertainty():
    """With more columns than allowed variances of untried pairs stay those of the prior."""
    rows = np.arange(400.0)[:, None]
    fitted = Hyperparameters(0.0, 1.0, 0.1, 0.2, 0.7, np.array([0.1]))
    factor = Factor(fitted.lengths)
    factor.extend(rows)
    assert factor.columns.shape == (400, 300)
    data = Tried(np.array([3]), np.array([2.0]), np.array([1.0]), 0.0)
    _, std = posterior(fitted, factor, data, 400)
    prior = 1.9 - 1 / (1.9 + 0.05)  # the average of all, correlated with the pair tried by 1
    untried = np.delete(std, 3)
    assert untried == pytest.approx(np.full(399, math.sqrt(prior)), abs=1e-6)


@pytest.mark.parametrize("dimensions", [0, 1, 3])
def test_the_evidence_is_the_likelihood_of_single_rewards(dimensions):
    """Up to a constant; and its gradient by finite differences."""
    fitted, rows, data, rewards = an_example(1, 12, dimensions, 9)
    y = [(r - fitted.center) / fitted.unit for r in rewards]
    own_rows = rows[data.pairs] if dimensions else None
    evidence = Evidence(
        data.visits,
        np.array([r.mean() for r in y]),
        own_rows,
        data.squares / fitted.unit**2,
        float(data.visits.sum()) - len(data.pairs),
    )

    def exact(logs):
        noise, own = np.exp(logs[:2])
        K = np.ones((9, 9)) + own * np.eye(9)
        if dimensions:
            K += np.exp(logs[2]) * rbf(own_rows / np.exp(logs[3:]), own_rows / np.exp(logs[3:]))
        which = np.repeat(np.arange(9), data.visits.astype(int))
        gram = K[np.ix_(which, which)] + noise * np.eye(len(which))
        return multivariate_normal(cov=gram).logpdf(np.concatenate(y))

    rng = np.random.default_rng(0)
    points = rng.normal(-0.5, 0.7, size=(5, 2 + (1 + dimensions) * (dimensions > 0)))
    constants = [evidence(x)[0] - exact(x) for x in points]
    assert constants == pytest.approx([constants[0]] * 5, abs=1e-8)
    for x in points:
        _, gradient = evidence(x)
        for k in range(len(x)):
            step = np.zeros(len(x))
            step[k] = 1e-5
            slope = (evidence(x + step)[0] - evidence(x - step)[0]) / 2e-5
            assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_hyperparameters_are_recovered():
    """Noise, and whether features matter, from 100 pairs with four rewards each."""
    rng = np.random.default_rng(0)
    rows = rng.random((100, 2)) * [10.0, 1.0]
    for smooth in (True, False):
        f = np.sin(rows[:, 0]) if smooth else rng.normal(size=100)
        rewards = 5.0 + 2.0 * f[:, None] + 0.4 * rng.normal(size=(100, 4))
        means = rewards.mean(axis=1)
        squares = ((rewards - means[:, None]) ** 2).sum()
        data = Tried(np.arange(100), np.full(100, 4.0), means, float(squares))
        fitted = fit(data, rows, None)
        assert fitted.unit * math.sqrt(fitted.noise) == pytest.approx(0.4, rel=0.1)
        assert (fitted.own < 0.05 * fitted.smooth) == smooth
        if smooth:
            assert 0.5 < fitted.lengths[0] < 4.0
            assert fitted.lengths[1] > 1.0  # does not matter, within its range of 1
        again = fit(data, rows, fitted)
        assert again.noise == pytest.approx(fitted.noise, rel=1e-2)


def test_fits_to_few_or_equal_rewards():
    for visits, means, squares in (
        ([1.0], [7.0], 0.0),
        ([2.0, 1.0], [3.0, 3.0], 0.0),
        ([5.0], [0.0], 0.0),
    ):
        data = Tried(np.arange(len(means)), np.array(visits), np.array(means), squares)
        fitted = fit(data, np.ones((len(means), 2)), None)
        factor = Factor(fitted.lengths)
        factor.extend(np.ones((4, 2)))
        found = posterior(fitted, factor, data, 4)
        assert np.isfinite(found).all()
        assert found[0][0] == pytest.approx(means[0], abs=0.5 * abs(means[0]) + 1e-9)
