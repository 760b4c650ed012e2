"""`GenerativeSearch`: which answer to refine next, by which generator, or whether to start over."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bough._validation import above_zero, at_least_zero, real, whole
from bough.generation.answers import Answer, Job, Loader, Node, read_answer
from bough.generation.model import Model
from bough.generation.policy import LEAST_DRAFTS, Policy

#: Without a limit a search plans as many calls ahead as it has made, at least this many.
HORIZON = 50
#: The name of the generator if there is one.
ONE = "generate"


class GenerativeSearch:
    """A search for the best answer of a random generator, with `ask` and `tell`.

    Any number of calls may run at the same time, and end in any order. Scores may be on any scale.

    Parameters
    ----------
    generators
        The names of the generators.
    budget
        The planned number of calls, including failed ones. By default the search assumes that as
        many calls remain as it has made.
    cost
        The planned total cost, in the unit of the costs of calls.
    costs
        The cost of a call of each generator: a number, or numbers by name, updated by the costs of
        answers. By default every call costs 1.
    noise
        The standard deviation of a score for which none is given, 0 if scores are exact. By default
        it is fitted.
    seeds
        Known answers to begin with, such as `(answer, score)`; or the nodes of an earlier search,
        with their parents. They are not calls.
    key
        A function of an answer: answers with equal keys are one node. By default all are different.
    max_depth
        The depth at which an answer is not refined any more; 1 for drafts only.
    rng
        A seed or a generator of random numbers, which breaks ties.

    Examples
    --------
    >>> import bough, random
    >>> draw = random.Random(0)
    >>> search = bough.GenerativeSearch(budget=50, noise=0.0, rng=0)
    >>> for _ in range(50):
    ...     job = search.ask()
    ...     start = 0.0 if job.parent is None else job.parent.answer
    ...     x = start + draw.gauss(0.0, 1.0)
    ...     _ = search.tell(job, x, -abs(x - 5.0))
    >>> abs(search.best().answer - 5.0) < 0.5
    True
    """

    def __init__(
        self,
        generators: Sequence[str] = (ONE,),
        *,
        budget: int | None = None,
        cost: float | None = None,
        costs: float | Mapping[str, float] | None = None,
        noise: float | None = None,
        seeds: Iterable[Any] = (),
        key: Callable[[Any], Hashable] | None = None,
        max_depth: int | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.generators = _checked_names(generators)
        self.budget = None if budget is None else whole(budget, "budget", least=1)
        self.cost = None if cost is None else above_zero(cost, "cost")
        self._priors = _checked_costs(costs, self.generators)
        self.noise = None if noise is None else at_least_zero(noise, "noise")
        if key is not None and not callable(key):
            raise TypeError(f"key must be a function of an answer, or None, got {key!r}")
        self.key = key
        self.max_depth = None if max_depth is None else whole(max_depth, "max_depth", least=1)
        seeds = _checked_seeds(seeds)
        self._number = {name: g for g, name in enumerate(self.generators)}
        self._model = Model(len(self.generators), self.noise)
        self._policy = Policy(self._model, np.random.default_rng(rng))
        # By number in the model. A repeated answer has the node that it repeats.
        self._nodes: list[Node] = []
        self._keys: dict[Hashable, Node] = {}
        self._drafts = 0
        self._roots = 0  # the number of nodes without a parent
        self._jobs = 0  # the number of calls so far,
        self._running: dict[int, Job] = {}  # those under way,
        self._forgotten = 0  # those that were dropped,
        #: The reasons of calls that have failed, by their numbers.
        self.reasons: dict[int, str] = {}
        self.spent = 0.0  # the cost of the calls that have ended
        count = len(self.generators)
        self._known_costs = np.zeros((count, 2))  # the number of calls with a cost, and their sum
        self._costs: Any = None  # the expected ones, None if they are to be computed again
        self._ends = np.zeros((count, 2))  # the numbers of calls that have ended, and failed
        added: dict[int, Node] = {}
        for seed in seeds:
            if isinstance(seed, Node):
                above = None if seed.parent is None else added[id(seed.parent)]
                number = self._number.get(seed.generator or "", -1)
                answer = Answer(seed.answer, seed.score, seed.std, seed.feedback)
                added[id(seed)] = self._add(above, number, answer, seed.cost)
            else:
                self._add(None, -1, seed, 0.0)

    # ------------------------------------------------------------------ ask and tell

    def ask(self) -> Job:
        """Return the next call to make: a node to refine or None for a draft, and a generator."""
        costs = self.expected_costs()
        calls = self._calls_left(costs)
        able = np.flatnonzero(calls > 0)
        drafts = self._drafts + self._policy.drafts
        if drafts < self._first_drafts(costs) or not self._model.count:
            parent, generator = None, int(able[drafts % len(able)])
        else:
            failures = self._ends[:, 1] / (self._ends.sum(axis=1) + 1.0)
            number, generator = self._policy.choose(calls, costs / (1.0 - failures))
            parent = None if number < 0 else self._nodes[number]
        return self._begin(parent, generator)

    def _first_drafts(self, costs: Any) -> int:
        """Return the number of drafts before any refinement: a tenth of the planned calls."""
        planned = float(HORIZON if self.budget is None and self.cost is None else math.inf)
        if self.budget is not None:
            planned = self.budget
        if self.cost is not None:
            planned = min(planned, self.cost / float(costs.mean()))
        return max(LEAST_DRAFTS, len(self.generators), int(planned / 10.0))

    def _begin(self, parent: Node | None, generator: int) -> Job:
        job = Job(self._jobs, parent, self.generators[generator])
        self._jobs += 1
        self._running[job.id] = job
        self._policy.begin(-1 if parent is None else parent.id)
        return job

    def tell(
        self,
        job: Job | int,
        answer: Any,
        score: float | None = None,
        *,
        std: float | None = None,
        feedback: Any = None,
        cost: float | None = None,
    ) -> Node:
        """Record the answer of a call, and return its node.

        Parameters
        ----------
        job
            The running call, or its number.
        answer
            The answer with its `score`; or, without a score, what a generator returns: a pair
            `(answer, score)`, or `(answer, score, std)`, or an `Answer`.
        score, std, feedback, cost
            As for `Answer`.
        """
        job = self.check_running(job)
        if score is not None:
            given = read_answer(Answer(answer, score, std, feedback, cost))
        elif (std, feedback, cost) != (None, None, None):
            raise TypeError("std, feedback and cost need a score: tell(job, answer, score, std=..)")
        else:
            given = read_answer(answer)
        return self.take(job, given, self.find(given.answer))

    def find(self, answer: Any) -> Node | None:
        """Return the node of an equal answer, None if there is none."""
        if self.key is None:
            return None
        key = self.key(answer)
        try:
            return self._keys.get(key)
        except TypeError:
            raise TypeError(f"key must return something hashable, got {key!r}") from None

    def learn_keys(self) -> None:
        """Compute the keys of all nodes, such as those of a resumed study."""
        if self.key is not None:
            for node in self.nodes:
                self._keys.setdefault(self.key(node.answer), node)

    def take(self, job: Job, given: Answer, same: Node | None, load: Loader | None = None) -> Node:
        """Record a checked answer, which may repeat that of a node."""
        generator = self._number[job.generator]
        cost = given.cost
        if cost is None:
            cost = float(self.expected_costs()[generator])
        else:
            self._known_costs[generator] += 1.0, cost
            self._costs = None
        self._end(job, cost, failed=False)
        return self._add(job.parent, generator, given, cost, same, load)

    def fail(self, job: Job | int, reason: str = "", *, cost: float | None = None) -> None:
        """Record that a call failed. By default its cost is that of other calls."""
        job = self.check_running(job)
        if cost is None:
            cost = float(self.expected_costs()[self._number[job.generator]])
        else:
            cost = at_least_zero(cost, "cost")
            self._known_costs[self._number[job.generator]] += 1.0, cost
            self._costs = None
        self._end(job, cost, failed=True)
        self.reasons[job.id] = str(reason)

    def forget(self, job: Job | int) -> None:
        """Drop a call that was not made, or will not end."""
        job = self.check_running(job)
        del self._running[job.id]
        self._forgotten += 1
        self._policy.end(-1 if job.parent is None else job.parent.id, failed=False)

    def check_running(self, job: Job | int) -> Job:
        """Return a call that is under way, or refuse it."""
        number = whole(job.id if isinstance(job, Job) else job, "job", least=0)
        if number >= self._jobs:
            raise ValueError(f"there is no call {number}: ask() has made {self._jobs} so far")
        found = self._running.get(number)
        if found is None:
            raise ValueError(f"call {number} has ended already; ask for another")
        if isinstance(job, Job) and (job.generator, job.parent) != (found.generator, found.parent):
            raise ValueError(f"call {number} of this search is {found}, not {job}")
        return found

    def _end(self, job: Job, cost: float, *, failed: bool) -> None:
        del self._running[job.id]
        self._policy.end(-1 if job.parent is None else job.parent.id, failed=failed)
        self._ends[self._number[job.generator], int(failed)] += 1.0
        self.spent += cost

    def _add(
        self,
        parent: Node | None,
        generator: int,
        given: Answer,
        cost: float,
        same: Node | None = None,
        load: Loader | None = None,
    ) -> Node:
        above = -1 if parent is None else parent.id
        number = self._model.add(above, generator, given.score, given.std)
        self._drafts += parent is None
        if same is not None:
            # A step that leads to a known answer teaches about steps, and about its score.
            self._model.observe(same.id, given.score, given.std)
            same.score = self._model.score(same.id)
            self._policy.grow(closed=True)
            self._nodes.append(same)
            return same
        if parent is None:
            path: tuple[int, ...] = (self._roots,)
            self._roots += 1
        else:
            path = (*parent.path, parent._children)
            parent._children += 1
        name = None if generator < 0 else self.generators[generator]
        if load is not None:
            given = Answer(None, given.score, given.std)
        node = Node(number, parent, name, given, cost, path, load)
        if self.key is not None and load is None:
            self._keys.setdefault(self.key(given.answer), node)
        self._nodes.append(node)
        self._policy.grow(closed=self.max_depth is not None and node.depth >= self.max_depth)
        return node

    @property
    def next_id(self) -> int:
        """The id of the next node."""
        return len(self._nodes)

    # ------------------------------------------------------------------ costs

    def expected_costs(self) -> Any:
        """Return the expected cost of a call for each generator, in order."""
        if self._costs is None:
            self._costs = self._average_costs()
        return self._costs

    def _average_costs(self) -> Any:
        count, total = self._known_costs.T
        known = np.where(np.isnan(self._priors), 0.0, 1.0)
        sums = total + np.where(known > 0, self._priors, 0.0)
        weights = count + known
        usual = float(sums.sum() / weights.sum()) if weights.any() else 1.0
        with np.errstate(invalid="ignore"):
            costs = np.where(weights > 0, sums / np.maximum(weights, 1.0), usual)
        return np.maximum(costs, 1e-9 * max(float(costs.max()), 1e-300))

    def _calls_left(self, costs: Any) -> Any:
        """Return how many calls each generator could still make."""
        most = math.inf
        if self.budget is not None:
            most = self.budget - self._jobs + self._forgotten
        elif self.cost is None:
            most = max(HORIZON, self._jobs)
        calls = [most] * len(costs)
        if self.cost is not None:
            left = self.left
            calls = [min(most, math.floor(left / cost + 1e-9)) for cost in costs.tolist()]
        if max(calls) <= 0:  # beyond the plan
            calls = [float(cost == costs.min()) for cost in costs]
        return np.array([int(min(max(n, 0.0), 1e6)) for n in calls], dtype=np.int32)

    @property
    def left(self) -> float:
        """The planned cost minus that of all calls, those under way as expected."""
        costs = self.expected_costs()
        running = sum(costs[self._number[job.generator]] for job in self._running.values())
        return (math.inf if self.cost is None else self.cost) - self.spent - float(running)

    def can_pay(self) -> bool:
        """Return whether the cost of another call is within the plan."""
        return self.left >= float(self.expected_costs().min()) * (1.0 - 1e-9)

    # ------------------------------------------------------------------ state

    @property
    def observations(self) -> int:
        """The number of calls that have given an answer."""
        return self.calls - self.failed

    @property
    def failed(self) -> int:
        """The number of calls that have failed."""
        return len(self.reasons)

    @property
    def calls(self) -> int:
        """The number of calls that have ended, including failed ones."""
        return self._jobs - self._forgotten - len(self._running)

    @property
    def pending(self) -> list[Job]:
        """The running calls."""
        return list(self._running.values())

    @property
    def nodes(self) -> list[Node]:
        """All nodes in the order of their ids, with their posterior."""
        self._update_nodes()
        return [node for i, node in enumerate(self._nodes) if node.id == i]

    def best(self, rule: str | None = None) -> Node:
        """Return the node with the highest posterior mean."""
        if rule not in (None, "mean"):
            raise ValueError(f'rule must be "mean" or None, got {rule!r}')
        if not self._nodes:
            raise ValueError("no answers yet: call tell() before best()")
        self._model.update()
        means = self._model.records()["mean"]
        best = self._nodes[int(np.argmax(means))]
        self._set_posterior(best)
        return best

    def _update_nodes(self) -> None:
        self._model.update()
        for i, node in enumerate(self._nodes):
            if node.id == i:
                self._set_posterior(node)

    def _set_posterior(self, node: Node) -> None:
        record = self._model.records()[node.id]
        exact = self._model.is_exact(node.id)
        node.mean = self._model.score(node.id) if exact else self._model.in_units(record["mean"])
        node.deviation = (
            0.0 if exact else float(math.sqrt(max(record["variance"], 0.0))) * self._model.scale
        )
        node.promise = float(record["promise"]) * self._model.scale

    @property
    def fitted_noise(self) -> float:
        """The standard deviation of a score for which none is given, known or fitted."""
        return self._model.fitted_noise if self.noise is None else self.noise

    def curves(self, generator: str | None = None) -> tuple[Any, Any, Any]:
        """Return a grid of scores, and mean and spread of a generator's step at each."""
        self._model.update()
        if not self._model.version:
            raise ValueError("no answers yet: call tell() before curves()")
        name = self.generators[0] if generator is None else generator
        if name not in self._number:
            raise ValueError(f"generator must be one of {', '.join(self.generators)}, got {name!r}")
        number = self._number[name]
        model = self._model
        grid = model.center + model.scale * model.grid
        spread = np.sqrt(model.variances[number]) * model.scale
        return grid, model.drift[number] * model.scale, spread

    def __repr__(self) -> str:
        text = f"{self.observations} answers, {self.failed} failed, {len(self._running)} pending"
        return f"GenerativeSearch({', '.join(self.generators)}: {text})"


def _checked_names(generators: Any) -> tuple[str, ...]:
    if isinstance(generators, str) or not isinstance(generators, Iterable):
        raise TypeError(f"generators must be a list of names, got {generators!r}")
    names = tuple(generators)
    for name in names:
        if not isinstance(name, str) or not name:
            raise TypeError(f"generators must be a list of names, got {name!r} in it")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"generators must be different names, at least one, got {names!r}")
    return names


def _checked_costs(costs: Any, names: tuple[str, ...]) -> Any:
    """Return the given cost of each generator, NaN where there is none."""
    if costs is None:
        return np.full(len(names), math.nan)
    if not isinstance(costs, Mapping):
        return np.full(len(names), above_zero(costs, "costs"))
    for name in costs:
        if name not in names:
            raise ValueError(f"costs has {name!r}, and the generators are {', '.join(names)}")
    return np.array(
        [above_zero(costs[n], f"costs[{n!r}]") if n in costs else math.nan for n in names]
    )


def _checked_seeds(seeds: Any) -> list[Any]:
    """Return seeds as nodes, parents first, and checked answers."""
    if isinstance(seeds, (str, bytes, Mapping)) or not isinstance(seeds, Iterable):
        raise TypeError(f"seeds must be a list of (answer, score) or of nodes, got {seeds!r}")
    found: list[Any] = []
    known: set[int] = set()
    for seed in seeds:
        if isinstance(seed, Node):
            if seed.parent is not None and id(seed.parent) not in known:
                raise ValueError(f"seeds: the parent of {seed!r} must come before it")
            real(seed.score, "the score of a seed")
            known.add(id(seed))
            found.append(seed)
        else:
            try:
                found.append(read_answer(seed))
            except (TypeError, ValueError) as error:
                raise type(error)(f"seeds: {error}") from None
    return found
