"""`generate` and `agenerate`: executors, failures, limits, interrupts."""

import asyncio
import functools
import itertools
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import bough
from bough.generation import Answer, GenerationResult


class Walk:
    """A random walk by the seed of each call, so that runs can be compared."""

    def __init__(self):
        self.calls = 0

    def __call__(self, parent, seed):
        import random

        self.calls += 1
        x = (0.0 if parent is None else parent.answer) + random.Random(seed).gauss(0, 1)
        return x, -abs(x - 5)


def module_walk(parent, seed):
    return Walk()(parent, seed)


def test_the_result():
    result = bough.generate(Walk(), budget=60, noise=0.0, rng=0)
    assert isinstance(result, GenerationResult)
    assert (result.stopped_by, result.calls, result.failed, result.cost) == ("budget", 60, 0, 60.0)
    best = result.best
    assert best.score == max(node.score for node in result.nodes)
    assert result.top(3)[0] is best
    assert len(result.top(100)) == 60
    lineage = result.lineage(best)
    assert lineage[0].parent is None
    assert lineage[-1] is best
    assert all(child.parent is parent for parent, child in itertools.pairwise(lineage))
    assert result.lineage() == lineage
    tree = result.tree
    assert len(tree) == 60
    assert sum(len(tree.children(node)) for node in tree.nodes) + len(tree.drafts) == 60
    assert repr(tree).startswith("0: ")
    assert "and 20 more" in repr(tree)
    cost, means = result.best_by_cost()
    assert cost[-1] == 60.0
    assert means[-1] == best.score
    assert "stopped by budget after 60 calls" in repr(result)
    with pytest.raises(TypeError, match="node must be a node"):
        result.lineage(3)


def test_the_result_as_a_table():
    pytest.importorskip("pandas")
    result = bough.generate(Walk(), budget=20, noise=0.0, rng=0)
    table = result.to_pandas()
    assert len(table) == 20
    assert table.loc[result.best.id, "score"] == result.best.score


def test_the_same_seed_gives_the_same_search():
    one, other = (bough.generate(Walk(), budget=40, rng=3) for _ in range(2))
    assert [n.answer for n in one.nodes] == [n.answer for n in other.nodes]
    assert [n.path for n in one.nodes] == [n.path for n in other.nodes]


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(4), 2])
def test_executors(executor):
    result = bough.generate(module_walk, budget=20, executor=executor, rng=0)
    assert result.calls == 20
    assert result.stopped_by == "budget"


def test_several_generators_with_costs_and_a_limit():
    asked = []

    def by(name):
        def f(parent):
            asked.append(name)
            return Answer(name, 1.0 if name == "good" else 0.0, 0.0, cost={"good": 3.0}.get(name))

        return f

    result = bough.generate(
        generators={"good": by("good"), "bad": by("bad")}, costs={"bad": 1.0}, cost=30.0, rng=0
    )
    assert result.stopped_by == "cost"
    assert 27.0 < result.cost <= 30.0
    assert set(asked) == {"good", "bad"}
    assert result.best.generator == "good"
    nothing = bough.generate(lambda parent: ("a", 1.0), cost=0.5)
    assert nothing.stopped_by == "cost"
    assert nothing.best is None
    assert "no answer yet" in repr(nothing)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (bough.Target(-1.0), "target"),
        (bough.Patience(5), "patience"),
        (bough.WallTime(1e-9), "seconds"),
        (bough.Budget(7), "budget"),
        (lambda search: search.calls >= 3 and "enough", "enough"),
    ],
)
def test_stop_rules(stop, reason):
    result = bough.generate(Walk(), 300, stop=stop, noise=0.0, rng=0)
    assert result.stopped_by == reason
    assert result.calls < 300


def test_callbacks_see_the_search():
    seen = []
    result = bough.generate(
        Walk(), 30, callbacks=[lambda search: seen.append(search.calls) or search.calls == 9]
    )
    assert seen == list(range(1, 10))
    assert result.stopped_by == "callback"


@pytest.mark.parametrize("workers", [None, ThreadPoolExecutor(3)])
def test_failures_that_are_caught_count_apart_and_are_tried_again(workers):
    lock, attempts = threading.Lock(), []

    def flaky(parent):
        with lock:
            attempts.append(1)
            n = len(attempts)
        if n % 3 == 0:
            raise ConnectionError("busy")
        return n, float(n)

    result = bough.generate(flaky, 30, catch=ConnectionError, retries=0, executor=workers, rng=0)
    assert result.calls == 30
    assert result.failed == 10
    assert len(attempts) == 30
    if workers is None:
        attempts.clear()
        result = bough.generate(flaky, 30, catch=ConnectionError, rng=0)
        assert result.calls == 30
        assert result.failed == 0
        assert len(attempts) == 44


def test_other_exceptions_end_the_search_with_what_is_known():
    calls = []

    def broken(parent):
        calls.append(1)
        if len(calls) == 6:
            raise KeyError("oops")
        return 1, 1.0

    with pytest.raises(bough.ObjectiveError, match="the generator generate failed: KeyError"):
        bough.generate(broken, 30, catch=ValueError)
    calls.clear()
    with pytest.raises(bough.ObjectiveError) as caught:
        bough.generate(broken, 30)
    assert caught.value.result.calls == 5


@pytest.mark.parametrize("returned", [(1, float("nan")), (1, "x"), 5, (1, 2, 3, 4)])
def test_wrong_answers_are_failures(returned):
    with pytest.raises(bough.ObjectiveError, match="generate failed"):
        bough.generate(lambda parent: returned, 5)
    result = bough.generate(lambda parent: returned, 5, catch=(ValueError, TypeError), retries=0)
    assert result.failed == 5
    assert result.best is None


def slow_at_first(parent, begun):
    if not begun.exists():
        begun.touch()
        time.sleep(30.0)
    return 1, 1.0


def test_a_call_that_takes_too_long_fails(tmp_path):
    generator = functools.partial(slow_at_first, begun=tmp_path / "begun")
    result = bough.generate(generator, 3, executor=1, timeout=0.5, rng=0)
    assert result.calls == 3
    assert "longer than 0.5 s" in result.search.reasons[0]


def test_ctrl_c_returns_what_is_known():
    calls = []

    def interrupted(parent):
        calls.append(1)
        if len(calls) == 8:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        return 1, 1.0

    result = bough.generate(interrupted, 30)
    assert result.stopped_by == "interrupt"
    assert result.calls == 7
    assert not result.search.pending


def test_log_and_bar(capsys):
    bough.generate(Walk(), 3, progress="log", rng=0)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("call 0: draft by generate, score -")
    bough.generate(Walk(), 3, progress=True, rng=0)
    assert "3/3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "pass a limit"),
        ({"budget": 0}, "budget"),
        ({"budget": 5, "generators": {"a": len}}, "pass one generator, or several"),
        ({"budget": 5, "f": None}, "pass one generator, or several"),
        ({"budget": 5, "f": None, "generators": {}}, "functions by name"),
        ({"budget": 5, "f": 3}, "generate must be a function"),
        ({"budget": 5, "f": lambda: 1}, "function of one argument"),
        ({"budget": 5, "f": lambda a, b: 1}, "function of one argument"),
        ({"budget": 5, "f": None, "generators": {"a": None}}, "a must be a function"),
        ({"budget": 5, "retries": -1}, "retries must be at least 0"),
        ({"budget": 5, "catch": 3}, "catch must be an exception class"),
        ({"budget": 5, "timeout": 3}, "timeout needs a worker"),
        ({"budget": 5, "executor": "4"}, "executor must be"),
        ({"budget": 5, "codec": (str, str)}, "codec is for a study"),
        ({"budget": 5, "study": 3}, "study must be a file name"),
        ({"budget": 5, "stop": 3}, "stop must be a list"),
        ({"cost": -1}, "cost must be above zero"),
        ({"budget": 5, "seeds": [1]}, "seeds: a generator must return"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        bough.generate(**({"f": Walk()} | arguments))


# ---------------------------------------------------------------------- asyncio


class AsyncWalk:
    def __init__(self):
        self.under_way = self.most = 0

    async def __call__(self, parent, seed):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return module_walk(parent, seed)
        finally:
            self.under_way -= 1


def test_agenerate_has_up_to_the_limit_under_way():
    walk = AsyncWalk()
    result = asyncio.run(bough.agenerate(walk, 40, limit=5, rng=0))
    assert result.calls == 40
    assert walk.most == 5
    assert result.stopped_by == "budget"


def test_agenerate_fails_and_retries_and_times_out():
    attempts = []

    async def flaky(parent):
        attempts.append(1)
        if len(attempts) % 4 == 0:
            raise ConnectionError("busy")
        if len(attempts) % 5 == 0:
            await asyncio.sleep(60)
        return 1, 1.0

    run = bough.agenerate(flaky, 20, limit=2, retries=0, catch=ConnectionError, timeout=0.05, rng=0)
    result = asyncio.run(run)
    assert result.calls == 20
    assert result.failed == 8
    with pytest.raises(bough.ObjectiveError, match="ConnectionError"):
        asyncio.run(bough.agenerate(flaky, 20, rng=0))


def test_agenerate_needs_async_functions_and_generate_ordinary_ones():
    with pytest.raises(bough.ObjectiveError, match="agenerate needs async functions"):
        asyncio.run(bough.agenerate(lambda parent: (1, 1.0), 3))

    async def f(parent):
        return 1, 1.0

    with pytest.raises(TypeError, match="await bough.agenerate"):
        bough.generate(f, 3)
    with pytest.raises(ValueError, match="limit must be at least 1"):
        asyncio.run(bough.agenerate(f, 3, limit=0))


def test_cancellation_leaves_everything_recorded(tmp_path):
    path, done = tmp_path / "run.db", []

    async def cancelled():
        begun = asyncio.Event()

        async def f(parent):
            if len(done) >= 10:
                begun.set()
                await asyncio.sleep(60)
            done.append(1)
            return len(done), float(len(done))

        task = asyncio.create_task(bough.agenerate(f, 50, limit=4, study=path, rng=0))
        await begun.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert len(done) >= 10
    before = len(done)
    done.clear()

    async def g(parent):
        done.append(1)
        return 0, 0.0

    result = asyncio.run(bough.agenerate(g, 50, limit=4, study=path))
    assert result.calls == 50
    assert len(done) == 50 - before


def test_a_partial_function_and_a_method_are_generators():
    assert bough.generate(functools.partial(module_walk, seed=1), 4).calls == 4
    assert bough.generate(Walk().__call__, 4).calls == 4
