"""Results of a comparison as files: pages in Markdown, tables in CSV, figures.

Every sentence follows from the runs, so that a page cannot claim what a later run does not show.
"""

import csv
import io
import itertools
import math
import os
import pathlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bough.experiments import figures
from bough.experiments.competitors import in_words
from bough.experiments.results import Comparison, Curve
from bough.experiments.runs import MEASURES, all_marks, report_marks, scored_marks


def write(
    comparison: Comparison, out: str | os.PathLike[str], command: str | None = None
) -> list[pathlib.Path]:
    """Write tables and figures into a folder, and return their files.

    `summary.md` lists where the first searcher is ahead of the others, and the cost of each.
    `regrets.md`, `regrets.csv` and `tuning.csv` depend on the seeds only: the same comparison gives
    the same bytes. `seconds.md` and `seconds.csv` depend on the machine and the run. There is a
    figure for each problem if matplotlib is installed. `command`, which gave all this, is quoted.
    """
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "summary.md": summary_page(comparison, command),
        "regrets.md": regrets_page(comparison, command),
        "regrets.csv": to_csv(list(rows(comparison.by_evaluations(), "evaluations"))),
        "tuning.csv": to_csv(list(tuning_rows(comparison))),
        "seconds.md": seconds_page(comparison),
        "seconds.csv": to_csv(list(rows(comparison.by_seconds(), "seconds"))),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    files = [folder / name for name in texts]
    if figures.have_matplotlib():
        files += figures.draw(comparison, folder / "figures")
    return files


# --------------------------------------------------------------------------- the tables


def rows(curves: Sequence[Curve], axis: str) -> Iterator[dict[str, Any]]:
    """Yield one plain row for each point of each curve; `axis` is the name of the x-axis."""
    for curve in curves:
        for i, at in enumerate(curve.at.tolist()):
            row: dict[str, Any] = {
                "problem": curve.problem,
                "searcher": curve.searcher,
                "constants": in_words(curve.constants),
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


def tuning_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield one plain row for each candidate that was tried on the tuning seeds."""
    for (problem, searcher), choice in comparison.choices.items():
        for candidate, score in zip(choice.candidates, choice.scores, strict=False):
            yield {
                "problem": problem,
                "searcher": searcher,
                "constants": in_words(candidate),
                "score": score,
                "chosen": candidate == choice.constants,
            }


def format_number(number: float) -> str:
    """Return a number as text, with three digits."""
    return f"{number:.3g}" if abs(number) < 999.5 else f"{number:,.0f}"


# ---------------------------------------------------------------------------- the pages


def regrets_page(comparison: Comparison, command: str | None = None) -> str:
    """Return a page of regrets against evaluations, which depends on the seeds only."""
    seeds, tuning = comparison.seeds, comparison.tuning_seeds
    about = (
        f"Means over {len(seeds)} seeds ({_range(seeds)}) of {comparison.budget:,} evaluations "
        "each, with 95 % bootstrap intervals in brackets; the lowest mean of a column is bold."
    )
    constants = _constants(comparison)
    if constants:
        about += (
            f" Constants were tuned on {len(tuning)} other seeds ({_range(tuning)}): see below."
        )
    if comparison.steps:
        about += "\nSearchers observed immediate rewards, where a problem has them."
    marks = {f"{mark:,}": mark for mark in report_marks(comparison.budget)}
    parts = ["# Regrets against evaluations", about, *_quoted(command)]
    for problem, curves in _by_problem(comparison.by_evaluations()):
        parts += _measures(problem, curves, marks)
    parts += constants
    if comparison.failures:
        failures = [f"- {s} on {p}: {why}" for (p, s), why in comparison.failures.items()]
        parts += ["## Not run", "\n".join(failures)]
    return _page(parts)


def seconds_page(comparison: Comparison) -> str:
    """Return a page of regrets against seconds, which depends on the machine and the run."""
    parts = [
        "# Regrets against seconds",
        "Seconds spent in ask and tell, without the rewards, on one machine that may have been "
        "busy. Each figure is for the number of evaluations that the median run had made in that "
        "time, from its first evaluation to the end of its budget.",
    ]
    cost = comparison.microseconds()
    for problem, curves in _by_problem(comparison.by_seconds()):
        costs = [(c.searcher, f"{cost[problem, c.searcher]:.3g}") for c in curves]
        parts += [
            f"## {problem}: microseconds per evaluation",
            _markdown(["searcher", "microseconds"], costs),
        ]
        ticks = _ticks(min(c.at[0] for c in curves), max(c.at[-1] for c in curves))
        if ticks:
            parts += _measures(problem, curves, {f"{tick:g} s": tick for tick in ticks})
    return _page(parts)


def summary_page(comparison: Comparison, command: str | None = None) -> str:
    """Return a page that compares the first of the searchers with each of the others."""
    first, *others = comparison.searchers
    marks = scored_marks(comparison.budget)
    at = {f"{mark:,}": mark for mark in marks}
    parts = [
        f"# {first} and the others",
        f"After {', '.join(at)} plays, over {len(comparison.seeds)} seeds. The constants of the "
        "others were tuned for each problem, on other seeds.",
        *_quoted(command),
        "## Simple regret",
        "The value of the best path minus that of the recommended one: means with 95 % bootstrap "
        "intervals; the lowest mean of a column is bold.",
    ]
    for problem, curves in _by_problem(comparison.by_evaluations()):
        parts += [f"### {problem}", _table(curves, "simple", at)]
    if others and len(comparison.seeds) > 1:
        parts += _verdicts(comparison, "simple", marks)
        parts += _verdicts(comparison, "cumulative", marks[-1:])
    costs = {pair: format_number(cost) for pair, cost in comparison.microseconds().items()}
    cost_rows = [
        [problem, *(costs.get((problem, name), "-") for name in comparison.searchers)]
        for problem in comparison.problems
    ]
    parts += [
        "## Microseconds per evaluation",
        f"Of ask and tell, including fits, on average over {comparison.budget:,} evaluations, "
        "on one machine that may have been busy.",
        _markdown(["problem", *comparison.searchers], cost_rows),
    ]
    return _page(parts)


# ------------------------------------------------------------------- parts of the pages


def _page(parts: Iterable[str]) -> str:
    """Return a page of headings, paragraphs and tables."""
    return "\n\n".join(parts) + "\n"


def _quoted(command: str | None) -> list[str]:
    return [] if command is None else ["    " + command]


def _range(seeds: range) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"


def _by_problem(curves: Sequence[Curve]) -> Iterator[tuple[str, list[Curve]]]:
    """Yield each problem with its curves, in the order of the comparison."""
    for problem in dict.fromkeys(curve.problem for curve in curves):
        yield problem, [curve for curve in curves if curve.problem == problem]


def _ticks(begin: float, end: float) -> list[float]:
    """Return the round numbers of seconds in between, two in each decade: 0.01, 0.03, 0.1."""
    decades = range(math.floor(math.log10(begin)), math.ceil(math.log10(end)) + 1)
    ticks = [float(f"{first}e{k}") for k in decades for first in (1, 3)]
    return [tick for tick in ticks if begin <= tick <= end]


def _measures(problem: str, curves: Sequence[Curve], at: Mapping[str, float]) -> Iterator[str]:
    """Yield a heading and a table for each measure on a problem."""
    for name, words in MEASURES.items():
        yield f"## {problem}: {words}"
        yield _table(curves, name, at)


def _table(curves: Sequence[Curve], measure: str, at: Mapping[str, float]) -> str:
    """Return a table with a row for each searcher and a column for each of `at`, by its title."""
    columns = []
    for tick in at.values():
        column = [_cell(curve, measure, tick) for curve in curves]
        best = min(column)[0] if len(set(column)) > 1 else -math.inf  # all equal: none is best
        columns.append([f"**{text}**" if mean == best else text for mean, text in column])
    rows = zip([curve.label for curve in curves], *columns, strict=True)
    return _markdown(["searcher", *at], rows)


def _cell(curve: Curve, measure: str, at: float) -> tuple[float, str]:
    """Return the mean of a measure, and its text."""
    place = int(np.searchsorted(curve.at, at, side="right")) - 1
    if place < 0 or at > curve.at[-1]:
        return math.inf, "-"
    mean, low, high = (float(part[place]) for part in curve.measures[measure])
    return mean, _interval(mean, low, high)


def _interval(mean: float, low: float, high: float) -> str:
    """Return a mean with its interval, which a single seed does not have."""
    if not math.isfinite(low):
        return format_number(mean)
    return f"{format_number(mean)} [{format_number(low)}, {format_number(high)}]"


def _markdown(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in (titles, *rows)]
    return "\n".join([lines[0], "|---" * len(titles) + "|", *lines[1:]])


def _constants(comparison: Comparison) -> list[str]:
    """Return the section on the candidates of each searcher that was tuned."""
    tuned = {pair: c for pair, c in comparison.choices.items() if len(c.candidates) > 1}
    if not tuned:
        return []
    columns = ", ".join(f"{mark:,}" for mark in scored_marks(comparison.budget))
    rows = []
    for (problem, searcher), choice in tuned.items():
        tried = "; ".join(
            f"{name} {', '.join(map(str, dict.fromkeys(dict(c)[name] for c in choice.candidates)))}"
            for name, _ in choice.constants
        )
        chosen = in_words(choice.constants)
        if choice.equal:
            chosen += " (all are equal)"
        elif choice.at_ends:
            chosen += f" ({' and '.join(choice.at_ends)} at an end of the grid)"
        rows.append((problem, searcher, chosen, f"{min(choice.scores):.3f}", tried))
    return [
        "## Constants",
        "All combinations of a grid were tried. The score of a combination is its simple regret on "
        f"the tuning seeds relative to the average combination, averaged over {columns} "
        "evaluations; the lowest score is chosen. The grid was extended while the chosen value was "
        "at one of its ends.",
        _markdown(["problem", "searcher", "chosen", "score", "tried"], rows),
    ]


def _verdicts(comparison: Comparison, measure: str, marks: list[int]) -> list[str]:
    """Return the section that counts where the first searcher is ahead of each other one."""
    first, *others = comparison.searchers
    counts: dict[str, Counter[str]] = {other: Counter() for other in others}
    behind: list[str] = []
    places = [all_marks(comparison.budget).index(mark) for mark in marks]
    for problem, other in itertools.product(comparison.problems, others):
        if not {(problem, first), (problem, other)} <= comparison.runs.keys():
            continue
        difference = comparison.difference(problem, first, other, measure)
        texts = []
        for mark, place in zip(marks, places, strict=True):
            mean, low, high = (float(part[place]) for part in difference)
            verdict = "ahead" if high < 0 else "behind" if low > 0 else "even"  # less is better
            counts[other][verdict] += 1
            if verdict == "behind":
                texts.append(f"by {_interval(mean, low, high)} after {mark:,} plays")
        if texts:
            behind.append(f"- {problem}: {other}, {', '.join(texts)}")
    name = MEASURES[measure]
    rows = [(o, n["ahead"], n["even"], n["behind"]) for o, n in counts.items() if n]
    parts = [
        f"## {name[0].upper()}{name[1:]}: {first} against each",
        "Paired differences, since both searched the same problems: ahead or behind if the 95 % "
        "interval of the mean difference excludes zero, otherwise even. Counts are over all "
        f"problems, after {', '.join(f'{mark:,}' for mark in marks)} plays.",
        _markdown([f"{first} against", "ahead", "even", "behind"], rows),
    ]
    if not behind:
        return [*parts, f"{first} is never behind."]
    return [*parts, f"Cases in which {first} is behind:", "\n".join(behind)]
