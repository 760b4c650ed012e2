"""Documentation pages: every example is run, every number is compared."""

import csv
import doctest
import importlib.util
import inspect
import pathlib
import re

import pytest

import bough
from bough.experiments.pages import format_number

DOCS = pathlib.Path(__file__).parent.parent / "docs"
STUDY = DOCS / "experiments"
PAGES = sorted(DOCS.glob("**/*.md"))
#: (The examples of the API page are those of the docstrings, which are tested with the modules.)
EXAMPLES = [page for page in PAGES if ">>> " in page.read_text() and page.name != "api.md"]


def test_the_pages_with_examples_are_found():
    assert {"paper-checked.md", "tuning.md"} <= {page.name for page in EXAMPLES}


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_examples(page):
    text = page.read_text()
    # CI installs these packages before it runs this file again.
    for package in ("gymnasium", "optuna", "pyspiel", "sklearn"):
        if re.search(rf">>> (import|from) {package}\b", text):
            pytest.importorskip(package)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    names, output, found = {}, [], 0  # a page is one session
    for block in re.finditer(r"```python\n(.*?)```", text, re.S):
        line = text.count("\n", 0, block.start(1))
        test = parser.get_doctest(block[1], names, page.name, str(page), line)
        test.globs = names
        found += len(test.examples)
        runner.run(test, out=output.append, clear_globs=False)
    assert found == text.count(">>> ")  # all of them
    assert runner.failures == 0, "".join(output)


@pytest.mark.parametrize("page", ["api.md", "commands.md"])
def test_the_reference_pages_are_current(page):
    """`python docs/reference.py` would write them as they are."""
    pytest.importorskip("sklearn")  # CI installs these packages before it runs this file again
    pytest.importorskip("optuna")
    text = (DOCS / page).read_text()
    assert _reference().PAGES[page](text).splitlines() == text.splitlines()


def test_the_api_has_every_public_name():
    text = (DOCS / "api.md").read_text()
    described = set(re.findall(r"^### bough\.(?:\w+\.)*(\w+)$", text, re.M))
    modules = {name for name in bough.__all__ if inspect.ismodule(getattr(bough, name))}
    assert set(bough.__all__) - modules - described == set()


def _reference():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_comparison_is_of_one_run():
    """All pages quote one command, and the summary has the numbers of the table."""
    commands = {
        line.strip()
        for name in ("README.md", "summary.md", "regrets.md")
        for line in (STUDY / name).read_text().splitlines()
        if line.startswith("    bough compare ")
    }
    (command,) = commands
    problems = command.removeprefix("bough compare ").split(" --searchers ")[0].split()
    figures = {re.sub(r"[^A-Za-z0-9.=-]+", "-", problem) + ".png" for problem in problems}
    assert {file.name for file in (STUDY / "figures").glob("*.png")} == figures
    sections = (STUDY / "summary.md").read_text().split("\n## Simple regret: ")[0].split("\n### ")
    tables = {section.split("\n")[0]: section for section in sections[1:]}
    assert list(tables) == problems
    (budget,) = re.findall(r"--budget (\d+)", command)
    (seeds,) = re.findall(r"--seeds (\d+)", command)
    with (STUDY / "regrets.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["evaluations"] == budget]
    assert {row["problem"] for row in rows} == set(problems)
    for row in rows:
        assert row["seeds"] == seeds
        (line,) = re.findall(
            rf"^\| {re.escape(row['searcher'])}(?: \(.*\))? \| (.*) \|$",
            tables[row["problem"]],
            re.M,
        )
        parts = ("simple", "simple_low", "simple_high")
        mean, low, high = (format_number(float(row[part])) for part in parts)
        assert line.split(" | ")[-1].strip("*") == f"{mean} [{low}, {high}]"
