"""Fits of hyperparameters are recorded and replayed: another machine may fit differently."""

import warnings

import numpy as np
import pytest

from bough import Choice, Float, Space, Study, Tree, kernels, means
from bough.learning import learner
from bough.studies.exchange import export_lines, import_lines

TREE = Tree(3, 5)


def reward(path, seed=0):
    return sum(path) / 8 + 0.01 * np.random.default_rng(seed).standard_normal()


def play(study, count, reward=reward):
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, reward(trial.path, trial.id))


def known(study):
    belief = study.searcher.belief
    return belief.kernel, belief.noise, belief.log_likelihood(), study.best(), study.certificate


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.db"


@pytest.fixture
def another_machine(monkeypatch):
    """Return a function after whose call the optimizer ends a little beside where it did."""
    ascend = learner._ascend

    def beside(posterior, start):
        found = ascend(posterior, start)
        found.theta = found.theta + 1e-3  # (rounding would do less)
        return found

    return lambda: monkeypatch.setattr(learner, "_ascend", beside)


HEURISTIC = means.Heuristic(lambda path: sum(path) / 10)


def exact(path, seed):
    return sum(path) / 8


@pytest.mark.parametrize(
    ("options", "objective"),
    [
        ({}, reward),
        ({}, exact),
        ({"noise": 0.0}, exact),
        ({"kernel": kernels.Chi(None), "noise": 0.1}, reward),
        ({"kernel": kernels.Gaussian(None) + kernels.Linear(None), "select": "arm"}, reward),
        ({"mean": HEURISTIC}, reward),
    ],
)
def test_recorded_fits_are_replayed(file, another_machine, options, objective):
    with Study.create(file, TREE, durability="process", rng=0, **options) as study:
        play(study, 70, objective)
    assert len(study.searcher.fits()) > 5
    another_machine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # each ask is what it was
        with Study.open(file, durability="process", **options) as again:
            assert known(again) == known(study)
            assert again.searcher.fits() == study.searcher.fits()
            play(again, 20, objective)
            assert len(again.searcher.fits()) > len(study.searcher.fits())


def test_recorded_fits_are_replayed_in_a_space(file, another_machine):
    space = Space(x=Float(0, 1), y=Float(0, 1), kind=Choice(["a", "b"]))

    def play(study, count):
        for _ in range(count):
            trial = study.ask()
            study.tell(trial, -((trial.params["x"] - 0.3) ** 2) - abs(trial.params["y"] - 0.7))

    with Study.create(file, space, durability="process", rng=0) as study:
        play(study, 70)
    assert len(study.searcher.fits()) > 5
    another_machine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # each ask is what it was
        with Study.open(file, durability="process") as again:
            assert again.searcher.fits() == study.searcher.fits()
            assert (again.best(), again.certificate) == (study.best(), study.certificate)
            play(again, 40)
            assert len(again.searcher.fits()) > len(study.searcher.fits())
    with Study.create(file.with_name("other.db"), space, durability="process", rng=0) as other:
        play(other, 70)
    assert other.certificate != study.certificate  # so the record does matter


def test_rewards_that_looked_exact_and_are_not(file, another_machine):
    with Study.create(file, TREE, durability="process", rng=0) as study:
        play(study, 60, exact)
        assert study.searcher._learner.exact
        study.enqueue(study.trials[0].path)
        again = study.ask()
        study.tell(again, exact(again.path, 0) + 0.1)
        assert not study.searcher._learner.exact
        play(study, 10)
    another_machine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Study.open(file) as same:
            assert known(same) == known(study)


def test_fits_of_another_machine_would_matter(file, another_machine):
    """The test above would notice if the record were not used."""
    with Study.create(file, TREE, durability="process", rng=0) as study:
        play(study, 60)
    another_machine()
    with Study.create(file.with_name("other.db"), TREE, durability="process", rng=0) as other:
        play(other, 60)
    assert known(other) != known(study)


def test_fits_of_other_rewards_are_noticed(file, monkeypatch):
    with Study.create(file, TREE, durability="process", rng=0) as study:
        play(study, 40)
    take = learner.Learner._recalled

    def of_others(self, belief):
        self.recorded = type(self.recorded)(
            fit._replace(likelihood=fit.likelihood + 0.1) for fit in self.recorded
        )
        return take(self, belief)

    monkeypatch.setattr(learner.Learner, "_recalled", of_others)
    with pytest.warns(UserWarning, match="trial 0 differs: .* has the log likelihood"):
        study = Study.open(file)
    assert study.trials.count("completed") == study.searcher.observations == 40
    study.close()


def test_the_fit_of_a_restored_study_is_recorded_too(file, another_machine):
    with Study.create(file, TREE, durability="process", rng=0) as study:
        play(study, 40)
    data = bytearray(file.read_bytes())
    at = data.rfind(b'"likelihood"')
    data[at + 3] ^= 1  # (in the last refit, so no value is lost)
    file.write_bytes(data)
    copy = file.with_name("copy.db")
    lines, damage = export_lines(file)
    assert "checksum" in damage
    import_lines(lines, copy)
    with Study.open(copy) as study:
        assert study.trials.count("completed") == 40
        play(study, 20)
    another_machine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Study.open(copy) as again:
            assert known(again) == known(study)
            assert list(again.trials) == list(study.trials)
