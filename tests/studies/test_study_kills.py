"""SIGKILL at random moments, repeatedly: no observation is lost, and the search is the same."""

import os
import random
import signal
import struct

import numpy as np
import pytest

from bough import Study, Tree, maximize

TREE = Tree(4, 8)
RECORD = struct.Struct("<qd")


def reward(path, seed):
    return sum(path) / 8 + 0.1 * np.random.default_rng(seed).standard_normal()


def run_until_killed(file, acknowledged, durability, signs):
    """Run the search in a process of its own, and kill it after a number of signs of life.

    The process gives a sign before and after it opens the study and after each trial, whatever time
    that takes, and then continues: the kill comes at a random moment of what follows. It also
    appends to another file each value for which `tell` has returned.
    """
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            log = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(there, b"x")
            if file.exists():
                study = Study.open(file, durability=durability)
            else:
                study = Study.create(file, TREE, rng=11, durability=durability)
            os.write(there, b"x")

            def acknowledge(search):
                last = study.trials[-1]
                os.write(log, RECORD.pack(last.id, last.value))
                os.write(there, b"x")

            maximize(reward, TREE, budget=10**9, study=study, callbacks=[acknowledge])
        finally:
            os._exit(1)
    for _ in range(signs):
        os.read(here, 1)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(here)
    os.close(there)
    assert os.WIFSIGNALED(status)  # it did not end by itself


def kill_and_compare(tmp_path, kills):
    draw = random.Random(kills)
    maximize(reward, TREE, budget=3, rng=0)  # imports SciPy before processes are forked
    file, acknowledged = tmp_path / "run.db", tmp_path / "acknowledged"
    for k in range(kills):
        durability = "full" if k % 2 else "process"
        # One sign: while it is opened. Two: at the first trial. More: after some trials.
        signs = 1 if k % 5 == 0 else draw.randint(2, 12)
        run_until_killed(file, acknowledged, durability, signs)
    acked = list(RECORD.iter_unpack(acknowledged.read_bytes()))
    assert len(acked) > kills  # the kills hit a search that was running
    with Study.open(file, read_only=True) as study:
        for id_, value in acked:
            assert study.trials[id_].value == value
        # Recorded, and killed before that was acknowledged.
        assert study.trials.count("completed") - len(acked) <= kills
        budget = len(study.trials) + 20
    resumed = maximize(reward, TREE, budget=budget, study=file)
    whole = maximize(reward, TREE, budget=budget, rng=11)
    assert [t.path for t in resumed.study.trials] == whole.history.paths
    assert [t.value for t in resumed.study.trials] == whole.history.values.tolist()
    assert [t.id for t in resumed.study.trials] == list(range(budget))
    assert resumed.best == whole.best
    assert resumed.certificate == whole.certificate


def test_twenty_kills(tmp_path):
    kill_and_compare(tmp_path, 24)


@pytest.mark.thorough
def test_five_hundred_kills(tmp_path):
    for k in range(10):  # short ones, since each process replays all trials
        folder = tmp_path / str(k)
        folder.mkdir()
        kill_and_compare(folder, 50 + k)
