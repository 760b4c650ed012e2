"""SIGKILL at random moments, again and again: nothing told is lost, and nothing goes otherwise."""

import os
import random
import signal
import struct
import time

import numpy as np
import pytest

from bough import Study, Tree, maximize

TREE = Tree(4, 8)
RECORD = struct.Struct("<qd")


def reward(path, seed):
    return sum(path) / 8 + 0.1 * np.random.default_rng(seed).standard_normal()


def run_until_killed(file, acknowledged, durability, delay, at_once):
    """Run the search in a process of its own, and kill it; return whether it had told anything.

    It writes down, in another file, what `tell` has returned for.
    """
    begun, begin = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            log = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(begin, b"x")
            if file.exists():
                study = Study.open(file, durability=durability)
            else:
                study = Study.create(file, TREE, rng=11, durability=durability)
            os.write(begin, b"x")

            def acknowledge(search):
                last = study.trials[-1]
                os.write(log, RECORD.pack(last.id, last.value))

            maximize(reward, TREE, budget=10**9, study=study, callbacks=[acknowledge])
        finally:
            os._exit(1)
    for _ in range(1 if at_once else 2):  # at once: in the middle of opening too
        os.read(begun, 1)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(begun)
    os.close(begin)
    assert os.WIFSIGNALED(status)  # it did not end by itself


def kill_and_compare(tmp_path, kills):
    draw = random.Random(kills)
    maximize(reward, TREE, budget=3, rng=0)  # imports what learning needs, before processes fork
    file, acknowledged = tmp_path / "run.db", tmp_path / "acknowledged"
    grown = 0
    for k in range(kills):
        before = acknowledged.stat().st_size if acknowledged.exists() else 0
        durability = "full" if k % 2 else "process"
        run_until_killed(
            file, acknowledged, durability, draw.uniform(0.0, 0.05), at_once=k % 5 == 0
        )
        grown += acknowledged.stat().st_size > before
    assert grown > kills / 3  # the kills hit a search that was running
    told = list(RECORD.iter_unpack(acknowledged.read_bytes()))
    with Study.open(file, read_only=True) as study:
        for id_, value in told:
            assert study.trials[id_].value == value
        assert study.trials.count("told") - len(told) <= kills  # told, and killed before it said so
        budget = len(study.trials) + 20
    resumed = maximize(reward, TREE, budget=budget, study=file)
    whole = maximize(reward, TREE, budget=budget, rng=11)
    assert [t.path for t in resumed.study.trials] == whole.history.paths
    assert [t.value for t in resumed.study.trials] == whole.history.values.tolist()
    assert [t.id for t in resumed.study.trials] == list(range(budget))
    assert resumed.best == whole.best
    assert resumed.certificate == whole.certificate
    assert not list(tmp_path.glob("*damaged*"))


def test_twenty_kills(tmp_path):
    kill_and_compare(tmp_path, 24)


@pytest.mark.thorough
def test_five_hundred_kills(tmp_path):
    for k in range(10):  # short ones, so that not all time goes into replays
        folder = tmp_path / str(k)
        folder.mkdir()
        kill_and_compare(folder, 50 + k)
