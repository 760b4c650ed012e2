"""Derivations of a context-free grammar."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bough._validation import listed, whole
from bough.structures.structure import (
    MOST_DEPTH,
    Path,
    Stateful,
    check_hashable,
    fix,
    is_hashable,
    read_items,
)


@dataclass(frozen=True)
class _Alternative:
    """One way to rewrite a symbol: parts, of which some are symbols, and a way to join them."""

    given: Hashable
    parts: tuple[tuple[bool, Hashable], ...]
    join: Callable[[list[Any]], Any]

    @property
    def symbols(self) -> list[Hashable]:
        return [part for is_symbol, part in self.parts if is_symbol]

    def build(self, become: Callable[[], Any]) -> Any:
        """Return what the alternative becomes, where `become` gives one symbol after the other."""
        return self.join([become() if is_symbol else part for is_symbol, part in self.parts])


def read_rules(rules: Any) -> tuple[tuple[Hashable, tuple[Hashable, ...]], ...]:
    """Return rules as pairs of a symbol and its alternatives, each hashable."""
    if not isinstance(rules, (Mapping, tuple)):
        raise TypeError(
            f"rules must be a dict from symbols to lists of alternatives, got {rules!r}"
        )
    pairs = rules.items() if isinstance(rules, Mapping) else rules
    found = []
    for symbol, alternatives in pairs:
        name = f"rules[{symbol!r}]"
        if isinstance(alternatives, str):
            raise TypeError(f"{name} must be a list of alternatives, got {alternatives!r}")
        given = [tuple(a) if isinstance(a, list) else a for a in listed(alternatives, name)]
        found.append((symbol, read_items(given, name)))
    if not found:
        raise ValueError("rules must not be empty")
    return tuple(found)


def _parsed(alternative: Any, symbols: Sequence[Hashable]) -> _Alternative:
    """Return the parts of an alternative.

    Text is text, in which symbols are rewritten where they stand; a tuple is a tuple, one of
    whose entries may be a symbol; a tuple of one entry is this entry.
    """
    if isinstance(alternative, tuple):
        for i, part in enumerate(alternative):
            check_hashable(part, f"rules: entry {i} of the alternative {alternative!r}")
        _check_known(alternative, symbols, alternative)
        parts = tuple((part in symbols, part) for part in alternative)
        return _Alternative(alternative, parts, _only if len(parts) == 1 else tuple)
    if not isinstance(alternative, str) or alternative in symbols:
        return _Alternative(alternative, ((alternative in symbols, alternative),), _only)
    texts = sorted((s for s in symbols if isinstance(s, str) and s), key=len, reverse=True)
    pieces = (
        re.split(f"({'|'.join(map(re.escape, texts))})", alternative) if texts else [alternative]
    )
    for before, symbol, after in zip(pieces[::2], pieces[1::2], pieces[2::2], strict=False):
        if _joined(before, symbol) or _joined(symbol, after):
            raise ValueError(
                f"rules: {alternative!r} has the symbol {symbol!r} inside a word; write symbols "
                f"as '<{symbol}>', or the alternative as a tuple of symbols and terminals"
            )
    _check_known(re.findall(r"<\w+>", alternative), symbols, alternative)
    parts = tuple(
        (i % 2 == 1, piece) for i, piece in enumerate(pieces) if piece or len(pieces) == 1
    )
    return _Alternative(alternative, parts, _text)


def _only(parts: list[Any]) -> Any:
    return parts[0]


def _text(parts: list[Any]) -> str:
    return "".join(map(str, parts))


def _joined(left: str, right: str) -> bool:
    """Return whether two texts, one after the other, meet in the middle of a word."""
    return re.search(r"\w\Z", left) is not None and re.match(r"\w", right) is not None


def _check_known(names: Iterable[Any], symbols: Sequence[Hashable], alternative: Any) -> None:
    """Refuse a name written as symbols are, `<name>`, that has no rules."""
    if any(_is_bracketed(symbol) for symbol in symbols):
        for name in names:
            if _is_bracketed(name) and name not in symbols:
                raise ValueError(f"rules: {alternative!r} has {name!r}, which has no rules")


def _is_bracketed(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"<\w+>", value) is not None


@dataclass(frozen=True, repr=False)
class Grammar(Stateful):
    """Derivations: each step rewrites the leftmost symbol, in time to finish within the depth.

    The state of a node is what is still to rewrite, as nested pairs (symbol, rest), where the rest
    of the last one is None, and the least number of rewrites that this takes.
    """

    kind = "grammar"
    rules: Any  # pairs of a symbol and a tuple of alternatives
    start: Hashable
    depth: int

    def __post_init__(self) -> None:
        fix(self, "rules", read_rules(self.rules))
        fix(self, "depth", whole(self.depth, "depth", least=1, most=MOST_DEPTH))
        if not is_hashable(self.start) or self.start not in dict(self.rules):
            known = ", ".join(repr(symbol) for symbol, _ in self.rules)
            raise ValueError(f"start must be a symbol with rules ({known}), got {self.start!r}")
        endless = [symbol for symbol, _ in self.rules if symbol not in self._least]
        if endless:
            raise ValueError(
                f"rules: {endless[0]!r} never ends, since each of its alternatives has a symbol "
                "that never ends; add an alternative without such symbols"
            )
        if self._least[self.start] > self.depth:
            raise ValueError(
                f"depth must be at least {self._least[self.start]}, the rewrites of the shortest "
                f"derivation from {self.start!r}, got {self.depth}"
            )

    @cached_property
    def _alternatives(self) -> dict[Hashable, list[_Alternative]]:
        symbols = [symbol for symbol, _ in self.rules]
        return {symbol: [_parsed(a, symbols) for a in given] for symbol, given in self.rules}

    @cached_property
    def _least(self) -> dict[Hashable, int]:
        """The least number of rewrites of each symbol that can be finished."""
        least: dict[Hashable, int] = {}
        before = None
        while least != before:
            before = dict(least)
            for symbol, alternatives in self._alternatives.items():
                ends = [a.symbols for a in alternatives if all(s in least for s in a.symbols)]
                if ends:
                    least[symbol] = 1 + min(sum(least[s] for s in symbols) for symbols in ends)
        return least

    @cached_property
    def _costs(self) -> dict[Hashable, list[tuple[int, int]]]:
        """Of each symbol: number and least number of rewrites, itself included, of alternatives."""
        return {
            symbol: [(k, 1 + sum(self._least[s] for s in a.symbols)) for k, a in enumerate(given)]
            for symbol, given in self._alternatives.items()
        }

    @property
    def steps(self) -> int:
        return self.depth

    @property
    def _first(self) -> Any:
        return (self.start, None), self._least[self.start]

    def _options(self, state: Any, depth: int) -> list[tuple[Hashable, int]]:
        pending, least = state
        if pending is None:
            return []
        symbol = pending[0]
        room = self.depth - depth - least + self._least[symbol]
        return [(symbol, k) for k, cost in self._costs[symbol] if cost <= room]

    def _after(self, state: Any, option: Any) -> Any:
        (symbol, pending), least = state
        _, k = option
        for part in reversed(self._alternatives[symbol][k].symbols):
            pending = part, pending
        return pending, least - self._least[symbol] + self._costs[symbol][k][1] - 1

    def decode(self, path: Path) -> Any:
        state, taken = self._first, []
        for depth, step in enumerate(path):
            taken.append(self._options(state, depth)[step])
            state = self._after(state, taken[-1])
        pending, become = state[0], []
        while pending is not None:  # symbols that are not rewritten yet stay as they are
            become.append(pending[0])
            pending = pending[1]
        become.reverse()
        for symbol, k in reversed(taken):
            become.append(self._alternatives[symbol][k].build(become.pop))
        return become[0]

    def label_of(self, path: Path) -> tuple[Hashable, Hashable]:
        symbol, k = self._taken(path)
        return symbol, self._alternatives[symbol][k].given

    def name_of(self, path: Path) -> str:
        symbol, given = self.label_of(path)
        return f"{symbol} -> {given}"

    @property
    def _widest(self) -> int:
        return max(map(len, self._alternatives.values()))

    @property
    def _additions(self) -> int:
        parts = sum(1 + len(a.parts) for given in self._alternatives.values() for a in given)
        return self.depth**2 * parts // 2

    def _count(self) -> int:
        """Count derivations by their number of rewrites: products of generating functions."""
        counts: dict[Hashable, list[int]] = {symbol: [0] for symbol in self._alternatives}
        # of each alternative and each number of its symbols: the ways to rewrite these
        ways: dict[Hashable, list[list[list[int]]]] = {
            symbol: [[[] for _ in range(len(a.symbols) + 1)] for a in given]
            for symbol, given in self._alternatives.items()
        }
        for rewrites in range(self.depth):
            for symbol, given in self._alternatives.items():
                for alternative, firsts in zip(given, ways[symbol], strict=True):
                    firsts[0].append(int(rewrites == 0))
                    for i, part in enumerate(alternative.symbols):
                        pairs = zip(reversed(firsts[i]), counts[part], strict=True)
                        firsts[i + 1].append(sum(a * b for a, b in pairs))
            for symbol in counts:
                counts[symbol].append(sum(firsts[-1][-1] for firsts in ways[symbol]))
        return sum(counts[self.start])

    def __repr__(self) -> str:
        rules = {symbol: list(given) for symbol, given in self.rules}
        return f"Tree.grammar({rules!r}, start={self.start!r}, depth={self.depth})"
