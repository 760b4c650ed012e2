"""Conditional spaces and sequences of choices: `python -m benchmarks.choices run|table`.

`run` minimizes every problem with every optimizer, and adds each run to a file as it ends, so that
it can be interrupted; `table` prints regrets, and how many of the trials 21 to 100 went to the
three worst model families of a conditional space.

    python -m benchmarks.choices run --seeds 100:120 --optimizers bough,tpe

Each seed is a problem of its own:

- `families`: six model families with one to four parameters each, and a choice that all share.
  Families differ less in their best losses than in their typical ones, as those of scikit-learn do.
- `sklearn`: seven classifiers of scikit-learn on the digits; the seed draws the data.
- `ehrlich`: an Ehrlich function (Stanton et al. 2024) of a sequence of choices: a product over
  motifs of the largest share of the motif that is found anywhere in the sequence, with its spacing.
  Sequences with a forbidden pair of neighbors have the value 0, the worst.
"""

import json
import math
import pathlib
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from benchmarks.optimise import Bough, Optuna, interval
from benchmarks.optimise_problems import Params, Problem
from bough import Choice, Exhausted, Float, Int, Space

FILE = pathlib.Path(__file__).parent / "choices_runs.jsonl"
#: Numbers of evaluations at which regrets are recorded, and trials whose families are counted.
CHECKPOINTS = (50, 100)
COUNTED = range(20, 100)
WORST = 3
#: Seeds on which variants of bough were compared; others are held out.
DEVELOPMENT = range(20)


@dataclass(frozen=True)
class Drawn:
    """A problem, and the least losses of its model families if it has any."""

    problem: Problem
    families: dict[str, float] | None = None


# ---------------------------------------------------------------------- conditional spaces


def draw_families(seed: int) -> Drawn:
    """Return a conditional space whose families have losses with random minima and valleys."""
    rng = np.random.default_rng([1, seed])
    least = 0.3 * np.sort(rng.uniform(size=6))
    shared = {"none": 0.0, "scale": 0.03, "whiten": 0.08}
    shapes, options = {}, {}
    for name, base in zip(rng.permutation(list("ABCDEF")).tolist(), least.tolist(), strict=True):
        d = int(rng.integers(1, 5))
        weights = rng.lognormal(-0.5, 0.8, d) / math.sqrt(d)
        shapes[name] = base, rng.uniform(0.1, 0.9, d), weights, rng.integers(1, 3, d)
        kinds = [Float(0, 1), Float(1e-4, 1e1, log=True), Int(1, 30), Int(1, 1000, log=True)]
        drawn = [kinds[int(kind)] for kind in rng.integers(0, 4, d)]
        options[name] = Space(**{f"{name}{i}": kind for i, kind in enumerate(drawn)})

    def loss(params: Params) -> float:
        base, center, weights, powers = shapes[params["model"]]
        inner = options[params["model"]].parameters
        at = np.array([unit(kind, params[key]) for key, kind in inner.items()])
        return float(base + weights @ np.abs(at - center) ** powers) + shared[params["prepare"]]

    order = {name: options[name] for name in sorted(options)}
    space = Space(model=Choice(order), prepare=Choice(list(shared)))
    minima = {name: shapes[name][0] for name in order}
    return Drawn(Problem("families", space, loss, min(minima.values())), minima)


def unit(parameter: Any, value: float) -> float:
    """Return a value on the scale from 0 to 1 of its parameter."""
    low, high = parameter.low, parameter.high
    if parameter.log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return float((value - low) / (high - low))


#: The least errors of 60 random points of each family, the mean over three draws of the data.
SKLEARN_LEAST = {
    "neighbors": 0.062, "svm": 0.046, "logistic": 0.061, "tree": 0.248, "bayes": 0.097,
    "discriminant": 0.062, "ridge": 0.088,
}  # fmt: skip
SKLEARN_SPACE = Space(
    model=Choice(
        {
            "neighbors": Space(n_neighbors=Int(1, 40), p=Float(1, 4)),
            "svm": Space(C=Float(1e-3, 1e3, log=True), gamma=Float(1e-5, 1e1, log=True)),
            "logistic": Space(C=Float(1e-5, 1e2, log=True)),
            "tree": Space(max_depth=Int(1, 20), min_samples_leaf=Int(1, 30)),
            "bayes": Space(var_smoothing=Float(1e-12, 1.0, log=True)),
            "discriminant": Space(shrinkage=Float(0, 1)),
            "ridge": Space(alpha=Float(1e-4, 1e4, log=True)),
        }
    ),
    reduce=Choice({"none": None, "pca": Space(n_components=Int(2, 40))}),
)


def draw_sklearn(seed: int) -> Drawn:
    """Return the error of classifiers on a draw of 300 digits, and 700 for validation."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    warnings.simplefilter("ignore")
    x, y = load_digits(return_X_y=True)
    rows = np.random.default_rng([2, seed]).permutation(len(y))
    train, rest = rows[:300], rows[300:1000]
    make: dict[str, Callable[..., Any]] = {
        "neighbors": KNeighborsClassifier,
        "svm": SVC,
        "logistic": LogisticRegression,
        "tree": lambda **given: DecisionTreeClassifier(random_state=0, **given),
        "bayes": GaussianNB,
        "discriminant": lambda **given: LinearDiscriminantAnalysis(solver="lsqr", **given),
        "ridge": RidgeClassifier,
    }

    def error(params: Params) -> float:
        given = dict(params)
        steps: list[Any] = [StandardScaler()]
        if given.pop("reduce") == "pca":
            steps.append(PCA(given.pop("n_components"), random_state=0))
        model = make_pipeline(*steps, make[given.pop("model")](**given))
        return float(1.0 - model.fit(x[train], y[train]).score(x[rest], y[rest]))

    return Drawn(Problem("sklearn", SKLEARN_SPACE, error, 0.0), SKLEARN_LEAST)


# ---------------------------------------------------------------------- sequences


#: Letters, length of the sequence, number and length of motifs, of three Ehrlich functions.
EHRLICH = ((4, 12, 2, 3), (5, 15, 2, 4), (8, 16, 2, 4))


def draw_ehrlich(seed: int) -> Drawn:
    """Return 1 less an Ehrlich function."""
    rng = np.random.default_rng([3, seed])
    letters, length, count, size = EHRLICH[seed % len(EHRLICH)]
    allowed = feasible_pairs(letters, rng)
    motifs = draw_motifs(allowed, count, size, rng)
    room = length // count
    spacings = [
        np.sort(np.append(0, rng.choice(np.arange(1, room), size - 1, replace=False)))
        for _ in range(count)
    ]

    def loss(params: Params) -> float:
        sequence = np.array([params[f"x{i}"] for i in range(length)])
        if not allowed[sequence[:-1], sequence[1:]].all():
            return 1.0
        product = 1.0
        for motif, spacing in zip(motifs, spacings, strict=True):
            starts = range(length - int(spacing[-1]))
            product *= max(float((sequence[at + spacing] == motif).mean()) for at in starts)
        return 1.0 - product

    space = Space(**{f"x{i}": Choice(list(range(letters))) for i in range(length)})
    return Drawn(Problem("ehrlich", space, loss, 0.0))


def feasible_pairs(letters: int, rng: np.random.Generator) -> Any:
    """Return which letters may follow which: a random cycle, itself, and most others."""
    allowed = rng.uniform(size=(letters, letters)) > 0.2
    cycle = rng.permutation(letters)
    allowed[cycle, np.roll(cycle, -1)] = True
    np.fill_diagonal(allowed, True)
    return allowed


def draw_motifs(allowed: Any, count: int, size: int, rng: np.random.Generator) -> Any:
    """Return motifs of different letters, which may follow one another: so the minimum is 0."""
    while True:
        motifs = [rng.permutation(len(allowed))[:size] for _ in range(count)]
        chain = np.concatenate(motifs)
        if allowed[chain[:-1], chain[1:]].all():
            return motifs


# ---------------------------------------------------------------------- runs


PROBLEMS = {"families": draw_families, "sklearn": draw_sklearn, "ehrlich": draw_ehrlich}


def run_one(name: str, seed: int, optimizer: str, evaluations: int) -> dict[str, Any]:
    """Return regrets after each number of evaluations, and the trials of the worst families."""
    drawn = PROBLEMS[name](seed)
    problem, families = drawn.problem, drawn.families
    search: Any = Bough(problem, seed) if optimizer == "bough" else Optuna(problem, seed, optimizer)
    worst = set(sorted(families, key=families.__getitem__)[-WORST:]) if families else set()
    values: list[float] = []
    bad = 0
    begin = time.process_time()
    for t in range(evaluations):
        try:
            params = search.ask()
        except Exhausted:
            break
        values.append(problem.function(params))
        search.tell(params, values[-1])
        bad += t in COUNTED and params.get("model") in worst
    regrets = {str(m): min(values[:m]) - problem.minimum for m in CHECKPOINTS if m <= evaluations}
    return {
        "problem": name, "seed": seed, "optimizer": optimizer, "evaluations": evaluations,
        "regrets": regrets, "worst": bad if families else None,
        "seconds": round(time.process_time() - begin, 3),
    }  # fmt: skip


def load(file: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def make_table(rows: list[dict[str, Any]], seeds: range) -> str:
    """Return means over seeds with 95 % intervals, by problem and optimizer."""
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        if row["seed"] in seeds:
            found[row["problem"], row["optimizer"]][row["seed"]] = row
    lines = [
        "| problem | optimizer | seeds | regret at 50 | at 100 | trials of the worst families |"
    ]
    lines.append("|---" * 6 + "|")
    for (problem, optimizer), runs in sorted(found.items()):
        cells = [[row["regrets"][str(m)] for row in runs.values()] for m in CHECKPOINTS]
        worst = [row["worst"] for row in runs.values() if row["worst"] is not None]
        texts = [mean_text(cell) for cell in cells] + [mean_text(worst) if worst else ""]
        lines.append(f"| {problem} | {optimizer} | {len(runs)} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def mean_text(values: list[float]) -> str:
    low, high = interval(values)
    return f"{np.mean(values):.3g} [{low:.2g}, {high:.2g}]"


# ---------------------------------------------------------------------- the command


def seeds_of(text: str) -> range:
    first, last = map(int, text.split(":"))
    return range(first, last)


seeds_option = click.option(
    "--seeds", default="100:140", show_default=True, callback=lambda _, __, text: seeds_of(text),
    help="The first seed, and the one after the last. Those below 20 are for development.",
)  # fmt: skip
file_option = click.option(
    "--file", type=click.Path(dir_okay=False, path_type=pathlib.Path), default=FILE,
    help="The runs, one JSON object in each line.",
)  # fmt: skip


@click.group(help=__doc__.split("\n")[0])
def main() -> None:
    pass


@main.command(help="Minimize problems, unless the file has the run.")
@seeds_option
@file_option
@click.option("--problems", default=",".join(PROBLEMS), show_default=True)
@click.option("--optimizers", default="bough,tpe,random", show_default=True)
@click.option("--evaluations", type=click.IntRange(1), default=100, show_default=True)
def run(seeds: range, file: pathlib.Path, problems: str, optimizers: str, evaluations: int) -> None:
    done = {(r["problem"], r["seed"], r["optimizer"], r["evaluations"]) for r in load(file)}
    for seed in seeds:
        for name in problems.split(","):
            for optimizer in optimizers.split(","):
                if (name, seed, optimizer, evaluations) not in done:
                    row = run_one(name, seed, optimizer, evaluations)
                    with file.open("a") as out:
                        out.write(json.dumps(row) + "\n")


@main.command(help="Print regrets, and the trials of the worst families.")
@seeds_option
@file_option
def table(seeds: range, file: pathlib.Path) -> None:
    click.echo(make_table(load(file), seeds))


if __name__ == "__main__":
    main()
