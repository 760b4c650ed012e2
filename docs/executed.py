"""Pages that tell the truth: their examples are run, and what they print is compared.

A page is one session. A block of `python` with prompts is a doctest; without them it is run as it
is, and a block of `output` right after it must be what it printed. Notebooks are run as Jupyter
does: `python docs/executed.py NOTEBOOK` compares what its cells show with what it says, and
`--write` records it.
"""

import base64
import contextlib
import doctest
import io
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import traceback

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\s*^```output\n(.*?)^```$)?", re.S | re.M)


def problems(text, name, pictures=None):
    """Run the examples of a page, and return what is wrong with them.

    Pictures that they write are copied to a folder, if one is given.
    """
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
            for picture in pathlib.Path(folder).glob("*.png") if pictures else ():
                shutil.copy(picture, pictures)
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


# ---------------------------------------------------------------------- notebooks


def run_notebook(cells):
    """Run code cells as Jupyter does, in a session of this process, and return their outputs."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
    from traitlets.config import Config

    results = []

    class Hook(DisplayHook):
        """Keeps the value of a cell in all its formats instead of printing it."""

        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            results.append(format_dict)

        def finish_displayhook(self):
            pass

    class Shell(InteractiveShell):
        displayhook_class = Hook

        def enable_gui(self, gui=None):
            """Show figures inline: there are no windows."""

    shell = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("matplotlib", "inline")
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in cells:
                results.clear()
                with capture_output() as shown:
                    run = shell.run_cell("".join(cell["source"]), store_history=True)
                run.raise_error()
                shows = [*results, *(output.data for output in shown.outputs)]
                yield cell, _outputs(shown.stdout, shows)
        finally:
            os.chdir(before)


def _outputs(printed, shows):
    found = []
    if printed:
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(printed)})
    for formats in shows:
        data = {kind: _content(kind, content) for kind, content in formats.items()}
        found.append({"output_type": "display_data", "data": data, "metadata": {}})
    return found


def _content(kind, content):
    if isinstance(content, bytes):
        return base64.b64encode(content).decode()
    return content if kind.startswith("image/") else _lines(content)


def _lines(text):
    return text.splitlines(keepends=True)


def notebook_problems(file, write=False):
    """Run a notebook, and return the cells that print or show other texts; or record these."""
    notebook = json.loads(file.read_text())
    found = []
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(run_notebook(code), 1):
        if write:
            cell.update(outputs=outputs, execution_count=number)
        elif _texts(outputs) != _texts(cell["outputs"]):
            found.append(f"{file}, cell {number}: it shows\n{_texts(outputs)}\nand the notebook "
                         f"says\n{_texts(cell['outputs'])}")  # fmt: skip
    if write:
        file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    return found


def _texts(outputs):
    """Return the texts of cells; of pictures only the kind, since they may differ in a pixel."""
    return [
        "".join(output["text"])
        if "text" in output
        else {
            kind: "".join(output["data"][kind]) if kind == "text/html" else ""
            for kind in output["data"]
        }
        for output in outputs
    ]


if __name__ == "__main__":  # python docs/executed.py [--write] NOTEBOOK
    *options, name = sys.argv[1:]
    wrong = notebook_problems(pathlib.Path(name).resolve(), "--write" in options)
    sys.exit("\n".join(wrong) or None)
