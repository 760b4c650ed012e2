"""Figures of searches of a space: what one covering of several believes, and whose it is."""

import json
import math
import pathlib
import re

import numpy as np
import pytest

import bough
from bough import plotting
from bough.learning.data import paths_of
from bough.plotting.relevance import slot_names
from bough.plotting.run import ABSENT, Run
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
    if kind == "exact":  # the best value is known, and nothing can be worse than the best of all
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


def test_where_there_is_noise_the_mean_is_said_to_be_that_of_a_cell(exact, noisy):
    pytest.importorskip("matplotlib")
    for result, label, of_cell in (
        (exact, "mean of the recommended point", False),
        (noisy, f"mean of the best cell; covering {noisy.certificate.covering + 1} of 8", True),
    ):
        texts = [text.get_text() for text in result.plot().get_legend().get_texts()]
        assert label in texts
        assert snapshot(result)["convergence"]["of_cell"] is of_cell
    cells = plotting.convergence_data(noisy).mean[-1]
    best = Run.of(noisy).shown.belief.best_observed(1.0)
    assert cells == pytest.approx(best.mean, rel=1e-9)


def test_what_a_forest_shows_of_itself(noisy):
    forest = noisy.searcher
    assert forest.turn == forest.certificate.covering
    assert len(forest.asking.belief) == len(forest.told) == forest.observations == 90
    assert [reading.value for reading in forest.told.readings] == noisy.history.values.tolist()
    forest.priority[:] = 7.0  # a copy
    assert not (forest.priority == 7.0).any()


def test_figures_look_at_nothing_private_of_forests_and_plans():
    folders = (pathlib.Path(bough.__file__).parent / name for name in ("plotting", "report"))
    for file in (file for folder in folders for file in folder.glob("*.py")):
        assert not re.search(r"(forest|searcher|source|policy|cover)\._", file.read_text()), file


def test_the_bounds_of_each_moment_are_those_the_search_would_have_had(noisy):
    """Told so many, and with what was learnt in the end: an independent covering says the same."""
    data = plotting.convergence_data(noisy)
    shown = Run.of(noisy).shown
    again = bough.Belief(
        shown.tree, shown.belief.kernel, shown.belief.noise, mean=shown.belief.mean
    )
    t = 40
    nodes = paths_of(shown.belief, shown.belief.observations["node"][:t].tolist())
    for node, value in zip(nodes, noisy.history.values, strict=False):
        again.observe(node, value, depth=shown.tree.depth)
    b = bough.Confidence().sqrt_beta(t + 1, shown.tree.log_arms)
    assert data.lower[t - 1] == pytest.approx(again.highest_lower(b).lower, rel=1e-9)
    assert data.upper[t - 1] == pytest.approx(again.highest_upper(b).upper, rel=1e-9)


def test_the_tree_is_that_of_the_covering_which_asks(noisy):
    run = Run.of(noisy)
    assert run.shown.number == noisy.certificate.covering
    assert run.shown.coverings == noisy.certificate.coverings == 8
    data = plotting.tree_data(noisy)
    paths = [data.path(n) for n in range(len(data.parent))]
    mean, std = run.belief.posterior(paths)
    np.testing.assert_allclose(data.mean, mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(data.std, std, rtol=1e-9, atol=1e-12)
    assert data.visits[0] == 90


def contains(text, params):
    """Return whether params are in the cell that a name describes."""
    name, rest = text.split(" ", 1)
    value = params.get(name)
    if option := re.fullmatch("= (.*)", rest):
        return str(value) == option[1]
    low, high = map(float, re.fullmatch("(.*) to (.*)", rest).groups())
    slack = 0.02 * (high - low)  # names have as many digits as it takes to see how wide it is
    return value is not None and low - slack <= value <= high + slack


@pytest.mark.parametrize("kind", ["exact", "noisy"])
def test_names_are_those_of_the_cells(kind, request):
    result = request.getfixturevalue(kind)
    run = Run.of(result)
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
        assert inside >= data.visits[n]  # some were told further up: of their cell little is known


def test_what_was_learnt_and_whose_it_is(exact, noisy):
    data = plotting.relevance_data(noisy)
    assert data.names == ["x", "y"]
    assert data.learnt
    assert data.factors[0] > 3 * data.factors[1]
    assert math.prod(data.factors) == pytest.approx(1)
    facts = snapshot(noisy)
    json.dumps(facts, allow_nan=False)
    assert facts["learnt"]["relevance"]["names"] == ["x", "y"]
    assert facts["learnt"]["noise"] == pytest.approx(0.5, rel=0.5)
    assert not facts["learnt"]["exact"]
    assert facts["certificate"]["covering"] == facts["tree"]["covering"]
    assert facts["certificate"]["coverings"] == facts["tree"]["coverings"] == 8
    assert facts["certificate"]["params"] == noisy.certificate.params
    assert facts["summary"]["space"] == {"parameters": 2, "points": None}
    assert None not in facts["along"]["std"]
    assert len(facts["along"]["names"]) == len(facts["along"]["mean"])
    facts = snapshot(exact)
    assert facts["learnt"]["exact"]
    assert set(facts["learnt"]["relevance"]["names"]) == {"rate", "model", "trees"}
    assert facts["summary"]["best"]["params"] == exact.best.params
    assert "model = forest" in facts["tree"]["names"]


def test_nothing_is_learnt_of_few():
    result = bough.maximize(lambda p: p["x"], PLAIN, budget=1, rng=0)
    assert not plotting.relevance_data(result).learnt
    json.dumps(snapshot(result), allow_nan=False)
    assert plotting.relevance_data(bough.maximize(sum, bough.Tree(2, 3), budget=5)) is None


def test_an_empty_space_has_figures_and_a_page():
    result = bough.maximize(lambda _: 1.0, bough.Space(), budget=2, rng=0)
    assert plotting.relevance_data(result) is None
    assert snapshot(result)["learnt"]["relevance"] is None


def test_names_that_recur_say_where_they_belong():
    options = {"a": bough.Space(n=bough.Int(1, 9)), "b": bough.Space(n=bough.Int(1, 5))}
    space = bough.Space(kind=bough.Choice(options), x=bough.Float(0, 1))
    assert slot_names(space) == ["kind", "n (kind = a)", "n (kind = b)", "x"]


def test_looking_changes_nothing():
    """A search that is looked at goes on as one that is not."""

    def asked(look):
        search = bough.Forest(CONDITIONAL, rng=5)
        found = []
        for k in range(40):
            params = search.ask()
            found.append(params)
            search.tell(params, -loss(params))
            if look and k % 3 == 0:
                snapshot(search)
        return found

    assert asked(True) == asked(False)


def test_a_forest_by_itself_can_be_drawn():
    search = bough.Forest(PLAIN, rng=0)
    with_nothing = snapshot(search)
    assert with_nothing["along"] is None
    search.tell({"x": 1.0, "y": 2.0}, 3.0, noise=0.1)
    assert Run.of(search).told.tolist() == [3.0]
    assert snapshot(search)["summary"]["best"]["params"] == {"x": 1.0, "y": 2.0}


def test_other_searchers_of_a_space_have_their_covering():
    result = bough.maximize(lambda p: -(p["x"] ** 2), PLAIN, budget=30, searcher="hoo", rng=0)
    facts = snapshot(result)
    assert facts["tree"]["cells"]
    assert facts["tree"]["coverings"] == 1
    assert facts["learnt"] is None
    assert re.fullmatch(r"[xy] -?[\d.]+ to -?[\d.]+", facts["tree"]["names"][1])
    assert None not in facts["tree"]["unexplored"]


def test_no_paths_in_the_table_of_a_space(exact):
    columns = trial_columns(exact)
    assert columns["path"] is None
    assert columns["choices"]["trees"]["at"].count(None) == sum(
        "trees" not in params for params in exact.history.params
    )


def test_no_theory_is_claimed_for_a_forest(noisy):
    assert len(plotting.regret_data(noisy, 0.0).bound) == 0


def test_none_is_an_option_like_any_other():
    space = bough.Space(depth=bough.Choice([None, 3, 5]), x=bough.Float(0, 1))
    result = bough.maximize(lambda p: 2.0 if p["depth"] is None else 1.0, space, budget=40, rng=0)
    run = Run.of(result)
    assert ABSENT not in run.columns["depth"]
    column = trial_columns(result)["choices"]["depth"]
    assert column["categories"] == ["3", "5", "None"]
    assert None not in column["at"]
    data = plotting.slice_data(result, "depth")
    assert len(data.at) == 40
    assert plotting.importance_data(result).names[0] == "depth"
    assert plotting.importance_data(result).shares[0] == pytest.approx(1)


@pytest.mark.parametrize("kind", [k for k in plotting.DRAWINGS if k != "regret"])
def test_every_figure_of_a_space(kind, exact, noisy):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    for result in (exact, noisy):
        figure, ax = plt.subplots()
        assert result.plot(kind, ax=ax) is ax
        figure.canvas.draw()
        plt.close(figure)
    figure, ax = plt.subplots()
    noisy.plot("tree", ax=ax)
    assert "covering" in ax.get_title()
    plt.close(figure)


def test_control_characters_are_written_out_in_figures():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    space = bough.Space(**{"x\x1b[2J": bough.Choice(["a\x07", "b\n"])})
    result = bough.maximize(lambda p: len(p), space, budget=2, rng=0)
    figure, ax = plt.subplots()
    result.plot("slice", ax=ax)
    assert ax.get_xlabel() == r"x\x1b[2J"
    assert [text.get_text() for text in ax.get_xticklabels()] == [r"a\x07", r"b\n"]
    figure.canvas.draw()  # a character without a picture would be a warning
    plt.close(figure)
