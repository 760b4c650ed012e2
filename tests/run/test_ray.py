"""The adapter for Ray, on a cluster of this machine."""

import os

import objectives
import pytest

import bough
from bough import Tree, maximize

ray = pytest.importorskip("ray", reason="Ray is not installed")

TREE = Tree(3, 4)


@pytest.fixture(scope="module")
def executor():
    from bough.integrations.ray import RayExecutor

    with pytest.raises(ValueError, match="connect to a cluster first"):
        RayExecutor()
    here = os.pathsep.join(
        [os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH", "")]
    )
    environment = {"env_vars": {"PYTHONPATH": here}}
    ray.init(
        num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False,
        runtime_env=environment,
    )  # fmt: skip
    yield RayExecutor()
    ray.shutdown()


@pytest.mark.filterwarnings("default")
def test_a_search_on_ray(executor, tmp_path):
    assert executor.max_workers == 2
    executor.max_workers = 1
    result = maximize(objectives.noisy, TREE, budget=30, rng=0, executor=executor)
    alone = maximize(objectives.noisy, TREE, budget=30, rng=0)
    assert result.history.paths == alone.history.paths
    executor.max_workers = 2
    result = maximize(
        objectives.noisy, TREE, budget=30, rng=0, executor=executor, study=tmp_path / "run.db"
    )
    assert result.study.trials.count("completed") == 30

    def broken(path):
        raise KeyError("no luck")

    result = maximize(broken, TREE, budget=3, executor=executor, catch=KeyError)
    assert result.best is None
    with pytest.raises(bough.ObjectiveError, match="worker died"):
        maximize(objectives.deadly, TREE, budget=60, rng=0, executor=executor, retries=0)
