"""The page of a match: complete without scripts, and every text escaped."""

import html.parser
import math
import re
import shutil
from dataclasses import replace

import pytest

from bough import games, report
from bough.games import MatchGame, MatchResult
from bough.report import fall_of

EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'


def game(values, own=None, result=-1.0, opening=0, moves=None, **more):
    """Return a game of which the player makes the first, third, ... move."""
    count = opening + len(values)
    own = [i % 2 == 0 for i in range(count)] if own is None else own
    moves = [f"m{i + 1}" for i in range(count)] if moves is None else moves
    facts = {"is_first": True, "seconds": [0.1, 0.2], "decisions": [3, 3]} | more
    return MatchGame(moves=moves, own=own, opening=opening, result=result, values=values, **facts)


def match_of(*played, **more):
    return MatchResult("Player(playouts=9)", "UCT(playouts=9)", "hex()", played, **more)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 0.0, 0.4, 0.0, -0.6, -1.0], ("m3", 3, 0.4, -0.6)),
        ([0.5, 0.0, 0.4, 0.0], ("m3", 3, 0.4, -1.0)),  # lost before its value fell
        ([0.1, 0.0, -0.2, 0.0], ("m1", 1, 0.1, -0.2)),  # it did not expect a win at the end
        ([-0.5, 0.9, -0.4, -0.9], None),  # only the opponent's fell
        ([None, 0.0, None, 0.0], None),
        ([], None),
    ],
)
def test_where_a_game_was_lost(values, expected):
    fall = fall_of(game(values))
    found = None if fall is None else (fall.name, fall.number, fall.before, fall.after)
    assert found == expected


def test_openings_and_players_who_move_twice():
    own = [False, True, True, False, True]
    fall = fall_of(game([0.2, -0.3, 0.0, -0.4], own=own, opening=1))
    assert (fall.name, fall.number) == ("m2", 2)
    assert math.isclose(fall.size, 0.5)


@pytest.fixture(scope="module")
def result():
    return games.match(
        games.UCT(5), games.UCT(40), games.TicTacToe(), games=30, workers=1, seed=1, progress=False
    )


class Parts(html.parser.HTMLParser):
    """The elements of a page, with their texts; every element that begins also ends."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)


def test_what_the_page_shows(result, tmp_path):
    report.write_match(result, tmp_path / "match.html")
    assert [file.name for file in tmp_path.iterdir()] == ["match.html"]
    text = (tmp_path / "match.html").read_text()
    parts = Parts(text)
    assert f"{result.score:.3f}" in parts.texts
    low, high = result.interval
    assert f"{low:.3f} to {high:.3f} at confidence 0.95" in parts.texts
    assert f"{result.elo[0]:+.0f}" in parts.texts
    listed = [values for tag, values in parts.tags if values.get("class", "").startswith("game ")]
    assert [values["data-result"] for values in listed].count("lost") == result.losses
    assert [values["data-moves"] for values in listed] == [" ".join(g.moves) for g in result.games]
    names = [value for _, values in parts.tags for value in [values.get("id")] if value]
    assert {"summary", "order", "openings", "lost", "games", "game-1", "game-30"} <= set(names)
    links = [values["href"] for tag, values in parts.tags if tag == "a"]
    assert all(link[0] == "#" and link[1:] in names for link in links)
    falls = [fall_of(each) for each in result.games if each.result < 0]
    assert text.count('<circle class="fall"') == sum(fall is not None for fall in falls) > 3
    polylines = [values for tag, values in parts.tags if tag == "polyline"]
    assert len(polylines) == 2 * len(result.games)


def test_the_page_needs_nothing_else(result):
    text = report.match_page(result)
    assert len(text) < 200_000  # no plotly.js
    found = re.findall(r'<(?:script|link|img)[^>]*\s(?:src|href)="([^"]*)', text)
    assert found == ["data:,"]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert policy.count("sha256-") == 1


def test_every_text_is_escaped():
    moves = [EVIL, "a&b", '"quoted"', "\x1b[2J"]
    played = [game([0.5, None, -0.5, -1.0], moves=moves), game([0.1] * 2, opening=2, moves=moves)]
    hostile = replace(match_of(*played), player=EVIL, game=EVIL)
    text = report.match_page(hostile, title=EVIL)
    assert EVIL not in text
    assert "<img" not in text
    assert "\x1b" not in text
    parts = Parts(text)
    assert EVIL in parts.texts
    listed = [values for _, values in parts.tags if "data-moves" in values]
    assert listed[0]["data-moves"].startswith(EVIL)


@pytest.mark.parametrize(
    ("played", "expected"),
    [
        ([], "No game has ended."),
        ([game([0.5, 0.6], result=1.0)], "No game was lost."),
        ([game([None, None])], "The player's evaluation dropped in none of the lost games"),
        ([game([], opening=3)], "3 moves"),
        ([game([0.0] * 1)], "1 moves"),
    ],
)
def test_matches_with_little_in_them(played, expected):
    text = report.match_page(match_of(*played))
    Parts(text)
    assert expected in text


def test_long_tables_are_folded():
    played = [game([0.1], opening=1, moves=[f"first {i}", "then"]) for i in range(40)]
    text = report.match_page(match_of(*played))
    assert "<summary>28 more</summary>" in text
    assert "first 39" in text


def test_a_page_is_not_written_into_a_missing_folder(result, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        report.write_match(result, tmp_path / "no" / "match.html")


def test_the_filter_in_a_browser(result, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "this test needs chromium: apt-get install chromium"
    file = tmp_path / "match.html"
    report.write_match(result, file)
    lost = next(i for i, each in enumerate(result.games, 1) if each.result < 0)
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.goto(file.as_uri())
        assert page.locator("#count").inner_text() == "30 of 30 games"
        page.select_option("#result", "lost")
        assert page.locator(".game:visible").count() == result.losses
        page.select_option("#first", "yes")
        first = [each for each in result.games if each.is_first and each.result < 0]
        assert page.locator(".game:visible").count() == len(first)
        page.fill("#text", "no such move")
        assert page.locator(".game:visible").count() == 0
        page.evaluate(f"location.hash = 'game-{lost}'")
        page.wait_for_selector(f"#game-{lost}[open] svg", state="visible")
        assert errors == []
        browser.close()
