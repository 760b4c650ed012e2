"""Small problems and scripted searchers for tests of comparisons."""

import bough
from bough.experiments import compare
from bough.problems import Problem

MILLION = 1_000_000
PROBLEMS = ["smooth:3:4", "noisy-branin:cuts=3"]
COMMAND = ["compare", *PROBLEMS, "--searchers", "gpts-known,uct", "--budget", "60"]


class Four(Problem):
    """Four paths worth 0, 1, 3 and 4, without noise."""

    name = "four"

    def __init__(self, seed=0):
        super().__init__(bough.Tree(4, 1), noise=0.0, seed=seed)

    def _value(self, path):
        return [0.0, 1.0, 3.0, 4.0][path[0]]

    def _solve(self):
        return 4.0, (3,)


class Turned(Four):
    """The same for seeds that are shown, and reversed for those of tuning."""

    def _value(self, path):
        return super()._value(path if self.seed < MILLION else (3 - path[0],))

    def _solve(self):
        return 4.0, (3,) if self.seed < MILLION else (0,)


class Script(bough.UCT):
    """Plays a given sequence of arms, and recommends the last one."""

    def __init__(self, tree, plays=(0, 2, 1, 3, 2, 3)):
        super().__init__(tree, rng=0)
        self.plays = list(plays)

    def ask(self):
        if not self.plays:
            raise bough.Exhausted
        return (self.plays.pop(0),)

    def tell(self, path, value=None, **keywords):
        super().tell(path, value, **keywords)
        self.last = path

    def best(self, rule=None):
        return bough.Arm(self.last, None, 0.0, 0.0, 0.0, 0.0, 0.0, 1)


class Stubborn(Script):
    """Always plays one arm, its constant."""

    def __init__(self, tree, arm=0):
        super().__init__(tree, [arm] * 1000)


class Broken(Script):
    def ask(self):
        raise ZeroDivisionError("no path today")


def run_four(budget, **keywords):
    return compare(
        {"four": Four}, {"script": Script}, budget=budget, seeds=1, workers=1, **keywords
    )
