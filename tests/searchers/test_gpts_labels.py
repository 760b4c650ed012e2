"""GPTS with labels: what they are worth, pending evaluations, refits, resumed searches."""

import copy

import numpy as np
import pytest

import bough
from benchmarks.labels_problems import FeatureMDP
from bough import kernels, learning

TREE = bough.Tree(4, 5)
WEIGHTS = np.random.default_rng(5).standard_normal((5, 4))
BEST = float(WEIGHTS.max(axis=1).sum())


def by_depth(path):
    return len(path), path[-1]


def additive(path):
    return float(sum(WEIGHTS[d, step] for d, step in enumerate(path)))


def labeled(between=None, **keywords):
    tree_kernel = kernels.Geometric(None, variance=None)
    return kernels.Labeled(tree_kernel, labels=by_depth, between=between, **keywords)


def searched(kernel, plays, reward=additive, noise=0.1, seed=0):
    """Return a search after some plays."""
    search, rng = bough.GPTS(TREE, kernel, rng=seed), np.random.default_rng(seed)
    for _ in range(plays):
        path = search.ask()
        search.tell(path, reward(path) + noise * rng.standard_normal())
    return search


def test_additive_rewards_need_few_plays():
    tree, regrets = bough.Tree(6, 6), {"labels": 0.0, "prefixes": 0.0}
    for seed in range(2):
        weights = np.random.default_rng(seed).standard_normal((6, 6))
        for name, kernel in {"labels": labeled(), "prefixes": None}.items():
            search, noise = bough.GPTS(tree, kernel, rng=seed), np.random.default_rng(seed)
            for _ in range(70):
                path = search.ask()
                search.tell(path, sum(weights[range(6), path]) + 0.1 * noise.standard_normal())
            regrets[name] += weights.max(axis=1).sum() - sum(weights[range(6), search.best().path])
    assert regrets["labels"] < 0.3 * regrets["prefixes"]


def test_useless_labels_are_learned_to_be_useless():
    rng = np.random.default_rng(4)
    truth = bough.Belief(TREE, kernels.Linear(1.0), noise=0.1)
    paths = [tuple(path) for path in rng.integers(4, size=(300, 5)).tolist()]
    belief = bough.Belief(
        TREE, kernels.Labeled(kernels.Linear(), labels=by_depth, between=kernels.Same(1.0)), 1.0
    )
    for path, value in zip(paths, truth.sample(paths, 1, rng)[0], strict=True):
        belief.observe(path, value + 0.1 * rng.standard_normal())
    kernel = learning.fit(belief, labeled()).belief.kernel
    assert 5 * kernel.between.variance < 0.03 * kernel.tree_kernel.variance


def test_pending_evaluations_spread_the_search():
    search = searched(labeled(), 20)
    paths = [search.ask() for _ in range(8)]
    assert len(set(paths)) == 8
    assert search.pending == tuple(paths)
    search.forget(paths[0])
    for path in paths[1:]:
        search.tell(path, additive(path))
    assert search.pending == ()
    assert search.observations == 27


def test_every_path_of_a_small_tree_is_played_once_without_noise():
    tree = bough.Tree(3, 2)
    search = bough.GPTS(tree, kernels.Labeled(kernels.Linear(), labels=max), 0.0, rng=0)
    paths = []
    for _ in range(9):
        paths.append(search.ask())
        search.tell(paths[-1], float(sum(paths[-1])))
    with pytest.raises(bough.Exhausted):
        search.ask()
    assert sorted(paths) == sorted((i, j) for i in range(3) for j in range(3))
    assert search.best().path == (2, 2)


def test_a_copy_goes_on_alike():
    search = searched(labeled(kernels.Same(None)), 25)
    other = copy.deepcopy(search)
    for _ in range(15):
        path = search.ask()
        assert other.ask() == path
        search.tell(path, additive(path))
        other.tell(path, additive(path))


def test_a_study_resumes_bit_for_bit(tmp_path):
    def run(budget, file):
        return bough.maximize(
            additive,
            TREE,
            budget=budget,
            searcher=lambda tree: bough.GPTS(tree, labeled(), rng=3),
            study=file,
            progress=False,
        )

    run(10, tmp_path / "parts.db")
    parts = run(25, tmp_path / "parts.db")
    whole = run(25, tmp_path / "whole.db")
    assert [t.path for t in parts.study.trials] == [t.path for t in whole.study.trials]
    assert parts.best == whole.best


def test_a_fit_recovers_the_variances():
    rng = np.random.default_rng(2)
    truth = bough.Belief(
        bough.Tree(6, 4),
        kernels.Labeled(kernels.Linear(0.5), labels=by_depth, between=kernels.Same(0.8)),
        noise=0.1,
    )
    paths = [tuple(path) for path in rng.integers(6, size=(250, 4)).tolist()]
    belief = bough.Belief(truth.tree, truth.kernel, 1.0)
    for path, value in zip(paths, truth.sample(paths, 1, rng)[0], strict=True):
        belief.observe(path, value + 0.1 * rng.standard_normal())
    template = kernels.Labeled(kernels.Linear(None), labels=by_depth)
    report = learning.fit(belief, template, prior=learning.FLAT).report
    for name, value in {"variance": 0.5, "labels.variance": 0.8, "noise": 0.1}.items():
        found = report.parameters[name]
        assert found.low < value < found.high
        assert found.high < 4.0 * found.low


def test_effects_carry_over_to_the_next_search():
    first = searched(labeled(), 60)
    kernel = first.belief.carry_over()
    paths = [first.best().path, (0,) * 5]
    mean, _ = bough.Belief(TREE, kernel, 0.1).posterior(paths)
    assert mean[0] - mean[1] == pytest.approx(additive(paths[0]) - additive(paths[1]), abs=0.5)
    second = searched(kernel, 5, seed=1)
    assert BEST - additive(second.best().path) < 0.2
    assert second.observations == 5


def test_rewards_in_other_units_give_the_same_plays():
    one = bough.GPTS(TREE, labeled(), rng=0)
    other = bough.GPTS(TREE, labeled(), rng=0)
    for _ in range(25):
        path = one.ask()
        assert other.ask() == path
        one.tell(path, additive(path))
        other.tell(path, 1024.0 * additive(path))


def test_any_kernel_between_paths():
    def alike(a, b):
        return sum(x == y for x, y in zip(a, b, strict=True)) / len(a)

    search = searched(kernels.Paths(alike, None), 60)
    assert BEST - additive(search.best().path) < 0.3
    with pytest.raises(ValueError, match="rollout"):
        bough.GPTS(TREE, kernels.Paths(alike), 0.1, growth="rollout")


@pytest.mark.parametrize("seed", [5, 16])
def test_a_path_through_poor_states_is_found_once_its_reward_is_predicted(seed):
    """Narrow beams find no way there, and leave the search at a path that is known to be best."""
    problem = FeatureMDP("linear", seed=seed)
    kernel = kernels.Labeled(
        kernels.Geometric(0.7, variance=1e-4),
        labels=problem.label,
        between=kernels.LinearFeatures(0.2),
        decay=problem.discount,
    )
    search = bough.GPTS(problem.tree, kernel, 0.1, rng=0)
    for _ in range(40):
        path = search.ask()
        search.tell(path, problem(path))
    assert problem.value(search.best().path) == pytest.approx(problem.optimum)


def test_the_arm_of_the_widest_beam_is_rated_with_what_is_pending():
    kernel = kernels.Labeled(
        kernels.Geometric(0.5, variance=1.0), labels=by_depth, between=kernels.Same(0.1)
    )
    found = []
    for keep in (True, False):
        belief = bough.Belief(TREE, kernel, 0.1)
        belief.observe((0, 0, 0, 0, 0), 1.0)
        path = belief.quick_search.highest_upper(3.0, 0).path
        assert belief.arm(path).visits == 0
        belief.quick_search.kept = path if keep else None
        belief.pend(path)
        found.append(belief.quick_search.highest_upper(3.0, 0))
    assert found[0] == found[1]
