"""The two-level policy: bounds by hand, probabilities by simulation."""

import math

import numpy as np
import pytest

from bough import Tree
from bough.baselines import TwoLevel
from bough.searchers.baselines.two_level import _probabilities

ARMS = ["a1", "a2", "b1", "b2"]


def told(estimate):
    """Rewards: a1 1.0; a2 0.0, 0.5; b1 0.5, 0.5, 0.5; b2 none. t = 6, log 6 = 1.791759."""
    search = TwoLevel(
        arms=ARMS, clusters=lambda arm: arm[0], estimate=estimate, reward_range=(0, 1), rng=0
    )
    for arm, value in ((0, 1.0), (1, 0.0), (1, 0.5), (2, 0.5), (2, 0.5), (2, 0.5)):
        search.tell((arm,), value)
    return search


@pytest.mark.parametrize(
    ("estimate", "values", "plays"),
    [
        ("pooled", [0.5, 0.5], [3, 3]),  # (1 + 0 + 0.5) / 3
        ("mean", [0.625, 0.5], [3, 3]),  # (1 + 0.25) / 2
        ("max", [1.0, 0.5], [1, 3]),
    ],
)
def test_cluster_bounds_by_hand(estimate, values, plays):
    expected = [v + math.sqrt(2 * 1.791759 / n) for v, n in zip(values, plays, strict=True)]
    assert told(estimate)._cluster_bounds() == pytest.approx(expected, abs=1e-6)


def test_the_weighted_maximum_lies_between_the_arms():
    """Variance of rewards: (0.25^2 + 0.25^2) / (6 - 3) = 1/24; a1 has 1 reward, a2 two."""
    search = told("pmax")
    assert search.tallies.variance() == pytest.approx(1 / 24)
    gap = 0.75 / math.sqrt((1 + 1 / 2) / 24)  # in standard deviations of the difference: 3
    share = 0.5 * math.erfc(-gap / math.sqrt(2))
    value, plays = share * 1.0 + (1 - share) * 0.25, share + 2 * (1 - share)
    assert search._cluster_bounds()[0] == pytest.approx(
        value + math.sqrt(2 * math.log(6) / plays), abs=1e-4
    )


def test_within_the_cluster_it_is_ucb1():
    """Cluster a: a1 has 1 + sqrt(2 log 6 / 1), a2 0.25 + sqrt(log 6); cluster b: b2 is new."""
    assert told("max").ask() == (0,)
    search = told("pooled")
    for _ in range(30):
        search.tell((0,), 0.0)
    assert search.ask() == (3,)


def test_probabilities_are_those_of_simulation():
    rng = np.random.default_rng(0)
    for count in (2, 3, 7):
        means, std = rng.normal(size=count), rng.uniform(0.05, 2.0, size=count)
        draws = rng.normal(means, std, size=(200_000, count)).argmax(axis=1)
        expected = np.bincount(draws, minlength=count) / len(draws)
        assert _probabilities(means, std) == pytest.approx(expected, abs=0.005)
    assert _probabilities(np.array([0.0, 1.0, 1.0]), np.zeros(3)).tolist() == [0.0, 0.5, 0.5]


def test_clusters_of_a_tree_are_the_children_of_the_root():
    search = TwoLevel(Tree(3, 2))
    assert [members.tolist() for members in search.clusters] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    by_last = TwoLevel(Tree(3, 2), clusters=lambda path: path[1])
    assert [members.tolist() for members in by_last.clusters] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_good_clusters_help():
    """100 arms in 10 clusters with similar means: less regret than with random clusters."""
    totals = {"good": 0.0, "random": 0.0}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        means = np.clip(np.repeat(rng.random(10), 10) + 0.05 * rng.normal(size=100), 0, 1)
        clusters = {"good": np.arange(100) // 10, "random": rng.integers(10, size=100)}
        draws = rng.random(600)
        for name, labels in clusters.items():
            search = TwoLevel(arms=range(100), clusters=labels.tolist(), exploration=0.1, rng=seed)
            for u in draws:
                path = search.ask()
                totals[name] += means.max() - means[path[0]]
                search.tell(path, float(u < means[path[0]]))
    assert totals["good"] < 0.8 * totals["random"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TwoLevel(arms=ARMS), TypeError, "needs clusters for a list"),
        (lambda: TwoLevel(arms=ARMS, clusters=[0, 1]), ValueError, "2 entries for 4 arms"),
        (lambda: TwoLevel(arms=ARMS, clusters=[[], [], [], []]), TypeError, "must be hashable"),
        (lambda: TwoLevel(Tree(2, 2), estimate="best"), ValueError, "estimate must be one of"),
    ],
)
def test_bad_two_level(call, error, message):
    with pytest.raises(error, match=message):
        call()
