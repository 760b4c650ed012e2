"""What learning costs and what it is worth: `python -m benchmarks.learning [speed|regret]`.

Times are of this run and this machine; only ratios of one run mean something.
"""

import argparse
import functools
import math
import multiprocessing
import time

import numpy as np

import bough
from benchmarks.search import fast_reward
from bough import kernels, learning
from bough.learning.learner import Learner
from bough.problems import Smooth

#: Branching, depth, width of the Gaussian kernel and noise (the function has variance 1).
PROBLEMS = [
    (4, 7, 2.0, 0.3),
    (2, 14, 3.0, 0.3),
    (8, 5, 1.5, 0.1),
    (3, 9, 2.5, 0.1),
    (20, 4, 1.5, 0.3),
    (5, 6, 3.0, 0.6),
    (10, 5, 2.0, 0.03),
]
MARKS = (100, 300, 1_000)
WAYS = ("true", "learnt", "wide, noisy", "narrow, precise")


class Drawn:
    """A function drawn from the prior, small enough to know its best path."""

    def __init__(self, branching, depth, width, noise, seed):
        self.tree = bough.Tree(branching, depth)
        self.kernel = kernels.Gaussian(width)
        self.noise = noise
        rng = np.random.default_rng(seed)
        values = np.zeros(1)
        for i, v in enumerate(self.kernel.increments(depth)):
            values = np.repeat(values, branching if i else 1)
            values = values + math.sqrt(v) * rng.standard_normal(len(values))
        self.values = values.reshape((branching,) * depth)
        self.optimum = float(values.max())
        self.rng = rng

    def value(self, path):
        return float(self.values[path])

    def __call__(self, path):
        return self.value(path) + self.noise * self.rng.standard_normal()


def searcher(problem, way, seed):
    width, noise = problem.kernel.width, problem.noise
    given = {
        "true": (width, noise),
        "wide, noisy": (4 * width, 10 * noise),
        "narrow, precise": (width / 4, noise / 10),
    }
    if way == "learnt":
        return bough.GPTS(problem.tree, rng=seed)
    width, noise = given[way]
    return bough.GPTS(problem.tree, kernels.Gaussian(width), noise, rng=seed)


def regrets(job):
    setting, way, seed = job
    problem = Drawn(*setting, seed)
    search = searcher(problem, way, seed)
    found = []
    for t in range(1, MARKS[-1] + 1):
        path = search.ask()
        search.tell(path, problem(path))
        if t in MARKS:
            found.append(problem.optimum - problem.value(search.best("lower").path))
    return found


def show_regrets(seeds):
    print(
        f"Regret at {', '.join(f'{m:,}' for m in MARKS)} plays, mean of {seeds} seeds; and how many"
    )
    print("times that with the true kernel it is, with a 95 % interval (bootstrap, paired by seed)")
    rng = np.random.default_rng(0)
    every = {way: [] for way in WAYS}
    with multiprocessing.Pool() as pool:
        for setting in PROBLEMS:
            print("\nB {}, D {}, width {}, noise {}".format(*setting))
            table = {}
            for way in WAYS:
                jobs = [(setting, way, seed) for seed in range(seeds)]
                table[way] = np.array(pool.map(regrets, jobs, chunksize=1))
                every[way].append(table[way] / table["true"].mean(axis=0))
                show_ratio(way, table[way], table["true"], rng)
    print("\nAll problems, each in units of its regret with the true kernel")
    for way in WAYS:
        show_ratio(way, np.concatenate(every[way]), np.concatenate(every["true"]), rng)


def show_ratio(way, found, reference, rng):
    draws = rng.integers(len(found), size=(2000, len(found)))
    ratios = found[draws].mean(axis=1) / reference[draws].mean(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975], axis=0)
    cells = [
        f"{m:.4f}  {m / r:.2f} ({a:.2f} to {b:.2f})"
        for m, r, a, b in zip(found.mean(axis=0), reference.mean(axis=0), low, high, strict=True)
    ]
    print(f"  {way:16}" + "   ".join(f"{cell:30}" for cell in cells), flush=True)


# ---------------------------------------------------------------------- speed


def dense_likelihood(kernel, depth, noise, paths, values):
    """Return the log likelihood by dense algebra."""
    K = kernel.matrix(paths, depth) + noise**2 * np.eye(len(paths))
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, values)
    return -0.5 * (z @ z + len(values) * math.log(2 * math.pi)) - np.log(np.diag(L)).sum()


def random_data(count, seed=0):
    """Return random paths of 5^10 and noisy values there."""
    rng = np.random.default_rng(seed)
    paths = [tuple(path) for path in rng.integers(5, size=(count, 10)).tolist()]
    reward = fast_reward(Smooth(5, 10).kernel, 10)
    return paths, np.array([reward(path) for path in paths])


def show_speed():
    tree, kernel = bough.Tree(5, 10), Smooth(5, 10).kernel
    paths, values = random_data(2_000)
    begin = time.perf_counter()
    dense = dense_likelihood(kernel, 10, 0.1, paths, values)
    dense_time = time.perf_counter() - begin
    belief = bough.Belief(tree, kernel, 0.1)
    for path, value in zip(paths, values, strict=True):
        belief.observe(path, value)
    assert math.isclose(dense, belief.log_likelihood(), rel_tol=1e-8)
    print(f"one dense likelihood of 2,000 observations   {dense_time:8.3f} s")

    for count in (2_000, 100_000):
        paths, values = random_data(count)
        belief = bough.Belief(tree, kernel, 0.1)
        for path, value in zip(paths, values, strict=True):
            belief.observe(path, value)
        learner = Learner(None, None, None, 10)
        for title in ("first fit", "refit"):
            begin = time.perf_counter()
            learner.learn(belief)
            spent = time.perf_counter() - begin
            print(
                f"{title} of {count:,} observations at random paths".ljust(45)
                + f"{spent:8.3f} s, {spent / dense_time:.3g} times that"
            )
        begin = time.perf_counter()
        learning.fit(belief, kernels.Geometric)
        print(f"`fit`, with standard errors{time.perf_counter() - begin:26.3f} s")

    print("\nA search of 5^10 with a reward of about 3 us, from Python: seconds")
    print(f"{'plays':>10}{'given':>10}{'learnt':>10}{'of which learning':>20}")
    for plays in (1_000, 10_000, 100_000):
        given, _ = run(bough.GPTS(tree, kernel, 0.1, rng=0), plays)
        learnt, spent = run(bough.GPTS(tree, rng=0), plays)
        print(
            f"{plays:10,}{given:10.3f}{learnt:10.3f}{spent:12.3f} ({spent / learnt:.0%})",
            flush=True,
        )


def run(search, plays):
    """Return the seconds that a search took, and those of them that were spent on learning."""
    spent = 0.0

    def timed(method):
        @functools.wraps(method)
        def wrapper(*args):
            nonlocal spent
            begin = time.perf_counter()
            method(*args)
            spent += time.perf_counter() - begin

        return wrapper

    if search._learner is not None:
        search._learner.learn = timed(search._learner.learn)
        search._new_prior = timed(search._new_prior)
    reward = fast_reward(Smooth(5, 10).kernel, 10)
    begin = time.perf_counter()
    for _ in range(plays):
        path = search.ask()
        search.tell(path, reward(path))
    return time.perf_counter() - begin, spent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", help="speed, regret; both by default")
    parser.add_argument("--seeds", type=int, default=50)
    options = parser.parse_args()
    what = options.what or ["speed", "regret"]
    if "speed" in what:
        show_speed()
    if "regret" in what:
        show_regrets(options.seeds)
