"""Comparisons: tuning of constants, and the parameters passed to searchers."""

import pytest
from comparing import MILLION, Stubborn, Turned

import bough
from bough.experiments import GRIDS, Grid, compare
from bough.experiments.competitors import GridWindow, named_competitor
from bough.experiments.pages import regrets_page
from bough.problems import named


def test_constants_are_tuned_on_seeds_that_are_not_shown():
    """Arm 0 is best on the tuning seeds and worst on the others, so peeking would show."""
    seen = []

    def make(seed):
        seen.append(seed)
        return Turned(seed)

    grids = {"stubborn": {"arm": (1, 0, 3)}}
    found = compare(
        {"turned": make}, {"stubborn": Stubborn}, budget=5, seeds=3, tuning_seeds=2, seed=7,
        grids=grids, workers=1,
    )  # fmt: skip
    choice = found.choices["turned", "stubborn"]
    assert choice.constants == (("arm", 0),)
    # Arms 1, 0 and 3 lose 1, 0 and 4 there: relative to their average of 5/3,
    assert choice.scores == pytest.approx((0.6, 0.0, 2.4))
    assert [run.simple[-1] for run in found.runs["turned", "stubborn"]] == [4.0] * 3
    assert set(found.seeds) == {7, 8, 9}
    assert set(found.tuning_seeds) == {MILLION + 7, MILLION + 8}
    assert set(seen) == {0, *found.seeds, *found.tuning_seeds}  # 0: to see whether it works
    assert choice.at_ends == ()  # of 1, 0, 3 it is the middle one
    page = regrets_page(found)
    assert "tuned on 2 other seeds (1000007 to 1000008)" in page
    assert "| turned | stubborn | arm=0 | 0.000 | arm 1, 0, 3 |" in page
    assert "| stubborn (arm=0) | 4 [4, 4] |" in page


def tune_stubborn(grid):
    found = compare(
        {"turned": Turned}, {"stubborn": Stubborn}, budget=5, seeds=1, tuning_seeds=1,
        grids={"stubborn": {"arm": grid}}, workers=1,
    )  # fmt: skip
    return found, found.choices["turned", "stubborn"]


def test_a_grid_grows_while_the_best_is_at_an_end_of_it():
    """On the tuning seeds arms 0, 1, 2, 3 lose 0, 1, 3, 4."""
    found, choice = tune_stubborn(Grid((2, 3), lower=(1, 0)))
    assert choice.constants == (("arm", 0),)
    assert [c[0][1] for c in choice.candidates] == [0, 1, 2, 3]
    assert choice.at_ends == ("arm",)  # there is nothing beyond
    assert "arm=0 (arm at an end of the grid) | 0.000 | arm 0, 1, 2, 3 |" in regrets_page(found)
    _, choice = tune_stubborn(Grid((3, 2, 1), higher=(0, 3)))  # the other way round
    assert choice.constants == (("arm", 0),)
    assert (choice.at_ends, len(choice.candidates)) == ((), 5)
    _, choice = tune_stubborn(Grid((3,), lower=(2, 1)))
    assert choice.candidates == ((("arm", 3),),)  # what is not to be chosen is not tuned
    window = GridWindow({"a": Grid((1, 2), (0,), (3,)), "b": (5, 6)}, (("c", 9),))
    assert window.candidates()[0] == (("c", 9), ("a", 1), ("b", 5))
    assert window.ends((("c", 9), ("a", 1), ("b", 6))) == ["a", "b"]
    assert window.widen((("c", 9), ("a", 1), ("b", 6)))
    assert window.tried == {"a": [0, 1, 2], "b": [5, 6]}
    assert not window.widen((("c", 9), ("a", 1), ("b", 6)))


def test_ties_are_broken_in_favor_of_the_inside_of_the_grid():
    class Alike(Turned):
        def _value(self, path):
            return 4.0 if path[0] < 3 else 0.0

    found = compare(
        {"alike": Alike}, {"stubborn": Stubborn}, budget=5, seeds=1, tuning_seeds=1,
        grids={"stubborn": {"arm": Grid((0, 1, 2), (3,), (3,))}}, workers=1,
    )  # fmt: skip
    choice = found.choices["alike", "stubborn"]
    assert choice.constants == (("arm", 1),)
    assert len(choice.candidates) == 3  # where all are as good as can be, there is nothing beyond
    assert choice.equal
    assert "arm=1 (all are equal)" in regrets_page(found)


def test_grids_grow_in_all_directions_where_all_constants_are_equally_bad():
    class Hidden(Turned):
        def _value(self, path):
            return 4.0 if path[0] == 0 else 1.0

    found = compare(
        {"hidden": Hidden}, {"stubborn": Stubborn}, budget=5, seeds=1, tuning_seeds=1,
        grids={"stubborn": {"arm": Grid((2, 3), (1, 0))}}, workers=1,
    )  # fmt: skip
    choice = found.choices["hidden", "stubborn"]
    assert choice.constants == (("arm", 0),)
    window = GridWindow(
        {name: GRIDS["bast"][name] for name in ("smoothness", "decay", "exploration")}
    )
    assert window.widen(None)
    assert len(window.candidates()) == 5**3
    assert window.widen(None)
    assert len(window.candidates()) == 7 * 6 * 7  # nothing lies above a decay of 1
    assert not window.widen(None)  # it would be too much
    assert len(window.candidates()) == 7 * 6 * 7


def test_given_constants_are_not_tuned():
    problem, other = named("smooth:2:3", seed=0), named("trap", seed=0)

    def candidates(text, problem):
        return named_competitor(text).window(problem).candidates()

    assert candidates("uct:exploration=0.4", problem) == [(("exploration", 0.4),)]
    assert len(candidates("uct", problem)) == len(GRIDS["uct"]["exploration"].values) > 1
    assert candidates("gpts", problem) == [()]
    # Nor are those that the problem defines: its discount, and its prior if that is known.
    assert {name for c in candidates("olop", problem) for name, _ in c} == {"exploration"}
    assert {name for c in candidates("olop", other) for name, _ in c} == {"exploration", "discount"}
    assert len(candidates("gpb", problem)) > 1
    assert candidates("gpb-known", problem) == [()]


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_grids(name):
    """Every value of every grid can be used, they rise, and the searcher works with them."""
    problem = named("trap:depth=3", seed=0)
    maker = named_competitor(name)
    for key, grid in GRIDS[name].items():
        values = [*reversed(grid.lower), *grid.values, *grid.higher]
        assert values == sorted(set(values))
        assert len(grid.values) >= 3
        for value in values:
            search = maker.make(problem, ((key, value),), 50, seed=0)
            assert getattr(search, key) == value
    for constants in maker.window(problem).candidates():
        search = maker.make(problem, constants, 50, seed=0)
        search.tell(search.ask(), 0.5)
    assert named_competitor("olop").make(problem, (), 50, seed=0).plays == 50


def test_bast_is_not_trapped_if_it_is_tuned():
    """UCT follows high averages, whatever its constant; BAST accounts for how they mislead."""
    found = compare(
        ["trap:depth=7"], ["uct", "bast"], budget=300, seeds=3, tuning_seeds=2, workers=1
    )
    last = {name: [run.simple[-1] for run in runs] for (_, name), runs in found.runs.items()}
    assert last["bast"] == [0.0, 0.0, 0.0]
    assert min(last["uct"]) > 0.0


def test_factories_receive_the_parameters_they_accept():
    received, states = {}, set()

    def make(tree, *, budget, discount=None, rng):
        received.update(budget=budget, discount=discount)
        states.add(rng.bit_generator.state["state"]["state"])
        return bough.UCT(tree, rng=rng)

    compare(["discounted:uniform:2:3"], {"mine": make}, budget=5, seeds=3, workers=1)
    assert received == {"budget": 5, "discount": 0.7}
    assert len(states) == 3  # a random generator for each seed
    problem = bough.problems.named("drawn:gaussian:3:branching=2", seed=1)
    search = named_competitor("gpts-known").make(problem, (), 10, 0)
    assert (search.belief.kernel, search.belief.noise) == (problem.kernel, problem.noise)


def test_immediate_rewards_are_observed_with_steps():
    observed = []

    class Spy(bough.UCT):
        def tell(self, path, value=None, *, noise=None, steps=None):
            observed.append((value, steps))
            super().tell(path, value, noise=noise, steps=steps)

    for steps in (False, True):
        observed.clear()
        names = ["discounted:bernoulli:2:3", "smooth:2:3"]
        compare(names, {"spy": Spy}, budget=4, seeds=1, workers=1, steps=steps)
        assert {len(s) for _, s in observed if s is not None} == ({3} if steps else set())
        assert any(value is not None for value, _ in observed)  # Smooth has no steps
