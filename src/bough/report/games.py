"""The page of a match: the score, openings, every game, and the moves by which games were lost."""

import html
import itertools
import os
import pathlib
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bough._text import printable
from bough.games.matches import MatchGame, MatchResult, wilson
from bough.report.page import assemble, check_folder, write_text

#: Rows of a table before the rest is folded, and bars of a histogram.
MOST_ROWS, MOST_BARS = 12, 16
#: The size of a chart, and the space around it.
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 190, 30, 22
OUTCOMES = ("won", "drawn", "lost")


@dataclass(frozen=True)
class Fall:
    """The move of a lost game after which the player's own evaluation dropped most."""

    number: int  #: the number of the move in the game, from 1
    name: str
    before: float  #: the player's value of the move
    after: float  #: its value of its next move, or the result

    @property
    def size(self) -> float:
        """The difference."""
        return self.before - self.after


def fall_of(game: MatchGame) -> Fall | None:
    """Return the largest drop of the player's evaluation from one of its moves to the next.

    The result counts as the last value if the player expected more than a draw until the end. None
    if the evaluation never fell, or the player gives none.
    """
    known = [(i, value) for i, own, value in _values(game) if own and value is not None]
    if known and known[-1][1] > 0.0 > game.result:
        known.append((len(game.moves), game.result))
    falls = [
        Fall(i + 1, game.moves[i], before, after)
        for (i, before), (_, after) in itertools.pairwise(known)
        if after < before
    ]
    return max(falls, key=lambda fall: fall.size, default=None)


def write_match(
    result: MatchResult, path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write the page of a match to a file, atomically."""
    target = pathlib.Path(path)
    check_folder(target)
    write_text(target, match_page(result, title=title))


def match_page(result: MatchResult, *, title: str | None = None) -> str:
    """Return the page of a match.

    Examples
    --------
    >>> from bough import games, report
    >>> found = games.match(
    ...     games.Player(20), games.RandomPlayer(), games.TicTacToe(), games=2, workers=1
    ... )
    >>> "Results by opening" in report.match_page(found)
    True
    """
    title = title or f"{result.player} against {result.opponent}"
    games = list(enumerate(result.games, 1))
    content = ["<p>No game has ended.</p>"]
    if games:
        content = [
            _section("summary", "Summary", _summary(result)),
            _section("order", "Results by order and length", _order(result.games)),
            _section("openings", "Results by opening", _openings(result.games)),
            _section("lost", "Where games were lost", _falls(games)),
            _section("games", "Games", _games(games)),
        ]
    parts = {"title": _escaped(title), "content": "\n".join(content)}
    return assemble("match.html", ("match.js",), parts, plotly=False)


# ---------------------------------------------------------------------- sections


def _summary(result: MatchResult) -> str:
    low, high = result.interval
    elo, least, most = result.elo
    own, others = (1000.0 * seconds for seconds in result.seconds_per_move)
    lengths = [len(game.moves) for game in result.games]
    tiles = [
        ("score", f"{result.score:.3f}", f"{low:.3f} to {high:.3f} at confidence 0.95"),
        ("games", str(len(result.games)),
         f"{result.wins} won, {result.draws} drawn, {result.losses} lost"),
        ("Elo difference", f"{elo:+.0f}", f"{least:+.0f} to {most:+.0f}"),
        ("time per move", f"{own:.3g} ms", f"of CPU time; opponent {others:.3g} ms"),
        ("length", f"{statistics.median(lengths):g} moves",
         f"{min(lengths)} to {max(lengths)}, openings included"),
    ]  # fmt: skip
    facts = [("game", result.game), ("player", result.player), ("opponent", result.opponent)]
    shown = "".join(
        f'<div class="tile"><p class="label">{label}</p><p class="figure">{figure}</p>'
        f'<p class="more">{more}</p></div>'
        for label, figure, more in tiles
    )
    note = "<p>The match was interrupted.</p>" if result.interrupted else ""
    return f'<div class="tiles">{shown}</div>{note}{_table(("", ""), facts, numbers=())}'


def _order(games: Sequence[MatchGame]) -> str:
    groups = {
        "the player moved first": [game for game in games if game.is_first],
        "the opponent moved first": [game for game in games if not game.is_first],
    }
    counted = _bins([len(game.moves) for game in games])
    bars = [
        (name, Counter(_outcome(game) for game in games if len(game.moves) in numbers))
        for name, numbers in counted
    ]
    return (
        _scores("order", groups)
        + '<p class="note">Games by their number of moves, openings included.</p>'
        + _histogram(bars, OUTCOMES)
    )


def _openings(games: Sequence[MatchGame]) -> str:
    groups: dict[str, list[MatchGame]] = defaultdict(list)
    for game in games:
        groups[" ".join(game.moves[: game.opening]) or "none"].append(game)
    ordered = sorted(groups.items(), key=lambda item: (_score(item[1]), item[0]))
    return '<p class="note">Openings with the lowest scores of the player first.</p>' + _scores(
        "opening", dict(ordered)
    )


def _falls(games: Sequence[tuple[int, MatchGame]]) -> str:
    lost = [(number, fall_of(game)) for number, game in games if game.result < 0]
    falls = [(number, fall) for number, fall in lost if fall is not None]
    if not falls:
        missing = (
            "the player's evaluation dropped in none of the lost games"
            if lost
            else "no game was lost"
        )
        return f"<p>{missing[0].upper()}{missing[1:]}.</p>"
    falls.sort(key=lambda item: -item[1].size)
    by_name: dict[str, list[float]] = defaultdict(list)
    for _, fall in falls:
        by_name[fall.name].append(fall.size)
    names = sorted(by_name.items(), key=lambda item: (-len(item[1]), -sum(item[1])))
    counted = _bins([fall.number for _, fall in falls])
    bars = [
        (name, Counter(lost=sum(fall.number in numbers for _, fall in falls)))
        for name, numbers in counted
    ]
    single = [
        (Link(number), fall.number, fall.name, f"{fall.before:+.2f}", f"{fall.after:+.2f}")
        for number, fall in falls
    ]
    several = [(name, len(sizes), f"{statistics.fmean(sizes):.2f}") for name, sizes in names]
    return (
        '<p class="note">For each lost game, the move after which the player\'s own evaluation '
        "dropped most, up to its next move, or up to the end of the game if it still expected more "
        f"than a draw. {len(falls)} of {len(lost)} lost games have such a move.</p>"
        "<h3>By the number of the move</h3>"
        + _histogram(bars, ("lost",))
        + '<div class="pair"><div><h3>The largest falls</h3>'
        + _table(("game", "move", "", "value", "then"), single, numbers=(0, 1, 3, 4))
        + "</div><div><h3>By the name of the move</h3>"
        + _table(("move", "times", "mean drop"), several, numbers=(1, 2))
        + "</div></div>"
    )


def _games(games: Sequence[tuple[int, MatchGame]]) -> str:
    options = "".join(f'<option value="{each}">{each}</option>' for each in OUTCOMES)
    tools = (
        '<div class="tools" id="filter" hidden>'
        f'<select id="result" aria-label="Result"><option value="">all results</option>{options}'
        '</select><select id="first" aria-label="Order"><option value="">both orders</option>'
        '<option value="yes">player first</option><option value="no">opponent first</option>'
        '</select><input type="search" id="text" placeholder="beginning of the moves" '
        'aria-label="Beginning of the moves"><span id="count" role="status"></span></div>'
    )
    note = (
        '<p class="note">Expected results for the player, from -1 to +1, after each move but those '
        "of the opening. Moves of the player are bold.</p>"
        '<p class="note"><span class="key own">evaluated by the player</span>'
        '<span class="key other">evaluated by the opponent</span></p>'
    )
    return note + tools + "\n".join(_game(number, game) for number, game in games)


def _game(number: int, game: MatchGame) -> str:
    """Return a game, folded: a line about it, the course of values, and its moves."""
    fall = fall_of(game) if game.result < 0 else None
    outcome, order = _outcome(game), "first" if game.is_first else "second"
    lost_by = (
        "" if fall is None else f"dropped by {fall.size:.2f} after move {fall.number}, {fall.name}"
    )
    facts = (f"{number}", outcome, f"player {order}", f"{len(game.moves)} moves", lost_by)
    cells = "".join(f"<span>{_escaped(fact)}</span>" for fact in facts)
    moves = []
    for i, own, value in _values(game):
        name = _escaped(game.moves[i])
        shown = "" if value is None else f" <small>{value:+.2f}</small>"
        mark = ' class="fall"' if fall is not None and fall.number == i + 1 else ""
        moves.append(f"<li{mark}>{f'<b>{name}</b>' if own else name}{shown}</li>")
    sequence = _escaped(" ".join(game.moves))
    return (
        f'<details class="game {outcome}" id="game-{number}" data-result="{outcome}" '
        f'data-first="{"yes" if game.is_first else "no"}" data-moves="{sequence}">'
        f"<summary>{cells}</summary>{_course(game, fall)}"
        f'<ol class="moves">{"".join(moves)}</ol></details>'
    )


# ---------------------------------------------------------------------- figures and tables


def _course(game: MatchGame, fall: Fall | None) -> str:
    """Return the values by move as a chart: a line for each side."""
    count = len(game.moves)
    right, bottom = WIDTH - 10, HEIGHT - BOTTOM

    def x(number: float) -> float:
        return round(LEFT + (number - 1) / max(count - 1, 1) * (right - LEFT), 1)

    def y(value: float) -> float:
        return round(8 + (1.0 - value) / 2.0 * (bottom - 8), 1)

    parts = []
    for value in (-1, 0, 1):
        parts.append(f'<path class="rule" d="M{LEFT} {y(value)}H{right}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4}" text-anchor="end">{value}</text>')
    every = max(-(-count // 12), 1)
    for number in range(1, count + 1, every):
        parts.append(f'<text x="{x(number)}" y="{HEIGHT - 5}" text-anchor="middle">{number}</text>')
    for name, side in (("other", False), ("own", True)):
        points = [
            f"{x(i + 1)},{y(value)}"
            for i, own, value in _values(game)
            if own is side and value is not None
        ]
        parts.append(f'<polyline class="{name}" points="{" ".join(points)}"/>')
    if fall is not None:
        parts.append(
            f'<circle class="fall" cx="{x(fall.number)}" cy="{y(fall.before)}" r="5">'
            f"<title>{_escaped(fall.name)}: {fall.before:+.2f}, then {fall.after:+.2f}</title>"
            "</circle>"
        )
    return _svg("Values by move", parts)


def _histogram(bars: Sequence[tuple[str, Counter[str]]], stacked: Sequence[str]) -> str:
    """Return bars, each a stack of counts."""
    most = max(sum(counts.values()) for _, counts in bars)
    bottom = HEIGHT - BOTTOM
    step = (WIDTH - LEFT) / len(bars)
    parts = [
        f'<text x="{LEFT - 6}" y="14" text-anchor="end">{most}</text>',
        f'<path class="rule" d="M{LEFT} {bottom}H{WIDTH}"/>',
    ]
    for i, (name, counts) in enumerate(bars):
        left, top = LEFT + i * step, float(bottom)
        for kind in stacked:
            height = counts[kind] / most * (bottom - 8)
            top -= height
            parts.append(
                f'<rect class="{kind}" x="{left + 1:.1f}" y="{top:.1f}" width="{step - 2:.1f}" '
                f'height="{height:.1f}"><title>{name} moves: {counts[kind]} {kind}</title></rect>'
            )
        parts.append(
            f'<text x="{left + step / 2:.1f}" y="{HEIGHT - 5}" text-anchor="middle">{name}</text>'
        )
    keys = " ".join(f'<span class="key {kind}">{kind}</span>' for kind in stacked)
    legend = f'<p class="note">{keys}</p>' if len(stacked) > 1 else ""
    return legend + _svg("Number of games", parts)


def _svg(label: str, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(parts)}</svg>"
    )


@dataclass(frozen=True)
class Link:
    """The number of a game, which leads to it."""

    number: int


def _scores(name: str, groups: dict[str, list[MatchGame]]) -> str:
    """Return a table of the results of groups of games."""
    rows = []
    for group, games in groups.items():
        if games:
            outcomes = Counter(_outcome(game) for game in games)
            low, high = wilson(_score(games), len(games))
            rows.append(
                (group, len(games), *(outcomes[each] for each in OUTCOMES),
                 f"{_score(games):.3f}", f"{low:.2f} to {high:.2f}")
            )  # fmt: skip
    titles = (name, "games", *OUTCOMES, "score", "interval")
    return _table(titles, rows, numbers=range(1, 7))


def _table(titles: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: Iterable[int]) -> str:
    """Return a table, with the rows after the first ones folded."""
    right = set(numbers)

    def row(cells: Sequence[Any], tag: str = "td") -> str:
        parts = []
        for i, cell in enumerate(cells):
            kind = ' class="number"' if i in right else ""
            number = cell.number if isinstance(cell, Link) else 0
            text = f'<a href="#game-{number}">{number}</a>' if number else _escaped(cell)
            parts.append(f"<{tag}{kind}>{text}</{tag}>")
        return f"<tr>{''.join(parts)}</tr>"

    def table(rows: Sequence[Sequence[Any]]) -> str:
        head = f"<thead>{row(titles, 'th')}</thead>" if any(titles) else ""
        body = "".join(map(row, rows))
        return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'

    rest = rows[MOST_ROWS:]
    more = f"<details><summary>{len(rest)} more</summary>{table(rest)}</details>" if rest else ""
    return table(rows[:MOST_ROWS]) + more


def _section(name: str, title: str, content: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{content}</section>'


def _bins(numbers: Sequence[int]) -> list[tuple[str, range]]:
    """Return ranges of equal length that cover numbers, with their names.

    >>> _bins([3, 5])
    [('3', range(3, 4)), ('4', range(4, 5)), ('5', range(5, 6))]
    """
    low, high = min(numbers), max(numbers)
    step = -(-(high - low + 1) // MOST_BARS)
    ranges = [range(begin, begin + step) for begin in range(low, high + 1, step)]
    return [(f"{each[0]}" if step == 1 else f"{each[0]}-{each[-1]}", each) for each in ranges]


def _values(game: MatchGame) -> list[tuple[int, bool, float | None]]:
    """Return for each move its index, whether it is the player's, and its value."""
    values = [None] * game.opening + list(game.values)
    return list(zip(range(len(game.moves)), game.own, values, strict=True))


def _outcome(game: MatchGame) -> str:
    return "won" if game.result > 0 else "lost" if game.result < 0 else "drawn"


def _score(games: Sequence[MatchGame]) -> float:
    return statistics.fmean((1.0 + game.result) / 2.0 for game in games)


def _escaped(value: object) -> str:
    return html.escape(printable(value))
