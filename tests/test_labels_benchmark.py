"""The labels benchmark: optima against enumeration, resumed runs, tables."""

import itertools
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import labels as benchmark
from benchmarks.labels_problems import NK, PROBLEMS, Additive, Ehrlich, FeatureMDP, Tour
from bough import kernels


def leaves(tree, path=()):
    width = tree.branching(path)
    if width == 0:
        yield path
    for k in range(width):
        yield from leaves(tree, (*path, k))


SMALL = [
    lambda seed: Additive(0.3, 3, 4, seed=seed),
    lambda seed: Additive(1.0, 3, 4, seed=seed),
    lambda seed: NK(2, 9, seed=seed),
    lambda seed: Tour(6, seed=seed),
    lambda seed: FeatureMDP("linear", 12, 3, 5, seed=seed),
    lambda seed: FeatureMDP("rbf", 12, 3, 5, seed=seed),
]


@pytest.mark.parametrize("make", SMALL)
@pytest.mark.parametrize("seed", [1000, 1001, 1002])
def test_optima_are_those_of_all_paths(make, seed):
    problem = make(seed)
    paths = list(leaves(problem.tree))
    assert problem.optimum == max(map(problem.value, paths))
    assert problem.value(problem.best_path) == problem.optimum
    assert all(hash(problem.label(p[: i + 1])) for p in paths[:9] for i in range(len(p)))


def test_additive_values_have_the_covariance_of_the_model():
    """Over 3,000 draws; the standard error of each entry is at most 0.03."""
    share, branching, depth = 0.4, 2, 3
    problems = [Additive(share, branching, depth, seed=seed) for seed in range(3000)]
    values = np.array([problem._values for problem in problems])
    kernel = kernels.Labeled(
        kernels.Geometric(0.7, variance=1 - share),
        labels=problems[0].label,
        between=kernels.Same(share / depth),
    )
    paths = list(leaves(problems[0].tree))
    assert np.abs(values.T @ values / 3000 - kernel.matrix(paths, depth)).max() < 0.12
    assert np.diag(kernel.matrix(paths, depth)) == pytest.approx(1.0)


def test_values_of_an_nk_landscape_are_means_of_table_entries():
    problem = NK(1, 4, seed=1000)
    bits = (1, 0, 1, 1)
    entries = [problem.tables[i][bits[i] + 2 * bits[(i + 1) % 4]] for i in range(4)]
    assert problem.value(bits) == pytest.approx(np.mean(entries), abs=1e-15)
    rows = np.array(list(itertools.product([0, 1], repeat=4)))
    assert problem._values(rows) == pytest.approx([problem.value(tuple(r)) for r in rows.tolist()])


def test_a_tour_returns_to_the_first_city():
    problem = Tour(5, seed=1000)
    order = [0, *problem.tree.decode((1, 1, 0, 0)), 0]
    assert order == [0, 2, 3, 1, 4, 0]
    length = math.fsum(problem.distances[a, b] for a, b in itertools.pairwise(order))
    assert problem.value((1, 1, 0, 0)) == pytest.approx(-length, abs=1e-15)


def test_features_are_those_of_the_state_that_an_action_leads_to():
    problem = FeatureMDP("linear", 10, 3, 4, seed=1000)
    states = [problem.state((2, 0, 1)[: i + 1]) for i in range(3)]
    assert states[1] == problem.transitions[states[0]][0]
    assert problem.label((2, 0, 1)) == tuple(problem.features[states[2]])


def test_ehrlich_functions_are_those_of_the_package():
    pytest.importorskip("holo")
    problem = Ehrlich(4, 7, 2, 3, seed=1000)
    assert problem.optimum == 1.0
    values = {problem.value(path) for path in itertools.product(range(4), repeat=7)}
    assert max(values) == 1.0
    assert min(values) == 0.0


def test_runs_resume_and_become_tables(tmp_path):
    file, target = tmp_path / "runs.jsonl", tmp_path / "page.md"
    names = ["--problems", "MDP, linear; additive 1", "--competitors", "random; UCT"]
    options = [*names, "--first-seed", "1000", "--file", str(file)]

    def run(*more):
        assert CliRunner().invoke(benchmark.main, ["run", *options, *more]).exit_code == 0
        return [json.loads(line) for line in file.read_text().splitlines()]

    first = run("--seeds", "1", "--plays", "100")
    assert len(first) == 4
    again = run("--seeds", "2", "--plays", "100")
    assert again[:4] == first
    assert len(again) == 8
    longer = run("--seeds", "1", "--plays", "300")
    assert len(longer) == 12
    assert [row["regrets"]["100"] for row in longer[8:]] == [
        row["regrets"]["100"] for row in first
    ]  # the noise does not depend on what else is run
    command = ["table", "--first-seed", "1000", "--file", str(file), "--page", str(target)]
    shown = CliRunner().invoke(benchmark.main, command)
    assert shown.exit_code == 0
    assert target.read_text() == shown.stdout.removesuffix("\n")
    assert "| problem | UCT | random |" in target.read_text()
    assert "1 seeds" in target.read_text()  # of 300 plays
    wrong = CliRunner().invoke(benchmark.main, ["run", "--competitors", "MCTS"])
    assert "'MCTS' is not one of GPTS with labels" in wrong.output


@pytest.mark.parametrize("competitor", benchmark.COMPETITORS)
def test_every_competitor_plays(competitor):
    if competitor == benchmark.TPE:
        pytest.importorskip("optuna")
    problem = FeatureMDP("linear", 12, 2, 4, seed=1000)
    paths = list(benchmark.recommended(competitor, problem, 0, 100))
    assert len(paths) == 100
    assert [path is not None for path in paths] == [False] * 99 + [True]
    assert problem.tree.complete(paths[-1]) == paths[-1]


def test_a_tour_is_not_put_to_tpe():
    assert [name for name in PROBLEMS if not benchmark.suits("TPE", name)] == ["tour of 12"]
