"""Refits during a search: `GPTS(tree)` without a kernel, noise or mean."""

import math
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from strategies import Ragged, noise_of

import bough
from bough import GPTS, Belief, Tree, kernels, learning
from bough.learning.learner import largest_scale, looks_exact
from bough.learning.posterior import LogPosterior
from bough.means import Heuristic
from bough.problems import Smooth


def play(search, reward, count):
    paths = []
    for _ in range(count):
        paths.append(search.ask())
        search.tell(paths[-1], reward(paths[-1]))
    return paths


def smooth(path, key=0):
    """Return a reward that depends on early steps most, and is exact."""
    return sum(0.6**i * noise_of(key, path[: i + 1]) for i in range(len(path)))


def noisy(seed):
    rng = np.random.default_rng(seed)
    return lambda path: smooth(path) + 0.3 * rng.standard_normal()


def test_all_hyperparameters_may_be_omitted():
    result = bough.maximize(smooth, Tree(4, 5), budget=200, rng=0)
    best = max(smooth(path) for path in np.ndindex(4, 4, 4, 4, 4))
    assert smooth(result.best.path) > best - 0.5
    assert result.certificate.conditional
    given = GPTS(Tree(4, 5), kernels.Linear(), 0.1, rng=0)
    given.tell((0, 0, 0, 0, 0), 1.0)
    assert not given.certificate.conditional


def test_the_fit_is_near_the_truth():
    problem = Smooth(5, 6, discount=0.7, noise=0.1, seed=3)
    search = GPTS(problem.tree, rng=0)
    play(search, problem, 1500)
    assert 0.07 < search.belief.noise < 0.14
    truth = problem.kernel.increments(6)[1:].sum()
    assert 0.25 * truth < search.belief.kernel.increments(6)[1:].sum() < 4 * truth


CLOSED = [Tree(4, 5), Tree(Ragged(3, 1), 5), Tree(300, 2)]


@pytest.mark.parametrize("select", ["ucb", "arm"])
@pytest.mark.parametrize(
    ("tree", "growth"),
    [
        *((tree, growth) for tree in CLOSED for growth in ("complete", "deepening", "rollout")),
        (Tree(math.inf, 4), "deepening"),  # the only way to search an open-ended tree
    ],
    ids=repr,
)
def test_every_rule_and_growth_refits(tree, growth, select):
    search = GPTS(tree, select=select, growth=growth, rng=0)
    play(search, noisy(1), 60)
    assert search.belief.noise > 0.0
    assert math.isfinite(search.best().mean)
    assert search.certificate.conditional


@pytest.mark.parametrize(
    "exponent", [-30, 1, *(pytest.param(e, marks=pytest.mark.thorough) for e in (-1, 40))]
)
@pytest.mark.parametrize("select", ["ucb", "arm"])
def test_a_power_of_two_changes_no_play(select, exponent):
    plays = {}
    for factor in (1.0, 2.0**exponent):
        reward = noisy(2)
        search = GPTS(Tree(4, 5), select=select, rng=1)
        plays[factor] = play(search, lambda path: factor * reward(path), 150)  # noqa: B023
    assert plays[1.0] == plays[2.0**exponent]


def test_other_units_give_the_same_fit_after_the_same_plays():
    reward = noisy(3)
    search = GPTS(Tree(4, 5), rng=1)
    other = GPTS(Tree(4, 5), rng=1)
    rng = np.random.default_rng(4)
    for _ in range(150):
        path = tuple(rng.integers(4, size=5).tolist())
        y = reward(path)
        search.tell(path, y)
        other.tell(path, 1234.5 + 0.37 * y)
    a, b = search.belief, other.belief
    np.testing.assert_allclose(b.kernel.increments(5), 0.37**2 * a.kernel.increments(5), rtol=1e-6)
    assert b.noise == pytest.approx(0.37 * a.noise, rel=1e-6)
    assert b.mean == pytest.approx(1234.5 + 0.37 * a.mean, rel=1e-6)


@pytest.mark.parametrize("growth", ["complete", "rollout"])
def test_a_resumed_search_makes_the_same_plays(growth):
    search = GPTS(Tree(4, 5), growth=growth, rng=5)
    play(search, smooth, 70)
    copy = pickle.loads(pickle.dumps(search))
    assert play(search, smooth, 70) == play(copy, smooth, 70)
    assert search.belief.kernel == copy.belief.kernel


@pytest.mark.parametrize(("zeros", "factor"), [(1, 2.0**20), (4, 2.0**-20), (20, 2.0**20)])
def test_a_power_of_two_changes_no_play_after_zeros(zeros, factor):
    def plays(unit):
        search = GPTS(Tree(4, 4), rng=0)
        return play(
            search, lambda path: unit * smooth(path) if search.observations >= zeros else 0.0, 40
        )

    assert plays(1.0) == plays(factor)


def test_the_schedule_of_refits():
    """Each time that observations have grown by a third, and from 500 on doubled."""
    search = GPTS(Tree(4, 5), rng=0)
    times = []
    learn = search._learner.learn

    def counted(belief):
        times.append(len(belief))
        learn(belief)

    search._learner.learn = counted
    rng = np.random.default_rng(0)
    for _ in range(5000):
        search.tell(tuple(rng.integers(4, size=5).tolist()), rng.standard_normal())
    assert times[:8] == [1, 2, 3, 4, 6, 8, 11, 15]
    early = [t for t in times if t < 500]
    assert all(b == max(a + 1, math.ceil(4 * a / 3)) for a, b in pairwise(early))
    late = [t for t in times if t >= 500]
    assert all(b == 2 * a for a, b in pairwise(late))
    assert len(times) < 30


@pytest.mark.parametrize("size", [9e49, 1e-44, 1e-49, 1e-200])
def test_rewards_at_the_ends_of_the_range(size):
    rng = np.random.default_rng(0)
    search = GPTS(Tree(3, 3), rng=0)
    plays = play(search, lambda path: size * (rng.random() - 0.5), 60)
    search.tell(plays[0], 0.3 * size)
    assert math.isfinite(search.best("mean").mean)


@pytest.mark.parametrize(
    "tree",
    [Tree(2, 300), Tree(1, 400), pytest.param(Tree(2, 1000), marks=pytest.mark.thorough)],
    ids=repr,
)
def test_deep_trees(tree):
    search = GPTS(tree, rng=0)
    play(search, lambda path: float(path[0]), 20)
    play(search, lambda path: sum(0.9**i * k for i, k in enumerate(path)), 20)
    assert search.observations == 40


@pytest.mark.parametrize(
    ("depth", "plays", "most"),
    [(20, 30, 5_000), pytest.param(40, 100, 20_000, marks=pytest.mark.thorough)],
)
def test_free_increments_of_a_deep_tree_are_fitted_fast(depth, plays, most):
    search = GPTS(Tree(3, depth), kernels.Chi(None), rng=0)
    evaluations = 0
    fit = search._learner._fit

    def counted(belief):
        nonlocal evaluations
        before = LogPosterior.__call__

        def call(self, theta):
            nonlocal evaluations
            evaluations += 1
            return before(self, theta)

        LogPosterior.__call__ = call
        try:
            fit(belief)
        finally:
            LogPosterior.__call__ = before

    search._learner._fit = counted
    play(search, noisy(1), plays)
    assert evaluations < most


def test_a_replayed_search_makes_the_same_plays():
    search = GPTS(Tree(4, 5), rng=5)
    reward = noisy(6)
    plays = []
    for _ in range(150):
        path = search.ask()
        plays.append((path, reward(path)))
        search.tell(*plays[-1])
    again = GPTS(Tree(4, 5), rng=5)
    for path, value in plays:
        assert again.ask() == path
        again.tell(path, value)


def test_pending_plays_survive_learning():
    search = GPTS(Tree(4, 5), rng=0)
    play(search, noisy(7), 7)
    paths = [search.ask() for _ in range(5)]
    for path in play(search, noisy(8), 20):
        assert path not in paths
    assert search.pending == tuple(paths)
    for path in paths:
        search.tell(path, 0.0)
    assert search.pending == ()


# ---------------------------------------------------------------------- exact rewards


def test_exact_rewards_are_recognized_and_no_arm_is_repeated():
    search = GPTS(Tree(3, 4), rng=0)
    plays = play(search, smooth, 30)
    path = plays[0]
    for _ in range(3):
        search.tell(path, smooth(path))
    later = play(search, smooth, 20)
    assert search.belief.noise == 0.0
    assert len(set(later)) == 20
    assert not set(later) & set(plays)
    with pytest.raises(bough.Exhausted):
        play(search, smooth, 100)
    best = max(smooth(p) for p in np.ndindex(3, 3, 3, 3))
    assert search.best().value == best
    assert search.certificate.gap == 0.0


def test_a_small_tree_is_exhausted():
    """Repeated plays agree, and then no arm is repeated."""
    for seed in range(5):
        search = GPTS(Tree(3, 3), rng=seed)
        with pytest.raises(bough.Exhausted):
            play(search, smooth, 200)
        assert search.observations < 40
        assert search.best().value == max(smooth(p) for p in np.ndindex(3, 3, 3))


def test_a_reward_that_differs_restores_the_noise():
    search = GPTS(Tree(3, 4), rng=0)
    path = play(search, smooth, 30)[0]
    for _ in range(3):
        search.tell(path, smooth(path))
    play(search, smooth, 20)
    assert search.belief.noise == 0.0
    search.tell(path, smooth(path) + 0.5)
    assert search.belief.noise > 0.0
    assert search.observations == 54
    play(search, smooth, 10)
    assert search.belief.noise > 0.0


def observed(values, repeats):
    """Return a belief with each value at another arm, and the last one repeated."""
    belief = Belief(Tree(100, 1), kernels.Linear(), 0.5)
    for k, value in enumerate(values):
        belief.observe((k,), value)
    for _ in range(repeats):
        belief.observe((len(values) - 1,), values[-1])
    return belief


@pytest.mark.parametrize(
    ("values", "enough"),
    [
        (np.random.default_rng(0).normal(size=60).tolist(), 1),  # chance 1/1771
        (np.random.default_rng(0).normal(size=10).tolist(), 2),  # 1/46
        ([0.3, 0.5], 10),  # 1/2
        ([float(k % 20) for k in range(60)], 4),  # at most 8/65
    ],
)
def test_the_number_of_agreements_needed(values, enough):
    assert looks_exact(observed(values, enough))
    assert not looks_exact(observed(values, enough - 1))


def test_zeros_and_ones_are_never_considered_exact():
    assert not looks_exact(observed([0.0, 1.0] * 20, 500))
    assert not looks_exact(observed([1.0] * 20, 500))


def test_one_value_that_differs_is_enough():
    belief = observed(np.random.default_rng(0).normal(size=60).tolist(), 5)
    assert looks_exact(belief)
    belief.observe((3,), 7.0)
    assert not looks_exact(belief)


def test_a_good_arm_that_nearly_always_wins_is_not_exact():
    rng = np.random.default_rng(1)
    search = GPTS(Tree(4, 5), rng=1)
    play(search, lambda path: float(rng.random() < (0.97 if path[0] == 0 else 0.3)), 600)
    assert search.belief.noise > 0.0


def test_noise_that_the_kernel_needs_is_kept():
    """Without noise, two arms of the same expected reward could not differ."""
    search = GPTS(Tree(3, 3), kernels.Chi.of_increments([0.0, 1.0, 1.0, 0.0]), rng=0)
    play(search, lambda path: path[0] + 0.3 * path[1] + 0.01 * path[2], 200)
    assert search.belief.noise > 0.0


def test_no_arm_is_known_before_it_is_played():
    """A reward of the first step only makes the variance of the others vanish."""
    search = GPTS(Tree(2, 60), rng=0)
    plays = play(search, lambda path: float(path[0]) + 0.25, 30)
    for _ in range(12):
        search.tell(plays[0], float(plays[0][0]) + 0.25)
    play(search, lambda path: float(path[0]) + 0.25, 30)  # not exhausted


def test_a_rejected_exact_reward_changes_nothing():
    search = GPTS(Tree(3, 4), rng=0)
    path = play(search, smooth, 30)[0]
    for _ in range(3):
        search.tell(path, smooth(path))
    before = search.belief.kernel, search.belief.noise, search.observations
    assert search.belief.noise == 0.0
    with pytest.raises(ValueError, match="contradicts"):
        search.tell(path, 77.0, noise=0.0)
    assert (search.belief.kernel, search.belief.noise, search.observations) == before


# ---------------------------------------------------------------------- unusual rewards


@pytest.mark.parametrize("chance", [0.02, 0.5, 0.98])
def test_zeros_and_ones(chance):
    rng = np.random.default_rng(0)
    search = GPTS(Tree(4, 5), rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(search, lambda path: float(rng.random() < chance * (1 + path[0]) / 4), 400)
    mean = search.best("mean").mean
    assert -0.5 < mean < 1.5


def test_heavy_tails():
    rng = np.random.default_rng(0)
    search = GPTS(Tree(4, 5), rng=0)
    play(search, lambda path: smooth(path) + rng.standard_cauchy(), 400)
    assert math.isfinite(search.certificate.gap)
    assert search.belief.noise > 0.0


@pytest.mark.parametrize("constant", [0.0, 7.0, -1e6])
def test_equal_rewards(constant):
    search = GPTS(Tree(4, 5), rng=0)
    play(search, lambda path: constant, 300)
    assert search.best("mean").mean == pytest.approx(constant, abs=1e-6 * (abs(constant) or 1.0))


# ---------------------------------------------------------------------- known hyperparameters


def test_known_hyperparameters_are_kept():
    search = GPTS(Tree(4, 5), kernels.Gaussian(None, variance=1.0), rng=0)
    play(search, noisy(9), 100)
    assert search.belief.kernel.variance == 1.0
    assert search.belief.kernel.width != 2.0
    search = GPTS(Tree(4, 5), noise=0.25, rng=0)
    play(search, noisy(9), 100)
    assert search.belief.noise == 0.25
    search = GPTS(Tree(4, 5), mean=0.5, rng=0)
    play(search, noisy(9), 100)
    assert search.belief.mean == 0.5
    search = GPTS(Tree(4, 5), kernels.Linear(), 0.3, rng=0)
    play(search, noisy(9), 20)
    assert (search.belief.kernel, search.belief.noise, search.belief.mean) == (
        kernels.Linear(), 0.3, 0.0,
    )  # fmt: skip


def test_a_prior_mean_is_computed_once_for_each_node():
    asked = []

    def hill(path):
        asked.append(path)
        return -0.1 * sum(path)

    search = GPTS(Tree(3, 3), mean=hill, rng=0)
    play(search, noisy(10), 60)
    assert len(asked) == len(set(asked))


def test_rewards_that_always_agree_are_not_fitted_by_noise():
    """Of two maxima of the likelihood, outliers as noise and as steps, the higher is found."""
    for seed in (9, 16, 37):
        problem = bough.problems.named("route", seed=seed)
        search = GPTS(problem.tree, rng=seed)
        for _ in range(400):
            path = search.ask()
            search.tell(path, problem(path))
        search.refit()
        _, report = learning.fit(search.belief, kernels.Geometric)
        is_exact = search.belief.noise == 0.0  # then repeated rewards have no density
        assert is_exact or search.belief.log_likelihood() >= report.likelihood - 1e-2
        assert search.belief.noise < 0.1


# ---------------------------------------------------------------------- heuristics


def test_a_good_heuristic_is_used_and_a_poor_one_discounted():
    tree = Tree(5, 6)
    good = Heuristic(lambda path: 10.0 * smooth(path))  # ten times too large
    poor = Heuristic(lambda path: 2.0 * smooth(path, key=1))
    found = {}
    for name, mean in (("good", good), ("poor", poor), ("none", None)):
        search = GPTS(tree, mean=mean, rng=0)
        play(search, noisy(11), 120)
        found[name] = search
    _, report = learning.fit(found["good"].belief, kernels.Geometric)
    assert found["good"].belief.mean.scale == pytest.approx(0.1, rel=0.5)
    assert report.parameters["scale"].low < 0.1 < report.parameters["scale"].high
    assert abs(found["poor"].belief.mean.scale) < 0.3
    value = {name: smooth(search.best().path) for name, search in found.items()}
    assert value["good"] > value["none"] - 1e-9
    assert value["poor"] > value["none"] - 0.8


def test_before_there_are_data_a_heuristic_is_trusted():
    search = GPTS(Tree(5, 3), mean=Heuristic(lambda path: 100.0 * sum(path)), rng=0)
    search.tell((0, 0, 0), 0.5)
    assert search.ask()[0] == 4


def test_fits_start_from_the_given_scale_of_a_heuristic():
    guess = Heuristic(lambda path: 100.0 * sum(path), scale=-1.0, offset=7.0)
    search = GPTS(Tree(5, 3), mean=guess, rng=0)
    assert search.belief.mean == guess
    search.tell((2, 2, 2), 0.5)
    assert search.belief.mean.scale < 0.0
    assert search.ask()[0] == 0


def test_equal_rewards_do_not_refute_a_heuristic():
    """It is trusted until rewards differ: here the one path that is not penalized was not found."""
    goal = (3, 1, 4, 1, 5, 0, 2)
    shared = Heuristic(lambda path: float(sum(a == b for a, b in zip(path, goal, strict=False))))
    search = GPTS(Tree(6, 7), mean=shared, rng=0)
    for _ in range(60):
        path = search.ask()
        search.tell(path, -20.0)
        assert search.belief.mean.scale == pytest.approx(1.0, abs=0.05)


def test_a_heuristic_is_fitted_even_if_all_else_is_given():
    search = GPTS(Tree(4, 4), kernels.Linear(0.1), 0.3, mean=Heuristic(smooth), rng=0)
    play(search, lambda path: 3.0 * smooth(path) + 1.0, 60)
    assert search.belief.mean.scale == pytest.approx(3.0, rel=0.1)
    assert search.belief.noise == 0.3


def test_fits_to_rewards_step_by_step():
    rng = np.random.default_rng(12)
    search = GPTS(Tree(4, 5), rng=0)
    for _ in range(300):
        path = search.ask()
        steps = [
            0.6**i * (noise_of(0, path[: i + 1]) + 0.2 * rng.standard_normal()) for i in range(5)
        ]
        search.tell(path, steps=steps)
    truth = 0.2 * math.sqrt(sum(0.36**i for i in range(5)))
    assert search.belief.noise == pytest.approx(truth, rel=0.3)
    v = search.belief.kernel.increments(5)[1:]
    assert np.polyfit(range(5), np.log(v), 1)[0] == pytest.approx(math.log(0.36), abs=0.4)


@pytest.mark.parametrize("n", [4, 7, 15, 99, 300, 1000, 1e4, 1e6])
def test_the_largest_scale_is_that_of_the_chi_square_distribution(n):
    """Up to the approximation of its quantile, which is on the safe side."""
    from scipy.special import gammaincinv

    for probability in (0.005, 0.025, 0.1):
        exact = math.sqrt(n / (2.0 * gammaincinv(n / 2.0, probability)))
        assert 0.999 * exact <= largest_scale(n, probability) <= 1.2 * exact
