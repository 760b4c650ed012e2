"""Costs and regrets of searches: `python -m benchmarks.search [speed|regret|constants]`.

Times depend on the machine; compare ratios within a run only. Regrets do not depend on the machine:
every seed is a problem of its own, the same for all searchers.
"""

import argparse
from functools import partial

import numpy as np

import bough
from benchmarks.regrets import mean_and_error, simple_regrets
from benchmarks.timing import Stopwatch, fast_reward, last_fifths, plays
from bough import kernels
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


def mean_regrets(settings, variants, seeds, marks, first=0):
    """Yield each setting and variant with its regrets: mean over the seeds and standard error."""
    for setting in settings:
        branching, depth, discount, noise = setting
        make = partial(Smooth, branching, depth, discount=discount, noise=noise)
        searchers = {variant: factory(make(), *variant) for variant in variants}
        found = simple_regrets(make, searchers, seeds, marks, first)
        for variant, regrets in found.items():
            yield setting, variant, *mean_and_error(regrets)


def factory(problem, name, constant):
    """Return a function that makes UCT, or GPTS with the kernel, noise and mean of a problem."""
    if name == "UCT":
        return partial(bough.UCT, exploration=constant, reward_range=(0, 1))
    confidence = None if constant is None else bough.Confidence(scale=constant)
    known = {"kernel": problem.kernel, "noise": problem.noise, "mean": problem.mean}
    return partial(bough.GPTS, **known, select=name, confidence=confidence)


def describe(setting):
    return "B {}, D {}, discount {}, noise {}".format(*setting)


def show_regrets(seeds, most):
    marks = [mark for mark in MARKS if mark <= most]
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


def show_constants(seeds, most):
    """Compare the constants of each rule over all problems.

    The score of a constant is the ratio of its regret to that of the best constant, as a geometric
    mean over all problems and marks. (To each regret .001 is added, so that zeros count.)
    """
    marks = [mark for mark in MARKS if mark <= most]
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
            "subtree": lambda kernel=kernel: bough.GPTS(tree, kernel, 0.1, rng=0),
            "arm": lambda kernel=kernel: bough.GPTS(tree, kernel, 0.1, select="arm", rng=0),
        }.items():
            watch = Stopwatch()
            playing = plays(make(), fast_reward(kernel, 10), watch)
            times = [cost for _, cost, _ in last_fifths(playing, watch, marks)]
            rows[name] = times
            ratios = [t / u for t, u in zip(times, rows["UCT"], strict=True)]
            cells = [f"{t:.2f} ({r:.1f})" for t, r in zip(times, ratios, strict=True)]
            print(f"{title:24}{name:12}" + "".join(f"{c:>12}" for c in cells), flush=True)


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
