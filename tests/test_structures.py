"""Trees whose paths stand for something: compared with enumerations by other means."""

import itertools
import json
import math
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import bough
from bough import GPTS, Study, StudyError, Tree, kernels, maximize
from bough.cli import main
from bough.report.snapshot import snapshot
from bough.structures import graph as graphs
from bough.structures import structure as structures


def leaves(tree, path=()):
    width = tree.branching(path)
    if width == 0:
        yield path
    for k in range(width):
        yield from leaves(tree, (*path, k))


def nodes(tree, path=()):
    yield path
    for k in range(tree.branching(path)):
        yield from nodes(tree, (*path, k))


def objects(tree):
    """Return what the complete paths stand for, after checks of what holds of all trees."""
    paths = list(leaves(tree))
    if tree.arms is not None:
        assert len(paths) == tree.arms
    assert tree.log_arms >= math.log(len(paths)) - 1e-12
    for path in paths:
        assert tree.complete(list(path)) == path
        assert len(path) <= tree.depth
    decoded = [tree.decode(path) for path in paths]
    assert [tree.decode(path) for path in reversed(paths)] == decoded[::-1]  # not by memory
    return decoded


def step_back(n):
    """Return the neighbors of a number on the way to 0; a number may also stay or grow."""
    return list(dict.fromkeys([n + 1, n // 2, n]))


def is_small(n):
    return n < 3


RULES = {"<e>": ["<e> + <e>", "-<e>", "<v>"], "<v>": ["x", "y"]}
NESTED = {"e": [["+", "e", "e"], ("sin", "e"), ["x"], 2.0]}
TREES = [
    Tree.permutations("abcd"),
    Tree.permutations([(0, 1), None, 2.5, "a"], label="pair"),
    Tree.subsets(range(6), 3),
    Tree.strings("ACG", 4),
    Tree.strings(["a", "bc"], 3),
    Tree.grammar(RULES, "<e>", 6),
    Tree.grammar(NESTED, "e", 5),
    Tree.graph(step_back, 5, 0, 6),
    Tree.graph(step_back, 9, is_small, 5, label="state"),
]
IN_A_FILE = TREES[:7]


# ---------------------------------------------------------------------- bijections


@given(st.integers(1, 6))
def test_every_permutation_is_one_path(n):
    items = [f"item {i}" for i in range(n)]
    found = objects(Tree.permutations(items))
    assert sorted(map(tuple, found)) == sorted(itertools.permutations(items))


@given(st.integers(1, 8), st.data())
def test_every_subset_is_one_path(n, data):
    size = data.draw(st.integers(1, n))
    tree = Tree.subsets(range(n), size)
    found = objects(tree)
    assert all(type(subset) is set and len(subset) == size for subset in found)
    assert {frozenset(s) for s in found} == {
        frozenset(s) for s in itertools.combinations(range(n), size)
    }
    assert len(found) == tree.arms == math.comb(n, size)


@given(st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_every_string_is_one_path(letters, length, characters):
    alphabet = "ACGT"[:letters] if characters else ["one", "two", 3, None][:letters]
    expected = itertools.product(alphabet, repeat=length)
    expected = list(map("".join, expected)) if characters else list(map(list, expected))
    assert objects(Tree.strings(alphabet, length)) == expected


def derivations(rules, form, rewrites):
    """Return the sentences that a form (a tuple of parts) becomes within so many rewrites."""
    for i, part in enumerate(form):
        if part in rules:
            if rewrites == 0:
                return
            for alternative in rules[part]:
                yield from derivations(
                    rules, (*form[:i], *alternative, *form[i + 1 :]), rewrites - 1
                )
            return
    yield "".join(form)


ALTERNATIVES = st.lists(
    st.lists(st.sampled_from(["<a>", "<b>", "<c>", "x", "y"]), max_size=3).map(tuple),
    min_size=1,
    max_size=3,
    unique_by="".join,
)


@given(st.fixed_dictionaries({"<a>": ALTERNATIVES, "<b>": ALTERNATIVES, "<c>": ALTERNATIVES}),
       st.integers(1, 6))  # fmt: skip
def test_every_derivation_is_one_path(rules, depth):
    texts = {symbol: ["".join(a) for a in given] for symbol, given in rules.items()}
    if any(not list(derivations(rules, (symbol,), 7)) for symbol in rules):
        with pytest.raises(ValueError, match="never ends"):
            Tree.grammar(texts, "<a>", depth)
        return
    expected = list(derivations(rules, ("<a>",), depth))
    if not expected:
        with pytest.raises(ValueError, match="the rewrites of the shortest derivation"):
            Tree.grammar(texts, "<a>", depth)
        return
    tree = Tree.grammar(texts, "<a>", depth)
    assert objects(tree) == expected  # also those of an ambiguous grammar, in the same order
    assert tree.arms == len(expected)


def walks(edges, walk, is_goal, steps):
    if len(walk) > 1 and is_goal(walk[-1]):
        yield walk
    elif steps:
        for after in edges[walk[-1]]:
            yield from walks(edges, [*walk, after], is_goal, steps - 1)


@given(st.data(), st.integers(1, 6), st.booleans())
def test_every_walk_is_one_path(data, n, is_function):
    states = list(range(n))
    some = st.lists(st.sampled_from(states), unique=True, max_size=3)
    edges = {state: data.draw(some) for state in states}
    goals = data.draw(st.sets(st.sampled_from(states), min_size=1, max_size=2))
    goals = goals if is_function else {min(goals)}
    goal = goals.__contains__ if is_function else min(goals)
    depth = data.draw(st.integers(1, 6))
    expected = list(walks(edges, [0], goals.__contains__, depth))
    if not expected:
        with pytest.raises(ValueError, match=r"cannot be reached from 0 within depth \d"):
            Tree.graph(edges.__getitem__, 0, goal, depth)
        return
    tree = Tree.graph(edges.__getitem__, 0, goal, depth)
    assert objects(tree) == expected
    assert tree.arms == len(expected)


def test_expressions_are_nested_tuples():
    found = objects(TREES[6])
    assert ("+", "x", ("sin", 2.0)) in found
    assert "x" in found
    assert 2.0 in found
    assert len(set(found)) == len(found)  # no two derivations are the same expression


def test_text_may_have_symbols_that_become_numbers():
    tree = Tree.grammar({"N": [1, 2.5], "S": ["f(N, N)", "N"]}, "S", 3)
    assert objects(tree) == ["f(1, 1)", "f(1, 2.5)", "f(2.5, 1)", "f(2.5, 2.5)", 1, 2.5]


def test_the_empty_text_is_an_alternative():
    tree = Tree.grammar({"S": ["a S b", ""]}, "S", 3)
    assert objects(tree) == ["a a  b b", "a  b", ""]


# ---------------------------------------------------------------------- labels


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_labels_and_names_are_those_of_the_last_step(tree):
    for path in nodes(tree):
        if not path:
            with pytest.raises(ValueError, match="the root has no label"):
                tree.label(path)
            continue
        hash(tree.label(path))
        assert tree.label(path) == pickle.loads(pickle.dumps(tree)).label(path)
        siblings = [tree.label((*path[:-1], k)) for k in range(tree.branching(path[:-1]))]
        assert len(set(siblings)) == len(siblings)


def test_labels_of_each_kind():
    assert [Tree.permutations("abc").label(p) for p in ((2,), (2, 1))] == [(0, "c"), (1, "b")]
    pairs = Tree.permutations("abc", label="pair")
    assert [pairs.label(path) for path in ((2,), (2, 1), (2, 1, 0))] == [
        ("c",), ("c", "b"), ("b", "a"),
    ]  # fmt: skip
    assert Tree.subsets("abcd", 2).label((1, 1)) == "d"
    assert Tree.strings("ab", 3).label((0, 1)) == (1, "b")
    assert TREES[5].label((0, 1, 1)) == ("<v>", "y")
    assert TREES[6].label((0,)) == ("e", ("+", "e", "e"))
    assert TREES[7].label((1, 1)) == (2, 1)
    assert TREES[8].label((1,)) == 4


def test_the_label_of_a_plain_tree_is_the_name_or_the_number_of_the_step():
    assert Tree(3, 2).label((0, 2)) == 2
    assert Tree(3, 2, labels=["a", "b", "c"]).label((0, 2)) == "c"
    assert Tree(3, 2, labels=lambda path: len(path)).label((0, 2)) == 2


def test_incomplete_paths_decode_to_what_is_known():
    """Searchers with growth="deepening" evaluate inner nodes."""
    assert [tree.decode(()) for tree in TREES[:5]] == [[], [], set(), "", []]
    assert [tree.decode(()) for tree in TREES[5:]] == ["<e>", "e", [5], [9]]
    assert TREES[0].decode((3,)) == ["d"]
    assert TREES[5].decode((0, 1)) == "<v> + <e>"
    assert TREES[6].decode((0, 1)) == ("+", ("sin", "e"), "e")
    for tree in TREES:
        with pytest.raises(ValueError, match="children, numbered"):
            tree.decode((99,))
        with pytest.raises(TypeError, match="path must be a sequence"):
            tree.decode("0")


# ---------------------------------------------------------------------- values


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees_are_values(tree):
    list(nodes(tree))  # (what they remember does not count)
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert repr(again) == repr(tree)
    assert [again.decode(path) for path in leaves(again)] == objects(tree)
    assert [tree == other for other in TREES].count(True) == 1
    assert tree != Tree(3, 2)


def test_representations():
    assert repr(TREES[0]) == "Tree.permutations(items=('a', 'b', 'c', 'd'), label='position')"
    assert repr(TREES[2]) == "Tree.subsets(items=(0, 1, 2, 3, 4, 5), size=3)"
    assert repr(TREES[6]).startswith("Tree.grammar({'e': [('+', 'e', 'e'), ('sin', 'e'), ('x',)")
    assert repr(TREES[8]) == (
        "Tree.graph(step_back, start=9, goal=is_small, depth=5, label='state')"
    )
    assert eval(repr(TREES[5])) == TREES[5]


def test_numbers_of_numpy_become_numbers_of_python():
    tree = Tree.permutations(np.arange(3))
    assert tree == Tree.permutations(range(3))
    assert {type(item) for item in tree.decode((0, 0, 0))} == {int}


def test_counts_far_beyond_floats():
    assert Tree.permutations(range(300)).arms == math.factorial(300)
    assert Tree.strings("ab", 5000).log_arms == pytest.approx(5000 * math.log(2))
    assert Tree.subsets(range(1000), 500).arms == math.comb(1000, 500)
    assert Tree.grammar({"S": ["a S", "b S", ""]}, "S", 300).arms == 2**300 - 1


def test_where_counting_takes_long_there_is_a_bound(monkeypatch):
    for tree in TREES[5:]:
        exact = tree.log_arms
        with monkeypatch.context() as patch:
            patch.setattr(structures, "MOST_ADDITIONS", 0)
            again = Tree.of(pickle.loads(pickle.dumps(tree.structure)))
            assert again.arms is None
            assert exact <= again.log_arms < 50


def test_what_is_remembered_is_bounded(monkeypatch):
    expected = objects(TREES[5])
    monkeypatch.setattr(structures, "REMEMBERED", 3)
    tree = Tree.of(pickle.loads(pickle.dumps(TREES[5].structure)))
    assert objects(tree) == expected
    assert len(tree.structure._known) <= 3


def test_long_derivations_and_walks_do_not_exceed_the_recursion_limit():
    tree = Tree.grammar({"S": ["aSb".replace("S", "<S>"), ""], "<S>": ["S"]}, "S", 1501)
    path = (0,) * 1500
    assert tree.decode((*path, *(0 for _ in range(tree.branching(path))))).startswith("aaa")
    line = Tree.graph(lambda n: [n + 1], 0, 1500, 1500)
    assert line.decode((0,) * 1500) == list(range(1501))
    assert line.is_leaf((0,) * 1500)


def test_walks_stay_within_the_states_that_are_explored(monkeypatch):
    def successors(n):
        return [2 * n, 2 * n + 1]

    monkeypatch.setattr(graphs, "MOST_STATES", 100)
    tree = Tree.graph(successors, 1, 13, 50)  # 2^50 states are within reach
    assert objects(tree) == [[1, 3, 6, 13]]
    with pytest.raises(ValueError, match=r"depth 50 among the 100 nearest states"):
        Tree.graph(successors, 1, 1000, 50)


def test_closed_walks():
    tree = Tree.graph({0: [1, 2], 1: [2, 0], 2: [0]}.__getitem__, 0, 0, 3)
    assert objects(tree) == [[0, 1, 2, 0], [0, 1, 0], [0, 2, 0]]


# ---------------------------------------------------------------------- searches


def score(thing):
    """Return a score that depends on the object alone."""
    parts = sorted(map(repr, thing)) if isinstance(thing, set) else list(map(repr, (thing,)))
    return sum((i + 3) % 7 * ord(c) % 11 for i, c in enumerate("".join(parts))) / 50


@pytest.mark.parametrize("tree", TREES, ids=repr)
@pytest.mark.parametrize("searcher", ["gpts", "uct", "random", "best_first"])
def test_searches_call_the_objective_with_objects(tree, searcher):
    seen = []

    def objective(thing):
        seen.append(thing)
        return score(thing)

    everything = objects(tree)
    result = maximize(objective, tree, budget=15, searcher=searcher, rng=0, progress=False)
    assert all(thing in everything for thing in seen)
    best = max(seen, key=score)
    assert score(tree.decode(result.best_observed.path)) == score(best)
    assert str(tree.decode(result.best.path)) in str(result)


def test_gpts_finds_the_best_of_all():
    tree = Tree.subsets(range(8), 3)
    weights = [3, 1, 4, 1, 5, 9, 2, 6]
    result = maximize(lambda s: sum(weights[i] for i in s), tree, budget=56, rng=0)
    assert tree.decode(result.best.path) == {4, 5, 7}


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_labels_work_as_labels_of_a_kernel(tree):
    kernel = kernels.Labeled(kernels.Geometric(0.6), labels=tree.label, between=kernels.Same(0.5))
    search = GPTS(tree, kernel, noise=0.1, rng=0)
    result = maximize(score, tree, budget=8, searcher=search, progress=False)
    mean, _ = search.belief.posterior([result.best.path])
    assert mean[0] == result.best.mean


def test_deepening_evaluates_inner_nodes():
    seen = []
    search = GPTS(Tree.strings("ab", 4), growth="deepening", rng=0)

    def objective(text):
        seen.append(text)
        return text.count("b") / 4

    maximize(objective, search.tree, budget=20, searcher=search, progress=False)
    assert {len(text) for text in seen} >= {1, 2, 3}


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_studies_resume_bit_for_bit(tree, tmp_path):
    whole, parts = tmp_path / "whole.db", tmp_path / "parts.db"
    options = {"rng": 3, "progress": False}
    maximize(score, tree, budget=14, study=whole, **options)
    maximize(score, tree, budget=6, study=parts, **options)
    with pytest.raises(StudyError, match="is a study of another tree"):
        maximize(score, Tree.subsets(range(7), 3), budget=14, study=parts, **options)
    again = pickle.loads(pickle.dumps(tree))
    if tree in IN_A_FILE:
        with Study.open(parts) as study:
            assert study.tree == tree
    else:
        with pytest.raises(StudyError, match=r"open .* with tree="):
            Study.open(parts)
    maximize(score, again, budget=14, study=parts, **options)
    with Study.open(whole, tree=tree) as one, Study.open(parts, tree=tree) as other:
        assert [t[:5] for t in one.trials] == [t[:5] for t in other.trials]
        assert one.best() == other.best()


def test_commands_and_pages_show_objects(tmp_path):
    (tmp_path / "pack.py").write_text(
        "from bough import Tree\n\ntree = Tree.subsets(['map', 'tent', 'rope'], 2)\n\n\n"
        "def value(things):\n    return len(''.join(things))\n"
    )
    target = f"{tmp_path / 'pack.py'}:value"
    found = CliRunner().invoke(main, ["search", target, "--json", "--budget", "3"])
    assert json.loads(found.stdout)["best"]["decoded"] == "{'tent', 'rope'}"
    page = CliRunner().invoke(main, ["search", target, "--budget", "3"])
    assert "{'tent', 'rope'}" in page.stdout
    result = maximize(len, TREES[2], budget=3, rng=0, progress=False)
    assert snapshot(result)["summary"]["best"]["decoded"] == TREES[2].text(result.best.path)
    assert TREES[2].text((0, 1)) == "{0, 2}"
    assert Tree(3, 2).text((0, 1)) == "(0, 1)"


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Tree.permutations([]), ValueError, "items must not be empty"),
        (lambda: Tree.permutations("abca"), ValueError, r"items\[0\] and items\[3\] are both 'a'"),
        (lambda: Tree.permutations([1, 1.0]), ValueError, "items must be different"),
        (lambda: Tree.permutations([[1], [2]]), TypeError, r"items\[0\] must be hashable \(a tup"),
        (lambda: Tree.permutations({"a", "b"}), TypeError, "items must be a sequence"),
        (lambda: Tree.permutations(5), TypeError, "items must be a sequence, got 5"),
        (lambda: Tree.permutations(np.eye(2)), TypeError, r"items\[0\] must be hashable"),
        (lambda: Tree.permutations([math.nan]), ValueError, "must be equal to itself, got nan"),
        (
            lambda: Tree.permutations("ab", label="item"),
            ValueError,
            "label must be 'position' or 'pair', got 'item'",
        ),
        (lambda: Tree.subsets("abc", 4), ValueError, "the number of items, 3, got 4"),
        (lambda: Tree.subsets("abc", 0), ValueError, "size must be at least 1, got 0"),
        (lambda: Tree.subsets("abc", 2.0), TypeError, "size must be an int, got 2.0"),
        (lambda: Tree.subsets("aba", 2), ValueError, "items must be different"),
        (lambda: Tree.strings("", 3), ValueError, "alphabet must not be empty"),
        (lambda: Tree.strings("aa", 3), ValueError, r"alphabet\[0\] and alphabet\[1\] are both"),
        (lambda: Tree.strings("ab", 0), ValueError, "length must be at least 1, got 0"),
        (lambda: Tree.strings([{}], 2), TypeError, r"alphabet\[0\] must be hashable"),
        (lambda: Tree.grammar({}, "S", 3), ValueError, "rules must not be empty"),
        (lambda: Tree.grammar([("S", "a")], "S", 3), TypeError, "rules must be a dict"),
        (lambda: Tree.grammar({"S": "a"}, "S", 3), TypeError, r"rules\['S'\] must be a list of"),
        (lambda: Tree.grammar({"S": []}, "S", 3), ValueError, r"rules\['S'\] must not be empty"),
        (lambda: Tree.grammar({"S": ["a", "a"]}, "S", 3), ValueError, "must be different"),
        (lambda: Tree.grammar({"S": [{}]}, "S", 3), TypeError, "must be hashable"),
        (lambda: Tree.grammar({"S": [[["a"]]]}, "S", 3), TypeError, "must be hashable"),
        (lambda: Tree.grammar({"S": ["a"]}, "T", 3), ValueError, r"a symbol with rules \('S'\)"),
        (lambda: Tree.grammar({"S": ["a"]}, [], 3), ValueError, "a symbol with rules"),
        (lambda: Tree.grammar({"S": ["a S"]}, "S", 3), ValueError, "'S' never ends"),
        (
            lambda: Tree.grammar({"S": ["a", "<A>"], "<A>": ["<B>"], "<B>": ["<A>"]}, "S", 3),
            ValueError,
            "'<A>' never ends",
        ),
        (
            lambda: Tree.grammar({"<s>": ["a <t>"]}, "<s>", 3),
            ValueError,
            "'a <t>' has '<t>', which has no rules",
        ),
        (lambda: Tree.grammar({"<s>": [("a", "<t>")]}, "<s>", 3), ValueError, "has no rules"),
        (lambda: Tree.grammar({"S": ["aSb", "ab"]}, "S", 3), ValueError, "'S' inside a word"),
        (
            lambda: Tree.grammar({"S": [("f", "T", "T")], "T": ["x"]}, "S", 2),
            ValueError,
            "depth must be at least 3, the rewrites of the shortest derivation from 'S', got 2",
        ),
        (lambda: Tree.grammar({"S": ["a"]}, "S", 0), ValueError, "depth must be at least 1"),
        (lambda: Tree.graph({0: [1]}, 0, 1, 3), TypeError, "successors must be a function"),
        (lambda: Tree.graph(step_back, [0], 1, 3), TypeError, "start must be hashable"),
        (lambda: Tree.graph(step_back, 0, [1], 3), TypeError, "goal must be hashable"),
        (lambda: Tree.graph(step_back, 3, 9, 5), ValueError, "9 cannot be reached from 3 within"),
        (lambda: Tree.graph(lambda n: None, 0, 1, 3), TypeError, r"successors\(0\) must return st"),
        (lambda: Tree.graph(lambda n: [[1]], 0, 1, 3), TypeError, "must be hashable"),
        (lambda: Tree.graph(lambda n: [1, 1], 0, 1, 3), ValueError, "must be different states"),
        (lambda: Tree.graph(step_back, 3, 0, 0), ValueError, "depth must be at least 1, got 0"),
        (
            lambda: Tree.graph(step_back, 3, 0, 5, label="node"),
            ValueError,
            "label must be 'edge' or 'state'",
        ),
    ],
)
def test_bad_structures(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_ragged_structures_are_no_enumerated_problems():
    from bough.problems.base import Enumerated

    with pytest.raises(ValueError, match="one branching for each depth"):
        Enumerated.__init__(object.__new__(Enumerated.__subclasses__()[0]), TREES[2],
                            noise=0.1, seed=0)  # fmt: skip


def test_a_tree_without_a_structure_has_none():
    assert Tree(3, 2).structure is None
    assert bough.Tree is Tree
