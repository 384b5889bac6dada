from ._section import people_sections, people_tables
from ._words import Said, headline, one_agent_answer, people_answer, said, some

__all__ = [
    "Said",
    "headline",
    "one_agent_answer",
    "people_answer",
    "people_sections",
    "people_tables",
    "said",
    "some",
]
