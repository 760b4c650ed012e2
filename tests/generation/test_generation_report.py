"""The page, figures and commands of a search with a generator."""

import json
import sys

import pytest
from click.testing import CliRunner

import bough
from bough.cli import main
from bough.generation import GenerationStudy, result_of

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
FILE = f"""
import bough, random
draw = random.Random(0)

def walk(parent):
    x = (0.0 if parent is None else parent.answer["x"]) + draw.gauss(0, 1)
    return bough.Answer({{"x": x}}, -abs(x - 5), 0.0, feedback={EVIL!r})

def cheap(parent):
    return walk(parent)

async def later(parent):
    return walk(parent)

def broken(parent):
    raise RuntimeError("no key")
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "run.db"
    with GenerationStudy.open(path, generators=("a", EVIL), rng=0) as made:
        for i in range(12):
            made.tell(made.ask(), f"line {i}\n{EVIL}", float(i % 5), feedback=EVIL)
        made.fail(made.ask(), EVIL)
        made.ask()
    return path


def test_the_page_escapes_every_text(study, tmp_path):
    pytest.importorskip("plotly")
    result = result_of(study)
    result.report(tmp_path / "page.html", title=EVIL)
    page = (tmp_path / "page.html").read_text()
    assert EVIL not in page
    assert "onerror=alert" in page
    data = page.split('id="snapshot-data">')[1].split("</script>")[0]
    facts = json.loads(data)
    assert len(facts["nodes"]) == 12
    assert facts["failed"] == 1
    assert len(facts["running"]) == 1
    assert facts["nodes"][0]["answer"] == f"line 0\n{EVIL}"
    assert facts["lineage"] == [node.id for node in result.lineage()]
    with pytest.raises(ValueError, match="must not be that of the study"):
        result.report(study)


def test_the_page_is_served_and_follows(study):
    pytest.importorskip("plotly")
    from bough.report.watch import Watch

    server = Watch(study)
    try:
        assert 'data-follow="yes"' in server.whole_page()
        changes = server.changes("", 0)
        assert changes["snapshot"]["calls"] == 13
        assert server.changes(changes["version"], 0) is None
        with GenerationStudy.open(study) as writer:
            writer.tell(writer.ask(), "more", 9.0)
            now = server.changes(changes["version"], 0)
            assert now["snapshot"]["calls"] == 14
    finally:
        server.server_close()


def test_figures(study):
    pytest.importorskip("matplotlib").use("Agg")
    result = result_of(study)
    for kind in ("cost", "tree"):
        ax = result.plot(kind)
        ax.figure.canvas.draw()
        assert ax.get_legend() is not None
    with pytest.raises(ValueError, match="kind must be one of cost, tree"):
        result.plot("other")
    empty = bough.generate(lambda parent: (1, 1.0), cost=0.1)
    for kind in ("cost", "tree"):
        empty.plot(kind).figure.canvas.draw()


def run(*arguments):
    sys.modules.pop("generators_of_a_test", None)
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "generators_of_a_test.py"
    path.write_text(FILE)
    return path


def test_the_command(file, tmp_path):
    path = tmp_path / "run.db"
    done = run("generate", f"{file}:walk", "--budget", 20, "--study", path, "--seed", 1)
    assert done.exit_code == 0
    assert "20 calls" in done.output
    assert "best answer" in done.output
    again = run("generate", f"{file}:walk", "--budget", 30, "--study", path, "--json")
    facts = json.loads(again.output)
    assert facts["calls"] == 30
    assert facts["stopped_by"] == "budget"
    assert facts["best"]["answer"]
    enough = run("generate", f"{file}:walk", "--budget", 25, "--study", path)
    first = enough.output.splitlines()[0]
    assert first.startswith("0 calls in ")
    assert "30 in all" in first
    assert first.endswith("stopped by budget")
    shown = run("study", path)
    assert shown.output.startswith("30 calls at cost 30")
    assert len(json.loads(run("study", path, "--json").output)["nodes"]) == 30
    assert len(run("study", path, "--csv").output.splitlines()) == 31
    lines, copy = tmp_path / "run.jsonl", tmp_path / "copy.db"
    assert run("study", "export", path, lines).exit_code == 0
    assert run("study", "import", lines, copy).exit_code == 0
    assert [n.answer for n in result_of(copy).nodes] == [n.answer for n in result_of(path).nodes]


def test_the_command_writes_the_page(study):
    pytest.importorskip("plotly")
    assert run("report", study).exit_code == 0
    assert study.with_suffix(".html").exists()


def test_the_command_with_several_generators_workers_and_costs(file):
    both = (f"{file}:walk", f"{file}:cheap", "--call-cost", "walk=8", "--call-cost", "cheap=1")
    done = run("generate", *both, "--cost", 60, "--workers", 4, "--threads", "--noise", 0, "--json")
    facts = json.loads(done.output)
    assert facts["stopped_by"] == "cost"
    assert 40 < facts["cost"] <= 60
    later = run("generate", f"{file}:later", "--budget", 9, "--workers", 3, "--json")
    assert json.loads(later.output)["calls"] == 9
    target = run("generate", f"{file}:walk", "--target", -3, "--noise", 0, "--json")
    assert json.loads(target.output)["stopped_by"] == "target"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["FILE:broken", "--budget", 30, "--retries", 0], 1, "all calls (10) failed, the last by"),
        (["FILE:broken", "--on-error", "stop"], 1, "the generator broken failed"),
        (["FILE"], 2, "is not FILE.py:FUNCTION"),
        (["FILE:none"], 2, "has no function none"),
        (["FILE:walk", "FILE:walk"], 2, "two generators called walk"),
        (["FILE:walk", "--call-cost", "x=1"], 2, "no generator 'x'"),
        (["FILE:walk", "--call-cost", "many"], 2, "not NUMBER or NAME=NUMBER"),
        (["FILE:walk", "--noise", "-1"], 2, "noise"),
    ],
)
def test_wrong_commands(file, arguments, code, message):
    done = run("generate", *(str(one).replace("FILE", str(file)) for one in arguments))
    assert done.exit_code == code
    assert message in done.output.replace("\n", " ")
