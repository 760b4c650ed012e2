"""Costs and regrets of searches: `python -m benchmarks.search [speed|regret|constants]`.

Times depend on the machine; compare ratios within a run only. Regrets do not depend on the machine:
every seed is a problem of its own, the same for all searchers.
"""

import argparse
import functools
import math
import time

import numpy as np

import bough
from bough import kernels
from bough.experiments import compare
from bough.problems import Smooth

#: Branching, depth, discount and noise: settings of the regrets, and further ones, different in
#: every respect, for the choice of the constants.
FOUR = [(5, 10, 0.7, 0.1), (5, 10, 0.95, 0.1), (20, 5, 0.8, 0.1), (5, 10, 0.7, 0.02)]
MORE = [(2, 20, 0.9, 0.05), (3, 8, 0.5, 0.3), (50, 3, 0.8, 0.05), (10, 6, 0.7, 0.0)]
#: The first seed of the regrets: the constants were chosen on those before.
UNSEEN = 10_000
MARKS = (100, 300, 1_000, 3_000, 10_000)
UCT_CONSTANTS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.4)
#: Candidates for `Confidence(scale=...)` of either rule.
SUBTREE_SCALES = (0.5, 0.7, 1.0, 1.4, 2.0)
ARM_SCALES = (0.3, 0.4, 0.5, 0.6, 0.7, 1.0)


def gpts(tree, rng, *, problem, select, scale):
    """Return GPTS with the kernel, noise and mean of a problem."""
    confidence = None if scale is None else bough.Confidence(scale=scale)
    known = {"kernel": problem.kernel, "noise": problem.noise, "mean": problem.mean}
    return bough.GPTS(tree, **known, select=select, confidence=confidence, rng=rng)


def uct(tree, rng, *, exploration):
    """Return UCT for rewards in [0, 1]."""
    return bough.UCT(tree, exploration=exploration, reward_range=(0, 1), rng=rng)


def mean_regrets(settings, variants, seeds, marks, first=0):
    """Yield each setting and variant with its regrets: mean over the seeds and standard error."""
    for setting in settings:
        branching, depth, discount, noise = setting
        make = functools.partial(Smooth, branching, depth, discount=discount, noise=noise)
        searchers = {
            f"{name} {constant}": functools.partial(uct, exploration=constant)
            if name == "UCT"
            else functools.partial(gpts, problem=make(), select=name, scale=constant)
            for name, constant in variants
        }
        found = compare({"smooth": make}, searchers, budget=marks[-1], seeds=seeds, seed=first)
        if found.failures:
            raise RuntimeError(found.failures)
        for name, constant in variants:
            runs = found.runs["smooth", f"{name} {constant}"]
            places = [runs[0].marks.index(mark) for mark in marks]
            regrets = np.array([run.simple for run in runs])[:, places]
            error = regrets.std(axis=0, ddof=1) / math.sqrt(seeds) if seeds > 1 else 0 * regrets[0]
            yield setting, (name, constant), regrets.mean(axis=0), error


def describe(setting):
    return "B {}, D {}, discount {}, noise {}".format(*setting)


def show_regrets(seeds, plays):
    marks = [mark for mark in MARKS if mark <= plays]
    variants = [("subtree", None), ("arm", None), *(("UCT", c) for c in UCT_CONSTANTS)]
    print(f"Simple regret, mean of {seeds} seeds, and in brackets its standard error")
    last = None
    found = mean_regrets(FOUR, variants, seeds, marks, first=UNSEEN)
    for setting, (name, constant), mean, error in found:
        if setting != last:
            print(f"\n{describe(setting)}\n{'':12}" + "".join(f"{mark:>16,}" for mark in marks))
            last = setting
        title = name if constant is None else f"{name} {constant}"
        cells = [f"{m:.4f} ({e:.4f})" for m, e in zip(mean, error, strict=True)]
        print(f"{title:12}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def show_constants(seeds, plays):
    """Compare the constants of each rule over all problems.

    The score of a constant is the ratio of its regret to that of the best constant, as a geometric
    mean over all problems and marks. (To each regret .001 is added, so that zeros count.)
    """
    marks = [mark for mark in MARKS if mark <= plays]
    rules = (("subtree", SUBTREE_SCALES), ("arm", ARM_SCALES), ("UCT", UCT_CONSTANTS))
    for name, constants in rules:
        variants = [(name, c) for c in constants]
        table = {}
        print(f"\n{name}: regret at {', '.join(f'{mark:,}' for mark in marks)}; {seeds} seeds")
        for setting, (_, c), mean, _ in mean_regrets(FOUR + MORE, variants, seeds, marks):
            table[setting, c] = np.log(mean + 1e-3)
            cells = " ".join(f"{m:.4f}" for m in mean)
            print(f"  {describe(setting):40} {c:>5}  {cells}", flush=True)
        best = {s: np.min([table[s, c] for c in constants], axis=0) for s in FOUR + MORE}
        for c in constants:
            score = np.exp(np.mean([table[s, c] - best[s] for s in FOUR + MORE]))
            print(f"  {name} {c}: {score:.3f} times the best constant of each problem and mark")


def fast_reward(kernel, depth):
    """Return a cheap function that is drawn from the prior, more or less, with noise of 0.1."""
    table = np.random.default_rng(0).standard_normal(4096).tolist()
    sds = np.sqrt(kernel.increments(depth))[1:].tolist()
    noise = iter(functools.partial(next, _noises()), None)

    def reward(path):
        total, h = 0.0, 0
        for step, sd in zip(path, sds, strict=True):
            h = (h * 1000003 + step * 7919 + 1) & 0xFFFFFFFFFFFF
            total += table[(h >> 17) & 4095] * sd
        return total + next(noise)

    return reward


def _noises():
    rng = np.random.default_rng(1)
    while True:
        yield from (0.1 * rng.standard_normal(10_000)).tolist()


def show_speed(plays):
    """Print microseconds of ask and tell around each number of plays."""
    marks = [mark for mark in (1_000, 10_000, 100_000, 1_000_000) if mark <= plays]
    print("Microseconds of ask + tell, over the last fifth of the plays so far, B 5, D 10")
    print(f"{'':36}" + "".join(f"{mark:>12,}" for mark in marks))
    tree = bough.Tree(5, 10)
    smooth = Smooth(5, 10).kernel
    for title, kernel in (("smooth (discount .7)", smooth), ("Linear", kernels.Linear(0.1))):
        rows = {}
        for name, make in {
            "UCT": lambda: bough.UCT(tree, rng=0),
            "subtree": lambda kernel=kernel: bough.GPTS(tree, kernel, 0.1, rng=0),
            "arm": lambda kernel=kernel: bough.GPTS(tree, kernel, 0.1, select="arm", rng=0),
        }.items():
            rows[name] = times = ask_and_tell(make(), fast_reward(kernel, 10), marks)
            ratios = [t / u for t, u in zip(times, rows["UCT"], strict=True)]
            cells = [f"{t:.2f} ({r:.1f})" for t, r in zip(times, ratios, strict=True)]
            print(f"{title:24}{name:12}" + "".join(f"{c:>12}" for c in cells), flush=True)
    print("(in brackets: times that of UCT in this run)")


def ask_and_tell(search, reward, marks):
    clock = time.perf_counter_ns
    start = clock()
    for _ in range(20_000):
        clock()
    overhead = 2 * (clock() - start) / 20_000
    times = []
    spent = counted = 0
    for t in range(1, marks[-1] + 1):
        begin = clock()
        path = search.ask()
        asked = clock()
        value = reward(path)
        found = clock()
        search.tell(path, value)
        spent += clock() - found + asked - begin - overhead
        counted += 1
        if t in marks:
            times.append(spent / counted / 1e3)
        if any(t == mark * 4 // 5 for mark in marks):
            spent = counted = 0
    return times


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", help="speed, regret, constants; all but the last")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--plays", type=float, default=1e6)
    options = parser.parse_args()
    what = options.what or ["speed", "regret"]
    if "speed" in what:
        show_speed(int(options.plays))
    if "regret" in what:
        show_regrets(options.seeds, int(options.plays))
    if "constants" in what:
        show_constants(options.seeds, int(options.plays))
