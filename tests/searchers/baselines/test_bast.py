"""BAST: its bounds by hand and by recursion, its special cases, and the trap that catches UCT."""

import math

import numpy as np
import pytest
from slow_bounds import Rewards, assert_bounds, bounds_of, run
from strategies import Ragged, noise_of
from uncompiled import load

from bough import UCT, Tree
from bough.baselines import BAST
from bough.belief.rng import SplitMix64
from bough.searchers.baselines.tallies import Bounds


def test_bounds_by_hand():
    """A binary tree of depth 2 has N = 7 nodes; with delta = 0.1 a node with n rewards has

    c_n = sqrt(log(2 * 7 * n (n+1) / 0.1) / (2 n)) = sqrt(log(140 n (n+1)) / (2 n)):
    c_1 = sqrt(log(280) / 2), c_2 = sqrt(log(840) / 4), c_3 = sqrt(log(1680) / 6).
    """
    search = BAST(Tree(2, 2), smoothness=0.4, decay=0.5, delta=0.1, reward_range=(0, 1), rng=0)
    c1, c2, c3 = 1.678510, 1.297440, 1.112546
    assert c1 == pytest.approx(math.sqrt(math.log(280) / 2), abs=1e-6)
    assert c2 == pytest.approx(math.sqrt(math.log(840) / 4), abs=1e-6)
    assert c3 == pytest.approx(math.sqrt(math.log(1680) / 6), abs=1e-6)
    for path, value in (((0, 0), 0.5), ((0, 0), 0.7), ((0, 1), 0.3), ((1, 0), 0.9)):
        search.tell(path, value)
    found = bounds_of(search)
    # Leaves: mean + c_n.
    assert found[0, 0] == pytest.approx(0.6 + c2, abs=1e-6)
    assert found[0, 1] == pytest.approx(0.3 + c1, abs=1e-6)
    assert found[1, 0] == pytest.approx(0.9 + c1, abs=1e-6)
    # Node (0,): its mean 0.5 plus delta_1 = 0.4 * 0.5 = 0.2 plus c_3 is 1.812546; its children
    # have 1.897440 and 1.978510, so its own is the least.
    assert found[0,] == pytest.approx(0.5 + 0.2 + c3, abs=1e-6)
    # Node (1,): one child has not been seen, so there is nothing but 0.9 + 0.2 + c_1 = 2.778510.
    assert found[1,] == pytest.approx(0.9 + 0.2 + c1, abs=1e-6)
    # The root: 0.6 + 0.4 + c_4, c_4 = sqrt(log(2800) / 8), is less than 2.778510.
    assert found[()] == pytest.approx(1.0 + math.sqrt(math.log(2800) / 8), abs=1e-6)
    assert search.ask() == (1, 1)  # the highest bound, and then the child not seen


def width(log_nodes, delta, n):
    return math.sqrt((math.log(2 / delta) + log_nodes + math.log(n * (n + 1))) / (2 * n))


@pytest.mark.parametrize("smoothness", [0.0, 0.3, math.inf])
@pytest.mark.parametrize(
    "tree", [Tree(3, 3), Tree([4, 1, 2], 3), Tree(Ragged(3, 4), 5, log_arms=6.0), Tree(1, 2)]
)
def test_bounds_along_one_path_are_those_of_a_full_recursion(tree, smoothness):
    search = BAST(tree, smoothness=smoothness, decay=0.5, reward_range=(-3, 3), rng=1)
    seen = run(search, 200)
    if tree.counts is None:
        log_nodes = 6.0 + math.log(tree.depth + 1)
    else:
        log_nodes = math.log(sum(math.prod(tree.counts[:d]) for d in range(tree.depth + 1)))

    def own(node, rewards):
        slack = 0.0 if tree.children(node) == 0 else 6.0 * smoothness * 0.5 ** len(node)
        return np.mean(rewards) + slack + 6.0 * width(log_nodes, 0.05, len(rewards))

    assert_bounds(search, lambda node: seen.bound(node, own))


def test_the_path_of_the_highest_bounds_is_played():
    search = BAST(Tree(3, 3), smoothness=0.2, rng=2)
    for t in range(150):
        bounds = bounds_of(search)
        path = search.ask()
        for i in range(3):
            fresh = [k for k in range(3) if (*path[:i], k) not in bounds]
            if fresh:
                assert path[i] in fresh
                break
            highest = max(bounds[(*path[:i], k)] for k in range(3))
            assert bounds[path[: i + 1]] == highest
        search.tell(path, noise_of(1, path) + 0.25 * noise_of(2, t))


def test_a_wider_range_of_rewards_changes_all_bounds():
    """The working range is that of the rewards, rounded up by a sixteenth or less."""
    tree = Tree(3, 2)
    search = BAST(tree, smoothness=0.3, rng=0)
    seen = Rewards(tree)
    low, high = math.inf, -math.inf
    for t in range(60):
        path = search.ask()
        value = noise_of(1, path) * 1.1**t
        search.tell(path, value)
        seen.tell(path, value)
        low, high = min(low, value), max(high, value)
        scale = search.tallies.scale
        if high > low:
            assert high - low <= scale <= (high - low) * (1 + 1 / 16)

        def own(node, rewards, scale=scale):
            slack = 0.0 if len(node) == 2 else 0.3 * 0.5 ** len(node)
            return np.mean(rewards) + scale * (slack + width(math.log(13), 0.05, len(rewards)))

        assert_bounds(search, lambda node, own=own: seen.bound(node, own))


def test_smoothness_that_overflows_with_depth():
    for smoothness, expected in ((0.0, 0.0), (1.0, math.inf)):
        search = BAST(Tree(2, 400), smoothness=smoothness, decay=10.0, rng=0)
        assert search.deltas[399] == expected
        for _ in range(3):
            path = search.ask()
            search.tell(path, noise_of(1, path))
        assert not np.isnan(list(bounds_of(search).values())).any()


def test_special_cases():
    """With delta_d = infinity it plays the leaf with the highest bound, as UCB on leaves does."""
    flat = BAST(Tree(2, 3), smoothness=math.inf, rng=0)
    for t in range(80):
        bounds = bounds_of(flat)
        leaves = {p: b for p, b in bounds.items() if len(p) == 3}
        path = flat.ask()
        if len(leaves) == 8:
            assert bounds[path] == max(leaves.values())
        flat.tell(path, noise_of(1, path) + 0.1 * noise_of(2, t))
    sequence = BAST(Tree(2, 3), smoothness=[0.4, 0.2, 0.1], rng=0)
    formula = BAST(Tree(2, 3), smoothness=0.4, decay=0.5, rng=0)
    assert sequence.deltas == pytest.approx(formula.deltas)


class Chain:
    """The left child of a node has children, the right one is a leaf."""

    def __call__(self, path):
        return 0 if path and path[-1] == 1 else 2


def trap(path, depth):
    """Leaving the chain after i steps gives (D - 1 - i)/D; only its very end gives 1."""
    return 1.0 if sum(path) == 0 else (depth - len(path)) / depth


def test_uct_is_trapped_where_bast_is_not():
    """The tree of Coquelin and Munos: each step towards the optimum looks worse than the last.

    With any constant UCT recommends the first exit; BAST allows averages to be too low by up to
    delta_d = 1 and finds the end of the chain.
    """
    depth, plays = 10, 6000
    tree = Tree(Chain(), depth, log_arms=math.log(depth + 1))
    optimum = (0,) * depth
    for exploration in (0.05, 0.2, 0.7, math.sqrt(2)):
        trapped = UCT(tree, exploration=exploration, reward_range=(0, 1), rng=0)
        seen = run(trapped, plays, lambda path: trap(path, depth))
        assert trapped.best().path == (1,)
        assert len(seen.rewards.get(optimum, [])) < plays / 100
    free = BAST(tree, smoothness=1.0, decay=1.0, reward_range=(0, 1), rng=0)
    seen = run(free, plays, lambda path: trap(path, depth))
    assert free.best().path == optimum
    assert len(seen.rewards[optimum]) > plays / 2


def test_pending_plays_narrow_the_bounds_and_forgetting_widens_them():
    search = BAST(Tree(2, 2), reward_range=(0, 1), rng=0)
    for path in ((0, 0), (0, 1), (1, 0), (1, 1)) * 3:
        search.tell(path, 0.5 + 0.1 * path[0])
    before = bounds_of(search)
    asked = [search.ask() for _ in range(4)]
    during = bounds_of(search)
    assert len(set(asked)) == 4
    for path in asked[:3]:  # the last one is counted at the next ask
        assert during[path] == pytest.approx(
            before[path] - width(math.log(7), 0.05, 3) + width(math.log(7), 0.05, 4)
        )
    for path in asked:
        search.forget(path)
    assert bounds_of(search) == before


def test_an_unknown_number_of_nodes():
    """It is twice the number visited, rounded up to a power of two, and all bounds follow."""
    tree = Tree(Ragged(7, 2), 6)
    search = BAST(tree, smoothness=0.3, decay=0.7, reward_range=(-3, 3), rng=0)
    seen = run(search, 400)
    search.ask()
    expected = 512
    while 2 * len(search.tallies.nodes) > expected:
        expected *= 2
    assert expected > 512

    def own(node, rewards):
        slack = 0.0 if tree.children(node) == 0 else 0.3 * 0.7 ** len(node)
        return np.mean(rewards) + 6 * (slack + width(math.log(expected), 0.05, len(rewards)))

    assert_bounds(search, lambda node: seen.bound(node, own))


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"smoothness": -1.0}, ValueError, "smoothness must not be negative"),
        ({"smoothness": [1.0]}, ValueError, "smoothness has 1 entries"),
        ({"smoothness": [1.0, math.nan, 1.0]}, ValueError, r"smoothness\[1\] must be finite"),
        ({"smoothness": "smooth"}, TypeError, "smoothness must be a sequence"),
        ({"decay": -0.5}, ValueError, "decay must not be negative"),
        ({"delta": 0.0}, ValueError, "delta must be between 0 and 1"),
        ({"reward_range": (1, 1)}, ValueError, r"\(lowest, highest\)"),
    ],
)
def test_bad_searches(keywords, error, message):
    with pytest.raises(error, match=message):
        BAST(Tree(2, 3), **keywords)


def test_huge_trees():
    search = BAST(Tree(200, 300), rng=0)
    run(search, 20)
    assert search.observations == 20


def test_the_source_gives_the_same_bits():
    source = load("bough.searchers.baselines.tallies")
    for keywords in ({}, {"gain": [0.0, 1.0, 0.5, 0.25], "kl": True, "limit": 2}):
        results = []
        for module in (Bounds, source.Bounds):
            bounds = module(Tree(3, 3), [1.0, 0.5, 0.25, 0.125], **keywords)
            bounds.set_width(2.5, 0.5)
            rng = SplitMix64(3)
            for t in range(200):
                path = bounds.descend(rng)
                bounds.add_pending(path, 1)
                reward = noise_of(1, path) + noise_of(2, t)
                if keywords:
                    bounds.add_steps(path, reward, [reward, noise_of(3, t)])
                else:
                    bounds.add(path, reward)
                bounds.add_pending(path, -1)
            results.append(bounds.nodes.tobytes())
        assert results[0] == results[1]
