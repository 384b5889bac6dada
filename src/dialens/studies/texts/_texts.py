"""What participants read that is not part of a study's own words, by language."""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from dialens.base import DialensError, did_you_mean

LANGUAGES: dict[str, str] = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "it": "Italiano",
    "pt": "Português",
    "zh": "中文",
    "ja": "日本語",
    "ar": "العربية",
}
"""Languages that come with the program: code, and what the language calls itself."""

_RIGHT_TO_LEFT = frozenset({"ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"})
_OTHER_SCRIPTS = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")


@dataclass(frozen=True)
class Texts:
    """The texts of one language.

    Attributes:
        language: As in HTML: ``en``, ``pt-BR``.
        texts: By key; every key of the English catalogue is there.

    Examples:
        >>> Texts.of("en").say("continue")
        'Continue'
        >>> Texts.of("en", {"continue": "Next"}).say("continue")
        'Next'
    """

    language: str
    texts: Mapping[str, str]

    @classmethod
    def of(cls, language: str, own: Mapping[str, str] = MappingProxyType({})) -> "Texts":
        """The texts of a language, with a study's own in place of ours.

        Args:
            language: A language, or one of its regions.
            own: Texts by key.

        Raises:
            DialensError: A key is not one of the catalogue's, or a text cannot be filled in.
        """
        shipped = _catalogue("en") | _catalogue(shipped_language(language) or "en")
        for key, text in own.items():
            problem = text_problem(key, text)
            if problem:
                raise DialensError(problem)
        return cls(language, shipped | dict(own))

    @property
    def direction(self) -> str:
        """``ltr`` or ``rtl``."""
        return "rtl" if self.language.partition("-")[0] in _RIGHT_TO_LEFT else "ltr"

    def say(self, key: str, **values: object) -> str:
        """Return a text; ``{name}`` in it stands for a value, numbers as the language writes them.

        Examples:
            >>> Texts.of("de").say("error_at_least", low=0.5)
            'Bitte geben Sie eine Zahl ab 0,5 ein.'
        """
        said = {
            name: self.number(value) if isinstance(value, int | float) else value
            for name, value in values.items()
        }
        return self.texts[key].format_map(said)

    def number(self, value: float) -> str:
        """A number as people write it.

        Examples:
            >>> texts = Texts.of("en")
            >>> texts.number(100.0), texts.number(0.5), texts.number(1e6)
            ('100', '0.5', '1000000')
            >>> Texts.of("fr").number(0.5)
            '0,5'
        """
        if value == int(value):
            return f"{value:.0f}"
        return f"{value:g}".replace(".", self.texts["decimal_mark"])


def shipped_language(language: str) -> str | None:
    """The language whose catalogue serves a language or region; none if none does.

    Examples:
        >>> shipped_language("pt-BR"), shipped_language("zh-Hant"), shipped_language("fi")
        ('pt', None, None)
    """
    if language in LANGUAGES:
        return language
    if language.lower().startswith(_OTHER_SCRIPTS):
        return None
    parent = language.partition("-")[0]
    return parent if parent in LANGUAGES else None


def language_name(language: str) -> str:
    """What a language calls itself; its code where that is not known.

    Examples:
        >>> language_name("de"), language_name("fi")
        ('Deutsch', 'fi')
    """
    return LANGUAGES.get(language, language)


def text_problem(key: str, text: str) -> str | None:
    """What is wrong with a study's own text; none if nothing is.

    Examples:
        >>> text_problem("continu", "Next")
        "there is no text 'continu'. Did you mean continue? `dialens study texts` lists them all."
        >>> text_problem("progress", "{page} of {total}")
        "the text 'progress' knows no {page}; it may hold {number}, {total}."
    """
    english = _catalogue("en")
    if key not in english:
        hint = did_you_mean(key, english)
        return f"there is no text {key!r}. {hint}`dialens study texts` lists them all."
    try:
        used = text_values(text)
    except ValueError as error:
        return f"the text {key!r} cannot be filled in: {error}. Write {{{{ for a brace."
    allowed = text_values(english[key])
    odd = sorted(used - allowed)
    if odd:
        holds = ", ".join(f"{{{name}}}" for name in sorted(allowed)) or "no value"
        return f"the text {key!r} knows no {{{odd[0]}}}; it may hold {holds}."
    return None


def text_values(text: str) -> set[str]:
    """The names of the values that a text stands open for.

    Examples:
        >>> sorted(text_values("{number} of {total}"))
        ['number', 'total']
    """
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def untranslated(language: str, own: Mapping[str, str]) -> list[str]:
    """The keys of texts that a language would say in English.

    Examples:
        >>> untranslated("de", {}), "continue" in untranslated("fi", {"begin": "Aloita"})
        ([], True)
    """
    known = _catalogue(shipped_language(language) or "en")
    if shipped_language(language) is None:
        known = {}
    return [key for key in _catalogue("en") if key not in known and key not in own]


def catalogue_text(language: str) -> str:
    """A catalogue as a YAML file, English where the language is not shipped, to translate from.

    Examples:
        >>> "continue: Weiter" in catalogue_text("de")
        True
    """
    return _file(shipped_language(language) or "en")


def _file(language: str) -> str:
    return (files("dialens.studies.texts") / f"{language}.yaml").read_text("utf-8")


@cache
def _catalogue(language: str) -> dict[str, str]:
    from ruamel.yaml import YAML

    return {str(key): str(said) for key, said in YAML(typ="safe").load(_file(language)).items()}
