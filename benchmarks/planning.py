"""Returns and costs of planners in Gymnasium environments: `python -m benchmarks.planning`.

Finished episodes are stored in a file of JSON lines; a run with the same file resumes.
Needs the extra `bench` (Gymnasium, highway-env).
"""

import json
import math
import pathlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import gymnasium
import numpy as np

import bough
from bough import planning
from bough.belief.rng import child_hash
from bough.problems import DiscountedBandits

DISCOUNT = 0.95
TREE_DISCOUNT = 0.7
TREE_PATHS = (100, 300, 1000)
#: Name in the table, searcher, observations.
COMPETITORS = {
    "GPTS steps": ("gpts", "steps"),
    "GPTS sum": ("gpts", "sum"),
    "OLOP": ("olop", "steps"),
    "KL-OLOP": ("kl_olop", "steps"),
    "UCT": ("uct", "sum"),
    "random": ("random", "sum"),
}
#: Best-first search is made for exact rewards: on trees with noise it takes them for exact.
TREE_COMPETITORS = {
    **COMPETITORS,
    "OPD": (lambda tree: bough.baselines.BestFirst(tree, discount=TREE_DISCOUNT, rng=0), "steps"),
}


class Energy(gymnasium.Wrapper):
    """MountainCar with the gain in mechanical energy added to its rewards.

    Potential-based: reward + discount phi(after) - phi(before), which leaves the best policy as it
    is (Ng, Harada and Russell 1999); phi = 1000 (v^2 / 2 + 0.0025 sin(3x) / 3).
    """

    def step(self, action):
        before = self._potential()
        observation, reward, *rest = self.env.step(action)
        return (observation, reward + DISCOUNT * self._potential() - before, *rest)

    def _potential(self):
        x, v = self.unwrapped.state
        return 1000.0 * (0.5 * v * v + 0.0025 * math.sin(3.0 * x) / 3.0)


def mountain_car():
    return Energy(gymnasium.make("MountainCar-v0"))


def highway():
    import highway_env  # noqa: F401 - it registers its environments

    return gymnasium.make("highway-fast-v0")


@dataclass(frozen=True)
class Task:
    """An environment, with the budgets and the number and length of episodes."""

    name: str
    make: Callable[[], Any]
    budgets: tuple[int, ...]
    seeds: int = 20
    most_steps: int | None = None
    count_steps: bool = False  # the return is minus the number of steps, without shaping


def _maker(name, **keywords):
    return lambda: gymnasium.make(name, **keywords)


TASKS = [
    Task("FrozenLake-v1", _maker("FrozenLake-v1", is_slippery=False), (100, 300)),
    Task("MountainCar-v0 shaped", mountain_car, (100, 300), count_steps=True),
    Task("Taxi-v4", _maker("Taxi-v4"), (300, 1000), most_steps=50),
    Task("CartPole-v1", _maker("CartPole-v1"), (100, 200)),
    Task("FrozenLake-v1 slippery", _maker("FrozenLake-v1", is_slippery=True), (300, 1000)),
    Task("Acrobot-v1", _maker("Acrobot-v1"), (50, 100), most_steps=200),
    Task("highway-fast-v0", highway, (10, 30), seeds=5),
]


def episode(task: Task, competitor: str, budget: int, seed: int) -> dict[str, Any]:
    """Play one episode."""
    searcher, rewards = COMPETITORS[competitor]
    env = task.make()
    begin = time.process_time()
    agent = planning.Agent(
        env, discount=DISCOUNT, budget=budget, searcher=searcher, rewards=rewards, rng=seed
    )
    summary = agent.run(1, seed=seed, most_steps=task.most_steps, progress=False)
    (played,) = summary.episodes
    env.close()
    return {
        "task": task.name,
        "competitor": competitor,
        "budget": budget,
        "seed": seed,
        "total": -played.steps if task.count_steps else played.total,
        "steps": played.steps,
        "calls": played.calls,
        "seconds": time.process_time() - begin,
        "how": summary.how,
    }


def run_all(tasks: list[Task], file: pathlib.Path, competitors: list[str]) -> list[dict[str, Any]]:
    """Run the episodes that are not yet in the file; return all rows."""
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    have = {(row["task"], row["competitor"], row["budget"], row["seed"]) for row in done}
    with file.open("a") as log:
        for task in tasks:
            for budget in task.budgets:
                for seed in range(task.seeds):
                    for competitor in competitors:
                        if (task.name, competitor, budget, seed) in have:
                            continue
                        row = episode(task, competitor, budget, seed)
                        done.append(row)
                        log.write(json.dumps(row) + "\n")
                        log.flush()
    return done


def interval(totals: list[float]) -> tuple[float, float]:
    """Return a bootstrap interval of the mean, at 95 %."""
    draws = np.random.default_rng(0).choice(totals, size=(2000, len(totals)))
    low, high = np.quantile(draws.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the mean returns, with intervals, as a table."""
    names = [name for name in COMPETITORS if any(row["competitor"] == name for row in rows)]
    lines = ["| environment | steps a decision | seeds | " + " | ".join(names) + " |"]
    lines.append("|" + "---|" * (3 + len(names)))
    keys = list(dict.fromkeys((row["task"], row["budget"]) for row in rows))
    for task, budget in keys:
        cells, counts = [], []
        for name in names:
            totals = [
                row["total"]
                for row in rows
                if (row["task"], row["budget"], row["competitor"]) == (task, budget, name)
            ]
            counts.append(len(totals))
            if not totals:
                cells.append("-")
                continue
            low, high = interval(totals)
            cells.append(f"{np.mean(totals):.4g} ({low:.4g} to {high:.4g})")
        count = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)}-{max(counts)}"
        lines.append(f"| {task} | {budget} | {count} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


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


def tree_regrets(competitor: str, paths: int, seeds: int) -> str:
    """Return the regret of plans whose returns have noise 0.1.

    5^10 paths, discount 0.7; in units of the return of a reward of 1 in every step.
    """
    searcher, rewards = TREE_COMPETITORS[competitor]
    weights = [TREE_DISCOUNT**i for i in range(10)]
    unit = sum(weights)
    regrets = []
    for seed in range(seeds):
        problem = DiscountedBandits(5, 10, discount=TREE_DISCOUNT, noise=0.1 * unit, seed=seed)
        world = HashTree(problem, 0.1 * unit / math.sqrt(sum(w * w for w in weights)))
        found = planning.plan(
            world, budget=10 * paths, depth=10, discount=TREE_DISCOUNT, searcher=searcher,
            rewards=rewards, rng=seed,
        )  # fmt: skip
        regrets.append((problem.optimum - problem.value(found.path)) / unit)
    low, high = interval(regrets)
    return f"{np.mean(regrets):.3g} ({low:.3g} to {high:.3g})"


def overhead(name: str, budget: int, decisions: int = 60) -> str:
    """Return the time of the planner beside that of the environment for the same steps."""
    env = gymnasium.make(name)
    agent = planning.Agent(env, discount=DISCOUNT, budget=budget, rng=0)
    agent.run(1, seed=0, most_steps=10, progress=False)  # tables are made once
    begin = time.process_time()
    (played,) = agent.run(1, seed=0, most_steps=decisions, progress=False).episodes
    whole = time.process_time() - begin
    simulator = agent.model.simulator
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
        f"| {name} | {budget} | {calls:.0f} | {1e3 * alone / played.decisions:.2f} | "
        f"{1e3 * whole / played.decisions:.2f} | {100 * (whole / alone - 1):.0f} % |"
    )


@click.command()
@click.option("--only", help="Names of environments, or parts of them, comma-separated.")
@click.option("--competitors", default=",".join(COMPETITORS), show_default=True)
@click.option("--seeds", type=int, help="Number of seeds.  [default: that of each environment]")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    default="planning.jsonl",
    help="File of finished episodes.",
)
@click.option("--costs-only", is_flag=True, help="Only discounted trees and the overhead.")
def main(
    only: str | None,
    competitors: str,
    seeds: int | None,
    out: pathlib.Path,
    costs_only: bool,
) -> None:
    warnings.filterwarnings("ignore", module="gymnasium|highway_env|pygame")
    tasks = [
        task for task in TASKS if only is None or any(word in task.name for word in only.split(","))
    ]
    if seeds is not None:
        tasks = [Task(t.name, t.make, t.budgets, seeds, t.most_steps, t.count_steps) for t in tasks]
    if not costs_only:
        print(table(run_all(tasks, out, competitors.split(","))))
    print("\n| discounted tree | " + " | ".join(f"{paths} paths" for paths in TREE_PATHS) + " |")
    print("|" + "---|" * (1 + len(TREE_PATHS)))
    for competitor in TREE_COMPETITORS:
        cells = [tree_regrets(competitor, paths, seeds or 16) for paths in TREE_PATHS]
        print(f"| {competitor} | " + " | ".join(cells) + " |", flush=True)
    print("\n| environment | budget | steps | alone, ms | planned, ms | overhead |")
    print("|---|---|---|---|---|---|")
    for name in ("CartPole-v1", "MountainCar-v0", "Acrobot-v1"):
        for budget in (100, 500):
            print(overhead(name, budget))


if __name__ == "__main__":
    main()
