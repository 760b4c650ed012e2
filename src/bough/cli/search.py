"""`bough search`: search of a tree, of a built-in problem or of a function of the user."""

import math
import pathlib
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from bough._text import printable
from bough.cli.options import run_arguments, search_options, shared
from bough.cli.shell import (
    Finite,
    domain_of,
    function_of,
    load_module,
    parse_kernel,
    run_and_print,
    split_name,
    warnings_in_words,
)
from bough.kernels import Geometric, Labeled
from bough.problems import BY_NAME, Problem, kind_of, named
from bough.run.maximize import maximize, minimize
from bough.run.render import (
    fitted_facts,
    fitted_text,
    known_lines,
    labeled,
    result_facts,
    run_facts,
    run_text,
)
from bough.run.result import Result
from bough.run.stopping import ExpectedGap, Gap, StopRule
from bough.searchers.registry import make_searcher
from bough.studies.describe import in_sign
from bough.studies.study import Study, open_or_create
from bough.trees import Path, Tree


def _complete_problem(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the names of built-in problems, and of files."""
    names = [CompletionItem(name) for name in BY_NAME if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


@click.command("search")
@click.argument("problem", shell_complete=_complete_problem)
@shared("--branching", note=", for a function of your own")
@shared("--depth", note=", for a function of your own")
@click.option("--gap", type=Finite(min=0), help="Gap of the certificate at which to stop.")
@click.option("--expected-gap", type=Finite(min=0), help="Expected gap at which to stop.")
@shared("--noise", otherwise="that of a built-in problem; fitted for a function of your own")
@shared("--kernel", note=", which fixes its parameter", otherwise="fitted")
@click.option("--select", type=click.Choice(["ucb", "arm"]), default="ucb", help="Selection rule.")
@search_options(budget=1000, seed="0")
def command(
    problem: str,
    gap: float | None,
    expected_gap: float | None,
    minimizes: bool,
    searcher: str,
    seed: int | None,
    file: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Search PROBLEM: a built-in one by its name, with parameters, or a function of your own.

    \b
    bough search smooth --budget 10000
    bough search drawn:gaussian:3:depth=5 --noise 0.3
    bough search rewards.py:total --branching 4 --depth 8 --workers 4
    bough search package.module:total:my_tree --kernel gaussian:2 --noise 0 --minimize

    A function of your own is called with a path, a tuple of ints (or labels of the tree), and
    returns its reward. Its tree has --branching and --depth; without them it is the variable `tree`
    of the file, or the one named after a second colon. Kernel and noise are fitted to the rewards
    unless they are given. If the file has a function `labels` of a node's path, nodes with equal
    labels share an effect, and --kernel is the kernel of the rest.
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    try:
        seed = _seed_of(file) if seed is None else seed
        task = _task(problem, options, seed, minimizes)
        stop: list[StopRule] = [] if gap is None else [Gap(gap)]
        stop += [] if expected_gap is None else [ExpectedGap(expected_gap)]
        arguments = run_arguments(options | {"as_json": as_json}, task.module, 1000, stop)
        objective: Any = task.objective
        if task.known is not None and (file is not None or arguments["executor"] is not None):
            objective = task.known.seeded
        settings = _settings(task, options, searcher)
        direction = "minimize" if minimizes else "maximize"
        study = made = None
        if file is None:
            settings = in_sign(settings, direction)
            made = make_searcher(searcher, task.tree, seed, settings, plays=arguments["budget"])
        else:
            with warnings_in_words():
                study = open_or_create(
                    file, task.tree, searcher=searcher, rng=seed, direction=direction,
                    about=task.about, **settings,
                )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None

    def search() -> Result:
        with study or nullcontext():
            return (minimize if minimizes else maximize)(
                objective, task.tree, searcher=made, study=study, **arguments
            )

    run_and_print(search, partial(_facts, problem, task.known), _page, as_json=as_json, file=file)


class _Task(NamedTuple):
    """An objective and its tree; `known` if it is a built-in problem, else `module`.

    `labels` is the function of the module that labels nodes, if it has one.
    """

    objective: Callable[..., Any]
    tree: Tree
    about: str
    known: Problem | None = None
    labels: Callable[[Path], Any] | None = None
    module: ModuleType | None = None


def _task(problem: str, options: dict[str, Any], seed: int, minimizes: bool) -> _Task:
    """Return the built-in problem of a name, or the function of the user."""
    branching, depth, noise = options["branching"], options["depth"], options["noise"]
    if kind_of(problem) is None:
        where, name, tree_name = split_name(problem, "TREE") if ":" in problem else ("", "", "")
        if not where:
            names = ", ".join(BY_NAME)
            raise click.UsageError(
                f"{problem!r} is neither a built-in problem ({names}) nor FILE.py:FUNCTION."
            )
        module = load_module(where)
        function, about = function_of(module, where, name), f"the function {name}"
        if branching is None and depth is None:
            try:
                tree = domain_of(module, where, Tree, tree_name)
            except click.UsageError as error:
                raise click.UsageError(
                    f"{problem} needs --branching and --depth, or a tree: {error.message}"
                ) from None
        elif problem.count(":") == 2:
            raise click.UsageError(f"{problem} names a tree: leave out --branching and --depth.")
        elif branching is None or depth is None:
            raise click.UsageError(f"{problem} needs --branching and --depth, or a tree.")
        else:
            tree = Tree(branching, depth)
        labels = getattr(module, "labels", None)  # which may also be a list of names
        return _Task(
            function, tree, about, labels=labels if callable(labels) else None, module=module
        )
    given = {
        "--branching": branching,
        "--depth": depth,
        "--kernel": options["kernel"],
        "--minimize": minimizes or None,
    }
    invalid = [name for name, value in given.items() if value is not None]
    if invalid:
        raise click.UsageError(f"{invalid[0]} is for a function of your own, not for {problem}.")
    known = named(problem, seed=seed, **({} if noise is None else {"noise": noise}))
    known.optimum  # noqa: B018 - fail now if the optimum is too hard to compute
    return _Task(known, known.tree, f"{problem} with noise {known.noise:g}", known)


def _settings(task: _Task, options: dict[str, Any], searcher: str) -> dict[str, Any]:
    """Return the options of the searcher."""
    noise = options["noise"] if task.known is None else None
    bounds, kernel, select = options["bounds"], options["kernel"], options["select"]
    if searcher != "gpts":
        given = {"--bounds": bounds, "--kernel": kernel, "--noise": noise}
        given["--select"] = None if select == "ucb" else select
        for name, value in given.items():
            if value is not None:
                raise click.UsageError(f"{name} is for the searcher gpts, not for {searcher}.")
        return {}
    settings: dict[str, Any] = {"select": select}
    if task.known is None:
        template = None if kernel is None else parse_kernel(kernel, fitted=True)
        if task.labels is not None:
            rest = Geometric(None, variance=None) if template is None else template
            template = Labeled(rest, labels=task.labels)
        settings = {"kernel": template, "noise": noise, "select": select}
    return settings if bounds is None else settings | {"bounds": bounds}


def _seed_of(file: str | None) -> int:
    """Return the seed of a study file, and 0 if there is no such file."""
    if file is None or not pathlib.Path(file).exists():
        return 0
    seed = Study.look(file).specification["seed"]
    return seed if isinstance(seed, int) else 0


def _facts(problem: str, known: Problem | None, result: Result, elapsed: float) -> dict[str, Any]:
    """Return the result as plain values; those that are not finite become None."""
    searcher: Any = result.searcher
    log_arms = searcher.tree.log_arms
    facts: dict[str, Any] = {
        "problem": problem,
        "log10_arms": None if log_arms is None else log_arms / math.log(10),
    }
    facts |= run_facts(result, elapsed) | result_facts(result)
    if result.certificate is not None and result.certificate.conditional:
        facts["fitted"] = fitted_facts(searcher.belief)
    if result.best is not None and searcher.tree.labels is not None:
        facts["best"]["decoded"] = searcher.tree.text(result.best.path)
    if result.best is not None and known is not None:
        facts["optimum"] = {"value": known.optimum, "path": list(known.best_path)}
        facts["regret"] = known.optimum - known.value(result.best.path)
    return facts


def _page(facts: dict[str, Any], result: Result) -> str:
    """Return the facts as text."""
    run = run_text(result, facts["seconds"])
    lines = [f"{facts['problem']}: {_paths(facts['log10_arms'])}, {run}"]
    best = result.best
    if best is None:
        return "\n".join([*lines, "there is no value yet"])
    known = [("best path", click.style(" ".join(map(str, best.path)), bold=True))]
    if "decoded" in facts["best"]:
        known.append(("which is", printable(facts["best"]["decoded"])))
    known += known_lines(result)
    if "fitted" in facts:
        known.append(("model", fitted_text(facts["fitted"])))
    if "optimum" in facts:
        optimum, regret = facts["optimum"]["value"], facts["regret"]
        known.append(("optimum", f"{optimum:.4f}, so the best path is worth {regret:.4f} less"))
    return "\n".join([*lines, "", *(f"  {labeled(*line, 12)}" for line in known)])


def _paths(log10_arms: float | None) -> str:
    """Return the number of paths in words."""
    if log10_arms is None:
        return "an unknown number of paths"
    if log10_arms < 15:
        return f"{round(10**log10_arms):,} paths"
    return f"about 10^{log10_arms:.0f} paths"
