"""OLOP and KL-OLOP: horizon and number of plays, bounds by hand and by enumeration; best-first."""

import itertools
import math
import pickle

import numpy as np
import pytest
from slow_bounds import Rewards, bounds_of
from strategies import Ragged, noise_of

import bough
from bough import Exhausted, Tree
from bough.baselines import KLOLOP, OLOP, BestFirst
from bough.searchers.baselines.tallies import bernoulli_upper


@pytest.mark.parametrize(
    ("budget", "discount", "plays", "horizon"),
    [
        # L = ceil(log M / (2 log(1/discount))), and at least 1; M the largest with M L <= budget.
        (1, 0.5, 1, 1),
        (4, 0.5, 4, 1),  # log 4 / (2 log 2) = 1
        (8, 0.5, 4, 1),  # 5 plays have L = ceil(1.16) = 2, and 5 * 2 > 8
        (10, 0.5, 5, 2),
        (100, 0.5, 33, 3),  # L = ceil(2.52); 34 * 3 > 100
        (1000, 0.5, 250, 4),  # log 250 / (2 log 2) = 3.98
        (1000, 0.9, 52, 19),  # log 52 / 0.210721 = 18.75; 53 * 19 = 1007
        (10_000, 0.8, 666, 15),  # log 666 / 0.446287 = 14.57; 667 * 15 = 10005
    ],
)
def test_horizon_and_number_of_plays(budget, discount, plays, horizon):
    search = OLOP(Tree(2, 50), budget=budget, discount=discount)

    def length(m):
        return max(math.ceil(math.log(m) / (2 * math.log(1 / discount))), 1)

    fitting = [m for m in range(1, budget + 1) if m * length(m) <= budget]
    assert search.plays == fitting[-1]
    assert search.horizon == length(fitting[-1])
    assert (search.plays, search.horizon) == (plays, horizon)
    same = OLOP(Tree(2, 50), plays=search.plays, discount=discount)
    assert same.horizon == search.horizon


def test_bounds_by_hand():
    """Discount 1/2, M = 16 plays: log 16 / (2 log 2) = 2, so L = 2; sqrt(2 log 16 / n) is

    2.354820 for n = 1, 1.665109 for 2, 1.359556 for 3. On a tree of depth 3 the steps after the
    first can give 1/2 + 1/4 = 0.75 at most, and after the second 0.25.
    """
    search = OLOP(Tree(2, 3), plays=16, discount=0.5, reward_range=(0, 1), rng=0)
    assert search.horizon == 2
    # Steps are discounted: 1, 1/2 and 1/4 times the rewards.
    search.tell((0, 0, 0), steps=[0.4, 0.5 * 0.8, 0.0])
    search.tell((0, 1, 0), steps=[0.6, 0.5 * 0.2, 0.0])
    search.tell((0, 1, 1), steps=[0.5, 0.5 * 0.4, 0.0])
    search.tell((1, 0, 0), steps=[0.9, 0.5 * 0.1, 0.0])
    found = bounds_of(search)
    # The second steps, each with what may follow:
    #   (0, 0): (0.8 + 2.354820)/2 + 0.25 = 1.827410
    #   (0, 1): (0.3 + 1.665109)/2 + 0.25 = 1.232555
    #   (1, 0): (0.1 + 2.354820)/2 + 0.25 = 1.477410
    assert found[0, 0] == pytest.approx(1.827410, abs=1e-6)
    assert found[0, 1] == pytest.approx(1.232555, abs=1e-6)
    assert found[1, 0] == pytest.approx(1.477410, abs=1e-6)
    # The first: (0.5 + 1.359556) + min(0.75, 1.827410) = 2.609556; 0.9 + 2.354820 + 0.75.
    assert found[0,] == pytest.approx(2.609556, abs=1e-6)
    assert found[1,] == pytest.approx(4.004820, abs=1e-6)
    # So B of the path (0, 1) is the least of U_1 = 2.609556 and U_2 = 1.859556 + 1.232555.
    assert search.ask()[:2] == (1, 1)


@pytest.mark.parametrize("kind", [OLOP, KLOLOP])
@pytest.mark.parametrize("tree", [Tree(3, 3), Tree(2, 6), Tree(Ragged(3, 4), 4)])
def test_it_plays_the_sequence_with_the_highest_bound(kind, tree):
    """Against the definition: the least of all U_h of each sequence of L steps, enumerated."""
    plays, discount = 120, 0.6
    search = kind(tree, plays=plays, discount=discount, reward_range=(0, 1), rng=3)
    limit = min(search.horizon, tree.depth)
    seen = Rewards(tree)

    def term(node, rewards):
        n, mean = len(rewards), float(np.mean(rewards))
        if kind is OLOP:
            upper = mean + math.sqrt(2 * math.log(plays) / n)
        else:
            most = 2 * math.log(plays) + 2 * math.log(math.log(plays))
            upper = slow_kl_upper(mean, most / n)
        return discount ** (len(node) - 1) * upper

    def tail(node):
        if tree.children(node) == 0:
            return 0.0
        return sum(discount**i for i in range(len(node), tree.depth))

    sequences = set()
    stack = [()]
    while stack:
        node = stack.pop()
        if len(node) == limit or tree.children(node) == 0:
            sequences.add(node)
        else:
            stack += [(*node, k) for k in range(tree.children(node))]
    for t in range(plays):
        path = search.ask()
        if t % 7 == 0 and t:
            bound = {s: seen.sum_bound(s, term, tail, limit) for s in sequences}
            assert bound[path[:limit]] >= max(bound.values()) - 1e-9
        rewards = [
            (noise_of(1, path[: i + 1]) + 2 > 2 + noise_of(2, (t, i))) * 1.0
            for i in range(len(path))
        ]
        steps = [discount**i * r for i, r in enumerate(rewards)]
        search.tell(path, steps=steps)
        seen.tell(path, sum(steps), rewards)


def slow_kl_upper(p, most):
    """Bisect for the largest q with kl(p, q) <= most."""

    def kl(q):
        left = p * math.log(p / q) if p > 0 else 0.0
        right = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
        return left + right

    low, high = p, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle >= 1.0 or middle <= 0.0:
            return middle
        if kl(middle) <= most:
            low = middle
        else:
            high = middle
    return low


def test_the_kullback_leibler_bound():
    for p, most in itertools.product(
        [0.0, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9, 1.0], [0.0, 1e-6, 0.01, 1, 8]
    ):
        found = bernoulli_upper(p, most)
        assert found == pytest.approx(slow_kl_upper(p, most), abs=1e-7)
        assert p <= found <= 1.0
    # By hand: kl(1/2, q) = -log(4 q (1 - q))/2 = log 2 gives q (1 - q) = 1/16, q = 0.933013.
    assert bernoulli_upper(0.5, math.log(2)) == pytest.approx(0.5 + math.sqrt(3) / 4, abs=1e-12)
    assert bernoulli_upper(0.0, math.log(4)) == pytest.approx(0.75, abs=1e-12)
    # Never wider than Hoeffding's bound (which is Pinsker's inequality).
    for p in np.linspace(0, 1, 21):
        assert bernoulli_upper(p, 0.3) <= p + math.sqrt(0.15) + 1e-12


def test_bounds_by_the_divergence_by_hand():
    """M = 8: 2 log 8 + 2 log log 8 = 4.158883 + 1.464211 = 5.623094; of n zeros 1 - exp(-it/n)."""
    search = KLOLOP(Tree(2, 1), plays=8, discount=0.5, reward_range=(0, 1), rng=0)
    search.tell((0,), steps=[0.0])
    search.tell((1,), steps=[1.0])
    for _ in range(3):
        search.tell((0,), steps=[0.0])
    found = bounds_of(search)
    assert found[0,] == pytest.approx(1 - math.exp(-5.623094 / 4), abs=1e-6)
    assert found[1,] == 1.0


@pytest.mark.parametrize("kind", [OLOP, KLOLOP, BestFirst])
def test_a_step_that_is_out_of_all_measure_changes_nothing(kind):
    """A sum of steps may be moderate while they are not."""
    plan = {} if kind is BestFirst else {"plays": 20}
    search = kind(Tree(2, 3), discount=0.5, rng=0, **plan)
    search.tell((0, 1, 0), steps=[1.0, 0.5, 0.0])
    before = pickle.dumps(search)
    with pytest.raises(ValueError, match=r"steps\[1\].*larger units"):
        search.tell((0, 0, 0), steps=[1e300, -1e300, 0.0][::-1])
    assert pickle.dumps(search) == before


@pytest.mark.parametrize("kind", [OLOP, KLOLOP])
def test_rewards_of_steps_in_any_range(kind):
    """Shifting and scaling what steps give, with the range that is known, changes no play."""

    def run(scale, shift):
        low, high = scale * 0 + shift, scale * 1 + shift
        search = kind(Tree(2, 4), plays=60, discount=0.5, reward_range=(low, high), rng=0)
        paths = []
        for t in range(60):
            paths.append(search.ask())
            rewards = [(noise_of(i, (paths[-1], t)) + 2) / 4 for i in range(4)]
            search.tell(
                paths[-1], steps=[0.5**i * (scale * r + shift) for i, r in enumerate(rewards)]
            )
        return paths

    assert run(1.0, 0.0) == run(8.0, 0.0) == run(0.25, 0.0)
    assert run(1.0, 0.0)[:40] == run(1.0, -4.0)[:40]


def test_the_sum_alone_is_shared_out_among_the_steps():
    one = OLOP(Tree(2, 3), plays=20, discount=0.5, reward_range=(0, 1), rng=0)
    two = OLOP(Tree(2, 3), plays=20, discount=0.5, reward_range=(0, 1), rng=0)
    one.tell((0, 1, 0), 0.7)
    two.tell((0, 1, 0), steps=[0.4, 0.2, 0.1])  # 0.4 at each step, before the discount
    assert bounds_of(one) == pytest.approx(bounds_of(two))
    assert one.best().mean == pytest.approx(two.best().mean)


def test_all_results_count_beyond_the_plan_too():
    search = OLOP(Tree(2, 4), budget=20, discount=0.7, rng=0)
    for t in range(3 * search.plays):
        search.tell((1, 1, t % 2, 0), steps=[1.0, 0.7, 0.0, 0.0])
    assert search.observations == 3 * search.plays
    assert search.best_action() == 1
    assert search.tallies.nodes["visits"][search.tallies.node_at((1, 1))] == 3 * search.plays


@pytest.mark.parametrize("kind", [OLOP, KLOLOP])
def test_it_finds_the_good_first_action(kind):
    rng = np.random.default_rng(0)
    search = kind(Tree(2, 6), plays=400, discount=0.6, rng=1)
    for _ in range(400):
        path = search.ask()
        hits = [float(rng.random() < (0.8 if step else 0.3)) for step in path]
        search.tell(path, steps=[0.6**i * hit for i, hit in enumerate(hits)])
    assert search.best_action() == 1
    assert search.best().path[:2] == (1, 1)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "plans for a fixed budget"),
        ({"budget": 10, "plays": 10}, "plans for a fixed budget"),
        ({"budget": 0}, "budget must be at least 1"),
        ({"plays": 0}, "plays must be at least 1"),
        ({"budget": 10, "discount": 1.0}, "discount must be between 0 and 1"),
    ],
)
def test_bad_plans(keywords, message):
    with pytest.raises(ValueError, match=message):
        OLOP(Tree(2, 3), **keywords)


def test_by_name_the_budget_is_the_number_of_plays():
    for name in ("olop", "kl_olop"):
        result = bough.maximize(lambda p: -sum(p), Tree(3, 2), budget=50, searcher=name, rng=0)
        assert result.searcher.plays == 50
        with pytest.raises(ValueError, match="give a budget"):
            bough.maximize(
                lambda p: -sum(p), Tree(3, 2), stop=bough.Target(0.0), searcher=name, rng=0
            )


# ---------------------------------------------------------------------- best-first


def edge(path):
    return (noise_of(5, path) + 2) / 4


def test_best_first_expands_the_most_promising_node():
    """Against the definition: sum of rewards so far + what may follow, over all nodes seen."""
    tree, discount = Tree(3, 4), 0.6
    search = BestFirst(tree, discount=discount, reward_range=(0, 1), rng=0)
    seen = {()}

    def worth(node):
        return sum(discount**i * edge(node[: i + 1]) for i in range(len(node)))

    def hope(node):
        return worth(node) + sum(discount**i for i in range(len(node), 4))

    values = []
    for _ in range(81):
        path = search.ask()
        parents = [n for n in seen if len(n) < 4 and any((*n, k) not in seen for k in range(3))]
        left = max(i for i in range(4) if path[:i] in seen)
        assert hope(path[:left]) == pytest.approx(max(map(hope, parents)))
        assert path not in seen
        steps = [discount**i * edge(path[: i + 1]) for i in range(4)]
        search.tell(path, steps=steps)
        values.append(sum(steps))
        seen |= {path[: i + 1] for i in range(4)}
    with pytest.raises(Exhausted, match="all arms are known after 81 observations"):
        search.ask()
    assert search.best().mean == pytest.approx(max(values))
    # The optimum comes early: that is what the bounds are for.
    assert np.argmax(values) < 27


def test_best_first_by_hand():
    """Discount 1/2, depth 2. Known: (0, 0) with rewards 0.5, 0.9 and (1, 0) with 0.8, 0.2.

    Unseen children of (0,) promise 0.5 + 1/2 and those of (1,) 0.8 + 1/2, the higher.
    """
    search = BestFirst(Tree(2, 2), discount=0.5, reward_range=(0, 1), rng=0)
    search.tell((0, 0), steps=[0.5, 0.45])
    search.tell((1, 0), steps=[0.8, 0.1])
    found = bounds_of(search)
    assert found[0,] == pytest.approx(1.0)
    assert found[1,] == pytest.approx(1.3)
    assert search.ask() == (1, 1)
    search.tell((1, 1), steps=[0.8, 0.0])
    assert search.ask() == (0, 1)  # below (1,) all is known
    assert search.best().path == (0, 0)
