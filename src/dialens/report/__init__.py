"""Reports: charts, tables and self-contained HTML pages.

May import every room below; only the command line and the workbench build on it.
"""

from dialens.report.comparison_page import ComparisonSummary, write_comparison
from dialens.report.page import Summary, write_report

__all__ = [
    "ComparisonSummary",
    "Summary",
    "write_comparison",
    "write_report",
]
