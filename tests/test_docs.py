"""The pages of the documentation tell the truth: every example is run, every number compared."""

import doctest
import pathlib
import re

import pytest

PAGES = sorted((pathlib.Path(__file__).parent.parent / "docs").glob("**/*.md"))


def test_there_are_pages():
    assert "paper-checked.md" in [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page):
    text = page.read_text()
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    names, output, found = {}, [], 0  # a page is one session
    for block in re.finditer(r"```python\n(.*?)```", text, re.S):
        line = text.count("\n", 0, block.start(1))
        test = parser.get_doctest(block[1], names, page.name, str(page), line)
        test.globs = names
        found += len(test.examples)
        runner.run(test, out=output.append, clear_globs=False)
    assert found == text.count(">>> ")  # none was missed
    assert runner.failures == 0, "".join(output)
