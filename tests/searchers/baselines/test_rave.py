"""RAVE against a slow transcription of its definition, UCT as a special case, bad input."""

import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Ragged, noise_of
from uncompiled import load

import bough
from bough import UCT, Tree
from bough.baselines import RAVE
from bough.belief.rng import SplitMix64
from bough.searchers.baselines.amaf import LabeledTallies


def last(path):
    return path[-1]


def depth_and_last(path):
    return len(path), path[-1]


def parity(path):
    return "even" if sum(path) % 2 == 0 else "odd"


LABELS = [None, last, depth_and_last, parity, tuple]


def mean(rewards):
    return math.fsum(rewards) / max(len(rewards), 1)


class SlowRAVE:
    """Gelly and Silver's index, from a list of all plays."""

    def __init__(self, tree, labels, *, bias, equivalence, exploration, reference):
        self.tree, self.labels = tree, labels or last
        self.bias, self.equivalence = bias, equivalence
        self.exploration, self.reference = exploration, reference
        self.plays = []

    def tell(self, path, reward):
        labels = [self.labels(path[:i]) for i in range(1, len(path) + 1)]
        self.plays.append((path, labels, reward))

    def through(self, node):
        return [play for play in self.plays if play[0][: len(node)] == node]

    def amaf(self, node, label):
        """Return the rewards of plays through a node with a label at a later step."""
        return [r for _, labels, r in self.through(node) if label in labels[len(node) :]]

    def choices(self, node):
        """Return the children that may be chosen at a node."""
        children = [(*node, k) for k in range(self.tree.children(node))]
        source = next(
            node[:i]
            for i in range(len(node), -1, -1)
            if i == 0 or len(self.through(node[:i])) >= self.reference
        )
        N = max(len(self.through(node)), 1)
        scores = {}
        for child in children:
            rewards = [r for *_, r in self.through(child)]
            n, shared = len(rewards), self.amaf(source, self.labels(child))
            m = len(shared)
            if n == m == 0:
                scores[child] = math.inf
                continue
            if n == 0 or m == 0:
                value = mean(shared if n == 0 else rewards)
            else:
                beta = m / (n + m + 4 * self.bias**2 * n * m)
                if self.equivalence is not None:
                    beta = math.sqrt(self.equivalence / (3 * n + self.equivalence))
                value = (1 - beta) * mean(rewards) + beta * mean(shared)
            scores[child] = value + self.exploration * math.sqrt(math.log(N) / max(n, 1))
        best = max(scores.values())
        return [child for child in children if scores[child] >= best - 1e-12]

    def check(self, path):
        """Every step from a node that was played is one of the choices."""
        for i in range(len(path)):
            if self.plays and not self.through(path[:i]):
                break
            assert path[: i + 1] in self.choices(path[:i])


@given(
    st.sampled_from(
        [Tree(3, 3), Tree([4, 1, 2], 3), Tree(2, 5), Tree(Ragged(3, 4), 4), Tree(6, 2)]
    ),
    st.sampled_from(LABELS),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([None, 3.0, 100.0]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0, 4]),
    st.integers(0, 99),
)
def test_it_is_the_published_rule(tree, labels, bias, equivalence, exploration, reference, seed):
    options = {
        "bias": bias,
        "equivalence": equivalence,
        "exploration": exploration,
        "reference": reference,
    }
    search = RAVE(tree, labels=labels, reward_range=(0, 1), rng=seed, **options)
    slow = SlowRAVE(tree, labels, **options)
    for t in range(30):
        path = search.ask()
        slow.check(path)
        if t % 7 == 6:  # a path of someone else's
            search.forget(path)
            path = search.tallies.random_path(SplitMix64(t))
        reward = noise_of(1, path) + 0.1 * noise_of(2, t)
        search.tell(path, reward)
        slow.tell(path, reward)
    for path, known, _ in slow.plays[:5]:
        for i in range(len(path)):
            for label in known:
                shared = slow.amaf(path[:i], label)
                count, average = search.tallies.cell(path[:i], label)
                assert count == len(shared)
                assert average == pytest.approx(mean(shared), abs=1e-12)


@pytest.mark.parametrize("labels", [tuple, depth_and_last])
def test_without_common_labels_it_is_uct(labels):
    """A label that occurs only at one child of a node averages what the child itself does."""
    searches = [
        UCT(Tree(4, 4), exploration=0.2, rng=5),
        RAVE(Tree(4, 4), labels=labels, exploration=0.2, rng=5),
    ]
    runs = []
    for search in searches:
        paths, pending = [], []
        for t in range(300):
            pending.append(search.ask())
            if t % 3:
                paths.append(pending.pop(0))
                search.tell(paths[-1], noise_of(1, paths[-1]) + noise_of(2, t))
        runs.append((paths, search.best()))
    assert runs[0] == runs[1]


def test_labels_teach_other_branches():
    """A choice that is good everywhere is found sooner than by UCT."""

    def found(make):
        regrets = []
        for seed in range(5):
            search = make(seed)
            effects = np.random.default_rng(seed).permutation(20) / 19
            for _ in range(120):
                path = search.ask()
                search.tell(path, float(effects[list(path)].mean()))
            regrets.append(1 - effects[list(search.best("mean").path)].mean())
        return np.mean(regrets)

    tree = Tree(20, 5)
    assert found(lambda seed: RAVE(tree, rng=seed)) < 0.7 * found(lambda seed: UCT(tree, rng=seed))


def test_the_source_gives_the_same_bits():
    names = ["bough.searchers.baselines.tallies", "bough.searchers.baselines.amaf"]
    kept = {name: sys.modules[name] for name in names}
    try:
        for name in names:
            load(name, keep=True)
        source = sys.modules[names[1]].LabeledTallies
    finally:
        sys.modules.update(kept)
    assert source is not LabeledTallies
    results = []
    for make in (LabeledTallies, source):
        tallies = make(Tree(3, 5), parity, 3, 0.2)
        rng = SplitMix64(3)
        for t in range(200):
            path = tallies.descend(rng, 0.3)
            tallies.add_pending(path, 1)
            tallies.add(path, noise_of(1, path) + noise_of(2, t))
            tallies.add_pending(path, -1)
        cells = [tallies.cell(path[:i], "even") for i in range(5)]
        results.append((tallies.nodes.tobytes(), tallies.most_visited(), cells))
    assert results[0] == results[1]


def test_many_labels_and_copies():
    """The tables grow, and a copy has all of them."""

    def run(copied):
        search = RAVE(Tree(40, 6), labels=depth_and_last, reference=3, rng=0)
        paths = []
        for t in range(600):
            if copied and t % 200 == 199:
                search = pickle.loads(pickle.dumps(search))
            paths.append(search.ask())
            search.tell(paths[-1], noise_of(1, paths[-1]))
        return paths

    assert run(False) == run(True)


def test_by_name():
    result = bough.maximize(lambda p: -sum(p), Tree(3, 4), budget=300, searcher="rave", rng=0)
    assert result.best.path == (0, 0, 0, 0)


class Fickle:
    """A function of labels that changes its mind."""

    calls = 0

    def __call__(self, path):
        self.calls += 1
        return self.calls


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"labels": 3}, TypeError, "labels must be a function"),
        ({"bias": -1.0}, ValueError, "bias must not be negative"),
        ({"equivalence": 0.0}, ValueError, "equivalence must be"),
        ({"exploration": math.nan}, ValueError, "exploration must be"),
        ({"reference": 1.5}, TypeError, "reference must be an int"),
        ({"reference": -1}, ValueError, "reference must"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        RAVE(Tree(2, 2), **options)


def test_bad_labels_change_nothing():
    search = RAVE(Tree(2, 3), labels=lambda path: [path[-1]], rng=0)
    with pytest.raises(TypeError, match=r"labels must return something hashable, but labels\(\(0,"):
        search.tell((0, 1, 1), 1.0)
    assert search.observations == search.tallies.nodes["visits"][0] == 0
    search = RAVE(Tree(2, 3), labels=Fickle(), rng=0)
    search.tell((0, 1, 1), 1.0)
    with pytest.raises(ValueError, match="labels is inconsistent at node"):
        search.ask()
    assert search.observations == 1
