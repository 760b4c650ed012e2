"""Studies through `maximize`, and through the command."""

import json
import math
import sys
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import bough
from bough import (
    GPTS,
    Float,
    Int,
    Space,
    Study,
    StudyError,
    Tree,
    kernels,
    maximize,
    minimize,
)
from bough.cli import main

TREE = Tree(3, 4)


def reward(path, seed=0):
    return sum(path) / 8 + 0.01 * np.random.default_rng(seed).standard_normal()


def facts(study):
    return [trial[:5] for trial in study.trials]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.db"


def test_maximize_creates_and_resumes(file):
    whole = maximize(reward, TREE, budget=60, rng=4)
    first = maximize(reward, TREE, budget=25, rng=4, study=file)
    assert first.study.trials.count("completed") == 25  # readable, though it is closed
    second = maximize(reward, TREE, budget=60, study=str(file))
    assert [t.path for t in second.study.trials] == whole.history.paths
    assert [t.value for t in second.study.trials] == whole.history.values.tolist()
    assert second.best == whole.best
    assert second.certificate == whole.certificate
    assert len(second.history) == 35
    done = maximize(reward, TREE, budget=60, study=file, rng=4)
    assert (done.stopped_by, len(done.history)) == ("budget", 0)
    for keywords, message in (
        ({"rng": 5}, "rng must be None or the seed .* which is 4, got 5"),
        ({"searcher": "uct"}, "a study by gpts, not by uct"),
    ):
        with pytest.raises(StudyError, match=message):
            maximize(reward, TREE, budget=60, study=file, **keywords)
    with pytest.raises(StudyError, match="another tree"):
        maximize(reward, Tree(3, 5), budget=60, study=file)
    with pytest.raises(StudyError, match="is to maximize, not to minimize"):
        minimize(reward, TREE, budget=60, study=file)
    with pytest.raises(TypeError, match="study must be a file name or a bough.Study"):
        maximize(reward, TREE, budget=60, study=7)
    with pytest.raises(TypeError, match="about must be a text"):
        Study.create(file.with_name("new.db"), TREE, about=3)
    with pytest.raises(TypeError, match="progress"):
        maximize(reward, TREE, budget=70, study=file, progress="no")
    maximize(reward, TREE, budget=61, study=file)  # the lock is free


def test_a_study_of_another_space_names_the_difference(file):
    x, y = Float(0, 1), Int(0, 3)
    Study.create(file, Space(x=x, y=y)).close()
    for other, difference in (
        (Space(x=x), "only the study has a parameter 'y'"),
        (Space(x=x, y=y, z=y), "only the given one has a parameter 'z'"),
        (Space(x=x, y=x), "its y is .*, not "),
        (Space(y=y, x=x), "its parameters come in another order"),
    ):
        with pytest.raises(StudyError, match=f"is a study of another space: {difference}"):
            Study.open(file, other)


def test_minimize_with_a_study(file):
    plain = minimize(reward, TREE, budget=30, rng=0)
    result = minimize(reward, TREE, budget=30, rng=0, study=file)
    assert result.best == plain.best
    assert result.study.best() == plain.best
    assert result.study.certificate == plain.certificate
    assert [t.value for t in result.study.trials] == plain.history.values.tolist()


def test_searchers_that_are_objects_are_given_again(file):
    def make(tree):
        return GPTS(tree, kernels.Linear(), 0.1, rng=7)

    whole = maximize(reward, TREE, budget=30, searcher=make)
    maximize(reward, TREE, budget=10, searcher=make, study=file)
    with pytest.raises(StudyError, match="cannot hold its searcher"):
        maximize(reward, TREE, budget=30, study=file)
    with pytest.raises(StudyError, match="by .*make.*, not by .*GPTS"):
        maximize(reward, TREE, budget=30, searcher=make(TREE), study=file)
    result = maximize(reward, TREE, budget=30, searcher=make, study=file)
    assert [t.path for t in result.study.trials] == whole.history.paths
    other = file.with_name("object.db")
    maximize(reward, TREE, budget=10, searcher=make(TREE), study=other)
    result = maximize(reward, TREE, budget=30, searcher=make(TREE), study=other)
    assert [t.path for t in result.study.trials] == whole.history.paths


def test_a_searcher_without_a_seed_resumes(file):
    def make(tree):
        return GPTS(tree, kernels.Linear(), 0.1)

    maximize(reward, TREE, budget=20, searcher=make, study=file)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it asks what it asked then
        result = maximize(reward, TREE, budget=30, searcher=make, study=file)
    assert len(result.history) == 10


def test_failures_and_errors_leave_a_resumable_study(file):
    def moody(path, seed):
        if path[0] == 2:
            raise ZeroDivisionError("no luck")
        return reward(path, seed)

    caught = maximize(moody, TREE, budget=30, rng=0, study=file, catch=ZeroDivisionError)
    states = [t.state for t in caught.study.trials]
    assert len(states) == 30
    assert 0 < states.count("failed") == caught.study.failed
    plain = maximize(moody, TREE, budget=30, rng=0, catch=ZeroDivisionError)
    assert [t.path for t in caught.study.trials] == plain.history.paths
    assert [t[1:5] for t in caught.history.trials] == [t[1:5] for t in plain.history.trials]
    more = maximize(moody, TREE, budget=40, study=file, catch=ZeroDivisionError)
    longer = maximize(moody, TREE, budget=40, rng=0, catch=ZeroDivisionError)
    assert [t.path for t in more.study.trials] == longer.history.paths

    def broken(path):
        if len(study.trials) == 45:
            raise RuntimeError("gone")
        return reward(path)

    study = Study.open(file)
    with pytest.raises(bough.ObjectiveError, match="gone") as error:
        maximize(broken, TREE, budget=60, study=study)
    assert error.value.result.study is study
    assert study.trials[44].state == "running"
    result = maximize(reward, TREE, budget=60, study=study)  # it stays open, and is offered again
    assert result.study.trials[44].state == "completed"
    assert len(result.study.trials) == 60
    study.close()


@pytest.mark.parametrize("value", [math.nan, "high", 1j, None, (1.0, 2.0, 3.0)])
def test_an_objective_that_returns_nonsense(file, value):
    with pytest.raises(bough.ObjectiveError, match="the objective failed at path"):
        maximize(lambda path: value, TREE, budget=5, study=file, rng=0)
    result = maximize(
        lambda path: value, TREE, budget=3, study=file, catch=(TypeError, ValueError), retries=0
    )
    assert [t.state for t in result.study.trials] == ["failed"] * 3
    assert all(t.reason for t in result.study.trials)


def test_an_objective_that_returns_numpy_scalars(file):
    values = [np.float32(0.5), np.int64(2), np.array(1.5), (np.float64(1.0), np.float32(0.5))]
    result = maximize(lambda path: values.pop(), TREE, budget=4, study=file, rng=0)
    with Study.open(file) as study:
        assert facts(study) == facts(result.study)
    assert [t.value for t in study.trials] == [1.0, 1.5, 2.0, 0.5]
    assert study.trials[0].noise == 0.5


def test_an_objective_that_ends_the_program_leaves_a_resumable_study(file):
    with pytest.raises(SystemExit):
        maximize(lambda path: sys.exit(3), TREE, budget=5, study=file, rng=0)
    result = maximize(reward, TREE, budget=5, study=file)  # the lock is free
    assert [t.state for t in result.study.trials] == ["completed"] * 5


# ---------------------------------------------------------------------- the command


def bough_command(*arguments):
    return CliRunner().invoke(main, arguments)


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def f(path):\n    return sum(path) / 8\n")
    search = ("search", "mine.py:f", "--branching", "3", "--depth", "4", "--study", "run.db")
    assert bough_command(*search, "--budget", "20").exit_code == 0
    more = bough_command(*search, "--budget", "30", "--json")
    assert json.loads(more.stdout)["evaluations"] == 10
    assert json.loads(more.stdout)["observations"] == 30
    assert "0 evaluated in" in bough_command(*search, "--budget", "30").stdout
    assert ", 30 in all, stopped by budget" in bough_command(*search, "--budget", "30").stdout
    other = bough_command(*search, "--budget", "30", "--seed", "8")
    assert other.exit_code != 0
    assert "which is 0, got 8" in other.stderr
    page = bough_command("study", "run.db")
    for word in (
        "30 trials (30 completed, 0 failed, 0 running)",
        "best path",
        "certificate",
        "29  completed",
    ):
        assert word in page.stdout
    shown = json.loads(bough_command("study", "run.db", "--json").stdout)
    assert shown["counts"] == {
        "completed": 30,
        "pruned": 0,
        "infeasible": 0,
        "failed": 0,
        "running": 0,
    }
    assert shown["best"]["path"] == json.loads(more.stdout)["best"]["path"]
    table = bough_command("study", "run.db", "--csv").stdout.splitlines()
    assert len(table) == 31
    assert table[0].startswith("id,value,state,started,ended,duration,path,noise,reason")
    bough_command("study", "export", "run.db", "run.jsonl")
    assert bough_command("study", "import", "run.jsonl", "copy.db").exit_code == 0
    with Study.open(tmp_path / "copy.db") as copy, Study.open(tmp_path / "run.db") as run:
        assert list(copy.trials) == list(run.trials)
        assert copy.ask().path == run.ask().path
    for arguments, message in (
        (("study", "none.db"), "none.db"),
        (("study", "mine.py"), "is not a study"),
        (("study", "import", "mine.py", "x.db"), "not an export of a study"),
        (("study", "import", "run.jsonl", "run.db"), "exists already"),
        (("study", "run.db", "--json", "--csv"), "cannot be combined"),
    ):
        bad = bough_command(*arguments)
        assert bad.exit_code != 0
        assert message in bad.stderr
        assert isinstance(bad.exception, SystemExit)


def trials_of(file):
    return json.loads(bough_command("study", file, "--json").stdout)["trials"]


def test_a_known_problem_resumes_as_if_it_had_not_ended(tmp_path, monkeypatch):
    """Its noise too; its seed need not be given again, and another one is refused."""
    monkeypatch.chdir(tmp_path)
    search = ("search", "discounted:uniform", "--study")
    assert bough_command(*search, "parts.db", "--budget", "20", "--seed", "3").exit_code == 0
    assert bough_command(*search, "parts.db", "--budget", "40").exit_code == 0
    assert bough_command(*search, "whole.db", "--budget", "40", "--seed", "3").exit_code == 0
    facts = [[(t["path"], t["value"]) for t in trials_of(f)] for f in ("parts.db", "whole.db")]
    assert facts[0] == facts[1]
    assert len(facts[0]) == 40
    other = bough_command("search", "smooth", "--study", "parts.db", "--budget", "50")  # same tree
    assert other.exit_code != 0
    assert (
        "is a study of discounted:uniform with noise 0.233287, not of smooth with" in other.stderr
    )
    assert (
        "about        discounted:uniform with noise 0.233287"
        in bough_command("study", "parts.db").stdout
    )


def test_a_damaged_file_is_an_error_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    search = ("search", "smooth", "--study", "run.db", "--budget")
    bough_command(*search, "20")
    data = bytearray((tmp_path / "run.db").read_bytes())
    data[data.rfind(b"likelihood")] ^= 1
    (tmp_path / "run.db").write_bytes(data)
    for arguments in ((*search, "25"), ("study", "run.db"), ("report", "run.db", "-o", "x.html")):
        said = bough_command(*arguments)
        assert said.exit_code != 0
        assert "run.db is damaged: the checksums of 1 operations are wrong" in said.stderr
        assert "bough study export run.db FILE" in " ".join(said.stderr.split())
    assert (tmp_path / "run.db").read_bytes() == data
