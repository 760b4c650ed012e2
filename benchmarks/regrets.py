"""Simple regrets of searchers, measured by `bough.experiments.compare`."""

import math

import numpy as np

from bough.experiments import compare
from bough.experiments.runs import all_marks


def simple_regrets(make_problem, searchers, seeds, marks, first=0):
    """Return the regrets of each searcher: a row for each seed, a column for each mark.

    `make_problem` is a function of `seed`, and `searchers` are functions of the tree.
    """
    problems, named = {"problem": make_problem}, {str(key): searchers[key] for key in searchers}
    found = compare(problems, named, budget=marks[-1], seeds=seeds, seed=first, grids={})
    if found.failures:
        raise RuntimeError(found.failures)
    places = [all_marks(marks[-1]).index(mark) for mark in marks]
    return {
        key: np.array([run.simple for run in found.runs["problem", str(key)]])[:, places]
        for key in searchers
    }


def mean_and_error(regrets):
    """Return the means over the seeds, and their standard errors."""
    error = regrets.std(axis=0, ddof=1) if len(regrets) > 1 else 0 * regrets[0]
    return regrets.mean(axis=0), error / math.sqrt(len(regrets))
