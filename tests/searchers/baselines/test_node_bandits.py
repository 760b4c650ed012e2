"""NodeBandits against dense algebra and enumeration, its fit, bad input."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import noise_of

import bough
from bough import Confidence, Tree, kernels
from bough.baselines import NodeBandits
from bough.searchers.baselines.node_bandits import _Evidence, _Gram, _Rewards


def features(path):
    return (float(path[-1]), float(path[-1] % 2))


BETWEEN = {
    "independent": {},
    "same": {"labels": lambda path: path[-1] % 2},
    "rbf": {"labels": features, "between": kernels.RBF(1.5)},
    "linear": {"labels": features, "between": kernels.LinearFeatures()},
}


def gram(kind, B):
    if kind == "independent":
        return np.eye(B)
    if kind == "same":
        return np.array([[float(i % 2 == j % 2) for i in range(B)] for j in range(B)])
    kernel = {"rbf": kernels.RBF(1.5, 1.0), "linear": kernels.LinearFeatures(1.0)}[kind]
    return kernel.matrix([features((k,)) for k in range(B)])


def dense_upper(K, plays, noise, variance, center, width):
    """Return the upper bounds of the children of a node, from (child, reward) pairs."""
    K = variance * K
    if not plays:
        return center + width * np.sqrt(K.diagonal())
    at, y = [k for k, _ in plays], np.array([r for _, r in plays])
    C = K[np.ix_(at, at)] + noise**2 * np.eye(len(at))
    mean = center + K[:, at] @ np.linalg.solve(C, y - center)
    spread = K.diagonal() - np.einsum("ij,ji->i", K[:, at], np.linalg.solve(C, K[at]))
    return mean + width * np.sqrt(np.maximum(spread, 0.0))


@given(
    st.sampled_from(list(BETWEEN)),
    st.booleans(),
    st.sampled_from([(3, 2), (3, 3), (2, 4)]),
    st.integers(0, 99),
)
def test_paths_have_the_highest_bounds(kind, stepwise, size, seed):
    """By dense algebra at every node, and by enumeration of the paths."""
    B, D = size
    noise, variance, mean = 0.3, 0.8, 0.25
    search = NodeBandits(
        Tree(B, D),
        noise=noise,
        variance=variance,
        mean=mean,
        confidence=Confidence(scale=0.5),
        rng=seed,
        **BETWEEN[kind],
    )
    log_children = math.log(sum(B**i for i in range(1, D + 1)))
    K, told = gram(kind, B), []
    for t in range(10):
        path = search.ask()

        @functools.cache
        def upper(node, told=tuple(told)):
            plays = [
                (p[len(node)], rewards[len(node)] if stepwise else sum(rewards))
                for p, rewards in told
                if p[: len(node)] == node
            ]
            width = Confidence(scale=0.5).sqrt_beta(len(plays) + 1, log_children)
            return dense_upper(K, plays, noise, variance, mean, width)

        if stepwise:

            def total(p, upper=upper):
                return sum(upper(p[:i])[p[i]] for i in range(D))

            # Below a node that was never played all children count alike: the best is expected.
            best = max(map(total, itertools.product(range(B), repeat=D)))
            known = next((i for i in range(D) if not any(p[:i] == path[:i] for p, _ in told)), D)
            rest = sum(upper(path[:i]).max() for i in range(known, D))
            reached = sum(upper(path[:i])[path[i]] for i in range(known)) + rest
            if kind != "linear":  # whose unplayed nodes differ from the bound before they are seen
                assert reached == pytest.approx(best, abs=1e-9)
        else:
            for i in range(D):
                if any(p[:i] == path[:i] for p, _ in told):
                    bounds = upper(path[:i])
                    assert bounds[path[i]] == pytest.approx(bounds.max(), abs=1e-9)
        rewards = [noise_of(i, path[: i + 1]) + 0.1 * noise_of(t, i) for i in range(D)]
        told.append((path, rewards))
        if stepwise:
            search.tell(path, steps=rewards)
        else:
            search.tell(path, sum(rewards))


@given(
    st.sampled_from(["independent", "rbf"]),
    st.booleans(),
    st.sampled_from([0.1, 1.0, 7.0]),
    st.integers(0, 999),
)
def test_the_likelihood_of_a_node_is_that_of_its_rewards(kind, flat, ratio, seed):
    """With a flat prior of the mean it is that of contrasts, up to a constant."""
    rng = np.random.default_rng(seed)
    K, at = gram(kind, 4), rng.integers(0, 4, size=rng.integers(2, 9))
    y = rng.standard_normal(len(at)) + 5.0
    table = {}
    for k, r in zip(at.tolist(), y.tolist(), strict=True):
        table.setdefault(k, _Rewards()).add(r)
    prior = None if kind == "independent" else _Gram(K, ())
    found = _Evidence([table], prior, 4.5, flat).terms(ratio)
    C = K[np.ix_(at, at)] + ratio * np.eye(len(at))
    ones = np.ones(len(at))
    if flat:
        P = np.linalg.inv(C)
        P -= np.outer(P @ ones, P @ ones) / (ones @ P @ ones)
        squares = y @ P @ y
        logs = np.linalg.slogdet(C)[1] + math.log(ones @ np.linalg.solve(C, ones))
    else:
        squares = (y - 4.5) @ np.linalg.solve(C, y - 4.5)
        logs = np.linalg.slogdet(C)[1]
    assert found[0] == pytest.approx(squares, rel=1e-9)
    constant = sum(math.log(r.count) for r in table.values())  # the means of repeated rewards
    assert found[1] + constant == pytest.approx(logs, abs=1e-9)
    assert found[2] == len(at) - flat


def test_the_fit_recovers_signal_and_noise():
    """From many nodes of the second depth, with the first of another scale."""
    rng = np.random.default_rng(0)
    tree, noise = Tree(6, 2), (0.5, 0.05)
    effects = [2.0 * rng.standard_normal(6), 0.5 * rng.standard_normal((6, 6))]
    variance = [float(e.var()) for e in effects]
    search = NodeBandits(tree, rng=0)
    for _ in range(400):
        a, b = rng.integers(0, 6, size=2)
        steps = [
            1.0 + effects[0][a] + noise[0] * rng.standard_normal(),
            effects[1][a, b] + noise[1] * rng.standard_normal(),
        ]
        search.tell((int(a), int(b)), steps=steps)
    for level, s, v in zip(search._levels, noise, variance, strict=True):
        assert 0.4 * v < level.scale**2 < 2.5 * v
        assert 0.5 * s < level.scale * math.sqrt(level.ratio) < 2.0 * s


def test_labels_say_which_children_are_alike():
    """With smooth rewards of features, fewer children need to be tried."""

    def regret(options):
        total = 0.0
        for seed in range(5):
            search = NodeBandits(Tree(60, 2), rng=seed, **options)
            centers = np.random.default_rng(seed).uniform(0, 59, 2)
            for _ in range(40):
                path = search.ask()
                search.tell(path, steps=[-(((k - c) / 20) ** 2) for k, c in zip(path, centers)])  # noqa: B905
            best = search.best("mean").path
            total += sum(((k - c) / 20) ** 2 for k, c in zip(best, centers, strict=True))
        return total / 5

    smooth = {"labels": lambda path: (path[-1] / 20,), "between": kernels.RBF(1.0)}
    assert regret(smooth) < 0.2 * regret({})


def test_values_after_steps():
    """A reward without steps makes all bandits learn the rewards of paths."""
    search, other = NodeBandits(Tree(3, 3), rng=0), NodeBandits(Tree(3, 3), rng=0)
    rng = np.random.default_rng(0)
    for t in range(30):
        path = tuple(rng.integers(0, 3, 3).tolist())
        steps = rng.standard_normal(3).tolist()
        other.tell(path, math.fsum(steps))
        if t < 20:
            search.tell(path, steps=steps)
        else:
            search.tell(path, math.fsum(steps))
    for _ in range(10):
        path = search.ask()
        assert path == other.ask()
        for one in (search, other):
            one.tell(path, float(sum(path)))


def test_deep_trees():
    search = NodeBandits(Tree(2, 600), rng=0)
    for _ in range(3):
        path = search.ask()
        search.tell(path, steps=[float(k) for k in path])
    assert search.best().visits == 1


def test_by_name():
    result = bough.maximize(
        lambda p: -sum(p), Tree(3, 4), budget=200, searcher="node_bandits", rng=0
    )
    assert sum(result.best.path) <= 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"labels": 3}, TypeError, "labels must be a function"),
        ({"between": kernels.RBF(1.0)}, ValueError, "pass labels="),
        ({"labels": features, "between": kernels.RBF()}, ValueError, "length of between must be"),
        ({"labels": features, "between": kernels.RBF}, TypeError, "between must be a kernel"),
        ({"labels": features, "between": 2}, TypeError, "between must be a kernel"),
        (
            {"labels": features, "between": kernels.RBF(1.0, 1.0), "variance": 2.0},
            ValueError,
            "give one of them",
        ),
        ({"noise": 0.0}, ValueError, "noise must be"),
        ({"variance": [1.0]}, ValueError, "variance has 1 entries"),
        ({"mean": math.nan}, ValueError, "mean must be finite"),
        ({"confidence": 0.1}, TypeError, "confidence must be a bough.Confidence"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        NodeBandits(Tree(2, 2), **options)


class Indefinite:
    def matrix(self, labels):
        return 2.0 - np.eye(len(labels))


@pytest.mark.parametrize(
    ("labels", "between", "error", "message"),
    [
        (lambda path: [path[-1]], None, TypeError, "labels must return something hashable"),
        (lambda path: (math.nan,), kernels.RBF(1.0), ValueError, "finite features"),
        (lambda path: "a", kernels.RBF(1.0), TypeError, "vector of features"),
        (lambda path: (0.0,) * path[-1] + (1.0,), kernels.RBF(1.0), ValueError, "features"),
        (features, Indefinite(), ValueError, "positive semidefinite"),
    ],
)
def test_bad_labels_change_nothing(labels, between, error, message):
    search = NodeBandits(Tree(3, 2), labels=labels, between=between, rng=0)
    with pytest.raises(error, match=message):
        search.tell((0, 1), 1.0)
    assert search.observations == 0
    assert not search.pending
