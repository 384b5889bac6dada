from ._choice_biases import POSITION, choice_labels, position_effect, same_choice
from ._choice_rows import broken_battles, choice_kinds, name_choices, rows_key
from ._choices import Choices, choices_of, people_from_choices
from ._participants import QUESTIONS, Participants, how_far, who_took_part
from ._ratings import RatedQuality, agent_names, no_variance, rated_qualities
from ._said import People, what_people_said
from ._scales import CHOSEN, MAGNITUDE, PAIRWISE, RATED, YES_NO, AnswerScale, with_kinds
from ._tables import AGENT_DIFFERENCES, AGENTS, DISTRIBUTIONS, WINS

__all__ = [
    "AGENTS",
    "AGENT_DIFFERENCES",
    "CHOSEN",
    "DISTRIBUTIONS",
    "MAGNITUDE",
    "PAIRWISE",
    "POSITION",
    "QUESTIONS",
    "RATED",
    "WINS",
    "YES_NO",
    "AnswerScale",
    "Choices",
    "Participants",
    "People",
    "RatedQuality",
    "agent_names",
    "broken_battles",
    "choice_kinds",
    "choice_labels",
    "choices_of",
    "how_far",
    "name_choices",
    "no_variance",
    "people_from_choices",
    "position_effect",
    "rated_qualities",
    "rows_key",
    "same_choice",
    "what_people_said",
    "who_took_part",
    "with_kinds",
]
