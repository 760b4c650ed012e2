"""Rates are those of quadrature and of simulated courses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from uncompiled import load

from bough.generation.rates import GRID, Rates
from bough.generation.smoothing import FIELDS


def quantiles():
    """Return the means of a normal distribution in bins that hold `SHARES`."""
    edges = norm.ppf(np.concatenate([[0.0], np.cumsum(SHARES)[:-1], [1.0]]))
    return -np.diff(norm.pdf(edges)) / SHARES


SHARES = np.array([0.03, 0.09, 0.2, 0.36, 0.2, 0.09, 0.03])
QUANTILES = quantiles()


def normal_tables(pending=16):
    """Return G_j and H of the normal distribution, by fine quadrature."""
    fine = np.linspace(-10, 10, 8001)
    cdf = norm.cdf(fine)
    step = fine[1] - fine[0]

    def above(values, x):
        return np.trapezoid(np.where(fine >= x, values, 0.0), dx=step)

    gains = np.array([[above(1 - cdf**j, x) for x in GRID] for j in range(1, pending + 2)])
    squares = np.array([above(2 * np.maximum(fine - x, 0) * (1 - cdf), x) for x in GRID])
    return gains, squares


GAINS, SQUARES = normal_tables()


def made(drift, spread, kind=Rates):
    rates = kind()
    rates.take(0.0, 0.05, np.atleast_2d(drift), np.atleast_2d(spread), GAINS, SQUARES)
    return rates


@given(
    st.floats(0.1, 0.9), st.floats(-0.1, 0.1), st.floats(0.0, 0.1), st.floats(0.0, 0.4),
    st.floats(0.02, 0.2),
)  # fmt: skip
def test_one_call_has_expected_improvement(q, u, sd, ahead, v):
    rates = made(np.full(21, -0.02), np.full(21, v))
    best = q + ahead
    z = [(q - 0.02 + u + sd * x - best) / v for x in QUANTILES]
    improvement = SHARES @ [v * (norm.pdf(one) + one * norm.cdf(one)) for one in z]
    found = rates.node(0, q, u, sd, best, 1, 1.0, 0)
    assert found == pytest.approx(improvement, rel=0.01, abs=2e-4 * v)


@given(st.integers(0, 10_000), st.integers(2, 12))
def test_many_calls_have_the_course_of_the_best(seed, calls):
    """From the best node, against a simulation of always expanding the best of the subtree."""
    rng = np.random.default_rng(seed)
    q, v, level = 0.3, float(rng.uniform(0.02, 0.06)), float(rng.uniform(-0.03, 0.03))
    drift = level * np.linspace(1, 0, 21)
    rates = made(drift, np.full(21, v))
    best = np.full(40_000, q)
    top = 0.0
    for k in range(1, calls + 1):
        step = np.interp(best, np.linspace(0, 1, 21), drift) + v * rng.normal(size=len(best))
        best = np.maximum(best, best + step)
        top = max(top, float(best.mean() - q) / k)
    assert rates.node(0, q, 0.0, 0.0, q, calls, 1.0, 0) == pytest.approx(top, rel=0.03)


def test_a_cost_divides_and_a_limit_counts():
    rates = made(np.full(21, 0.03), np.full(21, 0.05))
    one = rates.node(0, 0.2, 0.0, 0.02, 0.6, 40, 1.0, 0)
    assert rates.node(0, 0.2, 0.0, 0.02, 0.6, 40, 4.0, 0) == pytest.approx(one / 4)
    assert rates.node(0, 0.2, 0.0, 0.02, 0.6, 5, 1.0, 0) < one / 3  # out of reach


@given(st.integers(1, 15), st.floats(-1.5, 1.5))
def test_pending_calls_leave_what_one_more_child_adds(pending, z):
    """The share is that of the expected maximum of j + 1 steps minus that of j, over one's."""
    rates = made(np.full(21, z * 0.05), np.full(21, 0.05))
    fine = np.linspace(0, 12, 6001)
    most = [np.trapezoid(1 - norm.cdf(fine - z) ** j, fine) for j in (1, pending, pending + 1)]
    alone = rates.node(0, 0.5, 0.0, 0.0, 0.5, 1, 1.0, 0)
    found = rates.node(0, 0.5, 0.0, 0.0, 0.5, 1, 1.0, pending)
    assert found / alone == pytest.approx((most[2] - most[1]) / most[0], rel=0.02, abs=1e-4)


def test_a_draft_is_expanded_by_the_best_generator():
    drift = np.array([np.full(21, 0.0), np.full(21, 0.06)])
    rates = made(drift, np.full((2, 21), 0.05))
    arguments = (0.7, 60, 1.0, np.ones(2))

    def draft(*generators):
        of = np.array(generators, dtype=np.int32)
        return rates.draft(0.3, 0.1, of, np.full(len(of), 0.02), *arguments)

    assert draft(0, 1) == draft(1) > draft(0) > 0.0


def test_with_one_call_left_a_draft_has_expected_improvement():
    rates = made(np.full(21, 0.06), np.full(21, 0.05))
    of = np.zeros(1, dtype=np.int32)
    found = rates.draft(0.3, 0.1, of, np.zeros(1), 0.35, 1, 1.0, np.ones(1))
    assert found == pytest.approx(SHARES @ np.maximum(0.3 + 0.1 * QUANTILES - 0.35, 0.0), rel=1e-4)


def course(q, drift, u, v, best, stages, start):
    """Return the expected rises above `best` after each number of calls; the drift is a line."""

    def pdf(x):
        return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)

    def above(x):
        return 0.5 * math.erfc(x / math.sqrt(2.0))

    level, variance, done, rises = q, 0.0, start, []
    for calls in stages:
        if calls <= start:
            rises.append(max(q - best, 0.0))
            continue
        jump = calls - done
        x = -(drift[0] + drift[1] * min(level, 1.0) + u) / v
        gain = pdf(x) - x * above(x)
        square = (1.0 + x * x) * above(x) - x * pdf(x)
        if done == 0 and level < best:
            y = x + (best - level) / v
            rise = v * (pdf(y) - y * above(y))
        else:
            sd = math.sqrt(variance + jump * v * v * (square - gain * gain))
            z = (level + jump * v * gain - best) / sd
            rise = sd * (pdf(z) + z * above(-z)) if q < best else z * sd
        variance += jump * v * v * (square - gain * gain)
        level += jump * v * gain
        done = calls
        rises.append(max(rise, 0.0))
    return np.array(rises)


def rate_by_bisection(rises, shares, stages, known):
    """Return the rate at which stopping at the right time is worth nothing: rises are by row."""
    late = stages >= known

    def worth(rate):
        total = 0.0
        for share, row in zip(shares, rises, strict=True):
            ways = [float(np.max(SHARES @ row - rate * stages))]
            if late.any():
                ways.append(float(SHARES @ np.max(row[:, late] - rate * stages[late], axis=1)))
            total += share * max(ways)
        return total

    low, high = 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if worth(middle) > 0.0 else (low, middle)
    return low


STAGES = np.array([1, 2, 3, 4, 6, 9, 13, 19, 28])


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_a_course_is_stopped_when_its_promise_is_known(seed):
    rng = np.random.default_rng(seed)
    v, sd, drift = rng.uniform(0.03, 0.08), rng.uniform(0.01, 0.1), (0.04, -0.08)
    q, best = 0.4, 0.4 + 0.1 * float(rng.integers(2)) * rng.random()
    rates = made(drift[0] + drift[1] * np.linspace(0, 1, 21), np.full(21, v))
    rises = [[course(q, drift, sd * x, v, best, STAGES, 0) for x in QUANTILES]]
    wanted = rate_by_bisection(np.array(rises), [1.0], STAGES, (v / sd) ** 2)
    found = rates.node(0, q, 0.0, sd, best, 28, 1.0, 0)
    assert found == pytest.approx(wanted, rel=0.02, abs=1e-5)

    scores = 0.3 + 0.1 * QUANTILES
    rises = [[course(q, drift, sd * x, v, best, STAGES, 1) for x in QUANTILES] for q in scores]
    wanted = rate_by_bisection(np.array(rises), SHARES, STAGES, 1.0 + (v / sd) ** 2)
    of = np.zeros(1, dtype=np.int32)
    found = rates.draft(0.3, 0.1, of, np.array([sd]), best, 28, 1.0, np.ones(1))
    assert found == pytest.approx(wanted, rel=0.02, abs=1e-5)


def test_a_promise_that_is_soon_known_is_worth_more():
    """With the same scores after each number of calls, a course can be left earlier."""
    rates = made(np.zeros(21), np.full(21, 0.02))
    found = [rates.node(0, 0.5, 0.0, sd, 0.9, 100, 1.0, 0) for sd in (0.002, 0.01, 0.03)]
    assert found[0] < found[1] < found[2]


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_highest_rate_is_chosen_among_all(seed, again):
    """The lazy choice is that of all rates, when the best has risen since they were computed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    rates = made(rng.normal(0, 0.03, (2, 21)), rng.uniform(0.02, 0.1, (2, 21)))
    table = np.zeros((n, len(FIELDS)))
    table[:, -1] = rng.uniform(0.2, 1.0, n)  # the calibration
    table[:, 5], table[:, 6] = rng.uniform(0, 1, n), rng.normal(0, 0.02, n)
    table[:, 9] = rng.uniform(0, 1e-3, n)
    index, stamps = np.full((2, n), math.inf), np.zeros((2, n), dtype=np.int32)
    tie, pending = rng.random(n), rng.integers(0, 3, n).astype(np.int32)
    closed = (rng.random(n) < 0.2).astype(np.int32)
    extra, calls = np.array([1e-4, 1e-3]), np.array([20, 30], dtype=np.int32)
    costs = np.array([1.0, 2.0])
    for best in (table[:, 5].max(), table[:, 5].max() + 0.2)[: 1 + again]:
        at = rates.choose(n, table, index, stamps, int(10 * best) + 1, 0, tie, pending, closed,
                          extra, best, calls, costs)  # fmt: skip
        everything = [
            -1.0 if closed[i] else table[i, -1] * rates.node(
                g, table[i, 5], table[i, 6], math.sqrt(table[i, 9] + extra[g]), best,
                int(calls[g]), costs[g], int(pending[i]),
            )
            for g in range(2) for i in range(n)
        ]  # fmt: skip
        top = max(everything)
        if top < 0.0:
            assert at == -1
        else:
            assert everything[at] == pytest.approx(top, rel=1e-8)


def test_the_source_gives_the_same_bits():
    source = load("bough.generation.rates").Rates
    rng = np.random.default_rng(0)
    drift, spread = rng.normal(0, 0.05, (2, 21)), rng.uniform(0.01, 0.1, (2, 21))
    compiled, plain = made(drift, spread), made(drift, spread, source)
    of = np.arange(2, dtype=np.int32)
    for _ in range(30):
        q, u, sd, ahead = rng.uniform(0, 1), rng.normal(0, 0.05), rng.uniform(0, 0.1), rng.random()
        calls, pending = int(rng.integers(1, 400)), int(rng.integers(0, 20))
        node = (int(rng.integers(2)), q, u, sd, q + 0.3 * ahead, calls, 1.0, pending)
        assert compiled.node(*node) == plain.node(*node)
        draft = (q, 0.1, of, np.full(2, sd), q + ahead, calls, 1.0, np.array([1.0, 3.0]))
        assert compiled.draft(*draft) == plain.draft(*draft)
