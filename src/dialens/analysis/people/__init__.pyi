from ._choice_biases import POSITION, choice_labels, position_effect, same_choice
from ._choices import Choices, choices_of, people_from_choices
from ._tables import AGENT_DIFFERENCES, AGENTS, DISTRIBUTIONS, WINS

__all__ = [
    "AGENTS",
    "AGENT_DIFFERENCES",
    "DISTRIBUTIONS",
    "POSITION",
    "WINS",
    "Choices",
    "choice_labels",
    "choices_of",
    "people_from_choices",
    "position_effect",
    "same_choice",
]
