"""The ensemble of a forest: beliefs about partitions, relevance of parameters, certificates."""

import math

import numpy as np
import pytest
from small_spaces import BOX, MIXED, bowl, mixed, noisy, play

from bough import Float, Forest, Space
from bough.learning.posterior import paths_of
from bough.spaces.ensemble import PartitionBelief, random_partition


def partition_belief(search, first):
    """Return a belief about a new partition, made after the first observations."""
    ensemble = search._ensemble
    partition = random_partition(search.space, ensemble.priority, np.random.default_rng(0))
    found = PartitionBelief(search.space, partition, ensemble.settings, first)
    found.catch_up(search.trials)
    return found


@pytest.mark.parametrize("space", [BOX, MIXED], ids=["box", "mixed"])
@pytest.mark.parametrize("late", [False, True])
def test_the_posterior_at_a_point_is_that_of_dense_algebra(space, late):
    """The reference has an arm for each observation: a leaf below its node.

    The last step to this leaf has all the remaining variance.
    """
    search = Forest(space, rng=1)
    objective = noisy(bowl if space is BOX else mixed, 0)
    play(search, objective, 25)
    observations, settings = search.trials.observations(), search._ensemble.settings
    found = partition_belief(search, 12 if late else 25)
    increments = settings.kernel.increments(found.partition.depth)
    n = len(observations)
    paths = paths_of(found.belief, found.belief.observations["node"].tolist())
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a, b = paths[i], paths[j]
            common = 0
            while common < min(len(a), len(b)) and a[common] == b[common]:
                common += 1
            K[i, j] = increments[: common + 1].sum()
            if i == j:
                K[i, j] = increments[: len(found.partition.path(observations[i].point)) + 1].sum()
    values = np.array([r.value for r in observations]) - settings.mean
    gain = np.linalg.solve(K + settings.noise**2 * np.eye(n), K).T
    mean = settings.mean + gain @ values
    variance = np.diag(K - gain @ K)
    for i in range(n):
        m, V = found.cells.posterior(i)
        assert m == pytest.approx(mean[i], rel=1e-6, abs=1e-8)
        assert pytest.approx(variance[i], rel=1e-5, abs=1e-10) == V


def test_pending_points_change_only_upper_bounds():
    search = Forest(BOX, rng=1)
    play(search, noisy(bowl, 0), 25)
    turn = search.turn
    found = search._ensemble.belief(turn, search._rng)
    before = found.cells.posterior(3)
    upper = found.belief.highest_upper(2.0)
    point = BOX.point({"x": 0.9, "y": 4.9})
    found.set_pending({point: 7})
    assert found.belief.pending == 1
    assert found.cells.posterior(3) == before
    assert found.belief.highest_upper(2.0).upper <= upper.upper
    found.set_pending({})
    assert found.belief.pending == 0


def test_relevance_of_parameters():
    space = Space(dull=Float(0, 1), **{"most of all": Float(0, 1)}, little=Float(0, 1))
    search = Forest(space, rng=0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        params = {name: float(rng.random()) for name in space.parameters}
        search.tell(params, math.sin(7 * params["most of all"]) + 0.1 * params["little"])
    dull, most, little = search.priority
    assert most > little + 1.0
    assert most > dull + 2.0
    found = search._ensemble.belief(0, search._rng).relevance()
    assert found.shape == (3,)
    assert (found > 0).all()


def test_posterior_of_steps():
    search = Forest(BOX, rng=2)
    play(search, noisy(bowl, 0), 15)
    found = partition_belief(search, 15)
    belief = found.belief
    paths = paths_of(belief, range(len(belief.nodes)))
    draws = belief.sample(paths, 4000, rng=0)
    _, means, variances = found.cells.step_posteriors()
    numbers = {path: i for i, path in enumerate(paths)}
    for i, path in enumerate(paths):
        if path:
            steps = draws[:, i] - draws[:, numbers[path[:-1]]]
            spread = math.sqrt(variances[i])
            assert means[i] == pytest.approx(steps.mean(), abs=0.1 * spread + 1e-12)
            assert spread == pytest.approx(steps.std(), rel=0.1)


def test_a_certificate_names_its_partition():
    search = Forest(MIXED, rng=0)
    play(search, mixed, 50)
    certificate = search.certificate
    assert certificate.partitions == 8
    assert 0 <= certificate.partition < 8
    assert certificate.conditional
    MIXED.point(certificate.params)
    assert certificate.lower <= certificate.upper
    assert certificate.lower >= search.best().mean  # which is exact
    assert certificate.upper >= -0.0  # the maximum
