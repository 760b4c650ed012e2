"""Paths whose ends are found by evaluation, against a tree whose function knows them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bough

KERNEL = bough.kernels.Discounted(0.8, 2.0)


def complete(path, ends, depth):
    """Cut a path where it ends, if it does."""
    for i in range(1, depth + 1):
        if path[:i] in ends:
            return path[:i]
    return path


@st.composite
def plays_with_ends(draw):
    """Some ends, none above another, and rewards of paths that respect them."""
    depth = draw(st.integers(2, 4))
    step = st.integers(0, 2)
    places = draw(st.lists(st.lists(step, min_size=1, max_size=depth).map(tuple), max_size=4))
    ends = {p for p in places if not any(p[:i] in places for i in range(1, len(p)))}
    paths = st.lists(step, min_size=depth, max_size=depth).map(tuple)
    plays = draw(st.lists(st.tuples(paths, st.floats(-5, 5)), max_size=12))
    return depth, ends, [(complete(path, ends, depth), value) for path, value in plays]


@given(plays_with_ends(), st.booleans(), st.floats(0.1, 2.0))
def test_ends_are_equivalent_to_a_branching_function(case, steps, noise):
    depth, ends, plays = case
    ended = {path for path, _ in plays if path in ends and len(path) < depth}
    ragged = bough.Tree(lambda path: 0 if path in ended else 3, depth, log_arms=9.0)
    known = bough.Belief(ragged, KERNEL, noise)
    found = bough.Belief(bough.Tree(3, depth), KERNEL, noise)
    for path, value in plays:
        for belief in (known, found):
            if steps:
                belief.observe_steps(path, [value / len(path)] * len(path))
            else:
                belief.observe(path, value)
        if path in ended:
            found.end(path)
            found.end(path)  # again changes nothing
    found = pickle.loads(pickle.dumps(found))
    paths = [complete(path, ended, depth) for path in np.ndindex(*[3] * depth)]
    for one, other in zip(known.posterior(paths), found.posterior(paths), strict=True):
        np.testing.assert_array_equal(one, other)
    assert known.log_likelihood() == found.log_likelihood()
    for b in (0.0, 1.0, 3.0):
        one, other = known.highest_upper(b), found.highest_upper(b)
        assert (one.path, one.upper) == (other.path, other.upper)
        one, other = known.highest_lower(b), found.highest_lower(b)
        assert (one.path, one.lower) == (other.path, other.lower)


def test_a_search_does_not_go_below_an_end():
    tree = bough.Tree(2, 3)
    search = bough.GPTS(tree, KERNEL, 0.0, mean=0.0, rng=0)
    seen = set()
    for _ in range(1 + 4):
        path = search.ask()
        search.forget(path)
        if path[0] == 1:
            path = (1,)
        assert path not in seen
        seen.add(path)
        search.belief.observe(path, float(sum(path)))
        if path == (1,):
            search.belief.end(path)
    with pytest.raises(bough.Exhausted):
        search.ask()


def test_paths_that_cannot_end():
    belief = bough.Belief(bough.Tree(2, 3), KERNEL, 0.1)
    belief.observe((0, 1, 1), 1.0)
    before = belief.posterior([(0, 1, 1), (1, 1, 1)])
    with pytest.raises(ValueError, match=r"no observation at \(1,\)"):
        belief.end((1,))
    with pytest.raises(ValueError, match=r"\(0, 1\) had further steps before"):
        belief.end((0, 1))
    with pytest.raises(ValueError, match="numbered 0 to 1"):
        belief.end((2,))
    belief.observe((1,), 0.5)
    belief.end((1,))
    for call in (lambda p: belief.observe(p, 1.0), lambda p: belief.posterior([p])):
        with pytest.raises(ValueError, match=r"continues below \(1,\), where it ended"):
            call((1, 0, 0))
    assert len(belief) == 2
    assert belief.posterior([(0, 1, 1)])[1] <= before[1][0]
    ragged = bough.Belief(bough.Tree(lambda path: 2, 3), KERNEL, 0.1)
    ragged.observe((0, 0, 0), 1.0)
    with pytest.raises(ValueError, match="branching function of this tree determines"):
        ragged.end((0, 0, 0))
