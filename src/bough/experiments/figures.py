"""Figures of a comparison, one for each problem. They need matplotlib: the extra `plot`."""

import pathlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from bough.experiments.results import Array, Comparison, Estimate
from bough.experiments.runs import MEASURES

#: The colors of Okabe and Ito, distinguishable by the color-blind, and gray; further ones are
#: dashed.
_COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999",
)  # fmt: skip
#: Measures with a linear axis: all curves start alike, and a logarithm would hide their ends.
LINEAR = ("suboptimal",)


def have_matplotlib() -> bool:
    """Return whether figures can be drawn."""
    import importlib.util

    return importlib.util.find_spec("matplotlib") is not None


def draw(comparison: Comparison, folder: pathlib.Path) -> list[pathlib.Path]:
    """Draw a figure for each problem into a folder, and return their files.

    Rows are measures, the left column is against evaluations, the right one against seconds; bands
    are the bootstrap intervals of the means.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    columns = {"evaluations": comparison.by_evaluations(), "seconds": comparison.by_seconds()}
    files = []
    for problem in comparison.problems:
        figure = Figure(figsize=(10, 3.2 * len(MEASURES)), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(MEASURES), len(columns), squeeze=False, sharey="row")
        for j, (axis, curves) in enumerate(columns.items()):
            mine = [curve for curve in curves if curve.problem == problem]
            places = [comparison.searchers.index(curve.searcher) for curve in mine]
            for i, measure in enumerate(MEASURES):
                rows = [(curve.label, curve.at, curve.measures[measure]) for curve in mine]
                draw_panel(panels[i][j], rows, places, linear=measure in LINEAR)
                panels[i][j].set_ylabel(MEASURES[measure] if j == 0 else "")
            panels[-1][j].set_xlabel(axis)
        figure.suptitle(f"{problem}, {len(comparison.seeds)} seeds")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
        files.append(folder / f"{re.sub(r'[^A-Za-z0-9.=-]+', '-', problem)}.png")
        # No date or version in the file, so that the same figure has the same bytes.
        figure.savefig(files[-1], dpi=110, metadata={"Software": None})
    return files


def draw_panel(
    panel: Any,
    curves: Sequence[tuple[str, Array, Estimate]],
    places: Sequence[int] | None = None,
    *,
    linear: bool = False,
) -> None:
    """Draw curves with their bands, each given by a label, its x-coordinates, and an estimate.

    `places` are the indices of their colors, which may be the same in several panels.
    """
    for place, (name, at, (mean, low, high)) in zip(
        range(len(curves)) if places is None else places, curves, strict=True
    ):
        color = _COLORS[place % len(_COLORS)]
        style = "-" if place < len(_COLORS) else "--"
        panel.plot(at, mean, style, color=color, label=name)
        panel.fill_between(at, low, high, color=color, alpha=0.12, linewidth=0)
    panel.set_xscale("log")
    means = np.concatenate([estimate.mean for _, _, estimate in curves] or [np.empty(0)])
    above = means[means > 0]
    panel.grid(alpha=0.3)
    if linear:
        panel.set_ylim(bottom=0)
    elif len(above) == len(means) > 0:
        panel.set_yscale("log")
    elif len(above) and not (means < 0).any():
        # A mean of zero, where the best path was found every time, has no logarithm.
        panel.set_yscale("symlog", linthresh=float(above.min()))
        panel.set_ylim(bottom=0)
