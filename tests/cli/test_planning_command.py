"""The command `bough plan`."""

import importlib.util
import io
import json
import sys

import pytest
from click.testing import CliRunner

from bough import planning
from bough.cli import main, plan
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
    for word in ("gpts", "uct", "random", "5 +- 0", "30.0", "simulated by native snapshots"):
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


def test_the_command_renders_a_gif(tmp_path):
    pytest.importorskip("pygame")
    image = pytest.importorskip("PIL.Image")
    file = tmp_path / "out.gif"
    run = bough("Pendulum-v1", "--budget", "20", "--most-steps", "5", "--render", str(file))
    assert run.exit_code == 0, run.output
    with image.open(file) as picture:
        assert 1 < picture.n_frames <= 6  # (equal frames are merged)
        total = 0
        for k in range(picture.n_frames):
            picture.seek(k)
            total += picture.info["duration"]
    assert total == 200  # six frames, 30 a second


def test_the_command_renders_a_video(tmp_path):
    pytest.importorskip("pygame")
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    file = tmp_path / "out.MP4"
    file.write_bytes(b"an older file")
    run = bough("CartPole-v1", "--budget", "20", "--most-steps", "5", "--render", str(file))
    assert run.exit_code == 0, run.output
    count, seconds = ffmpeg.count_frames_and_secs(str(file))
    assert count == 6
    assert seconds == pytest.approx(6 / 50, abs=0.02)


@pytest.mark.parametrize(
    ("metadata", "rate"),
    [({"render_fps": 4}, 4.0), ({}, 25.0), ({"render_fps": None}, 25.0), ({"render_fps": 0}, 25.0)],
)
def test_the_frame_rate(metadata, rate):
    env = gymnasium.Env()
    env.metadata = metadata
    assert plan._frame_rate(env) == rate


def test_durations_of_a_gif_are_not_too_short_for_viewers():
    image = pytest.importorskip("PIL.Image")
    pictures = [image.new("RGB", (4, 4), (40 * k, 0, 0)) for k in range(5)]
    with image.open(io.BytesIO(plan._gif(pictures, 100.0))) as picture:
        assert picture.info["duration"] == 20


@pytest.mark.parametrize("name", ["out.gif", "out.mp4"])
def test_an_existing_file_is_kept_until_there_is_a_new_one(name, tmp_path, interrupted):
    pytest.importorskip("pygame")
    pytest.importorskip("imageio_ffmpeg")
    file = tmp_path / name
    file.write_bytes(b"an older file")
    interrupted(0)
    run = bough("CartPole-v1", "--budget", "20", "--most-steps", "5", "--render", str(file))
    assert run.exit_code == 130
    assert file.read_bytes() == b"an older file"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_encoding_leaves_the_file_and_prints_the_results(tmp_path, monkeypatch):
    pytest.importorskip("pygame")
    pytest.importorskip("PIL")

    def fail(images, rate):
        raise OSError("the disk is full")

    monkeypatch.setattr(plan, "_gif", fail)
    file = tmp_path / "out.gif"
    file.write_bytes(b"an older file")
    run = bough("CartPole-v1", "--budget", "20", "--most-steps", "5", "--render", str(file))
    assert run.exit_code == 1
    assert "gpts" in run.stdout
    assert "the disk is full" in run.stderr
    assert file.read_bytes() == b"an older file"


# ---------------------------------------------------------------------- hooks and results

HOOKS = """
import pathlib

with pathlib.Path(__file__).with_suffix(".log").open("a") as log:
    log.write("loaded ")


def value(observation):
    return 0.0


def weights(observation):
    return [1.0, 1.0]


def upright(observation):
    return int(observation[2] > 0)


def only_left(observation):
    return [True, False]


def none(observation):
    return None
"""


@pytest.fixture
def hooks(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))
    file = tmp_path / "hooks_of_the_command.py"
    file.write_text(HOOKS)
    yield file
    sys.modules.pop(file.stem, None)


def test_functions_of_the_observation(hooks, monkeypatch):
    made = []
    init = Agent.__init__

    def remember(self, env, **options):
        made.append(options)
        init(self, env, **options)

    monkeypatch.setattr(Agent, "__init__", remember)
    run = bough("CartPole-v1", "--budget", "20", "--most-steps", "3", "--no-keep",
                "--no-merge-states", "--value", f"{hooks}:value", "--policy", f"{hooks}:weights",
                "--rollout", f"{hooks}:upright")  # fmt: skip
    assert run.exit_code == 0, run.output
    options = made[0]
    assert [options[name].__name__ for name in ("value", "policy", "rollout")] == [
        "value",
        "weights",
        "upright",
    ]
    assert options["mask"] is None
    assert options["keep"] is False
    assert options["merge_states"] is False
    assert hooks.with_suffix(".log").read_text() == "loaded "  # once
    bough("CartPole-v1", "--budget", "20", "--most-steps", "1")
    assert made[1]["keep"] is True
    assert made[1]["merge_states"] is None


def test_a_mask_leaves_one_action(hooks):
    run = bough("CartPole-v1", "--mask", f"{hooks}:only_left", "--json")
    assert run.exit_code == 0, run.output
    row = json.loads(run.stdout)["searchers"]["gpts"]
    assert row["steps"][0] < 15  # the pole falls
    assert (row["ended"], row["cut_off"]) == (1, 0)


def test_a_function_that_returns_something_else(hooks):
    run = bough("CartPole-v1", "--value", f"{hooks}:none")
    assert run.exit_code == 1
    assert "value(observation) must be one real number, got None" in run.output


def test_errors_of_a_simulated_step_are_explained(monkeypatch):
    def broken(self, action):
        raise AssertionError("an illegal action")

    monkeypatch.setattr("bough.planning.simulator.NativeSimulator.step", broken)
    run = bough("CartPole-v1", "--budget", "10")
    assert run.exit_code == 1
    assert "an illegal action" in run.output
    assert "raised by a simulated step(" in run.output


def test_ends_and_merged_states_are_printed():
    words = ("FrozenLake-v1", "--budget", "20", "--most-steps", "2", "--episodes", "2",
             "--compare", "uct")  # fmt: skip
    run = bough(*words)
    assert run.exit_code == 0, run.output
    assert "cut off" in run.output
    assert "equal states are merged by gpts\n" in run.output  # (uct: if nothing is random)
    rows = json.loads(bough(*words, "--json").stdout)["searchers"]
    assert [row["merged_states"] for row in rows.values()] == [True, False]
    assert all(row["ended"] + row["cut_off"] == 2 for row in rows.values())
    assert "equal states are merged\n" in bough(*words, "--make", "is_slippery=false").output
    for more in (["--no-merge-states"], ["--depth", "3", "--compare", ""]):
        assert "equal states are not merged" in bough(*words, *more).output


def test_both_limits_are_printed():
    run = bough("CartPole-v1", "--budget", "5", "--seconds", "100", "--most-steps", "2")
    assert "5 steps or 100.0 s a decision" in run.output


def test_a_summary_counts_the_episodes_that_ended():
    agent = planning.Agent(gymnasium.make("CartPole-v1"), budget=10, rng=0, mask=lambda o: [1, 0])
    summary = agent.run(2, seed=0, progress=False)
    assert (summary.ended, summary.merged) == (2, False)
    assert "ended       2 of 2, 0 cut off by a limit" in repr(summary)
    assert agent.run(2, seed=0, most_steps=3, progress=False).ended == 0


# ---------------------------------------------------------------------- interruptions and errors


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


def test_results_are_printed_if_a_later_searcher_fails(monkeypatch):
    run = Agent.run

    def fail(self, *arguments, **options):
        if self.settings.searcher == "uct":
            raise ValueError("no further episodes")
        return run(self, *arguments, **options)

    monkeypatch.setattr(Agent, "run", fail)
    found = bough("FrozenLake-v1", "--budget", "10", "--most-steps", "3", "--compare", "uct")
    assert found.exit_code == 1
    assert "gpts" in found.stdout
    assert "no further episodes" in found.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--searcher", "gpb"], "searcher must be one of"),
        (["--compare", "uct,gpb"], "searcher must be one of"),
        (["--discount", "2"], "is not in the range 0<x<=1"),
        (["--discount", "1", "--compare", "olop"], "olop needs a discount below 1"),
        (["--depth", "deep"], "depth must be an int"),
        (["--budget", "2", "--repeat", "3"], "too small for one action"),
        (["--render", "out.avi"], "a file that ends with .gif or .mp4"),
        (["--render", "no/such/directory/out.gif"], "cannot write"),
        (["--render", f"{__file__}/out.gif"], "cannot write"),
        (["--value", "hooks.py"], "--value: 'hooks.py' is not FILE.py:FUNCTION"),
        (["--policy", "hooks.py:f:g"], "--policy: 'hooks.py:f:g' is not FILE.py:FUNCTION"),
        (["--rollout", ":f"], "--rollout: ':f' is not FILE.py:FUNCTION"),
        (["--mask", "nowhere.py:f"], "there is no file nowhere.py"),
        (["--mask", "no_such_module:f"], "cannot import no_such_module"),
        (["--value", "json:nothing"], "json has no function nothing"),
        (["--merge-states"], "merge_states=True needs keys of states"),
    ],
)
def test_invalid_options_are_refused_before_the_first_episode(words, message, monkeypatch):
    monkeypatch.setattr(Agent, "run", None)  # not called
    monkeypatch.setattr("sys.path", list(sys.path))
    run = bough("CartPole-v1", *words)
    assert run.exit_code == 2
    assert message in run.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Pendulum-v1", "--mask", "json:dumps"], "mask is for discrete actions"),
        (["FrozenLake-v1", "--compare", "best_first"], "best_first is for deterministic problems"),
    ],
)
def test_options_that_do_not_suit_an_environment(words, message, monkeypatch):
    monkeypatch.setattr(Agent, "run", None)
    monkeypatch.setattr("sys.path", list(sys.path))
    run = bough(*words)
    assert run.exit_code == 2
    assert message in run.output


@pytest.mark.parametrize(
    ("package", "name", "message"),
    [
        ("PIL", "out.gif", "--render needs Pillow: pip install 'bough[gym]'"),
        ("imageio_ffmpeg", "out.mp4", "needs imageio-ffmpeg: pip install 'bough[video]'"),
    ],
)
def test_a_missing_package_is_noticed_before_the_first_episode(
    package, name, message, monkeypatch, tmp_path
):
    pytest.importorskip("PIL")
    find = importlib.util.find_spec
    monkeypatch.setattr(Agent, "run", None)
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == package else find(name)
    )
    run = bough("CartPole-v1", "--render", str(tmp_path / name))
    assert run.exit_code == 1
    assert message in run.output


def test_a_missing_program_is_noticed_before_the_first_episode(monkeypatch, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")

    def missing():
        raise RuntimeError("no program was found")

    monkeypatch.setattr(Agent, "run", None)
    monkeypatch.setattr(ffmpeg, "get_ffmpeg_exe", missing)
    run = bough("CartPole-v1", "--render", str(tmp_path / "out.mp4"))
    assert run.exit_code == 1
    assert "--render to .mp4 needs FFmpeg: no program was found" in run.output


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
