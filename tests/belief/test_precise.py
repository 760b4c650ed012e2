"""The likelihood where the noise is far below the values, against the oracle."""

import copy
import decimal
import itertools
import pickle

import numpy as np
import pytest
from oracle import Oracle

from bough import Belief, Tree, kernels


def told(tree, kernel, mean, readings):
    belief = Belief(tree, kernel, 1.0, mean=mean)
    for kind, path, value, s2 in readings:
        observe = belief.observe if kind == "sum" else belief.observe_step
        observe(path, value, noise=s2**0.5)
    return belief


def check(tree, kernel, mean, readings):
    belief = told(tree, kernel, mean, readings)
    oracle = Oracle(kernel.increments(tree.depth), mean, readings, exact=True)
    true = oracle.posterior([()])[2]
    assert belief.log_likelihood() == pytest.approx(true, rel=1e-9, abs=1e-9)
    return belief


@pytest.mark.parametrize("s", [1e-4, 1e-6, 1e-8, 1e-12])
@pytest.mark.parametrize("mean", [0.0, -3.0, 1e4, lambda path: 1 / 3 + 0.1 * len(path)])
def test_a_triangle_of_readings(s, mean):
    """F of a node, the step below, and F below that: the last is predicted to within the noise."""
    tree, kernel = Tree(3, 3), kernels.Linear()
    up = mean(()) if callable(mean) else mean
    v = s * s
    readings = [
        ("sum", (0,), up + 0.7, 0.25),
        ("sum", (0,), up + 0.1 / 3, v),
        ("step", (0, 1), -0.77, v),
        ("sum", (0, 1), (up + 0.1 / 3 - 0.77) + 0.6 * s, v),
        ("sum", (0,), up + 0.1 / 3 + 0.5 * s, v),
        ("sum", (0, 2, 1), up - 0.2, 0.5),
    ]
    check(tree, kernel, mean, readings)
    check(tree, kernel, mean, readings[::-1])


@pytest.mark.parametrize("exact_first", [True, False])
def test_exact_values_that_a_difference_from_the_mean_would_round(exact_first):
    """Told before the precise ones, alone and after a noisy one, and as the step of the root."""
    tree, kernel = Tree(3, 3), kernels.Linear(2.0)
    y = 1.2345678901234567
    precise = [("step", (0, 1), 0.3, 1e-16), ("sum", (0, 1), y + 0.3 + 1e-8, 1e-16)]
    for exact in (
        [("sum", (0,), y, 0.0)],
        [("sum", (0,), y, 0.09), ("sum", (0,), y, 0.0)],
        [("step", (), y, 0.0), ("step", (0,), 0.0, 0.0)],
    ):
        readings = [*exact, *precise] if exact_first else [*precise, *exact]
        check(tree, kernel, -3.0, readings)


def test_steps_of_hardly_any_variance_without_noise():
    kernel = kernels.Chi((1.0 + 1e-22, 1.0, 1e-24))
    readings = [("sum", (0,), 1 / 3, 0.0), ("sum", (), 1 / 3 + 1e-11, 0.0)]
    readings += [("sum", (0, 1), 1 / 3 - 1e-12, 0.0)]
    check(Tree(2, 2), kernel, 0.0, readings)


def test_children_in_groups():
    rng = np.random.default_rng(0)
    readings = [("sum", (int(k),), float(y), 1e-18) for k, y in enumerate(rng.normal(size=70))]
    readings += [("sum", (3,), readings[3][2] + 1e-9, 1e-18)]
    check(Tree(100, 2), kernels.Gaussian(2.0), 0.5, readings)


def test_copies_go_their_own_way():
    readings = [("sum", (0, 1), 0.3, 1e-18), ("sum", (0, 1), 0.3 + 1e-9, 1e-18)]
    belief = check(Tree(2, 2), kernels.Linear(), 0.1, readings)
    kept = belief.log_likelihood()
    for other in (copy.copy(belief), pickle.loads(pickle.dumps(belief))):
        assert other.log_likelihood() == kept
        other.observe((1, 1), 0.2)
        assert other.log_likelihood() != kept == belief.log_likelihood()


def test_ordinary_noise_asks_for_no_decimals():
    """However large the prior mean: what counts is how far the values lie from it."""
    belief = Belief(Tree(2, 3), kernels.Linear(), 0.01, mean=1e6)
    for k in range(8):
        belief.observe((k >> 2, k >> 1 & 1, k & 1), 1e6 + k / 8)
    assert not belief.__reduce__()[2]["fine"]


def test_the_users_decimals_are_left_alone():
    readings = [("step", (0,), 1 / 3, 0.0), ("step", (0,), 1 / 3, 1e-60)]
    true = check(Tree(2, 2), kernels.Linear(), 0.1, readings).log_likelihood()
    with decimal.localcontext() as context:
        context.prec = 4
        context.traps[decimal.FloatOperation] = True
        context.traps[decimal.Inexact] = True
        belief = told(Tree(2, 2), kernels.Linear(), 0.1, readings)
        assert belief.log_likelihood() == true
        assert decimal.getcontext().prec == 4


def test_hard_cases_in_any_order():
    c = 1e8 / 3
    readings = [
        ("sum", (0,), 0.1, 0.0),
        ("sum", (0,), 0.1 + 1e5, 1e10),
        ("step", (0, 1), 0.3, 1e-12),
        ("sum", (0, 1), 0.4 + 2e-6, 1e-12),
    ]
    for order in itertools.permutations(readings):
        check(Tree(2, 2), kernels.Linear(1e16), c, list(order))
    weak = [("step", (0,), 1e9, 1e16), ("sum", (0,), -14.0, 1e-6)]
    check(Tree(2, 2), kernels.Linear(3.0), 0.0, weak)
    check(Tree(2, 2), kernels.Linear(3.0), 0.0, weak[::-1])


@pytest.mark.parametrize("mean", [1e8, -1e8 / 3])
def test_steps_under_a_large_mean(mean):
    belief = Belief(Tree(2, 2), kernels.Linear(), 1.0, mean=mean)
    readings = []
    for y, r in ((0.5, 0.2), (0.501, 0.199)):
        belief.observe_steps((0, 1), [mean + y, r], noise=1e-3)
        readings += [("sum", (0,), mean + y, 1e-6), ("step", (0, 1), r, 1e-6)]
    oracle = Oracle(kernels.Linear().increments(2), mean, readings, exact=True)
    assert belief.log_likelihood() == pytest.approx(oracle.posterior([()])[2], rel=1e-9)


def test_a_deep_path_takes_no_time():
    belief = Belief(Tree(2, 20_000), kernels.Discounted(0.999), 1e-9)
    belief.observe((0,) * 20_000, 0.3)
    oracle_variance = kernels.Discounted(0.999).increments(20_000).sum() + 1e-18
    true = -0.5 * (np.log(2 * np.pi * oracle_variance) + 0.09 / oracle_variance)
    assert belief.log_likelihood() == pytest.approx(true)


def test_the_prior_mean_is_checked_again():
    answers = [0.5]
    belief = Belief(Tree(2, 1), kernels.Linear(), 1e-9, mean=lambda path: answers[0])
    belief.observe((0,), 0.7)
    answers[0] = float("nan")
    with pytest.raises(ValueError, match="mean.* must be finite"):
        belief.log_likelihood()
