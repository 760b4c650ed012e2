"""Damaged files, forged files and wrong calls: only documented errors, and objects unchanged."""

import pytest

import bough
from benchmarks.abuse import attempt, run
from bough.searchers.registry import SEARCHERS, make_searcher


@pytest.mark.parametrize(("kind", "count"), [("damaged", 40), ("forged", 150), ("wrong", 600)])
def test_abuse(kind, count):
    outcomes, failures = run(kind, count)
    assert not failures
    assert outcomes["refused"] > count / 4


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "count"), [("damaged", 2500), ("forged", 2500), ("wrong", 10000)])
def test_more_abuse(kind, count):
    assert not run(kind, count)[1]


def test_an_attempt_is_repeated_by_its_seed():
    assert [attempt("wrong", seed) for seed in range(30)] == [
        attempt("wrong", seed) for seed in range(30)
    ]


@pytest.mark.parametrize("name", sorted(SEARCHERS))
def test_fail_checks_its_argument(name):
    search = make_searcher(name, bough.Tree(3, 2), 0, None, plays=20)
    with pytest.raises(TypeError, match="path must be|must be an int"):
        search.fail("x")
    with pytest.raises(ValueError, match="has 3 children"):
        search.fail((0, 3))
