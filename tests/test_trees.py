import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import trees

from bough import Tree


def leaves(tree, path=()):
    width = tree.children(path)
    if width == 0:
        yield path
    for k in range(width):
        yield from leaves(tree, (*path, k))


@given(trees(most_children=3, most_depth=4))
def test_arms_are_the_complete_paths(tree):
    if tree.counts is not None and math.inf in tree.counts:
        assert tree.arms is None
        assert tree.log_arms is None
    elif tree.counts is None and tree.depth:
        assert tree.arms is None
    elif tree.arms < 500:
        assert tree.arms == sum(1 for _ in leaves(tree))
        assert tree.log_arms == pytest.approx(math.log(tree.arms), abs=1e-12)


@given(trees(), st.data())
def test_every_walk_is_a_path(tree, data):
    path = ()
    while tree.branching(path):
        assert not tree.is_leaf(path)
        path += (data.draw(st.integers(0, int(min(tree.branching(path), 10**6)) - 1)),)
    assert tree.complete(list(path)) == path
    assert tree.decode(np.array(path, dtype=np.int64)) == path
    assert len(path) <= tree.depth


def test_counts_far_beyond_floats():
    tree = Tree(10, 400)
    assert tree.arms == 10**400
    assert tree.log_arms == pytest.approx(400 * math.log(10))


def test_labels():
    assert Tree(3, 2, labels=["a", "b", "c"]).decode((2, 0)) == ("c", "a")
    assert Tree([1, 2], 2, labels=[["x"], [1.5, None]]).decode((0, 1)) == ("x", None)
    named = Tree(math.inf, 2, labels=lambda path: f"{len(path)}:{path[-1]}")
    assert named.decode((7, 2)) == ("1:7", "2:2")
    ragged = Tree(lambda path: 2, 2, labels=["no", "yes"])
    assert ragged.decode((1,)) == ("yes",)


def test_open_and_ragged_trees_take_a_bound_of_log_arms():
    assert Tree(math.inf, 3).log_arms is None
    assert Tree(math.inf, 3, log_arms=12.5).log_arms == 12.5
    assert Tree(lambda path: 1, 3, log_arms=0).log_arms == 0.0
    assert Tree([2, math.inf], 2).branching((1,)) == math.inf


def test_trees_are_values():
    assert Tree(3, 2) == Tree(3, 2) == Tree([3, 3], 2)
    assert hash(Tree(3, 2)) == hash(Tree([3, 3], 2))
    assert Tree(3, 2) != Tree(2, 3)
    assert hash(Tree([], 0)) == hash(Tree(5, 0))
    assert Tree(lambda path: 2, 0).arms == 1
    assert Tree(lambda path: 2, 0).log_arms == 0.0
    assert Tree(3, 2) != Tree(3, 2, labels=["a", "b", "c"])
    assert pickle.loads(pickle.dumps(Tree([3, 4], 2))) == Tree([3, 4], 2)
    assert repr(Tree(3, 2)) == "Tree(3, 2)"
    assert "log_arms=4.0" in repr(Tree(math.inf, 2, log_arms=4.0))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((5, -1), ValueError, "depth must be at least 0, got -1"),
        ((5, 2.0), TypeError, "depth must be an int, got 2.0"),
        ((5, True), TypeError, "depth must be an int, got True"),
        ((0, 3), ValueError, "branching must be at least 1, got 0"),
        ((0, 0), ValueError, "branching must be at least 1, got 0"),
        ((2.5, 3), TypeError, "branching must be an int, got 2.5"),
        ((math.nan, 3), TypeError, "branching must be an int"),
        ((-math.inf, 3), TypeError, "branching must be an int"),
        (("35", 2), TypeError, "branching must be an int, a sequence or a function"),
        ((None, 2), TypeError, "branching must be an int"),
        (({2, 3}, 2), TypeError, "branching must be an int, a sequence or a function"),
        ((2, 10**20), ValueError, "depth must be at most"),
        ((10**400, 2), ValueError, "got about 10.400; split"),
        ((2**31, 2), ValueError, "split the choice into several depths"),
        (([2, 3], 3), ValueError, "2 entries, one for each depth, but depth is 3"),
        (([2, 0], 2), ValueError, r"branching\[1\] must be at least 1, got 0"),
    ],
)
def test_bad_trees(arguments, error, message):
    with pytest.raises(error, match=message):
        Tree(*arguments)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"labels": ["a"]}, ValueError, "1 names for 3 children"),
        ({"labels": "abc"}, TypeError, "labels must be a sequence, got 'abc'"),
        ({"labels": 5}, TypeError, "labels must be a sequence, got 5"),
        ({"log_arms": 3.0}, ValueError, "leave it out"),
        ({"log_arms": math.nan}, ValueError, "log_arms must be finite"),
        ({"log_arms": "many"}, TypeError, "log_arms must be one real number"),
    ],
)
def test_bad_keywords(keywords, error, message):
    with pytest.raises(error, match=message):
        Tree(3, 2, **keywords)
    with pytest.raises(ValueError, match="must not be negative"):
        Tree(math.inf, 2, log_arms=-1.0)
    with pytest.raises(TypeError, match=r"labels\[0\] must be a sequence, got 1"):
        Tree([2, 2], 2, labels=[1, 2])
    with pytest.raises(ValueError, match="one list of labels for each depth"):
        Tree([2, 2], 2, labels=[["a", "b"]])


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ((0, 0, 0), ValueError, "3 steps, but the tree has depth 2"),
        ((0, 3), ValueError, r"path\[1\] is 3, but node \(0,\) has 3 children, numbered 0 to 2"),
        ((-1,), ValueError, r"path\[0\] must be at least 0, got -1"),
        ((0.0, 1), TypeError, r"path\[0\] must be an int, got 0.0"),
        ((10**30,), ValueError, "has 3 children"),
        ("01", TypeError, "path must be a sequence of ints"),
        (7, TypeError, "path must be a sequence of ints, got 7"),
        (None, TypeError, "path must be a sequence of ints, got None"),
    ],
)
def test_bad_paths(path, error, message):
    tree = Tree(3, 2)
    for ask in (tree.branching, tree.decode, tree.complete, tree.walk):
        with pytest.raises(error, match=message):
            ask(path)


def test_paths_that_end_elsewhere():
    with pytest.raises(ValueError, match="too short: it ends at a node with 3 children"):
        Tree(3, 2).complete((0,))
    ragged = Tree(lambda path: 0 if path == (1,) else 2, 3)
    with pytest.raises(ValueError, match=r"continues below \(1,\), which is a leaf"):
        ragged.branching((1, 0))
    with pytest.raises(ValueError, match="at most"):
        Tree(math.inf, 1).branching((2**31,))
    with pytest.raises(TypeError, match=r"branching\(\(\)\) must be an int, got 2.5"):
        Tree(lambda path: 2.5, 3).branching(())
    with pytest.raises(ValueError, match="labels has 1 names"):
        Tree(lambda path: 2, 2, labels=["no"]).decode((1,))


STEPS = st.one_of(st.integers(-1, 4), st.booleans(), st.just(2**40), st.just(1.0))


@given(trees(most_children=3, most_depth=3), st.lists(STEPS, max_size=4), st.booleans())
def test_complete_and_decode_check_what_walk_checks(tree, steps, as_tuple):
    path = tuple(steps) if as_tuple else steps
    try:
        walked, counts = tree.walk(path)
    except (TypeError, ValueError) as error:
        for check in (tree.complete, tree.decode):
            with pytest.raises(type(error), match=re.escape(str(error))):
                check(path)
        return
    if tree.labels is None:
        assert tree.decode(path) == walked
    if counts[-1] == 0:
        assert tree.complete(path) == walked
        assert all(type(step) is int for step in tree.complete(path))
    else:
        with pytest.raises(ValueError, match="too short"):
            tree.complete(path)
