"""Studies of spaces."""

import json
import math

import pytest
from click.testing import CliRunner

import bough
from bough import Choice, Float, Int, Space, Study, StudyError
from bough.cli import main

SPACE = Space(
    model=Choice({"svm": Space(C=Float(1e-3, 1e3, log=True)), "forest": Space(n=Int(10, 99))}),
    scale=Choice([True, False]),
)


def loss(params):
    if params["model"] == "svm":
        return math.log(params["C"]) ** 2 / 10 + 0.1 * params["scale"]
    return 0.3 + abs(params["n"] - 40) / 100


def play(study, count):
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, loss(trial.params))


@pytest.mark.parametrize("searcher", ["gpts", "hoo"])
def test_a_study_resumes_exactly(tmp_path, searcher):
    whole = bough.minimize(
        loss, SPACE, budget=40, study=tmp_path / "a.db", rng=1, searcher=searcher
    )
    for budget in (7, 25, 40):
        parts = bough.minimize(
            loss, SPACE, budget=budget, study=tmp_path / "b.db", rng=1, searcher=searcher
        )
    assert [t.params for t in whole.study.trials] == [t.params for t in parts.study.trials]
    assert whole.best == parts.best
    with Study.open(tmp_path / "a.db") as study:
        assert study.space == SPACE
        assert study.best() == whole.best


def test_trials_left_running_are_offered_again(tmp_path):
    with Study.create(tmp_path / "a.db", SPACE, rng=0, direction="minimize") as study:
        play(study, 25)
        left = [study.ask(), study.ask()]
    with Study.open(tmp_path / "a.db", SPACE) as study:
        again = [study.ask(), study.ask()]
        assert again == left
        study.tell(again[1], 1.0)
        study.fail(again[0], "no")
        play(study, 5)
    assert [trial.state for trial in study.trials].count("completed") == 31


def test_enqueue_params(tmp_path):
    with Study.create(tmp_path / "a.db", SPACE, rng=0) as study:
        wanted = {"model": "forest", "n": 12, "scale": True}
        study.enqueue(wanted)
        with pytest.raises(ValueError, match="n must be a whole number"):
            study.enqueue(wanted | {"n": 5})
        trial = study.ask()
        assert trial.params == wanted
        assert trial.path == SPACE.encode(wanted)
        study.tell(trial, 3.0)
        assert study.best().params == wanted
    with Study.open(tmp_path / "a.db") as study:
        assert study.best().params == wanted


def test_options_that_are_objects(tmp_path):
    space = Space(f=Choice([len, max, "name"]), x=Float(0, 1))
    file = tmp_path / "a.db"

    def value(params):
        return params["x"] + (params["f"] is max)

    for budget in (10, 20):
        result = bough.maximize(value, space, budget=budget, study=file)
    assert result.best.params["f"] is max
    with pytest.raises(StudyError, match="options that are objects"):
        Study.open(file)
    look = Study.look(file)
    assert look.trials[0].params.keys() == {"f", "x"}
    shown = CliRunner().invoke(main, ["study", str(file), "--json"])
    assert len(json.loads(shown.output)["trials"]) == 20


class Thing:
    """A class whose repr contains an address, which differs in each run."""


def test_options_that_are_objects_of_another_process(tmp_path):
    file = tmp_path / "a.db"
    for budget in (4, 8):
        space = Space(thing=Choice([Thing(), Thing()]), x=Float(0, 1))
        result = bough.maximize(lambda p: p["x"], space, budget=budget, study=file)
    assert result.best.params["thing"] in space.parameters["thing"].options


def test_options_that_json_cannot_represent(tmp_path):
    space = Space(c=Choice([1.0, math.nan, math.inf]), x=Float(0, 1))
    file = str(tmp_path / "a.db")
    for budget in (10, 20):
        bough.maximize(lambda p: p["x"], space, budget=budget, study=file, rng=0)
    with Study.open(file) as study:
        assert study.space == space
        assert {str(trial.params["c"]) for trial in study.trials} == {"1.0", "nan", "inf"}
    shown = CliRunner().invoke(main, ["study", file, "--json"]).output
    assert len(json.loads(shown, parse_constant=pytest.fail)["trials"]) == 20


def test_another_space(tmp_path):
    file = tmp_path / "a.db"
    Study.create(file, SPACE).close()
    for space, words in (
        (Space(x=Float(0, 1)), "another space: only the study has a parameter 'model'"),
        (Space(scale=Choice([True, False]), model=SPACE.parameters["model"]), "another order"),
        (bough.Tree(2, 3), "a study of a space, not of a tree"),
    ):
        with pytest.raises(StudyError, match=words):
            Study.open(file, space)
    tree = tmp_path / "b.db"
    Study.create(tree, bough.Tree(2, 3)).close()
    with pytest.raises(StudyError, match="a study of a tree, not of a space"):
        Study.open(tree, SPACE)


def test_study_commands(tmp_path):
    file = str(tmp_path / "a.db")
    bough.minimize(loss, SPACE, budget=30, study=file)
    shown = CliRunner().invoke(main, ["study", file])
    assert "best params  model" in shown.output
    assert "(by partition " in shown.output  # the certificate says whose it is
    facts = json.loads(CliRunner().invoke(main, ["study", file, "--json"]).output)
    assert facts["certificate"]["partitions"] == 8
    assert facts["certificate"]["upper"] >= facts["best"]["mean"]  # values are minimized
    table = CliRunner().invoke(main, ["study", file, "--csv"]).output.splitlines()
    assert len(table) == 31
    out = str(tmp_path / "a.jsonl")
    assert CliRunner().invoke(main, ["study", "export", file, out]).exit_code == 0
    copy = str(tmp_path / "copy.db")
    assert CliRunner().invoke(main, ["study", "import", out, copy]).exit_code == 0
    with Study.open(copy) as study:
        assert study.trials[7].params == Study.look(file).trials[7].params
