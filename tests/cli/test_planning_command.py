"""Episodes, one after another, and `bough plan`: what is refused, and what is shown in the end."""

import json

import pytest
from click.testing import CliRunner

from bough import planning
from bough.cli import main
from bough.planning.agent import Agent

gymnasium = pytest.importorskip("gymnasium")


def bough(*words):
    return CliRunner().invoke(main, ["plan", *words])


@pytest.fixture
def interrupted(monkeypatch):
    """Return a function that says how many episodes there will be until Ctrl-C is pressed."""
    played = Agent._episode

    def after(count):
        left = iter(range(count))

        def episode(self, *arguments):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return played(self, *arguments)

        monkeypatch.setattr(Agent, "_episode", episode)

    return after


def test_an_interrupted_run_has_the_episodes_that_ended(interrupted):
    agent = planning.Agent(gymnasium.make("CartPole-v1"), budget=10, rng=0)
    whole = agent.run(3, seed=0, most_steps=4, progress=False)
    assert not whole.interrupted
    interrupted(2)
    some = agent.run(3, seed=0, most_steps=4, progress=False)
    assert some.interrupted
    assert len(some.episodes) == 2
    with pytest.raises(KeyboardInterrupt):
        agent.run(3, seed=0, most_steps=4, progress=False)


def test_an_interrupted_command_shows_what_it_has_found(interrupted):
    words = ("CartPole-v1", "--budget", "10", "--most-steps", "4", "--compare", "uct,random",
             "--episodes", "3")  # fmt: skip
    interrupted(5)
    run = bough(*words)
    assert run.exit_code == 130
    assert "gpts" in run.output
    assert "(2 of them)" in run.output  # of uct
    assert "random" not in run.output
    interrupted(4)
    run = bough(*words, "--json")
    assert run.exit_code == 130
    facts = json.loads(run.stdout)
    assert facts["interrupted"]
    assert [len(row["returns"]) for row in facts["searchers"].values()] == [3, 1]
    interrupted(3)
    assert list(json.loads(bough(*words, "--json").stdout)["searchers"]) == ["gpts"]
    interrupted(0)
    run = bough(*words)
    assert run.exit_code == 130
    assert run.stdout == ""


def test_what_was_found_is_shown_if_a_later_searcher_fails():
    words = ("FrozenLake-v1", "--budget", "10", "--most-steps", "3", "--compare", "best_first")
    run = bough(*words)  # which is slippery
    assert run.exit_code == 1
    assert "gpts" in run.stdout
    assert "best_first is for deterministic problems" in run.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--searcher", "gpb"], "searcher must be one of"),
        (["--compare", "uct,gpb"], "searcher must be one of"),
        (["--discount", "2"], "is not in the range 0<x<=1"),
        (["--discount", "1", "--compare", "olop"], "olop needs a discount below 1"),
        (["--depth", "deep"], "depth must be an int"),
        (["--budget", "2", "--repeat", "3"], "too small for one action"),
        (["--render", "out.mp4"], "a file that ends with .gif"),
        (["--render", "no/such/directory/out.gif"], "cannot write"),
    ],
)
def test_wrong_options_are_refused_before_the_first_episode(words, message, monkeypatch):
    monkeypatch.setattr(Agent, "__init__", None)  # nobody gets that far
    run = bough("CartPole-v1", *words)
    assert run.exit_code == 2
    assert message in run.output


def test_a_missing_package_is_noticed_before_the_first_episode(monkeypatch, tmp_path):
    monkeypatch.setattr(Agent, "__init__", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    run = bough("CartPole-v1", "--render", str(tmp_path / "out.gif"))
    assert run.exit_code == 1
    assert "needs Pillow" in run.output


def test_names_may_have_spaces_and_come_twice():
    run = bough("CartPole-v1", "--budget", "10", "--most-steps", "3", "--json",
                "--compare", "uct, random,uct, gpts,")  # fmt: skip
    assert run.exit_code == 0, run.output
    assert list(json.loads(run.stdout)["searchers"]) == ["gpts", "uct", "random"]


def test_whatever_an_environment_makes_of_its_keywords_is_one_line():
    run = bough("FrozenLake-v1", "--make", "map_name=nowhere")
    assert run.exit_code == 2
    assert "cannot make FrozenLake-v1: KeyError: 'nowhere'" in run.output


def test_an_environment_that_draws_no_pictures(tmp_path, monkeypatch):
    pytest.importorskip("PIL")

    class Blind(gymnasium.Wrapper):
        def render(self):
            return None

    make = gymnasium.make
    monkeypatch.setattr(gymnasium, "make", lambda *names, **options: Blind(make(*names)))
    run = bough("CartPole-v1", "--budget", "10", "--render", str(tmp_path / "out.gif"))
    assert run.exit_code == 1
    assert "--render needs pictures" in run.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most_steps": 0}, "most_steps must be at least 1"),
        ({"most_steps": "a"}, "most_steps must be an int"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"episodes": 0}, "episodes must be at least 1"),
    ],
)
def test_a_run_refuses(options, message):
    agent = planning.Agent(gymnasium.make("CartPole-v1"), budget=10, rng=0)
    with pytest.raises((TypeError, ValueError), match=message):
        agent.run(**options)
