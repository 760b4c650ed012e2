"""Counterexamples for each erratum: these fail if a printed formula is restored.

The printed formulas are in `paper_formulas`. Numbers are those of docs/paper-checked.md.
"""

import itertools
import math

import mpmath
import numpy as np
import paper_formulas as paper
import pytest
import theory_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st

from bough import Confidence, theory
from bough.kernels import Discounted, Gaussian, Linear

gain = theory.information_gain


def test_1_the_first_play_uses_beta_1():
    assert Confidence(0.05).sqrt_beta(1, math.log(8)) ** 2 == pytest.approx(
        2 * math.log(8 * math.pi**2 / (6 * 0.05))
    )
    with pytest.raises(ValueError, match="t must be at least 1"):
        Confidence(0.05).sqrt_beta(0, math.log(8))
    # One play costs at most 2 sqrt(beta_1).
    assert theory.regret_bound(Linear(), 2, 3, 1.0, 1) == pytest.approx(
        2 * Confidence(0.05).sqrt_beta(1, math.log(8))
    )


def test_3_theorem_1_needs_the_variance():
    """One play of variance 4 with noise 0.1: 4 sigma^2 = 16, printed constant times I: 5.195."""
    kappa0, s2 = 4.0, 0.01
    information = 0.5 * math.log1p(kappa0 / s2)
    printed = paper.printed_theorem(0.1, 1, 1.0, information) ** 2
    assert printed == pytest.approx(5.195, abs=1e-3)
    assert 4 * kappa0 > printed
    assert 8 * kappa0 / math.log1p(kappa0 / s2) * information == pytest.approx(4 * kappa0)
    ours = theory.regret_bound(Linear(kappa0), 2, 3, 0.1, 1, method="theorem")
    beta = Confidence(0.05).sqrt_beta(1, math.log(8)) ** 2
    assert ours**2 / beta == pytest.approx(16)


def test_5_the_factor_of_nemhauser_is_not_needed():
    K = oracle.dense_matrix(Gaussian(1.2), 2, 2)
    for plays in (1, 3, 5):
        best = oracle.enumerated_gain(K, 0.5, plays)
        greedy = gain(Gaussian(1.2), 2, 2, 0.5, plays, method="greedy")
        assert best <= greedy * (1 + 1e-12)


def test_6_the_gain_is_unbounded_in_the_number_of_plays():
    """I*(T) - (N/2) log T tends to a constant, so no bound that is constant in T can hold."""
    values = [
        gain(Linear(), 2, 3, 1.0, 8 * many) - 4 * math.log(8 * many)
        for many in (10**3, 10**6, 10**9)
    ]
    assert values == pytest.approx([-10.42762, -10.43734, -10.43735], abs=1e-5)
    assert gain(Linear(), 2, 3, 1.0, 8 * 10**9) > 2 * gain(Linear(), 2, 3, 1.0, 8 * 10**3)


def test_9_the_block_of_a_kernel_matrix_is_not_a_smaller_kernel_matrix():
    assert oracle.dense_matrix(Linear(), 2, 2)[0, 1] == pytest.approx(2 / 3)
    assert oracle.dense_matrix(Linear(), 2, 1)[0, 1] == pytest.approx(1 / 2)


def test_11_and_12_the_eigenvalue_below_the_top():
    """The proof's formula, with lambda_{D+1} of the same depth, gives 1.553; it is 0.941."""
    s = theory.spectrum(Gaussian(1.3), 2, 2)
    chi = Gaussian(1.3).chi(2)
    printed = -chi[2] * 2 + s.eigenvalues[2]
    assert printed == pytest.approx(1.553377, abs=1e-6)
    assert s.eigenvalues[1] == pytest.approx(0.940925, abs=1e-6)
    dense = np.linalg.eigvalsh(oracle.dense_matrix(Gaussian(1.3), 2, 2))
    np.testing.assert_allclose(dense, [s.eigenvalues[i] for i in (0, 0, 1, 2)], rtol=1e-12)


def test_12_the_discounted_kernel_has_its_top_eigenvalue_b_times():
    s = theory.spectrum(Discounted(0.7), 3, 4)
    assert s.eigenvalues[-1] == s.eigenvalues[-2]
    assert s.multiplicities[-2:] == (2, 1)


def test_the_corrected_box_holds():
    """Errata 14, 17, 18 and 38: linear, Gaussian with q above and below 1, and discounted."""
    checked = 0
    some = [Linear(), Linear(2.0), *map(Gaussian, (0.3, 0.7, 1.0, 1.3, 3.0, 100.0))]
    some += map(Discounted, (0.05, 0.5, 0.9, 1.0))
    for B, D in [(2, 1), (2, 7), (3, 4), (10, 3), (200, 2)]:
        for kernel in some:
            s = theory.spectrum(kernel, B, D)
            tight = math.inf
            ends = {p + k for p in (B**i for i in range(D + 1)) for k in (-1, 0, 1)}
            for t in sorted(t for t in {*ends, B**D} if 1 <= t <= B**D):
                if t == 1 and isinstance(kernel, Gaussian):
                    continue
                low, high = (float(x) for x in paper.corrected_box(kernel, B, D, t))
                true = s.eigenvalue(t)
                slack = 1e-10 * true
                assert low - slack <= true <= high + slack, (kernel, B, D, t)
                tight = min(tight, high - true)
                checked += 1
            # The box is not trivial: somewhere each upper bound is an equality.
            assert tight <= 1e-9 * s.eigenvalues[-1]
    assert checked > 500


def test_18_the_gaussian_box_needs_a_wide_kernel():
    """For q < 1 the printed box is upside down."""
    B, D, t = 4, 3, 20
    q, C = paper.gaussian_constants(0.7, B)
    assert q < 1
    assert C * (B**D * q - t) / t < theory.spectrum(Gaussian(0.7), B, D).eigenvalue(t)


def test_19_the_largest_eigenvalue_is_above_the_constant():
    assert theory.spectrum(Gaussian(2.0), 2, 1).eigenvalue(1) == pytest.approx(1.7788, abs=1e-4)
    assert float(paper.decay(Gaussian(2.0), 2, 1)) == pytest.approx(1.2358, abs=1e-4)


def test_21_the_constants_of_wide_gaussian_kernels():
    """s^2 C_s q_s -> B/(B-1); the paper's 2 (1 - exp(-1/s^2)) never bounds it for B = 2."""
    for B in (2, 3, 4, 10, 200):
        q, C = paper.gaussian_constants(1e4, B)
        assert float(1e8 * C * q) == pytest.approx(B / (B - 1), rel=1e-7)
        for width in (1.5, 2.0, 5.0, 50.0):
            q, C = paper.gaussian_constants(width, B)
            eigenvalues = theory.spectrum(Gaussian(width), B, 3).eigenvalues
            for i in (1, 2, 3):
                assert eigenvalues[i - 1] == pytest.approx(float(C * (q**i - 1)), rel=1e-12)
            assert C * q <= q / ((q - 1) * width**2) * (1 + 1e-12)
            assert (C * q <= 2 * -math.expm1(-1 / width**2)) == (q >= 2)


def test_22_and_24_bound1_is_wrong_and_its_correction_holds():
    """B = 2, D = 1, linear: 2.0794 is printed for every T."""
    printed = paper.printed_constant(2, 1, 1.0)
    assert float(printed) == pytest.approx(1.5 * math.log(4), rel=1e-12)
    for plays, value in [(1000, 6.0734), (10**6, 12.9785)]:
        exact = gain(Linear(), 2, 1, 1.0, plays)
        assert exact == pytest.approx(value, abs=1e-4)
        assert printed < exact < gain(Linear(), 2, 1, 1.0, plays, method="hadamard")
    # One path played three times: an entry of X X^T is 1.5, above 1, and the eigenvalue is 3.
    x = math.sqrt(0.5) * np.ones((2, 3))
    assert np.max(x @ x.T) == pytest.approx(1.5)
    assert np.linalg.eigvalsh(x @ x.T)[-1] == pytest.approx(3)


def test_23_bound3_holds_but_is_loose():
    printed, corrected = paper.printed_linear(1.0, 100), paper.corrected_linear(1.0, 1.0, 100)
    assert float(printed) == pytest.approx(50 * math.log(101))
    assert float(corrected) == pytest.approx(50 * math.log(2))
    assert gain(Linear(), 2, 10, 1.0, 100) < corrected < printed / 6


def test_25_the_sum_of_logarithms_stops_at_n():
    """With N = 4 arms and T = 10 plays there are 4 eigenvalues: -log 4!, and not -log 10!."""
    found = float(paper.corrected_log(Linear(), 2, 2, 0.5, 10))
    printed = found + (math.log(math.factorial(4)) - math.log(math.factorial(10))) / 2
    assert printed < gain(Linear(), 2, 2, 0.5, 10) < found


@pytest.mark.parametrize(
    ("setting", "printed", "exact"),
    [
        ((Gaussian(10.0), 2, 1, 1.0, 1), -0.7359, 0.3466),
        ((Gaussian(1000.0), 2, 1, 1e-3, 2), 5.5648, 7.6009),
    ],
)
def test_26_bound_log(setting, printed, exact):
    assert gain(*setting) == pytest.approx(exact, abs=1e-4)
    found = paper.printed_log(*setting)
    assert float(found) == pytest.approx(printed, abs=1e-4)
    assert found < gain(*setting) <= paper.corrected_log(*setting)


def test_27_the_width_has_a_square_root():
    """1/log B = 0.72 < 0.75 < 0.85 = 1/sqrt(log B): q < 1, and C is negative."""
    assert 1 / math.log(4) < 0.75
    q, C = paper.gaussian_constants(0.75, 4)
    assert float(q) == pytest.approx(0.676, abs=1e-3)
    assert float(C) == pytest.approx(-2.565, abs=1e-3)


def test_28_bound_tail():
    """It should bound I*(2) - I*(1) = 0.2154, and is 0.0897."""
    setting = (Gaussian(5.0), 2, 1, 1.0)
    tail = float(paper.printed_tail(Gaussian(5.0), 2, 1, 2, split=1))
    assert tail == pytest.approx(0.0897, abs=1e-4)
    rise = gain(*setting, 2) - gain(*setting, 1)
    assert rise == pytest.approx(0.2154, abs=1e-4)
    assert tail < rise
    # It was derived from the part of the greedy gain after T_*.
    assert greedy_tail(*setting, 2, 1) <= paper.corrected_tail(*setting, 2, 1)


def test_30_the_number_of_distinct_eigenvectors():
    setting = (2, 3, 1.0, 5)
    greedy = sum(c.distinct for c in theory.greedy_counts(Gaussian(2.0), *setting))
    printed = paper.printed_distinct(2.0, *setting)
    assert float(printed) == pytest.approx(2.70, abs=5e-3)
    assert printed < greedy == 4 <= paper.corrected_distinct(2.0, *setting)


@pytest.mark.parametrize(
    ("kernel", "B", "D", "plays", "exact", "printed"),
    [(Gaussian(5.0), 2, 1, 2, 0.5620, 0.4674), (Linear(), 2, 10, 10**5, 1635.2, 678.34)],
)
def test_31_the_final_bound(kernel, B, D, plays, exact, printed):
    setting = (kernel, B, D, 1.0, plays)
    assert gain(*setting) == pytest.approx(exact, rel=2e-4)
    found = paper.printed_final(*setting)
    assert float(found) == pytest.approx(printed, rel=2e-4)
    assert found < gain(*setting) < paper.corrected_final(*setting)
    # As printed it no longer changes once T is above N.
    assert paper.printed_final(kernel, B, D, 1.0, plays * 10**6) == found


def test_31_the_first_split_is_not_the_best():
    costs = paper.split_costs(Gaussian(1.5), 4, 4, 1.0)
    assert (paper.first_split(costs), paper.best_split(costs)) == (16, 23)


def test_32_smoother_kernels_give_less_information():
    widths = np.geomspace(0.9, 300.0, 60)
    exact = [gain(Gaussian(float(w)), 4, 4, 1.0, 100) for w in widths]
    assert np.all(np.diff(exact) <= 0)
    greedy = [gain(Gaussian(float(w)), 4, 4, 1.0, 100, method="greedy") for w in widths]
    assert np.any(np.diff(greedy) > 0)  # the greedy gain does not fall with the width


def test_37_the_discounted_eigenvalues_are_off_by_gamma():
    B, D, gamma = 3, 4, 0.7
    s = theory.spectrum(Discounted(gamma), B, D)
    dense = np.linalg.eigvalsh(oracle.dense_matrix(Discounted(gamma), B, D))
    np.testing.assert_allclose(np.repeat(s.eigenvalues, s.multiplicities), dense, rtol=1e-10)
    for i in range(1, D + 1):
        printed = gamma ** (2 * D - 1) * sum((B / gamma**2) ** j for j in range(i))
        assert s.eigenvalues[i - 1] == pytest.approx(printed / gamma, rel=1e-12)


def test_38_the_discounted_bound():
    B, D, gamma, t = 2, 10, 0.5, 2
    true = theory.spectrum(Discounted(gamma), B, D).eigenvalue(t)
    assert true == pytest.approx(585.14, abs=5e-3)
    printed = gamma ** (2 * D) * B**D * B / ((B - gamma**2) * gamma * t)
    assert printed == pytest.approx(0.00112, abs=1e-5)
    low, high = paper.corrected_box(Discounted(gamma), B, D, t)
    assert printed < low <= true <= high * (1 + 1e-12)


@pytest.mark.parametrize(
    ("B", "gamma", "slope", "printed"),
    [(2, 0.8, 0.6083, 0.3561), (4, 0.5, 0.5, 0.0), (2, 0.6, 0.4042, -0.474)],
)
def test_39_the_growth_of_the_discounted_gain(B, gamma, slope, printed):
    rates = theory.planning_rates(B, gamma)
    assert rates.gain == pytest.approx(slope, abs=1e-4)
    assert 1 - 2 * rates.a == pytest.approx(printed, abs=1e-3)
    exponents = np.arange(60, 241, 12)
    logs = []
    for e in exponents.tolist():
        plays = 2**e
        depth = theory.paper_depth(B, plays)
        logs.append(math.log(gain(Discounted(gamma), B, depth, 1.0, plays)))
    fitted = np.polyfit(exponents * math.log(2), logs, 1)[0]
    assert fitted == pytest.approx(rates.gain, abs=2e-3)
    assert abs(fitted - printed) > 0.2


def test_39_the_printed_rate_says_that_nothing_is_learned():
    plays = 1024
    exact = gain(Discounted(0.6), 2, 10, 1.0, plays)
    assert exact == pytest.approx(30.26, abs=5e-3)
    assert plays ** (1 - 2 * theory.planning_rates(2, 0.6).a) < 0.04


def test_40_the_rate_is_not_better_than_that_of_olop():
    for B in (2, 4, 10):
        for gamma in (0.2, 0.5, 0.7, 0.9, 0.99):
            rates = theory.planning_rates(B, gamma)
            assert rates.regret > 0.5  # the paper claims less than 1/2 for small gamma
            assert 1 - theory.olop_rate(B, gamma) < rates.regret
    assert 1 - theory.planning_rates(4, 0.3).a < 1 - theory.olop_rate(4, 0.3)  # as printed


@st.composite
def paper_settings(draw):
    B, D = draw(
        st.sampled_from([(2, 1), (2, 3), (2, 8), (3, 4), (4, 3), (10, 2), (200, 10), (5, 90)])
    )
    kernel = draw(
        st.just(Linear())
        | st.floats(1.0, 1e4).filter(lambda w: B * math.exp(-1 / w**2) > 1.0001).map(Gaussian)
        | st.floats(0.05, 1.0).map(Discounted)
    )
    noise = draw(st.sampled_from([1e-3, 0.1, 1.0, 3.0, 1e20]))
    return kernel, B, D, noise


@given(paper_settings(), st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_corrected_formulas_are_bounds(problem, plays, split):
    B, D = problem[1:3]
    for many in (plays, plays % 51 + 1, B ** min(D, 9), 10**20):
        with mpmath.workdps(100):
            check_corrected_formulas((*problem, many), split % many + 1)


def check_corrected_formulas(setting, split):
    up = 1 + 1e-11
    kernel, B, D, noise, plays = setting
    exact, greedy = gain(*setting), gain(*setting, method="greedy")
    assert exact <= paper.corrected_linear(kernel.chi(D)[0], noise, plays) * up
    assert greedy <= paper.corrected_log(*setting) * up
    best = paper.corrected_final(*setting)
    other = paper.corrected_final(*setting, split=split)
    assert greedy <= best * up
    assert best <= other * up  # the best T_* is the largest: log(1 + z) <= z
    assert greedy_tail(*setting, split) <= paper.corrected_tail(*setting, split) * up
    if isinstance(kernel, Gaussian):
        distinct = sum(c.distinct for c in theory.greedy_counts(*setting))
        assert distinct <= paper.corrected_distinct(kernel.width, B, D, noise, plays) * up


def greedy_tail(kernel, B, D, noise, plays, split):
    """Return 1/2 sum over t > T_* of log(1 + m_t lambda_t / sigma^2)."""
    s = theory.spectrum(kernel, B, D)
    groups = []
    counts = theory.greedy_counts(kernel, B, D, noise, plays)
    for x, c in zip(s.log_eigenvalues.tolist(), counts, strict=True):
        groups += [(x, c.picks + 1, c.extra), (x, c.picks, c.multiplicity - c.extra)]
    # Largest eigenvalue first; of equal and nearly equal ones, the one picked most.
    skip, total = split, 0.0
    for x, picks, many in sorted(groups, key=lambda g: (-round(g[0], 9), -g[1])):
        kept, skip = max(0, many - skip), max(0, skip - many)
        if kept and picks:
            total += kept * np.logaddexp(0.0, math.log(picks) + x - 2 * math.log(noise))
    return total / 2


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.2), Discounted(0.6)], ids=repr)
def test_the_closed_form_of_the_corrected_final_bound(kernel):
    """The sum over t, by loggamma, is that of its terms."""
    B, D, noise, plays = 3, 2, 0.7, 40
    A, signal = paper.decay(kernel, B, D), plays / noise**2
    for split in (1, 2, 5):
        terms = [mpmath.log1p(signal * A / t**2) for t in itertools.islice(range(2, 10), split - 1)]
        head = mpmath.log1p(signal * paper.eigenvalue(kernel, B, D, 1)) + sum(terms)
        expected = head / 2 + signal * A / (2 * split)
        found = paper.corrected_final(kernel, B, D, noise, plays, split=split)
        assert float(found) == pytest.approx(float(expected), rel=1e-12)
