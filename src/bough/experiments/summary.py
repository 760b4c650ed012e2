"""What a comparison says of its first searcher: where it is ahead, where behind, what it costs.

Every sentence follows from the runs, so that the page cannot say what a later run does not show.
"""

from collections import Counter

from bough.experiments.jobs import MEASURES, all_marks, judged_marks
from bough.experiments.results import Comparison, Estimate
from bough.experiments.tables import say_number, table

#: What an interval of the difference says of the first searcher: regret is the less the better.
AHEAD, EVEN, BEHIND = "ahead", "even", "behind"


def verdict(difference: Estimate, place: int) -> str:
    """Return what the difference from another searcher at a mark amounts to.

    It is ahead or behind if the whole interval says so; where there is none, by one seed, even.
    """
    low, high = float(difference.low[place]), float(difference.high[place])
    if high < 0:
        return AHEAD
    return BEHIND if low > 0 else EVEN


def summary_page(comparison: Comparison, command: str | None = None) -> str:
    """Return a page on the first of the searchers, beside each of the others."""
    first, *others = comparison.searchers
    marks = judged_marks(comparison.budget)
    plays = ", ".join(f"{mark:,}" for mark in marks)
    lines = [
        f"# {first} beside the others",
        "",
        f"After {plays} plays, over {len(comparison.seeds)} seeds. Constants of the others are "
        "tuned for each problem, on other seeds.",
    ]
    if command is not None:
        lines += ["", "    " + command]
    lines += _simple(comparison, marks)
    if others and len(comparison.seeds) > 1:
        lines += _verdicts(comparison, "simple", marks)
        lines += _verdicts(comparison, "cumulative", marks[-1:])
    lines += _cost(comparison)
    return "\n".join(lines) + "\n"


def _simple(comparison: Comparison, marks: list[int]) -> list[str]:
    lines = [
        "",
        "## Simple regret",
        "",
        "How much less than the best path the recommended one is worth: means, with 95 % bootstrap "
        "intervals; the lowest mean of a column is bold.",
    ]
    curves = comparison.by_evaluations()
    for problem in comparison.problems:
        mine = [curve for curve in curves if curve.problem == problem]
        if mine:
            lines += ["", f"### {problem}", ""]
            lines += table(mine, "simple", marks, [f"{mark:,}" for mark in marks])
    return lines


def _verdicts(comparison: Comparison, measure: str, marks: list[int]) -> list[str]:
    """Say how often the first searcher is ahead of each other one, and list where it is not."""
    first, *others = comparison.searchers
    counts: dict[str, Counter[str]] = {other: Counter() for other in others}
    behind: list[str] = []
    places = [all_marks(comparison.budget).index(mark) for mark in marks]
    for problem in comparison.problems:
        for other in others:
            if not {(problem, first), (problem, other)} <= comparison.runs.keys():
                continue
            difference = comparison.difference(problem, first, other, measure)
            texts = []
            for mark, place in zip(marks, places, strict=True):
                found = verdict(difference, place)
                counts[other][found] += 1
                if found == BEHIND:
                    mean, low, high = (say_number(float(part[place])) for part in difference)
                    texts.append(f"by {mean} [{low}, {high}] after {mark:,} plays")
            if texts:
                behind.append(f"- {problem}: {other}, {', '.join(texts)}")
    name = MEASURES[measure]
    lines = [
        "",
        f"## {name[0].upper()}{name[1:]}: {first} against each",
        "",
        "Differences seed by seed, as both had the same problems: ahead or behind where the 95 % "
        "interval of their mean lies wholly on one side of zero, even where it does not. Counted "
        f"over all problems, after {', '.join(f'{mark:,}' for mark in marks)} plays.",
        "",
        f"| {first} against | ahead | even | behind |",
        "|---|---|---|---|",
    ]
    for other, count in counts.items():
        if count:
            lines.append(f"| {other} | {count[AHEAD]} | {count[EVEN]} | {count[BEHIND]} |")
    if not behind:
        return [*lines, "", f"{first} is behind nowhere."]
    return [*lines, "", f"Where {first} is behind:", "", *behind]


def _cost(comparison: Comparison) -> list[str]:
    """Return what ask and tell cost: of the machine, and of this run."""
    cost = comparison.microseconds()
    lines = [
        "",
        "## Microseconds an evaluation",
        "",
        f"Of ask and tell, learning included, on average over {comparison.budget:,} evaluations, "
        "on one machine, as busy as it was.",
        "",
        f"| problem | {' | '.join(comparison.searchers)} |",
        "|---" * (len(comparison.searchers) + 1) + "|",
    ]
    for problem in comparison.problems:
        cells = [
            say_number(cost[problem, name]) if (problem, name) in cost else "-"
            for name in comparison.searchers
        ]
        lines.append(f"| {problem} | {' | '.join(cells)} |")
    return lines
