"""The effect of labels on regret: `python -m benchmarks.labels run|table`.

`run` searches every problem with every competitor, and adds each run to a file of JSON lines as it
ends, so that it can be interrupted; `table` writes the simple regrets of the recommended paths to
`labels.md`. Reported seeds start at 0, development seeds at 1000 (`--first-seed`).

    python -m benchmarks.labels run --competitors random,UCT,RAVE --seeds 30
    python -m benchmarks.labels run --problems "tour of 12" --plays 300 --first-seed 1000 --seeds 2
    python -m benchmarks.labels table
    python -m benchmarks.labels proof  # the exact best arm by branch and bound

The Ehrlich functions need the extra `holo`; with NumPy 2 `pip install torch botorch pandas pooch`
and `pip install --no-deps pytorch-holo`, which asks for an older NumPy than it needs.
"""

import functools
import json
import pathlib
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import click
import numpy as np
from tqdm import tqdm

import bough
from benchmarks.intervals import interval
from benchmarks.labels_problems import PROBLEMS, FeatureMDP, Tour
from bough import kernels
from bough.problems import Problem
from bough.trees import Path

FILE = pathlib.Path(__file__).parent / "labels_runs.jsonl"
PAGE = pathlib.Path(__file__).parent / "labels.md"
#: Numbers of plays at which regrets are recorded.
MARKS = (100, 300, 1000)

Row = dict[str, Any]
Job = tuple[str, str, int]  # problem, competitor, seed


# ---------------------------------------------------------------------- competitors


def labeled_gpts(problem: Any, rng: int) -> bough.Searcher:
    """Return GPTS with the labels of the problem: exchangeable, or vectors of features."""
    between: dict[str, kernels.LabelKernel] = {
        "MDP, linear": kernels.LinearFeatures(), "MDP, rbf": kernels.RBF(),
    }  # fmt: skip
    kernel = kernels.Labeled(
        kernels.Geometric(None, variance=None),
        labels=problem.label,
        between=between.get(problem.name, kernels.Same()),
        decay=getattr(problem, "discount", 1.0),
    )
    return bough.GPTS(problem.tree, kernel, rng=rng)


def rave(problem: Any, rng: int) -> bough.Searcher:
    """Return RAVE, for which equal moves are alike at whatever depth: letters, cities, states.

    That and its exploration were better than labels with positions and the default.
    """
    moves: dict[type[Problem], Callable[[Path], Any]] = {
        FeatureMDP: problem.label,
        Tour: lambda path: problem.label(path)[-1],
    }
    move = moves.get(type(problem), lambda path: path[-1])
    return bough.baselines.RAVE(problem.tree, labels=move, exploration=0.1, rng=rng)


#: Searchers, each a function of the problem and a seed.
SEARCHERS: dict[str, Callable[[Problem, int], bough.Searcher]] = {
    "GPTS with labels": labeled_gpts,
    "GPTS": lambda problem, rng: bough.GPTS(problem.tree, rng=rng),
    "RAVE": rave,
    "UCT": lambda problem, rng: bough.UCT(problem.tree, rng=rng),
    "random": lambda problem, rng: bough.RandomSearch(problem.tree, rng=rng),
}
TPE = "TPE"
COMPETITORS = ("GPTS with labels", "GPTS", "RAVE", "UCT", TPE, "random")


def recommended(competitor: str, problem: Problem, seed: int, plays: int) -> Iterator[Path | None]:
    """Play, and yield the path that is recommended after each of `MARKS`, None before."""
    marks = [mark for mark in MARKS if mark <= plays]
    if competitor == TPE:
        yield from _recommended_by_tpe(problem, seed, marks)
        return
    search = SEARCHERS[competitor](problem, seed)
    for play in range(1, marks[-1] + 1):
        try:
            path = search.ask()
        except bough.Exhausted:
            path = search.best().path
        search.tell(path, problem(path))
        yield search.best().path if play in marks else None


def _recommended_by_tpe(problem: Problem, seed: int, marks: Sequence[int]) -> Iterator[Path | None]:
    """Yield the best path of Optuna's TPE, with one categorical parameter for each step."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for play in range(1, marks[-1] + 1):
        trial = study.ask()
        path = tuple(
            trial.suggest_categorical(f"step {d}", range(int(count)))
            for d, count in enumerate(problem.tree.counts or ())
        )
        study.tell(trial, problem(path))
        best = study.best_trial.params
        yield tuple(best[f"step {d}"] for d in range(len(path))) if play in marks else None


def suits(competitor: str, problem: str) -> bool:
    """Return whether a problem can be put to a competitor: TPE has no orders without repetition."""
    return competitor != TPE or not problem.startswith("tour")


# ---------------------------------------------------------------------- runs


@functools.lru_cache(maxsize=1)  # its optimum is computed once for all competitors
def made(name: str, seed: int) -> Problem:
    return PROBLEMS[name](seed=seed)


def played(job: Job, plays: int) -> Row:
    """Play a problem, and return the regrets and the seconds of processor time."""
    name, competitor, seed = job
    problem = made(name, seed)
    problem._random = np.random.default_rng([seed, 1])  # the same noise for all
    optimum, regrets = problem.optimum, {}
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for play, path in enumerate(recommended(competitor, problem, seed, plays), start=1):
            if path is not None:
                regrets[str(play)] = max(optimum - problem.value(path), 0.0)
    seconds = time.process_time() - begin
    return {"problem": name, "competitor": competitor, "seed": seed, "regrets": regrets,
            "seconds": round(seconds, 3)}  # fmt: skip


def load(file: pathlib.Path) -> dict[Job, Row]:
    """Return the runs of a file; of several of the same job, the longest."""
    rows: dict[Job, Row] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        row = json.loads(line)
        job = row["problem"], row["competitor"], row["seed"]
        if job not in rows or len(rows[job]["regrets"]) <= len(row["regrets"]):
            rows[job] = row
    return rows


def run(jobs: Iterable[Job], file: pathlib.Path, plays: int) -> None:
    """Play the jobs that the file does not have with as many plays, and append each to it."""
    done = load(file)
    mark = str(max(mark for mark in MARKS if mark <= plays))
    left = [job for job in jobs if job not in done or mark not in done[job]["regrets"]]
    for job in tqdm(left, unit="run", disable=None):
        row = played(job, plays)
        with file.open("a") as log:
            log.write(json.dumps(row) + "\n")


# ---------------------------------------------------------------------- tables


def table(rows: Iterable[Row], mark: int) -> list[str]:
    """Return the lines of a table: a row for each problem, a column for each competitor."""
    regrets: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if str(mark) in row["regrets"]:
            regrets[row["problem"], row["competitor"]].append(row["regrets"][str(mark)])
    columns = [c for c in COMPETITORS if any(key[1] == c for key in regrets)]
    lines = [f"| problem | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for name in PROBLEMS:
        found = {c: interval(regrets[name, c]) for c in columns if (name, c) in regrets}
        if not found:
            continue
        least = min(mean for mean, _, _ in found.values())
        cells = [_cell(found.get(c), least, len(regrets.get((name, c), ()))) for c in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _cell(found: tuple[float, float, float] | None, least: float, count: int) -> str:
    """Return a mean regret with its interval; bold if it is the least, and with few seeds so."""
    if found is None:
        return "-"
    mean, low, high = found
    text = f"{mean:.3g}"
    few = "" if count == 30 else f", {count} seeds"
    return f"{f'**{text}**' if mean <= least else text} ({low:.2g} to {high:.2g}{few})"


def seconds_table(rows: Iterable[Row]) -> list[str]:
    """Return the lines of a table of median seconds of processor time for all plays."""
    seconds: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        seconds[row["competitor"]][max(map(int, row["regrets"]))].append(row["seconds"])
    lines = ["| competitor | plays | seconds, median | most |", "|---|---|---|---|"]
    for competitor in COMPETITORS:
        for plays, found in sorted(seconds.get(competitor, {}).items()):
            lines.append(f"| {competitor} | {plays} | {np.median(found):.3g} | {max(found):.3g} |")
    return lines


def page(rows: Sequence[Row]) -> str:
    """Return the page of all tables."""
    lines = [
        "# Regret with and without labels",
        "",
        "Simple regret: the value of the best path minus that of the recommended one, averaged",
        "over 30 seeds (0 to 29, each a different problem), with 95 % bootstrap intervals.",
        "Kernel, noise, mean and effects of labels are fitted. Constants were chosen on seeds",
        "from 1000 on. TPE has one categorical parameter for each step, which excludes tours,",
        "and recommends the best observed path. The problems are described in",
        "`labels_problems.py`; `python -m benchmarks.labels table` writes this file.",
    ]
    for mark in MARKS:
        lines += ["", f"## {mark:,} plays", "", *table(rows, mark)]
    return "\n".join([*lines, "", "## CPU time", "", *seconds_table(rows), ""])


# ---------------------------------------------------------------------- command


def _names(known: Iterable[str]) -> Callable[..., list[str]]:
    """Return a callback that splits a list of names, by semicolons if there are any."""

    def split(context: Any, parameter: Any, value: str | None) -> list[str]:
        names = list(known) if value is None else [name.strip() for name in value.split(";")]
        for name in names:
            if name not in known:
                raise click.BadParameter(f"{name!r} is not one of {'; '.join(known)}")
        return names

    return split


@click.group()
def main() -> None:
    """Regrets of searchers on problems with labels."""


@main.command("run")
@click.option("--problems", callback=_names(PROBLEMS), help="Names, separated by semicolons.")
@click.option("--competitors", callback=_names(COMPETITORS), help="Names, by semicolons.")
@click.option("--seeds", type=int, default=30, show_default=True, help="Number of seeds.")
@click.option("--first-seed", type=int, default=0, show_default=True, help="First seed.")
@click.option("--plays", type=int, default=MARKS[-1], show_default=True, help="Plays of each run.")
@click.option("--file", type=click.Path(path_type=pathlib.Path), default=FILE, help="File of runs.")
def run_command(
    problems: list[str],
    competitors: list[str],
    seeds: int,
    first_seed: int,
    plays: int,
    file: pathlib.Path,
) -> None:
    """Play what the file does not have yet, seed by seed."""
    if plays < MARKS[0]:
        raise click.UsageError(f"--plays must be at least {MARKS[0]}.")
    run(
        (
            (problem, competitor, seed)
            for seed in range(first_seed, first_seed + seeds)
            for problem in problems
            for competitor in competitors
            if suits(competitor, problem)
        ),
        file,
        plays,
    )


@main.command("table")
@click.option("--first-seed", type=int, default=0, show_default=True, help="First seed.")
@click.option("--seeds", type=int, default=30, show_default=True, help="Number of seeds.")
@click.option("--file", type=click.Path(path_type=pathlib.Path), default=FILE, help="File of runs.")
@click.option("--page", "target", type=click.Path(path_type=pathlib.Path), default=PAGE,
              help="File to write.")  # fmt: skip
def table_command(first_seed: int, seeds: int, file: pathlib.Path, target: pathlib.Path) -> None:
    """Write the tables, and print them."""
    rows = [row for row in load(file).values() if 0 <= row["seed"] - first_seed < seeds]
    text = page(rows)
    target.write_text(text)
    click.echo(text)


PROOFS = [(3, 5), (5, 5), (5, 7), (10, 5), (10, 10)]


def proofs() -> Iterator[str]:
    """Yield a table of what it takes to prove which arm has the highest upper bound."""
    yield (
        "| branching | depth | labels | plays | expanded nodes | proved "
        "| shortfall of the beam search |"
    )
    yield "|---|---|---|---|---|---|---|"
    for branching, depth in PROOFS:
        for plays in (30, 300):
            found = [proof(branching, depth, plays, seed) for seed in range(5)]
            touched, exact, missed = np.transpose(found)
            yield (
                f"| {branching} | {depth} | {branching * depth} | {plays} | {touched.mean():.0f} | "
                f"{exact.sum():.0f} of 5 | {missed.mean():.2g} |"
            )


def proof(branching: int, depth: int, plays: int, seed: int) -> tuple[int, bool, float]:
    """Return the expanded nodes, whether the arm was proved, and the beam search's shortfall."""
    rng = np.random.default_rng(seed)
    kernel = kernels.Labeled(
        kernels.Gaussian(3.0, 0.5),
        labels=lambda path: (len(path), path[-1]),
        between=kernels.Same(0.5 / depth),
    )
    effects = rng.normal(size=(depth, branching)) * np.sqrt(0.5 / depth)
    belief = bough.Belief(bough.Tree(branching, depth), kernel, noise=0.1)
    for _ in range(plays):
        path = belief.quick_search.highest_upper(3.0, rng).path
        if rng.random() < 0.3:
            path = tuple(rng.integers(branching, size=depth).tolist())
        belief.observe(path, effects[range(depth), path].sum() + 0.1 * rng.normal())
    quick = belief.quick_search.highest_upper(3.0, None).upper
    proved = belief.highest_upper(3.0).upper
    return belief.arm_search.touched, belief.arm_search.exact, proved - quick


@main.command("proof")
def proof_command() -> None:
    """Print what it takes to prove which arm has the highest upper bound."""
    for line in proofs():
        click.echo(line)


if __name__ == "__main__":
    main()
