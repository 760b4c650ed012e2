"""Costs of learning, and regrets with what it fits: `python -m benchmarks.learning [PART]`.

Parts: speed, regret. Times depend on the machine; compare ratios within a run only.
"""

import argparse
import math
from collections import defaultdict
from functools import partial

import numpy as np

import bough
from benchmarks.regrets import simple_regrets
from benchmarks.timing import Stopwatch, fast_reward, plays, skip, timed
from bough import kernels, learning
from bough.learning.learner import Learner
from bough.problems import Drawn, Smooth

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


def searchers(width, noise):
    """Return functions that make GPTS with each prior, given the true width and noise."""
    given = {
        "true": (width, noise),
        "wide, noisy": (4 * width, 10 * noise),
        "narrow, precise": (width / 4, noise / 10),
    }
    made = {
        name: partial(bough.GPTS, kernel=kernels.Gaussian(w), noise=n)
        for name, (w, n) in given.items()
    }
    return {**made, "fitted": bough.GPTS}


def show_regrets(seeds):
    print(
        f"Regret at {', '.join(f'{m:,}' for m in MARKS)} plays, mean of {seeds} seeds; and the "
        "ratio to\nthat with the true kernel, with a 95 % interval (bootstrap, paired by seed)"
    )
    rng = np.random.default_rng(0)
    every = defaultdict(list)
    for branching, depth, width, noise in PROBLEMS:
        print(f"\nB {branching}, D {depth}, width {width}, noise {noise}")
        make = partial(Drawn, kernels.Gaussian(width), branching, depth, noise=noise)
        found = simple_regrets(make, searchers(width, noise), seeds, MARKS)
        for prior, regrets in found.items():
            every[prior].append(regrets / found["true"].mean(axis=0))
            show_ratio(prior, regrets, found["true"], rng)
    print("\nAll problems, each in units of its regret with the true kernel")
    for prior, regrets in every.items():
        show_ratio(prior, np.concatenate(regrets), np.concatenate(every["true"]), rng)


def show_ratio(prior, found, reference, rng):
    draws = rng.integers(len(found), size=(2000, len(found)))
    ratios = found[draws].mean(axis=1) / reference[draws].mean(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975], axis=0)
    cells = [
        f"{m:.4f}  {m / r:.2f} ({a:.2f} to {b:.2f})"
        for m, r, a, b in zip(found.mean(axis=0), reference.mean(axis=0), low, high, strict=True)
    ]
    print(f"  {prior:16}" + "   ".join(f"{cell:30}" for cell in cells), flush=True)


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


def observed(tree, kernel, paths, values):
    """Return a belief that has observed the values of paths."""
    belief = bough.Belief(tree, kernel, 0.1)
    for path, value in zip(paths, values, strict=True):
        belief.observe(path, value)
    return belief


def show_speed():
    tree, kernel = bough.Tree(5, 10), Smooth(5, 10).kernel
    paths, values = random_data(2_000)
    dense_time, dense = timed(lambda: dense_likelihood(kernel, 10, 0.1, paths, values))
    belief = observed(tree, kernel, paths, values)
    assert math.isclose(dense, belief.log_likelihood(), rel_tol=1e-8)
    print(f"one dense likelihood of 2,000 observations   {dense_time:8.3f} s")

    for count in (2_000, 100_000):
        belief = observed(tree, kernel, *random_data(count))
        learner = Learner(None, None, None, 10)
        for title in ("first fit", "refit"):
            spent, _ = timed(partial(learner.learn, belief))
            print(
                f"{title} of {count:,} observations at random paths".ljust(45)
                + f"{spent:8.3f} s, {spent / dense_time:.3g} times that"
            )
        spent, _ = timed(partial(learning.fit, belief, kernels.Geometric))
        print(f"`fit`, with standard errors{spent:26.3f} s")

    print("\nA search of 5^10 with a reward of about 3 us, from Python: seconds")
    print(f"{'plays':>10}{'given':>10}{'fitted':>10}{'of which learning':>20}")
    for count in (1_000, 10_000, 100_000):
        given, _ = run(bough.GPTS(tree, kernel, 0.1, rng=0), count)
        fitted, spent = run(bough.GPTS(tree, rng=0), count)
        print(
            f"{count:10,}{given:10.3f}{fitted:10.3f}{spent:12.3f} ({spent / fitted:.0%})",
            flush=True,
        )


def run(search, count):
    """Return the seconds that a search took, and those of them that were spent on learning."""
    learning_watch = Stopwatch()

    def watched(method):
        def wrapper(*args):
            learning_watch.start()
            method(*args)
            learning_watch.stop()

        return wrapper

    if search._learner is not None:
        search._learner.learn = watched(search._learner.learn)
        search._new_prior = watched(search._new_prior)
    playing = plays(search, fast_reward(Smooth(5, 10).kernel, 10), Stopwatch())
    spent, _ = timed(partial(skip, playing, count))
    return spent, learning_watch.spent / 1e9


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
