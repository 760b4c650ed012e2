"""What all drawings share."""

import re
from typing import Any

from bough._text import printable

#: Okabe and Ito's colours, which the colour-blind can tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"
#: Low means are dark, high ones bright, and every printer and eye can tell them apart.
COLOURS = "cividis"


def axes(ax: Any, figsize: tuple[float, float] = (7.0, 4.0)) -> Any:
    """Return the Axes to draw on: those that were given, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "figures are drawn by matplotlib, which is not there: pip install 'bough[plot]'"
        ) from error
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def literal(text: object, most: int = 32) -> str:
    r"""Return a name as matplotlib shows it as it is, and not longer than a label can be.

    >>> literal("cost in $")
    'cost in \\$'
    """
    name = printable(text)
    if len(name) > most:
        name = name[: most - 1] + "\u2026"
    return name.replace("$", r"\$")  # what stands between two of them would be a formula


def rounded(text: str) -> str:
    """Return a text with numbers in it, each with four digits.

    >>> rounded("Geometric(ratio=0.4734029284318608, root=0.0)")
    'Geometric(ratio=0.4734, root=0.0)'
    """
    return re.sub(r"\d+\.\d{4,}(?:e[-+]?\d+)?", lambda found: f"{float(found[0]):.4g}", text)


def say_empty(ax: Any, why: str) -> Any:
    """Say on the Axes why there is nothing to see."""
    ax.text(0.5, 0.5, why, ha="center", va="center", transform=ax.transAxes, color=GREY)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax
