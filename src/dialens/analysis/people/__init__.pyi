from ._participants import QUESTIONS, Participants, who_took_part
from ._said import People, what_people_said
from ._scales import AnswerScale
from ._tables import AGENT_DIFFERENCES, AGENTS, DISTRIBUTIONS, WINS

__all__ = [
    "AGENTS",
    "AGENT_DIFFERENCES",
    "DISTRIBUTIONS",
    "QUESTIONS",
    "WINS",
    "AnswerScale",
    "Participants",
    "People",
    "what_people_said",
    "who_took_part",
]
