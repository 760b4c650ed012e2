"""The best arm of a belief with labels, against enumeration of all arms."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from label_strategies import CASES
from strategies import Hill, noise_of

from bough import Belief, Tree, kernels


def some_belief(*given, **options):
    belief = belief_of(*given, **options)
    counts = (range(count) for count in belief.tree.counts)
    return belief, list(itertools.product(*counts))


def belief_of(name, children, depth, seed, count, mean=0.0, decay=0.8):
    case = CASES[name]
    kernel = kernels.Labeled(
        kernels.Gaussian(1.5, 1.0), labels=case.label, between=case.between, decay=decay
    )
    belief = Belief(Tree(children, depth), kernel, 0.3, mean=mean)
    rng = np.random.default_rng(seed)
    for i in range(count):
        belief.observe(tuple(rng.integers(0, children, depth).tolist()), noise_of(seed, i))
    return belief


@given(
    name=st.sampled_from(["same", "same, by depth", "few", "linear", "rbf"]),
    children=st.integers(1, 4),
    depth=st.integers(1, 4),
    seed=st.integers(0, 99),
    count=st.integers(0, 20),
    mean=st.one_of(st.just(1.5), st.builds(Hill, st.integers(0, 9))),
    b=st.sampled_from([0.0, 1.0, 2.5]),
)
@example("few", 2, 3, 0, 0, 1.5, 1.0)  # no label is known, and they come more than once
@example("few", 3, 4, 0, 1, 1.5, 2.5)
def test_the_best_arms_are_those_of_all(name, children, depth, seed, count, mean, b):
    belief, arms = some_belief(name, children, depth, seed, count, mean)
    means, stds = belief.posterior(arms)
    for values, search in (
        (means + b * stds, lambda: (belief.highest_upper(b), "upper")),
        (means - b * stds, lambda: (belief.highest_lower(b), "lower")),
        (means, lambda: (belief.highest_mean(), "mean")),
    ):
        arm, what = search()
        found = getattr(arm, what)
        assert found == pytest.approx(values[arms.index(arm.path)], abs=1e-9)
        assert belief.arm_search.exact  # these trees are small
        assert found == pytest.approx(values.max(), abs=1e-9)
    assert belief.upper_bound(b) >= (means + b * stds).max() - 1e-9
    quick = belief.quick_search.highest_upper(b, 0)
    assert quick.upper == pytest.approx((means + b * stds)[arms.index(quick.path)], abs=1e-9)


def test_a_beam_comes_close():
    """On most trees the beam finds the best arm, and never one that is far below."""
    gaps = []
    for seed in range(20):
        belief, arms = some_belief("same, by depth", 3, 5, seed, 25)
        means, stds = belief.posterior(arms)
        best = (means + 2.0 * stds).max()
        gaps.append(best - belief.quick_search.highest_upper(2.0, 0).upper)
    assert min(gaps) > -1e-9
    assert np.mean(np.array(gaps) < 1e-9) >= 0.8
    assert max(gaps) < 0.3


def test_pending_evaluations_narrow_the_choice():
    belief, arms = some_belief("same", 3, 3, 1, 6)
    first = belief.highest_upper(2.0)
    token = belief.pend(first.path)
    again = belief.highest_upper(2.0)
    assert again.upper < first.upper
    means, _ = belief.posterior(arms)
    assert again.mean == pytest.approx(means[arms.index(again.path)], abs=1e-9)
    belief.forget(token)
    assert belief.highest_upper(2.0).upper == pytest.approx(first.upper, abs=1e-12)


def test_a_search_that_gives_up_says_so():
    belief = belief_of("same, by depth", 4, 12, 0, 30, decay=1.0)
    belief.arm_search.limit = 20
    arm = belief.highest_upper(2.0)
    assert not belief.arm_search.exact
    assert belief.arm_search.bound >= arm.upper - 1e-9


def test_no_proof_is_attempted_that_needs_more_nodes_than_the_limit():
    """If similar labels are correlated, unexplored subtrees have no bound: all must be visited."""
    for depth, exact in ((2, True), (4, False)):
        kernel = kernels.Labeled(
            kernels.Linear(0.1), labels=lambda path: (path[-1] / 20,), between=kernels.RBF(0.3, 1.0)
        )
        belief = Belief(Tree(20, depth), kernel, 0.1)
        belief.observe((7,) * depth, 1.0)
        arm = belief.highest_upper(1.0)
        assert belief.arm_search.exact == exact
        assert (belief.arm_search.touched == 0) == (not exact)
        assert belief.arm_search.bound == (pytest.approx(arm.upper) if exact else np.inf)
