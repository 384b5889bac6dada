"""Who takes a study: people, simulated participants, or any program that implements `Rater`.

A rater is shown screens, one after the other, and says for each what it answers and how long that
took, or that it leaves. People do so in a browser (`dialens.web`); everybody else implements
`Rater` and takes part in process (`take_part`) or over HTTP (`simulate_over_http`). `kind` goes
onto every row of the data (`rater_kind`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from dialens.studies._types import JSON, Answer, Field, Screen

HUMAN, LLM, SIMULATED = "human", "llm", "simulated"

RATER_HEADER = "x-dialens-rater"
"""HTTP header by which a program that has the researcher's password says that it is no human."""


@dataclass(frozen=True)
class RaterReply:
    """What a rater gives on one screen.

    Attributes:
        answers: Values by field, as JSON or as somebody would type them; none for those left out.
        seconds: From the moment the screen came up to its submission.
        away_s: How much of it the rater looked elsewhere, so that the page was hidden.
        overdue: Whether the screen's deadline ran out, so that nothing has to be answered.

    Examples:
        >>> RaterReply({"coherence-1": 80.0}, seconds=7.5).away_s
        0.0
    """

    answers: Answer
    seconds: float
    away_s: float = 0.0
    overdue: bool = False


class Rater(Protocol):
    """Somebody who can take a study.

    Implementations get screens as `seen` gives them: nothing in them that a participant would not
    see. The same screen may be asked for again after an interruption; a rater that answers it the
    same way makes interruptions invisible.
    """

    @property
    def kind(self) -> str:
        """`human`, `llm` or `simulated`."""

    @property
    def name(self) -> str:
        """By which the rater is known again, like a worker's id; kept encrypted."""

    def reply(self, screen: Screen) -> RaterReply | None:
        """What the rater does with a screen; none if it leaves for good."""

    def returns(self, wave: int) -> "Rater | None":
        """The rater at the beginning of a later wave; none if it does not come back."""


def seen(screen: Screen) -> Screen:
    """A screen without anything a participant does not see: who wrote what, what is expected.

    Slots stay as the keys of `targets`, since an instrument has to know what it asks about.

    Examples:
        >>> asked = Field("q-1", "likert", item="c1", response="gpt", targets={"1": {"agent": "x"}})
        >>> shown = seen(Screen("rate-1", "rating", "Tea", fields=(asked,), state={"order": 0}))
        >>> shown.fields[0].targets, shown.fields[0].response, dict(shown.state)
        ({'1': {}}, None, {})
    """
    return replace(screen, fields=tuple(_seen(field) for field in screen.fields), state={})


def _seen(field: Field) -> Field:
    nothing: Mapping[str, JSON] = {}
    slots = dict.fromkeys(field.targets, nothing)
    return replace(field, item=None, response=None, targets=slots, expected=None)
