"""From the strings of a form to answers, and the bodies of requests."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import parse_qsl

from fastapi import Depends, HTTPException, Request
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, TypeAdapter
from pydantic import Field as Setting
from pydantic import ValidationError as Invalid

from dialens.studies import JSON, Answer, AnswerError, Field, Screen
from dialens.studies.instruments import instrument, validate
from dialens.studies.store import EVENT_KINDS, Event

_MOST_FIELDS = 1_000
_FORM = "application/x-www-form-urlencoded"
_OLDEST, _NEWEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


async def read_form(request: Request) -> dict[str, str]:
    """The fields of an HTML form; the first of those with one name."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, "A form was expected.")
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError as error:
        raise HTTPException(400, "The form could not be read.") from error
    made: dict[str, str] = {}
    for name, value in pairs:
        made.setdefault(name, value)
    return made


GivenForm = Annotated[dict[str, str], Depends(read_form)]


def input_name(field: str, part: str | None = None) -> str:
    """The name of an input on the page.

    Examples:
        >>> input_name("coherence-1"), input_name("best", "worst")
        ('a:coherence-1', 'a:best:worst')
    """
    return f"a:{field}" if part is None else f"a:{field}:{part}"


def raw_answer(field: Field, form: Mapping[str, str]) -> JSON:
    """What a form says of a field, before anything is checked; none if it says nothing.

    Examples:
        >>> asked = Field("sweet", "magnitude")
        >>> raw_answer(asked, {"a:sweet": "12"}), raw_answer(asked, {})
        ('12', None)
    """
    shown = instrument(field.instrument).form(field)
    if shown.control == "best_worst":
        parts = ["best", "worst"]
    elif shown.control == "order":
        parts = [choice.value for choice in shown.choices]
    else:
        return form.get(input_name(field.name))
    given = {part: form.get(input_name(field.name, part), "") for part in parts}
    if not any(given.values()):
        return None
    if shown.control == "best_worst":
        return {part: value for part, value in given.items() if value}
    return given


def form_fields(field: Field, value: JSON) -> dict[str, str]:
    """The inputs of a page with an answer entered: what `raw_answer` reads.

    Args:
        field: What is asked.
        value: The answer in its stored form, e.g. as an instrument's `simulate` gives it.

    Examples:
        >>> choices = [{"value": name, "label": name} for name in "ab"]
        >>> form_fields(Field("taste", "ranking", options={"choices": choices}), ["b", "a"])
        {'a:taste:b': '1', 'a:taste:a': '2'}
        >>> form_fields(Field("sweet", "magnitude"), 12.5)
        {'a:sweet': '12.5'}
    """
    if value is None:
        return {}
    if isinstance(value, dict):
        return {input_name(field.name, part): str(chosen) for part, chosen in value.items()}
    if isinstance(value, list):
        ranks = enumerate(value, start=1)
        return {input_name(field.name, str(thing)): str(rank) for rank, thing in ranks}
    return {input_name(field.name): str(value)}


def answers_of(
    screen: Screen, form: Mapping[str, str], *, overdue: bool
) -> tuple[Answer, dict[str, str]]:
    """The answers to a screen in their stored form, and what is wrong with the others, by field."""
    answers: Answer = {}
    wrong: dict[str, str] = {}
    for field in screen.fields:
        try:
            answers[field.name] = validate(field, raw_answer(field, form), overdue=overdue)
        except AnswerError as error:
            wrong[field.name] = error.message
    return answers, wrong


def _plausible(time: datetime) -> datetime:
    # A clock may be decades wrong; beyond that, differences leave the calendar.
    if not _OLDEST <= time <= _NEWEST:
        raise ValueError("the time is out of range")
    return time


_Time = Annotated[AwareDatetime, AfterValidator(_plausible)]


class PageEvent(BaseModel):
    """An event as the page's script sends it."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal[EVENT_KINDS]  # type: ignore[valid-type]
    at: _Time
    serial: int = Setting(ge=0, le=2**31 - 1)
    field: str | None = Setting(default=None, max_length=200)
    value: str | None = Setting(default=None, max_length=200)

    def event(self, page: str) -> Event:
        """The event as the store keeps it."""
        detail = {} if self.value is None else {"value": self.value}
        field = None if self.field is None else self.field.replace("\0", "")
        return Event(self.kind, self.at, page, self.serial, field, detail)


_EVENTS = TypeAdapter(Annotated[list[PageEvent], Setting(max_length=500)])
_TIME = TypeAdapter(_Time)


def events_of(form: Mapping[str, str], page: str) -> list[Event]:
    """The events that came with an answer; none if they cannot be read, for the answer counts."""
    try:
        return [one.event(page) for one in _EVENTS.validate_json(form.get("events") or "[]")]
    except Invalid:
        return []


def time_of(form: Mapping[str, str], name: str) -> datetime | None:
    """A time by the client's clock; none if the page has no script or no sensible clock.

    Examples:
        >>> time_of({"shown_at": "2026-01-01T10:00:00Z"}, "shown_at").isoformat()
        '2026-01-01T10:00:00+00:00'
        >>> time_of({}, "shown_at") is None
        True
    """
    try:
        return _TIME.validate_python(form.get(name) or None)
    except Invalid:
        return None
