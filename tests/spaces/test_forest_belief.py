"""What the searcher of spaces believes: coverings, relevance, certificates, quadratics."""

import math

import numpy as np
import pytest
from small_spaces import BOX, MIXED, bowl, mixed, noisy, play

from bough import Float, Forest, Space
from bough.learning.data import paths_of
from bough.spaces.forest.cover import Cover, random_covering
from bough.spaces.forest.quadratic import fit
from bough.spaces.forest.relevance import ratios, steps_of


def _cover(search, first):
    """Return a covering that knows all that was told, made when so much of it was there."""
    coverings = search._coverings
    rng = np.random.default_rng(0)
    covering = random_covering(search.space, coverings.priority, rng)
    cover = Cover(search.space, covering, coverings.settings, first)
    cover.catch_up(search._told.table)
    return cover


@pytest.mark.parametrize("space", [BOX, MIXED], ids=["box", "mixed"])
@pytest.mark.parametrize("late", [False, True])
def test_the_belief_about_a_point_is_that_of_dense_algebra(space, late):
    """With every reading at its own leaf, and the cells as placed: cavity and all.

    The oracle has one arm for each reading: a leaf below the node where it is placed, whose last
    step has all the variance that is left.
    """
    search = Forest(space, rng=1)
    objective = noisy(bowl if space is BOX else mixed, 0)
    play(search, objective, 25)
    readings, settings = search._told.readings, search._coverings.settings
    cover = _cover(search, 12 if late else 25)
    increments = settings.kernel.increments(cover.depth)
    n = len(readings)
    paths = paths_of(cover.belief, cover.belief.observations["node"].tolist())
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a, b = paths[i], paths[j]
            common = 0
            while common < min(len(a), len(b)) and a[common] == b[common]:
                common += 1
            K[i, j] = increments[: common + 1].sum()
            if i == j:
                K[i, j] = increments[: len(cover.covering.path(readings[i].point)) + 1].sum()
    values = np.array([r.value for r in readings]) - settings.mean
    gain = np.linalg.solve(K + settings.noise**2 * np.eye(n), K).T
    mean = settings.mean + gain @ values
    variance = np.diag(K - gain @ K)
    for i in range(n):
        m, V = cover.placing.posterior(i)
        assert m == pytest.approx(mean[i], rel=1e-6, abs=1e-8)
        assert pytest.approx(variance[i], rel=1e-5, abs=1e-10) == V


def test_pending_points_narrow_what_is_unknown_and_nothing_else():
    search = Forest(BOX, rng=1)
    play(search, noisy(bowl, 0), 25)
    turn = search.turn
    cover = search._coverings.cover(turn, search._numbers)
    before = cover.placing.posterior(3)
    upper = cover.belief.highest_upper(2.0)
    point = BOX.point({"x": 0.9, "y": 4.9})
    cover.await_all({7: point})
    assert cover.belief.pending == 1
    assert cover.placing.posterior(3) == before
    assert cover.belief.highest_upper(2.0).upper <= upper.upper
    cover.await_all({})
    assert cover.belief.pending == 0


def test_relevance_is_read_off_the_belief():
    space = Space(dull=Float(0, 1), **{"most of all": Float(0, 1)}, little=Float(0, 1))
    search = Forest(space, rng=0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        params = {name: float(rng.random()) for name in space.parameters}
        search.tell(params, math.sin(7 * params["most of all"]) + 0.1 * params["little"])
    dull, most, little = search._coverings.priority
    assert most > little + 1.0
    assert most > dull + 2.0
    found = ratios(search._coverings.cover(0, search._numbers))
    assert found.shape == (3,)
    assert (found > 0).all()


def test_steps_are_those_of_the_joint_posterior():
    search = Forest(BOX, rng=2)
    play(search, noisy(bowl, 0), 15)
    belief = _cover(search, 15).belief
    paths = paths_of(belief, range(len(belief.nodes)))
    draws = belief.sample(paths, 4000, rng=0)
    means, variances = steps_of(belief)
    numbers = {path: i for i, path in enumerate(paths)}
    for i, path in enumerate(paths):
        if path:
            steps = draws[:, i] - draws[:, numbers[path[:-1]]]
            spread = math.sqrt(variances[i])
            assert means[i] == pytest.approx(steps.mean(), abs=0.1 * spread + 1e-12)
            assert spread == pytest.approx(steps.std(), rel=0.1)


def test_a_certificate_says_whose_it_is():
    search = Forest(MIXED, rng=0)
    play(search, mixed, 50)
    certificate = search.certificate
    assert certificate.coverings == 8
    assert 0 <= certificate.covering < 8
    assert certificate.conditional
    MIXED.point(certificate.params)
    assert certificate.lower <= certificate.upper
    assert certificate.lower >= search.best().mean  # which is exact
    assert certificate.upper >= -0.0  # the maximum


# ---------------------------------------------------------------------- quadratics


def test_a_quadratic_is_found_exactly():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 3))
    A = -A @ A.T - np.eye(3)
    top = np.array([0.4, 0.6, 0.5])
    places = rng.random((40, 3))
    values = 7.0 + np.einsum("ni,ij,nj->n", places - top, A, places - top)
    found = fit(places, values, np.full(3, 0.5), np.full(3, 0.2), False)
    assert found.top() == pytest.approx(top, abs=1e-4)
    assert found(top[None, :])[0] == pytest.approx(7.0, abs=1e-4)


def test_too_few_places_for_a_quadratic():
    places = np.random.default_rng(0).random((5, 3))
    assert fit(places, places[:, 0], np.full(3, 0.5), np.full(3, 0.2), False) is None


def test_a_saddle_has_no_top():
    places = np.random.default_rng(0).random((40, 2))
    values = (places[:, 0] - 0.5) ** 2 - (places[:, 1] - 0.5) ** 2
    assert fit(places, values, np.full(2, 0.5), np.full(2, 0.2), False).top() is None


def test_a_step_changes_one_number_of_a_good_point():
    for space, objective in ((BOX, bowl), (MIXED, mixed)):
        search = Forest(space, rng=0)
        play(search, objective, 60)
        refining, rng = search._refining, np.random.default_rng(0)
        centres = [search._told.readings[region.number].point for region in refining.regions.all]
        changed = []
        for _ in range(60):
            point = refining._with_another_number(rng)
            if point is None:  # the other good point does not have this number
                continue
            differ = [{i for i in range(len(point)) if centre[i] != point[i]} for centre in centres]
            assert min(map(len, differ)) <= 1
            changed += [one for one in differ if len(one) == 1]
        assert set.union(*changed) >= set(refining._told.table.active(centres[0]))
