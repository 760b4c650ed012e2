"""A searcher brought back to where it was, by doing again what was recorded."""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bough.exceptions import Exhausted, StudyError
from bough.learning.learner import Fit
from bough.studies.domain import Subject
from bough.studies.journal import Operation
from bough.studies.trials import Trial

#: Operations that a damaged file is rewritten with; the others only help to verify.
FACTS = ("ask", "take", "tell", "fail", "enqueue")


class Difference(Exception):  # noqa: N818 - it is found, and said, and no error
    """The searcher does not do what it did when the record was written."""


def generator_state(search: Any) -> int | None:
    """Return the state of a searcher's generator as a signed number of 64 bits, None if unknown."""
    random = getattr(search, "_random", None)
    if random is None:
        return None
    state: int = random.__reduce__()[1][0]
    return state - 2**64 if state >= 2**63 else state


class Replay:
    """The trials of a study and its searcher (None if nobody knows it), as the record says."""

    def __init__(self, subject: Subject, search: Any, sign: float) -> None:
        self.subject = subject
        self.search = search
        self.sign = sign
        self.trials: list[Trial] = []
        self.queue: deque[Any] = deque()
        self.failed = 0
        self._dropped: set[int] = set()  # operations that make no sense without lost ones
        self._learner = getattr(search, "_learner", None)  # where anything is learnt
        self._fits = 0  # so many of its fits are in the record

    # ------------------------------------------------------------------ from the record

    def run(self, operations: list[Operation]) -> Difference | None:
        """Do all again, and return the first difference, at which it ends."""
        restarts = [i for i, operation in enumerate(operations) if operation.kind == "restart"]
        begin = restarts[-1] + 1 if restarts else 0
        fits: dict[int | None, list[Fit]] = {}  # by the trial after which they were taken
        for operation in operations[begin:]:
            if operation.kind == "refit":
                fits.setdefault(operation.trial, []).append(_fit(operation))
        try:
            self.load(operations[:begin], fits.get(None, ()))
            with self._recalling(()):
                for operation in operations[begin:]:
                    self._follow(operation, fits)
        except Difference as difference:
            return difference
        self.new_fits()
        return None

    def load(self, operations: Iterable[Operation], fits: Sequence[Fit] = ()) -> None:
        """Take what was told, or failed, as it is, whatever was asked; in the order of these.

        It is learnt from when all was told, or what was learnt then is taken.
        """
        ended = []
        for operation in operations:
            self._note(operation)
            if operation.kind in ("tell", "fail") and operation.n not in self._dropped:
                ended.append(operation.trial)
        if self.search is None or not ended:
            return
        with self._recalling(()):
            for id_ in ended:
                assert id_ is not None  # what ends is a trial
                trial = self.trials[id_]
                asked = self.subject.asked(trial)
                try:
                    if trial.value is None:
                        self.search.fail(asked)
                    else:
                        self._tell_searcher(asked, trial.value, trial.noise)
                except ValueError as error:
                    raise StudyError(
                        f"trial {id_} does not fit the searcher any more, or its tree: {error}"
                    ) from error
        if self._learner is not None and self.search.observations:
            with self._recalling(fits):
                try:
                    self.search._learn()
                except ValueError as error:
                    if not fits:
                        raise
                    raise Difference(f"what was learnt of all before differs: {error}") from error

    @contextmanager
    def _recalling(self, fits: Iterable[Fit]) -> Iterator[None]:
        """Have the searcher take these fits, and learn nothing else."""
        if self._learner is None:
            yield
            return
        self._learner.recorded = deque(fits)
        try:
            yield
        finally:
            self._learner.recorded = None

    def _follow(self, operation: Operation, fits: dict[int | None, list[Fit]]) -> None:
        """Do one operation again, and compare."""
        if self.search is None:
            self._note(operation)
        elif operation.kind in ("ask", "exhausted"):
            asked = self._ask_again(operation)
            if asked is not None:
                self.begin(asked, operation.at)
        elif operation.kind == "tell":
            trial, (value, noise) = self.trials[operation.trial or 0], _told(operation)
            if self._learner is not None and trial.id in fits:
                self._learner.recorded = deque(fits[trial.id])
            try:
                self.tell(trial, value, noise, operation.at)
            except ValueError as error:
                raise Difference(f"trial {trial.id} differs: telling it gives {error!r}") from error
        elif operation.kind == "fail":
            trial = self.trials[operation.trial or 0]
            self.fail(trial, json.loads(operation.body), operation.at)
        elif operation.kind != "refit":  # (those are taken with their trials)
            self._note(operation)

    def _ask_again(self, operation: Operation) -> Any:
        """Return what the searcher asks, if that is what it asked then; None if nothing."""
        try:
            asked = self.search.ask()
        except Exhausted:
            asked = None
        now = "null" if asked is None else self.subject.write(asked)
        then, state = operation.body, generator_state(self.search)
        if json.loads(now) != json.loads(then) or state != operation.state:
            here = "that nothing is left" if asked is None else str(asked)
            there = "that nothing was left" if then == "null" else str(self.subject.read(then))
            if json.loads(now) == json.loads(then):
                here = f"{here} with another random state"
            raise Difference(
                f"trial {len(self.trials)} differs: the searcher says {here}, and said {there} "
                f"when this was recorded; has the program changed?"
            )
        return asked

    def _note(self, operation: Operation) -> None:
        """Keep account of an operation, without the searcher."""
        kind, id_ = operation.kind, operation.trial
        if kind in ("ask", "take"):
            asked = self.subject.read(operation.body)
            while id_ is not None and len(self.trials) < id_:  # of a damaged file
                at = operation.at
                lost = Trial(len(self.trials), (), None, None, "failed", at, at)
                self.trials.append(lost._replace(reason="its record was damaged"))
                self.failed += 1
            if kind == "take" and asked in self.queue:
                self.queue.remove(asked)
            self.begin(asked, operation.at)
        elif kind in ("tell", "fail"):
            if id_ is None or id_ >= len(self.trials) or self.trials[id_].state != "running":
                self._dropped.add(operation.n)
            elif kind == "tell":
                value, noise = _told(operation)
                self._end_told(self.trials[id_], value, noise, operation.at)
            else:
                self._end_failed(self.trials[id_], json.loads(operation.body), operation.at)
        elif kind == "enqueue":
            self.queue.append(self.subject.read(operation.body))

    # ------------------------------------------------------------------ as it happens

    def begin(self, asked: Any, at: float) -> Trial:
        """Add a trial that runs."""
        path, params = self.subject.path(asked), self.subject.params(asked)
        trial = Trial(len(self.trials), path, params, None, "running", at)
        self.trials.append(trial)
        return trial

    def tell(self, trial: Trial, value: float, noise: float | None, at: float) -> None:
        """Tell the searcher, or leave everything as it was."""
        self._tell_searcher(self.subject.asked(trial), value, noise)
        self._end_told(trial, value, noise, at)

    def _tell_searcher(self, asked: Any, value: float, noise: float | None) -> None:
        if self.search is not None:
            self.search.tell(asked, self.sign * value, noise=noise)

    def _end_told(self, trial: Trial, value: float, noise: float | None, at: float) -> None:
        id_, path, params, _, _, started, *_ = trial
        self.trials[id_] = Trial(id_, path, params, value, "told", started, at, noise)

    def fail(self, trial: Trial, reason: str, at: float) -> None:
        """End a trial without a value, and tell the searcher so."""
        if self.search is not None:
            self.search.fail(self.subject.asked(trial))
        self._end_failed(trial, reason, at)

    def _end_failed(self, trial: Trial, reason: str, at: float) -> None:
        self.trials[trial.id] = trial._replace(state="failed", reason=reason, ended=at)
        self.failed += 1

    # ------------------------------------------------------------------ what there is to say

    def running(self) -> list[int]:
        """Return the trials that are neither told nor failed."""
        return [trial.id for trial in self.trials if trial.state == "running"]

    def used(self, operation: Operation) -> bool:
        """Return whether an operation of a damaged file still means something."""
        return operation.kind in FACTS and operation.n not in self._dropped

    def summary(self) -> str:
        """Say what was read of a damaged file, and what was dropped."""
        told = sum(trial.state == "told" for trial in self.trials)
        lost = sum(trial.reason == "its record was damaged" for trial in self.trials)
        return (
            f"{told} values of {len(self.trials)} trials were read; {lost} trials and "
            f"{len(self._dropped)} values without a trial were dropped, and what was not told will "
            "be evaluated again"
        )

    def new_fits(self) -> list[str]:
        """Return what was learnt since the last call, as the record holds it."""
        if self._learner is None or len(self._learner.fits) == self._fits:
            return []
        fits = self._learner.fits[self._fits :]
        self._fits += len(fits)
        return [_fit_text(self._learner, fit) for fit in fits]


def _fit_text(learner: Any, fit: Fit) -> str:
    slots = (learner.exact_model if fit.exact else learner.model).slots
    values = {slot.name: value for slot, value in zip(slots, fit.values, strict=True)}
    return json.dumps({"values": values, "exact": fit.exact, "likelihood": fit.likelihood})


def _fit(operation: Operation) -> Fit:
    body = json.loads(operation.body)
    return Fit(list(body["values"].values()), body["exact"], body["likelihood"])


def _told(operation: Operation) -> tuple[float, float | None]:
    body = json.loads(operation.body)
    return (body[0], body[1]) if isinstance(body, list) else (body, None)
