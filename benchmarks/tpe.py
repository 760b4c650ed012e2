r"""Optuna's TPE as a searcher of trees, with one categorical parameter for each step.

A searcher of one's own for `bough compare`; it needs the extra `optuna`. The figure of the README
is drawn from the table `regrets.csv` (`docs/figures/regret.csv`) of

    bough compare smooth:noise=0.02 --searchers gpts,uct,random,benchmarks/tpe.py:TPE \
        --budget 1000 --seeds 20 --tuning-seeds 16 --out comparison/
"""

import math

import numpy as np

import bough


class TPE(bough.Searcher):
    """TPE with its default options; the recommended path is the one with the best single reward."""

    def __init__(self, tree, rng=None):
        import optuna

        if tree.counts is None or math.inf in tree.counts:
            raise ValueError("TPE needs a tree with the same finite number of children per depth")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.tree = tree
        seed = int(np.random.default_rng(rng).integers(2**31))
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._trials = []  # pending: pairs of a path and a trial
        self._best, self._observations = None, 0

    def ask(self):
        trial = self._study.ask()
        path = tuple(
            trial.suggest_categorical(f"step {depth}", range(int(count)))
            for depth, count in enumerate(self.tree.counts)
        )
        self._trials.append((path, trial))
        return path

    def tell(self, path, value=None, *, noise=None, steps=None):
        reward = math.fsum(steps) if value is None else float(value)
        self._study.tell(self._take(path), reward)
        self._observations += 1
        if self._best is None or reward > self._best[1]:
            self._best = tuple(path), reward

    def forget(self, path):
        import optuna

        self._study.tell(self._take(path), state=optuna.trial.TrialState.FAIL)

    def _take(self, path):
        """Return the trial of a pending path, and remove it from those that are pending."""
        place = [pending for pending, _ in self._trials].index(tuple(path))
        return self._trials.pop(place)[1]

    def best(self, rule=None):
        path, reward = self._best
        return bough.Arm(path, self.tree.decode(path), reward, 0.0, reward, reward, reward, 1)

    @property
    def observations(self):
        return self._observations

    @property
    def pending(self):
        return tuple(path for path, _ in self._trials)
