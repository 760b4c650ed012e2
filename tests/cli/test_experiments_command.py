"""The command `bough compare`, its tables and its figures."""

import csv
import json
import re

import pytest
from click.testing import CliRunner
from comparing import COMMAND

from bough.cli import main
from bough.experiments import compare, figures, write


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
    assert "microseconds per evaluation" in (tmp_path / "seconds.md").read_text()
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
    found = compare(["smooth:2:3"], ["uct"], budget=12, seeds=2, tuning_seeds=1, workers=1)
    monkeypatch.setattr(figures, "have_matplotlib", lambda: False)
    names = {file.name for file in write(found, tmp_path / "without")}
    assert names == {
        "summary.md", "regrets.md", "regrets.csv", "tuning.csv", "seconds.md", "seconds.csv"
    }  # fmt: skip
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    files = write(found, tmp_path / "with")
    (figure,) = files[6:]
    assert figure.name == "smooth-2-3.png"
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert figure.stat().st_size > 10_000


def test_problems_and_searchers_of_your_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(
        "import bough\n"
        "class Mine(bough.problems.Smooth):\n"
        "    def __init__(self, seed=0):\n        super().__init__(3, 3, seed=seed)\n"
        "def greedy(tree, rng=None):\n"
        "    return bough.baselines.UCT(tree, exploration=0.0, rng=rng)\n"
    )
    words = ["compare", "own.py:Mine", "needle:3:2", "--searchers", "gpts,own.py:greedy"]
    words += ["--budget", "12", "--seeds", "2", "--json", "--workers"]
    facts = [json.loads(CliRunner().invoke(main, [*words, n]).stdout) for n in ("1", "2")]
    assert facts[0]["by_evaluations"] == facts[1]["by_evaluations"]
    pairs = {(row["problem"], row["searcher"]) for row in facts[0]["by_evaluations"]}
    assert len(pairs) == 4
    assert ("own.py:Mine", "own.py:greedy") in pairs
    for name, message in (
        ("own.py:nothing", "own.py has no function nothing"),
        ("none.py:Mine", "there is no file none.py"),
        ("own.py:greedy", "problem 'own.py:greedy' must be a function of `seed`"),
    ):
        wrong = CliRunner().invoke(main, ["compare", name])
        assert wrong.exit_code != 0
        assert message in wrong.stderr


def test_a_comparison_prints_as_a_table():
    searchers = {"mine": "uct:exploration=0.3", "gpts": "gpts"}
    found = compare(["needle:3:2"], searchers, budget=30, seeds=2, workers=1)
    title, head, *lines = str(found).splitlines()
    assert title == "simple regret, means over 2 seeds with 95 % intervals"
    assert head.split("  ")[0] == "problem"
    assert "after 10" in head
    assert [line.split()[:2] for line in lines] == [["needle:3:2", n] for n in ("mine", "gpts")]
    some = compare(["needle:3:2", "drawn:linear"], ["gpts-known"], budget=5, seeds=1, workers=1)
    assert str(some).splitlines()[-1].startswith("not run: gpts-known on needle:3:2: ")
    with pytest.raises(ValueError, match=r"searcher 'mine' must make a bough.Searcher, got 5"):
        compare(["needle:3:2"], {"mine": lambda tree: 5}, budget=5, seeds=1, workers=1)
