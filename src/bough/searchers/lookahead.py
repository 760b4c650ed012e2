"""What to expect of the best of many unexplored paths: the maximum of a branching random walk."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bough._subtree import table_counts

Array = NDArray[np.float64]

#: Points of the grid on which distributions are kept.
POINTS = 4096


def fresh_maxima(
    increments: Array, widths: Sequence[int], most: int | None = None
) -> tuple[Array, Array]:
    """Tabulate the best of u fresh children of a node at each depth, relative to F of the node.

    That best is the maximum over u children of w + M, where w is the child's step and M the same
    for all of its own children. Its distribution is found from the bottom up: convolve with the
    step, raise the distribution function to the power u.

    Parameters
    ----------
    increments
        v_0 .. v_D.
    widths
        How many children a node at depth 0 .. D-1 has.
    most
        The largest u to tabulate, if it is not the largest of the widths.

    Returns
    -------
    mean, sd : array
        Of shape (D + 1, len(counts)), where counts = `table_counts(most)`.
    """
    depth = len(increments) - 1
    counts = np.array(table_counts(max(widths, default=1) if most is None else most))
    mean, sd = np.zeros((depth + 1, len(counts))), np.zeros((depth + 1, len(counts)))
    total = float(increments[1:].sum())
    if total == 0.0:
        return mean, sd
    # No maximum exceeds its expectation by much, and that is at most sqrt(2 total log N).
    log_arms = float(np.sum(np.log(np.asarray(widths, dtype=float)))) + np.log(counts[-1])
    unit = np.sqrt(total)
    low, high = -8.0 * unit, (np.sqrt(2.0 * log_arms) + 8.0) * unit
    step = (high - low) / POINTS
    middle = low + step * (np.arange(POINTS) + 0.5)
    frequency = 2.0 * np.pi * np.fft.rfftfreq(2 * POINTS, step)
    mass = np.zeros(POINTS)
    zero = -low / step - 0.5  # M of a leaf is 0: between two points of the grid
    mass[int(zero)], mass[int(zero) + 1] = 1 - zero % 1, zero % 1
    for i in range(depth - 1, -1, -1):
        # Padded to twice the length, so that nothing comes round from the other end.
        spectrum = np.fft.rfft(mass, 2 * POINTS) * np.exp(-0.5 * increments[i + 1] * frequency**2)
        mass = np.maximum(np.fft.irfft(spectrum)[:POINTS], 0.0)
        below = np.minimum(np.cumsum(mass) / mass.sum(), 1.0)
        for j, u in enumerate(counts):
            best = np.diff(below**u, prepend=0.0)
            mean[i, j] = best @ middle
            sd[i, j] = np.sqrt(best @ (middle - mean[i, j]) ** 2)
        mass = np.diff(below ** widths[i], prepend=0.0)
    return mean, sd


def one_level_maxima(increments: Array, most: int) -> tuple[Array, Array]:
    """Tabulate the best of u fresh children of a node at each depth, not looking further down.

    All that makes sense where a node has no end of children.
    """
    unit_mean, unit_sd = fresh_maxima(np.array([0.0, 1.0]), [1], most)
    steps = np.append(np.sqrt(increments[1:]), 0.0)[:, None]
    return steps * unit_mean[0], steps * unit_sd[0]
