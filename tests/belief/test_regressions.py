"""Regressions: cases that were wrong once, or nearly."""

import collections
import math
import pickle
import sys
import threading

import numpy as np
import pytest
from strategies import Hill

from bough import Belief, Tree, kernels
from bough.belief.rng import SplitMix64


@pytest.mark.parametrize("branching", [math.inf, 3000])
def test_a_mean_function_where_not_all_children_are_made(branching):
    belief = Belief(Tree(branching, 2), kernels.Linear(), 0.1, mean=Hill(1))
    for path in ((0, 0), (1, 0), (2000, 0), (2000, 2500), (1, 2500)):
        belief.observe(path, 1.0)
        mean, _ = belief.posterior([path])
        assert abs(mean[0] - 1.0) < 0.3
    assert belief.highest_upper(1.0, rng=0).upper > 0


def interrupt_at(name, when):
    """Raise KeyboardInterrupt at the n-th call of a Python function of that name."""
    calls = [0]

    def profile(frame, event, argument):
        if event == "call" and frame.f_code.co_name == name:
            calls[0] += 1
            if calls[0] == when:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(profile)


@pytest.mark.parametrize("when", [1, 2, 3, 4, 5])
def test_an_interrupt_while_the_arrays_grow_changes_nothing(when):
    rng = np.random.default_rng(when)
    belief = Belief(Tree(5, 10), kernels.Linear(), 0.1)
    belief.highest_upper(1.0)
    belief.pend((0,) * 10)
    paths = [tuple(p) for p in rng.integers(0, 5, (3000, 10)).tolist()]
    observed = []
    interrupt_at("prod", when)
    try:
        for path in paths:
            belief.observe(path, 1.0)
            observed.append(path)
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    assert len(belief) == len(observed) < len(paths)
    for path in paths[len(observed) :]:
        belief.observe(path, 1.0)
    other = Belief(Tree(5, 10), kernels.Linear(), 0.1)
    for path in paths:
        other.observe(path, 1.0)
    assert np.array_equal(belief.posterior(paths), other.posterior(paths))


def test_a_belief_that_was_never_initialized():
    empty = Belief.__new__(Belief)
    for call in (
        lambda: empty.nodes,
        lambda: empty.observe((), 1.0),
        lambda: empty.highest_upper(1.0),
        lambda: empty.posterior([()]),
    ):
        with pytest.raises(AttributeError):
            call()


def test_a_mean_function_that_uses_the_belief():
    busy, made = [], []

    def mean(path):
        if made and not busy:
            busy.append(True)
            made[0].posterior([(2, 2, 2)])
            busy.clear()
        return float(len(path))

    odd = Belief(Tree(3, 3), kernels.Linear(), 0.1, mean=mean)
    plain = Belief(Tree(3, 3), kernels.Linear(), 0.1, mean=lambda path: float(len(path)))
    made.append(odd)
    for i in range(20):
        for belief in (odd, plain):
            belief.observe((0, 1, i % 3), 1.0)
    paths = [(0, 1, 0), (2, 1, 0)]
    assert np.array_equal(odd.posterior(paths), plain.posterior(paths))
    assert odd.highest_upper(1.0) == plain.highest_upper(1.0)


def test_a_mean_function_that_changes_the_belief():
    made = []

    def mean(path):
        if made:
            made.pop().observe((1, 1, 1), 0.0)
        return 0.0

    belief = Belief(Tree(3, 3), kernels.Linear(), 0.1, mean=mean)
    belief.observe((0, 0, 0), 1.0)
    made.append(belief)
    with pytest.raises(RuntimeError, match="changed while its prior mean was evaluated"):
        belief.observe((1, 1, 1), 1.0)
    assert len(belief) == 2


def test_threads_that_ask_a_belief_with_a_mean_function():
    def mean(path):
        return float(sum(path))

    belief = Belief(Tree(4, 4), kernels.Linear(), 0.1, mean=mean)
    for k in range(4):
        belief.observe((k, 0, 1, 2), 1.0)
    rng = np.random.default_rng(0)
    sets = [[tuple(p) for p in rng.integers(0, 4, (20, 4)).tolist()] for _ in range(4)]
    true = [belief.posterior(paths) for paths in sets]
    wrong = []

    def work(paths, answer):
        for _ in range(50):
            if not np.array_equal(belief.posterior(paths), answer):
                wrong.append(paths)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work, args=a) for a in zip(sets, true, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert not wrong


@pytest.mark.parametrize(
    "increments", [[1.0, 1.0], [1, math.nan, 1, 1], [math.inf] * 4, [-1.0] * 4]
)
def test_kernels_of_users_are_checked(increments):
    class Odd(kernels.Kernel):
        def _increments(self, depth):
            return np.array(increments)

    with pytest.raises(ValueError, match="the kernel must give 4 increments"):
        Belief(Tree(3, 3), Odd(), 0.1)


def test_nothing_overflows():
    for kernel, noise, value in (
        (kernels.Linear(1e100), 1e-49, 1e50),
        (kernels.Linear(), 1e50, 1e50),
        (kernels.Discounted(1.0, 1e99), 1e-49, -1e50),
        (kernels.Linear(1e-99), 1e-49, 1e50),
    ):
        belief = Belief(Tree(3, 3), kernel, noise)
        belief.observe((0, 1, 0), value)
        belief.observe((0, 1, 1), -value)
        belief.observe_step((0, 1), value, noise=1e-40)
        assert np.all(np.isfinite(belief.posterior([(0, 1, 0), (2,)])))
        assert math.isfinite(belief.log_likelihood())
    belief = Belief(Tree(3, 3), kernels.Linear(), 0.1)
    for call in (
        lambda: belief.observe((0, 0, 0), 1e51),
        lambda: belief.observe((0, 0, 0), 1.0, noise=1e51),
        lambda: belief.observe_step((0,), -1e200, noise=1.0),
        lambda: Belief(Tree(3, 3), kernels.Linear(), 1e51),
        lambda: Belief(Tree(3, 3), kernels.Linear(), 1.0, mean=1e60),
    ):
        with pytest.raises(ValueError, match="larger units"):
            call()
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="increments"):
        Belief(Tree(3, 0), kernels.Linear(1e308) + kernels.Linear(1e308), 1.0)


def test_nodes_of_a_forgotten_arm():
    """New nodes exist, but below one that was never played nothing is an arm."""
    belief = Belief(Tree(2, 4), kernels.Linear(), 0.1, arms="nodes")
    belief.forget(belief.pend((0, 0, 0)))
    paths = {belief.highest_upper(1.0, rng=seed).path for seed in range(20)}
    assert paths == {(0,), (1,)}


def test_the_lowest_unexplored_child():
    belief = Belief(Tree(math.inf, 1), kernels.Linear(), 0.1)
    belief.observe((1,), -1.0)
    belief.observe((3,), -1.0)
    assert belief.highest_upper(1.0).path == (0,)
    rng = np.random.default_rng(5)
    for width, many in ((300, 290), (5000, 700), (math.inf, 400)):
        belief = Belief(Tree(width, 1), kernels.Linear(), 0.1)
        explored = set()
        for k in rng.permutation(min(width, 5000))[:many].tolist():
            belief.observe((k,), -9.0)
            explored.add(k)
            lowest = next(i for i in range(10_000) if i not in explored)
            assert belief.highest_mean().path == (lowest,)
        if width == 300:
            drawn = {belief.highest_mean(rng=seed).path[0] for seed in range(200)}
            assert drawn == set(range(300)) - explored


def test_sums_of_exact_steps_do_not_contradict():
    rng = np.random.default_rng(0)
    for _ in range(300):
        belief = Belief(Tree(2, 4), kernels.Linear(1e16), 0.0)
        steps = rng.normal(size=5) * 10.0 ** rng.integers(-4, 9, 5)
        belief.observe((), steps[0])
        for i in range(1, 5):
            belief.observe_step((0,) * i, steps[i], noise=0.0)
        for i in range(1, 5):
            belief.observe((0,) * i, steps[: i + 1].sum())
    belief = Belief(Tree(2, 2), kernels.Linear(1e16), 0.0)
    belief.observe((0, 0), 1e8 + 0.1)
    belief.observe_step((0, 0), 1e8, noise=0.0)
    belief.observe((0,), 0.1)


def test_a_belief_from_read_only_memory_goes_on():
    belief = Belief(Tree(3, 3), kernels.Linear(), 0.1)
    belief.observe((0, 0, 0), 1.0)
    buffers = []
    text = pickle.dumps(belief, 5, buffer_callback=buffers.append)
    other = pickle.loads(text, buffers=[bytes(b.raw()) for b in buffers])
    other.observe((1, 0, 0), 1.0)
    assert other.highest_upper(1.0).path[0] in (0, 1, 2)


def test_ties_among_grouped_children_are_even():
    belief = Belief(Tree(100, 1), kernels.Linear(), 0.1)
    for k in range(100):
        belief.observe((k,), 1.0)
    rng = SplitMix64(1)
    counts = collections.Counter(belief.highest_mean(rng=rng).path for _ in range(20_000))
    assert len(counts) == 100
    assert all(abs(count - 200) < 5 * math.sqrt(200) for count in counts.values())


def test_many_pending_at_one_arm():
    belief = Belief(Tree(3, 2), kernels.Linear(), 0.5)
    tokens = [belief.pend((0, 0), noise=0.5 + t % 3) for t in range(300)]
    for token in tokens[1:]:
        belief.forget(token)
    one = Belief(Tree(3, 2), kernels.Linear(), 0.5)
    one.pend((0, 0))
    assert belief.highest_upper(2.0).upper == one.highest_upper(2.0).upper
    for token in (True, 1.0, "1"):
        with pytest.raises(ValueError, match="not pending"):
            belief.settle(token, 1.0)


def test_the_view_stays_read_only():
    belief = Belief(Tree(3, 2), kernels.Linear(), 0.5)
    with pytest.raises(ValueError, match="WRITEABLE"):
        belief.nodes.flags.writeable = True


def test_arms_are_open_again_when_an_exact_evaluation_is_forgotten():
    """Also those that a step without variance ties to it."""
    belief = Belief(Tree(2, 2), kernels.Chi((1.0, 1.0, 0.0)), 0.0)
    for first in (0, 1):
        for last in (0, 1):  # so that all arms are nodes
            belief.forget(belief.pend((first, last)))
    tokens = [belief.pend((first, 0)) for first in (0, 1)]
    assert belief.highest_upper_unknown(1.0) is None
    belief.forget(tokens[1])
    arm = belief.highest_upper_unknown(1.0)
    assert arm is not None
    assert arm.path[0] == 1
    belief.settle(tokens[0], 1.0, noise=0.5)
    assert belief.highest_upper_unknown(1.0).path[0] == 0
