"""maximize, minimize, studies and the command, on spaces."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from click.testing import CliRunner

import bough
from bough import Choice, Float, Int, ObjectiveError, Space, Study, StudyError
from bough.cli.search import main

SPACE = Space(
    model=Choice({"svm": Space(C=Float(1e-3, 1e3, log=True)), "forest": Space(n=Int(10, 99))}),
    scale=Choice([True, False]),
)


def loss(params):
    if params["model"] == "svm":
        return math.log(params["C"]) ** 2 / 10 + 0.1 * params["scale"]
    return 0.3 + abs(params["n"] - 40) / 100


# ---------------------------------------------------------------------- maximize and minimize


def test_minimize_over_a_space():
    result = bough.minimize(loss, SPACE, budget=80, rng=0)
    assert result.stopped_by == "budget"
    best = result.best
    assert (best.params["model"], best.params["scale"]) == ("svm", False)
    assert best.mean == loss(best.params) < 1e-3
    assert best.path == SPACE.encode(best.params)
    assert result.certificate.upper == best.mean
    assert len(result.history) == len(result.history.params) == 80
    assert result.history.params[3] == SPACE.params(SPACE.point(result.history.params[3]))
    assert [loss(p) for p in result.history.params] == result.history.values.tolist()
    text = repr(result)
    assert "best params {'model': 'svm'" in text
    assert "of 8, to its resolution" in text


def test_maximize_is_minimize_of_the_negative():
    up = bough.maximize(lambda p: -loss(p), SPACE, budget=40, rng=3)
    down = bough.minimize(loss, SPACE, budget=40, rng=3)
    assert up.history.params == down.history.params
    assert up.best.mean == -down.best.mean


def test_other_searchers_search_the_fixed_partition():
    for searcher in ("hoo", "uct", "random", lambda space: bough.Forest(space, rng=0)):
        rng = 0 if isinstance(searcher, str) else None
        result = bough.minimize(loss, SPACE, budget=40, searcher=searcher, rng=rng)
        assert len(result.history) == 40
        assert loss(result.best.params) < 2.0


def test_a_searcher_with_known_results():
    search = bough.Forest(SPACE, rng=0)
    search.tell({"model": "svm", "C": 1.0, "scale": False}, 0.0)
    result = bough.minimize(loss, SPACE, budget=30, searcher=search)
    assert len(result.history) == 29
    assert result.best.params == {"model": "svm", "C": 1.0, "scale": False}


def test_it_stops_when_all_is_known():
    space = Space(a=Int(1, 3), b=Choice(["x", "y"]))
    result = bough.maximize(lambda p: p["a"] + (p["b"] == "y"), space, budget=50, rng=0)
    assert result.stopped_by == "exhausted"
    assert result.best.params == {"a": 3, "b": "y"}
    assert len(result.history) == 7  # all six, and one again


def test_an_objective_may_change_its_dict():
    def objective(params):
        return params.pop("x")

    result = bough.maximize(objective, Space(x=Float(0, 1)), budget=10, rng=0)
    assert all(params.keys() == {"x"} for params in result.history.params)


def test_noise_of_each_evaluation():
    result = bough.maximize(lambda p: (p["x"], 0.1), Space(x=Float(0, 1)), budget=30, rng=0)
    assert result.best.params["x"] > 0.7
    assert result.best.std > 0.0


def test_targets_and_gaps_stop_it():
    result = bough.minimize(loss, SPACE, budget=300, stop=bough.Target(0.05), rng=0)
    assert result.stopped_by == "target"
    assert result.best.mean <= 0.05


def test_an_objective_that_fails():
    with pytest.raises(ObjectiveError, match="failed at params {'model'") as caught:
        bough.minimize(lambda p: 1 / 0, SPACE, budget=5, rng=0)
    assert caught.value.params.keys() >= {"model", "scale"}
    assert caught.value.path == SPACE.encode(caught.value.params)
    failing = bough.minimize(
        lambda p: loss(p) if p["model"] == "svm" else 1 / 0,
        SPACE, budget=30, catch=ZeroDivisionError, rng=0,
    )  # fmt: skip
    assert failing.best.params["model"] == "svm"


def test_workers():
    with ThreadPoolExecutor(2) as pool:
        result = bough.minimize(loss, SPACE, budget=24, executor=pool, rng=0)
    assert len(result.history) == 24
    assert result.searcher.pending == ()


def test_what_is_no_space():
    with pytest.raises(TypeError, match=r"second argument must be a bough.Tree or a bough.Space"):
        bough.maximize(loss, {"x": (0, 1)}, budget=5)
    other = bough.Forest(Space(x=Float(0, 1)))
    with pytest.raises(ValueError, match="the searcher is for Space"):
        bough.maximize(loss, SPACE, budget=5, searcher=other)
    with pytest.raises(ValueError, match="searcher must be one of"):
        bough.maximize(loss, SPACE, budget=5, searcher="optuna")


# ---------------------------------------------------------------------- studies


def play(study, count):
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, loss(trial.params))


@pytest.mark.parametrize("searcher", ["gpts", "hoo"])
def test_a_study_goes_on_exactly(tmp_path, searcher):
    whole = bough.minimize(
        loss, SPACE, budget=60, study=tmp_path / "a.db", rng=1, searcher=searcher
    )
    for budget in (7, 31, 60):
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
    assert [trial.state for trial in study.trials].count("told") == 31


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
    """Whose repr has an address in it, another one in each run."""


def test_options_that_are_objects_of_another_run(tmp_path):
    file = tmp_path / "a.db"
    for budget in (4, 8):
        space = Space(thing=Choice([Thing(), Thing()]), x=Float(0, 1))
        result = bough.maximize(lambda p: p["x"], space, budget=budget, study=file)
    assert result.best.params["thing"] in space.parameters["thing"].options


def test_options_that_json_has_no_word_for(tmp_path):
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
        (Space(x=Float(0, 1)), "another space: 'model' is"),
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
    assert facts["certificate"]["upper"] >= facts["best"]["mean"]  # of values that are minimised
    table = CliRunner().invoke(main, ["study", file, "--csv"]).output.splitlines()
    assert len(table) == 31
    out = str(tmp_path / "a.jsonl")
    assert CliRunner().invoke(main, ["study", "export", file, out]).exit_code == 0
    copy = str(tmp_path / "copy.db")
    assert CliRunner().invoke(main, ["study", "import", out, copy]).exit_code == 0
    with Study.open(copy) as study:
        assert study.trials[7].params == Study.look(file).trials[7].params


# ---------------------------------------------------------------------- bough tune

PROGRAM = """
import bough

space = bough.Space(x=bough.Float(-1, 1), kind=bough.Choice(["a", "b"]))
small = bough.Space(x=bough.Int(0, 3))
odd = bough.Space(x=bough.Int(0, 3), kind=bough.Choice([float("inf"), len, {(1, 2): 3}]))


def loss(params):
    return (params["x"] - 0.25) ** 2 + (params.get("kind") == "a")


def broken(params):
    raise RuntimeError("no")
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return str(file)


def tune(*words):
    return CliRunner().invoke(main, ["tune", *words])


def test_tune(program):
    result = tune(f"{program}:loss", "--budget", "50", "--minimize", "--seed", "0")
    assert result.exit_code == 0, result.output
    assert "2 parameters, 50 evaluated" in result.output
    assert "kind  b" in result.output
    assert "by partition" in result.output
    facts = json.loads(
        tune(f"{program}:loss", "--budget", "50", "--minimize", "--seed", "0", "--json").output
    )
    assert facts["best"]["params"]["kind"] == "b"
    assert facts["best"]["mean"] < 1e-6
    assert facts["certificate"]["partitions"] == 8


def test_tune_another_space_and_a_study(program, tmp_path):
    file = str(tmp_path / "run.db")
    for budget in ("3", "20"):
        result = tune(f"{program}:loss:small", "--budget", budget, "--study", file, "--json")
        assert result.exit_code == 0, result.output
    facts = json.loads(result.output)
    assert facts["stopped_by"] == "exhausted"
    assert facts["best"]["params"] == {"x": 3}
    again = tune(f"{program}:loss", "--study", file)
    assert again.exit_code == 1
    assert "another space" in again.output


def test_tune_says_one_parameter_and_that_all_is_known(program):
    result = tune(f"{program}:loss:small", "--seed", "0")
    assert ": 1 parameter, 5 evaluated" in result.output
    assert "stopped since nothing is left to learn" in result.output
    assert "params       x  3" in result.output


def test_tune_prints_json_whatever_the_options_are(program):
    kinds = set()
    for seed in range(4):
        words = f"{program}:loss:odd", "--budget", "3", "--seed", str(seed), "--json"
        facts = json.loads(tune(*words).output, parse_constant=pytest.fail)
        kinds.add(facts["best"]["params"]["kind"])
    assert kinds <= {"inf", "<built-in function len>", "{(1, 2): 3}"}
    assert len(kinds) > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{}:loss:huge"], "has no bough.Space called huge; it has space, small, odd"),
        (["{}:gain"], "has no function gain"),
        (["{}"], "is no FILE.py:FUNCTION"),
        (["{}:loss:"], "is no FILE.py:FUNCTION"),
        (["{}:loss:a:b"], "is no FILE.py:FUNCTION"),
        ([":loss"], "is no FILE.py:FUNCTION"),
        (["json:loads"], "has no bough.Space called space: write space = bough.Space(...) there"),
        (["nowhere.py:loss"], "there is no file nowhere.py"),
        (["{}:loss", "--searcher", "genius"], "searcher must be one of"),
        (["{}:broken"], "failed at params"),
    ],
)
def test_tune_of_what_cannot_be(program, words, message):
    result = tune(*[word.format(program) for word in words])
    assert result.exit_code != 0
    assert message in result.output


def test_known_minima_of_new_functions():
    from bough.problems.functions import HARTMANN3, levy, rosenbrock

    rng = np.random.default_rng(0)
    for function in (HARTMANN3, levy(6), rosenbrock(4)):
        assert function(*function.where[0]) == pytest.approx(function.minimum, abs=1e-5)
        low, high = np.array(function.box).T
        places = rng.uniform(low, high, (10_000, len(low)))
        assert function.formula(list(places.T)).min() >= function.minimum
