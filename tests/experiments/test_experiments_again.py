"""Comparisons: reproducibility, resuming, and files of finished runs."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from comparing import PROBLEMS, run_four

import bough
from bough.cli import main
from bough.experiments import compare, runs
from bough.experiments.pages import regrets_page
from bough.experiments.runs import Job, Run
from bough.studies.records import RecordFile

OPTIONS = {"budget": 30, "seeds": 3, "tuning_seeds": 2}


def regrets(found):
    return {
        pair: [(run.simple, run.cumulative, run.suboptimal) for run in finished]
        for pair, finished in found.runs.items()
    }


def test_the_same_seed_gives_the_same_regrets(tmp_path):
    one, two = (compare(PROBLEMS[:1], ["gpts", "uct"], workers=1, **OPTIONS) for _ in range(2))
    assert regrets(one) == regrets(two)
    assert one.choices == two.choices
    assert regrets_page(one) == regrets_page(two)
    other = compare(PROBLEMS[:1], ["gpts", "uct"], workers=1, seed=5, **OPTIONS)
    assert regrets(other) != regrets(one)
    # A seed determines a problem and a run, independently of the other seeds.
    shifted = compare(PROBLEMS[:1], ["gpts"], workers=1, seed=1, budget=30, seeds=2)
    assert regrets(shifted)["smooth:3:4", "gpts"] == regrets(one)["smooth:3:4", "gpts"][1:]


def start(folder, *words):
    """Start `bough` in a session of its own, so that all its processes can be ended."""
    file = str(folder / "runs.jsonl")
    command = [sys.executable, "-m", "bough.cli", *words, "--study", file, "--workers", "2"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def lines(folder):
    path = folder / "runs.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def wait_for(condition, seconds=900):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def none_left(process):
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_a_comparison_that_was_ended_resumes(tmp_path, how):
    words = ["compare", "smooth:3:4", "--searchers", "gpts-known,uct", "--budget", "300"]
    words += ["--seeds", "15", "--tuning-seeds", "4"]
    process = start(tmp_path, *words)
    wait_for(lambda: len(lines(tmp_path)) >= 5)
    if how == "killed":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=900)
    before = lines(tmp_path)
    assert 5 <= len(before) < 54  # of 24 for tuning and 30 that are shown
    wait_for(lambda: none_left(process))
    if how == "interrupted":
        assert process.returncode == 130
        assert "repeat the command to resume" in errors
        assert "Traceback" not in errors
        return  # it resumes in the same way
    process = start(tmp_path, *words)
    output, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors
    after = lines(tmp_path)
    whole = [line for line in before if line.endswith(b"\n")]
    assert after[: len(whole)] == whole  # none was repeated,
    assert len(after) == len({json.loads(line)["job"] for line in after})  # nor any twice
    found = compare(
        ["smooth:3:4"], ["gpts-known", "uct"], budget=300, seeds=15, tuning_seeds=4, workers=1
    )
    command = "bough " + " ".join(words[:-2]) + " --seed 0 --tuning-seeds 4"
    assert output.startswith(regrets_page(found, command))


JOBS = [Job("p", "s", (("c", 0.5),), seed, 10, False) for seed in range(3)]
RUN = Run([1, 10], [0.1, 0.0], [0.1, 0.2], [1, 2], [0.5, 1.0], 10)


def store_of(path):
    return RecordFile(path, Run, "run")


def stored(path):
    store = store_of(path)
    for job in JOBS:
        store.add(job.key, RUN)
    store.close()
    return path.read_bytes()


def test_the_run_of_an_incomplete_line_is_repeated(tmp_path):
    path = tmp_path / "runs.jsonl"
    content = stored(path)
    last = content.rindex(b"\n", 0, -1) + 1
    for end in (last + 1, last + 9, len(content) - 20, len(content) - 1):
        path.write_bytes(content[:end])
        store = store_of(path)
        assert [job.key in store for job in JOBS] == [True, True, False]
        assert store[JOBS[0].key] == RUN
        store.add(JOBS[2].key, RUN)
        store.close()
        assert path.read_bytes() == content


def test_other_files_are_refused_and_not_modified(tmp_path):
    path = tmp_path / "runs.jsonl"
    content = stored(path)
    bough.Study.create(tmp_path / "study.db", bough.Tree(3, 4)).close()
    for other, message in (
        (b"nonsense\n" + content, "line 1 of .*runs.jsonl is not a finished run"),
        (content + b"nonsense", "is not a file of finished runs"),
        (b"precious", "is not a file of finished runs"),
        ((tmp_path / "study.db").read_bytes(), "is not a f"),
    ):
        path.write_bytes(other)
        with pytest.raises(bough.StudyError, match=message):
            store_of(path)
        assert path.read_bytes() == other
    with pytest.raises(bough.StudyError, match="there is no folder"):
        store_of(tmp_path / "none" / "runs.jsonl")


def test_a_study_of_a_comparison(tmp_path):
    file = tmp_path / "compare.db"
    found = run_four(4, study=file)
    assert run_four(4, study=file).runs == found.runs  # seconds and all: nothing was repeated
    assert len(file.read_bytes().splitlines()) == 1
    store = store_of(file)
    with pytest.raises(bough.StudyError, match="is being written by process"):
        run_four(4, study=file)
    store.close()
    command = ["compare", "smooth:3:3", "--searchers", "gpts-known", "--budget", "5", "--seeds"]
    command = [*command, "2", "--workers", "1", "--study", str(tmp_path / "cli.db"), "--json"]
    first, again = (CliRunner().invoke(main, command) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert first.stdout == again.stdout  # seconds and all
    assert len((tmp_path / "cli.db").read_bytes().splitlines()) == 2
    said = CliRunner().invoke(main, ["study", str(tmp_path / "cli.db")])
    assert "holds the finished runs of a comparison" in said.stderr


def test_runs_of_other_code_are_repeated(tmp_path, monkeypatch):
    first = run_four(4, study=tmp_path / "runs.jsonl")
    monkeypatch.setattr(runs, "code_digest", lambda: "another")
    again = run_four(4, study=tmp_path / "runs.jsonl")
    assert len(lines(tmp_path)) == 2
    assert regrets(again) == regrets(first)
    monkeypatch.undo()
    assert runs.code_digest() == runs.code_digest.__wrapped__()


def test_another_budget_is_another_run(tmp_path):
    first = run_four(4, study=tmp_path / "runs.jsonl")
    again = run_four(4, study=tmp_path / "runs.jsonl")
    assert again.runs == first.runs  # seconds and all: nothing was repeated
    assert run_four(5, study=tmp_path / "runs.jsonl").runs["four", "script"][0].evaluations == 5
    assert len(lines(tmp_path)) == 2
