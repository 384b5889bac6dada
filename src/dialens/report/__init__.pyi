from ._comparison_page import write_comparison
from ._page import Finding, Page, Remark, Section, Summary, write_page
from ._power_page import Plan, write_power
from ._run_record import RUN, Recorder, RunRecord
from ._score_report import write_report
from ._wording import headline_metrics

__all__ = [
    "RUN",
    "Finding",
    "Page",
    "Plan",
    "Recorder",
    "Remark",
    "RunRecord",
    "Section",
    "Summary",
    "headline_metrics",
    "write_comparison",
    "write_page",
    "write_power",
    "write_report",
]
