"""`bough search`: search of a tree, of a built-in problem or of a function of the user."""

import math
import pathlib
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from bough.cli.shell import (
    Finite,
    function_of,
    load_module,
    parse_kernel,
    run_and_print,
    search_options,
    warnings_in_words,
)
from bough.problems import BY_NAME, kind_of, named
from bough.run.maximize import maximize
from bough.run.render import (
    fitted_facts,
    fitted_text,
    known_lines,
    labeled,
    result_facts,
    stop_text,
)
from bough.run.result import Result
from bough.run.stopping import ExpectedGap, Gap, StopRule, WallTime
from bough.searchers import GPTS
from bough.studies.study import Study, open_or_create
from bough.trees import Tree


def _complete_problem(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the names of built-in problems, and of files."""
    names = [CompletionItem(name) for name in BY_NAME if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


@click.command("search")
@click.argument("problem", shell_complete=_complete_problem)
@click.option("--branching", type=int, help="Children of a node, for a function of your own.")
@click.option("--depth", type=int, help="Steps of a path, for a function of your own.")
@click.option("--gap", type=Finite(min=0), help="Gap of the certificate at which to stop.")
@click.option("--expected-gap", type=Finite(min=0), help="Expected gap at which to stop.")
@click.option(
    "--noise",
    type=Finite(min=0),
    help="Standard deviation of a reward.  [default: that of a built-in problem; fitted for a "
    "function of your own]",
)
@click.option(
    "--kernel",
    help="linear, gaussian, discounted or geometric; a number, as in gaussian:WIDTH, "
    "discounted:DISCOUNT or geometric:RATIO, fixes its parameter.  [default: fitted]",
)
@click.option("--select", type=click.Choice(["ucb", "arm"]), default="ucb", help="Selection rule.")
@search_options(budget=1000, seed="0")
def command(
    problem: str,
    branching: int | None,
    depth: int | None,
    budget: int | None,
    seconds: float | None,
    bounds: tuple[float, float] | None,
    gap: float | None,
    expected_gap: float | None,
    noise: float | None,
    kernel: str | None,
    select: Any,
    seed: int | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Search PROBLEM: a built-in one by its name, with parameters, or a function of your own.

    \b
    bough search smooth --budget 10000
    bough search drawn:gaussian:3:depth=5 --noise 0.3
    bough search rewards.py:total --branching 4 --depth 8
    bough search package.module:total --branching 4 --depth 8 --kernel gaussian:2 --noise 0

    A function of your own is called with a path, a tuple of ints, and returns its reward. Kernel
    and noise are fitted to the rewards unless they are given.
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    known = None
    objective: Callable[..., Any]
    try:
        if seed is None:
            seed = _seed_of(file)
        if kind_of(problem) is not None:
            given = {"--branching": branching, "--depth": depth, "--kernel": kernel}
            invalid = [name for name, value in given.items() if value is not None]
            if invalid:
                raise click.UsageError(
                    f"{invalid[0]} is for a function of your own, not for {problem}."
                )
            known = named(problem, seed=seed, **({} if noise is None else {"noise": noise}))
            known.optimum  # noqa: B018 - fail now if the optimum is too hard to compute
            objective, tree = known if file is None else known.seeded, known.tree
            about = f"{problem} with noise {known.noise:g}"
            options: dict[str, Any] = {"select": select}
        else:
            objective = _load(problem)
            about = f"the function {problem.rpartition(':')[2]}"
            if branching is None or depth is None:
                raise click.UsageError(f"{problem} needs --branching and --depth.")
            tree = Tree(branching, depth)
            template = None if kernel is None else parse_kernel(kernel, fitted=True)
            options = {"kernel": template, "noise": noise, "select": select}
        stop: list[StopRule] = [] if seconds is None else [WallTime(seconds)]
        stop += [] if gap is None else [Gap(gap)]
        stop += [] if expected_gap is None else [ExpectedGap(expected_gap)]
        options |= {} if bounds is None else {"bounds": bounds}
        study = None
        if file is not None:
            with warnings_in_words():
                study = open_or_create(
                    file, tree, searcher="gpts", rng=seed, direction="maximize", about=about,
                    **options,
                )  # fmt: skip
        searcher = None if study else GPTS(tree, rng=seed, **options)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if budget is None and not stop:
        budget = 1000

    def search() -> Result:
        with study or nullcontext():
            return maximize(
                objective, tree, budget=budget, searcher=searcher, stop=stop,
                study=study, progress=False if as_json else None,
            )  # fmt: skip

    run_and_print(search, partial(_facts, problem, known), _page, as_json=as_json, file=file)


def _seed_of(file: str | None) -> int:
    """Return the seed of a study file, and 0 if there is no such file."""
    if file is None or not pathlib.Path(file).exists():
        return 0
    seed = Study.look(file).specification["seed"]
    return seed if isinstance(seed, int) else 0


def _facts(problem: str, known: Any, result: Result, elapsed: float) -> dict[str, Any]:
    """Return the result as plain values; those that are not finite become None."""
    searcher: Any = result.searcher
    tree = searcher.tree
    facts: dict[str, Any] = {
        "problem": problem,
        "log10_arms": None if tree.log_arms is None else tree.log_arms / math.log(10),
        "stopped_by": result.stopped_by,
        "evaluations": len(result.history),
        "observations": searcher.observations,
        "seconds": elapsed,
        "evaluations_per_second": len(result.history) / elapsed if elapsed else None,
    }
    facts |= result_facts(result)
    if result.best is not None and result.certificate is not None:
        if result.certificate.conditional:
            facts["fitted"] = fitted_facts(searcher.belief)
        if known is not None:
            facts["optimum"] = {"value": known.optimum, "path": list(known.best_path)}
            facts["regret"] = known.optimum - known.value(result.best.path)
    return facts


def _page(facts: dict[str, Any], result: Result) -> str:
    """Return the facts as text."""
    per_second = facts["evaluations_per_second"] or 0.0
    resumed = facts["observations"] > facts["evaluations"]
    in_all = f"{facts['observations']:,} in all, " if resumed else ""
    lines = [
        f"{facts['problem']}: {_paths(facts['log10_arms'])}, {facts['evaluations']:,} evaluated in "
        f"{facts['seconds']:.2f} s ({per_second:,.0f} a second), {in_all}"
        f"{stop_text(facts['stopped_by'])}",
    ]
    best = result.best
    if best is None:
        return "\n".join([*lines, "nothing was evaluated"])
    known = [("best path", click.style(" ".join(map(str, best.path)), bold=True))]
    known += known_lines(result)
    if "fitted" in facts:
        known.append(("model", fitted_text(facts["fitted"])))
    if "optimum" in facts:
        optimum, regret = facts["optimum"]["value"], facts["regret"]
        known.append(("optimum", f"{optimum:.4f}, so the best path is worth {regret:.4f} less"))
    return "\n".join([*lines, "", *(f"  {labeled(*line, 12)}" for line in known)])


def _paths(log10_arms: float) -> str:
    """Return the number of paths in words."""
    if log10_arms < 15:
        return f"{round(10**log10_arms):,} paths"
    return f"about 10^{log10_arms:.0f} paths"


def _load(text: str) -> Callable[[Any], Any]:
    """Return the function of `file.py:function` or `package.module:function`."""
    where, _, name = text.rpartition(":")
    if not where:
        raise click.UsageError(
            f"{text!r} is neither a built-in problem ({', '.join(BY_NAME)}) nor FILE.py:FUNCTION."
        )
    return function_of(load_module(where), where, name)
