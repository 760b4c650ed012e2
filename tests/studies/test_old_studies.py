"""Study files of version 0.1.0 still open, and go on where they ended."""

import json
import shutil
from pathlib import Path

import pytest
from fingerprints import noise_of, reward

import bough

FOLDER = Path(__file__).parent.parent / "data" / "studies-0.1.0"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def loss(params):
    return (
        abs(params["rate"] - 0.01) * 10 + abs(params["layers"] - 4) / 4 + 1 / params.get("trees", 5)
    )


def shown(trial):
    return list(trial.path) if trial.params is None else dict(trial.params)


@pytest.mark.parametrize("name", sorted(EXPECTED))
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
