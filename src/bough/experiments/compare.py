"""Any searchers on any problems: tune on some seeds, run on others, and keep what is finished."""

import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bough._validation import whole
from bough.experiments.entrants import Entrant, entrant, entrant_of
from bough.experiments.grids import GRIDS, Constants, Window
from bough.experiments.jobs import Job, Run, all_marks, judged_marks
from bough.experiments.results import Choice, Comparison
from bough.experiments.runner import Task, cores, run_all
from bough.experiments.store import Store
from bough.problems import Problem, named
from bough.searchers import Searcher

#: Constants are tuned on problems from this seed on, counted from the first one that is shown.
TUNING = 1_000_000
#: The most seeds that are used for tuning unless more are asked for.
MOST_TUNING = 20


def compare(
    problems: Iterable[str] | Mapping[str, Callable[..., Problem]],
    searchers: Iterable[str] | Mapping[str, Callable[..., Searcher]],
    *,
    budget: int,
    seeds: int = 50,
    tuning_seeds: int | None = None,
    seed: int = 0,
    steps: bool = False,
    grids: Mapping[str, Mapping[str, Any]] = GRIDS,
    out: str | os.PathLike[str] | None = None,
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
        Names, such as `"trap"` or `"smooth:20:5:noise=0.3"`, or functions by name: each takes
        `seed` and returns a problem.
    searchers
        Names, such as `"uct"`, `"uct:exploration=0.4"` or `"gpts-known"` (which is given kernel,
        noise and mean of the problem), or functions of the tree by name; those that have
        parameters `rng`, `budget` or `discount` are given them.
    budget
        Evaluations of each run.
    seeds
        How many problems of each kind are shown.
    tuning_seeds
        On how many others constants are chosen; by default as many, but at most 20.
    seed
        The first problem. It decides all regrets.
    steps
        Tell the immediate rewards where a problem has them, instead of their sum.
    grids
        For each searcher's name the constants to try: for each of them a sequence of values, or a
        `Grid` that grows while the best is at an end of it.
    out
        A folder where finished runs are kept, in `runs.jsonl`.
    study
        The file where finished runs are kept, if it is to be another. What is there is not run
        again. Runs of another bough are not taken, but those of a searcher of your own that you
        changed are.
    workers
        Processes; by default as many as there are cores.
    progress
        None (a bar on a terminal), True or False.

    Examples
    --------
    >>> found = compare(["needle:4:3"], ["gpts", "uct"], budget=30, seeds=2, workers=1)
    >>> len(found.choices["needle:4:3", "uct"].candidates) >= 3  # of its exploration
    True
    >>> [curve.searcher for curve in found.by_evaluations()]
    ['gpts', 'uct']
    """
    budget = whole(budget, "budget", least=1)
    seeds = whole(seeds, "seeds", least=1, most=TUNING)
    seed = whole(seed, "seed", least=0)
    if tuning_seeds is None:
        tuning_seeds = min(seeds, MOST_TUNING)
    tuning_seeds = whole(tuning_seeds, "tuning_seeds", least=1)
    workers = cores() if workers is None else whole(workers, "workers", least=1)
    makers = _problems(problems)
    entrants = _searchers(searchers, grids)
    comparison = Comparison(
        tuple(makers),
        tuple(entrants),
        budget,
        steps,
        range(seed, seed + seeds),
        range(seed + TUNING, seed + TUNING + tuning_seeds),
    )
    windows = _possible(comparison, makers, entrants)
    store = Store(_file(out, study))

    def jobs(pair: tuple[str, str], constants: Constants, numbers: range) -> list[Job]:
        return [Job(*pair, constants, number, budget, steps) for number in numbers]

    def run(jobs: Iterable[Job], title: str) -> None:
        tasks: list[Task] = [(j, makers[j.problem], entrants[j.searcher]) for j in jobs]
        for failed, why in run_all(
            tasks, store, workers=workers, progress=progress, title=title
        ).items():
            comparison.failures.setdefault((failed.problem, failed.searcher), why)

    def choose(pair: tuple[str, str]) -> Choice:
        candidates = windows[pair].candidates()
        if len(candidates) == 1:
            return Choice(candidates[0], tuple(candidates), ())
        tuning = comparison.tuning_seeds
        table = [[store[job] for job in jobs(pair, c, tuning)] for c in candidates]
        scores = tuple(_scores(table, budget))
        ends = [windows[pair].ends(constants) for constants in candidates]
        # Of several that are equally good one inside the grid, if there is one.
        best = min(range(len(scores)), key=lambda i: (scores[i], len(ends[i])))
        return Choice(candidates[best], tuple(candidates), scores, tuple(ends[best]))

    try:
        tuned = [pair for pair in windows if len(windows[pair].candidates()) > 1]
        # What needs no tuning runs with what is tuned, so that no core waits in between.
        first = [
            job
            for pair in windows
            if pair not in tuned
            for job in jobs(pair, windows[pair].candidates()[0], comparison.seeds)
        ]
        undecided = tuned
        while undecided:
            run(
                [
                    job
                    for pair in undecided
                    for constants in windows[pair].candidates()
                    for job in jobs(pair, constants, comparison.tuning_seeds)
                ]
                + first,
                "tuning",
            )
            first = []
            undecided = [
                pair
                for pair in undecided
                if pair not in comparison.failures and _widened(windows[pair], choose(pair))
            ]
        for pair in windows:
            if pair not in comparison.failures:
                comparison.choices[pair] = choose(pair)
        run(
            [
                job
                for pair, choice in comparison.choices.items()
                for job in jobs(pair, choice.constants, comparison.seeds)
            ],
            "runs",
        )
        for pair, choice in comparison.choices.items():
            if pair not in comparison.failures:
                comparison.runs[pair] = [
                    store[job] for job in jobs(pair, choice.constants, comparison.seeds)
                ]
    finally:
        store.close()
    return comparison


def _file(out: Any, study: Any) -> pathlib.Path | None:
    """Return where finished runs are kept."""
    if out is not None:
        pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    if study is not None:
        return pathlib.Path(study)
    return None if out is None else pathlib.Path(out) / "runs.jsonl"


def _widened(window: Window, choice: Choice) -> bool:
    """Let a grid grow where something better may lie; return whether it did."""
    if choice.equal:  # all are as good as can be, or all are lost
        return choice.scores[0] > 0 and window.widen_all()
    return window.widen(choice.constants)


def _scores(table: Sequence[Sequence[Run]], budget: int) -> list[float]:
    """Return the score of each candidate, given its runs on the tuning seeds."""
    places = [all_marks(budget).index(mark) for mark in judged_marks(budget)]
    regrets = np.array([np.mean([run.simple for run in runs], axis=0) for runs in table])[:, places]
    average = regrets.mean(axis=0)
    # (Where all have found the best path there is nothing to choose.)
    relative = np.divide(regrets, average, out=np.zeros_like(regrets), where=average > 0)
    scores: list[float] = relative.mean(axis=1).tolist()
    return scores


def _problems(given: Any) -> dict[str, Callable[..., Problem]]:
    if isinstance(given, Mapping):
        for name, maker in given.items():
            if not callable(maker):
                raise TypeError(f"problem {name!r} must be a function of `seed`, got {maker!r}")
        makers = dict(given)
    else:
        makers = {name: partial(named, name) for name in _names(given, "problems")}
    for name, maker in makers.items():
        made = maker(seed=0)
        for needed in ("tree", "value", "optimum", "name"):
            if not hasattr(made, needed):
                raise TypeError(f"problem {name!r} has no {needed!r}: is it a bough.Problem?")
    return makers


def _searchers(given: Any, grids: Mapping[str, Mapping[str, Any]]) -> dict[str, Entrant]:
    if isinstance(given, Mapping):
        return {name: entrant_of(name, make, grids.get(name, {})) for name, make in given.items()}
    return {name: entrant(name, grids) for name in _names(given, "searchers")}


def _names(given: Any, what: str) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a list of names, or functions by name, got {given!r}")
    names = list(given)
    if not names:
        raise ValueError(f"{what} must not be empty")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} must be names, got {name!r}; to give functions, use a dict")
        if names.count(name) > 1:
            raise ValueError(f"{what} has {name!r} twice")
    return names


def _possible(
    comparison: Comparison, makers: Mapping[str, Any], entrants: Mapping[str, Entrant]
) -> dict[tuple[str, str], Window]:
    """Make every searcher once for every problem, and note which cannot be made.

    So a mistake is seen before hours of work; what suits no problem at all is refused. Returns what
    there is to tune in each pair that can be made.
    """
    windows = {}
    for searcher, one in entrants.items():
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
