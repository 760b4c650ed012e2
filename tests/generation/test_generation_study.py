"""Durable searches: resumed without a call, damaged files refused, answers read only if needed."""

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import bough
from bough.exceptions import Locked
from bough.generation import GenerationStudy
from bough.generation.study import open_to_read


class Walk:
    def __init__(self):
        self.calls = 0

    def __call__(self, parent, seed):
        import random

        self.calls += 1
        x = (0.0 if parent is None else parent.answer["x"]) + random.Random(seed).gauss(0, 1)
        return bough.Answer({"x": x}, -abs(x - 5), feedback=f"x is {x}", cost=2.0)


def facts(result):
    return [(n.id, n.path, n.answer, n.feedback, n.score, n.mean, n.cost) for n in result.nodes]


@pytest.mark.parametrize("first", [1, 7, 40])
def test_a_resumed_search_is_the_one_that_was_not_interrupted(tmp_path, first):
    whole = bough.generate(Walk(), 40, study=tmp_path / "whole.db", rng=0)
    parts = tmp_path / "parts.db"
    bough.generate(Walk(), 40, study=parts, rng=0, stop=bough.Budget(first))
    walk = Walk()
    resumed = bough.generate(walk, 40, study=parts)
    assert walk.calls == 40 - first
    assert resumed.calls == 40
    assert resumed.cost == 80.0
    if first == 40:
        assert facts(resumed) == facts(whole)
    again = bough.generate(walk, 40, study=parts)
    assert walk.calls == 40 - first
    assert facts(again) == facts(resumed)
    assert again.best.answer == resumed.best.answer
    assert again.stopped_by == "budget"


@pytest.mark.parametrize("noise", [0.0, None])
def test_a_search_with_many_calls_under_way_is_replayed_bit_for_bit(tmp_path, noise):
    """Whatever is looked at in between: pytest turns the warning of a difference into an error."""
    path, random = tmp_path / "run.db", np.random.default_rng(0)
    with GenerationStudy.open(path, generators=("a", "b"), noise=noise, rng=0) as study:
        running = [study.ask() for _ in range(16)]
        for i in range(150):
            job = running.pop(int(random.integers(len(running))))
            start = 0.0 if job.parent is None else job.parent.score
            study.tell(job, i, float(start + random.normal()))
            if random.random() < 0.3:
                study.search.best()
            while len(running) < 16 and random.random() < 0.8:
                running.append(study.ask())
        nodes = [(node.mean, node.deviation) for node in study.search.nodes]
    again = open_to_read(path)
    assert [(node.mean, node.deviation) for node in again.search.nodes] == nodes


def test_stopping_by_a_rule_resumes_bit_for_bit(tmp_path):
    whole = bough.generate(Walk(), 40, study=tmp_path / "whole.db", rng=0)
    parts = tmp_path / "parts.db"
    bough.generate(Walk(), 40, study=parts, rng=0, stop=lambda search: search.calls >= 17)
    assert facts(bough.generate(Walk(), 40, study=parts)) == facts(whole)


def test_calls_under_way_are_offered_again_and_failures_kept(tmp_path):
    path = tmp_path / "run.db"
    with GenerationStudy.open(path, generators=("a", "b"), rng=0) as study:
        jobs = [study.ask() for _ in range(6)]
        study.tell(jobs[4], "four", 4.0)
        study.fail(jobs[1], "busy", cost=0.5)
        study.tell(jobs[0], ("zero", 0.0, 0.1))
    with GenerationStudy.open(path) as study:
        assert study.search.failed == 1
        assert study.search.reasons == {1: "busy"}
        again = [study.ask() for _ in range(3)]
        assert [job.id for job in again] == [2, 3, 5]
        assert [(j.parent, j.generator) for j in again] == [
            (jobs[i].parent, jobs[i].generator) for i in (2, 3, 5)
        ]
        assert study.ask().id == 6
        study.tell(again[0], "two", 2.0)
        with pytest.raises(ValueError, match="has ended already"):
            study.tell(4, "again", 1.0)
    looked = open_to_read(path)
    assert [node.answer for node in looked.search.nodes] == ["four", "zero", "two"]
    with pytest.raises(bough.StudyError, match="closed, or open for reading"):
        looked.ask()


def test_repeated_answers_and_seeds_are_kept(tmp_path):
    path = tmp_path / "run.db"
    with GenerationStudy.open(path, key=len, seeds=[("seed", 3.0)], rng=0) as study:
        study.tell(study.ask(), "four", 4.0)  # as long as the seed
        study.tell(study.ask(), "three", 5.0)
    with GenerationStudy.open(path, key=len) as study:
        assert [n.answer for n in study.search.nodes] == ["seed", "three"]
        assert study.search.nodes[0].score == 3.5
        assert study.tell(study.ask(), "xxxxx", 1.0).answer == "three"
    with pytest.raises(bough.StudyError, match="whose key is builtins.len, got none"):
        GenerationStudy.open(path)


@pytest.mark.parametrize(
    "answer", [(1, 2), {1: "a"}, object(), {"x": float("nan")}, {"x": {1, 2}}, b"bytes"]
)
def test_answers_that_json_cannot_hold(tmp_path, answer):
    path = tmp_path / "run.db"
    with GenerationStudy.open(path, rng=0) as study:
        job = study.ask()
        with pytest.raises(TypeError, match="codec"):
            study.tell(job, answer, 1.0)
        with pytest.raises(TypeError, match="feedback"):
            study.tell(job, "fine", 1.0, feedback=object())
        assert not study.search.nodes
        study.tell(job, "fine", 1.0)
    if not isinstance(answer, dict) and type(answer) is not object:
        codec = (pickle.dumps, pickle.loads)
        with GenerationStudy.open(tmp_path / "codec.db", codec=codec, rng=0) as study:
            study.tell(study.ask(), answer, 1.0, feedback="said")
        with GenerationStudy.open(tmp_path / "codec.db", codec=codec) as study:
            assert study.search.best().answer == answer
            assert study.search.best().feedback == "said"
        looked = open_to_read(tmp_path / "codec.db")
        with pytest.raises(bough.StudyError, match="open it with codec"):
            looked.search.best().answer  # noqa: B018


def test_large_answers_do_not_slow_the_replay(tmp_path):
    """No answer is read: the replay works without the table of answers."""
    path = tmp_path / "run.db"
    with GenerationStudy.open(path, rng=0, durability="process") as study:
        for i in range(30):
            study.tell(study.ask(), "x" * 1_000_000, float(i))
    assert path.stat().st_size > 30e6
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE answers")
    connection.close()
    study = open_to_read(path)
    assert study.search.calls == 30
    with pytest.raises(bough.StudyError, match="answer 29 cannot be read"):
        study.search.best().answer  # noqa: B018


def test_a_damaged_answer_is_found_when_it_is_read(tmp_path):
    path = tmp_path / "run.db"
    with GenerationStudy.open(path, rng=0) as study:
        study.tell(study.ask(), "right", 1.0)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET data = ?", (b"wrong",))
    connection.close()
    with pytest.raises(bough.StudyError, match="damaged: answer 0"):
        open_to_read(path).search.best().answer  # noqa: B018


def test_another_search_is_refused(tmp_path):
    path, tree = tmp_path / "run.db", tmp_path / "tree.db"
    GenerationStudy.open(path, generators=("a",), noise=0.1, rng=3).close()
    bough.Study.create(tree, bough.Tree(2, 2)).close()
    for arguments, message in (
        ({"generators": ("b",)}, "a study with generators"),
        ({"noise": 0.2}, "a study with noise=0.1"),
        ({"costs": 2.0}, "a study with costs=None"),
        ({"rng": 4}, "rng must be None or the seed"),
        ({"codec": (pickle.dumps, pickle.loads)}, "whose codec is none"),
    ):
        with pytest.raises(bough.StudyError, match=message):
            GenerationStudy.open(path, **arguments)
    with pytest.raises(bough.StudyError, match="a study of a tree or a space"):
        GenerationStudy.open(tree)
    with pytest.raises(bough.StudyError, match="use bough.generation.GenerationStudy.open"):
        bough.Study.open(path)
    with pytest.raises(TypeError, match="codec must be a pair"):
        GenerationStudy.open(path, codec=3)
    with GenerationStudy.open(path), pytest.raises(Locked):
        GenerationStudy.open(path)


def test_a_changed_program_keeps_the_answers(tmp_path):
    path = tmp_path / "run.db"
    bough.generate(Walk(), 20, study=path, rng=0)
    with sqlite3.connect(path) as connection:
        (text,) = connection.execute("SELECT body FROM operations WHERE kind='create'").fetchone()
    connection.close()
    study = open_to_read(path)
    operations = study._journal.read()[1]
    ask = [o for o in operations if o.kind == "ask"][12]
    other = json.dumps([None, "generate", 20, None])
    changed = ask._replace(body=other)
    rewrite(path, changed)
    with pytest.warns(UserWarning, match="call 12 differs"):
        resumed = bough.generate(Walk(), 25, study=path)
    assert resumed.calls == 25
    assert text
    assert bough.generate(Walk(), 25, study=path).calls == 25  # without a warning


def rewrite(path, operation):
    from bough.studies.journal import _checksum

    row = tuple(operation)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE operations SET body = ?, checksum = ? WHERE n = ?",
            (operation.body, _checksum(row), operation.n),
        )
    connection.close()


@pytest.mark.parametrize("body", ["[1]", '["x", null, null, null]', "[1e999, null, null, null]"])
def test_a_forged_operation_is_refused(tmp_path, body):
    path = tmp_path / "run.db"
    with GenerationStudy.open(path, rng=0) as study:
        study.tell(study.ask(), "a", 1.0)
    tell = next(o for o in open_to_read(path)._journal.read()[1] if o.kind == "tell")
    rewrite(path, tell._replace(body=body))
    with pytest.raises(bough.StudyError, match="not a valid study"):
        GenerationStudy.open(path)


def test_a_killed_search_loses_nothing(tmp_path):
    program = textwrap.dedent(
        """
        import bough, sys
        def f(parent):
            print("made", flush=True)
            return (0 if parent is None else parent.answer) + 1, 1.0
        bough.generate(f, 100_000, study="run.db", rng=0, progress=False)
        """
    )
    made = 0
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        for _ in range(15):
            assert process.stdout.readline() == "made\n"
        os.kill(process.pid, signal.SIGKILL)
        rest, _ = process.communicate()
        made += 15 + rest.count("made")
        time.sleep(0.1)
    study = open_to_read(tmp_path / "run.db")
    assert made - 4 <= len(study.search.nodes) <= made  # those under way when it was killed
    assert all(isinstance(node.answer, int) for node in study.search.nodes)
