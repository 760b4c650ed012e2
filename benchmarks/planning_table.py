"""Tables of the planning benchmark: mean returns, paired comparisons and costs."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.intervals import Interval, interval
from benchmarks.planning_tasks import TASKS

OURS, FROM_NOTHING = "GPTS", "GPTS from nothing"
BASELINES = ("UCT", "OLOP", "KL-OLOP", "best-first", "random")
COLUMNS = (OURS, FROM_NOTHING, *BASELINES)

Row = dict[str, Any]
Cell = tuple[str, int, str]  # task, budget, competitor


def shown(found: Interval) -> str:
    return "{:.4g} ({:.4g} to {:.4g})".format(*found)


class Results:
    """The returns of finished episodes, by cell and seed."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows: dict[Cell, list[Row]] = defaultdict(list)
        self.failed: list[Row] = []
        for row in rows:
            if "error" in row:
                self.failed.append(row)
            else:
                self.rows[row["task"], row["budget"], row["competitor"]].append(row)
        keys = {cell[:2] for cell in self.rows}
        self.keys = [(t.name, b) for t in TASKS for b in t.budgets if (t.name, b) in keys]
        self.names = [c for c in COLUMNS if any(cell[2] == c for cell in self.rows)]

    def totals(self, cell: Cell) -> dict[int, float]:
        return {row["seed"]: row["total"] for row in self.rows.get(cell, ())}

    def difference(self, one: Cell, other: Cell) -> Interval | None:
        """Return the paired difference over common seeds; None if there are fewer than two."""
        first, second = self.totals(one), self.totals(other)
        common = sorted(first.keys() & second.keys())
        return interval(first[s] - second[s] for s in common) if len(common) > 1 else None

    def best(self, task: str, budget: int, names: Iterable[str]) -> list[str]:
        """Return the competitors with the highest mean."""
        totals = {name: self.totals((task, budget, name)).values() for name in names}
        means = {name: np.mean(list(found)) for name, found in totals.items() if found}
        return [name for name, mean in means.items() if mean == max(means.values())]

    def table(self) -> str:
        """Return mean returns with intervals, the highest in bold."""
        lines = [self._head()]
        for task, budget in self.keys:
            best = self.best(task, budget, self.names)
            texts, counts = [], []
            for name in self.names:
                totals = self.totals((task, budget, name)).values()
                counts += [len(totals)] if totals else []
                text = shown(interval(totals)) if totals else "-"
                texts.append(f"**{text}**" if name in best else text)
            seeds = "-".join(str(n) for n in sorted({min(counts), max(counts)}))
            lines.append(f"| {task} | {budget} | {seeds} | " + " | ".join(texts) + " |")
        return "\n".join(lines)

    def costs(self) -> str:
        """Return CPU seconds per decision, and of one seed."""
        lines = [self._head()]
        for task, budget in self.keys:
            texts, counts = [], []
            for name in self.names:
                rows = self.rows.get((task, budget, name), [])
                counts.append(len(rows))
                spent, decisions = (sum(row[k] for row in rows) for k in ("planning", "decisions"))
                whole = sum(row["seconds"] for row in rows)
                texts.append(f"{spent / decisions:.2g} ({whole / len(rows):.3g})" if rows else "-")
            lines.append(f"| {task} | {budget} | {max(counts)} | " + " | ".join(texts) + " |")
        return "\n".join(lines)

    def _head(self) -> str:
        head = "| task | steps per decision | seeds | " + " | ".join(self.names) + " |"
        return head + "\n|" + "---|" * (3 + len(self.names))

    def summary(self) -> str:
        """Return the numbers of cells in which GPTS is better or worse."""
        best = {key: self.best(*key, BASELINES)[:1] for key in self.keys}
        parts = [
            self._compared("the best baseline", best),
            self._compared(FROM_NOTHING, {key: [FROM_NOTHING] for key in self.keys}),
            "| task | larger budget minus smaller one | significantly worse |\n|---|---|---|",
        ]
        for task in TASKS:
            low, high = task.budgets
            found = self.difference((task.name, high, OURS), (task.name, low, OURS))
            if found is not None:
                worse = "yes" if verdict(found) == "behind" else "no"
                parts[-1] += f"\n| {task.name} | {shown(found)} | {worse} |"
        failures = Counter((row["competitor"], row["task"], row["error"]) for row in self.failed)
        for (name, task, error), count in failures.items():
            parts.append(f"{count} failed: {name} on {task}: {error}")
        return "\n\n".join(parts)

    def _compared(self, title: str, others: dict[tuple[str, int], list[str]]) -> str:
        counts: Counter[str] = Counter()
        behind = []
        for (task, budget), names in others.items():
            for other in names:
                found = self.difference((task, budget, OURS), (task, budget, other))
                if found is None:
                    continue
                counts[verdict(found)] += 1
                if verdict(found) == "behind":
                    behind.append(f"- {task} {budget}, {other}: {shown(found)}")
        level = counts["ahead"] + counts["level"]
        text = (
            f"{OURS} compared with {title}: better or not significantly different in {level} of "
            f"{counts.total()} cells (better in {counts['ahead']}), worse in {counts['behind']}"
        )
        return "\n".join([text, "", *behind]).rstrip()


def verdict(difference: Interval) -> str:
    _, low, high = difference
    return "ahead" if low > 0 else "behind" if high < 0 else "level"
