"""Failed evaluations: in the history, in tables, and no end of the search."""

import math
import sys

import pytest

import bough
from bough import Choice, Float, Patience, Space, Tree, maximize, minimize

SPACE = Space(x=Float(-2, 2), kind=Choice({"a": None, "b": Space(y=Float(0, 1))}))


def moody(params):
    if params["x"] > 1:
        return math.nan
    if params["x"] < -1.5:
        sys.exit(3)
    return params["x"] ** 2


def test_the_history_holds_failed_trials():
    result = minimize(moody, SPACE, budget=40, catch=Exception, rng=0)
    history = result.history
    assert len(history) == len(history.trials) == 40
    assert 0 < history.failed == 40 - result.searcher.observations
    for trial, value, params in zip(history.trials, history.values, history.params, strict=True):
        assert (trial.state == "failed") == math.isnan(value) == (not -1.5 <= params["x"] <= 1)
        assert (trial.state == "failed") == bool(trial.reason)
        assert trial.started <= trial.ended
    reasons = {trial.reason for trial in history.trials if trial.reason}
    assert reasons == {
        "ValueError: the reward must be finite, got nan",
        "it raised SystemExit(3)",
    }
    assert f"40 evaluations, of which {history.failed} failed (last: " in repr(result)


def test_the_end_of_a_program_is_not_caught_unless_asked_for():
    with pytest.raises(SystemExit):
        maximize(lambda path: sys.exit(3), Tree(2, 2), budget=3, catch=ValueError)


def test_tables_of_trials(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is optional")
    file = tmp_path / "run.db"
    result = minimize(moody, SPACE, budget=30, catch=Exception, rng=0, study=file)
    alone = minimize(moody, SPACE, budget=30, catch=Exception, rng=0)
    for table in (result.history.to_pandas(), alone.history.to_pandas()):
        assert len(table) == 30
        assert set(table["state"]) == {"completed", "failed"}
        assert list(table.columns[6:9]) == ["params_x", "params_kind", "params_y"]
        assert table["params_y"].isna().equals(table["params_kind"] == "a")
        assert table["value"].isna().equals(table["state"] == "failed")
        assert table["reason"].isna().equals(table["state"] == "completed")
        assert isinstance(table["started"].dtype, pd.DatetimeTZDtype)
        assert (table["duration"] == table["ended"] - table["started"]).all()
        assert (table["duration"] >= pd.Timedelta(0)).all()
        assert (table["seconds"].diff().dropna() >= 0).all()
    whole = bough.Study.look(file).trials_dataframe()
    assert whole.equals(result.history.to_pandas().drop(columns="seconds"))
    nothing = bough.Study.create(tmp_path / "empty.db", SPACE).trials_dataframe()
    assert len(nothing) == 0
    on_a_tree = maximize(sum, Tree(2, 3), budget=5, rng=0).history.to_pandas()
    assert all(isinstance(path, tuple) for path in on_a_tree["path"])


@pytest.mark.parametrize("fails", [False, True])
def test_patience(fails):
    def objective(params):
        return 1 / 0 if fails else params["x"] ** 2

    stop = Patience(15)
    for _ in range(2):  # it may be used again
        result = minimize(
            objective, SPACE, budget=300, stop=stop, catch=ZeroDivisionError, rng=0, noise=0.0
        )
        assert result.stopped_by == "patience"
        values = result.history.values
        last = -1 if fails else int(values.argmin())
        assert len(values) - 1 - last == 15
    assert stop == Patience(15)


def test_patience_in_a_resumed_study_counts_this_run(tmp_path):
    file = tmp_path / "run.db"
    for count in (4, 3):
        result = maximize(lambda path: 1.0, Tree(4, 6), stop=Patience(3), study=file)
        assert (result.stopped_by, len(result.history)) == ("patience", count)


def test_invalid_patience():
    for wrong, error in ((0, ValueError), (2.5, TypeError), ("x", TypeError)):
        with pytest.raises(error, match="evaluations must be"):
            Patience(wrong)


def test_noise():
    exact = maximize(sum, Tree(3, 4), budget=20, noise=0.0, rng=0)
    assert exact.searcher.belief.noise == 0.0
    forest = minimize(lambda p: p["x"] ** 2, SPACE, budget=20, noise=0.0, rng=0)
    assert forest.searcher.trials.noisy is False
    with pytest.raises(ValueError, match="noise is only for a new searcher gpts"):
        maximize(sum, Tree(3, 4), budget=20, noise=0.0, searcher="uct")
    with pytest.raises(ValueError, match="noise must"):
        maximize(sum, Tree(3, 4), budget=20, noise=-1.0)


def test_noise_is_part_of_a_study(tmp_path):
    file = tmp_path / "run.db"
    maximize(sum, Tree(3, 4), budget=5, noise=0.5, study=file)
    maximize(sum, Tree(3, 4), budget=7, noise=0.5, study=file)
    with pytest.raises(bough.exceptions.StudyError, match="noise=0.5, not 0.1"):
        maximize(sum, Tree(3, 4), budget=9, noise=0.1, study=file)


def test_a_line_for_every_trial(capsys):
    result = minimize(moody, SPACE, budget=12, catch=Exception, rng=0, progress="log")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 12
    best = [float(line.rpartition("best ")[2]) for line in lines if "; best" in line]
    assert best == sorted(best, reverse=True)  # while minimizing it only falls
    for line, trial in zip(lines, result.history.trials, strict=True):
        said = f"failed ({trial.reason})" if trial.reason else f"value {trial.value:.6g}"
        assert line.startswith(f"trial {trial.id}: {said} in ")


def test_failures_of_two_workers_at_once():
    from bough.run.executors import Workers

    workers = Workers(2, abs)
    failing = [workers.submit(abs, None) for _ in range(2)]
    assert all(isinstance(future.exception(), TypeError) for future in failing)
    again = [workers.submit(abs, -3) for _ in range(2)]  # before they were checked
    for future in failing:
        workers.check(future)
    assert [future.result() for future in again] == [3, 3]
    workers.close()


def ends_its_process(params):
    sys.exit("no GPU")


@pytest.mark.parametrize("executor", [None, 1])
def test_an_exit_has_the_same_reason_everywhere(executor):
    result = minimize(ends_its_process, SPACE, budget=2, catch=Exception, executor=executor, rng=0)
    assert [trial.reason for trial in result.history.trials] == [
        "it raised SystemExit('no GPU')"
    ] * 2
