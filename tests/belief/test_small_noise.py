"""The likelihood where the noise is far below the values, against the oracle; the least noise."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle
from strategies import Hill

from bough import Belief, Tree, kernels

LEAST = 1e-6  # of the prior standard deviation


def least_variance(kernel, depth):
    return LEAST**2 * kernel.increments(depth).sum()


def raised(s2, kernel, depth):
    """Return the variance of noise that a belief uses for the one that was given."""
    return max(s2, least_variance(kernel, depth)) if s2 >= 1e-100 else 0.0


def observed(tree, kernel, mean, observations):
    belief = Belief(tree, kernel, 1.0, mean=mean)
    for kind, path, value, s2 in observations:
        observe = belief.observe if kind == "sum" else belief.observe_step
        observe(path, value, noise=s2**0.5)
    return belief


def check(tree, kernel, mean, observations):
    belief = observed(tree, kernel, mean, observations)
    v = kernel.increments(tree.depth)
    used = [(*rest, raised(s2, kernel, tree.depth)) for *rest, s2 in observations]
    true = Oracle(v, mean, used, exact=True).posterior([()])[2]
    assert belief.log_likelihood() == pytest.approx(true, rel=1e-9, abs=1e-9)
    return belief


@pytest.mark.parametrize("given", [1e-6, 1e-9, 1e-30])
def test_small_noise_is_raised(given):
    tree, kernel = Tree(3, 3), kernels.Linear(4.0)
    least = LEAST * math.sqrt(kernel.increments(3).sum())
    belief = Belief(tree, kernel, given)
    assert belief.noise == pytest.approx(least, rel=1e-12)
    belief.observe((0, 0, 0), 1.0)
    belief.observe((0, 0, 1), 1.0, noise=given)
    belief.observe_step((1,), 1.0, noise=given)
    belief.observe_steps((2, 1), [1.0, 0.5], noise=[given, 1.0])
    belief.settle(belief.pend((0, 1, 1)), 1.0, noise=given)
    variances = belief.observations["variance"]
    assert sorted(variances)[:-1] == pytest.approx([least**2] * 5, rel=1e-9)
    assert max(variances) == 1.0


def test_noise_is_raised_by_another_prior():
    belief = Belief(Tree(3, 3), kernels.Linear(), 1e-5)
    belief.observe((0, 0, 0), 1.0)
    belief.observe((0, 0, 1), 1.0, noise=1e-5)
    belief.take_prior(kernels.Linear(1e4), 1e-5, 0.0, 0.0)
    assert belief.noise == pytest.approx(LEAST * 100.0)
    assert belief.observations["variance"] == pytest.approx([1e-8, 1e-8])
    belief.take_prior(kernels.Linear(), 1e-5, 0.0, 0.0)
    assert belief.noise == 1e-5
    assert belief.observations["variance"] == pytest.approx([1e-10, 1e-10])


@pytest.mark.parametrize("given", [0.0, 1e-60])
def test_no_noise_stays_exact(given):
    belief = Belief(Tree(3, 3), kernels.Linear(), given)
    belief.observe((0, 0, 0), 1.0)
    belief.observe((0, 0, 1), 2.0, noise=given)
    assert belief.posterior([(0, 0, 0), (0, 0, 1)])[1].tolist() == [0.0, 0.0]
    assert belief.observations["variance"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("s", [1e-4, 1e-6, 1e-8, 1e-12])
@pytest.mark.parametrize("mean", [0.0, -3.0, 1e4, lambda path: 1 / 3 + 0.1 * len(path)])
def test_a_triangle_of_observations(s, mean):
    """F of a node, the step below, and F below that: the last is predicted to within the noise."""
    tree, kernel = Tree(3, 3), kernels.Linear()
    up = mean(()) if callable(mean) else mean
    v = s * s
    observations = [
        ("sum", (0,), up + 0.7, 0.25),
        ("sum", (0,), up + 0.1 / 3, v),
        ("step", (0, 1), -0.77, v),
        ("sum", (0, 1), (up + 0.1 / 3 - 0.77) + 0.6 * s, v),
        ("sum", (0,), up + 0.1 / 3 + 0.5 * s, v),
        ("sum", (0, 2, 1), up - 0.2, 0.5),
    ]
    check(tree, kernel, mean, observations)
    check(tree, kernel, mean, observations[::-1])


@pytest.mark.parametrize("exact_first", [True, False])
def test_exact_values_that_a_difference_from_the_mean_would_round(exact_first):
    """Before the precise ones, alone and after a noisy one, and as the step of the root."""
    tree, kernel = Tree(3, 3), kernels.Linear(2.0)
    y = 1.2345678901234567
    precise = [("step", (0, 1), 0.3, 1e-16), ("sum", (0, 1), y + 0.3 + 1e-8, 1e-16)]
    for exact in (
        [("sum", (0,), y, 0.0)],
        [("sum", (0,), y, 0.09), ("sum", (0,), y, 0.0)],
        [("step", (), y, 0.0), ("step", (0,), 0.0, 0.0)],
    ):
        observations = [*exact, *precise] if exact_first else [*precise, *exact]
        check(tree, kernel, -3.0, observations)


def test_children_in_groups():
    rng = np.random.default_rng(0)
    observations = [("sum", (int(k),), float(y), 1e-18) for k, y in enumerate(rng.normal(size=70))]
    observations += [("sum", (3,), observations[3][2] + 1e-9, 1e-18)]
    check(Tree(100, 2), kernels.Gaussian(2.0), 0.5, observations)


def test_copies_go_their_own_way():
    observations = [("sum", (0, 1), 0.3, 1e-18), ("sum", (0, 1), 0.3 + 1e-9, 1e-18)]
    belief = check(Tree(2, 2), kernels.Linear(), 0.1, observations)
    kept = belief.log_likelihood()
    for other in (copy.copy(belief), pickle.loads(pickle.dumps(belief))):
        assert other.log_likelihood() == kept
        other.observe((1, 1), 0.2)
        assert other.log_likelihood() != kept == belief.log_likelihood()


def test_hard_cases_in_any_order():
    c = 1e8 / 3
    observations = [
        ("sum", (0,), 0.1, 0.0),
        ("sum", (0,), 0.1 + 1e5, 1e10),
        ("step", (0, 1), 0.3, 1e-12),
        ("sum", (0, 1), 0.4 + 2e-6, 1e-12),
    ]
    for order in itertools.permutations(observations):
        check(Tree(2, 2), kernels.Linear(1e16), c, list(order))
    weak = [("step", (0,), 1e9, 1e16), ("sum", (0,), -14.0, 1e-6)]
    check(Tree(2, 2), kernels.Linear(3.0), 0.0, weak)
    check(Tree(2, 2), kernels.Linear(3.0), 0.0, weak[::-1])


@pytest.mark.parametrize("mean", [1e8, -1e8 / 3])
def test_steps_under_a_large_mean(mean):
    belief = Belief(Tree(2, 2), kernels.Linear(), 1.0, mean=mean)
    observations = []
    for y, r in ((0.5, 0.2), (0.501, 0.199)):
        belief.observe_steps((0, 1), [mean + y, r], noise=1e-3)
        observations += [("sum", (0,), mean + y, 1e-6), ("step", (0, 1), r, 1e-6)]
    oracle = Oracle(kernels.Linear().increments(2), mean, observations, exact=True)
    assert belief.log_likelihood() == pytest.approx(oracle.posterior([()])[2], rel=1e-9)


def test_a_deep_path():
    belief = Belief(Tree(2, 20_000), kernels.Discounted(0.999), 1e-9)
    belief.observe((0,) * 20_000, 0.3)
    oracle_variance = (1 + LEAST**2) * kernels.Discounted(0.999).increments(20_000).sum()
    true = -0.5 * (np.log(2 * np.pi * oracle_variance) + 0.09 / oracle_variance)
    assert belief.log_likelihood() == pytest.approx(true)


@settings(max_examples=50)
@given(st.randoms(use_true_random=False), st.integers(0, 9), st.booleans())
def test_noise_far_below_a_prior_mean_without_variance(random, key, by_steps):
    """Noise is not raised here, so the residuals must keep every digit."""
    tree, mean = Tree(3, 4), Hill(key)
    observations = []
    for _ in range(6):
        path = tuple(random.randrange(3) for _ in range(random.randrange(5)))
        noise = random.choice([1e-12, 1e-10, 1e-8])
        error = noise * random.randrange(-20, 21) / 10
        above = mean(path[:-1]) if path and by_steps else 0.0
        kind = "step" if by_steps else "sum"
        observations.append((kind, path, mean(path) - above + error, noise**2))
    check(tree, kernels.Linear(0.0), mean, observations)
