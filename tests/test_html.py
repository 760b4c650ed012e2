"""Tables for notebooks: results, certificates, studies and comparisons."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import bough
from bough._html import table
from bough.experiments import compare
from bough.spaces import SpaceCertificate


class Cells(HTMLParser):
    """The texts of the cells, and whether the tags are balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag in ("td", "th", "caption", "p"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th", "caption", "p"):
            self.cells[-1] += data


def cells(shown):
    html = shown._repr_html_()
    assert not re.search(r"color|background|<script|<style", html)  # those of the notebook
    return Cells(html).cells


def test_texts_are_escaped():
    html = table("<b>", [("a & b", "<script>alert('x')</script>")], note="1 < 2\n\x1b[31m")
    assert "<script" not in html
    assert "<b>" not in html
    assert "\x1b" not in html
    assert Cells(html).cells == ["<b>", "a & b", "<script>alert('x')</script>", "1 < 2\\n\\x1b[31m"]


def test_results_say_what_they_print():
    result = bough.maximize(sum, bough.Tree(2, 4), budget=20, rng=0)
    shown = cells(result)
    lines = repr(result).split("\n")
    assert shown[0] == lines[0]
    pairs = list(zip(shown[1::2], shown[2::2], strict=True))
    assert [f"{label:<11} {text}" for label, text in pairs] == lines[1:]
    failed = bough.maximize(
        lambda path: 1 / 0, bough.Tree(2, 4), budget=2, rng=0, catch=ZeroDivisionError
    )
    assert cells(failed) == [repr(failed)]


def test_results_without_a_feasible_trial_have_a_note():
    space = bough.Space(x=bough.Float(0, 1))
    result = bough.minimize(
        lambda params: bough.Outcome(params["x"], constraints=[1.0]), space, budget=5, rng=0
    )
    assert cells(result) == repr(result).split("\n")


def test_params_are_escaped():
    space = bough.Space(model=bough.Choice(["<b>", "a & b"]))
    result = bough.maximize(lambda params: len(params["model"]), space, budget=2, rng=0)
    assert "<b>" not in result._repr_html_()
    assert any("a & b" in cell for cell in cells(result))
    assert "a &amp; b" in result._repr_html_()


def test_certificates():
    plain = bough.Certificate((0, 1), 0.5, 1.25, 0.75, 0.05)
    assert cells(plain) == [
        "certificate, at confidence 0.95", "path", "0 1", "lower bound", "0.5",
        "upper bound", "1.25", "gap", "0.75",
    ]  # fmt: skip
    bounds = {"lower": 0.5, "upper": np.inf, "gap": np.inf, "delta": 0.05, "conditional": True}
    of_space = SpaceCertificate((0, 1), **bounds, params={"x": 0.5}, partition=1, partitions=4)
    shown = cells(of_space)
    assert shown[0] == "certificate, at confidence 0.95, given the fitted hyperparameters"
    assert shown[1:5] == ["params", "{'x': 0.5}", "partition", "2 of 4"]


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_studies(tmp_path, direction):
    path = tmp_path / "<run>.db"
    tree = bough.Tree(2, 3)
    with bough.Study.create(path, tree, rng=0, direction=direction) as study:
        assert cells(study) == [f"study {path}", direction, repr(tree), "trials",
                                "0 completed, 0 failed, 0 running"]  # fmt: skip
        for _ in range(4):
            trial = study.ask()
            study.tell(trial, float(sum(trial.path)))
        study.ask()
        shown = cells(study)
    values = [trial.value for trial in study.trials if trial.value is not None]
    best = (max if direction == "maximize" else min)(values)
    assert shown[4] == "4 completed, 0 failed, 1 running"
    assert shown[5] == "best observed"
    assert shown[6].startswith(f"{best:.6g}, trial ")


def test_comparisons():
    comparison = compare(["smooth"], ["uct", "random"], budget=20, seeds=2, grids={},
                         workers=1, progress=False)  # fmt: skip
    shown = cells(comparison)
    assert shown[0] == repr(comparison).split("\n")[0]
    assert "uct" in shown
    assert re.sub(r"\s+", "", "".join(shown)) == re.sub(r"\s+", "", repr(comparison))
