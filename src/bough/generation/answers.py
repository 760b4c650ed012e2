"""Answers of generators, nodes of the tree that they form, and calls to make."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bough._validation import at_least_zero, real
from bough.trees import Path

#: The largest size of a score: its square must be finite too.
LARGEST = 1e100
#: Loads answer and feedback of a node that are in a file.
Loader = Callable[[int], tuple[Any, Any]]


@dataclass(frozen=True)
class Answer:
    """The return value of a generator: an answer with its score, feedback and cost.

    Attributes
    ----------
    answer
        The answer, any object (for a study: one that JSON or its codec can write).
    score
        The observed score, on any scale; higher is better.
    std
        The standard deviation of the score around its expectation: 0.0 if it is exact, None for the
        `noise` of the search, which is fitted if that is None too.
    feedback
        Information for refinements, such as the log of failed tests.
    cost
        The cost of the call, in any unit; None for the average cost of calls of this generator.
    """

    answer: Any
    score: float
    std: float | None = None
    feedback: Any = None
    cost: float | None = None


def read_answer(returned: Any) -> Answer:
    """Return what a generator returned as an answer with checked numbers, or refuse it."""
    if isinstance(returned, tuple) and len(returned) in (2, 3):
        returned = Answer(*returned)
    elif not isinstance(returned, Answer):
        what = f"a {type(returned).__name__}"
        if isinstance(returned, tuple):
            what += f" of {len(returned)}"
        raise TypeError(
            "a generator must return (answer, score), (answer, score, std) or a bough.Answer, got "
            f"{what}"
        )
    std, cost, score = returned.std, returned.cost, real(returned.score, "the score")
    if abs(score) > LARGEST:
        raise ValueError(f"the score must be between {-LARGEST:g} and {LARGEST:g}, got {score!r}")
    return Answer(
        returned.answer,
        score,
        None if std is None else at_least_zero(std, "the score's std"),
        returned.feedback,
        None if cost is None else at_least_zero(cost, "the cost"),
    )


class Node:
    """An answer in the tree of all answers: a draft, or a refinement of its parent.

    Attributes
    ----------
    id
        Its number: 0, 1, 2, ... in the order of the answers.
    parent
        The node that it refines; None for a draft.
    answer, feedback
        As the generator returned them.
    score, std
        The observed score (the average, if several calls gave the same answer) and the standard
        deviation that was given with it.
    mean, deviation
        Posterior mean and standard deviation of its true score, in a result; otherwise None.
    promise
        Posterior mean of the additional gain of its refinements, compared with those of other
        nodes, in a result; otherwise None.
    depth
        1 for a draft, 2 for its refinement, ...
    path
        The path in the tree: the child indices from the root.
    generator
        The name of the generator; None for a seed.
    cost
        What the call cost.
    """

    __slots__ = (
        "_answer", "_children", "_feedback", "_load", "cost", "depth", "deviation", "generator",
        "id", "mean", "parent", "path", "promise", "score", "std",
    )  # fmt: skip

    def __init__(
        self,
        id: int,  # noqa: A002 - as it is called
        parent: "Node | None",
        generator: str | None,
        answer: Answer,
        cost: float,
        path: Path,
        load: Loader | None = None,
    ) -> None:
        self.id = id
        self.parent = parent
        self.generator = generator
        self._answer = answer.answer
        self._feedback = answer.feedback
        self._load = load
        self._children = 0  # the number of children so far
        self.score = answer.score
        self.std = answer.std
        self.cost = cost
        self.path = path
        self.depth = len(path)
        self.mean: float | None = None
        self.deviation: float | None = None
        self.promise: float | None = None

    @property
    def answer(self) -> Any:
        """The answer; that of a resumed study is read from the file."""
        return self._answer if self._load is None else self._load(self.id)[0]

    @property
    def feedback(self) -> Any:
        """The feedback; that of a resumed study is read from the file."""
        return self._feedback if self._load is None else self._load(self.id)[1]

    @property
    def lineage(self) -> list["Node"]:
        """The nodes from the draft to this one."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    def for_call(self) -> "Node":
        """Return a copy without its ancestors, which a worker process can be sent."""
        answer = Answer(self.answer, self.score, self.std, self.feedback)
        node = Node(self.id, None, self.generator, answer, self.cost, self.path)
        node.mean, node.deviation, node.promise = self.mean, self.deviation, self.promise
        return node

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        state = {name: getattr(self, name) for name in self.__slots__}
        state |= {"_answer": self.answer, "_feedback": self.feedback, "_load": None}
        return None, state

    def __repr__(self) -> str:
        of = "draft" if self.parent is None else f"child of {self.parent.id}"
        by = "" if self.generator is None else f" by {self.generator}"
        return f"Node({self.id}, {of}{by}, score={self.score:.6g})"


@dataclass(frozen=True)
class Job:
    """A call to make: expand a node, or write a new draft, by a generator.

    Attributes
    ----------
    id
        The number of the call: 0, 1, 2, ...
    parent
        The node to refine; None for a new draft.
    generator
        The name of the generator to call.
    """

    id: int
    parent: Node | None
    generator: str
