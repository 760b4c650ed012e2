# cython: boundscheck=False, wraparound=False, cdivision=True, infer_types=True
"""SplitMix64: a random generator that gives the same numbers compiled and uncompiled."""

from __future__ import annotations

import cython
import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
MIX_A = 0xBF58476D1CE4E5B9
MIX_B = 0x94D049BB133111EB


class SplitMix64:
    """A small generator whose whole state is one int: `SplitMix64(seed)`."""

    def __init__(self, seed=0):
        self.state = int(seed) & (2**64 - 1)

    def draw(self):
        self.state = (self.state + GOLDEN) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * MIX_A) & MASK
        z = ((z ^ (z >> 27)) * MIX_B) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        """Return a random int from 0 to n - 1 (a bias of n/2^64 is left in)."""
        return cython.cast(cython.int, self.draw() % cython.cast(cython.ulonglong, n))

    def __reduce__(self):
        return SplitMix64, (self.state,)

    def __repr__(self):
        return f"SplitMix64({self.state})"


#: Where an rng is asked for.
Rng = SplitMix64 | np.random.Generator | int | None


def generator(rng):
    """Return the SplitMix64 that `rng` (None, an int, a Generator) stands for; None for None."""
    if rng is None or isinstance(rng, SplitMix64):
        return rng
    if isinstance(rng, np.random.Generator):
        return SplitMix64(rng.integers(2**64, dtype=np.uint64))
    if not isinstance(rng, (int, np.integer)):
        raise TypeError(f"rng must be None, an int or a numpy.random.Generator, got {rng!r}")
    if rng < 0:
        raise ValueError(f"rng must not be negative, got {rng}")
    return SplitMix64(rng)
