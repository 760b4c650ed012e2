"""Costs and regrets of searches, and what they certify: `python -m benchmarks.search [PART]`.

Parts:

    speed         microseconds of ask and tell, beside UCT (times depend on the machine)
    regret        simple regret on thirteen problems, prior known and fitted, and the paper's rule
    certificates  how often certificates are false, how wide they are, and false stops of `Gap`
    best-value    how often the best reward of all lies in the 90 % interval of `best_value`

Constants were chosen on the seeds below `UNSEEN`.
"""

import argparse
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import bough
from benchmarks.regrets import mean_and_error
from benchmarks.timing import Stopwatch, fast_reward, last_fifths, plays
from bough import kernels
from bough.experiments import compare
from bough.experiments.runs import all_marks
from bough.problems import Drawn, Smooth

UNSEEN = 10_000
MARKS = (100, 300, 1_000, 3_000)
PROBLEMS = [
    "drawn:discounted:0.8:branching=5:depth=7:noise=0.5",
    "drawn:gaussian:1.5:branching=3:depth=8:noise=0.3",
    "drawn:linear:branching=20:depth=3:noise=0.3",
    "drawn:geometric:0.6:branching=6:depth=6:noise=0.2",
    "drawn:gaussian:3:branching=2:depth=13:noise=0.3",
    "drawn:linear:branching=4:depth=7:noise=0.1",
    "smooth:5:10:discount=0.7:noise=0.1",
    "smooth:5:10:discount=0.7:noise=0.3",
    "smooth:5:10:discount=0.95:noise=0.1",
    "smooth:20:5:discount=0.8:noise=0.1",
    "smooth:2:20:discount=0.9:noise=0.1",
    "discounted:bernoulli",
    "noisy-branin",
]
SEARCHERS = ["gpts-known", "gpts", "gpts-known:select=arm", "gpts:select=arm"]

#: Priors of which certificates and best values are checked: kernel, branching, depth, noise, mean.
PRIORS = [
    (kernels.Discounted(0.8), 4, 5, 0.3, 1.0),
    (kernels.Gaussian(1.5), 3, 6, 0.3, 0.0),
    (kernels.Linear(), 10, 3, 0.1, 0.0),
    (kernels.Geometric(0.5), 5, 5, 0.5, -2.0),
    (kernels.Gaussian(4.0), 2, 9, 0.02, 0.0),
]
CERTIFIED = (2, 5, 10, 30, 100, 300, 1_000, 3_000)
VALUED = (30, 100, 300, 1_000)
#: Thresholds of the stop rules `Gap` and `IntervalWidth`.
GAPS, WIDTH = (1.0, 2.5), 1.0
#: Half of the 90 % interval of a normal variable.
NINETY = 1.645


def show_speed(most):
    """Print microseconds of ask and tell around each number of plays."""
    marks = [mark for mark in (1_000, 10_000, 100_000, 1_000_000) if mark <= most]
    print("Microseconds of ask + tell, over the last fifth of the plays so far, B 5, D 10")
    print(f"{'':36}" + "".join(f"{mark:>12,}" for mark in marks))
    tree = bough.Tree(5, 10)
    smooth = Smooth(5, 10).kernel
    for title, kernel in (("smooth (discount .7)", smooth), ("Linear", kernels.Linear(0.1))):
        rows = {}
        for name, make in {
            "UCT": lambda: bough.UCT(tree, rng=0),
            "GPTS": lambda kernel=kernel: bough.GPTS(tree, kernel, 0.1, rng=0),
            "GPTS arm": lambda kernel=kernel: bough.GPTS(tree, kernel, 0.1, select="arm", rng=0),
        }.items():
            watch = Stopwatch()
            playing = plays(make(), fast_reward(kernel, 10), watch)
            times = [cost for _, cost, _ in last_fifths(playing, watch, marks)]
            rows[name] = times
            ratios = [t / u for t, u in zip(times, rows["UCT"], strict=True)]
            cells = [f"{t:.2f} ({r:.1f})" for t, r in zip(times, ratios, strict=True)]
            print(f"{title:24}{name:12}" + "".join(f"{c:>12}" for c in cells), flush=True)


def show_regrets(seeds):
    print(f"Simple regret, mean of {seeds} seeds (standard error) after {MARKS} plays")
    found = compare(PROBLEMS, SEARCHERS, budget=MARKS[-1], seeds=seeds, seed=UNSEEN, grids={})
    places = [all_marks(MARKS[-1]).index(mark) for mark in MARKS]
    for problem in PROBLEMS:
        print(f"\n{problem}")
        for searcher in SEARCHERS:
            if (problem, searcher) in found.runs:
                runs = found.runs[problem, searcher]
                mean, error = mean_and_error(np.array([run.simple for run in runs])[:, places])
                cells = (f"{m:9.4f} ({e:.4f})" for m, e in zip(mean, error, strict=True))
                print(f"  {searcher:24}" + "".join(cells))


def searches(job, marks):
    """Yield the problem and the search of a job at some numbers of plays."""
    (kernel, branching, depth, noise, mean), seed, fitted = job
    problem = Drawn(kernel, branching, depth, noise=noise, mean=mean, seed=seed)
    known = {} if fitted else {"kernel": kernel, "noise": noise, "mean": mean}
    search = bough.GPTS(problem.tree, **known, rng=seed)
    for t in range(1, marks[-1] + 1):
        path = search.ask()
        search.tell(path, problem(path))
        if t in marks:
            yield problem, search


def certify(job):
    """Return, at each mark, whether either bound is false, the gap, and stops with their truth."""
    rows = []
    for problem, search in searches(job, CERTIFIED):
        found, best = search.certificate, search.best()
        value = problem.value(found.path)
        row = [found.upper < problem.optimum or value < found.lower, found.gap]
        for eps in GAPS:
            row += [found.gap <= eps, found.gap <= eps < problem.optimum - value]
        narrow = best.upper - best.lower <= WIDTH
        row += [narrow, narrow and not best.lower <= problem.value(best.path) <= best.upper]
        rows.append(row)
    return job, rows


def evaluate(job):
    """Return, at each mark, whether the optimum is in the interval, expected gap and regret."""
    rows = []
    for problem, search in searches(job, VALUED):
        mean, std = search.best_value()
        regret = problem.optimum - problem.value(search.best().path)
        covered = abs(problem.optimum - mean) <= NINETY * std + 1e-9
        rows.append((covered, search.expected_gap(), regret))
    return job, rows


def run_all(function, seeds):
    """Return the rows of all runs, with the prior known and fitted: runs, marks, columns."""
    jobs = [
        (prior, seed, fitted)
        for prior in PRIORS
        for seed in range(UNSEEN, UNSEEN + seeds)
        for fitted in (False, True)
    ]
    rows = defaultdict(list)
    with ProcessPoolExecutor() as pool:
        for (_, _, fitted), found in pool.map(function, jobs, chunksize=8):
            rows[fitted].append(found)
    return np.array(rows[False], dtype=float), np.array(rows[True], dtype=float)


def show_certificates(seeds):
    known, fitted = run_all(certify, seeds)
    print(f"{len(known)} runs on {len(PRIORS)} priors, after {CERTIFIED} plays")
    for name, rows in (("known", known), ("fitted", fitted)):
        print(f"prior {name}")
        print("  false certificates     ", rows[:, :, 0].mean(axis=0).round(3))
        print("  median gap             ", np.median(rows[:, :, 1], axis=0).round(2))
        counts = rows[:, :, 2:].sum(axis=0).astype(int)
        for k, rule in enumerate([*(f"Gap({eps})" for eps in GAPS), f"IntervalWidth({WIDTH})"]):
            print(f"  {rule} stops, false", counts[:, 2 * k], counts[:, 2 * k + 1])


def show_best_values(seeds):
    known, fitted = run_all(evaluate, seeds)
    print(f"{len(known)} runs on {len(PRIORS)} priors, after {VALUED} plays")
    for name, rows in (("known", known), ("fitted", fitted)):
        print(f"prior {name}")
        print("  optimum in the interval", rows[:, :, 0].mean(axis=0).round(3))
        print("  expected gap           ", rows[:, :, 1].mean(axis=0).round(4))
        print("  regret                 ", rows[:, :, 2].mean(axis=0).round(4))


PARTS = {
    "speed": show_speed,
    "regret": show_regrets,
    "certificates": show_certificates,
    "best-value": show_best_values,
}
#: The number of plays, or of seeds of each problem.
SIZES = {"speed": 1_000_000, "regret": 50, "certificates": 200, "best-value": 60}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--plays", type=float, default=SIZES["speed"])
    arguments = parser.parse_args()
    SIZES["speed"] = int(arguments.plays)
    for part in arguments.parts or PARTS:
        PARTS[part](SIZES[part])
