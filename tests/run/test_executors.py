"""Evaluations on workers: the same search with one, no arm twice with more, and failures."""

import importlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import objectives
import pytest

import bough
from bough import GPTS, Study, Tree, kernels, maximize
from bough.run.executors import trial_seed, workers_of

TREE = Tree(3, 4)


def assert_same(result, other):
    assert result.history.paths == other.history.paths
    assert result.history.values.tolist() == other.history.values.tolist()
    assert result.best == other.best
    assert result.certificate == other.certificate


@pytest.mark.parametrize("searcher", ["gpts", "uct"])
def test_one_worker_equals_the_sequential_run(searcher, tmp_path):
    alone = maximize(objectives.noisy, TREE, budget=60, rng=0, searcher=searcher)
    with ThreadPoolExecutor(1) as executor:
        result = maximize(
            objectives.noisy, TREE, budget=60, rng=0, searcher=searcher, executor=executor
        )
    assert_same(result, alone)
    own = maximize(
        objectives.noisy, TREE, budget=60, rng=0, searcher=searcher, executor=1,
        study=tmp_path / "run.db", timeout=600,
    )  # fmt: skip
    assert_same(own, alone)


def test_seeds_are_those_of_the_trials():
    seen = []

    def objective(path, *, seed):
        seen.append(seed)
        return sum(path) / 8

    for rng in (0, 0, 1):
        maximize(objective, TREE, budget=40, rng=rng)
    first, second, other = seen[:40], seen[40:80], seen[80:]
    assert first == second
    assert len(set(first + other)) == 80
    assert all(0 <= seed < 2**32 for seed in seen)


def test_all_workers_are_busy_and_no_arm_is_evaluated_twice():
    calls, gate = [], threading.Barrier(4)

    def objective(path):
        calls.append(path)
        gate.wait(60)  # until four run at once, whatever else the machine does
        return sum(path) / 8

    with ThreadPoolExecutor(4) as executor:
        result = maximize(
            objective, TREE, budget=60, executor=executor,
            searcher=GPTS(TREE, kernels.Linear(), 0.0, rng=0),
        )  # fmt: skip
    assert len(set(calls)) == len(calls) == 60
    assert result.searcher.pending == ()


def test_exhaustion_with_workers():
    with ThreadPoolExecutor(5) as executor:
        result = maximize(
            objectives.total, Tree(2, 3), budget=100, executor=executor,
            searcher=GPTS(Tree(2, 3), kernels.Linear(), 0.0, rng=0),
        )  # fmt: skip
    assert result.stopped_by == "exhausted"
    assert len(result.history) == 8


class Shuffled:
    """Gives the answers of each handful in another order."""

    max_workers = 6

    def __init__(self):
        self.waiting = []

    def submit(self, function, *arguments):
        future = Future()
        self.waiting.append((future, function(*arguments)))
        if len(self.waiting) == self.max_workers:
            self.answer()
        return future

    def answer(self):
        order = np.random.default_rng(len(self.waiting)).permutation(len(self.waiting))
        for k in order:
            self.waiting[k][0].set_result(self.waiting[k][1])
        self.waiting.clear()


def test_answers_in_another_order_are_told_to_the_right_trials(tmp_path):
    result = maximize(
        objectives.noisy, TREE, budget=60, rng=0, executor=Shuffled(), study=tmp_path / "run.db"
    )
    assert [t.id for t in result.study.trials] == list(range(60))
    for trial in result.study.trials:
        seed = trial_seed(result.study.first_state, trial.id)
        assert trial.value == objectives.noisy(trial.path, seed)
    with Study.open(tmp_path / "run.db") as again:  # and what happened is replayed
        assert list(again.trials) == list(result.study.trials)


def test_a_worker_that_dies_is_replaced_and_its_trial_runs_again(tmp_path):
    once = tmp_path / "once"

    def dies_once(path):
        if not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sum(path) / 8

    pytest.importorskip("loky", reason="a function within a function needs loky")
    alone = maximize(objectives.total, TREE, budget=20, rng=0)
    result = maximize(dies_once, TREE, budget=20, rng=0, executor=1)
    assert once.exists()
    assert_same(result, alone)


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_end_when_their_search_is_killed(tmp_path):
    pytest.importorskip("loky", reason="a function of the main program needs loky")
    code = """
import os, time, bough

def objective(path):
    os.write(1, b"%d\\n" % os.getpid())  # at once, or lines of two processes may mix
    time.sleep(60)

bough.maximize(objective, bough.Tree(3, 4), budget=9, rng=0, executor=2)
"""
    search = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    workers = [int(search.stdout.readline()) for _ in range(2)]
    search.kill()
    search.communicate()  # until the other end is closed
    deadline = time.monotonic() + 600
    while any(map(is_there, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_there, workers))


def test_an_objective_that_kills_every_worker(tmp_path):
    file = tmp_path / "run.db"
    with pytest.raises(bough.ObjectiveError, match=r"failed at path \(2, .*worker died") as caught:
        maximize(objectives.deadly, TREE, budget=40, rng=0, executor=1, study=file, retries=0)
    trials = caught.value.result.study.trials
    assert [t.path[0] for t in trials if t.state == "running"] == [2]
    result = maximize(
        objectives.deadly, TREE, budget=len(trials) + 1, executor=1, study=file, retries=0,
        catch=bough.WorkerDied,
    )  # fmt: skip
    assert len(result.study.trials) == len(trials) + 1
    assert result.study.failed > 0
    assert all(t.state == "failed" for t in result.study.trials if t.path[0] == 2)


def test_a_broken_pool_of_the_user_ends_the_run(tmp_path):
    file = tmp_path / "run.db"
    with ProcessPoolExecutor(2) as executor:
        with pytest.raises(bough.PoolError, match="the executor cannot continue") as caught:
            maximize(objectives.deadly, TREE, budget=40, rng=0, executor=executor, study=file)
        completed = caught.value.result.study.trials.count("completed")
        with pytest.raises(bough.PoolError, match="cannot continue"):
            maximize(objectives.total, TREE, budget=40, executor=executor, study=file)
    with ThreadPoolExecutor(2) as executor:
        result = maximize(objectives.total, TREE, budget=40, executor=executor, study=file)
    assert result.study.trials.count("completed") == 40 > completed


def test_a_timeout_fails_the_trial_and_ends_its_worker(tmp_path):
    result = maximize(
        objectives.hanging, TREE, budget=5, rng=0, executor=2, timeout=2.0,
        study=tmp_path / "run.db",
    )  # fmt: skip
    failed = [t for t in result.study.trials if t.state == "failed"]
    assert failed
    assert all("longer than 2 s" in t.reason for t in failed)  # on a busy machine any trial
    assert all(t.state == "failed" for t in result.study.trials if t.path[0] == 2)


def test_what_the_objective_imports_is_not_timed(tmp_path, monkeypatch):
    pytest.importorskip("loky", reason="workers that are forked have imported it already")
    (tmp_path / "slow_to_import.py").write_text(
        "import os, time\nif os.getpid() != int(os.environ['PARENT']):\n    time.sleep(4)\n"
        "def objective(path):\n    return sum(path) / 8\n"
    )
    monkeypatch.setenv("PARENT", str(os.getpid()))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    slow_to_import = importlib.import_module("slow_to_import")
    result = maximize(slow_to_import.objective, TREE, budget=3, rng=0, executor=1, timeout=3.0)
    assert len(result.history) == 3


def test_a_timeout_in_a_pool_of_the_user_leaves_its_worker():
    release = threading.Event()

    def objective(path):
        if path[0] == 2:
            release.wait(60)
        return sum(path) / 8

    with ThreadPoolExecutor(2) as executor:
        try:
            with pytest.raises(bough.PoolError, match="all 2 workers run evaluations"):
                maximize(objective, TREE, budget=60, rng=0, executor=executor, timeout=0.05)
        finally:
            release.set()


@pytest.mark.parametrize("value", [math.nan, "high", 1j])
def test_nonsense_from_a_worker(value):
    with ThreadPoolExecutor(2) as executor:
        with pytest.raises(bough.ObjectiveError, match="the objective failed at path"):
            maximize(lambda path: value, TREE, budget=9, rng=0, executor=executor)
        result = maximize(
            lambda path: value, TREE, budget=9, executor=executor, catch=(ValueError, TypeError)
        )
    assert result.best is None


def test_an_exception_that_cannot_be_sent_breaks_no_pool():
    with ProcessPoolExecutor(1) as executor:
        for pool in (executor, 1):
            with pytest.raises(bough.ObjectiveError, match="Unsendable.'404: not found'"):
                maximize(objectives.raising, TREE, budget=9, rng=0, executor=pool)
        assert len(maximize(objectives.total, TREE, budget=3, executor=executor).history) == 3
    with ThreadPoolExecutor(1) as executor:  # threads need send nothing
        result = maximize(
            objectives.raising, TREE, budget=2, executor=executor, catch=objectives.Unsendable
        )
    assert result.best is None


def test_exceptions_of_the_main_program_are_caught():
    pytest.importorskip("loky", reason="a function of the main program needs loky")
    code = """
import bough

class Mine(Exception):
    pass

def objective(path):
    raise Mine("no")

result = bough.maximize(objective, bough.Tree(3, 4), budget=2, rng=0, executor=1, catch=Mine)
print(result.stopped_by)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout.strip() == "budget", done.stderr


def test_a_worker_that_wants_to_end_the_program():
    said = pytest.raises(bough.ObjectiveError, match=r"failed at path .* SystemExit\(3\)")
    with ThreadPoolExecutor(2) as executor, said:
        maximize(lambda path: sys.exit(3), TREE, budget=9, rng=0, executor=executor)


def test_retries_of_what_is_caught():
    calls = []

    def flaky(path):
        calls.append(path)
        if len(calls) % 3 == 1:
            raise ConnectionError("again")
        return sum(path) / 8

    result = maximize(flaky, TREE, budget=10, rng=0, catch=ConnectionError, retries=1)
    assert (len(result.history), result.history.failed) == (10, 0)
    for retries in (0, None):  # an exception is not retried unless that is asked for
        calls.clear()
        result = maximize(flaky, TREE, budget=10, rng=0, catch=ConnectionError, retries=retries)
        assert (len(result.history), result.history.failed) == (10, 4)
        assert len(calls) == 10


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"timeout": 3}, ValueError, "timeout needs a worker"),
        ({"executor": 2, "timeout": 0}, ValueError, "timeout must be above zero"),
        ({"executor": 2, "timeout": "1"}, TypeError, "timeout must be one real number"),
        ({"executor": 0}, ValueError, "executor must be at least 1"),
        ({"executor": True}, TypeError, "executor must be a number of workers"),
        ({"executor": 1.5}, TypeError, "executor must be a number of workers"),
        ({"executor": ThreadPoolExecutor}, TypeError, r"write ThreadPoolExecutor\(\)"),
        ({"retries": -1}, ValueError, "retries must be at least 0"),
        ({"retries": 0.5}, TypeError, "retries must be an int"),
        ({"collect": "yes"}, TypeError, "collect must be True or False"),
    ],
)
def test_bad_arguments(keywords, error, message, tmp_path):
    with pytest.raises(error, match=message):
        maximize(objectives.total, TREE, budget=5, study=tmp_path / "run.db", **keywords)
    assert not (tmp_path / "run.db").exists()


def test_executors_that_do_not_say_how_many_workers_they_have():
    class Silent:
        def submit(self, function, *arguments):
            raise AssertionError

    with pytest.raises(TypeError, match="give it an attribute max_workers"):
        maximize(objectives.total, TREE, budget=5, executor=Silent())
    silent = Silent()
    silent.max_workers = 3
    assert workers_of(silent) == 3


INTERRUPT = """
import itertools, os, signal, sys, threading
from concurrent.futures import ThreadPoolExecutor
import bough

class Said:
    '''Standard error, and whether it was said that evaluations are running.'''

    def __init__(self):
        self.event = threading.Event()

    def write(self, text):
        sys.__stderr__.write(text)
        if "running evaluations" in text:
            self.event.set()

    def flush(self):
        sys.__stderr__.flush()

    def isatty(self):
        return False

def scenario(file, presses, collect):
    begun, ended, calls = threading.Semaphore(0), threading.Event(), itertools.count()
    sys.stderr = Said()

    def objective(path):
        first = next(calls) < 3
        begun.release()
        if not first:
            ended.wait(60)
        return sum(path) / 8

    def press():
        for _ in range(6):  # three have ended, and three run
            begun.acquire()
        for _ in range(presses):
            os.kill(os.getpid(), signal.SIGINT)
            sys.stderr.event.wait(60)
        if collect and presses == 1:  # a second press leaves them running
            ended.set()

    threading.Thread(target=press, daemon=True).start()
    with ThreadPoolExecutor(3) as executor:
        result = bough.maximize(
            objective, bough.Tree(3, 4), budget=500, rng=0, executor=executor, study=file,
            searcher="uct", collect=collect,
        )
        ended.set()
    counts = [result.study.trials.count(state) for state in ("completed", "failed", "running")]
    print(result.stopped_by, *counts, len(result.history))

scenario("1.db", 1, False)
scenario("2.db", 1, True)
scenario("3.db", 2, True)
"""


def test_interrupts(tmp_path):
    """Ctrl-C leaves running evaluations, or waits for them until it is pressed again."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT],
        capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path,
    )  # fmt: skip
    lines = ["interrupt 3 0 3 3", "interrupt 6 0 0 6", "interrupt 3 0 3 3"]
    assert done.stdout.splitlines() == lines, done.stderr
    said = done.stderr.splitlines()
    assert said[0].startswith("left 3 running evaluations")
    assert said[1].startswith("waiting for 3 running evaluations")
    assert said[2].startswith("waiting for 3 running evaluations")
    for number, left in ((1, [3, 4, 5]), (2, []), (3, [3, 4, 5])):
        with Study.open(tmp_path / f"{number}.db") as study:
            assert [trial.id for trial in study.trials if trial.state == "running"] == left
            assert [study.ask().id for _ in left] == left
            assert study.ask().id == 6


@pytest.mark.parametrize("collect", [False, True])
def test_running_evaluations_when_a_rule_ends_the_search(tmp_path, collect, capsys):
    gate = threading.Barrier(3)

    def objective(path, seed):
        gate.wait(30)  # all three at once
        return sum(path) / 8

    with ThreadPoolExecutor(3) as executor:
        result = maximize(
            objective, TREE, stop=lambda search: search.observations == 1, rng=0,
            executor=executor, study=tmp_path / "run.db", collect=collect,
        )  # fmt: skip
    assert result.study.trials.count("completed") == len(result.history) == (3 if collect else 1)
    assert ("waiting for" if collect else "left 2") in capsys.readouterr().err


@pytest.mark.parametrize(
    ("trials", "workers"), [(500, 2), pytest.param(10_000, 8, marks=pytest.mark.thorough)]
)
def test_many_trials_over_processes(tmp_path, trials, workers):
    file = tmp_path / "run.db"
    study = Study.create(file, Tree(5, 10), searcher="uct", rng=0, durability="process")
    with ProcessPoolExecutor(workers) as executor, study:
        result = maximize(
            objectives.total, study.tree, budget=trials, executor=executor, study=study
        )
    assert len(result.history) == trials
    with Study.open(file, read_only=True) as study:
        assert study.trials.count("completed") == len(study.trials) == trials
        assert [t.id for t in study.trials] == list(range(trials))
        assert all(t.value == sum(t.path) / 8 for t in study.trials)


# ---------------------------------------------------------------------- notebooks and scripts

UNGUARDED = """
import multiprocessing, sys
multiprocessing.set_start_method(sys.argv[1])
if sys.argv[2] == "without":
    sys.modules["loky"] = None
import bough
scale = 3
def objective(path):
    return sum(path) / scale
result = bough.maximize(objective, bough.Tree(3, 4), budget=4, rng=0, executor=2, catch=Exception)
print(len(result.history), result.history.failed)
"""


def unguarded(where, method, loky, tmp_path):
    """Run a program without `if __name__ == "__main__"`, as a script or as a notebook does."""
    (tmp_path / "script.py").write_text(UNGUARDED)
    program = "-" if where == "notebook" else str(tmp_path / "script.py")
    return subprocess.run(
        [sys.executable, program, method, loky],
        input=UNGUARDED, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("where", ["script", "notebook"])
def test_every_start_method(where, method, tmp_path):
    pytest.importorskip("loky", reason="a function of the main program needs loky")
    done = unguarded(where, method, "with", tmp_path)
    assert done.stdout.split() == ["4", "0"], done.stderr


@pytest.mark.parametrize("where", ["script", "notebook"])
def test_what_to_do_without_loky(where, tmp_path):
    done = unguarded(where, "spawn", "without", tmp_path)
    assert "PoolError: worker processes cannot import the objective. Install loky" in done.stderr


@pytest.mark.parametrize("count", [2**64, 10**400], ids=["large", "huge"])
def test_huge_numbers_of_workers(count):
    with pytest.raises(ValueError, match="executor must be at most"):
        maximize(objectives.total, TREE, budget=2, executor=count)
