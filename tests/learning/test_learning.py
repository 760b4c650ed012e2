"""Fits of hyperparameters: gradients, consistency, units, few and unusual observations."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle

from bough import Belief, Tree, kernels, learning
from bough.learning import FLAT, WEAK, fitting
from bough.learning.model import Model, template_of
from bough.learning.posterior import LogPosterior, location_and_scale, standardized
from bough.means import Heuristic

FAMILIES = {
    "Linear": (kernels.Linear, kernels.Linear(2.0)),
    "Gaussian": (kernels.Gaussian, kernels.Gaussian(1.5, 2.0)),
    "Discounted": (kernels.Discounted, kernels.Discounted(0.8, 0.5)),
    "Geometric": (kernels.Geometric, kernels.Geometric(0.6, 2.0)),
    "root": (kernels.Geometric(None, None, None), kernels.Geometric(0.6, 2.0, 0.3)),
    "profile": (kernels.Chi, kernels.Chi.of_increments([0.0, 1.0, 0.2, 0.5, 0.1])),
    "width": (kernels.Gaussian(None, 2.0), kernels.Gaussian(1.5, 2.0)),
    "sum": (
        kernels.Gaussian(None, 2.0) + 3.0 * kernels.Linear(None),
        kernels.Gaussian(1.5, 2.0) + 3.0 * kernels.Linear(0.2),
    ),
}


def drawn(kernel, tree, count, noise, mean, seed):
    """Return random paths and noisy values of a function from the prior."""
    rng = np.random.default_rng(seed)
    paths = [tuple(p) for p in rng.integers(tree.counts, size=(count, tree.depth)).tolist()]
    values = Belief(tree, kernel, 1.0, mean=mean).sample(paths, 1, rng)[0]
    return paths, values + noise * rng.standard_normal(count)


def believing(tree, kernel, noise, paths, values, mean=0.0):
    belief = Belief(tree, kernel, noise, mean=mean)
    for path, value in zip(paths, values, strict=True):
        belief.observe(path, value)
    return belief


# ---------------------------------------------------------------------- the gradient


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("mean", [None, "heuristic", 0.5])
@pytest.mark.parametrize("prior", [FLAT, WEAK], ids=["flat", "weak"])
def test_gradient_by_every_parameter(name, mean, prior):
    """The likelihood agrees with dense algebra, the gradient with finite differences."""
    family, truth = FAMILIES[name]
    tree = Tree(3, 4)
    paths, values = drawn(truth, tree, 30, 0.3, 0.5, seed=1)
    if mean == "heuristic":
        mean = Heuristic(lambda path: 0.3 * sum(path) - 0.2 * len(path))
    belief = believing(tree, kernels.Linear(), 0.3, paths, values)
    model = Model(template_of(family), None, mean, 4, prior)
    posterior = LogPosterior(model, standardized(belief, mean))
    theta = model.start + 0.3 * np.random.default_rng(2).standard_normal(len(model.slots))
    density, gradient = posterior(theta)
    units = posterior.units

    def settings_at(theta):
        return model.settings(model.values(theta, *units))

    def dense(theta):
        now = settings_at(theta)
        observed = [("sum", p, y, now.noise**2) for p, y in zip(paths, values, strict=True)]
        oracle = Oracle(now.kernel.increments(4), now.mean, observed, exact=False)
        return oracle.posterior([])[2]

    def prior_part(theta):
        density, _ = posterior(theta)
        return posterior.in_units(density) - posterior.log_likelihood(settings_at(theta))

    now = settings_at(theta)
    assert posterior.log_likelihood(now) == pytest.approx(dense(theta), rel=1e-9)
    if prior is FLAT:  # a fitted mean is integrated out: 1/2 log of its variance
        more = posterior.in_units(density) - posterior.log_likelihood(now)
        S = now.kernel.matrix(paths, 4) + now.noise**2 * np.eye(len(paths))
        precision = np.linalg.solve(S, np.ones(len(paths))).sum() * units[1] ** 2
        expected = 0.0 if mean == 0.5 else 0.5 * math.log(2 * math.pi / precision)
        assert more == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for i, slot in enumerate(model.slots):
        slope = sum(
            weight * (dense(_moved(theta, i, k * 1e-3)) + prior_part(_moved(theta, i, k * 1e-3)))
            for k, weight in ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))
        )
        assert gradient[i] == pytest.approx(slope / 1e-3, rel=1e-6, abs=1e-6), slot


def _moved(theta, i, by):
    theta = theta.copy()
    theta[i] += by
    return theta


# ---------------------------------------------------------------------- consistency


consistency = pytest.mark.parametrize(
    ("tree", "family", "truth"),
    [
        (Tree(3, 6), kernels.Linear, {"variance": 2.0}),
        (Tree(3, 6), kernels.Gaussian, {"width": 2.0, "variance": 2.0}),
        (Tree(3, 6), kernels.Discounted, {"discount": 0.8, "variance": 0.5}),
        (Tree(3, 6), kernels.Geometric, {"ratio": 0.6, "variance": 3.0}),
        (
            Tree(12, 3),
            kernels.Chi,
            {"increments[1]": 1.0, "increments[2]": 0.6, "increments[3]": 0.4},
        ),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)


def fits_of(tree, family, truth, seeds):
    """Fit functions drawn from the truth, check that no optimum is missed, and yield the reports.

    The posterior density is at least that of the truth, the log likelihood at most 1 below it.
    """
    profile = [v for name, v in truth.items() if name.startswith("increments")]
    parts = {name: v for name, v in truth.items() if name not in ("noise", "mean")}
    kernel = kernels.Chi.of_increments([0.0, *profile]) if profile else family(**parts)
    for seed in seeds:
        paths, values = drawn(kernel, tree, 2000, 0.5, 1.5, seed)
        belief = believing(tree, kernel, 0.5, paths, values, mean=1.5)
        _, report = learning.fit(belief, family)
        assert report.converged
        assert report.likelihood > report.before - 1.0
        model = Model(template_of(family), None, None, tree.depth)
        posterior = LogPosterior(model, standardized(belief, None))
        true_values = [truth[slot.name] for slot in model.slots]
        at_truth = model.theta(true_values, *posterior.units)
        assert report.posterior >= posterior.in_units(posterior(at_truth)[0]) - 1e-9
        found = posterior.log_likelihood(model.settings(true_values))
        assert found == pytest.approx(report.before, rel=1e-9)
        yield report


@consistency
def test_the_maximum_is_found(tree, family, truth):
    truth = truth | {"noise": 0.5, "mean": 1.5}
    for report in fits_of(tree, family, truth, range(2)):
        for name, parameter in report.parameters.items():
            assert parameter.at_bound or abs(parameter.value - truth[name]) < 4 * parameter.error


@pytest.mark.thorough
@consistency
def test_truth_is_within_two_standard_errors(tree, family, truth):
    """In 90 to 99 of 100 cases.

    (If 2,000 paths hardly distinguish increments from noise, as on a tree of 5^10, the prior
    decides: the intervals then cover the truth in 91 to 100 of 100 cases.)
    """
    truth = truth | {"noise": 0.5, "mean": 1.5}
    counted = dict.fromkeys(truth, 0)
    covered = dict.fromkeys(truth, 0)
    for report in fits_of(tree, family, truth, range(100)):
        if any(parameter.at_bound for parameter in report.parameters.values()):
            continue
        for name, parameter in report.parameters.items():
            counted[name] += 1
            covered[name] += parameter.low <= truth[name] <= parameter.high
    for name in truth:
        assert counted[name] >= 50
        assert 0.9 <= covered[name] / counted[name] <= 0.99, (name, covered, counted)


def test_choose_finds_the_family():
    tree = Tree(4, 5)
    for family, kernel in (
        (kernels.Linear, kernels.Linear(2.0)),
        (kernels.Discounted, kernels.Discounted(0.5, 2.0)),
    ):
        paths, values = drawn(kernel, tree, 1000, 0.2, 0.0, seed=3)
        belief = believing(tree, kernels.Linear(), 1.0, paths, values)
        chosen = learning.choose(belief, [kernels.Linear, kernels.Gaussian, kernels.Discounted])
        assert isinstance(chosen.belief.kernel, family)
        assert chosen.report is chosen.reports[0]
        bics = [report.bic for report in chosen.reports]
        assert bics == sorted(bics)
        alone = learning.fit(belief, family)
        assert chosen.report.likelihood == pytest.approx(alone.report.likelihood, rel=1e-12)


def test_fit_returns_a_new_belief_with_all_observations():
    tree = Tree(3, 4)
    paths, values = drawn(kernels.Linear(), tree, 50, 0.1, 0.0, seed=4)
    old = believing(tree, kernels.Linear(9.0), 3.0, paths, values)
    token = old.pend((0, 0, 0, 0))
    before = pickle.dumps(old)
    new, report = learning.fit(old, kernels.Gaussian)
    assert pickle.dumps(old) == before
    assert len(new) == 50
    assert new.pending == 1
    assert (new.kernel, new.noise, new.mean) == (report.kernel, report.noise, report.mean)
    assert new.log_likelihood() == pytest.approx(report.likelihood, rel=1e-12)
    assert report.before == pytest.approx(old.log_likelihood(), rel=1e-12)
    again = believing(tree, report.kernel, report.noise, paths, values, mean=report.mean)
    assert new.log_likelihood() == pytest.approx(again.log_likelihood(), rel=1e-9)
    np.testing.assert_allclose(new.posterior(paths), again.posterior(paths), rtol=1e-9)
    new.settle(token, 0.5)
    assert "width" in str(report)
    assert "log likelihood" in str(report)


def test_known_parameters_are_kept():
    tree = Tree(3, 4)
    paths, values = drawn(kernels.Gaussian(2.0, 2.0), tree, 200, 0.1, 0.0, seed=5)
    belief = believing(tree, kernels.Linear(), 1.0, paths, values)
    _, report = learning.fit(belief, kernels.Gaussian(None, 2.0), noise=0.1, mean=0.25)
    assert list(report.parameters) == ["width"]
    assert (report.kernel.variance, report.noise, report.mean) == (2.0, 0.1, 0.25)
    _, report = learning.fit(belief, kernels.Gaussian(2.0, 2.0), noise=0.1, mean=0.0)
    assert report.parameters == {}
    assert report.converged


def test_contradictory_exact_observations_are_rejected():
    belief = Belief(Tree(3, 2), kernels.Linear(), 0.1)
    for value in (0.0, 1.0, 5.0):
        belief.observe((0, 0), value)
    with pytest.raises(ValueError, match="contradict each other"):
        learning.fit(belief, kernels.Linear, noise=0.0)
    belief = Belief(Tree(3, 2), kernels.Linear(), 0.1)
    belief.observe((0, 0), 0.0)
    belief.observe((0, 1), 1.0)
    with pytest.raises(ValueError, match="contradict each other"):
        learning.fit(belief, kernels.Chi.of_increments([0.0, 1.0, 0.0]), noise=0.0)
    learning.fit(belief, kernels.Linear, noise=0.0)


def test_a_vague_noise_widens_the_errors_of_other_parameters(monkeypatch):
    tree, kernel = Tree(5, 10), kernels.Gaussian(3.0, 2.0)
    paths, values = drawn(kernel, tree, 1000, 0.3, 0.0, seed=2)
    belief = believing(tree, kernel, 0.3, paths, values)
    wide = learning.fit(belief, kernels.Gaussian).report.parameters
    monkeypatch.setattr(fitting, "VAGUE", math.inf)
    narrow = learning.fit(belief, kernels.Gaussian).report.parameters
    assert wide["noise"].error > 0.2 * wide["noise"].value
    assert wide["width"].error > 1.1 * narrow["width"].error


def test_observations_with_their_own_noise_keep_it():
    belief = Belief(Tree(3, 2), kernels.Linear(), 1.0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        belief.observe(tuple(rng.integers(3, size=2).tolist()), rng.normal(), noise=0.7)
    new, _ = learning.fit(belief, kernels.Linear)
    assert set(new.observations["variance"]) == {0.7**2}


# ---------------------------------------------------------------------- units


@given(st.integers(-40, 40), st.integers(0, 5))
@settings(max_examples=8)
def test_a_power_of_two_changes_no_bit(exponent, seed):
    tree = Tree(3, 5)
    paths, values = drawn(kernels.Geometric(0.6), tree, 60, 0.2, 1.0, seed)
    plain = learning.fit(believing(tree, kernels.Linear(), 1.0, paths, values), kernels.Geometric)
    factor = 2.0**exponent
    scaled = believing(tree, kernels.Linear(), 1.0, paths, values * factor)
    scaled = learning.fit(scaled, kernels.Geometric)
    assert scaled.report.kernel.ratio == plain.report.kernel.ratio
    assert scaled.report.kernel.variance == plain.report.kernel.variance * factor**2
    assert scaled.report.noise == plain.report.noise * factor
    assert scaled.report.mean == plain.report.mean * factor


def test_other_units_change_only_the_units():
    check_units(0.37, 1234.5, seed=0)


@pytest.mark.thorough
@given(st.floats(0.01, 100.0), st.floats(-100.0, 100.0), st.integers(0, 5))
def test_any_units_change_only_the_units(factor, shift, seed):
    check_units(factor, shift, seed)


def check_units(factor, shift, seed):
    tree = Tree(3, 5)
    paths, values = drawn(kernels.Geometric(0.6), tree, 60, 0.2, 1.0, seed)
    for family in (kernels.Geometric, kernels.Gaussian, kernels.Chi):
        plain = learning.fit(believing(tree, kernels.Linear(), 1.0, paths, values), family)
        other = believing(tree, kernels.Linear(), 1.0, paths, shift + values * factor)
        other = learning.fit(other, family)
        np.testing.assert_allclose(
            other.report.kernel.increments(5),
            plain.report.kernel.increments(5) * factor**2,
            rtol=1e-6,
        )
        assert other.report.noise == pytest.approx(plain.report.noise * factor, rel=1e-6)
        assert other.report.mean == pytest.approx(
            shift + plain.report.mean * factor, rel=1e-6, abs=1e-6 * factor
        )


# ---------------------------------------------------------------------- few or unusual observations


UNUSUAL = {
    "one": [3.0],
    "two": [3.0, 4.0],
    "two alike": [3.0, 3.0],
    "three": [3.0, 4.0, 2.0],
    "zero": [0.0],
    "all zero": [0.0] * 20,
    "all equal": [7.0] * 50,
    "one outlier": [0.1, -0.2, 0.3, 1e6, 0.2, -0.1, 0.0, 0.4, 0.2, 0.3],
    "zeros and ones": [0.0, 1.0] * 30,
    "huge": [1e49, -1e49, 5e48],
    "tiny": [1e-40, 2e-40, -1e-40],
    "heavy tails": np.tan(np.linspace(-1.57, 1.57, 60)).tolist(),
    "next to each other": [1.0, 1.0 + 2.0**-52, 1.0 - 2.0**-52],
}


def unusual_fit(tree, family, name):
    """Return a parameter set, which is thorough if it is not essential."""
    essential = name in ("one", "all equal") or (family is kernels.Chi and tree.depth == 4)
    marks = () if essential else pytest.mark.thorough
    return pytest.param(tree, family, name, marks=marks, id=f"{tree}-{family.__name__}-{name}")


@pytest.mark.parametrize(
    ("tree", "family", "name"),
    [
        unusual_fit(tree, family, name)
        for tree in (Tree(3, 4), Tree(1, 1), Tree(2, 0))
        for family in (*kernels.named().values(), kernels.Chi)
        for name in UNUSUAL
    ],
)
def test_unusual_observations_give_sane_parameters(tree, family, name):
    values = UNUSUAL[name]
    rng = np.random.default_rng(0)
    belief = Belief(tree, kernels.Linear(), 1.0)
    for y in values:
        belief.observe(tuple(rng.integers(tree.counts).tolist()) if tree.depth else (), y)
    new, report = learning.fit(belief, family)
    v = report.kernel.increments(tree.depth)
    _, spread = location_and_scale(belief)
    assert np.isfinite(v).all()
    assert 1e-3 * spread * (1 - 1e-9) <= report.noise <= 3 * spread
    assert min(values) - spread <= report.mean <= max(values) + spread
    assert math.isfinite(report.likelihood)
    if tree.arms > 1:
        assert v[1:].sum() > 1e-3 * spread**2  # never collapsed
    mean, std = new.posterior([(0,) * tree.depth])
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


def test_few_data_do_not_collapse_the_variance():
    """Maximum likelihood without a prior sometimes finds a quarter of the truth or less."""
    too_small, _ = variances_too_small([0, 21, 37])
    assert too_small == {WEAK: 0.0, FLAT: 2 / 3}


@pytest.mark.thorough
def test_few_data_do_not_collapse_the_variance_on_average():
    too_small, median = variances_too_small(range(60))
    assert too_small[WEAK] == 0.0
    assert too_small[FLAT] > 0.0
    assert median[WEAK] > median[FLAT]


def variances_too_small(seeds):
    """Return how often the variance is below a quarter of the truth, and its median, by prior."""
    tree = Tree(5, 6)
    kernel = kernels.Geometric(0.6)
    found = {WEAK: [], FLAT: []}
    for seed in seeds:
        paths, values = drawn(kernel, tree, 8, 0.1, 0.0, seed)
        belief = believing(tree, kernel, 0.1, paths, values)
        for prior, variances in found.items():
            _, report = learning.fit(belief, kernels.Geometric, prior=prior)
            variances.append(report.kernel.variance)
    too_small = {prior: np.mean(np.array(v) < 0.25) for prior, v in found.items()}
    return too_small, {prior: np.median(v) for prior, v in found.items()}


# ---------------------------------------------------------------------- errors


def test_errors_name_the_argument():
    tree = Tree(3, 2)
    belief = Belief(tree, kernels.Linear(), 1.0)
    with pytest.raises(ValueError, match="no observations yet"):
        learning.fit(belief, kernels.Linear)
    belief.observe((0, 0), 1.0)
    for call, message in (
        (lambda: learning.fit("belief", kernels.Linear), "belief must be a bough.Belief"),
        (lambda: learning.fit(belief, "Gaussian"), "family must be a class of kernels"),
        (lambda: learning.fit(belief, int), "family must be a class of kernels"),
        (lambda: learning.fit(belief, kernels.Linear, noise=-1.0), "noise must not be negative"),
        (lambda: learning.fit(belief, kernels.Linear, mean=math.nan), "mean must be"),
        (lambda: learning.fit(belief, kernels.Linear, prior=1.0), "prior must be"),
        (lambda: learning.choose(belief, []), "families is empty"),
        (lambda: learning.choose(belief, int), "family must be a class"),
        (lambda: learning.fit(belief, kernels.Linear, mean=lambda path: math.nan), "mean"),
        (lambda: learning.fit(belief, kernels.Linear, mean=lambda path: "x"), "mean"),
        (lambda: learning.Prior(noise=0.1), "noise must be a LogNormal"),
        (lambda: learning.Prior(variance=-1.0), "variance must be"),
        (lambda: learning.LogNormal(0.1, 0.0, 1e-3, 1.0), "sigma > 0"),
        (lambda: Heuristic(3.0), "a heuristic is a function"),
        (lambda: Belief(tree, kernels.Gaussian(None), 1.0), "width is None"),
        (lambda: kernels.Chi(None).increments(3), "values is None"),
        (lambda: kernels.Gaussian(-1.0), "width must be"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            call()
