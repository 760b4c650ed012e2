"""Certificates and expected gaps: how often they are true, on problems drawn from priors."""

import math

import numpy as np
import pytest

import bough
from bough import kernels
from bough.problems import Drawn

PRIORS = [
    (kernels.Discounted(0.8), 4, 4, 0.3, 1.0),
    (kernels.Gaussian(1.5), 3, 5, 0.3, 0.0),
    (kernels.Linear(), 10, 2, 0.1, -3.0),
    (kernels.Geometric(0.5), 5, 4, 0.5, 0.0),
]


def searches(seeds, marks, *, fitted):
    """Yield the number of plays, the problem and the search."""
    for kernel, branching, depth, noise, mean in PRIORS:
        for seed in range(seeds):
            problem = Drawn(kernel, branching, depth, noise=noise, mean=mean, seed=seed)
            known = {} if fitted else {"kernel": kernel, "noise": noise, "mean": mean}
            search = bough.GPTS(problem.tree, **known, rng=seed)
            for t in range(1, marks[-1] + 1):
                path = search.ask()
                search.tell(path, problem(path))
                if t in marks:
                    yield t, problem, search


def test_certificates_with_fitted_hyperparameters_are_rarely_false():
    marks = (1, 2, 5, 10, 30)
    false, gaps = dict.fromkeys(marks, 0), {t: [] for t in marks}
    seeds = 40
    for t, problem, search in searches(seeds, marks, fitted=True):
        found = search.certificate
        assert found.conditional
        assert found.gap == found.upper - found.lower
        false[t] += found.upper < problem.optimum or problem.value(found.path) < found.lower
        gaps[t].append(found.gap)
    assert max(false.values()) <= 0.05 * seeds * len(PRIORS)
    assert min(gaps[1]) == min(gaps[2]) == math.inf  # nothing is known about the scale
    assert np.isfinite(gaps[5]).all()
    known = [s.certificate.gap for t, _, s in searches(seeds, (30,), fitted=False)]
    assert np.median(gaps[30]) < 2.5 * np.median(known)


@pytest.mark.parametrize("fitted", [False, True])
def test_the_expected_best_is_calibrated(fitted):
    """The optimum lies in its 90 % interval, and expected gaps are as large as regrets."""
    covered, gaps, regrets = [], [], []
    for _, problem, search in searches(25, (40, 120), fitted=fitted):
        mean, std = search.best_value()
        covered.append(abs(problem.optimum - mean) <= 1.645 * std + 1e-9)
        gaps.append(search.expected_gap())
        regrets.append(problem.optimum - problem.value(search.best().path))
    assert 0.8 <= np.mean(covered) <= 0.98
    error = np.std(np.subtract(gaps, regrets)) / math.sqrt(len(gaps))
    assert abs(np.mean(gaps) - np.mean(regrets)) < 4 * error
    assert min(gaps) >= 0.0


def test_no_upper_bound_with_a_prior_mean_that_is_a_function():
    """Its values at unexplored nodes are not known."""
    tree = bough.Tree(3, 3)
    search = bough.GPTS(tree, kernels.Linear(), 0.1, mean=lambda path: -sum(path), rng=0)
    for _ in range(10):
        path = search.ask()
        search.tell(path, float(sum(path)))
    found = search.certificate
    assert found.upper == found.gap == math.inf
    assert math.isfinite(found.lower)
    assert search.belief.arm(found.path).visits > 0  # the means of other paths are not known
    assert search.best_value()[0] == search.expected_gap() == math.inf


def test_scaled_rewards_have_scaled_estimates():
    found = {}
    for unit in (1.0, 4.0):
        search = bough.GPTS(bough.Tree(3, 4), rng=0)
        for _ in range(40):
            path = search.ask()
            search.tell(path, unit * math.sin(sum((i + 1) * k for i, k in enumerate(path))))
        found[unit] = (*search.best_value(), search.expected_gap())
    assert found[4.0] == pytest.approx([4.0 * x for x in found[1.0]], rel=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_bounds_that_rewards_contradict_are_ignored(noise):
    rng = np.random.default_rng(0)

    def reward(path):
        return sum(path) + noise * float(rng.standard_normal())

    result = bough.maximize(reward, bough.Tree(4, 6), budget=200, rng=0, bounds=(0, 10))
    assert result.best.mean > 15
    assert result.certificate.upper >= result.best.mean
    assert result.best_value[0] >= result.best.mean - 3 * result.best.std
    assert "outside the given bounds" in result.misfit
    assert "warning: measured values lie outside" in repr(result)
    kept = bough.maximize(reward, bough.Tree(4, 6), budget=200, rng=0, bounds=(-1, 19))
    assert kept.misfit is None or "bounds" not in kept.misfit
    assert kept.certificate.upper <= 19
    params = bough.minimize(
        lambda p: p["x"] - 3.0, bough.Space(x=bough.Float(0, 1)), budget=20, rng=0, bounds=(0, None)
    )
    assert "outside the given bounds" in params.misfit


def test_a_stop_rule_starts_again_with_another_search():
    rule = bough.ExpectedGap(1e-9)
    for _ in range(2):
        result = bough.maximize(sum, bough.Tree(3, 3), budget=60, stop=rule, rng=0)
        assert result.best.mean == 6
    assert rule == bough.ExpectedGap(1e-9)


def test_rewards_so_small_that_their_squares_vanish():
    for noise in (1e20, 1.0):
        search = bough.GPTS(bough.Tree(3, 3), noise=noise, rng=0)
        for k in range(9):
            search.tell(search.ask(), 1e-160 * k)
        assert search.observations == 9
