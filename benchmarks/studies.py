"""Costs of studies and speedup by workers: `python -m benchmarks.studies [PART]`.

Parts: storage, speedup, feed, regret. Times depend on the machine; compare ratios within a
run only.
"""

import argparse
import heapq
import itertools
import os
import tempfile
import time
from functools import partial

import bough
from benchmarks.regrets import mean_and_error, simple_regrets
from benchmarks.timing import timed
from bough.problems import Smooth

WORKERS = (1, 4, 16)
MARKS = (100, 300, 1_000)
#: Branching, depth, discount and noise of the problems whose regret is compared.
PROBLEMS = ((5, 10, 0.7, 0.1), (20, 5, 0.8, 0.1), (2, 14, 0.9, 0.1))


def reward(path):
    return sum(path) / 10


def tree():
    return bough.Tree(5, 10)


# ---------------------------------------------------------------------- storage


def alone(searcher):
    search = {"gpts": bough.GPTS, "uct": bough.UCT}[searcher](tree(), rng=0)

    def run(trials):
        for _ in range(trials):
            path = search.ask()
            search.tell(path, reward(path))

    return run


def recorded(study):
    def run(trials):
        for _ in range(trials):
            trial = study.ask()
            study.tell(trial, reward(trial.path))

    return run


def of_optuna(storage, parameters):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=storage, sampler=optuna.samplers.RandomSampler(seed=0), direction="maximize"
    )

    def run(trials):
        for _ in range(trials):
            trial = study.ask()
            path = [trial.suggest_int(f"x{i}", 0, 4) for i in range(parameters)]
            study.tell(trial, reward(path))

    return run


def storages(folder):
    """Yield the name, the function and the number of trials of each way to keep them."""
    for searcher in ("uct", "gpts"):
        yield f"{searcher} without a study", alone(searcher), 20_000
        for durability, trials in (("process", 20_000), ("full", 2_000)):
            file = os.path.join(folder, f"{searcher}-{durability}.db")
            study = bough.Study.create(
                file, tree(), searcher=searcher, rng=0, durability=durability
            )
            yield f"{searcher}, durability={durability!r}", recorded(study), trials
            study.close()
    try:
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        print("(Optuna is not installed: pip install '.[bench]')")
        return
    for parameters in (1, 10):
        file = os.path.join(folder, f"optuna-{parameters}")
        url = f"sqlite:///{file}.db"
        yield f"Optuna, SQLite, {parameters} parameters", of_optuna(url, parameters), 100
        journal = JournalStorage(JournalFileBackend(f"{file}.log"))
        yield f"Optuna, journal, {parameters} parameters", of_optuna(journal, parameters), 200


def storage():
    print("| searcher and storage | us per trial | ratio to GPTS, full |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        rows = []
        for name, run, trials in storages(folder):
            rows.append((name, timed(partial(run, trials))[0] / trials * 1e6))
        reference = dict(rows)["gpts, durability='full'"]
        for name, cost in rows:
            print(f"| {name} | {cost:,.0f} | {cost / reference:.2f} |")
        print()
        resume(folder)


def resume(folder, trials=100_000):
    print(f"| resuming {trials:,} trials | seconds | us per trial | bytes per trial |")
    print("|---|---|---|---|")
    for searcher in ("uct", "gpts"):
        file = os.path.join(folder, f"{searcher}-long.db")
        with bough.Study.create(
            file, tree(), searcher=searcher, rng=0, durability="process"
        ) as study:
            recorded(study)(trials)
        seconds, _ = timed(lambda file=file: bough.Study.open(file).close())
        size = os.path.getsize(file) / trials
        print(f"| {searcher} | {seconds:.2f} | {seconds / trials * 1e6:.0f} | {size:.0f} |")


# ---------------------------------------------------------------------- workers


def slow(path):
    time.sleep(0.05)
    return sum(path) / 10


def speedup(trials=200):
    """Print how much sooner two workers are done with evaluations of 50 ms."""
    times = {}
    for workers in (1, 2):
        times[workers] = []
        for seed in range(3):
            clocked = []
            bough.maximize(
                slow, tree(), budget=trials, rng=seed, executor=workers, progress=False,
                callbacks=[lambda _, c=clocked: c.append(time.perf_counter()) or False],
            )  # fmt: skip
            # From the first that ended, without the start of the processes; the others that ran
            # then were nearly done, and do not count.
            times[workers].append((clocked[-1] - clocked[0]) / (len(clocked) - workers))
    one, two = (min(times[workers]) for workers in (1, 2))
    print(
        f"evaluations of 50 ms: {one * 1e3:.1f} ms a trial with 1 worker, {two * 1e3:.1f} with 2,"
    )
    print(f"so {one / two:.2f} times as fast (aim 1.9; 2 is ideal)")


def feed(trials=2_000):
    """Print how many trials a second one coordinator can feed, when evaluations cost nothing."""
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

    print("| what runs evaluations that cost nothing | trials a second |")
    print("|---|---|")
    pools = [
        ("two threads", lambda: ThreadPoolExecutor(2)),
        ("two processes (concurrent.futures)", lambda: ProcessPoolExecutor(2)),
    ]
    for name, make in pools:
        with make() as executor:
            print(f"| {name} | {rate(executor, trials):,.0f} |")
    print(f"| executor=2 | {rate(2, trials):,.0f} |")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for workers in (2, 16):
            executor = client.get_executor(pure=False)
            executor.max_workers = workers
            name = f"Dask, 2 processes, {workers} evaluations under way"
            print(f"| {name} | {rate(executor, trials):,.0f} |")


def rate(executor, trials):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        study = bough.Study.create(
            os.path.join(folder, "run.db"), tree(), searcher="gpts", rng=0, durability="process"
        )
        with study:
            bough.maximize(reward, tree(), budget=100, study=study, executor=executor)
            again = {"budget": 100 + trials, "study": study, "executor": executor}
            return trials / timed(lambda: bough.maximize(reward, tree(), **again))[0]


class Delayed:
    """GPTS with evaluations under way on workers, which take random times.

    `ask` returns the path of the one that ends next.
    """

    def __init__(self, tree, rng, *, workers):
        self.search = bough.GPTS(tree, rng=rng)
        self.workers = workers
        self.durations = rng.spawn(1)[0]
        self.asked = itertools.count()
        self.under_way, self.now = [], 0.0

    def ask(self):
        while len(self.under_way) < self.workers:
            end = self.now + self.durations.exponential()
            heapq.heappush(self.under_way, (end, next(self.asked), self.search.ask()))
        self.now, _, path = heapq.heappop(self.under_way)
        return path

    def tell(self, path, value):
        self.search.tell(path, value)

    def best(self):
        return self.search.best()


def regret(seeds=100, figure=None):
    """Print the regret after some numbers of evaluations, by the number of workers."""
    print(f"| problem | workers | {' | '.join(f'after {m:,}' for m in MARKS)} |")
    print("|---|---|" + "---|" * len(MARKS))
    table = {}
    searchers = {workers: partial(Delayed, workers=workers) for workers in WORKERS}
    for branching, depth, discount, noise in PROBLEMS:
        name = f"{branching}^{depth}, discount {discount}, noise {noise}"
        make = partial(Smooth, branching, depth, discount=discount, noise=noise)
        for workers, found in simple_regrets(make, searchers, seeds, MARKS).items():
            mean, error = table[name, workers] = mean_and_error(found)
            cells = " | ".join(f"{m:.4f} +- {e:.4f}" for m, e in zip(mean, error, strict=True))
            print(f"| {name} | {workers} | {cells} |", flush=True)
    if figure is not None:
        draw(table, figure)


def draw(table, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(name for name, _ in table))
    figure, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 3), sharey=True)
    for axis, name in zip(axes, names, strict=True):
        for workers in WORKERS:
            mean, error = table[name, workers]
            axis.errorbar(MARKS, mean, error, marker="o", capsize=3, label=f"{workers} workers")
        axis.set(xscale="log", yscale="log", title=name, xlabel="evaluations")
    axes[0].set_ylabel("regret of the best path")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("storage", "speedup", "feed", "regret")
    parser.add_argument("part", nargs="?", choices=parts)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--figure", help="where to save the figure of the regrets")
    given = parser.parse_args()
    for part in (given.part,) if given.part else parts:
        print(f"## {part}\n")
        if part == "regret":
            regret(given.seeds, given.figure)
        else:
            {"storage": storage, "speedup": speedup, "feed": feed}[part]()
        print()


if __name__ == "__main__":
    main()
