"""UCT against a slow transcription of its definition, rules for the best arm, bad input."""

import math
import pickle

import numpy as np
import pytest
from strategies import Ragged, noise_of
from uncompiled import load

import bough
from bough import UCT, Tree
from bough.belief.rng import SplitMix64
from bough.searchers.baselines.tallies import Tallies


class SlowUCT:
    """Kocsis and Szepesvari's index, from lists of the rewards seen through each node."""

    def __init__(self, tree, c):
        self.tree, self.c, self.rewards = tree, c, {(): []}

    def children(self, node):
        return [(*node, k) for k in range(self.tree.children(node))]

    def choices(self, node):
        """Return the children that UCT may choose at a node."""
        fresh = [c for c in self.children(node) if c not in self.rewards]
        if fresh:
            return fresh
        N = len(self.rewards[node])
        score = {
            c: np.mean(self.rewards[c]) + self.c * math.sqrt(math.log(N) / len(self.rewards[c]))
            for c in self.children(node)
        }
        best = max(score.values())
        return [c for c in score if score[c] >= best - 1e-12]

    def check(self, path):
        """Every step within the tree that exists is one of the choices."""
        for i in range(len(path)):
            if path[:i] not in self.rewards:
                break
            assert path[: i + 1] in self.choices(path[:i])

    def tell(self, path, reward):
        for i in range(len(path) + 1):
            self.rewards.setdefault(path[:i], []).append(reward)


@pytest.mark.parametrize("c", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("tree", [Tree(3, 3), Tree([4, 1, 2], 3), Tree(Ragged(3, 4), 5)])
def test_it_is_the_published_rule(tree, c):
    search = UCT(tree, exploration=c, reward_range=(0, 1), rng=1)
    slow = SlowUCT(tree, c)
    for t in range(300):
        path = search.ask()
        slow.check(path)
        reward = noise_of(1, path) + 0.1 * noise_of(2, t)
        search.tell(path, reward)
        slow.tell(path, reward)
    nodes = search.tallies.nodes
    assert len(nodes) == len(slow.rewards)
    for n in range(len(nodes)):
        rewards = slow.rewards[search.tallies.path_of(n)]
        assert nodes["visits"][n] == len(rewards)
        assert nodes["average"][n] == pytest.approx(np.mean(rewards), abs=1e-12)


def test_rewards_of_any_range():
    """Observed rewards set the range, so that scaling and shifting them changes no play."""

    def run(scale, shift):
        search = UCT(Tree(3, 4), rng=0)
        paths = []
        for t in range(200):
            paths.append(search.ask())
            search.tell(paths[-1], scale * (noise_of(1, paths[-1]) + noise_of(2, t)) + shift)
        return paths, search.best().path

    assert run(1.0, 0.0) == run(1024.0, 0.0) == run(0.25, 16.0)


def test_rules_for_the_best():
    search = UCT(Tree(3, 1), rng=0)
    with pytest.raises(ValueError, match="no observations yet"):
        search.best()
    for reward in [1.0, 1.4] * 15:
        search.tell((0,), reward)
    for reward in (5.0, -2.2):
        search.tell((1,), reward)
    search.tell((2,), 2.1)
    assert search.best().path == search.best("visits").path == (0,)
    assert search.best("mean").path == (2,)
    assert search.best("observed").path == (1,)
    rewards = [np.array([1.0, 1.4] * 15), np.array([5.0, -2.2])]
    pooled = sum(((r - r.mean()) ** 2).sum() for r in rewards) / 30
    assert search.best("observed").std == pytest.approx(math.sqrt(pooled / 2))
    assert search.best_action() == 0
    arm = search.best()
    assert (arm.mean, arm.visits, arm.value) == (pytest.approx(1.2), 30, arm.mean)
    with pytest.raises(ValueError, match="rule must be"):
        search.best("median")


def test_the_variance_while_no_arm_was_played_twice():
    search = UCT(Tree(4, 1), rng=0)
    search.tell((0,), 1.0)
    assert search.best("lower").std == 0.0
    for k, reward in ((1, 2.0), (2, 4.0)):
        search.tell((k,), reward)
    assert search.best("lower").std == pytest.approx(np.std([1.0, 2.0, 4.0], ddof=1))


def test_batches_and_forgotten_paths():
    search = UCT(Tree(3, 2), rng=0)
    batch = [search.ask() for _ in range(9)]
    assert len({path[0] for path in batch[:3]}) == 3  # pending evaluations count as visits
    assert search.pending == tuple(batch)
    other = search.ask()
    assert search.tallies.nodes["pending"][0] == 9  # the last one asked is counted at the next ask
    search.forget(other)
    assert sorted(search.pending) == sorted(batch)  # pending twice: the oldest was forgotten
    for path in batch:
        search.tell(path, float(path[0]))
    assert search.pending == ()
    assert search.tallies.nodes["pending"].sum() == 0
    assert search.observations == search.tallies.nodes["visits"][0] == 9
    with pytest.raises(ValueError, match="is not pending"):
        search.forget((0, 0))


def test_steps_sum_up_to_the_reward():
    one, two = UCT(Tree(2, 3), rng=0), UCT(Tree(2, 3), rng=0)
    one.tell((0, 1, 1), steps=[0.5, 0.25, -1.0])
    two.tell([0, 1, 1], -0.25)
    assert one.best() == two.best()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.tell((0, 0), math.nan), ValueError, "value must be finite"),
        (lambda s: s.tell((0, 0)), ValueError, "tell takes the value"),
        (lambda s: s.tell((0, 0), 1.0, steps=[1, 2]), ValueError, "tell takes the value"),
        (lambda s: s.tell((0, 0), steps=[1.0]), ValueError, "1 rewards for a path of 2 steps"),
        (lambda s: s.tell((0,), 1.0), ValueError, "too short"),
        (lambda s: UCT(Tree(2, 2), exploration=-1), ValueError, "exploration must not be negative"),
        (lambda s: UCT(Tree(2, 2), reward_range=(1, 0)), ValueError, r"\(lowest, highest\)"),
        (lambda s: UCT(Tree(2, 2), reward_range=3), ValueError, r"\(lowest, highest\)"),
        (lambda s: UCT(Tree(math.inf, 2)), ValueError, "branching must be finite"),
        (lambda s: UCT(5), TypeError, "tree must be a bough.Tree"),
    ],
)
def test_bad_input_changes_nothing(call, error, message):
    search = UCT(Tree(3, 2), rng=0)
    search.tell((0, 1), 1.0)
    asked = [search.ask(), search.ask()]
    before = pickle.dumps(search.tallies)
    with pytest.raises(error, match=message):
        call(search)
    assert pickle.dumps(search.tallies) == before
    assert search.pending == tuple(asked)


def test_copies_continue_identically():
    def run(copied):
        search = UCT(Tree(3, 4), rng=np.random.default_rng(5))
        paths = []
        for t in range(60):
            if copied and t == 30:
                search = pickle.loads(pickle.dumps(search))
            paths.append(search.ask())
            if t % 5:
                search.tell(paths[-1], noise_of(1, paths[-1]))
        return paths

    assert run(False) == run(True)


def test_the_source_gives_the_same_bits():
    source = load("bough.searchers.baselines.tallies")
    results = []
    for tallies in (Tallies(Tree(3, 4)), source.Tallies(Tree(3, 4))):
        rng = SplitMix64(3)
        for t in range(200):
            path = tallies.descend(rng, 0.3)
            tallies.add_pending(path, 1)
            tallies.add(path, noise_of(1, path) + noise_of(2, t))
            tallies.add_pending(path, -1)
        results.append((tallies.nodes.tobytes(), tallies.variance(), tallies.most_visited()))
    assert results[0] == results[1]


def test_by_name_and_on_trees_of_one_arm():
    result = bough.maximize(lambda p: -sum(p), Tree(3, 4), budget=300, searcher="uct", rng=0)
    assert result.best.path == (0, 0, 0, 0)
    assert result.certificate is None
    assert "best path" in repr(result)
    for tree in (Tree(5, 0), Tree(1, 3)):
        search = UCT(tree, rng=0)
        for _ in range(3):
            search.tell(search.ask(), 1.0)
        assert search.best().visits == 3


def test_a_branching_function_that_changes_its_mind():
    width = [2]
    search = UCT(Tree(lambda path: width[0], 2), rng=0)
    for _ in range(10):
        path = search.ask()
        search.tell(path, float(sum(path)))
    width[0] = 4
    before = pickle.dumps(search.tallies.nodes.tolist())
    with pytest.raises(ValueError, match="is inconsistent at node"):
        search.tell((3, 3), 9.0)
    assert pickle.dumps(search.tallies.nodes.tolist()) == before
    with pytest.raises(ValueError, match="must be finite"):
        UCT(Tree(lambda path: math.inf, 3))


def test_paths_are_checked_and_values_are_moderate():
    search = UCT(Tree(2, 2), rng=0)
    path = search.ask()
    with pytest.raises(TypeError, match="must be an int"):
        search.tell(tuple(float(k) for k in path), 1.0)
    with pytest.raises(ValueError, match="larger units"):
        search.tell(path, 1e308)
    assert search.observations == 0
