"""Find a formula for data: expressions are drafted at random, and refined by mutation.

No service is needed: the generator is a random mutation. Run it twice: the second time it resumes.
"""

import math
import random

import bough

DATA = [(x / 10, (x / 10) ** 3 - x / 10) for x in range(-20, 21)]
BINARY = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
UNARY = {"sin": math.sin, "square": lambda a: a * a}


def expression(depth, draw):
    """Return a random expression as nested lists, which JSON can hold."""
    kind = draw.random()
    if depth == 0 or kind < 0.3:
        return "x" if draw.random() < 0.6 else round(draw.gauss(0, 1), 1)
    if kind < 0.5:
        return [draw.choice(list(UNARY)), expression(depth - 1, draw)]
    name = draw.choice(list(BINARY))
    return [name, expression(depth - 1, draw), expression(depth - 1, draw)]


def value(tree, x):
    """Return the value of an expression."""
    if not isinstance(tree, list):
        return x if tree == "x" else tree
    parts = [value(part, x) for part in tree[1:]]
    return (UNARY if len(parts) == 1 else BINARY)[tree[0]](*parts)


def mutated(tree, draw):
    """Return an expression with one part replaced."""
    if not isinstance(tree, list) or draw.random() < 0.25:
        return expression(2, draw)
    at = draw.randrange(1, len(tree))
    return [mutated(part, draw) if i == at else part for i, part in enumerate(tree)]


def generate(parent, seed):
    """Draft an expression, or mutate that of a node."""
    draw = random.Random(seed)
    tree = expression(3, draw) if parent is None else mutated(parent.answer, draw)
    error = math.sqrt(sum((value(tree, x) - y) ** 2 for x, y in DATA) / len(DATA))
    return bough.Answer(tree, -error, std=0.0, feedback=f"the error is {error:.3g}")


if __name__ == "__main__":
    result = bough.generate(
        generate,
        budget=400,
        key=str,  # equal expressions are one node
        catch=OverflowError,
        stop=bough.Target(-1e-9),
        study="regression.db",
        rng=0,
    )
    print(result)
    for node in result.lineage():
        print(f"{-node.score:8.4f}  {node.answer}")
