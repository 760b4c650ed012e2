"""Everything that a comparison found, into a folder."""

import os
import pathlib

from bough.experiments import figures
from bough.experiments.results import Comparison
from bough.experiments.summary import summary_page
from bough.experiments.tables import regrets_page, rows, seconds_page, to_csv, tuning_rows


def write(
    comparison: Comparison, out: str | os.PathLike[str], command: str | None = None
) -> list[pathlib.Path]:
    """Write tables and figures into a folder, and return their files.

    `summary.md` says where the first searcher is ahead of the others, and what each costs.
    `regrets.md`, `regrets.csv` and `tuning.csv` depend on the seeds only: the same comparison gives
    the same bytes. `seconds.md` and `seconds.csv` are of this machine and run. There is a figure
    for each problem if matplotlib is installed. `command`, what gave all this, is quoted.
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
