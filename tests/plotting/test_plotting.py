"""Figures: their data against small examples, and the structure of the drawings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bough
from bough import kernels, plotting
from bough.plotting.convergence import checkpoints
from bough.plotting.tree import icicle
from bough.plotting.view import SearchView, observations
from bough.studies.trials import Trial


def view_of(paths, values, **more):
    """Return a view of completed trials, without a searcher."""
    rows = zip(paths, values, strict=True)
    return SearchView(
        [Trial(i, p, None, v, "completed", i, i + 0.5) for i, (p, v) in enumerate(rows)],
        None,
        **more,
    )


def view_of_params(rows, values):
    """Return a view of completed trials with parameters, as a space has them."""
    return SearchView(
        [
            Trial(i, (i,), p, v, "completed", i, i)
            for i, (p, v) in enumerate(zip(rows, values, strict=True))
        ],
        None,
    )


def searched(searcher="gpts", budget=60, **more):
    noise = np.random.default_rng(1)
    tree = bough.Tree(3, 4)
    return bough.maximize(
        lambda path: sum(path) + 0.1 * noise.normal(),
        tree,
        budget=budget,
        searcher=searcher,
        rng=0,
        **more,
    )


# ---------------------------------------------------------------------- convergence


def test_best_value_so_far():
    values = [1.0, 3.0, 2.0, 5.0, 4.0]
    data = plotting.convergence_data(view_of([(i,) for i in range(5)], values))
    assert data.values.tolist() == values
    assert data.best.tolist() == [1.0, 3.0, 3.0, 5.0, 5.0]
    assert len(data.at) == len(data.gap) == 0  # no searcher, no belief
    down = plotting.convergence_data(
        view_of([(i,) for i in range(5)], values, direction="minimize")
    )
    assert down.best.tolist() == [1.0] * 5


def test_trials_count_in_the_order_in_which_they_ended():
    late = Trial(0, (0,), None, 9.0, "completed", 0.0, 5.0)
    early = Trial(1, (1,), None, 1.0, "completed", 1.0, 2.0)
    failed = Trial(2, (2,), None, None, "failed", 1.0, 3.0, None, "no reason")
    running = Trial(3, (3,), None, None, "running", 1.0)
    data = plotting.convergence_data(SearchView([late, early, failed, running], None))
    assert data.values.tolist() == [1.0, 9.0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": kernels.Linear(), "noise": 0.1},
        {"kernel": kernels.Gaussian(2.0), "noise": 0.1, "select": "arm"},
        {"growth": "deepening"},
        {"growth": "rollout", "noise": 0.3},
    ],
    ids=str,
)
def test_the_last_bounds_are_the_certificate(options):
    tree = bough.Tree(3, 4)
    search = bough.GPTS(tree, rng=0, **options)
    noise = np.random.default_rng(2)
    result = bough.maximize(
        lambda path: sum(path) + 0.1 * noise.normal(), tree, budget=50, searcher=search
    )
    data = plotting.convergence_data(result)
    assert data.at.tolist() == list(range(1, 51))
    assert data.lower[-1] == pytest.approx(result.certificate.lower, rel=1e-9)
    assert data.upper[-1] == pytest.approx(result.certificate.upper, rel=1e-9)
    assert np.isfinite(data.gap[4:]).all()
    assert (data.gap >= 0).all()


def test_earlier_bounds_are_those_of_a_search_that_stops_there():
    tree = bough.Tree(3, 4)
    options = {"kernel": kernels.Linear(), "noise": 0.2}
    search = bough.GPTS(tree, rng=0, **options)
    seen = []
    for k in range(30):
        path = search.ask()
        search.tell(path, float(sum(path)) + 0.01 * k)
        seen.append((search.best().mean, search.certificate.lower, search.certificate.upper))
    data = plotting.convergence_data(search)
    assert np.transpose([data.mean, data.lower, data.upper]) == pytest.approx(
        np.array(seen), rel=1e-9
    )


def test_observations_in_steps_and_with_their_own_noise():
    search = bough.GPTS(bough.Tree(3, 3), kernels.Linear(), noise=0.2, rng=0)
    for k in range(12):
        path = search.ask()
        if k % 3 == 0:
            search.tell(path, steps=[0.1 * step for step in path])
        else:
            search.tell(path, 0.1 * sum(path), noise=0.3 if k % 2 else None)
    assert len(observations(search.belief)) == 12
    data = plotting.convergence_data(search)
    assert data.values == pytest.approx([0.1 * sum(path) for path in SearchView.of(search).paths])
    assert data.upper[-1] == pytest.approx(search.certificate.upper, rel=1e-9)
    assert data.lower[-1] == pytest.approx(search.certificate.lower, rel=1e-9)


def test_figures_of_minimize_have_the_sign_of_the_values():
    result = bough.minimize(lambda path: 5.0 + sum(path), bough.Tree(3, 3), budget=30, rng=0)
    data = plotting.convergence_data(result)
    assert result.direction == "minimize"
    assert data.best[-1] == min(result.history.values)
    assert data.lower[-1] == pytest.approx(result.certificate.lower, rel=1e-9)
    assert data.upper[-1] == pytest.approx(result.certificate.upper, rel=1e-9)
    assert plotting.tree_data(result).mean[0] > 0
    assert plotting.increments_data(result).mean > 0
    assert plotting.along_data(result).mean[-1] == pytest.approx(result.best.mean)


def test_no_upper_bound_if_the_number_of_arms_is_unknown():
    result = bough.maximize(sum, bough.Tree(lambda path: 2, 4), budget=20, rng=0)
    data = plotting.convergence_data(result)
    assert np.isinf(data.upper).all()
    assert np.isfinite(data.lower[4:]).all()
    assert not np.isnan(data.gap).any()


@pytest.mark.parametrize(("count", "most"), [(1, 5), (5, 5), (6, 5), (10**6, 200)])
def test_checkpoints(count, most):
    marks = checkpoints(count, most)
    assert marks == sorted(set(marks))
    assert len(marks) <= most
    assert (marks[0], marks[-1]) == (1, count)


# ---------------------------------------------------------------------- regret


def test_regret():
    data = plotting.regret_data(view_of([(0,), (1,), (2,)], [1.0, 4.0, 3.0]), optimum=4.0)
    assert data.cumulative.tolist() == [3.0, 3.0, 4.0]
    assert len(data.bound) == 0
    true = plotting.regret_data(view_of([(0,), (1,)], [9.0, 9.0]), 2.0, value=lambda path: path[0])
    assert true.cumulative.tolist() == [2.0, 3.0]


def test_regret_has_the_bound_of_the_theory():
    tree, kernel = bough.Tree(3, 4), kernels.Linear()
    search = bough.GPTS(tree, kernel, noise=0.5, rng=0)
    result = bough.maximize(sum, tree, budget=25, searcher=search)
    data = plotting.regret_data(result, 8.0)
    assert data.bound[-1] == pytest.approx(bough.theory.regret_bound(kernel, 3, 4, 0.5, 25))
    ragged = bough.maximize(sum, bough.Tree([2, 3], 2), budget=5, rng=0)
    assert len(plotting.regret_data(ragged, 3.0).bound) == 0


# ---------------------------------------------------------------------- the tree


def test_the_tree_of_trials():
    run = view_of([(0, 1), (0, 1), (0, 0), (2, 1)], [1.0, 3.0, 5.0, 7.0])
    explored = plotting.tree_data(run)
    found = {explored.path(n): n for n in range(len(explored.parent))}
    assert set(found) == {(), (0,), (2,), (0, 0), (0, 1), (2, 1)}
    assert explored.visits[found[()]] == 4
    assert explored.mean[found[()]] == 4.0
    assert explored.mean[found[(0,)]] == 3.0
    assert explored.visits[found[(0, 1)]] == 2
    assert np.isnan(explored.unexplored).all()  # without a searcher the tree is unknown


def slow_posterior(result):
    """Return the posterior and visits of every prefix of an observed path."""
    prefixes = sorted({t[:i] for t in result.history.paths for i in range(len(t) + 1)})
    mean, std = result.searcher.belief.posterior(prefixes)
    visits = [sum(t[: len(p)] == p for t in result.history.paths) for p in prefixes]
    return dict(zip(prefixes, zip(mean, std, visits, strict=True), strict=True))


@pytest.mark.parametrize("branching", [3, 200], ids=["few", "grouped"])
def test_every_node_has_its_posterior(branching):
    rng = np.random.default_rng(0)
    tree = bough.Tree(branching, 3)
    result = bough.maximize(lambda path: -sum(path) + rng.normal(), tree, budget=150, rng=0)
    explored = plotting.tree_data(result, most=10**6)
    slow = slow_posterior(result)
    assert {explored.path(n) for n in range(len(explored.parent))} == set(slow)
    for n in range(len(explored.parent)):
        mean, std, visits = slow[explored.path(n)]
        assert explored.mean[n] == pytest.approx(mean, abs=1e-9)
        assert explored.std[n] == pytest.approx(std, abs=1e-9)
        assert explored.visits[n] == visits
        children = sum(explored.parent == n)
        leaf = explored.depth[n] == 3
        assert explored.unexplored[n] == (0 if leaf else branching - children)
    assert (explored.certainty >= 0).all()
    assert (explored.certainty <= 1).all()


def test_a_part_of_the_tree_contains_parents_and_the_best_path():
    result = searched(budget=200)
    everything = plotting.tree_data(result, most=10**6)
    part = plotting.tree_data(result, most=10)
    assert len(part.parent) <= 10 + 4  # and the best path
    paths = [part.path(n) for n in range(len(part.parent))]
    assert all(path[:-1] in paths for path in paths if path)
    assert result.best.path in paths
    whole = {everything.path(n): n for n in range(len(everything.parent))}
    for n, path in enumerate(paths):
        shown = sum(part.parent == n)
        assert shown + part.hidden[n] == sum(everything.parent == whole[path])
        assert part.visits[n] == everything.visits[whole[path]]
        assert part.unexplored[n] == everything.unexplored[whole[path]]


def test_children_share_the_width_of_their_parent():
    explored = plotting.tree_data(searched(budget=100))
    left, right = icicle(explored)
    assert (left[0], right[0]) == (0.0, 1.0)
    assert (right > left).all()
    for n in range(1, len(left)):
        p = explored.parent[n]
        assert left[n] >= left[p] - 1e-12
        assert right[n] <= right[p] + 1e-12
    for p in set(explored.parent[1:].tolist()):
        below = np.flatnonzero(explored.parent == p)
        order = below[np.argsort(left[below])]
        assert (left[order[1:]] >= right[order[:-1]] - 1e-12).all()  # no overlap
        whole = explored.unexplored[p] == 0
        assert right[order[-1]] == pytest.approx(
            right[p] if whole else right[p] - 0.08 * (right[p] - left[p])
        )


def test_infinite_trees_and_children_of_a_prior_mean():
    endless = bough.maximize(sum, bough.Tree(math.inf, 3), budget=10, rng=0)
    assert np.isinf(plotting.tree_data(endless).unexplored[0])
    guess = bough.GPTS(bough.Tree(5, 3), kernels.Linear(), 0.1, mean=lambda path: -sum(path), rng=0)
    guess.tell((0, 0, 0), 1.0)
    explored = plotting.tree_data(
        guess
    )  # children that only the prior mean has made are unexplored
    assert len(explored.parent) == 4
    assert explored.unexplored.tolist() == [4, 4, 4, 0]


# ---------------------------------------------------------------------- path, increments


def test_along_the_best_path():
    result = searched(budget=80)
    data = plotting.along_data(result)
    mean, std = result.searcher.belief.posterior([data.path[:i] for i in range(5)])
    assert data.mean == pytest.approx(mean)
    assert data.std == pytest.approx(std)
    assert data.visits[0] == 80
    assert data.prior[-1] == pytest.approx(
        math.sqrt(result.searcher.belief.kernel.increments(4).sum())
    )
    counted = plotting.along_data(view_of([(0, 1), (0, 0)], [1.0, 3.0]))
    assert counted.path == (0, 0)
    assert counted.mean.tolist() == [2.0, 2.0, 3.0]
    assert counted.visits.tolist() == [2, 2, 1]


def test_increments():
    search = bough.GPTS(bough.Tree(2, 3), kernels.Discounted(0.5), noise=0.3, mean=2.0, rng=0)
    assert plotting.increments_data(search) is None  # no observations
    search.tell((0, 0, 0), 1.0)
    data = plotting.increments_data(search)
    assert data.variance == pytest.approx([0.0, 1.0, 0.25, 0.0625])
    assert (data.noise, data.mean, data.fitted) == (0.3, 2.0, False)
    assert plotting.increments_data(searched()).fitted
    assert plotting.increments_data(searched("uct")) is None


# ---------------------------------------------------------------------- parameters


def test_importance():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=400), rng.uniform(size=400)
    kind = rng.choice(["a", "b"], size=400)
    rows = [{"x": a, "y": b, "kind": str(c)} for a, b, c in zip(x, y, kind, strict=True)]
    data = plotting.importance_data(view_of_params(rows, np.where(kind == "a", 0.0, 1.0).tolist()))
    shares = dict(zip(data.names, data.shares, strict=True))
    assert data.names[0] == "kind"
    assert shares["kind"] == pytest.approx(1.0)
    assert shares["y"] < 0.05  # adjusted for chance
    steps = plotting.importance_data(view_of_params(rows, (x > 0.5).astype(float).tolist()))
    assert steps.names[0] == "x"


def test_conditional_parameters_may_be_missing():
    rows = [{"use": True, "rate": 0.001 * 10**k} if k % 2 else {"use": False} for k in range(6)]
    run = view_of_params(rows, [float(k) for k in range(6)])
    assert set(plotting.importance_data(run).names) == {"use", "rate"}
    rate = plotting.slice_data(run, "rate")
    assert rate.trials == [1, 3, 5]
    assert rate.logarithmic
    assert rate.categories is None
    assert plotting.slice_data(run, "use").categories == ["False", "True"]
    with pytest.raises(ValueError, match="one of the parameters"):
        plotting.slice_data(run, "depth")


def test_a_conditional_parameter_does_not_explain_its_choice():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=400)
    deep = rng.choice([True, False], size=400)
    both = zip(x.tolist(), deep.tolist(), strict=True)
    rows = [{"deep": d, "x": a} if d else {"deep": d} for a, d in both]
    by_choice = plotting.importance_data(view_of_params(rows, deep.astype(float).tolist()))
    assert dict(zip(*by_choice[:2], strict=True)) == {"deep": pytest.approx(1.0), "x": 0.0}
    # Its own effect is a share of the total variance, as for any other parameter.
    values = np.where(deep, np.floor(8 * x), 10.0)
    data = plotting.importance_data(view_of_params(rows, values.tolist()))
    shares = dict(zip(*data[:2], strict=True))
    assert (data.low <= data.shares).all()
    assert (data.shares <= data.high).all()
    inside = ((values - np.where(deep, values[deep].mean(), 10.0)) ** 2).sum()
    assert shares["x"] == pytest.approx(inside / ((values - values.mean()) ** 2).sum(), rel=0.1)
    assert shares["deep"] == pytest.approx(1 - shares["x"], rel=0.1)


@given(st.integers(1, 25), st.integers(0, 99))
def test_little_is_known_of_a_parameter_that_few_trials_have(count, seed):
    values = np.random.default_rng(seed).normal(size=50)
    rows = [{"use": i < count} | ({"x": float(values[i])} if i < count else {}) for i in range(50)]
    data = plotting.importance_data(view_of_params(rows, values.tolist()))
    i = data.names.index("x")
    unknown = (data.low[i], data.high[i]) == (0.0, 1.0)
    assert unknown == (count < 20)


def test_the_importance_of_a_step_is_that_of_the_kernel():
    """A step that follows from those before it in the trials does not share their importance."""
    pytest.importorskip("matplotlib")
    tree = bough.Tree(2, 2)
    kernel = bough.kernels.Chi.of_increments([5.0, 0.9, 1e-6])
    search = bough.GPTS(tree, kernel, noise=0.1, rng=0)
    for path, value in {(0, 0): 0.0, (1, 1): 1.0}.items():
        for _ in range(30):
            search.tell(path, value)
    data = plotting.importance_data(search)
    assert data.names == ["step 1", "step 2"]
    total = 0.9 + 1e-6 + 0.1**2
    np.testing.assert_allclose(data.shares, [0.9 / total, 1e-6 / total])
    assert np.isnan([data.low, data.high]).all()
    other = bough.maximize(sum, tree, budget=40, searcher="uct", rng=0)
    assert np.isfinite(plotting.importance_data(other).low).all()  # without a kernel: by the trials
    assert plotting.importance(search).get_xlabel().startswith("importance")


def test_labels_are_the_categories_of_steps():
    tree = bough.Tree([2, 3], 2, labels=[["left", "right"], ["stop", "walk", "run"]])
    result = bough.maximize(lambda way: len(way[1]), tree, budget=6, rng=0)
    data = plotting.slice_data(result, "step 2")
    assert data.categories == ["run", "stop", "walk"]
    assert len(data.values) == 6
    assert plotting.importance_data(result).names[0] == "step 2"


# ---------------------------------------------------------------------- comparison


def test_comparison_of_results():
    runs = {
        "a": [view_of([(0,), (1,)], [1.0, 5.0]), view_of([(0,), (1,)], [3.0, 2.0])],
        "b": view_of([(0,)], [2.0]),
    }
    data = plotting.comparison_data(runs)
    assert data["a"].mean.tolist() == [2.0, 4.0]
    assert (data["a"].low.tolist(), data["a"].high.tolist()) == ([1.0, 3.0], [3.0, 5.0])
    assert data["b"].at.tolist() == [1.0]
    with pytest.raises(ValueError, match="no results"):
        plotting.comparison_data({"c": []})


def test_comparison_of_an_experiment():
    from bough.experiments import compare

    found = compare(
        ["smooth", "trap"],
        ["uct", "random"],
        budget=20,
        seeds=2,
        tuning_seeds=1,
        workers=1,
        progress=False,
    )
    data = plotting.comparison_data(found, "smooth")
    assert set(data) == {"uct", "random"}
    assert data["random"].at[-1] == 20
    with pytest.raises(ValueError, match="problem must be one of smooth, trap"):
        plotting.comparison_data(found)
    with pytest.raises(ValueError, match="measure must be one of"):
        plotting.comparison_data(found, "smooth", "luck")


def test_invalid_sources():
    with pytest.raises(TypeError, match="source must be .*, got 7"):
        plotting.convergence_data(7)
    with pytest.raises(TypeError, match="with a belief"):
        plotting.tree_data(bough.UCT(bough.Tree(2, 2)))


# ---------------------------------------------------------------------- any history


def sources():
    nothing = view_of([], [])
    one = bough.maximize(sum, bough.Tree(2, 3), budget=1, rng=0)
    alone = bough.maximize(lambda path: 1.0, bough.Tree(1, 0), budget=1, rng=0)

    def sometimes(path):
        if path[0] == 1:
            raise ArithmeticError("no luck")
        return float(sum(path))

    failed = bough.maximize(sometimes, bough.Tree(2, 3), budget=9, catch=ArithmeticError, rng=0)
    equal = bough.maximize(lambda path: 3.0, bough.Tree(2, 3), budget=5, rng=0)
    return {"nothing": nothing, "one": one, "alone": alone, "failed": failed, "equal": equal,
            "counted": searched("uct"), "drawn": searched()}  # fmt: skip


@pytest.fixture(scope="module")
def histories():
    return sources()


@pytest.mark.parametrize("name", ["nothing", "one", "alone", "failed", "equal", "counted", "drawn"])
def test_data_have_no_missing_numbers(histories, name):
    source = histories[name]
    data = plotting.convergence_data(source)
    assert not any(np.isnan(column).any() for column in data)
    assert not np.isnan(data.gap).any()
    explored = plotting.tree_data(source)
    assert not np.isnan(explored.certainty).any()
    assert not np.isnan(explored.mean).any()
    assert np.isfinite(plotting.importance_data(source).shares).all()
    assert not np.isnan(plotting.regret_data(source, 5.0).cumulative).any()


@pytest.mark.parametrize("name", ["nothing", "one", "alone", "failed", "equal", "counted", "drawn"])
def test_drawings(histories, name):
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(6, 20))
    kinds = ["convergence", "tree", "along", "increments", "importance", "slice_of"]
    for kind, ax in zip(kinds, figure.subplots(len(kinds)), strict=True):
        assert getattr(plotting, kind)(histories[name], ax=ax) is ax
        assert len(ax.lines) + len(ax.patches) + len(ax.collections) + len(ax.texts) > 0
    figure.canvas.draw()


def test_names_are_escaped_and_cut():
    figure = pytest.importorskip("matplotlib.figure")
    names = ["$\\frac$", "a$b_$", "x" * 200]
    tree = bough.Tree(3, 2, labels=names)
    result = bough.maximize(lambda words: words.count(names[1]), tree, budget=9, rng=0)
    for kind in ("along", "slice", "importance"):
        ax = result.plot(kind, ax=figure.Figure().subplots())
        ax.figure.canvas.draw()
    ax = result.plot("slice", ax=figure.Figure().subplots())
    texts = [text.get_text() for text in ax.get_xticklabels()]
    assert texts == [r"\$\frac\$", r"a\$b_\$", "x" * 31 + "\u2026"]


def test_long_paths_and_single_points():
    figure = pytest.importorskip("matplotlib.figure")
    deep = bough.maximize(lambda path: float(path[0]), bough.Tree(2, 200), budget=3, rng=0)
    ax = deep.plot("along", ax=figure.Figure().subplots())
    assert 5 < len(ax.get_xticks()) <= 16
    assert len(deep.plot("tree", ax=figure.Figure().subplots()).get_yticks()) <= 20
    one = bough.maximize(sum, bough.Tree(2, 3), budget=1, rng=0)
    for kind, options in (("convergence", {}), ("regret", {"optimum": 3.0})):
        ax = one.plot(kind, ax=figure.Figure().subplots(), **options)
        assert ax.lines[-2].get_marker() == "o"  # a line would be invisible
    with pytest.raises(ValueError, match="optimum"):
        one.plot("regret", optimum=math.nan)


def test_the_structure_of_drawings(histories):
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots(6)
    result = histories["drawn"]
    result.plot(ax=axes[0])
    lines = {line.get_label(): line for line in axes[0].lines}
    data = plotting.convergence_data(result)
    assert lines["best value so far"].get_ydata().tolist() == data.best.tolist()
    assert lines["mean of the recommended path"].get_xdata().tolist() == data.at.tolist()
    result.plot("tree", ax=axes[1])
    explored = plotting.tree_data(result)
    assert len(axes[1].collections[0].get_paths()) == len(explored.parent)
    assert len(axes[1].lines[0].get_xdata()) == 5  # the best path, from the root to its leaf
    result.plot("increments", ax=axes[2])
    assert [bar.get_height() for bar in axes[2].patches] == pytest.approx(
        plotting.increments_data(result).variance
    )
    result.plot("importance", ax=axes[3])
    assert [text.get_text() for text in axes[3].get_yticklabels()] == plotting.importance_data(
        result
    ).names
    result.plot("regret", ax=axes[4], optimum=8.0)
    assert [line.get_label() for line in axes[4].lines][:2] == ["regret", "theoretical bound"]
    plotting.comparison({"gpts": result, "uct": histories["counted"]}, ax=axes[5])
    assert [line.get_label() for line in axes[5].lines] == ["gpts", "uct"]
    with pytest.raises(ValueError, match="kind must be one of convergence"):
        result.plot("pie")


def test_many_trials():
    paths = [(k % 7, k % 5, k % 3) for k in range(100_000)]
    run = view_of(paths, [math.sin(k) for k in range(100_000)])
    assert len(plotting.convergence_data(run).best) == 100_000
    explored = plotting.tree_data(run, most=50)
    assert explored.visits[0] == 100_000
    assert len(explored.parent) <= 53
    search = bough.GPTS(bough.Tree(7, 3), kernels.Linear(), noise=1.0, rng=0)
    for k in range(20_000):
        search.tell((k % 7, k % 5, k % 3), math.sin(k))
    data = plotting.convergence_data(search)
    assert len(data.at) <= 200
    assert data.upper[-1] == pytest.approx(search.certificate.upper, rel=1e-9)


def test_narrow_boxes_are_not_hidden_by_their_lines():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    trials = [Trial(k, (k, 0), None, float(k), "completed", k, k) for k in range(600)]
    ax = plotting.tree(SearchView(trials, None), ax=figure.subplots())
    (boxes,) = ax.collections
    widths = [path.get_extents().width for path in boxes.get_paths()]
    lines = boxes.get_linewidths()
    assert min(lines) == 0.0
    assert max(lines) > 0.0
    assert all((line > 0) == (width > 0.008) for line, width in zip(lines, widths, strict=True))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_interval_of_an_importance(share):
    """It holds the share of the variance about as often as it says."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(100):
        x = rng.integers(0, 5, 100)
        effect = np.sqrt(share / 2) * (x - 2)  # of variance `share`
        values = effect + np.sqrt(1 - share) * rng.standard_normal(100)
        data = plotting.importance_data(view_of_params([{"x": int(i)} for i in x], values.tolist()))
        held.append(data.low[0] <= share <= data.high[0])
    assert 85 <= sum(held) <= 100
