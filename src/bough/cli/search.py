"""The `bough` command."""

import dataclasses
import json
import math
import pathlib
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from bough import kernels
from bough.cli.bound import bound_command
from bough.cli.compare import command as compare
from bough.cli.loading import load_module
from bough.cli.plan import command as plan
from bough.cli.report import report_command, watch_command
from bough.cli.shell import EXIT_CODES, INTERRUPTED, Finite, Shell, completion_command, echo
from bough.cli.study import study_command, warnings_in_words
from bough.cli.tune import tune_command
from bough.exceptions import ObjectiveError, StudyError
from bough.kernels import Kernel
from bough.problems import BY_NAME, kind_of, named
from bough.run.maximize import maximize
from bough.run.result import Result
from bough.run.stopping import Gap, StopRule, WallTime
from bough.searchers import GPTS
from bough.studies.study import Study, open_or_create
from bough.trees import Tree


@click.group(cls=Shell, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(package_name="bough")
def main() -> None:
    """Find the best path through a tree far too large to enumerate.

    \b
    bough search smooth --budget 10000
    bough search rewards.py:total --branching 4 --depth 8 --study run.db
    bough tune train.py:loss --minimize --budget 200
    bough watch run.db
    bough COMMAND --help
    """  # noqa: D301 - click wants a real backspace before lines that it must not join


COMMANDS = (
    compare, completion_command, plan, report_command, study_command, tune_command, watch_command,
)  # fmt: skip
for command in COMMANDS:
    main.add_command(command)


def _problems(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the names of built-in problems, and of files."""
    names = [CompletionItem(name) for name in BY_NAME if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


@main.command(short_help="Search a tree for its best path.")
@click.argument("problem", shell_complete=_problems)
@click.option("--branching", type=int, help="Children of a node, for a function of your own.")
@click.option("--depth", type=int, help="Steps of a path, for a function of your own.")
@click.option("--budget", type=click.IntRange(min=1), help="Evaluations.  [default: 1000]")
@click.option("--seconds", type=Finite(min=0, min_open=True), help="Time limit.")
@click.option("--gap", type=Finite(min=0), help="Stop when the gap is this small.")
@click.option(
    "--noise",
    type=Finite(min=0),
    help="Standard deviation of a reward. If it is not given, a built-in problem has its own; "
    "for a function of your own it is learnt.",
)
@click.option(
    "--kernel",
    help="linear, gaussian, discounted or geometric; with a number, as in gaussian:WIDTH, "
    "discounted:DISCOUNT or geometric:RATIO, that is fixed.  [default: all is learnt]",
)
@click.option(
    "--select",
    type=click.Choice(["subtree", "arm"]),
    default="subtree",
    show_default=True,
    help="By which rule.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="The same seed gives the same search.  [default: 0, or that of the study which goes on]",
)
@click.option("--study", "file", help="Record all in this file, or go on where it was left.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def search(
    problem: str,
    branching: int | None,
    depth: int | None,
    budget: int | None,
    seconds: float | None,
    gap: float | None,
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

    A function of your own is called with a path, a tuple of ints, and returns its reward. What is
    not said of kernel and noise is learnt from the rewards.
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    known = None
    objective: Callable[..., Any]
    if seed is None:
        seed = _seed_of(file)
    if kind_of(problem) is not None:
        for name, value in (("--branching", branching), ("--depth", depth), ("--kernel", kernel)):
            if value is not None:
                raise click.UsageError(f"{name} is for a function of your own, not for {problem}.")
        try:
            known = named(problem, seed=seed, **({} if noise is None else {"noise": noise}))
            known.optimum  # noqa: B018 - it may be too hard to find, which is better known now
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        objective, tree = known if file is None else known.seeded, known.tree
        about = f"{problem} with noise {known.noise:g}"
        options: dict[str, Any] = {"select": select}
    else:
        objective = _load(problem)
        about = f"the function {problem.rpartition(':')[2]}"
        if branching is None or depth is None:
            raise click.UsageError(f"{problem} needs --branching and --depth.")
        try:
            tree = Tree(branching, depth)
            template = None if kernel is None else _kernel(kernel, fitted=True)
            options = {"kernel": template, "noise": noise, "select": select}
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    stop: list[StopRule] = []
    try:
        if seconds is not None:
            stop.append(WallTime(seconds))
        if gap is not None:
            stop.append(Gap(gap))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if budget is None and not stop:
        budget = 1000
    try:
        study = None
        if file is not None:
            with warnings_in_words():
                study = open_or_create(
                    file, tree, searcher="gpts", rng=seed, direction="maximize", about=about,
                    **options,
                )  # fmt: skip
        searcher: Any = study.searcher if study else GPTS(tree, rng=seed, **options)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    begin = time.perf_counter()
    failure = None
    try:
        result = maximize(
            objective, tree, budget=budget, searcher=None if study else searcher, stop=stop,
            study=study, progress=False if as_json else None,
        )  # fmt: skip
    except ObjectiveError as error:
        result, failure = error.result, error
    finally:
        if study is not None:
            study.close()
    facts = _facts(problem, result, searcher, time.perf_counter() - begin, known)
    if failure is not None:
        facts["error"] = str(failure)
    echo(json.dumps(facts, indent=2) if as_json else _page(facts))
    if failure is not None:
        raise click.ClickException(str(failure)) from failure
    if result.stopped_by == "interrupt":
        if file is not None:
            echo(f"interrupted; {file} has it all: give the same command to go on", err=True)
        sys.exit(INTERRUPTED)


def _seed_of(file: str | None) -> int:
    """Return the seed of a study that exists, and else 0."""
    if file is None or not pathlib.Path(file).exists():
        return 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong with it is said when it is opened
            seed = Study.look(file).specification["seed"]
    except StudyError as error:
        raise click.UsageError(str(error)) from None
    return seed if isinstance(seed, int) else 0


def _facts(
    problem: str, result: Result, searcher: GPTS, elapsed: float, known: Any
) -> dict[str, Any]:
    """Return what there is to say, as plain values; what is not finite becomes None."""
    tree = searcher.tree
    facts: dict[str, Any] = {
        "problem": problem,
        "log10_arms": None if tree.log_arms is None else tree.log_arms / math.log(10),
        "stopped_by": result.stopped_by,
        "evaluations": len(result.history),
        "observations": result.searcher.observations,
        "seconds": elapsed,
        "evaluations_per_second": len(result.history) / elapsed if elapsed else None,
    }
    if result.best is not None and result.certificate is not None:
        best, certificate = result.best, result.certificate
        facts["best"] = {
            "path": list(best.path),
            "mean": best.mean,
            "std": best.std,
            "visits": best.visits,
        }
        facts["certificate"] = {
            "path": list(certificate.path),
            "lower": certificate.lower,
            "upper": certificate.upper if math.isfinite(certificate.upper) else None,
            "gap": certificate.gap if math.isfinite(certificate.gap) else None,
            "confidence": 1 - certificate.delta,
            "conditional": certificate.conditional,
        }
        if certificate.conditional:
            belief = searcher.belief
            facts["learnt"] = {
                "kernel": type(belief.kernel).__name__,
                "parameters": dataclasses.asdict(belief.kernel),  # type: ignore[call-overload]
                "noise": belief.noise,
                "mean": belief.mean,
            }
        if known is not None:
            facts["optimum"] = {"value": known.optimum, "path": list(known.best_path)}
            facts["regret"] = known.optimum - known.value(best.path)
    return facts


def _page(facts: dict[str, Any]) -> str:
    """Return the facts as a page to read."""
    per_second = facts["evaluations_per_second"] or 0.0
    resumed = facts["observations"] > facts["evaluations"]
    in_all = f"{facts['observations']:,} in all, " if resumed else ""
    lines = [
        f"{facts['problem']}: {_paths(facts['log10_arms'])}, {facts['evaluations']:,} evaluated in "
        f"{facts['seconds']:.2f} s ({per_second:,.0f} a second), {in_all}"
        f"stopped by {facts['stopped_by']}",
    ]
    if "best" not in facts:
        return "\n".join([*lines, "nothing was evaluated"])
    best, certificate = facts["best"], facts["certificate"]
    times = "once" if best["visits"] == 1 else f"{best['visits']:,} times"
    lines += [
        "",
        f"  best path    {click.style(' '.join(map(str, best['path'])), bold=True)}",
        f"  reward       {best['mean']:.4f} +- {best['std']:.4f}, evaluated {times}",
    ]
    if certificate["upper"] is None:
        lines.append("  certificate  none: the number of paths is not known")
    else:
        lines.append(
            f"  certificate  no path is worth more than {certificate['upper']:.4f}: gap "
            f"{certificate['gap']:.4f} at confidence {certificate['confidence']:g}"
            + (", given what was learnt" if certificate["conditional"] else "")
        )
    if "learnt" in facts:
        learnt = facts["learnt"]
        words = ", ".join(f"{name} {value:.4g}" for name, value in learnt["parameters"].items())
        lines.append(
            f"  learnt       {learnt['kernel'].lower()} kernel ({words}), "
            f"noise {learnt['noise']:.4g}, mean {learnt['mean']:.4g}"
        )
    if "optimum" in facts:
        lines.append(
            f"  optimum      {facts['optimum']['value']:.4f}, so the best path is worth "
            f"{facts['regret']:.4f} less"
        )
    return "\n".join(lines)


def _paths(log10_arms: float) -> str:
    """Say how many paths there are."""
    if log10_arms < 15:
        return f"{round(10**log10_arms):,} paths"
    return f"about 10^{log10_arms:.0f} paths"


def _kernel(text: str, *, fitted: bool = False) -> Kernel:
    """Return a kernel such as `gaussian:3`; the rest takes its defaults, or is to be fitted."""
    try:
        return kernels.parse(text, fitted=fitted)
    except ValueError as error:
        raise click.UsageError(f"--{error}.") from None


def _load(text: str) -> Callable[[Any], Any]:
    """Find `file.py:function` or `package.module:function`."""
    where, _, name = text.rpartition(":")
    if not where:
        raise click.UsageError(
            f"{text!r} is no built-in problem ({', '.join(BY_NAME)}) and no FILE.py:FUNCTION."
        )
    module = load_module(where)
    function = getattr(module, name, None)
    if not callable(function):
        raise click.UsageError(f"{where} has no function {name}.")
    return function  # type: ignore[no-any-return]


main.add_command(bound_command(_kernel, echo, Finite))

if __name__ == "__main__":
    main()
