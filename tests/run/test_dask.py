"""A real Dask scheduler with worker processes; a worker that is killed in the middle."""

import os
import signal
from contextlib import contextmanager

import objectives
import pytest

import bough
from bough import Study, Tree, maximize

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
pytestmark = pytest.mark.filterwarnings("default")

TREE = Tree(3, 4)


@contextmanager
def cluster_of(count):
    """Start workers, and yield a client."""
    tests = os.path.dirname(os.path.dirname(__file__))
    with (
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0",
            env={"PYTHONPATH": tests},
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as client:
        yield client


def pids_of_workers(client):
    """Return the processes of the workers; asks the nannies, since a worker may be dead."""
    return [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]


def test_plays_of_one_arm_are_all_evaluated(client, tmp_path):
    """Dask takes equal calls for one, and even if asked to: trials differ in id and seed."""
    one = Tree(1, 2)
    for options in ({"pure": False}, {}):
        executor = client.get_executor(**options)
        result = maximize(
            objectives.noisy, one, budget=20, rng=0, searcher="uct", executor=executor
        )
        assert len(set(result.history.values)) == 20


def test_the_same_values_as_alone(client, tmp_path):
    from bough.run.executors import trial_seed

    executor = client.get_executor(pure=False)
    result = maximize(
        objectives.noisy, TREE, budget=60, rng=0, executor=executor, study=tmp_path / "run.db"
    )
    for trial in result.study.trials:
        seed = trial_seed(result.study.first_state, trial.id)
        assert trial.value == objectives.noisy(trial.path, seed)
    assert result.study.trials.count("completed") == 60


def test_pruning(client):
    space = bough.Space(x=bough.Float(0, 1), y=bough.Float(0, 1))
    executor = client.get_executor(pure=False)
    rule = bough.SuccessiveHalving()
    result = bough.minimize(
        objectives.curve, space, budget=20, rng=0, executor=executor, prune=rule
    )
    assert 0 < result.history.pruned < 20
    assert all(trial.reports for trial in result.history.trials)


def test_a_worker_killed_in_the_middle_of_a_run(tmp_path):
    with cluster_of(2) as client:
        victim = pids_of_workers(client)[0]

        def kill_once(search):
            if search.observations == 5:
                os.kill(victim, signal.SIGKILL)

        result = maximize(
            objectives.slow, TREE, budget=20, rng=0, executor=client.get_executor(pure=False),
            study=tmp_path / "run.db", callbacks=[kill_once],
        )  # fmt: skip
    assert result.stopped_by == "budget"
    with Study.open(tmp_path / "run.db") as study:
        assert study.trials.count("completed") == len(study.trials) == 20
        assert all(t.value == objectives.total(t.path) for t in study.trials)


def test_workers_killed_one_after_the_other(tmp_path):
    """Every value that a worker returned to the search is in the study, which then resumes."""
    returned = []
    with cluster_of(4) as client:
        *victims, _ = pids_of_workers(client)  # so one is left, also if none is replaced

        def kill_one(search):
            returned.append(search.observations)
            if len(returned) % 6 == 3 and victims:
                os.kill(victims.pop(), signal.SIGKILL)

        result = maximize(
            objectives.slow, TREE, budget=30, rng=0, executor=client.get_executor(pure=False),
            study=tmp_path / "run.db", retries=5, callbacks=[kill_one],
        )  # fmt: skip
    assert not victims
    assert result.stopped_by == "budget"
    assert len(result.history.values) == 30
    with Study.open(tmp_path / "run.db") as study:
        assert study.trials.count("completed") == len(study.trials) == 30
        assert all(t.value == objectives.total(t.path) for t in study.trials)
        recorded = sorted((t.path, t.value) for t in study.trials)
        history = zip(result.history.paths, result.history.values.tolist(), strict=True)
        assert recorded == sorted(history)


def test_an_objective_that_kills_its_workers(client, tmp_path):
    executor = client.get_executor(pure=False)
    with pytest.raises(bough.ObjectiveError, match="worker died"):
        maximize(
            objectives.deadly, TREE, budget=60, rng=0, executor=executor, retries=0,
            study=tmp_path / "run.db",
        )  # fmt: skip
    with Study.open(tmp_path / "run.db") as study:
        assert any(t.state == "running" and t.path[0] == 2 for t in study.trials)
