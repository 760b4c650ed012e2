"""The `bough` command."""

from bough.cli.search import main

__all__ = ["main"]
