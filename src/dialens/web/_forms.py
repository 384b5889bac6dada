"""What participants send, as forms or as JSON, and where they are led next."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, TypeAdapter
from pydantic import Field as Setting
from pydantic import ValidationError as Invalid

from dialens.studies import JSON, Answer, AnswerError, Paradata, Screen
from dialens.studies.instruments import validate
from dialens.studies.store import EVENT_KINDS, Event
from dialens.studies.texts import Texts
from dialens.web._refusal import Refusal

_MOST_FIELDS = 1_000
_FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
_MARK = "a"
_NAME = r"^[A-Za-z0-9_.:-]{1,64}$"
_OLDEST, _NEWEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def wants_json(request: Request) -> bool:
    """Whether a program asks, the page's script among them, rather than a browser by itself."""
    return "application/json" in request.headers.get("accept", "")


def onward(request: Request, path: str) -> Response:
    """Lead on to an address of the study, as a redirect or as `{"next": address}`."""
    to = request.scope.get("root_path", "") + path
    return JSONResponse({"next": to}) if wants_json(request) else RedirectResponse(to, 303)


async def read_form(request: Request) -> dict[str, str]:
    """The fields of an HTML form; the first of those with one name."""
    if _content_type(request) != _FORM:
        raise Refusal(415, "unreadable")
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError as error:
        raise Refusal(400, "unreadable") from error
    fields: dict[str, str] = {}
    for name, value in pairs:
        fields.setdefault(name, value)
    return fields


SentForm = Annotated[dict[str, str], Depends(read_form)]


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def input_name(field: str, part: str | None = None) -> str:
    """The name of an input on the page.

    Examples:
        >>> input_name("coherence-1"), input_name("best", "worst")
        ('a:coherence-1', 'a:best:worst')
    """
    return f"{_MARK}:{field}" if part is None else f"{_MARK}:{field}:{part}"


def answers_of(
    screen: Screen, entered: Mapping[str, JSON], texts: Texts, *, overdue: bool
) -> tuple[Answer, dict[str, str]]:
    """Validate what was entered on a screen.

    Returns:
        The answers in their stored form, and what is wrong with the others, by field.
    """
    answers: Answer = {}
    errors: dict[str, str] = {}
    for field in screen.fields:
        value = entered.get(field.name)
        if isinstance(value, dict) and all(part == "" for part in value.values()):
            value = None
        try:
            answers[field.name] = validate(field, value, overdue=overdue)
        except AnswerError as error:
            errors[field.name] = error.said(texts)
    return answers, errors


def entered_in(form: Mapping[str, str]) -> Answer:
    """What a form says of each field, before anything is checked.

    Examples:
        >>> entered_in({"a:sweet": "12", "a:taste:x": "1", "a:taste:y": "2", "ticket": "t"})
        {'sweet': '12', 'taste': {'x': '1', 'y': '2'}}
    """
    entered: Answer = {}
    for name, value in form.items():
        mark, _, rest = name.partition(":")
        field, colon, part = rest.partition(":")
        if mark != _MARK:
            continue
        if not colon:
            entered.setdefault(field, value)
        elif isinstance(parts := entered.setdefault(field, {}), dict):
            parts[part] = value
    return entered


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


class SentEvents(BaseModel):
    """What a page sends between submissions."""

    model_config = ConfigDict(extra="forbid")

    ticket: str = Setting(max_length=100)
    page: Annotated[str, Setting(pattern=_NAME)]
    screen: Annotated[str, Setting(max_length=200)]
    events: list[PageEvent] = Setting(default_factory=list, max_length=500)


_EVENTS = TypeAdapter(Annotated[list[PageEvent], Setting(max_length=500)])
_TIME = TypeAdapter(_Time)


class _AnswerBody(BaseModel):
    """The answer to a screen as a program sends it, the page's script among them."""

    model_config = ConfigDict(extra="forbid")

    ticket: str
    screen: str
    index: int
    answers: Answer
    key: str = ""
    shown_at: JSON = None
    submitted_at: JSON = None
    events: JSON = None
    paradata: JSON = None


@dataclass(frozen=True)
class ScreenAnswer:
    """What was sent in answer to a screen, as a form or as JSON; nothing of it is checked yet.

    Attributes:
        ticket: Shows that it comes from a page of ours.
        screen: The id of the screen.
        index: Its place in the session, as text.
        key: The same when the same answer is sent again.
        entered: By field.
        shown_at: When the screen came up; none if the client does not say.
        submitted_at: When it was submitted, by the same clock.
        events: What happened on the page; none if they cannot be read, for the answer counts.
        form: The inputs of a form as they were filled in, to be shown again.
        paradata: How the screen was answered; none if the client does not say, or nonsense.
    """

    ticket: str
    screen: str
    index: str
    key: str
    entered: Mapping[str, JSON]
    shown_at: datetime | None
    submitted_at: datetime | None
    events: Sequence[Event]
    form: Mapping[str, str]
    paradata: Paradata | None = None


async def read_answer(request: Request) -> ScreenAnswer:
    """The answer to a screen: a form from a browser without scripts, JSON from programs."""
    form: dict[str, str] = {}
    if _content_type(request) == _JSON:
        try:
            body = _AnswerBody.model_validate_json(await request.body())
        except Invalid as error:
            raise Refusal(400, "unreadable") from error
    else:
        form = await read_form(request)
        body = _AnswerBody.model_construct(
            ticket=form.get("ticket", ""),
            screen=form.get("screen", ""),
            index=form.get("index", ""),
            answers=entered_in(form),
            key=form.get("key", ""),
            shown_at=form.get("shown_at"),
            submitted_at=form.get("submitted_at"),
            events=_json(form.get("events", "")),
            paradata=None,
        )
    key = body.key or secrets.token_urlsafe(16)
    try:
        seen = [event.event(key) for event in _EVENTS.validate_python(body.events or [])]
    except Invalid:
        seen = []
    return ScreenAnswer(
        body.ticket,
        body.screen,
        str(body.index),
        key,
        body.answers,
        _time(body.shown_at),
        _time(body.submitted_at),
        seen,
        form,
        _paradata(body.paradata),
    )


SentAnswer = Annotated[ScreenAnswer, Depends(read_answer)]


def _json(text: str) -> JSON:
    try:
        return json.loads(text or "[]")
    except (ValueError, RecursionError):
        return None


def _paradata(value: JSON) -> Paradata | None:
    try:
        return None if value is None else Paradata.model_validate(value)
    except Invalid:
        return None


def _time(value: JSON) -> datetime | None:
    """A time by the client's clock; none if it has no script or no sensible clock."""
    try:
        return _TIME.validate_python(value or None)
    except Invalid:
        return None
