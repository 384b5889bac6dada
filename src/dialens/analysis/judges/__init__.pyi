from ._again import own_agreement
from ._against_people import JUDGES, MODELS, PEOPLE, judges_against_people
from ._beside import BESIDE, effects_beside
from ._designs import (
    ALL_JUDGES,
    JUDGE_DESIGNS,
    JUDGE_VARIANCE,
    JudgeDesigns,
    judge_designs,
)
from ._joining import JUDGE_PANEL, PEOPLE_ALONE, judges_joining
from ._orders import order_shares, verdicts

__all__ = [
    "ALL_JUDGES",
    "BESIDE",
    "JUDGES",
    "JUDGE_DESIGNS",
    "JUDGE_PANEL",
    "JUDGE_VARIANCE",
    "MODELS",
    "PEOPLE",
    "PEOPLE_ALONE",
    "JudgeDesigns",
    "effects_beside",
    "judge_designs",
    "judges_against_people",
    "judges_joining",
    "order_shares",
    "own_agreement",
    "verdicts",
]
