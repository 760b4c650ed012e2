"""Everything that a comparison found, into a folder."""

import os
import pathlib

from bough.experiments import figures
from bough.experiments.results import Comparison
from bough.experiments.tables import regrets_page, rows, seconds_page, to_csv


def write(
    comparison: Comparison, out: str | os.PathLike[str], command: str | None = None
) -> list[pathlib.Path]:
    """Write tables and figures into a folder, and return their files.

    `regrets.md` and `regrets.csv` depend on the seeds only: the same comparison gives the same
    bytes. `seconds.md` and `seconds.csv` are of this machine and run. There is a figure for each
    problem if matplotlib is installed. `command`, what gave all this, is quoted.
    """
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "regrets.md": regrets_page(comparison, command),
        "regrets.csv": to_csv(list(rows(comparison.by_evaluations(), "evaluations"))),
        "seconds.md": seconds_page(comparison),
        "seconds.csv": to_csv(list(rows(comparison.by_seconds(), "seconds"))),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    files = [folder / name for name in texts]
    if figures.have_matplotlib():
        files += figures.draw(comparison, folder / "figures")
    return files
