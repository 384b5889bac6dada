"""Requests that are refused, in words that participants read in their language."""

from collections.abc import Mapping

from starlette.exceptions import HTTPException

from dialens.studies.texts import Texts


class Refusal(HTTPException):
    """A refusal that has a text; programs read it in English.

    Examples:
        >>> refused = Refusal(403, "not_yours")
        >>> refused.detail, refused.said(Texts.of("de"))
        ('This form is not yours or out of date.', 'Dieses Formular ist nicht Ihres oder veraltet.')
    """

    def __init__(
        self, status: int, key: str, headers: Mapping[str, str] | None = None, **values: object
    ) -> None:
        super().__init__(status, Texts.of("en").say(key, **values), dict(headers or {}) or None)
        self._key = key
        self._values = values

    def said(self, texts: Texts) -> str:
        """What a participant reads."""
        return texts.say(self._key, **self._values)
