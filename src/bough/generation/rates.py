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
b_(k+1) = b_k + v G_1(x), V_(k+1) = V_k + v^2 (H(x) - G_1(x)^2) with x = -(m + u) / v at b_k. The
rate is the maximum over k of E(best after k calls - B)+ / cost, averaged over quantiles of u.
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
#: The most calls of a course; after FINE calls one step of the sum stands for several calls.
FINE = 2
MOST_CALLS = 400
#: A course has ended when a call adds less than this share of the spread of a step.
LEAST_GAIN = 1e-3
#: The number of quantiles of a promise.
QUANTILES = 5
#: The number of nodes whose rates are computed again in turn at each choice.
REFRESH = 4
#: Columns of the table of nodes: see `bough.generation.smoothing`.
MEAN, PROMISE, UNCERTAINTY = 5, 6, 9
CALIBRATION = 23


class Rates:
    """Rates by the curves of the generators, which `take` replaces."""

    def __init__(self):
        self.normal = np.array([-1.3998, -0.5320, 0.0, 0.5320, 1.3998])
        self.sums = np.zeros(MOST_CALLS + 1)
        self.calls = np.zeros(MOST_CALLS + 1, dtype=np.int32)
        calls, k = [], 0
        while k < MOST_CALLS:
            k = min(MOST_CALLS, k + max(1, k // FINE))
            calls.append(k)
        self.calls = np.array(calls, dtype=np.int32)

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
        self, table, index, stamps, now, refresh, tie, pending, closed, extra, best, calls, costs
    ):
        """Return the pair with the highest rate, as its place in `index`, -1 if there is none.

        Rates are computed again only where they decide: a pair is compared by the rate that it had
        when it was computed last, and computed again if that is the highest. (Rates fall as the
        best score rises.) Some others are computed again in turn, since rates may also rise.

        Parameters
        ----------
        table
            The table of nodes.
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
        n = index.shape[1]
        for g in range(index.shape[0]):
            for k in range(REFRESH if n > REFRESH else n):
                i = (refresh + k) % n
                self._compute(table, index, stamps, now, pending, closed, extra, best, calls,
                              costs, g, i)  # fmt: skip
        while True:
            top = -1.0
            at = -1
            for g in range(index.shape[0]):
                for i in range(n):
                    rate = index[g, i] * (1.0 + 1e-9 * tie[i])
                    if rate > top or (rate == top and at >= 0 and tie[i] > tie[at % n]):
                        top = rate
                        at = g * n + i
            if at < 0:
                return at
            g = at // n
            i = at % n
            if stamps[g, i] == now:
                return at
            self._compute(table, index, stamps, now, pending, closed, extra, best, calls, costs,
                          g, i)  # fmt: skip

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

    def _add_course(self, generator, q, u, best, calls, weight, start, variance):
        """Add the gains of a course over `best`, after each number of calls, to the sums.

        The course begins after `start` calls with some variance.
        """
        level = q
        done = start
        i = 0
        while self.calls[i] <= start:
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
            self.sums[i] += weight * rise
            done = self.calls[i]
            i += 1
            if gain < LEAST_GAIN:
                while i < self.calls.shape[0] and self.calls[i] <= calls:
                    self.sums[i] += weight * rise
                    i += 1
                break
        return 0

    def _clear(self):
        for i in range(self.calls.shape[0]):
            self.sums[i] = 0.0
        return 0

    def _highest(self, first_cost, cost, calls):
        """Return the highest rate of the sums."""
        top = 0.0
        for i in range(self.calls.shape[0]):
            if self.calls[i] > calls and i > 0:
                break
            rate = self.sums[i] / (first_cost + (self.calls[i] - 1) * cost)
            if rate > top:
                top = rate
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
        self._clear()
        for k in range(QUANTILES):
            self._add_course(
                generator, q, u + sd * self.normal[k], best, calls, 1.0 / QUANTILES, 0, 0.0
            )
        rate = self._highest(cost, cost, calls)
        if pending > 0:
            at = (q - self.low) * self.inverse
            at = 0.0 if at < 0.0 else (self.cells - 1e-9 if at > self.cells - 1e-9 else at)
            c = cython.cast(cython.Py_ssize_t, at)
            t = at - c
            v = self.spread[generator, c] * (1.0 - t) + self.spread[generator, c + 1] * t
            m = self.drift[generator, c] * (1.0 - t) + self.drift[generator, c + 1] * t + u
            rate *= self._share(pending, -m / v)
        return rate

    def _share(self, pending, x):
        """Return (G_(j+1) - G_j) / G_1 for j pending calls."""
        one = self._gain(1, x)
        most = self.gains.shape[0] - 1
        j = pending if pending < most else most
        if one <= 1e-12:
            return 1.0 / (1.0 + pending)
        return (self._gain(j + 1, x) - self._gain(j, x)) / one * j / pending

    def draft(self, mean, sd, generators, promise, best, calls, first_cost, costs, pending):
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
        pending
            The number of drafts under way.
        """
        top = 0.0
        for g in range(generators.shape[0]):
            self._clear()
            for k in range(QUANTILES):
                q = mean + sd * self.normal[k]
                if q > best:
                    self.sums[0] += (q - best) / QUANTILES
                for n in range(QUANTILES):
                    self._add_course(
                        generators[g], q, promise[g] * self.normal[n], best, calls,
                        1.0 / (QUANTILES * QUANTILES), 1, 0.0,
                    )  # fmt: skip
            rate = self._highest(first_cost, costs[g], calls)
            if rate > top:
                top = rate
        if generators.shape[0] == 0:
            self._clear()
            for k in range(QUANTILES):
                q = mean + sd * self.normal[k]
                if q > best:
                    self.sums[0] += (q - best) / QUANTILES
            top = self._highest(first_cost, first_cost, 1)
        return top / (1.0 + pending)
