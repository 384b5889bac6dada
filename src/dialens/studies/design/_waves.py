"""Waves: further parts of a study, for which those who completed the part before come back."""

from typing import Annotated, Literal, Self

from pydantic import Field as Setting
from pydantic import model_validator

from dialens.studies._words import WORDS
from dialens.studies.design._items import Section, misplaced

Part = Literal[
    "consent", "screening", "questions_before", "instructions", "practice", "questions_after"
]
"""What a first participation has around its ratings."""


class Wave(Section):
    """A part for which participants come back."""

    after_hours: float = Setting(ge=0, le=87_600)
    """From when on: hours since the participant completed the part before."""
    within_hours: float | None = Setting(default=None, gt=0, le=87_600)
    """Until when: hours since then; without an end if not given."""
    items: Literal["same", "new"]
    """`same`: what was judged the last time, in another order; `new`: items that the participant
    has not seen."""
    again: list[Part] = Setting(default_factory=list)
    """What is shown and asked again; nothing but the ratings if empty."""
    text: Annotated[str | None, WORDS] = None
    """What is read before the first rating; a plain sentence in the study's language, if not
    given."""

    @model_validator(mode="after")
    def _has_time(self) -> Self:
        if self.within_hours is not None and self.within_hours <= self.after_hours:
            raise misplaced(
                "within_hours",
                f"{self.within_hours:g} is no later than after_hours ({self.after_hours:g}): both "
                "are counted from the end of the part before, so nobody could come back in time",
            )
        return self


def wave_problem(
    waves: dict[str, Wave], coded: dict[str, object], recruiter: str, *, sampled: bool
) -> tuple[str, str] | None:
    """Where waves do not go together with the rest of a study, and why not.

    Args:
        waves: By name.
        coded: Completion codes, by the wave they are for.
        recruiter: Its kind.
        sampled: Whether participants judge items of their own out of more.
    """
    if waves and recruiter == "kiosk":
        return "waves", (
            "on a computer that many people use nobody is known again: invite people by personal "
            "links, `recruiter: {kind: personal}`"
        )
    for name in coded:
        if name not in waves:
            known = ", ".join(waves) or "none"
            return f"completion.waves.{name}", f"there is no such wave. Waves: {known}."
    for name, wave in waves.items():
        if wave.items == "new" and not sampled:
            return (
                f"waves.{name}.items",
                "new items need more than a participant sees at once: set items.sample, with "
                "`by: participant`, or say `same`",
            )
    return None
