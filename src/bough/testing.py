"""The laws that every searcher obeys, as tests: inherit them to test your own.

    from bough.testing import SearcherConformance

    class TestMine(SearcherConformance):
        def make(self, tree, rng):
            return Mine(tree, rng=rng)

`pytest` runs each law as a test of its own. The class attributes say what an algorithm promises,
for those that cannot promise everything.
"""

import copy
import math
import pickle
import zlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from bough.belief.best_arm import Arm
from bough.exceptions import Exhausted
from bough.searchers.base import RULES, Searcher
from bough.trees import Path, Tree

__all__ = ["SearcherConformance"]


class _Ragged:
    """A branching function: every third path ends a step early, some nodes have one child."""

    def __call__(self, path: Path) -> int:
        if len(path) == 2 and path[1] == 0:
            return 0
        return 1 + (len(path) + sum(path)) % 3 if path else 3

    def __repr__(self) -> str:
        return "_Ragged()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ragged)

    def __hash__(self) -> int:
        return 0


UNIFORM = Tree(3, 3)
WIDER = Tree(5, 3)  # on which chance has more to say
RAGGED = Tree(_Ragged(), 3)
#: Trees on which a searcher works, or says clearly why it does not.
SPECIAL = (Tree(5, 0), Tree(1, 1), Tree(1, 3), Tree([4, 1, 2], 3), RAGGED)


class SearcherConformance:
    """Inherit from this, say how to `make` your searcher, and run it by pytest.

    Examples
    --------
    >>> import bough
    >>> from bough.testing import SearcherConformance
    >>> class TestUCT(SearcherConformance):
    ...     def make(self, tree, rng):
    ...         return bough.UCT(tree, rng=rng)
    >>> TestUCT().test_the_same_seed_gives_the_same_run()
    """

    #: Whether one arm may be told two different rewards; if not, they depend on the path alone.
    noisy: ClassVar[bool] = True
    #: Whether `best` depends on the order in which the same rewards are told.
    order_matters: ClassVar[bool] = False
    #: Whether a batch may hold an arm twice before it holds all of them.
    repeats_pending: ClassVar[bool] = False
    #: Whether plays may end at inner nodes, so that short paths are no mistake.
    plays_inner_nodes: ClassVar[bool] = False
    #: How many plays the laws look at.
    plays: ClassVar[int] = 40

    def make(self, tree: Tree, rng: int) -> Searcher:
        """Return a new searcher of the tree, with that seed."""
        raise NotImplementedError("say how to make the searcher: def make(self, tree, rng)")

    def make_scaled(self, tree: Tree, rng: int, factor: float) -> Searcher:
        """Return the searcher for rewards that are `factor` times as large.

        By default the same one; override it if it is told a scale, such as that of a kernel.
        """
        return self.make(tree, rng)

    # ------------------------------------------------------------------ helpers

    def reward(self, path: Path, t: int) -> float:
        """Return the t-th reward told, of a path: a multiple of 1/1024, so that sums are exact."""
        value = _hash("value", path)
        for i in range(len(path)):
            value += _hash("step", path[: i + 1]) / 2.0**i
        if self.noisy:
            value += 0.25 * _hash("noise", t)
        return round(1024 * value) / 1024

    def play(self, search: Searcher, plays: int, first: int = 0) -> list[Path]:
        """Ask and tell so many times, or until nothing is left; return the paths."""
        return list(self._plays(search, plays, first, 1.0))

    def _plays(self, search: Searcher, plays: int, first: int, factor: float) -> Iterator[Path]:
        for t in range(first, first + plays):
            try:
                path = search.ask()
            except Exhausted:
                return
            search.tell(path, factor * self.reward(path, t))
            yield path

    def random_paths(self, count: int, tree: Tree = UNIFORM) -> list[Path]:
        """Return random complete paths, different ones if arms have but one reward."""
        rng = np.random.default_rng(7)
        paths: list[Path] = []
        while len(paths) < count:
            path: Path = ()
            while (width := tree.children(path)) > 0:
                path = (*path, int(rng.integers(int(width))))
            if self.noisy or path not in paths:
                paths.append(path)
        return paths

    # ------------------------------------------------------------------ laws of the run

    def test_the_same_seed_gives_the_same_run(self) -> None:
        """Nothing but the seed decides, and there is no global state."""
        runs = [self.play(self.make(UNIFORM, 3), self.plays) for _ in range(2)]
        np.random.default_rng(0).random()
        assert runs[0] == runs[1], "two runs with the same seed differ"

    def test_saved_and_reloaded_it_goes_on_identically(self) -> None:
        """By pickle and by deepcopy, with evaluations pending."""
        for told in (3, self.plays // 2):
            search = self.make(WIDER, 1)
            self.play(search, told)
            asked = [search.ask() for _ in range(3)]
            search.forget(asked[1])
            copies = [pickle.loads(pickle.dumps(search)), copy.deepcopy(search)]
            futures = []
            for one in (search, *copies):
                assert one.pending == (asked[0], asked[2]), "a copy has other pending paths"
                one.tell(asked[0], self.reward(asked[0], 0))
                future = self.play(one, self.plays // 4, first=100)
                futures.append((future, one.pending, one.observations, _bests(one)))
            assert futures[0] == futures[1], "the reloaded searcher went on differently"
            assert futures[0] == futures[2], "the copy went on differently"

    def test_the_order_of_telling_does_not_matter(self) -> None:
        """The same rewards in another order give the same best arms."""
        if self.order_matters:
            return
        data = [(path, self.reward(path, t)) for t, path in enumerate(self.random_paths(20))]
        one, two = self.make(UNIFORM, 0), self.make(UNIFORM, 0)
        for path, value in data:
            one.tell(path, value)
        for path, value in reversed(data):
            two.tell(path, value)
        for rule in RULES:
            a, b = one.best(rule), two.best(rule)
            assert a.path == b.path, f"best({rule!r}) depends on the order"
            assert a.visits == b.visits
            for x, y in ((a.mean, b.mean), (a.std, b.std), (a.value, b.value)):
                assert x is not None
                assert y is not None
                assert math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9), f"{a} is not {b}"

    def test_scaling_rewards_by_a_power_of_two_changes_no_play(self) -> None:
        """Powers of two, since those leave no rounding."""
        runs = []
        for factor in (1.0, 1024.0, 0.25):
            search = self.make_scaled(UNIFORM, 5, factor)
            paths = list(self._plays(search, self.plays, 0, factor))
            runs.append((paths, search.best("mean").path, search.best("mean").mean / factor))
        assert runs[0][0] == runs[1][0] == runs[2][0], "scaled rewards are played differently"
        assert runs[0] == runs[1] == runs[2], "the best of scaled rewards is another"

    def test_rewards_of_any_range(self) -> None:
        """Negative, large and small ones, and all alike."""
        for low, width in ((-3.0, 1.0), (1e6, 1e3), (0.0, 1e-9), (5.0, 0.0)):
            search = self.make_scaled(UNIFORM, 0, max(abs(low), width))
            for t in range(12):
                path = search.ask()
                search.tell(path, low + width * self.reward(path, t))
            assert search.observations == 12
            assert math.isfinite(search.best().mean)

    # ------------------------------------------------------------------ laws of ask and tell

    def test_many_asks_before_a_tell(self) -> None:
        """Ten asks without a tell do not give one path ten times, and results come in any order."""
        for told in (0, 10):
            search = self.make(UNIFORM, 2)
            self.play(search, told)
            asked = [search.ask() for _ in range(10)]
            assert len(set(asked)) > 1, f"ten asks after {told} tells gave one path"
            if not self.repeats_pending:
                assert len(set(asked)) == 10, f"a batch after {told} tells has an arm twice"
            assert search.pending == tuple(asked), "pending paths are listed, the oldest first"
            for path in reversed(asked):
                search.tell(path, self.reward(path, 0))
            assert not search.pending
            assert search.observations == told + 10

    def test_many_asks_when_one_arm_is_far_the_best(self) -> None:
        """However sure it is of an arm, a batch does not consist of that arm alone."""
        if not self.noisy:
            return
        search = self.make(UNIFORM, 2)
        for path in self.random_paths(10):
            search.tell(path, 0.0)
        for _ in range(100):
            search.tell((0, 1, 2), 4.0)
        asked = [search.ask() for _ in range(10)]
        assert len(set(asked)) > 1, "ten asks gave one path"
        assert self.repeats_pending or len(set(asked)) == 10, "a batch has an arm twice"

    def test_more_asks_than_arms(self) -> None:
        """When all arms are pending it asks again, or says that nothing is left."""
        tree = Tree(2, 1)
        search = self.make(tree, 0)
        asked = []
        try:
            for _ in range(5):
                asked.append(search.ask())
        except Exhausted:
            pass
        assert len(asked) >= 2
        assert set(asked) == {(0,), (1,)}
        for path in asked:
            search.tell(path, self.reward(path, 0))
        assert search.observations == len(asked)

    def test_tell_what_was_never_asked(self) -> None:
        """No result is discarded: each one counts, and the highest is found."""
        search = self.make(UNIFORM, 0)
        paths = self.random_paths(15)
        rewards = [self.reward(path, t) for t, path in enumerate(paths)]
        for path, value in zip(paths, rewards, strict=True):
            search.tell(path, value)
        assert search.observations == 15, "a reward told without being asked for was discarded"
        assert not search.pending
        assert search.best("observed").path == paths[int(np.argmax(rewards))]
        asked = search.ask()
        other = next(path for path in self.random_paths(26) if path not in (asked, *paths))
        search.tell(other, 100.0)
        assert search.pending == (asked,), "a path that was not asked for settled one that was"
        assert search.best("observed").path == other

    def test_telling_again_is_another_observation(self) -> None:
        """Of a path, which may be a tuple, a list or an array of any ints."""
        search = self.make(UNIFORM, 0)
        values = [0.5, 0.75, 1.0] if self.noisy else [0.5] * 3
        shapes: list[Any] = [(0, 1, 2), [0, 1, 2], np.array([0, 1, 2], dtype=np.int8)]
        for path, value in zip(shapes, values, strict=True):
            search.tell(path, value)
        arm = search.best("mean")
        assert search.observations == 3
        assert (arm.path, arm.visits) == ((0, 1, 2), 3)
        assert arm.value == math.fsum(values) / 3

    def test_numbers_of_any_kind(self) -> None:
        """NumPy scalars, ints and bools are real numbers too."""
        search = self.make(UNIFORM, 0)
        kinds: list[Any] = [np.float32(1.5), 1, True, np.int16(2), np.array(1.25)]
        for path, value in zip(self.random_paths(5), kinds, strict=True):
            search.tell(path, value)
        assert search.observations == 5

    def test_steps_are_told_instead_of_their_sum(self) -> None:
        """One observation, whose value is the sum."""
        search = self.make(UNIFORM, 0)
        search.tell((2, 0, 1), steps=[0.5, 0.25, 0.125])
        assert search.observations == 1
        assert search.best("observed").path == (2, 0, 1)
        value = search.best("observed").value
        assert value is None or math.isclose(value, 0.875, rel_tol=1e-12)

    def test_forget(self) -> None:
        """What was pending is gone, all else is as it was, and the result may still come."""
        search = self.make(UNIFORM, 4)
        self.play(search, 6)
        before = search.observations, _bests(search)
        asked = [search.ask() for _ in range(4)]
        for path in (asked[1], asked[3], asked[0]):
            search.forget(path)
        assert search.pending == (asked[2],)
        search.forget(list(asked[2]))
        assert not search.pending
        assert (search.observations, _bests(search)) == before, "forgetting changed what is known"
        _refused(lambda: search.forget(asked[0]), "not pending")
        search.tell(asked[0], self.reward(asked[0], 0))
        assert search.observations == 7
        self.play(search, 4, first=50)

    def test_forget_the_oldest(self) -> None:
        """Of an arm that is pending twice one evaluation stays pending."""
        search = self.make(Tree(1, 1), 0)
        try:
            asked = [search.ask(), search.ask()]
        except Exhausted:
            return
        assert asked == [(0,), (0,)]
        search.forget((0,))
        assert search.pending == ((0,),)

    # ------------------------------------------------------------------ laws of best

    def test_best_before_any_tell(self) -> None:
        """There is none, asked for or not."""
        search = self.make(UNIFORM, 0)
        for _ in range(2):
            for rule in (None, *RULES):
                _refused(lambda rule=rule: search.best(rule), "no observations yet")  # type: ignore[misc]
            search.ask()

    def test_best_is_a_played_arm(self) -> None:
        """By every rule, with the mean between its bounds, and the same arm when asked again."""
        search = self.make(UNIFORM, 0)
        played = self.play(search, self.plays)
        for rule in (None, *RULES):
            arm = search.best(rule)
            assert isinstance(arm, Arm)
            assert arm.path in played
            assert arm.visits == played.count(arm.path)
            assert arm.lower <= arm.mean <= arm.upper
            assert arm.std >= 0
            assert search.best(rule) == arm
        rewards = [self.reward(path, t) for t, path in enumerate(played)]
        assert search.best("observed").path == played[int(np.argmax(rewards))]
        _refused(lambda: search.best("loudest"), "rule")
        assert search.best_action() == search.best().path[0]

    # ------------------------------------------------------------------ bad input

    def test_bad_input_changes_nothing(self) -> None:
        """A mistake gets a helpful error, and the searcher goes on as if nobody had made it."""
        twins = [self.make(UNIFORM, 0) for _ in range(2)]
        asked: list[Path] = []
        for search in twins:
            self.play(search, 5)
            asked = [search.ask(), search.ask()]
        search = twins[0]
        path = asked[0]
        bad: list[tuple[Any, Any, str]] = [
            (path, math.nan, "finite"),
            (path, math.inf, "finite"),
            (path, -math.inf, "finite"),
            (path, 10**400, "finite"),
            (path, "high", "real number"),
            (path, 1j, "real number"),
            (path, [1.0], "real number"),
            (path, np.ones(2), "real number"),
            (path, None, "value"),
            ((0, 0, 0, 0), 1.0, "depth"),
            ((0, 0, -1), 1.0, "path[2]"),
            ((0, 0, 3), 1.0, "children"),
            ((0, 0, 2**70), 1.0, "children"),
            ((0, 0, 0.5), 1.0, "int"),
            ((0, 0, 1.0), 1.0, "int"),
            ((0, 0, None), 1.0, "int"),
            ("000", 1.0, "sequence of ints"),
            (0, 1.0, "sequence of ints"),
            (None, 1.0, "sequence of ints"),
        ]
        if not self.plays_inner_nodes:
            bad += [((0,), 1.0, "too short"), ((), 1.0, "too short")]
        for where, value, words in bad:
            _refused(lambda where=where, value=value: search.tell(where, value), words)  # type: ignore[misc]
        for steps, words in (
            ([1.0, 2.0], "2 rewards"),
            ([1.0, 2.0, math.nan], "steps[2]"),
            (3.0, "sequence"),
        ):
            _refused(lambda steps=steps: search.tell((0, 1, 2), steps=steps), words)  # type: ignore[misc]
        _refused(lambda: search.tell((0, 1, 2), 1.0, steps=[1.0, 0.0, 0.0]), "value")
        for where in ((0, 0, 7), "000"):
            _refused(lambda where=where: search.forget(where), "path")  # type: ignore[misc]
        futures = []
        for one in twins:
            state = one.pending, one.observations, _bests(one)
            for p in asked:
                one.tell(p, self.reward(p, 0))
            futures.append((state, self.play(one, 10, first=20)))
        assert futures[0] == futures[1], "a mistake changed the searcher"

    # ------------------------------------------------------------------ unusual trees

    def test_unusual_trees(self) -> None:
        """Depth 0, one child, ragged: they work, or are refused in words when it is made."""
        for tree in SPECIAL:
            search: Searcher | None
            reason = ""
            try:
                search = self.make(tree, 0)
            except (TypeError, ValueError) as refusal:
                search, reason = None, str(refusal) or "none"
            if search is None:
                assert len(reason) > 20, f"{tree!r} is refused without a reason"
                continue
            played = self.play(search, 12)
            assert played
            for path in played:
                assert self.plays_inner_nodes or tree.is_leaf(path)
            assert search.observations == len(played)
            for rule in (None, *RULES):
                assert search.best(rule).path in played
            again = pickle.loads(pickle.dumps(search))
            assert self.play(again, 3, first=90) == self.play(search, 3, first=90)


def _hash(*key: Any) -> float:
    """Return a number between -1 and 1 that depends on the key alone."""
    return zlib.crc32(repr(key).encode()) / 2**31 - 1


def _bests(search: Searcher) -> list[Arm]:
    return [search.best(rule) for rule in RULES] if search.observations else []


def _refused(call: Callable[[], Any], words: str) -> None:
    """Check that a call raises a ValueError or TypeError whose message holds some words."""
    message = None
    try:
        call()
    except (TypeError, ValueError) as error:
        message = str(error)
    assert message is not None, f"a mistake was taken in: an error about {words!r} was expected"
    assert words in message, f"the message should say {words!r}, but is: {message}"
