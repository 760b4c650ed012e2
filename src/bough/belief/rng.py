# cython: boundscheck=False, wraparound=False, cdivision=True, infer_types=True
"""SplitMix64: a random generator, and hashes of paths, the same compiled and uncompiled."""

from __future__ import annotations

import cython
import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
MIX_A = 0xBF58476D1CE4E5B9
MIX_B = 0x94D049BB133111EB
TWO_TO_64 = 2.0**64


class SplitMix64:
    """A small generator whose whole state is one int: `SplitMix64(seed)`."""

    def __init__(self, seed=0):
        self.state = int(seed) & (2**64 - 1)

    def draw(self):
        self.state = (self.state + GOLDEN) & MASK
        return mixed(self.state)

    def below(self, n):
        """Return a random int from 0 to n - 1 (a bias of n/2^64 is left in)."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        return cython.cast(cython.int, self.draw() % cython.cast(cython.ulonglong, n))

    def __reduce__(self):
        return SplitMix64, (self.state,)

    def __repr__(self):
        return f"SplitMix64({self.state})"


def mixed(z):
    """Return an int of 64 bits whose bits depend on all bits of another."""
    z = ((z ^ (z >> 30)) * MIX_A) & MASK
    z = ((z ^ (z >> 27)) * MIX_B) & MASK
    return z ^ (z >> 31)


def child_hash(state, step):
    """Return the hash of a child from the hash of its parent, of 64 bits, and the step."""
    return mixed((state + (step + 1) * GOLDEN) & MASK)


def path_hashes(state, path):
    """Return the hash of each node of a path below the root, as numbers in [0, 1]."""
    hashes = []
    for i in range(len(path)):
        step: cython.ulonglong = path[i]
        state = child_hash(state, step)
        hashes.append(state / TWO_TO_64)
    return hashes


def weighted_hashes(state, path, weights):
    """Return the sum of these numbers, each multiplied by the weight of its depth."""
    total: cython.double = 0.0
    for i in range(len(path)):
        step: cython.ulonglong = path[i]
        weight: cython.double = weights[i]
        state = child_hash(state, step)
        total += weight * (state / TWO_TO_64)
    return total


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
