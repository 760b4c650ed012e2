"""Runs of TreeQuest and JSON lines, to look at or to continue."""

import json
from types import SimpleNamespace

import pytest

import bough
from bough.generation import GenerationResult, read_log, read_treequest, write_log


def walk(parent):
    x = (0 if parent is None else parent.answer) + 1
    return x, float(x)


def test_a_log_of_json_lines_comes_back(tmp_path):
    result = bough.generate(walk, 15, rng=0)
    write_log(result.nodes, tmp_path / "log.jsonl")
    nodes = read_log(tmp_path / "log.jsonl")
    for was, now in zip(result.nodes, nodes, strict=True):
        assert (was.path, was.answer, was.score, was.generator, was.cost) == (
            now.path, now.answer, now.score, now.generator, now.cost
        )  # fmt: skip
    continued = bough.generate(walk, 5, seeds=nodes, rng=0)
    assert continued.calls == 5
    assert len(continued.nodes) == 20
    assert continued.best.score >= result.best.score


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{"], "line 1 is not JSON"),
        (["[1]"], "line 1 must be an object with a score"),
        (['{"answer": 1}'], "line 1 must be an object with a score"),
        (['{"score": "x"}'], "the score of line 1"),
        (['{"score": 1, "parent": 5}'], "line 1: its parent 5 is not before it"),
        (['{"score": 1, "id": 1}', '{"score": 1, "id": 1}'], "line 2: its id 1 occurs twice"),
        (['{"score": 1, "std": -1}'], "the std of line 1 must not be negative"),
        (['{"score": 1, "generator": 3}'], "line 1: its generator"),
        (['{"score": 1, "id": [1]}'], "line 1: an id must be a number or a text"),
        (['{"score": 1}', '{"score": 1, "parent": {}}'], "line 2: an id must be a number"),
    ],
)
def test_wrong_logs(lines, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read_log(lines)


def test_lines_without_an_id_have_their_number_and_a_mark_of_byte_order_is_skipped(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"score": 1, "id": null}\n{"score": 2, "parent": 0}\n', encoding="utf-8-sig")
    assert [node.path for node in read_log(path)] == [(0,), (0, 0)]


def fake_state():
    """A state with the attributes of TreeQuest's, where it is not installed."""
    root = SimpleNamespace(parent=None, expand_idx=-1, state=None, score=-1.0, trial_id=None)
    first = SimpleNamespace(parent=root, expand_idx=0, state="a", score=0.5, trial_id="t0")
    second = SimpleNamespace(parent=first, expand_idx=1, state="b", score=0.7, trial_id="t1")
    trials = {name: SimpleNamespace(action="big") for name in ("t0", "t1")}
    return SimpleNamespace(
        tree=SimpleNamespace(get_nodes=lambda: [root, first, second]),
        trial_store=SimpleNamespace(finished_trials=trials),
    )


def test_a_state_of_treequest():
    nodes = read_treequest(fake_state())
    assert [(n.path, n.answer, n.score, n.generator) for n in nodes] == [
        ((0,), "a", 0.5, "big"), ((0, 0), "b", 0.7, "big")
    ]  # fmt: skip
    with pytest.raises(TypeError, match="state must be that of an algorithm of TreeQuest"):
        read_treequest({"tree": 1})


def test_a_run_of_treequest_is_continued():
    treequest = pytest.importorskip("treequest")
    algorithm = treequest.ABMCTSA()
    state = algorithm.init_tree()
    for _ in range(12):
        state = algorithm.step(state, {"small": lambda s: (json.dumps(s), 0.5)})
    nodes = read_treequest(state)
    assert len(nodes) == 12
    assert {node.generator for node in nodes} == {"small"}
    search = bough.GenerativeSearch(("small",), seeds=nodes, rng=0)
    result = GenerationResult(search, "loaded")
    assert result.best.score == 0.5
    assert len(result.tree) == 12
    search.tell(search.ask(), "better", 0.9)
