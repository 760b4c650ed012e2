"""Figures of searches of a space: the belief of one partition of several."""

import json
import math
import pathlib
import re

import numpy as np
import pytest

import bough
from bough import plotting
from bough.learning.posterior import paths_of
from bough.plotting.parameters import slot_names
from bough.plotting.view import ABSENT, SearchView
from bough.report import snapshot, trial_columns

CONDITIONAL = bough.Space(
    rate=bough.Float(1e-5, 1e-1, log=True),
    model=bough.Choice({"forest": bough.Space(trees=bough.Int(10, 500)), "linear": None}),
)
PLAIN = bough.Space(x=bough.Float(-5, 5), y=bough.Float(-5, 5))


def loss(params):
    return abs(math.log10(params["rate"]) + 2) + 10 / params.get("trees", 5)


def noisy_bowl():
    rng = np.random.default_rng(3)
    return lambda p: -((p["x"] - 1) ** 2) - 0.01 * p["y"] ** 2 + rng.normal(0, 0.5)


@pytest.fixture(scope="module")
def exact():
    return bough.minimize(loss, CONDITIONAL, budget=80, rng=0)


@pytest.fixture(scope="module")
def noisy():
    return bough.maximize(noisy_bowl(), PLAIN, budget=90, rng=0)


@pytest.mark.parametrize("kind", ["exact", "noisy"])
def test_the_bounds_end_with_the_certificate(kind, request):
    result = request.getfixturevalue(kind)
    data = plotting.convergence_data(result)
    certificate = result.certificate
    assert data.at[-1] == len(result.history)
    assert data.lower[-1] == pytest.approx(certificate.lower, rel=1e-9)
    assert data.upper[-1] == pytest.approx(certificate.upper, rel=1e-9)
    assert (data.lower <= data.upper).all()
    if kind == "exact":  # the best value is known
        np.testing.assert_array_equal(data.mean, data.best)
        assert (data.upper <= data.best).all()


def test_the_bounds_end_with_the_certificate_where_all_points_are_known():
    space = bough.Space(n=bough.Int(1, 3), kind=bough.Choice(["a", "b"]))
    result = bough.maximize(lambda p: p["n"] * (p["kind"] == "a"), space, budget=20, rng=0)
    assert result.certificate.gap == 0.0
    data = plotting.convergence_data(result)
    assert data.gap[-1] == 0.0
    assert data.upper[-1] == result.certificate.upper == 3.0
    first = {}
    for i, params in enumerate(result.history.params):
        first.setdefault(tuple(params.values()), i + 1)
    known = max(first.values())
    assert (data.gap[: known - 1] > 0.0).all()


def test_with_noise_the_mean_is_labeled_as_that_of_a_cell(exact, noisy):
    pytest.importorskip("matplotlib")
    for result, label, of_cell in (
        (exact, "mean of the recommended point", False),
        (noisy, f"mean of the best cell; partition {noisy.certificate.partition + 1} of 8", True),
    ):
        texts = [text.get_text() for text in result.plot().get_legend().get_texts()]
        assert label in texts
        assert snapshot(result)["convergence"]["of_cell"] is of_cell
    cells = plotting.convergence_data(noisy).mean[-1]
    best = SearchView.of(noisy).shown.belief.best_observed(1.0)
    assert cells == pytest.approx(best.mean, rel=1e-9)


def test_public_state_of_a_forest(noisy):
    forest = noisy.searcher
    assert forest.turn == forest.certificate.partition
    assert len(forest.asking.belief) == len(forest.trials) == forest.observations == 90
    assert [seen.value for seen in forest.trials.observations()] == noisy.history.values.tolist()
    forest.priority[:] = 7.0  # a copy
    assert not (forest.priority == 7.0).any()


def test_figures_use_only_public_attributes_of_forests_and_plans():
    folders = (pathlib.Path(bough.__file__).parent / name for name in ("plotting", "report"))
    for file in (file for folder in folders for file in folder.glob("*.py")):
        assert not re.search(r"(forest|searcher|source|policy|cover)\._", file.read_text()), file


def test_earlier_bounds_are_those_of_a_belief_with_the_final_prior(noisy):
    data = plotting.convergence_data(noisy)
    shown = SearchView.of(noisy).shown
    again = bough.Belief(
        shown.tree, shown.belief.kernel, shown.belief.noise, mean=shown.belief.mean
    )
    t = 40
    nodes = paths_of(shown.belief, shown.belief.observations["node"][:t].tolist())
    for node, value in zip(nodes, noisy.history.values, strict=False):
        again.observe(node, value, depth=shown.tree.depth)
    b = noisy.searcher.deviations(t)
    assert data.lower[t - 1] == pytest.approx(again.highest_lower(b).lower, rel=1e-9)
    assert data.upper[t - 1] == pytest.approx(again.highest_upper(b).upper, rel=1e-9)


def test_the_tree_is_that_of_the_partition_that_asks_next(noisy):
    run = SearchView.of(noisy)
    assert run.shown.number == noisy.certificate.partition
    assert run.shown.partitions == noisy.certificate.partitions == 8
    data = plotting.tree_data(noisy)
    paths = [data.path(n) for n in range(len(data.parent))]
    mean, std = run.belief.posterior(paths)
    np.testing.assert_allclose(data.mean, mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(data.std, std, rtol=1e-9, atol=1e-12)
    assert data.visits[0] == 90


def contains(text, params):
    """Return whether params are in the cell of a name."""
    name, rest = text.split(" ", 1)
    value = params.get(name)
    if option := re.fullmatch("= (.*)", rest):
        return str(value) == option[1]
    low, high = map(float, re.fullmatch("(.*) to (.*)", rest).groups())
    slack = 0.02 * (high - low)  # names are rounded
    return value is not None and low - slack <= value <= high + slack


@pytest.mark.parametrize("kind", ["exact", "noisy"])
def test_names_are_those_of_the_cells(kind, request):
    result = request.getfixturevalue(kind)
    run = SearchView.of(result)
    names = run.shown.names(range(-1, len(run.best_path)), [-1, *run.best_path])
    assert names[0] == ""
    assert len(names) > 3
    assert all(contains(text, result.best.params) for text in names[1:])
    data = plotting.tree_data(result)
    names = run.shown.names(data.parent.tolist(), data.step.tolist())
    for n in range(1, len(names)):
        inside = 0
        for params in result.history.params:
            way, node = [], n
            while node:
                way.append(names[node])
                node = data.parent[node]
            inside += all(contains(text, params) for text in way)
        assert inside >= data.visits[n]  # some are observed further up


def test_relevance_and_the_model_on_the_page(exact, noisy):
    data = plotting.relevance_data(noisy)
    assert data.names == ["x", "y"]
    assert data.fitted
    assert data.factors[0] > 3 * data.factors[1]
    assert math.prod(data.factors) == pytest.approx(1)
    facts = snapshot(noisy)
    json.dumps(facts, allow_nan=False)
    assert facts["model"]["noise"] == pytest.approx(0.5, rel=0.5)
    assert not facts["model"]["exact"]
    assert facts["certificate"]["partition"] == facts["tree"]["partition"]
    assert facts["certificate"]["partitions"] == facts["tree"]["partitions"] == 8
    assert facts["certificate"]["params"] == noisy.certificate.params
    assert facts["summary"]["space"] == {"parameters": 2, "points": None}
    assert None not in facts["along"]["std"]
    assert len(facts["along"]["names"]) == len(facts["along"]["mean"])
    facts = snapshot(exact)
    assert facts["model"]["exact"]
    assert "relevance" not in facts["model"]  # the page has one notion of importance
    assert facts["summary"]["best"]["params"] == exact.best.params
    assert "model = forest" in facts["tree"]["names"]


def test_relevance_is_not_fitted_to_one_observation():
    result = bough.maximize(lambda p: p["x"], PLAIN, budget=1, rng=0)
    assert not plotting.relevance_data(result).fitted
    json.dumps(snapshot(result), allow_nan=False)
    assert plotting.relevance_data(bough.maximize(sum, bough.Tree(2, 3), budget=5)) is None


def test_figures_and_page_of_an_empty_space():
    result = bough.maximize(lambda _: 1.0, bough.Space(), budget=2, rng=0)
    assert plotting.relevance_data(result) is None
    assert snapshot(result)["parameters"]["names"] == []


def test_names_that_recur_have_their_option():
    options = {"a": bough.Space(n=bough.Int(1, 9)), "b": bough.Space(n=bough.Int(1, 5))}
    space = bough.Space(kind=bough.Choice(options), x=bough.Float(0, 1))
    assert slot_names(space) == ["kind", "n (kind = a)", "n (kind = b)", "x"]


def test_figures_do_not_change_the_search():
    def asked(look):
        search = bough.Forest(CONDITIONAL, rng=5)
        found = []
        for k in range(25):
            params = search.ask()
            found.append(params)
            search.tell(params, -loss(params))
            if look and k % 3 == 0:
                snapshot(search)
        return found

    assert asked(True) == asked(False)


def test_a_forest_without_a_result():
    search = bough.Forest(PLAIN, rng=0)
    without_observations = snapshot(search)
    assert without_observations["along"] is None
    search.tell({"x": 1.0, "y": 2.0}, 3.0, noise=0.1)
    assert SearchView.of(search).values.tolist() == [3.0]
    assert snapshot(search)["summary"]["best"]["params"] == {"x": 1.0, "y": 2.0}


def test_other_searchers_of_a_space_have_one_partition():
    result = bough.maximize(lambda p: -(p["x"] ** 2), PLAIN, budget=30, searcher="hoo", rng=0)
    facts = snapshot(result)
    assert facts["tree"]["cells"]
    assert facts["tree"]["partitions"] == 1
    assert facts["model"] is None
    assert re.fullmatch(r"[xy] -?[\d.]+ to -?[\d.]+", facts["tree"]["names"][1])
    assert None not in facts["tree"]["unexplored"]


def test_the_table_of_a_space_has_no_paths(exact):
    columns = trial_columns(exact)
    assert columns["path"] is None
    assert columns["choices"]["trees"]["at"].count(None) == sum(
        "trees" not in params for params in exact.history.params
    )


def test_no_regret_bound_for_a_forest(noisy):
    assert len(plotting.regret_data(noisy, 0.0).bound) == 0


def test_none_may_be_an_option():
    space = bough.Space(depth=bough.Choice([None, 3, 5]), x=bough.Float(0, 1))
    result = bough.maximize(lambda p: 2.0 if p["depth"] is None else 1.0, space, budget=40, rng=0)
    run = SearchView.of(result)
    assert ABSENT not in run.columns["depth"]
    column = trial_columns(result)["choices"]["depth"]
    assert column["categories"] == ["3", "5", "None"]
    assert None not in column["at"]
    data = plotting.slice_data(result, "depth")
    assert len(data.at) == 40
    assert plotting.importance_data(result).names[0] == "depth"
    assert plotting.importance_data(result).shares[0] == pytest.approx(1)


@pytest.mark.parametrize("kind", ["exact", "noisy"])
def test_every_figure_of_a_space(kind, request):
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(6, 20))
    result = request.getfixturevalue(kind)
    kinds = [kind for kind in plotting.DRAWINGS if kind != "regret"]
    panels = dict(zip(kinds, figure.subplots(len(kinds)), strict=True))
    for kind, ax in panels.items():
        assert result.plot(kind, ax=ax) is ax
    figure.canvas.draw()
    assert "partition" in panels["tree"].get_title()


def test_control_characters_are_escaped_in_figures():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    space = bough.Space(**{"x\x1b[2J": bough.Choice(["a\x07", "b\n"])})
    result = bough.maximize(lambda p: len(p), space, budget=2, rng=0)
    ax = result.plot("slice", ax=figure.subplots())
    assert ax.get_xlabel() == r"x\x1b[2J"
    assert [text.get_text() for text in ax.get_xticklabels()] == [r"a\x07", r"b\n"]
    figure.canvas.draw()  # a character without a glyph would be a warning
