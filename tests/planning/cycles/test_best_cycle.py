"""Howard's algorithm against enumeration of simple cycles, Karp's algorithm, and its dual."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.planning.cycles.best_cycle import Graph, best_policy, cycle_of


@st.composite
def weighted_graphs(draw, most=6):
    """Random graphs, with equal weights and several components often."""
    nodes = draw(st.integers(1, most))
    weights = st.one_of(st.integers(-2, 2).map(float), st.floats(-1, 1, width=32))
    edges = [
        (s, draw(st.integers(0, nodes - 1)), draw(weights))
        for s in range(nodes)
        for _ in range(draw(st.integers(1, 3)))
    ]
    sources, targets, values = (np.array(column) for column in zip(*edges, strict=True))
    return Graph(sources, targets, np.ones(len(edges))), values.astype(float)


def best_by_enumeration(graph, weights, start):
    """Return the highest mean weight of the simple cycles that can be reached from a node."""
    best = -np.inf

    def follow(path, total, duration):
        nonlocal best
        for e in np.flatnonzero(graph.sources == path[-1]):
            target = graph.targets[e]
            if target in path:
                k = path.index(target)
                own = sum(total[k:]) + weights[e], sum(duration[k:]) + graph.times[e]
                best = max(best, own[0] / own[1])
            else:
                follow([*path, target], [*total, weights[e]], [*duration, graph.times[e]])

    follow([start], [], [])
    return best


def karp(graph, weights):
    """Return the highest mean weight of a cycle, by the algorithm of Karp (1978)."""
    nodes = graph.nodes
    longest = np.full((nodes + 1, nodes), -np.inf)
    longest[0] = 0.0  # walks from anywhere
    for k in range(1, nodes + 1):
        np.maximum.at(longest[k], graph.targets, longest[k - 1][graph.sources] + weights)
    lengths = np.arange(nodes)[:, None]
    ends = np.isfinite(longest[nodes])
    means = (longest[nodes] - longest[:nodes]) / (nodes - lengths)
    means[~np.isfinite(longest[:nodes])] = np.inf
    return means.min(axis=0)[ends].max()


@given(weighted_graphs(), st.randoms(use_true_random=False))
def test_gains_are_those_of_enumeration(example, random):
    graph, weights = example
    own = [np.flatnonzero(graph.sources == s).tolist() for s in range(graph.nodes)]
    start = np.array([random.choice(edges) for edges in own])
    for policy in (best_policy(graph, weights), best_policy(graph, weights, start)):
        for node in range(graph.nodes):
            expected = best_by_enumeration(graph, weights, node)
            assert policy.gains[node] == pytest.approx(expected, abs=1e-9)
            cycle = cycle_of(graph, policy.edges, node)
            assert weights[cycle].mean() == pytest.approx(expected, abs=1e-9)
            assert (graph.targets[cycle] == np.roll(graph.sources[cycle], -1)).all()
            assert len(set(graph.sources[cycle].tolist())) == len(cycle)  # a simple one


@given(weighted_graphs(), st.data())
def test_edges_without_a_duration(example, data):
    """The gain is then a ratio of sums; a last node branches at once, as untried pairs do."""
    graph, weights = example
    nodes = graph.nodes
    targets = graph.targets.copy()
    moved = data.draw(st.lists(st.integers(0, len(targets) - 1), max_size=4))
    targets[moved] = nodes
    graph = Graph(
        np.concatenate([graph.sources, np.full(nodes, nodes)]),
        np.concatenate([targets, np.arange(nodes)]),
        np.concatenate([graph.times, np.zeros(nodes)]),
    )
    weights = np.concatenate([weights, np.zeros(nodes)])
    policy = best_policy(graph, weights)
    for node in range(nodes + 1):
        expected = best_by_enumeration(graph, weights, node)
        assert policy.gains[node] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("nodes", [2, 30, 300])
def test_large_graphs_by_karp_and_by_the_dual(nodes):
    """No edge has more than gain and bias allow, which bounds the mean of every cycle."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        sources = np.repeat(np.arange(nodes), 3)
        targets = rng.integers(nodes, size=3 * nodes)
        targets[::3] = (np.arange(nodes) + 1) % nodes  # one component
        weights = rng.normal(size=3 * nodes)
        graph = Graph(sources, targets, np.ones(3 * nodes))
        policy = best_policy(graph, weights)
        gain = policy.gains[0]
        assert policy.gains == pytest.approx(np.full(nodes, gain), abs=1e-9)
        assert gain == pytest.approx(karp(graph, weights), abs=1e-9)
        slack = policy.biases[sources] - (weights - gain + policy.biases[targets])
        assert slack.min() > -1e-8


def test_a_long_ring():
    """The best cycle may have as many edges as there are states, more than any distance."""
    nodes = 200
    sources = np.repeat(np.arange(nodes), 2)
    targets = np.stack([(np.arange(nodes) + 1) % nodes, np.arange(nodes)], axis=1).ravel()
    weights = np.tile([0.5, 0.4], nodes)
    policy = best_policy(Graph(sources, targets, np.ones(2 * nodes)), weights)
    assert len(cycle_of(Graph(sources, targets, np.ones(2 * nodes)), policy.edges, 7)) == nodes
