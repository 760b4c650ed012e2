"""Smoothness, the bounds of other algorithms and planning depths, by simulation and counting."""

import functools
import itertools
import math
from statistics import NormalDist

import mpmath
import numpy as np
import pytest
import theory_oracle as oracle

from bough import theory
from bough.kernels import Discounted, Gaussian, Linear
from bough.theory.peers import visits_needed

smoothness = functools.partial(theory.smoothness, branching=2)


def drops(f, B, D):
    """Return, for each depth, the largest f^(n) - f^(child) and f^(n) - f(arm below n)."""
    children, arms = [], []
    for d in range(D):
        below = f.reshape(B**d, B, -1)
        best = below.max(axis=(1, 2))
        children.append(float((best[:, None] - below.max(axis=2)).max()))
        arms.append(float((best[:, None, None] - below).max()))
    return np.array([*children, 0.0]), np.array([*arms, 0.0])


def test_smoothness_holds_with_its_probability():
    rng = np.random.default_rng(5)
    B, D, runs = 3, 3, 300
    for kernel in (Linear(), Gaussian(1.5, 4.0), Discounted(0.5)):
        K = oracle.dense_matrix(kernel, B, D)
        functions = rng.multivariate_normal(np.zeros(B**D), K, size=runs, method="eigh")
        for delta in (0.05, 0.5):
            of_children = theory.smoothness(kernel, D, delta, branching=B)
            of_arms = theory.smoothness(kernel, D, delta, branching=B, among="arms")
            assert np.all(of_children <= of_arms)
            failed_children = failed_arms = 0
            largest = 0.0
            for f in functions:
                child, arm = drops(f, B, D)
                failed_children += bool(np.any(child > of_children))
                failed_arms += bool(np.any(arm > of_arms))
                largest = max(largest, float(np.max(arm[:D] / of_arms[:D])))
            # Within three standard deviations of what is allowed.
            allowed = delta * runs + 3 * math.sqrt(delta * runs)
            assert failed_children <= allowed
            assert failed_arms <= allowed
            assert largest > 0.5  # not so loose that half of it would do


def test_the_paper_counts_a_single_pair_of_arms():
    """With the quantile of two given arms, as the paper has it, some node often fails."""
    rng = np.random.default_rng(6)
    B, D, delta, runs = 2, 3, 0.1, 4000
    K = oracle.dense_matrix(Linear(2.0), B, D)
    functions = rng.multivariate_normal(np.zeros(B**D), K, size=runs, method="eigh")
    below = [2.0 * (D - d) / (D + 1) for d in range(D)]  # sum of c_k over k > d
    deltas = np.array([-NormalDist().inv_cdf(delta) * math.sqrt(2 * v) for v in below] + [0.0])
    # Arms that part below the root, below its first child, and below that one's first child.
    for d, (a, b) in enumerate([(0, 7), (0, 3), (0, 1)]):
        share = np.mean(functions[:, a] - functions[:, b] > deltas[d])
        assert share == pytest.approx(delta, abs=3 * math.sqrt(delta / runs))
    failures = [np.any(drops(f, B, D)[0] > deltas) for f in functions[:300]]
    assert np.mean(failures) > 2 * delta


def test_smoothness_counts_all_pairs():
    """At delta_d each of the pairs of all depths fails with probability at most delta / pairs."""
    B, D, delta = 4, 3, 0.05
    kernel = Gaussian(1.5)
    steps = [float(c) for c in oracle.steps(kernel, D)]
    for among in ("children", "arms"):
        found = theory.smoothness(kernel, D, delta, branching=B, among=among)
        for d in range(D):
            pairs = D * B**D * (B - 1 if among == "children" else B ** (D - d))
            z = found[d] / math.sqrt(2 * sum(steps[d + 1 :]))
            assert pairs * math.exp(-(z**2) / 2) / 2 == pytest.approx(delta, rel=1e-10)
            assert pairs * math.erfc(z / math.sqrt(2)) / 2 <= delta


def test_smoothness_of_odd_trees():
    assert theory.smoothness(Linear(), 0, branching=3).tolist() == [0.0]
    assert theory.smoothness(Linear(), 3, branching=1).tolist() == [0.0] * 4
    assert theory.smoothness(Linear(0.0), 2, branching=5).tolist() == [0.0] * 3
    assert np.all(np.isfinite(theory.smoothness(Gaussian(3.0), 400, branching=10)))


def test_visits_needed_by_counting():
    for gap, log_nodes, noise, delta in [
        (0.5, math.log(1023), 0.5, 0.05), (3.0, 2.0, 0.5, 0.1), (0.1, 40.0, 1.0, 1e-6),
    ]:  # fmt: skip
        n = 1
        while 2 * noise * math.sqrt(2 * (math.log(2 * n * (n + 1) / delta) + log_nodes) / n) >= gap:
            n += 1
        assert visits_needed(gap, log_nodes, noise, delta) == n
    assert visits_needed(0.1, 5.0, 0.0, 0.05) == 1


class Bast:
    """BAST, as its authors describe it, on a small tree: for the test of its bound only."""

    def __init__(self, f, B, D, deltas, noise, delta, rng):
        self.f, self.B, self.D, self.noise, self.rng = f, B, D, noise, rng
        self.deltas = deltas
        self.log = math.log(2 / delta) + math.log((B ** (D + 1) - 1) // (B - 1))
        self.sums, self.counts, self.upper = {}, {}, {}

    def play(self):
        node = ()
        while len(node) < self.D:
            children = [(*node, k) for k in range(self.B)]
            node = max(children, key=lambda c: self.upper.get(c, math.inf))
        index = int("".join(map(str, node)), self.B)
        reward = self.f[index] + self.noise * self.rng.standard_normal()
        for d in range(self.D, -1, -1):
            n = node[:d]
            self.sums[n] = self.sums.get(n, 0.0) + reward
            self.counts[n] = count = self.counts.get(n, 0) + 1
            width = self.noise * math.sqrt(2 * (self.log + math.log(count * (count + 1))) / count)
            bound = self.sums[n] / count + width + self.deltas[d]
            if d < self.D:
                below = max(self.upper.get((*n, k), math.inf) for k in range(self.B))
                bound = min(bound, below)
            self.upper[n] = bound
        return index


def test_bast_stays_below_its_bound():
    B, D, noise, delta, plays = 2, 3, 0.05, 0.1, 4000
    rng = np.random.default_rng(2)
    ratios = []
    for _ in range(4):
        f = rng.uniform(0, 1, B**D)
        _, deltas = drops(f, B, D)
        best = np.sort(f)
        gap, spread = float(best[-1] - best[-2]), float(best[-1] - best[0])
        bast = Bast(f, B, D, deltas, noise, delta, rng)
        regret = sum(best[-1] - f[bast.play()] for _ in range(plays))
        limit = theory.bast_bound(
            B, D, deltas.tolist(), gap, noise=noise, spread=spread, delta=delta
        )
        ratios.append(regret / limit)
    assert max(ratios) <= 1.0
    assert max(ratios) > 1e-3


def test_bast_bound_is_the_best_cut():
    B, D, gap, noise, delta = 3, 4, 0.3, 0.5, 0.05
    deltas = [1.0, 0.4, 0.1, 0.05, 0.0]
    log_nodes = (D + 1) * math.log(B) - math.log(B - 1)

    def n(d):
        return visits_needed(gap - deltas[d], log_nodes, noise, delta)

    cuts = [
        B**d * n(d) + (B - 1) * sum(n(j) for j in range(d + 1, D + 1))
        for d in range(D + 1)
        if deltas[d] < gap
    ]
    found = theory.bast_bound(B, D, deltas, gap, noise=noise, spread=2.0, delta=delta)
    assert found == 2.0 * min(cuts)
    # Smooth trees are cut early: the bound hardly depends on the depth. Others pay for all leaves.
    exponential = [0.5**d for d in range(60)] + [0.0]
    assert theory.bast_bound(2, 60, exponential, 0.1) < 1e8
    assert theory.bast_bound(2, 60, [1.0] * 60 + [0.0], 0.1) > 2.0**60
    assert theory.bast_bound(10, 400, [1.0] * 400 + [0.0], 0.1) == math.inf
    assert theory.bast_bound(1, 3, [0.0] * 4, 0.1) == 0.0


def test_gaps_whose_square_underflows():
    assert visits_needed(1e-160, 3.0, 1e-160, 0.05) == visits_needed(1.0, 3.0, 1.0, 0.05)
    assert visits_needed(2.0, 3.0, 1e-160, 0.05) == 1
    with mpmath.workdps(400):
        n = mpmath.mpf(visits_needed(1e-170, 3.0, 0.5, 0.05))
        for more, wide in ((-1e-9, True), (1e-9, False)):
            m = n * (1 + more)
            log = 3 + mpmath.log(2 * m * (m + 1) / mpmath.mpf(0.05))
            assert (8 * log >= (mpmath.mpf(1e-170) / 0.5) ** 2 * m) == wide
    assert theory.bast_bound(2, 2, [0.5, 0.2, 0], 1e-170) == math.inf
    assert theory.bast_bound(2, 2, [0.5, 0.2, 0], 1e-170, spread=0.0) == 0.0
    assert theory.bast_bound(2, 2, [0.5, 0.2, 0], 0.1, noise=1e-160) < 10


def test_ucb_bound():
    """UCB with these intervals, simulated, and its formula."""
    rng = np.random.default_rng(4)
    N, noise, delta, plays = 6, 0.3, 0.1, 3000
    for f in (np.array([0.0] * 5 + [0.5]), np.array([0.5] * 5 + [0.55]), rng.uniform(0, 1, N)):
        spread = float(f.max() - f.min())
        sums, counts, total = np.zeros(N), np.zeros(N), 0.0
        for t in range(plays):
            if t < N:
                x = t
            else:
                width = noise * np.sqrt(2 * np.log(2 * N * counts * (counts + 1) / delta) / counts)
                x = int(np.argmax(sums / counts + width))
            total += f.max() - f[x]
            sums[x] += f[x] + noise * rng.standard_normal()
            counts[x] += 1
        limit = theory.ucb_bound(N, plays, noise=noise, spread=spread, delta=delta)
        assert total <= limit
        if spread < 0.1:  # so hard that the bound is nearly reached
            assert total > 0.5 * limit
        gap = float(np.diff(np.sort(f))[-1])
        assert total <= theory.ucb_bound(N, plays, noise=noise, spread=spread, delta=delta, gap=gap)
    assert theory.ucb_bound(100, 50, noise=1.0, spread=2.0) == 100.0
    assert theory.ucb_bound(1, 50, noise=1.0, spread=2.0) == 0.0
    log = math.log(2 * 4 * 10**12 * (10**12 + 1) / 0.05)
    free = 4 * 2.0 + 4 * math.sqrt(2 * log * 4 * 10**12)
    assert theory.ucb_bound(4, 10**12, noise=1.0, spread=2.0) == pytest.approx(free)
    few = theory.ucb_bound(4, 10**12, noise=1.0, spread=2.0, gap=1.0)
    assert few == theory.ucb_bound(4, 10**15, noise=1.0, spread=2.0, gap=1.0) < free


def test_tiny_discounts():
    assert theory.useful_depth(2, 1e-160, 100) == 1
    assert theory.useful_depth(2, 5e-324, 10**100) == 1


def test_planning():
    for B, D in itertools.product([2, 5, 10], range(12)):
        assert theory.paper_depth(B, B**D) == D
        assert theory.paper_depth(B, B**D + 1) == D + 1
    # (B / gamma^2)^D >= T, exactly: gamma = 1/2 makes 8^D for B = 2.
    for D in range(1, 30):
        assert theory.useful_depth(2, 0.5, 8**D) == D
        assert theory.useful_depth(2, 0.5, 8**D + 1) == D + 1
    assert theory.useful_depth(3, 1.0, 3**20) == 20
    assert theory.useful_depth(3, 0.7, 1) == 0
    a = math.log(1 / 0.7) / math.log(4)
    rates = theory.planning_rates(4, 0.7)
    assert rates.a == pytest.approx(a)
    assert rates.regret == pytest.approx(1 - a / (1 + 2 * a))
    assert theory.planning_rates(4, 1.0).regret == 1.0
    assert theory.truncation_cost(0.9, 10) == pytest.approx(
        sum(2 * 0.9**i for i in range(10, 2000)), rel=1e-9
    )
    assert theory.truncation_cost(1.0, 10) == math.inf
    assert theory.truncation_cost(1.0, 10, reward=0.0) == 0.0
    assert theory.olop_rate(4, 0.9) == pytest.approx(math.log(1 / 0.9) / math.log(4))


def test_the_useful_depth_has_the_full_rate():
    """Erratum 39: planning no deeper than that keeps the rate of the gain, and of what is cut."""
    B, gamma = 2, 0.6
    rates = theory.planning_rates(B, gamma)
    gains = []
    for e in (80, 160):
        depth = theory.useful_depth(B, gamma, 2**e)
        assert depth < theory.paper_depth(B, 2**e)
        gains.append(theory.information_gain(Discounted(gamma), B, depth, 1.0, 2**e))
        # What stopping costs is of the order of the regret's rate, T^(-a/(1+2a)).
        cut = theory.truncation_cost(gamma, depth) * (1 - gamma) / 2
        assert cut <= 2.0 ** (e * (rates.regret - 1)) < cut / gamma
    slope = math.log(gains[1] / gains[0]) / (80 * math.log(2))
    assert slope == pytest.approx(rates.gain, abs=0.02)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: smoothness(Linear(), 3, 0.0), ValueError, "delta must be between 0 and 1"),
        (lambda: smoothness(Linear, 3), TypeError, "did you mean an instance"),
        (lambda: smoothness(Linear(), 3, among="leaves"), ValueError, "among must be one of"),
        (lambda: smoothness(Linear(), 3, branching=0), ValueError, "branching must be at"),
        (lambda: theory.bast_bound(2, 2, [1, 0.5, 0], 0.0), ValueError, "gap must be above zero"),
        (lambda: theory.bast_bound(2, 2, [1, 0.5], 0.1), ValueError, "3 numbers of which the last"),
        (lambda: theory.bast_bound(2, 1, [1, 0.5], 0.1), ValueError, "of which the last is 0"),
        (lambda: theory.bast_bound(2, 1, 0.5, 0.1), TypeError, "smoothness must be a sequence"),
        (lambda: theory.ucb_bound(0, 5, noise=1, spread=1), ValueError, "arms must be at least 1"),
        (lambda: theory.ucb_bound(2, 0, noise=1, spread=1), ValueError, "plays must be at least 1"),
        (lambda: theory.planning_rates(1, 0.5), ValueError, "branching must be at least 2, got 1"),
        (lambda: theory.planning_rates(2, 0.0), ValueError, "discount must be above zero"),
        (lambda: theory.planning_rates(2, 1.5), ValueError, "discount must be between 0 and 1"),
        (lambda: theory.useful_depth(2, 0.5, 0), ValueError, "plays must be at least 1, got 0"),
        (lambda: theory.truncation_cost(0.5, -1), ValueError, "depth must be at least 0"),
        (lambda: theory.olop_rate(2, 2.0), ValueError, "discount must be between 0 and 1"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
