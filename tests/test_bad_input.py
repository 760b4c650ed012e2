"""Bad input of beliefs: the right exception, a helpful message, and an unchanged belief."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from bough import Belief, Confidence, Tree, kernels
from bough.belief.rng import SplitMix64


def some_belief(**keywords):
    belief = Belief(Tree(3, 2), kernels.Linear(), 0.1, **keywords)
    belief.observe((0, 1), 1.0)
    belief.pend((1, 1))
    belief.highest_upper(1.0)
    return belief


NAN = [math.nan, math.inf, -math.inf, np.float64("nan"), 10**400]
NOT_REAL = ["1", b"1", None, 1j, np.complex128(1), [1.0], np.array([1.0]), {}, object()]
PATHS = [
    ((0, 0, 0), ValueError, "3 steps, but the tree has depth 2"),
    ((0, 3), ValueError, "has 3 children"),
    ((0, -1), ValueError, "must be at least 0"),
    ((0, 1.0), TypeError, "must be an int"),
    ((0, "1"), TypeError, "must be an int"),
    ((0, 10**40), ValueError, "has 3 children"),
    ((0, None), TypeError, "must be an int"),
    ("01", TypeError, "sequence of ints"),
    (5, TypeError, "sequence of ints"),
    ([0, 4], ValueError, "has 3 children"),
    (np.array([0.0, 1.0]), TypeError, "must be an int"),
]


def calls():
    """Every call that must be refused, as (call, error, part of the message)."""
    for value in NAN:
        yield lambda b, v=value: b.observe((0, 0), v), ValueError, "value must be finite"
        yield lambda b, v=value: b.observe_step((0,), v, noise=1.0), ValueError, "value must be"
        yield lambda b, v=value: b.settle(1, v), ValueError, "value must be finite"
        yield lambda b, v=value: b.observe((0, 0), 1.0, noise=v), ValueError, "noise must be"
        yield lambda b, v=value: b.pend((0, 0), noise=v), ValueError, "noise must be finite"
        yield lambda b, v=value: b.highest_upper(v), ValueError, "sqrt_beta must be finite"
        yield lambda b, v=value: b.highest_lower(v), ValueError, "sqrt_beta must be finite"
    for value in NOT_REAL:
        yield lambda b, v=value: b.observe((0, 0), v), TypeError, "value must be one real"
        yield lambda b, v=value: b.observe_step((0,), v, noise=1.0), TypeError, "value must be"
        yield lambda b, v=value: b.settle(1, v), TypeError, "value must be one real number"
        yield lambda b, v=value: b.highest_upper(v), TypeError, "sqrt_beta must be one real"
    for path, error, message in PATHS:
        yield lambda b, p=path: b.observe(p, 1.0), error, message
        yield lambda b, p=path: b.observe_step(p, 1.0, noise=1.0), error, message
        yield lambda b, p=path: b.pend(p), error, message
        yield lambda b, p=path: b.posterior([(0, 0), p]), error, message
        yield lambda b, p=path: b.covariance([(0, 0), p]), error, message
        yield lambda b, p=path: b.sample([(0, 0), p], 2), error, message
    yield lambda b: b.observe((0, 0), 1.0, noise=-1.0), ValueError, "must not be negative"
    yield lambda b: b.highest_upper(-1.0), ValueError, "sqrt_beta must not be negative"
    yield lambda b: b.highest_upper(1.0, rng=-3), ValueError, "rng must not be negative"
    yield lambda b: b.highest_mean(rng="seed"), TypeError, "rng must be None"
    yield lambda b: b.settle(99, 1.0), ValueError, "token 99 is not pending"
    yield lambda b: b.forget([1]), ValueError, r"token \[1\] is not pending"
    yield lambda b: b.posterior((0, 1)), TypeError, r"got one path; write \[\(0, 1\)\]"
    yield lambda b: b.posterior("01"), TypeError, "must be a list of paths"
    yield lambda b: b.sample([(0,)], -1), ValueError, "n must be at least 0"
    yield lambda b: b.sample([(0,)], 1.5), TypeError, "n must be an int"


@pytest.mark.parametrize(("call", "error", "message"), list(calls()))
def test_refused_and_unchanged(call, error, message):
    belief = some_belief()
    before = pickle.dumps(belief.__getstate__())
    with pytest.raises(error, match=message):
        call(belief)
    assert pickle.dumps(belief.__getstate__()) == before


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((3, kernels.Linear(), 0.1), {}, TypeError, "tree must be a bough.Tree, got 3"),
        ((Tree(2, 2), 3.0, 0.1), {}, TypeError, "kernel must be a kernel"),
        ((Tree(2, 2), kernels.Linear(), -0.1), {}, ValueError, "noise must not be negative"),
        ((Tree(2, 2), kernels.Linear(), None), {}, TypeError, "noise must be one real number"),
        ((Tree(2, 2), kernels.Linear(), 0.1), {"mean": math.nan}, ValueError, "mean must be fin"),
        ((Tree(2, 2), kernels.Linear(), 0.1), {"mean": lambda p: "x"}, TypeError, r"mean\(\(\)\)"),
        ((Tree(2, 2), kernels.Linear(), 0.1), {"arms": "twigs"}, ValueError, 'arms must be "leav'),
        ((Tree(2, 2), kernels.Chi((1.0,)), 0.1), {}, ValueError, "chi_0 to chi_2"),
    ],
)
def test_bad_beliefs(arguments, keywords, error, message):
    with pytest.raises(error, match=message):
        Belief(*arguments, **keywords)


def test_two_exact_values_for_one_arm():
    belief = Belief(Tree(3, 2), kernels.Linear(), 0.0)
    belief.observe((0, 1), 1.0)
    belief.observe((0, 1), 1.0)
    before = pickle.dumps(belief.__getstate__())
    with pytest.raises(ValueError, match=r"value 1.5 contradicts .* has exactly 1.0.*noise > 0"):
        belief.observe((0, 1), 1.5)
    assert pickle.dumps(belief.__getstate__()) == before
    belief.observe((0, 1), 9.0, noise=1.0)  # a noisy observation cannot contradict
    assert belief.posterior([(0, 1)])[0][0] == 1.0
    token = belief.pend((0, 1))
    with pytest.raises(ValueError, match="contradicts"):
        belief.settle(token, 2.0)
    assert belief.pending == 1
    belief.settle(token, 1.0)
    belief.observe_step((1,), 0.5, noise=0.0)
    with pytest.raises(ValueError, match="this step is exactly 0.5"):
        belief.observe_step((1,), 0.75, noise=0.0)


def test_exact_values_that_follow_from_others():
    """Known parent and exact step: the child is known though it was never observed."""
    belief = Belief(Tree(3, 2), kernels.Linear(), 0.0, mean=100.0)
    belief.observe((0,), 101.0)
    belief.observe_step((0, 2), 0.25, noise=0.0)
    belief.observe((0, 2), 101.25)
    with pytest.raises(ValueError, match="has exactly 101.25"):
        belief.observe((0, 2), 101.5)
    flat = Belief(Tree(3, 2), kernels.Linear(0.0), 0.0)
    flat.observe((0, 0), 0.0)
    with pytest.raises(ValueError, match="has exactly 0.0"):
        flat.observe((1, 0), 0.5)


def test_functions_that_raise_leave_the_belief_unchanged():
    broken = []

    def mean(path):
        if path == (1, 2) and broken:
            raise RuntimeError("no idea")
        return 0.5 * len(path)

    belief = Belief(Tree(3, 2), kernels.Linear(), 0.1, mean=mean)
    belief.observe((0, 0), 1.0)
    before = len(belief.nodes), belief.log_likelihood()
    broken.append(True)
    with pytest.raises(RuntimeError, match="no idea"):
        belief.observe((1, 0), 1.0)
    with pytest.raises(RuntimeError, match="no idea"):
        belief.pend((1, 0))
    assert (len(belief.nodes), belief.log_likelihood()) == before
    broken.clear()
    belief.observe((1, 0), 1.0)
    with pytest.raises(ValueError, match=r"mean\(\(0, 0\)\) must be finite"):
        Belief(Tree(3, 2), kernels.Linear(), 0.1, mean=lambda p: math.nan if p else 0.0).observe(
            (0, 0), 1.0
        )


def test_a_branching_function_that_changes_its_mind():
    width = {(): 2}
    belief = Belief(Tree(lambda path: width.get(path, 3), 2), kernels.Linear(), 0.1)
    belief.observe((1, 1), 1.0)
    width[(1,)] = 4
    for path in ((1, 1), (1, 3)):
        with pytest.raises(ValueError, match=r"inconsistent: node \(1,\) had 3 .* now has 4"):
            belief.observe(path, 1.0)
    assert len(belief) == 1


@pytest.mark.parametrize(
    "value", [1, True, np.float32(1), np.int64(1), np.array(1.0), Fraction(1), Decimal(1)]
)
def test_real_numbers_of_all_kinds(value):
    belief = Belief(Tree(3, 2), kernels.Linear(), 0.1)
    for path in ((0, 1), [0, 1], np.array([0, 1]), (np.int8(0), 1), range(2)):
        belief.observe(path, value)
    assert len(belief) == 5
    assert len(belief.nodes) == 3
    assert belief.highest_mean().value == 1.0


def test_extreme_trees_and_empty_lists():
    root = Belief(Tree(5, 0), kernels.Linear(4.0), 0.0)
    assert root.highest_upper(1.0).path == ()
    root.observe((), 3.0)
    assert root.highest_upper(9.0) == root.highest_lower(9.0)
    one = Belief(Tree(1, 5), kernels.Gaussian(2.0), 0.1)
    one.observe(one.highest_upper(1.0).path, 1.0)
    assert one.highest_mean().path == (0,) * 5
    vast = Belief(Tree(2**31 - 2, 50), kernels.Linear(), 0.1)
    vast.observe(vast.highest_upper(1.0, rng=1).path, 1.0)
    assert vast.highest_upper(1.0, rng=2).upper > 0
    assert Belief(Tree(2, 2), kernels.Linear(), 0.1).posterior([])[0].shape == (0,)
    assert Belief(Tree(2, 2), kernels.Linear(), 0.1).covariance([]).shape == (0, 0)
    assert Belief(Tree(2, 2), kernels.Linear(), 0.1).sample([], 3).shape == (3, 0)
    assert SplitMix64(2**64 + 5).__reduce__()[1] == (5,)


def test_confidence():
    N, t, delta = 5**10, 7, 0.1
    true = math.sqrt(2 * math.log(N * t**2 * math.pi**2 / (6 * delta)))
    assert Confidence(delta).sqrt_beta(t, math.log(N)) == pytest.approx(true)
    assert Confidence(delta, scale=0.3).sqrt_beta(t, math.log(N)) == pytest.approx(0.3 * true)
    assert math.isfinite(Confidence().sqrt_beta(10**9, 1e6))
    for delta in (0.0, 1.0, -1.0):
        with pytest.raises(ValueError, match="delta must be between 0 and 1"):
            Confidence(delta)
    with pytest.raises(ValueError, match="t must be at least 1, got 0"):
        Confidence().sqrt_beta(0, 1.0)
    with pytest.raises(ValueError, match="scale must not be negative"):
        Confidence(scale=-1.0)


def test_contradictions_are_measured_by_the_values_around_them():
    """A large value elsewhere does not widen the tolerance."""
    belief = Belief(Tree(2, 2), kernels.Discounted(0.7), 1.0)
    belief.observe((0,), 1e8)
    with pytest.raises(ValueError, match=r"value 0.05 contradicts .* has exactly 0.0"):
        belief.observe((), 0.05, noise=0)
    belief.observe((1,), 1.0, noise=0)
    for steps in ([1.05], [1.0 + 1e-10]):
        with pytest.raises(ValueError, match=r"steps\[0\] 1.* contradicts .* is exactly 1.0"):
            belief.observe_steps((1,), steps, noise=0)
    belief.observe_step((1, 0), 0.3, noise=0)
    for r in (0.35, 0.3 + 1e-12):
        with pytest.raises(ValueError, match=r"value 0.3.* contradicts .* is exactly 0.3"):
            belief.observe_step((1, 0), r, noise=0)
        with pytest.raises(ValueError, match=r"steps\[1\] 0.3.* contradicts"):
            belief.observe_steps((1, 0), [1.0, r], noise=0)
    belief.observe_steps((1, 0), [1.0, 0.3], noise=0)
    with pytest.raises(ValueError, match=r"value 1.4 contradicts .* has exactly 1.3"):
        belief.observe((1, 0), 1.4, noise=0)
    belief.observe((1, 0), 1.3 + 2e-16, noise=0)  # within rounding


@pytest.mark.parametrize(
    ("steps", "noise", "error", "message"),
    [
        ([1.0], 0.1, ValueError, "2 steps needs a reward and a noise for each, got 1 rewards"),
        ([1.0, 2.0], [0.1], ValueError, "got 2 rewards and 1 noises"),
        ([1.0, math.nan], 0.1, ValueError, r"steps\[1\] must be finite"),
        ([1.0, 2.0], [0.1, -0.1], ValueError, "noise must not be negative"),
        ([1.0, 2.0], [0.1, 1e60], ValueError, r"noise\[1\] must be between"),
        (3.0, 0.1, TypeError, "steps must be a sequence"),
    ],
)
def test_bad_steps(steps, noise, error, message):
    belief = Belief(Tree(2, 2), kernels.Linear(), 0.1)
    before = pickle.dumps(belief.__getstate__())
    with pytest.raises(error, match=message):
        belief.observe_steps((0, 1), steps, noise=noise)
    with pytest.raises(ValueError, match="the root has no steps"):
        belief.observe_steps((), [], noise=0.1)
    assert pickle.dumps(belief.__getstate__()) == before
    belief.observe_steps((0, 1), np.array([1.0, 2.0]), noise=np.array(0.1))
    assert len(belief) == 1
