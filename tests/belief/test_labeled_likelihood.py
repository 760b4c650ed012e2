"""The likelihood with labels and its gradient, against dense algebra and differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from label_strategies import CASES, strengths
from oracle import nodes_of
from strategies import noise_of

from bough import Belief, Tree, kernels
from bough.learning.model import WEAK, Model
from bough.learning.posterior import LogPosterior, standardized

FREE = {
    "same": kernels.Same(), "few": kernels.Same(), "linear": kernels.LinearFeatures(),
    "rbf": kernels.RBF(), "matern 1": kernels.Matern(None, 0.5),
    "matern 3": kernels.Matern(None, 1.5), "matern 5": kernels.Matern(None, 2.5),
}  # fmt: skip


def dense(now, case, depth, readings):
    """Return the covariance matrix of readings (kind, path, value, noise), with their noise."""
    v = now.kernel.increments(depth)
    s = strengths(now.kernel.decay, depth)
    sets = [nodes_of(p) if kind == "sum" else [p] for kind, p, _, _ in readings]

    def covariance(a, b):
        total = sum(v[len(n)] for n in set(a) & set(b))
        pairs = [(i, j) for i in a for j in b if i and j]
        k = now.kernel.between.matrix
        for i, j in pairs:
            total += s[len(i)] * s[len(j)] * k([case.label(i)], [case.label(j)])[0, 0]
        return total

    K = np.array([[covariance(a, b) for b in sets] for a in sets])
    return K + np.diag([(now.noise if own is None else own) ** 2 for *_, own in readings])


@given(
    name=st.sampled_from(list(FREE)),
    depth=st.integers(1, 3),
    seed=st.integers(0, 999),
    free_mean=st.booleans(),
    steps=st.booleans(),
)
def test_density_and_gradient(name, depth, seed, free_mean, steps):
    case, rng, tree = CASES[name], np.random.default_rng(seed), Tree(3, depth)
    kernel = kernels.Labeled(
        kernels.Gaussian(None, None), labels=case.label, between=FREE[name], decay=None
    )
    model = Model(kernel, None, None if free_mean else 4.0, depth, WEAK)
    belief = Belief(tree, model.settings(model.values(model.start, 0, 1)).kernel, 0.3)
    readings = []
    for i in range(2 + seed % 9):
        path = tuple(rng.integers(0, 3, int(rng.integers(1, depth + 1))).tolist())
        y, own = 5.0 + 2.0 * noise_of(seed, i), (None, None, 0.5)[i % 3]
        if steps and i % 2 and len(path) > 1:
            belief.observe_step(path, y - 5.0, noise=0.5)
            readings.append(("step", path, y - 5.0, 0.5))
            continue
        for _ in range(1 + i % 2):  # merged
            belief.observe(path, y, noise=own)
            readings.append(("sum", path, y, own))
    posterior = LogPosterior(model, standardized(belief, model.mean))
    theta = model.start + 0.3 * rng.normal(size=len(model.start))
    _, gradient = posterior(theta)
    h = 1e-5
    differences = [
        (posterior(theta + h * e)[0] - posterior(theta - h * e)[0]) / (2 * h)
        for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)
    now = model.settings(model.values(theta, *posterior.units))
    K = dense(now, case, depth, readings)
    ones = np.array([1.0 if kind == "sum" else 0.0 for kind, *_ in readings])
    r = np.array([y for _, _, y, _ in readings]) - now.mean * ones
    expected = -0.5 * (
        r @ np.linalg.solve(K, r) + np.linalg.slogdet(K)[1] + len(r) * math.log(2 * math.pi)
    )
    assert posterior.log_likelihood(now) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if free_mean:  # integrated out
        precision = ones @ np.linalg.solve(K, ones)
        expected += 0.5 * (math.log(2 * math.pi) - math.log(precision))
        unit = math.log(posterior.evidence.scale)
        found = posterior.in_units(posterior._evaluate(now)[2][0]) + unit
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_paths_alike():
    """The scale of a kernel between paths has the right derivative too."""
    kernel = kernels.Paths(lambda a, b: math.exp(-sum(map(int.__ne__, a, b)) / 2), None)
    model = Model(kernel, None, None, 3, WEAK)
    belief = Belief(Tree(3, 3), kernels.Paths(kernel.function, 1.0), 0.3)
    rng = np.random.default_rng(0)
    for i in range(12):
        belief.observe(tuple(rng.integers(0, 3, 3).tolist()), noise_of(1, i))
    posterior = LogPosterior(model, standardized(belief, None))
    theta, h = model.start + 0.2, 1e-5
    differences = [
        (posterior(theta + h * e)[0] - posterior(theta - h * e)[0]) / (2 * h)
        for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(posterior(theta)[1], differences, rtol=1e-5, atol=1e-6)
