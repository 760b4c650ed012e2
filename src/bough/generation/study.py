"""Durable searches with a generator: every call and every answer, in a file.

The journal of operations is that of other studies; a search is resumed by repeating them. Answers
are in a table of their own, which is read only when an answer is asked for, so that large ones do
not slow the replay.
"""

import json
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from bough._validation import at_least_zero
from bough.exceptions import StudyError
from bough.generation.answers import Answer, Job, Node, read_answer
from bough.generation.search import GenerativeSearch
from bough.studies.describe import INVALID, describe_seed, name_of, not_valid, rebuild_seed
from bough.studies.journal import Durability, Journal, read_damaged
from bough.studies.operations import Operation
from bough.studies.study import Guard

#: Functions that write an answer as bytes, and read it.
Codec = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]


class GenerationStudy:
    """A search with a generator and its durable history.

    Use `GenerationStudy.open`, or `bough.generate(..., study="run.db")`, to make one. Each answer
    is in the file when `tell` returns. A study that is opened again resumes as if it had never been
    closed: no generator is called for a recorded answer. Calls that were running are offered again
    first.

    One process may write at a time; any number may read (`read_only=True`).

    Examples
    --------
    >>> import bough, os, tempfile
    >>> from bough.generation import GenerationStudy
    >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
    >>> with GenerationStudy.open(path, rng=0) as study:
    ...     for text in ("a", "bb", "ccc"):
    ...         _ = study.tell(study.ask(), text, len(text))
    >>> with GenerationStudy.open(path) as study:  # perhaps on another day
    ...     study.search.best().answer
    'ccc'
    """

    def __init__(
        self, journal: Journal, specification: dict[str, Any], search: GenerativeSearch,
        codec: Codec | None,
    ) -> None:  # fmt: skip
        self._journal = journal
        self.path = journal.path  #: The file.
        self.specification = specification  #: The recorded arguments.
        self.search = search  #: The search. Do not ask or tell it yourself.
        self._limits = search.budget, search.cost
        self._codec = codec
        self._again: deque[int] = deque()
        self.first_state = _first_state(specification["seed"])
        self._guard = Guard(journal)
        self._reader = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        generators: Iterable[str] | None = None,
        budget: int | None = None,
        cost: float | None = None,
        costs: float | Mapping[str, float] | None = None,
        noise: float | None = None,
        seeds: Iterable[Any] = (),
        key: Callable[[Any], Any] | None = None,
        max_depth: int | None = None,
        codec: Codec | None = None,
        rng: np.random.Generator | int | None = None,
        read_only: bool = False,
        durability: Durability = "full",
    ) -> "GenerationStudy":
        """Open a study, or create one if there is no such file.

        Parameters
        ----------
        path
            The file.
        generators, budget, cost, costs, noise, seeds, key, max_depth, rng
            As for `GenerativeSearch`. Those of an existing study are stored in its file and
            compared with those given. Budget and cost may change, and seeds are the original ones.
        codec
            A pair of functions that write an answer as bytes and read it, such as
            `(pickle.dumps, pickle.loads)`. By default answers are written as JSON.
        read_only
            Whether to open it for reading only, while another process may write.
        durability
            `"full"`: answers survive a power failure. `"process"`: they survive the death of this
            process.
        """
        file = FilePath(path)
        if codec is not None and not (
            isinstance(codec, tuple) and len(codec) == 2 and all(map(callable, codec))
        ):
            raise TypeError(f"codec must be a pair of functions (write, read), got {codec!r}")
        given = {
            "generators": None if generators is None else list(generators),
            "costs": dict(costs) if isinstance(costs, Mapping) else costs,
            "noise": None if noise is None else at_least_zero(noise, "noise"),
            "max_depth": max_depth,
        }
        limits = {"budget": budget, "cost": cost}
        if not read_only and not os.path.exists(path):
            return cls._create(file, given, limits, seeds, key, codec, rng, durability)
        journal = Journal.open(file, durability, read_only=read_only)
        try:
            specification, operations = journal.read()
            arguments = specification.get("generation")
            if arguments is None:
                raise StudyError(f"{file} is a study of a tree or a space: use bough.Study.open")
            _compare(file, specification, given, key, codec, rng, read_only)
            make = _maker(arguments, limits, key if not read_only else None, specification["seed"])
            study = cls(journal, specification, make(), codec)
            try:
                difference = study._replay(operations, strict=True)
                if difference is not None:
                    study = cls(journal, specification, make(), codec)
                    study._replay(operations, strict=False)
            except INVALID as error:
                raise not_valid(file, error) from error
            if difference is not None:
                journal.defer([Operation.now("restart")])
                warnings.warn(
                    f"{file}: {difference}. All answers are kept, and the search continues from "
                    "them",
                    UserWarning,
                    stacklevel=2,
                )
            if not read_only:
                study.search.learn_keys()
            return study
        except BaseException:
            journal.close()
            raise

    @classmethod
    def _create(
        cls,
        file: FilePath,
        given: dict[str, Any],
        limits: dict[str, Any],
        seeds: Iterable[Any],
        key: Any,
        codec: Codec | None,
        rng: Any,
        durability: Durability,
    ) -> "GenerationStudy":
        arguments = {name: value for name, value in given.items() if value is not None}
        seed = describe_seed(rng)
        search = _maker(arguments, limits, key, seed)()
        seeds = list(seeds)
        checked = GenerativeSearch(search.generators, seeds=seeds, key=key)  # raises for bad seeds
        specification = {
            "generation": arguments,
            "seed": seed,
            "key": None if key is None else name_of(key),
            "codec": None if codec is None else name_of(codec[0]),
            "about": None,
        }
        blobs = [_encoded(node.answer, node.feedback, codec) for node in checked.nodes]
        journal = Journal.create(file, specification, durability)
        study = cls(journal, specification, search, codec)
        for node, blob in zip(checked.nodes, blobs, strict=True):
            above = None if node.parent is None else node.parent.id
            body = json.dumps([above, node.generator, node.score, node.std, node.cost])
            journal.append([Operation.now("seed", node.id, body)], answers=[(node.id, blob)])
            study._seed(json.loads(body), node.id)
        search.learn_keys()
        return study

    def plan(self, budget: int | None, cost: float | None) -> None:
        """Replace the planned number of calls and the planned cost."""
        self._limits = self.search.budget, self.search.cost = budget, cost

    # ------------------------------------------------------------------ replay

    def _replay(self, operations: list[Operation], *, strict: bool) -> str | None:
        """Repeat the operations; return the first difference of what the search asks for."""
        search = self.search
        restarts = [i for i, operation in enumerate(operations) if operation.kind == "restart"]
        begin = restarts[-1] if restarts else 0
        for number, operation in enumerate(operations):
            kind, id_ = operation.kind, operation.trial
            body = json.loads(operation.body)
            if kind == "seed":
                self._seed(body, id_ or 0)
            elif kind == "ask":
                if strict and number >= begin:
                    search.budget, search.cost = body[2:]  # which were planned then
                    job = search.ask()
                    parent = None if job.parent is None else job.parent.id
                    if [parent, job.generator] != body[:2]:
                        return (
                            f"call {id_} differs (has the program changed?): the search asks for "
                            f"{[parent, job.generator]}, and asked for {body[:2]} then"
                        )
                else:
                    above = None if body[0] is None else search._nodes[body[0]]
                    search._begin(above, search._number[body[1]])
            elif kind == "tell":
                score, std, cost, same = body
                job = search.check_running(id_ or 0)
                known = None if same is None else search._nodes[same]
                search.take(job, Answer(None, score, std, None, cost), known, self._load)
            elif kind == "fail":
                search.fail(id_ or 0, body[0], cost=body[1])
        self._again = deque(job.id for job in search.pending)
        search.budget, search.cost = self._limits
        return None

    def _seed(self, body: list[Any], id_: int) -> None:
        above, name, score, std, cost = body
        parent = None if above is None else self.search._nodes[above]
        number = self.search._number.get(name or "", -1)
        self.search._add(parent, number, Answer(None, score, std), cost, None, self._load)

    def _load(self, id_: int) -> tuple[Any, Any]:
        """Return answer and feedback of a node from the file."""
        with self._reader:
            blob = self._journal.answer(id_)
        return _decoded(blob, self._codec, self.specification["codec"], self.path)

    # ------------------------------------------------------------------ ask and tell

    def ask(self) -> Job:
        """Return the next call to make, first those that were running when a process died.

        These keep their numbers.
        """
        with self._guard:
            while self._again:
                job = self.search._running.get(self._again.popleft())
                if job is not None:
                    return job
            search = self.search
            job = search.ask()
            parent = None if job.parent is None else job.parent.id
            body = json.dumps([parent, job.generator, search.budget, search.cost])
            self._journal.append([Operation.now("ask", job.id, body)], durable=False)
            return job

    def tell(
        self,
        job: Job | int,
        answer: Any,
        score: float | None = None,
        *,
        std: float | None = None,
        feedback: Any = None,
        cost: float | None = None,
    ) -> Node:
        """Record the answer of a call, as `GenerativeSearch.tell` does; it is on disk on return."""
        with self._guard:
            search = self.search
            job = search.check_running(job)
            if score is not None:
                answer = Answer(answer, score, std, feedback, cost)
            elif (std, feedback, cost) != (None, None, None):
                raise TypeError(
                    "std, feedback and cost need a score: tell(job, answer, score, std=..)"
                )
            given = read_answer(answer)
            same = search.find(given.answer)
            blob = None
            if same is None:
                blob = _encoded(given.answer, given.feedback, self._codec)
            repeated = None if same is None else same.id
            body = json.dumps([given.score, given.std, given.cost, repeated])
            answers = [] if blob is None else [(search.next_id, blob)]
            self._journal.append([Operation.now("tell", job.id, body)], answers=answers)
            return search.take(job, given, same)

    def fail(self, job: Job | int, reason: str = "", *, cost: float | None = None) -> None:
        """Record that a call failed."""
        with self._guard:
            job = self.search.check_running(job)
            cost = None if cost is None else at_least_zero(cost, "cost")
            body = json.dumps([str(reason), cost])
            self._journal.append([Operation.now("fail", job.id, body)])
            self.search.fail(job, reason, cost=cost)

    def offer_again(self, jobs: Iterable[Job]) -> None:
        """Have calls under way that no one makes any more offered again by `ask`."""
        with self._guard.lock:
            self._again.extend(sorted({job.id for job in jobs} - set(self._again)))

    # ------------------------------------------------------------------ close

    def close(self) -> None:
        """Close the file so that others can write; the search remains readable."""
        with self._guard.lock:
            self._journal.close()

    def __enter__(self) -> "GenerationStudy":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"GenerationStudy({str(self.path)!r}, {self.search!r})"


def _first_state(seed: Any) -> int:
    """Return the number that the seeds of calls derive from."""
    return (
        seed
        if isinstance(seed, int)
        else int(np.random.default_rng(rebuild_seed(seed)).integers(2**63))
    )


def _maker(
    arguments: dict[str, Any], limits: dict[str, Any], key: Any, seed: Any
) -> Callable[[], GenerativeSearch]:
    """Return a function that makes the search as it was when the study began."""
    return lambda: GenerativeSearch(
        **arguments, **limits, key=key, rng=np.random.default_rng(rebuild_seed(seed))
    )


def _compare(
    file: FilePath, specification: dict[str, Any], given: dict[str, Any], key: Any,
    codec: Codec | None, rng: Any, read_only: bool,
) -> None:  # fmt: skip
    """Refuse arguments that differ from those of a study."""
    recorded = specification["generation"]
    for name, value in given.items():
        if value is not None and value != recorded.get(name):
            raise StudyError(f"{file} is a study with {name}={recorded.get(name)!r}, not {value!r}")
    if rng is not None and describe_seed(rng) != specification["seed"]:
        raise StudyError(
            f"rng must be None or the seed of {file}, which is {specification['seed']!r}, "
            f"got {rng!r}"
        )
    for name, function in (("key", key), ("codec", codec and codec[0])):
        was, now = specification[name], None if function is None else name_of(function)
        if was != now and not (read_only and now is None):
            has = "none" if was is None else was
            raise StudyError(f"{file} is a study whose {name} is {has}, got {now or 'none'}")


def _encoded(answer: Any, feedback: Any, codec: Codec | None) -> bytes:
    """Return an answer and its feedback as bytes."""
    said = _json(feedback, "feedback", "a study holds feedback as JSON: return a text")
    if codec is None:
        hint = "a study holds answers as JSON, unless it has a codec=(write, read)"
        data = _json(answer, "answer", hint)
    else:
        data = codec[0](answer)
        if not isinstance(data, bytes):
            raise TypeError(f"codec must write an answer as bytes, got {type(data).__name__}")
    return len(said).to_bytes(8, "big") + said + data


def _json(value: Any, name: str, hint: str) -> bytes:
    try:
        text = json.dumps(value, allow_nan=False)
        same = json.loads(text) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the {name} cannot be written as JSON ({error}): {hint}") from None
    if not same:
        raise TypeError(
            f"the {name} is not the same when it is read from JSON (a tuple becomes a list, a key "
            f"a text): {hint}"
        )
    return text.encode()


def _decoded(blob: bytes, codec: Codec | None, recorded: Any, file: FilePath) -> tuple[Any, Any]:
    """Return the answer and the feedback that were written as bytes."""
    begin = 8 + int.from_bytes(blob[:8], "big")
    feedback, data = json.loads(blob[8:begin]), blob[begin:]
    if codec is not None:
        return codec[1](data), feedback
    if recorded is not None:
        raise StudyError(f"the answers of {file} are written by {recorded}: open it with codec=..")
    return json.loads(data), feedback


def open_to_read(path: str | os.PathLike[str]) -> GenerationStudy:
    """Return a study to look at."""
    with GenerationStudy.open(path, read_only=True) as study:
        return study


def is_generation(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is the study of a search with a generator, as far as can be read."""
    try:
        specification, _, _ = read_damaged(FilePath(path))
    except (StudyError, OSError):
        return False
    return isinstance(specification, dict) and "generation" in specification
