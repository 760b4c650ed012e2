"""The reward of the best arm of all, against enumeration, closed forms and simulations."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from strategies import Hill, Ragged, noise_of

import bough
from bough import Belief, Tree, kernels
from bough.belief.best_value import unexplored_children
from bough.problems import Drawn

DRAWS = 20_000


def all_paths(tree):
    """Return all complete paths of a small tree."""
    paths, open_ = [], [()]
    while open_:
        path = open_.pop()
        width = tree.children(path)
        if width:
            open_ += [(*path, k) for k in range(width)]
        else:
            paths.append(path)
    return sorted(paths)


def assert_alike(ours, truth):
    """Compare two samples: their first two moments and quantiles, within four standard errors."""
    count = (len(ours) + len(truth)) / 4
    for power in (1, 2):
        a, b = ((x - truth.mean()) ** power for x in (ours, truth))
        error = math.sqrt(max(a.var(), b.var()) / count)
        assert abs(a.mean() - b.mean()) <= 4 * error + 1e-12
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        limit = np.quantile(truth, q) + 1e-9  # (there are atoms where arms are known)
        p = (truth <= limit).mean()
        assert abs((ours <= limit).mean() - p) <= 4 * math.sqrt(p * (1 - p) / count)


@pytest.mark.parametrize("observations", [0, 1, 10, 60])
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize(
    ("tree", "kernel"),
    [
        (Tree(3, 4), kernels.Gaussian(1.5)),
        (Tree([5, 2, 3], 3), kernels.Discounted(0.6, 2.0)),
        (Tree(90, 1), kernels.Linear()),  # wide enough for groups of children
        (Tree(2, 6), kernels.Geometric(0.5, 4.0, 0.3)),
    ],
)
def test_draws_agree_with_enumeration(tree, kernel, noise, observations):
    """All arms drawn jointly from the same posterior, and their maximum taken."""
    belief = Belief(tree, kernel, noise, mean=2.0)
    paths = all_paths(tree)
    rng = np.random.default_rng(observations)
    for i in rng.permutation(len(paths))[:observations]:
        belief.observe(paths[i], noise_of("best", paths[i]))
    drawn = belief.sample(paths, DRAWS, rng=1)
    best, chosen = belief.sample_best(DRAWS, rng=2)
    assert_alike(best, drawn.max(axis=1))
    assert (best >= chosen).all() or not observations
    if observations:
        arm = belief.best_observed(0.0)
        assert_alike(chosen, drawn[:, paths.index(arm.path)])
        regret = (drawn.max(axis=1) - drawn[:, paths.index(arm.path)]).mean()
        assert (best - chosen).mean() == pytest.approx(regret, rel=0.1, abs=0.01)
    mean, std = belief.best_value()
    assert mean == pytest.approx(best.mean(), abs=4 * best.std() / 16 + 1e-9)
    assert std == pytest.approx(best.std(), rel=0.25, abs=1e-9)


def test_leaving_out_hopeless_nodes_changes_nothing():
    """A search that has found good subtrees: of its nodes only a part is drawn."""
    problem = Drawn(kernels.Discounted(0.7), 4, 5, noise=0.1, seed=3)
    search = bough.GPTS(problem.tree, problem.kernel, problem.noise, rng=0)
    for _ in range(400):
        path = search.ask()
        search.tell(path, problem(path))
    paths = all_paths(problem.tree)
    truth = search.belief.sample(paths, DRAWS, rng=1).max(axis=1)
    best, _ = search.belief.sample_best(DRAWS, rng=2)
    assert_alike(best, truth)


def test_ragged_trees_and_prior_means():
    """Where everything is explored nothing is approximate."""
    tree = Tree(Ragged(3, 5), 4)
    paths = all_paths(tree)
    belief = Belief(tree, kernels.Linear(), 0.5, mean=Hill(4))
    for path in paths:
        belief.observe(path, noise_of("ragged", path))
    best, _ = belief.sample_best(DRAWS, rng=0)
    assert_alike(best, belief.sample(paths, DRAWS, rng=1).max(axis=1))


def test_known_arms():
    belief = Belief(Tree(3, 2), kernels.Linear(), noise=0.0)
    for k, path in enumerate(itertools.product(range(3), repeat=2)):
        belief.observe(path, float(k))
    assert belief.best_value() == (8.0, 0.0)


def test_infinitely_many_children():
    belief = Belief(Tree(math.inf, 3), kernels.Linear(), noise=0.1)
    belief.observe((0, 1, 2), 1.0)
    mean, std = belief.best_value()
    assert mean == math.inf
    assert math.isnan(std)


@pytest.mark.parametrize("freedom", [math.inf, 4.0])
def test_labels(freedom):
    """All arms are drawn together, beside draws by the moments of dense algebra."""
    kernel = kernels.Labeled(
        kernels.Linear(0.3), labels=lambda path: path[-1], between=kernels.Same(1.0)
    )
    belief = Belief(Tree(3, 3), kernel, 0.1, mean=2.0)
    rng = np.random.default_rng(0)
    for path in rng.integers(3, size=(6, 3)).tolist():
        belief.observe(path, rng.normal())
    paths = all_paths(belief.tree)
    best, chosen = belief.sample_best(DRAWS, (1, 0, 2), degrees_of_freedom=freedom, rng=2)
    means, _ = belief.posterior(paths)
    draws = rng.multivariate_normal(np.zeros(27), belief.covariance(paths), DRAWS)
    if freedom < math.inf:
        draws *= np.sqrt(freedom / rng.chisquare(freedom, DRAWS))[:, None]
    draws += means
    assert_alike(best, draws.max(axis=1))
    assert_alike(chosen, draws[:, paths.index((1, 0, 2))])
    assert (best >= chosen).all()
    gap = (draws.max(axis=1) - draws[:, paths.index((1, 0, 2))]).mean()
    assert (best - chosen).mean() == pytest.approx(gap, rel=0.1)


def test_labels_of_more_arms_than_can_be_drawn():
    between = kernels.Same(1.0)
    kernel = kernels.Labeled(kernels.Linear(0.3), labels=lambda path: path[-1], between=between)
    for tree, finite in ((Tree(2, 13), True), (Tree(2, 14), False), (Tree(Ragged(3, 5), 4), False)):
        mean, std = Belief(tree, kernel, 0.1).best_value()
        assert math.isfinite(mean) == finite
        assert math.isnan(std) == (not finite)
    jobs = Tree.permutations("abcd")
    belief = Belief(jobs, kernels.Paths(lambda a, b: float(a == b)), 0.1)
    mean, _ = belief.best_value()  # of 24 independent rewards: 1.95
    assert mean == pytest.approx(1.95, abs=0.15)
    for tree, finite in ((Tree(2, 3), True), (Tree(2, 11), False)):
        pairs = []  # a function of Python is called for every pair of paths
        alike = kernels.Paths(lambda a, b, pairs=pairs: pairs.append(a) or float(a == b))
        assert math.isfinite(Belief(tree, alike, 0.1).best_value()[0]) == finite
        assert bool(pairs) == finite


def test_rewards_in_other_units():
    values = {}
    for unit in (1.0, 8.0):
        belief = Belief(Tree(4, 3), unit**2 * kernels.Gaussian(2.0), unit * 0.25, mean=unit)
        for path in ((0, 1, 2), (3, 1, 0), (0, 1, 3)):
            belief.observe(path, unit * noise_of("units", path))
        values[unit] = belief.best_value()
    assert values[8.0] == tuple(8.0 * x for x in values[1.0])


def test_an_estimated_scale_widens_the_draws():
    belief = Belief(Tree(4, 3), kernels.Gaussian(2.0), 0.25)
    known, _ = belief.sample_best(DRAWS, rng=0)
    student, _ = belief.sample_best(DRAWS, degrees_of_freedom=4, rng=0)
    same, _ = belief.sample_best(DRAWS, degrees_of_freedom=1e9, rng=0)
    assert student.std() > 1.3 * known.std()
    assert same.std() == pytest.approx(known.std(), rel=0.03)


# ---------------------------------------------------------------------- unexplored children


def best_of(child, count, draws, rng):
    return child.best_of(np.array([float(count)]), rng.standard_exponential(draws))


@pytest.mark.parametrize(
    ("kernel", "width", "depth"),
    [
        (kernels.Discounted(0.5), 5, 10),
        (kernels.Discounted(0.3), 5, 10),
        (kernels.Discounted(0.8), 5, 30),
        (kernels.Discounted(0.9), 2, 60),
        (kernels.Geometric(0.25), 4, 10),
        (kernels.Chi((1.0, 1.0, 1e-6, 0.0)), 20, 3),
    ],
)
def test_deep_trees_agree_with_a_population(kernel, width, depth):
    """Steps small beside others, and tails far out, at every depth."""
    rng = np.random.default_rng(0)
    v = kernel.increments(depth)
    children = unexplored_children(tuple(v.tolist()), (width,) * depth)
    population = np.zeros(40_000)
    for i in range(depth - 1, -1, -1):
        steps = math.sqrt(v[i + 1]) * rng.standard_normal((len(population), width))
        population = (rng.choice(population, (len(population), width)) + steps).max(axis=1)
        best = best_of(children[i], width, len(population), rng)
        assert abs(best.mean() - population.mean()) <= 0.05 * population.std()
        assert best.std() == pytest.approx(population.std(), rel=0.05)


@pytest.mark.parametrize("depth", [10, 30, 100])
def test_the_best_of_very_many_independent_arms(depth):
    """All variance in the last step: the maximum of 5^depth normal variables, by its quantiles."""
    children = unexplored_children((0.0,) * depth + (1.0,), (5,) * depth)
    mpmath.mp.dps = 40
    for share in ("0.25", "0.5", "0.75"):
        # P(max <= x) = (1 - tail)^N = share
        tail = -mpmath.log(mpmath.mpf(share)) / mpmath.mpf(5) ** depth
        start = math.sqrt(2 * depth * math.log(5)) - 1
        quantile = mpmath.findroot(
            lambda x, tail=tail: mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2 / tail), start
        )
        drawn = children[0].best_of(np.array([5.0]), np.array([-math.log(float(share))]))
        assert drawn[0] == pytest.approx(float(quantile), abs=0.02)


def test_one_level_has_a_closed_form():
    """The best of 1, 2 and 3 normal variables of standard deviation 2."""
    (child,) = unexplored_children((0.0, 4.0), (3,))
    rng = np.random.default_rng(0)
    three = math.sqrt(1 + math.sqrt(3) / (2 * math.pi) - 9 / (4 * math.pi))
    closed = [(0, 1), (1 / math.sqrt(math.pi), math.sqrt(1 - 1 / math.pi))]
    closed.append((1.5 / math.sqrt(math.pi), three))
    for count, (mean, std) in enumerate(closed, 1):
        draws = best_of(child, count, 400_000, rng)
        assert draws.mean() == pytest.approx(2 * mean, abs=0.01)
        assert draws.std() == pytest.approx(2 * std, rel=0.01)


# ---------------------------------------------------------------------- regressions


def test_many_nodes_with_a_small_chance_each():
    """No one of them is likely to be the best, but together they are."""
    belief = Belief(Tree(3_000, 1), kernels.Discounted(1.0), 1.0)
    belief.observe((0,), 3.2, noise=0.0)
    for k in range(1, 3_000):
        belief.observe((k,), 0.0, noise=30.0)
    paths = [(k,) for k in range(3_000)]
    best, _ = belief.sample_best(4_000, rng=0)
    assert_alike(best, belief.sample(paths, 4_000, rng=1).max(axis=1))


def test_a_branching_function_that_is_constant_changes_nothing():
    for observed in ([], [(0, 1, 2)]):
        values = []
        for branching in (3, lambda path: 3):
            belief = Belief(Tree(branching, 3), kernels.Linear(), 0.1)
            for path in observed:
                belief.observe(path, 1.0)
            values.append(belief.best_value())
        assert values[0] == values[1]


def test_unexplored_nodes_with_a_prior_mean_that_is_a_function():
    belief = Belief(Tree(3, 3), kernels.Linear(), 0.1, mean=Hill(1))
    belief.observe((0, 0, 0), 1.0)
    assert belief.best_value()[0] == math.inf


@pytest.mark.parametrize("path", [(1, 1, 1), (9, 9, 9), (0, 0, 0, 0), (0, 1), "abc"])
def test_paths_that_cannot_be_drawn(path):
    belief = Belief(Tree(3, 3), kernels.Linear(), 0.1)
    belief.observe((0, 0, 0), 1.0)
    with pytest.raises(ValueError, match="path must lead to an explored node"):
        belief.sample_best(5, path)
    with pytest.raises(ValueError, match="degrees_of_freedom must be positive"):
        belief.sample_best(5, degrees_of_freedom=0.0)
