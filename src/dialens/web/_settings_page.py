"""How the study is run, changed on the dashboard while people take part; every change is listed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response

from dialens.base import DialensError
from dialens.studies import JSON, Study, operation_values, settings_from
from dialens.studies.store import IS_CHANGE, ExportLog, KnownExport
from dialens.web._cookies import Login
from dialens.web._desk import Desk
from dialens.web._forms import SentForm
from dialens.web._login import HOME

TARGETS, ANNOTATORS = "targets", "items.lists.annotators"
_USUAL = "If empty, the usual words in the participant’s language."
_MOST_CHANGES = 200


@dataclass(frozen=True)
class SettingField:
    """A setting on the page.

    Attributes:
        name: As `study operate` takes it: `limits.idle_minutes`.
        label: What it is.
        help: What changes with it; empty if the label says it all.
        value: As it holds now, as text.
        kind: Of the value: `int`, `float` or `str`.
        long: Whether it may have several lines.
    """

    name: str
    label: str
    help: str
    value: str
    kind: type[int] | type[float] | type[str]
    long: bool = False


_LIMITS = (
    (
        "limits.idle_minutes",
        "Minutes without a sign of life",
        "Then the place is given to somebody else.",
    ),
    (
        "limits.session_minutes",
        "Minutes for the whole session",
        "From the first screen to the last.",
    ),
)
_UNTIL = "So long after somebody was there last (90 days), or until a day (2027-12-31)"
_TERMS = (
    ("retention.worker_ids", "Keep worker ids", f"{_UNTIL}; for ever if empty."),
    ("retention.answers", "Keep answers", f"{_UNTIL}, then everything about a person goes."),
)
_WORDS = (
    ("completion.title", "Heading of the last page", False),
    ("completion.message", "Closing words", True),
)


def settings_routes(desk: Desk) -> APIRouter:
    """The addresses of settings and changes."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    LoggedIn = Annotated[Login, Depends(desk.logged_in)]

    @router.get("/settings")
    def settings(login: LoggedIn, *, saved: bool = False) -> Response:
        return _page(desk, login, saved=saved)

    @router.post("/settings")
    def change(login: LoggedIn, form: SentForm) -> Response:
        desk.check(form, login)
        try:
            entries = changed(desk.site.running.now(), form)
            if entries:
                made = settings_from(entries)
                desk.operating(login).operate(desk.site.study.hash, made, now=desk.now())
        except DialensError as error:
            return _page(desk, login, form=form, sorry=str(error))
        return RedirectResponse(f"{desk.home}/settings?saved={str(bool(entries)).lower()}", 303)

    return router


def setting_fields(study: Study) -> tuple[SettingField, ...]:
    """The settings that the page offers, as they hold now; targets apart from these."""
    values = {".".join(place): value for place, value in operation_values(study.design).items()}
    made: list[SettingField] = []
    if _has_lists(study):
        help_ = "Of every list of items."
        made.append(
            SettingField(
                ANNOTATORS, "People wanted for each list", help_, _text(values[ANNOTATORS]), int
            )
        )
    reward = f"In {study.design.recruiter.currency}, for the whole session."
    made.append(
        SettingField("recruiter.reward", "Reward", reward, _text(values["recruiter.reward"]), float)
    )
    made += [
        SettingField(name, label, help_, _text(values[name]), float)
        for name, label, help_ in _LIMITS
    ]
    made += [
        SettingField(name, label, help_, _text(values.get(name)), str)
        for name, label, help_ in _TERMS
    ]
    made += [
        SettingField(name, label, _USUAL, _text(values[name]), str, long)
        for name, label, long in _WORDS
    ]
    return tuple(made)


def changed(study: Study, form: Mapping[str, str]) -> dict[str, JSON]:
    """What a form says otherwise than the study is run, by dotted name.

    Raises:
        DialensError: A number is none, or one for every cell is given beside others.
    """
    entries: dict[str, JSON] = {}
    for field in setting_fields(study):
        text = _lines(form.get(field.name, field.value))
        if text != _lines(field.value):
            entries[field.name] = _value(field.label, text, field.kind)
    every = form.get(TARGETS, "").strip()
    cells: dict[str, JSON] = {}
    for cell, target in study.targets.items():
        text = form.get(f"{TARGETS}.{cell}", str(target)).strip()
        if text != str(target):
            cells[f"{TARGETS}.{cell}"] = _value(f"People wanted in {cell}", text, int)
    if every and cells:
        raise DialensError(
            "Give one number for every cell, or numbers for some cells, not both at once."
        )
    if every:
        entries[TARGETS] = _value("People wanted in every cell", every, int)
    return entries | cells


def _page(
    desk: Desk,
    login: Login,
    *,
    form: Mapping[str, str] | None = None,
    sorry: str = "",
    saved: bool = False,
) -> Response:
    study = desk.site.running.now()
    log = desk.records.changes_frame(desk.site.study.hash).reverse()
    changes, visits = log.filter(IS_CHANGE), log.filter(~IS_CHANGE)
    return desk.page(
        "settings",
        login,
        409 if sorry else 200,
        fields=setting_fields(study),
        targets={} if _has_lists(study) else study.targets,
        given=form or {},
        changes=changes.head(_MOST_CHANGES).to_dicts(),
        visits=visits.head(_MOST_CHANGES).to_dicts(),
        recalled=_recalled(desk),
        sorry=sorry,
        saved=saved,
    )


def _recalled(desk: Desk) -> list[KnownExport]:
    """Exports of this study that still hold people who were deleted."""
    log = ExportLog(desk.site.store.database, "dashboard")
    return [one for one in log.recalled() if one.study == desk.site.study.name]


def _has_lists(study: Study) -> bool:
    return study.design.items.lists is not None


def _value(label: str, text: str, kind: type[int] | type[float] | type[str]) -> JSON:
    if kind is str:
        return text or None
    try:
        return kind(text.strip().replace(",", ".") if kind is float else text.strip())
    except ValueError as error:
        want = "a whole number" if kind is int else "a number"
        raise DialensError(f"{label}: has to be {want}; seen: {text!r}.") from error


def _text(value: JSON) -> str:
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return "" if value is None else str(value)


def _lines(text: str) -> str:
    """Text with the line ends of a study file: browsers send others."""
    return text.replace("\r\n", "\n").strip()
