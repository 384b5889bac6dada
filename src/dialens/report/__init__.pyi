from ._comparison_page import ComparisonSummary, write_comparison
from ._power_page import Plan, write_power
from ._run_record import RUN, Recorder, RunRecord
from ._score_report import Summary, write_report
from ._wording import headline_metrics

__all__ = [
    "RUN",
    "ComparisonSummary",
    "Plan",
    "Recorder",
    "RunRecord",
    "Summary",
    "headline_metrics",
    "write_comparison",
    "write_power",
    "write_report",
]
