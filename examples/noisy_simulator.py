"""Tune a noisy simulator of a shop: `python examples/noisy_simulator.py`.

Customers come at random, are served by a clerk, and some then wait for a machine. Every run of the
simulation gives another profit, so the best value that was seen is a lucky one. What bough says of
its best is not: the example compares it with the mean of many more runs.
"""

import heapq
from typing import Any

import numpy as np

import bough

space = bough.Space(
    clerks=bough.Int(1, 8),
    machines=bough.Int(1, 8),
    price=bough.Float(2.0, 20.0, log=True),
    line=bough.Choice({"open": None, "limited": bough.Space(places=bough.Int(1, 20))}),
)
CUSTOMERS = 300


def profit(params: dict[str, Any], seed: int) -> float:
    """Return the profit of a day, for each hour; bough passes a seed for each trial."""
    rng = np.random.default_rng(seed)
    clerks = [0.0] * params["clerks"]  # the time at which each is free again
    machines = [0.0] * params["machines"]
    places = params.get("places", CUSTOMERS)
    leaving: list[float] = []
    now, income = 0.0, 0.0
    for _ in range(CUSTOMERS):
        now += rng.exponential(0.1)
        if rng.random() > np.exp(-params["price"] / 8):  # too expensive
            continue
        while leaving and leaving[0] <= now:
            heapq.heappop(leaving)
        if len(leaving) >= places + params["clerks"]:
            continue
        begin = max(now, heapq.heappop(clerks))
        end = begin + rng.exponential(0.25)
        heapq.heappush(clerks, end)
        if rng.random() < 0.4:
            end = max(end, heapq.heappop(machines)) + rng.exponential(0.5)
            heapq.heappush(machines, end)
        heapq.heappush(leaving, end)
        income += params["price"] - 2.0 * (end - now)  # who waits complains
    hours = now
    return income / hours - 1.5 * params["clerks"] - 2.0 * params["machines"]


if __name__ == "__main__":
    result = bough.maximize(profit, space, budget=300, rng=0)
    print(result)
    assert result.best is not None
    again = [profit(result.best.params, seed) for seed in range(10_000, 10_400)]
    print(f"the highest profit seen   {result.history.values.max():.3f}")
    print(f"what bough believes       {result.best.mean:.3f} +- {result.best.std:.3f}")
    print(f"the mean of 400 more days {np.mean(again):.3f} +- {np.std(again) / 20:.3f}")
