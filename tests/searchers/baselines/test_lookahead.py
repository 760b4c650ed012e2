"""Lookahead: expected improvement in one step, two steps by dense algebra and many rewards."""

import math

import numpy as np
import pytest
from strategies import noise_of

from bough import GPB, Tree, kernels
from bough.baselines import Lookahead
from bough.searchers.baselines.gpb import expected_improvement


def covariance(a, b):
    return 2.0 * math.exp(-((a - b) ** 2) / 0.1)


PLACES = [0.0, 0.15, 0.3, 0.55, 0.6, 0.9, 1.0]


def played(search, plays):
    for t, k in enumerate(plays):
        search.tell((k,), math.sin(4 * PLACES[k]) + search.noise * noise_of(3, t))
    return search


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_one_step_is_the_expected_improvement(noise):
    one = played(Lookahead(arms=PLACES, kernel=covariance, noise=noise, lookahead=1), [1, 5])
    ei = played(GPB(arms=PLACES, kernel=covariance, noise=noise, acquisition="ei"), [1, 5])
    assert (one._indices() == ei._indices()).all()
    for rng in range(5):
        tree = Tree(3, 3)
        searches = [
            Lookahead(tree, kernels.Gaussian(2.0), 0.2, lookahead=1, rng=rng),
            GPB(tree, kernels.Gaussian(2.0), 0.2, acquisition="ei", rng=rng),
        ]
        runs = []
        for search in searches:
            for t in range(20):
                path = search.ask()
                search.tell(path, noise_of(1, path) + 0.2 * noise_of(2, t))
                runs.append(path)
        assert runs[:20] == runs[20:]


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_two_steps_by_dense_algebra(noise):
    """E over 4,001 equally likely rewards of the new incumbent and the best improvement on it."""
    from scipy.stats import norm

    K = np.array([[covariance(a, b) for b in PLACES] for a in PLACES])
    data = [1, 5, 2]
    search = played(Lookahead(arms=PLACES, kernel=covariance, noise=noise), data)
    y = np.array([math.sin(4 * PLACES[k]) + noise * noise_of(3, t) for t, k in enumerate(data)])

    def posterior(arms, values):
        gram = K[np.ix_(arms, arms)] + noise**2 * np.eye(len(arms))
        solved = np.linalg.solve(gram, K[arms])
        variances = K.diagonal() - (K[arms] * solved).sum(axis=0)
        return solved.T @ values, np.sqrt(np.maximum(variances, 0.0))

    means, std = posterior(data, y)
    incumbent = means[data].max()
    quantiles = norm.ppf((np.arange(4001) + 0.5) / 4001)
    found = search._indices()
    for k in range(len(PLACES)):
        if noise == 0.0 and k in data:
            assert found[k] == -math.inf
            continue
        total = 0.0
        for u in quantiles[::20]:  # (201 of them; the quadrature has 9 nodes)
            value = means[k] + u * math.hypot(std[k], noise)
            later, spread = posterior([*data, k], np.append(y, value))
            best = later[[*data, k]].max()
            improvement = later - best
            total += best - incumbent + expected_improvement(improvement, spread).max()
        expected = total / len(quantiles[::20])
        assert found[k] == pytest.approx(expected, rel=0.03, abs=0.003)


def test_two_steps_are_worth_at_least_one():
    """The second step cannot hurt: the value is at least the expected improvement."""
    for noise in (0.0, 0.01):
        search = played(Lookahead(arms=PLACES, kernel=covariance, noise=noise), [3, 0])
        one = GPB._indices(search)
        two = search._indices()
        for k in range(len(PLACES)):
            if k not in (3, 0):
                assert two[k] >= 0.97 * one[k]


def test_the_frontier_stands_for_all_arms():
    """On a tree the best value among few arms is about that among all of them."""
    tree, kernel = Tree(3, 3), kernels.Gaussian(1.5)
    search = Lookahead(tree, kernel, 0.1, rng=0)
    paths = search.tallies.paths
    every = Lookahead(tree, kernel.matrix(paths, 3), 0.1, rng=0)
    for t in range(12):
        path = search.ask()
        for one in (search, every):
            one.tell(path, noise_of(1, path) + 0.1 * noise_of(2, t))
        few, all_values = search._indices(), every._indices()
        assert np.isfinite(few).sum() < len(paths)
        assert few.max() == pytest.approx(all_values.max(), rel=0.05)


def test_bad_lookahead():
    for value in (0, 3):
        with pytest.raises(ValueError, match="lookahead must be"):
            Lookahead(arms=PLACES, kernel=covariance, lookahead=value)
