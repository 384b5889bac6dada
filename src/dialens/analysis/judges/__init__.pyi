from ._against_people import JUDGES, MODELS, PEOPLE, judges_against_people, own_agreement
from ._agents import JUDGED_AGENTS, judged_agents
from ._beside import BESIDE, effects_beside
from ._drift import DRIFT, changed_behind, judge_drift, later_raters
from ._metrics import FAMILY, JudgeMetrics, judge_metrics
from ._orders import order_shares, verdicts

__all__ = [
    "BESIDE",
    "DRIFT",
    "FAMILY",
    "JUDGED_AGENTS",
    "JUDGES",
    "MODELS",
    "PEOPLE",
    "JudgeMetrics",
    "changed_behind",
    "effects_beside",
    "judge_drift",
    "judge_metrics",
    "judged_agents",
    "judges_against_people",
    "later_raters",
    "order_shares",
    "own_agreement",
    "verdicts",
]
