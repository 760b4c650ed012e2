"""Each erratum's counterexample: these fail if somebody restores the printed formula.

The printed formulas are written out here once more, as in the paper, so that the forms which bough
keeps by the name of `paper-...` are compared with them too. Numbers are those of
docs/paper-checked.md.
"""

import math

import numpy as np
import pytest
import theory_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

from bough import Confidence, theory
from bough.kernels import Discounted, Gaussian, Linear
from bough.theory import paper
from bough.theory._problem import read_problem

gain = theory.information_gain
E_FACTOR = 1 / (1 - math.exp(-1))


def product(width, B):
    q = B * math.exp(-1 / width**2)
    return (1 - q / B) / (q - 1) * q


def printed_log(width, B, D, s2, T):
    """boundLog of the paper, for a Gaussian kernel."""
    top = theory.spectrum(Gaussian(width), B, D).eigenvalue(T)
    log = math.log((1 / top + 1 / s2) * B**D * product(width, B) * math.e)
    return log * T * E_FACTOR / 2 + D * math.log(B)


def test_1_the_first_play_uses_beta_1():
    assert Confidence(0.05).sqrt_beta(1, math.log(8)) ** 2 == pytest.approx(
        2 * math.log(8 * math.pi**2 / (6 * 0.05))
    )
    with pytest.raises(ValueError, match="t must be at least 1"):
        Confidence(0.05).sqrt_beta(0, math.log(8))
    # One play costs at most what beta_1 says.
    assert theory.regret_bound(Linear(), 2, 3, 1.0, 1) == pytest.approx(
        2 * Confidence(0.05).sqrt_beta(1, math.log(8))
    )


def test_3_theorem_1_needs_the_variance():
    """One play of variance 4 with noise 0.1: 4 sigma^2 = 16, printed constant times I: 5.195."""
    kappa0, s2 = 4.0, 0.01
    information = 0.5 * math.log1p(kappa0 / s2)
    printed = 8 / math.log1p(1 / s2) * information
    assert printed == pytest.approx(5.195, abs=1e-3)
    assert 4 * kappa0 > printed
    assert 8 * kappa0 / math.log1p(kappa0 / s2) * information == pytest.approx(4 * kappa0)
    setting = (Linear(kappa0), 2, 3, 0.1)
    ours = theory.regret_bound(*setting, 1, method="theorem")
    beta = Confidence(0.05).sqrt_beta(1, math.log(8)) ** 2
    assert ours**2 / beta == pytest.approx(16)
    old = theory.regret_bound(*setting, 1, method="paper")
    assert old**2 / beta == pytest.approx(printed)


def test_5_the_factor_of_nemhauser_is_not_needed():
    K = oracle.dense_matrix(Gaussian(1.2), 2, 2)
    for plays in (1, 3, 5):
        best = oracle.enumerated_gain(K, 0.5, plays)
        greedy = gain(Gaussian(1.2), 2, 2, 0.5, plays, method="greedy")
        assert best <= greedy * (1 + 1e-12)
        assert greedy < gain(Gaussian(1.2), 2, 2, 0.5, plays, method="paper-greedy") / 1.58


def test_6_the_gain_grows_for_ever():
    """I*(T) - (N/2) log T tends to a constant, so no bound that is constant in T can hold."""
    values = [
        gain(Linear(), 2, 3, 1.0, 8 * many) - 4 * math.log(8 * many)
        for many in (10**3, 10**6, 10**9)
    ]
    assert values == pytest.approx([-10.42762, -10.43734, -10.43735], abs=1e-5)
    assert gain(Linear(), 2, 3, 1.0, 8 * 10**9) > 2 * gain(Linear(), 2, 3, 1.0, 8 * 10**3)


def test_9_the_block_of_a_kernel_matrix_is_not_a_smaller_kernel_matrix():
    large = theory.spectrum(Linear(), 2, 2).matrix()
    small = theory.spectrum(Linear(), 2, 1).matrix()
    assert large[0, 1] == pytest.approx(2 / 3)
    assert small[0, 1] == pytest.approx(1 / 2)


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


def test_18_the_gaussian_box_needs_a_wide_kernel():
    """For q < 1 the printed box is upside down; `bounds` uses what holds."""
    B, D, width = 4, 3, 0.7
    s = theory.spectrum(Gaussian(width), B, D)
    q = B * math.exp(-1 / width**2)
    C = (1 - q / B) / (q - 1)
    assert q < 1
    t = 20
    printed_high = C * (B**D * q - t) / t
    assert printed_high < s.eigenvalue(t)
    low, high = s.bounds(t)
    assert low <= s.eigenvalue(t) * (1 + 1e-12)
    assert s.eigenvalue(t) <= high * (1 + 1e-12)


def test_19_the_largest_eigenvalue_is_above_the_constant():
    s = theory.spectrum(Gaussian(2.0), 2, 1)
    assert s.eigenvalue(1) == pytest.approx(1.7788, abs=1e-4)
    assert s.constants.product * 2 == pytest.approx(1.2358, abs=1e-4)
    low, high = s.bounds(1)
    assert low <= s.eigenvalue(1) <= high


def test_22_and_24_bound1_is_wrong_and_its_correction_is_not():
    """B = 2, D = 1, linear: 2.0794 is printed for every T."""
    for plays, value in [(1000, 6.0734), (10**6, 12.9785)]:
        exact = gain(Linear(), 2, 1, 1.0, plays)
        assert exact == pytest.approx(value, abs=1e-4)
        printed = gain(Linear(), 2, 1, 1.0, plays, method="paper-constant")
        assert printed == pytest.approx(1.5 * math.log(4), rel=1e-12)
        assert printed < exact
        assert gain(Linear(), 2, 1, 1.0, plays, method="corrected-constant") > exact
    # One path played three times: an entry of X X^T is 1.5, above 1, and the eigenvalue is 3.
    x = math.sqrt(0.5) * np.ones((2, 3))
    assert np.max(x @ x.T) == pytest.approx(1.5)
    assert np.linalg.eigvalsh(x @ x.T)[-1] == pytest.approx(3)


def test_23_bound3_holds_but_is_loose():
    exact = gain(Linear(), 2, 10, 1.0, 100)
    printed = gain(Linear(), 2, 10, 1.0, 100, method="paper-linear")
    corrected = gain(Linear(), 2, 10, 1.0, 100, method="corrected-linear")
    assert printed == pytest.approx(50 * math.log(101))
    assert corrected == pytest.approx(50 * math.log(2))
    assert exact < corrected < printed / 6


def test_25_the_sum_of_logarithms_stops_at_n():
    """With N = 4 arms and T = 10 plays there are 4 eigenvalues: -log 4!, and not -log 10!."""
    setting, T, signal = (Linear(), 2, 2, 0.5), 10, 4.0
    values = np.linalg.eigvalsh(oracle.dense_matrix(Linear(), 2, 2))
    A = 4 * 2 / (1 * 3)
    rest = 4 * math.log((1 / values[0] + signal) * T) + math.log(values[-1]) + 3 * math.log(A)
    found = gain(*setting, T, method="corrected-log")
    assert found == pytest.approx((rest - math.log(math.factorial(4))) / 2, rel=1e-12)
    assert (rest - math.log(math.factorial(10))) / 2 < gain(*setting, T) < found


def test_26_bound_log():
    for width, B, D, noise, T, printed, exact in [
        (10.0, 2, 1, 1.0, 1, -0.7359, 0.3466),
        (1000.0, 2, 1, 1e-3, 2, 5.5648, 7.6009),
    ]:
        setting = (Gaussian(width), B, D, noise, T)
        assert gain(*setting) == pytest.approx(exact, abs=1e-4)
        found = gain(*setting, method="paper-log")
        assert found == pytest.approx(printed, abs=1e-4)
        assert found == pytest.approx(printed_log(width, B, D, noise**2, T), rel=1e-9)
        assert found < gain(*setting) <= gain(*setting, method="corrected-log")


def test_27_the_width_has_a_square_root():
    """1/log B = 0.72 < 0.75 < 0.85 = 1/sqrt(log B): q < 1, and C is negative."""
    c = theory.spectrum(Gaussian(0.75), 4, 3).constants
    assert 1 / math.log(4) < 0.75
    assert c.q == pytest.approx(0.676, abs=1e-3)
    assert pytest.approx(-2.565, abs=1e-3) == c.C
    with pytest.raises(ValueError, match="erratum 27"):
        gain(Gaussian(0.75), 4, 3, 1.0, 5, method="corrected-final")


def test_28_bound_tail():
    """It should bound I*(2) - I*(1) = 0.2154, and is 0.0897."""
    setting = (Gaussian(5.0), 2, 1, 1.0)
    tail = gain(*setting, 2, method="paper-tail", split=1)
    assert tail == pytest.approx(2 * product(5.0, 2) * math.log(2) * E_FACTOR / 2, rel=1e-12)
    assert tail == pytest.approx(0.0897, abs=1e-4)
    rise = gain(*setting, 2) - gain(*setting, 1)
    assert rise == pytest.approx(0.2154, abs=1e-4)
    assert tail < rise
    # What it was derived from: the part of the greedy gain after T_*.
    counts = gain(*setting, 2, method="greedy", details=True).counts
    values = theory.spectrum(Gaussian(5.0), 2, 1).eigenvalues
    part = 0.5 * math.log1p((counts[0].picks + counts[0].extra) * values[0])
    assert gain(*setting, 2, method="corrected-tail", split=1) >= part


def test_30_how_many_eigenvectors_are_picked():
    setting = (Gaussian(2.0), 2, 3, 1.0, 5)
    greedy = gain(*setting, method="greedy", details=True).distinct
    q, E = 2 * math.exp(-1 / 4), math.exp(-3 / 4)
    A = 8 * product(2.0, 2) * (E - 1) / (E - 1 - q / 2)
    printed = (-1 + math.sqrt(1 + 4 * A * 5)) / 2
    found = gain(*setting, method="paper-final", details=True).distinct
    assert found == pytest.approx(printed, rel=1e-12)
    assert found == pytest.approx(2.70, abs=5e-3)
    assert greedy == 4 > found
    assert gain(*setting, method="corrected-final", details=True).distinct >= greedy


@pytest.mark.parametrize(
    ("kernel", "B", "D", "plays", "exact", "printed"),
    [(Gaussian(5.0), 2, 1, 2, 0.5620, 0.4674), (Linear(), 2, 10, 10**5, 1635.2, 678.34)],
)
def test_31_the_final_bound(kernel, B, D, plays, exact, printed):
    setting = (kernel, B, D, 1.0, plays)
    assert gain(*setting) == pytest.approx(exact, rel=2e-4)
    assert gain(*setting, method="paper-final") == pytest.approx(printed, rel=2e-4)
    assert gain(*setting, method="paper-final") < gain(*setting)
    assert gain(*setting, method="corrected-final") > gain(*setting)
    # As printed it no longer changes once T is above N.
    later = gain(*setting[:-1], plays * 10**6, method="paper-final")
    assert later == gain(*setting, method="paper-final")


def test_31_the_first_split_is_not_the_best():
    found = paper.PaperFinal(read_problem(Gaussian(1.5), 4, 4, 1.0), None)
    s = theory.spectrum(Gaussian(1.5), 4, 4)
    A = 256 * product(1.5, 4)

    def cost(t):
        return math.log((1 / s.eigenvalue(t) + 1) * A * math.e) * t - A * math.log(t)

    costs = [cost(t) for t in range(1, 257)]
    first = next(t for t in range(1, 256) if costs[t] >= costs[t - 1])
    assert paper.first_split(found) == first == 16
    assert paper.best_split(found) == 1 + int(np.argmin(costs)) == 23
    # The bounds take the best one.
    for method in ("paper-tail", "paper-final"):
        assert gain(Gaussian(1.5), 4, 4, 1.0, 256, method=method, details=True).split == 23


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
    s = theory.spectrum(Discounted(gamma), B, D)
    assert s.eigenvalue(t) == pytest.approx(585.14, abs=5e-3)
    printed = gamma ** (2 * D) * B**D * B / ((B - gamma**2) * gamma * t)
    assert printed == pytest.approx(0.00112, abs=1e-5)
    low, high = s.bounds(t)
    assert printed < low <= s.eigenvalue(t) <= high * (1 + 1e-12)


@pytest.mark.parametrize(
    ("B", "gamma", "slope", "printed"),
    [(2, 0.8, 0.6083, 0.3561), (4, 0.5, 0.5, 0.0), (2, 0.6, 0.4042, -0.474)],
)
def test_39_how_the_discounted_gain_grows(B, gamma, slope, printed):
    rates = theory.planning_rates(B, gamma)
    assert rates.gain == pytest.approx(slope, abs=1e-4)
    assert rates.paper_gain == pytest.approx(printed, abs=1e-3)
    exponents = np.arange(60, 241, 12)
    logs = []
    for e in exponents.tolist():
        plays = 2**e
        depth = theory.paper_depth(B, plays)
        logs.append(math.log(gain(Discounted(gamma), B, depth, 1.0, plays)))
    fitted = np.polyfit(exponents * math.log(2), logs, 1)[0]
    assert fitted == pytest.approx(rates.gain, abs=2e-3)
    assert abs(fitted - rates.paper_gain) > 0.2


def test_39_the_printed_rate_says_that_nothing_is_learnt():
    plays = 1024
    exact = gain(Discounted(0.6), 2, 10, 1.0, plays)
    assert exact == pytest.approx(30.26, abs=5e-3)
    assert plays ** theory.planning_rates(2, 0.6).paper_gain < 0.04


def test_40_olop_is_not_beaten():
    for B in (2, 4, 10):
        for gamma in (0.2, 0.5, 0.7, 0.9, 0.99):
            rates = theory.planning_rates(B, gamma)
            assert rates.regret > 0.5  # the paper claims less than 1/2 for small gamma
            assert rates.olop < rates.regret
    assert theory.planning_rates(4, 0.3).paper_regret < theory.planning_rates(4, 0.3).olop


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


@settings(max_examples=120)
@given(paper_settings(), st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_corrected_forms_bound_what_they_say(problem, plays, split):
    """At six numbers of plays in each of 120 settings."""
    for many in (
        plays,
        plays % 7 + 1,
        plays % 51 + 1,
        problem[1] ** min(problem[2], 9),
        10**9,
        10**20,
    ):
        check_corrected_forms((*problem, many), split % many + 1)


def check_corrected_forms(setting, split):
    up = 1 + 1e-11
    exact = gain(*setting)
    picked = gain(*setting, method="greedy", details=True)
    assert exact <= gain(*setting, method="corrected-linear") * up
    assert exact <= gain(*setting, method="corrected-constant") * up
    assert picked.value <= gain(*setting, method="corrected-log") * up
    best = gain(*setting, method="corrected-final", details=True)
    assert picked.value <= best.value * up
    other = gain(*setting, method="corrected-final", split=split)
    assert picked.value <= other * up
    assert best.value <= other * up  # the best T_* is the largest: log(1 + z) <= z
    if best.distinct is not None:
        assert picked.distinct <= best.distinct * up
    rest = greedy_tail(*setting, split)
    assert rest <= gain(*setting, method="corrected-tail", split=split) * up


def greedy_tail(kernel, B, D, noise, plays, split):
    """Return 1/2 sum over t > T_* of log(1 + m_t lambda_t / sigma^2)."""
    s = theory.spectrum(kernel, B, D)
    counts = gain(kernel, B, D, noise, plays, method="greedy", details=True).counts
    groups = []
    for x, c in zip(s.log_eigenvalues.tolist(), counts, strict=True):
        groups += [(x, c.picks + 1, c.extra), (x, c.picks, c.multiplicity - c.extra)]
    # Largest eigenvalue first; of equal ones, and all but equal ones, that picked most.
    skip, total = split, 0.0
    for x, picks, many in sorted(groups, key=lambda g: (-round(g[0], 9), -g[1])):
        kept, skip = max(0, many - skip), max(0, skip - many)
        if kept and picks:
            total += kept * np.logaddexp(0.0, math.log(picks) + x - 2 * math.log(noise))
    return total / 2
