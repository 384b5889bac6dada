"""Reports: charts, tables, self-contained HTML pages, and the record of a run.

May import every room below; only the command line and the workbench build on it.
"""

from dialens.report.comparison_page import ComparisonSummary, write_comparison
from dialens.report.page import Summary, write_report
from dialens.report.run_record import RUN, Recorder, RunRecord

__all__ = [
    "RUN",
    "ComparisonSummary",
    "Recorder",
    "RunRecord",
    "Summary",
    "write_comparison",
    "write_report",
]
