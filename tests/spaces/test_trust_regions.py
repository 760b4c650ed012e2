"""Local quadratic models and trust regions."""

import numpy as np
import pytest
from small_spaces import BOX, MIXED, bowl, mixed, play

from bough import Forest
from bough.spaces.trust_regions import fit_quadratic


def test_a_quadratic_is_fitted_exactly():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 3))
    A = -A @ A.T - np.eye(3)
    top = np.array([0.4, 0.6, 0.5])
    coordinates = rng.random((40, 3))
    values = 7.0 + np.einsum("ni,ij,nj->n", coordinates - top, A, coordinates - top)
    found = fit_quadratic(coordinates, values, np.full(3, 0.5), np.full(3, 0.2), noisy=False)
    assert found.maximum() == pytest.approx(top, abs=1e-4)
    assert found(top[None, :])[0] == pytest.approx(7.0, abs=1e-4)


def test_too_few_data_for_a_quadratic():
    coordinates = np.random.default_rng(0).random((5, 3))
    assert (
        fit_quadratic(coordinates, coordinates[:, 0], np.full(3, 0.5), np.full(3, 0.2), noisy=False)
        is None
    )


def test_a_saddle_has_no_maximum():
    coordinates = np.random.default_rng(0).random((40, 2))
    values = (coordinates[:, 0] - 0.5) ** 2 - (coordinates[:, 1] - 0.5) ** 2
    assert (
        fit_quadratic(coordinates, values, np.full(2, 0.5), np.full(2, 0.2), noisy=False).maximum()
        is None
    )


def test_a_step_changes_one_number_of_a_good_point():
    for space, objective in ((BOX, bowl), (MIXED, mixed)):
        search = Forest(space, rng=0)
        play(search, objective, 60)
        regions, rng = search._trust_regions, np.random.default_rng(0)
        centers = [search.trials[region.row].point for region in regions.regions]
        changed = []
        for _ in range(60):
            point = regions._with_another_number(rng)
            if point is None:  # the other good point does not have this number
                continue
            differ = [{i for i in range(len(point)) if center[i] != point[i]} for center in centers]
            assert min(map(len, differ)) <= 1
            changed += [one for one in differ if len(one) == 1]
        assert set.union(*changed) >= set(search.trials.active(centers[0]))
