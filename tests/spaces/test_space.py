"""Spaces, their parameters, their points, and the laws of partitions."""

import enum
import json
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from small_spaces import random_partition, random_path, spaces

from bough import Choice, Float, Int, Space, Tree
from bough.spaces.partition import Partition


class Thing:
    """An option that cannot be compared."""

    def __eq__(self, other):
        raise TypeError("no")

    __hash__ = None


MODELS = Space(
    **{"learning rate": Float(1e-5, 1, log=True)},
    model=Choice(
        {
            "svm": Space(
                C=Float(1e-3, 1e3, log=True),
                kernel=Choice({"linear": None, "rbf": Space(gamma=Float(0, 1))}),
            ),
            "forest": Space(trees=Int(10, 1000, log=True), C=Int(1, 3)),
        }
    ),
    steps=Float(0, 1, step=0.1),
    one=Int(7, 7),
    only=Choice(["this"]),
)


def all_paths(tree, path=()):
    count = int(tree.children(path))
    if count == 0:
        yield path
    for k in range(count):
        yield from all_paths(tree, (*path, k))


# ---------------------------------------------------------------------- partitions


@given(spaces(), st.integers(0, 2**32 - 1))
def test_encode_inverts_decode(space, seed):
    rng = np.random.default_rng(seed)
    for _ in range(3):
        path = random_path(space.tree, rng)
        params = space.decode(path)
        assert space.encode(params) == path
        assert space.decode(space.encode(params)) == params


@given(spaces())
def test_every_point_of_a_finite_space_is_in_exactly_one_leaf(space):
    if space.size > 300:
        return
    points = list(space.points())
    assert len(points) == len(set(points)) == space.size
    paths = list(all_paths(space.tree))
    assert len(paths) == space.size
    assert {space.encode(space.params(point)) for point in points} == set(paths)
    assert math.isclose(space.tree.log_arms, math.log(space.size), abs_tol=1e-9)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(1e-5, 1))
def test_a_point_lies_in_its_cell(x, y, rate):
    space = Space(x=Float(0, 1), y=Float(-3, 5), rate=Float(1e-5, 1, log=True))
    params = {"x": x, "y": -3 + 8 * y, "rate": rate}
    center = space.decode(space.encode(params))
    assert abs(center["x"] - x) <= 2.0**-21 + 1e-12
    assert abs(center["y"] - params["y"]) <= 8 * 2.0**-21 + 1e-12
    assert abs(math.log(center["rate"] / rate)) <= math.log(1e5) * 2.0**-21 + 1e-12


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
@example(1e9, 1e9 + 0.01, 0.5, False, 0)
@example(1.0, 1.0 + 1e-14, 0.5, False, 0)
@example(0.0, 5e-324, 0.5, False, 0)
@example(1e-300, 1e300, 0.5, True, 0)
@example(2.3e-308, 1.7e308, 0.999, True, 0)
def test_encode_inverts_decode_for_any_range(a, b, u, log, seed):
    low, high = (abs(a) + 2.3e-308, abs(b) + 2.3e-308) if log else (a, b)
    low, high = min(low, high), max(low, high)
    if not math.isfinite(high - low):
        return
    space = Space(x=Float(low, high, log=log))
    path = random_path(space.tree, np.random.default_rng(seed))
    assert space.encode(space.decode(path)) == path
    for value in (low, high, space.parameters["x"].value(u)):
        assert low <= value <= high
        path = space.encode({"x": value})
        assert space.tree.complete(path) == path
    if log and low < high:
        assert math.isclose(
            math.log(space.parameters["x"].value(u)),
            (1 - u) * math.log(low) + u * math.log(high),
            rel_tol=1e-12, abs_tol=1e-12,
        )  # fmt: skip


@given(
    st.floats(-1e12, 1e12), st.floats(1e-12, 1e9), st.integers(0, 10**12), st.integers(0, 10**12)
)
@example(1e9, 1e-3, 1000, 877)
@example(0.1, 1e-11, 10**11, 68229572746)
def test_positions_of_grid_values(low, step, count, index):
    high = low + count * step
    if step < 8 * math.ulp(max(abs(low), abs(high))):
        with pytest.raises(ValueError, match="too short for floats"):
            Float(low, high, step=step)
        return
    parameter = Float(low, high, step=step)
    assert parameter.count in (count, count + 1)
    index %= parameter.count
    assert parameter.position(parameter.value(index), "x") == index
    assert low <= parameter.value(index) <= parameter.high


def test_decimal_steps_are_decimal_numbers():
    parameter = Float(-0.3, 0.7, step=0.1)
    assert [parameter.value(i) for i in range(parameter.count)] == [
        -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7
    ]  # fmt: skip


def test_the_center_of_a_log_scale_is_the_geometric_mean():
    space = Space(n=Int(1, 10**6, log=True))
    middle = space.params(space.center(space.partition.cell(())))["n"]
    assert 500 < middle < 2000


def test_sizes_too_large_for_floats():
    many = {f"x{i}": Int(0, 2**50) for i in range(30)}
    assert Space(**many).size == (2**50 + 1) ** 30
    for space in (
        Space(**many, y=Float(0, 1)),
        Space(c=Choice({"a": Space(**many), "b": Space(y=Float(0, 1))})),
    ):
        assert space.size == math.inf


def test_both_ends_belong_to_a_range():
    space = Space(x=Float(-2, 5), r=Float(1e-3, 7, log=True), n=Int(1, 10**9, log=True))
    for params in ({"x": -2, "r": 1e-3, "n": 1}, {"x": 5, "r": 7, "n": 10**9}):
        path = space.encode(params)
        assert space.tree.complete(path) == path
        assert space.decode(path)["n"] == params["n"]


@given(st.integers(0, 2**32 - 1))
def test_random_partitions_contain_every_point_once(seed):
    rng = np.random.default_rng(seed)
    space = Space(a=Int(0, 4), b=Choice({"x": Space(c=Int(1, 30, log=True)), "y": None}))
    partition = random_partition(space, rng)
    tree = Tree(partition, partition.depth, log_arms=10.0)
    paths = {partition.path(point) for point in space.points()}
    assert len(paths) == space.size == 5 * 31
    assert paths == set(all_paths(tree))
    for point in space.points():  # the cell of a leaf contains this point only
        assert space.center(partition.cell(partition.path(point))) == point


def test_the_highest_priority_is_cut_first():
    space = Space(x=Float(0, 1), y=Float(0, 1))
    partition = Partition(space.slots, space.roots, levels=4, priority=[0.0, math.log(4.0) * 2.5])
    assert [cut.slot for cut in partition.first.cuts] == [1, 1, 1, 0, 1, 0, 0, 0]


def test_choices_without_parameters_are_cuts_of_one_plan():
    space = Space(**{f"c{i}": Choice(["x", "y"]) for i in range(60)})
    rng = np.random.default_rng(0)
    for _ in range(20):
        path = random_path(space.tree, rng)
        assert len(path) == 60
        assert space.encode(space.decode(path)) == path
    plan = space.partition.first
    assert sorted(cut.slot for cut in plan.cuts) == list(range(60))
    assert plan.options == []  # not a plan for each of the paths


def test_options_without_parameters_share_a_plan():
    names = [f"c{i}" for i in range(20)]
    space = Space(
        **{n: Choice({"x": None, "y": None, "z": Space(**{n + n: Float(0, 1)})}) for n in names}
    )
    plans = [space.partition.first]
    for _ in range(19):
        first, other = (space.partition.option(plans[-1], option) for option in (0, 1))
        assert first is other
        assert space.partition.option(plans[-1], 2) is not first
        plans.append(first)


def test_threads_may_share_a_space():
    space = Space(x=Float(0, 1), c=Choice({"a": Space(y=Float(0, 1)), "b": None}), n=Int(1, 50))
    tree = space.tree
    wrong = []

    def walk(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            path = space.encode(space.decode(random_path(tree, rng)))
            if tree.complete(path) != path:
                wrong.append(path)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(walk, range(3)))
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_a_choice_has_a_child_for_each_option():
    space = Space(c=Choice("abcde"[i] for i in range(5)))
    assert space.tree.depth == 1
    assert space.tree.children(()) == 5
    assert [space.decode((k,))["c"] for k in range(5)] == list("abcde")


# ---------------------------------------------------------------------- params


def test_params_are_flat_and_unchanged():
    params = {
        "learning rate": 0.01, "model": "svm", "C": 2.0, "kernel": "rbf", "gamma": 0.5,
        "steps": 0.3, "one": 7, "only": "this",
    }  # fmt: skip
    assert MODELS.decode(MODELS.encode(params)).keys() == params.keys()
    point = MODELS.point(params)
    for name, value in MODELS.params(point).items():
        assert value == (pytest.approx(params[name]) if isinstance(value, float) else params[name])
    forest = params | {"model": "forest", "trees": 100, "C": 2}
    del forest["kernel"], forest["gamma"]
    assert MODELS.params(MODELS.point(forest))["C"] == 2


def test_sixty_parameters():
    space = Space(**{f"x{i}": Float(0, 1) for i in range(60)})
    path = space.encode({f"x{i}": i / 60 for i in range(60)})
    assert len(path) == 60 * 20
    assert space.decode(path)["x30"] == pytest.approx(0.5, abs=1e-6)


def test_an_empty_space_has_one_point():
    space = Space()
    assert space.size == 1
    assert space.encode({}) == ()
    assert space.decode(()) == {}
    assert space.tree.depth == 0


def test_parameters_with_one_value():
    space = Space(a=Float(2, 2), b=Float(3, 3, log=True), c=Int(4, 4), d=Float(1, 1, step=2))
    params = {"a": 2.0, "b": 3.0, "c": 4, "d": 1.0}
    assert space.size == 1
    assert space.decode(space.encode(params)) == params


def test_options_may_be_any_objects():
    thing, array = Thing(), np.arange(3)
    space = Space(what=Choice([thing, array, None, True, 1, 2.5, len]))
    for i, option in enumerate((thing, array, None, True, 1, 2.5, len)):
        assert space.point({"what": option}) == (i,)
        assert space.decode(space.encode({"what": option}))["what"] is option
    with pytest.raises(ValueError, match="what must be one of"):
        space.encode({"what": Thing()})


def test_options_as_numpy_scalars():
    space = Space(a=Choice([True, False]), b=Choice([1, 2]), c=Choice([0.5, math.nan]))
    assert space.point({"a": np.True_, "b": np.int64(2), "c": float("nan")}) == (0, 1, 1)
    with pytest.raises(ValueError, match="a must be one of True, False, got 1"):
        space.point({"a": 1, "b": 1, "c": 0.5})


def test_names_may_be_any_strings():
    names = ["self", "parameters", "with space", "", "é", "class"]
    space = Space(**{name: Int(i, 9) for i, name in enumerate(names)})
    params = dict.fromkeys(names, 7)
    assert space.params(space.point(params)) == params
    assert Space.from_json(space.to_json()) == space


def test_repr_evaluates_to_the_space():
    space = Space(
        x=Float(0, 1, step=0.25), r=Float(1e-3, 1, log=True), n=Int(1, 9, step=2),
        c=Choice({"a": Space(m=Int(1, 99, log=True)), "b": None}),
    )  # fmt: skip
    assert eval(repr(space)) == space
    assert repr(Space(x=Float(0, 1), n=Int(1, 2))) == "Space(x=Float(0.0, 1.0), n=Int(1, 2))"


def test_a_grid_of_decimal_fractions():
    parameter = Float(0, 1, step=0.1)
    assert parameter.count == 11
    space = Space(x=parameter)
    assert space.encode({"x": 0.3}) == space.encode({"x": 0.1 + 0.2})
    with pytest.raises(ValueError, match="x must be a number from 0.0 to 1.0 in steps of 0.1"):
        space.encode({"x": 0.35})


def test_numpy_numbers_are_accepted():
    space = Space(n=Int(1, 5), x=Float(0, 1))
    assert space.encode({"n": np.int64(3), "x": np.float32(0.5)}) == space.encode(
        {"n": 3.0, "x": 0.5}
    )


# ---------------------------------------------------------------------- JSON


@given(spaces())
def test_from_json_inverts_to_json(space):
    again = Space.from_json(space.to_json())
    assert again == space
    assert again.tree.log_arms == space.tree.log_arms
    assert hash(again) == hash(space)


def test_json_of_numbers_that_are_not_finite():
    space = Space(c=Choice([1.5, math.nan, math.inf, -math.inf]), d=Choice(np.arange(3)))
    text = space.to_json()
    json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
    again = Space.from_json(text)
    assert again == space
    assert again.parameters["d"].options == (0, 1, 2)


class Color(enum.IntEnum):
    RED = 1


def test_options_that_json_cannot_hold():
    with pytest.raises(TypeError, match="of 'what' cannot be written as JSON"):
        Space(what=Choice([Color.RED])).to_json()  # which would be read as 1
    with pytest.raises(TypeError, match="of 'what' cannot be written as JSON"):
        Space(what=Choice([len])).to_json()
    for text in (
        '{"x": {"kind": "complex"}}',
        '{"x": 3}',
        "[1]",
        "{",
        '{"x": {"kind": "int"}}',
        '{"x": {"kind": "int", "low": 2, "high": 1}}',
        '{"x": {"kind": "choice", "options": ["a", "b"], "spaces": [{}]}}',
    ):
        with pytest.raises(ValueError, match="JSON of"):
            Space.from_json(text)
    json.loads(MODELS.to_json())


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Float(1, 0), "low must not be above high"),
        (lambda: Float(0, math.inf), "high must be finite"),
        (lambda: Float(math.nan, 1), "low must be finite"),
        (lambda: Float(-1e308, 1e308), "high - low must be finite"),
        (lambda: Float("0", 1), "low must be one real number"),
        (lambda: Float(0, 1, log=True), "low must be positive on a log scale"),
        (lambda: Float(1, 2, log=1), "log must be True or False"),
        (lambda: Float(0, 1, step=0), "step must be above zero"),
        (lambda: Float(1, 2, step=0.1, log=True), "give one of them"),
        (lambda: Int(1.5, 2), "low must be an int"),
        (lambda: Int(3, 2), "low must not be above high"),
        (lambda: Int(0, 2, log=True), "low must be positive"),
        (lambda: Int(0, 2, step=0), "step must be at least 1"),
        (lambda: Int(1, 9, step=2, log=True), "give one of them"),
        (lambda: Int(0, 2**60), "high must be at most"),
        (lambda: Choice([]), "at least one option"),
        (lambda: Choice("abc"), "options must be a list"),
        (lambda: Choice(3), "options must be a list"),
        (lambda: Choice({"a", "b"}), "options must be a list"),
        (lambda: Choice([math.nan, float("nan")]), "nan is given twice"),
        (lambda: Float(5e-324, 1, log=True), "at least 2.23e-308 on a log scale"),
        (lambda: Float(0, 1, step=1e-20), "step is too short"),
        (lambda: Float(0, 1e300, step=1e-300), "step is too short"),
        (lambda: Choice(["a", "b", "a"]), "'a' is given twice"),
        (lambda: Choice([Space()]), "needs a name"),
        (lambda: Choice({"a": 3}), "of option 'a' must be a bough.Space"),
        (lambda: Space(x=3), "parameter 'x' must be a Float, Int or Choice"),
        (lambda: Space(x=Space()), "a space inside a space is an option"),
        (
            lambda: Space(x=Choice({"a": Space(x=Int(0, 1))})),
            "'x' has a parameter of the same name",
        ),
        (
            lambda: Space(
                a=Choice({1: Space(z=Int(0, 1))}), b=Choice({2: Space(z=Int(0, 1)), 3: None})
            ),
            "the name 'z' is given twice",
        ),
    ],
)
def test_bad_spaces(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n": 3}, "params must have 'c'"),
        ({"n": 3, "c": "a", "y": 1.0}, "params has 'y'"),
        ({"n": 3, "c": "b"}, "params must have 'x', a number from 0.0 to 1.0"),
        ({"n": 3, "c": "b", "x": 1.5}, "x must be a number from 0.0 to 1.0, got 1.5"),
        ({"n": 3, "c": "b", "x": math.nan}, "x must be finite"),
        ({"n": 3, "c": "b", "x": "1"}, "x must be one real number"),
        ({"n": 6, "c": "a"}, "n must be a whole number from 1 to 5, got 6"),
        ({"n": 2.5, "c": "a"}, "n must be an int"),
        ({"n": 2, "c": "z"}, "c must be one of 'a', 'b', got 'z'"),
        ([1, 2], "params must be a dict"),
    ],
)
def test_bad_params(params, words):
    space = Space(n=Int(1, 5), c=Choice({"a": None, "b": Space(x=Float(0, 1))}))
    with pytest.raises((TypeError, ValueError), match=words):
        space.encode(params)


def test_bad_paths():
    space = Space(x=Float(0, 1))
    with pytest.raises(ValueError, match="too short"):
        space.decode((0, 1))
    with pytest.raises(ValueError, match="children"):
        space.decode((2,) * 20)
