"""Colors, axes and texts that all drawings share."""

import re
from typing import Any

from bough._text import printable

#: Colors of Okabe and Ito, which color-blind readers can tell apart.
BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#777777"
#: The color map of means: low ones are dark, high ones bright, also in print.
COLORS = "cividis"


def axes(ax: Any, figsize: tuple[float, float] = (7.0, 4.0)) -> Any:
    """Return the given Axes, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'bough[plot]'") from error
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def literal(text: object, most: int = 32) -> str:
    r"""Return a name escaped for matplotlib, and cut to the length of a label.

    >>> literal("cost in $")
    'cost in \\$'
    """
    name = printable(text)
    if len(name) > most:
        name = name[: most - 1] + "\u2026"
    return name.replace("$", r"\$")  # text between two of them would be a formula


def rounded(text: str) -> str:
    """Return a text with its numbers rounded to four digits.

    >>> rounded("Geometric(ratio=0.4734029284318608, root=0.0)")
    'Geometric(ratio=0.4734, root=0.0)'
    """
    return re.sub(r"\d+\.\d{4,}(?:e[-+]?\d+)?", lambda found: f"{float(found[0]):.4g}", text)


def empty(ax: Any, why: str = "no observations yet") -> Any:
    """Write on the Axes why there is nothing to draw, and return them."""
    ax.text(0.5, 0.5, why, ha="center", va="center", transform=ax.transAxes, color=GRAY)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def labeled(ax: Any, x: str, y: str) -> Any:
    """Label the Axes and what they show, and return them."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(fontsize="small")
    return ax
