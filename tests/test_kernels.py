import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import some_kernel

from bough import kernels
from bough.kernels import Chi, Discounted, Gaussian, Geometric, Linear


def arms(branching, depth):
    return list(itertools.product(range(branching), repeat=depth))


def test_chi_is_as_defined():
    D = 6
    d = np.arange(D + 1)
    np.testing.assert_allclose(Linear(2.0).chi(D), 2.0 * (D + 1 - d) / (D + 1), rtol=1e-14)
    np.testing.assert_allclose(Gaussian(1.7, 3.0).chi(D), 3 * np.exp(-d / 1.7**2), rtol=1e-14)
    discounted = Discounted(0.8, 2.0)
    assert discounted.increments(D)[0] == 0.0
    np.testing.assert_allclose(discounted.increments(D)[1:], 2 * 0.8 ** (2 * np.arange(D)))
    assert discounted.chi(D)[0] == pytest.approx(2 * (1 - 0.8 ** (2 * D)) / (1 - 0.8**2))
    geometric = Geometric(0.5, 3.0, root=0.25).increments(D)
    total = sum(0.5**j for j in range(1, D + 1))
    np.testing.assert_allclose(geometric[1:], [2.25 * 0.5**i / total for i in range(1, D + 1)])
    assert geometric[0] == 0.75
    values = (1.0, 0.5, 0.5, 0.0)
    assert Chi(values).chi(3).tolist() == list(values)
    assert Chi(values).increments(3).tolist() == [0.0, 0.5, 0.0, 0.5]


@given(st.integers(0, 4), st.data())
def test_matrix_features_and_chi_agree(depth, data):
    """The paper: chi_d is the product of two paths with d nodes not in common."""
    kernel = data.draw(some_kernel(depth))
    paths = arms(2, depth)
    K = kernel.matrix(paths, depth)
    scale = 1e-12 * max(1.0, kernel.chi(depth)[0])
    phi = kernel.features(paths, depth)
    np.testing.assert_allclose(phi @ phi.T, K, atol=scale)
    for i, a in enumerate(paths):
        for j, b in enumerate(paths):
            apart = depth - next((n for n in range(depth) if a[n] != b[n]), depth)
            assert K[i, j] == pytest.approx(kernel.chi(depth)[apart], abs=scale)
            assert kernel(a, b, depth) == K[i, j]
    assert np.all(kernel.increments(depth) >= 0)
    assert len(kernel.increments(depth)) == depth + 1


def test_inner_nodes_share_their_prefix():
    k = Linear(4.0)
    assert k((0,), (0, 1, 2), 3) == pytest.approx(2.0)
    assert k((), (0, 1, 2), 3) == pytest.approx(1.0)
    assert k((1,), (0, 1, 2), 3) == pytest.approx(1.0)
    assert k.matrix([], 3).shape == (0, 0)


@pytest.mark.parametrize("width", [0.05, 0.3, 3.0, 1e4, 1e8])
def test_gaussian_increments_do_not_cancel(width):
    D = 10
    found = Gaussian(width).increments(D)
    for i in range(1, D + 1):
        rate = 1 / mpmath.mpf(width) ** 2
        true = mpmath.exp(-(D - i) * rate) * -mpmath.expm1(-rate)
        assert found[i] == pytest.approx(float(true), rel=1e-13)


def test_extremes():
    assert Geometric(1e9).increments(60).sum() == pytest.approx(1.0)
    assert Geometric(1e-9).increments(60)[1] == pytest.approx(1.0)
    assert Discounted(0.0).increments(3).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert Gaussian(1e-200).increments(2).tolist() == [0.0, 0.0, 1.0]
    assert Discounted(1.0).increments(2).tolist() == [0.0, 1.0, 1.0]
    for kernel in (Linear(), Gaussian(2.0), Discounted(0.5), Geometric(0.5), Chi((1.0,))):
        assert kernel.increments(0).shape == (1,)


def test_kernels_are_values():
    assert Gaussian(3.0) == Gaussian(width=3.0, variance=1.0)
    assert repr(2.0 * (Linear() + Gaussian(3.0))) == (
        "2.0 * (Linear(variance=1.0) + Gaussian(width=3.0, variance=1.0))"
    )
    both = Linear() + Gaussian(3.0) + Linear(2.0)
    assert len(both.terms) == 3
    np.testing.assert_allclose((Linear() * 3).increments(2), Linear(3.0).increments(2))
    assert {Linear(): 1}[Linear(1.0)] == 1
    with pytest.raises(AttributeError):
        Linear().variance = 2.0
    with pytest.raises(TypeError):
        Linear() + 1.0
    with pytest.raises(TypeError):
        Linear() * Linear()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Linear(-1.0), ValueError, "variance must not be negative, got -1.0"),
        (lambda: Linear(math.nan), ValueError, "variance must be finite"),
        (lambda: Gaussian(0.0), ValueError, "width must be above zero, got 0.0"),
        (lambda: Gaussian("wide"), TypeError, "width must be one real number, got 'wide'"),
        (lambda: Discounted(1.5), ValueError, "discount must be between 0 and 1"),
        (lambda: Geometric(0.0), ValueError, "ratio must be above zero"),
        (lambda: Geometric(0.5, root=2.0), ValueError, "root must be between 0 and 1"),
        (lambda: Chi(()), ValueError, "values must hold chi_0"),
        (lambda: Chi((0.5, 1.0)), ValueError, r"values\[1\] = 1.0 is above"),
        (lambda: Chi((1.0, -0.5)), ValueError, r"values\[1\] must not be negative"),
        (lambda: Chi((1.0, 0.5)).increments(3), ValueError, "needs chi_0 to chi_3, that is 4"),
        (lambda: -1.0 * Linear(), ValueError, "factor must not be negative"),
        (lambda: Linear().increments(-1), ValueError, "depth must be at least 0"),
        (lambda: Linear()((0, 0, 0), (0,), 2), ValueError, "3 steps, but depth is 2"),
        (lambda: Linear().matrix([(2**70,)], 2), ValueError, "a step must be at most"),
        (lambda: Linear().matrix(5, 2), TypeError, "paths must be a sequence, got 5"),
        (lambda: Chi(5), TypeError, "values must be a sequence, got 5"),
        (lambda: kernels.Sum((1, 2)), TypeError, "terms must be kernels, got 1"),
        (lambda: kernels.Scaled(2.0, 3), TypeError, "kernel must be a kernel"),
        (lambda: Linear()((0.5,), (0,), 2), TypeError, "a step must be an int"),
    ],
)
def test_bad_kernels(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_everything_public_is_a_kernel():
    assert issubclass(kernels.Sum, kernels.Kernel)
    assert issubclass(kernels.Scaled, kernels.Kernel)
