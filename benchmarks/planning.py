"""Returns and costs of planners: `python -m benchmarks.planning COMMAND`.

Finished episodes are stored in a file of JSON lines; a run with the same file resumes, and repeats
those that failed. Reported seeds start at 0, development seeds at 1000 (`--first-seed`).
"""

import json
import math
import pathlib
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import click
import gymnasium
import numpy as np
from tqdm import tqdm

import bough
from benchmarks.blackjack import losses
from benchmarks.planning_table import BASELINES, Interval, Results, Row, interval, shown
from benchmarks.planning_tasks import TASKS, Task
from bough import planning
from bough.belief.rng import child_hash
from bough.problems import DiscountedBandits

#: Arguments of the agent of each competitor.
COMPETITORS: dict[str, dict[str, Any]] = {
    "GPTS": {},
    "GPTS from nothing": {"keep": False},
    "UCT": {"searcher": "uct"},
    "OLOP": {"searcher": "olop"},
    "KL-OLOP": {"searcher": "kl_olop"},
    "best-first": {"searcher": "best_first"},
    "random": {"searcher": "random"},
}
DETERMINISTIC_ONLY = ("best-first",)

TREE_DISCOUNT = 0.7
TREE_PATHS = (100, 300, 1000)
#: Best-first search is made for exact rewards: on trees with noise it takes them for exact.
TREE_COMPETITORS: dict[str, dict[str, Any]] = {
    "GPTS": {},
    "GPTS sum": {"rewards": "sum"},
    **{name: COMPETITORS[name] for name in BASELINES},
    "best-first": {
        "searcher": lambda tree: bough.baselines.BestFirst(tree, discount=TREE_DISCOUNT, rng=0)
    },
}
OVERHEADS = ("CartPole", "MountainCarContinuous", "Acrobot", "Pendulum", "Taxi", "8-puzzle")

Job = tuple[str, str, int, int]  # task, competitor, budget, seed


# ---------------------------------------------------------------------- episodes


def episode(name: str, competitor: str, budget: int, seed: int) -> Row:
    """Play the episodes of one seed; an exception is recorded as `error`."""
    row: Row = {"task": name, "competitor": competitor, "budget": budget, "seed": seed}
    task = next(task for task in TASKS if task.name == name)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            row |= _played(task, COMPETITORS[competitor], budget, seed)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:500]
    return row | {"seconds": time.process_time() - begin}


def _played(task: Task, keywords: dict[str, Any], budget: int, seed: int) -> Row:
    env = task.make()
    agent = planning.Agent(
        env,
        discount=task.discount,
        budget=budget,
        merge_states=task.merge_states,
        rng=seed,
        **keywords,
    )
    begin = time.process_time()
    # (An agent gives each episode the next number as its seed.)
    summary = agent.run(
        task.episodes, seed=seed * task.episodes, most_steps=task.most_steps, progress=False
    )
    seconds = time.process_time() - begin
    env.close()
    done = summary.episodes
    return {
        "total": -summary.steps if task.count_steps else summary.mean,
        "steps": sum(e.steps for e in done),
        "decisions": sum(e.decisions for e in done),
        "calls": sum(e.calls for e in done),
        "replayed": sum(e.replayed for e in done),
        "surprises": sum(e.surprises for e in done),
        "planning": seconds,
        "how": summary.how,
    }


def jobs_of(
    tasks: Iterable[Task], competitors: Sequence[str], *, first_seed: int, seeds: int | None
) -> list[Job]:
    """Return all episodes to play, seed by seed: a run can be stopped at any time."""
    found = []
    for task in tasks:
        names = [c for c in competitors if task.deterministic or c not in DETERMINISTIC_ONLY]
        for k in range(task.seeds if seeds is None else seeds):
            found += [(k, (task.name, c, b, first_seed + k)) for b in task.budgets for c in names]
    return [job for _, job in sorted(found, key=lambda pair: pair[0])]


def load(file: pathlib.Path) -> dict[Job, Row]:
    """Return the last row of each episode of a file."""
    lines = file.read_text().splitlines() if file.exists() else []
    rows = map(json.loads, lines)
    return {(row["task"], row["competitor"], row["budget"], row["seed"]): row for row in rows}


def run(jobs: Sequence[Job], file: pathlib.Path, workers: int = 1) -> None:
    """Play the episodes that are not in the file yet or failed, and append each when it ends."""
    done = load(file)
    jobs = [job for job in jobs if "error" in done.get(job, {"error": "missing"})]
    with file.open("a") as log:
        for row in tqdm(_rows(jobs, workers), total=len(jobs), unit="episode", disable=None):
            log.write(json.dumps(row) + "\n")
            log.flush()


def _rows(jobs: Sequence[Job], workers: int) -> Iterator[Row]:
    if workers == 1:
        yield from (episode(*job) for job in jobs)
        return
    executor = ProcessPoolExecutor(workers)
    try:
        for future in as_completed([executor.submit(episode, *job) for job in jobs]):
            yield future.result()
    finally:
        executor.shutdown(cancel_futures=True)


# ---------------------------------------------------------------------- discounted trees


class HashTree:
    """A tree in which each edge has a hashed reward in [0, 1] and normal noise."""

    def __init__(self, problem: DiscountedBandits, noise: float) -> None:
        self.actions = range(5)
        self.noise = noise
        self.state = child_hash(problem.seed % 2**64, 0)

    def snapshot(self):
        return self.state

    def restore(self, snapshot):
        self.state = snapshot

    def reseed(self, seed):
        self.random = np.random.default_rng(seed)

    def step(self, action):
        self.state = child_hash(self.state, action)
        return None, self.state / 2**64 + self.noise * self.random.standard_normal(), False


def tree_regrets(competitor: str, paths: int, seeds: Iterable[int]) -> Interval:
    """Return the regret of plans whose returns have noise 0.1.

    5^10 paths, discount 0.7; in units of the return of a reward of 1 in every step.
    """
    weights = [TREE_DISCOUNT**i for i in range(10)]
    unit = sum(weights)
    regrets = []
    for seed in seeds:
        problem = DiscountedBandits(5, 10, discount=TREE_DISCOUNT, noise=0.1 * unit, seed=seed)
        world = HashTree(problem, 0.1 * unit / math.sqrt(sum(w * w for w in weights)))
        found = planning.plan(
            world, budget=10 * paths, depth=10, discount=TREE_DISCOUNT, rng=seed,
            **TREE_COMPETITORS[competitor],
        )  # fmt: skip
        regrets.append((problem.optimum - problem.value(found.path)) / unit)
    return interval(regrets)


# ---------------------------------------------------------------------- costs


def measured_overhead(task: Task, budget: int, decisions: int = 60) -> str:
    """Return the time of the planner beside that of the simulator for the same steps."""
    env = task.make()
    agent = planning.Agent(env, discount=task.discount, budget=budget, rng=0)
    agent.run(1, seed=0, most_steps=10, progress=False)  # tables are made once
    begin = time.process_time()
    (played,) = agent.run(1, seed=0, most_steps=decisions, progress=False).episodes
    whole = time.process_time() - begin
    simulator = planning.simulator_of(env)
    env.reset(seed=0)
    start = simulator.present()
    begin = time.process_time()
    ended = True
    for k in range(played.calls):
        if ended:
            simulator.restore(start)
        _, _, ended = simulator.step(simulator.actions[k % 2])
        simulator.snapshot()
    alone = time.process_time() - begin
    calls = played.calls / played.decisions
    return (
        f"| {task.name} | {budget} | {calls:.0f} | {1e3 * alone / played.decisions:.2f} | "
        f"{1e3 * whole / played.decisions:.2f} | {100 * (whole / alone - 1):.0f} % |"
    )


def measured_soak(decisions: int, seconds: float) -> str:
    """Return how often decisions on CartPole exceed their deadline by more than one step."""
    env = gymnasium.make("CartPole-v1")
    simulator = planning.simulator_of(env)
    plain_step, longest = simulator.step, 0.0

    def step(action):
        nonlocal longest
        begin = time.perf_counter()
        outcome = plain_step(action)
        longest = max(longest, time.perf_counter() - begin)
        return outcome

    simulator.step = step
    agent = planning.Agent(simulator, seconds=seconds, rng=0)
    late = np.empty(decisions)
    ended, seed = True, 0
    for k in tqdm(range(decisions), disable=None):
        if ended:
            env.reset(seed=seed)
            agent.reset()
            seed += 1
        begin = time.perf_counter()
        action = agent.act()
        late[k] = time.perf_counter() - begin - seconds
        _, _, terminated, truncated, _ = env.step(action)
        ended = terminated or truncated
    overruns = int(np.sum(late > longest))
    return "\n".join(
        [
            f"decisions       {decisions}, of {1e3 * seconds:g} ms",
            f"longest step    {1e3 * longest:.3f} ms",
            f"overruns        {overruns} longer than that, {100 * overruns / decisions:.2f} %",
            f"overrun         {1e3 * np.median(late):.3f} ms in the median, "
            f"{1e3 * np.quantile(late, 0.99):.3f} in one of 100",
            f"largest overrun {1e3 * late.max():.3f} ms",
        ]
    )


# ---------------------------------------------------------------------- commands


@click.group(help=__doc__.split("\n")[0])
def main() -> None:
    """Run a benchmark of planning."""


@main.command()
@click.option("--only", help="Names of tasks, or parts of them, comma-separated.")
@click.option("--competitors", default=",".join(COMPETITORS), show_default=True)
@click.option("--seeds", type=click.IntRange(1), help="Number of seeds.  [default: of each task]")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, help="Number of processes.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    default="benchmarks/planning_runs.jsonl",
    show_default=True,
    help="File of finished episodes.",
)
@click.option("--table", "table_only", is_flag=True, help="Only print the table of that file.")
def episodes(
    only: str | None,
    competitors: str,
    seeds: int | None,
    first_seed: int,
    workers: int,
    out: pathlib.Path,
    table_only: bool,
) -> None:
    """Mean returns of episodes."""
    words, names = (only or "").split(","), competitors.split(",")
    if unknown := set(names) - COMPETITORS.keys():
        raise click.BadParameter(f"unknown competitors: {', '.join(sorted(unknown))}")
    tasks = [task for task in TASKS if any(word in task.name for word in words)]
    jobs = jobs_of(tasks, names, first_seed=first_seed, seeds=seeds)
    if not table_only:
        run(jobs, out, workers)
    rows = load(out)
    results = Results(rows[job] for job in jobs if job in rows)
    print(results.table(), results.summary(), sep="\n\n")
    print("\nCPU seconds per decision (and of one seed, with all of its episodes):\n")
    print(results.costs())


@main.command()
@click.option("--seeds", type=click.IntRange(1), default=16, show_default=True)
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True)
def tree(seeds: int, first_seed: int) -> None:
    """Regrets of plans in discounted trees."""
    print("| discounted tree | " + " | ".join(f"{paths} paths" for paths in TREE_PATHS) + " |")
    print("|" + "---|" * (1 + len(TREE_PATHS)))
    for name in TREE_COMPETITORS:
        numbers = range(first_seed, first_seed + seeds)
        cells = [shown(tree_regrets(name, paths, numbers)) for paths in TREE_PATHS]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


@main.command()
@click.option("--hands", type=click.IntRange(2), default=1000, show_default=True)
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True)
def blackjack(hands: int, first_seed: int) -> None:
    """Print the losses in hands of Blackjack by actions that are not optimal."""
    names = [name for name in COMPETITORS if name not in DETERMINISTIC_ONLY]
    print("| steps per decision | " + " | ".join(names) + " |")
    print("|" + "---|" * (1 + len(names)))
    for budget in (100, 300):
        found = [losses(hands, first_seed, COMPETITORS[c] | {"budget": budget}) for c in names]
        print(f"| {budget} | " + " | ".join(shown(interval(loss)) for loss in found) + " |")


@main.command()
def overhead() -> None:
    """Cost of planning beside the simulator's own time."""
    print("| task | budget | steps | alone, ms | planned, ms | overhead |")
    print("|---|---|---|---|---|---|")
    for task in TASKS:
        for budget in (100, 500) if task.name in OVERHEADS else ():
            print(measured_overhead(task, budget), flush=True)


@main.command()
@click.option("--decisions", type=click.IntRange(1), default=10_000, show_default=True)
@click.option("--seconds", type=float, default=0.01, show_default=True)
def soak(decisions: int, seconds: float) -> None:
    """Decisions that exceed their time limit."""
    print(measured_soak(decisions, seconds))


if __name__ == "__main__":
    main()
