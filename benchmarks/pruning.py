"""Pruning: the best final value against the total number of steps, with and without a rule.

    python -m benchmarks.pruning synthetic        the problems that the defaults were chosen on
    python -m benchmarks.pruning held-out         other problems; needs scikit-learn
    python -m benchmarks.pruning held-out optuna  and Optuna's pruners with TPE

Every run may spend as many steps as `FULL` complete trials take. The table has the regret of the
best completed trial at the end (its loss, where the optimum is not known), and the steps that a run
needed for the median of the runs of bough without pruning, in complete trials: medians over seeds,
with the quartiles. Noise is that of the reports and of the final value, so a loss may be below the
optimum. `crossing` is adverse: what ends lower falls more slowly.
"""

import math
import sys
import warnings
import zlib
from functools import cache

import numpy as np

import bough

FULL = 25
SEEDS = 7


class Curves:
    """A problem: a space, a last step, and the curve of losses of any params."""

    def __init__(self, name, space, last, losses, optimum):
        self.name, self.space, self.last, self.losses, self.optimum = (
            name, space, last, losses, optimum)  # fmt: skip


def _unit(dimensions):
    return bough.Space(**{f"x{i}": bough.Float(0, 1) for i in range(dimensions)})


def _power(dimensions, seed):
    """Power laws whose rates do not depend on the final value."""
    rng = np.random.default_rng(seed)
    center, slow = rng.uniform(0.2, 0.8, (2, dimensions))

    def losses(params):
        x = np.array(list(params.values()))
        final = 0.1 + np.sum((x - center) ** 2) + 0.05 * np.sum(1 - np.cos(9 * (x - center)))
        rate = 0.5 + np.abs(x - slow).mean()
        for step in range(1, 28):
            yield final + step**-rate

    from scipy.optimize import minimize

    found = minimize(lambda x: [*losses(dict(enumerate(x)))][-1], center, method="Nelder-Mead")
    name = f"power law, {dimensions} parameters"
    return Curves(name, _unit(dimensions), 27, losses, found.fun)


def _crossing(dimensions, seed, noise=0.0):
    """Exponential curves that cross: what ends lower falls more slowly."""
    rng = np.random.default_rng(seed)
    center = rng.uniform(0.2, 0.8, dimensions)

    def losses(params):
        x = np.array(list(params.values()))
        final = np.sum((x - center) ** 2)
        rate = 0.05 + 0.3 * min(final, 1.0)
        errors = np.random.default_rng(zlib.crc32(x.tobytes()))
        for step in range(1, 82):
            yield final + math.exp(-rate * step) + noise * errors.standard_normal()

    name = f"crossing, {dimensions} parameters" + (", noise" if noise else "")
    return Curves(name, _unit(dimensions), 81, losses, math.exp(-0.05 * 81))


def synthetic():
    """Return the problems that the defaults were chosen on."""
    return [_power(2, 0), _power(5, 1), _crossing(3, 2), _crossing(3, 3, 0.02)]


@cache
def _data(name):
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return train_test_split(StandardScaler().fit_transform(x), y, test_size=0.5, random_state=0)


def _sgd(params):
    from sklearn.linear_model import SGDClassifier

    train, test, y, z = _data("breast_cancer")
    model = SGDClassifier(
        loss="log_loss", alpha=params["alpha"], learning_rate="invscaling", eta0=params["rate"],
        power_t=params["power"], random_state=0,
    )  # fmt: skip
    for _ in range(27):
        model.partial_fit(train, y, classes=[0, 1])
        yield _log_loss(model.predict_proba(test), z)


def _network(params):
    from sklearn.neural_network import MLPClassifier

    train, test, y, z = _data("digits")
    model = MLPClassifier(
        (params["units"],), learning_rate_init=params["rate"], alpha=params["alpha"],
        batch_size=params["batch"], random_state=0,
    )  # fmt: skip
    for _ in range(27):
        model.partial_fit(train, y, classes=np.arange(10))
        yield _log_loss(model.predict_proba(test), z)


def _boosting(params):
    from sklearn.ensemble import GradientBoostingClassifier

    train, test, y, z = _data("breast_cancer")
    model = GradientBoostingClassifier(
        learning_rate=params["rate"], max_depth=params["depth"], subsample=params["subsample"],
        max_features=params["features"], warm_start=True, random_state=0,
    )  # fmt: skip
    for step in range(1, 28):
        model.set_params(n_estimators=step)
        model.fit(train, y)
        yield _log_loss(model.predict_proba(test), z)


def _log_loss(shares, labels):
    return float(-np.log(np.maximum(shares[np.arange(len(labels)), labels], 1e-6)).mean())


def held_out():
    """Return problems that nothing was chosen on."""
    log = {"log": True}
    sgd = bough.Space(
        alpha=bough.Float(1e-6, 1e-1, **log), rate=bough.Float(1e-4, 1.0, **log),
        power=bough.Float(0, 0.5),
    )  # fmt: skip
    network = bough.Space(
        units=bough.Int(4, 64, **log), rate=bough.Float(1e-4, 1e-1, **log),
        alpha=bough.Float(1e-6, 1.0, **log), batch=bough.Int(16, 256, **log),
    )  # fmt: skip
    boosting = bough.Space(
        rate=bough.Float(0.01, 1.0, **log), depth=bough.Int(1, 6),
        subsample=bough.Float(0.3, 1.0), features=bough.Float(0.1, 1.0),
    )  # fmt: skip
    return [
        _power(4, 10), _crossing(2, 11), _crossing(5, 12, 0.02),
        Curves("SGD, breast cancer", sgd, 27, _sgd, 0.0),
        Curves("network, digits", network, 27, _network, 0.0),
        Curves("boosting, breast cancer", boosting, 27, _boosting, 0.0),
    ]  # fmt: skip


class Spending:
    """The steps of a run so far, and the best completed loss after each."""

    def __init__(self, problem):
        self.problem = problem
        self.steps = 0
        self.found = []  # pairs of steps and loss

    def evaluate(self, params, report):
        """Evaluate params until `report(step, loss)` returns True."""
        loss = math.inf
        for step, loss in enumerate(self.problem.losses(params), 1):
            self.steps += 1
            if report(step, loss):
                return loss, True
        self.found.append((self.steps, loss))
        return loss, False

    @property
    def is_over(self):
        return self.steps >= FULL * self.problem.last

    def best(self, steps=math.inf):
        losses = [loss for at, loss in self.found if at <= min(steps, FULL * self.problem.last)]
        return min(losses, default=math.inf) - self.problem.optimum

    def until(self, regret):
        """Return the steps to a regret, in complete trials; infinite if it was not reached."""
        level = regret + self.problem.optimum
        at = next((at for at, loss in self.found if loss <= level), math.inf)
        return at / self.problem.last


def run_bough(problem, rule, seed):
    """Run bough with a rule, and return what it spent and found."""
    spending = Spending(problem)

    def objective(params, trial):
        def report(step, loss):
            trial.report(step, loss)
            return step < problem.last and trial.should_stop()

        return spending.evaluate(params, report)[0]

    bough.minimize(
        objective, problem.space, prune=rule, stop=lambda _: spending.is_over, rng=seed,
        progress=False,
    )  # fmt: skip
    return spending


def run_optuna(problem, pruner, seed):
    """Run Optuna's TPE with a pruner, and return what it spent and found."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    spending = Spending(problem)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(sampler=sampler, pruner=pruner())

    def objective(trial):
        params = {}
        for slot in problem.space.slots:
            given = slot.parameter
            suggest = trial.suggest_int if isinstance(given, bough.Int) else trial.suggest_float
            params[slot.name] = suggest(slot.name, given.low, given.high, log=given.log)

        def report(step, loss):
            trial.report(loss, step)
            return step < problem.last and trial.should_prune()

        loss, pruned = spending.evaluate(params, report)
        if pruned:
            raise optuna.TrialPruned
        if spending.is_over:
            study.stop()
        return loss

    while not spending.is_over:
        study.optimize(objective, n_trials=1)
    return spending


def competitors(with_optuna):
    """Return functions that run a problem with a seed, by name."""
    rules = {
        "bough, no rule": None,
        "bough, SuccessiveHalving()": bough.SuccessiveHalving(),
        "bough, ProbabilityOfImprovement()": bough.ProbabilityOfImprovement(),
    }
    found = {
        name: lambda problem, seed, rule=rule: run_bough(problem, rule, seed)
        for name, rule in rules.items()
    }
    if with_optuna:
        from optuna import pruners

        makers = {
            "TPE, no pruner": pruners.NopPruner,
            "TPE, SuccessiveHalvingPruner()": pruners.SuccessiveHalvingPruner,
            "TPE, MedianPruner()": pruners.MedianPruner,
        }
        for name, maker in makers.items():
            found[name] = lambda problem, seed, maker=maker: run_optuna(problem, maker, seed)
    return found


def table(problems, runs_by_name, seeds=SEEDS):
    """Print a table for each problem."""
    for problem in problems:
        print(f"\n{problem.name}\n")
        print("| | regret at the end | complete trials to the median without a rule |")
        print("|---|---|---|")
        level = None
        for name, run in runs_by_name.items():
            runs = [run(problem, seed) for seed in range(seeds)]
            regrets = [spending.best() for spending in runs]
            level = np.quantile(regrets, 0.5, method="nearest") if level is None else level
            needed = [spending.until(level) for spending in runs]
            print(f"| {name} | {_quartiles(regrets)} | {_quartiles(needed)} |", flush=True)


def _quartiles(values):
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], method="nearest")
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def main(arguments):
    warnings.simplefilter("ignore")
    problems = held_out() if "held-out" in arguments else synthetic()
    table(problems, competitors("optuna" in arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
