from ._against_people import JUDGES, MODELS, PEOPLE, judges_against_people, own_agreement
from ._agents import JUDGED_AGENTS, judged_agents
from ._beside import BESIDE, effects_beside
from ._orders import order_shares, verdicts

__all__ = [
    "BESIDE",
    "JUDGED_AGENTS",
    "JUDGES",
    "MODELS",
    "PEOPLE",
    "effects_beside",
    "judged_agents",
    "judges_against_people",
    "order_shares",
    "own_agreement",
    "verdicts",
]
