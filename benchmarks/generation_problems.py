"""Generators to compare searches on: simulated ones, whose truth is known, and real ones.

A problem has names and costs of generators, and `start(rng)`, which returns a function
`generate(parent, generator, rng) -> (answer, score, truth)`. `parent` is an answer, None for a
draft. `truth` is what the answer is worth, `score` what a search observes of it. Kinds in `TUNING`
are those that constants were chosen on; those in `SIMULATED` and `REAL` are reported.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Generate = Callable[[Any, int, np.random.Generator], tuple[Any, float, float]]


class Problem(NamedTuple):
    """A family of generators."""

    start: Callable[[np.random.Generator], Generate]
    generators: tuple[str, ...] = ("model",)
    costs: tuple[float, ...] = (1.0,)
    is_noisy: bool = False


# ---------------------------------------------------------------------- simulated


def refine(draft=0.35, sd=0.1, gain=0.06, end=0.75, spread=0.06, observe=None):
    """Return drafts that can be refined; the mean gain of a step falls, to 0 at a score."""

    def start(rng):
        def generate(parent, generator, rng):
            if parent is None:
                q = rng.normal(draft, sd)
            else:
                q = parent + gain * (1.0 - parent / end) + spread * rng.normal()
            q = float(min(max(q, 0.0), 1.0))
            return q, q if observe is None else observe(q, rng), q

        return generate

    return start


def width(mean=0.35, sd=0.12):
    """Return children that are independent of their parents."""

    def start(rng):
        def generate(parent, generator, rng):
            q = float(min(max(rng.normal(mean, sd), 0.0), 1.0))
            return q, q, q

        return generate

    return start


def dead_ends(low=0.1, high=1.0, pull=0.25, spread=0.03):
    """Return drafts with ceilings, hidden and inherited, which their refinements approach."""

    def start(rng):
        def generate(parent, generator, rng):
            if parent is None:
                ceiling = rng.uniform(low, high)
                q = ceiling * rng.uniform(0.1, 0.5)
            else:
                q, ceiling = parent
                q = q + pull * (ceiling - q) + spread * rng.normal()
            q = float(min(max(q, 0.0), ceiling))
            return (q, ceiling), q, q

        return generate

    return start


def models(drafts=(0.5, 0.25, 0.35), gains=(-0.04, 0.08, 0.02), sd=0.08, spread=0.05, end=0.9):
    """Return generators that differ at drafting and at refining."""

    def start(rng):
        def generate(parent, generator, rng):
            if parent is None:
                q = rng.normal(drafts[generator], sd)
            else:
                q = parent + gains[generator] * (1.0 - parent / end) + spread * rng.normal()
            q = float(min(max(q, 0.0), 1.0))
            return q, q, q

        return generate

    return start


def tests(n):
    """Return the observation of a share of n random tests passed."""
    return lambda q, rng: float(rng.binomial(n, q)) / n


def judge(sd):
    """Return the observation of a judge with noise."""
    return lambda q, rng: q + sd * rng.normal()


# ---------------------------------------------------------------------- real


def tours(cities=40):
    """Return random tours, improved by random 2-opt moves; about 1 is the best possible."""

    def start(rng):
        points = rng.random((cities, 2))
        distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1)).tolist()
        shortest = 0.7124 * math.sqrt(cities)

        def generate(parent, generator, rng):
            if parent is None:
                tour = rng.permutation(cities).tolist()
            else:
                i, j = sorted(rng.choice(cities, 2, replace=False).tolist())
                tour = parent[:i] + parent[i : j + 1][::-1] + parent[j + 1 :]
            length = sum(distance[a][b] for a, b in zip(tour, [*tour[1:], tour[0]], strict=False))
            return tour, shortest / length, shortest / length

        return generate

    return start


def landscape(n=32, k=5):
    """Return bit strings of an NK landscape, changed in one or two bits."""

    def start(rng):
        neighbors = np.array([[i, *rng.choice(n, k, replace=False)] for i in range(n)])
        table = rng.random((n, 2 ** (k + 1)))
        powers = 2 ** np.arange(k + 1)

        def generate(parent, generator, rng):
            if parent is None:
                bits = rng.integers(0, 2, n)
            else:
                bits = parent.copy()
                flips = rng.choice(n, rng.integers(1, 3), replace=False)
                bits[flips] = 1 - bits[flips]
            value = float(table[np.arange(n), bits[neighbors] @ powers].mean())
            return bits, value, value

        return generate

    return start


_UNARY = {"sin": np.sin, "neg": np.negative, "square": np.square}
_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def _expression(rng, depth):
    draw = rng.random()
    if depth == 0 or draw < 0.2:
        return "x" if rng.random() < 0.6 else round(float(rng.normal(0, 2)), 2)
    if draw < 0.4:
        return (str(rng.choice(list(_UNARY))), _expression(rng, depth - 1))
    return (
        str(rng.choice(list(_BINARY))),
        _expression(rng, depth - 1),
        _expression(rng, depth - 1),
    )


def _value(expression, x):
    if expression == "x":
        return x
    if not isinstance(expression, tuple):
        return np.full_like(x, expression)
    parts = [_value(part, x) for part in expression[1:]]
    return (_UNARY if len(parts) == 1 else _BINARY)[expression[0]](*parts)


def _places(expression, at=()):
    yield at
    if isinstance(expression, tuple):
        for i, part in enumerate(expression[1:], 1):
            yield from _places(part, (*at, i))


def _replaced(expression, at, new):
    if not at:
        return new
    i = at[0]
    return (*expression[:i], _replaced(expression[i], at[1:], new), *expression[i + 1 :])


def regression(depth=3):
    """Return expressions that fit a random target, mutated by replacing a subtree."""
    x = np.linspace(-2, 2, 40)

    def start(rng):
        while True:
            target = _value(_expression(rng, 4), x)
            if target.std() > 0.3 and np.isfinite(target).all() and np.abs(target).max() < 1e3:
                break

        def generate(parent, generator, rng):
            if parent is None:
                answer = _expression(rng, depth)
            else:
                places = list(_places(parent))
                at = places[rng.integers(len(places))]
                answer = _replaced(parent, at, _expression(rng, 2))
                if len(list(_places(answer))) > 60:
                    answer = parent
            with np.errstate(all="ignore"):
                error = float(np.sqrt(np.mean((_value(answer, x) - target) ** 2)))
            score = 1.0 / (1.0 + error / float(target.std())) if math.isfinite(error) else 0.0
            return answer, score, score

        return generate

    return start


_OPERATIONS = ("x", "y", "1", "2", "+", "-", "*", "dup", "swap", "max")


def _run_program(program, x, y):
    stack = [0]
    for operation in program:
        if operation in ("x", "y", "1", "2"):
            stack.append({"x": x, "y": y, "1": 1, "2": 2}[operation])
        elif operation == "dup":
            stack.append(stack[-1])
        elif len(stack) >= 2:
            b, a = stack.pop(), stack.pop()
            if operation == "swap":
                stack += [b, a]
            else:
                stack.append({"+": a + b, "-": a - b, "*": a * b, "max": max(a, b)}[operation])
    return stack[-1]


def programs(length=8):
    """Return programs of a stack machine, edited by a word; the score rewards near results."""

    def start(rng):
        inputs = rng.integers(-5, 6, (12, 2)).tolist()
        while True:
            target = rng.choice(_OPERATIONS, length).tolist()
            wanted = [_run_program(target, x, y) for x, y in inputs]
            if len(set(wanted)) >= 6 and max(map(abs, wanted)) < 1000:
                break

        def generate(parent, generator, rng):
            if parent is None:
                program = rng.choice(_OPERATIONS, length).tolist()
            else:
                program = list(parent)
                at, kind = int(rng.integers(len(program) + 1)), int(rng.integers(3))
                word = str(rng.choice(_OPERATIONS))
                if kind == 0 and len(program) < 2 * length:
                    program.insert(at, word)
                elif kind == 1 and len(program) > 2:
                    del program[at % len(program)]
                else:
                    program[at % len(program)] = word
            errors = [
                abs(_run_program(program, x, y) - w)
                for (x, y), w in zip(inputs, wanted, strict=True)
            ]
            score = sum(1.0 / (1.0 + min(error, 1e6)) for error in errors) / len(errors)
            return program, score, score

        return generate

    return start


def onemax(n=30):
    """Return bit strings whose ones count, changed in some bits."""

    def start(rng):
        def generate(parent, generator, rng):
            bits = rng.random(n) < 0.4 if parent is None else parent ^ (rng.random(n) < 1.5 / n)
            return bits, float(bits.mean()), float(bits.mean())

        return generate

    return start


MODELS = ("drafter", "refiner", "middling")
SIMULATED = {
    "refine": Problem(refine()),
    "width": Problem(width()),
    "dead ends": Problem(dead_ends()),
    "models": Problem(models(), MODELS, (1.0, 1.0, 1.0)),
    "costs": Problem(
        models((0.3, 0.5), (0.03, 0.09), spread=0.06), ("cheap", "expensive"), (1.0, 8.0)
    ),
    "tests": Problem(refine(observe=tests(20)), is_noisy=True),
    "judge": Problem(refine(observe=judge(0.15)), is_noisy=True),
}
REAL = {
    "tours": Problem(tours()),
    "landscape": Problem(landscape()),
    "regression": Problem(regression()),
    "programs": Problem(programs()),
}
TUNING = {
    "refine'": Problem(refine(0.25, 0.15, 0.03, 0.9, 0.05)),
    "width'": Problem(width(0.2, 0.15)),
    "dead ends'": Problem(dead_ends(0.0, 0.9, 0.15, 0.02)),
    "dead ends''": Problem(dead_ends(0.2, 1.0, 0.1, 0.01)),
    "models'": Problem(models((0.3, 0.45, 0.2), (0.05, -0.02, 0.07), end=0.8), MODELS, (1.0,) * 3),
    "costs'": Problem(models((0.35, 0.4), (0.01, 0.08), sd=0.1), ("cheap", "dear"), (1.0, 5.0)),
    "tests'": Problem(refine(0.3, 0.15, 0.04, 0.9, 0.05, observe=tests(10)), is_noisy=True),
    "judge'": Problem(refine(0.3, 0.12, 0.05, 0.85, 0.05, observe=judge(0.2)), is_noisy=True),
    "onemax": Problem(onemax()),
    "tours'": Problem(tours(25)),
    "landscape'": Problem(landscape(24, 3)),
    "regression'": Problem(regression(2)),
    "programs'": Problem(programs(6)),
}
