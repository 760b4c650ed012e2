"""The marginal likelihood with its gradient against dense algebra, and the change of prior."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle
from strategies import Hill, some_kernel, some_path, trees

from bough import Belief, Tree, kernels
from bough.belief.likelihood import Evidence
from bough.learning.posterior import paths_of

HILL = Hill(5)


def observe(belief, data, count):
    """Make observations of all kinds; return (kind, path, value, how its variance arises)."""
    tree = belief.tree
    values = st.integers(-300, 300).map(lambda k: k / 100)
    observed = []
    for _ in range(count):
        path = some_path(data, tree)
        how = data.draw(st.sampled_from(["plain", "own", "step", "steps", "below"]), label="how")
        y = data.draw(values, label="value")
        if how == "own":
            belief.observe(path, y, noise=0.5)
            observed.append(("sum", path, y, ("own", 0.25)))
        elif how == "step":
            belief.observe_step(path, y, noise=0.4)
            observed.append(("step", path, y, ("own", 0.16)))
        elif how == "steps" and path:
            steps = [data.draw(values, label="reward") for _ in path]
            shares = belief.step_shares(len(path))
            belief.observe_steps(path, steps)
            for i, (r, share) in enumerate(zip(steps, shares, strict=True)):
                observed.append(("step" if i else "sum", path[: i + 1], r, ("share", share)))
        elif how == "below" and tree.counts is not None:
            ends = data.draw(st.integers(len(path), tree.depth), label="ends")
            belief.observe(path, y, depth=ends)
            observed.append(("sum", path, y, ("below", len(path), ends)))
        else:
            belief.observe(path, y)
            observed.append(("sum", path, y, ("share", 1.0)))
    return observed


def resolved(observed, v, s2):
    """Return the observations as the oracle takes them."""
    variance = {
        "own": lambda own: own,
        "share": lambda share: share * s2,
        "below": lambda top, ends: s2 + float(np.sum(v[top + 1 : ends + 1])),
    }
    return [(kind, path, y, variance[how[0]](*how[1:])) for kind, path, y, how in observed]


def dense(observed, v, s2, mean):
    return Oracle(v, mean, resolved(observed, v, s2), exact=False).posterior([])[2]


def derivative(f, x, h=1e-4):
    """Return f' by differences of fourth order."""
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@given(st.data())
@settings(deadline=None)
def test_gradient_is_that_of_the_dense_likelihood(data):
    tree = data.draw(trees(most_children=4, most_depth=5), label="tree")
    kernel = kernels.Gaussian(1.5, 2.0)
    v, noise = kernel.increments(tree.depth), 0.6
    by_function = data.draw(st.booleans(), label="by function")
    belief = Belief(tree, kernel, noise, mean=HILL if by_function else 0.7)
    observed = observe(belief, data, data.draw(st.integers(1, 12), label="observations"))
    shift, scale = 0.3, 1.7
    evidence = Evidence(belief, shift, scale)
    root = 0.7
    if by_function:
        heights = [0.0 if p is None else HILL(p) for p in paths_of(belief, evidence.node)]
        evidence.set_heights(np.array(heights))
        root = HILL(())

    def density(v=v, s2=noise**2, mean=root, factor=1.0):
        def prior(path):
            return mean + (factor * (HILL(path) - HILL(())) if by_function else 0.0)

        return dense(observed, v, s2, prior)

    found = evidence.likelihood(v / scale**2, (noise / scale) ** 2, (root - shift) / scale, 1.0)
    likelihood = found[0] - evidence.densities * math.log(scale)
    assert likelihood == pytest.approx(density(), rel=1e-9, abs=1e-9)
    assert likelihood == pytest.approx(belief.log_likelihood(), rel=1e-9, abs=1e-9)
    for i in range(tree.depth + 1):
        unit = np.eye(tree.depth + 1)[i]
        slope = derivative(lambda x, unit=unit: density(v=v + x * unit), 0.0)
        assert found[1][i] / scale**2 == pytest.approx(slope, rel=1e-6, abs=1e-6)
    slope = derivative(lambda s2: density(s2=s2), noise**2)
    assert found[2] / scale**2 == pytest.approx(slope, rel=1e-6, abs=1e-6)
    slope = derivative(lambda mean: density(mean=mean), root)
    assert found[3] / scale == pytest.approx(slope, rel=1e-6, abs=1e-6)
    if by_function:
        slope = derivative(lambda factor: density(factor=factor), 1.0)
        assert found[4] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_exact_observations_have_a_likelihood():
    belief = Belief(Tree(3, 3), kernels.Linear(), 0.0)
    for path, y in (((0, 0, 0), 1.0), ((0, 0, 1), 0.5), ((2, 1, 1), -0.25), ((0, 0, 0), 1.0)):
        belief.observe(path, y)
    evidence = Evidence(belief, 0.0, 1.0)
    found = evidence.likelihood(kernels.Linear().increments(3), 0.0, 0.0, 1.0)
    assert found[0] == pytest.approx(belief.log_likelihood(), rel=1e-12)
    assert np.isfinite(found[1]).all()


@given(st.data())
@settings(deadline=None)
def test_changing_the_prior_equals_starting_with_it(data):
    tree = data.draw(trees(most_children=4, most_depth=5), label="tree")
    mean = data.draw(st.sampled_from([0.7, HILL]), label="mean")
    belief = Belief(tree, data.draw(some_kernel(tree.depth), label="kernel"), 0.6, mean=mean)
    observed = observe(belief, data, data.draw(st.integers(0, 12), label="observations"))
    pending = [some_path(data, tree) for _ in range(data.draw(st.integers(0, 3), label="pending"))]
    tokens = [belief.pend(path) for path in pending]
    if data.draw(st.booleans(), label="searched before"):
        belief.highest_upper(1.0)
    kernel, noise = kernels.Geometric(0.6, 2.0, 0.2), 0.3
    v = kernel.increments(tree.depth)
    belief.take_prior(kernel, noise, mean, dense(observed, v, noise**2, mean))
    observed = resolved(observed, v, noise**2)
    oracle = Oracle(v, mean, observed, exact=False)
    paths = [some_path(data, tree) for _ in range(5)] + [path for _, path, _, _ in observed]
    m, C, likelihood = oracle.posterior(paths)
    found = belief.posterior(paths)
    np.testing.assert_allclose(found[0], m, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[1] ** 2, np.diag(C), rtol=1e-9, atol=1e-9)
    assert belief.log_likelihood() == pytest.approx(likelihood, rel=1e-9, abs=1e-9)
    # Later observations and choices are right too.
    new = Belief(tree, kernel, noise, mean=mean)
    for kind, path, y, s2 in observed:
        if kind == "sum":
            new.observe(path, y, noise=s2**0.5)
        else:
            new.observe_step(path, y, noise=s2**0.5)
    for path in pending:
        new.pend(path)
    for k in range(3):
        arm = belief.highest_upper(1.5)
        assert arm.upper == pytest.approx(new.highest_upper(1.5).upper, rel=1e-9, abs=1e-9)
        belief.observe(arm.path, 0.1 * k)
        new.observe(arm.path, 0.1 * k)
    assert belief.log_likelihood() == pytest.approx(new.log_likelihood(), rel=1e-8, abs=1e-8)
    for token in tokens:
        belief.forget(token)
    paths = [some_path(data, tree) for _ in range(3)]
    np.testing.assert_allclose(
        belief.posterior(paths)[0], new.posterior(paths)[0], rtol=1e-9, atol=1e-9
    )
