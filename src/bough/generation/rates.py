# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Compiled rates: how fast the best score is expected to rise if a node is expanded repeatedly.

| symbol | here | |
|---|---|---|
| B | `best` | the highest mean of all nodes |
| m(q), v(q) | `drift`, `spread` | mean and spread of a step of a generator, on a grid of scores |
| G_j(x) | `gains` | E(max(e_1 .. e_j) - x)+ of standardized residuals e, on a grid of x |
| H(x) | `squares` | E((e - x)+)^2 |
| b_k, V_k | `level`, `variance` | mean and variance of the best of a subtree after k calls |

The course of a subtree that begins at score q with promise u is b_0 = q, V_0 = 0 and
b_(k+1) = b_k + v G_1(x), V_(k+1) = V_k + v^2 (H(x) - G_1(x)^2) with x = -(m + u) / v at b_k. Its
rise after k calls is E(best - B)+.

The rate of a node is that of the best rule of when to stop, E(rise) / E(cost), as in Gittins'
index: after a fixed number of calls; or after one that depends on u, once u is known. A promise of
variance U counts as known after v^2 / U calls, which halve its variance. A course of a draft may
also be left at once, by its score. The rate r solves max E(rise - r cost) = 0, here by Dinkelbach's
iteration.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import erfc, exp, sqrt

if not cython.compiled:
    from math import erfc, exp, sqrt

ROOT_HALF = 0.7071067811865476
INVERSE_ROOT_TAU = 0.3989422804014327
#: The grid of standardized residuals: from -LIMIT to LIMIT in steps of 1 / CELLS.
LIMIT = 6.0
CELLS = 16.0
GRID = np.linspace(-6.0, 6.0, 193)
#: The most iterations for a rate.
MOST_STEPS = 4
#: The most calls of a course; after FINE calls one step of the sum stands for several calls.
FINE = 2
MOST_CALLS = 400
#: A course has ended when a call adds less than this share of the spread of a step.
LEAST_GAIN = 1e-3
#: Quantiles of a normal distribution: means of bins that hold these shares.
QUANTILES = 7
SHARES = (0.03, 0.09, 0.2, 0.36, 0.2, 0.09, 0.03)
#: The number of nodes whose rates are computed again in turn at each choice.
REFRESH = 4
#: Columns of the table of nodes: see `bough.generation.smoothing`.
MEAN, PROMISE, UNCERTAINTY = 5, 6, 9
CALIBRATION = 21


class Rates:
    """Rates by the curves of the generators, which `take` replaces."""

    def __init__(self):
        self.normal = np.array([-2.2681, -1.4667, -0.7879, 0.0, 0.7879, 1.4667, 2.2681])
        self.shares = np.array(SHARES)
        calls, k = [], 0
        while k < MOST_CALLS:
            k = min(MOST_CALLS, k + max(1, k // FINE))
            calls.append(k)
        self.calls = np.array(calls, dtype=np.int32)
        self.rises = np.zeros((QUANTILES * QUANTILES, len(calls)))

    def take(self, low, step, drift, spread, gains, squares):
        """Replace the curves, arrays with a row for each generator, and the tables of residuals."""
        self.low = low
        self.inverse = 1.0 / step
        self.cells = drift.shape[1] - 1
        self.drift = drift
        self.spread = spread
        self.gains = gains
        self.squares = squares

    def choose(
        self, n, table, index, stamps, now, refresh, tie, pending, closed, extra, best, calls, costs
    ):
        """Return the pair with the highest rate: g n + i for node i, -1 if there is none.

        Rates are computed again only where they decide: a pair is compared by the rate that it had
        when it was computed last, and computed again if that is the highest. (Rates fall as the
        best score rises.) Some others are computed again in turn, since rates may also rise.

        Parameters
        ----------
        n, table
            The number of nodes, and their table.
        index, stamps
            The rates of all pairs, a row for each generator, and when they were computed.
        now, refresh
            The number of this choice, and the first node to compute again in turn.
        tie
            Numbers that break ties.
        pending, closed
            Of each node: the number of calls under way, and whether it cannot be expanded.
        extra
            Of each generator: the variance of its mean step.
        best, calls, costs
            The highest mean; the calls that are left and the cost of a call, by generator.
        """
        for g in range(index.shape[0]):
            for k in range(REFRESH if n > REFRESH else n):
                i = (refresh + k) % n
                self._compute(table, index, stamps, now, pending, closed, extra, best, calls,
                              costs, g, i)  # fmt: skip
        while True:
            top = second = -1.0
            at = -1
            for g in range(index.shape[0]):
                for i in range(n):
                    rate = index[g, i] * (1.0 + 1e-9 * tie[i])
                    if rate > top or (rate == top and at >= 0 and tie[i] > tie[at % n]):
                        second = top
                        top = rate
                        at = g * n + i
                    elif rate > second:
                        second = rate
            if at < 0:
                return at
            g = at // n
            i = at % n
            if stamps[g, i] == now:
                return at
            self._compute(table, index, stamps, now, pending, closed, extra, best, calls, costs,
                          g, i)  # fmt: skip
            if index[g, i] * (1.0 + 1e-9 * tie[i]) > second:
                return at

    def _compute(self, table, index, stamps, now, pending, closed, extra, best, calls, costs, g, i):
        """Compute the rate of one pair."""
        stamps[g, i] = now
        if closed[i]:
            index[g, i] = -1.0
            return 0
        index[g, i] = self.node(
            g, table[i, MEAN], table[i, PROMISE], sqrt(table[i, UNCERTAINTY] + extra[g]), best,
            calls[g], costs[g], pending[i],
        ) * table[i, CALIBRATION]  # fmt: skip
        return 0

    def _gain(self, j, x):
        """Return G_j(x)."""
        if x >= LIMIT:
            return 0.0
        if x <= -LIMIT:
            return self.gains[j - 1, 0] - LIMIT - x
        at = (x + LIMIT) * CELLS
        i = cython.cast(cython.Py_ssize_t, at)
        t = at - i
        return self.gains[j - 1, i] * (1.0 - t) + self.gains[j - 1, i + 1] * t

    def _fill_course(self, row, generator, q, u, best, calls, start):
        """Compute the expected rise above `best` in a course, after each number of calls.

        The course begins after `start` calls.
        """
        level = q
        variance = 0.0
        gain, rise = 1.0, 0.0
        done = start
        i = 0
        while self.calls[i] <= start:
            self.rises[row, i] = q - best if q > best else 0.0
            i += 1
        while i < self.calls.shape[0] and done < calls:
            at = (level - self.low) * self.inverse
            at = 0.0 if at < 0.0 else (self.cells - 1e-9 if at > self.cells - 1e-9 else at)
            c = cython.cast(cython.Py_ssize_t, at)
            t = at - c
            v = self.spread[generator, c] * (1.0 - t) + self.spread[generator, c + 1] * t
            m = self.drift[generator, c] * (1.0 - t) + self.drift[generator, c + 1] * t + u
            jump = self.calls[i] - done
            x = -m / v
            gain = self._gain(1, x)
            rise = -1.0
            if done == 0 and level < best:  # exact for one call
                rise = v * self._gain(1, x + (best - level) / v)
            if x > -LIMIT:
                if x < LIMIT:
                    s = (x + LIMIT) * CELLS
                    c = cython.cast(cython.Py_ssize_t, s)
                    variance += jump * v * v * (self.squares[c] - gain * gain)
            else:
                variance += jump * v * v
            level += jump * v * gain
            if rise < 0.0:
                rise = level - best
                if variance > 0.0 and q < best:
                    sd = sqrt(variance)
                    z = rise / sd
                    if z < 6.0:
                        rise = rise * 0.5 * erfc(-z * ROOT_HALF) if z > -6.0 else 0.0
                        if z > -6.0:
                            rise += sd * INVERSE_ROOT_TAU * exp(-0.5 * z * z)
                if rise < 0.0:
                    rise = 0.0
            self.rises[row, i] = rise
            done = self.calls[i]
            i += 1
            if gain < LEAST_GAIN:
                break
        while i < self.calls.shape[0]:
            self.rises[row, i] = rise if gain < LEAST_GAIN else 0.0
            i += 1
        return 0

    def _stages(self, calls):
        """Return how many of the numbers of calls are possible, at least one."""
        i = 1
        while i < self.calls.shape[0] and self.calls[i] <= calls:
            i += 1
        return i

    def _rate(self, rows, first_cost, cost, calls, known):
        """Return the highest rate over all rules of when to stop.

        The rows of rises are those of `rows` scores, each with all quantiles of the promise. The
        number of calls depends on the score, and also on the promise if it is at least `known`.
        """
        stages = self._stages(calls)
        top = 0.0
        for i in range(stages):
            rise = 0.0
            for r in range(rows):
                for k in range(QUANTILES):
                    weight = self.shares[k] * (self.shares[r] if rows > 1 else 1.0)
                    rise += weight * self.rises[r * QUANTILES + k, i]
            rate = rise / (first_cost + (self.calls[i] - 1) * cost)
            if rate > top:
                top = rate
        first = 0
        while first < stages and self.calls[first] < known:
            first += 1
        if top == 0.0 or (first == stages and rows == 1):
            return top
        for _ in range(MOST_STEPS):
            rises = 0.0
            costs = 0.0
            for r in range(rows):
                # The best number of calls that does not depend on the promise,
                best = -1e300
                best_rise = 0.0
                best_cost = 0.0
                for i in range(stages):
                    rise = 0.0
                    for k in range(QUANTILES):
                        rise += self.shares[k] * self.rises[r * QUANTILES + k, i]
                    spent = first_cost + (self.calls[i] - 1) * cost
                    if rise - top * spent > best:
                        best = rise - top * spent
                        best_rise = rise
                        best_cost = spent
                # and the best ones that do.
                if first < stages:
                    all_rise = 0.0
                    all_cost = 0.0
                    for k in range(QUANTILES):
                        one = -1e300
                        at = first
                        for i in range(first, stages):
                            spent = first_cost + (self.calls[i] - 1) * cost
                            value = self.rises[r * QUANTILES + k, i] - top * spent
                            if value > one:
                                one = value
                                at = i
                        all_rise += self.shares[k] * self.rises[r * QUANTILES + k, at]
                        all_cost += self.shares[k] * (first_cost + (self.calls[at] - 1) * cost)
                    if all_rise - top * all_cost > best:
                        best_rise = all_rise
                        best_cost = all_cost
                weight = self.shares[r] if rows > 1 else 1.0
                rises += weight * best_rise
                costs += weight * best_cost
            if not rises > top * costs * 1.001:
                break
            top = rises / costs
        return top

    def node(self, generator, q, u, sd, best, calls, cost, pending):
        """Return the rate of expanding a node by a generator.

        Parameters
        ----------
        generator
            Its number.
        q, u, sd
            The mean score of the node, and mean and standard deviation of its promise.
        best
            The highest mean of all nodes.
        calls
            The number of calls that are left.
        cost
            The cost of a call.
        pending
            The number of calls under way at the node: the rate is multiplied by what one more
            child adds to the best of their children.
        """
        for k in range(QUANTILES):
            self._fill_course(k, generator, q, u + sd * self.normal[k], best, calls, 0)
        at = (q - self.low) * self.inverse
        at = 0.0 if at < 0.0 else (self.cells - 1e-9 if at > self.cells - 1e-9 else at)
        c = cython.cast(cython.Py_ssize_t, at)
        t = at - c
        v = self.spread[generator, c] * (1.0 - t) + self.spread[generator, c + 1] * t
        rate = self._rate(1, cost, cost, calls, self._known(v, sd))
        if pending > 0:
            m = self.drift[generator, c] * (1.0 - t) + self.drift[generator, c + 1] * t + u
            rate *= self._share(pending, -m / v)
        return rate

    def _known(self, v, sd):
        """Return the number of calls that halve the variance of a promise."""
        ratio = v / sd if sd > 0.0 else 1e6
        return ratio * ratio if ratio < 1e4 else 1e8

    def _share(self, pending, x):
        """Return (G_(j+1) - G_j) / G_1 for j pending calls."""
        one = self._gain(1, x)
        most = self.gains.shape[0] - 1
        j = pending if pending < most else most
        if one <= 1e-12:
            return 1.0 / (1.0 + pending)
        return (self._gain(j + 1, x) - self._gain(j, x)) / one * j / pending

    def draft(self, mean, sd, generators, promise, best, calls, first_cost, costs):
        """Return the rate of a new draft that is then expanded by the best of some generators.

        Parameters
        ----------
        mean, sd
            Mean and standard deviation of the score of a draft.
        generators
            The numbers of those that can expand it.
        promise
            The standard deviations of its promise for each of them.
        best, calls
            As for `node`.
        first_cost, costs
            The cost of the draft, and of a call of each generator.
        """
        top = 0.0
        for g in range(generators.shape[0]):
            for k in range(QUANTILES):
                q = mean + sd * self.normal[k]
                for n in range(QUANTILES):
                    self._fill_course(
                        k * QUANTILES + n, generators[g], q, promise[g] * self.normal[n], best,
                        calls, 1,
                    )  # fmt: skip
            at = (mean - self.low) * self.inverse
            at = 0.0 if at < 0.0 else (self.cells - 1e-9 if at > self.cells - 1e-9 else at)
            v = self.spread[generators[g], cython.cast(cython.Py_ssize_t, at)]
            rate = self._rate(
                QUANTILES, first_cost, costs[g], calls, 1.0 + self._known(v, promise[g])
            )
            if rate > top:
                top = rate
        if generators.shape[0] == 0:
            for k in range(QUANTILES):
                q = mean + sd * self.normal[k]
                if q > best:
                    top += (q - best) * self.shares[k] / first_cost
        return top
