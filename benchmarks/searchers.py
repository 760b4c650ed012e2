"""Cost of every searcher: `python -m benchmarks.searchers [--plays 1e5]`.

Microseconds of CPU of `ask` + `tell` from Python, the mean of all plays since the mark before, and
in brackets the ratio to UCT. A UCT runs beside every searcher, stretch by stretch, so that a busy
machine slows down both. Searchers that evaluate every arm have a small tree.
"""

import argparse
import time

import bough
from benchmarks.timing import Stopwatch, fast_reward, plays, skip
from bough import kernels

#: The tree, and the tree of searchers that evaluate every arm.
LARGE = bough.Tree(5, 10)
SMALL = bough.Tree(5, 4)
KERNEL = kernels.Discounted(0.7)
NARROW = bough.Confidence(scale=0.3)
MARKS = (1_000, 10_000, 100_000)

#: Searchers by name, as functions of the tree and the number of plays.
ON_TREES = {
    "UCT": lambda tree, plays: bough.UCT(tree, rng=0),
    "GPTS": lambda tree, plays: bough.GPTS(tree, KERNEL, 0.1, rng=0),
    "GPTS arm .3": lambda tree, plays: bough.GPTS(
        tree, KERNEL, 0.1, select="arm", confidence=NARROW, rng=0
    ),
    "GPTS learning": lambda tree, plays: bough.GPTS(tree, rng=0),
    "BAST": lambda tree, plays: bough.baselines.BAST(tree, rng=0),
    "HOO": lambda tree, plays: bough.baselines.HOO(tree, rng=0),
    "OLOP": lambda tree, plays: bough.baselines.OLOP(tree, plays=plays, discount=0.7, rng=0),
    "KL-OLOP": lambda tree, plays: bough.baselines.KLOLOP(tree, plays=plays, discount=0.7, rng=0),
    "BestFirst": lambda tree, plays: bough.baselines.BestFirst(tree, discount=0.7, rng=0),
    "RandomSearch": lambda tree, plays: bough.RandomSearch(tree, rng=0),
    "UCB-AIR": lambda tree, plays: bough.baselines.UCBAIR(tree, rng=0),
    "Zooming": lambda tree, plays: bough.baselines.Zooming(tree, exploration=0.1, rng=0),
}
#: The most plays that are measured, and a function of the tree.
ON_ARMS = {
    "UCT": (100_000, lambda tree: bough.UCT(tree, rng=0)),
    "UCB1": (100_000, lambda tree: bough.baselines.UCB1(tree, rng=0)),
    "GPB": (10_000, lambda tree: bough.GPB(tree, KERNEL, 0.1, rng=0)),
    "LinRel": (1_000, lambda tree: bough.baselines.LinRel(tree, KERNEL, rng=0)),
    "TwoLevel": (10_000, lambda tree: bough.baselines.TwoLevel(tree, rng=0)),
    "Gittins": (10_000, lambda tree: bough.baselines.Gittins(tree, rng=0)),
    "Lookahead": (1_000, lambda tree: bough.baselines.Lookahead(tree, KERNEL, 0.1, rng=0)),
}


def show(title, tree, rows, marks):
    print(f"\n{title}\n{'':18}" + "".join(f"{mark:>18,}" for mark in marks))
    for name, make, most in rows:
        reward = fast_reward(KERNEL, tree.depth)
        ours, theirs = (Stopwatch(time.process_time_ns) for _ in range(2))
        own, rival = plays(make(), reward, ours), plays(bough.UCT(tree, rng=0), reward, theirs)
        done, cells = 0, []
        for mark in (mark for mark in marks if mark <= most):
            counted, ours.spent, theirs.spent = mark - done, 0, 0
            while done < mark:
                stretch = min(mark // 50, mark - done)
                skip(own, stretch)
                skip(rival, stretch)
                done += stretch
            cells.append(f"{ours.spent / counted / 1e3:.2f} ({ours.spent / theirs.spent:.1f})")
        print(f"{name:18}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plays", type=float, default=1e5)
    most_plays = int(parser.parse_args().plays)
    marks = [mark for mark in MARKS if mark <= most_plays]
    rows = [
        (name, lambda make=make: make(LARGE, marks[-1]), most_plays)
        for name, make in ON_TREES.items()
    ]
    show("Microseconds of ask + tell on 5^10 (times those of UCT)", LARGE, rows, marks)
    small = [
        (name, lambda make=make: make(SMALL), min(most, most_plays))
        for name, (most, make) in ON_ARMS.items()
    ]
    show("On 5^4 = 625 arms, all of which are evaluated", SMALL, small, marks)
