"""The report: one HTML file to explore a search with, which needs no network and no server."""

from bough.report.page import page, write
from bough.report.snapshot import snapshot, trial_columns

__all__ = ["page", "snapshot", "trial_columns", "write"]
