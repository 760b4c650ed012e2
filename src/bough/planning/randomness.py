"""Random numbers of an environment: which generators it holds, and other numbers for all of them.

A planner must not foresee the future, so what is simulated draws other numbers than the world will.
"""

import gc
import random
import types
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bough.planning.layers import table_of

#: What random numbers come from. All can be reseeded in place.
GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
#: What holds nothing of an environment's own: classes, modules, the functions of C libraries.
CLOSED = (type, types.ModuleType, types.BuiltinFunctionType)


def reachable(thing: Any, skip: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Yield all that an object holds, however deep, and itself: each thing once."""
    seen = {id(other): other for other in (*skip, thing)}
    queue = deque([thing])
    while queue:
        thing = queue.popleft()
        yield thing
        for part in _parts(thing):
            if id(part) not in seen:
                seen[id(part)] = part  # alive, or another object might get its id
                queue.append(part)


def _parts(thing: Any) -> list[Any]:
    if isinstance(thing, (*GENERATORS, *CLOSED)):
        return []
    if isinstance(thing, types.FunctionType):  # (it refers to its module, too)
        return [thing.__closure__, thing.__defaults__, thing.__kwdefaults__]
    return gc.get_referents(thing)


def is_random_state(thing: Any) -> bool:
    """Return whether this is a generator, or what one gives out as its state."""
    if isinstance(thing, dict):
        return "bit_generator" in thing
    if isinstance(thing, tuple):  # of NumPy's old generators, and of Python's
        legacy = len(thing) == 5 and isinstance(thing[0], str) and thing[0] == "MT19937"
        return legacy or (len(thing) == 3 and isinstance(thing[1], tuple) and len(thing[1]) == 625)
    return isinstance(thing, GENERATORS)


def generators_of(env: Any) -> list[Any]:
    """Return all random generators that an environment holds, its own `np_random` first."""
    bare = env.unwrapped
    own = getattr(bare, "np_random", None)  # (it is made when somebody asks for it)
    skip = (bare.spec, table_of(bare))
    found = [x for x in reachable(env, skip) if isinstance(x, GENERATORS) and x is not own]
    return found if own is None else [own, *found]


def reseed(env: Any, seed: int) -> None:
    """Give an environment other random numbers, in place: parts of it may share a generator."""
    for k, generator in enumerate(generators_of(env)):
        reseed_one(generator, seed, k)


def reseed_one(generator: Any, seed: int, stream: int = 0) -> None:
    """Give a generator other random numbers, independent of those of other streams."""
    source = np.random.SeedSequence(seed, spawn_key=(stream,) if stream else ())
    if isinstance(generator, random.Random):
        generator.seed(int(source.generate_state(1, np.uint64)[0]))
    elif isinstance(generator, np.random.RandomState):
        generator.seed(source.generate_state(4))
    else:
        bits = getattr(generator, "bit_generator", generator)
        bits.state = type(bits)(source).state


@contextmanager
def global_numbers(seed: int) -> Iterator[None]:
    """Reseed the generators that whole modules share, and put them back in the end."""
    python = random.getstate()
    numpy = np.random.get_state()  # noqa: NPY002 - environments may use it still
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
