"""The command line as a whole: properties of every command, future ones included."""

import json
import os
import pathlib
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import bough
from bough.cli import COMMANDS, main
from bough.cli.options import SHARED
from bough.cli.shell import Shell


def leaves(command, words=()):
    """Return all commands that are not groups, with their words."""
    if not isinstance(command, click.Group):
        return [(words, command)]
    with click.Context(command) as context:
        names = command.list_commands(context)
        below = [leaves(command.get_command(context, name), (*words, name)) for name in names]
    return [leaf for group in below for leaf in group]


LEAVES = leaves(main)


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.db"
    bough.maximize(sum, bough.Tree(3, 4), budget=10, rng=0, study=path)
    return path


@pytest.mark.parametrize(("words", "command"), LEAVES, ids=[" ".join(words) for words, _ in LEAVES])
def test_every_command(words, command):
    options = {option for parameter in command.params for option in parameter.opts}
    assert "--json" in options
    assert "--traceback" in options
    page = run(*words, "--help")
    assert page.exit_code == 0
    assert f"bough {words[0]}" in page.output  # an example
    assert "-h" in page.output
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert all(option.help for option in options)


def test_help_names_the_commands_the_exit_codes_and_examples():
    text = run("--help").output
    for name, line in COMMANDS.items():
        assert f"  {name} " in text
        assert line in text
    for code in ("0    success", "1    failure", "2    invalid options", "130  interrupted"):
        assert code in text
    assert "bough search smooth --budget 10000" in text


def test_help_imports_no_command():
    """`bough --help` is as fast as `import bough`."""
    script = (
        "import sys; from bough.cli import main; main(['--help'], standalone_mode=False);"
        "print([name for name in sys.modules if name.startswith('bough.cli.')])"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "['bough.cli.shell']"


# ---------------------------------------------------------------------- errors


def shell_that_raises(error):
    @click.group(cls=Shell)
    def shell():
        pass

    @shell.command()
    def fall():
        raise error

    return shell


def test_an_error_is_one_line_and_a_traceback_on_request():
    shell = shell_that_raises(ValueError("depth must be 3, got 4"))
    answer = CliRunner().invoke(shell, ["fall"])
    assert answer.exit_code == 1
    assert answer.stderr == "Error: depth must be 3, got 4\n"
    shown = CliRunner().invoke(shell, ["fall", "--traceback"])
    assert shown.exit_code == 1
    assert "Traceback (most recent call last)" in shown.stderr
    assert "ValueError: depth must be 3, got 4" in shown.stderr


def test_an_unexpected_error_is_shown_with_its_type():
    answer = CliRunner().invoke(shell_that_raises(KeyError("x")), ["fall"])
    assert answer.exit_code == 1
    assert answer.stderr == "Error: KeyError('x') (--traceback shows where it comes from)\n"
    assert CliRunner().invoke(shell_that_raises(KeyboardInterrupt()), ["fall"]).exit_code == 130


def test_a_usage_error_has_a_traceback_too(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import nowhere_to_be_found\n")
    words = ["search", f"{broken}:f", "--branching", 2, "--depth", 2]
    answer = run(*words)
    assert answer.exit_code == 2
    assert "Traceback" not in answer.output
    assert "nowhere_to_be_found" in answer.output
    assert "Traceback (most recent call last)" in run(*words, "--traceback").output


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["search", "nothing"], 2, "neither a built-in problem"),
        (["nonsense"], 2, "No such command"),
        (["report", "missing.db"], 2, "does not exist"),
        (["watch", "missing.db"], 2, "does not exist"),
        (["completion", "cmd"], 2, "is not one of"),
        (["search", "smooth", "--budget", "0"], 2, "--budget"),
        (["compare", "nothing"], 2, "there is no problem"),
        (["compare", "smooth", "--searchers", "nothing"], 2, "there is no searcher"),
    ],
)
def test_exit_codes(words, code, message):
    answer = run(*words)
    assert answer.exit_code == code
    assert message in answer.output


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "Nothing-v0"],
        ["plan", "CartPole-v1", "--searcher", "nothing"],
        ["plan", "CartPole-v1", "--discount", "2"],
        ["plan", "CartPole-v1", "--make", "nonsense"],
    ],
)
def test_wrong_arguments_of_plan(words):
    pytest.importorskip("gymnasium")
    answer = run(*words)
    assert answer.exit_code == 2
    assert "Error: " in answer.stderr


def test_no_option_accepts_a_number_that_is_not_finite():
    options = [
        (words, parameter)
        for words, command in LEAVES
        for parameter in command.params
        if isinstance(parameter.type, click.types.FloatParamType)
    ]
    names = {(words[0], parameter.opts[0]) for words, parameter in options}
    assert {("search", "--gap"), ("tune", "--seconds"), ("bound", "--norm")} <= names
    for words, parameter in options:
        for number in ("nan", "inf", "-inf"):
            answer = run(*words, f"{parameter.opts[0]}={number}")
            assert answer.exit_code == 2
            assert f"Invalid value for '{parameter.opts[0]}'" in answer.output


def test_an_option_means_the_same_in_every_command():
    """What several commands have is in one list, with its type and the beginning of its help."""
    found = {}
    for words, command in LEAVES:
        for option in command.params:
            if isinstance(option, click.Option) and option.name != "help":
                found.setdefault(option.opts[-1], []).append((words, option))
    several = {name for name, options in found.items() if len(options) > 1}
    assert several <= set(SHARED) <= set(found)
    for name, meaning in SHARED.items():
        for words, option in found[name]:
            assert option.help.startswith(meaning.text), (name, words)
            if isinstance(meaning.type, click.types.IntRange | click.types.FloatRange):
                kind, bounds = type(meaning.type), (meaning.type.min, meaning.type.max)
                assert isinstance(option.type, kind), (name, words)
                assert (option.type.min, option.type.max) == bounds, (name, words)
            assert option.is_flag == (meaning.type is None), (name, words)


def test_no_help_line_is_cut():
    text = run("--help").output + run("study", "--help").output
    assert "..." not in text.replace("[ARGS]...", "")


def test_traceback_is_accepted_before_the_command(tmp_path):
    file = tmp_path / "run.db"
    file.write_text("not a database")
    assert "Traceback (most recent" in run("--traceback", "report", file).stderr
    assert "Traceback (most recent" in run("study", "--traceback", "show", file).stderr


def test_a_missing_folder(file, tmp_path):
    answer = run("report", file, "-o", tmp_path / "no" / "page.html")
    assert answer.exit_code == 1
    assert f"there is no folder {tmp_path}/no" in answer.stderr


def test_a_file_that_is_not_a_study(tmp_path):
    pytest.importorskip("plotly")
    file = tmp_path / "run.db"
    file.write_text("not a database")
    for command in ("report", "watch", "study"):
        answer = run(command, file)
        assert answer.exit_code == 1
        assert "is not a study of bough" in answer.stderr
        assert "Traceback" not in answer.output
    assert list(tmp_path.iterdir()) == [file]


def test_an_objective_that_raises(tmp_path):
    (tmp_path / "mine.py").write_text("def f(path):\n    return 1 / 0\n")
    answer = run("search", f"{tmp_path}/mine.py:f", "--branching", 2, "--depth", 2, "--json")
    assert answer.exit_code == 1
    assert "division by zero" in json.loads(answer.stdout)["error"]
    assert "division by zero" in answer.stderr
    assert "Traceback" not in answer.output
    words = ("search", f"{tmp_path}/mine.py:f", "--branching", 2, "--depth", 2, "--traceback")
    assert "return 1 / 0" in run(*words, "--on-error", "stop").stderr
    (tmp_path / "tuned.py").write_text(
        "from bough import *\nspace = Space(x=Float(0, 1))\n\n\ndef f(params):\n    return 1 / 0\n"
    )
    words = ("tune", f"{tmp_path}/tuned.py:f", "--traceback")
    assert "return 1 / 0" in run(*words, "--on-error", "stop").stderr


def test_a_reader_that_ends_early_is_not_an_error(file):
    script = "import sys; from bough.cli import main; sys.argv[0] = 'bough'; main()"
    program = subprocess.Popen(
        [sys.executable, "-c", script, "study", str(file), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    program.stdout.close()
    assert program.stderr.read() == b""
    program.stderr.close()
    assert program.wait() == 1


@pytest.mark.parametrize("reason", ["", "\n", "\nsecond line"])
def test_failed_trials_with_unusual_reasons(reason, tmp_path):
    file = tmp_path / "run.db"
    with bough.Study.create(file, bough.Tree(2, 2), rng=0) as study:
        study.fail(study.ask(), reason)
    answer = run("study", file)
    assert answer.exit_code == 0, answer.output
    assert "1 failed" in answer.output
    assert "()" not in answer.output


# ---------------------------------------------------------------------- output


def test_report_and_its_json(file, tmp_path):
    pytest.importorskip("plotly")
    answer = run("report", file)
    assert answer.exit_code == 0, answer.output
    assert answer.output.startswith(f"{tmp_path}/run.html: 10 trials")
    answer = run("report", file, "-o", tmp_path / "page.html", "--title", "Night", "--json")
    facts = json.loads(answer.stdout)
    assert facts == {
        "file": f"{tmp_path}/page.html",
        "bytes": (tmp_path / "page.html").stat().st_size,
        "trials": 10,
    }
    assert "<title>Night - bough</title>" in (tmp_path / "page.html").read_text()


def test_a_report_never_overwrites_the_study(tmp_path):
    pytest.importorskip("plotly")
    file = tmp_path / "run.html"
    result = bough.maximize(sum, bough.Tree(3, 4), budget=10, rng=0, study=file)
    for words in (("report", file), ("report", file, "-o", tmp_path / ".." / tmp_path.name / file)):
        answer = run(*words)
        assert answer.exit_code == 1
        assert "the study itself" in answer.stderr
    with pytest.raises(ValueError, match="path must not be that of the study itself"):
        result.report(file)
    assert len(bough.Study.look(file).trials) == 10


def test_a_file_name_that_is_not_unicode(file, tmp_path):
    pytest.importorskip("plotly")
    odd = pathlib.Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.db"))
    file.rename(odd)
    assert run("report", odd, "-o", tmp_path / "page.html").exit_code == 0
    assert r"<title>\udcff.db - bough</title>" in (tmp_path / "page.html").read_text()


def test_study_commands_have_json(file, tmp_path):
    lines, copy = tmp_path / "run.jsonl", tmp_path / "copy.db"
    made = json.loads(run("study", "export", file, lines, "--json").stdout)
    assert made["file"] == str(lines)
    back = json.loads(run("study", "import", lines, copy, "--json").stdout)
    assert back == {"file": str(copy), "operations": made["operations"]}
    assert run("study", "export", file, "--json").exit_code == 2


def test_watch_prints_its_address_and_ends_by_ctrl_c(file, monkeypatch):
    pytest.importorskip("plotly")
    from bough.report.watch import Watch

    def interrupted(self, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "serve_forever", interrupted)
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    answer = run("watch", file, "--json", "--open")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert facts["file"] == str(file)
    assert facts["url"].startswith("http://127.0.0.1:")
    assert opened == [facts["url"]]
    assert "Ctrl-C" in run("watch", file).output


def test_colors_only_on_a_terminal(monkeypatch):
    words = ["search", "smooth", "--budget", "5"]
    plain = run(*words)
    assert "\x1b" not in plain.output
    colored = CliRunner().invoke(main, words, color=True)
    assert "\x1b[1m" in colored.output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in CliRunner().invoke(main, words, color=True).output


CONTROL = "\x1b]0;title\x07\x1b[2J\x9b5A\u202e\nfaked line"


def test_no_control_character_reaches_the_terminal(tmp_path):
    """Names, options and reasons may contain any; only bold and red are printed."""
    pytest.importorskip("plotly")
    space = bough.Space(**{f"x{CONTROL}": bough.Float(0, 1), "kind": bough.Choice([CONTROL])})
    file = tmp_path / "run.db"
    with bough.Study.create(file, space, rng=0) as study:
        study.tell(study.ask(), 1.0)
        study.fail(study.ask(), CONTROL)
    (tmp_path / "mine.py").write_text(
        f"from bough import *\nCONTROL = {CONTROL!r}\n"
        "space = Space(**{'x' + CONTROL: Float(0, 1), 'kind': Choice([CONTROL])})\n"
        "def f(params):\n    return 1.0\n"
        "def g(path):\n    raise ValueError(CONTROL)\n"
    )
    odd = tmp_path / f"odd{CONTROL}.db"
    odd.write_bytes(file.read_bytes())
    for words in (
        ("study", file),
        ("study", odd),
        ("report", odd),
        ("tune", f"{tmp_path}/mine.py:f", "--budget", 5),
        ("tune", f"{tmp_path}/mine.py:{CONTROL}"),
        ("search", f"{tmp_path}/mine.py:g", "--branching", 2, "--depth", 2, "--traceback"),
        ("search", CONTROL),
        (CONTROL,),
        (f"--{CONTROL}",),
        ("report", f"missing{CONTROL}"),
        ("compare", CONTROL),
    ):
        answer = CliRunner().invoke(main, [str(word) for word in words], color=True)
        for character in ("\x1b]", "\x07", "\x1b[2", "\x9b", "\u202e"):
            assert character not in answer.output, words
        assert "x1b" in answer.output, words
    assert "\nfaked line" not in run("study", file).output


def test_csv_is_exact_except_on_a_terminal(tmp_path, monkeypatch):
    file = tmp_path / "run.db"
    with bough.Study.create(file, bough.Tree(2, 2), rng=0) as study:
        study.fail(study.ask(), CONTROL)
    assert CONTROL in run("study", file, "--csv").output
    monkeypatch.setattr("bough.cli.shell._is_terminal", lambda stream: True)
    assert "\x1b" not in run("study", file, "--csv").output


# ---------------------------------------------------------------------- completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    answer = run("completion", shell)
    assert answer.exit_code == 0
    assert "_BOUGH_COMPLETE" in answer.stdout
    assert json.loads(run("completion", shell, "--json").stdout)["shell"] == shell


@pytest.mark.parametrize(
    ("words", "expected"),
    [("bough se", {"search"}), ("bough search sm", {"smooth"}), ("bough watch --o", {"--open"})],
)
def test_completion_completes(words, expected):
    position = str(len(words.split()) - 1)
    asked = {"COMP_WORDS": words, "COMP_CWORD": position, "_BOUGH_COMPLETE": "bash_complete"}
    answer = CliRunner().invoke(main, prog_name="bough", env=asked)
    assert {line.split(",")[1] for line in answer.stdout.split()} == expected
