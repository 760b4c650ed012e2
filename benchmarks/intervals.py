"""Bootstrap intervals of means."""

from collections.abc import Iterable

import numpy as np

BOOTSTRAPS = 4000

Interval = tuple[float, float, float]  # mean, 95 % interval


def interval(values: Iterable[float]) -> Interval:
    """Return the mean and its 95 % bootstrap interval."""
    sample = np.array(list(values), dtype=float)
    means = np.random.default_rng(0).choice(sample, (BOOTSTRAPS, len(sample))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(sample.mean()), float(low), float(high)
