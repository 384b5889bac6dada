from ._comparison_page import ComparisonSummary, write_comparison
from ._power_page import Plan, write_power
from ._run_facts import run_facts
from ._score_report import Summary, write_report
from ._wording import headline_metrics

__all__ = [
    "ComparisonSummary",
    "Plan",
    "Summary",
    "headline_metrics",
    "run_facts",
    "write_comparison",
    "write_power",
    "write_report",
]
