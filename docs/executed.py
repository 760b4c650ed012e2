"""Pages that tell the truth: their examples are run, and what they print is compared.

A page is one session. A block of `python` with prompts is a doctest; without them it is run as it
is, and a block of `output` right after it must be what it printed.
"""

import contextlib
import doctest
import io
import os
import re
import tempfile
import traceback

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\s*^```output\n(.*?)^```$)?", re.S | re.M)


def problems(text, name):
    """Run the examples of a page, and return what is wrong with them."""
    names = {"__name__": "__main__"}
    found = []
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in BLOCK.finditer(text):
                line = text.count("\n", 0, block.start(1)) + 1
                if ">>> " in block[1]:
                    found += _doctest(block[1], names, name, line)
                else:
                    found += _run(block[1], block[2], names, name, line)
        finally:
            os.chdir(before)
    return found


def _doctest(program, names, name, line):
    said = []
    test = doctest.DocTestParser().get_doctest(program, names, name, name, line)
    test.globs = names
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=said.append, clear_globs=False)
    return ["".join(said)] if runner.failures else []


def _run(program, expected, names, name, line):
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + program, f"{name}.md", "exec"), names)
    except Exception:
        return [f"line {line}: {traceback.format_exc()}"]
    if expected is not None and printed.getvalue().strip() != expected.strip():
        return [f"line {line}: it printed\n{printed.getvalue()}\nand the page says\n{expected}"]
    return []
