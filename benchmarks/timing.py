"""Helpers of the benchmarks: clocks, and cheap rewards to time searches with.

Times depend on the machine; compare ratios within a run only.
"""

import itertools
import time

import numpy as np

NOISE = 0.1
_TABLE = np.random.default_rng(0).standard_normal(4096).tolist()


def fast_reward(kernel, depth):
    """Return a cheap function that is drawn from the prior, more or less, with noise of 0.1.

    The steps are hashed from a table, and so is the noise of each call.
    """
    sds = np.sqrt(kernel.increments(depth))[1:].tolist()
    calls = itertools.count(1)

    def reward(path):
        total, h = 0.0, 0
        for step, sd in zip(path, sds, strict=True):
            h = (h * 1000003 + step * 7919 + 1) & 0xFFFFFFFFFFFF
            total += _TABLE[(h >> 17) & 4095] * sd
        return total + NOISE * _TABLE[next(calls) & 4095]

    return reward


def timed(call, clock=time.perf_counter):
    """Return the seconds of a call, and its result."""
    begin = clock()
    result = call()
    return clock() - begin, result


class Stopwatch:
    """The time between `start` and `stop`, summed up in `spent`, without that of the clock."""

    def __init__(self, clock=time.perf_counter_ns):
        self._clock = clock
        self._overhead = self.spent = 0
        for _ in range(20_000):
            self.start()
            self.stop()
        self._overhead, self.spent = self.spent / 20_000, 0

    def start(self):
        self._begin = self._clock()

    def stop(self):
        self.spent += self._clock() - self._begin - self._overhead


def plays(search, reward, watch):
    """Play for ever, one play at each `next`; `ask` and `tell` are timed."""
    while True:
        watch.start()
        path = search.ask()
        watch.stop()
        value = reward(path)
        watch.start()
        search.tell(path, value)
        watch.stop()
        yield path


def last_fifths(playing, watch, marks):
    """Yield each mark, and of the last fifth of the plays before it microseconds and results."""
    done = 0
    for mark in marks:
        begin = mark * 4 // 5
        skip(playing, begin - done)
        watch.spent = 0
        results = list(itertools.islice(playing, mark - begin))
        done = mark
        yield mark, watch.spent / len(results) / 1e3, results


def skip(playing, count):
    """Make plays without keeping their results."""
    for _ in itertools.islice(playing, count):
        pass
