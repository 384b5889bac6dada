"""The part of a study file that says how ratings are presented, where it is not a factor."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator
from pydantic import Field as Setting

from dialens.studies._words import WORDS
from dialens.studies.design._items import Section, as_word

_Order = Annotated[Literal["random", "latin_square", "fixed"], BeforeValidator(as_word)]

_OrderOfResponses = Annotated[
    Literal["random", "latin_square", "fixed", "swap"], BeforeValidator(as_word)
]


def _devices(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Device = Literal["desktop", "tablet", "phone"]
_Devices = Annotated[
    list[_Device], BeforeValidator(_devices, json_schema_input_type=_Device | list[_Device])
]


class Presentation(Section):
    """How ratings are presented, where it is not a factor."""

    anchor: Annotated[Literal["none", "numerical", "textual", "both"], BeforeValidator(as_word)] = (
        "none"
    )
    """What is shown of the standard: nothing, its number, its text, or both."""
    anchor_value: float | dict[str, float | None] | None = None
    """The number that is shown: one, or one for each quality (null for none), or for each level of
    the factor `scale`; the modulus of magnitude estimation if not given. Only qualities that are
    answered with a number have one. A factor `anchor_value` varies it."""
    anchor_repeated: bool = False
    """Whether the number also stands below each question that it is about. Each time it is read it
    may pull again: the pull is then that of several looks, not of one."""
    standard_label: Annotated[str | None, WORDS] = None
    """What the standard is called; “Standard response” in the study's language if not given."""
    layout: Annotated[Literal["together", "separate", "single"], BeforeValidator(as_word)] = (
        "together"
    )
    """All questions on one screen, one quality a screen, or one rating a screen."""
    order: _Order = "random"
    """Of the items."""
    responses: _OrderOfResponses = "latin_square"
    """Of the responses on the screen. `swap`: every item comes twice, once all the others have
    been seen, with its responses in the opposite order."""
    qualities: _Order = "fixed"
    """Of the qualities."""
    deadline: float | None = Setting(default=None, gt=0)
    """Seconds for a rating screen."""
    render: Annotated[Literal["plain", "markdown"], BeforeValidator(as_word)] = "plain"
    """Whether what was said is shown as it was written, or Markdown in it as what it means."""
    response_label: Annotated[str | None, WORDS] = None
    """What responses are called: “Response” in the study's language if not given, and a number."""
    devices: _Devices = Setting(default=["desktop", "tablet", "phone"], min_length=1)
    """On which devices one may take part: desktop, tablet, phone, or a list of these."""
    theme: Literal["light", "dark"] | None = None
    """Colours of the pages for everybody; what the participant's device prefers if not given."""
    sticky: Literal["context", "standard"] | None = None
    """What stays in view while participants scroll: the conversation, or the standard."""
