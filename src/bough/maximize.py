"""The loop: ask, evaluate, tell, until a rule says stop."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough._checks import real
from bough._choice import Arm
from bough.progress import Bar
from bough.searchers import GPTS, UCT, Certificate, Exhausted, Searcher
from bough.stopping import Budget, StopRule, Target, WallTime
from bough.trees import Path, Tree

#: Searchers by name, for `maximize(..., searcher="gpts")`.
SEARCHERS: dict[str, Callable[..., Searcher]] = {"gpts": GPTS, "uct": UCT}


class ObjectiveError(Exception):
    """The objective raised; `path` is where, and `result` holds all that was told before."""

    path: Path
    result: "Result"


@dataclass(frozen=True)
class History:
    """Every evaluation in order: paths, values, and seconds since the beginning."""

    paths: list[Path]
    values: NDArray[np.float64]
    seconds: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.paths)

    def to_pandas(self) -> Any:
        """Return the history as a `pandas.DataFrame`."""
        import pandas as pd

        return pd.DataFrame({"path": self.paths, "value": self.values, "seconds": self.seconds})


@dataclass(frozen=True, repr=False)
class Result:
    """What a search found.

    Attributes
    ----------
    best
        The best arm that was played, None if none was.
    certificate
        How good it is, and how good anything can be; None if nothing was told.
    history
        Every evaluation.
    stopped_by
        Which rule ended the search.
    searcher
        The searcher as it stood, ready to go on.
    """

    best: Arm | None
    certificate: Certificate | None
    history: History
    stopped_by: str
    searcher: Searcher

    def __repr__(self) -> str:
        lines = [f"stopped by {self.stopped_by} after {len(self.history)} evaluations"]
        if self.best is not None:
            lines.append(f"best path   {self.searcher.tree.decode(self.best.path)}")
            lines.append(f"its reward  {self.best.mean:.6g} +- {self.best.std:.2g}")
        if self.certificate is not None:
            lines.append(
                f"certificate the best of all is between {self.certificate.lower:.6g} and "
                f"{self.certificate.upper:.6g}, at confidence {1 - self.certificate.delta:g}"
            )
        return "\n".join(lines)


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
        A searcher, its name, or a function that makes one for the tree.
    stop
        Rules such as `Gap(0.1)`, `WallTime(60)`, `Target(0.9)`, or any function of the searcher
        that returns something true.
    catch
        Exceptions of the objective that only make one evaluation fail. Others end the search with
        an `ObjectiveError`, which holds the path and the result so far.
    callbacks
        Called with the searcher after every reward; one that returns something true ends the
        search.
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
    >>> search = bough.GPTS(tree, bough.kernels.Linear(), noise=0.0, rng=0)
    >>> result = bough.maximize(lambda path: float(sum(path)), tree, budget=60, searcher=search)
    >>> result.stopped_by, len(result.history)
    ('budget', 60)
    """
    rules: list[StopRule] = [stop] if callable(stop) else list(stop)
    return _loop(objective, tree, 1.0, budget, searcher, rules, catch, callbacks, progress, rng)


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
    rules: list[StopRule] = [stop] if callable(stop) else list(stop)
    rules = [Target(-rule.value) if isinstance(rule, Target) else rule for rule in rules]
    return _loop(objective, tree, -1.0, budget, searcher, rules, catch, callbacks, progress, rng)


def _loop(
    objective: Callable[[Any], Any],
    tree: Tree,
    sign: float,
    budget: int | None,
    searcher: Any,
    rules: list[StopRule],
    catch: Any,
    callbacks: Iterable[Callable[[Searcher], object]],
    progress: bool | None,
    rng: Any,
) -> Result:
    """Find the path with the highest sign times value."""
    if budget is not None:
        Budget(budget)  # checks it; failed evaluations count too, and only the loop knows of them
    elif not rules:
        raise ValueError("say when to stop: give a budget or a stop rule, such as budget=1000")
    for rule in rules:
        if isinstance(rule, WallTime):
            rule.start()
    search = _searcher(searcher, tree, rng)
    callbacks = list(callbacks)
    run = _Run(search, sign)
    stopped_by = run.stopped_by(budget, rules) if search.observations else None
    try:
        with Bar(progress, budget, sign) as bar:
            while stopped_by is None:
                try:
                    path = search.ask()
                except Exhausted:
                    stopped_by = "exhausted"
                    break
                run.evaluate(objective, path, catch)
                bar.update(search)
                stopped_by = run.stopped_by(budget, rules)
                if stopped_by is None:
                    stopped_by = _first(callbacks, search, "callback")
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    except ObjectiveError as error:
        error.result = run.result("error")
        raise
    return run.result(stopped_by)


def _searcher(given: Any, tree: Tree, rng: Any) -> Searcher:
    if isinstance(given, Searcher):
        if given.tree != tree:
            raise ValueError(f"the searcher is for {given.tree!r}, not for {tree!r}")
        return given
    if given is None or isinstance(given, str):
        name = "gpts" if given is None else given
        if name not in SEARCHERS:
            raise ValueError(f"searcher must be one of {sorted(SEARCHERS)}, got {name!r}")
        return SEARCHERS[name](tree, rng=rng)
    if callable(given):
        made = given(tree)
        if isinstance(made, Searcher):
            return made
    raise TypeError(
        "searcher must be a searcher, the name of one, or a function of the tree that makes one, "
        f"got {given!r}"
    )


def _first(rules: Sequence[Any], search: Searcher, name: str | None = None) -> str | None:
    """Return the word of the first rule that has one."""
    for rule in rules:
        word = rule(search)
        if word:
            return word if isinstance(word, str) else name or getattr(rule, "__name__", repr(rule))
    return None


class _Run:
    """What has happened so far."""

    def __init__(self, search: Searcher, sign: float) -> None:
        self.search = search
        self.sign = sign
        self.paths: list[Path] = []
        self.values: list[float] = []
        self.seconds: list[float] = []
        self.failed = 0
        self.begin = perf_counter()

    def evaluate(self, objective: Callable[[Any], Any], path: Path, catch: Any) -> None:
        """Evaluate a path and tell the searcher; if that fails nothing of it is kept."""
        try:
            value, noise = _reward(objective(self.search.tree.decode(path)))
            self.search.tell(path, self.sign * value, noise=noise)
        except catch:
            # It stays pending until the end, so that the search goes on elsewhere.
            self.failed += 1
            return
        except Exception as error:
            failure = ObjectiveError(f"the objective failed at path {path}: {error!r}")
            failure.path = path
            raise failure from error
        self.paths.append(path)
        self.values.append(value)
        self.seconds.append(perf_counter() - self.begin)

    def stopped_by(self, budget: int | None, rules: Sequence[StopRule]) -> str | None:
        """Return what says that it is enough."""
        if budget is not None and self.search.observations + self.failed >= budget:
            return "budget"
        return _first(rules, self.search) if self.search.observations else None

    def result(self, stopped_by: str) -> Result:
        """Return what was found; what is still pending will not come."""
        for path in self.search.pending:
            self.search.forget(path)
        told = self.search.observations > 0
        certificate = getattr(self.search, "certificate", None) if told else None
        history = History(self.paths, np.array(self.values), np.array(self.seconds))
        best = self.search.best() if told else None
        if self.sign < 0:
            best = None if best is None else _negative(best)
            if certificate is not None:
                low, high = -certificate.upper, -certificate.lower
                certificate = replace(certificate, lower=low, upper=high)
        return Result(best, certificate, history, stopped_by, self.search)


def _negative(arm: Arm) -> Arm:
    value = None if arm.value is None else -arm.value
    return Arm(arm.path, arm.params, -arm.mean, arm.std, -arm.upper, -arm.lower, value, arm.visits)


def _reward(returned: Any) -> tuple[float, float | None]:
    """Read what an objective returned: a value, or a value and its standard deviation."""
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise TypeError(
                "the objective must return a reward or (reward, std), "
                f"got a tuple of {len(returned)}"
            )
        return real(returned[0], "the reward"), real(returned[1], "the reward's std")
    return real(returned, "the reward"), None
