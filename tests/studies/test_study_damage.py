"""Damaged files, full disks, read-only files, newer formats: a clear error, and nothing is lost."""

import functools
import json
import os
import resource
import shutil
import sqlite3
import tempfile
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bough import Choice, Float, Space, Study, StudyError, Tree, kernels
from bough.cli import main
from bough.exceptions import Locked

TREE = Tree(4, 6)
TRIALS = 60
ENDINGS = ("", "-wal", "-shm")


def play(study, count):
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, sum(trial.path) + trial.id / 7)


def make(file, count, **options):
    options = {"searcher": "uct", "rng": 0, "durability": "process"} | options
    with Study.create(file, TREE, **options) as study:
        play(study, count)
    return list(study.trials)


def write(folder, files):
    for ending, data in files.items():
        Path(folder, f"run.db{ending}").write_bytes(data)
    return Path(folder, "run.db")


def contents(file):
    """Return the bytes of a file and of its log."""
    paths = {ending: Path(f"{file}{ending}") for ending in ENDINGS}
    return {ending: path.read_bytes() for ending, path in paths.items() if path.exists()}


@functools.cache
def left(state):
    """Return the files of a process that closed its study or was killed, and the trials."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run.db")
        if state == "closed":
            trials = make(file, TRIALS)
            return contents(file), trials
        study = Study.create(file, TREE, searcher="uct", rng=0, durability="process")
        if "short" in state:  # pages move into the file often, and the log begins again
            study._journal._writer().execute("PRAGMA wal_autocheckpoint = 20")
        play(study, TRIALS)
        files = contents(file)
        study.close()
    return files, list(study.trials)


STATES = ["closed", "killed", "killed with a short log"]


def prefixes(trials):
    """Return the trials after each recorded operation."""
    for count in range(len(trials) + 1):
        yield trials[:count]
        if count < len(trials):
            running = trials[count]._replace(state="running", value=None, ended=None)
            yield [*trials[:count], running]


def open_twice(file, *, read_only):
    """Open a file twice; return its trials or the error, which is the same, and changes nothing."""
    before = contents(file)
    outcomes = []
    for _ in range(2):
        try:
            with Study.open(file, read_only=read_only) as study:
                outcomes.append(list(study.trials))
        except StudyError as error:
            outcomes.append(str(error))
        assert contents(file) == before
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


@pytest.mark.parametrize("state", STATES)
@given(
    ending=st.sampled_from(["", "-wal"]),
    place=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
    cut=st.booleans(),
    read_only=st.booleans(),
)
def test_any_damage_is_noticed(state, ending, place, bit, cut, read_only):
    """A flipped bit or a missing end: all that was committed is there, or an error says why not."""
    files, trials = left(state)
    if ending not in files:
        return
    data = bytearray(files[ending])
    at = int(place * len(data))
    if cut:
        del data[at:]
    else:
        data[at] ^= 1 << bit
    with tempfile.TemporaryDirectory() as folder:
        file = write(folder, files | {ending: bytes(data)})
        found = open_twice(file, read_only=read_only)
        if isinstance(found, str):
            assert str(file) in found
            assert any(
                words in found
                for words in ("is damaged: ", "is not a study of bough", "by a newer one")
            )
        elif cut and ending == "-wal":
            assert found in prefixes(trials)  # like a process that was killed earlier
        elif ending == "-wal":
            assert found in list(prefixes(trials))[-2:]  # perhaps without the last commit
        else:
            assert found == trials


@pytest.mark.parametrize("state", STATES)
def test_whole_files_resume(state, tmp_path):
    files, trials = left(state)
    file = write(tmp_path, files)
    assert open_twice(file, read_only=True) == open_twice(file, read_only=False) == trials
    with Study.open(file) as study:
        play(study, 3)
    assert set(contents(file)) == {""}  # nothing is left beside it
    assert len(open_twice(file, read_only=True)) == TRIALS + 3


def test_a_damaged_log_is_not_lost_by_opening_the_study_with_another_tree(tmp_path):
    """It left 1 of 60 trials: SQLite moved the first pages into the file when it was closed."""
    files, trials = left("killed")
    file = write(tmp_path, files)
    for _ in range(2):
        with pytest.raises(StudyError, match="another tree"):
            Study.open(file, Tree(3, 6))
        assert contents(file) == files
    log = bytearray(files["-wal"])
    log[5000] ^= 1
    damaged = files | {"-wal": bytes(log)}
    write(tmp_path, damaged)
    for tree in (Tree(3, 6), None, TREE):
        with pytest.raises(StudyError, match="is damaged: its write-ahead log has lost commit"):
            Study.open(file, tree)
        assert contents(file) == damaged
    write(tmp_path, files)
    assert open_twice(file, read_only=False) == trials


def bough(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def restored(file):
    """Export a damaged file, import what was saved, and return the new study's file."""
    before = contents(file)
    lines, copy = file.with_name("saved.jsonl"), file.with_name("copy.db")
    said = bough("study", "export", file, lines)
    assert said.exit_code == 1
    assert f"{file} is damaged: " in said.stderr
    count = len(lines.read_text().splitlines()) - 1
    assert f"{count} operations were saved, the last with number " in said.stderr
    assert bough("study", "import", lines, copy).exit_code == 0
    assert contents(file) == before
    return copy


def check_restored(copy, trials):
    """Open a restored study, resume it, and open it again; return the number of lost values."""
    values = {(trial.path, trial.value) for trial in trials if trial.value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Study.open(copy) as study:
            found = [(t.path, t.value) for t in study.trials if t.value is not None]
            assert len(set(found)) == len(found) == study.searcher.observations
            assert set(found) <= values
            trial = study.ask()
            study.tell(trial, 0.5)
        with Study.open(copy) as again:
            assert list(again.trials) == list(study.trials)
    return len(values) - len(found)


def test_a_page_of_zeros_loses_only_its_operations(tmp_path):
    file = tmp_path / "run.db"
    trials = make(file, 400)
    data = bytearray(file.read_bytes())
    middle = len(data) // 4096 // 2 * 4096
    data[middle : middle + 4096] = bytes(4096)
    file.write_bytes(data)
    assert "is damaged" in open_twice(file, read_only=False)
    assert 0 < check_restored(restored(file), trials) < 60


def test_a_wrong_checksum_loses_one_operation(tmp_path):
    file = tmp_path / "run.db"
    trials = make(file, 20)
    data = bytearray(file.read_bytes())
    data[data.rfind(b"[1,")] ^= 1
    file.write_bytes(data)
    assert "the checksums of 1 operations are wrong" in open_twice(file, read_only=False)
    said = bough("study", "export", file, tmp_path / "run.jsonl", "--json")
    facts = json.loads(said.stdout)
    assert facts["operations"] == 39
    saved = "39 operations were saved, the last with number 40; 1 before it, and any after it"
    assert saved in facts["damage"]
    assert check_restored(restored(file), trials) == 1


def test_the_end_of_a_damaged_log_is_said_to_be_lost(tmp_path):
    files, trials = left("killed")
    log = bytearray(files["-wal"])
    log[len(log) // 2] ^= 1
    file = write(tmp_path, files | {"-wal": bytes(log)})
    assert 15 < check_restored(restored(file), trials) < 45


def test_a_truncated_file_is_exported_as_far_as_it_goes(tmp_path):
    file = tmp_path / "run.db"
    trials = make(file, 300)
    whole = file.read_bytes()
    for share in (0.6, 0.99):
        file.write_bytes(whole[: int(share * len(whole))])
        copy = restored(file)
        assert check_restored(copy, trials) < 300
        copy.unlink()
    file.write_bytes(whole[:5000])
    said = bough("study", "export", file)
    assert said.exit_code == 1
    assert "is damaged" in said.stderr


def test_a_study_of_a_space_is_restored(tmp_path):
    """It could not be opened any more: a lost trial had no params."""
    space = Space(x=Float(0, 1), kind=Choice(["a", "b"]))
    file = tmp_path / "run.db"
    with Study.create(file, space, rng=0, durability="process") as study:
        for _ in range(12):
            trial = study.ask()
            study.tell(trial, trial.params["x"])
    data = bytearray(file.read_bytes())
    data[data.rfind(b'{"x":%r' % study.trials[-1].params["x"]) + 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(StudyError, match="is damaged"):
        Study.open(file)
    copy = restored(file)
    for count in (11, 12, 13):
        with Study.open(copy) as study:
            assert len(study.trials) == count
            trial = study.ask()
            study.tell(trial, trial.params["x"])


def test_a_locked_file_is_not_damaged(tmp_path, monkeypatch):
    file = tmp_path / "run.db"
    make(file, 5)
    monkeypatch.setattr("bough.studies.files.PATIENCE", 0.05)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with Study.open(file) as study, pytest.raises(Locked, match="is locked by another program"):
        study.ask()
    other.execute("ROLLBACK")
    other.close()
    with Study.open(file) as study:
        assert len(study.trials) == 5
        study.ask()


def test_operations_that_are_longer_than_a_page(tmp_path):
    file = tmp_path / "run.db"
    deep = Tree(2, 3000)
    with Study.create(file, deep, searcher="uct", rng=0) as study:
        for _ in range(8):
            trial = study.ask()
            study.tell(trial, sum(trial.path))
    assert open_twice(file, read_only=False) == list(study.trials)
    data = bytearray(file.read_bytes())
    at = data.rfind(b",".join(str(k).encode() for k in study.trials[-1].path[-40:]))
    data[at + 1] ^= 1
    file.write_bytes(data)
    assert check_restored(restored(file), study.trials) == 1


def test_other_files(tmp_path):
    file = tmp_path / "run.db"
    file.write_text("not a database" * 100)
    with pytest.raises(StudyError, match="is not a study of bough"):
        Study.open(file)
    file.unlink()
    sqlite3.connect(file).execute("CREATE TABLE x (y)").connection.close()
    with pytest.raises(StudyError, match="is not a study of bough"):
        Study.open(file)
    file.unlink()
    make(file, 3)
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(StudyError, match="has format 2, .* written by a newer one; upgrade"):
        Study.open(file)


def in_child(function):
    """Return what a function returns that is called in a process of its own."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(there, function().encode())
        except BaseException as error:
            os.write(there, repr(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(there)
    with os.fdopen(here) as pipe:
        return pipe.read()


@pytest.mark.parametrize("durability", ["full", "process"])
def test_a_full_disk(tmp_path, durability):
    file = tmp_path / "run.db"
    make(file, 10, durability=durability)

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200 * 1024, 200 * 1024))
        with Study.open(file) as study:
            for count in range(5000):
                try:
                    play(study, 1)
                except StudyError as error:
                    return f"{count} {error}"

    count, message = in_child(fill).split(" ", 1)
    assert "cannot be written" in message
    assert "is the disk full?" in message
    assert int(count) > 5
    with Study.open(file) as study:
        assert study.trials.count("completed") == 10 + int(count)
        play(study, 5)
    whole = tmp_path / "whole.db"
    make(whole, 10 + int(count) + 5)
    with Study.open(whole) as other:
        assert [t[:5] for t in other.trials] == [t[:5] for t in study.trials]


def test_no_room_for_a_new_study(tmp_path):
    file = tmp_path / "run.db"

    def create():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        with pytest.raises(StudyError) as caught:
            Study.create(file, TREE)
        return str(caught.value)

    assert f"{file} cannot be made" in in_child(create)
    assert not file.exists()


def test_a_read_only_file(tmp_path):
    shared = Path(tmp_path.anchor, "tmp", f"bough-read-only-{os.getpid()}")
    shared.mkdir()
    try:
        file = shared / "run.db"
        make(file, 20, searcher="gpts", kernel=kernels.Linear(), noise=0.1)
        for path in (file, Path(f"{file}-lock")):
            path.chmod(0o444)
        shared.chmod(0o555)

        def look():
            if os.geteuid() == 0:  # root may write anything
                os.setuid(65534)
            with pytest.raises(StudyError) as caught:
                Study.open(file)
            with Study.open(file, read_only=True) as study:
                return f"{caught.value}\n{len(study.trials)} {study.best().visits > 0}"

        lines = in_child(look).splitlines()
        assert "cannot be written" in lines[0]
        assert "open it with read_only=True" in lines[0]
        assert lines[1] == "20 True"
    finally:
        shared.chmod(0o755)
        shutil.rmtree(shared)


def test_a_file_whose_first_page_does_not_say_that_it_is_a_study_is_restored(tmp_path):
    file = tmp_path / "run.db"
    trials = make(file, 10)
    data = bytearray(file.read_bytes())
    data[68] ^= 1  # of the application id
    file.write_bytes(data)
    assert "is not a study of bough, or its first page is damaged" in open_twice(
        file, read_only=True
    )
    assert check_restored(restored(file), trials) == 0
