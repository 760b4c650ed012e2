"""Abuse: killed processes, damaged and forged files, wrong calls: `python -m benchmarks.abuse`.

Prints a table of figures. Each failure is listed with its seed: `--only 'forged 17'` repeats it.
Needs `os.fork` and `SIGPROF`.
"""

import argparse
import contextlib
import functools
import json
import os
import pickle
import random
import signal
import sqlite3
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import bough
from bough import problems
from bough.searchers.registry import SEARCHERS, make_searcher
from bough.studies.describe import fingerprint
from bough.studies.exchange import export_lines, import_lines
from bough.studies.journal import _checksum

#: Seconds of processor time, and of time, after which an attempt counts as a hang.
PATIENCE, WAIT = 20, 600
#: Exceptions that are documented for wrong arguments and files (the last, by NumPy: `n=2**31`).
DOCUMENTED = (
    ValueError, TypeError, bough.Exhausted, bough.ObjectiveError, bough.PoolError, MemoryError,
)  # fmt: skip


class Failure(Exception):  # noqa: N818 - a wrong outcome, not an error
    """Raised for an outcome that must not be."""


class Hang(BaseException):
    """Raised by the alarm."""


@contextlib.contextmanager
def deadline():
    def ring(number, _):
        used = f"{PATIENCE} s of processor time" if number == signal.SIGPROF else f"{WAIT} s"
        raise Hang(f"it took longer than {used}")

    before = {number: signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    signal.alarm(WAIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


# ---------------------------------------------------------------------- kills

TREE = bough.Tree(4, 8)
RECORD = struct.Struct("<qd")
#: Kills of one study: each process replays all trials, so studies are short.
KILLS_OF_ONE = 25


def noisy_sum(path, seed):
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
                study = bough.Study.open(file, durability=durability)
            else:
                study = bough.Study.create(file, TREE, rng=11, durability=durability)
            os.write(there, b"x")

            def acknowledge(search):
                last = study.trials[-1]
                os.write(log, RECORD.pack(last.id, last.value))
                os.write(there, b"x")

            bough.maximize(noisy_sum, TREE, budget=10**9, study=study, callbacks=[acknowledge])
        finally:
            os._exit(1)
    for _ in range(signs):
        os.read(here, 1)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(here)
    os.close(there)
    if not os.WIFSIGNALED(status):
        raise Failure("the process ended by itself")


def kill_and_compare(folder, kills, seed):
    """Kill a search repeatedly, and compare it with one that was not; return what was checked."""
    draw = random.Random(seed)
    bough.maximize(noisy_sum, TREE, budget=3, rng=0)  # imports SciPy before processes are forked
    file, acknowledged = folder / "run.db", folder / "acknowledged"
    for k in range(kills):
        durability = "full" if k % 2 else "process"
        # One sign: while it is opened. Two: at the first trial. More: after some trials.
        signs = 1 if k % 5 == 0 else draw.randint(2, 12)
        run_until_killed(file, acknowledged, durability, signs)
    acked = list(RECORD.iter_unpack(acknowledged.read_bytes()))
    with bough.Study.open(file, read_only=True) as study:
        lost = [id_ for id_, value in acked if study.trials[id_].value != value]
        # Recorded, and killed before that was acknowledged.
        more = study.trials.count("completed") - len(acked)
        budget = len(study.trials) + 20
    if len(acked) <= kills:
        raise Failure("the kills did not hit a search that was running")
    if lost or more > kills:
        raise Failure(f"lost {lost}, and {more} were recorded and not acknowledged")
    resumed = bough.maximize(noisy_sum, TREE, budget=budget, study=file)
    whole = bough.maximize(noisy_sum, TREE, budget=budget, rng=11)
    trials = resumed.study.trials
    same = [t.path for t in trials] == whole.history.paths
    same &= [t.value for t in trials] == whole.history.values.tolist()
    same &= [t.id for t in trials] == list(range(budget))
    if not same or resumed.best != whole.best or resumed.certificate != whole.certificate:
        raise Failure("the resumed search is not the one that was not killed")
    return len(acked)


# ---------------------------------------------------------------------- damaged and forged files

ENDINGS = ("", "-wal", "-shm")
SPACE = bough.Space(
    x=bough.Float(0, 1),
    n=bough.Int(1, 9, log=True),
    kind=bough.Choice({"a": bough.Space(y=bough.Float(-1, 1)), "b": bough.Space()}),
)
#: Values of a column that it should not have.
COLUMNS = (
    None, -1, 10**9, 2**62, 1.5, -1e300, float("inf"), "", "x", "null", "[]", "{}", "NaN", "1e999",
    b"\xff\x00", "[" * 100_000, "9" * 5000, '{"a":' * 2000 + "1" + "}" * 2000, "jump", "tell",
)  # fmt: skip
#: Values of a field of JSON that it should not have.
FIELDS = (
    None, True, -1, 0, 10**9, 2**64, 10**400, 1.5, 1e300, -1e300, float("nan"), float("inf"), "",
    "x", "test", "seed", "__class__", "system", [], [[]], {}, {"float": "x"}, {"float": []},
    {"function": 3}, {"object": "x"}, {"class": "Gaussian"}, {"class": "Sum"}, {"class": []},
    {"generator": {"bit_generator": "test"}}, {"generator": {"bit_generator": "PCG64"}},
    {"generator": {"bit_generator": "seed", "state": {}}}, {"option": 99}, [0] * 50,
    functools.reduce(lambda inner, _: [inner], range(400), 0),
)  # fmt: skip


def _play(study, count):
    for _ in range(count):
        trial = study.ask()
        if trial.id % 7 == 5:
            study.fail(trial, "no value")
        elif trial.id % 7 == 4:
            study.prune(trial, [(1, 0.5), (2.5, 0.1)], predicted=-0.25 * study.sign, noise=0.5)
        else:
            reports = [(1, 0.25)] if trial.id % 2 else ()
            study.tell(trial, trial.id % 5 / 7, reports=reports)


@functools.cache
def whole_files(kind):
    """Return the files of a study that was closed, or whose process was killed."""
    domain, options = {
        "uct": (bough.Tree(4, 6), {"searcher": "uct", "rng": 0}),
        "gpts": (
            bough.Tree([2, 3], 2, labels=[list("ab"), list("cde")]),
            {"rng": np.random.default_rng(3)},
        ),
        "kernel": (
            bough.Tree(3, 3),
            {
                "rng": 1,
                "kernel": 2.0 * bough.kernels.Linear() + bough.kernels.Geometric(None),
                "confidence": bough.Confidence(scale=1.0),
                "bounds": (0.0, None),
                "direction": "minimize",
            },
        ),
        "space": (SPACE, {"rng": 0}),
        "cells": (SPACE, {"rng": 0, "searcher": "hoo", "about": "cells"}),
    }[kind.removesuffix(" killed")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run.db")
        study = bough.Study.create(file, domain, durability="process", **options)
        if "space" not in kind and "cells" not in kind:
            study.enqueue((0,) * domain.depth)
        _play(study, 24)
        study.ask()
        if "killed" not in kind:
            study.close()
        files = {
            ending: Path(f"{file}{ending}").read_bytes()
            for ending in ENDINGS
            if os.path.exists(f"{file}{ending}")
        }
        study.close()
    return files


def write_files(folder, files):
    for ending, data in files.items():
        Path(folder, f"run.db{ending}").write_bytes(data)
    return Path(folder, "run.db")


KINDS = ("uct", "gpts", "kernel", "space", "cells")


def damage(folder, draw):
    """Write a study with flipped bits, a missing end or overwritten bytes."""
    files = dict(whole_files(draw.choice(KINDS) + draw.choice(["", " killed"])))
    ending = draw.choice([ending for ending in ("", "-wal") if files.get(ending)])
    data = bytearray(files[ending])
    how = draw.choice(["flip", "flip", "cut", "zeros", "noise"])
    at = draw.randrange(len(data))
    if how == "flip":
        for _ in range(draw.choice([1, 1, 4, 50])):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif how == "cut":
        del data[at:]
    else:
        length = draw.choice([1, 100, 4096])
        data[at : at + length] = bytes(length) if how == "zeros" else draw.randbytes(length)
    return write_files(folder, files | {ending: bytes(data)})


def forge(folder, draw):
    """Write an intact study, checksums included, one column or JSON field of which is wrong."""
    file = write_files(folder, whole_files(draw.choice(KINDS)))
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        rows = connection.execute("SELECT * FROM operations ORDER BY n").fetchall()
        row = list(draw.choice([rows[0], draw.choice(rows)]))
        n = row[0]
        if draw.random() < 0.3:
            row[draw.randrange(6)] = draw.choice(COLUMNS)
        else:
            body = json.loads(row[4])
            for _ in range(draw.choice([1, 1, 1, 3])):
                body = _with_wrong_field(body, draw)
            row[4] = json.dumps(body)
        connection.execute("DELETE FROM operations WHERE n = ?", (n,))
        insert = "INSERT OR REPLACE INTO operations VALUES (?, ?, ?, ?, ?, ?, ?)"
        try:
            place = connection.execute(insert, [*row[:6], 0]).lastrowid
        except (sqlite3.Error, OverflowError):  # the table refuses this one
            row[0], place = n, connection.execute(insert, [n, *row[1:6], 0]).lastrowid
        stored = connection.execute("SELECT * FROM operations WHERE n = ?", (place,)).fetchone()
        update = "UPDATE operations SET checksum = ? WHERE n = ?"
        connection.execute(update, (_checksum(stored[:-1]), place))
        if n == 0 and isinstance(row[4], str):
            with contextlib.suppress(ValueError, RecursionError):
                meta = {
                    "specification": row[4],
                    "fingerprint": fingerprint(json.loads(row[4])),
                }
                connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
    return file


def _with_wrong_field(value, draw):
    """Return JSON with one of its fields replaced, removed or renamed."""
    if not isinstance(value, (dict, list)) or not value or draw.random() < 0.15:
        return draw.choice(FIELDS)
    if isinstance(value, list):
        at = draw.randrange(len(value))
        return [*value[:at], _with_wrong_field(value[at], draw), *value[at + 1 :]]
    key = draw.choice(sorted(value))
    rest = {k: v for k, v in value.items() if k != key}
    how = draw.random()
    if how < 0.1:
        return rest
    if how < 0.2:
        return rest | {draw.choice(["x", "rng", "tree", "self", "plays", ""]): value[key]}
    return value | {key: _with_wrong_field(value[key], draw)}


def _global_state():
    return np.random.get_state()[1].tolist()  # noqa: NPY002 - which a file must not change


def open_damaged(file, draw):
    """Open, resume, export and import a file; return what happened. Only StudyError is right."""
    outcome = "opened"
    with warnings.catch_warnings(), deadline():
        warnings.simplefilter("ignore")
        before = _global_state()
        for read_only in (True, False):
            try:
                with bough.Study.open(file, read_only=read_only) as study:
                    if not read_only:
                        with contextlib.suppress(bough.Exhausted):
                            _play(study, 2)
            except bough.StudyError as error:
                outcome = "refused"
                if str(file) not in str(error) and "does not fit" not in str(error):
                    raise Failure(f"the message does not name the file: {error}") from error
        with contextlib.suppress(bough.StudyError):
            bough.Study.look(file)
        with contextlib.suppress(bough.StudyError):
            lines, _ = export_lines(file)
            import_lines(lines, file.with_name("copy.db"))
        if _global_state() != before:
            raise Failure("the global generator of NumPy has changed")
    return outcome


# ---------------------------------------------------------------------- wrong calls

#: Arguments that are wrong almost everywhere. (None and numbers are right in some places.)
WRONG = (
    None, True, -1, 0, 3, 2**31, 2**64, 10**400, -(10**400), 1.5, -1.5, 1e300, float("nan"),
    float("inf"), -float("inf"), 1j, "", "x", "\0", "é" * 300, b"x", (), (0, "a"), (0, -1), (9, 9),
    [], [[]], [None], {}, {"x": "y"}, {1: 2}, set(), object(), int, len, lambda *_: None,
    np.array([1.0, float("nan")]), np.array(3), np.int64(-5), np.float32("nan"), range(3),
)  # fmt: skip


def _small_space():
    space = bough.Space(x=bough.Float(0, 1), k=bough.Choice(["a", "b"]))
    space.decode(space.encode({"x": 0.5, "k": "a"}))  # computes what it keeps
    return space


def _searcher(name):
    def make():
        search = make_searcher(name, bough.Tree(3, 2), 0, None, plays=20)
        for k in range(3):
            search.tell(search.ask(), k / 3)
        search.ask()
        return search

    return make


def _forest():
    search = bough.Forest(_small_space(), rng=0)
    for k in range(3):
        search.tell(search.ask(), k / 3)
    search.ask()
    return search


def _belief():
    belief = bough.Belief(bough.Tree(3, 2), bough.kernels.Linear(), 0.1)
    belief.observe((0, 1), 1.0)
    belief.pend((1, 1))
    return belief


class _Objective:
    """An objective that ends a search that was given too large a budget."""

    def __init__(self):
        self.calls = 0

    def __call__(self, _):
        self.calls += 1
        if self.calls > 30:
            raise RuntimeError("enough")
        return self.calls / 30


def functions():
    """Return functions by name, with arguments that are right."""
    k, tree = bough.kernels, bough.Tree(2, 2)
    search = {"objective": _Objective(), "budget": 3, "rng": 0}
    return {
        "Tree": (
            bough.Tree,
            {"branching": 2, "depth": 3, "labels": ["a", "b"], "log_arms": None},
        ),
        "Float": (bough.Float, {"low": 1, "high": 2, "log": True}),
        "Int": (bough.Int, {"low": 1, "high": 9, "log": True, "step": 1}),
        "Choice": (bough.Choice, {"options": ["a", "b"]}),
        "Space": (bough.Space, {"x": bough.Float(0, 1)}),
        "Space.from_json": (bough.Space.from_json, {"text": _small_space().to_json()}),
        "Space.encode": (_small_space().encode, {"params": {"x": 0.5, "k": "a"}}),
        "Space.decode": (_small_space().decode, {"path": (0,)}),
        "Confidence": (bough.Confidence, {"delta": 0.1, "scale": 1.0}),
        "Gaussian": (k.Gaussian, {"width": 2.0, "variance": 1.0}),
        "Geometric": (k.Geometric, {"ratio": 0.5, "variance": 1.0}),
        "Chi": (k.Chi, {"values": (0.0, 0.5, 1.0)}),
        "Belief": (
            bough.Belief,
            {"tree": tree, "kernel": k.Linear(), "noise": 0.1, "mean": 0.0, "arms": "leaves"},
        ),
        "GPTS": (
            bough.GPTS,
            {"tree": tree, "kernel": k.Linear(), "noise": 0.1, "mean": 0.0, "bounds": (0, 1)}
            | {"growth": "complete", "select": "arm", "confidence": None, "rng": 0},
        ),
        "Forest": (
            bough.Forest,
            {"space": _small_space(), "noise": 0.1, "trees": 3, "bounds": (0, 1), "rng": 0}
            | {"confidence": None, "point": "random"},
        ),
        "named": (problems.named, {"text": "smooth:2:3", "seed": 0}),
        "maximize": (
            bough.maximize,
            search
            | {"tree_or_space": tree, "searcher": "uct", "stop": None, "executor": None}
            | {"timeout": None, "retries": 0, "catch": (), "callbacks": (), "progress": False},
        ),
        "minimize": (bough.minimize, search | {"tree_or_space": _small_space()}),
        "Study.create": (
            _create,
            {"tree_or_space": tree, "searcher": "uct", "rng": 0, "direction": "maximize"}
            | {"durability": "process", "about": "x"},
        ),
        "Study.open": (
            bough.Study.open,
            {"path": "missing.db", "tree": None, "searcher": None, "durability": "full"},
        ),
    }


def methods():
    """Return functions that make an object, by name, with its methods and right arguments."""
    params, path = {"x": 0.5, "k": "a"}, (0, 1)
    found = {
        "Belief": (
            _belief,
            {
                "observe": {"path": path, "value": 1.0, "noise": 0.1},
                "observe_step": {"path": path, "value": 1.0, "noise": 0.1},
                "pend": {"path": path, "noise": 0.1},
                "settle": {"token": 1, "value": 1.0},
                "posterior": {"paths": [path]},
                "sample": {"paths": [path], "n": 2},
                "highest_upper": {"sqrt_beta": 1.0, "rng": 0},
            },
        ),
        "Forest": (
            _forest,
            {
                "tell": {"params": params, "value": 1.0, "noise": 0.1},
                "fail": {"params": params},
                "forget": {"params": params},
                "best": {"rule": None},
            },
        ),
    }
    of_searchers = {
        "tell": {"path": path, "value": 1.0, "steps": None},
        "fail": {"path": path},
        "forget": {"path": path},
        "best": {"rule": None},
    }
    return found | {name: (_searcher(name), of_searchers) for name in SEARCHERS}


def _create(**arguments):
    with tempfile.TemporaryDirectory() as folder:
        bough.Study.create(Path(folder, "run.db"), **arguments).close()


def wrong_call(draw):
    """Call a public function with a wrong argument; return what happened."""
    made = before = None
    if draw.random() < 0.4:
        known = functions()
        name = draw.choice(sorted(known))
        call, good = known[name]
    else:
        owners = methods()
        name = draw.choice(sorted(owners))
        make, known = owners[name]
        made, method = make(), draw.choice(sorted(known))
        call, good, name = getattr(made, method), known[method], f"{name}.{method}"
        before = pickle.dumps(made)
    arguments = dict(good)
    for key in draw.sample(sorted(good), min(len(good), draw.choice([1, 1, 2]))):
        arguments[key] = draw.choice(WRONG)
    shown = f"{name}({', '.join(f'{key}={_short(value)}' for key, value in arguments.items())})"
    try:
        with warnings.catch_warnings(), deadline():
            warnings.simplefilter("ignore")
            call(**arguments)
        return "accepted"
    except DOCUMENTED as error:
        if not str(error).strip():
            raise Failure(f"{shown}: {error!r} says nothing") from error
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Failure(f"{shown}: {type(error).__name__}: {str(error)[:200]}") from error
    if made is not None and pickle.dumps(made) != before:
        raise Failure(f"{shown} was refused, and the object has changed")
    return "refused"


def _short(value):
    try:
        return repr(value)[:60]
    except ValueError:  # an int with too many digits
        return "a huge int"


# ---------------------------------------------------------------------- runs


def attempt(kind, seed):
    """Run one attempt of a kind; return its outcome, which is raised as `Failure` if wrong."""
    draw = random.Random(f"{kind} {seed}")
    if kind == "wrong":
        return wrong_call(draw)
    with tempfile.TemporaryDirectory() as folder:
        if kind == "kills":
            kill_and_compare(Path(folder), KILLS_OF_ONE, seed)
            return "resumed"
        file = (damage if kind == "damaged" else forge)(Path(folder), draw)
        try:
            return open_damaged(file, draw)
        except Failure:
            raise
        except (Exception, Hang) as error:
            raise Failure(f"{type(error).__name__}: {str(error)[:300]}") from error


def run(kind, count, first=0):
    """Make attempts of a kind; return counts by outcome, and the failures by seed."""
    outcomes, failures = Counter(), {}
    for seed in range(first, first + count):
        try:
            outcomes[attempt(kind, seed)] += 1
        except Failure as failure:
            outcomes["failed"] += 1
            failures[seed] = failure
    return outcomes, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000, help="Number of kills.")
    parser.add_argument("--files", type=int, default=5000, help="Number of damaged files.")
    parser.add_argument("--calls", type=int, default=10_000, help="Number of wrong calls.")
    parser.add_argument("--first", type=int, default=0, help="The first seed.")
    parser.add_argument("--only", metavar="'KIND SEED'", help="One attempt, with its traceback.")
    options = parser.parse_args()
    if options.only:
        kind, seed = options.only.split()
        try:
            print(attempt(kind, int(seed)))
        except Failure:
            traceback.print_exc()
            sys.exit(1)
        return
    plan = {
        "kills": -(-options.kills // KILLS_OF_ONE),
        "damaged": options.files // 2,
        "forged": options.files - options.files // 2,
        "wrong": options.calls,
    }
    bad = {}
    print(f"{'kind':<10}{'attempts':>10}{'failed':>8}{'seconds':>9}  outcomes")
    for kind, count in plan.items():
        begin = time.perf_counter()
        outcomes, bad[kind] = run(kind, count, options.first)
        number = count * KILLS_OF_ONE if kind == "kills" else count
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        seconds = time.perf_counter() - begin
        print(f"{kind:<10}{number:>10,}{len(bad[kind]):>8}{seconds:>9.0f}  {said}", flush=True)
    for kind, failures in bad.items():
        for seed, failure in failures.items():
            print(f"--only '{kind} {seed}': {failure}")
    sys.exit(any(bad.values()))


if __name__ == "__main__":
    main()
