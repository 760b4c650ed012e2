"""How the documentation is built: `sphinx-build -W docs build/docs`, which runs every example."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

import executed
import latex2mathml.converter
from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.util import logging

import bough

project = "bough"
version = release = bough.__version__
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["build"]
root_doc = "index"
html_theme = "furo"
html_title = "bough"
html_math_renderer = "mathml"
templates_path: list[str] = []


def run_examples(app, docname, source):
    """Run the examples of a page; what goes wrong is a warning, which fails the build."""
    for problem in executed.problems(source[0], docname):
        logging.getLogger(__name__).warning(problem, location=docname)


def visit_math(self, node):
    """Write mathematics as MathML, which browsers draw themselves: no script, no network."""
    display = "block" if node.tagname == "math_block" else "inline"
    self.body.append(latex2mathml.converter.convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app):
    """Register what is our own."""
    renderer = (visit_math, None)
    app.add_html_math_renderer("mathml", renderer, renderer)
    app.add_lexer("output", TextLexer)
    app.connect("source-read", run_examples)
