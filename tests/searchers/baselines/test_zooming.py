"""Zooming: coverage by brute force, the index by hand, PyXAB on the same draws."""

import math

import numpy as np
import pytest
from strategies import Ragged, noise_of

from bough import Tree
from bough.baselines import Zooming
from bough.searchers.baselines.arms import all_arms
from bough.searchers.baselines.zooming import TreeCover


def tree_distance(one, other, deltas):
    """Return delta_d for paths that part at depth d."""
    if one == other:
        return 0.0
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return deltas[shared]


@pytest.mark.parametrize("tree", [Tree(3, 4), Tree(Ragged(3, 4), 4), Tree([4, 1, 2], 3)])
@pytest.mark.parametrize("by_distance", [False, True])
def test_arms_are_activated_where_no_ball_reaches(tree, by_distance):
    deltas = [1.0 * 0.6**d for d in range(tree.depth + 1)]
    leaves = all_arms(tree, "test").paths
    keywords = {"smoothness": 1.0, "decay": 0.6}
    if by_distance:
        keywords = {"distance": lambda a, b: tree_distance(a, b, deltas)}
    search = Zooming(tree, exploration=0.15, reward_range=(0, 1), rng=0, **keywords)
    many = 0
    for t in range(400):
        before = len(search.active)
        path = search.ask()
        radii = 0.15 * np.sqrt(8 * search.phase / (2 + search.tallies.visits))
        assert search.phase == math.floor(math.log2(t + 2))

        def is_covered(leaf, active, radii=radii):
            return any(
                tree_distance(leaf, arm, deltas) <= r
                for arm, r in zip(search.active[:active], radii[:active], strict=True)
            )

        for k in range(before, len(search.active)):
            assert not is_covered(search.active[k], k)
        if t % 10 == 0:
            assert all(is_covered(leaf, len(search.active)) for leaf in leaves)
        index = np.where(search.tallies.visits, search.tallies.means, 1.0) + 2 * radii
        assert index[search.active.index(path)] == index.max()
        many += len(search.active) > 1
        search.tell(path, 0.5 + 0.25 * noise_of(1, path) + 0.2 * noise_of(2, t))
    assert many > 200  # more than one arm, so that all this was tested


def test_zooming_by_hand():
    """In phase 1, before a reward: one arm with r = sqrt(8 / 2) = 2, which covers all.

    In phase 2 r is sqrt(16 / 4) = 2 after two rewards, and sqrt(16 / 5) = 1.788854 after three.
    The distance to the other half is 1.9, so that an arm is then activated there, with the radius
    sqrt(16 / 2) = 2.828427.
    """
    for rewards, active in ((2, 1), (3, 2)):
        search = Zooming(Tree(2, 2), smoothness=1.9, reward_range=(0, 1), rng=0)
        path = search.ask()
        for _ in range(rewards):
            search.tell(path, 0.5)
        search.ask()
        assert len(search.active) == active
    assert search.active[0][0] != search.active[1][0]
    assert search.phase == 2
    index = [0.5 + 2 * 1.788854, 1.0 + 2 * 2.828427]
    assert search._indices() == pytest.approx(index, abs=1e-6)


def test_zooming_finds_a_smooth_maximum():
    regrets = []
    for seed in range(3):
        search = Zooming(Tree(2, 10), smoothness=1.0, decay=0.5, exploration=0.1, rng=seed)
        for t in range(1000):
            path = search.ask()
            x = sum(step * 0.5 ** (i + 1) for i, step in enumerate(path))
            search.tell(path, 1 - abs(x - 0.3) + 0.1 * noise_of(seed, t))
        x = sum(step * 0.5 ** (i + 1) for i, step in enumerate(search.best("lower").path))
        regrets.append(abs(x - 0.3))
    assert np.mean(regrets) < 0.02


class OwnCells(TreeCover):
    """PyXAB's rule: an arm has a cell, split when the radius is at most the size of the cell.

    Unlike in the paper, the balls of other arms cover nothing of it, and it is split at most once
    for each reward.
    """

    def __init__(self, tree, deltas):
        super().__init__(tree, deltas)
        self.depths, self.waiting, self.played, self.next_depth = [], [(0,), (1,), (2,)], None, 1

    def uncovered(self, paths, radii, rng):
        while len(self.depths) < len(paths):
            self.depths.append(self.next_depth)
        k, self.played = self.played, None
        if k is not None and radii[k] <= self.deltas[self.depths[k]]:
            cell = paths[k][: self.depths[k]]
            self.depths[k] += 1
            self.waiting += [(*cell, c) for c in range(3) if c != paths[k][len(cell)]]
        if not self.waiting:
            return None
        cell = self.waiting.pop(0)
        self.next_depth = len(cell)
        return cell + (1,) * (self.tree.depth - len(cell))  # the center


def test_zooming_is_that_of_pyxab_where_their_rules_agree():
    """Play for play, on the same draws: arms, means, radii, phases and indices."""
    pyxab = pytest.importorskip("PyXAB.algos.Zooming")
    partition = pytest.importorskip("PyXAB.partition.KaryPartition")
    tree = Tree(3, 7)
    theirs = pyxab.Zooming(
        nu=1.0, rho=0.7, domain=[[0, 1]],
        partition=lambda domain: partition.KaryPartition(domain=domain, K=3),
    )  # fmt: skip
    search = Zooming(tree, smoothness=1.0, decay=0.7, reward_range=(0, 1), rng=0)
    search._cover = OwnCells(tree, search._cover.deltas)
    rng = np.random.default_rng(0)
    for t in range(3000):
        (x,) = theirs.pull(t + 1)
        path = search.ask()
        index = search._indices()
        cell = theirs.active_points[theirs.best_arm]
        number = list(theirs.active_points).index(theirs.best_arm)
        low, high = cell.get_domain()[0]
        y = sum(step / 3.0 ** (i + 1) for i, step in enumerate(search.active[number]))
        assert low - 1e-9 <= y <= high + 1e-9  # the arms are the same, in the same order
        assert len(theirs.active_points) == len(search.active)
        # Up to ties; arms without rewards come first in both.
        assert index[number] == pytest.approx(index.max(), abs=1e-12)
        if path != search.active[number]:
            search.forget(path)
        reward = 0.6 * float(np.clip(1 - abs(x - 0.7) + rng.normal(0, 0.1), 0, 1))
        theirs.receive_reward(t + 1, reward)
        search._cover.played = number
        search.tell(search.active[number], reward)
    assert len(search.active) > 10


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Zooming(arms=[1, 2]), TypeError, "needs a distance"),
        (lambda: Zooming(Tree(2, 2), distance=3.0), TypeError, "distance must be a function"),
        (lambda: Zooming(Tree(2, 2), smoothness=[1.0, 2.0]), ValueError, "must not increase"),
        (lambda: Zooming(Tree(2, 2), decay=1.5), ValueError, "must not increase"),
        (lambda: Zooming(Tree(2, 2), smoothness=[1.0]), ValueError, "smoothness has 1 entries"),
        (lambda: Zooming(Tree(math.inf, 2)), ValueError, "branching must be finite"),
        (lambda: Zooming(Tree(10, 8), distance=lambda a, b: 1.0), ValueError, "every arm"),
        (
            lambda: Zooming(arms=[1, 2], distance=lambda a, b: -1.0).ask(),
            ValueError,
            r"distance\(\d, 1\) must not be negative",
        ),
        (
            lambda: Zooming(arms=[1, 2], distance=lambda a, b: math.nan).ask(),
            ValueError,
            r"distance\(\d, 1\) must be finite",
        ),
    ],
)
def test_bad_zooming(call, error, message):
    with pytest.raises(error, match=message):
        call()
