from ._among import place_words
from ._comparison_page import write_comparison
from ._page import Finding, Page, Remark, Section, Summary, write_page
from ._power_page import write_power
from ._power_words import PowerPlan, advised
from ._run_facts import run_facts
from ._score_report import write_report
from ._wording import headline_metrics

__all__ = [
    "Finding",
    "Page",
    "PowerPlan",
    "Remark",
    "Section",
    "Summary",
    "advised",
    "headline_metrics",
    "place_words",
    "run_facts",
    "write_comparison",
    "write_page",
    "write_power",
    "write_report",
]
