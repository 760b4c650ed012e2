"""Kernels between labels: matrices by their definition, gradients by differences, bad input."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from label_strategies import CASES, strengths
from oracle import nodes_of

from bough import GPTS, Belief, ObjectiveError, Tree, kernels, maximize

VECTORS = [(0.0, 1.0), (1.5, -0.5), (0.0, 0.9), (-2.0, 0.25)]
BETWEEN = [
    kernels.LinearFeatures(0.7), kernels.RBF(1.3, 0.7),
    *(kernels.Matern(0.9, nu, 0.7) for nu in (0.5, 1.5, 2.5)),
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_matrices_by_their_definition(name):
    case, depth = CASES[name], 3
    kernel = kernels.Labeled(
        kernels.Linear(1.2), labels=case.label, between=case.between, decay=0.8
    )
    paths = [(0, 1, 2), (2, 1, 0), (0, 1, 1), (1, 1, 1)]
    s = strengths(0.8, depth)

    def covariance(a, b):
        total = sum(kernel.increments(depth)[len(n)] for n in set(nodes_of(a)) & set(nodes_of(b)))
        for i in nodes_of(a)[1:]:
            for j in nodes_of(b)[1:]:
                total += s[len(i)] * s[len(j)] * float(case.k(case.label(i), case.label(j)))
        return total

    expected = [[covariance(a, b) for b in paths] for a in paths]
    np.testing.assert_allclose(kernel.matrix(paths, depth), expected, atol=1e-12)


@pytest.mark.parametrize("between", BETWEEN)
def test_gradients_are_those_of_differences(between):
    numerical = kernels.LabelKernel.gradients(between, VECTORS)
    exact = between.gradients(VECTORS)
    assert exact.keys() == numerical.keys()
    for name in exact:
        np.testing.assert_allclose(exact[name], numerical[name], atol=1e-7)


@pytest.mark.parametrize("between", BETWEEN)
def test_matrices_between_others_are_parts_of_one(between):
    whole = between.matrix(VECTORS)
    np.testing.assert_allclose(between.matrix(VECTORS[:2], VECTORS[2:]), whole[:2, 2:], atol=1e-14)
    assert np.linalg.eigvalsh(whole).min() > -1e-12


@given(st.floats(0.1, 5.0), st.floats(0.1, 5.0))
def test_effects_that_are_carried_over(variance, noise):
    """Searching on with what is known is as searching on in the same belief."""
    labels, tree = (lambda path: path[-1]), Tree(3, 2)
    kernel = kernels.Labeled(kernels.Chi((0.0, 0.0, 0.0)), labels=labels,
                             between=kernels.Same(variance))  # fmt: skip
    one = Belief(tree, kernel, noise)
    for path, y in [((0, 1), 1.0), ((1, 1), -0.5), ((0, 0), 2.0)]:
        one.observe(path, y)
    two = Belief(tree, one.carry_over(), noise)
    for belief in (one, two):
        belief.observe((2, 1), 0.3)
        belief.observe((0, 1), 0.7)
    paths = [(0, 1), (2, 2), (1, 0)]
    for a, b in zip(one.posterior(paths), two.posterior(paths), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


# ---------------------------------------------------------------------- bad input


def last(path):
    return path[-1]


class Bad:
    """Labels that are fine at first."""

    def __init__(self, good, bad):
        self.good, self.bad, self.is_bad = good, bad, False

    def __call__(self, path):
        label = self.bad if self.is_bad else self.good
        return label(path)


def raising(path):
    raise KeyError("no such thing")


def decoding(path):
    return b"\xff".decode("ascii")


def features(path):
    return float(path[-1]), 1.0


RBF = kernels.RBF(1.0, 1.0)
LINEAR = kernels.LinearFeatures(1.0)


@pytest.mark.parametrize(
    ("between", "good", "bad", "error", "words"),
    [
        (None, last, lambda path: [path[-1]], TypeError, r"labels\(\([02],\)\).*hashable"),
        (None, last, raising, KeyError, "no such thing"),
        (None, last, decoding, UnicodeDecodeError, "ascii"),
        (RBF, features, lambda path: (1.0, 2.0, float(path[-1])), ValueError, "features"),
        (LINEAR, features, lambda path: (1.0, 2.0, 3.0), ValueError, "number of features"),
        (RBF, features, lambda path: (math.nan, 1.0), ValueError, r"labels\(\([02],\)\).*finite"),
        (RBF, features, lambda path: "text", TypeError, r"labels\(\([02],\)\).*features"),
        (None, last, lambda path: len(path) + 7 if len(path) == 2 else [], TypeError, "hashable"),
    ],
)
def test_bad_labels_change_nothing(between, good, bad, error, words):
    labels = Bad(good, bad)
    belief = Belief(
        Tree(4, 2),
        kernels.Labeled(kernels.Linear(1.0), labels=labels, between=between or kernels.Same(1.0)),
        0.1,
    )
    belief.observe((0, 1), 1.0)
    before = state_of(belief)
    labels.is_bad = True
    for call in (
        lambda: belief.observe((2, 3), 1.0),
        lambda: belief.observe_step((2, 3), 1.0, noise=0.1),
        lambda: belief.observe_steps((2, 3), [1.0, 2.0], noise=0.1),
        lambda: belief.pend((2, 3)),
        lambda: belief.posterior([(0, 1), (2, 3)]),
        lambda: belief.covariance([(0, 1), (2, 3)]),
    ):
        with pytest.raises(error, match=words):
            call()
    labels.is_bad = False
    assert state_of(belief) == before


def state_of(belief):
    return (
        belief.nodes.tobytes(), list(belief.effects.keys), belief.effects.size, len(belief),
        belief.pending, *(x.tobytes() for x in belief.posterior([(0, 1), (2, 3)])),
    )  # fmt: skip


@pytest.mark.parametrize("between", [kernels.Same(1.0), RBF, LINEAR])
def test_nodes_without_a_label(between):
    kernel = kernels.Labeled(kernels.Linear(1.0), labels=lambda path: None, between=between)
    with_none, without = (Belief(Tree(3, 2), k, 0.1) for k in (kernel, kernels.Linear(1.0)))
    for belief in (with_none, without):
        belief.observe((0, 1), 1.0)
    paths = [(0, 1), (0, 2), (1, 1)]
    for a, b in zip(with_none.posterior(paths), without.posterior(paths), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_labels_that_change():
    labels = Bad(last, lambda path: path[-1] + 10)
    belief = Belief(Tree(4, 2), kernels.Labeled(kernels.Linear(1.0), labels=labels,
                    between=kernels.Same(1.0)), 0.1)  # fmt: skip
    belief.observe((0, 1), 1.0)
    before = state_of(belief)
    labels.is_bad = True
    with pytest.raises(ValueError, match=r"labels\(\(0,\)\) was 0 and is 10 now"):
        belief.observe((0, 2), 1.0)
    labels.is_bad = False
    assert state_of(belief) == before


def test_a_path_that_is_refused_leaves_no_labels():
    belief = Belief(Tree(4, 2), kernels.Labeled(kernels.Linear(0.0), labels=last,
                    between=kernels.Same(1.0)), 0.0)  # fmt: skip
    belief.observe((0, 1), 1.0)
    before = state_of(belief)
    with pytest.raises(ValueError, match="unknown node below"):
        belief.observe((2,), 1.0, depth=2)
    with pytest.raises(ValueError, match="contradicts"):
        belief.observe((1, 0), 1.5)  # the labels of (0, 1)
    assert state_of(belief) == before
    belief.observe((1, 0), 1.0)  # again, and consistent


def test_functions_may_use_the_belief():
    def labels(path):
        if asking:
            belief.posterior([(3, 3)])
            belief.highest_mean()
        return path[-1]

    def mean(path):
        if asking:
            belief.posterior([(1, 3)])
        return 0.5 * len(path)

    asking = False
    kernel = kernels.Labeled(kernels.Linear(1.0), labels=labels, between=kernels.Same(1.0))
    belief, other = (Belief(Tree(4, 2), kernel, 0.1, mean=mean) for _ in range(2))
    paths = [(0, 1), (2, 3), (1, 1)]
    for path in paths:
        other.observe(path, 1.0)
    for path in paths:
        asking = True
        belief_before = len(belief.effects.keys)
        try:
            belief.observe(path, 1.0)
        except RecursionError:  # labels that ask for labels
            assert len(belief.effects.keys) == belief_before
            asking = False
            belief.observe(path, 1.0)
        asking = False
    for a, b in zip(belief.posterior(paths), other.posterior(paths), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_kernels_that_are_not_positive_definite():
    kernel = kernels.Paths(lambda a, b: 1.0 if a == b else -0.9)
    belief = Belief(Tree(4, 1), kernel, 0.1)
    belief.observe((0,), 1.0)
    belief.observe((1,), 1.0)
    keys = list(belief.effects.keys)
    with pytest.raises(ValueError, match="not positive definite"):
        belief.observe((2,), 1.0)
    assert list(belief.effects.keys) == keys
    assert len(belief) == 2


def test_a_kernel_of_paths_that_is_not_positive_definite_is_refused_before_it_is_played():
    kernel = kernels.Paths(lambda a, b: 1.0 if a == b else -5.0)
    search = GPTS(Tree(3, 2), kernel, 0.1, rng=0)
    search.tell(search.ask(), 1.0)
    with pytest.raises(ValueError, match="not positive definite"):
        search.ask()


def test_labels_that_do_not_equal_themselves():
    same = kernels.Same(1.0)
    kernel = kernels.Labeled(kernels.Linear(1.0), labels=lambda path: math.nan, between=same)
    belief = Belief(Tree(2, 1), kernel, 0.1)
    with pytest.raises(ValueError, match="must equal itself, got nan; None means no label"):
        belief.observe((0,), 1.0)
    assert len(belief) == 0
    assert not belief.effects.keys


def test_an_error_of_labels_is_not_one_of_the_objective():
    answers = itertools.count()
    kernel = kernels.Labeled(kernels.Linear(1.0), labels=lambda path: next(answers))
    search = GPTS(Tree(2, 2), kernel, 0.1, rng=0)
    with pytest.raises(ObjectiveError, match="searcher refused the value .* same label"):
        maximize(sum, search.tree, budget=5, searcher=search, progress=False)


def test_too_many_labels():
    kernel = kernels.Labeled(kernels.Linear(1.0), labels=tuple, between=kernels.Same(1.0))
    belief = Belief(Tree(2, 2500), kernel, 0.1)
    with pytest.raises(ValueError, match="more than 2000 different labels"):
        belief.observe((0,) * 2500, 1.0)
    assert belief.effects.size == len(belief) == 0
    belief.observe((0,), 1.0)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: kernels.Labeled(kernels.Linear(), labels=3), TypeError, "labels must be"),
        (lambda: kernels.Labeled(kernels.Linear(), labels=last, between=kernels.RBF), TypeError,
         "instance"),
        (lambda: kernels.Labeled(kernels.Labeled(kernels.Linear(), labels=last), labels=last),
         TypeError, "labels already"),
        (lambda: kernels.Matern(1.0, 2.0), ValueError, "nu must be"),
        (lambda: kernels.Paths(3), TypeError, "function"),
    ],
)  # fmt: skip
def test_bad_arguments(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_rollouts_are_refused():
    kernel = kernels.Labeled(kernels.Linear(1.0), labels=last, between=kernels.Same(1.0))
    with pytest.raises(ValueError, match="rollout"):
        GPTS(Tree(2, 2), kernel, 0.1, growth="rollout")
