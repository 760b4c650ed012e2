"""Optimizers of other packages on boxes of real numbers and integers, all by ask and tell.

`tpe` and `cmaes` are samplers of Optuna. `smac` is SMAC3 with its facade for hyperparameters, whose
model is a random forest (that for black boxes takes a second per trial). `ngopt` is nevergrad's
NGOpt, which chooses an algorithm by the dimension and the number of evaluations. The last two need
`pip install '.[rivals]'`, and plan by the number of evaluations.
"""

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.optimise import suggest
from bough import Float, Int, Space

Params = dict[str, Any]
Function = Callable[[Params], float]


def minimize_by_optuna(
    name: str, function: Function, space: Space, seed: int, evaluations: int
) -> Iterator[float]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    if name == "tpe":
        sampler: Any = optuna.samplers.TPESampler(multivariate=True, seed=seed)
    else:
        sampler = optuna.samplers.CmaEsSampler(
            seed=seed, warn_independent_sampling=False,
            with_margin=any(isinstance(p, Int) for p in space.parameters.values()),
        )  # fmt: skip
    study = optuna.create_study(sampler=sampler)
    for _ in range(evaluations):
        trial = study.ask()
        params: Params = {}
        suggest(trial, space, params)
        value = function(params)
        study.tell(trial, value)
        yield value


def minimize_by_smac(
    name: str, function: Function, space: Space, seed: int, evaluations: int
) -> Iterator[float]:
    import ConfigSpace
    import smac
    from smac.runhistory import TrialValue

    logging.getLogger("smac").setLevel(logging.ERROR)
    configurations = ConfigSpace.ConfigurationSpace(seed=seed)
    for key, parameter in space.parameters.items():
        assert isinstance(parameter, (Float, Int))
        kind = ConfigSpace.Float if isinstance(parameter, Float) else ConfigSpace.Integer
        configurations.add(kind(key, (parameter.low, parameter.high), log=parameter.log))
    with tempfile.TemporaryDirectory() as folder:
        scenario = smac.Scenario(
            configurations, n_trials=evaluations, seed=seed, output_directory=folder,
            deterministic=True,
        )  # fmt: skip

        def never(config: Any, seed: int = 0) -> float:
            raise NotImplementedError  # evaluations are made here

        search = smac.HyperparameterOptimizationFacade(
            scenario, never, overwrite=True, logging_level=logging.ERROR
        )
        for _ in range(evaluations):
            trial = search.ask()
            value = function(dict(trial.config))
            search.tell(trial, TrialValue(cost=value))
            yield value


def minimize_by_nevergrad(
    name: str, function: Function, space: Space, seed: int, evaluations: int
) -> Iterator[float]:
    import nevergrad
    import numpy as np

    warnings.simplefilter("ignore", nevergrad.common.errors.NevergradWarning)
    parameters = {}
    for key, parameter in space.parameters.items():
        assert isinstance(parameter, (Float, Int))
        made = nevergrad.p.Scalar(lower=parameter.low, upper=parameter.high)
        parameters[key] = made if isinstance(parameter, Float) else made.set_integer_casting()
    domain = nevergrad.p.Dict(**parameters)
    domain.random_state = np.random.RandomState(seed)
    search = nevergrad.optimizers.NGOpt(domain, budget=evaluations)
    for _ in range(evaluations):
        candidate = search.ask()
        value = function(candidate.value)
        search.tell(candidate, value)
        yield value


RIVALS = {
    "tpe": minimize_by_optuna,
    "cmaes": minimize_by_optuna,
    "smac": minimize_by_smac,
    "ngopt": minimize_by_nevergrad,
}
#: The rivals that plan by the number of evaluations.
PLANNERS = ("smac", "ngopt")
