"""Problems: optima against brute force, names, noise, kernels and prior means."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bough
from bough import kernels, problems
from bough._text import parameters
from bough.problems import (
    BY_NAME,
    DiscountedBandits,
    Drawn,
    Expression,
    HiddenScore,
    Needle,
    Partitioned,
    Problem,
    Rough,
    Route,
    Smooth,
    Trap,
    kind_of,
    named,
    trees,
)
from bough.problems.functions import (
    BRANIN,
    HARTMANN3,
    HARTMANN6,
    HIMMELBLAU,
    ackley,
    levy,
    rastrigin,
    rosenbrock,
)

SEEDS = st.integers(0, 2**64)
FUNCTIONS = [BRANIN, HIMMELBLAU, HARTMANN6, rastrigin(), rastrigin(3), ackley(), ackley(3)]


def all_paths(problem, path=()):
    """Yield the complete paths below a node."""
    width = int(problem.tree.children(path))
    if width == 0:
        yield path
    for step in range(width):
        yield from all_paths(problem, (*path, step))


def random_path(problem, rng):
    path = ()
    while width := int(problem.tree.children(path)):
        path = (*path, int(rng.integers(width)))
    return path


def check_optimum(problem):
    """The optimum is that of all paths, to the last bit, and the best path has it."""
    assert problem.optimum == max(problem.value(path) for path in all_paths(problem))
    assert problem.value(problem.best_path) == problem.optimum


@st.composite
def small_problems(draw):
    """A problem of any kind with at most a few hundred paths."""
    seed = draw(SEEDS)
    branching, depth = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    ratio = draw(st.floats(0.05, 1.0))
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return Smooth(branching, depth, discount=ratio, seed=seed)
    if kind == 1:
        return Rough(branching, depth, growth=1 / ratio, seed=seed)
    if kind == 2:
        rewards = draw(st.sampled_from(["bernoulli", "uniform"]))
        return DiscountedBandits(branching, depth, rewards=rewards, discount=ratio, seed=seed)
    if kind == 3:
        return Trap(depth + 1, seed=seed)
    if kind == 4:
        return Needle(branching, depth, seed=seed)
    if kind == 5:
        return HiddenScore(branching, depth + 1, seed=seed)
    family = draw(
        st.sampled_from([kernels.Linear, kernels.Gaussian, kernels.Discounted, kernels.Geometric])
    )
    return Drawn(family(ratio), branching, depth, mean=draw(st.floats(-3, 3)), seed=seed)


@given(small_problems())
def test_the_optimum_is_that_of_brute_force(problem):
    check_optimum(problem)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"{f.name}{len(f.box)}")
@pytest.mark.parametrize(("cuts", "parts"), [(1, 3), (2, 2)])
def test_the_optimum_of_a_partition_is_that_of_all_cells(function, cuts, parts):
    if len(function.box) == 6 and parts == 3:
        parts = 2
    problem = Partitioned(function, cuts, parts)
    check_optimum(problem)
    for path in itertools.islice(all_paths(problem), 200):
        # From the definition: a step keeps one part of one coordinate's interval.
        box = [list(interval) for interval in function.box]
        for i, step in enumerate(path):
            low, high = box[i % len(box)]
            width = (high - low) / parts
            box[i % len(box)] = [low + step * width, low + (step + 1) * width]
        center = [(low + high) / 2 for low, high in box]
        assert problem.center(path) == pytest.approx(center, abs=1e-12)
        assert problem.value(path) == pytest.approx(-function(*problem.center(path)), abs=1e-9)


@pytest.mark.parametrize(
    "function",
    [*FUNCTIONS, HARTMANN3, levy(6), rosenbrock(4)],
    ids=lambda f: f"{f.name}{len(f.box)}",
)
def test_functions_have_the_minima_of_the_literature(function):
    for place in function.where:
        # The digits given: six of the place, so twelve of a value that is flat there.
        assert function(*place) == pytest.approx(function.minimum, abs=1e-5)
    rng = np.random.default_rng(0)
    low, high = np.array(function.box).T
    points = rng.uniform(low, high, size=(20_000, len(low)))
    assert function(*points.T).min() >= function.minimum
    # Nowhere near a place is it lower.
    for place in function.where:
        near = np.clip(place + 0.01 * rng.standard_normal((2000, len(low))), low, high)
        assert function(*near.T).min() >= function.minimum - 1e-5


@pytest.mark.parametrize("name", ["branin", "himmelblau", "hartmann6", "rastrigin", "ackley"])
def test_partitions_approach_the_limit(name):
    problem = named(name)
    assert problem.optimum <= problem.limit + 1e-5
    if name in ("rastrigin", "ackley"):  # the middle of the box is the middle of a cell
        assert problem.optimum == pytest.approx(problem.limit, abs=1e-12)
        assert problem.center(problem.best_path) == pytest.approx((0, 0), abs=1e-12)
    else:
        # (A finer partition need not be better: its centers are elsewhere.)
        coarse = named(f"{name}:cuts=1")
        assert problem.limit - problem.optimum < 0.1 < problem.limit - coarse.optimum


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_name(name):
    problem, same, other = (named(name, seed=seed) for seed in (3, 3, 4))
    assert isinstance(problem, Problem)
    assert problem.name == name
    path, best = next(all_paths(problem)), problem.best_path
    assert problem.value(best) == problem.optimum >= problem.value(path)
    assert isinstance(problem.value(best), float)
    # The same seed is the same problem, and the same noise.
    assert (problem.optimum, best) == (same.optimum, same.best_path)
    assert [problem(path) for _ in range(20)] == [same(path) for _ in range(20)]
    seeded = [
        (p.optimum, p.best_path, [p(p.best_path) for _ in range(20)]) for p in (problem, other)
    ]
    if not isinstance(problem, Partitioned) or problem.noise:
        assert seeded[0] != seeded[1]
    exact = BY_NAME[name](seed=3, noise=0.0)
    assert exact.noise == 0.0
    assert exact(best) == pytest.approx(exact.optimum, abs=1e-12)
    assert BY_NAME[name](noise=0.25).noise == 0.25
    for bad in [best[:-1], (*best, 0), (-1, *best[1:]), (1000, *best[1:]), (0.5, *best[1:])]:
        with pytest.raises((ValueError, TypeError), match="path"):
            problem.value(bad)
        with pytest.raises((ValueError, TypeError), match="path"):
            problem(bad)
    assert problem.value([np.int64(k) for k in best]) == problem.optimum


@pytest.mark.parametrize("name", sorted(name for name in BY_NAME if "noisy-" not in name))
def test_noise_has_the_stated_standard_deviation(name):
    """Of 4,000 plays of random paths; a sum of normal squares would be within 6 % (5 sigma)."""
    drawn = "discounted:" in name  # where it differs from path to path, and from seed to seed
    rng = np.random.default_rng(0)
    errors = []
    for seed in range(400 if drawn else 1):
        problem = named(name, seed=seed, **({} if drawn else {"noise": 0.3}))
        for _ in range(10 if drawn else 4000):
            path = random_path(problem, rng)
            errors.append(problem(path) - problem.value(path))
    errors = np.array(errors)
    assert math.sqrt(np.mean(errors**2)) == pytest.approx(problem.noise, rel=0.06)
    assert abs(errors.mean()) < 5 * problem.noise / math.sqrt(len(errors))


@pytest.mark.parametrize("rewards", ["bernoulli", "uniform"])
@pytest.mark.parametrize("noise", [None, 0.5])
def test_steps_sum_up_to_the_reward_and_have_the_right_means(rewards, noise):
    make = {"rewards": rewards, "discount": 0.5, "noise": noise, "seed": 5}
    problem, same = DiscountedBandits(3, 4, **make), DiscountedBandits(3, 4, **make)
    path = (2, 0, 1, 1)
    plays = np.array([problem.steps(path) for _ in range(4000)])
    assert [math.fsum(play) for play in plays] == [same(path) for _ in range(4000)]
    # The difference between a path and its prefix is the mean of the last step.
    worth = [
        DiscountedBandits(3, depth, **make).value(path[:depth]) if depth else 0.0
        for depth in range(5)
    ]
    weights = 0.5 ** np.arange(4)
    means, errors = np.diff(worth), plays.std(axis=0) / math.sqrt(4000)
    assert np.all(np.abs(plays.mean(axis=0) - means) < 5 * errors)
    if noise is None:
        immediate = plays / weights
        assert np.all((immediate >= 0) & (immediate <= 1))
        p = means / weights
        spread = p * (1 - p) if rewards == "bernoulli" else np.minimum(p, 1 - p) ** 2 / 3
        assert immediate.var(axis=0) == pytest.approx(spread, rel=0.15)
        assert (rewards == "bernoulli") == (set(immediate.ravel()) == {0.0, 1.0})
    else:
        assert math.sqrt(plays.var(axis=0).sum()) == pytest.approx(noise, rel=0.06)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: Smooth(2, 3, seed=seed),
        lambda seed: Rough(2, 3, growth=3.0, seed=seed),
        lambda seed: DiscountedBandits(2, 3, discount=0.8, seed=seed),
        lambda seed: Drawn(kernels.Gaussian(1.5), 2, 3, mean=2.0, seed=seed),
        lambda seed: Drawn(kernels.Geometric(0.5, root=0.3), 2, 3, seed=seed),
    ],
    ids=["smooth", "rough", "discounted", "gaussian", "geometric"],
)
def test_the_kernel_and_the_mean_are_those_of_many_seeds(make):
    """Covariances of 600 seeds, each within five of its standard errors."""
    paths = list(all_paths(make(0)))
    values = np.array([list(map(make(seed).value, paths)) for seed in range(600)])
    problem = make(0)
    expected = problem.kernel.matrix(paths, problem.tree.depth)
    assert np.all(
        np.abs(values.mean(axis=0) - problem.mean) < 5 * values.std(axis=0) / math.sqrt(600)
    )
    centered = values - problem.mean
    products = centered[:, :, None] * centered[:, None, :]
    errors = products.std(axis=0) / math.sqrt(600)
    assert np.all(np.abs(products.mean(axis=0) - expected) < 5 * errors)


def test_problems_without_a_prior_have_no_kernel():
    for name in ("trap", "needle", "sequence", "route", "expression", "branin"):
        assert named(name).kernel is None


@given(SEEDS, st.integers(1, 8))
def test_the_trap(seed, depth):
    problem = Trap(depth, noise=0.0, seed=seed)
    best = problem.best_path
    assert problem(best) == 1.0
    for d in range(depth):
        turned = (*best[:d], 1 - best[d])
        for rest in ((0,) * (depth - d - 1), (1,) * (depth - d - 1)):
            assert problem((*turned, *rest)) == (depth - 1 - d) / depth
    # Turning away is better on average, but for the last three steps.
    for d in range(depth - 3):
        rest = depth - d - 1
        stay = [problem((*best[: d + 1], *r)) for r in itertools.product((0, 1), repeat=rest)]
        assert np.mean(stay) < (depth - 1 - d) / depth


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_uct_is_trapped(seed):
    """In 2,000 plays UCT does not find the best of 1,024 paths; a search without repeats does."""
    problem = Trap(10, seed=seed)
    found = bough.maximize(problem, problem.tree, budget=2000, searcher="uct", rng=seed)
    assert max(found.history.values) == 0.9
    exact = bough.GPTS(problem.tree, kernels.Linear(), 0.0, rng=seed)
    found = bough.maximize(problem, problem.tree, budget=2000, searcher=exact)
    assert found.best.mean == 1.0


@given(SEEDS, st.integers(2, 8), st.integers(1, 3), st.integers(1, 5))
def test_the_best_route_is_that_of_brute_force(seed, places, neighbors, depth):
    problem = Route(places, min(neighbors, places - 1), depth, seed=seed)
    check_optimum(problem)
    for path in all_paths(problem):
        at_goal = problem.place(path) == problem.goal
        assert problem.value(path) == (-len(path) if at_goal else -2 * depth)
        assert all(problem.place(path[:i]) != problem.goal for i in range(len(path)))


@given(SEEDS, st.integers(3, 5))
def test_the_best_expression_is_that_of_brute_force(seed, depth):
    check_optimum(Expression(depth, seed=seed))


def test_expressions_are_evaluated():
    problem = Expression(seed=1)
    x = np.linspace(-2.0, 2.0, 20)
    texts = {(4, 0, 2, 0): x + np.sin(x), (5, 1, 6, 0, 0): 1 - x * x, (3, 5, 0, 1): np.cos(x - 1)}
    data = problem._evaluate(problem.best_path)
    for path, values in texts.items():
        error = math.sqrt(np.mean((values - data) ** 2)) / data.std()
        assert problem.value(path) == pytest.approx(1 / (1 + error), rel=1e-12)
    assert problem.text((5, 1, 6, 0, 0)) == "- 1 * x x"


def test_deep_trees_cost_no_memory():
    problem = Smooth(50, 40, discount=0.2, seed=1)
    assert problem.tree.log_arms > 150
    assert problem.value(problem.best_path) == problem.optimum > 0.9
    assert HiddenScore(26, 200).optimum > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Smooth(0, 3), "branching must be at least 1"),
        (lambda: Smooth(2, -1), "depth must be at least 0"),
        (lambda: Smooth(2, 3, discount=0.0), "discount must be above 0"),
        (lambda: Smooth(2, 3, noise=-1), "noise must not be negative"),
        (lambda: Smooth(2, 3, noise=math.nan), "noise must be finite"),
        (lambda: Smooth(2, 3, seed=-1), "seed must be at least 0"),
        (lambda: Rough(2, 3, growth=0.5), "growth must be at least 1"),
        (lambda: Rough(5, 12), "at most 2,000,000 paths"),
        (lambda: DiscountedBandits(rewards="normal"), '"bernoulli" or "uniform", got'),
        (lambda: DiscountedBandits(discount=1.5), "discount must be above 0 and at most 1"),
        (lambda: Trap(0), "depth must be at least 1"),
        (lambda: HiddenScore(27, 3), "letters must be at most 26"),
        (lambda: Route(1), "places must be at least 2"),
        (lambda: Route(3, 3), "neighbors must be at most 2"),
        (lambda: Expression(2), "depth must be at least 3"),
        (lambda: Drawn(kernels.Linear(), 10, 10), "at most 4,000,000"),
        (lambda: Drawn(kernels.Gaussian(None)), "width is None"),
        (lambda: Partitioned(BRANIN, 0), "cuts must be at least 1"),
        (lambda: Partitioned(BRANIN, 12), "at most 4,000,000"),
        (lambda: Partitioned(BRANIN, parts=1), "parts must be at least 2"),
        (lambda: named("smoth"), "no problem 'smoth' .did you mean 'smooth'.*needle.*trap"),
        (lambda: named("drawn"), "no problem 'drawn'.*drawn:gaussian"),
        (lambda: named("smooth:depth=x"), "problem 'smooth:depth=x': depth must be an int"),
        (lambda: named("smooth:width=3"), "problem 'smooth:width=3'.*width"),
        (lambda: named("trap:depth="), "written as 3 or depth=5, got 'depth='"),
        (lambda: named("smooth:depth=3:5"), "'5' stands after"),
        (lambda: named("smooth:depth=3:depth=3"), "depth is given twice"),
        (lambda: named("smooth:noise=0.2", noise=0.3), "noise is given apart from the name"),
        (lambda: named("smooth:seed=3"), "seed is given apart from the name"),
        (lambda: named("rastrigin:dimension=0"), "dimension must be at least 1"),
        (lambda: named("ackley:dimension=2.5"), "dimension must be an int"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_best_path_that_is_too_hard_to_find_is_refused(monkeypatch):
    """In a tree of 1,000 binary steps very many paths are best but for the last digits."""
    monkeypatch.setattr(trees, "MOST_STEPS", 1_000_000)
    with pytest.raises(ValueError, match=r"the best of 2\^1000 paths takes too long to find"):
        Smooth(2, 1000).optimum  # noqa: B018
    assert Smooth(2, 12).optimum > 0.5


def test_bad_types():
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        Drawn("gaussian")
    with pytest.raises(TypeError, match="function must be"):
        Partitioned(lambda x: x)
    with pytest.raises(TypeError, match="branin has 2 coordinates, got 1"):
        BRANIN(1.0)


def test_names_with_parameters():
    assert named("drawn:gaussian:3").kernel == kernels.Gaussian(3)
    assert named("drawn:geometric:0.5:2").kernel == kernels.Geometric(0.5, 2)
    assert named("smooth:20:5:discount=0.8").discount == 0.8
    assert named("smooth:20:5").tree == bough.Tree(20, 5)
    assert named("rastrigin:dimension=3:cuts=2").tree == bough.Tree(3, 6)
    assert named("noisy-branin").noise == BRANIN.noise > 0
    assert named("discounted:uniform:noise=0.2").noise == 0.2
    assert named("smooth:5", noise=0.3).noise == 0.3
    assert kind_of("drawn:gaussian:3:depth=5") == "drawn:gaussian"
    assert kind_of("trap") == "trap"
    assert kind_of("trap.py:total") is kind_of("traps") is kind_of("drawn") is None
    assert parameters("") == ([], {})
    assert parameters("1:2.5:a=b:c=-1e3") == ([1, 2.5], {"a": "b", "c": -1000.0})


@pytest.mark.parametrize("name", ["smooth", "discounted:bernoulli", "discounted:uniform"])
def test_plays_with_a_seed_do_not_depend_on_those_before(name):
    problem, other = named(name, seed=1), named(name, seed=1)
    path = problem.best_path
    other(path)
    seeded = [problem.seeded(path, seed) for seed in range(20)]
    assert [other.seeded(path, seed) for seed in reversed(range(20))] == seeded[::-1]
    assert len(set(seeded)) > 5
    untouched = named(name, seed=1)
    assert [problem(path) for _ in range(5)] == [untouched(path) for _ in range(5)]


@pytest.mark.parametrize("name", [5, None, ["smooth"]])
def test_the_name_of_a_problem_is_a_text(name):
    with pytest.raises(TypeError, match="the name of a problem must be a text"):
        problems.named(name)


@pytest.mark.parametrize(
    "name", ["smooth", "rough", "trap", "needle", "route", "expression", "drawn:linear"]
)
@pytest.mark.parametrize("depth", [10**9, 10**400], ids=["billion", "huge"])
def test_huge_depths_are_refused_at_once(name, depth):
    with pytest.raises(ValueError, match="depth must be at most"):
        problems.named(f"{name}:depth={depth}")


@pytest.mark.parametrize(
    "name", ["rastrigin:dimension", "route:places", "sequence:length", "branin:cuts"]
)
def test_huge_sizes_are_refused_at_once(name):
    with pytest.raises(ValueError, match="must be at most"):
        problems.named(f"{name}={10**12}")
