from ._said import People, what_people_said
from ._tables import AGENT_DIFFERENCES, AGENTS, DISTRIBUTIONS, WINS

__all__ = ["AGENTS", "AGENT_DIFFERENCES", "DISTRIBUTIONS", "WINS", "People", "what_people_said"]
