"""A study screen by screen, as participants of a cell see it; nothing is recorded.

The page shows a list of the screens and, in a frame, the participant's own page: made by the same
templates, with the same scripts, and answered under the same rules. Researchers see it in the
dashboard, authors of a study by `dialens study preview`.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response

from dialens.studies import (
    FAILED_COMPREHENSION,
    JSON,
    NO_CONSENT,
    SCREENED_OUT,
    Answer,
    Exchange,
    Screen,
    Study,
    filled,
    talk_at,
    talk_names,
    talk_of,
)
from dialens.studies.plan import consent_answers, verdict
from dialens.studies.recruiters import PROLIFIC_DONE
from dialens.studies.simulation import example
from dialens.studies.texts import Texts
from dialens.web._arrival import Arrival
from dialens.web._chat_state import chat_state
from dialens.web._early import early_words
from dialens.web._ending import end_page
from dialens.web._forms import ScreenAnswer, SentAnswer, answers_of, onward, wants_json
from dialens.web._guard import security_headers
from dialens.web._pages import Pages, Templates, arrange
from dialens.web._site import Site

WELCOME = "welcome"
"""Stands for the page before the first screen."""

_CODE = "PREVIEW"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)  # examples of conversations have no time
_GRACE_S = 0.25
_EARLY = (NO_CONSENT, SCREENED_OUT, FAILED_COMPREHENSION)


@dataclass(frozen=True)
class PreviewPlace:
    """Which screen of whom.

    Attributes:
        cell: The participant's condition.
        seed: The participant's own.
        screen: The id of the screen; `welcome` for the page before the first, or how a
            participation ends early. Of what is not there, the first is shown.
        language: One of the study's languages; its own if empty.
        wave: The part of the study, from 1.
    """

    cell: str
    seed: int
    screen: str
    language: str = ""
    wave: int = 1

    def address(self, home: str) -> str:
        """Where the screen is shown."""
        query = {"cell": self.cell, "seed": str(self.seed), "screen": self.screen}
        if self.language:
            query["language"] = self.language
        if self.wave > 1:
            query["wave"] = str(self.wave)
        return f"{home}/screen?{urlencode(query)}"


def _place(
    cell: Annotated[str, Query(max_length=500)],
    seed: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    screen: Annotated[str, Query(max_length=200)] = WELCOME,
    language: Annotated[str, Query(max_length=35)] = "",
    wave: Annotated[int, Query(ge=1, le=100)] = 1,
) -> PreviewPlace:
    return PreviewPlace(cell, seed, screen, language, wave)


_Place = Annotated[PreviewPlace, Depends(_place)]


def preview_routes(
    home: str,
    site: Callable[[], Site],
    allowed: Callable[..., Any],
    *,
    editable: bool,
    root: str = "",
) -> APIRouter:
    """The page of a preview and the screens in it.

    Args:
        home: Address of the page; everything else is below it.
        site: Gives what is previewed.
        allowed: Dependency that refuses those who may not look.
        editable: Whether the study file is watched and can be edited there.
        root: The path that all addresses begin with.
    """
    shell = Templates(Texts.of("en"), root=root)
    router = APIRouter(prefix=home, include_in_schema=False, dependencies=[Depends(allowed)])

    @router.get("")
    def page() -> Response:
        return _framing(shell.page("study_preview", home=root + home, editable=editable))

    @router.get("/outline")
    def seen(place: _Place) -> Response:
        return JSONResponse(outline(site(), place))

    @router.get("/screen")
    def screen(place: _Place) -> Response:
        return _framing(screen_page(site(), place, home))

    @router.post("/screen")
    def answer(request: Request, place: _Place, sent: SentAnswer) -> Response:
        return _framing(_answered(request, site(), place, home, sent))

    return router


def _framing(response: Response) -> Response:
    response.headers.update(security_headers(within=True))
    return response


def cell_or_first(study: Study, cell: str) -> str:
    """A cell by name; the first if it is not there (any more), as after a change of the file."""
    return cell if cell in study.targets else study.cells[0].name


def _screens(site: Site, place: PreviewPlace) -> tuple[Screen, ...]:
    wave = min(place.wave, 1 + len(site.study.design.waves))
    return site.planner.screens(place.cell, place.seed, place.language or None, wave)


def _pages(site: Site, place: PreviewPlace) -> Pages:
    return site.pages_in(place.language)


def _study(site: Site, place: PreviewPlace) -> Study:
    return site.study.said_in(place.language)


def outline(site: Site, place: PreviewPlace) -> dict[str, JSON]:
    """The cells and languages of a study, and the screens of one of its participants.

    Args:
        site: Of the study.
        place: Whose screens; of the first cell, if the one that is named is not there (any more).
    """
    study = site.study
    waves = ["first", *study.design.waves]
    known = cell_or_first(study, place.cell)
    place = replace(place, cell=known, wave=min(place.wave, len(waves)))
    title = _study(site, place).design.title
    welcome = {"id": WELCOME, "kind": WELCOME, "label": title, "mark": ""}
    return {
        "title": title,
        "cells": [cell.name for cell in study.cells],
        "languages": list(study.languages),
        "waves": waves,
        "wave": place.wave,
        "cell": place.cell,
        "screens": [welcome, *(_entry(screen) for screen in _screens(site, place))],
    }


def _entry(screen: Screen) -> dict[str, str]:
    """A screen in the list: what it is about, and whether it counts."""
    item = screen.state.get("item")
    gold = screen.kind == "check" and item is not None
    marks = {"check": "gold" if gold else "attention", "practice": "practice"}
    label = str(item or screen.title)
    if talk_of(screen) is not None:
        label = screen.id  # all of a conversation's screens are about one item
    if screen.kind == "check" and not gold:
        label = screen.fields[0].name if screen.fields else screen.title
    asked = list(dict.fromkeys(str(field.quality) for field in screen.fields if field.quality))
    if asked and screen.id.endswith(tuple(f"-{quality}" for quality in asked)):
        label += f": {', '.join(asked)}"
    return {
        "id": screen.id,
        "kind": screen.kind,
        "label": label,
        "mark": marks.get(screen.kind, ""),
    }


def _found(site: Site, place: PreviewPlace) -> tuple[tuple[Screen, ...], int]:
    """All screens of a participant and the index of one.

    It is −1 for the page before the first, which also stands for a screen that is not there.
    """
    place = replace(place, cell=cell_or_first(site.study, place.cell))
    screens = _screens(site, place)
    found = (index for index, screen in enumerate(screens) if screen.id == place.screen)
    return screens, next(found, -1)


def screen_page(
    site: Site,
    place: PreviewPlace,
    home: str,
    form: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
) -> Response:
    """A screen as participants see it.

    Args:
        site: Of the study.
        place: Which screen.
        home: Address of the preview, below the root path.
        form: What was entered before, by input.
        errors: What was wrong with it, by field.
    """
    if place.screen in _EARLY:
        return _early(site, place)
    screens, index = _found(site, place)
    action, pages, study = site.root + place.address(home), _pages(site, place), _study(site, place)
    if index < 0:
        return pages.page(
            "welcome",
            ticket="",
            minutes=site.minutes,
            framed=False,
            here="",
            languages={},
            preview=action,
        )
    screen = with_example(study, screens[index])
    if index == len(screens) - 1:
        came = Arrival(site.study.design.recruiter.kind)
        return end_page(site, pages, screen, site.code() or _CODE, came)
    talks = study.design.conversations
    chat = None
    if talks is not None and screen.kind == "chat":
        said = _example(study, screen)
        chat = chat_state(screens[index], talk_at(screen, talks), said, _NOW, pages.texts)
    return pages.page(
        "chat" if screen.kind == "chat" else "screen",
        422 if errors else 200,
        screen=screen,
        chat=chat,
        settings=talks,
        shown=arrange(screen, form, errors, texts=pages.texts, earlier=screens[:index]),
        index=index,
        total=len(screens) - 1,
        left=screen.deadline_s,
        ticket="",
        key=secrets.token_urlsafe(16),
        given="",
        error="",
        preview=action,
    )


def _answered(
    request: Request, site: Site, place: PreviewPlace, home: str, sent: ScreenAnswer
) -> Response:
    """Check an answer as a participant's is checked, and go on to the next screen."""
    screens, index = _found(site, place)
    skip = 0
    if index >= 0:
        if sent.entered.get("consent") == "no" and screens[index].kind == "consent":
            return onward(request, replace(place, screen=NO_CONSENT).address(home))
        answers, errors = _checked(site, place, screens[index], sent)
        if errors and wants_json(request):
            return JSONResponse({"errors": errors}, 422)
        if errors:
            return screen_page(site, place, home, dict(sent.form), errors)
        follows = verdict(site.study.design, screens, index, answers)
        if follows.outcome is not None:
            return onward(request, replace(place, screen=follows.outcome).address(home))
        skip = follows.skip
    following = screens[min(index + 1 + skip, len(screens) - 1)].id
    return onward(request, replace(place, screen=following).address(home))


def _checked(
    site: Site, place: PreviewPlace, screen: Screen, sent: ScreenAnswer
) -> tuple[Answer, dict[str, str]]:
    """The answers to a screen, and what is wrong with them, by field."""
    texts = _pages(site, place).texts
    answers, errors = answers_of(screen, sent.entered, texts, overdue=_overdue(screen, sent))
    if screen.kind == "consent":
        answers, unticked = consent_answers(screen, answers, texts)
        errors |= unticked
    return answers, errors


def _early(site: Site, place: PreviewPlace) -> Response:
    """How a participation ends for those who do not go on."""
    title, text = early_words(_study(site, place), place.screen, deleted=False)
    code, recruiter = site.code(place.screen), site.study.design.recruiter.kind
    back = f"{PROLIFIC_DONE}?cc={code}" if recruiter == "prolific" and code else None
    return _pages(site, place).page(
        "early", title=title, text=text, code=code, recruiter=recruiter, back=back
    )


def _overdue(screen: Screen, sent: ScreenAnswer) -> bool:
    if screen.deadline_s is None or sent.shown_at is None or sent.submitted_at is None:
        return False
    spent = (sent.submitted_at - sent.shown_at).total_seconds()
    return spent >= screen.deadline_s - _GRACE_S


def _example(study: Study, screen: Screen) -> tuple[Exchange, ...]:
    """A conversation that nobody has had, for screens about one."""
    talks, names = study.design.conversations, talk_names(screen)
    return () if talks is None or not names else example(talks, names)


def with_example(study: Study, screen: Screen) -> Screen:
    """A screen as participants may see it, with an example of what they cannot have said yet."""
    return filled(screen, _example(study, screen))
