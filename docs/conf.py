"""How the documentation is built: `sphinx-build -W docs build/docs`, which runs every example."""

import os
import pathlib
import sys

sys.path.insert(0, os.path.dirname(__file__))

import executed  # noqa: E402 - found by the line above
from pygments.lexers.special import TextLexer  # noqa: E402

import bough  # noqa: E402

project = "bough"
version = release = bough.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["build"]
root_doc = "index"
html_theme = "furo"
html_title = "bough"
templates_path: list[str] = []
nitpicky = False  # names in docstrings are text, not links
default_role = "code"  # as the docstrings mean it
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature has them


def run_examples(app, docname, source):
    """Run the examples of a page; what goes wrong is a warning, which fails the build."""
    for problem in executed.problems(source[0], docname):
        from sphinx.util import logging

        logging.getLogger(__name__).warning(problem, location=docname)


def setup(app):
    """Register what is our own."""
    app.add_lexer("output", TextLexer)
    app.add_directive("commands", executed.commands_directive())
    app.connect("source-read", run_examples)
    app.add_config_value("examples_root", str(pathlib.Path(__file__).parent), "env")
