"""Compiled rules of the benchmark: the moves, players and results of OpenSpiel in random games."""

import pathlib
import re
import sys
from collections.abc import Callable

import numpy as np
import pytest

from bough import games

pytest.importorskip("pyspiel", reason="needs the extra games")
if sys.version_info >= (3, 12):  # it has the distutils that the compilation of the rules needs
    pytest.importorskip("setuptools")

from benchmarks import games as benchmark
from benchmarks import games_likelihood as likelihood
from benchmarks.games_positions import start

RULES = pathlib.Path(__file__).parent.parent / "benchmarks" / "games_rules.pyx"
NAMES = re.findall(r'^    game = "(.+)"$', RULES.read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_random_games_are_those_of_openspiel(name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        own, other = start(name), games.open_spiel(name)
        assert not isinstance(own, games.OpenSpielPosition)
        while other.result() is None:
            assert own.result() is None
            assert own.player == other.player
            assert own.moves() == other.moves()
            move = int(rng.choice(other.moves()))
            before = own.copy()
            own.play(move)
            assert before.history() == other.history()
            other.play(move)
        assert own.result() == other.result()
        assert own.history() == other.history()


@pytest.mark.parametrize("name", NAMES)
def test_playouts_are_those_of_openspiel(name: str) -> None:
    def draws(seed: int) -> Callable[[int], int]:
        rng = np.random.default_rng(seed)
        return lambda n: int(rng.integers(n))

    for seed in range(10):
        own, other = start(name), games.open_spiel(name)
        assert own.playout(draws(seed)) == other.playout(draws(seed))
        assert own.result() == other.result()


def test_the_page_is_that_of_the_runs() -> None:
    assert benchmark.page(benchmark.Runs(benchmark.FILE, workers=1)) == benchmark.PAGE.read_text()


def test_the_guide_quotes_the_page() -> None:
    guide = (RULES.parent.parent / "docs" / "games.md").read_text()
    quoted = re.findall(r"\d\.\d{3} \(\d\.\d{3} to \d\.\d{3}\)", guide)
    assert len(quoted) > 10
    assert set(quoted) <= set(re.findall(r"\d\.\d{3} \([^)]*\)", benchmark.PAGE.read_text()))


def test_scores_of_blocks_are_added(tmp_path: pathlib.Path) -> None:
    runs = benchmark.Runs(tmp_path / "runs.jsonl", workers=1)
    for block in range(2):
        runs.match(f"match:clobber:UCT:{block}", games.UCT(5), games.UCT(5), "clobber", 4, block)
    again = benchmark.Runs(tmp_path / "runs.jsonl", workers=1)
    score = benchmark.Score.of(again, "match:clobber:UCT")
    rows = list(again.rows.values())
    assert score.games == sum(row["games"] for row in rows) == 8
    assert score.mean == pytest.approx(np.mean([row["score"] for row in rows]))
    assert str(benchmark.Score.of(again, "match:clobber:RAVE")) == "-"


def test_the_likelihood_finds_the_variance_of_effects() -> None:
    rng = np.random.default_rng(0)
    effects = rng.normal(0.0, 0.3, 40)
    log = []
    for _ in range(4000):
        codes = rng.permutation(40)[:20].tolist()
        log.append((0, codes, effects[codes].sum() + rng.normal()))
    root = likelihood.Node.of(log)
    # (The average that is subtracted has half of the effect: its variance is a quarter.)
    variances = np.array([0.1, 0.3, 1.0, 3.0, 10.0]) * 0.3**2 / 4
    found = [likelihood.log_likelihood(root, 0.1, variance, 0.1)[0] for variance in variances]
    assert np.argmax(found) == 2
