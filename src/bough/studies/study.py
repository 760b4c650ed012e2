"""Durable studies: a searcher and its trials, in a file that survives a killed process."""

import json
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from bough._html import table
from bough._validation import at_least_zero, real, whole
from bough.belief.best_arm import Arm
from bough.exceptions import Exhausted, Infeasible, ObjectiveError, StudyError
from bough.searchers import Certificate, Searcher
from bough.searchers.base import negative_arm, negative_certificate
from bough.searchers.registry import make_searcher
from bough.spaces import Space
from bough.spaces.searcher import SpaceSearcher
from bough.studies.constraints import (
    KnownConstraints,
    check_count,
    is_feasible,
    read_constraints,
)
from bough.studies.describe import (
    check_domain,
    check_new,
    describe_seed,
    in_sign,
    searcher_factory,
    sign_of,
    specify,
)
from bough.studies.journal import Durability, Journal
from bough.studies.operations import Operation, write_outcome, write_rejection
from bough.studies.replay import Replay
from bough.studies.trials import (
    Domain,
    Report,
    Trial,
    Trials,
    best_completed,
    counts_text,
    read_reports,
)
from bough.trees import Tree


class Study:
    """A searcher with a durable history of trials.

    Use `Study.create` or `Study.open` to make one. Each value is in the file when `tell` returns. A
    study that is opened again resumes exactly as if it had never been closed, or its process
    killed: the searcher is rebuilt from the record, and each recorded ask is compared with that of
    the searcher. Trials that were running are offered again first.

    One process may write at a time; any number may read (`read_only=True`).

    Examples
    --------
    >>> import bough, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
    >>> with bough.Study.create(path, bough.Tree(3, 4), rng=0) as study:
    ...     for _ in range(20):
    ...         trial = study.ask()
    ...         study.tell(trial, sum(trial.path))
    >>> with bough.Study.open(path) as study:  # perhaps on another day
    ...     trial = study.ask()
    ...     study.tell(trial, sum(trial.path))
    >>> len(study.trials), trial.id, study.best().value <= 8
    (21, 20, True)
    """

    def __init__(self, journal: Journal, specification: dict[str, Any], replay: Replay) -> None:
        self._journal = journal
        self._replay = replay
        self.path = journal.path  #: The file.
        self.specification = specification  #: The recorded arguments of `create`.
        self.domain = replay.domain  #: The tree or space, as the loop uses it.
        self.tree = self.domain.tree  #: The tree, or that of the fixed partition of the space.
        self.space = self.domain.space  #: The space, None on a tree.
        #: The factor of values before the searcher observes them: -1 if the study minimizes.
        self.sign = replay.sign
        #: The random state of the new searcher, from which the seeds of trials derive.
        self.first_state = int(specification["begin"] or 0)
        #: Whether the searcher is known, and so `best` and `certificate`.
        self.replayed = replay.search is not None
        self._again = deque(trial.id for trial in replay.trials if trial.state == "running")
        self._guard = Guard(journal)

    # ------------------------------------------------------------------ making and opening

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        tree_or_space: Tree | Space,
        *,
        searcher: Any = "gpts",
        rng: np.random.Generator | int | None = None,
        direction: str = "maximize",
        durability: Durability = "full",
        about: str | None = None,
        **options: Any,
    ) -> "Study":
        """Create a study in a new file.

        Parameters
        ----------
        path
            The file, which must not exist.
        tree_or_space
            The domain of the search.
        searcher
            The name of a searcher, which is stored in the file; or a searcher or a function that
            returns one, which must be passed again to `open`.
        rng
            The seed. By default one is drawn, and recorded.
        direction
            `"maximize"` or `"minimize"`.
        durability
            `"full"`: values survive a power failure. `"process"`: values survive the death of this
            process, at about 0.1 ms per trial instead of a few ms.
        about
            A description of the objective, shown with the file.
        options
            Options of a searcher that is given by its name, such as `kernel`, `noise` and `bounds`
            (those of the values, also if they are minimized).
        """
        domain = Domain(tree_or_space)
        if direction not in ("maximize", "minimize"):
            raise ValueError(f'direction must be "maximize" or "minimize", got {direction!r}')
        if about is not None and not isinstance(about, str):
            raise TypeError(f"about must be a text, got {about!r}")
        specification = specify(tree_or_space, searcher, rng, direction, options) | {"about": about}
        if rng is None:
            rng = specification["seed"]
        options = in_sign(options, direction)
        search = check_new(make_searcher(searcher, tree_or_space, rng, options))
        specification["begin"] = search.random_state
        journal = Journal.create(FilePath(path), specification, durability)
        return cls(journal, specification, Replay(domain, search, sign_of(specification)))

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        tree: Tree | Space | None = None,
        *,
        searcher: Any = None,
        read_only: bool = False,
        durability: Durability = "full",
        **options: Any,
    ) -> "Study":
        """Open a study, to resume it.

        Parameters
        ----------
        path
            The file.
        tree
            The tree or space; needed if the tree has functions, or options of the space are
            objects, and otherwise compared.
        searcher, options
            As for `create`; needed if they were functions or objects, and otherwise compared.
        read_only
            Whether to open it for reading only, while another process may write.

        Raises
        ------
        StudyError
            If the file is damaged, or is a study of something else. Nothing is changed; `bough
            study export` saves the operations that can be read.

        Warns
        -----
        UserWarning
            If the searcher asks for other candidates than those recorded, because the program has
            changed: the warning names the first trial that differs. All observations are kept, and
            the search continues from them. It also names recorded options that the searcher no
            longer has.
        """
        file = FilePath(path)
        journal = Journal.open(file, durability, read_only=read_only)
        try:
            specification, operations = journal.read()
            found = check_domain(file, specification, tree)
            make, dropped = searcher_factory(file, specification, found, searcher, options)
            if make is None and not read_only:
                raise StudyError(
                    f"{file} cannot hold its searcher, {specification['searcher']} with options "
                    f"{specification['options']}: give it what is a function or an object again"
                )
            domain, sign = Domain(found), sign_of(specification)
            replay = Replay(domain, make and make(), sign)
            difference = replay.run(operations)
            changes = [
                f"the searcher {specification['searcher']} no longer has the option {name}; its "
                "default is used"
                for name in dropped
            ]
            if difference is not None:
                changes.append(str(difference))
                changes.append("All observations are kept, and the search continues from them")
                replay = Replay(domain, make and make(), sign)
                replay.load(operations)
                journal.defer([Operation.now("restart")])
            replay.check_waiting()
            fits = replay.new_fits()  # of observations that were loaded
            journal.defer([Operation.now("refit", body=fit) for fit in fits])
            if changes:
                warnings.warn(f"{file}: {'. '.join(changes)}", UserWarning, stacklevel=3)
            return cls(journal, specification, replay)
        except BaseException:
            journal.close()
            raise

    @classmethod
    def look(cls, path: str | os.PathLike[str]) -> "Study":
        """Return the trials of a study without its searcher, which needs no functions."""
        journal = Journal.open(FilePath(path), "full", read_only=True)
        specification, operations = journal.read()
        replay = Replay(Domain(Tree(1, 0)), None, sign_of(specification))
        replay.load(operations)
        return cls(journal, specification, replay)

    # ------------------------------------------------------------------ ask and tell

    def ask(self, constraints: KnownConstraints | Callable[[Any], Any] | None = None) -> Trial:
        """Return a trial to evaluate.

        Trials left running by a dead process come first, under their own ids; then those that were
        enqueued; then those of the searcher. Raises `bough.Exhausted` if no candidate is left.

        Parameters
        ----------
        constraints
            A cheap function of the params, or of the path, that returns a number or a sequence of
            numbers, feasible if all are at most 0. Infeasible candidates of the searcher are
            skipped, and infeasible enqueued trials fail. The trial has the values, and `tell`
            records them.
        """
        known = constraints
        if known is not None and not isinstance(known, KnownConstraints):
            known = KnownConstraints(known, self.domain)
        with self._guard:
            while (trial := self._waiting()) is not None:
                if known is None:
                    return trial
                try:
                    values = known.values(trial.candidate)
                except ObjectiveError as error:
                    if (reason := known.reason(error)) is not None:
                        return trial._replace(reason=reason)
                    self.offer_again([trial.id])
                    raise
                if is_feasible(values):
                    return trial._replace(constraints=values)
                reason = f"it violates the constraints: {list(values)}"
                if known is constraints:  # a run has the trial in its history
                    return trial._replace(reason=reason)
                self.fail(trial, reason)
            return self._ask_searcher(known)

    def _waiting(self) -> Trial | None:
        """Return a trial that was left running or enqueued; None if there is none."""
        replay = self._replay
        while self._again:
            trial = replay.trials[self._again.popleft()]
            if trial.state == "running":
                return trial
        if not replay.queue:
            return None
        id_ = len(replay.trials)
        operation = Operation.now("take", id_, self.domain.write(replay.queue[0]))
        self._journal.append([operation], durable=False)
        replay.note(operation)
        return replay.trials[id_]

    def _ask_searcher(self, known: KnownConstraints | None) -> Trial:
        """Return a trial of the searcher, which satisfies the constraints that are known."""
        search = self._replay.search
        operations: list[Operation] = []
        while True:
            try:
                candidate = search.ask()
            except Exhausted:
                operations.append(Operation.now("exhausted", state=search.random_state))
                self._journal.append(operations, durable=False)
                raise
            body, state = self.domain.write(candidate), search.random_state
            if known is None:
                return self._begin(candidate, body, state, operations)
            try:
                values = known.values(candidate)
            except ObjectiveError as error:
                trial = self._begin(candidate, body, state, operations)
                if (reason := known.reason(error)) is not None:
                    return trial._replace(reason=reason)
                self.offer_again([trial.id])
                raise
            if is_feasible(values):
                trial = self._begin(candidate, body, state, operations)
                return trial._replace(constraints=values)
            self._replay.reject(candidate, values)
            rejection = write_rejection(body, values, self._replay.new_fits())
            operations.append(Operation.now("reject", body=rejection, state=state))
            try:
                known.check_tries()
            except Infeasible:
                self._journal.append(operations, durable=False)
                raise

    def _begin(
        self, candidate: Any, body: str, state: int | None, before: list[Operation]
    ) -> Trial:
        """Record a trial that the searcher asked for, after other operations."""
        replay = self._replay
        id_ = len(replay.trials)
        operation = Operation.now("ask", id_, body, state)
        self._journal.append([*before, operation], durable=False)
        if type(candidate) is tuple:
            replay.begin(candidate, operation.at)
        else:
            replay.note(operation)
        return replay.trials[id_]

    def tell(
        self,
        trial_or_id: Trial | int,
        value: float,
        *,
        noise: float | None = None,
        reports: Sequence[Report] = (),
        constraints: float | Sequence[float] | None = None,
    ) -> None:
        """Record the value of a trial, which is on disk on return.

        Parameters
        ----------
        trial_or_id
            The trial, which is running.
        value
            Its final value.
        noise
            The standard deviation of the value.
        reports
            The intermediate values, pairs of a step and a value.
        constraints
            The values of all constraints, feasible if all are at most 0; the same number for each
            trial. By default those computed by `ask`.
        """
        with self._guard:
            trial = self._running(trial_or_id)
            number = real(value, "value")
            noise = None if noise is None else at_least_zero(noise, "noise")
            curve = read_reports(reports)
            if constraints is None:
                constraints = trial_or_id.constraints if isinstance(trial_or_id, Trial) else ()
            values = read_constraints(constraints)
            check_count(values, self._replay.constraints)
            body = write_outcome(number, noise, curve, values)
            operation = Operation.now("tell", trial.id, body)
            self._replay.end(trial, number, noise, constraints=values)
            self._append_with_fits(operation)
            self._replay.complete(trial.id, number, noise, curve, values, operation.at)

    def prune(
        self,
        trial_or_id: Trial | int,
        reports: Sequence[Report],
        *,
        predicted: float | None = None,
        noise: float | None = None,
    ) -> None:
        """Record that a trial was stopped early.

        Parameters
        ----------
        trial_or_id
            The trial, which is running.
        reports
            The intermediate values, pairs of a step and a value; at least one.
        predicted
            The final value that the searcher observes in place of the one that was not measured;
            worse than the best value so far. By default the searcher treats the trial as failed.
        noise
            The standard deviation of the predicted value.
        """
        with self._guard:
            trial = self._running(trial_or_id)
            curve = read_reports(reports)
            if not curve:
                raise ValueError("reports must have at least one pair (step, value), got none")
            if predicted is None and noise is not None:
                raise ValueError(f"noise is that of the predicted value, got {noise!r} without one")
            if predicted is not None:
                predicted = self._checked_prediction(predicted)
            noise = None if noise is None else at_least_zero(noise, "noise")
            operation = Operation.now("prune", trial.id, write_outcome(predicted, noise, curve))
            self._replay.end(trial, predicted, noise, pruned=True)
            self._append_with_fits(operation)
            self._replay.note(operation)

    def _checked_prediction(self, given: Any) -> float:
        """Return the predicted value of a pruned trial, which must not be recommended."""
        predicted, sign = real(given, "predicted"), self.sign
        values = [sign * (t.value or 0.0) for t in self.trials if t.state == "completed"]
        if not values or sign * predicted >= max(values):
            raise ValueError(
                "predicted must be worse than the best value so far, since only completed trials "
                f"are recommended; got {given!r}"
            )
        return predicted

    def _append_with_fits(self, operation: Operation) -> None:
        """Record the end of a trial, and the fits that the searcher has made since."""
        fits = [Operation.now("refit", operation.trial, fit) for fit in self._replay.new_fits()]
        self._journal.append([operation, *fits])

    def fail(self, trial_or_id: Trial | int, reason: str = "") -> None:
        """Record that a trial failed: it has no value, and its candidate is avoided."""
        with self._guard:
            trial = self._running(trial_or_id)
            operation = Operation.now("fail", trial.id, json.dumps(str(reason)))
            self._journal.append([operation])
            self._replay.end(trial, None, None)
            self._replay.note(operation)

    def enqueue(self, params_or_path: Mapping[str, Any] | Sequence[int]) -> None:
        """Evaluate a path, or params, before the searcher's next candidate."""
        with self._guard:
            candidate: Any = self.domain.check(params_or_path, self._replay.search)
            operation = Operation.now("enqueue", body=self.domain.write(candidate))
            self._journal.append([operation])
            self._replay.note(operation)

    def _running(self, trial_or_id: Trial | int) -> Trial:
        id_ = trial_or_id.id if isinstance(trial_or_id, Trial) else trial_or_id
        id_ = whole(id_, "trial", least=0)
        trials = self._replay.trials
        if id_ >= len(trials):
            raise ValueError(f"there is no trial {id_}: the study has {len(trials)} so far")
        trial = trials[id_]
        if isinstance(trial_or_id, Trial) and trial.path != trial_or_id.path:
            raise ValueError(
                f"trial {id_} of this study has path {trial.path}, not {trial_or_id.path}; "
                "is it a trial of another study?"
            )
        if trial.state in ("completed", "infeasible"):
            raise ValueError(f"trial {id_} has a value already: {trial.value!r}; ask for another")
        if trial.state == "pruned":
            raise ValueError(f"trial {id_} was pruned after step {trial.steps}; ask for another")
        if trial.state == "failed":
            raise ValueError(f"trial {id_} has failed ({trial.reason}); ask for another")
        return trial

    # ------------------------------------------------------------------ state

    @property
    def trials(self) -> Trials:
        """All trials, readable after the study is closed too."""
        return Trials(self._replay.trials)

    def trials_dataframe(self) -> Any:
        """Return all trials as a `pandas.DataFrame`: `trials.to_pandas()`, by Optuna's name."""
        return self.trials.to_pandas()

    @property
    def searcher(self) -> Searcher | SpaceSearcher:
        """The current searcher. Do not call its `ask` or `tell`, which would not be recorded."""
        if self._replay.search is None:
            raise ValueError(
                f"{self.path} does not hold its searcher ({self.specification['searcher']} with "
                f"{self.specification['options']}); give it to Study.open"
            )
        return self._replay.search  # type: ignore[no-any-return]

    @property
    def failed(self) -> int:
        """The number of failed trials."""
        return self._replay.failed

    @property
    def unobserved(self) -> int:
        """The number of ended trials without an observation by the searcher."""
        return self._replay.unobserved

    def offer_again(self, ids: Iterable[int]) -> None:
        """Let `ask` offer abandoned running trials again."""
        with self._guard.lock:
            self._again.extend(sorted(set(ids) - set(self._again)))

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the observed arms, with the sign of the values."""
        arm = best_completed(self.searcher, self.trials, self.sign, rule)
        if arm is None:
            raise ValueError("no completed trials yet: call tell() before best()")
        return negative_arm(arm) if self.sign < 0 else arm

    @property
    def certificate(self) -> Certificate | None:
        """The bounds on the best of all arms; None if the searcher has none."""
        found = getattr(self.searcher, "certificate", None) if self.searcher.observations else None
        return negative_certificate(found) if found is not None and self.sign < 0 else found

    # ------------------------------------------------------------------ close

    def close(self) -> None:
        """Close the file so that others can write; trials, best and certificate remain readable."""
        with self._guard.lock:
            self._journal.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, {self.domain.source!r}: {self.trials!r})"

    def _repr_html_(self) -> str:
        trials = self.trials
        way = "minimize" if self.sign < 0 else "maximize"
        rows = [(way, repr(self.domain.source)), ("trials", counts_text(trials))]
        completed = [trial for trial in trials if trial.state == "completed"]
        if completed:
            best = max(completed, key=lambda trial: self.sign * (trial.value or 0.0))
            place = best.path if best.params is None else best.params
            rows.append(("best observed", f"{best.value:.6g}, trial {best.id} at {place}"))
        return table(f"study {self.path}", rows)


class Guard:
    """Excludes other threads, and closes the journal when Ctrl-C interrupts a change.

    Then the file is right, and the searcher in memory may be ahead of it.
    """

    def __init__(self, journal: Journal) -> None:
        self.lock = threading.RLock()
        self._journal = journal

    def __enter__(self) -> None:
        self.lock.acquire()
        try:
            self._journal.check_open()
        except BaseException:
            self.lock.release()
            raise

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        try:
            if error is not None and not isinstance(error, Exception):
                self._journal.close()
        finally:
            self.lock.release()


def open_or_create(
    given: Any,
    tree: Tree | Space,
    *,
    searcher: Any,
    rng: Any,
    direction: str,
    about: str | None = None,
    **options: Any,
) -> Study:
    """Return the study given to `maximize`, or the one in the file given to it.

    An existing one must be of the same tree, direction and searcher, and about the same objective;
    `rng` must be the recorded seed or None.
    """
    seed = None if rng is None else describe_seed(rng)
    if isinstance(given, Study):
        study = given
        if searcher is not None:
            raise ValueError("searcher: the study has its own; leave it out, or give a file name")
        if options:
            raise ValueError(f"{', '.join(options)}: the study has its own options; leave them out")
        check_domain(study.path, study.specification, tree)
    elif not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"study must be a file name or a bough.Study, got {given!r}")
    elif not os.path.exists(given):
        name = "gpts" if searcher is None else searcher
        return Study.create(
            given, tree, searcher=name, rng=rng, direction=direction, about=about, **options
        )
    else:
        study = Study.open(given, tree, searcher=searcher, **options)
    recorded = study.specification
    problem = None
    if recorded["direction"] != direction:
        problem = f"{study.path} is to {recorded['direction']}, not to {direction}"
    elif about is not None and recorded["about"] not in (None, about):
        problem = f"{study.path} is a study of {recorded['about']}, not of {about}"
    elif seed not in (None, recorded["seed"]):
        was = recorded["seed"]
        problem = f"rng must be None or the seed of {study.path}, which is {was!r}, got {rng!r}"
    if problem is not None:
        if study is not given:
            study.close()
        raise StudyError(problem)
    return study


def open_to_read(path: str | os.PathLike[str]) -> Study:
    """Return a study to look at, with its searcher if the file holds it."""
    try:
        with Study.open(path, read_only=True) as study:
            return study
    except StudyError:
        return Study.look(path)  # it has functions of the program in it
