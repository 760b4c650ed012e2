"""Effects of labels in figures and the report, and all of these for kernels with labels."""

import json

import numpy as np
import pytest

import bough
from bough import kernels, plotting
from bough.plotting.view import SearchView
from bough.report import page
from bough.report.snapshot import snapshot
from bough.run.render import fitted_facts, fitted_text

HOSTILE = "</script><script>window.hacked = 1</script>"
TREE = bough.Tree(3, 3)


def letter(path):
    return ("abc"[path[-1]], len(path))


def searched(kernel, budget=12, minimizes=False, **options):
    rng = np.random.default_rng(0)
    search = bough.GPTS(TREE, kernel, rng=0, **options)
    run = bough.minimize if minimizes else bough.maximize
    return run(lambda path: sum(path) + 0.1 * rng.normal(), TREE, searcher=search, budget=budget)


def known_kernel(labels=letter):
    return kernels.Labeled(kernels.Linear(0.5), labels=labels, between=kernels.Same(0.8))


def test_effects_are_those_of_dense_algebra():
    """Each beside the average of the labels of its depth, given the values so far."""
    result = searched(known_kernel(), noise=0.1)
    data = plotting.effects_data(result)
    paths, values = zip(*((t.path, t.value) for t in result.history.trials), strict=True)
    on = [{letter(p[:i]) for i in (1, 2, 3)} for p in paths]
    labels = sorted(set().union(*on))
    has = np.array([[label in those for those in on] for label in labels])
    K = known_kernel().matrix(paths, 3) + 0.01 * np.eye(len(paths))
    k = 0.8 * has
    mean = k @ np.linalg.solve(K, values)
    covariance = 0.8 * np.eye(len(labels)) - k @ np.linalg.solve(K, k.T)
    depth = np.array([label[1] for label in labels])
    beside = np.eye(len(labels)) - (depth[:, None] == depth) / (depth[:, None] == depth).sum(axis=1)
    mean, covariance = beside @ mean, beside @ covariance @ beside.T
    order = np.argsort(-mean)
    assert data.labels == [f"{labels[i][0]} {labels[i][1]}" for i in order]
    np.testing.assert_allclose(data.mean, mean[order], atol=1e-9)
    np.testing.assert_allclose(data.std, np.sqrt(np.diag(covariance))[order], atol=1e-8)
    assert data.visits.tolist() == [int(has[i].sum()) for i in order]
    assert data.total == len(labels)


def test_the_best_effect_comes_first():
    data = plotting.effects_data(searched(known_kernel(), minimizes=True, noise=0.1, budget=20))
    assert data.mean[0] == data.mean.min() < 0.0 < data.mean[-1]
    assert data.labels[0].startswith("a")
    result = searched(known_kernel(), noise=0.1)
    two, belief = plotting.effects_data(result, 2), result.searcher.belief
    assert len(two.labels) == 2 < two.total
    assert plotting.effects_data(belief).labels == plotting.effects_data(result).labels


def test_without_labels_there_are_no_effects():
    plain = bough.GPTS(TREE, kernels.Linear(1.0), noise=0.1, rng=0)
    unobserved = bough.GPTS(TREE, known_kernel(), noise=0.1, rng=0)
    of_paths = searched(kernels.Paths(lambda a, b: float(a[0] == b[0])), noise=0.1)
    for source in (plain, unobserved, of_paths):
        assert plotting.effects_data(source) is None
    assert snapshot(of_paths)["effects"] is None
    assert snapshot(searched(None))["effects"] is None


def test_the_prior_of_nodes_counts_labels():
    view = SearchView.of(searched(known_kernel(), noise=0.1))
    paths = [(), (0,), (0, 1), (2, 2, 2)]
    expected = [0.125, 0.25 + 0.8, 0.375 + 1.6, 0.5 + 2.4]
    np.testing.assert_allclose(view.prior_std(paths) ** 2, expected)
    model = kernels.Labeled(
        kernels.Linear(0.5),
        labels=lambda path: (float(path[-1]), 1.0),
        between=kernels.RBF(1.3, 0.7),
        decay=0.6,
    ).label_model
    paths = [(0, 1, 2), (2, 2, 2), (1, 0)]
    np.testing.assert_allclose(
        model.variances(paths, [True, True, False], 3),
        np.diag(model.matrix(paths, [True, True, False], 3)),
    )


@pytest.mark.parametrize(
    "kernel",
    [
        known_kernel(),
        known_kernel(lambda path: f"{HOSTILE} $x_{path[-1]}"),
        kernels.Paths(lambda a, b: sum(x == y for x, y in zip(a, b, strict=True)) / 3),
        kernels.Labeled(
            kernels.Linear(0.5),
            labels=lambda path: (path[-1], 1.0),
            between=kernels.LinearFeatures(0.3),
        ),
    ],
    ids=["labels", "hostile", "paths", "features"],
)
def test_all_figures_and_the_page(kernel):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("plotly")
    pyplot.switch_backend("agg")
    result = searched(kernel, noise=0.1, budget=6)
    for kind in plotting.DRAWINGS:
        truth = {"optimum": 6.0} if kind == "regret" else {}
        result.plot(kind, **truth).figure.canvas.draw()
        pyplot.close("all")
    assert HOSTILE not in page(result)
    json.dumps(snapshot(result), allow_nan=False)
    assert "0x" not in repr(result.searcher)  # no address of a function


def test_the_bound_of_the_theory_is_about_kernels_of_prefixes():
    result = searched(known_kernel(), noise=0.1)
    assert not len(plotting.regret_data(result, 6.0).bound)


def test_effects_are_carried_over():
    kernel = searched(known_kernel(), noise=0.1).searcher.belief.carry_over()
    result = searched(kernel, noise=0.1, budget=4)
    assert plotting.effects_data(result).total
    facts = fitted_facts(result.searcher.belief)
    json.dumps(facts)
    assert facts["labels"] == {"kernel": "Carried", "parameters": {"variance": 0.8}, "decay": 1.0}


def test_fitted_kernels_in_words():
    belief = bough.Belief(TREE, known_kernel(), 0.1)
    text = "linear kernel (variance 0.5) + labels (variance 0.8), noise 0.1, mean 0"
    assert fitted_text(fitted_facts(belief)) == text
    smooth = kernels.Labeled(
        kernels.Linear(0.5), labels=len, between=kernels.RBF(2.0, 0.3), decay=0.5
    )
    text = fitted_text(fitted_facts(bough.Belief(TREE, smooth, 0.1)))
    assert "+ labels (RBF: length 2, variance 0.3, decay 0.5)" in text
    of_paths = kernels.Paths(lambda a, b: 1.0, scale=2.0)
    facts = fitted_facts(bough.Belief(TREE, of_paths, 0.1))
    assert facts["parameters"] == {"scale": 2.0}
