"""Gittins indices: published tables, dynamic programming, and the index theorem."""

import functools

import numpy as np
import pytest

from bough.baselines import Gittins
from bough.searchers.baselines.gittins import bernoulli_index, normal_index

#: Normal rewards of known variance, by the number of rewards (Powell 2007, table 10.2, in which the
#: entry for 10 rewards at .95 is misprinted, as .1889; Powell and Ryzhov 2012 have .1899).
PUBLISHED = {
    0.95: {
        1: 0.9956, 2: 0.6343, 3: 0.4781, 4: 0.3878, 5: 0.3281, 6: 0.2853, 7: 0.2528, 8: 0.2274,
        9: 0.2069, 10: 0.1899, 20: 0.1058, 30: 0.0739, 40: 0.0570, 50: 0.0464, 60: 0.0392,
        70: 0.0339, 80: 0.0299, 90: 0.0267, 100: 0.0242,
    },
    0.99: {
        1: 1.5758, 2: 1.0415, 3: 0.8061, 4: 0.6677, 5: 0.5747, 6: 0.5072, 7: 0.4554, 8: 0.4144,
        9: 0.3808, 10: 0.3528, 20: 0.2094, 30: 0.1520, 40: 0.1202, 50: 0.0998, 60: 0.0855,
        70: 0.0749, 80: 0.0667, 90: 0.0602, 100: 0.0549,
    },
}  # fmt: skip


@pytest.mark.parametrize("discount", [0.95, 0.99])
def test_normal_indices_are_those_published(discount):
    for n, published in PUBLISHED[discount].items():
        assert normal_index(n, discount) == pytest.approx(published, abs=1e-4)


def test_bernoulli_indices_are_those_published():
    """Gittins (1989), as rounded by Christian and Griffiths (2016)."""
    for a, b, published in ((1, 1, 0.7029), (2, 2, 0.6346), (3, 3, 0.6010), (10, 2, 0.8695)):
        assert bernoulli_index(a, b, 0.9) == pytest.approx(published, abs=1e-4)
    assert bernoulli_index(1, 1, 0.99) == pytest.approx(0.8699, abs=1e-4)


@pytest.mark.parametrize(("n", "discount"), [(1, 0.5), (2, 0.7), (5, 0.8)])
def test_normal_indices_by_plain_dynamic_programming(n, discount):
    """Values on a fine grid of means, by the trapezoidal rule, for bisected known arms."""
    horizon = int(np.ceil(6 / (1 - discount)))
    x = np.linspace(-4, 4, 401)

    def gain(known):
        values = np.maximum(x, known) / (1 - discount)
        for m in range(n + horizon, n - 1, -1):
            std = (m * (m + 1.0)) ** -0.5
            kernel = np.exp(-0.5 * ((x - x[:, None]) / std) ** 2)
            kernel /= kernel.sum(axis=1, keepdims=True)
            going_on = x + discount * kernel @ values
            values = np.maximum(going_on, known / (1 - discount))
        return np.interp(0.0, x, going_on) - known / (1 - discount)

    low, high = 0.0, 3.0
    for _ in range(10):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gain(middle) > 0 else (low, middle)
    assert normal_index(n, discount) == pytest.approx(0.5 * (low + high), abs=3e-3)


def test_indices_fall_with_the_number_of_rewards():
    for discount in (0.5, 0.9):
        values = [normal_index(n, discount) for n in (1, 2, 5, 63, 64, 65, 100, 255)]
        assert (np.diff(values) < 0).all()
        assert values[-1] > 0
    tail = [normal_index(n, 0.5) for n in (2047, 2048, 2049, 10**6)]  # beyond the table, too
    assert (np.diff(tail) < 0).all()
    assert tail[3] == pytest.approx(tail[1] * 2048 / 10**6)


def test_the_index_theorem():
    """Playing the highest index earns as much as the optimal policy for two Bernoulli arms."""
    discount, depth = 0.5, 16

    @functools.cache
    def value(state, by_index, left):
        if left == 0:
            return 0.0
        totals = []
        for arm in (0, 1):
            a, b = state[2 * arm : 2 * arm + 2]
            won, lost = list(state), list(state)
            won[2 * arm] += 1
            lost[2 * arm + 1] += 1
            p = a / (a + b)
            later = p * value(tuple(won), by_index, left - 1)
            later += (1 - p) * value(tuple(lost), by_index, left - 1)
            totals.append(p + discount * later)
        if not by_index:
            return max(totals)
        indices = [bernoulli_index(*state[2 * k : 2 * k + 2], discount) for k in (0, 1)]
        return totals[int(indices[1] > indices[0])]

    for state in ((1, 1, 1, 1), (1, 2, 2, 3), (3, 2, 1, 1)):
        difference = value(state, False, depth) - value(state, True, depth)
        assert 0 <= difference < 3 * discount**depth


def test_indices_of_a_search():
    search = Gittins(arms=["a", "b", "c"], discount=0.95, noise=0.5, rng=0)
    for arm, value in ((0, 1.0), (0, 2.0), (1, 1.2)):
        search.tell((arm,), value)
    assert search._indices() == pytest.approx(
        [1.5 + 0.5 * 0.6343, 1.2 + 0.5 * 0.9956, np.inf], abs=1e-4
    )
    assert search.ask() == (2,)
    search = Gittins(arms=["a", "b"], rewards="bernoulli", discount=0.9, reward_range=(0, 1), rng=0)
    for _ in range(9):
        search.tell((0,), 1.0)
    search.tell((0,), 0.0)
    assert search._indices() == pytest.approx([bernoulli_index(10, 2, 0.9), 0.7029], abs=1e-4)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"discount": 1.0}, "discount must be between 0 and 1"),
        ({"rewards": "poisson"}, 'rewards must be "normal" or "bernoulli"'),
        ({"noise": 0.0}, "noise must be above zero"),
    ],
)
def test_bad_gittins(keywords, message):
    with pytest.raises(ValueError, match=message):
        Gittins(arms=["a", "b"], **keywords)
