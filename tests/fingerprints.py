"""Fingerprints: what fixed seeds give, for comparison across refactorings.

    python tests/fingerprints.py            compare with tests/data/fingerprints.json
    python tests/fingerprints.py --write    record them again

Each fingerprint is a hash of every value that a run produced, bit for bit. Bits may differ between
machines (mathematical libraries differ), so this is a tool and not a test. `--write` is for changes
that are meant to change plays; the commit that does so says why.
"""

import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import bough
from bough import kernels, planning

FILE = Path(__file__).parent / "data" / "fingerprints.json"
TREE = bough.Tree(4, 5)
SEED = 7


def reward(path):
    """A deterministic rugged reward."""
    total = 0.0
    for i, step in enumerate(path):
        digest = hashlib.sha256(repr(tuple(path[: i + 1])).encode()).digest()
        total += 0.7**i * (digest[0] / 255 + 0.1 * step)
    return total


def ragged(path):
    return (len(path) * 3 + sum(path)) % 4 + 1 if len(path) < 6 else 0


def noise_of(path, i):
    digest = hashlib.sha256(repr((tuple(path), i)).encode()).digest()
    return 0.2 * (digest[1] / 255 - 0.5)


def play(search, plays, *, noisy=True, pending=1, steps=False):
    """Run ask and tell with some pending evaluations; return everything that was seen."""
    seen, waiting = [], []
    for i in range(plays):
        try:
            waiting.append(search.ask())
        except bough.Exhausted:
            seen.append("exhausted")
            break
        if len(waiting) < pending:
            continue
        path = waiting.pop(i % len(waiting))
        if i % 17 == 16:
            search.forget(path)
            continue
        value = reward(path) + (noise_of(path, i) if noisy else 0.0)
        if steps:
            search.tell(path, steps=[value / len(path)] * len(path))
        else:
            search.tell(path, value)
        seen.append((path, value))
    for rule in ("lower", "mean", "observed"):
        try:
            best = search.best(rule)
        except ValueError:
            continue
        seen.append((rule, best.path, best.mean, best.std))
    certificate = getattr(search, "certificate", None)
    if certificate is not None:
        seen.append((certificate.path, certificate.lower, certificate.upper))
    belief = getattr(search, "belief", None)
    if isinstance(belief, bough.Belief):
        seen.append((belief.log_likelihood(), belief.kernel.increments(5).tolist(), belief.noise))
    return seen


def searchers():
    """The runs of GPTS and of the baselines."""
    known = {"kernel": kernels.Geometric(0.6, variance=0.3), "noise": 0.1, "mean": 1.0}
    free = {"kernel": kernels.Gaussian(None, variance=None)}
    for select in ("arm", "ucb"):
        for label, prior in (("known", known), ("learned", {}), ("gaussian", free)):
            name = f"gpts {select} {label}"
            make = lambda p=prior, s=select, t=TREE, **more: bough.GPTS(  # noqa: E731
                t, select=s, rng=SEED, **p, **more
            )
            yield name, lambda m=make: play(m(), 300)
            yield f"{name} pending", lambda m=make: play(m(), 150, pending=5)
            yield f"{name} steps", lambda m=make: play(m(), 120, steps=True)
            yield f"{name} exact", lambda m=make: play(m(), 200, noisy=False)
            yield f"{name} deepening", lambda m=make: play(m(growth="deepening"), 150)
            yield f"{name} rollout", lambda m=make: play(m(growth="rollout"), 150)
            yield (
                f"{name} ragged",
                lambda m=make: play(m(t=bough.Tree(ragged, 6)), 150, pending=2),
            )
            yield (
                f"{name} wide",
                lambda m=make: play(m(t=bough.Tree(500, 3)), 150),
            )
            yield (
                f"{name} open-ended",
                lambda m=make: play(m(t=bough.Tree(float("inf"), 3)), 150),
            )
        yield (
            f"gpts {select} mean function",
            lambda s=select: play(
                bough.GPTS(
                    TREE, kernels.Linear(0.1), 0.1, mean=lambda p: 0.1 * sum(p), select=s, rng=1
                ),
                150,
                pending=3,
            ),
        )
    baselines = {
        "bast": {},
        "best_first": {"discount": 0.7},
        "gittins": {"discount": 0.9},
        "gpb": {},
        "hoo": {},
        "kl_olop": {"plays": 150, "discount": 0.7},
        "linrel": {},
        "lookahead": {},
        "olop": {"plays": 150, "discount": 0.7},
        "random": {},
        "two_level": {},
        "ucb1": {},
        "ucb_air": {},
        "uct": {},
        "zooming": {"exploration": 0.1},
    }
    for name, options in baselines.items():
        steps = name in ("best_first", "olop", "kl_olop")
        yield (
            f"baseline {name}",
            lambda n=name, o=options, s=steps: play(
                make_searcher(n, bough.Tree(3, 4), SEED, o), 150, steps=s
            ),
        )


def make_searcher(name, tree, rng, options):
    try:
        from bough.searchers.registry import make_searcher as make
    except ImportError:
        from bough.searchers.registry import make_searcher as make
    return make(name, tree, rng, options)


def trials_of(result):
    return [
        [(t.id, t.params if t.params is not None else t.path, t.value) for t in result.study.trials]
        if result.study is not None
        else None,
        result.best.path,
        result.best.params,
        result.best.mean,
        result.best.std,
        result.stopped_by,
    ]


def spaces():
    """Forest on three spaces."""
    boxes = bough.Space(x=bough.Float(-5, 10), y=bough.Float(0, 15))
    mixed = bough.Space(
        rate=bough.Float(1e-5, 1e-1, log=True),
        layers=bough.Int(1, 6),
        kind=bough.Choice(["a", "b", "c"]),
    )
    conditional = bough.Space(
        rate=bough.Float(1e-5, 1e-1, log=True),
        model=bough.Choice({"forest": bough.Space(trees=bough.Int(10, 500)), "linear": None}),
    )

    def box(p):
        return (p["x"] - 3) ** 2 + (p["y"] - 2) ** 2 + abs(p["x"] * p["y"] - 6)

    def mix(p):
        return abs(p["rate"] - 0.01) * 10 + abs(p["layers"] - 4) + "bca".index(p["kind"])

    def cond(p):
        if p.get("trees", 0) > 480:
            raise RuntimeError("out of memory")
        return abs(p["rate"] - 0.01) + 1 / p.get("trees", 1)

    for name, space, f in (
        ("box", boxes, box),
        ("mixed", mixed, mix),
        ("conditional", conditional, cond),
    ):

        def run(space=space, f=f):
            with tempfile.TemporaryDirectory() as folder:
                result = bough.minimize(
                    f,
                    space,
                    budget=120,
                    rng=3,
                    study=f"{folder}/s.db",
                    catch=RuntimeError,
                    progress=False,
                )
                return trials_of(result)

        yield f"forest {name}", run
        yield (
            f"forest {name} noisy",
            lambda space=space, f=f: _noisy_forest(space, f),
        )
        yield (
            f"uct on {name}",
            lambda space=space, f=f: trials_of(
                bough.minimize(
                    f, space, budget=60, searcher="uct", rng=3, catch=RuntimeError, progress=False
                )
            )[1:],
        )


def _noisy_forest(space, f):
    search = bough.Forest(space, rng=5)
    seen, waiting = [], []
    for i in range(90):
        waiting.append(search.ask())
        if len(waiting) < 3:
            continue
        params = waiting.pop(0)
        try:
            value = -f(params) + noise_of(sorted(map(str, params.items())), i)
        except RuntimeError:
            search.fail(params)
            continue
        search.tell(params, value)
        seen.append((params, value))
    best = search.best()
    return [*seen, best.params, best.mean, best.std, search.certificate.upper]


def planners():
    """Plans and short episodes in three environments."""
    import gymnasium

    for name, options in (
        ("CartPole-v1", {}),
        ("Taxi-v4", {}),
        ("FrozenLake-v1", {"is_slippery": True}),
    ):

        def decide(name=name, options=options):
            env = gymnasium.make(name, **options)
            env.reset(seed=0)
            found = planning.plan(env, budget=200, rng=0)
            return [found.path, found.value, found.std, found.calls]

        def act(name=name, options=options, searcher="gpts"):
            env = gymnasium.make(name, **options)
            env.reset(seed=0)
            agent = planning.Agent(env, budget=60, searcher=searcher, rng=0)
            seen = []
            for _ in range(6):
                action = agent.act()
                _, r, end, cut, _ = env.step(action)
                seen.append((int(action), float(r)))
                if end or cut:
                    break
            return seen

        yield f"plan {name}", decide
        yield f"agent {name}", act
        yield f"agent uct {name}", lambda act=act: act(searcher="uct")


def studies():
    """A study that is resumed, and the same without a break."""

    def resumed(budgets=(30, 70, 120), searcher=None):
        with tempfile.TemporaryDirectory() as folder:
            for budget in budgets:
                result = bough.maximize(
                    lambda path: reward(path) + noise_of(path, 0),
                    TREE,
                    budget=budget,
                    searcher=searcher,
                    study=f"{folder}/s.db",
                    rng=4 if budget == budgets[0] else None,
                    progress=False,
                )
            return trials_of(result)

    yield "study resumed", resumed
    yield "study at once", lambda: resumed((120,))
    yield "study resumed uct", lambda: resumed(searcher="uct")


def runs():
    yield from searchers()
    yield from spaces()
    yield from planners()
    yield from studies()


def fingerprint(value):
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def main(arguments):
    warnings.simplefilter("ignore")
    wanted = [a for a in arguments if not a.startswith("--")]
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    found, different = {}, []
    for name, run in runs():
        if wanted and not any(w in name for w in wanted):
            continue
        try:
            value = run()
        except Exception as error:
            value = f"{type(error).__name__}: {error}"
            print(f"{name}: {value}")
        found[name] = fingerprint(value)
        if recorded.get(name) != found[name]:
            different.append(name)
            if "--show" in arguments:
                print(name, *value, sep="\n  ")
    if "--write" in arguments:
        FILE.write_text(json.dumps({**recorded, **found}, indent=0, sort_keys=True) + "\n")
    print(f"{len(found)} fingerprints, {len(different)} different")
    for name in different:
        print(" ", name)
    return bool(different) and "--write" not in arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
