"""`bough generate`: search with a generator of answers, such as calls of a language model."""

import asyncio
import csv
import inspect
import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click

from bough._text import brief, printable
from bough.cli.options import run_arguments, shared
from bough.cli.shell import (
    Finite,
    echo,
    function_of,
    load_module,
    print_facts,
    run_and_print,
)
from bough.exceptions import StudyError
from bough.generation.result import GenerationResult
from bough.generation.run import agenerate, generate
from bough.run.render import finite, labeled, stop_text
from bough.run.stopping import Target


def _costs(texts: tuple[str, ...], names: list[str]) -> dict[str, float] | float | None:
    """Return the costs that are given as NUMBER or NAME=NUMBER."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            raise click.UsageError(f"--call-cost: {text!r} is not NUMBER or NAME=NUMBER.") from None
        if not name and len(texts) == 1:
            return number
        if name not in names:
            raise click.UsageError(f"--call-cost: no generator {name!r}; {', '.join(names)}.")
        found[name] = number
    return found or None


@click.command("generate")
@click.argument("generator", metavar="FILE.py:FUNCTION...", nargs=-1, required=True)
@shared("--budget", note=" of generators", otherwise="100, unless another limit is given")
@click.option("--cost", type=Finite(min=0, min_open=True), help="Limit of the total cost.")
@click.option(
    "--call-cost",
    "call_costs",
    multiple=True,
    metavar="[NAME=]NUMBER",
    help="Cost of a call (of one generator); may be repeated.  [default: 1, or that of answers]",
)
@shared("--noise", note=" for which none is given, 0 if scores are exact", otherwise="fitted")
@click.option("--target", type=Finite(), help="Mean score at which to stop.")
@shared("--seconds")
@shared("--patience")
@click.option("--max-depth", type=click.IntRange(min=1), help="Depth of the longest refinement.")
@shared("--workers", note=", or of concurrent calls with threads or async functions")
@click.option("--threads", is_flag=True, help="Threads instead of processes.")
@shared("--timeout")
@shared("--retries", otherwise="1")
@shared("--on-error", otherwise="fail")
@shared("--catch")
@shared("--seed", otherwise="drawn, or that of the resumed study")
@shared("--study", "file")
@shared("--log")
@shared("--json", "as_json", note=" only")
def command(
    generator: tuple[str, ...],
    cost: float | None,
    call_costs: tuple[str, ...],
    noise: float | None,
    target: float | None,
    max_depth: int | None,
    threads: bool,
    workers: int | None,
    seed: int | None,
    file: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the best answer of random generators: draft, refine, or start over.

    \b
    bough generate file.py:f --budget 200 --workers 8 --study run.db
    bough generate file.py:small file.py:big --call-cost small=1 --call-cost big=8 --cost 500
    bough generate file.py:f --noise 0 --target 1.0 --log

    A generator is a function that is called with None for a new draft, or with a node to refine
    (.answer, .score, .feedback, ..). It returns (answer, score), (answer, score, std) or a
    bough.Answer, and may be async. If it has a parameter `seed`, it gets one for each call. A call
    that raises an exception or returns no score has failed: the reason is recorded, and the search
    continues, unless all of the first 10 calls fail.
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    functions: dict[str, Any] = {}
    for text in generator:
        where, colon, name = text.rpartition(":")
        if not colon or not where or not name:
            raise click.UsageError(f"{text!r} is not FILE.py:FUNCTION.")
        module = load_module(where)
        if name in functions:
            raise click.UsageError(f"there are two generators called {name}.")
        functions[name] = function_of(module, where, name)
    given = options | {"workers": None, "prune": None, "as_json": as_json}
    arguments = run_arguments(given, module, 100, [] if target is None else [Target(target)])
    if cost is not None and options["budget"] is None:
        arguments["budget"] = None
    for name in ("prune", "executor"):
        del arguments[name]
    arguments["retries"] = 1 if options["retries"] is None else options["retries"]
    arguments |= {
        "cost": cost, "costs": _costs(call_costs, list(functions)), "noise": noise,
        "max_depth": max_depth, "study": file, "rng": seed,
    }  # fmt: skip

    def search() -> GenerationResult:
        try:
            if any(map(inspect.iscoroutinefunction, functions.values())):
                return _in_one_loop(functions, workers or 1, arguments)
            executor = workers
            if workers is None and arguments["timeout"] is not None:
                executor = 1
            if not threads:
                return generate(generators=functions, executor=executor, **arguments)
            with ThreadPoolExecutor(workers or 1) as pool:
                return generate(generators=functions, executor=pool, **arguments)
        except StudyError:
            raise
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from None

    run_and_print(search, _facts, _page, as_json=as_json, file=file, failure_of=_failure)


def _failure(result: GenerationResult) -> str | None:
    """Return why a run has found nothing, None if it has found something."""
    if result.stopped_by == "interrupt" or not result.failed == result.calls > 0:
        return None
    reasons = result.search.reasons
    reason = brief(reasons[max(reasons)])
    return f"all calls ({result.calls:,}) failed, the last by {reason}"


def _in_one_loop(
    functions: dict[str, Any], limit: int, arguments: dict[str, Any]
) -> GenerationResult:
    return asyncio.run(agenerate(generators=functions, limit=limit, **arguments))


def _facts(result: GenerationResult, elapsed: float) -> dict[str, Any]:
    """Return the result as plain values; an answer that JSON cannot hold as its repr."""
    facts: dict[str, Any] = {
        "stopped_by": result.stopped_by,
        "calls": result.calls,
        "failed": result.failed,
        "cost": result.cost,
        "answers": len(result.nodes),
        "seconds": elapsed,
    }
    best = result.best
    if best is not None:
        facts["best"] = {
            "id": best.id,
            "answer": _plain(best.answer),
            "mean": finite(best.mean or 0.0),
            "std": finite(best.deviation or 0.0),
            "score": best.score,
            "generator": best.generator,
            "lineage": [node.id for node in best.lineage],
        }
    return facts


def _plain(answer: Any) -> Any:
    """Return an answer as JSON can hold it, else its repr."""
    try:
        return json.loads(json.dumps(answer, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return repr(answer)


def _page(facts: dict[str, Any], result: GenerationResult) -> str:
    """Return the facts as text."""
    text = f"{result.calls - result.resumed:,} calls in {facts['seconds']:.2f} s"
    if result.resumed:
        text += f", {result.calls:,} in all"
    text += f", cost {facts['cost']:.6g}, {facts['failed']:,} failed"
    lines = [f"{text}, {stop_text(result.stopped_by)}"]
    best = result.best
    if best is None:
        return "\n".join([*lines, "there is no answer yet"])
    answer = best.answer
    known = [
        ("its mean", f"{best.mean:.6g} +- {best.deviation:.2g}, by the model"),
        ("observed", f"{best.score:.6g}"),
        ("lineage", " -> ".join(f"{node.mean:.4g}" for node in best.lineage)),
        ("best answer", click.style(brief(repr(answer)), bold=True)),
    ]
    lines += ["", *(f"  {labeled(*line, 12)}" for line in known)]
    if isinstance(answer, str) and "\n" in answer:
        lines += ["", *(printable(line) for line in answer.splitlines())]
    return "\n".join(lines)


def show_answers(result: GenerationResult, *, as_json: bool, as_csv: bool) -> None:
    """Print the content of a study of generated answers."""
    columns = result.to_columns()
    if as_csv:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow(" ".join(map(str, v)) if isinstance(v, tuple) else v for v in row)
        echo(text.getvalue(), nl=False, exact=True)
        return
    facts = _facts(result, 0.0)
    del facts["seconds"]
    facts["pending"] = len(result.search.pending)
    text_of = f"{result!r}\n{facts['pending']} running calls, {result.failed:,} failed"
    if as_json:
        rows = zip(*columns.values(), strict=True)
        facts["nodes"] = [
            dict(zip(columns, row, strict=True)) | {"answer": _plain(node.answer)}
            for row, node in zip(rows, result.nodes, strict=True)
        ]
    print_facts(facts, text_of, as_json=as_json)
