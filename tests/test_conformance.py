"""The conformance suite on every searcher, and on searchers with one defect each."""

import math
import pathlib

import numpy as np
import pytest

from bough import GPB, GPTS, UCT, Arm, RandomSearch, kernels, testing
from bough.baselines import (
    BAST,
    HOO,
    KLOLOP,
    OLOP,
    RAVE,
    UCB1,
    UCBAIR,
    BestFirst,
    Gittins,
    LinRel,
    Lookahead,
    NodeBandits,
    TwoLevel,
    Zooming,
)
from bough.testing import SearcherConformance


class TestUCT(SearcherConformance):
    def make(self, tree, rng):
        return UCT(tree, rng=rng)


class TestRAVE(SearcherConformance):
    def make(self, tree, rng):
        return RAVE(tree, rng=rng)


def depth_and_index(path):
    return len(path), path[-1]


class TestGRAVE(SearcherConformance):
    def make(self, tree, rng):
        return RAVE(tree, labels=depth_and_index, reference=5, equivalence=10.0, rng=rng)


class TestNodeBandits(SearcherConformance):
    def make(self, tree, rng):
        return NodeBandits(tree, rng=rng)


class Near:
    """A kernel between labels: near ones are alike."""

    def matrix(self, labels):
        x = np.array([label[-1] for label in labels], dtype=float)
        return np.exp(-((x[:, None] - x) ** 2) / 2)


class TestNodeBanditsWithLabels(SearcherConformance):
    def make(self, tree, rng):
        return NodeBandits(tree, labels=depth_and_index, between=Near(), rng=rng)


class TestNodeBanditsWithKnownHyperparameters(SearcherConformance):
    def make(self, tree, rng):
        return self.make_scaled(tree, rng, 1.0)

    def make_scaled(self, tree, rng, factor):
        return NodeBandits(tree, mean=0.0, variance=factor**2, noise=0.25 * factor, rng=rng)


class TestBAST(SearcherConformance):
    def make(self, tree, rng):
        return BAST(tree, smoothness=1.0, decay=0.5, rng=rng)


class TestHOO(SearcherConformance):
    def make(self, tree, rng):
        return HOO(tree, nu=1.0, rho=0.6, rng=rng)


class TestOLOP(SearcherConformance):
    def make(self, tree, rng):
        return OLOP(tree, budget=200, discount=0.8, rng=rng)


class TestKLOLOP(SearcherConformance):
    def make(self, tree, rng):
        return KLOLOP(tree, plays=60, discount=0.8, rng=rng)


class TestRandomSearch(SearcherConformance):
    def make(self, tree, rng):
        return RandomSearch(tree, rng=rng)


class TestBestFirst(SearcherConformance):
    noisy = False

    def make(self, tree, rng):
        return BestFirst(tree, discount=0.8, rng=rng)


class TestUCB1(SearcherConformance):
    def make(self, tree, rng):
        return UCB1(tree, rng=rng)


class TestUCBAIR(SearcherConformance):
    def make(self, tree, rng):
        return UCBAIR(tree, rng=rng)


class TestLinRel(SearcherConformance):
    def make(self, tree, rng):
        return LinRel(tree, kernels.Gaussian(2.0), rng=rng)


class TestZooming(SearcherConformance):
    def make(self, tree, rng):
        return Zooming(tree, exploration=0.1, rng=rng)


class TestZoomingByDistance(SearcherConformance):
    def make(self, tree, rng):
        return Zooming(tree, distance=distance_by_steps, exploration=0.1, rng=rng)


def distance_by_steps(one, other):
    return sum(abs(i - k) for i, k in zip(one, other, strict=False)) / 4


class TestTwoLevel(SearcherConformance):
    estimate = "pooled"

    def make(self, tree, rng):
        return TwoLevel(tree, estimate=self.estimate, rng=rng)


class TestTwoLevelByMean(TestTwoLevel):
    estimate = "mean"


class TestTwoLevelByMax(TestTwoLevel):
    estimate = "max"


class TestTwoLevelByWeightedMax(TestTwoLevel):
    estimate = "pmax"


class TestGittins(SearcherConformance):
    def make(self, tree, rng):
        return Gittins(tree, discount=0.9, rng=rng)


class TestGittinsWithBernoulliRewards(SearcherConformance):
    plays = 20

    def make(self, tree, rng):
        return Gittins(tree, rewards="bernoulli", discount=0.7, rng=rng)


class TestLookahead(SearcherConformance):
    plays = 20

    def make(self, tree, rng):
        return self.make_scaled(tree, rng, 1.0)

    def make_scaled(self, tree, rng, factor):
        return Lookahead(tree, kernels.Gaussian(2.0, factor**2), 0.25 * factor, rng=rng)


class TestLookaheadStandardized(SearcherConformance):
    plays = 20

    def make(self, tree, rng):
        return Lookahead(tree, rng=rng)


class TestLookaheadExact(SearcherConformance):
    noisy = False

    def make(self, tree, rng):
        return self.make_scaled(tree, rng, 1.0)

    def make_scaled(self, tree, rng, factor):
        return Lookahead(tree, kernels.Linear(factor**2), 0.0, rng=rng)


class TestGPB(SearcherConformance):
    def make(self, tree, rng):
        return self.make_scaled(tree, rng, 1.0)

    def make_scaled(self, tree, rng, factor):
        return GPB(tree, kernels.Gaussian(2.0, factor**2), 0.25 * factor, rng=rng)


class TestGPBStandardized(SearcherConformance):
    def make(self, tree, rng):
        return GPB(tree, rng=rng)


class TestGPBExact(SearcherConformance):
    noisy = False

    def make(self, tree, rng):
        return self.make_scaled(tree, rng, 1.0)

    def make_scaled(self, tree, rng, factor):
        return GPB(tree, kernels.Linear(factor**2), 0.0, rng=rng)


class TestGPTS(SearcherConformance):
    select = "ucb"

    def make(self, tree, rng):
        return self.make_scaled(tree, rng, 1.0)

    def make_scaled(self, tree, rng, factor):
        kernel = kernels.Gaussian(2.0, factor**2)
        return GPTS(tree, kernel, 0.25 * factor, select=self.select, rng=rng)


class TestGPTSByArm(TestGPTS):
    select = "arm"


class TestGPTSExact(SearcherConformance):
    noisy = False

    def make(self, tree, rng):
        return self.make_scaled(tree, rng, 1.0)

    def make_scaled(self, tree, rng, factor):
        return GPTS(tree, kernels.Linear(factor**2), 0.0, rng=rng)


class TestGPTSWithFittedHyperparameters(SearcherConformance):
    order_matters = True  # hyperparameters are fitted at certain numbers of rewards
    plays = 20

    def make(self, tree, rng):
        return GPTS(tree, rng=rng)


# ---------------------------------------------------------------------- the suite finds defects


class Wrapped:
    """A searcher with one defect."""

    def __init__(self, tree, rng):
        self.search = UCT(tree, rng=rng)

    def __getattr__(self, name):
        if name.startswith("__") or name == "search":
            raise AttributeError(name)
        return getattr(self.search, name)


DEFECTIVE = {}


def violates(law):
    def register(cls):
        DEFECTIVE[cls.__name__] = cls, law
        return cls

    return register


@violates("test_many_asks_before_a_tell")
class Repeats(Wrapped):
    def ask(self):
        if self.search.pending:
            self.search._pending.append(self.search.pending[-1])
            return self.search.pending[-1]
        return self.search.ask()


@violates("test_paths_that_were_never_asked_for")
class Discards(Wrapped):
    def tell(self, path, value=None, **keywords):
        if path in self.search.pending:
            self.search.tell(path, value, **keywords)


@violates("test_bad_input_changes_nothing")
class AcceptsNaN(Wrapped):
    def tell(self, path, value=None, **keywords):
        if isinstance(value, float) and math.isnan(value):
            value = 0.0
        self.search.tell(path, value, **keywords)


@violates("test_bad_input_changes_nothing")
class ChangesBeforeItRaises(Wrapped):
    def tell(self, path, value=None, **keywords):
        try:
            self.search.tell(path, value, **keywords)
        except ValueError:
            self.search.tell((0, 0, 0), 9.0)
            raise


@violates("test_scaling_rewards_by_a_power_of_two_changes_no_play")
class FixedRange(Wrapped):
    def __init__(self, tree, rng):
        self.search = UCT(tree, reward_range=(0, 1), rng=rng)


@violates("test_forget")
class ForgetsNothing(Wrapped):
    def forget(self, path):
        pass


@violates("test_best_is_a_played_arm")
class CountsOneMore(Wrapped):
    def best(self, rule=None):
        arm = self.search.best(rule)
        return Arm(*arm._values()[:7], arm.visits + 1)


@violates("test_the_order_of_observations_does_not_matter")
class DriftsWithTime(Wrapped):
    def tell(self, path, value=None, **keywords):
        self.search.tell(path, value + 0.01 * self.search.observations, **keywords)


@violates("test_copies_continue_identically")
class LosesItsSeed(Wrapped):
    def __getstate__(self):
        from bough.belief.rng import SplitMix64

        state = dict(self.search.__dict__)
        state["_random"] = SplitMix64(0)
        return state

    def __setstate__(self, state):
        self.search = UCT.__new__(UCT)
        self.search.__dict__.update(state)


@pytest.mark.parametrize("name", list(DEFECTIVE))
def test_the_suite_finds_defects(name):
    defective, law = DEFECTIVE[name]

    class Suite(SearcherConformance):
        def make(self, tree, rng):
            return defective(tree, rng)

    with pytest.raises(AssertionError):
        getattr(Suite(), law)()


def test_the_suite_needs_no_pytest():
    source = pathlib.Path(testing.__file__).read_text()
    assert "import pytest" not in source
    with pytest.raises(NotImplementedError, match="define how to make"):
        SearcherConformance().test_forget()
