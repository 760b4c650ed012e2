"""`maximize` and `minimize`: ask, evaluate, tell, until a rule says stop."""

import inspect
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Literal, ParamSpec, TypeVar, cast

import numpy as np

from bough._validation import at_least_zero, interval, whole
from bough.exceptions import Exhausted, Infeasible
from bough.run.executors import (
    ONE_OBJECTIVE,
    Evaluator,
    Task,
    check_executor,
    make_evaluator,
)
from bough.run.loop import SearchRun, Unrecorded
from bough.run.progress import Bar, Interrupts
from bough.run.pruning import PruneRule, takes_trial
from bough.run.result import Result
from bough.run.stopping import Budget, StopRule, Target
from bough.searchers import Searcher
from bough.searchers.registry import make_searcher
from bough.spaces import Space
from bough.spaces.searcher import SpaceSearcher
from bough.studies.constraints import KnownConstraints
from bough.studies.describe import in_sign
from bough.studies.study import Study, open_or_create
from bough.studies.trials import Domain
from bough.trees import Tree

P = ParamSpec("P")
R = TypeVar("R")


def maximize(
    objective: Callable[..., Any],
    tree_or_space: Tree | Space,
    *,
    budget: int | None = None,
    searcher: str | Searcher | SpaceSearcher | Callable[[Any], Any] | None = None,
    stop: StopRule | Iterable[StopRule] = (),
    bounds: tuple[float | None, float | None] | None = None,
    noise: float | None = None,
    constraints: Callable[[Any], Any] | None = None,
    prune: PruneRule | None = None,
    executor: Any = None,
    study: "str | os.PathLike[str] | Study | None" = None,
    timeout: float | None = None,
    retries: int | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    collect: bool = False,
    callbacks: Iterable[Callable[[Searcher], object]] = (),
    progress: bool | Literal["log"] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Find the path of a tree, or the params of a space, with the highest reward.

    Parameters
    ----------
    objective
        The function to maximize: called with `tree.decode(path)`, or a dict of params; returns the
        reward, or `(reward, std)` with its standard deviation, or an `Outcome`, which may have
        constraints too. If it has a parameter `seed`, it receives a seed for each trial. If it has
        two required parameters, it also receives the trial, for `trial.report(step, value)` and `if
        trial.should_stop(): return`.
    tree_or_space
        The domain of the search.
    budget
        The number of evaluations, including failed ones and known results.
    searcher
        A searcher, its name, or a function that returns one for the tree or space; by default
        `GPTS(tree)` or `Forest(space)`.
    stop
        Rules such as `ExpectedGap(0.01)`, `Gap(0.1)`, `Patience(50)`, `WallTime(60)`,
        `Target(0.9)`, or any function of the searcher whose result is true if the search should
        stop.
    bounds
        Known bounds of the expected value, such as `(0, 1)` for an accuracy or `(0, None)` for a
        loss, which the certificate and the expected best respect. Only for the default searcher
        and "gpts".
    noise
        The standard deviation of a value around its expectation, 0 if values are exact; by default
        it is fitted. Only for the default searcher and "gpts".
    constraints
        Constraints that are known before an evaluation: a cheap function with the arguments of the
        objective, which returns a number or a sequence of numbers, feasible if all are at most 0.
        The objective is evaluated only at feasible points. The search ends if the searcher finds no
        further feasible point, and raises `Infeasible` if it finds none at all. (Constraints that
        are measured by an evaluation are part of its `Outcome`.)
    prune
        A rule that stops unpromising trials by their reports: `SuccessiveHalving()` or
        `ProbabilityOfImprovement()`. By default no trial is stopped.
    executor
        The workers of a parallel run: a number of processes, or anything with the `submit` of
        `concurrent.futures`, such as a pool of threads or `client.get_executor(pure=False)` of a
        Dask cluster. A new evaluation starts as soon as one ends.
    study
        A file that records all operations, so that the search can be resumed after any failure; or
        a `Study`. If the file exists, the search is resumed: the budget counts all of its trials,
        and `rng` must be None or the original seed.
    timeout
        Seconds after which an evaluation has failed. Needs an executor.
    retries
        The number of further attempts at an evaluation whose worker has died, or which raised one
        of `catch`, before it counts as failed. By default one after the death of a worker, and none
        after an exception, which would usually be raised again.
    catch
        Exceptions of the objective (or of its returned value), or of the constraints, that only
        make one evaluation fail: the reason is recorded, and the search continues. Other exceptions
        end the search with an `ObjectiveError`, which holds the path and the result so far.
        (Exceptions of a rule or callback are raised unchanged, with an attribute `result`.)
    collect
        Whether to wait for running evaluations when a rule or Ctrl-C ends the search (until Ctrl-C
        is pressed again). By default they are abandoned, and a study offers them again when it is
        resumed.
    callbacks
        Functions called with the searcher after every evaluation, including failed ones. The search
        ends if the result of one is true.
    progress
        Whether to show a bar with the best value so far, the expected value of the best of all, and
        the expected loss of the recommended one. None: a bar on a terminal and in a notebook,
        otherwise a line every ten seconds. `"log"`: a line for every trial instead.
    rng
        The seed, unless `searcher` is an instance.

    Returns
    -------
    Result
        The result, also if the search is interrupted by Ctrl-C.

    Examples
    --------
    >>> import bough
    >>> tree = bough.Tree(branching=4, depth=5)
    >>> result = bough.maximize(lambda path: sum(path), tree, budget=60, rng=0)
    >>> result.stopped_by, len(result.history)
    ('budget', 60)
    """
    return _optimize(1.0, SimpleNamespace(**locals()))


def _signature_of(template: Callable[P, R]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a function the signature of another, for type checkers and for `help`."""

    def decorate(function: Callable[..., R]) -> Callable[P, R]:
        function.__signature__ = inspect.signature(template)  # type: ignore[attr-defined]
        function.__annotations__ = template.__annotations__
        return cast(Callable[P, R], function)

    return decorate


@_signature_of(maximize)
def minimize(*arguments: Any, **keywords: Any) -> Result:
    """Find the path or the params with the lowest value: `maximize` of the negative.

    The parameters are those of `maximize`. The result has the values themselves: `best.mean` is
    low, and `certificate.lower` bounds the values of all paths from below. `Target(value)` stops at
    or below the value. The searcher, and so your own rules and callbacks, observes the negative of
    each value; `bounds` are those of the values.

    >>> import bough
    >>> tree = bough.Tree(branching=4, depth=5)
    >>> search = bough.GPTS(tree, bough.kernels.Linear(), noise=0.0, rng=0)
    >>> stop = bough.Target(3.0)
    >>> result = bough.minimize(lambda path: sum(path), tree, searcher=search, stop=stop)
    >>> result.stopped_by, result.best.mean <= 3.0
    ('target', True)
    """
    given = inspect.signature(maximize).bind(*arguments, **keywords)
    given.apply_defaults()
    return _optimize(-1.0, SimpleNamespace(**given.arguments))


def _optimize(sign: float, given: SimpleNamespace) -> Result:
    """Find the path with the highest sign times value, given the arguments of `maximize`."""
    domain = Domain(given.tree_or_space, "the second argument")
    if not callable(given.objective):
        several = isinstance(given.objective, (list, tuple)) and any(map(callable, given.objective))
        raise TypeError(
            f"objective must be a function, got {given.objective!r}"
            + (f"; {ONE_OBJECTIVE}" if several else "")
        )
    rules, budget = checked_rules(given.stop, given.budget)
    if sign < 0:
        rules = [Target(-rule.value) if isinstance(rule, Target) else rule for rule in rules]
    catch = checked_exceptions(given.catch)
    callbacks = checked_functions(given.callbacks, "callbacks")
    retries = None if given.retries is None else whole(given.retries, "retries", least=0)
    if given.collect not in (True, False):
        raise TypeError(f"collect must be True or False, got {given.collect!r}")
    check_executor(given.executor, given.timeout)
    _check_prune(given.prune, given.objective)
    known = None
    if given.constraints is not None:
        known = KnownConstraints(given.constraints, domain, catch)
    trials = _open_trials(given, sign, budget)
    interrupts = Interrupts()
    closes = trials is not given.study
    run = SearchRun(trials, closes, domain, interrupts, catch, retries, given.prune, known)
    evaluator: Evaluator | None = None
    stopped_by = None
    try:
        with interrupts, Bar(given.progress, budget, run.ended, sign, run=run) as bar:
            if run.ended:
                stopped_by = run.stopped_by(budget, rules)
            if stopped_by is None:
                task = Task(given.objective, domain, trials.first_state, sign)
                evaluator = make_evaluator(given.executor, task, given.timeout, interrupts)
            try:
                while stopped_by is None and evaluator is not None:
                    run.fill(evaluator, budget)
                    if run.settle_next(evaluator):
                        bar.update(run.search)
                        stopped_by = run.stopped_by(budget, rules)
                        if stopped_by is None and callbacks:
                            stopped_by = run.first_stop(callbacks, "callback")
            except Exhausted as error:
                if given.constraints is not None and not run.ended:
                    raise Infeasible(
                        "constraints: all candidates were tried, and none is feasible. Are values "
                        "at most 0 where they hold?"
                    ) from error
                stopped_by = "exhausted"
            except Infeasible:
                if not run.search.observations:
                    raise
                stopped_by = "infeasible"
            except KeyboardInterrupt:
                stopped_by = "interrupt"
                interrupts.caught()
            if given.executor is not None and evaluator is not None and run.running:
                _leave_or_collect(given.collect, run, evaluator, bar)
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    except Exception as error:  # of the objective, a rule or callback, a pool, the study's file
        result = run.result("error")
        with suppress(AttributeError):
            error.result = result  # type: ignore[attr-defined]
        raise
    except BaseException as error:  # of an objective that ends the program, such as by sys.exit
        error.result = run.result("error")  # type: ignore[attr-defined]
        raise
    finally:
        if evaluator is not None:
            evaluator.close()
    return run.result(stopped_by or "budget")


def _leave_or_collect(collect: bool, run: SearchRun, evaluator: Evaluator, bar: Bar) -> None:
    """Report the running evaluations, and wait for them if asked to, until Ctrl-C is pressed."""
    count = f"{len(run.running)} running evaluation{'s' if len(run.running) > 1 else ''}"
    if not collect:
        again = ": the study offers them again" if isinstance(run.trials, Study) else ""
        bar.say(f"left {count}{again}")
        return
    bar.say(f"waiting for {count}; press Ctrl-C to leave them")
    while run.running:
        if run.settle_next(evaluator):
            bar.update(run.search)


def _open_trials(given: SimpleNamespace, sign: float, budget: int | None) -> Study | Unrecorded:
    domain, rng = given.tree_or_space, given.rng
    options: dict[str, Any] = {}
    if given.bounds is not None:
        options["bounds"] = interval(given.bounds, "bounds")
    if given.noise is not None:
        options["noise"] = at_least_zero(given.noise, "noise")
    if options and given.searcher is not None and given.searcher != "gpts":
        name = next(iter(options))
        raise ValueError(
            f'{name} is only for the default searcher and "gpts": pass it to the constructor of '
            f"your searcher if it has such an option, as in GPTS(tree, {name}=...); got "
            f"{name}={getattr(given, name)!r} and searcher={given.searcher!r}"
        )
    direction = "maximize" if sign > 0 else "minimize"
    if given.study is None:
        options = in_sign(options, direction)
        searcher = make_searcher(given.searcher, domain, rng, options, plays=budget)
        return Unrecorded(searcher, sign)
    return open_or_create(
        given.study, domain, searcher=given.searcher, rng=rng, direction=direction, **options
    )


def checked_rules(stop: Any, budget: int | None) -> tuple[list[StopRule], int | None]:
    """Return the stop rules, and the smallest budget among them, which counts failures too."""
    rules = [stop] if callable(stop) else checked_functions(stop, "stop")
    for rule in rules:
        if isinstance(rule, type):
            raise TypeError(f"stop takes rules, not classes of them: write {rule.__name__}(...)")
        if hasattr(rule, "start"):
            rule.start()
    if budget is None and not rules:
        raise ValueError("pass a limit: a budget or a stop rule, such as budget=1000")
    budgets = [rule.evaluations for rule in rules if isinstance(rule, Budget)]
    if budget is not None:
        budgets.append(Budget(budget).evaluations)
    rest = [rule for rule in rules if not isinstance(rule, Budget)]
    return rest, min(budgets, default=None)


def _check_prune(prune: Any, objective: Any) -> None:
    """Refuse anything but a rule, and a rule for an objective that does not take a trial."""
    if prune is None:
        return
    if not isinstance(prune, PruneRule):
        hint = f": write {prune.__name__}()" if isinstance(prune, type) else ""
        raise TypeError(
            f"prune must be a rule such as bough.SuccessiveHalving(), or None, got {prune!r}{hint}"
        )
    if not takes_trial(objective):
        raise ValueError(
            "prune needs an objective with two required parameters, such as objective(params, "
            f"trial), which calls trial.report(step, value); got {objective!r}"
        )


def checked_functions(given: Any, name: str) -> list[Any]:
    """Return an argument that is a list of functions."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of functions, got {given!r}")
    functions = list(given)
    for function in functions:
        if not callable(function):
            raise TypeError(f"{name} must be a list of functions, got {function!r} in it")
    return functions


def checked_exceptions(given: Any) -> tuple[type[Exception], ...]:
    """Return the argument `catch` as a tuple."""
    exceptions = given if isinstance(given, tuple) else (given,)
    for kind in exceptions:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise TypeError(f"catch must be an exception class, or a tuple of them, got {given!r}")
    return exceptions
