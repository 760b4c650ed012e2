"""Replay: the trials of a study, and its searcher resumed by repeating the recorded operations."""

import json
import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from bough.exceptions import Exhausted, StudyError
from bough.studies.constraints import check_count, is_feasible
from bough.studies.describe import INVALID
from bough.studies.operations import ENDS, Operation, read_outcome, read_rejection
from bough.studies.trials import Domain, Report, Trial

#: The relative difference that a parameter may have on another machine.
ROUNDING = 1e-9
#: A recorded fit of hyperparameters: see `Searcher.fits`.
PlainFit = dict[str, Any]


class Difference(Exception):  # noqa: N818 - found and reported, not an error
    """Raised where the searcher does not repeat what was recorded."""


class Replay:
    """The trials of a study and its searcher (None if it is not known), as recorded.

    A searcher is resumed through its documented methods: each recorded ask is compared with what it
    asks now and with its `random_state` afterwards, and `replay_fits` makes it take the recorded
    hyperparameters, since an optimizer may end elsewhere on another machine. A parameter that
    differs by rounding, as linear algebra does between machines, counts as the same.
    """

    def __init__(self, domain: Domain, search: Any, sign: float) -> None:
        self.domain = domain
        self.search = search
        self.sign = sign
        self.trials: list[Trial] = []
        self.queue: deque[Any] = deque()
        self.failed = 0
        self.unobserved = 0  # trials that have ended, and of which the searcher observed nothing
        self.constraints: int | None = None  # the number of constraints of each trial
        #: What the searcher observed of pruned trials: value and noise, or None and None.
        self.predicted: dict[int, tuple[float | None, float | None]] = {}
        self._fits = 0  # the number of the searcher's fits that are recorded
        self._rounded: dict[int, Any] = {}  # what it asked for now, where that differs by rounding

    def run(self, operations: list[Operation]) -> Difference | None:
        """Repeat all operations, and return the first difference, at which it ends."""
        if self.search is None:
            self.load(operations)
            return None
        restarts = [i for i, operation in enumerate(operations) if operation.kind == "restart"]
        begin = restarts[-1] + 1 if restarts else 0
        fits: dict[int | None, list[PlainFit]] = {}  # by the trial after which they were made
        for operation in operations[begin:]:
            if operation.kind == "refit":
                fits.setdefault(operation.trial, []).append(json.loads(operation.body))
        try:
            self.load(operations[:begin], fits.get(None, ()))
            self.search.replay_fits(())
            for operation in operations[begin:]:
                self._repeat(operation, fits.get(operation.trial))
        except Difference as difference:
            return difference
        finally:
            self.search.replay_fits(None)
        if operations[begin:]:  # else the fits made by loading are not recorded yet
            self.new_fits()
        return None

    def load(self, operations: Iterable[Operation], fits: Sequence[PlainFit] = ()) -> None:
        """Observe all recorded values and failures, whatever the searcher would have asked.

        The hyperparameters are fitted once, at the end, or the given fits are taken.
        """
        ended = []
        for operation in operations:
            self.note(operation)
            if operation.kind in (*ENDS, "reject"):
                ended.append(operation)
        if self.search is None or not ended:
            return
        self.search.replay_fits(())
        try:
            for operation in ended:
                try:
                    if operation.kind == "reject":
                        self.reject(self._read(operation), self._rejection(operation)[0])
                    else:
                        self._end(operation)
                except (TypeError, ValueError) as error:
                    raise StudyError(
                        f"trial {operation.trial} does not fit the searcher any more, or its tree: "
                        f"{error}"
                    ) from error
            self.search.replay_fits(fits or None)
            if self.search.observations:
                try:
                    self.search.refit()
                except ValueError as error:
                    if not fits:
                        raise
                    raise Difference(f"the recorded fit differs: {error}") from error
        finally:
            self.search.replay_fits(None)

    def check_waiting(self) -> None:
        """Refuse trials that are running or enqueued, and that the searcher could not observe."""
        running = [trial for trial in self.trials if trial.state == "running"]
        for candidate in (*(trial.candidate for trial in running), *self.queue):
            try:
                if self.domain.space is not None:
                    self.domain.space.point(candidate)
                elif self.search is not None:  # else the tree may not be known
                    self.domain.tree.walk(candidate)
            except (TypeError, ValueError) as error:
                raise StudyError(
                    f"a trial that has not ended does not fit {self.domain.source!r}: {error}"
                ) from error

    def _repeat(self, operation: Operation, fits: list[PlainFit] | None) -> None:
        """Repeat one operation with the searcher, and compare."""
        kind, id_ = operation.kind, operation.trial or 0
        if kind in ("ask", "exhausted"):
            candidate = self._ask_again(operation, operation.body)
            if candidate is not None and self.domain.write(candidate) != operation.body:
                self._rounded[len(self.trials)] = candidate
        elif kind == "reject":
            values, then = self._rejection(operation)
            candidate = self._ask_again(operation, self.domain.write(self._read(operation)))
            self.search.replay_fits(then)
            self.reject(candidate, values)
        self.note(operation)
        if kind in ENDS:
            if fits is not None and kind != "fail":
                self.search.replay_fits(fits)
            try:
                self._end(operation)
            except (TypeError, ValueError) as error:
                what = "its failure" if kind == "fail" else "telling it"
                raise Difference(f"trial {id_} differs: {what} gives {error!r}") from error

    def _ask_again(self, operation: Operation, then: str) -> Any:
        """Return what the searcher asks for, and raise if it asked for something else then."""
        try:
            candidate = self.search.ask()
        except Exhausted:
            candidate = None
        now = "null" if candidate is None else self.domain.write(candidate)
        same = now == then or _agree(json.loads(now), json.loads(then))
        if not same or self.search.random_state != operation.state:
            here = "nothing" if candidate is None else str(candidate)
            there = "nothing" if then == "null" else str(self._read(operation))
            if same:
                here = f"{here} with another random state"
            raise Difference(
                f"trial {len(self.trials)} differs (has the program changed?): the searcher asks "
                f"for {here}, and asked for {there} when this was recorded"
            )
        return candidate

    def _end(self, operation: Operation) -> None:
        """Let the searcher observe the end of a trial that was noted."""
        trial = self.trials[operation.trial or 0]
        observed = self.predicted.get(trial.id, (trial.value, trial.noise))
        self.end(trial, *observed, constraints=trial.constraints)

    def end(
        self,
        trial: Trial,
        value: float | None,
        noise: float | None,
        *,
        pruned: bool = False,
        constraints: Sequence[float] = (),
    ) -> None:
        """Let the searcher observe the value of a trial, one that is predicted, or its failure."""
        candidate = self._rounded.get(trial.id, trial.candidate)
        if value is None:
            self.search.fail(candidate)
        elif pruned or trial.state == "pruned":
            self.search.prune(candidate, self.sign * value, noise=noise)
        elif constraints:
            self.search.tell_constrained(candidate, self.sign * value, constraints, noise=noise)
        else:
            self.search.tell(candidate, self.sign * value, noise=noise)

    def reject(self, candidate: Any, constraints: Sequence[float]) -> None:
        """Tell the searcher that a candidate violates constraints that are known before."""
        self.search.tell_constrained(candidate, None, constraints)

    def _rejection(self, operation: Operation) -> tuple[tuple[float, ...], list[PlainFit]]:
        _, values, fits = read_rejection(json.loads(operation.body))
        return values, fits

    def note(self, operation: Operation) -> None:
        """Update the trials by an operation, without the searcher."""
        kind, id_ = operation.kind, operation.trial or 0
        if kind in ("ask", "take"):
            candidate = self._read(operation)
            if kind == "take" and candidate in self.queue:
                self.queue.remove(candidate)
            try:
                self.begin(candidate, operation.at)
            except (TypeError, ValueError) as error:
                raise self._misfit(operation, error) from error
        elif kind == "tell":
            try:
                self.complete(id_, *read_outcome(json.loads(operation.body)), operation.at)
            except ValueError as error:  # the number of constraints is another one
                raise self._misfit(operation, error) from error
        elif kind == "prune":
            *observed, reports, _ = read_outcome(json.loads(operation.body))
            self.predicted[id_] = observed[0], observed[1]
            self.unobserved += observed[0] is None
            self.trials[id_] = self.trials[id_]._replace(
                state="pruned", reports=reports, ended=operation.at
            )
        elif kind == "fail":
            reason = json.loads(operation.body)
            self.trials[id_] = self.trials[id_]._replace(
                state="failed", reason=reason, ended=operation.at
            )
            self.failed += 1
            self.unobserved += 1
        elif kind == "enqueue":
            self.queue.append(self._read(operation))

    def begin(self, candidate: Any, at: float) -> None:
        """Add a running trial."""
        place = self.domain.place(candidate)
        self.trials.append(Trial(len(self.trials), *place, None, "running", at))

    def complete(
        self,
        id_: int,
        value: float,
        noise: float | None,
        reports: tuple[Report, ...],
        constraints: tuple[float, ...],
        at: float,
    ) -> None:
        """Give a trial its value."""
        _, path, params, _, _, started, *_ = self.trials[id_]
        self.constraints = check_count(constraints, self.constraints)
        feasible = is_feasible(constraints)
        self.unobserved += not feasible
        self.trials[id_] = Trial(
            id_, path, params, value, "completed" if feasible else "infeasible", started, at, noise,
            None, reports, constraints,
        )  # fmt: skip

    def _read(self, operation: Operation) -> Any:
        try:
            if operation.kind == "reject":
                return self.domain.read(json.dumps(json.loads(operation.body)[0]))
            return self.domain.read(operation.body)
        except INVALID as error:
            raise self._misfit(operation, error) from error

    def _misfit(self, operation: Operation, error: Exception) -> StudyError:
        return StudyError(
            f"operation {operation.n}, {operation.kind} {operation.body[:200]}, does not fit "
            f"{self.domain.source!r}: {error!r}"
        )

    def new_fits(self) -> list[str]:
        """Return the searcher's fits since the last call, as they are recorded."""
        fits = [] if self.search is None else self.search.fits(self._fits)
        self._fits += len(fits)
        return [json.dumps(fit) for fit in fits]


def _agree(now: Any, then: Any) -> bool:
    """Return whether two candidates, as they are recorded, are equal up to rounding."""
    if isinstance(now, float) and isinstance(then, float):
        return math.isclose(now, then, rel_tol=ROUNDING)
    if isinstance(now, dict) and isinstance(then, dict):
        return now.keys() == then.keys() and all(_agree(now[name], then[name]) for name in now)
    if isinstance(now, list) and isinstance(then, list):
        return len(now) == len(then) and all(map(_agree, now, then))
    return bool(now == then)
