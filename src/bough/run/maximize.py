"""The loop: ask, evaluate, tell, until a rule says stop."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from bough._validation import above_zero, whole
from bough.exceptions import Exhausted
from bough.run.evaluation import Evaluator, Inline, Task
from bough.run.executors import check_executor, make_pool
from bough.run.interrupts import Interrupts
from bough.run.loop import Book, InMemory, Recorded, Run
from bough.run.progress import Bar
from bough.run.result import Result
from bough.run.stopping import Budget, StopRule, Target, WallTime
from bough.searchers import Searcher
from bough.searchers.registry import make_searcher
from bough.spaces import Space
from bough.spaces.searcher import SpaceSearcher
from bough.studies.study import Study, open_or_create
from bough.studies.trials import domain_of
from bough.trees import Tree


def maximize(
    objective: Callable[..., Any],
    tree_or_space: Tree | Space,
    *,
    budget: int | None = None,
    searcher: str | Searcher | SpaceSearcher | Callable[[Any], Any] | None = None,
    stop: StopRule | Iterable[StopRule] = (),
    executor: Any = None,
    study: "str | os.PathLike[str] | Study | None" = None,
    timeout: float | None = None,
    retries: int = 1,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    collect: bool = False,
    callbacks: Iterable[Callable[[Searcher], object]] = (),
    progress: bool | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Find the path of a tree, or the params of a space, with the highest reward.

    Parameters
    ----------
    objective
        Called with `tree.decode(path)`, or a dict of params; returns the reward, or `(reward, std)`
        of this reward. If it has a parameter `seed`, it gets one for each trial.
    tree_or_space
        What is searched.
    budget
        How many evaluations there may be, failed ones and those told before included.
    searcher
        A searcher, its name, or a function that makes one for the tree or space; by default
        `GPTS(tree)` or `Forest(space)`.
    stop
        Rules such as `Gap(0.1)`, `WallTime(60)`, `Target(0.9)`, or any function of the searcher
        that returns something true.
    executor
        Evaluate in parallel: a number of processes, or anything with the `submit` of
        `concurrent.futures`, such as a pool of threads or `client.get_executor(pure=False)` of a
        Dask cluster. A new evaluation starts the moment one ends, elsewhere than those under way.
    study
        A file in which everything is recorded, so that the search can go on after whatever
        happens; or a `Study`. If the file exists the search goes on where it was left: the budget
        counts all of its trials, and `rng` must be None or the same as then.
    timeout
        Seconds after which an evaluation has failed. Needs an executor.
    retries
        How often an evaluation is tried again whose worker has died, or which raised one of
        `catch`, before that counts.
    catch
        Exceptions of the objective (or of what it returned) that only make one evaluation fail.
        Others end the search with an `ObjectiveError`, which holds the path and the result so far.
        (What a rule or callback raises comes as it is; it holds the `result` too.)
    collect
        Wait for the evaluations that are under way on workers when a rule or Ctrl-C ends the
        search (until Ctrl-C is pressed again). By default they are left, and a study offers them
        again when it goes on.
    callbacks
        Called with the searcher after every evaluation, failed or not; one that returns something
        true ends the search.
    progress
        A bar with the best so far, the bound and the gap: True, False, or None for one on a
        terminal.
    rng
        A seed, if the searcher is to be made here.

    Returns
    -------
    Result
        Also when the search is interrupted by Ctrl-C.

    Examples
    --------
    >>> import bough
    >>> tree = bough.Tree(branching=4, depth=5)
    >>> result = bough.maximize(lambda path: sum(path), tree, budget=60, rng=0)
    >>> result.stopped_by, len(result.history)
    ('budget', 60)
    """
    return _loop(
        objective, tree_or_space, 1.0, budget=budget, searcher=searcher, stop=stop,
        executor=executor, study=study, timeout=timeout, retries=retries, catch=catch,
        collect=collect,
        callbacks=callbacks, progress=progress, rng=rng,
    )  # fmt: skip


def minimize(
    objective: Callable[..., Any],
    tree_or_space: Tree | Space,
    *,
    budget: int | None = None,
    searcher: str | Searcher | SpaceSearcher | Callable[[Any], Any] | None = None,
    stop: StopRule | Iterable[StopRule] = (),
    executor: Any = None,
    study: "str | os.PathLike[str] | Study | None" = None,
    timeout: float | None = None,
    retries: int = 1,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    collect: bool = False,
    callbacks: Iterable[Callable[[Searcher], object]] = (),
    progress: bool | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Find the path or the params with the lowest value: `maximize` of the negative.

    The result speaks of the values themselves: `best.mean` is low, and `certificate.lower` bounds
    what any path can have from below. `Target(value)` stops at or below the value. The searcher,
    and so your own rules and callbacks, sees the negative of each value.

    >>> import bough
    >>> tree = bough.Tree(branching=4, depth=5)
    >>> search = bough.GPTS(tree, bough.kernels.Linear(), noise=0.0, rng=0)
    >>> stop = bough.Target(3.0)
    >>> result = bough.minimize(lambda path: sum(path), tree, searcher=search, stop=stop)
    >>> result.stopped_by, result.best.mean <= 3.0
    ('target', True)
    """
    return _loop(
        objective, tree_or_space, -1.0, budget=budget, searcher=searcher, stop=stop,
        executor=executor, study=study, timeout=timeout, retries=retries, catch=catch,
        collect=collect,
        callbacks=callbacks, progress=progress, rng=rng,
    )  # fmt: skip


def _loop(
    objective: Callable[..., Any],
    tree_or_space: Tree | Space,
    sign: float,
    *,
    budget: int | None,
    searcher: Any,
    stop: Any,
    executor: Any,
    study: Any,
    timeout: float | None,
    retries: int,
    catch: Any,
    collect: bool,
    callbacks: Any,
    progress: bool | None,
    rng: Any,
) -> Result:
    """Find the path with the highest sign times value."""
    domain = domain_of(tree_or_space, "the second argument")
    if not callable(objective):
        raise TypeError(f"objective must be a function, got {objective!r}")
    rules, budget = _checked_rules(stop, budget)
    if sign < 0:
        rules = [Target(-rule.value) if isinstance(rule, Target) else rule for rule in rules]
    catch = _checked_exceptions(catch)
    callbacks = _checked_calls(callbacks, "callbacks")
    retries = whole(retries, "retries", least=0)
    if collect not in (True, False):
        raise TypeError(f"collect must be True or False, got {collect!r}")
    _check_pool(executor, timeout)
    book = _book(study, tree_or_space, sign, searcher, rng, budget)
    interrupts = Interrupts()
    run = Run(book, domain, sign, interrupts, catch, retries)
    task = Task(objective, domain, book.first_state)
    evaluator: Evaluator | None = None
    stopped_by = None
    try:
        with interrupts, Bar(progress, budget, run.search.observations, sign) as bar:
            if run.search.observations or book.failed:
                stopped_by = run.stopped_by(budget, rules)
            if stopped_by is None:
                evaluator = _evaluator(executor, task, timeout, interrupts)
            try:
                while stopped_by is None and evaluator is not None:
                    run.fill(evaluator, budget)
                    if run.settle(evaluator, evaluator.wait()):
                        bar.update(run.search)
                        stopped_by = run.stopped_by(budget, rules)
                        stopped_by = stopped_by or run.word(callbacks, "callback")
            except Exhausted:
                stopped_by = "exhausted"
            except KeyboardInterrupt:
                stopped_by = "interrupt"
                interrupts.caught()
            if executor is not None and evaluator is not None and run.under_way:
                _leave_or_collect(collect, run, evaluator, bar)
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    except Exception as error:  # of the objective, a rule or callback, a pool, the study's file
        result = run.result("error")
        with suppress(AttributeError):
            error.result = result  # type: ignore[attr-defined]
        raise
    except BaseException:  # an objective that ends the program, such as by sys.exit
        run.leave()
        raise
    finally:
        if evaluator is not None:
            evaluator.close()
    return run.result(stopped_by or "budget")


def _leave_or_collect(collect: bool, run: Run, evaluator: Evaluator, bar: Bar) -> None:
    """Say what is under way, and wait for it if that was asked for, until Ctrl-C is pressed."""
    count = f"{len(run.under_way)} evaluation{'s' if len(run.under_way) > 1 else ''} under way"
    if not collect:
        again = "; the study offers them again" if run.book.study is not None else ""
        bar.say(f"left {count} (collect=True waits for them){again}")
        return
    bar.say(f"waiting for {count}; press Ctrl-C to leave them")
    while run.under_way:
        if run.settle(evaluator, evaluator.wait()):
            bar.update(run.search)


def _book(
    study: Any, tree: Tree | Space, sign: float, searcher: Any, rng: Any, budget: int | None
) -> Book:
    """Return where trials come from and go to."""
    if study is None:
        return InMemory(make_searcher(searcher, tree, rng, plays=budget), sign)
    direction = "maximize" if sign > 0 else "minimize"
    found = open_or_create(study, tree, searcher=searcher, rng=rng, direction=direction)
    return Recorded(found, ours=found is not study)


def _check_pool(executor: Any, timeout: float | None) -> None:
    """Refuse bad arguments before anything is made."""
    if executor is None and timeout is not None:
        raise ValueError(
            "timeout needs a worker that can be ended: this process cannot end an evaluation of "
            "its own; write executor=1 for a sequential run with a timeout"
        )
    if timeout is not None:
        above_zero(timeout, "timeout")
    if executor is not None:
        check_executor(executor)


def _evaluator(executor: Any, task: Task, timeout: float | None, interrupts: Any) -> Evaluator:
    if executor is None:
        return Inline(task, interrupts)
    return make_pool(executor, task, timeout, interrupts)


def _checked_rules(stop: Any, budget: int | None) -> tuple[list[StopRule], int | None]:
    """Return the stop rules, and the smallest budget among them, which counts failures too."""
    rules = [stop] if callable(stop) else _checked_calls(stop, "stop")
    for rule in rules:
        if isinstance(rule, type):
            raise TypeError(f"stop takes rules, not classes of them: write {rule.__name__}(...)")
        if isinstance(rule, WallTime):
            rule.start()
    if budget is None and not rules:
        raise ValueError("say when to stop: give a budget or a stop rule, such as budget=1000")
    budgets = [rule.evaluations for rule in rules if isinstance(rule, Budget)]
    if budget is not None:
        budgets.append(Budget(budget).evaluations)
    rest = [rule for rule in rules if not isinstance(rule, Budget)]
    return rest, min(budgets, default=None)


def _checked_calls(given: Any, name: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of functions, got {given!r}")
    calls = list(given)
    for call in calls:
        if not callable(call):
            raise TypeError(f"{name} must be a list of functions, got {call!r} in it")
    return calls


def _checked_exceptions(given: Any) -> tuple[type[Exception], ...]:
    exceptions = given if isinstance(given, tuple) else (given,)
    for kind in exceptions:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise TypeError(f"catch must be an exception class, or a tuple of them, got {given!r}")
    return exceptions
