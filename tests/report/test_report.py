"""The report: one complete file in which only our own scripts can run."""

import json
import re
import sys

import pytest

import bough
from bough.plotting.view import SearchView
from bough.report import page, snapshot, trial_columns, write
from bough.report.page import json_in_html
from bough.studies.study import open_to_read
from bough.studies.trials import STATES, Trial

pytest.importorskip("plotly")

HOSTILE = '</script><img src=x onerror="window.hacked = 1"><!-- & \u2028'


def embedded(text, name):
    """Return the JSON that a browser would read."""
    (found,) = re.findall(
        rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.S
    )
    return json.loads(found)


@pytest.fixture(scope="module")
def result():
    return bough.maximize(sum, bough.Tree(3, 4), budget=40, rng=0)


def test_the_report_is_one_file(result, tmp_path):
    file = tmp_path / "run.html"
    result.report(file)
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]
    text = file.read_text()
    assert not re.search(
        r"<(script|link|img|iframe)[^>]*\s(src|href)=(?![\"']?data:)", text.split("<script>")[0]
    )
    facts = embedded(text, "snapshot-data")
    assert facts["summary"]["best"]["mean"] == result.best.mean
    assert facts["certificate"]["gap"] == result.certificate.gap
    assert facts["convergence"]["best"][-1] == max(result.history.values)
    trials = embedded(text, "trials-data")
    assert trials["value"] == result.history.values.tolist()
    assert trials["path"] == [" ".join(map(str, path)) for path in result.history.paths]
    assert trials["state"] == "c" * 40


class Misfit(bough.GPTS):
    misfit = "the model <b>does not fit</b>"


@pytest.mark.parametrize("budget", [0, 1, 2, 3, 10])
def test_what_is_known_of_the_best(budget):
    tree = bough.Tree(3, 4)
    search = Misfit(tree, bounds=(0, 8), rng=0)
    for _ in range(budget):
        path = search.ask()
        search.tell(path, sum(path))
    facts = embedded(page(search), "snapshot-data")
    summary = facts["summary"]
    assert summary["warning"] == Misfit.misfit
    if not budget:
        assert summary["observed"] is summary["expected"] is None
        return
    assert summary["observed"]["value"] == search.best("observed").value
    assert 0.0 <= summary["expected"]["mean"] <= 8.0
    assert summary["expected"]["gap"] == search.expected_gap()
    for bounds in ("lower", "upper"):
        assert all(0.0 <= bound <= 8.0 for bound in facts["convergence"][bounds])
    assert facts["tree"]["bounds"] == [0.0, 8.0]


def test_bounds_do_not_set_the_limits_of_the_chart():
    result = bough.maximize(lambda path: sum(path) % 5, bough.Tree(5, 6), budget=30, rng=0)
    for source in (result, bough.minimize(lambda p: sum(p) % 5, bough.Tree(5, 6), budget=2, rng=0)):
        low, high = snapshot(source)["convergence"]["limits"]
        values = source.history.values
        room = values.max() - values.min()
        assert values.min() - 0.32 * room < low < values.min()
        assert values.max() < high < values.max() + 0.32 * room
    facts = snapshot(result)["convergence"]
    low, high = facts["limits"]
    assert result.certificate.upper > high
    for side, marks in zip(("lower", "upper"), facts["clipped"], strict=True):
        bounds = dict(zip(facts["at"], facts[side], strict=True))
        beyond = [
            at
            for at, bound in bounds.items()
            if bound is None or (bound < low if side == "lower" else bound > high)
        ]
        assert set(marks) <= set(beyond)
        assert bool(marks) == bool(beyond)
        assert len(marks) <= 12
    assert len(facts["clipped"][1]) > 2
    one = bough.maximize(sum, bough.Tree(5, 6), budget=1, rng=0)
    assert snapshot(one)["convergence"]["limits"] is None


def test_a_failed_report_leaves_no_file(result, tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        result.report(tmp_path / "taken")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_only_our_own_scripts_may_run_and_nothing_is_loaded(result):
    text = page(result)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert policy.count("sha256-") == 2
    assert "connect-src 'self'" in page(result, follow=True)


def test_names_and_reasons_stay_text():
    trials = [
        Trial(0, (0,), {HOSTILE: HOSTILE, "x": float("nan")}, 1.0, "completed", 0.0, 1.0),
        Trial(1, (1,), {HOSTILE: "b", "x": 2.0}, None, "failed", 0.0, 1.0, None, HOSTILE),
    ]
    text = page(SearchView(trials, None), title=HOSTILE)
    assert HOSTILE not in text
    assert "<img" not in text.split("<script>")[0]  # before the scripts
    assert embedded(text, "trials-data")["reason"] == {"1": HOSTILE}
    assert HOSTILE in embedded(text, "trials-data")["choices"]
    assert "<" not in json_in_html({"a": "<", "b": ["</script>"]})


def test_choices_have_codes_and_categories():
    rows = [{"kind": "a", "x": 1.5}, {"kind": "b"}, {"kind": "a", "x": 2}]
    trials = [Trial(i, (i,), row, 1.0, "completed", 0.0, 1.0) for i, row in enumerate(rows)]
    choices = trial_columns(SearchView(trials, None))["choices"]
    assert choices["kind"] == {"at": [0.0, 1.0, 0.0], "categories": ["a", "b"]}
    assert choices["x"] == {"at": [1.5, None, 2.0], "categories": None}
    best = snapshot(SearchView(trials, None))["summary"]["best"]
    assert best["params"] == {"kind": "a", "x": 1.5}


def test_labels():
    tree = bough.Tree(2, 2, labels=["no", "yes"])
    result = bough.maximize(lambda words: words.count("yes"), tree, budget=4, rng=0)
    facts = snapshot(result)
    assert facts["summary"]["best"]["decoded"] == "yes yes"
    assert set(facts["tree"]["names"]) == {"", "no", "yes"}
    assert trial_columns(result)["choices"]["step 1"]["categories"] == ["no", "yes"]
    called = bough.Tree(2, 2, labels=lambda path: f"node {path}")
    result = bough.maximize(len, called, budget=4, rng=0)
    assert "node (0, 1)" in snapshot(result)["tree"]["names"]


def test_the_report_of_a_study_has_all_trials(tmp_path):
    def sometimes(path):
        if path[0] == 1:
            raise ArithmeticError("no luck")
        return float(sum(path))

    file = tmp_path / "run.db"
    tree = bough.Tree(2, 3)
    result = bough.maximize(sometimes, tree, budget=9, catch=ArithmeticError, rng=0, study=file)
    with bough.Study.open(file) as study:
        study.ask()
        facts, trials = snapshot(study), trial_columns(study)
    counts = {state: study.trials.count(state) for state in STATES}
    assert facts["summary"]["trials"] == counts
    assert counts["running"] == 1
    assert counts["failed"] > 0
    assert trials["value"] == [trial.value for trial in study.trials]
    assert set(trials["reason"].values()) == {"ArithmeticError: no luck"}
    assert facts["title"] == "run.db"
    assert snapshot(result)["summary"]["stopped_by"] == "budget"
    running = [trial.id for trial in study.trials if trial.state == "running"]
    assert trials["settled"] == running[0]
    later = trial_columns(study, trials["settled"])
    assert later["path"] == trials["path"][trials["settled"] :]


def test_only_the_trials_of_the_best_are_marked(tmp_path):
    """Also if the file does not hold the space."""
    space = bough.Space(x=bough.Float(0, 1), kind=bough.Choice([object(), object()]))
    file = tmp_path / "run.db"
    result = bough.maximize(lambda p: p["x"], space, budget=30, rng=0, study=file)
    with open_to_read(file) as study:
        assert not study.replayed
        best = snapshot(study)["summary"]["best"]
        (top,) = {study.trials[i].params["x"] for i in best["trials"]}
        assert not snapshot(study)["summary"]["replayed"]
    assert top == max(p["x"] for p in result.history.params)
    best = snapshot(result)["summary"]["best"]
    assert {result.study.trials[i].params["x"] for i in best["trials"]} == {top}


@pytest.mark.parametrize("searcher", ["uct", "random", "bast"])
def test_searchers_without_a_belief(searcher):
    result = bough.maximize(sum, bough.Tree(3, 3), budget=20, searcher=searcher, rng=0)
    facts = snapshot(result)
    json.dumps(facts, allow_nan=False)
    assert facts["model"] is None
    assert facts["convergence"]["at"] == []
    assert facts["along"]["std"] == [None] * 4


def test_no_observations_and_no_certificate():
    assert snapshot(SearchView([], None))["summary"]["best"] is None
    json.dumps(trial_columns(SearchView([], None)), allow_nan=False)
    endless = bough.maximize(sum, bough.Tree(lambda path: 2, 3), budget=5, rng=0)
    facts = snapshot(endless)
    json.dumps(facts, allow_nan=False)
    assert facts["certificate"]["upper"] is None
    assert facts["summary"]["arms"] is None


def test_the_error_without_plotly_names_the_extra(result, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "plotly", None)  # as if it were not there
    with pytest.raises(ImportError, match=r"pip install 'bough\[report\]'"):
        write(result, tmp_path / "run.html")
