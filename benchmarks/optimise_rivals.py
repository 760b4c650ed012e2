"""Optimisers to compare: each with `ask`, `tell` and what it recommends, for a problem."""

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from benchmarks.optimise_problems import Params, Problem
from bough import Choice, Float, Int, Space


class Optimiser(Protocol):
    """What is measured: it minimises."""

    def ask(self) -> Params: ...

    def tell(self, params: Params, value: float) -> None: ...

    def best(self) -> Params: ...


class Bough:
    """A search of bough, of any kind."""

    def __init__(self, problem: Problem, seed: int, searcher: str = "gpts") -> None:
        from bough.searchers.registry import make_searcher

        self.search = make_searcher(searcher, problem.space, seed)

    def ask(self) -> Params:
        return self.search.ask()

    def tell(self, params: Params, value: float) -> None:
        self.search.tell(params, 0.0 - value)

    def best(self) -> Params:
        return self.search.best().params


class Optuna:
    """A sampler of Optuna; it recommends the best value that was seen."""

    def __init__(self, problem: Problem, seed: int, kind: str) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        conditional = any(
            isinstance(p, Choice) and any(s.parameters for s in p.spaces)
            for p in problem.space.parameters.values()
        )
        make: dict[str, Callable[[], Any]] = {
            "tpe": lambda: optuna.samplers.TPESampler(
                multivariate=True, group=conditional, seed=seed
            ),
            "cmaes": lambda: optuna.samplers.CmaEsSampler(
                seed=seed, warn_independent_sampling=False
            ),
            "random": lambda: optuna.samplers.RandomSampler(seed=seed),
            "gp": lambda: optuna.samplers.GPSampler(seed=seed),
        }
        self._study = optuna.create_study(sampler=make[kind]())
        self._space = problem.space
        self._best: tuple[float, Params] | None = None
        self._trial: Any = None

    def ask(self) -> Params:
        self._trial = self._study.ask()
        params: Params = {}
        suggest(self._trial, self._space, params)
        return params

    def tell(self, params: Params, value: float) -> None:
        self._study.tell(self._trial, value)
        if self._best is None or value < self._best[0]:
            self._best = value, params

    def best(self) -> Params:
        assert self._best is not None
        return self._best[1]


def suggest(trial: Any, space: Space, params: Params, prefix: str = "") -> None:
    """Ask an Optuna trial for params of a space.

    Parameters of an option get a name of their own, as its users do: a name may not change its
    range there.
    """
    for name, parameter in space.parameters.items():
        full = prefix + name
        if isinstance(parameter, Float):
            params[name] = trial.suggest_float(
                full, parameter.low, parameter.high, log=parameter.log, step=parameter.step
            )
        elif isinstance(parameter, Int):
            params[name] = trial.suggest_int(
                full, parameter.low, parameter.high, log=parameter.log, step=parameter.step
            )
        else:
            option = trial.suggest_categorical(full, parameter.options)
            params[name] = option
            inner = parameter.spaces[parameter.options.index(option)]
            suggest(trial, inner, params, f"{full}.{option}.")


class PyXAB:
    """HOO of PyXAB, on boxes.

    Its bounds are for rewards with a range of 1. It is told what its users would have to guess: the
    range of the values at random points.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        import random

        from PyXAB.algos.HOO import T_HOO
        from PyXAB.partition.BinaryPartition import BinaryPartition

        random.seed(seed)  # it draws from the generators that all share
        np.random.seed(seed)  # noqa: NPY002
        self._names = list(problem.space.parameters)
        box = [[p.low, p.high] for p in problem.space.parameters.values()]  # type: ignore[union-attr]
        self._algorithm = T_HOO(rounds=1000, domain=box, partition=BinaryPartition)
        places = np.random.default_rng(seed).uniform(*np.transpose(box), size=(1000, len(box)))
        values = [problem.function(dict(zip(self._names, x, strict=True))) for x in places]
        self._range = max(values) - min(values)
        self._time = 0
        self._best: tuple[float, Params] | None = None

    def ask(self) -> Params:
        self._time += 1
        point = self._algorithm.pull(self._time)
        return {name: float(x) for name, x in zip(self._names, point, strict=True)}

    def tell(self, params: Params, value: float) -> None:
        self._algorithm.receive_reward(self._time, -value / self._range)
        if self._best is None or value < self._best[0]:
            self._best = value, params

    def best(self) -> Params:
        assert self._best is not None
        return self._best[1]


def make_optimiser(name: str, problem: Problem, seed: int) -> Optimiser:
    if name in ("tpe", "cmaes", "random", "gp"):
        return Optuna(problem, seed, name)
    if name == "pyxab hoo":
        return PyXAB(problem, seed)
    return Bough(problem, seed, {"bough": "gpts", "bough hoo": "hoo"}[name])


def prefilled(
    name: str, problem: Problem, objective: Callable[[Params], float], size: int
) -> Optimiser:
    """Return an optimiser of Optuna that knows so many random results."""
    source, target = Optuna(problem, 0, "random"), Optuna(problem, 0, name)
    for _ in range(size):
        params = source.ask()
        source.tell(params, objective(params))
    target._study.add_trials(source._study.get_trials(deepcopy=False))
    return target
