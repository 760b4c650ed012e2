"""The registry of searchers: names, factories, instances, and searchers of third parties."""

import pytest

import bough
from bough import UCT, Tree
from bough.experiments import compare
from bough.searchers import register
from bough.searchers.registry import PLANNERS, SEARCHERS, make_searcher


def reward(path):
    return -float(sum(path))


@pytest.fixture
def registry():
    """A copy of the registry, so that a test leaves no names behind."""
    names = dict(SEARCHERS)
    yield SEARCHERS
    SEARCHERS.clear()
    SEARCHERS.update(names)


@pytest.mark.parametrize("name", sorted(SEARCHERS))
def test_every_name(name):
    result = bough.maximize(reward, Tree(3, 2), budget=9, searcher=name, rng=0)
    assert len(result.history) == 9
    assert result.best.mean <= 0.0


@pytest.mark.parametrize(
    ("rng", "error"), [("x", TypeError), (1.5, TypeError), (-1, ValueError), ([0, -2], ValueError)]
)
@pytest.mark.parametrize("domain", [Tree(3, 2), bough.Space(x=bough.Float(0, 1))])
def test_a_seed_that_is_none(domain, rng, error):
    with pytest.raises(error, match="rng must be a seed, an int of at least 0, or a numpy"):
        bough.maximize(lambda _: 0.0, domain, budget=3, rng=rng)


def test_unknown_names():
    with pytest.raises(ValueError, match="searcher must be one of"):
        bough.maximize(reward, Tree(3, 2), budget=5, searcher="magic")


def test_instances_factories_and_names_are_the_same_search():
    tree = Tree(3, 3)
    runs = [
        bough.maximize(reward, tree, budget=40, searcher=searcher, rng=rng).history.paths
        for searcher, rng in (("uct", 3), (UCT(tree, rng=3), None), (lambda t: UCT(t, rng=3), None))
    ]
    assert runs[0] == runs[1] == runs[2]


def test_a_third_party_searcher(registry):
    class Mine(UCT):
        pass

    register("mine", Mine)
    register("mine", Mine)  # the same again is no mistake
    search = make_searcher("mine", Tree(3, 2), 0, {"exploration": 0.7})
    assert isinstance(search, Mine)
    assert search.exploration == 0.7
    found = compare(["trap:4"], ["mine", "uct"], budget=20, seeds=2, workers=1)
    assert list(found.searchers) == ["mine", "uct"]


def test_searchers_that_need_the_number_of_plays(registry):
    assert PLANNERS == ("kl_olop", "olop")

    class Planned(UCT):
        needs_plays = True

        def __init__(self, tree, *, plays, rng=None):
            super().__init__(tree, rng=rng)
            self.plays = plays

    register("planned", Planned)
    assert make_searcher("planned", Tree(2, 2), 0, plays=7).plays == 7
    assert make_searcher("planned", Tree(2, 2), 0, {"plays": 5}, plays=7).plays == 5
    assert list(compare(["trap:4"], ["planned"], budget=20, seeds=2, workers=1).searchers)
    with pytest.raises(
        ValueError, match="planned plans for a fixed number of plays: give a budget"
    ):
        make_searcher("planned", Tree(2, 2), 0)


@pytest.mark.parametrize(
    ("name", "factory", "error", "message"),
    [
        ("uct", lambda tree: None, ValueError, "name 'uct' is in use"),
        ("my searcher", UCT, ValueError, "name must be an identifier"),
        (3, UCT, ValueError, "name must be an identifier"),
        ("mine", "uct", TypeError, "factory must be a class or a function"),
    ],
)
def test_bad_registrations(name, factory, error, message):
    before = dict(SEARCHERS)
    with pytest.raises(error, match=message):
        register(name, factory)
    assert before == SEARCHERS


def test_bad_searchers():
    with pytest.raises(TypeError, match="searcher must be a searcher, the name of one"):
        make_searcher(3, Tree(2, 2), 0)
    with pytest.raises(ValueError, match="the searcher is for"):
        make_searcher(UCT(Tree(2, 2)), Tree(3, 2), None)
    with pytest.raises(ValueError, match="exploration: options are only for a searcher"):
        make_searcher(UCT(Tree(2, 2)), Tree(2, 2), None, {"exploration": 1.0})
