"""`GenerativeSearch`: ask, tell and fail, in any order; wrong calls change nothing."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bough
from bough.generation import Answer, GenerationResult, GenerativeSearch, Node


def play(search, calls, seed=0, under_way=1, scale=1.0, fails=0.0):
    """Play a random walk; return the calls, as pairs of a parent's id and a generator."""
    rng = np.random.default_rng(seed)
    running, seen = [], []
    for _ in range(calls):
        while len(running) < under_way:
            job = search.ask()
            running.append(job)
            seen.append((None if job.parent is None else job.parent.id, job.generator))
        job = running.pop(int(rng.integers(len(running))))
        start = 0.3 if job.parent is None else job.parent.score / scale
        score = float(start + 0.1 * rng.normal())
        if rng.random() < fails:
            search.fail(job, "no answer")
        else:
            search.tell(job, f"answer {score}", scale * score)
    for job in running:
        search.forget(job)
    return seen


@settings(max_examples=12)
@given(
    st.integers(1, 3), st.integers(1, 9), st.sampled_from([None, 0.0, 0.1]), st.floats(0, 0.5),
    st.integers(0, 1000),
)  # fmt: skip
def test_any_number_of_calls_under_way_in_any_order(count, under_way, noise, fails, seed):
    names = [f"model {i}" for i in range(count)]
    search = GenerativeSearch(names, budget=60, noise=noise, rng=0)
    play(search, 60, seed, under_way, fails=fails)
    assert search.calls == 60 == search.observations + search.failed
    assert not search.pending
    nodes = search.nodes
    assert [node.id for node in nodes] == list(range(len(nodes)))
    for node in nodes:
        assert math.isfinite(node.mean)
        assert node.deviation >= 0.0
        assert node.depth == len(node.path) == (1 if node.parent is None else node.parent.depth + 1)
        if node.parent is not None:
            assert node.path[:-1] == node.parent.path
            assert node.parent.id < node.id
    assert len({node.path for node in nodes}) == len(nodes)
    if nodes:
        assert search.best().mean == max(node.mean for node in nodes)


@given(st.integers(-300, 300), st.integers(0, 100))
@settings(max_examples=15)
def test_scores_times_a_power_of_two_give_the_same_calls(power, seed):
    one, other = (GenerativeSearch(budget=40, rng=1) for _ in range(2))
    assert play(one, 40, seed) == play(other, 40, seed, scale=2.0**power)
    assert other.best().mean == one.best().mean * 2.0**power


def test_the_same_seed_gives_the_same_search_and_a_copy_continues_it():
    searches = [GenerativeSearch(("a", "b"), budget=60, rng=5) for _ in range(2)]
    assert play(searches[0], 30) == play(searches[1], 30)
    again = pickle.loads(pickle.dumps(searches[0]))
    deep = copy.deepcopy(searches[0])
    wanted = play(searches[0], 20, seed=9)
    assert play(again, 20, seed=9) == wanted == play(deep, 20, seed=9)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-150, 1e-90, 1e90, 1e100])
@pytest.mark.parametrize("noise", [None, 0.0])
def test_scores_of_any_size(size, noise):
    rng = np.random.default_rng(0)
    search = GenerativeSearch(noise=noise, rng=0)
    for _ in range(30):
        search.tell(search.ask(), None, size * float(rng.uniform(-1, 1)))
    assert all(math.isfinite(node.mean) for node in search.nodes)
    search.tell(search.ask(), None, 0.0, std=1e-200)
    search.tell(search.ask(), None, 0.0, std=1e200)
    search.ask()


def test_one_terrible_answer_does_not_set_the_scale():
    search = GenerativeSearch(noise=0.0, budget=60, rng=0)
    search.tell(search.ask(), None, -1e9)
    play(search, 59)
    assert search.best().score > 0.5
    assert search.nodes[0].mean == -1e9


def test_equal_scores_and_one_answer_work():
    search = GenerativeSearch(rng=0)
    for _ in range(30):
        search.tell(search.ask(), "x", 0.0)
    assert search.best().mean == pytest.approx(0.0, abs=1e-12)
    other = GenerativeSearch(noise=0.0)
    assert other.tell(other.ask(), ("x", 7.0)).score == 7.0
    assert other.best().answer == "x"
    assert other.best().mean == 7.0
    assert other.ask().generator == "generate"


def test_exact_scores_are_their_means():
    search = GenerativeSearch(noise=0.0, rng=0)
    play(search, 50)
    assert all(node.mean == node.score and node.deviation == 0.0 for node in search.nodes)
    assert search.best().score == max(node.score for node in search.nodes)


def test_noise_is_fitted_or_known_and_means_shrink():
    rng = np.random.default_rng(0)
    search = GenerativeSearch(rng=0, budget=150)
    truth = []
    for _ in range(150):
        job = search.ask()
        q = rng.normal(0.3, 0.1) if job.parent is None else truth[job.parent.id] + 0.01
        truth.append(q + 0.02 * rng.normal())
        search.tell(job, None, truth[-1] + 0.2 * rng.normal())
    assert 0.1 < search.fitted_noise < 0.4
    scores = np.array([node.score for node in search.nodes])
    means = np.array([node.mean for node in search.nodes])
    assert np.mean((means - truth) ** 2) < 0.75 * np.mean((scores - truth) ** 2)
    assert GenerativeSearch(noise=0.25).fitted_noise == 0.25


def test_repeated_answers_are_one_node_and_still_calls():
    search = GenerativeSearch(key=str.lower, rng=0)
    first = search.tell(search.ask(), "A", 1.0)
    second = search.tell(search.ask(), "a", 2.0)
    assert second is first
    assert len(search.nodes) == 1
    assert search.calls == 2
    assert first.score == 1.5
    for _ in range(20):
        job = search.ask()
        assert job.parent in (None, first)
        search.tell(job, "a", 1.5)
    assert len(search.nodes) == 1
    wrong = GenerativeSearch(key=lambda answer: [])
    job = wrong.ask()
    with pytest.raises(TypeError, match="hashable"):
        wrong.tell(job, "a", 1.0)


def test_max_depth_is_respected():
    search = GenerativeSearch(max_depth=2, rng=0)
    play(search, 40)
    assert max(node.depth for node in search.nodes) == 2
    drafts = GenerativeSearch(max_depth=1, rng=0)
    play(drafts, 20)
    assert all(node.parent is None for node in drafts.nodes)


def test_costs_are_averaged_and_limits_respected():
    search = GenerativeSearch(
        ("cheap", "dear"), costs={"cheap": 1.0, "dear": 8.0}, cost=20.0, rng=0
    )
    assert search.expected_costs().tolist() == [1.0, 8.0]
    while search.can_pay():
        job = search.ask()
        search.tell(job, None, 1.0, cost=2.0 if job.generator == "cheap" else 8.0)
    assert 18.0 <= search.spent <= 21.0
    assert search.expected_costs()[0] == pytest.approx(2.0, abs=0.6)
    unknown = GenerativeSearch(("a", "b"))
    unknown.tell(unknown.ask(), None, 1.0, cost=4.0)
    assert unknown.expected_costs().tolist() == [4.0, 4.0]
    assert unknown.spent == 4.0
    unknown.fail(unknown.ask(), cost=3.0)
    assert unknown.spent == 7.0
    assert unknown.failed == 1


def test_failures_do_not_repeat_for_ever_at_one_node():
    search = GenerativeSearch(noise=0.0, rng=0)
    for score in (0.1, 0.2, 0.9):
        search.tell(search.ask(), None, score)
    at = []
    for _ in range(40):
        job = search.ask()
        at.append(None if job.parent is None else job.parent.id)
        search.fail(job)
    assert at.count(2) < 10


def test_seeds_are_known_answers_and_not_calls():
    search = GenerativeSearch(seeds=[("good", 5.0), Answer("better", 6.0, 0.0)], rng=0)
    assert search.calls == 0
    assert [node.generator for node in search.nodes] == [None, None]
    assert search.best().answer == "better"
    play(search, 30)
    other = GenerativeSearch(seeds=search.nodes, rng=0)
    assert [node.path for node in other.nodes] == [node.path for node in search.nodes]
    assert [node.score for node in other.nodes] == [node.score for node in search.nodes]
    assert other.calls == 0
    assert GenerationResult(other, "loaded").best.answer == search.best().answer


def test_a_node_can_be_sent_to_a_process():
    search = GenerativeSearch(rng=0)
    play(search, 20)
    node = search.best()
    sent = pickle.loads(pickle.dumps(node.for_call()))
    assert (sent.answer, sent.score, sent.depth, sent.path) == (
        node.answer, node.score, node.depth, node.path
    )  # fmt: skip
    assert isinstance(sent, Node)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": 0}, "budget must be at least 1"),
        ({"budget": 2.5}, "budget must be an int"),
        ({"cost": 0.0}, "cost must be above zero"),
        ({"cost": math.nan}, "cost must be finite"),
        ({"costs": -1.0}, "costs must be above zero"),
        ({"costs": {"other": 1.0}}, "costs has 'other'"),
        ({"costs": {"generate": 0}}, "must be above zero"),
        ({"noise": -0.1}, "noise must not be negative"),
        ({"key": "text"}, "key must be a function"),
        ({"max_depth": 0}, "max_depth must be at least 1"),
        ({"generators": "abc"}, "generators must be a list of names"),
        ({"generators": ()}, "at least one"),
        ({"generators": ("a", "a")}, "different names"),
        ({"generators": (1,)}, "list of names"),
        ({"seeds": "text"}, "seeds must be a list"),
        ({"seeds": [("a", math.inf)]}, "seeds: the score must be finite"),
        ({"seeds": [3]}, "seeds: a generator must return"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        GenerativeSearch(**arguments)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (("a", math.nan), "the score must be finite, got nan"),
        (("a", 1e200), "the score must be between -1e.100 and 1e.100"),
        (("a", "high"), "the score must be one real number"),
        (("a", None), "the score must be one real number"),
        (("a", 1.0, -0.5), "the score's std must not be negative"),
        (Answer("a", 1.0, cost=-2.0), "the cost must not be negative"),
        ("a", "must return .answer, score."),
        (("a", 1.0, 0.1, 3), "a tuple of 4"),
        (None, "a NoneType"),
    ],
)
def test_wrong_answers_change_nothing(told, message):
    search = GenerativeSearch(rng=0)
    play(search, 10)
    job = search.ask()
    before = pickle.dumps(search)
    with pytest.raises((TypeError, ValueError), match=message):
        search.tell(job, told)
    assert pickle.dumps(search) == before
    search.tell(job, "a", 1.0)


def test_wrong_jobs_change_nothing():
    search = GenerativeSearch(rng=0)
    job = search.ask()
    search.tell(job, "a", 1.0)
    before = pickle.dumps(search)
    for wrong, message in ((job, "has ended already"), (99, "no call 99"), (-1, "at least 0")):
        with pytest.raises(ValueError, match=message):
            search.tell(wrong, "b", 2.0)
        with pytest.raises(ValueError, match=message):
            search.fail(wrong)
    with pytest.raises(TypeError, match="job must be an int"):
        search.tell("first", "b", 2.0)
    assert pickle.dumps(search) == before
    job = search.ask()
    with pytest.raises(TypeError, match="need a score"):
        search.tell(job, ("b", 2.0), std=0.1)
    with pytest.raises(ValueError, match="cost must not be negative"):
        search.fail(job, cost=-1.0)
    with pytest.raises(ValueError, match="no answers yet"):
        GenerativeSearch().best()
    with pytest.raises(ValueError, match="no answers yet"):
        GenerativeSearch().curves()


def test_curves_show_that_refinement_ends():
    rng = np.random.default_rng(0)
    search = GenerativeSearch(noise=0.0, rng=0, budget=200)
    for _ in range(200):
        job = search.ask()
        q = 0.3 if job.parent is None else job.parent.score
        gain = 0.0 if job.parent is None else 0.1 * (1 - q / 0.8)
        search.tell(job, None, q + gain + 0.05 * rng.normal())
    scores, drift, spread = search.curves()
    assert drift[0] > drift[-1]
    assert np.all(spread > 0)
    assert np.interp(0.5, scores, drift) == pytest.approx(0.0375, abs=0.02)


def test_curves_of_a_generator_that_there_is_not():
    search = GenerativeSearch(["a", "b"])
    search.tell(search.ask(), None, 1.0)
    with pytest.raises(ValueError, match="generator must be one of a, b, got 'c'"):
        search.curves("c")


def test_promises_are_found_where_there_are_some_and_only_there():
    """Drafts that differ in the mean of their steps, and drafts that do not."""
    found = []
    for spread in (0.1, 0.0):
        rng = np.random.default_rng(3)
        search = GenerativeSearch(noise=0.0, rng=0, budget=120)
        pull = {}
        for _ in range(120):
            job = search.ask()
            if job.parent is None:
                promise, q = spread * rng.normal(), rng.normal(0.0, 0.2)
            else:
                promise = pull[job.parent.id]
                q = job.parent.score + promise + 0.05 * rng.normal()
            pull[search.tell(job, None, q).id] = promise
        search.best()
        model = search._model
        found.append((model.w0**0.5 * model.scale, model.step_variance**0.5 * model.scale))
    (some, _), (none, step) = found
    assert 0.03 < some < 0.3
    assert none < 0.5 * step


def test_the_public_names():
    assert bough.GenerativeSearch is GenerativeSearch
    assert bough.Answer is Answer
    assert bough.generation.GenerativeSearch is GenerativeSearch
