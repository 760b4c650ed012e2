"""Studies: every value is durable, and a study that is opened again resumes exactly."""

import json
import math
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import bough
from bough import GPTS, Study, StudyError, Tree, kernels, maximize
from bough.studies.describe import describe, describe_tree, rebuild, rebuild_tree

TREE = Tree(3, 4)


def reward(path, seed=0):
    return sum(path) / 8 + 0.01 * np.random.default_rng(seed).standard_normal()


def play(study, count):
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, reward(trial.path, trial.id))


def facts(study):
    return [trial[:5] for trial in study.trials]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.db"


OPTIONS = [
    {},
    {"searcher": "uct", "exploration": 0.4},
    {"kernel": kernels.Linear(2.0), "noise": 0.0},
    {"kernel": kernels.Gaussian(None), "select": "arm", "confidence": bough.Confidence(scale=1.0)},
    {"kernel": 2.0 * kernels.Linear() + kernels.Geometric(0.5), "noise": 0.1, "mean": 0.5},
    {"growth": "rollout", "kernel": kernels.Linear(), "noise": 0.1},
    {"growth": "deepening", "kernel": kernels.Linear(), "noise": 0.1},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_study_resumes_as_if_it_had_not_been_closed(tmp_path, options):
    check_that_it_resumes(tmp_path, options, lambda: 3)


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_a_generator_may_be_the_seed(tmp_path, kind):
    options = {"kernel": kernels.Linear(), "noise": 0.1}
    check_that_it_resumes(tmp_path, options, lambda: np.random.Generator(kind(5)))
    mine = np.random.Generator(kind(5))
    maximize(reward, TREE, budget=3, rng=mine, study=tmp_path / "max.db")
    with pytest.raises(StudyError, match="rng must be None or the seed"):
        maximize(reward, TREE, budget=4, rng=mine, study=tmp_path / "max.db")  # it has moved on
    same = np.random.Generator(kind(5))
    assert maximize(reward, TREE, budget=4, rng=same, study=tmp_path / "max.db").best is not None


def test_a_seed_that_was_drawn_is_recorded(file):
    with Study.create(file, TREE, kernel=kernels.Linear(), noise=0.1) as study:
        play(study, 10)
    other = file.with_name("other.db")
    seed = study.specification["seed"]
    with Study.create(other, TREE, kernel=kernels.Linear(), noise=0.1, rng=seed) as same:
        play(same, 10)
    assert facts(same) == facts(study)


def check_that_it_resumes(tmp_path, options, rng):
    with Study.create(tmp_path / "whole.db", TREE, rng=rng(), **options) as whole:
        play(whole, 40)
    parts = tmp_path / "parts.db"
    with Study.create(parts, TREE, rng=rng(), **options) as study:
        play(study, 7)
    for count in (1, 12, 20):
        with Study.open(parts) as study:
            play(study, count)
    assert facts(study) == facts(whole)
    assert study.best() == whole.best()
    assert study.certificate == whole.certificate


def test_running_trials_are_offered_again_under_their_ids(file):
    with Study.create(file, TREE, rng=0, durability="process") as study:
        play(study, 5)
        left = [study.ask() for _ in range(3)]
    with Study.open(file) as study:
        assert [study.trials[k].state for k in (5, 6, 7)] == ["running"] * 3
        study.tell(6, 0.5)  # by its id: it was evaluated elsewhere
        again = [study.ask(), study.ask()]
        assert [(t.id, t.path) for t in again] == [(t.id, t.path) for t in (left[0], left[2])]
        assert study.ask().id == 8
        study.fail(again[0], "no luck")
    with Study.open(file) as study:
        assert [study.ask().id for _ in range(2)] == [7, 8]
        assert study.trials[5].reason == "no luck"
        assert study.failed == 1


def test_enqueued_paths_come_first_and_once(file):
    with Study.create(file, TREE, rng=0) as study:
        study.enqueue([0, 1, 2, 0])
        study.enqueue((2, 2, 2, 2))
        trial = study.ask()
        assert (trial.id, trial.path) == (0, (0, 1, 2, 0))
        study.tell(trial, 1.0)
    with Study.open(file) as study:
        trial = study.ask()
        assert trial.path == (2, 2, 2, 2)
        study.fail(trial, "")
        play(study, 3)
    with Study.open(file) as study:
        play(study, 1)
        with pytest.raises(ValueError, match="too short"):
            study.enqueue((0, 1))
        assert len(study.trials) == 6


def test_pending_trials_are_replayed_in_order(file):
    def interleaved(study, rounds):
        for _ in range(rounds):
            trials = [study.ask() for _ in range(3)]
            for trial in trials[::-1]:
                if trial.id % 5 == 4:
                    study.fail(trial, "five")
                else:
                    study.tell(trial, reward(trial.path, trial.id), noise=0.1)

    with Study.create(file, TREE, rng=1) as study:
        interleaved(study, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Study.open(file) as study:
            interleaved(study, 10)
    with Study.create(file.with_name("whole.db"), TREE, rng=1) as whole:
        interleaved(whole, 20)
    assert facts(study) == facts(whole)


def test_exhausted_searches_are_replayed(file):
    tree = Tree(2, 2)
    with Study.create(file, tree, kernel=kernels.Linear(), noise=0.0, rng=0) as study:
        trials = [study.ask() for _ in range(4)]
        for _ in range(2):
            with pytest.raises(bough.Exhausted):
                study.ask()
        for trial in trials[:3]:
            study.tell(trial, 1.0 + trial.id)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = Study.open(file)
    assert study.ask() == trials[3]
    study.tell(3, 0.0)
    with pytest.raises(bough.Exhausted):
        study.ask()
    study.close()


def test_refused_values_change_nothing(file):
    study = Study.create(file, TREE, kernel=kernels.Linear(), noise=0.0, rng=0)
    trial = study.ask()
    before = study.trials[0]
    for value, error in (
        (math.nan, ValueError),
        ("1", TypeError),
        (1j, TypeError),
        (None, TypeError),
    ):
        with pytest.raises(error, match="value must be"):
            study.tell(trial, value)
    with pytest.raises(ValueError, match="noise must not be negative"):
        study.tell(trial, 1.0, noise=-1.0)
    with pytest.raises(ValueError, match="there is no trial 7: the study has 1 so far"):
        study.tell(7, 1.0)
    with pytest.raises(TypeError, match="trial must be an int"):
        study.tell("0", 1.0)
    with pytest.raises(ValueError, match="is it a trial of another study"):
        study.tell(trial._replace(path=(9, 9)), 1.0)
    assert study.trials[0] == before
    study.tell(trial, np.float32(0.5))
    with pytest.raises(ValueError, match="trial 0 has a value already: 0.5"):
        study.tell(trial, 0.7)
    study.enqueue(trial.path)
    same = study.ask()
    with pytest.raises(ValueError, match="exact"):
        study.tell(same, 0.7)  # noise 0: it cannot have another value
    study.fail(same, "another value")
    with pytest.raises(ValueError, match=r"trial 1 has failed \(another value\)"):
        study.tell(same, 0.5)
    study.close()
    for call in (study.ask, lambda: study.tell(0, 1.0), lambda: study.enqueue(trial.path)):
        with pytest.raises(StudyError, match="is closed"):
            call()
    assert [t.value for t in study.trials] == [0.5, None]
    with Study.open(file) as again:
        assert facts(again) == facts(study)


def test_an_interrupt_in_the_middle_of_a_tell_closes_the_study(file, monkeypatch):
    study = Study.create(file, TREE, kernel=kernels.Linear(), noise=0.1, rng=0)
    play(study, 3)
    trial = study.ask()

    def interrupted(rows, durable=True):
        raise KeyboardInterrupt

    monkeypatch.setattr(study._journal, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.tell(trial, 1.0)
    with pytest.raises(StudyError, match="is closed"):
        study.ask()
    with Study.open(file) as again:  # it was not recorded, so it is offered again
        assert again.ask() == trial


def test_bad_arguments(file):
    for arguments, error, message in (
        ({"tree_or_space": 3}, TypeError, "tree_or_space must be a bough.Tree"),
        ({"searcher": "magic"}, ValueError, "searcher must be one of"),
        ({"direction": "up"}, ValueError, "direction must be"),
        ({"durability": "some"}, ValueError, "durability must be"),
        ({"rng": "x"}, TypeError, "rng must be"),
        ({"rng": -1}, ValueError, "rng must not be negative"),
        ({"noise": -1.0}, ValueError, "noise must not be negative"),
        ({"searcher": lambda tree: GPTS(tree), "noise": 0.1}, ValueError, "constructor of your"),
        ({"nose": 0.1}, TypeError, "nose"),
    ):
        with pytest.raises(error, match=message):
            Study.create(file, **({"tree_or_space": TREE} | arguments))
        assert not file.exists()
    used = GPTS(TREE)
    used.tell((0, 0, 0, 0), 1.0)
    with pytest.raises(ValueError, match="must be a new one"):
        Study.create(file, TREE, searcher=used)
    with pytest.raises(StudyError, match="there is no study"):
        Study.open(file)
    with pytest.raises(StudyError, match="there is no folder"):
        Study.create(file / "deeper" / "run.db", TREE)
    Study.create(file, TREE).close()
    with pytest.raises(StudyError, match="exists already"):
        Study.create(file, TREE)


def test_another_tree_searcher_or_option(file):
    Study.create(file, TREE, noise=0.1).close()
    for arguments, message in (
        ({"tree": Tree(3, 5)}, "another tree: its depth is 4, not 5"),
        ({"tree": Tree([3, 3, 3, 2], 4)}, "another tree: its branching is 3"),
        ({"searcher": "uct"}, "a study by gpts, not by uct"),
        ({"noise": 0.2}, "with noise=0.1, not 0.2"),
        ({"rng": 3}, "without the option rng; it has .'noise': 0.1"),
    ):
        with pytest.raises(StudyError, match=message):
            Study.open(file, **arguments)
    Study.open(file, TREE, searcher="gpts", noise=0.1).close()


def ragged(path):
    return 0 if path == (1,) else 2


def test_trees_and_means_that_are_functions(file):
    def guess(path):
        return -float(sum(path))

    tree = Tree(ragged, 3, log_arms=3.0)
    with Study.create(file, tree, mean=guess, rng=0) as study:
        play(study, 6)
    with pytest.raises(StudyError, match="branching is .*ragged, which the file cannot hold"):
        Study.open(file)
    with pytest.raises(StudyError, match="cannot hold its searcher"):
        Study.open(file, tree)
    with pytest.raises(StudyError, match="another tree: its branching"):
        Study.open(file, Tree(lambda path: 2, 3, log_arms=3.0))
    with Study.open(file, tree, mean=guess) as study:
        play(study, 3)
    looked = Study.look(file)
    assert facts(looked) == facts(study)
    with pytest.raises(ValueError, match="does not hold its searcher"):
        looked.best()


def test_a_tree_that_has_changed_is_noticed(file):
    wide = [True]

    def branching(path):
        return 3 if wide else 2

    tree = Tree(branching, 3)
    with Study.create(file, tree, kernel=kernels.Linear(), noise=0.1, rng=0) as study:
        play(study, 30)
    wide.clear()
    with pytest.raises(StudyError, match="does not fit the searcher any more, or its tree"):
        Study.open(file, tree)


def test_a_changed_program_keeps_the_observations_and_names_the_difference(file):
    exploration = [0.2]

    def factory(tree):
        return bough.UCT(tree, exploration=exploration[0], rng=0)

    with Study.create(file, TREE, searcher=factory) as study:
        play(study, 60)
        study.ask()
    exploration[0] = 3.0
    with pytest.warns(UserWarning, match=r"trial (\d+) differs .* asks for \(") as caught:
        study = Study.open(file, searcher=factory)
    first = int(str(caught[0].message).split("trial ")[1].split(" ")[0])
    changed = factory(TREE)  # when does the changed program really ask something else?
    for trial in study.trials:
        if changed.ask() != trial.path:
            break
        changed.tell(trial.path, trial.value)
    assert trial.id == first
    assert study.trials.count("completed") == study.searcher.observations == 60
    assert study.ask().id == 60
    play(study, 20)
    study.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the continued search is replayed exactly
        with Study.open(file, searcher=factory) as again:
            assert facts(again) == facts(study)
            assert again.best() == study.best()
            again.tell(60, 0.0)


def test_descriptions_are_rebuilt():
    for tree in (
        TREE,
        Tree([2, 3], 2),
        Tree(math.inf, 3, log_arms=9.0),
        Tree(2, 3, labels=["left", "right"]),
        Tree([2, 2], 2, labels=[["a", "b"], ["c", "d"]]),
        Tree(1, 0),
    ):
        assert rebuild_tree(json.loads(json.dumps(describe_tree(tree)))) == tree
    for value in (
        kernels.Chi((3.0, 1.0)),
        kernels.Geometric(None) + 2.0 * kernels.Gaussian(3.0),
        bough.Confidence(0.1, 0.5),
        math.inf,
        (1, "x", None, 0.1),
    ):
        assert rebuild(json.loads(json.dumps(describe(value))), "value") == value


def test_trials_as_a_table(file):
    pd = pytest.importorskip("pandas", reason="pandas is optional")
    with Study.create(file, TREE, rng=0) as study:
        play(study, 3)
    table = study.trials.to_pandas()
    assert isinstance(table, pd.DataFrame)
    assert table["value"].tolist() == [t.value for t in study.trials]


def test_a_study_is_cheap(file):
    """A trial is two statements to SQLite and 100 bytes, whatever the number of trials."""
    with Study.create(file, Tree(5, 10), searcher="uct", rng=0, durability="process") as study:
        said = []
        study._journal._writer().set_trace_callback(said.append)
        for _ in range(20):
            before = len(said)
            play(study, 100)
            assert len([text for text in said[before:] if not text.startswith("PRAGMA")]) == 200
    assert os.path.getsize(file) < 2000 * 200


# ---------------------------------------------------------------------- writers and readers


HOLD = """
import sys, bough
study = bough.Study.open(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


class Drawn(bough.searchers.Searcher):
    """A searcher of a third party, with a generator of its own, that replays without its state."""

    def __init__(self, tree, seed):
        self.tree = tree
        self._random = np.random.default_rng(seed)
        self.observed = []

    def ask(self):
        return tuple(int(self._random.integers(3)) for _ in range(self.tree.depth))

    def tell(self, path, value=None, *, noise=None, steps=None):
        self.observed.append((value, tuple(path)))

    def forget(self, path):
        pass

    def best(self, rule=None):
        value, path = max(self.observed)
        return bough.Arm(path, None, value, 0.0, value, value, value, 1)

    @property
    def observations(self):
        return len(self.observed)

    @property
    def pending(self):
        return ()


def test_searchers_of_third_parties_are_replayed(file):
    """Their asks are compared, which need not have a random state or fits that bough knows."""
    with Study.create(file, TREE, searcher=Drawn(TREE, 3)) as study:
        assert study.searcher.random_state is None
        play(study, 10)
    whole = maximize(reward, TREE, budget=20, searcher=Drawn(TREE, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Study.open(file, searcher=Drawn(TREE, 3)) as study:
            play(study, 10)
    assert [trial.path for trial in study.trials] == whole.history.paths
    with pytest.warns(UserWarning, match="trial 0 differs"):
        Study.open(file, searcher=Drawn(TREE, 4)).close()


def test_one_writer_at_a_time_and_readers_at_any_time(file):
    import socket

    with Study.create(file, TREE, rng=0) as study:
        play(study, 3)
        with pytest.raises(StudyError, match="this one, which opened it before"):
            Study.open(file)
        with Study.open(file, read_only=True) as reader:
            assert facts(reader) == facts(study)
            play(study, 2)  # while it is being read
            with pytest.raises(StudyError, match="reading only"):
                reader.ask()
        assert len(reader.trials) == 3
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        message = f"written by process {holder.pid} on host {socket.gethostname()}"
        with pytest.raises(StudyError, match=message):
            Study.open(file)
        with pytest.raises(StudyError, match=message):
            maximize(reward, TREE, budget=10, study=file)
        with Study.open(file, read_only=True) as reader:
            assert len(reader.trials) == 5
    finally:
        holder.kill()
        holder.communicate()
    Study.open(file).close()  # a lock dies with its process


def test_workers_that_outlive_a_killed_process_do_not_keep_the_lock(file):
    code = f"""
import os, signal, sys, bough
study = bough.Study.create({str(file)!r}, bough.Tree(3, 4), rng=0)
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    process.wait()
    Study.open(file).close()  # while its worker still waits
    process.stdin.close()


def test_a_forked_worker_may_not_write(file):
    with Study.create(file, TREE, searcher="uct", rng=0) as study:
        trial = study.ask()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                study.tell(trial, 1.0)
            except BaseException as error:
                os.write(write, repr(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        with os.fdopen(read) as pipe:
            said = pipe.read()
        assert f"was opened by process {os.getpid()}, and only that one may write" in said
        study.tell(trial, 2.0)
    with Study.open(file) as again:
        assert [t.value for t in again.trials] == [2.0]


def test_a_new_study_where_another_was_deleted(file):
    """A process that was killed leaves a log beside its file, which SQLite would believe."""
    child = os.fork()
    if child == 0:
        study = Study.create(file, TREE, rng=0)
        study.tell(study.ask(), 1.0)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert os.path.getsize(f"{file}-wal") > 0
    file.unlink()
    with Study.create(file, TREE, rng=1) as study:
        play(study, 2)
    with Study.open(file) as again:
        assert list(again.trials) == list(study.trials)
