"""Studies by searchers whose kernels have labels."""

import pytest

import bough
from bough import Study, StudyError, Tree, kernels
from bough.studies.describe import NotInFile, describe, rebuild

TREE = Tree(3, 3)
TERMS = {"between": kernels.RBF(1.5, None), "decay": None}


def label(path):
    return (path[-1] / 2,)


def other(path):
    return (path[0] / 2,)


def kernel(labels=label):
    return kernels.Labeled(kernels.Linear(None), labels=labels, **TERMS)


def test_label_kernels_are_described_with_their_hyperparameters():
    for between in (
        kernels.Same(0.5),
        kernels.RBF(1.5, None),
        kernels.Matern(2.0, 2.5, variance=0.1),
        kernels.LinearFeatures(),
        kernels.Carried(("a", ("b", 2)), (0.5, 0.1), ((1.0, 0.0), (0.0, 1.0)), kernels.Same(1.0)),
    ):
        assert rebuild(describe(between), "between") == between
    for found in (kernel(), kernels.Paths(label, scale=None)):
        with pytest.raises(NotInFile, match=r"label, which the file cannot hold"):
            rebuild(describe(found), "kernel")


def test_label_kernels_of_ones_own():
    """Their names may be those of kernels of prefixes."""
    own = type("Linear", (kernels.LinearFeatures,), {})
    assert type(rebuild(describe(own(0.5)), "between")) is own
    assert type(rebuild(describe(kernels.Linear(0.5)), "kernel")) is kernels.Linear


@pytest.mark.parametrize("how", ["options", "searcher"])
def test_a_study_is_resumed_with_its_labels(tmp_path, how):
    file, whole = tmp_path / "run.db", tmp_path / "whole.db"

    def study(path, labels=label):
        if how == "options":
            return bough.studies.study.open_or_create(
                path, TREE, searcher="gpts", rng=0, direction="maximize", kernel=kernel(labels)
            )
        return path

    def run(path, budget):
        given = {} if how == "options" else {"searcher": bough.GPTS(TREE, kernel(), rng=0)}
        found = study(path)
        try:
            return bough.maximize(sum, TREE, study=found, budget=budget, **given)
        finally:
            if how == "options":
                found.close()

    run(file, 6)
    run(file, 12)
    result = run(whole, 12)
    with Study.look(file) as resumed:
        assert [t.path for t in resumed.trials] == [t.path for t in result.study.trials]
        assert [t.path for t in resumed.trials] == [t.path for t in Study.look(whole).trials]
    if how == "options":
        with pytest.raises(StudyError, match="is a study with kernel=.*not"):
            study(file, other)
        with pytest.raises(StudyError, match="give it what is a function or an object again"):
            Study.open(file, tree=TREE)
