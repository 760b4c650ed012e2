"""Comparisons: what is measured, what is kept, and what is the same again."""

import csv
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import bough
from bough.cli import main
from bough.experiments import GRIDS, Grid, bootstrap, compare, figures, jobs, write
from bough.experiments.entrants import entrant
from bough.experiments.grids import Window
from bough.experiments.jobs import Job, Run, all_marks, judged_marks, report_marks
from bough.experiments.results import Choice, Comparison
from bough.experiments.store import Store
from bough.experiments.summary import summary_page
from bough.experiments.tables import regrets_page, seconds_page
from bough.problems import Problem, named

MILLION = 1_000_000


class Four(Problem):
    """Four paths worth 0, 1, 3 and 4, without noise."""

    name = "four"

    def __init__(self, seed=0):
        super().__init__(bough.Tree(4, 1), noise=0.0, seed=seed)

    def _value(self, path):
        return [0.0, 1.0, 3.0, 4.0][path[0]]

    def _solve(self):
        return 4.0, (3,)


class Turned(Four):
    """The same for seeds that are shown, and the other way round for those of tuning."""

    def _value(self, path):
        return super()._value(path if self.seed < MILLION else (3 - path[0],))

    def _solve(self):
        return 4.0, (3,) if self.seed < MILLION else (0,)


class Script(bough.UCT):
    """Plays what it was told to, and recommends what it played last."""

    def __init__(self, tree, plays=(0, 2, 1, 3, 2, 3)):
        super().__init__(tree, rng=0)
        self.plays = list(plays)

    def ask(self):
        if not self.plays:
            raise bough.Exhausted
        return (self.plays.pop(0),)

    def tell(self, path, value=None, **keywords):
        super().tell(path, value, **keywords)
        self.last = path

    def best(self, rule=None):
        return bough.Arm(self.last, None, 0.0, 0.0, 0.0, 0.0, 0.0, 1)


class Stubborn(Script):
    """Always plays one arm, its constant."""

    def __init__(self, tree, arm=0):
        super().__init__(tree, [arm] * 1000)


class Broken(Script):
    def ask(self):
        raise ZeroDivisionError("no path today")


def run_four(budget, **keywords):
    return compare(
        {"four": Four}, {"script": Script}, budget=budget, seeds=1, workers=1, **keywords
    )


def test_regrets_by_hand():
    """Plays 0, 2, 1, 3, 2, 3 lose 4, 1, 3, 0, 1, 0; the last one is recommended."""
    (run,) = run_four(6).runs["four", "script"]
    assert run.marks == [1, 2, 3, 4, 5, 6]
    assert run.simple == [4.0, 1.0, 3.0, 0.0, 1.0, 0.0]
    assert run.cumulative == [4.0, 5.0, 8.0, 8.0, 9.0, 9.0]
    assert run.suboptimal == [1, 2, 3, 3, 4, 4]
    assert len(run.seconds) == 6
    assert run.seconds == sorted(run.seconds)
    assert run.seconds[0] > 0
    assert (run.evaluations, run.exhausted) == (6, False)


def test_a_searcher_with_nothing_left_to_learn_stays_as_it_is():
    (run,) = run_four(10).runs["four", "script"]
    assert run.marks == [1, 2, 3, 4, 5, 6, 8, 10]
    assert run.simple[-3:] == [0.0, 0.0, 0.0]
    assert run.cumulative[-3:] == [9.0, 9.0, 9.0]
    assert run.suboptimal[-3:] == [4, 4, 4]
    assert run.seconds[-3] == run.seconds[-1]
    assert (run.evaluations, run.exhausted) == (6, True)


def test_seconds_are_those_of_ask_and_tell():
    class Slow(Script):
        def ask(self):
            time.sleep(0.005)
            return super().ask()

        def best(self, rule=None):
            time.sleep(0.02)
            return super().best(rule)

    class Costly(Four):
        def __call__(self, path):
            time.sleep(0.02)
            return super().__call__(path)

    found = compare({"four": Costly}, {"slow": Slow}, budget=4, seeds=1, workers=1)
    (run,) = found.runs["four", "slow"]
    assert run.seconds[-1] >= 0.02
    assert run.seconds[0] < 0.02  # of rewards and recommendations nothing
    assert found.microseconds()["four", "slow"] == pytest.approx(1e6 * run.seconds[-1] / 4)


def test_marks():
    assert report_marks(1) == [1]
    assert report_marks(3000) == [10, 30, 100, 300, 1000, 3000]
    for budget in (1, 2, 9, 10, 11, 2999, 3000, 10_000):
        marks = all_marks(budget)
        assert marks == sorted(set(marks))
        assert (marks[0], marks[-1]) == (1, budget)
        assert set(report_marks(budget)) <= set(marks)
        assert judged_marks(budget)[-1] == budget


def three_runs():
    """Three seeds of one searcher, the last one on a machine that was held up."""
    runs = [
        Run([1, 2, 3], [9.0, 5.0, 1.0], [9.0, 14.0, 15.0], [1, 2, 3], [0.05, 0.2, 0.5], 3),
        Run([1, 2, 3], [7.0, 3.0, 2.0], [7.0, 10.0, 12.0], [1, 2, 3], [0.02, 0.09, 0.35], 3),
        Run([1, 2, 3], [8.0, 4.0, 3.0], [8.0, 12.0, 15.0], [1, 2, 3], [7.0, 7.1, 7.2], 3),
    ]
    pair = ("p", "s")
    choices = {pair: Choice((), ((),), ())}
    return Comparison(("p",), ("s",), 3, False, range(3), range(9, 12), {pair: runs}, choices)


def test_means_against_seconds_by_hand():
    """The median run has made 1, 2, 3 plays after 0.05, 0.2, 0.5 s: at 0.1 s one, at 0.3 s two."""
    found = three_runs()
    (curve,) = found.by_seconds()
    assert curve.at.tolist() == [0.05, 0.2, 0.5]
    assert curve.measures["simple"].mean.tolist() == [8.0, 4.0, 2.0]
    page = seconds_page(found)
    assert "| searcher | 0.1 s | 0.3 s |" in page
    assert re.search(r"\| s \| 8 \[[^|]*\] \| 4 \[[^|]*\] \|", page)
    (curve,) = found.by_evaluations()
    assert curve.measures["cumulative"].mean.tolist() == [8.0, 12.0, 14.0]


def test_differences_are_taken_seed_by_seed():
    """Seeds differ by much, the searchers by 1 each time: so there is no doubt who is better."""
    found = three_runs()
    for name, shift in (("better", -1.0), ("worse", 1.0), ("same", 0.0)):
        found.runs["p", name] = [
            Run(r.marks, [x + shift for x in r.simple], r.cumulative, r.suboptimal, r.seconds, 3)
            for r in found.runs["p", "s"]
        ]
        found.choices["p", name] = Choice((), ((),), ())
    found = Comparison(
        ("p",), ("s", "better", "worse", "same"), 3, False, found.seeds, found.tuning_seeds,
        found.runs, found.choices,
    )  # fmt: skip
    mean, low, high = found.difference("p", "s", "better")
    assert mean.tolist() == low.tolist() == high.tolist() == [1.0, 1.0, 1.0]
    page = summary_page(found, "bough compare p")
    assert "After 3 plays, over 3 seeds." in page
    assert "    bough compare p\n" in page
    simple = page[page.index("## Simple regret: s against each") :]
    assert "| better | 0 | 0 | 1 |\n| worse | 1 | 0 | 0 |\n| same | 0 | 1 | 0 |" in simple
    assert "Where s is behind:\n\n- p: better, by 1 [1, 1] after 3 plays\n" in simple
    assert "s is behind nowhere." in simple[simple.index("## Cumulative regret") :]


def test_bootstrap_intervals_cover():
    """Of 2,000 means of 50 normal or exponential draws, about 95 % lie in their intervals."""
    rng = np.random.default_rng(1)
    for draws in (rng.normal(2.0, 1.0, (50, 2000)), rng.exponential(2.0, (50, 2000))):
        mean, low, high = bootstrap(draws)
        assert mean == pytest.approx(draws.mean(axis=0))
        covered = np.mean((low <= 2.0) & (high >= 2.0))
        assert 0.92 < covered < 0.965
        expected = 2 * 1.96 * draws.std(axis=0) / math.sqrt(50)
        assert np.mean(high - low) == pytest.approx(expected.mean(), rel=0.05)
        assert 0.005 < np.mean(low > 2.0) < 0.05
        assert 0.005 < np.mean(high < 2.0) < 0.05
    same = bootstrap(np.full((4, 1), 0.1))
    assert same.low == same.high == same.mean
    assert np.isnan(bootstrap(np.ones((1, 3))).low).all()


# ---------------------------------------------------------------------- tuning


def test_constants_are_tuned_on_seeds_that_are_not_shown():
    """Arm 0 is best where one tunes and worst where one shows, so peeking would be seen."""
    seen = []

    def make(seed):
        seen.append(seed)
        return Turned(seed)

    grids = {"stubborn": {"arm": (1, 0, 3)}}
    found = compare(
        {"turned": make}, {"stubborn": Stubborn}, budget=5, seeds=3, tuning_seeds=2, seed=7,
        grids=grids, workers=1,
    )  # fmt: skip
    choice = found.choices["turned", "stubborn"]
    assert choice.constants == (("arm", 0),)
    # Arms 1, 0 and 3 lose 1, 0 and 4 there: relative to their average of 5/3,
    assert choice.scores == pytest.approx((0.6, 0.0, 2.4))
    assert [run.simple[-1] for run in found.runs["turned", "stubborn"]] == [4.0] * 3
    assert set(found.seeds) == {7, 8, 9}
    assert set(found.tuning_seeds) == {MILLION + 7, MILLION + 8}
    assert set(seen) == {0, *found.seeds, *found.tuning_seeds}  # 0: to see whether it works
    assert choice.at_ends == ()  # of 1, 0, 3 it is the middle one
    page = regrets_page(found)
    assert "tuned on 2 other seeds (1000007 to 1000008)" in page
    assert "| turned | stubborn | arm=0 | 0.000 | arm 1, 0, 3 |" in page
    assert "| stubborn (arm=0) | 4 [4, 4] |" in page


def tune_stubborn(grid):
    found = compare(
        {"turned": Turned}, {"stubborn": Stubborn}, budget=5, seeds=1, tuning_seeds=1,
        grids={"stubborn": {"arm": grid}}, workers=1,
    )  # fmt: skip
    return found, found.choices["turned", "stubborn"]


def test_a_grid_grows_while_the_best_is_at_an_end_of_it():
    """Where one tunes, arms 0, 1, 2, 3 lose 0, 1, 3, 4."""
    found, choice = tune_stubborn(Grid((2, 3), lower=(1, 0)))
    assert choice.constants == (("arm", 0),)
    assert [c[0][1] for c in choice.candidates] == [0, 1, 2, 3]
    assert choice.at_ends == ("arm",)  # there is nothing beyond
    assert "arm=0 (arm at an end of what was tried) | 0.000 | arm 0, 1, 2, 3 |" in regrets_page(
        found
    )
    _, choice = tune_stubborn(Grid((3, 2, 1), higher=(0, 3)))  # the other way round
    assert choice.constants == (("arm", 0),)
    assert (choice.at_ends, len(choice.candidates)) == ((), 5)
    _, choice = tune_stubborn(Grid((3,), lower=(2, 1)))
    assert choice.candidates == ((("arm", 3),),)  # what is not to be chosen is not tuned
    window = Window({"a": Grid((1, 2), (0,), (3,)), "b": (5, 6)}, (("c", 9),))
    assert window.candidates()[0] == (("c", 9), ("a", 1), ("b", 5))
    assert window.ends((("c", 9), ("a", 1), ("b", 6))) == ["a", "b"]
    assert window.widen((("c", 9), ("a", 1), ("b", 6)))
    assert window.tried == {"a": [0, 1, 2], "b": [5, 6]}
    assert not window.widen((("c", 9), ("a", 1), ("b", 6)))


def test_of_equally_good_constants_one_inside_the_grid_is_chosen():
    class Alike(Turned):
        def _value(self, path):
            return 4.0 if path[0] < 3 else 0.0

    found = compare(
        {"alike": Alike}, {"stubborn": Stubborn}, budget=5, seeds=1, tuning_seeds=1,
        grids={"stubborn": {"arm": Grid((0, 1, 2), (3,), (3,))}}, workers=1,
    )  # fmt: skip
    choice = found.choices["alike", "stubborn"]
    assert choice.constants == (("arm", 1),)
    assert len(choice.candidates) == 3  # where all are as good as can be, there is nothing beyond
    assert choice.equal
    assert "arm=1 (all are equal)" in regrets_page(found)


def test_where_all_constants_are_equally_bad_more_are_tried_in_all_directions():
    class Hidden(Turned):
        def _value(self, path):
            return 4.0 if path[0] == 0 else 1.0

    found = compare(
        {"hidden": Hidden}, {"stubborn": Stubborn}, budget=5, seeds=1, tuning_seeds=1,
        grids={"stubborn": {"arm": Grid((2, 3), (1, 0))}}, workers=1,
    )  # fmt: skip
    choice = found.choices["hidden", "stubborn"]
    assert choice.constants == (("arm", 0),)
    window = Window({name: GRIDS["bast"][name] for name in ("smoothness", "decay", "exploration")})
    assert window.widen_all()
    assert len(window.candidates()) == 5**3
    assert window.widen_all()
    assert len(window.candidates()) == 7 * 6 * 7  # nothing lies above a decay of 1
    assert not window.widen_all()  # it would be too much
    assert len(window.candidates()) == 7 * 6 * 7


def test_constants_that_are_given_are_not_tuned():
    problem, other = named("smooth:2:3", seed=0), named("trap", seed=0)

    def candidates(text, problem):
        return entrant(text).window(problem).candidates()

    assert candidates("uct:exploration=0.4", problem) == [(("exploration", 0.4),)]
    assert len(candidates("uct", problem)) == len(GRIDS["uct"]["exploration"].values) > 1
    assert candidates("gpts", problem) == [()]
    # Nor are those that the problem says: its discount, and all of its prior if that is known.
    assert {name for c in candidates("olop", problem) for name, _ in c} == {"exploration"}
    assert {name for c in candidates("olop", other) for name, _ in c} == {"exploration", "discount"}
    assert len(candidates("gpb", problem)) > 1
    assert candidates("gpb-known", problem) == [()]


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_grids(name):
    """Every value of every grid can be used, they rise, and the searcher works with them."""
    problem = named("trap:depth=3", seed=0)
    maker = entrant(name)
    for key, grid in GRIDS[name].items():
        values = [*reversed(grid.lower), *grid.values, *grid.higher]
        assert values == sorted(set(values))
        assert len(grid.values) >= 3
        for value in values:
            search = maker.make(problem, ((key, value),), 50, seed=0)
            assert getattr(search, key) == value
    for constants in maker.window(problem).candidates():
        search = maker.make(problem, constants, 50, seed=0)
        search.tell(search.ask(), 0.5)
    assert entrant("olop").make(problem, (), 50, seed=0).plays == 50


def test_bast_is_not_trapped_if_it_is_tuned():
    """UCT goes where averages are high, whatever its constant; BAST knows how they mislead."""
    found = compare(
        ["trap:depth=7"], ["uct", "bast"], budget=300, seeds=3, tuning_seeds=2, workers=1
    )
    last = {name: [run.simple[-1] for run in runs] for (_, name), runs in found.runs.items()}
    assert last["bast"] == [0.0, 0.0, 0.0]
    assert min(last["uct"]) > 0.0


def test_searchers_are_told_what_they_ask_for():
    told, states = {}, set()

    def make(tree, *, budget, discount=None, rng):
        told.update(budget=budget, discount=discount)
        states.add(rng.bit_generator.state["state"]["state"])
        return bough.UCT(tree, rng=rng)

    compare(["discounted:uniform:2:3"], {"mine": make}, budget=5, seeds=3, workers=1)
    assert told == {"budget": 5, "discount": 0.7}
    assert len(states) == 3  # a random generator for each seed
    problem = bough.problems.named("drawn:gaussian:3:branching=2", seed=1)
    search = entrant("gpts-known").make(problem, (), 10, 0)
    assert (search.belief.kernel, search.belief.noise) == (problem.kernel, problem.noise)


def test_steps_are_told_if_asked_for():
    told = []

    class Spy(bough.UCT):
        def tell(self, path, value=None, *, noise=None, steps=None):
            told.append((value, steps))
            super().tell(path, value, noise=noise, steps=steps)

    for steps in (False, True):
        told.clear()
        names = ["discounted:bernoulli:2:3", "smooth:2:3"]
        compare(names, {"spy": Spy}, budget=4, seeds=1, workers=1, steps=steps)
        assert {len(s) for _, s in told if s is not None} == ({3} if steps else set())
        assert any(value is not None for value, _ in told)  # Smooth has no steps


# ---------------------------------------------------------------------- the same again


PROBLEMS = ["smooth:3:4", "noisy-branin:cuts=3"]
OPTIONS = {"budget": 60, "seeds": 3, "tuning_seeds": 2}
COMMAND = ["compare", *PROBLEMS, "--searchers", "gpts-known,uct", "--budget", "60"]


def regrets(found):
    return {
        pair: [(run.simple, run.cumulative, run.suboptimal) for run in runs]
        for pair, runs in found.runs.items()
    }


def test_the_same_seed_gives_the_same_regrets(tmp_path):
    one, two = (compare(PROBLEMS[:1], ["gpts", "uct"], workers=1, **OPTIONS) for _ in range(2))
    assert regrets(one) == regrets(two)
    assert one.choices == two.choices
    assert regrets_page(one) == regrets_page(two)
    other = compare(PROBLEMS[:1], ["gpts", "uct"], workers=1, seed=5, **OPTIONS)
    assert regrets(other) != regrets(one)
    # A seed is a problem and a run, whatever the others are.
    shifted = compare(PROBLEMS[:1], ["gpts"], workers=1, seed=1, budget=60, seeds=2)
    assert regrets(shifted)["smooth:3:4", "gpts"] == regrets(one)["smooth:3:4", "gpts"][1:]


def start(out, *words):
    """Start `bough` in a session of its own, so that nothing of it is left when it is ended."""
    command = [sys.executable, "-m", "bough.cli", *words, "--out", str(out), "--workers", "2"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def lines(out):
    path = pathlib.Path(out) / "runs.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def nobody_left(process):
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_a_run_that_was_ended_goes_on_where_it_was(tmp_path, how):
    words = ["compare", "smooth:3:4", "--searchers", "gpts-known,uct", "--budget", "300"]
    words += ["--seeds", "15", "--tuning-seeds", "4"]
    process = start(tmp_path, *words)
    wait_for(lambda: len(lines(tmp_path)) >= 5)
    if how == "killed":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=60)
    before = lines(tmp_path)
    assert 5 <= len(before) < 54  # of 24 for tuning and 30 that are shown
    wait_for(lambda: nobody_left(process))
    if how == "interrupted":
        assert process.returncode == 130
        assert "give the same command to go on" in errors
        assert "Traceback" not in errors
        return  # how it goes on is the same
    process = start(tmp_path, *words)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    after = lines(tmp_path)
    whole = [line for line in before if line.endswith(b"\n")]
    assert after[: len(whole)] == whole  # none was run again,
    assert len(after) == len({json.loads(line)["job"] for line in after})  # nor any twice
    found = compare(
        ["smooth:3:4"], ["gpts-known", "uct"], budget=300, seeds=15, tuning_seeds=4, workers=1
    )
    command = "bough " + " ".join(words[:-2]) + " --seed 0 --tuning-seeds 4"
    assert (tmp_path / "regrets.md").read_text() == regrets_page(found, command)
    assert output.startswith(regrets_page(found, command))


JOBS = [Job("p", "s", (("c", 0.5),), seed, 10, False) for seed in range(3)]
RUN = Run([1, 10], [0.1, 0.0], [0.1, 0.2], [1, 2], [0.5, 1.0], 10)


def stored(path):
    store = Store(path)
    for job in JOBS:
        store.add(job, RUN)
    store.close()
    return path.read_bytes()


def test_a_line_cut_short_is_run_again(tmp_path):
    path = tmp_path / "runs.jsonl"
    content = stored(path)
    last = content.rindex(b"\n", 0, -1) + 1
    for end in (last + 1, last + 9, len(content) - 20, len(content) - 1):
        path.write_bytes(content[:end])
        store = Store(path)
        assert [job in store for job in JOBS] == [True, True, False]
        assert store[JOBS[0]] == RUN
        store.add(JOBS[2], RUN)
        store.close()
        assert path.read_bytes() == content


def test_files_that_hold_no_finished_runs_stay_as_they_are(tmp_path):
    path = tmp_path / "runs.jsonl"
    content = stored(path)
    bough.Study.create(tmp_path / "study.db", bough.Tree(3, 4)).close()
    for other, message in (
        (b"nonsense\n" + content, "line 1 of .*runs.jsonl is no finished run"),
        (content + b"nonsense", "is no file of finished runs"),
        (b"precious", "is no file of finished runs"),
        ((tmp_path / "study.db").read_bytes(), "is no f"),
    ):
        path.write_bytes(other)
        with pytest.raises(bough.StudyError, match=message):
            Store(path)
        assert path.read_bytes() == other
    with pytest.raises(bough.StudyError, match="there is no folder"):
        Store(tmp_path / "none" / "runs.jsonl")


def test_a_study_of_a_comparison(tmp_path):
    file = tmp_path / "compare.db"
    found = run_four(4, study=file)
    assert run_four(4, study=file).runs == found.runs  # seconds and all: it was not run again
    assert len(file.read_bytes().splitlines()) == 1
    assert run_four(4, study=file, out=tmp_path / "tables").runs == found.runs
    store = Store(file)
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


def test_what_other_code_gave_is_run_again(tmp_path, monkeypatch):
    first = run_four(4, out=tmp_path)
    monkeypatch.setattr(jobs, "code_digest", lambda: "another")
    again = run_four(4, out=tmp_path)
    assert len(lines(tmp_path)) == 2
    assert regrets(again) == regrets(first)
    monkeypatch.undo()
    assert jobs.code_digest() == jobs.code_digest.__wrapped__()


def test_another_budget_is_another_run(tmp_path):
    first = run_four(4, out=tmp_path)
    again = run_four(4, out=tmp_path)
    assert again.runs == first.runs  # seconds and all: it was not run again
    assert run_four(5, out=tmp_path).runs["four", "script"][0].evaluations == 5
    assert len(lines(tmp_path)) == 2


# ---------------------------------------------------------------------- what goes wrong


def test_what_fails_is_said_and_the_others_go_on():
    found = compare(
        {"four": Four}, {"broken": Broken, "script": Script}, budget=3, seeds=2, workers=1
    )
    assert found.failures == {("four", "broken"): "ZeroDivisionError: no path today"}
    assert list(found.runs) == [("four", "script")]
    assert "- broken on four: ZeroDivisionError: no path today" in regrets_page(found)
    found = compare(["smooth:2:3", "trap:depth=3"], ["gpts-known"], budget=3, seeds=1, workers=1)
    assert list(found.runs) == [("smooth:2:3", "gpts-known")]
    assert "not drawn from a prior" in found.failures["trap:depth=3", "gpts-known"]


def test_a_wrong_optimum_is_found_out():
    class Wrong(Four):
        def _solve(self):
            return 3.0, (2,)

    found = compare({"wrong": Wrong}, {"script": Script}, budget=6, seeds=1, workers=1)
    assert "says that its optimum is 3.0, but path (3,) is worth 4.0" in str(found.failures)


@pytest.mark.parametrize(
    ("problems", "searchers", "keywords", "message"),
    [
        (["smoth"], ["uct"], {}, "no problem 'smoth'.*smooth.*trap"),
        (["trap"], ["utc"], {}, "no searcher 'utc' .did you mean 'uct'.*gpts.*uct"),
        (["trap"], ["uct:explore=1"], {}, "uct has no constant 'explore'; it has exploration"),
        (["trap"], ["uct:0.4"], {}, "write its constants as NAME=VALUE"),
        (["trap"], ["uct:exploration=-1"], {}, "runs on none.*exploration must not be negative"),
        (["trap"], ["gpts-known"], {}, "runs on none of the problems: trap is not drawn"),
        (["trap", "trap"], ["uct"], {}, "problems has 'trap' twice"),
        ([], ["uct"], {}, "problems must not be empty"),
        (["trap"], ["uct"], {"budget": 0}, "budget must be at least 1"),
        (["trap"], ["uct"], {"seeds": 0}, "seeds must be at least 1"),
        (["trap"], ["uct"], {"seed": -1}, "seed must be at least 0"),
        (["trap"], ["uct"], {"grids": {"uct": {"c": (1,)}}}, "uct has no constant 'c'"),
    ],
)
def test_bad_input(problems, searchers, keywords, message):
    with pytest.raises(ValueError, match=message):
        compare(problems, searchers, **{"budget": 5, "workers": 1, **keywords})


def test_bad_types():
    with pytest.raises(TypeError, match="problems must be a list of names"):
        compare("trap", ["uct"], budget=5)
    with pytest.raises(TypeError, match="to give functions, use a dict"):
        compare(["trap"], [bough.UCT], budget=5)
    with pytest.raises(TypeError, match="'mine' must be a function of the tree"):
        compare(["trap"], {"mine": 3}, budget=5)
    with pytest.raises(TypeError, match="'mine' has no 'optimum'|'mine' has no 'tree'"):
        compare({"mine": lambda seed: 3}, ["uct"], budget=5)
    with pytest.raises(TypeError, match="functions at the top of a module"):
        compare(
            {"four": lambda seed: Four()}, {"s": lambda tree: Script(tree)}, budget=5, workers=2
        )


# ---------------------------------------------------------------------- files and the command


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "have_matplotlib", lambda: False)  # figures have their own test
    words = [*COMMAND, "--seeds", "3", "--tuning-seeds", "2", "--workers", "1"]
    result = CliRunner().invoke(main, [*words, "--out", str(tmp_path)])
    assert result.exit_code == 1  # Branin has no prior to know
    assert "gpts-known on noisy-branin:cuts=3: noisy-branin:cuts=3 is not drawn" in result.output
    assert "seed 0: the command above gives the same regrets again." in result.output
    assert "no figures: they need matplotlib" in result.output
    with (tmp_path / "regrets.csv").open() as file:
        table = list(csv.DictReader(file))
    last = [row for row in table if row["evaluations"] == "60"]
    assert [(row["problem"], row["searcher"]) for row in last] == [
        ("smooth:3:4", "gpts-known"), ("smooth:3:4", "uct"), ("noisy-branin:cuts=3", "uct")
    ]  # fmt: skip
    assert all(float(row["simple_low"]) <= float(row["simple"]) for row in last)
    assert last[1]["constants"].startswith("exploration=")
    assert (tmp_path / "seconds.csv").read_text().startswith("problem,searcher,constants,seeds,sec")
    assert "microseconds an evaluation" in (tmp_path / "seconds.md").read_text()
    # The command that is quoted gives the same again.
    quoted = next(line for line in result.output.splitlines() if line.startswith("    bough "))
    again = CliRunner().invoke(main, [*quoted.split()[1:], "--workers", "1", "--json"])
    facts = json.loads(again.stdout[: again.stdout.rindex("}") + 1])
    assert [row["simple"] for row in facts["by_evaluations"]] == [
        float(row["simple"]) for row in table
    ]
    assert facts["failures"][0]["searcher"] == "gpts-known"
    assert facts["choices"][1]["constants"].keys() == {"exploration"}
    assert facts["seeds"] == [0, 1, 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["smoth"], "there are ackley, branin"),
        (["smooth", "--searchers", "gtps"], "there are gpts, uct|there are .*gpts.*uct"),
        (["smooth", "--budget", "0"], "--budget"),
        ([], "Missing argument"),
    ],
)
def test_bad_words(words, message):
    result = CliRunner().invoke(main, ["compare", *words])
    assert result.exit_code in (1, 2)
    assert re.search(message, result.output), result.output
    assert "Traceback" not in result.output


def test_figures(tmp_path, monkeypatch):
    found = compare(["smooth:2:3", "trap:depth=3"], ["uct"], budget=12, seeds=2, tuning_seeds=1,
                    workers=1)  # fmt: skip
    monkeypatch.setattr(figures, "have_matplotlib", lambda: False)
    names = {file.name for file in write(found, tmp_path / "without")}
    assert names == {
        "summary.md", "regrets.md", "regrets.csv", "tuning.csv", "seconds.md", "seconds.csv"
    }  # fmt: skip
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    files = write(found, tmp_path / "with")
    assert [file.name for file in files[6:]] == ["smooth-2-3.png", "trap-depth=3.png"]
    for file in files[6:]:
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_size > 10_000
