"""Export as JSON lines and import: the same study, or an error that names the line."""

import json
import warnings

import pytest
from click.testing import CliRunner

from bough import Study, Tree
from bough.cli import main

TREE = Tree(3, 4)


def play(study, count):
    for _ in range(count):
        trial = study.ask()
        if trial.id % 7 == 3:
            study.fail(trial, "seven")
        else:
            study.tell(trial, sum(trial.path) / 8, noise=0.1 if trial.id % 5 else None)


def bough(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path):
    with Study.create(tmp_path / "run.db", TREE, rng=0, durability="process") as study:
        play(study, 20)
        study.enqueue((0, 1, 2, 0))
        study.enqueue((2, 1, 2, 0))
        play(study, 1)
        study.ask()
        study.ask()
    return tmp_path


def test_an_exported_study_is_imported_unchanged(folder):
    assert bough("study", "export", folder / "run.db", folder / "run.jsonl").exit_code == 0
    assert bough("study", "import", folder / "run.jsonl", folder / "copy.db").exit_code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Study.open(folder / "copy.db") as copy, Study.open(folder / "run.db") as run:
            assert list(copy.trials) == list(run.trials)
            for _ in range(5):
                assert copy.ask().path == run.ask().path
    assert bough("study", "export", folder / "run.db").stdout.startswith('{"bough study": 1')


def test_invalid_lines_are_refused(folder):
    lines = bough("study", "export", folder / "run.db").stdout.splitlines()
    kinds = [json.loads(line).get("kind") for line in lines]
    at = {kind: kinds.index(kind) for kind in ("ask", "tell", "fail", "refit", "enqueue")}

    def but(which, **changes):
        changed = list(lines)
        changed[at[which]] = json.dumps(json.loads(lines[at[which]]) | changes)
        return changed

    for changed, message in (
        (lines[: at["tell"]] + lines[at["tell"] + 1 :], "its number is 3, not 2"),
        ([lines[0], lines[2]], "line 2 is not the next operation: its number is 2, not 1"),
        (but("ask", trial=1), "its trial is 1, not 0"),
        (but("ask", body='"x"'), "a path is a list, params are an object, not 'x'"),
        (but("ask", body="[0,-1]"), "a step must"),
        (but("tell", trial=5), "trial 5 is not running"),
        (but("tell", trial="0"), "trial 0 is not running"),
        (but("tell", body="NaN"), "value must be"),
        (but("tell", body="null"), "value must be"),
        (but("tell", body="[1, -1]"), "noise must not be negative"),
        (but("fail", body="3"), "a reason is a text"),
        (but("refit", body="{}"), "'values'"),
        (but("refit", body="3"), "line "),
        (but("enqueue", body=None), "JSON"),
        (but("enqueue", kind="jump"), "kind 'jump'"),
        (but("enqueue", color=3), "color"),
        ([*lines[:4], lines[4][:9]], "line 5 is not an operation of a study"),
        ([lines[0].replace('"bough study": 1', '"bough study": 9')], "has format 9"),
        (['{"x": 1}'], "not an export of a study"),
        ([], "not an export of a study"),
    ):
        (folder / "bad.jsonl").write_text("".join(line + "\n" for line in changed))
        said = bough("study", "import", folder / "bad.jsonl", folder / "bad.db")
        assert said.exit_code == 1
        assert message in said.stderr
        assert not (folder / "bad.db").exists()
