"""Study files of version 0.1.0 still open: replayed bit for bit, or loaded as observations."""

import json
import shutil
import warnings
from pathlib import Path

import pytest
from fingerprints import noise_of, reward

import bough
from bough.studies.exchange import export_lines, import_lines

FOLDER = Path(__file__).parent.parent / "data" / "studies-0.1.0"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
#: Studies of searchers that have changed, and what their files are warned about.
CHANGED = {
    "hoo-truncate": "the searcher hoo no longer has the option truncate; its default is used",
    "gpts": "differs",
    "space": "differs",
    "gpts-subtree-rollout": "the searcher gpts no longer has the option select='subtree'",
}


def loss(params):
    return (
        abs(params["rate"] - 0.01) * 10 + abs(params["layers"] - 4) / 4 + 1 / params.get("trees", 5)
    )


def shown(trial):
    return list(trial.path) if trial.params is None else dict(trial.params)


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - set(CHANGED)))
def test_a_study_of_0_1_0_resumes_bit_for_bit(name, tmp_path):
    file = shutil.copy(FOLDER / f"{name}.db", tmp_path)
    expected = EXPECTED[name]
    with bough.Study.open(file) as study:
        trials = [[trial.id, shown(trial), trial.value] for trial in study.trials]
        assert trials == expected["trials"]
        for i, asked in enumerate(expected["next"]):
            trial = study.ask()
            assert shown(trial) == asked
            if trial.params is None:
                study.tell(trial, reward(trial.path) + noise_of(trial.path, 0))
            elif i % 13 == 7:
                study.fail(trial, "out of memory")
            else:
                study.tell(trial, loss(trial.params))
        best = study.best()
        place = list(best.path) if best.params is None else best.params
        assert [place, best.mean, best.std] == expected["best"]


@pytest.mark.parametrize("name", CHANGED)
def test_a_study_whose_searcher_has_changed_is_loaded_as_observations(name, tmp_path):
    file = shutil.copy(FOLDER / f"{name}.db", tmp_path)
    expected = EXPECTED[name]
    with pytest.warns(UserWarning, match=f"{name}.db: ") as caught:
        study = bough.Study.open(file)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert CHANGED[name] in message
    assert "differs" in message
    assert "All observations are kept" in message
    with study:
        trials = [[trial.id, shown(trial), trial.value] for trial in study.trials]
        assert trials == expected["trials"]
        values = [value for _, _, value in trials if value is not None]
        assert study.searcher.observations == len(values)
        for _ in range(20):
            trial = study.ask()
            study.tell(trial, reward(trial.path))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with bough.Study.open(file) as again:  # replayed from there, bit for bit
            assert list(again.trials) == list(study.trials)
            assert again.best() == study.best()
    assert len(caught) == ("option" in message)
    assert not any("differs" in str(warning.message) for warning in caught)


def test_an_option_at_its_default_that_no_longer_exists_changes_nothing(tmp_path):
    """A file says so once, and is replayed."""
    file = tmp_path / "run.db"
    tree = bough.Tree(3, 4)
    with bough.Study.create(file, tree, searcher="hoo", nu=0.5, rng=0) as study:
        for _ in range(10):
            trial = study.ask()
            study.tell(trial, reward(trial.path))
    lines, _ = export_lines(file)
    head = json.loads(lines[0])
    head["specification"]["options"]["truncate"] = False
    import_lines([json.dumps(head), *lines[1:]], tmp_path / "copy.db")
    with pytest.warns(UserWarning, match="no longer has the option truncate") as caught:
        again = bough.Study.open(tmp_path / "copy.db")
    with again:
        assert "differs" not in str(caught[0].message)
        assert list(again.trials) == list(study.trials)


@pytest.mark.parametrize(("factor", "resumed"), [(1 + 1e-14, True), (1 + 1e-5, False)])
def test_a_study_of_another_machine_whose_parameters_differ_by_rounding(factor, resumed, tmp_path):
    """They are kept as recorded, and the search is resumed, not loaded as observations."""
    file, copy = tmp_path / "run.db", tmp_path / "copy.db"
    space = bough.Space(x=bough.Float(0.0, 1.0))
    with bough.Study.create(file, space, rng=0) as study:
        for _ in range(12):
            trial = study.ask()
            study.tell(trial, -((trial.params["x"] - 0.3) ** 2))
        trial = study.ask()  # still running
        study.ask()
    lines = [json.loads(line) for line in export_lines(file)[0]]
    for line in lines:
        if line.get("kind") == "ask" and line["trial"] in (3, 7, 12):
            line["body"] = json.dumps({"x": json.loads(line["body"])["x"] * factor})
    import_lines([json.dumps(line) for line in lines], copy)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = bough.Study.open(copy)
    assert ["differs" in str(w.message) for w in caught] == ([] if resumed else [True])
    with again:
        assert again.trials[7].params["x"] == study.trials[7].params["x"] * factor
        assert again.searcher.observations == 12
        again.tell(12, 0.5)
        assert [p.id for p in again.trials if p.state == "running"] == [13]
        assert len(again.searcher.pending) == resumed
