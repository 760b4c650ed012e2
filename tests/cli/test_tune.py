"""`bough tune`."""

import json

import pytest
from click.testing import CliRunner

from bough.cli import main

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
        (["{}:broken"], "failed at params"),
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
    assert "bounds is for the searcher gpts" in wrong.stderr
