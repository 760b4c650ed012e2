"""The results as text: Markdown to read, CSV to go on with."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bough.experiments.grids import Constants
from bough.experiments.jobs import MEASURES, judged_marks, report_marks
from bough.experiments.results import Comparison, Curve


def rows(curves: Sequence[Curve], axis: str) -> Iterator[dict[str, Any]]:
    """Yield one plain row for each point of each curve; `axis` is what the curves are against."""
    for curve in curves:
        for i, at in enumerate(curve.at.tolist()):
            row: dict[str, Any] = {
                "problem": curve.problem,
                "searcher": curve.searcher,
                "constants": say(curve.constants),
                "seeds": curve.seeds,
                axis: int(at) if axis == "evaluations" else at,
            }
            for name, estimate in curve.measures.items():
                for part in estimate._fields:
                    number = float(getattr(estimate, part)[i])
                    key = name if part == "mean" else f"{name}_{part}"
                    row[key] = number if math.isfinite(number) else None
            yield row


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV, with numbers in full."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def regrets_page(comparison: Comparison, command: str | None = None) -> str:
    """Return what was found against evaluations: it depends on the seeds only."""
    seeds, tuning = comparison.seeds, comparison.tuning_seeds
    lines = [
        "# Regrets against evaluations",
        "",
        f"Means over {len(seeds)} seeds ({_say_range(seeds)}) of {comparison.budget:,} evaluations "
        "each, with 95 % bootstrap intervals in brackets; the lowest mean of a column is bold.",
    ]
    if any(len(choice.candidates) > 1 for choice in comparison.choices.values()):
        lines[-1] += (
            f" Constants were tuned on {len(tuning)} other seeds ({_say_range(tuning)}): see below."
        )
    if comparison.steps:
        lines.append("Immediate rewards were told, where a problem has them.")
    if command is not None:
        lines += ["", "    " + command]
    curves = comparison.by_evaluations()
    shown = report_marks(comparison.budget)
    for problem in comparison.problems:
        mine = [curve for curve in curves if curve.problem == problem]
        for name, words in MEASURES.items():
            if mine:
                lines += ["", f"## {problem}: {words}", ""]
                lines += table(mine, name, shown, [f"{mark:,}" for mark in shown])
    lines += _tuning(comparison)
    if comparison.failures:
        lines += ["", "## Not run", ""]
        lines += [f"- {s} on {p}: {why}" for (p, s), why in comparison.failures.items()]
    return "\n".join(lines) + "\n"


def seconds_page(comparison: Comparison) -> str:
    """Return what was found against seconds: of the machine, and of this run."""
    lines = [
        "# Regrets against seconds",
        "",
        "Seconds spent in ask and tell; rewards are not counted. They are those of one machine, "
        "as busy as it was. A figure is that of as many evaluations as the median run had made in "
        "that time; there is none before its first, and none after it had spent its budget.",
    ]
    curves = comparison.by_seconds()
    cost = comparison.microseconds()
    for problem in comparison.problems:
        mine = [curve for curve in curves if curve.problem == problem]
        if not mine:
            continue
        lines += ["", f"## {problem}: microseconds an evaluation", ""]
        lines += ["| searcher | microseconds |", "|---|---|"]
        lines += [f"| {c.searcher} | {cost[problem, c.searcher]:.3g} |" for c in mine]
        ticks = _ticks(min(c.at[0] for c in mine), max(c.at[-1] for c in mine))
        for name, words in MEASURES.items():
            if ticks:
                lines += ["", f"## {problem}: {words}", ""]
                lines += table(mine, name, ticks, [f"{tick:g} s" for tick in ticks])
    return "\n".join(lines) + "\n"


def _ticks(begin: float, end: float) -> list[float]:
    """Return the round numbers of seconds in between, two in each decade.

    >>> _ticks(0.002, 0.2)
    [0.003, 0.01, 0.03, 0.1]
    """
    decades = range(math.floor(math.log10(begin)), math.ceil(math.log10(end)) + 1)
    ticks = [float(f"{first}e{k}") for k in decades for first in (1, 3)]
    return [tick for tick in ticks if begin <= tick <= end]


def table(
    curves: Sequence[Curve], measure: str, at: Sequence[float], titles: Sequence[str]
) -> list[str]:
    """Return a table with a row for each searcher and a column for each of `at`."""
    cells: list[list[tuple[float, str]]] = []
    for curve in curves:
        estimate = curve.measures[measure]
        row = []
        for tick in at:
            place = int(np.searchsorted(curve.at, tick, side="right")) - 1
            if place < 0 or tick > curve.at[-1]:
                row.append((math.inf, "-"))
                continue
            mean, low, high = (float(part[place]) for part in estimate)
            text = say_number(mean)
            if math.isfinite(low):
                text += f" [{say_number(low)}, {say_number(high)}]"
            row.append((mean, text))
        cells.append(row)
    # (Where all are equal, none is best.)
    best = [
        min(column)[0] if len(set(column)) > 1 else -math.inf for column in zip(*cells, strict=True)
    ]
    lines = [f"| searcher | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for curve, row in zip(curves, cells, strict=True):
        texts = [
            f"**{text}**" if mean == lowest else text
            for (mean, text), lowest in zip(row, best, strict=True)
        ]
        lines.append(f"| {label(curve)} | {' | '.join(texts)} |")
    return lines


def _tuning(comparison: Comparison) -> list[str]:
    """Return what was tried for each searcher that was tuned."""
    tuned = {pair: c for pair, c in comparison.choices.items() if len(c.candidates) > 1}
    if not tuned:
        return []
    columns = ", ".join(f"{mark:,}" for mark in judged_marks(comparison.budget))
    lines = [
        "",
        "## Constants",
        "",
        "All combinations were tried. The score of one is its simple regret on the tuning seeds "
        f"relative to that of the average one, on average over {columns} evaluations; the one with "
        "the lowest is chosen. While that was at an end of what was tried, more was tried beyond.",
        "",
        "| problem | searcher | chosen | score | tried |",
        "|---|---|---|---|---|",
    ]
    for (problem, searcher), choice in tuned.items():
        tried = "; ".join(
            f"{name} {', '.join(map(str, dict.fromkeys(dict(c)[name] for c in choice.candidates)))}"
            for name, _ in choice.constants
        )
        chosen = say(choice.constants)
        if choice.equal:
            chosen += " (all are equal)"
        elif choice.at_ends:
            chosen += f" ({' and '.join(choice.at_ends)} at an end of what was tried)"
        score = min(choice.scores)
        lines.append(f"| {problem} | {searcher} | {chosen} | {score:.3f} | {tried} |")
    return lines


def tuning_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield one plain row for each candidate that was tried on the tuning seeds."""
    for (problem, searcher), choice in comparison.choices.items():
        for candidate, score in zip(choice.candidates, choice.scores, strict=False):
            yield {
                "problem": problem,
                "searcher": searcher,
                "constants": say(candidate),
                "score": score,
                "chosen": candidate == choice.constants,
            }


def label(curve: Curve) -> str:
    """Return a searcher's name with the constants that its name does not say."""
    hidden = [(name, value) for name, value in curve.constants if f"{name}=" not in curve.searcher]
    return f"{curve.searcher} ({say(tuple(hidden))})" if hidden else curve.searcher


def say(constants: Constants) -> str:
    """Return constants as text."""
    return ", ".join(f"{name}={value}" for name, value in constants)


def say_number(number: float) -> str:
    """Return a number as text, to three digits."""
    return f"{number:.3g}" if abs(number) < 999.5 else f"{number:,.0f}"


def _say_range(seeds: range) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"
