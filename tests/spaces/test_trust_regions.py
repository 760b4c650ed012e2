"""Local quadratic models and trust regions."""

import numpy as np
import pytest
from small_spaces import BOX, MIXED, bowl, mixed, play

from bough import Float, Forest, Int, Space
from bough.spaces.cells import climb_quadratic, quadratic_terms
from bough.spaces.trust_regions import LEAST, RADIUS, Ellipsoid, TrustRegion, fit_quadratic


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


@pytest.mark.parametrize("seed", range(5))
def test_climbing_a_quadratic_ends_where_no_step_along_a_coordinate_helps(seed):
    rng = np.random.default_rng(seed)
    d = 3
    b = rng.standard_normal(1 + 2 * d + d * (d - 1) // 2)
    step = np.array([0.0, 0.5, 0.25])
    origin, unit = np.zeros(d), np.ones(d)
    top = climb_quadratic(b, True, origin, -unit, unit, step)
    assert (np.abs(top) <= 1.0).all()
    assert top[1] % 0.5 == top[2] % 0.25 == 0.0

    def value(x):
        return (quadratic_terms(x[None, :], origin, unit, True) @ b)[0]

    for j in range(d):
        for u in np.arange(-1.0, 1.001, step[j] or 0.01):
            other = top.copy()
            other[j] = u
            assert value(other) <= value(top) + 1e-9


def test_an_ellipsoid_is_long_along_a_ridge():
    rng = np.random.default_rng(0)
    coordinates = rng.uniform(0.4, 0.6, (60, 3))
    across = coordinates[:, 0] - coordinates[:, 1]
    center, radius = np.full(3, 0.5), np.full(3, 0.1)
    real = np.array([True, True, False])
    frame = Ellipsoid(center, radius, coordinates, -np.abs(across), real)
    along = np.abs(frame.to_local(center + np.array([[0.1, 0.1, 0.0]]))).max()
    aside = np.abs(frame.to_local(center + np.array([[0.1, -0.1, 0.0]]))).max()
    assert along < 0.7 * aside
    assert frame.to_local(center + np.array([[0.0, 0.0, 0.1]]))[0] == pytest.approx([0.0, 0.0, 1.0])
    again = frame.from_local(frame.to_local(coordinates))
    assert again == pytest.approx(coordinates)


def test_an_ellipsoid_is_flat_where_the_good_points_are():
    rng = np.random.default_rng(0)
    along, aside = rng.uniform(-0.1, 0.1, 60), rng.uniform(-0.002, 0.002, 60)
    coordinates = 0.5 + np.column_stack([along + aside, along - aside])
    center, radius = np.full(2, 0.5), np.full(2, 0.1)
    frame = Ellipsoid(center, radius, coordinates, -np.abs(aside), np.array([True, True]))
    ends = center + np.array([[0.1, 0.1], [0.1, -0.1]])
    lengths = np.linalg.norm(frame.to_local(ends), axis=1)
    assert lengths[0] < lengths[1] / 15


def test_when_all_regions_have_converged_one_that_moved_is_opened_again():
    search = Forest(BOX, rng=0)
    play(search, bowl, 60)
    regions, rng = search._trust_regions, np.random.default_rng(0)
    for region in regions.regions:
        region.radius, region.moved = LEAST, False
    assert regions._choose(rng) is None
    best, last = regions.regions[0], regions.regions[-1]
    last.moved = best.moved = True
    assert regions._choose(rng) is best
    assert best.radius == RADIUS
    assert best.opened_again
    assert last.converged
    best.radius = LEAST  # again, without having moved
    assert regions._choose(rng) is last


def test_a_region_that_is_opened_again_ignores_the_data_of_its_last_steps():
    rng = np.random.default_rng(0)
    top = np.array([0.58, 0.45])
    center = np.full(2, 0.5)
    crowd = center + rng.uniform(-1e-6, 1e-6, (40, 2))
    coordinates = np.concatenate([center[None, :], crowd, rng.uniform(0.3, 0.7, (20, 2))])
    values = -((coordinates - top) ** 2).sum(axis=1)
    values[1:41] -= 1e-3 * rng.random(40)  # a kink, seen from nearby
    region = TrustRegion((), center.tolist(), 0, float(values[0]), moved=True)
    region.open_again()
    found, _ = region.propose(coordinates, values, np.zeros(2), 0.0, rng, lambda points: points)
    assert found[0] == pytest.approx(top, abs=1e-3)


def test_infeasible_data_do_not_shape_the_ellipsoid():
    rng = np.random.default_rng(0)
    center = np.full(2, 0.5)
    across = center + rng.uniform(-1.0, 1.0, (30, 2)) * [0.1, 0.004]  # the feasible ones
    upwards = center + rng.uniform(-1.0, 1.0, (30, 2)) * [0.004, 0.1]
    coordinates = np.concatenate([center[None, :], across, upwards])
    values = np.concatenate([[2.0], np.ones(30), np.full(30, 3.0)])
    for feasible, is_flat in ((None, False), ((coordinates[:31], values[:31]), True)):
        # After three failures the candidates are random points of the ellipsoid.
        region = TrustRegion((), center.tolist(), 0, 2.0, radius=0.1, failures=3)
        found, _ = region.propose(
            coordinates, values, np.zeros(2), 0.0, rng, lambda points: points, feasible=feasible
        )
        lengths = np.abs(found - center).max(axis=0)
        assert (lengths[0] > 5 * lengths[1]) == is_flat


def test_real_numbers_are_refined_with_the_discrete_ones_held():
    space = Space(n=Int(0, 15), m=Int(0, 7), x=Float(0, 1))

    def score(p):
        return -((p["n"] - 11) ** 2) - (p["m"] - 2) ** 2 - 10 * (p["x"] - 0.1 - p["n"] / 17) ** 2

    for seed in range(3):
        search = Forest(space, rng=seed)
        play(search, score, 120)
        best = search.best()
        assert (best.params["n"], best.params["m"]) == (11, 2)
        assert best.value > -1e-8
