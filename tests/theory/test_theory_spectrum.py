import json
import math
import pathlib

import mpmath
import numpy as np
import pytest
import theory_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from strategies import some_kernel

from bough import theory
from bough.kernels import Chi, Discounted, Gaussian, Geometric, Linear

SMALL = [(1, 0), (1, 4), (5, 0), (2, 1), (2, 5), (3, 3), (4, 2), (7, 2), (30, 1), (2, 7)]
KERNELS = [
    Linear(),
    Linear(3.0),
    Gaussian(0.4),
    Gaussian(1.3),
    Gaussian(20.0, 2.0),
    Discounted(0.8),
    Discounted(1.0),
    Discounted(0.01),
    Geometric(0.5, 2.0, root=0.3),
    2.0 * Gaussian(2.0) + Discounted(0.5),
]
REFERENCE = json.loads(
    (pathlib.Path(__file__).parent.parent / "data" / "theory_reference.json").read_text()
)


def reference_kernel(row):
    kinds = {"linear": lambda _: Linear(), "gauss": Gaussian, "mdp": Discounted}
    return kinds[row["kernel"]](row["param"])


@pytest.mark.parametrize(
    ("B", "D"),
    [
        *SMALL,
        pytest.param(2, 8, marks=pytest.mark.thorough),
        pytest.param(2, 10, marks=pytest.mark.thorough),
        pytest.param(4, 5, marks=pytest.mark.thorough),
        pytest.param(1024, 1, marks=pytest.mark.thorough),
        pytest.param(32, 2, marks=pytest.mark.thorough),
    ],
)
def test_eigenvalues_are_those_of_the_matrix(B, D):
    for kernel in KERNELS:
        s = theory.spectrum(kernel, B, D)
        K = oracle.dense_matrix(kernel, B, D)
        assert sum(s.multiplicities) == B**D == len(K)
        found = np.repeat(s.eigenvalues, s.multiplicities)
        scale = max(float(found[-1]), 1e-300)
        np.testing.assert_allclose(np.linalg.eigvalsh(K), found, rtol=1e-10, atol=1e-13 * scale)


@given(st.integers(1, 3), st.integers(0, 3), st.data())
def test_eigenvalues_of_any_kernel(B, D, data):
    kernel = data.draw(some_kernel(D))
    s = theory.spectrum(kernel, B, D)
    K = oracle.dense_matrix(kernel, B, D)
    found = np.repeat(s.eigenvalues, s.multiplicities)
    atol = 1e-12 * max(1e-300, found[-1])
    np.testing.assert_allclose(np.linalg.eigvalsh(K), found, atol=atol)
    assert np.all(np.diff(s.eigenvalues) >= -1e-14 * found[-1])


@pytest.mark.parametrize(("B", "D"), SMALL)
def test_eigenvectors_and_their_blocks(B, D):
    kernel = Gaussian(1.3) + Linear()
    s = theory.spectrum(kernel, B, D)
    V, K = s.eigenvectors(), oracle.dense_matrix(kernel, B, D)
    values = np.repeat(s.eigenvalues, s.multiplicities)
    np.testing.assert_allclose(V.T @ V, np.eye(B**D), atol=1e-13)
    np.testing.assert_allclose(K @ V, V * values, atol=1e-12 * values[-1])
    column = 0
    for i, count in enumerate(s.multiplicities[:-1], start=1):
        for v in V[:, column : column + count].T:
            blocks = v.reshape(-1, B, B ** (i - 1))  # node at depth D - i, child, arm below it
            assert np.count_nonzero(np.abs(blocks).sum(axis=(1, 2))) == 1  # supported below a node
            assert np.all(blocks == blocks[:, :, :1])  # constant below each child
            assert abs(v.sum()) < 1e-13
        column += count
    assert np.all(V[:, -1] == V[0, -1])


def test_the_order_of_eigenvalues():
    for B, D in [(2, 5), (3, 3), (5, 2), (1, 4), (4, 0)]:
        s = theory.spectrum(Gaussian(1.5), B, D)
        largest_first = np.repeat(s.eigenvalues, s.multiplicities)[::-1]
        assert [s.eigenvalue(t) for t in range(1, B**D + 1)] == largest_first.tolist()
    with pytest.raises(ValueError, match=r"t must be at most the number of arms, 4\^0, got 2"):
        theory.spectrum(Linear(), 4, 0).eigenvalue(2)
    with pytest.raises(ValueError, match="t must be at least 1, got 0"):
        theory.spectrum(Linear(), 4, 2).eigenvalue(0)


def test_levels_are_found_with_integers():
    """Erratum 13: `math.log(125, 5)` is above 3, and would pick the wrong level."""
    assert math.log(125, 5) > 3
    wrong = 0
    for B in range(2, 60):
        s = theory.spectrum(Linear(), B, 12)
        for i in range(1, 12):
            assert s.index(B**i) == 12 - (i - 1)
            assert s.index(B**i + 1) == 12 - i
            wrong += math.ceil(math.log(B**i, B)) - 1 != i - 1
    assert wrong == 50


def test_reference_values():
    for row in REFERENCE["rows"]:
        s = theory.spectrum(reference_kernel(row), row["B"], row["D"])
        assert list(s.multiplicities) == row["multiplicities"]
        np.testing.assert_allclose(s.eigenvalues, row["eigenvalues"], rtol=1e-12)
        ends = [s.log_eigenvalues[0], s.log_eigenvalues[-1]]
        np.testing.assert_allclose(ends, row["log_eigenvalues_first_last"], rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "B", "D"),
    [
        (Gaussian(5.0), 200, 10),
        (Gaussian(1e6), 10, 400),
        (Linear(), 10, 400),
        (Discounted(1.0), 10, 400),
        (Discounted(0.01), 10, 400),  # increments down to 1e-1596
        (Gaussian(0.05), 10, 40),  # and to exp(-16000)
        (3.0 * Discounted(0.9, 2.0), 7, 60),
        (Gaussian(0.7), 10, 400),  # a root variance of 1e-355 that 10^400 arms share
        (Geometric(8.0), 10, 400),
        (Geometric(0.01, 2.0, root=0.5), 10, 400),
        (Linear(), 1, 50),
    ],
)
def test_logarithms_of_extreme_eigenvalues(kernel, B, D):
    s = theory.spectrum(kernel, B, D)
    with mpmath.workdps(60):
        values = [x for x, _ in oracle.eigenvalues(kernel, B, D)]
        true = [float(mpmath.log(x)) for x in values]
    np.testing.assert_allclose(s.log_eigenvalues, true, rtol=1e-12, atol=1e-14)
    # Those that a float can hold are right as floats as well.
    normal = [i for i, x in enumerate(values) if 1e-300 < x < 1e300]
    expected = [float(values[i]) for i in normal]
    np.testing.assert_allclose(s.eigenvalues[normal], expected, rtol=1e-11)
    assert s.eigenvalue(B**D) == s.eigenvalues[0 if B > 1 else -1]


def test_gaussian_eigenvalues_at_q_1():
    """There the closed form C (q^i - 1) of the paper is 0/0; the sum is not."""
    s = theory.spectrum(Gaussian(math.log(4) ** -0.5), 4, 5)
    np.testing.assert_allclose(s.eigenvalues[:5], [i * 0.75 for i in range(1, 6)], rtol=1e-12)


def test_large_trees_have_no_dense_matrix():
    s = theory.spectrum(Linear(), 200, 10)
    with pytest.raises(ValueError, match=r"200\^10 arms is too large for dense matrices"):
        s.eigenvectors()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: theory.spectrum(Gaussian, 2, 3), TypeError, "did you mean an instance of it"),
        (lambda: theory.spectrum(3.0, 2, 3), TypeError, "kernel must be a kernel such as"),
        (
            lambda: theory.spectrum(Linear(), 0, 3),
            ValueError,
            "branching must be at least 1, got 0",
        ),
        (lambda: theory.spectrum(Linear(), 2.5, 3), TypeError, "branching must be an int, got 2.5"),
        (
            lambda: theory.spectrum(Linear(), math.inf, 3),
            TypeError,
            "branching must be an int, the",
        ),
        (lambda: theory.spectrum(Linear(), [2, 3], 2), TypeError, "pass the largest number of"),
        (lambda: theory.spectrum(Linear(), np.array([2, 3]), 2), TypeError, "for a ragged tree"),
        (lambda: theory.spectrum(Linear(), lambda path: 2, 2), TypeError, "for a ragged tree"),
        (lambda: theory.spectrum(Linear(), "2", 2), TypeError, "branching must be an int, got '2'"),
        (lambda: theory.spectrum(Linear(), 2, -1), ValueError, "depth must be at least 0, got -1"),
        (
            lambda: theory.spectrum(Gaussian(None), 2, 3),
            ValueError,
            "width is None, so it is to be",
        ),
        (lambda: theory.spectrum(Chi((1.0, 0.5)), 2, 3), ValueError, "needs chi_0 to chi_3"),
        (lambda: theory.spectrum(Linear(), 2, 3).eigenvalue(1.5), TypeError, "t must be an int"),
        (
            lambda: theory.spectrum(Linear(), 2, 3).eigenvalue(10**5000),
            ValueError,
            r"number of arms, 2\^3, got about 10\^5000",
        ),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


@given(st.integers(2, 50), st.integers(1, 40), st.floats(0.1, 1e5))
def test_trace_and_top(B, D, width):
    """The eigenvalues sum to N chi_0, and the top one is a row of the matrix."""
    kernel = Gaussian(width)
    s = theory.spectrum(kernel, B, D)
    total = sum(float(n / B**D) * x for n, x in zip(s.multiplicities, s.eigenvalues, strict=True))
    assert total == pytest.approx(kernel.chi(D)[0], rel=1e-12)
