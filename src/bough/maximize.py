"""The loop: ask, evaluate, tell, until a rule says stop."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np

from bough._checks import at_least_zero, real
from bough._interrupts import Interrupts
from bough.progress import Bar
from bough.result import History, ObjectiveError, Result, negative_arm, negative_certificate
from bough.searchers import Exhausted, Searcher
from bough.searchers.by_name import make_searcher
from bough.stopping import Budget, StopRule, Target, WallTime
from bough.trees import Path, Tree


def maximize(
    objective: Callable[[Any], Any],
    tree: Tree,
    *,
    budget: int | None = None,
    searcher: str | Searcher | Callable[[Tree], Searcher] | None = None,
    stop: StopRule | Iterable[StopRule] = (),
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    callbacks: Iterable[Callable[[Searcher], object]] = (),
    progress: bool | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Find the path of a tree with the highest reward.

    Parameters
    ----------
    objective
        Called with `tree.decode(path)`; returns the reward, or `(reward, std)` of this reward.
    tree
        What is searched.
    budget
        How many evaluations there may be, failed ones and those told before included.
    searcher
        A searcher, its name, or a function that makes one for the tree; `GPTS(tree)` by default.
    stop
        Rules such as `Gap(0.1)`, `WallTime(60)`, `Target(0.9)`, or any function of the searcher
        that returns something true.
    catch
        Exceptions of the objective (or of what it returned) that only make one evaluation fail.
        Others end the search with an `ObjectiveError`, which holds the path and the result so far.
        (What a rule or callback raises comes as it is; it holds the `result` too.)
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
    return _loop(objective, tree, 1.0, budget, searcher, stop, catch, callbacks, progress, rng)


def minimize(
    objective: Callable[[Any], Any],
    tree: Tree,
    *,
    budget: int | None = None,
    searcher: str | Searcher | Callable[[Tree], Searcher] | None = None,
    stop: StopRule | Iterable[StopRule] = (),
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    callbacks: Iterable[Callable[[Searcher], object]] = (),
    progress: bool | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Find the path of a tree with the lowest value: `maximize` of the negative.

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
    return _loop(objective, tree, -1.0, budget, searcher, stop, catch, callbacks, progress, rng)


def _loop(
    objective: Callable[[Any], Any],
    tree: Tree,
    sign: float,
    budget: int | None,
    searcher: Any,
    stop: Any,
    catch: Any,
    callbacks: Any,
    progress: bool | None,
    rng: Any,
) -> Result:
    """Find the path with the highest sign times value."""
    if not isinstance(tree, Tree):
        raise TypeError(f"the second argument must be a bough.Tree, got {tree!r}")
    if not callable(objective):
        raise TypeError(f"objective must be a function, got {objective!r}")
    rules, budget = _checked_rules(stop, budget)
    if sign < 0:
        rules = [Target(-rule.value) if isinstance(rule, Target) else rule for rule in rules]
    catch = _checked_exceptions(catch)
    callbacks = _checked_calls(callbacks, "callbacks")
    search = make_searcher(searcher, tree, rng)
    run = _Run(search, sign, Interrupts())
    stopped_by = None
    try:
        with run.interrupts, Bar(progress, budget, search.observations, sign) as bar:
            if search.observations:
                stopped_by = run.stopped_by(budget, rules)
            while stopped_by is None:
                try:
                    path = search.ask()
                except Exhausted:
                    stopped_by = "exhausted"
                    break
                except Exception as error:  # of the tree's functions, or the prior mean
                    raise _failure(f"the search failed: {error!r}", ()) from error
                run.evaluate(objective, path, catch)
                bar.update(search)
                stopped_by = run.stopped_by(budget, rules) or run.word(callbacks, "callback")
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    except Exception as error:  # of the objective, or of a rule or callback
        result = run.result("error")
        with suppress(AttributeError):
            error.result = result  # type: ignore[attr-defined]
        raise
    return run.result(stopped_by)


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


def _failure(message: str, path: Path) -> ObjectiveError:
    failure = ObjectiveError(message)
    failure.path = path
    return failure


class _Run:
    """What has happened so far."""

    def __init__(self, search: Searcher, sign: float, interrupts: Interrupts) -> None:
        self.search = search
        self.sign = sign
        self.interrupts = interrupts
        self.paths: list[Path] = []
        self.values: list[float] = []
        self.seconds: list[float] = []
        self.unsettled: list[Path] = []  # asked for here, and not told
        self.failed = 0
        self.begin = perf_counter()

    def evaluate(self, objective: Callable[[Any], Any], path: Path, catch: Any) -> None:
        """Evaluate a path and tell the searcher; if that fails nothing of it is kept."""
        self.unsettled.append(path)
        try:
            try:
                self.interrupts.heeded = True
                returned = objective(self.search.tree.decode(path))
            finally:
                self.interrupts.heeded = False
            value, noise = _reward(returned)
            self.search.tell(path, self.sign * value, noise=noise)
        except catch:
            # It stays pending until the end, so that the search goes on elsewhere.
            self.failed += 1
            return
        except Exception as error:
            raise _failure(f"the objective failed at path {path}: {error!r}", path) from error
        self.unsettled.pop()
        self.paths.append(path)
        self.values.append(value)
        self.seconds.append(perf_counter() - self.begin)

    def stopped_by(self, budget: int | None, rules: Sequence[StopRule]) -> str | None:
        """Return what says that it is enough."""
        if budget is not None and self.search.observations + self.failed >= budget:
            return "budget"
        return self.word(rules)

    def word(self, rules: Sequence[Any], name: str | None = None) -> str | None:
        """Return the word of the first rule that has one."""
        self.interrupts.check()
        try:
            self.interrupts.heeded = True
            for rule in rules:
                word = rule(self.search)
                if isinstance(word, str) and word:
                    return word
                if word:
                    return name or getattr(rule, "__name__", repr(rule))
        finally:
            self.interrupts.heeded = False
        return None

    def result(self, stopped_by: str) -> Result:
        """Return what was found; what was asked for here and not told will not come."""
        for path in self.unsettled:
            with suppress(Exception):  # what broke the search may break this too
                self.search.forget(path)
        told = self.search.observations > 0
        certificate = getattr(self.search, "certificate", None) if told else None
        history = History(self.paths, np.array(self.values), np.array(self.seconds))
        best = self.search.best() if told else None
        if self.sign < 0:
            best = None if best is None else negative_arm(best)
            certificate = None if certificate is None else negative_certificate(certificate)
        return Result(best, certificate, history, stopped_by, self.search)


def _reward(returned: Any) -> tuple[float, float | None]:
    """Read what an objective returned: a value, or a value and its standard deviation."""
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise TypeError(
                "the objective must return a reward or (reward, std), "
                f"got a tuple of {len(returned)}"
            )
        std = at_least_zero(returned[1], "the reward's std")
        return real(returned[0], "the reward"), std
    return real(returned, "the reward"), None
