"""GPB: dense algebra as the truth, GPTS as its twin, acquisition rules by hand."""

import itertools
import math

import numpy as np
import pytest
from strategies import Ragged, noise_of

from bough import GPB, GPTS, Confidence, Exhausted, Tree, kernels


def dense(K, played, y, noise, mean=0.0):
    """Return the posterior mean and standard deviation of all arms."""
    if not played:
        return np.full(len(K), mean), np.sqrt(K.diagonal())
    inverse = np.linalg.inv(K[np.ix_(played, played)] + np.diag(noise))
    means = mean + K[:, played] @ inverse @ (np.array(y) - mean)
    variances = K.diagonal() - np.einsum("ij,jk,ik->i", K[:, played], inverse, K[:, played])
    return means, np.sqrt(np.maximum(variances, 0.0))


@pytest.mark.parametrize("given", ["matrix", "function", "kernel"])
def test_the_posterior_is_that_of_dense_algebra(given):
    """Also when there are more observations than arms, and each with a noise of its own."""
    tree, kernel = Tree(Ragged(3, 4), 4), kernels.Gaussian(2.0, 3.0)
    probe = GPB(tree, kernel, 0.2)
    paths = probe.tallies.paths
    K = kernel.matrix(paths, 4)
    prior = {"matrix": K, "function": lambda a, b: kernel(a, b, 4), "kernel": kernel}[given]
    search = GPB(tree, prior, 0.2, mean=0.7, rng=0)
    played, y, noise = [], [], []
    for t in range(3 * len(paths)):
        means, std = dense(K, played, y, noise, mean=0.7)
        found = search.posterior()
        assert found[0] == pytest.approx(means, abs=1e-9)
        assert found[1] == pytest.approx(std, abs=1e-9)
        path = search.ask() if t % 2 else paths[(7 * t) % len(paths)]
        own = 0.5 if t % 5 == 0 else None
        played.append(paths.index(path))
        y.append(noise_of(1, path) + 0.2 * noise_of(2, t))
        noise.append((own or 0.2) ** 2)
        search.tell(path, y[-1], noise=own)
    assert search.best("mean").mean == pytest.approx(search.posterior()[0].max(), abs=1e-2)


@pytest.mark.parametrize("given", ["matrix", "kernel"])
@pytest.mark.parametrize(
    "kernel", [kernels.Linear(), kernels.Gaussian(2.0), kernels.Discounted(0.7)]
)
@pytest.mark.parametrize("noise", [0.1, 0.0])
@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_it_is_gpts_play_for_play(kernel, given, noise, scale):
    """Given the tree's kernel matrix both play an arm with the same upper bound, up to ties.

    Both get the rewards of the arms that GPTS plays, so that they agree after a tie.
    """
    tree = Tree(3, 3)
    paths = list(itertools.product(range(3), repeat=3))
    prior = kernel.matrix(paths, 3) if given == "matrix" else kernel
    confidence = Confidence(scale=scale)
    twin = GPTS(tree, kernel, noise, select="arm", confidence=confidence, rng=0)
    search = GPB(tree, prior, noise, confidence=confidence, rng=1)
    decided = 0
    known = set()
    for t in range(60 if noise else 27):
        theirs, ours = twin.ask(), search.ask()
        b = confidence.sqrt_beta(t + 1, math.log(27))
        means, std = search.posterior()
        upper = means + b * std
        mean, sd = twin.belief.posterior([theirs, ours])
        numbers = [search.tallies.number_of(path) for path in (theirs, ours)]
        assert mean + b * sd == pytest.approx(upper[numbers], abs=1e-9)
        assert upper[numbers[0]] == pytest.approx(upper[numbers[1]], abs=1e-9)
        # No tie, no choice: then it is the very same arm.
        open_arms = [k for k in range(27) if noise or k not in known]
        if sum(upper[open_arms] > upper[open_arms].max() - 1e-9) == 1:
            assert theirs == ours
            decided += 1
        known.add(search.tallies.number_of(theirs))
        value = noise_of(1, theirs) / 2 + (noise * noise_of(2, t) if noise else 0.0)
        twin.tell(theirs, value)
        if ours != theirs:
            search.forget(ours)
        search.tell(theirs, value)
    assert decided >= 5
    for rule in ("lower", "mean", "observed"):
        a, b = twin.best(rule), search.best(rule)
        assert (a.mean, a.std, a.lower, a.upper) == pytest.approx(
            (b.mean, b.std, b.lower, b.upper), abs=1e-6
        )
        assert (a.path, a.visits) == (b.path, b.visits)
    if noise == 0:
        for one in (twin, search):
            with pytest.raises(Exhausted, match="all arms are known after 27"):
                one.ask()


def test_batches_are_those_of_gpts():
    """Pending arms count in the variance, and have no value."""
    tree, kernel = Tree(3, 3), kernels.Gaussian(2.0)
    twin = GPTS(tree, kernel, 0.3, select="arm", confidence=Confidence(scale=0.5), rng=0)
    search = GPB(tree, kernel, 0.3, rng=0)
    for path in ((0, 1, 2), (0, 0, 1), (2, 2, 2), (1, 0, 0)):
        for one in (twin, search):
            one.tell(path, noise_of(3, path))
    played = [search.tallies.number_of(p) for p in ((0, 1, 2), (0, 0, 1), (2, 2, 2), (1, 0, 0))]
    K = kernel.matrix(search.tallies.paths, 3)
    means, _ = search.posterior()
    pending = []
    for _ in range(15):
        path = search.ask()
        everything = played + pending
        _, std = dense(K, everything, [0.0] * len(everything), [0.09] * len(everything))
        b = Confidence(scale=0.5).sqrt_beta(len(everything) + 1, math.log(27))
        upper = means + b * std
        upper[pending] = -math.inf
        assert upper[search.tallies.number_of(path)] == pytest.approx(upper.max(), abs=1e-9)
        theirs = twin.ask()
        assert upper[search.tallies.number_of(theirs)] == pytest.approx(upper.max(), abs=1e-9)
        if theirs != path:  # a tie: continue with the same pending arms
            twin.forget(theirs)
            twin._asked = twin._asked_at = path
        pending.append(search.tallies.number_of(path))
    assert len(set(pending)) == 15


def test_upper_bounds_by_hand():
    """Two arms with covariance 1/2, noise 1/2 (variance 1/4), and one reward of 1 at the first.

    First: mean 1/(1 + 1/4) = 0.8, variance 1 - 0.8 = 0.2. Second: mean 0.5 * 0.8 = 0.4,
    variance 1 - 0.25 * 0.8 = 0.8. With sqrt(beta) = b: 0.8 + 0.447214 b and 0.4 + 0.894427 b.
    """
    search = GPB(arms=["a", "b"], kernel=[[1, 0.5], [0.5, 1]], noise=0.5, rng=0)
    search.tell((0,), 1.0)
    means, std = search.posterior()
    assert means == pytest.approx([0.8, 0.4])
    assert std**2 == pytest.approx([0.2, 0.8])
    b = Confidence(scale=0.5).sqrt_beta(2, math.log(2))
    assert search._indices() == pytest.approx([0.8 + 0.447214 * b, 0.4 + 0.894427 * b], abs=1e-6)
    assert search.ask() == (1,)


def test_improvement_by_hand():
    """As above, over the highest mean 0.8 of what was played.

    First: z = 0, expected 0.447214 * 0.398942 = 0.178412. Second: z = -0.4/0.894427 = -0.447214,
    Phi(z) = 0.327360, phi(z) = 0.360980: -0.4 * 0.327360 + 0.894427 * 0.360980 = 0.191926.
    """
    for acquisition, expected, choice in (
        ("ei", [0.178412, 0.191926], (1,)),
        ("pi", [0.0, -0.447214], (0,)),
    ):
        search = GPB(
            arms=["a", "b"], kernel=[[1, 0.5], [0.5, 1]], noise=0.5, acquisition=acquisition, rng=0
        )
        search.tell((0,), 1.0)
        assert search._indices() == pytest.approx(expected, abs=1e-5)
        assert search.ask() == choice


def test_improvement_is_never_lost_to_underflow():
    """Hopeless arms are still compared: 0.25 below 1 by 866 deviations, and 0 by 1,000."""
    K = 1e-6 * np.eye(4)
    K[1, 3] = K[3, 1] = 0.5e-6
    search = GPB(arms=list("abcd"), kernel=K, noise=0.0, acquisition="ei", rng=0)
    search.tell((0,), 1.0)
    search.tell((1,), 0.5)
    means, std = search.posterior()
    assert means == pytest.approx([1.0, 0.5, 0.0, 0.25])
    assert std[2] == pytest.approx(1e-3)
    assert search.ask() == (3,)


@pytest.mark.parametrize("acquisition", ["ucb", "ei"])  # the third one stays where it is
def test_it_finds_the_maximum(acquisition):
    places = np.linspace(0, 1, 60).tolist()
    search = GPB(
        arms=places,
        kernel=lambda x, y: math.exp(-((x - y) ** 2) / 0.02),
        noise=0.05,
        acquisition=acquisition,
        rng=0,
    )
    for t in range(40):
        path = search.ask()
        (x,) = search.tree.decode(path)
        search.tell(path, math.sin(9 * x) * x + 0.05 * noise_of(1, t))
    (x,) = search.tree.decode(search.best().path)
    top = max(math.sin(9 * x) * x for x in places)
    assert math.sin(9 * x) * x > top - 0.05


def test_without_a_kernel_rewards_are_standardized():
    """Shifted and scaled by powers of two, the same arms are played."""

    def run(scale, shift):
        search = GPB(Tree(3, 3), rng=0)
        paths = []
        for _ in range(25):
            paths.append(search.ask())
            search.tell(paths[-1], scale * noise_of(1, paths[-1]) + shift)
        return paths, search.best("mean").path

    assert run(1.0, 0.0) == run(64.0, 0.0)
    assert run(1.0, 0.0)[1] == run(1.0, 1000.0)[1]


def test_exact_rewards_cannot_contradict():
    search = GPB(Tree(3, 2), kernels.Linear(), 0.0, rng=0)
    search.tell((0, 1), 1.0)
    search.tell((0, 1), 1.0)  # nothing new
    assert search.observations == 2
    with pytest.raises(ValueError, match="contradicts earlier rewards"):
        search.tell((0, 1), 2.0)
    assert search.observations == 2
    assert search.best().mean == pytest.approx(1.0)
    asked = {search.ask() for _ in range(8)}
    assert (0, 1) not in asked
    assert len(asked) == 8
    with pytest.raises(Exhausted, match="after 2 observations and 8 pending ones"):
        search.ask()


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"kernel": np.eye(3)}, ValueError, "a matrix of 2 x 2"),
        ({"kernel": [[1.0, 2.0], [0.0, 1.0]]}, ValueError, "symmetric"),
        ({"kernel": [[1.0, math.nan], [math.nan, 1.0]]}, ValueError, "finite numbers"),
        ({"kernel": -np.eye(2)}, ValueError, "must not be negative"),
        ({"kernel": "smooth"}, TypeError, "kernel must be a matrix, a function"),
        ({"kernel": lambda a, b: math.inf}, ValueError, r"kernel\('a', 'a'\) must be finite"),
        ({"kernel": kernels.Linear()}, TypeError, "a function of two arms, got Linear"),
        ({}, TypeError, "needs a kernel for a list of arms"),
        ({"kernel": np.eye(2), "noise": -1.0}, ValueError, "noise must not be negative"),
        ({"kernel": np.eye(2), "confidence": 2.0}, TypeError, "confidence must be"),
    ],
)
def test_bad_searches(keywords, error, message):
    with pytest.raises(error, match=message):
        GPB(arms=["a", "b"], **keywords)
