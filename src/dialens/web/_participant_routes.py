"""The addresses that participants use, and what they read when there is nothing to do there."""

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from dialens.base import DialensError
from dialens.studies import NO_CONSENT
from dialens.studies.store import Blocked, SessionOver, StudyFull, UnknownSession
from dialens.web._arrival import NotRecruited, WrongDevice
from dialens.web._chat import chat_routes
from dialens.web._coming_back import WAVE
from dialens.web._early import FULL, early_page, why_over
from dialens.web._entrance import Entrance
from dialens.web._forms import SentAnswer, SentEvents, SentForm, onward, wants_json
from dialens.web._leaving import leaving_routes
from dialens.web._participant import Participation
from dialens.web._site import Site
from dialens.web._versions import Versions

_ADVICE = {"full": "advice_full", "paused": "advice_paused", "closed": "advice_full"}
"""What somebody can do who is not let in, by the reason: keys of the catalogue."""


def _sorry(
    request: Request, site: Site, title: str, message: str, error: DialensError, reason: str
) -> Response:
    """Say that there is nothing to do here: a page, or why in a word; `title` is a text's key."""
    if wants_json(request):
        return JSONResponse({"detail": str(error), "reason": reason}, 409)
    pages = site.pages_for(request)
    return pages.sorry(pages.texts.say(title), message, advice=_ADVICE.get(reason, ""))


def _not_recruited(request: Request, site: Site, error: NotRecruited) -> Response:
    if wants_json(request):
        raise HTTPException(403, str(error)) from error
    pages = site.pages_for(request)
    return pages.sorry(pages.texts.say("recruit_title"), error.said(pages.texts), 403)


def _wrong_device(request: Request, site: Site, error: WrongDevice) -> Response:
    return _sorry(request, site, "wrong_device_title", str(error), error, "device")


def _no_place(request: Request, site: Site, error: StudyFull) -> Response:
    said, reason = site.pages_for(request).texts.say(error.reason), error.reason
    return _sorry(request, site, f"{reason}_title", said, error, reason)


def participant_routes(site: Site) -> APIRouter:
    """The addresses that participants use."""
    router = APIRouter(include_in_schema=False)
    entrance, versions = Entrance(site), Versions(site, Participation)
    router.include_router(leaving_routes(versions.of))
    if versions.any_chats:
        router.include_router(chat_routes(versions.chats))

    @router.get("/")
    def arrive(request: Request) -> Response:
        try:
            return entrance.arrive(request)
        except NotRecruited as error:
            return _not_recruited(request, site, error)
        except WrongDevice as error:
            return _wrong_device(request, site, error)
        except StudyFull as error:
            return _no_place(request, site, error)

    @router.post("/begin")
    def begin(request: Request, form: SentForm) -> Response:
        try:
            return entrance.begin(request, form)
        except NotRecruited as error:
            return _not_recruited(request, site, error)
        except WrongDevice as error:
            return _wrong_device(request, site, error)
        except StudyFull as error:
            return _no_place(request, site, error)
        except Blocked as error:
            said = site.pages_for(request).texts.say(error.key)
            return _sorry(request, site, "blocked_title", said, error, "blocked")
        except SessionOver as error:
            said = why_over(site.pages_for(request).texts, error)
            return _sorry(request, site, "blocked_title", said, error, "blocked")

    @router.get("/study")
    def current(request: Request) -> Response:
        try:
            return versions.of(request).current(request)
        except WrongDevice as error:
            return _wrong_device(request, site, error)
        except SessionOver as error:
            said = why_over(site.pages_for(request).texts, error)
            return _sorry(request, site, "over_title", said, error, error.state)

    @router.get(WAVE)
    def wave(request: Request) -> Response:
        try:
            return versions.of(request).coming_back(request)
        except SessionOver:  # the page says so
            return onward(request, "/study")

    @router.post("/study")
    async def answer(request: Request, sent: SentAnswer) -> Response:
        try:
            return await (await versions.find(request)).answer(request, sent)
        except SessionOver:  # the page says so
            return onward(request, "/study")

    @router.post("/events")
    def events(request: Request, sent: SentEvents) -> Response:
        try:
            return versions.of(request).log(request, sent)
        except UnknownSession as error:
            raise HTTPException(403, str(error)) from error

    @router.get("/declined")
    def declined(request: Request) -> Response:
        return early_page(request, site, NO_CONSENT, deleted=True)

    @router.get("/full")
    def full(request: Request) -> Response:
        return early_page(request, site, FULL, deleted=True)

    return router
