"""`bough tune`."""

import json
import re
import subprocess
import sys
from functools import partial

import pytest
from click.testing import CliRunner

import bough
from bough import plotting
from bough.cli import main
from bough.report.snapshot import snapshot

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


def test_tune_of_one_parameter_and_an_exhausted_space(program):
    result = tune(f"{program}:loss:small", "--seed", "0")
    assert ": 1 parameter, 5 evaluated" in result.output
    assert "stopped since nothing is left to learn" in result.output
    assert "best params  x  3" in result.output


def test_tune_prints_json_for_options_of_any_type(program):
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
        (["{}"], "is not FILE.py:FUNCTION"),
        (["{}:loss:"], "is not FILE.py:FUNCTION"),
        (["{}:loss:a:b"], "is not FILE.py:FUNCTION"),
        ([":loss"], "is not FILE.py:FUNCTION"),
        (["json:loads"], "has no bough.Space called space: write space = bough.Space(...) there"),
        (["nowhere.py:loss"], "there is no file nowhere.py"),
        (["{}:loss", "--searcher", "genius"], "searcher must be one of"),
        (["{}:broken", "--on-error", "stop"], "failed at params"),
    ],
)
def test_tune_with_invalid_arguments(program, words, message):
    result = tune(*[word.format(program) for word in words])
    assert result.exit_code != 0
    assert message in result.output


def test_tune_with_bounds(program):
    options = ["--minimize", "--budget", "10", "--seed", "0", "--bounds", "-inf", "100"]
    facts = json.loads(tune(f"{program}:loss", *options, "--json").stdout)
    assert facts["certificate"]["upper"] <= 100.0
    assert facts["best_observed"]["value"] <= facts["best"]["value"]
    wrong = tune(f"{program}:loss", "--searcher", "uct", *options)
    assert wrong.exit_code == 2
    assert 'bounds is only for the default searcher and "gpts"' in wrong.stderr


# ---------------------------------------------------------------------- failures

MOODY = """
import math, sys
import bough

space = bough.Space(x=bough.Float(-2, 2))

class Mine(Exception):
    pass

def moody(params):
    x = params["x"]
    if x > 1.5:
        raise ValueError("too large")
    if x > 1:
        return math.nan
    if x < -1.5:
        sys.exit(3)
    return x * x

def leaving(params):
    sys.exit(3)

def hopeless(params):
    raise Mine("never")
"""


@pytest.fixture
def moody(tmp_path):
    file = tmp_path / "moody.py"
    file.write_text(MOODY)
    return str(file)


def test_failed_trials_are_recorded_and_the_search_goes_on(moody, tmp_path):
    file = str(tmp_path / "run.db")
    words = [f"{moody}:moody", "--minimize", "--study", file, "--seed", "1"]
    first = tune(*words, "--budget", "15", "--json")
    assert first.exit_code == 0, first.output
    facts = json.loads(first.stdout)
    assert (facts["evaluations"], facts["stopped_by"]) == (15, "budget")
    assert facts["failed"] == 15 - facts["observations"] > 0
    page = tune(*words, "--budget", "40")  # resumed
    assert page.exit_code == 0, page.output
    assert " failed (last: " in page.stdout
    study = json.loads(CliRunner().invoke(main, ["study", file, "--json"]).stdout)
    states = [trial["state"] for trial in study["trials"]]
    assert len(states) == 40
    assert states.count("failed") == study["counts"]["failed"] > 0
    assert study["counts"]["running"] == 0
    table = CliRunner().invoke(main, ["study", file, "--csv"]).stdout.splitlines()
    assert table[0] == "id,value,state,started,ended,duration,params_x,noise,reason"
    assert sum(",failed," in row for row in table) == states.count("failed")
    lines = CliRunner().invoke(main, ["study", "export", file]).stdout.splitlines()
    assert sum('"kind": "fail"' in line for line in lines) == states.count("failed")


def test_a_run_whose_first_trials_all_fail(moody, tmp_path):
    file = str(tmp_path / "run.db")
    answer = tune(f"{moody}:hopeless", "--study", file)
    assert answer.exit_code == 1
    assert "stopped since all of the first trials failed" in answer.stdout
    said = "all of the first 10 trials failed, the last by Mine: never"
    assert said in answer.stderr
    again = tune(f"{moody}:hopeless", "--study", file, "--json")  # of this run
    assert json.loads(again.stdout)["evaluations"] == 10
    few = tune(f"{moody}:hopeless", "--budget", "3")
    assert few.exit_code == 1
    assert "all trials (3) failed" in few.stderr
    better = tune(f"{moody}:moody", "--study", file, "--budget", "30")
    assert better.exit_code == 0, better.output


def test_errors_that_end_a_run(moody, tmp_path):
    file = str(tmp_path / "run.db")
    words = [f"{moody}:hopeless", "--study", file]
    stopped = tune(*words, "--on-error", "stop")
    assert stopped.exit_code == 1
    assert "failed at params" in stopped.stderr
    leaving = tune(f"{moody}:leaving", "--on-error", "stop")
    assert leaving.exit_code == 1
    assert "the objective ended the program: SystemExit(3)" in leaving.stderr
    other = tune(*words, "--catch", "ValueError")
    assert "failed at params" in other.stderr
    counts = json.loads(CliRunner().invoke(main, ["study", file, "--json"]).stdout)["counts"]
    assert counts == {"completed": 0, "pruned": 0, "infeasible": 0, "failed": 0, "running": 1}
    for name in ("Mine", "Exception"):
        caught = tune(*words, "--catch", "ZeroDivisionError", "--catch", name)
        assert "all of the first 10 trials failed" in caught.stderr
    for options, message in (
        (["--catch", "Yours"], "--catch takes the name of an exception"),
        (["--catch", "json.nothing"], "--catch takes the name of an exception"),
        (["--catch", "ValueError", "--on-error", "fail"], "would catch everything"),
    ):
        wrong = tune(*words, *options)
        assert wrong.exit_code == 2
        assert message in wrong.stderr


def test_the_log_of_a_trial_that_an_earlier_run_left(program, tmp_path, monkeypatch):
    file = tmp_path / "run.db"
    with monkeypatch.context() as earlier:
        earlier.setattr("bough.studies.operations.time.time", lambda: 1e9)
        space = bough.Space(x=bough.Int(0, 3))
        with bough.Study.create(file, space, rng=0) as study:
            study.ask()
    result = tune(f"{program}:loss:small", "--budget", "1", "--study", str(file), "--log")
    assert result.exit_code == 0, result.output
    seconds = re.search(r"trial 0: value .* in (.*) s at x", result.output)[1]
    assert float(seconds) < 1e6  # not since the first run


def test_tune_with_a_timeout_and_a_log(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\nimport bough\nspace = bough.Space(x=bough.Int(0, 1))\n"
        "def f(params):\n    time.sleep(60 * params['x'])\n    return 1.0\n"
    )
    words = [f"{tmp_path}/slow.py:f", "--timeout", "0.5", "--budget", "3", "--seed", "0", "--log"]
    answer = tune(*words, "--json")
    facts = json.loads(answer.stdout)
    assert facts["failed"] >= 1
    lines = [line for line in answer.stderr.splitlines() if line.startswith("trial ")]
    assert len(lines) == facts["evaluations"]
    assert any("failed (it took longer than 0.5 s)" in line for line in lines)


def test_tune_with_patience_and_noise(program):
    words = [f"{program}:loss", "--minimize", "--patience", "20", "--noise", "0", "--json"]
    assert json.loads(tune(*words).stdout)["stopped_by"] == "patience"


def test_the_importance_of_parameters_is_the_same_everywhere(program, tmp_path):
    file = str(tmp_path / "run.db")
    words = [f"{program}:loss", "--minimize", "--budget", "40", "--study", file]
    facts = json.loads(tune(*words, "--json").stdout)["importance"]
    shown = json.loads(CliRunner().invoke(main, ["study", file, "--json"]).stdout)
    assert shown["importance"] == facts
    with bough.Study.open(file) as study:
        data = plotting.importance_data(study)
        page = snapshot(study)["parameters"]
    rows = [tuple(row.values()) for row in facts]
    assert rows == list(zip(data.names, *(part.tolist() for part in data[1:]), strict=True))
    assert page["names"] == data.names
    for name, part in zip(("shares", "low", "high"), data[1:], strict=True):
        assert page[name] == pytest.approx(part.tolist(), rel=1e-5)
    first = facts[0]
    text = f"{first['share']:.2f} [{first['low']:.2f}, {first['high']:.2f}] of the variance"
    assert text in CliRunner().invoke(main, ["study", file]).stdout


CURVES = """
import bough

space = bough.Space(x=bough.Float(-1, 1))


def loss(params, trial):
    for step in range(1, 28):
        value = (params["x"] - 0.25) ** 2 + 1 / step
        trial.report(step, value)
        if trial.should_stop():
            break
    return value


def plain(params):
    return params["x"]
"""


def test_pruning(tmp_path):
    file = tmp_path / "curves.py"
    file.write_text(CURVES)
    words = (f"{file}:loss", "--minimize", "--budget", "30", "--seed", "0")
    facts = json.loads(tune(*words, "--json").output)
    assert (facts["pruned"], facts["steps"]) == (0, 30 * 27)
    study = str(tmp_path / "run.db")
    result = tune(*words, "--prune", "halving", "--study", study, "--log")
    assert result.exit_code == 0, result.output
    assert "pruned after step" in result.output
    with bough.Study.open(study) as opened:
        count = opened.trials.count("pruned")
    assert f", {count} pruned, " in result.output
    assert f"{count} pruned" in CliRunner().invoke(main, ["study", study]).output
    by_belief = json.loads(tune(*words, "--prune", "improvement", "--json").output)
    assert by_belief["steps"] < 30 * 27
    refused = tune(f"{file}:plain", "--prune", "halving")
    assert refused.exit_code == 2
    assert "prune needs an objective with two required parameters" in refused.output


CONSTRAINED = """
import bough

space = bough.Space(x=bough.Float(0, 1), y=bough.Float(0, 1))

def product(params):
    return params["x"] * params["y"]

def measured(params):
    return bough.Outcome(product(params), constraints=[params["x"] + params["y"] - 1])

def below(params):
    return params["x"] - 0.3

def impossible(params):
    return 1.0
"""


def test_constraints_of_an_option_and_of_the_file(tmp_path):
    file = tmp_path / "area.py"
    file.write_text(CONSTRAINED)
    words = ["--budget", "25", "--json", "--seed", "0"]
    chosen = tune(f"{file}:product", "--constraints", f"{file}:below", *words)
    assert chosen.exit_code == 0, chosen.output
    best = json.loads(chosen.stdout)["best"]["params"]
    assert best["x"] <= 0.3
    file.write_text(CONSTRAINED + "\ndef constraints(params):\n    return params['y'] - 0.2\n")
    found = tune(f"{file}:product", *words)
    assert json.loads(found.stdout)["best"]["params"]["y"] <= 0.2
    wrong = tune(f"{file}:product", "--constraints", f"{file}:missing", *words)
    assert wrong.exit_code == 2
    assert "missing" in wrong.stderr
    none = tune(f"{file}:product", "--constraints", f"{file}:impossible", *words)
    assert none.exit_code == 1
    assert "1000 candidates" in none.stderr.replace(",", "")


def test_constraints_that_an_evaluation_returns(tmp_path):
    file = tmp_path / "area.py"
    file.write_text(CONSTRAINED)
    study = str(tmp_path / "run.db")
    words = [f"{file}:measured", "--study", study, "--seed", "0"]
    page = tune(*words, "--budget", "30")
    assert page.exit_code == 0, page.output
    assert "infeasible" in page.stdout
    facts = json.loads(tune(*words, "--budget", "40", "--json").stdout)  # resumed
    x, y = facts["best"]["params"].values()
    assert x + y <= 1
    counts = json.loads(CliRunner().invoke(main, ["study", study, "--json"]).stdout)["counts"]
    assert counts["infeasible"] == 40 - counts["completed"] > 0
    table = CliRunner().invoke(main, ["study", study, "--csv"]).stdout.splitlines()
    assert "constraints_0" in table[0]
    assert sum(",infeasible," in row for row in table) == counts["infeasible"]


def test_results_before_an_objective_ends_the_program(tmp_path):
    file = tmp_path / "leaving.py"
    file.write_text(
        "import sys\nimport bough\nspace = bough.Space(x=bough.Float(0, 1))\nseen = []\n"
        "def late(params):\n    seen.append(params)\n"
        "    return sys.exit(3) if len(seen) == 6 else params['x']\n"
    )
    stopped = tune(f"{file}:late", "--on-error", "stop", "--json")
    assert stopped.exit_code == 1
    facts = json.loads(stopped.stdout)
    assert facts["evaluations"] == 5
    assert facts["error"] == "the objective ended the program: SystemExit(3)"


PRINTING = """
import os

import bough

space = bough.Space(x=bough.Float(0, 1))
print("imported")


def loss(params):
    print("epoch 1")
    os.write(1, b"from another language\\n")
    os.system("echo from another process")
    return params["x"]
"""


@pytest.mark.parametrize("more", [(), ("--workers", "1")])
def test_what_an_objective_prints_is_not_part_of_the_json(more, tmp_path):
    (tmp_path / "printing.py").write_text(PRINTING)
    words = [sys.executable, "-m", "bough.cli", "tune", "printing.py:loss", "--budget", "2"]
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = run([*words, "--json", *more])
    assert json.loads(found.stdout)["evaluations"] == 2
    for text in ("imported", "epoch 1", "from another language", "from another process"):
        assert text in found.stderr
    assert "from another process" in run([*words, *more]).stdout
