"""The command `bough plan`."""

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
    """Return a function that sets the number of episodes before Ctrl-C is pressed."""
    played = Agent._episode

    def after(count):
        left = iter(range(count))

        def episode(self, *arguments):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return played(self, *arguments)

        monkeypatch.setattr(Agent, "_episode", episode)

    return after


def test_the_command():
    run = bough("CartPole-v1", "--budget", "30", "--episodes", "2", "--most-steps", "5",
                "--compare", "uct,random")  # fmt: skip
    assert run.exit_code == 0, run.output
    for word in ("gpts", "uct", "random", "5 +- 0", "30.0"):
        assert word in run.output
    words = ("FrozenLake-v1", "--make", "is_slippery=false", "--budget", "20", "--json",
             "--depth", "paper")  # fmt: skip
    facts = json.loads(bough(*words).output)
    assert facts["searchers"]["gpts"]["simulator"] == "native snapshots"
    assert len(facts["searchers"]["gpts"]["returns"]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["NoSuchEnvironment-v0"], "cannot make NoSuchEnvironment-v0"),
        (["CartPole-v1", "--searcher", "gpb"], "searcher must be one of"),
        (["CartPole-v1", "--make", "color"], "--make takes NAME=VALUE"),
        (["CartPole-v1", "--make", "color=red"], "cannot make CartPole-v1"),
        (["CartPole-v1", "--discount", "2"], "is not in the range 0<x<=1"),
        (["CartPole-v1", "--depth", "deep"], 'depth must be an int, "paper" or None'),
        (["CartPole-v1", "--depth", "0"], "depth must be at least 1"),
    ],
)
def test_invalid_arguments_of_the_command(words, message):
    run = bough(*words)
    assert run.exit_code != 0
    assert message in run.output


def test_the_command_renders(tmp_path):
    pytest.importorskip("pygame")
    image = pytest.importorskip("PIL.Image")
    file = tmp_path / "out.gif"
    run = bough("CartPole-v1", "--budget", "20", "--most-steps", "4", "--render", str(file))
    assert run.exit_code == 0, run.output
    with image.open(file) as picture:
        assert 1 < picture.n_frames <= 5  # (equal frames are merged)


def test_an_interrupted_run_has_the_finished_episodes(interrupted):
    agent = planning.Agent(gymnasium.make("CartPole-v1"), budget=10, rng=0)
    whole = agent.run(3, seed=0, most_steps=4, progress=False)
    assert not whole.interrupted
    interrupted(2)
    some = agent.run(3, seed=0, most_steps=4, progress=False)
    assert some.interrupted
    assert len(some.episodes) == 2
    with pytest.raises(KeyboardInterrupt):
        agent.run(3, seed=0, most_steps=4, progress=False)


def test_an_interrupted_command_prints_its_results(interrupted):
    words = ("CartPole-v1", "--budget", "10", "--most-steps", "4", "--compare", "uct,random",
             "--episodes", "3")  # fmt: skip
    interrupted(5)
    run = bough(*words)
    assert run.exit_code == 130
    assert "gpts" in run.output
    assert "(2 of 3 episodes)" in run.output  # of uct
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


def test_results_are_printed_if_a_later_searcher_fails():
    words = ("FrozenLake-v1", "--budget", "10", "--most-steps", "3", "--compare", "best_first")
    run = bough(*words)  # slippery by default
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
def test_invalid_options_are_refused_before_the_first_episode(words, message, monkeypatch):
    monkeypatch.setattr(Agent, "__init__", None)  # not called
    run = bough("CartPole-v1", *words)
    assert run.exit_code == 2
    assert message in run.output


def test_a_missing_package_is_noticed_before_the_first_episode(monkeypatch, tmp_path):
    monkeypatch.setattr(Agent, "__init__", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    run = bough("CartPole-v1", "--render", str(tmp_path / "out.gif"))
    assert run.exit_code == 1
    assert "needs Pillow" in run.output


def test_names_of_searchers_may_have_spaces_and_be_repeated():
    run = bough("CartPole-v1", "--budget", "10", "--most-steps", "3", "--json",
                "--compare", "uct, random,uct, gpts,")  # fmt: skip
    assert run.exit_code == 0, run.output
    assert list(json.loads(run.stdout)["searchers"]) == ["gpts", "uct", "random"]


def test_errors_of_an_environment_are_one_line():
    run = bough("FrozenLake-v1", "--make", "map_name=nowhere")
    assert run.exit_code == 2
    assert "cannot make FrozenLake-v1: KeyError: 'nowhere'" in run.output


def test_an_environment_without_images(tmp_path, monkeypatch):
    pytest.importorskip("PIL")

    class Blind(gymnasium.Wrapper):
        def render(self):
            return None

    make = gymnasium.make
    monkeypatch.setattr(gymnasium, "make", lambda *names, **options: Blind(make(*names)))
    run = bough("CartPole-v1", "--budget", "10", "--render", str(tmp_path / "out.gif"))
    assert run.exit_code == 1
    assert "--render needs images" in run.output
