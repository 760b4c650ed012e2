"""Full disks, read-only files, flipped bytes, newer formats: an error or a stated recovery."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from bough import Study, StudyError, Tree, kernels
from bough.studies.salvage import lost_commits, scanned_rows

TREE = Tree(4, 6)


def play(study, count):
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, sum(trial.path) + trial.id / 7)


def make(file, count, **options):
    options = {"searcher": "uct", "rng": 0, "durability": "process"} | options
    with Study.create(file, TREE, **options) as study:
        play(study, count)
    return {trial.id: (trial.path, trial.value) for trial in study.trials}


def check_recovery(file, told):
    """Open a damaged file: an error, or a study with true values only; return what was lost."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            study = Study.open(file)
        except StudyError as error:
            failure = str(error)
            study = None
    if study is None:
        assert any(words in failure for words in ("damaged", "no study", "newer"))
        return None
    with study:
        found = {t.id: (t.path, t.value) for t in study.trials if t.state == "told"}
        assert all(told[id_] == fact for id_, fact in found.items())
        lost = set(told) - set(found)
        if lost:
            assert "damaged" in str(said[0].message)
        if any("damaged" in str(warning.message) for warning in said):
            assert list(file.parent.glob("*.damaged*"))
        play(study, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is whole again, and replays
        with Study.open(file) as again:
            assert list(again.trials) == list(study.trials)
    return lost


def test_flipped_bytes(tmp_path):
    told = make(tmp_path / "run.db", 300)
    whole = (tmp_path / "run.db").read_bytes()
    draw = random.Random(0)
    results = []
    for k in range(40):
        folder = tmp_path / str(k)
        folder.mkdir()
        data = bytearray(whole)
        for _ in range(draw.choice([1, 1, 1, 20])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        (folder / "run.db").write_bytes(data)
        results.append(check_recovery(folder / "run.db", told))
        shutil.rmtree(folder)
    recovered = [lost for lost in results if lost is not None]
    assert len(recovered) > 30
    assert any(recovered)  # something was lost in some, so the check above was made
    assert sum(0 < len(lost) < 20 for lost in recovered) > 12  # and not much in most


def test_a_truncated_file(tmp_path):
    told = make(tmp_path / "run.db", 300)
    whole = (tmp_path / "run.db").read_bytes()
    counts = []
    for k, share in enumerate((0.0, 0.3, 0.5, 0.75, 0.99)):
        folder = tmp_path / str(k)
        folder.mkdir()
        (folder / "run.db").write_bytes(whole[: int(share * len(whole))])
        lost = check_recovery(folder / "run.db", told)
        counts.append(None if lost is None else len(told) - len(lost))
    assert counts[:2] == [None, None]  # nothing that was told is in the first pages
    assert 40 < counts[2] < counts[3] < counts[4] < 300


def test_a_page_of_zeros_in_the_middle_loses_only_what_was_on_it(tmp_path):
    file = tmp_path / "run.db"
    told = make(file, 400)
    data = bytearray(file.read_bytes())
    middle = len(data) // 4096 // 2 * 4096
    data[middle : middle + 4096] = bytes(4096)
    file.write_bytes(data)
    lost = check_recovery(file, told)
    assert 0 < len(lost) < 60
    assert max(lost) - min(lost) < 60  # what came before and after is there


def test_a_damaged_write_ahead_log(tmp_path):
    """SQLite itself would drop the end of it without a word."""
    live = tmp_path / "live.db"
    study = Study.create(live, TREE, searcher="uct", rng=0)
    play(study, 40)
    told = {t.id: (t.path, t.value) for t in study.trials}
    assert lost_commits(live) == 0
    size = os.path.getsize(f"{live}-wal")
    for k, at in enumerate((20, 5000, size // 3, size // 2, size - 3 * 4120)):
        folder = tmp_path / str(k)
        folder.mkdir()
        for ending in ("", "-wal"):
            shutil.copy(f"{live}{ending}", folder / f"run.db{ending}")
        log = bytearray((folder / "run.db-wal").read_bytes())
        log[at] ^= 4
        (folder / "run.db-wal").write_bytes(log)
        lost = check_recovery(folder / "run.db", told)
        assert len(lost) < 10  # the pages that come after it are read
    study.close()


def test_a_file_whose_first_pages_are_all_there_is(tmp_path):
    """All that was told may be in the log alone, and the file without its second page."""
    live = tmp_path / "live.db"
    study = Study.create(live, TREE, searcher="uct", rng=0)
    play(study, 40)
    told = {t.id: (t.path, t.value) for t in study.trials}
    for pages in range(live.stat().st_size // 4096):
        folder = tmp_path / str(pages)
        folder.mkdir()
        shutil.copy(f"{live}-wal", folder / "run.db-wal")
        (folder / "run.db").write_bytes(live.read_bytes()[: pages * 4096])
        check_recovery(folder / "run.db", told)
    study.close()


def test_pages_of_other_tables_are_passed_over(tmp_path):
    file = tmp_path / "other.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE other (a, b, c, d, e, f, g)")
    connection.execute("INSERT INTO other VALUES (1, 'ask', 0, NULL, '[0]', NULL, 3)")
    connection.commit()
    connection.close()
    assert scanned_rows(file) == []


def test_operations_that_are_longer_than_a_page(tmp_path):
    file = tmp_path / "run.db"
    deep = Tree(2, 3000)
    with Study.create(file, deep, searcher="uct", rng=0) as study:
        for _ in range(8):
            trial = study.ask()
            study.tell(trial, sum(trial.path))
    data = bytearray(file.read_bytes())
    at = data.rfind(b",".join(str(k).encode() for k in study.trials[-1].path[-40:]))
    data[at + 1] ^= 1
    file.write_bytes(data)
    with pytest.warns(UserWarning, match="damaged"):
        found = Study.open(file)
    assert list(found.trials) == list(study.trials[:7])
    found.close()


def test_other_files(tmp_path):
    file = tmp_path / "run.db"
    file.write_text("not a database" * 100)
    with pytest.raises(StudyError, match="is no study"):
        Study.open(file)
    file.unlink()
    sqlite3.connect(file).execute("CREATE TABLE x (y)").connection.close()
    with pytest.raises(StudyError, match="is no study of bough"):
        Study.open(file)
    file.unlink()
    make(file, 3)
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(StudyError, match="has format 2, .* written by a newer one; upgrade"):
        Study.open(file)


FILL = """
import sys, bough
study = bough.Study.open(sys.argv[1])
told = 0
try:
    for _ in range(5000):
        trial = study.ask()
        study.tell(trial, sum(trial.path) + trial.id / 7)
        told += 1
except bough.StudyError as error:
    print(told, error)
"""


@pytest.mark.parametrize("durability", ["full", "process"])
def test_a_full_disk(tmp_path, durability):
    file = tmp_path / "run.db"
    make(file, 10, durability=durability)
    command = f'ulimit -f 200; exec "{sys.executable}" -c "$0" "{file}"'
    done = subprocess.run(
        ["bash", "-c", command, FILL], capture_output=True, text=True, timeout=60, check=False
    )
    count, message = done.stdout.split(" ", 1)
    assert "cannot be written" in message, done.stderr
    assert "is the disk full?" in message
    assert int(count) > 5
    with Study.open(file) as study:
        assert study.trials.count("told") == 10 + int(count)
        play(study, 5)
    whole = tmp_path / "whole.db"
    make(whole, 10 + int(count) + 5)
    with Study.open(whole) as other:
        assert [t[:5] for t in other.trials] == [t[:5] for t in study.trials]


def test_no_room_for_a_new_study(tmp_path):
    code = "import bough; bough.Study.create('run.db', bough.Tree(4, 6))"
    done = subprocess.run(
        ["bash", "-c", f'ulimit -f 1; exec "{sys.executable}" -c "$0"', code],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "StudyError: run.db cannot be made" in done.stderr
    assert not (tmp_path / "run.db").exists()


def test_no_room_to_mend_a_damaged_file(tmp_path):
    file = tmp_path / "run.db"
    told = make(file, 300)
    data = bytearray(file.read_bytes())
    data[data.rfind(b"[1,")] ^= 1
    file.write_bytes(data)
    code = "import bough; bough.Study.open('run.db')"
    done = subprocess.run(
        ["bash", "-c", f'ulimit -f 8; exec "{sys.executable}" -W ignore -c "$0"', code],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "StudyError: run.db is damaged, and cannot be kept as run.db.damaged" in done.stderr
    assert file.read_bytes() == data
    assert not list(tmp_path.glob("*.damaged*"))
    assert len(check_recovery(file, told)) == 1


def look_at(file):
    try:
        Study.open(file)
    except StudyError as error:
        yield str(error)
    with Study.open(file, read_only=True) as study:
        yield f"{len(study.trials)} {study.best().visits > 0}"


def as_nobody(lines):
    """Call a function in a process without rights (root may write anything)."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            os.write(there, "\n".join(lines()).encode())
        except BaseException as error:
            os.write(there, repr(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(there)
    with os.fdopen(here) as pipe:
        return pipe.read().splitlines()


def test_a_read_only_file(tmp_path):
    shared = Path(tmp_path.anchor, "tmp", f"bough-read-only-{os.getpid()}")
    shared.mkdir()
    try:
        file = shared / "run.db"
        make(file, 20, searcher="gpts", kernel=kernels.Linear(), noise=0.1)
        for path in (file, Path(f"{file}-lock")):
            path.chmod(0o444)
        shared.chmod(0o555)
        lines = as_nobody(lambda: look_at(file))
        assert "cannot be written" in lines[0]
        assert "open it with read_only=True" in lines[0]
        assert lines[1] == "20 True"
    finally:
        shared.chmod(0o755)
        shutil.rmtree(shared)
