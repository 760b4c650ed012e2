"""Searches with a generator: the true score of the recommended answer, beside other methods.

    python -m benchmarks.generation run --seeds 30 >> benchmarks/generation_runs.jsonl
    python -m benchmarks.generation run --methods AB-MCTS-A --seeds 10 --kinds refine,width
    python -m benchmarks.generation table benchmarks/generation_runs.jsonl
    python -m benchmarks.generation steps       # what a step costs, beside an operation of NumPy

Kinds are those of `generation_problems`. A run of a method with a budget is planned for that
budget; methods that do not plan are run once, and looked at after each number of calls. Constants
of bough were chosen on the kinds of `TUNING` with seeds from 1000 on; seeds here begin at 0. Where
generators cost 1 and 8, the budgets are costs.
"""

import argparse
import heapq
import json
import sys
import time
from collections import defaultdict

import numpy as np

from benchmarks.generation_problems import REAL, SIMULATED
from bough.generation import GenerativeSearch

STAGES = (20, 50, 100, 300, 1000)
PROBLEMS = SIMULATED | REAL
#: The noise of the kinds that have one, for the method that is told it.
NOISE = {"tests": 0.1, "judge": 0.15}


class Method:
    """A method: ask for a parent (-1 for a draft) and a generator, tell a score."""

    plans = False  # whether it uses the budget

    def __init__(self, problem, rng, budget, kind):
        self.generators, self.rng = len(problem.generators), rng
        self.is_noisy = problem.is_noisy
        self.scores, self.asked = [], 0

    def ask(self):
        self.asked += 1
        return self.parent(), int(self.rng.integers(self.generators))

    def tell(self, job, score):
        self.scores.append(score)

    def best(self):
        return int(np.argmax(self.scores))


class Sampling(Method):
    """Drafts only."""

    def parent(self):
        return -1


class Greedy(Method):
    """Three drafts, then always the best score so far."""

    def parent(self):
        return -1 if self.asked <= 3 or not self.scores else self.best()


class Last(Method):
    """The last answer is refined; under noise it is also recommended."""

    def parent(self):
        return len(self.scores) - 1

    def best(self):
        return len(self.scores) - 1 if self.is_noisy else super().best()


class Beam(Method):
    """The best four of each generation of twelve."""

    def parent(self):
        generation = (self.asked - 1) // 12
        if generation == 0 or len(self.scores) < 12 * generation:
            return -1 if not self.scores else int(self.rng.choice(np.argsort(self.scores)[-4:]))
        last = range(12 * (generation - 1), 12 * generation)
        return int(self.rng.choice(sorted(last, key=lambda i: self.scores[i])[-4:]))


class Evolution(Method):
    """Ten drafts, then tournaments of three among the best twenty."""

    def parent(self):
        if self.asked <= 10 or not self.scores:
            return -1
        alive = np.argsort(self.scores, kind="stable")[-20:]
        return int(max(self.rng.choice(alive, 3), key=lambda i: self.scores[i]))


class Bough(Method):
    """`GenerativeSearch`; it knows that exact scores are exact, and fits the noise of others."""

    plans = True
    knows = False

    def __init__(self, problem, rng, budget, kind):
        noise = NOISE[kind] if self.knows and problem.is_noisy else None
        names = problem.generators
        self.search = GenerativeSearch(
            names, cost=budget, costs=dict(zip(names, problem.costs, strict=True)),
            noise=noise if problem.is_noisy else 0.0, rng=rng,
        )  # fmt: skip

    def ask(self):
        if not self.search.can_pay():
            return None
        job = self.search.ask()
        parent = -1 if job.parent is None else job.parent.id
        return parent, self.search.generators.index(job.generator), job

    def tell(self, job, score):
        self.search.tell(job[2], None, score)

    def best(self):
        return self.search.best().id


class BoughKnowing(Bough):
    """The same, told the noise."""

    knows = True


class BoughUnaware(Bough):
    """The same with the default `noise`, fitted, where scores are exact too."""

    def __init__(self, problem, rng, budget, kind):
        super().__init__(problem._replace(is_noisy=True), rng, budget, kind)


class TreeQuest(Method):
    """An algorithm of TreeQuest, by its ask_batch and tell; scores are clipped to [0, 1]."""

    def __init__(self, problem, rng, budget, kind):
        super().__init__(problem, rng, budget, kind)
        import random

        random.seed(int(rng.integers(2**31)))
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002 - the library draws from it
        self.algorithm = self.make()
        self.state, self.names = self.algorithm.init_tree(), list(problem.generators)

    def ask(self):
        self.state, (trial,) = self.algorithm.ask_batch(self.state, 1, self.names)
        parent = -1 if trial.parent_state is None else trial.parent_state[0]
        return parent, self.names.index(trial.action), trial

    def tell(self, job, score):
        self.scores.append(score)
        state = (len(self.scores) - 1,)
        self.state = self.algorithm.tell(
            self.state, job[2].trial_id, (state, min(max(score, 0.0), 1.0))
        )


class ABMCTSA(TreeQuest):
    """AB-MCTS-A with its Gaussian prior."""

    def make(self):
        import treequest

        return treequest.ABMCTSA()


class ABMCTSABeta(TreeQuest):
    """AB-MCTS-A with its beta prior."""

    def make(self):
        import treequest

        return treequest.ABMCTSA(dist_type="beta")


class ABMCTSM(TreeQuest):
    """AB-MCTS-M, a mixed model that is fitted by Markov chains: some seconds for a step."""

    def make(self):
        import treequest

        return treequest.ABMCTSM(max_process_workers=1)


class MCTS(TreeQuest):
    """UCT with a number of samples for each action."""

    def make(self):
        import treequest

        return treequest.StandardMCTS()


class BestFirst(TreeQuest):
    """Best-first search."""

    def make(self):
        from treequest.algos.best_first_search import BestFirstSearchAlgo

        return BestFirstSearchAlgo()


METHODS = {
    "bough": Bough,
    "bough, noise known": BoughKnowing,
    "bough, noise fitted": BoughUnaware,
    "sampling": Sampling,
    "greedy": Greedy,
    "last": Last,
    "beam": Beam,
    "evolution": Evolution,
    "AB-MCTS-A": ABMCTSA,
    "AB-MCTS-A beta": ABMCTSABeta,
    "AB-MCTS-M": ABMCTSM,
    "MCTS": MCTS,
    "best-first": BestFirst,
}
SIMPLE = ("sampling", "greedy", "last", "beam", "evolution")


def run(kind, method, seed, budgets, workers=1):
    """Return the truth of the recommended answer when each budget is used up."""
    problem = PROBLEMS[kind]
    generate = problem.start(np.random.default_rng([seed, 0]))
    rng = np.random.default_rng([seed, 1])
    searcher = METHODS[method](problem, np.random.default_rng([seed, 2]), budgets[-1], kind)
    answers, truth, found, running = [], [], {}, []
    begun = ended = now = 0.0
    count = 0
    while True:
        while len(running) < workers and begun < budgets[-1]:
            job = searcher.ask()
            if job is None or begun + problem.costs[job[1]] > budgets[-1] + 1e-9:
                begun = budgets[-1]
                break
            begun += problem.costs[job[1]]
            count += 1
            took = 1.0 if workers == 1 else rng.uniform(0.5, 1.5)
            heapq.heappush(running, (now + took, count, job))
        if not running:
            break
        now, _, job = heapq.heappop(running)
        for budget in budgets:
            if budget not in found and ended + problem.costs[job[1]] > budget and answers:
                found[budget] = truth[searcher.best()]
        answer, score, value = generate(None if job[0] < 0 else answers[job[0]], job[1], rng)
        answers.append(answer)
        truth.append(value)
        searcher.tell(job, score)
        ended += problem.costs[job[1]]
    for budget in budgets:
        found.setdefault(budget, truth[searcher.best()])
    return found


def chains(kind, seed, budget):
    """Return the truth of the best of eight independent searches with an eighth of the budget."""
    problem = PROBLEMS[kind]
    generate = problem.start(np.random.default_rng([seed, 0]))
    best = (-np.inf, 0.0)
    for chain in range(8):
        rng = np.random.default_rng([seed, 1, chain])
        search = Bough(problem, np.random.default_rng([seed, 2, chain]), budget / 8, kind)
        answers, truth = [], []
        while (job := search.ask()) is not None:
            answer, score, value = generate(None if job[0] < 0 else answers[job[0]], job[1], rng)
            answers.append(answer)
            truth.append(value)
            search.tell(job, score)
        if truth:
            best = max(best, (search.search.best().mean, truth[search.best()]))
    return best[1]


def command_run(options):
    kinds = options.kinds.split(",") if options.kinds else list(PROBLEMS)
    budgets = tuple(int(b) for b in options.budgets.split(","))
    for kind in kinds:
        for method in options.methods.split("|"):
            if "noise" in method and ("known" in method) != PROBLEMS[kind].is_noisy:
                continue  # it is the same as without
            for seed in range(options.first, options.first + options.seeds):
                begin = time.process_time()
                if method == "8 chains":
                    found = {b: chains(kind, seed, b) for b in budgets}
                elif METHODS[method].plans:
                    found = {b: run(kind, method, seed, (b,), options.workers)[b] for b in budgets}
                else:
                    found = run(kind, method, seed, budgets, options.workers)
                took = time.process_time() - begin
                row = {"kind": kind, "method": method, "seed": seed, "workers": options.workers}
                row |= {"found": found, "cpu": round(took, 3)}
                print(json.dumps(row), flush=True)


def command_table(options):
    rows = [json.loads(line) for line in open(options.file)]  # noqa: SIM115
    found = defaultdict(dict)  # (workers, kind, budget) -> method -> seed -> truth
    for row in rows:
        for budget, value in row["found"].items():
            found[row["workers"], row["kind"], int(budget)].setdefault(row["method"], {})[
                row["seed"]
            ] = value
    methods = [m for m in (*METHODS, "8 chains") if any(row["method"] == m for row in rows)]
    for workers in sorted({key[0] for key in found}):
        mine = [m for m in methods if any(m in found[k] for k in found if k[0] == workers)]
        print(f"\n{workers} calls at a time\n")
        print(f"| problem, calls | {' | '.join(mine)} |")
        print(f"|---|{'---|' * len(mine)}")
        for kind in PROBLEMS:
            for budget in STAGES:
                cell = found.get((workers, kind, budget))
                if not cell or "bough" not in cell:
                    continue
                print(f"| {kind} {budget} | {' | '.join(_cell(cell, m) for m in mine)} |")


def _cell(cell, method):
    """Return bough's mean, or bough's minus that of another method on the same seeds."""
    if method not in cell:
        return ""
    if method == "bough":
        values = list(cell[method].values())
        return f"{np.mean(values):.3f} ({np.std(values) / len(values) ** 0.5:.3f})"
    seeds = sorted(set(cell["bough"]) & set(cell[method]))
    if not seeds:
        return ""
    difference = np.array([cell["bough"][s] - cell[method][s] for s in seeds])
    return f"{difference.mean():+.3f} ({difference.std() / len(seeds) ** 0.5:.3f})"


def command_steps(options):
    """Print the CPU time of a step, and that of an operation of NumPy in the same run."""
    draws = np.random.default_rng(1).normal(size=4000).tolist()
    array = np.arange(1000.0)
    for count in (1, 3):
        names = [f"model {i}" for i in range(count)]
        search = GenerativeSearch(names, budget=1200, noise=0.0, rng=0)
        begin = 0.0
        for t in range(1100):
            if t == 900:
                begin = time.process_time()
            job = search.ask()
            q = (
                0.3 + 0.1 * draws[t]
                if job.parent is None
                else (job.parent.score + 0.02 * (1 - job.parent.score) + 0.05 * draws[t])
            )
            search.tell(job, None, q)
        step = (time.process_time() - begin) / 200
        begin = time.process_time()
        for _ in range(20_000):
            array.max()
        one = (time.process_time() - begin) / 20_000
        took = f"{step * 1e6:.0f} us of CPU time a step, {step / one:.0f} times"
        print(f"{count} generators, 1,000 nodes: {took} array.max() of 1,000 numbers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("--kinds", default="")
    one.add_argument("--methods", default=f"bough,bough, noise known,{','.join(SIMPLE)}")
    one.add_argument("--budgets", default="20,50,100,300")
    one.add_argument("--seeds", type=int, default=30)
    one.add_argument("--first", type=int, default=0)
    one.add_argument("--workers", type=int, default=1)
    commands.add_parser("table").add_argument("file")
    commands.add_parser("steps")
    options = parser.parse_args()
    options.methods = getattr(options, "methods", "").replace(", noise", "; noise")
    options.methods = options.methods.replace(",", "|").replace("; noise", ", noise")
    {"run": command_run, "table": command_table, "steps": command_steps}[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
