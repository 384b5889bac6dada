from ._comparison_page import write_comparison
from ._figures import FIGURE_FORMATS, write_figures
from ._page import Finding, Page, Remark, Section, Summary, write_page
from ._power_page import write_power
from ._power_words import PowerPlan, advised
from ._run_facts import run_facts
from ._score_report import write_report
from ._wording import headline_metrics

__all__ = [
    "FIGURE_FORMATS",
    "Finding",
    "Page",
    "PowerPlan",
    "Remark",
    "Section",
    "Summary",
    "advised",
    "headline_metrics",
    "run_facts",
    "write_comparison",
    "write_figures",
    "write_page",
    "write_power",
    "write_report",
]
