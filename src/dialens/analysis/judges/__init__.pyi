from ._again import own_agreement
from ._against_people import JUDGES, PEOPLE, judges_against_people
from ._agents import JUDGED_AGENTS, judged_agents
from ._answers import (
    MODELS,
    asked_together,
    distinct_answers,
    one_rater_a_judge,
    with_judge,
)
from ._beside import BESIDE, effects_beside
from ._candidates import TOGETHER
from ._designs import (
    ALL_JUDGES,
    JUDGE_DESIGNS,
    JUDGE_VARIANCE,
    JudgeDesigns,
    judge_designs,
)
from ._drift import DRIFT, changed_behind, judge_drift, later_raters
from ._joining import JUDGE_PANEL, PEOPLE_ALONE, judges_joining
from ._kinds import Chosen, raters_of_kinds
from ._metrics import FAMILY, JudgeMetrics, judge_metrics
from ._orders import order_shares, verdicts

__all__ = [
    "ALL_JUDGES",
    "BESIDE",
    "DRIFT",
    "FAMILY",
    "JUDGED_AGENTS",
    "JUDGES",
    "JUDGE_DESIGNS",
    "JUDGE_PANEL",
    "JUDGE_VARIANCE",
    "MODELS",
    "PEOPLE",
    "PEOPLE_ALONE",
    "TOGETHER",
    "Chosen",
    "JudgeDesigns",
    "JudgeMetrics",
    "asked_together",
    "changed_behind",
    "distinct_answers",
    "effects_beside",
    "judge_designs",
    "judge_drift",
    "judge_metrics",
    "judged_agents",
    "judges_against_people",
    "judges_joining",
    "later_raters",
    "one_rater_a_judge",
    "order_shares",
    "own_agreement",
    "raters_of_kinds",
    "verdicts",
    "with_judge",
]
