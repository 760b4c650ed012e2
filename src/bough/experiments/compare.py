"""Comparisons of any searchers on any problems: tuning on some seeds, runs on others."""

import itertools
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bough._validation import whole
from bough.experiments.competitors import (
    GRIDS,
    Competitor,
    Constants,
    GridWindow,
    custom_competitor,
    named_competitor,
)
from bough.experiments.results import Comparison, TuningChoice
from bough.experiments.runs import Job, Run, all_marks, run_all, scored_marks
from bough.problems import Problem, named
from bough.run.pools import cores
from bough.searchers import Searcher
from bough.studies.records import RecordFile

#: Constants are tuned on problems from this seed on, counted from the first one that is shown.
TUNING = 1_000_000
#: The largest default number of seeds for tuning.
MOST_TUNING = 20

#: Names of a problem and a searcher.
Pair = tuple[str, str]


def compare(
    problems: Iterable[str] | Mapping[str, str | Callable[..., Problem]],
    searchers: Iterable[str] | Mapping[str, str | Callable[..., Searcher]],
    *,
    budget: int,
    seeds: int = 50,
    tuning_seeds: int | None = None,
    seed: int = 0,
    steps: bool = False,
    grids: Mapping[str, Mapping[str, Any]] = GRIDS,
    study: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Run searchers on problems, and measure their regrets.

    Every seed is a problem of its own, the same for all searchers. The constants of a searcher in
    `grids` are chosen for each problem by its simple regret on seeds that are not shown.

    Parameters
    ----------
    problems
        Names, such as `"smooth:20:5:noise=0.3"`; or a dict of such names and of functions of
        `seed`, by the names to show.
    searchers
        Names, such as `"uct:exploration=0.4"` or `"gpts-known"` (which is given kernel, noise and
        mean of the problem); or a dict of such names and of functions of the tree, which are given
        `rng`, `budget` and `discount` if they have such parameters.
    budget
        Evaluations of each run.
    seeds
        The number of problems of each kind that are shown.
    tuning_seeds
        The number of other problems on which constants are chosen; by default as many, at most 20.
    seed
        The first problem. It determines all regrets.
    steps
        Whether to pass on the immediate rewards where a problem has them, instead of their sum.
    grids
        The constants to try by the name of the searcher: for each of them a sequence of values, or
        a `Grid` that grows while the best is at an end of it.
    study
        A file of finished runs, which are not repeated, unless they are of another version of
        bough; changes of a searcher of your own are not noticed.
    workers
        The number of processes; by default that of the cores.
    progress
        True: a bar. None: a bar on a terminal and in a notebook, elsewhere a line every ten
        seconds. False: nothing.

    Examples
    --------
    >>> found = compare(["needle:4:3"], ["gpts", "uct"], budget=30, seeds=2, workers=1)
    >>> [curve.searcher for curve in found.by_evaluations()]
    ['gpts', 'uct']
    >>> print(found)  # doctest: +ELLIPSIS
    simple regret, means over 2 seeds with 95 % intervals
    problem     searcher ...
    """
    budget = whole(budget, "budget", least=1)
    seeds = whole(seeds, "seeds", least=1, most=TUNING)
    seed = whole(seed, "seed", least=0)
    if tuning_seeds is None:
        tuning_seeds = min(seeds, MOST_TUNING)
    tuning_seeds = whole(tuning_seeds, "tuning_seeds", least=1)
    workers = cores() if workers is None else whole(workers, "workers", least=1)
    makers = _problems(problems)
    competitors = _searchers(searchers, grids)
    comparison = Comparison(
        tuple(makers),
        tuple(competitors),
        budget,
        steps,
        range(seed, seed + seeds),
        range(seed + TUNING, seed + TUNING + tuning_seeds),
    )
    windows = _possible(comparison, makers, competitors)

    def jobs(pair: Pair, constants: Constants, numbers: range) -> list[Job]:
        return [Job(*pair, constants, number, budget, steps) for number in numbers]

    def run(title: str, groups: Iterable[list[Job]]) -> None:
        tasks = [(j, makers[j.problem], competitors[j.searcher]) for js in groups for j in js]
        failed = run_all(tasks, store, workers=workers, progress=progress, title=title)
        for job, why in failed.items():
            comparison.failures.setdefault((job.problem, job.searcher), why)

    def tune(pairs: Iterable[Pair]) -> list[Pair]:
        """Choose constants; return the pairs whose grids were extended, to be tuned again."""
        groups = {
            pair: [jobs(pair, c, comparison.tuning_seeds) for c in windows[pair].candidates()]
            for pair in pairs
        }
        run("tuning", itertools.chain.from_iterable(groups.values()))
        wider = []
        for pair, group in groups.items():
            if pair in comparison.failures:
                del comparison.choices[pair]
                continue
            table = [[store[job.key] for job in one] for one in group]
            choice = comparison.choices[pair] = _choose(windows[pair], table, budget)
            # (If all are equally good, nothing better lies beyond; if all are equally bad, it may
            # lie anywhere.)
            solved = choice.equal and choice.scores[0] == 0
            if not solved and windows[pair].widen(None if choice.equal else choice.constants):
                wider.append(pair)
        return wider

    with closing(RecordFile(None if study is None else pathlib.Path(study), Run, "run")) as store:
        for pair, window in windows.items():
            candidates = tuple(window.candidates())
            comparison.choices[pair] = TuningChoice(candidates[0], candidates, ())
        undecided = [pair for pair, c in comparison.choices.items() if len(c.candidates) > 1]
        while undecided:
            undecided = tune(undecided)
        shown = {
            pair: jobs(pair, choice.constants, comparison.seeds)
            for pair, choice in comparison.choices.items()
        }
        run("runs", shown.values())
        for pair in itertools.product(comparison.problems, comparison.searchers):
            if pair in shown and pair not in comparison.failures:
                comparison.runs[pair] = [store[job.key] for job in shown[pair]]
    return comparison


def _choose(window: GridWindow, table: Sequence[Sequence[Run]], budget: int) -> TuningChoice:
    """Return the candidate with the best score, given its runs on the tuning seeds."""
    places = [all_marks(budget).index(mark) for mark in scored_marks(budget)]
    regrets = np.array([np.mean([run.simple for run in runs], axis=0) for runs in table])[:, places]
    average = regrets.mean(axis=0)
    # (Where all have found the best path there is nothing to choose.)
    relative = np.divide(regrets, average, out=np.zeros_like(regrets), where=average > 0)
    scores: list[float] = relative.mean(axis=1).tolist()
    candidates = tuple(window.candidates())
    ends = [tuple(window.ends(constants)) for constants in candidates]
    # Of several that are equally good one inside the grid, if there is one.
    best = min(range(len(scores)), key=lambda i: (scores[i], len(ends[i])))
    return TuningChoice(candidates[best], candidates, tuple(scores), ends[best])


def _problems(given: Any) -> dict[str, Callable[..., Problem]]:
    if not isinstance(given, Mapping):
        given = {name: partial(named, name) for name in _names(given, "problems")}
    makers = {
        name: partial(named, maker) if isinstance(maker, str) else maker
        for name, maker in given.items()
    }
    for name, maker in makers.items():
        if not callable(maker):
            raise TypeError(f"problem {name!r} must be a function of `seed`, got {maker!r}")
        try:
            made = maker(seed=0)
        except TypeError as error:
            raise TypeError(f"problem {name!r} must be a function of `seed`: {error}") from error
        for needed in ("tree", "value", "optimum", "name"):
            if not hasattr(made, needed):
                raise TypeError(f"problem {name!r} has no {needed!r}: is it a problems.Problem?")
    return makers


def _searchers(given: Any, grids: Mapping[str, Mapping[str, Any]]) -> dict[str, Competitor]:
    if isinstance(given, Mapping):
        return {
            name: replace(named_competitor(make, grids), name=name)
            if isinstance(make, str)
            else custom_competitor(name, make, grids)
            for name, make in given.items()
        }
    return {name: named_competitor(name, grids) for name in _names(given, "searchers")}


def _names(given: Any, what: str) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a list of names, or functions by name, got {given!r}")
    names = list(given)
    if not names:
        raise ValueError(f"{what} must not be empty")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} must be names, got {name!r}; to pass functions, use a dict")
        if names.count(name) > 1:
            raise ValueError(f"{what} has {name!r} twice")
    return names


def _possible(
    comparison: Comparison, makers: Mapping[str, Any], competitors: Mapping[str, Competitor]
) -> dict[Pair, GridWindow]:
    """Return the grids of each pair of which all candidates can be made; record the others.

    A mistake then shows before hours of work. A searcher that suits no problem is refused.
    """
    windows = {}
    for searcher, one in competitors.items():
        why = ""
        for problem, maker in makers.items():
            try:
                window = one.window(maker(seed=0))
                for constants in window.candidates():
                    one.make(maker(seed=0), constants, comparison.budget, 0)
            except (TypeError, ValueError) as error:
                why = str(error)
                comparison.failures[problem, searcher] = why
            else:
                windows[problem, searcher] = window
        if not any(pair[1] == searcher for pair in windows):
            raise ValueError(f"searcher {searcher!r} runs on none of the problems: {why}")
    return windows
