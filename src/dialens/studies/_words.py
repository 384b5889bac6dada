"""Which settings of a study file are words that participants read, and so differ by language."""

from dataclasses import dataclass

from pydantic import BaseModel


@dataclass(frozen=True)
class Words:
    """Marks a setting as words that participants read.

    Attributes:
        always: A translation has to give it even where the study file does not, because something
            of the study file (a name) is read in its place.
        optional: A translation may leave it as it is, as what is judged or an address.
    """

    always: bool = False
    optional: bool = False


WORDS = Words()
"""Of words that each language of a study has of its own."""

ALWAYS = Words(always=True)
"""Of words that stand in for a name of the study file, which no other language should read."""

MATERIAL = Words(optional=True)
"""Of what may be the same in all languages: what is judged, and whom to write to."""


def words_mark(model: type[BaseModel], name: str) -> Words | None:
    """How a setting is marked; none if it is the same in all languages.

    Examples:
        >>> from dialens.studies.design import Design
        >>> words_mark(Design, "title"), words_mark(Design, "study")
        (Words(always=False, optional=False), None)
    """
    marks = model.model_fields[name].metadata
    return next((mark for mark in marks if isinstance(mark, Words)), None)
