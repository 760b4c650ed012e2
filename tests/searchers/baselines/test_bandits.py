"""UCB1, UCB-AIR and LinRel by hand and against their definitions; random search."""

import math

import numpy as np
import pytest
from strategies import Ragged, noise_of

from bough import GPB, RandomSearch, Tree, kernels
from bough.baselines import UCB1, UCBAIR, LinRel


def test_ucb1_by_hand():
    """Three arms, t = 6 plays, 2 log 6 = 3.583519.

    a: 2 plays, mean 0.5: 0.5 + sqrt(3.583519 / 2) = 1.838566
    b: 3 plays, mean 0.8: 0.8 + sqrt(3.583519 / 3) = 1.892935
    c: 1 play, mean 0.1: 0.1 + sqrt(3.583519) = 1.993018
    """
    search = UCB1(arms=["a", "b", "c"], reward_range=(0, 1), rng=0)
    for k, rewards in enumerate(([0.4, 0.6], [0.9, 0.7, 0.8], [0.1])):
        for reward in rewards:
            search.tell((k,), reward)
    search._turn = 3  # every arm was tried
    assert search._indices() == pytest.approx([1.838566, 1.892935, 1.993018], abs=1e-6)
    assert search.ask() == (2,)
    assert search.tree.decode((2,)) == ("c",)
    assert search.ask() == (1,)  # c is pending
    # In another range the widths follow: rewards between 0.1 and 0.9.
    free = UCB1(arms=["a", "b", "c"], rng=0)
    for k, rewards in enumerate(([0.4, 0.6], [0.9, 0.7, 0.8], [0.1])):
        for reward in rewards:
            free.tell((k,), reward)
    assert free._indices()[0] == pytest.approx(0.5 + 0.8 * 1.338566, abs=1e-6)


def test_every_arm_is_tried_once_first():
    search = UCB1(Tree([3, 4], 2), rng=1)
    search.tell((2, 2), 5.0)  # observed before it was asked for
    first = []
    for _ in range(11):
        first.append(search.ask())
        search.tell(first[-1], 0.0)
    assert len({*first, (2, 2)}) == 12
    assert search.ask() == (2, 2)  # the best so far


def test_a_forgotten_arm_is_tried_again():
    search = UCB1(Tree(3, 1), rng=1)
    failed = search.ask()
    search.forget(failed)
    others = [search.ask(), search.ask()]
    for path in others:
        search.tell(path, 9.0)
    assert search.ask() == failed


def test_leaves_of_ragged_trees():
    tree = Tree(Ragged(3, 4), 4)
    search = UCB1(tree, rng=0)
    paths = search.tallies.paths
    assert paths == sorted(paths)
    assert all(tree.is_leaf(path) for path in paths)
    assert [search.tallies.number_of(path) for path in paths] == list(range(len(search.tallies)))
    uniform = UCB1(Tree([2, 3, 2], 3))
    paths = uniform.tallies.paths
    assert paths == sorted(paths)
    assert [uniform.tallies.number_of(path) for path in paths] == list(range(12))


@pytest.mark.parametrize(
    ("kind", "tree"),
    [
        (UCB1, Tree(10, 7)),
        (LinRel, Tree(10, 7)),
        (GPB, Tree(math.inf, 2)),
        (UCB1, Tree(lambda path: 400_000, 3)),
        (UCB1, Tree(lambda path: math.inf, 3)),
    ],
)
def test_too_many_arms_are_refused(kind, tree):
    with pytest.raises(ValueError, match="looks at every arm"):
        kind(tree)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: UCB1(), ValueError, "takes a tree, whose leaves are its arms, or a list"),
        (lambda: UCB1(Tree(2, 1), arms=["a"]), ValueError, "takes a tree"),
        (lambda: UCB1(arms=[]), ValueError, "at least one arm"),
        (lambda: UCB1(arms="abc"), TypeError, "arms must be a sequence"),
        (lambda: UCB1(["a", "b"]), TypeError, "pass a list as arms="),
        (lambda: UCB1(arms=["a"], reward_range=(1, 0)), ValueError, r"\(lowest, highest\)"),
        (lambda: UCBAIR(Tree(math.inf, 2)), ValueError, "branching must be finite"),
        (lambda: UCBAIR(Tree(2, 2), rarity=0.0), ValueError, "rarity must be above zero"),
        (
            lambda: LinRel(Tree(2, 2), regularization=0.0),
            ValueError,
            "regularization must be above",
        ),
        (lambda: LinRel(arms=["a", "b"]), TypeError, "needs a kernel for a list of arms"),
        (lambda: LinRel(arms=["a"], kernel=kernels.Linear()), TypeError, "got Linear"),
    ],
)
def test_bad_bandits(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_branching_function_that_changes_its_mind():
    width = [2]
    search = UCB1(Tree(lambda path: width[0], 2), rng=0)
    width[0] = 3
    with pytest.raises(ValueError, match="is inconsistent at path"):
        search.tell((2, 2), 1.0)
    assert search.observations == 0


# ---------------------------------------------------------------------- UCB-AIR


def test_the_number_of_arms_drawn():
    """At play t there are t^(b/(1+b)) arms, rounded up: 10 of 100 for b = 1; t^(b/2) for b < 1."""
    for keywords, expected in (
        ({"rarity": 1.0}, math.ceil(100**0.5)),
        ({"rarity": 2.0}, math.ceil(100 ** (2 / 3))),
        ({"rarity": 0.5}, math.ceil(100**0.25)),
        ({"rarity": 0.5, "reaches_highest": True}, math.ceil(100 ** (1 / 3))),
    ):
        search = UCBAIR(Tree(100, 10), rng=0, **keywords)
        for t in range(100):
            path = search.ask()
            search.tell(path, noise_of(1, path) + noise_of(2, t))
        assert len(search.drawn) == expected


def test_ucb_air_by_hand():
    """E = 2 log(10 log t); at t = 8 it is 2 log(20.794415) = 6.069369.

    One arm with rewards 0, 1 (V = 1/4): 0.5 + sqrt(2 * 0.25 * E / 2) + 3 E / 2 = 10.835858.
    One with five rewards of 0.3 (V = 0): 0.3 + 3 E / 5 = 3.941621.
    """
    search = UCBAIR(Tree(10, 3), reward_range=(0, 1), rng=0)
    for reward in (0.0, 1.0):
        search.tell((0, 0, 0), reward)
    for _ in range(5):
        search.tell((1, 1, 1), 0.3)
    width = 6.069369
    assert width == pytest.approx(2 * math.log(10 * math.log(8)), abs=1e-6)
    expected = [0.5 + math.sqrt(0.25 * width) + 1.5 * width, 0.3 + 0.6 * width]
    assert expected == pytest.approx([10.835858, 3.941621], abs=1e-6)
    assert search._indices(8) == pytest.approx(expected, abs=1e-6)
    assert search.ask() not in [(0, 0, 0), (1, 1, 1)]  # 2 arms are fewer than sqrt(8)


def test_a_small_reservoir_is_exhausted():
    search = UCBAIR(arms=["a", "b"], rarity=5.0, rng=0)
    for t in range(50):
        path = search.ask()
        search.tell(path, path[0] + 0.1 * noise_of(1, t))
    assert len(search.drawn) == 2
    assert search.best().path == (1,)


# ---------------------------------------------------------------------- LinRel


def test_linrel_by_hand():
    """Two arms with kernel [[1, 1/2], [1/2, 1]], mu = 1, both played once, y = (0.2, 1.0).

    K + mu I = [[2, 1/2], [1/2, 2]] has the inverse [[8, -2], [-2, 8]] / 15. For the first arm
    k = (1, 1/2), a = (7, 2)/15; a.y = (1.4 + 2)/15 = 0.226667, norm(a) = sqrt(53)/15 = 0.485341.
    For the second a = (2, 7)/15, a.y = (0.4 + 7)/15 = 0.493333, and the same norm. c = 2.
    """
    search = LinRel(
        arms=["a", "b"], kernel=[[1.0, 0.5], [0.5, 1.0]], regularization=1.0, exploration=2.0,
        reward_range=(0, 1), rng=0,
    )  # fmt: skip
    search.tell((0,), 0.2)
    search.tell((1,), 1.0)
    assert search._indices() == pytest.approx([0.226667 + 0.485341, 0.493333 + 0.485341], abs=1e-6)
    assert search.ask() == (1,)


def test_linrel_row_by_row_is_the_regression():
    tree = Tree(3, 3)
    kernel = kernels.Gaussian(2.0)
    search = LinRel(tree, kernel, exploration=1.3, regularization=0.2, rng=0)
    played, y = [], []
    paths = search.tallies.paths
    K = kernel.matrix(paths, 3)
    for t in range(150):  # more plays than initial rows, and arms played repeatedly
        if t in (1, 20, 149):
            G = K[np.ix_(played, played)] + 0.2 * np.eye(t)
            a = np.linalg.solve(G, K[played])
            low, high = min(y), max(y)
            scale = high - low if high > low else 1.0
            expected = (np.array(y) - low) @ a + 0.65 * scale * np.linalg.norm(a, axis=0)
            assert search._indices() == pytest.approx(expected, rel=1e-9, abs=1e-9)
        path = search.ask() if t % 3 else paths[t % 27]
        y.append(noise_of(1, path) + 0.3 * noise_of(2, t))
        played.append(search.tallies.number_of(path))
        search.tell(path, y[-1])
    assert search.observations == 150


# ---------------------------------------------------------------------- random search


def test_random_search_is_uniform_and_averages_rewards():
    search = RandomSearch(Tree(2, 2), rng=0)
    counts = {}
    for _ in range(2000):
        path = search.ask()
        counts[path] = counts.get(path, 0) + 1
        search.tell(path, float(path == (1, 0)))
    # Each of the four has 500 +- 19 (one sd); five of them are 97.
    assert all(abs(count - 500) < 97 for count in counts.values())
    assert len(counts) == 4
    assert search.best().path == (1, 0)
    assert search.best().visits == counts[1, 0]
