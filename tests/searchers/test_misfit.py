"""GPTS where its model is wrong: random paths, the sentence that says so, exact rewards."""

import collections
import math

import numpy as np
import pytest

import bough
from bough import GPTS, Tree, kernels
from bough.problems import named


def play(search, reward, plays):
    """Play, and return the paths and the rewards."""
    paths, rewards = [], []
    for _ in range(plays):
        paths.append(search.ask())
        rewards.append(reward(paths[-1]))
        search.tell(paths[-1], rewards[-1])
    return paths, rewards


def best_values(name, search, seeds, plays):
    """Return the regret of the best path played, for each seed."""
    regrets = []
    for seed in seeds:
        problem = named(name, seed=seed)
        paths, _ = play(search(problem.tree, rng=seed), problem, plays)
        regrets.append(problem.optimum - max(map(problem.value, paths)))
    return np.array(regrets)


@pytest.mark.parametrize("name", ["trap", "needle:noise=0", "expression", "route"])
def test_the_default_is_as_good_as_random_search(name):
    """On seeds kept apart; differences are paired, and allowed two standard errors."""
    seeds = range(3000, 3010)
    regrets = best_values(name, GPTS, seeds, 600)
    difference = regrets - best_values(name, bough.RandomSearch, seeds, 600)
    assert difference.mean() <= 2 * difference.std() / math.sqrt(len(seeds) - 1)


def test_evidence_is_the_log_ratio_of_two_densities():
    """Of each new arm, by the posterior before its reward, and by all rewards before."""
    problem = named("smooth:3:4", seed=2)
    kernel, noise = kernels.Linear(0.5), 0.3
    search = GPTS(problem.tree, kernel, noise, rng=0)
    search._compares = True  # with a prior that is not fitted, so that the posterior is known here
    belief = bough.Belief(problem.tree, kernel, noise)
    rewards, evidence, seen, count = [], 0.0, set(), 0
    for _ in range(60):
        path = search.ask()
        reward = problem(path)
        if path not in seen and len(rewards) > 1:
            mean, std = (float(moment[0]) for moment in belief.posterior([path]))
            nats = -math.log(math.hypot(std, noise)) - (reward - mean) ** 2 / (
                2 * (std**2 + noise**2)
            )
            nats -= -math.log(np.std(rewards)) - (reward - np.mean(rewards)) ** 2 / (
                2 * np.var(rewards)
            )
            evidence = float(np.clip(evidence + np.clip(nats, -1, 1), -5, 5))
            count += 1
        search.tell(path, reward)
        belief.observe(path, reward)
        rewards.append(reward)
        seen.add(path)
        assert search._comparison.evidence == pytest.approx(evidence, abs=1e-9)
        assert search._comparison.predictions == count
        assert (search.misfit is None) == (evidence >= -2 or count < 20)


@pytest.mark.parametrize("batch", [1, 4])
def test_unrelated_rewards_are_reported_and_related_ones_are_not(batch):
    found = collections.Counter()
    for name in ("rough:growth=1000:noise=0", "route", "smooth", "drawn:discounted"):
        for seed in range(6):
            problem = named(name, seed=seed)
            search = GPTS(problem.tree, rng=seed)
            for _ in range(300 // batch):
                paths = [search.ask() for _ in range(batch)]
                for path in paths:
                    search.tell(path, problem(path))
            found[name] += search.misfit is not None
    assert found["rough:growth=1000:noise=0"] >= 4
    assert found["route"] >= 4
    assert found["smooth"] + found["drawn:discounted"] <= 1


def test_the_sentence_says_what_is_done_about_it():
    problem = named("rough:growth=1000:noise=0", seed=0)
    assert GPTS(problem.tree).misfit is None
    for select in ("ucb", "arm"):
        search = GPTS(problem.tree, select=select, rng=0)
        play(search, problem, 200)
        sentence = search.misfit
        assert sentence.startswith("the model predicts the rewards of new paths no better than")
        assert ("drawn at random" in sentence) == (select == "ucb")


def test_a_given_prior_is_trusted():
    """Nothing is random but ties: the belief alone gives the same plays."""
    problem = named("rough:3:4:growth=1000:noise=0.1", seed=0)
    search = GPTS(problem.tree, kernels.Linear(), 0.3, rng=5)
    belief = bough.Belief(problem.tree, kernels.Linear(), 0.3)
    for t in range(1, 150):
        path = search.ask()
        upper = belief.highest_upper(math.sqrt(2 * math.log(t)) + 0.5).upper
        mean, std = belief.posterior([path])
        assert mean[0] + (math.sqrt(2 * math.log(t)) + 0.5) * std[0] == pytest.approx(upper)
        reward = problem(path)
        search.tell(path, reward)
        belief.observe(path, reward)


def test_equal_rewards_are_not_repeated():
    paths, _ = play(GPTS(Tree(3, 6), rng=0), lambda path: 7.0, 300)
    assert len(set(paths)) == 300


def test_rewards_that_never_differ_are_repeated_as_scheduled_only():
    """Two values: a path that nearly always wins looks like one that always does."""
    plays = 600
    for seed in range(5):
        paths, _ = play(
            GPTS(Tree(3, 8), rng=seed), lambda path: float(path[:3] == (1, 1, 1)), plays
        )
        assert len(set(paths)) >= plays - plays // 10 - 2


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**12])
@pytest.mark.parametrize("name", ["route", "trap"])
def test_scaling_by_a_power_of_two_changes_no_play(name, factor):
    problem = named(name, seed=1)
    first, second = (GPTS(problem.tree, rng=3) for _ in range(2))
    paths, _ = play(first, problem, 300)
    scaled, _ = play(second, lambda path: factor * problem.value(path), 300)
    assert paths == scaled
    assert first.misfit == second.misfit


def test_a_resumed_search_draws_the_same_random_paths(tmp_path):
    problem = named("route", seed=0)
    options = {"rng": 0, "progress": False}
    whole = bough.maximize(problem.value, problem.tree, budget=240, **options)
    for budget in (80, 150, 240):
        parts = bough.maximize(
            problem.value, problem.tree, budget=budget, study=tmp_path / "run.db", **options
        )
    assert [t.path for t in parts.study.trials] == list(whole.history.paths)


@pytest.mark.parametrize("name", ["rough:noise=0", "expression"])
def test_exact_rewards_are_recommended_as_seen(name):
    for seed in range(5):
        problem = named(name, seed=seed)
        search = GPTS(problem.tree, rng=seed)
        highest = -math.inf
        for _ in range(4):
            _, rewards = play(search, problem, 50)
            highest = max(highest, *rewards)
            assert problem.value(search.best().path) == highest


@pytest.mark.parametrize("growth", ["complete", "deepening", "rollout"])
def test_the_leader_is_repeated_while_the_noise_is_fitted(growth):
    """Whatever a play is: else noise could not be told from the last steps."""
    rng = np.random.default_rng(0)
    search = GPTS(Tree(6, 6), growth=growth, rng=0)
    repeated = 0
    for t in range(1, 61):
        leader = search.belief.best_observed(0.0)
        path = search.ask()
        if t % 10 == 0:
            repeated += path[: len(leader.path)] == leader.path
        search.tell(path, sum(path) + float(rng.standard_normal()))
    assert repeated == 6
