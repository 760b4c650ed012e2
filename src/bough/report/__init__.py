"""The report: one HTML file to explore a search or a match with, without network and server."""

from bough.report.games import Fall, fall_of, match_page, write_match
from bough.report.page import page, write
from bough.report.snapshot import snapshot, trial_columns

__all__ = [
    "Fall",
    "fall_of",
    "match_page",
    "page",
    "snapshot",
    "trial_columns",
    "write",
    "write_match",
]
