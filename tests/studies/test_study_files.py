"""Files that others touch: copied, linked, deleted or forged, and long names."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from bough import Study, StudyError, Tree, maximize
from bough.exceptions import Locked
from bough.studies.describe import BIT_GENERATORS, rebuild_seed
from bough.studies.files import WriteLock

TREE = Tree(3, 4)


def play(study, count=2):
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, sum(trial.path))


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / "run.db"


def opened_elsewhere(file):
    """Return what another process says that opens a study to write."""
    code = "import sys, bough; bough.Study.open(sys.argv[1]).close()"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True)
    return done.stderr.strip().rpartition("\n")[2]


def test_a_copy_of_the_folder_does_not_release_the_lock(file, tmp_path):
    """It did: POSIX drops the locks of a process when it closes any handle of the file."""
    with Study.create(file, TREE, searcher="uct", rng=0) as study:
        play(study)
        shutil.copytree(file.parent, tmp_path / "copy")
        assert f"is being written by process {os.getpid()}" in opened_elsewhere(file)
        with pytest.raises(Locked, match="this one, which opened it before"):
            Study.open(file)
        play(study)
    assert opened_elsewhere(file) == ""


def test_looking_for_the_holder_does_not_release_the_lock(file):
    with Study.create(file, TREE, searcher="uct", rng=0):
        assert WriteLock.holder(file)["pid"] == os.getpid()
        assert "is being written by" in opened_elsewhere(file)
    assert WriteLock.holder(file) is None


def test_a_forked_process_closes_its_copy_of_the_lock_and_may_open_other_studies(file, tmp_path):
    with Study.create(file, TREE, searcher="uct", rng=0) as study:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with Study.create(tmp_path / "other.db", TREE, searcher="uct", rng=0) as other:
                    study.close()  # that of the parent stays locked, and that of the child open
                    play(other)
                    code = 0 if WriteLock.holder(file) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        play(study)


@pytest.mark.parametrize("ending", ["", "-wal", "-lock"])
@pytest.mark.parametrize("replaced", [False, True])
def test_deleting_a_file_during_a_run_is_noticed(file, ending, replaced):
    with Study.create(file, TREE, searcher="uct", rng=0) as study:
        play(study)
        path = file.with_name(f"run.db{ending}")
        content = path.read_bytes()
        path.rename(file.with_name("moved"))
        if replaced:
            path.write_bytes(content)
        with pytest.raises(StudyError, match=rf"run.db{ending} was deleted or replaced by another"):
            play(study)
        with pytest.raises(StudyError, match="is closed"):
            study.ask()


def test_deleting_the_file_ends_a_search(file):
    def reward(path):
        if sum(path) > 4:
            file.unlink(missing_ok=True)
        return sum(path)

    with pytest.raises(StudyError, match="was deleted or replaced"):
        maximize(reward, TREE, budget=80, rng=0, study=file)


def test_deleting_the_file_before_the_first_write_is_noticed(file):
    Study.create(file, TREE, searcher="uct", rng=0).close()
    with Study.open(file) as study:
        file.unlink()
        with pytest.raises(StudyError, match="was deleted or replaced"):
            study.ask()


def test_a_hard_link_does_not_admit_two_writers(file):
    other = file.with_name("other.db")
    with Study.create(file, TREE, searcher="uct", rng=0) as study:
        play(study)
        os.link(file, other)
        with pytest.raises(StudyError, match="has 2 names"):
            Study.open(other)
        play(study)
    for name in (file, other):
        with pytest.raises(StudyError, match="has 2 names"):
            Study.open(name)
        with Study.open(name, read_only=True) as reader:
            assert len(reader.trials) == 4
    other.unlink()
    Study.open(file).close()


@pytest.mark.parametrize("length", [250, 254, 300, 5000])
def test_long_names(tmp_path, length):
    file = tmp_path / ("x" * length)
    for call in (
        lambda: Study.create(file, TREE),
        lambda: Study.open(file),
        lambda: Study.look(file),
        lambda: maximize(sum, TREE, budget=3, study=file),
    ):
        with pytest.raises(StudyError, match="may have up to|too long|there is no study"):
            call()
    assert not list(tmp_path.iterdir())
    longest = tmp_path / ("y" * 243)
    Study.create(longest, TREE, searcher="uct").close()
    Study.open(longest).close()


def test_the_working_directory_may_change(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    with Study.create(file.name, TREE, searcher="uct", rng=0) as study:
        monkeypatch.chdir(file.parent.parent)
        play(study)
    with Study.open(file) as study:
        assert len(study.trials) == 2


@pytest.mark.parametrize("name", ["test", "seed", "default_rng", "Generator", "__loader__", 3, []])
def test_a_file_does_not_choose_what_is_called(name):
    with pytest.raises((ValueError, TypeError), match="bit generator must be one of|unhashable"):
        rebuild_seed({"generator": {"bit_generator": name, "state": {}}})


@pytest.mark.parametrize("name", sorted(BIT_GENERATORS))
def test_known_bit_generators(name, file):
    rng = np.random.Generator(BIT_GENERATORS[name](5))
    with Study.create(file, TREE, searcher="uct", rng=rng) as study:
        play(study)
    with Study.open(file) as study:
        assert len(study.trials) == 2


def test_an_unknown_bit_generator_is_refused_when_a_study_is_made(file):
    class Mine(np.random.PCG64):
        pass

    with pytest.raises(TypeError, match="rng must have a bit generator that a file can name"):
        Study.create(file, TREE, rng=np.random.Generator(Mine(0)))
    assert not file.exists()


@pytest.mark.parametrize("change", [{"trial": 10**9}, {"n": 10**9}, {"trial": -1}, {"at": "x"}])
def test_forged_numbers(file, change):
    from bough.studies.journal import _checksum

    with Study.create(file, TREE, searcher="uct", rng=0) as study:
        play(study, 5)
    connection = sqlite3.connect(file, isolation_level=None)
    for name, value in change.items():
        connection.execute(f"UPDATE operations SET {name} = ? WHERE n = 10", (value,))
    row = connection.execute("SELECT * FROM operations ORDER BY n DESC").fetchone()
    connection.execute(
        "UPDATE operations SET checksum = ? WHERE n = ?", (_checksum(row[:-1]), row[0])
    )
    connection.close()
    for call in (Study.open, Study.look):
        with pytest.raises(StudyError, match=r"is not valid|is not a valid study|is damaged"):
            call(file)


def test_a_forged_lock_file(file):
    with Study.create(file, TREE, searcher="uct", rng=0):
        for text in ("[]", '{"pid": [1]}', "[" * 900, json.dumps({"host": "\x1b[31m", "pid": 1})):
            file.with_name("run.db-lock").write_text(text)
            assert "\x1b" not in opened_elsewhere(file)
            assert "is being written by process" in opened_elsewhere(file)
