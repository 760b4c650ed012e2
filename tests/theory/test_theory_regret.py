import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
import theory_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from test_theory_gain import DEEP, EXTREMES, thorough, tree_settings
from test_theory_spectrum import REFERENCE, reference_kernel

from bough import GPTS, Confidence, Tree, theory
from bough.kernels import Chi, Discounted, Gaussian, Linear
from bough.theory.regret import METHODS, envelope

bound = theory.regret_bound


def test_reference_values():
    names = {
        "R_thm1_kappa_exact": ("theorem", "exact"),
        "R_thm1_kappa_Ig": ("theorem", "greedy"),
        "R_sumbeta_exact": ("sum-beta", "exact"),
        "R_env_cap_exact": ("envelope", "exact"),
        "R_wenv_exact": ("weighted-envelope", "exact"),
        "R_trivial": ("trivial", "exact"),
        "R_best": ("best", "exact"),
    }
    for row in REFERENCE["rows"]:
        setting = (reference_kernel(row), row["B"], row["D"], math.sqrt(row["sigma2"]), row["T"])
        for key, (method, gain) in names.items():
            found = bound(*setting, row["delta"], method, gain=gain)
            assert found == pytest.approx(row[key], rel=1e-12, abs=0), key


@pytest.mark.parametrize(
    "setting", [s for s in EXTREMES if s[4] < 10**30] + thorough(DEEP), ids=repr
)
def test_extreme_settings_against_mpmath(setting):
    with mpmath.workdps(60):
        true = {k: float(v) for k, v in oracle.regret_bounds(*setting, 0.05).items()}
    found = bound(*setting, 0.05, breakdown=True)
    assert set(found) == set(true)
    for name, value in true.items():
        assert found[name] == pytest.approx(value, rel=1e-11, abs=0), name


@given(st.floats(1e-6, 60.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_envelope_is_concave_above_and_touching(most, a, b, share):
    u, v = a * most, b * most
    middle = share * u + (1 - share) * v
    slack = 1e-12 * envelope(most, most)
    chord = share * envelope(u, most) + (1 - share) * envelope(v, most)
    assert envelope(middle, most) >= chord - slack
    assert envelope(u, most) >= math.sqrt(math.expm1(u)) - slack
    assert envelope(most, most) == pytest.approx(math.sqrt(math.expm1(most)), rel=1e-12)


@given(tree_settings(), st.integers(1, 10**7), st.sampled_from([1e-6, 0.05, 0.9]))
def test_orderings(setting, plays, delta):
    table = bound(*setting, plays, delta, breakdown=True)
    up = 1 + 1e-12
    assert table["best"] == min(table[name] for name in METHODS)
    assert table["envelope"] <= table["theorem"] * up
    assert table["envelope"] <= table["trivial"] * up
    assert table["sum-beta"] <= table["theorem"] * up
    assert all(math.isfinite(x) and x >= 0 for x in table.values())


# ------------------------------------------------------------------------------ simulations


class Bandit:
    """A dense Gaussian process on all arms."""

    def __init__(self, kernel, B, D, noise):
        self.prior = oracle.dense_matrix(kernel, B, D)
        self.covariance = self.prior.copy()
        self.mean = np.zeros(len(self.prior))
        self.noise = noise

    def variances(self):
        return np.maximum(np.diag(self.covariance), 0.0)

    def play(self, x, value):
        k = self.covariance[:, x].copy()
        scale = k[x] + self.noise**2
        self.mean += k * ((value - self.mean[x]) / scale)
        self.covariance -= np.outer(k, k) / scale


SIMULATED = [
    (Linear(), 2, 3, 0.5),
    (Gaussian(1.5), 3, 2, 0.2),
    (Discounted(0.7, 4.0), 2, 4, 1.0),
    (Chi((1.0, 0.0)), 6, 1, 0.3),
]


@pytest.mark.parametrize("setting", SIMULATED, ids=repr)
def test_simulated_regret_stays_below_the_bounds(setting):
    """GP-UCB on functions from the prior: bounds fail no more often than delta allows."""
    _, B, D, noise = setting
    plays, runs = 60, 100
    rng = np.random.default_rng(7)
    for delta in (0.05, 0.8):
        sqrt_beta = [Confidence(delta).sqrt_beta(t, D * math.log(B)) for t in range(1, plays + 1)]
        table = bound(*setting, list(range(1, plays + 1)), delta, breakdown=True)
        failed = dict.fromkeys(table, 0)
        information = theory.information_gain(*setting, plays)
        above = 0.0
        for _ in range(runs):
            bandit = Bandit(*setting)
            f = rng.multivariate_normal(np.zeros(B**D), bandit.prior, method="eigh")
            regrets, gained = [], 0.0
            for t in range(plays):
                variances = bandit.variances()
                x = int(np.argmax(bandit.mean + sqrt_beta[t] * np.sqrt(variances)))
                gained += 0.5 * math.log1p(variances[x] / noise**2)
                regrets.append(f.max() - f[x])
                bandit.play(x, f[x] + noise * rng.standard_normal())
            assert gained <= information * (1 + 1e-9)
            total = np.cumsum(regrets)
            for name, values in table.items():
                failed[name] += bool(np.any(total > values))
            above = max(above, float(np.max(total / table["best"])))
        assert all(count <= delta * runs for count in failed.values()), failed
        assert above > 0.1  # the bounds are not so loose that nothing could exceed them


def test_the_searcher_itself_stays_below_the_bounds():
    """The same with `GPTS(select="arm")` and noisy rewards of a function from the prior."""
    kernel, B, D, noise = Gaussian(1.5), 3, 3, 0.3
    tree, plays, delta = Tree(B, D), 100, 0.1
    arms = list(itertools.product(range(B), repeat=D))
    limits = bound(kernel, B, D, noise, list(range(1, plays + 1)), delta)
    rng = np.random.default_rng(11)
    failed = 0
    for seed in range(20):
        f = rng.multivariate_normal(np.zeros(B**D), kernel.matrix(arms, D), method="eigh")
        value = dict(zip(arms, f.tolist(), strict=True))
        confidence = Confidence(delta, scale=1.0)
        search = GPTS(tree, kernel, noise, select="arm", confidence=confidence, rng=seed)
        total = []
        for _ in range(plays):
            path = search.ask()
            total.append(f.max() - value[path])
            search.tell(path, value[path] + noise * rng.standard_normal())
        failed += bool(np.any(np.cumsum(total) > limits))
    assert failed <= delta * 20


@pytest.mark.parametrize("setting", SIMULATED, ids=repr)
def test_the_deterministic_step_is_tight(setting):
    """Playing where the variance is largest collects I*, and nearly all regret the bounds allow."""
    noise = setting[3]
    plays, delta = 200, 0.05
    bandit = Bandit(*setting)
    log_arms = setting[2] * math.log(setting[1])
    gained = spent = 0.0
    for t in range(1, plays + 1):
        variances = bandit.variances()
        x = int(np.argmax(variances))
        gained += 0.5 * math.log1p(variances[x] / noise**2)
        spent += 2 * Confidence(delta).sqrt_beta(t, log_arms) * math.sqrt(variances[x])
        bandit.play(x, 0.0)
        table = bound(*setting, t, delta, breakdown=True)
        for name in ("theorem", "sum-beta", "weighted-envelope"):
            assert spent <= table[name] * (1 + 1e-9), (name, t)
    assert gained == pytest.approx(theory.information_gain(*setting, plays), rel=1e-9)
    # A constant that is a quarter too small would fail; and the first play is an equality.
    assert spent > 0.75 * table["weighted-envelope"]
    first = bound(*setting, 1, delta, breakdown=True)
    exact = 2 * Confidence(delta).sqrt_beta(1, log_arms) * math.sqrt(bandit.prior[0, 0])
    for name, value in first.items():
        assert value == pytest.approx(exact, rel=1e-9), name


def test_any_plays_at_all_obey_the_deterministic_step():
    """Erratum 3: sum sigma^2 <= C I with C = kappa0 / log(1 + kappa0 / sigma^2), for any arms."""
    rng = np.random.default_rng(3)
    printed_fails = 0
    for _ in range(150):
        kernel = Discounted(rng.uniform(0.3, 1.0), rng.uniform(0.1, 10.0))
        noise = rng.uniform(0.05, 2.0)
        bandit = Bandit(kernel, 2, 3, noise)
        kappa0 = bandit.prior[0, 0]
        sum_variance = gained = 0.0
        for _ in range(rng.integers(1, 12)):
            x = rng.integers(8)
            variance = bandit.variances()[x]
            sum_variance += variance
            gained += 0.5 * math.log1p(variance / noise**2)
            bandit.play(x, 0.0)
        assert sum_variance <= 2 * kappa0 / math.log1p(kappa0 / noise**2) * gained * (1 + 1e-12)
        printed_fails += sum_variance > 2 / math.log1p(1 / noise**2) * gained
    assert printed_fails > 30


# ---------------------------------------------------------------- simple regret, other options


def test_simple_and_empirical_regret():
    setting = (Linear(), 2, 3, 0.1)
    assert theory.simple_regret_bound(*setting, 1000) == bound(*setting, 1000) / 1000
    assert theory.simple_regret_bound(*setting, [10, 100]).shape == (2,)
    above, below = theory.empirical_regret_bounds(*setting, 10**6, noise_delta=0.01)
    simple = theory.simple_regret_bound(*setting, 10**6)
    assert above - simple == pytest.approx(0.1 * math.sqrt(2 * math.log(100) / 1e6), rel=1e-9)
    assert below == pytest.approx(0.1 * math.sqrt(2 * math.log(1e8)))
    with pytest.raises(ValueError, match="noise_delta must be between 0 and 1, got 1.5"):
        theory.empirical_regret_bounds(*setting, 10, noise_delta=1.5)


def test_erratum_42_the_best_reward_lies_above_the_optimum():
    """A bandit with one arm has no regret, but its best reward exceeds f* by more and more."""
    rng = np.random.default_rng(0)
    failed = 0
    for plays in (100, 10_000):
        gaps = rng.standard_normal((200, plays)).max(axis=1)  # y_best - f*, R_T = 0, sigma = 1
        assert np.median(gaps) > 2.0  # the printed |f* - y_best| <= R_T/T + O(1/sqrt T) is false
        _, below = theory.empirical_regret_bounds(Linear(), 1, 1, 1.0, plays, noise_delta=0.1)
        failed += int(np.sum(gaps > below))
    assert failed <= 0.1 * 400


def test_plays_needed():
    for setting in [
        (Linear(), 2, 3, 0.5),
        (Gaussian(5.0), 200, 10, 1.0),
        (Discounted(0.5), 3, 0, 1),
    ]:
        for regret in (1.0, 0.1):
            needed = theory.plays_needed(*setting, regret)
            assert bound(*setting, needed) / needed <= regret
            if needed > 1:
                assert bound(*setting, needed - 1) / (needed - 1) > regret
    assert theory.plays_needed(Linear(0.0), 2, 3, 1.0, 1e-9) == 1
    few = theory.plays_needed(Linear(), 2, 3, 0.5, 0.1, method="theorem")
    assert few > theory.plays_needed(Linear(), 2, 3, 0.5, 0.1)
    with pytest.raises(
        ValueError, match=r"regret must be larger than 0.1: .* within 10\^100 plays"
    ):
        theory.plays_needed(Linear(), 10, 400, 1.0, 0.1)


def test_agnostic():
    """Srinivas et al., Theorem 3: beta_T = 2 norm^2 + 300 gamma_T log(T/delta)^3."""
    setting, T, delta, norm = (Gaussian(2.0), 2, 3, 0.5), 100, 0.1, 3.0
    gain = theory.information_gain(*setting, T)
    beta = 2 * norm**2 + 300 * gain * math.log(T / delta) ** 3
    expected = math.sqrt(8 / math.log1p(1 / 0.25) * T * beta * gain)
    assert bound(*setting, T, delta, "agnostic", norm=norm) == pytest.approx(expected, rel=1e-12)
    table = bound(*setting, [T, 2 * T], delta, norm=norm, breakdown=True)
    assert table["agnostic"][0] == pytest.approx(expected, rel=1e-12)
    # In other units of reward it is the same bound: the norm does not change.
    scaled = bound(100.0 * Gaussian(2.0), 2, 3, 5.0, T, delta, "agnostic", norm=norm)
    assert scaled == pytest.approx(10 * expected, rel=1e-12)
    # The square of a norm may overflow, the bound need not.
    large = bound(*setting, T, delta, "agnostic", norm=1e200)
    assert large == pytest.approx(math.sqrt(16 / math.log1p(4) * T * gain) * 1e200, rel=1e-12)
    with pytest.raises(ValueError, match="method 'agnostic' needs norm"):
        bound(*setting, T, method="agnostic")
    assert "agnostic" not in bound(*setting, T, breakdown=True)
    with pytest.raises(ValueError, match="method 'agnostic' needs norm"):
        bound(*setting, T, method="agnostic", breakdown=True)


def test_the_other_bounds_take_a_norm_and_a_gain():
    setting, T, delta = (Gaussian(2.0), 2, 3, 0.5), 1000, 0.1
    for more in (
        {"method": "agnostic", "norm": 3.0},
        {"method": "agnostic", "norm": 3.0, "gain": "hadamard"},
        {"method": "theorem", "gain": "greedy"},
    ):
        total = bound(*setting, T, delta, **more)
        simple = theory.simple_regret_bound(*setting, T, delta, **more)
        assert simple == total / T
        above, _ = theory.empirical_regret_bounds(*setting, T, delta, noise_delta=0.2, **more)
        assert above == pytest.approx(simple + 0.5 * math.sqrt(2 * math.log(5) / T), rel=1e-12)
        needed = theory.plays_needed(*setting, 0.5, delta, **more)
        assert bound(*setting, needed, delta, **more) <= 0.5 * needed
        assert bound(*setting, needed - 1, delta, **more) > 0.5 * (needed - 1)
    for function in (theory.simple_regret_bound, theory.empirical_regret_bounds):
        with pytest.raises(ValueError, match="method 'agnostic' needs norm"):
            function(*setting, T, method="agnostic")
    with pytest.raises(ValueError, match="method 'agnostic' needs norm"):
        theory.plays_needed(*setting, 0.5, method="agnostic")


def test_no_variance_no_regret():
    table = bound(Linear(0.0), 3, 4, 1.0, 100, norm=1.0, breakdown=True)
    assert set(table.values()) == {0.0}


def test_arrays_and_gains():
    setting = (Gaussian(3.0), 10, 6, 0.3)
    found = bound(*setting, [10, 1000, 10**9])
    assert found.tolist() == [bound(*setting, n) for n in (10, 1000, 10**9)]
    table = bound(*setting, np.array([[10, 100]]), breakdown=True)
    assert table["best"].shape == (1, 2)
    assert bound(*setting, 1000, method="theorem", gain="greedy") > bound(
        *setting, 1000, method="theorem"
    )


good = functools.partial(bound, Linear(), 2, 3, 1.0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: good(0), ValueError, "plays must be at least 1, got 0"),
        (lambda: good(5, 1.5), ValueError, "delta must be between 0 and 1, got 1.5"),
        (lambda: good(5, 0.0), ValueError, "delta must be between 0 and 1, got 0.0"),
        (lambda: good(5, method="thm"), ValueError, "method must be one of theorem, sum-beta"),
        (lambda: good(5, method="sum_beta"), ValueError, "did you mean 'sum-beta'"),
        (lambda: good(5, gain=3.0), TypeError, "gain must be a string, one of exact"),
        (lambda: good(5, gain="most"), ValueError, "gain must be one of exact"),
        (lambda: good(5, norm=-1.0), ValueError, "norm must not be negative"),
        (
            lambda: theory.plays_needed(Linear(), 2, 3, 1.0, 0.0),
            ValueError,
            "regret must be above zero",
        ),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
