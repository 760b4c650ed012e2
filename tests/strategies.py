"""Random trees, kernels and consistent rewards for property tests."""

import math
import zlib

from hypothesis import strategies as st

from bough import Tree, kernels


def noise_of(key, path):
    """Return a number between -2 and 2 that depends on key and path only."""
    return (zlib.crc32(repr((key, path)).encode()) % 4001) / 1000 - 2


def coarse(x):
    """Round to a multiple of 2^-24, so that sums of such numbers are exact."""
    return round(x * 2**24) / 2**24


class Ragged:
    """A branching function that ends some paths early, the same ones every time."""

    def __init__(self, most, key):
        self.most, self.key = most, key

    def __call__(self, path):
        h = zlib.crc32(repr((self.key, path)).encode())
        if path and h % 5 == 0:
            return 0
        return 1 + h // 7 % self.most

    def __repr__(self):
        return f"Ragged({self.most}, {self.key})"


class Hill:
    """A prior mean that is a function of the path."""

    def __init__(self, key):
        self.key = key

    def __call__(self, path):
        return sum(coarse(noise_of(self.key, path[:i]) / (1 + i)) for i in range(len(path) + 1))


@st.composite
def trees(draw, most_children=7, most_depth=8):
    depth = draw(st.integers(0, most_depth))
    kind = draw(st.sampled_from(["uniform", "each depth", "ragged", "wide", "open"]))
    if kind == "uniform":
        return Tree(draw(st.integers(1, most_children)), depth)
    if kind == "each depth":
        counts = st.lists(st.integers(1, most_children), min_size=depth, max_size=depth)
        return Tree(draw(counts), depth)
    if kind == "ragged":
        return Tree(Ragged(draw(st.integers(1, most_children)), draw(st.integers(0, 99))), depth)
    if kind == "wide":  # wide enough for groups of children, and groups of groups
        return Tree(draw(st.sampled_from([40, 300, 10_000])), min(depth, 2))
    return Tree(math.inf, min(depth, 3))


@st.composite
def simple_kernels(draw):
    variance = draw(st.sampled_from([0.0, 0.25, 1.0, 3.0, 100.0]))
    share = st.floats(0.05, 0.95)
    return draw(
        st.one_of(
            st.just(kernels.Linear(variance)),
            st.builds(kernels.Gaussian, st.floats(0.5, 5.0), st.just(variance)),
            st.builds(kernels.Discounted, st.floats(0.3, 1.0), st.just(variance)),
            st.builds(kernels.Geometric, st.floats(0.3, 2.0), st.just(variance), share),
        )
    )


@st.composite
def chi_kernels(draw, depth):
    falls = draw(st.lists(st.sampled_from([0.0, 0.1, 1.0]), min_size=depth + 1, max_size=depth + 1))
    values, total = [], 0.0
    for fall in falls:
        total += fall
        values.append(total)
    return kernels.Chi(tuple(values[::-1]))


@st.composite
def some_kernel(draw, depth):
    kind = draw(st.sampled_from(["simple", "chi", "sum", "multiple"]))
    if kind == "simple":
        return draw(simple_kernels())
    if kind == "chi":
        return draw(chi_kernels(depth))
    if kind == "sum":
        return draw(simple_kernels()) + draw(simple_kernels())
    return draw(st.sampled_from([0.5, 2.0])) * draw(simple_kernels())


def some_path(data, tree, *, complete=False):
    """Draw the path of a node: a random walk that may stop anywhere, or at a leaf."""
    path = ()
    length = tree.depth if complete else data.draw(st.integers(0, tree.depth), label="length")
    while len(path) < length:
        width = tree.children(path)
        if width == 0:
            break
        path += (data.draw(st.integers(0, int(min(width, 70)) - 1), label="step"),)
    return path


class Truth:
    """A function (more or less) from the prior. Exact readings never disagree, not by a bit."""

    def __init__(self, increments, mean, key):
        self.sd = [math.sqrt(v) for v in increments]
        self.mean = mean if callable(mean) else lambda path: mean
        self.key = key

    def step(self, path):
        above = self.mean(path[:-1]) if path else 0.0
        return self.mean(path) - above + coarse(self.sd[len(path)] * noise_of(self.key, path))

    def __call__(self, path):
        return sum(self.step(path[:i]) for i in range(len(path) + 1))
