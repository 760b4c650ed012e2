"""README: its programs run, and it has the two commands."""

import importlib.util
import pathlib
import re

README = (pathlib.Path(__file__).parent.parent / "README.md").read_text()


def test_the_programs_of_the_readme_run():
    programs = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(programs) >= 5
    for program in programs:
        if "import gymnasium" in program and importlib.util.find_spec("gymnasium") is None:
            continue  # CI runs it with gymnasium
        exec(program, {})


def test_the_two_commands():
    commands = [line.strip() for line in README.splitlines() if "pip install" in line]
    assert commands[:2] == [
        "pip install . && bough search smooth --budget 10000",
        "pip install '.[test]' && pytest",
    ]
