"""Durable studies: a search and its history, in a file that survives whatever is killed."""

import json
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from bough._validation import at_least_zero, real, whole
from bough.belief.best_arm import Arm
from bough.exceptions import Exhausted, StudyError
from bough.searchers import Certificate, Searcher
from bough.searchers.base import negative_arm, negative_certificate
from bough.searchers.registry import make_searcher
from bough.spaces import Space
from bough.spaces.searcher import SpaceSearcher
from bough.studies import describe as describing
from bough.studies.domain import Subject, Unknown, subject_of
from bough.studies.exchange import consistent
from bough.studies.journal import Durability, Journal
from bough.studies.replay import Replay, generator_state
from bough.studies.specification import compared, fresh, maker_of, sign_of, specify
from bough.studies.trials import Trial, Trials
from bough.trees import Tree


class Study:
    """A searcher and its durable history: ask for a trial, tell its value, at any time.

    Made by `Study.create` or `Study.open`. All that was told is in the file when `tell` returns. A
    study that is opened again goes on exactly as if it had never been closed, or its process
    killed: the searcher is rebuilt from the record, and each recorded ask is compared with what the
    searcher asks. Trials that were left running are offered again first.

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

    def __init__(
        self,
        journal: Journal,
        specification: dict[str, Any],
        replay: Replay,
    ) -> None:
        self._journal = journal
        self.specification = specification
        self._replay = replay
        self._again: deque[int] = deque(replay.running())
        self._guard = threading.RLock()

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
        """Make a new study in a new file.

        Parameters
        ----------
        path
            The file, which must not exist.
        tree_or_space
            What is searched.
        searcher
            The name of a searcher, which the file can hold; or a searcher or a function that makes
            one, which must be given again to `open`.
        rng
            The seed. By default one is drawn, and recorded.
        direction
            `"maximize"` or `"minimize"`.
        durability
            `"full"`: what was told survives a loss of power. `"process"`: it survives the death of
            this process, and costs some 0.1 ms a trial instead of a few ms.
        about
            What is evaluated, in words, for those who look at the file.
        options
            Of a searcher that is given by its name, such as `kernel` and `noise`.
        """
        subject = subject_of(tree_or_space)
        if direction not in ("maximize", "minimize"):
            raise ValueError(f'direction must be "maximize" or "minimize", got {direction!r}')
        if about is not None and not isinstance(about, str):
            raise TypeError(f"about must be a text, got {about!r}")
        specification = specify(tree_or_space, searcher, rng, direction, options) | {"about": about}
        if rng is None:
            rng = specification["seed"]
        search = fresh(make_searcher(searcher, tree_or_space, rng, options))
        specification["begin"] = generator_state(search)
        journal = Journal.create(FilePath(path), specification, durability)
        return cls(journal, specification, Replay(subject, search, sign_of(specification)))

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
        """Open a study where it was left.

        Parameters
        ----------
        path
            The file.
        tree
            The tree or space that is searched; needed if the tree has functions, or options of the
            space are objects, and otherwise compared.
        searcher, options
            As for `create`; needed if they were functions or objects, and otherwise compared.
        read_only
            Only look: does not wait for a writer, nor keep one out.

        Warns
        -----
        UserWarning
            If the file was damaged: says what was dropped. If the searcher does not ask what it
            asked then, because the program has changed: names the first trial that differs. In
            both cases all that was told is kept, and the search goes on.
        """
        file = FilePath(path)
        journal = Journal.open(file, durability, read_only=read_only)
        try:
            contents = journal.read()
            spec, operations = contents.specification, contents.operations
            found = compared(file, spec, tree)
            subject = subject_of(found)
            make = maker_of(file, spec, found, searcher, options)
            if make is None and not read_only:
                raise StudyError(
                    f"{file} cannot hold its searcher, {spec['searcher']} with options "
                    f"{spec['options']}: give it what is a function or an object again"
                )
            replay = Replay(subject, make and make(), sign_of(spec))
            difference = None
            if contents.damage is None:
                difference = replay.run(operations)
            if contents.damage is not None or difference is not None:
                replay = Replay(subject, make and make(), sign_of(spec))
                replay.load(operations)
                if contents.damage is not None:
                    _say(f"{file} is damaged: {contents.damage}. {replay.summary()}")
                else:
                    _say(f"{file}: {difference}. What was told is kept; the search goes on with it")
                if not read_only:
                    if contents.damage is not None:
                        kept = journal.rewrite(spec, consistent(spec, operations, replay))
                        _say(f"the damaged file is kept as {kept}")
                    now = time.time()
                    rows = [("restart", None, now, "null", None)]
                    rows += [("refit", None, now, fit, None) for fit in replay.new_fits()]
                    journal.append(rows)
            return cls(journal, spec, replay)
        except BaseException:
            journal.close()
            raise

    @classmethod
    def look(cls, path: str | os.PathLike[str]) -> "Study":
        """Return the trials of a study, without its searcher: needs nothing of the program."""
        journal = Journal.open(FilePath(path), "full", read_only=True)
        try:
            specification, operations, damage = journal.read()
        finally:
            journal.close()
        replay = Replay(Unknown(), None, sign_of(specification))
        replay.load(operations)
        if damage is not None:
            _say(f"{path} is damaged: {damage}. {replay.summary()}")
        return cls(journal, specification, replay)

    # ------------------------------------------------------------------ ask and tell

    def ask(self) -> Trial:
        """Return a trial to evaluate.

        Those left running by a dead process come first, under their own ids; then what was
        enqueued; then what the searcher asks. Raises `bough.Exhausted` if nothing is left to learn.
        """
        with self._guard, self._all_or_closed():
            self._check_open()
            replay = self._replay
            while self._again:
                trial = replay.trials[self._again.popleft()]
                if trial.state == "running":
                    return trial
            id_, now = len(replay.trials), time.time()
            row: tuple[Any, ...]
            if replay.queue:
                asked = replay.queue[0]
                row = ("take", id_, now, replay.subject.write(asked), None)
                self._journal.append([row], durable=False)
                replay.queue.popleft()
            else:
                try:
                    asked = replay.search.ask()
                except Exhausted:
                    state = generator_state(replay.search)
                    self._journal.append([("exhausted", None, now, "null", state)], durable=False)
                    raise
                state = generator_state(replay.search)
                row = ("ask", id_, now, replay.subject.write(asked), state)
                self._journal.append([row], durable=False)
            return replay.begin(asked, now)

    def tell(self, trial_or_id: Trial | int, value: float, *, noise: float | None = None) -> None:
        """Record the value of a trial (and its standard deviation): it is safe on return."""
        with self._guard, self._all_or_closed():
            trial = self._running(trial_or_id)
            number = real(value, "value")
            body: Any = number
            if noise is not None:
                noise = at_least_zero(noise, "noise")
                body = [number, noise]
            now = time.time()
            self._replay.tell(trial, number, noise, now)
            rows: list[tuple[Any, ...]] = [("tell", trial.id, now, json.dumps(body), None)]
            rows += [("refit", trial.id, now, fit, None) for fit in self._replay.new_fits()]
            self._journal.append(rows)

    def fail(self, trial_or_id: Trial | int, reason: str = "") -> None:
        """Record that a trial has no value. The search goes on elsewhere as long as it can."""
        with self._guard, self._all_or_closed():
            trial = self._running(trial_or_id)
            now = time.time()
            row = ("fail", trial.id, now, json.dumps(str(reason)), None)
            self._journal.append([row])
            self._replay.fail(trial, str(reason), now)

    def enqueue(self, params_or_path: Mapping[str, Any] | Sequence[int]) -> None:
        """Have a path, or params, evaluated before what the searcher would ask next."""
        with self._guard:
            self._check_open()
            asked: Any = self.subject.check(params_or_path, self._replay.search)
            row = ("enqueue", None, time.time(), self.subject.write(asked), None)
            self._journal.append([row])
            self._replay.queue.append(asked)

    @contextmanager
    def _all_or_closed(self) -> Iterator[None]:
        """Close the study when Ctrl-C comes between what the searcher knows and what is recorded.

        What is in the file is right; what is in memory may be ahead of it.
        """
        try:
            yield
        except Exception:  # refused, or closed already
            raise
        except BaseException:
            self._journal.close()
            raise

    def _running(self, trial_or_id: Trial | int) -> Trial:
        self._check_open()
        id_ = trial_or_id.id if isinstance(trial_or_id, Trial) else trial_or_id
        id_ = whole(id_, "trial", least=0)
        if id_ >= len(self.trials):
            raise ValueError(f"there is no trial {id_}: the study has {len(self.trials)} so far")
        trial = self.trials[id_]
        if isinstance(trial_or_id, Trial) and trial.path != trial_or_id.path:
            raise ValueError(
                f"trial {id_} of this study has path {trial.path}, not {trial_or_id.path}; "
                "is it a trial of another study?"
            )
        if trial.state == "told":
            raise ValueError(f"trial {id_} was told already: {trial.value!r}; ask for another")
        if trial.state == "failed":
            raise ValueError(f"trial {id_} has failed ({trial.reason}); ask for another")
        return trial

    def _check_open(self) -> None:
        if self._journal.closed:
            if self._journal.owner != os.getpid():  # a worker that was forked
                raise StudyError(
                    f"the study {self._journal.path} was opened by process {self._journal.owner}, "
                    "and only that one may write to it: have it tell what this one has found"
                )
            raise StudyError(
                f"the study {self._journal.path} is closed, or open for reading only; "
                "Study.open it to go on"
            )

    # ------------------------------------------------------------------ what is known

    @property
    def trials(self) -> Trials:
        """All trials, readable after the study is closed too."""
        return Trials(self._replay.trials)

    @property
    def path(self) -> FilePath:
        """The file."""
        return self._journal.path

    @property
    def subject(self) -> Subject:
        """What is searched, as the loop sees it."""
        return self._replay.subject

    @property
    def tree(self) -> Tree:
        """The tree that is searched, or that of the fixed partition of the space."""
        whole = self.subject.whole
        return whole.tree if isinstance(whole, Space) else whole

    @property
    def space(self) -> Space | None:
        """The space that is searched, if it is one."""
        whole = self.subject.whole
        return whole if isinstance(whole, Space) else None

    @property
    def searcher(self) -> Searcher | SpaceSearcher:
        """The searcher as it stands. Do not ask or tell it yourself: that would not be recorded."""
        if self._replay.search is None:
            raise ValueError(
                f"{self.path} does not hold its searcher ({self.specification['searcher']} with "
                f"{self.specification['options']}); give it to Study.open"
            )
        search: Searcher | SpaceSearcher = self._replay.search
        return search

    @property
    def replayed(self) -> bool:
        """Whether the searcher is there, and so `best` and `certificate`."""
        return self._replay.search is not None

    @property
    def sign(self) -> float:
        """What the searcher is told is so many times the value: -1 if the study minimizes."""
        return self._replay.sign

    @property
    def first_state(self) -> int:
        """The state of the searcher's generator when nothing was asked: seeds derive from it."""
        return int(self.specification["begin"] or 0)

    @property
    def failed(self) -> int:
        """How many trials have failed."""
        return self._replay.failed

    def offer_again(self, ids: Iterable[int]) -> None:
        """Have trials that run offered again by `ask`, since nobody evaluates them any more."""
        with self._guard:
            self._again.extend(sorted(set(ids) - set(self._again)))

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were told, in the sign of the values."""
        arm = self.searcher.best(rule)
        return negative_arm(arm) if self.sign < 0 else arm

    @property
    def certificate(self) -> Certificate | None:
        """How good it is, and how good anything can be; None if the searcher cannot say."""
        found = getattr(self.searcher, "certificate", None) if self.searcher.observations else None
        return negative_certificate(found) if found is not None and self.sign < 0 else found

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Close the file and let others write; trials, best and certificate stay readable."""
        with self._guard:
            self._journal.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, {self.subject.whole!r}: {self.trials!r})"


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
    """Return the study that `maximize` was given, or the one in the file that it was given.

    If it exists it must be of the same tree, direction and searcher, and about the same; `rng` must
    be the recorded seed or None.
    """
    if isinstance(given, Study):
        study = given
        if searcher is not None:
            raise ValueError("searcher: the study has its own; leave it out, or give a file name")
        compared(study.path, study.specification, tree)
    elif not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"study must be a file name or a bough.Study, got {given!r}")
    elif not FilePath(given).exists():
        name = "gpts" if searcher is None else searcher
        return Study.create(
            given, tree, searcher=name, rng=rng, direction=direction, about=about, **options
        )
    else:
        study = Study.open(given, tree, searcher=searcher, **options)
    recorded = study.specification["seed"]
    try:
        if study.specification["direction"] != direction:
            raise StudyError(
                f"{study.path} is to {study.specification['direction']}, not to {direction}"
            )
        if about is not None and study.specification["about"] not in (None, about):
            raise StudyError(
                f"{study.path} is a study of {study.specification['about']}, not of {about}"
            )
        if rng is not None and describing.describe_seed(rng) != recorded:
            raise StudyError(
                f"rng must be None or the seed of {study.path}, which is {recorded!r}, got {rng!r}"
            )
    except BaseException:
        if study is not given:
            study.close()
        raise
    return study


def open_to_read(path: str | os.PathLike[str]) -> Study:
    """Return a study to look at, with its searcher if the file holds it."""
    try:
        with Study.open(path, read_only=True) as study:
            return study
    except StudyError:
        return Study.look(path)  # what has functions of the program in it


def _say(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)


__all__ = ["Study", "StudyError", "Trial", "Trials", "open_or_create", "open_to_read"]
