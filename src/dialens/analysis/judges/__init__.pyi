from ._against_people import JUDGES, PEOPLE, judges_against_people, own_agreement
from ._answers import (
    MODELS,
    asked_together,
    distinct_answers,
    one_rater_a_judge,
    with_judge,
)
from ._beside import BESIDE, effects_beside
from ._orders import order_shares, verdicts

__all__ = [
    "BESIDE",
    "JUDGES",
    "MODELS",
    "PEOPLE",
    "asked_together",
    "distinct_answers",
    "effects_beside",
    "judges_against_people",
    "one_rater_a_judge",
    "order_shares",
    "own_agreement",
    "verdicts",
    "with_judge",
]
