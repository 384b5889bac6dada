from ._among import place_words
from ._apa import agreement_apa, correlation_apa, difference_apa, paper_text
from ._comparison_page import write_comparison
from ._comparison_words import comparison_lines, is_clear, scale_of, short_names
from ._export_handover import write_export_handover
from ._figures import FIGURE_FORMATS, write_figures
from ._gate_files import gate_json, gate_junit, gate_markdown, write_gate
from ._handover import write_agreement_handover, write_models_handover
from ._page import Finding, Page, Remark, Section, Summary, write_page
from ._power_page import write_power
from ._power_words import PowerPlan, advised
from ._run_facts import run_facts
from ._score_report import write_report
from ._users_page import user_lines, write_user_comparison
from ._word_marks import LENSES, Mark, WordMarks, check_resources, counts_partner
from ._wording import Scale, headline_metrics

__all__ = [
    "FIGURE_FORMATS",
    "LENSES",
    "Finding",
    "Mark",
    "Page",
    "PowerPlan",
    "Remark",
    "Scale",
    "Section",
    "Summary",
    "WordMarks",
    "advised",
    "agreement_apa",
    "check_resources",
    "comparison_lines",
    "correlation_apa",
    "counts_partner",
    "difference_apa",
    "gate_json",
    "gate_junit",
    "gate_markdown",
    "headline_metrics",
    "is_clear",
    "paper_text",
    "place_words",
    "run_facts",
    "scale_of",
    "short_names",
    "user_lines",
    "write_agreement_handover",
    "write_comparison",
    "write_export_handover",
    "write_figures",
    "write_gate",
    "write_models_handover",
    "write_page",
    "write_power",
    "write_report",
    "write_user_comparison",
]
