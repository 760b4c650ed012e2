"""Studies with reports and pruned trials: resumed, killed, exchanged and forged."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from objectives import curve

import bough
from bough import ProbabilityOfImprovement, Study, SuccessiveHalving
from bough.cli import main
from bough.studies.describe import INVALID
from bough.studies.exchange import export_lines
from bough.studies.operations import Operation, check_operation

SPACE = bough.Space(x=bough.Float(0, 1), y=bough.Float(0, 1))
TREE = bough.Tree(5, 2)
RULES = [SuccessiveHalving(), ProbabilityOfImprovement(0.05, 3)]
domains = pytest.mark.parametrize("domain", [SPACE, TREE], ids=["space", "tree"])


def run(file, budget, domain=SPACE, rule=RULES[0], rng=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the searcher asks what it asked then
        return bough.minimize(curve, domain, budget=budget, prune=rule, study=file, rng=rng)


def record(file):
    """Return all operations, but for their times."""
    rows = [json.loads(line) for line in export_lines(Path(file))[0][1:]]
    return [(row["kind"], row["trial"], row["body"], row["state"]) for row in rows]


@domains
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_resumed_run_is_the_same(tmp_path, domain, rule):
    whole = run(tmp_path / "whole.db", 24, domain, rule, rng=5)
    for budget in (1, 2, 9, 24):
        parts = run(tmp_path / "parts.db", budget, domain, rule, rng=5)
    assert record(tmp_path / "parts.db") == record(tmp_path / "whole.db")
    assert parts.best == whole.best
    assert parts.study.trials.count("pruned") == whole.history.pruned > 0
    unrecorded = bough.minimize(curve, domain, budget=24, prune=rule, rng=5)
    assert [t.reports for t in unrecorded.history.trials] == [t.reports for t in whole.study.trials]


def test_a_killed_run_is_resumed_with_its_rungs(tmp_path):
    """The process is killed in the middle of some trials, after reports."""
    program = f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        import bough
        from objectives import curve

        def objective(params, trial):
            report = trial.report
            def report_or_die(step, value):
                if (trial.id, step) == ({{}}, 1):
                    os.kill(os.getpid(), signal.SIGKILL)
                report(step, value)
            trial.report = report_or_die
            return curve(params, trial)

        space = bough.Space(x=bough.Float(0, 1), y=bough.Float(0, 1))
        bough.minimize(objective, space, budget=24, prune=bough.SuccessiveHalving(),
                       study={str(tmp_path / "killed.db")!r}, rng=5, progress=False)
    """
    for trial in (0, 7, 8, 20):
        text = textwrap.dedent(program).format(trial)
        ended = subprocess.run([sys.executable, "-c", text], env=os.environ, check=False)
        assert ended.returncode == -signal.SIGKILL
    run(tmp_path / "killed.db", 24, rng=5)
    run(tmp_path / "whole.db", 24, rng=5)
    assert record(tmp_path / "killed.db") == record(tmp_path / "whole.db")


def test_a_study_may_continue_without_a_rule_or_with_another(tmp_path):
    file = tmp_path / "run.db"
    run(file, 10, rng=0)
    run(file, 15, rule=RULES[1])
    result = run(file, 20, rule=None)
    assert [trial.state for trial in result.history.trials] == ["completed"] * 5
    bough.minimize(lambda params: params["x"], SPACE, budget=25, study=file)
    assert len(Study.look(file).trials) == 25


def test_export_and_import(tmp_path):
    run(tmp_path / "run.db", 15, rng=0)
    runner = CliRunner()
    for words in (("export", "run.db", "run.jsonl"), ("import", "run.jsonl", "copy.db")):
        files = [str(tmp_path / name) for name in words[1:]]
        assert runner.invoke(main, ["study", words[0], *files]).exit_code == 0
    with Study.open(tmp_path / "run.db") as one, Study.open(tmp_path / "copy.db") as other:
        assert list(one.trials) == list(other.trials)
        seen = Study.look(one.path).trials  # without the space there are no paths
        assert [t._replace(path=()) for t in one.trials] == list(seen)
        assert one.best() == other.best()
        assert one.ask().params == other.ask().params
        assert "pruned" in repr(one)
    shown = runner.invoke(main, ["study", str(tmp_path / "run.db")]).output
    assert " pruned, 0 failed" in shown
    table = runner.invoke(main, ["study", str(tmp_path / "run.db"), "--csv"]).output.splitlines()
    assert table[0].endswith("steps,last_report")
    facts = json.loads(runner.invoke(main, ["study", str(tmp_path / "run.db"), "--json"]).output)
    assert facts["counts"]["pruned"] == sum(t["state"] == "pruned" for t in facts["trials"]) > 0


def test_a_damaged_file_keeps_pruned_trials(tmp_path):
    """Lines of a damaged file make a study of the trials whose records are complete."""
    run(tmp_path / "run.db", 15, rng=0)
    head, *rows = [json.loads(line) for line in export_lines(tmp_path / "run.db")[0]]
    kept = [row for row in rows if row["trial"] != 0]  # the only completed one at first
    lines = [json.dumps(row) for row in (head | {"damage": "it is"}, *kept)]
    (tmp_path / "saved.jsonl").write_text("\n".join(lines))
    files = [str(tmp_path / name) for name in ("saved.jsonl", "copy.db")]
    assert CliRunner().invoke(main, ["study", "import", *files]).exit_code == 0
    with Study.open(tmp_path / "copy.db", SPACE) as study:
        assert len(study.trials) == 14
        assert study.trials[0].state == "pruned"
        best = study.best()
        assert any(t.params == best.params and t.value is not None for t in study.trials)


def test_ask_and_tell(tmp_path):
    with Study.create(tmp_path / "run.db", TREE, rng=0, direction="minimize") as study:
        first = study.ask()
        with pytest.raises(ValueError, match="predicted must be worse than the best value"):
            study.prune(first, [(1, 0.5)], predicted=1.0)
        study.tell(first, 1.0, reports=[(1, 2.0), (2.5, 1.0)])
        second = study.ask()
        refused = [
            ((), {}, ValueError, "reports must have at least one pair"),
            ([(2, 1.0), (1, 1.0)], {}, ValueError, "step must be above 2"),
            ([(1, 1.0, 1.0)], {}, ValueError, "a report must be a pair"),
            ([5], {}, TypeError, "a report must be a sequence"),
            ("ab", {}, TypeError, "reports must be a sequence"),
            ([(1, 1.0)], {"noise": 0.1}, ValueError, "noise is that of the predicted value"),
            ([(1, 1.0)], {"predicted": 1.0}, ValueError, "predicted must be worse"),
            ([(1, 1.0)], {"predicted": 0.0}, ValueError, "predicted must be worse"),
            ([(1, 1.0)], {"predicted": 2.0, "noise": -1.0}, ValueError, "noise must not be"),
        ]
        for reports, keywords, error, message in refused:
            with pytest.raises(error, match=message):
                study.prune(second, reports, **keywords)
        with pytest.raises(ValueError, match="step must be above zero"):
            study.tell(second, 1.0, reports=[(0, 1.0)])
        study.prune(second, [(1, 5.0)], predicted=4.0, noise=0.5)
        with pytest.raises(ValueError, match="trial 1 was pruned after step 1; ask for another"):
            study.tell(second, 1.0)
        study.prune(study.ask(), [(3, 7.0)])  # nothing is predicted
        assert (study.searcher.observations, study.unobserved, study.failed) == (2, 1, 0)
        assert study.best().path == first.path
        trials = list(study.trials)
    with Study.open(tmp_path / "run.db") as study:
        assert list(study.trials) == trials
        assert study.trials[0].reports == ((1, 2.0), (2.5, 1.0))
        assert (study.searcher.observations, study.unobserved, study.failed) == (2, 1, 0)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("tell", [1.0, None]),
        ("tell", [1.0, None, []]),
        ("tell", [None, None, [[1, 1.0]]]),
        ("tell", [1.0, None, [[1, 1.0]], 3]),
        ("tell", [1.0, -1.0, [[1, 1.0]]]),
        ("tell", [1.0, 0.1, [[1, 1.0], [1, 2.0]]]),
        ("tell", [1.0, 0.1, {"1": 1.0}]),
        ("prune", None),
        ("prune", 1.0),
        ("prune", [1.0, 0.1]),
        ("prune", [1.0, 0.1, []]),
        ("prune", [None, 0.1, [[1, 1.0]]]),
        ("prune", [float("nan"), None, [[1, 1.0]]]),
        ("prune", [1.0, None, [[0, 1.0]]]),
        ("prune", [1.0, None, [["1", 1.0]]]),
        ("prune", [1.0, None, [[1, None]]]),
        ("prune", [1.0, None, [[1]]]),
        ("prune", [1.0, None, 7]),
        ("prune", {"value": 1.0}),
    ],
)
def test_forged_records(kind, body):
    operation = Operation(1, kind, 0, 0.0, json.dumps(body), None)
    with pytest.raises(INVALID):
        check_operation(operation, {"space": {}})


def test_only_a_running_trial_is_pruned(tmp_path):
    run(tmp_path / "run.db", 6, rng=0)
    lines = export_lines(tmp_path / "run.db")[0]
    rows = [json.loads(line) for line in lines]
    at = next(i for i, row in enumerate(rows) if row.get("kind") == "prune")
    for trial in (99, rows[at]["trial"] - 1, "0", None):
        changed = [*lines[:at], json.dumps(rows[at] | {"trial": trial}), *lines[at + 1 :]]
        (tmp_path / "forged.jsonl").write_text("\n".join(changed))
        files = [str(tmp_path / name) for name in ("forged.jsonl", "forged.db")]
        result = CliRunner().invoke(main, ["study", "import", *files])
        assert result.exit_code == 1
        assert "is not running" in result.output
