import functools
import math

import mpmath
import numpy as np
import pytest
import theory_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from strategies import some_kernel
from test_theory_spectrum import REFERENCE, reference_kernel

from bough import theory
from bough.kernels import Chi, Discounted, Gaussian, Geometric, Linear

gain = theory.information_gain
METHODS = ("exact", "greedy", "waterfilling", "uniform", "hadamard")
FACTOR = 1 / (1 - math.exp(-1))


def test_reference_values():
    names = {
        "I_exact": "exact",
        "I_g": "greedy",
        "I_waterfill_real": "waterfilling",
        "I_uniform": "uniform",
        "I_hadamard": "hadamard",
    }
    for row in REFERENCE["rows"]:
        setting = (reference_kernel(row), row["B"], row["D"], math.sqrt(row["sigma2"]), row["T"])
        for key, method in names.items():
            assert gain(*setting, method=method) == pytest.approx(row[key], rel=1e-12, abs=0), key
        counts = theory.greedy_counts(*setting)
        assert [c.picks for c in counts] == row["greedy_m"]
        assert [c.extra for c in counts] == row["greedy_extra"]
        assert sum(c.distinct for c in counts) == row["distinct_eigvecs_picked"]


@pytest.mark.parametrize(
    ("B", "D", "most"),
    [(2, 1, 7), (3, 1, 6), (2, 2, 6), (2, 3, 4), (3, 2, 3), (5, 1, 4), (1, 3, 3)],
)
@pytest.mark.parametrize(
    "kernel",
    [Linear(), Gaussian(0.6), Gaussian(3.0, 2.0), Discounted(0.7), Geometric(2.0, 5.0, root=0.2)],
    ids=repr,
)
def test_exact_against_enumeration(kernel, B, D, most):
    K = oracle.dense_matrix(kernel, B, D)
    for noise in (0.1, 1.0):
        for plays in range(most + 1):
            best = oracle.enumerated_gain(K, noise, plays)
            assert gain(kernel, B, D, noise, plays) == pytest.approx(best, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize(("B", "D"), [(2, 4), (3, 2), (5, 2), (1, 3), (4, 0)])
def test_greedy_against_a_heap(B, D):
    for kernel in (Linear(), Gaussian(1.2), Discounted(0.6), Chi(tuple([1.0] * D + [0.5]))):
        s = theory.spectrum(kernel, B, D)
        values = np.repeat(s.eigenvalues, s.multiplicities)
        for noise in (0.03, 1.0, 30.0):
            for plays in (0, 1, 2, 7, 100, 1001):
                total, counts = oracle.heap_greedy(values.tolist(), noise, plays)
                setting = (kernel, B, D, noise, plays)
                found = gain(*setting, method="greedy")
                assert found == pytest.approx(total, rel=1e-12, abs=1e-300)
                classes = theory.greedy_counts(*setting)
                assert sum(c.multiplicity * c.picks + c.extra for c in classes) == sum(counts)
                if isinstance(kernel, Gaussian):  # others have ties, where T' is not unique
                    assert sum(c.distinct for c in classes) == sum(n > 0 for n in counts)


def relaxed(matrix, noise, plays, tries, rng):
    """Return the gain of random unit-norm weight vectors."""
    best = 0.0
    for _ in range(tries):
        V = rng.standard_normal((len(matrix), plays))
        V /= np.linalg.norm(V, axis=0)
        C = V.T @ matrix @ V
        best = max(best, 0.5 * np.linalg.slogdet(np.eye(plays) + C / noise**2)[1])
    return best


def test_waterfilling_is_the_limit_of_unit_weights():
    """Improvement (ii): three vectors at 120 degrees beat every choice of eigenvectors."""
    independent = Chi((1.0, 0.0))  # K is the identity of size 2
    angles = np.array([0.0, 2 * np.pi / 3, 4 * np.pi / 3])
    V = np.array([np.cos(angles), np.sin(angles)])
    attained = 0.5 * np.linalg.slogdet(np.eye(3) + V.T @ V)[1]
    assert attained == pytest.approx(math.log(2.5), rel=1e-14)
    assert gain(independent, 2, 1, 1.0, 3, method="waterfilling") == pytest.approx(attained)
    assert gain(independent, 2, 1, 1.0, 3, method="greedy") == pytest.approx(math.log(6) / 2)
    rng = np.random.default_rng(0)
    for kernel, B, D in [(Linear(), 2, 2), (Gaussian(1.0), 3, 1), (Discounted(0.5), 2, 2)]:
        K = oracle.dense_matrix(kernel, B, D)
        for plays in (1, 2, 3, 5):
            limit = gain(kernel, B, D, 0.5, plays, method="waterfilling")
            best = relaxed(K, 0.5, plays, 300, rng)
            assert best <= limit * (1 + 1e-12)
            assert best > 0.6 * limit


@st.composite
def tree_settings(draw):
    B = draw(st.integers(1, 12) | st.sampled_from([50, 200, 1000]))
    D = draw(st.integers(0, 7) | st.sampled_from([10, 40, 100]))
    some = st.sampled_from(
        [Linear(), Linear(7.0), Gaussian(0.3), Gaussian(1.0), Gaussian(3.0), Gaussian(100.0, 0.1),
         Discounted(0.05), Discounted(0.5), Discounted(0.95), Discounted(1.0), Geometric(0.5),
         Geometric(3.0, root=0.4), 0.5 * Linear() + Gaussian(2.0)]
    )  # fmt: skip
    kernel = draw(some | some_kernel(D))
    noise = draw(st.sampled_from([1e-8, 1e-3, 0.05, 0.3, 1.0, 4.0, 1e4]))
    return kernel, B, D, noise


def some_plays(B, D, near, any_number):
    """Return numbers of plays around powers of B, and others."""
    level = B ** min(near, D, 12)
    around = [level - 1, level, level + 1, 3 * level, any_number % (50 * level)]
    return [0, 1, B, any_number, any_number % 41, *around, 10**9, 10**30]


@given(tree_settings(), st.integers(0, 12), st.integers(0, 10**7))
def test_the_chain_of_inequalities(setting, near, any_number):
    B, D = setting[1:3]
    for plays in some_plays(B, D, near, any_number):
        value = {m: gain(*setting, plays, method=m) for m in METHODS}
        assert all(math.isfinite(x) and x >= 0 for x in value.values())
        # Rounding only: the quantities are sums of up to D terms with relative errors of 1e-16.
        up = 1 + 1e-12
        assert value["exact"] <= value["greedy"] * up
        assert value["greedy"] <= value["waterfilling"] * up
        assert value["waterfilling"] <= value["greedy"] * FACTOR * up
        for bound in ("uniform", "hadamard"):
            assert value["exact"] <= value[bound] * up, bound
        if plays % B**D == 0:
            assert value["exact"] == pytest.approx(value["uniform"], rel=1e-12)


def test_one_play_for_each_node_at_a_depth():
    """B^k plays gain as much as on the tree that is cut at depth k."""
    for kernel, B, D in [(Linear(), 3, 4), (Gaussian(1.5), 2, 6), (Discounted(0.7), 5, 3)]:
        chi = kernel.chi(D).tolist()
        for k in range(D):
            cut = Chi((chi[0], *chi[D - k + 1 :]))
            for noise in (0.1, 2.0):
                found = gain(kernel, B, D, noise, B**k)
                assert found == pytest.approx(gain(cut, B, k, noise, B**k), rel=1e-12)
                assert found == pytest.approx(
                    gain(cut, B, k, noise, B**k, method="uniform"), rel=1e-12
                )


@given(tree_settings(), st.integers(0, 10**6))
def test_more_plays_give_more_information_but_less_each(setting, plays):
    """I* is increasing and concave in T (improvement (iii))."""
    a, b, c = (gain(*setting, n) for n in (plays, plays + 1, plays + 2))
    slack = 1e-12 * c
    assert a <= b + slack
    assert c - b <= b - a + slack


def test_the_gain_does_not_depend_on_the_units():
    for method in METHODS:
        a = gain(Gaussian(2.0), 3, 4, 0.5, 50, method=method)
        b = gain(100.0 * Gaussian(2.0), 3, 4, 5.0, 50, method=method)
        assert a == pytest.approx(b, rel=1e-12), method


EXTREMES = [
    (Gaussian(5.0), 200, 10, 1.0, 10**9),
    (Linear(), 200, 10, 1.0, 10**9),
    (Linear(), 10, 400, 1e-8, 10**9),
    (Discounted(0.01), 10, 400, 1.0, 10**9),
    (Discounted(0.9), 10, 400, 1e-8, 12345),
    (Gaussian(1e6), 10, 6, 1e-8, 10**7),
    (Gaussian(3.0), 10, 6, 1e-8, 10**9),
    (Gaussian(0.1), 10, 20, 0.1, 10**30),
    (Gaussian(3.0), 10, 6, 1e5, 1000),
    (Discounted(1.0), 2, 10, 1e-8, 1),
    (Discounted(0.01), 5, 10, 0.1, 7777),
    (Gaussian(2.0), 1, 30, 0.1, 1000),
    (Linear(), 1, 0, 0.1, 10),
    (Gaussian(2.0), 1000, 0, 1e-8, 10**9),
    (3.0 * Linear(), 2, 1, 2.0, 3),
    (Discounted(0.01), 200, 100, 1e60, 9753663),  # eigenvalues whose inverse overflows
    (Linear(), 2**31 - 2, 20, 1e-60, 10**30),
    (Gaussian(0.6901981750422279), 3, 100, 1e60, 1000),  # nearly equal eigenvalues
    # Eigenvalues that are equal but for rounding, which puts them in the wrong order.
    (Geometric(33.46042770864387), 5, 40, 326016058.2829763, 7),
    # Increments that underflow, of which N is so large that the eigenvalues do not.
    (Gaussian(0.7), 10, 400, 1.0, 10**9),
    (Geometric(8.0, 3.0, root=0.1), 10, 400, 1e-3, 10**9),
    (Geometric(36.0), 10**6, 400, 3e7, 1),
]
#: Further deep trees, for the thorough tests.
DEEP = [
    (Gaussian(5.0), 10, 400, 1.0, 10**9),
    (Discounted(1.0), 10, 400, 1.0, 10**9),
    (Gaussian(1e6), 10, 400, 1.0, 10**9),
    (Gaussian(0.7), 10, 400, 1.0, 1),
    (Gaussian(0.5), 200, 400, 1.0, 10**9),
    (Geometric(8.0), 10, 400, 1.0, 1),
    (2.0 * Discounted(1e-10), 10, 400, 1.0, 10**18),
    (Linear(), 10, 400, 1e70, 10**6),  # powers that overflow before they are multiplied
]


def thorough(settings):
    """Return settings as parameters of a test that run with `-m thorough` only."""
    return [pytest.param(setting, marks=pytest.mark.thorough) for setting in settings]


@pytest.mark.parametrize("setting", [*EXTREMES, *thorough(DEEP)], ids=repr)
def test_extreme_settings_against_mpmath(setting):
    with mpmath.workdps(200):
        true = {
            "exact": oracle.exact_gain(*setting),
            "greedy": oracle.greedy_gain(*setting),
            "waterfilling": oracle.waterfilling_gain(*setting),
            "uniform": oracle.uniform_gain(*setting),
            "hadamard": oracle.hadamard_gain(*setting),
        }
        true = {name: float(value) for name, value in true.items()}
    for method, value in true.items():
        found = gain(*setting, method=method)
        assert math.isfinite(found)
        assert found == pytest.approx(value, rel=1e-11, abs=0), method


def test_arrays_of_plays():
    setting = (Gaussian(2.0), 3, 4, 0.5)
    plays = [1, 10, 81, 10**6]
    for method in METHODS:
        found = gain(*setting, plays, method=method)
        assert found.shape == (4,)
        assert found.tolist() == [gain(*setting, n, method=method) for n in plays]
    assert gain(*setting, np.array([[1, 2], [3, 4]])).shape == (2, 2)
    assert gain(*setting, [10**40, 10**50]).shape == (2,)
    assert gain(*setting, 1e3) == gain(*setting, np.int64(1000)) == gain(*setting, 1000)
    assert gain(*setting, np.array(1000)) == gain(*setting, 1000)
    assert gain(*setting, np.array([])).shape == (0,)


def test_no_variance_no_information():
    for method in METHODS:
        assert gain(Linear(0.0), 3, 4, 1.0, 100, method=method) == 0.0


good = functools.partial(gain, Linear(), 2, 3)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: good(0.0, 5), ValueError, "noise must be above zero, got 0: exact observations"),
        (lambda: good(-1.0, 5), ValueError, "noise must be above zero, got -1.0"),
        (lambda: good(None, 5), TypeError, "noise is None"),
        (lambda: good("loud", 5), TypeError, "noise must be one real number, got 'loud'"),
        (lambda: good(1e-90, 5), ValueError, "noise must be between 1e-75 and 1e[+]75 times"),
        (lambda: good(1.0, -1), ValueError, "plays must be at least 0, got -1"),
        (lambda: good(1.0, 2.5), ValueError, "plays must be a whole number, got 2.5"),
        (lambda: good(1.0, math.nan), ValueError, "plays must be a whole number, got nan"),
        (lambda: good(1.0, "many"), TypeError, "plays must be an int, got 'many'"),
        (lambda: good(1.0, [1, 2.5]), ValueError, "plays must be a whole number, got 2.5"),
        (lambda: good(1.0, np.array([True])), TypeError, "an array of bool"),
        (
            lambda: good(1.0, 10**101),
            ValueError,
            r"plays must be at most 10\^100, got about 10\^101",
        ),
        (lambda: good(1.0, 5, method="best"), ValueError, "method must be one of exact, greedy"),
        (lambda: good(1.0, 5, method="Greedy"), ValueError, "did you mean 'greedy'"),
        (lambda: good(1.0, 5, method=""), ValueError, "got ''$"),
        (
            lambda: good(1.0, -(10**5000)),
            ValueError,
            r"plays must be at least 0, got about -10\^5000",
        ),
        (lambda: good(1.0, 5, method=3), TypeError, "method must be a string"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
