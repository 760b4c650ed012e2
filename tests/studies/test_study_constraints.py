"""Studies with constraints: resumed, exchanged, enqueued and forged."""

import csv
import json
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from objectives import on_disc

import bough
from bough import ObjectiveError, Study
from bough.cli import main
from bough.exceptions import Infeasible, StudyError
from bough.studies.describe import INVALID
from bough.studies.exchange import export_lines
from bough.studies.operations import (
    Operation,
    check_operation,
    read_outcome,
    write_outcome,
)

SPACE = bough.Space(x=bough.Float(-1, 1), y=bough.Float(-1, 1))
TREE = bough.Tree(5, 3)


def disc(params):
    return params["x"] ** 2 + params["y"] ** 2 - 0.04


def far(params):
    return (params["x"] - 1) ** 2 + (params["y"] - 1) ** 2


def path_sum(path):
    return sum(path)


def at_most_six(path):
    return sum(path) - 6.0


def on_tree(path):
    return bough.Outcome(sum(path), constraints=[at_most_six(path)])


def record(file):
    """Return all operations, but for their times."""
    rows = [json.loads(line) for line in export_lines(Path(file))[0][1:]]
    return [(row["kind"], row["trial"], row["body"], row["state"]) for row in rows]


CASES = [
    (SPACE, on_disc, None),
    (SPACE, far, disc),
    (SPACE, on_disc, disc),
    (TREE, on_tree, None),
    (TREE, path_sum, at_most_six),
]
cases = pytest.mark.parametrize(
    ("domain", "objective", "constraints"),
    CASES,
    ids=["space", "space-known", "space-both", "tree", "tree-known"],
)


def run(file, budget, domain, objective, constraints, rng=7):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the searcher asks what it asked then
        return bough.minimize(
            objective, domain, budget=budget, constraints=constraints, study=file, rng=rng
        )


@cases
def test_a_resumed_run_is_the_same(tmp_path, domain, objective, constraints):
    whole = run(tmp_path / "whole.db", 30, domain, objective, constraints)
    for budget in (1, 4, 17, 30):
        parts = run(tmp_path / "parts.db", budget, domain, objective, constraints)
    assert record(tmp_path / "parts.db") == record(tmp_path / "whole.db")
    assert parts.best == whole.best
    unrecorded = bough.minimize(objective, domain, budget=30, constraints=constraints, rng=7)
    assert [t[1:5] for t in unrecorded.history.trials] == [t[1:5] for t in whole.study.trials]
    assert [t.constraints for t in unrecorded.history.trials] == [
        t.constraints for t in whole.study.trials
    ]
    kinds = [kind for kind, *_ in record(tmp_path / "whole.db")]
    assert ("reject" in kinds) == (constraints is not None)
    # Nothing of the program is needed to read it.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Study.open(tmp_path / "whole.db", read_only=True) as study:
            assert study.best() == whole.best
            assert study.unobserved == study.trials.count("infeasible")


@cases
def test_an_exported_study_is_imported_as_it_is(tmp_path, domain, objective, constraints):
    file, copy = str(tmp_path / "run.db"), str(tmp_path / "copy.db")
    result = run(file, 12, domain, objective, constraints)
    lines = tmp_path / "lines"
    runner = CliRunner()
    assert runner.invoke(main, ["study", "export", file, str(lines)]).exit_code == 0
    assert runner.invoke(main, ["study", "import", str(lines), copy]).exit_code == 0
    assert record(copy) == record(file)
    table = runner.invoke(main, ["study", file, "--csv"]).output.splitlines()
    rows = list(csv.DictReader(table))
    assert [float(row["constraints_0"]) for row in rows] == [
        trial.constraints[0] for trial in result.study.trials
    ]
    shown = json.loads(runner.invoke(main, ["study", file, "--json"]).output)
    assert shown["counts"]["infeasible"] == result.history.infeasible


def test_changed_values_are_loaded_as_observations(tmp_path):
    """Rejections and infeasible trials count when the searcher has changed, too."""
    file = tmp_path / "run.db"
    run(file, 15, SPACE, on_disc, disc)
    lines = [json.loads(line) for line in export_lines(file)[0]]
    first = next(line for line in lines[1:] if line["kind"] in ("ask", "reject"))
    first["state"] += 1  # as if the random numbers were others
    changed = tmp_path / "changed.db"
    from bough.studies.exchange import import_lines

    import_lines([json.dumps(line) for line in lines], changed)
    with pytest.warns(UserWarning, match="All observations are kept"):
        study = Study.open(changed)
    with study:
        assert study.searcher.observations == study.trials.count("completed")
        rejections = sum(line.get("kind") == "reject" for line in lines)
        infeasible = study.trials.count("infeasible")
        assert len(study.searcher.trials.failed) == rejections + infeasible > 0


def test_ask_and_tell(tmp_path):
    with Study.create(tmp_path / "run.db", SPACE, rng=0) as study:
        study.enqueue({"x": 1.0, "y": 1.0})  # violates the constraint
        study.enqueue({"x": 0.0, "y": 0.1})
        trial = study.ask(disc)
        assert study.trials[0].state == "failed"
        assert "violates the constraints: [1.96]" in study.trials[0].reason
        assert trial.params == {"x": 0.0, "y": 0.1}
        assert trial.constraints == (disc(trial.params),)
        study.tell(trial, 1.0)  # with the constraints of the trial
        assert study.trials[1].constraints == trial.constraints
        trial = study.ask()
        with pytest.raises(ValueError, match="constraints must have 1 value, .* got 2"):
            study.tell(trial, 1.0, constraints=[1.0, 2.0])
        with pytest.raises(ValueError, match="constraints must have 1 value, .* got 0"):
            study.tell(trial, 1.0)
        with pytest.raises(ValueError, match="constraints must be finite"):
            study.tell(trial, 1.0, constraints=[float("nan")])
        study.tell(trial, 5.0, constraints=0.5)
        assert study.trials[-1].state == "infeasible"
        assert study.trials[-1].value == 5.0
        with pytest.raises(ValueError, match="has a value already"):
            study.tell(trial, 5.0, constraints=0.5)
        assert study.best().value == 1.0
        assert study.unobserved == 2


def test_a_trial_is_offered_again_if_its_constraints_fail(tmp_path):
    def fails(params):
        raise KeyError("z")

    with Study.create(tmp_path / "run.db", SPACE, rng=0) as study:
        for _ in range(2):
            with pytest.raises(ObjectiveError, match="the constraints failed at params"):
                study.ask(fails)
        assert [trial.state for trial in study.trials] == ["running"]
        assert study.ask(lambda params: -1.0).id == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Study.open(tmp_path / "run.db").close()


def test_rejections_are_recorded_if_nothing_is_feasible(tmp_path):
    file = tmp_path / "run.db"
    with pytest.raises(Infeasible):
        run(file, 5, SPACE, far, lambda params: 1.0 + params["x"] ** 2)
    assert {kind for kind, *_ in record(file)} == {"reject"}
    result = run(file, 5, SPACE, far, lambda params: params["x"] - 0.5)
    assert len(result.history) == 5


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    finite,
    st.none() | st.floats(0, 1e9),
    st.lists(st.tuples(st.integers(1, 3), finite), max_size=1),
    st.lists(finite, max_size=4),
)
def test_outcomes_are_written_bit_for_bit(value, noise, reports, constraints):
    body = json.loads(write_outcome(value, noise, reports, constraints))
    assert read_outcome(body) == (value, noise, tuple(reports), tuple(constraints))
    check_operation(Operation(1, "tell", 0, 0.0, json.dumps(body), None), {"space": {}})


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("tell", [1.0, None, [], []]),
        ("tell", [1.0, None, [], [None]]),
        ("tell", [1.0, None, [], ["1"]]),
        ("tell", [1.0, None, [], 1.0]),
        ("tell", [1.0, None, [], [1.0], 0]),
        ("prune", [1.0, None, [[1, 2.0]], [1.0]]),
        ("reject", [{}, [-1.0], []]),
        ("reject", [{}, [], []]),
        ("reject", [[0], [1.0], []]),
        ("reject", [{}, [1.0], [{"values": {"a": "b"}}]]),
        ("reject", [{}, [1.0]]),
        ("reject", None),
    ],
)
def test_a_forged_operation_is_refused(kind, body):
    with pytest.raises(INVALID):
        check_operation(Operation(1, kind, 0, 0.0, json.dumps(body), None), {"space": {}})


def test_a_forged_number_of_constraints_is_refused(tmp_path):
    from bough.studies.exchange import import_lines

    file = tmp_path / "run.db"
    run(file, 4, SPACE, on_disc, None)
    lines = [json.loads(line) for line in export_lines(file)[0]]
    last = [line for line in lines[1:] if line["kind"] == "tell"][-1]
    last["body"] = "[1.0, null, [], [1.0, 2.0]]"
    import_lines([json.dumps(line) for line in lines], tmp_path / "forged.db")
    with pytest.raises(StudyError, match="constraints must have 1 value"):
        Study.open(tmp_path / "forged.db")
