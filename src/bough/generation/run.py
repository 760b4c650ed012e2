"""`generate` and `agenerate`: ask, call a generator, tell, until a rule says stop."""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from time import perf_counter
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from bough._validation import above_zero, whole
from bough.exceptions import ObjectiveError, StudyError, TimedOut, WorkerDied
from bough.generation.answers import read_answer
from bough.generation.result import GenerationResult
from bough.generation.search import ONE, GenerativeSearch
from bough.generation.study import Codec, GenerationStudy
from bough.run.executors import Evaluator, Job, check_executor, make_evaluator, trial_seed
from bough.run.executors import evaluate as evaluate_here
from bough.run.loop import reason_of
from bough.run.maximize import checked_exceptions, checked_functions, checked_rules
from bough.run.progress import Bar, Interrupts
from bough.run.stopping import RunRule, StopRule

#: A generator: it gets None for a draft, or the node to refine.
Generator = Callable[[Any], Any]


def generate(
    f: Generator | None = None,
    budget: int | None = None,
    *,
    generators: Mapping[str, Generator] | None = None,
    costs: float | Mapping[str, float] | None = None,
    cost: float | None = None,
    noise: float | None = None,
    seeds: Iterable[Any] = (),
    key: Callable[[Any], Hashable] | None = None,
    max_depth: int | None = None,
    stop: StopRule | Iterable[StopRule] = (),
    executor: Any = None,
    study: "str | os.PathLike[str] | GenerationStudy | None" = None,
    codec: Codec | None = None,
    timeout: float | None = None,
    retries: int = 1,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    callbacks: Iterable[Callable[[GenerativeSearch], object]] = (),
    progress: bool | Literal["log"] | None = None,
    rng: np.random.Generator | int | None = None,
) -> GenerationResult:
    """Find the best answer of a random generator, by new drafts and refinements.

    Parameters
    ----------
    f
        The generator: called with None for a new draft, or with the node to refine (`answer`,
        `score`, `std`, `feedback`, `depth`, `path`, `generator`). It returns `(answer, score)`,
        `(answer, score, std)` or an `Answer`. If it has a parameter `seed`, it gets one for each
        call.
    budget
        The number of calls, including failed and recorded ones.
    generators
        Several generators by name, instead of `f`. Each has its own model of drafts and
        refinements, and its own cost.
    costs
        The expected cost of a call: a number, or numbers by name, updated by the `cost` of answers.
        By default every call costs 1.
    cost
        The limit of the total cost, in the same unit: money, tokens, seconds. A call begins only if
        its expected cost does not exceed the rest.
    noise
        The standard deviation of a score for which none is given, 0 if scores are exact. By default
        it is fitted.
    seeds
        Known answers to begin with, such as `(answer, score)`; or the nodes of an earlier search.
        They are not calls.
    key
        A function of an answer: answers with equal keys are one node. By default all are different.
    max_depth
        The depth at which an answer is not refined any more; 1 for drafts only.
    stop
        Rules such as `Target(1.0)`, `Patience(50)`, `WallTime(3600)`, or any function of the search
        that returns something true.
    executor
        The workers of a parallel run: a number of processes, or anything with the `submit` of
        `concurrent.futures`, such as `ThreadPoolExecutor(8)`.
    study
        A file that records all calls and answers, so that the search can be resumed after any
        failure without repeating recorded calls; or a `GenerationStudy`.
    codec
        For a new or resumed study, a pair of functions that write an answer as bytes and read it.
        By default answers are written as JSON.
    timeout
        Seconds after which a call has failed. Needs an executor.
    retries
        The number of further attempts at a call whose worker has died, or which raised one of
        `catch`, before it counts as failed.
    catch
        Exceptions of a generator (or of its returned value) that only make one call fail. Others
        end the search with an `ObjectiveError`, which holds the `result` so far.
    callbacks
        Functions called with the search after every call, including failed ones. The search ends if
        the result of one is true.
    progress
        Whether to show a bar. None: on a terminal and in a notebook, otherwise a line every ten
        seconds. `"log"`: a line for every call instead.
    rng
        The seed, for breaking ties.

    Returns
    -------
    GenerationResult
        The result, also if the search is interrupted by Ctrl-C.

    Examples
    --------
    >>> import bough, random
    >>> draw = random.Random(0)
    >>> def walk(parent):
    ...     x = (0.0 if parent is None else parent.answer) + draw.gauss(0, 1)
    ...     return x, -abs(x - 7)
    >>> result = bough.generate(walk, budget=100, noise=0.0, rng=0)
    >>> result.stopped_by, abs(result.best.answer - 7) < 0.5
    ('budget', True)
    """
    functions = _checked_generators(f, generators)
    for name, function in functions.items():
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{name} is an async function: await bough.agenerate(..) calls it")
    given = SimpleNamespace(**locals())
    check_executor(executor, timeout)
    run = _open_run(given, functions)
    interrupts = Interrupts()
    run.interrupts = interrupts
    evaluator: Evaluator | None = None
    stopped_by = None
    try:
        with interrupts, Bar(progress, run.budget, run.ended, unit="call", run=run) as bar:
            stopped_by = run.stopped_by()
            if stopped_by is None:
                task: Any = _Calls(functions, run.first_state)
                evaluator = make_evaluator(executor, task, timeout, interrupts)
            try:
                while stopped_by is None and evaluator is not None:
                    run.fill(evaluator)
                    job, returned, error = evaluator.wait()
                    if run.settle(job, returned, error, evaluator.submit):
                        bar.update(run.search)
                        stopped_by = run.stopped_by() or run.first_stop(run.callbacks, "callback")
            except KeyboardInterrupt:
                stopped_by = "interrupt"
                interrupts.caught()
            if run.running and executor is not None:
                bar.say(run.left_text())
    except KeyboardInterrupt:
        stopped_by = "interrupt"
    except BaseException as error:
        with suppress(AttributeError):
            error.result = run.result("error")  # type: ignore[attr-defined]
        raise
    finally:
        if evaluator is not None:
            evaluator.close()
        run.leave()
    return run.result(stopped_by or "budget")


async def agenerate(
    f: Callable[[Any], Awaitable[Any]] | None = None,
    budget: int | None = None,
    *,
    generators: Mapping[str, Callable[[Any], Awaitable[Any]]] | None = None,
    limit: int = 16,
    costs: float | Mapping[str, float] | None = None,
    cost: float | None = None,
    noise: float | None = None,
    seeds: Iterable[Any] = (),
    key: Callable[[Any], Hashable] | None = None,
    max_depth: int | None = None,
    stop: StopRule | Iterable[StopRule] = (),
    study: "str | os.PathLike[str] | GenerationStudy | None" = None,
    codec: Codec | None = None,
    timeout: float | None = None,
    retries: int = 1,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    callbacks: Iterable[Callable[[GenerativeSearch], object]] = (),
    progress: bool | Literal["log"] | None = None,
    rng: np.random.Generator | int | None = None,
) -> GenerationResult:
    """Find the best answer of an async generator, with up to `limit` concurrent calls.

    The parameters are those of `generate`. When the task is cancelled, for example by Ctrl-C or a
    timeout, running calls are cancelled too. With a study all answers are recorded, and the
    cancelled calls are offered again when it is resumed.

    Examples
    --------
    >>> import asyncio, bough, random
    >>> draw = random.Random(0)
    >>> async def walk(parent):
    ...     await asyncio.sleep(0)  # a call to a service
    ...     x = (0.0 if parent is None else parent.answer) + draw.gauss(0, 1)
    ...     return x, -abs(x - 7)
    >>> result = asyncio.run(bough.agenerate(walk, budget=100, limit=8, noise=0.0, rng=0))
    >>> result.calls, abs(result.best.answer - 7) < 0.5
    (100, True)
    """
    functions = _checked_generators(f, generators)
    given = SimpleNamespace(**locals())
    limit = whole(limit, "limit", least=1)
    if timeout is not None:
        timeout = above_zero(timeout, "timeout")
    run = _open_run(given, functions)
    tasks: dict[asyncio.Task[Any], Job] = {}

    def submit(job: Job) -> None:
        tasks[asyncio.create_task(_call(functions, job, run.first_state, timeout))] = job

    evaluator = SimpleNamespace(has_room=lambda: len(tasks) < limit, submit=submit)
    stopped_by = None
    try:
        with Bar(progress, run.budget, run.ended, unit="call", run=run) as bar:
            stopped_by = run.stopped_by()
            while stopped_by is None:
                run.fill(evaluator)
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in sorted(done, key=lambda task: tasks[task].id):
                    job = tasks.pop(task)
                    returned, failure = task.result()
                    if run.settle(job, returned, failure, submit):
                        bar.update(run.search)
                        stopped_by = stopped_by or run.stopped_by()
                        stopped_by = stopped_by or run.first_stop(run.callbacks, "callback")
            if run.running:
                bar.say(run.left_text())
    except BaseException as error:
        # A call may have ended at the moment of a cancellation: nothing of it is lost.
        if isinstance(error, asyncio.CancelledError):
            for task in [task for task in tasks if task.done() and not task.cancelled()]:
                with suppress(Exception):
                    returned, failure = task.result()
                    run.settle(tasks.pop(task), returned, failure, lambda job: None)
        with suppress(AttributeError):
            error.result = run.result("error")  # type: ignore[attr-defined]
        raise
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        run.leave()
    return run.result(stopped_by or "budget")


async def _call(
    functions: dict[str, Any], job: Job, first_state: int, timeout: float | None
) -> tuple[Any, Exception | None]:
    """Call an async generator; return what it returned, or its exception."""
    function = functions[job.candidate.generator]
    parent = job.candidate.parent
    keywords = {"seed": trial_seed(first_state, job.id)} if _has_seed(function) else {}
    try:
        awaitable = function(None if parent is None else parent.for_call(), **keywords)
        if not inspect.isawaitable(awaitable):
            raise TypeError(
                f"agenerate needs async functions, and {job.candidate.generator} returned "
                f"{type(awaitable).__name__}: bough.generate calls ordinary ones"
            )
        async with asyncio.timeout(timeout) as deadline:
            return await awaitable, None
    except TimeoutError as error:
        if timeout is not None and deadline.expired():
            return None, TimedOut(f"it took longer than {timeout:g} s")
        return None, error
    except Exception as error:
        return None, error


class _Calls:
    """The generators and the arguments of their calls: what an evaluator takes as its task."""

    def __init__(self, functions: dict[str, Generator], first_state: int) -> None:
        self.objective: Any = tuple(functions.values())
        self._functions = functions
        self._first_state = first_state
        self._seeded = {name: _has_seed(function) for name, function in functions.items()}

    def arguments(self, job: Job) -> tuple[Any, ...]:
        """Return the arguments of `bough.run.executors.evaluate`."""
        call = job.candidate
        seed = trial_seed(self._first_state, job.id) if self._seeded[call.generator] else None
        parent = None if call.parent is None else call.parent.for_call()
        return self._functions[call.generator], parent, job.id, seed, os.getpid()

    def call(self, job: Job) -> Any:
        """Call the generator in this process."""
        return evaluate_here(*self.arguments(job))


def _has_seed(function: Any) -> bool:
    try:
        parameter = inspect.signature(function).parameters.get("seed")
    except (TypeError, ValueError):
        return False
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return parameter is not None and parameter.kind in named


class GenerationRun:
    """A run: the calls so far, and those under way."""

    def __init__(
        self, trials: GenerativeSearch | GenerationStudy, given: SimpleNamespace, closes: bool
    ) -> None:
        self.trials = trials  # a study, or the search itself if nothing is recorded
        self.search = trials.search if isinstance(trials, GenerationStudy) else trials
        self.closes = closes
        self.rules, self.budget = given.rules, given.budget
        self.callbacks, self.catch, self.retries = given.callbacks, given.catch, given.retries
        self.interrupts = Interrupts()
        self.infeasible = 0
        self.before, self.failed_before = self.ended, self.search.failed
        self.running: dict[int, Job] = {}
        self._begin = perf_counter()
        self._line = ""
        if isinstance(trials, GenerationStudy):
            self.first_state = trials.first_state
        else:
            self.first_state = given.first_state

    @property
    def ended(self) -> int:
        """The number of calls that have ended, of this run and before."""
        return self.search.calls

    def fill(self, evaluator: Any) -> None:
        """Begin calls while there is room, within budget and cost."""
        while evaluator.has_room():
            if self.budget is not None and self.ended + len(self.running) >= self.budget:
                return
            waiting = len(self.search.pending) > len(self.running)  # of a study that is resumed
            if not waiting and not self.search.can_pay():
                return
            asked = self.trials.ask()
            job = Job(asked.id, asked)
            job.started = perf_counter()
            self._submit(job, evaluator.submit)

    def _submit(self, job: Job, submit: Callable[[Job], None]) -> None:
        job.attempts += 1
        self.running[job.id] = job
        submit(job)

    def settle(
        self, job: Job, returned: Any, error: BaseException | None, submit: Callable[[Job], None]
    ) -> bool:
        """Record the end of a call, or try it again; return whether it has ended."""
        asked = job.candidate
        if error is None:
            try:
                given = read_answer(returned)
                self.trials.tell(asked, given)
                took = perf_counter() - job.started
                self._line = (
                    f"call {job.id}: {_what(asked)}, score {given.score:.6g} in {took:.3g} s; "
                    f"best {self.best_observed().value:.6g}, cost {self.search.spent:.6g}"
                )
            except StudyError:
                raise
            except Exception as of_the_answer:
                error = of_the_answer
        if error is not None:
            caught, died = self._catches(error), isinstance(error, WorkerDied)
            if (caught or died) and job.attempts <= self.retries:
                self._submit(job, submit)
                return False
            if not (caught or died or isinstance(error, TimedOut)):
                if not isinstance(error, Exception):
                    raise error
                self.running.pop(job.id)
                raise _failure(asked, error, self) from error
            self.trials.fail(asked, reason_of(error))
            self._line = f"call {job.id}: {_what(asked)}, failed ({reason_of(error)})"
        del self.running[job.id]
        return True

    def _catches(self, error: BaseException) -> bool:
        if isinstance(error, SystemExit):
            return isinstance(RuntimeError(), self.catch)
        return isinstance(error, self.catch)

    def stopped_by(self) -> str | None:
        """Return the name of the limit or rule that ends the run, None if it continues."""
        if self.budget is not None and self.ended >= self.budget:
            return "budget"
        if self.search.cost is not None and not self.running and not self.search.can_pay():
            return "cost"
        self.interrupts.check()
        return self.first_stop(self.rules) if self.ended else None

    def first_stop(self, rules: Iterable[Any], name: str | None = None) -> str | None:
        """Return the name of the first rule that says stop."""
        try:
            self.interrupts.allowed = True
            for rule in rules:
                answer = rule(self if isinstance(rule, RunRule) else self.search)
                if isinstance(answer, str) and answer:
                    return answer
                if answer:
                    return name or getattr(rule, "__name__", repr(rule))
        finally:
            self.interrupts.allowed = False
        return None

    def best_observed(self) -> Any:
        """Return the best posterior mean so far as `value`; None without answers."""
        if not self.search.observations:
            return None
        return SimpleNamespace(value=self.search.best().mean)

    @property
    def failed(self) -> int:
        """The number of calls that have failed."""
        return self.search.failed

    def last_line(self) -> str:
        """Return a line about the call that ended last."""
        return self._line

    def left_text(self) -> str:
        """Return a line about calls under way that no one waits for."""
        count = f"{len(self.running)} running call{'s' if len(self.running) > 1 else ''}"
        again = "; the study offers them again" if self.trials is not self.search else ""
        return f"left {count}{again}"

    def leave(self) -> None:
        """End, and leave running calls."""
        if isinstance(self.trials, GenerationStudy):
            if self.closes:
                self.trials.close()
            else:
                self.trials.offer_again(job.candidate for job in self.running.values())
        else:
            for job in self.running.values():
                self.search.forget(job.candidate)
        self.running.clear()

    def result(self, stopped_by: str) -> GenerationResult:
        """Return the result."""
        study = self.trials if isinstance(self.trials, GenerationStudy) else None
        return GenerationResult(self.search, stopped_by, study, self.before)


def _what(asked: Any) -> str:
    of = "draft" if asked.parent is None else f"child of node {asked.parent.id}"
    return f"{of} by {asked.generator}"


def _failure(asked: Any, error: Exception, run: GenerationRun) -> ObjectiveError:
    failure = ObjectiveError(f"the generator {asked.generator} failed: {error!r}")
    failure.path = () if asked.parent is None else asked.parent.path
    return failure


def _checked_generators(f: Any, generators: Any) -> dict[str, Any]:
    """Return the generators by name."""
    if (f is None) == (generators is None):
        raise TypeError("pass one generator, or several by name: generators={'fast': f, 'big': g}")
    functions = {ONE: f} if generators is None else generators
    if not isinstance(functions, Mapping) or not functions:
        raise TypeError(f"generators must be functions by name, got {functions!r}")
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name} must be a function of a node or None, got {function!r}")
        try:
            inspect.signature(function).bind(None)
        except TypeError as error:
            if not _has_seed(function):
                raise TypeError(
                    f"{name} must be a function of one argument, the node to refine or None for a "
                    f"draft: {error}"
                ) from None
        except ValueError:  # some built-in functions do not say
            pass
    return dict(functions)


def _open_run(given: SimpleNamespace, functions: dict[str, Any]) -> GenerationRun:
    """Return a new run, for the arguments of `generate`."""
    if given.budget is None and given.cost is None and given.stop == ():
        raise ValueError("pass a limit: a budget, a cost or a stop rule")
    rules: list[StopRule] = []
    budget = given.budget
    if budget is not None or given.stop != ():
        rules, budget = checked_rules(given.stop, budget)
    options = SimpleNamespace(
        rules=rules,
        budget=budget,
        callbacks=checked_functions(given.callbacks, "callbacks"),
        catch=checked_exceptions(given.catch),
        retries=whole(given.retries, "retries", least=0),
        first_state=0,
    )
    arguments = {
        "budget": budget, "cost": given.cost, "costs": given.costs, "noise": given.noise,
        "seeds": given.seeds, "key": given.key, "max_depth": given.max_depth, "rng": given.rng,
    }  # fmt: skip
    names = list(functions)
    if isinstance(given.study, GenerationStudy):
        study = given.study
        for name in ("costs", "noise", "key", "max_depth", "codec", "rng"):
            if getattr(given, name) is not None:
                raise ValueError(f"{name}: the study has its own; leave it out, or give a file")
        if list(study.search.generators) != names:
            raise StudyError(
                f"{study.path} has the generators {', '.join(study.search.generators)}, not "
                f"{', '.join(names)}"
            )
        study.plan(budget, given.cost)
        return GenerationRun(study, options, closes=False)
    if given.study is not None:
        if not isinstance(given.study, (str, os.PathLike)):
            raise TypeError(
                f"study must be a file name or a bough.generation.GenerationStudy, got "
                f"{given.study!r}"
            )
        study = GenerationStudy.open(given.study, generators=names, codec=given.codec, **arguments)
        return GenerationRun(study, options, closes=True)
    if given.codec is not None:
        raise ValueError("codec is for a study: give study=FILE too")
    rng = given.rng
    options.first_state = rng if isinstance(rng, int) else 0
    if rng is None:
        options.first_state = int(np.random.default_rng().integers(2**63))
    return GenerationRun(GenerativeSearch(names, **arguments), options, closes=True)
