"""Trees: the number of children of every node, and the labels of paths."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from bough._validation import listed, real, shown, whole
from bough.structures import Grammar, Graph, Permutations, Strings, Structure, Subsets
from bough.structures import structure as _structure

Path = _structure.Path

MOST_DEPTH = _structure.MOST_DEPTH
#: Children are numbered in 32 bits.
MOST_CHILDREN = 2**31 - 2


class Tree:
    """A tree whose complete paths are the arms to choose from.

    Parameters
    ----------
    branching
        The number of children of a node: an int (the same everywhere), `math.inf` (unlimited), a
        sequence (one entry for each depth), or a function `f(path) -> int` of the node, where 0
        means that the path ends there. A path that ends before full depth gets no further reward:
        its variance is the sum of the increments up to its end. The function must always return the
        same number for the same node.
    depth
        The number of steps of the longest path.
    labels
        Names for the children, so that an objective sees `("left", "go")` instead of `(0, 3)`:
        one name for each child; with a sequence as `branching`, one such list for each depth;
        or a function of the node's path that names its last step.
    log_arms
        For a function or `math.inf`: an upper bound of the logarithm of the number of complete
        paths, without which there is no guaranteed certificate.

    Examples
    --------
    >>> tree = Tree(5, 10)
    >>> tree.arms
    9765625
    >>> Tree([2, 3], 2, labels=[["left", "right"], ["stop", "walk", "run"]]).decode((0, 2))
    ('left', 'run')
    >>> ragged = Tree(lambda path: 0 if path == (1,) else 2, 3)
    >>> ragged.is_leaf((1,)), ragged.is_leaf((0,))
    (True, False)

    `permutations`, `subsets`, `strings`, `grammar` and `graph` return trees whose paths represent
    other objects.
    """

    #: The representation of objects by paths, for a tree made by one of these functions.
    structure: Structure | None = None

    def __init__(
        self,
        branching: float | Sequence[float] | Callable[[Path], float],
        depth: int,
        *,
        labels: Sequence[Any] | Callable[[Path], Any] | None = None,
        log_arms: float | None = None,
    ) -> None:
        self.depth = whole(depth, "depth", least=0, most=MOST_DEPTH)
        self._given = branching
        #: Children of a node at each depth, or None if the branching is a function.
        self.counts: tuple[float, ...] | None = None
        if not callable(branching):
            self.counts = self._read_counts(branching)
        self.labels = self._read_labels(labels)
        self._log_arms = None if log_arms is None else real(log_arms, "log_arms")
        if self._log_arms is not None:
            if self.arms is not None:
                raise ValueError(
                    "log_arms is for trees whose arms cannot be counted; "
                    f"this one has log_arms={self.log_arms:.6g}, leave it out"
                )
            if self._log_arms < 0:
                raise ValueError(
                    f"log_arms must not be negative (there is at least one arm), got {log_arms!r}"
                )

    @classmethod
    def of(cls, structure: Structure) -> "Tree":
        """Return the tree of a structure."""
        tree = cls(structure.branching, structure.steps, labels=structure.name_of)
        tree.structure = structure
        return tree

    @classmethod
    def permutations(cls, items: Sequence[Hashable], *, label: str = "position") -> "Tree":
        """Return the tree of the orders of items: each step takes one of the remaining items.

        Parameters
        ----------
        items
            Different hashable items.
        label
            The label of a step: `"position"`, for schedules, in which the position of an item
            matters, is (position, item). `"pair"`, for tours, in which the order of neighbors
            matters, is (item before, item), and (item,) at the first step.

        Examples
        --------
        >>> tree = Tree.permutations(["wash", "peel", "cut", "cook"])
        >>> tree.decode((1, 0, 1, 0)), tree.arms
        (['peel', 'wash', 'cook', 'cut'], 24)
        >>> tree.label((1, 0)), Tree.permutations("abcd", label="pair").label((1, 0))
        ((1, 'wash'), ('b', 'a'))
        """
        return cls.of(Permutations(items, label))  # type: ignore[arg-type]

    @classmethod
    def subsets(cls, items: Sequence[Hashable], size: int) -> "Tree":
        """Return the tree of the subsets of one size, as sets.

        Each step takes an item that comes later in the list than the one before, so every subset is
        one path. The label of a step is the item.

        Examples
        --------
        >>> tree = Tree.subsets(["tent", "stove", "map", "rope"], 2)
        >>> sorted(tree.decode((0, 2))), tree.label((0, 2)), tree.arms
        (['rope', 'tent'], 'rope', 6)
        """
        return cls.of(Subsets(items, size))  # type: ignore[arg-type]

    @classmethod
    def strings(cls, alphabet: Sequence[Hashable], length: int) -> "Tree":
        """Return the tree of all strings of one length; lists if letters are not characters.

        The label of a step is (position, letter).

        Examples
        --------
        >>> tree = Tree.strings("ACGT", 8)
        >>> tree.decode((2, 0, 3, 3, 0, 1, 0, 0)), tree.label((2, 0, 3))
        ('GATTACAA', (2, 'T'))
        >>> Tree.strings(["left", "right"], 3).decode((0, 1, 1))
        ['left', 'right', 'right']
        """
        return cls.of(Strings(alphabet, length))  # type: ignore[arg-type]

    @classmethod
    def grammar(cls, rules: Mapping[Any, Sequence[Any]], start: Hashable, depth: int) -> "Tree":
        """Return the tree of the derivations of a context-free grammar.

        Each step rewrites the leftmost symbol. A node only has alternatives with which the
        derivation can end within the depth. The label of a step is (symbol, alternative).

        Parameters
        ----------
        rules
            A list of alternatives for each symbol. An alternative is a text, whose symbols are
            rewritten; or a tuple (or list) for expressions as nested tuples, whose entries are
            rewritten; or one symbol or terminal. A tuple of one entry is the same as this entry.
            Anything without rules is a terminal.
        start
            The symbol to begin with.
        depth
            The highest number of rewrites.

        Examples
        --------
        >>> rules = {"<e>": ["<e> + <e>", "sin(<e>)", "x", "1"]}
        >>> tree = Tree.grammar(rules, "<e>", depth=5)
        >>> tree.decode((0, 2, 1, 1)), tree.label((0, 2, 1)), tree.arms
        ('x + sin(x)', ('<e>', 'sin(<e>)'), 66)
        >>> Tree.grammar({"e": [("+", "e", "e"), "x", 1.0]}, "e", 5).decode((0, 1, 0, 0, 1))
        ('+', 'x', ('+', 'x', 1.0))
        """
        return cls.of(Grammar(rules, start, depth))

    @classmethod
    def graph(
        cls,
        successors: Callable[[Any], Iterable[Any]],
        start: Hashable,
        goal: Any,
        depth: int,
        *,
        label: str = "edge",
    ) -> "Tree":
        """Return the tree of the walks through a graph from a state to a goal.

        A walk is a list of states. It ends at the first goal it reaches; if the goal is also the
        start, walks are cycles. A node only has states from which a goal can be reached in the
        remaining steps. To determine them, the graph is explored when the tree is made, breadth
        first and up to 500,000 states: walks stay within these.

        Parameters
        ----------
        successors
            A function that returns the different states after a state, always the same ones in
            the same order. States are hashable.
        start
            The first state.
        goal
            The last state, or a function that returns whether a state is a goal.
        depth
            The highest number of steps.
        label
            The label of a step: `"edge"` is (state before, state), `"state"` is the state.

        Raises
        ------
        ValueError
            If no goal can be reached within the depth.

        Examples
        --------
        >>> streets = {"home": ["park", "mall"], "park": ["mall", "work"], "mall": ["work"]}
        >>> tree = Tree.graph(streets.__getitem__, "home", "work", depth=3)
        >>> tree.decode((0, 0, 0)), tree.label((0, 0)), tree.arms
        (['home', 'park', 'mall', 'work'], ('park', 'mall'), 3)
        """
        return cls.of(Graph(successors, start, goal, depth, label))

    def _read_counts(self, branching: Any) -> tuple[float, ...]:
        if isinstance(branching, str | bytes | dict | set):
            raise TypeError(
                f"branching must be an int, a sequence or a function, got {branching!r}"
            )
        if not hasattr(branching, "__len__"):
            # The one number may still be wrong in a tree of depth 0.
            return (_count(branching, "branching", least=1),) * self.depth
        counts = listed(branching, "branching")
        if len(counts) != self.depth:
            raise ValueError(
                f"branching has {len(counts)} entries, one for each depth, but depth is "
                f"{self.depth}; pass one entry for each depth, or one int for all"
            )
        return tuple(_count(c, f"branching[{d}]", least=1) for d, c in enumerate(counts))

    def _read_labels(self, labels: Any) -> Any:
        if labels is None or callable(labels):
            return labels
        names = listed(labels, "labels")
        rows, fix = [names] * self.depth, ""
        if self.counts is not None and hasattr(self._given, "__len__"):  # one list for each depth
            rows = [listed(row, f"labels[{d}]") for d, row in enumerate(names)]
        else:
            fix = "; for other names at each depth, pass branching as a sequence too"
        if len(rows) != self.depth:
            raise ValueError(
                f"labels has {len(rows)} entries, but depth is {self.depth}; "
                "with one branching for each depth, pass one list of labels for each depth"
            )
        for d, count in enumerate(self.counts or ()):
            if len(rows[d]) != count:
                raise ValueError(
                    f"labels at depth {d} has {len(rows[d])} names for {count} children{fix}"
                )
        return rows

    def branching(self, path: Sequence[int]) -> float:
        """Return the number of children of a node: an int, 0 for a leaf, or `math.inf`."""
        return self.walk(path)[1][-1]

    def is_leaf(self, path: Sequence[int]) -> bool:
        """Return whether the node is a leaf, so that the path is complete."""
        return self.branching(path) == 0

    def children(self, path: Path) -> float:
        """Return the number of children of a node whose path is known to be valid."""
        if len(path) == self.depth:
            return 0
        if self.counts is not None:
            return self.counts[len(path)]
        return _count(self._given(path), f"branching({path})", least=0)  # type: ignore[operator]

    def walk(self, path: Sequence[int]) -> tuple[Path, list[float]]:
        """Check a path, step by step.

        Returns
        -------
        path
            The path as a tuple of ints.
        counts
            The number of children of every node on it, from the root to its end.

        Raises
        ------
        TypeError, ValueError
            If it is not a path of this tree.
        """
        try:
            given = None if isinstance(path, str | bytes) else tuple(path)
        except TypeError:
            given = None
        if given is None:
            raise TypeError(f"path must be a sequence of ints, got {path!r}")
        steps = tuple(whole(k, f"path[{i}]", least=0) for i, k in enumerate(given))
        if len(steps) > self.depth:
            raise ValueError(
                f"path has {len(steps)} steps, but the tree has depth {self.depth}: {path!r}"
            )
        counts: list[float] = []
        for i, k in enumerate(steps):
            # (Prefixes are only built where they are needed: paths may be long.)
            counts.append(self.counts[i] if self.counts else self.children(steps[:i]))
            if counts[-1] == 0:
                raise ValueError(f"path {steps} continues below {steps[:i]}, which is a leaf")
            if k >= counts[-1]:
                raise ValueError(
                    f"path[{i}] is {k}, but node {steps[:i]} has {counts[-1]} children, "
                    f"numbered 0 to {counts[-1] - 1}"
                )
            if k > MOST_CHILDREN:
                raise ValueError(f"path[{i}] must be at most {MOST_CHILDREN}, got {k}")
        counts.append(self.children(steps))
        return steps, counts

    def _is_plain(self, path: Sequence[int]) -> bool:
        """Return whether this is a complete path, by a quick check that may miss some."""
        if type(path) is not tuple or self.counts is None or len(path) != self.depth:
            return False
        for step, count in zip(path, self.counts, strict=True):
            if type(step) is not int or step < 0 or step >= count or step > MOST_CHILDREN:
                return False
        return True

    def complete(self, path: Sequence[int]) -> Path:
        """Check a path that must end in a leaf, and return it as a tuple of ints."""
        if self._is_plain(path):
            return path  # type: ignore[return-value]
        steps, counts = self.walk(path)
        if counts[-1] != 0:
            raise ValueError(
                f"path {steps} is too short: it ends at a node with {counts[-1]} children, "
                "not at a leaf"
            )
        return steps

    def decode(self, path: Sequence[int]) -> Any:
        """Return the argument of an objective.

        It is the object that the path represents (for an incomplete path, its known part);
        otherwise the tuple of the labels along the path; without labels, the path itself.
        """
        plain = (self.labels is None or self.structure is not None) and self._is_plain(path)
        steps: Path = path if plain else self.walk(path)[0]  # type: ignore[assignment]
        if self.structure is not None:
            return self.structure.decode(steps)
        if self.labels is None:
            return steps
        if callable(self.labels):
            return tuple(self.labels(steps[: i + 1]) for i in range(len(steps)))
        for i, k in enumerate(steps):
            if k >= len(self.labels[i]):
                raise ValueError(f"path[{i}] is {k}, but labels has {len(self.labels[i])} names")
        return tuple(self.labels[i][k] for i, k in enumerate(steps))

    def text(self, path: Sequence[int]) -> str:
        """Return the result of `decode` as text, with sets in the order of their items."""
        decoded = self.decode(path)
        return str(decoded) if self.structure is None else self.structure.text(tuple(path))

    def label(self, path: Path) -> Any:
        """Return the label of the last step of a path that is known to be valid.

        `kernels.Labeled` compares these labels: steps with equal labels share an effect. By default
        the label is the name or the number of the step.
        """
        if not path:
            raise ValueError("path must have a step, got (): the root has no label")
        if self.structure is not None:
            return self.structure.label_of(path)
        if self.labels is None:
            return path[-1]
        return self.labels(path) if callable(self.labels) else self.labels[len(path) - 1][path[-1]]

    @cached_property
    def arms(self) -> int | None:
        """The number of complete paths, an int of any size; None if they cannot be counted."""
        if self.structure is not None:
            return self.structure.arms
        if self.depth == 0:
            return 1
        if self.counts is None or math.inf in self.counts:
            return None
        return math.prod(int(c) for c in self.counts)

    @cached_property  # searchers look at it at every play
    def log_arms(self) -> float | None:
        """The logarithm of the number of arms, or the given bound of it, or None."""
        if self.structure is not None:
            return self.structure.log_arms
        if self.depth and (self.counts is None or math.inf in self.counts):
            return self._log_arms
        return math.fsum(math.log(c) for c in self.counts or ())

    def _key(self) -> tuple[Hashable, ...]:
        if self.structure is not None:
            return (self.structure,)
        labels = self.labels if callable(self.labels) else repr(self.labels)
        branching = self._given if self.counts is None else self.counts
        return (branching, self.depth, labels, self._log_arms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        if self.structure is not None:
            return repr(self.structure)
        given = getattr(self._given, "__qualname__", None) or repr(self._given)
        labels = "" if self.labels is None else ", labels=..."
        bound = "" if self._log_arms is None else f", log_arms={self._log_arms!r}"
        return f"Tree({given}, {self.depth}{labels}{bound})"


def _count(value: Any, name: str, *, least: int) -> float:
    if isinstance(value, float) and value == math.inf:
        return math.inf
    count = whole(value, name, least=least)
    if count > MOST_CHILDREN:
        raise ValueError(
            f"{name} must be at most {MOST_CHILDREN}, got {shown(count)}; split the choice into "
            "several depths, or use math.inf if children are made one by one"
        )
    return count
