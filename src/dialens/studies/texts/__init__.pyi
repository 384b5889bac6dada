from ._texts import (
    LANGUAGES,
    Texts,
    catalogue_text,
    language_name,
    shipped_language,
    text_problem,
    text_values,
    untranslated,
)

__all__ = [
    "LANGUAGES",
    "Texts",
    "catalogue_text",
    "language_name",
    "shipped_language",
    "text_problem",
    "text_values",
    "untranslated",
]
