"""Costs of the bounds: `python -m benchmarks.theory`.

Milliseconds of one call from Python, the least of several, and the speedup over a dense reference
that gets the same number, where there is one small enough. Times depend on the machine; compare
ratios within a run only.
"""

import argparse
import heapq
import itertools
import math

import numpy as np

from benchmarks.timing import timed
from bough import kernels, theory

EXTREMES = [
    ("Gaussian(5) 200^10, T = 1e9", (kernels.Gaussian(5.0), 200, 10, 1.0, 10**9)),
    ("Gaussian(5) 10^400, T = 1e9", (kernels.Gaussian(5.0), 10, 400, 1.0, 10**9)),
    ("Linear 10^400, noise 1e-8", (kernels.Linear(), 10, 400, 1e-8, 10**9)),
    ("Gaussian(1e6) 10^6, noise 1e-8", (kernels.Gaussian(1e6), 10, 6, 1e-8, 10**9)),
    ("Discounted(1) 10^400", (kernels.Discounted(1.0), 10, 400, 1.0, 10**9)),
    ("Discounted(.01) 10^400", (kernels.Discounted(0.01), 10, 400, 1.0, 10**9)),
    ("Gaussian(5) 1^30", (kernels.Gaussian(5.0), 1, 30, 1.0, 10**9)),
    ("Linear 2^0", (kernels.Linear(), 2, 0, 1.0, 10**9)),
]
METHODS = ("exact", "greedy", "waterfilling", "uniform", "hadamard")


def milliseconds(call, runs):
    """Return the least time of a call, and its last result."""
    times, results = zip(*(timed(call) for _ in range(runs)), strict=True)
    return min(times) * 1e3, results[-1]


def extremes(runs):
    """Print the time of every kind of call in every extreme setting; return the slowest."""
    slowest = (0.0, "")
    for name, setting in EXTREMES:
        kernel, B, D, noise, _ = setting
        cells = []
        calls = {m: (lambda m=m, s=setting: theory.information_gain(*s, method=m)) for m in METHODS}
        calls["regret_bound"] = lambda s=setting: theory.regret_bound(*s)
        calls["spectrum"] = lambda k=kernel, B=B, D=D: theory.spectrum(k, B, D).log_eigenvalues
        calls["smoothness"] = lambda k=kernel, B=B, D=D: theory.smoothness(k, D, branching=B)
        if D < 100:
            calls["plays_needed"] = lambda k=kernel, B=B, D=D, s=noise: theory.plays_needed(
                k, B, D, s, 0.1
            )
        for call_name, call in calls.items():
            elapsed, _ = milliseconds(call, runs)
            cells.append(f"{call_name} {elapsed:.2f}")
            if call_name != "plays_needed":
                slowest = max(slowest, (elapsed, f"{call_name}, {name}"))
        print(f"{name}: ms of a call: " + ", ".join(cells))
    return slowest


def against_dense(runs):
    """Print the costs of the same numbers by matrices, enumeration and a heap."""
    kernel, B, D, noise = kernels.Gaussian(2.0), 2, 10, 0.5
    arms = list(itertools.product(range(B), repeat=D))
    K = kernel.matrix(arms, D)

    def dense_spectrum():
        return np.linalg.eigvalsh(K)

    def dense_greedy(plays):
        # The arm of largest variance each time gives I*, since even splits are nested.
        C, total = K.copy(), 0.0
        for _ in range(plays):
            x = int(np.argmax(np.diag(C)))
            k = C[:, x].copy()
            total += 0.5 * math.log1p(k[x] / noise**2)
            C -= np.outer(k, k) / (k[x] + noise**2)
        return total

    def heap_greedy(plays):
        heap = [-x for x in dense_spectrum().tolist()]
        heapq.heapify(heap)
        total = 0.0
        for _ in range(plays):
            x = -heap[0]
            total += 0.5 * math.log1p(x / noise**2)
            heapq.heapreplace(heap, -x / (1 + x / noise**2))
        return total

    setting = (kernel, B, D, noise)
    for name, dense, ours in [
        (
            "spectrum of 1,024 arms, eigvalsh",
            dense_spectrum,
            lambda: np.repeat(
                *(lambda s: (s.eigenvalues, s.multiplicities))(theory.spectrum(kernel, B, D))
            ),
        ),
        (
            "exact gain of 200 plays of 1,024 arms, dense posterior",
            lambda: dense_greedy(200),
            lambda: theory.information_gain(*setting, 200),
        ),
        (
            "greedy gain of 10,000 plays of 1,024 arms, eigvalsh and a heap",
            lambda: heap_greedy(10_000),
            lambda: theory.information_gain(*setting, 10_000, method="greedy"),
        ),
    ]:
        slow, expected = milliseconds(dense, 1)
        fast, found = milliseconds(ours, runs)
        error = float(np.max(np.abs(np.asarray(found) / np.asarray(expected) - 1)))
        print(f"{name}: {slow:.0f} ms, bough {fast:.3f} ms: {slow / fast:,.0f} times, "
              f"relative difference {error:.0e}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    elapsed, name = extremes(runs)
    print(f"slowest: {elapsed:.2f} ms ({name}); the aim is 10 ms")
    against_dense(runs)


if __name__ == "__main__":
    main()
