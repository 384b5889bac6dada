"""What participants read that is not part of a study's own words, by language."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from dialens.base import DialensError, did_you_mean

LANGUAGES: dict[str, str] = {"en": "English"}
"""Languages that come with the program: code, and what the language calls itself."""

_RIGHT_TO_LEFT = frozenset({"ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"})


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
            DialensError: A key is not one of the catalogue's.
        """
        shipped = _catalogue("en") | _catalogue(_nearest(language))
        for key in own:
            if key not in shipped:
                raise DialensError(f"There is no text {key!r}. {did_you_mean(key, shipped)}")
        return cls(language, shipped | dict(own))

    @property
    def direction(self) -> str:
        """``ltr`` or ``rtl``."""
        return "rtl" if self.language.partition("-")[0] in _RIGHT_TO_LEFT else "ltr"

    def say(self, key: str, **values: object) -> str:
        """Return a text; ``{name}`` in it stands for a value."""
        return self.texts[key].format_map(values)


def _nearest(language: str) -> str:
    return language if language in LANGUAGES else language.partition("-")[0]


@cache
def _catalogue(language: str) -> dict[str, str]:
    from ruamel.yaml import YAML

    if language not in LANGUAGES:
        return {}
    text = (files("dialens.studies.texts") / f"{language}.yaml").read_text("utf-8")
    return {str(key): str(said) for key, said in YAML(typ="safe").load(text).items()}
