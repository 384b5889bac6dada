from ._section import people_sections, people_tables
from ._words import Said, people_answer, said

__all__ = ["Said", "people_answer", "people_sections", "people_tables", "said"]
