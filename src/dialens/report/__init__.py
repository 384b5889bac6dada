"""Reports: charts, tables, self-contained HTML pages, and the record of a run.

May import every room below; only the command line builds on it.
"""

from dialens.report._page import Finding, Page, Remark, Section, Summary, write_page
from dialens.report.comparison_page import write_comparison
from dialens.report.run_record import RUN, Recorder, RunRecord
from dialens.report.score_report import write_report

__all__ = [
    "RUN",
    "Finding",
    "Page",
    "Recorder",
    "Remark",
    "RunRecord",
    "Section",
    "Summary",
    "write_comparison",
    "write_page",
    "write_report",
]
