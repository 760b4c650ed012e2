"""HOO: its B-values by hand and by recursion, and the doubling of t."""

import math

import numpy as np
import pytest
from slow_bounds import Rewards, assert_bounds, bounds_of, run
from strategies import Ragged, noise_of

from bough import Tree
from bough.baselines import HOO


def test_b_values_by_hand():
    """With t = 4 for good (budget=4), nu = 1 and rho = 1/2, n rewards have the width

    sqrt(2 log 4 / n): 1.665109 for 1, 1.177410 for 2, 0.961351 for 3, 0.832555 for 4;
    and depth h the diameter 1, 1/2, 1/4.
    """
    search = HOO(Tree(2, 2), nu=1.0, rho=0.5, budget=4, reward_range=(0, 1), rng=0)
    for path, value in (((0, 0), 0.2), ((0, 1), 0.6), ((0, 1), 0.4), ((1, 0), 0.9)):
        search.tell(path, value)
    found = bounds_of(search)
    # Leaves, U = mean + width + 1/4: 0.2 + 1.665109 + 0.25, 0.5 + 1.177410 + 0.25, ...
    assert found[0, 0] == pytest.approx(2.115109, abs=1e-6)
    assert found[0, 1] == pytest.approx(1.927410, abs=1e-6)
    assert found[1, 0] == pytest.approx(2.815109, abs=1e-6)
    # (0,): U = 0.4 + 0.961351 + 0.5 = 1.861351, less than its best child's 2.115109.
    assert found[0,] == pytest.approx(1.861351, abs=1e-6)
    # (1,): U = 0.9 + 1.665109 + 0.5; a child was not visited, so its B is infinite.
    assert found[1,] == pytest.approx(3.065109, abs=1e-6)
    # The root: U = 0.525 + 0.832555 + 1, less than 3.065109.
    assert found[()] == pytest.approx(2.357555, abs=1e-6)
    assert search.ask() == (1, 1)


def test_the_best_child_can_have_the_lesser_bound():
    """More rewards, and B of a node becomes that of its best child: B falls with depth."""
    search = HOO(Tree(2, 2), nu=1.0, rho=0.1, budget=100, reward_range=(0, 1), rng=0)
    for path, value in (((0, 0), 0.1), ((0, 1), 0.3), ((1, 0), 0.2), ((1, 1), 0.2)):
        for _ in range(400):
            search.tell(path, value)
    found = bounds_of(search)
    wide = math.sqrt(2 * math.log(100) / 400)
    narrow = math.sqrt(2 * math.log(100) / 800)
    # The best leaf has 0.3 + 0.151743 + 0.01 = 0.461743; its parent's U = 0.2 + 0.107298 + 0.1.
    assert found[0, 1] == pytest.approx(0.3 + wide + 0.01)
    assert found[0,] == pytest.approx(0.2 + narrow + 0.1)
    # (1,): U = 0.2 + 0.107298 + 0.1 is more than its leaves' 0.2 + 0.151743 + 0.01.
    assert found[1,] == found[1, 0] == pytest.approx(0.2 + wide + 0.01)
    assert found[()] == found[0,]  # its U = 0.2 + 0.0759 + 1 is far higher
    for node, bound in found.items():
        if len(node) < 2:
            assert bound <= max(found[(*node, k)] for k in range(2))


@pytest.mark.parametrize("budget", [None, 300])
@pytest.mark.parametrize("tree", [Tree(2, 5), Tree(3, 3), Tree(Ragged(3, 4), 5)])
def test_b_values_along_one_path_are_those_of_a_full_recursion(tree, budget):
    search = HOO(tree, nu=0.7, rho=0.6, budget=budget, reward_range=(-3, 3), rng=1)
    seen = run(search, 200)
    t = budget or 256  # the number of plays, rounded up to a power of two

    def own(node, rewards):
        depth = tree.depth if tree.children(node) == 0 else len(node)
        bonus = math.sqrt(2 * math.log(t) / len(rewards)) + 0.7 * 0.6**depth
        return np.mean(rewards) + 6 * bonus

    assert_bounds(search, lambda node: seen.bound(node, own))


def test_t_doubles():
    search = HOO(Tree(2, 3), reward_range=(0, 1), rng=0)
    seen = Rewards(search.tree)
    for t in range(1, 70):
        path = search.ask()  # after t - 1 rewards
        leaf = next(iter(p for p in seen.rewards if len(p) == 3), None)
        if leaf is not None:
            n = len(seen.rewards[leaf])
            plays = 2 ** math.ceil(math.log2(t - 1)) if t > 1 else 1
            expected = np.mean(seen.rewards[leaf]) + math.sqrt(2 * math.log(plays) / n) + 0.125
            assert bounds_of(search)[leaf] == pytest.approx(expected)
        value = (noise_of(1, path) + 2) / 4
        search.tell(path, value)
        seen.tell(path, value)


def test_it_finds_the_maximum_of_a_smooth_function():
    def height(path):
        x = sum(step * 0.5 ** (i + 1) for i, step in enumerate(path)) + 2**-9
        return 1 - abs(x - 0.7)

    search = HOO(Tree(2, 8), nu=0.5, rho=0.5, reward_range=(0, 1), rng=0)
    run(search, 3000, lambda path: height(path) + 0.05 * noise_of(1, (path, search.observations)))
    assert height(search.best().path) > 0.97


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"nu": 0.0}, "nu must be above zero"),
        ({"rho": 1.0}, "rho must be between 0 and 1"),
        ({"budget": 0}, "budget must be at least 1"),
    ],
)
def test_bad_searches(keywords, message):
    with pytest.raises(ValueError, match=message):
        HOO(Tree(2, 3), **keywords)
