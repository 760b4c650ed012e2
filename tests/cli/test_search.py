"""`bough search`."""

import json

import pytest
from click.testing import CliRunner

import bough
from bough.cli import main
from bough.problems import Smooth


def bough_command(*arguments):
    return CliRunner().invoke(main, arguments)


def test_problems_have_parameters():
    """By the same names as `bough compare`, each with the noise that it has there."""

    def facts(*words):
        return json.loads(bough_command("search", *words, "--budget", "30", "--json").stdout)

    found = facts("drawn:gaussian:3:branching=2:depth=4", "--seed", "5")
    problem = bough.problems.named("drawn:gaussian:3:branching=2:depth=4", seed=5)
    assert found["optimum"] == {"value": problem.optimum, "path": list(problem.best_path)}
    assert round(10 ** found["log10_arms"]) == 16
    assert facts("noisy-branin:cuts=2")["fitted"]["noise"] > 1.0  # about 2.5
    assert facts("branin:cuts=2")["fitted"]["noise"] < 0.1  # none
    assert facts("branin:cuts=2", "--noise", "20")["fitted"]["noise"] > 5.0


def test_what_is_known_of_the_best(tmp_path):
    """The measurement is called a value or observed, the model's estimate a mean."""
    line = ["search", "smooth", "--budget", "300", "--seed", "1", "--bounds", "0", "1"]
    facts = json.loads(bough_command(*line, "--json").stdout)
    page = bough_command(*line).stdout
    best, observed = facts["best"], facts["best_observed"]
    assert f"its mean     {best['mean']:.6g} +- {best['std']:.2g}, by the model" in page
    assert f"its value    {best['value']:.6g}, " in page
    assert f"observed     at best {observed['value']:.6g}, " in page
    value = facts["expected_best"]
    worth = f"the best path of all is worth {value['mean']:.4g} +- {value['std']:.2g}"
    loss = f"expected loss of this one {facts['expected_gap']:.2g}"
    assert f"expected     {worth}, {loss}" in page
    assert facts["certificate"]["upper"] <= 1.0
    assert value["mean"] <= 1.0
    file = str(tmp_path / "run.db")
    study = ["search", "smooth", "--bounds", "0", "1", "--study", file, "--expected-gap", "0.5"]
    facts = json.loads(bough_command(*study, "--json").stdout)
    assert facts["stopped_by"] == "expected gap"
    assert facts["expected_gap"] <= 0.5
    shown = json.loads(bough_command("study", file, "--json").stdout)
    for name in ("best", "best_observed", "expected_best", "expected_gap", "certificate"):
        assert shown[name] == facts[name]
    page = bough_command("study", file).stdout
    assert f"observed     at best {facts['best_observed']['value']:.6g}, " in page
    wrong = bough_command("search", "smooth", "--bounds", "1", "0")
    assert wrong.exit_code == 2
    assert "low below high" in wrong.stderr


def test_search(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = bough_command("search", "smooth", "--budget", "300")
    assert page.exit_code == 0
    for word in ("9,765,625 paths", "best path", "certificate", "optimum", "a second"):
        assert word in page.stdout
    first, second = (
        bough_command("search", "smooth", "--budget", "200", "--seed", "3", "--json")
        for _ in range(2)
    )
    facts = json.loads(first.stdout)
    assert facts["evaluations"] == 200
    assert facts["best"] == json.loads(second.stdout)["best"]
    assert facts["regret"] == pytest.approx(
        Smooth(seed=3).optimum - Smooth(seed=3).value(tuple(facts["best"]["path"]))
    )
    (tmp_path / "mine.py").write_text(
        "def total(path):\n    return sum(path)\n\ndef broken(path):\n    return 1 / 0\n"
    )
    (tmp_path / "wrong.py").write_text("def f(path) return 1")
    (tmp_path / "raising.py").write_text("{}['f']")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "near.py").write_text("value = 0.5")
    (tmp_path / "sub" / "uses.py").write_text(
        "import near\n\ndef f(path):\n    return near.value\n"
    )
    options = ["--branching", "3", "--depth", "3", "--kernel", "linear:9", "--noise", "0"]
    near = bough_command("search", "sub/uses.py:f", *options)
    assert near.exit_code == 0
    deep = ["--branching", "5", "--depth", "1000", "--kernel", "linear", "--noise", "0.1"]
    deep_page = bough_command("search", "sub/uses.py:f", *deep, "--budget", "2")
    assert "about 10^699 paths" in deep_page.stdout
    for name in ("mine.py:total", "mine:total"):
        own = bough_command("search", name, *options, "--json")
        assert json.loads(own.stdout)["best"]["path"] == [2, 2, 2]
        assert json.loads(own.stdout)["stopped_by"] == "exhausted"
    for arguments, message in (
        (["search", "smoth"], "neither a built-in problem"),
        (["search", "mine.py:total"], "needs --branching and --depth"),
        (["search", "mine.py:none", *options], "has no function none"),
        (["search", "other.py:total", *options], "there is no file other.py"),
        (["search", "no.such.module:f", *options], "cannot import no.such.module"),
        (["search", "mine.py:broken", *options], "division by zero"),
        (["search", "smooth", "--budget", "0"], "--budget"),
        (["search", "smooth", "--depth", "3"], "--depth is for a function of your own"),
        (["search", "smooth:depth=x"], "depth must be an int"),
        (["search", "trap:noise=0.1", "--noise", "0.2"], "noise is given apart from the name"),
        (["search", "mine.py:total", *options[:4], "--kernel", "cubic", "--noise", "0"], "cubic"),
        (["search", "mine.py:total", *options[:4], "--kernel", "gaussian:x"], "gaussian:x"),
        (["search", "mine.py:total", *options[:4], "--kernel", "linear:1:2"], "linear:1:2"),
        (["search", "smooth", "--seconds", "nan"], "'--seconds': 'nan' is not a finite number"),
        (["search", "smooth", "--gap", "nan"], "'--gap': 'nan' is not a finite number"),
        (["search", "wrong.py:f", *options], "cannot import wrong.py: SyntaxError"),
        (["search", "raising.py:f", *options], "cannot import raising.py: KeyError"),
        (["search", "..mine:f", *options], "cannot import ..mine"),
    ):
        bad = bough_command(*arguments)
        assert bad.exit_code != 0
        assert message in bad.stderr
        assert "Traceback" not in bad.stderr


def test_search_of_a_tree_of_any_shape(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shaped.py").write_text(
        "import bough\n"
        "tree = bough.Tree([2, 3, 4], 3)\n"
        "odd = bough.Tree(lambda path: 2 + len(path), 2)\n"
        "def total(path):\n    return sum(path)\n"
    )
    for words, best in (
        (["shaped.py:total"], [1, 2, 3]),
        (["shaped.py:total:odd"], [1, 2]),
        (["shaped.py:total", "--minimize"], [0, 0, 0]),
        (["shaped.py:total", "--searcher", "uct"], [1, 2, 3]),
        (["shaped.py:total", "--workers", "1", "--timeout", "60"], [1, 2, 3]),
        (["shaped.py:total", "--branching", "3", "--depth", "2"], [2, 2]),
    ):
        answer = bough_command("search", *words, "--budget", "60", "--json")
        assert answer.exit_code == 0, answer.output
        assert json.loads(answer.stdout)["best"]["path"] == best
        if "odd" in words[0]:
            assert "paths, " in bough_command("search", *words, "--budget", "5").stdout
    for words, message in (
        (["shaped.py:total:no"], "has no bough.Tree called no; it has tree, odd"),
        (["shaped.py:total:odd", "--depth", "2"], "leave out --branching and --depth"),
        (["shaped.py:total", "--depth", "2"], "needs --branching and --depth, or a tree"),
        (["shaped.py:total", "--searcher", "genius"], "searcher must be one of"),
        (["shaped.py:total", "--searcher", "uct", "--noise", "0"], "--noise is for the searcher"),
        (["smooth", "--minimize"], "--minimize is for a function of your own"),
    ):
        wrong = bough_command("search", *words)
        assert wrong.exit_code == 2
        assert message in wrong.stderr


def test_a_minimizing_search_is_a_study_to_minimize(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def total(path):\n    return sum(path)\n")
    words = ["search", "mine.py:total", "--branching", "3", "--depth", "4", "--study", "run.db"]
    facts = json.loads(
        bough_command(*words, "--minimize", "--bounds", "0", "9", "--budget", "40", "--json").stdout
    )
    assert facts["best_observed"]["value"] == 0.0
    assert facts["certificate"]["lower"] >= 0.0
    wrong = bough_command(*words, "--bounds", "0", "9", "--budget", "50")
    assert wrong.exit_code == 2
    assert "is to minimize, not to maximize" in wrong.stderr


def test_a_known_problem_with_workers_has_noise(tmp_path):
    line = ["search", "smooth", "--budget", "12", "--workers", "1", "--json"]
    facts = json.loads(bough_command(*line).stdout)
    assert facts["evaluations"] == 12
    assert facts["regret"] >= 0


def test_labels_of_the_file(tmp_path):
    """A function `labels` beside the tree is used; --kernel is then that of the rest."""
    file = tmp_path / "sequence.py"
    file.write_text(
        "import bough\n"
        "tree = bough.Tree(3, 3, labels=list('abc'))\n"
        "def labels(path):\n    return path[-1], len(path)\n"
        "def value(letters):\n    return letters.count('c') + hash(letters[0]) % 7 * 0.01\n"
    )
    line = ["search", f"{file}:value", "--budget", "8"]
    fitted = json.loads(bough_command(*line, "--json").stdout)["fitted"]
    assert (fitted["kernel"], fitted["labels"]["kernel"]) == ("Geometric", "Same")
    assert "+ labels (variance " in bough_command(*line).stdout
    given = json.loads(bough_command(*line, "--kernel", "linear", "--json").stdout)["fitted"]
    assert (given["kernel"], given["labels"]["kernel"]) == ("Linear", "Same")
    assert bough_command(*line, "--searcher", "random").exit_code == 0
    study = [*line[:-1], "4", "--study", str(tmp_path / "run.db")]
    assert bough_command(*study).exit_code == 0
    assert bough_command(*study[:3], "8", *study[4:]).exit_code == 0
    assert bough_command("study", str(tmp_path / "run.db")).exit_code == 0
