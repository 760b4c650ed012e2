"""The table of trials: what happened to each point, pending, observed or failed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough.spaces.parameters import Choice, Point
from bough.spaces.space import Space

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

#: States of a row. A failure of a point that is observed later no longer counts.
OBSERVED, FAILED, RECOVERED = 0, 1, 2
#: The number of latest trials that models of a neighborhood consider.
LATEST = 2000
#: The number of highest rewards that are listed: with noise, the highest may be a lucky one.
SHORT_LIST = 8
#: The number of choices between two options beyond which models treat them as the numbers 0 and 1:
#: there are too many combinations for a model of each.
FEW_BINARY = 3


class Observation(NamedTuple):
    """A reward, with the standard deviation of its noise if it was given."""

    point: Point
    value: float
    noise: float | None


class TrialTable:
    """The evaluations of a search.

    Those that have ended are the rows of a table, in the order in which they ended.

    Attributes
    ----------
    noisy
        Whether rewards vary: True, False, or None if that is not known yet.
    best
        The row of the highest reward; -1 if there is none.
    observed
        The rows of the observations of each point.
    failed
        The row of each point that failed and was not observed.
    pending
        The points that are being evaluated, by number, the oldest first; a point may recur.
    choices
        The slots of choices, but for those that are treated as numbers.
    is_mixed
        Whether there are both real and discrete numbers.
    """

    def __init__(self, space: Space, noisy: bool | None) -> None:
        self.space = space
        self.noisy = noisy
        self.best = -1
        self.observed: dict[Point, list[int]] = {}
        self.failed: dict[Point, int] = {}
        self.pending: dict[int, Point] = {}
        self._begun = 0  # the number of evaluations
        self._params: dict[Point, dict[str, Any]] = {}
        slots = space.slots
        choices = [i for i, s in enumerate(slots) if isinstance(s.parameter, Choice)]
        binary = [i for i in choices if slots[i].parameter.count == 2 and not any(slots[i].inner)]
        if len(binary) > FEW_BINARY:
            choices = [i for i in choices if i not in binary]
        self.choices = choices
        numeric = [i for i in range(len(slots)) if i not in choices]
        self._numeric = [i for i in numeric if slots[i].parameter.count != 1]
        self._discrete = [i for i in numeric if slots[i].parameter.count is not None]
        self._real = [i for i in self._numeric if slots[i].parameter.count is None]
        self._held = [i for i in range(len(slots)) if i not in self._real]
        self.is_mixed = 0 < len(self._real) < len(self._numeric)
        self._ended: list[Observation] = []
        self._count = 0  # of observations
        self._predicted: set[int] = set()  # the rows of rewards that were not measured
        #: A row for each trial, with its measured reward and the values of constraints, or NaN.
        self._outcomes: Array | None = None
        columns: list[Any] = [("state", int), ("value", float), ("noise", float)]
        columns += [(name, float, (len(slots),)) for name in ("positions", "coordinates")]
        self._table = np.empty(16, dtype=columns)

    def __len__(self) -> int:
        """Return the number of observations."""
        return self._count

    @property
    def ended(self) -> int:
        """The number of rows."""
        return len(self._ended)

    def __getitem__(self, row: int) -> Observation:
        return self._ended[row]

    # ------------------------------------------------------------------ events

    def pend(self, point: Point) -> None:
        """Record that the evaluation of a point begins."""
        self.pending[self._begun] = point
        self._begun += 1

    def settle(self, point: Point) -> None:
        """Remove a point from the pending ones, the oldest if it recurs."""
        number = self.pending_numbers().get(point)
        if number is not None:
            del self.pending[number]

    def pending_numbers(self) -> dict[Point, int]:
        """Return the number of each pending point, the oldest if it recurs."""
        numbers: dict[Point, int] = {}
        for number, point in self.pending.items():
            numbers.setdefault(point, number)
        return numbers

    def observe(
        self, point: Point, value: float, noise: float | None, *, predicted: bool = False
    ) -> int:
        """Record a reward, which was measured or predicted, and return its row."""
        earlier = self.observed.setdefault(point, [])
        if predicted:
            self._predicted.add(len(self._ended))
        else:
            measured = [row for row in earlier if row not in self._predicted]
            differs = bool(measured) and self._ended[measured[-1]].value != value
            if differs or noise:
                self.noisy = True
            elif measured and self.noisy is None and noise is None:
                self.noisy = False
        # (Noise 0 is that of the others: even exact rewards vary within a cell.)
        row = self._append(Observation(point, value, noise or None), OBSERVED)
        earlier.append(row)
        self._count += 1
        if self.failed and point in self.failed:
            self._table["state"][self.failed.pop(point)] = RECOVERED
        if self.best < 0 or value > self._ended[self.best].value:
            self.best = row
        return row

    def fail(self, point: Point, penalty: float) -> None:
        """Record a failure, and the value that beliefs which penalize failures observe there."""
        self.failed[point] = self._append(Observation(point, penalty, None), FAILED)

    def constrain(self, value: float | None, constraints: Sequence[float]) -> None:
        """Record the values of constraints of the last row, and its reward if it was measured."""
        width = 1 + len(constraints)
        known = np.empty((len(self._table), 0)) if self._outcomes is None else self._outcomes
        if known.shape[1] < width:
            more = np.full((len(known), width - known.shape[1]), math.nan)
            known = self._outcomes = np.concatenate([known, more], axis=1)
        row = len(self._ended) - 1
        known[row, 0] = math.nan if value is None else value
        known[row, 1:width] = constraints

    @property
    def are_constrained(self) -> bool:
        """Whether any trial has values of constraints."""
        return self._outcomes is not None

    def constrained(self, point: Point, *, held: bool = False) -> tuple[Array, Array] | None:
        """Return coordinates, rewards and constraints of the latest rows with a point's choices.

        If discrete values are held, of those with its discrete numbers.

        Each row of the second array has the reward and the values of the constraints, NaN where
        they are not known. Return None if no trial has constraints.
        """
        if self._outcomes is None:
            return None
        rows, coordinates, _ = self.alike(point, failures=True, held=held)
        return coordinates, self._outcomes[rows]

    def set_penalty(self, penalty: float) -> None:
        """Replace the penalties of all failures."""
        self._table["value"][list(self.failed.values())] = penalty

    def _append(self, trial: Observation, state: int) -> int:
        row = len(self._ended)
        if row == len(self._table):
            self._table = np.concatenate([self._table, self._table])
            if self._outcomes is not None:
                more = np.full_like(self._outcomes, math.nan, shape=(row, self._outcomes.shape[1]))
                self._outcomes = np.concatenate([self._outcomes, more])
        point, value, noise = trial
        positions = [math.nan if p is None else p for p in point]
        noise = math.nan if noise is None else noise
        self._table[row] = state, value, noise, positions, self._coordinates_of(point)
        self._ended.append(trial)
        return row

    # ------------------------------------------------------------------ params as they were given

    def keep_params(self, point: Point, params: Mapping[str, Any]) -> None:
        """Keep the params of a point as they were first given: those of the point are rounded.

        If all of its trials have failed, those of this one replace them: it may be feasible.
        """
        if point not in self._params or (point in self.failed and point not in self.observed):
            self._params[point] = dict(params)

    def drop_params(self, point: Point) -> None:
        """Drop the params of a point, unless it is pending, observed or failed."""
        known = point in self.observed or point in self.failed
        if not known and point not in self.pending.values():
            self._params.pop(point, None)

    def params_of(self, point: Point) -> dict[str, Any]:
        """Return a copy of the params of a point."""
        params = self._params.get(point)
        return self.space.params(point) if params is None else dict(params)

    # ------------------------------------------------------------------ rows

    def rows(self, first: int = 0, *, failures: bool = False) -> Rows:
        """Return the rows of the observations from the given one on, and of failures if asked."""
        ended = len(self._ended)
        if ended == self._count:  # there are no failures
            return np.arange(first, ended)
        states = self._table["state"][:ended]
        return np.flatnonzero(states != RECOVERED if failures else states == OBSERVED)[first:]

    def number(self, row: int) -> int:
        """Return the number of observations before a row."""
        return int(np.count_nonzero(self._table["state"][:row] == OBSERVED))

    def is_failed(self, rows: Rows) -> NDArray[np.bool_]:
        """Return whether rows are failures."""
        failed: NDArray[np.bool_] = self._table["state"][rows] == FAILED
        return failed

    def observations(self) -> list[Observation]:
        """Return the observations in order."""
        return [self._ended[row] for row in self.rows().tolist()]

    def highest_rows(self) -> list[int]:
        """Return the rows of the highest rewards."""
        rows: list[int] = self.rows()[self.values.argsort(kind="stable")].tolist()
        return rows[-SHORT_LIST:]

    def best_values(self, slot: int) -> tuple[Array, Rows]:
        """Return the highest reward with each option of a choice, and the number of rewards.

        The highest of none is infinity.
        """
        rows = self.rows()
        options, values = self._table["positions"][rows, slot], self._table["value"][rows]
        best = np.full(self.space.slots[slot].parameter.count or 0, -math.inf)
        chosen = ~np.isnan(options)
        np.maximum.at(best, options[chosen].astype(int), values[chosen])
        best[best == -math.inf] = math.inf
        return best, np.bincount(options[chosen].astype(int), minlength=len(best))

    @property
    def values(self) -> Array:
        """The rewards of the observations in order."""
        return self._table["value"][self.rows()]

    def table(self, rows: Rows) -> tuple[Array, Array, Array]:
        """Return positions, values (of failures, the penalty) and noises (or NaN) of rows."""
        table = self._table
        return table["positions"][rows], table["value"][rows], table["noise"][rows]

    # ------------------------------------------------------------------ coordinates

    def _coordinates_of(self, point: Point) -> list[float]:
        """Return the coordinates of a point from 0 to 1, the options of choices, or NaN."""
        row = [math.nan if p is None else p for p in point]
        for i in self._discrete:
            if point[i] is not None:
                edge, index = self.space.slots[i].parameter.edge, int(row[i])
                row[i] = 0.5 * (edge(index) + edge(index + 1))
        return row

    def active(self, point: Point, *, held: bool = False) -> list[int]:
        """Return the slots of the numbers that are active for a point, and can vary.

        If discrete values are held, only those of real numbers.
        """
        return [i for i in (self._real if held else self._numeric) if point[i] is not None]

    def kind(self, point: Point, *, held: bool = False) -> Point:
        """Return the options that a point has chosen; None for choices that are not active.

        If discrete values are held, with its discrete numbers.
        """
        return tuple(point[i] for i in (self._held if held else self.choices))

    def coordinates_of(self, point: Point, *, held: bool = False) -> list[float]:
        """Return the coordinates of the active numbers of a point."""
        found = self._coordinates_of(point)
        return [found[i] for i in self.active(point, held=held)]

    def spacing(self, slot: int, position: float | None) -> float:
        """Return the width of the interval of a discrete value; 0 for a real one."""
        if slot not in self._discrete:
            return 0.0
        edge, i = self.space.slots[slot].parameter.edge, int(position or 0)
        return edge(i + 1) - edge(i)

    def alike(
        self, point: Point, *, failures: bool = False, held: bool = False
    ) -> tuple[Rows, Array, Array]:
        """Return the latest rows with the choices of a point, their coordinates and values.

        If discrete values are held, those with its discrete numbers.
        """
        rows = self.rows(failures=failures)[-LATEST:]
        mine = [i for i in (self._held if held else self.choices) if point[i] is not None]
        if mine:
            positions = self._table["positions"][rows][:, mine]
            rows = rows[(positions == [point[i] for i in mine]).all(axis=1)]
        coordinates = self._table["coordinates"][rows].take(self.active(point, held=held), axis=1)
        return rows, coordinates, self._table["value"][rows]
