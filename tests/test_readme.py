"""README: its programs run and print what it shows, and it has the two commands."""

import importlib.util
import pathlib
import re

import pytest

README = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```\n(?:\n```output\n(.*?)```)?", README, re.S)
#: Packages of extras, which CI installs before it runs this file again, by what a program imports.
EXTRAS = {"gymnasium": "gymnasium", "optuna": "optuna", "games": "pyspiel"}


def test_the_readme_has_programs():
    assert len(PROGRAMS) >= 5
    assert any(output for _, output in PROGRAMS)


@pytest.mark.parametrize(("program", "output"), PROGRAMS)
def test_a_program_of_the_readme(program, output, capsys):
    for name, package in EXTRAS.items():
        if re.search(rf"import {name}\b", program) and not importlib.util.find_spec(package):
            pytest.skip(f"needs {package}")
    exec(program, {})
    if output:
        assert capsys.readouterr().out == output


def test_the_two_commands():
    commands = [line for line in README.splitlines() if line.startswith("    pip install ")]
    assert commands == [
        "    pip install . && bough search smooth --budget 10000",
        "    pip install '.[test]' && pytest",
    ]


def test_links_of_the_readme():
    root = pathlib.Path(__file__).parent.parent
    for target in re.findall(r"\]\(([^)#]+)", README):
        assert (root / target).exists(), target
