"""The pages of participants: arrive, begin, answer screen after screen, get the code.

Nothing happens by looking: a session begins, and answers are stored, by sending a form. After each
the browser is sent to `/study`, which shows the screen where the participant is, so that reload,
back button, second tab and a server that was restarted all lead to the same place.
"""

import secrets
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Setting

from dialens.corpus import RATER_KINDS
from dialens.studies import Answer, Screen, filled, is_absent, talk_of
from dialens.studies.store import (
    Blocked,
    Session,
    SessionOver,
    StudyFull,
    Submission,
    UnknownSession,
    Waiting,
)
from dialens.web._access import bearer_is_researcher
from dialens.web._arrival import Arrival, NotRecruited, arrival
from dialens.web._chat import ANSWER, Caller, Chats, chat_routes
from dialens.web._cookies import Visit
from dialens.web._forms import GivenForm, PageEvent, answers_of, events_of, time_of
from dialens.web._intake import Intake
from dialens.web._pages import arrange
from dialens.web._plans import Known, Plans
from dialens.web._site import PROLIFIC_DONE, Site

BEGIN = "begin"
RATER_HEADER = "x-dialens-rater"
"""With the researcher's password, a program may say that it is no human."""

_HERE = "/study"
_NAME = r"^[A-Za-z0-9_.:-]{1,64}$"
_GRACE_S = 0.25
_USUAL = ("questions", "instructions", "practice", "rating", "check")
"""Screens whose answers depend on nothing but the plan and the form."""

_PLANS = 320  # as many as the planner keeps


class Sent(BaseModel):
    """What a page sends between submissions."""

    model_config = ConfigDict(extra="forbid")

    ticket: str = Setting(max_length=100)
    page: Annotated[str, Setting(pattern=_NAME)]
    screen: Annotated[str, Setting(max_length=200)]
    events: list[PageEvent] = Setting(default_factory=list, max_length=500)


@dataclass(frozen=True)
class _Caller:
    """Somebody with a session: their cookie, the session, and their screens."""

    visit: Visit
    session: Session
    screens: tuple[Screen, ...]

    @property
    def screen(self) -> Screen:
        return self.screens[min(self.session.index, len(self.screens) - 1)]


class Participation:
    """Handles what participants ask for."""

    def __init__(self, site: Site) -> None:
        """Serve the participants of `site`."""
        self.site = site
        self._intake = Intake(site.store)
        self._plans = Plans(keep=_PLANS)
        self.chats = None if site.replies is None else Chats(site, self._talker)

    def arrive(self, request: Request) -> Response:
        """The first page; who is in a session already goes on where they are."""
        site = self.site
        came = arrival(site.study.design.recruiter.kind, request.query_params)
        known = site.cookies.visit(request)
        if known is not None and known.token is not None and _same(known.arrival, came):
            try:
                session = site.store.session(known.token)
            except UnknownSession:
                known = None
            else:
                if session.study == site.study.hash and session.state != "restarted":
                    return _to(_HERE)
        if came.preview:
            return site.pages.page("preview", minutes=site.minutes)
        visitor = known.visitor if known is not None else secrets.token_urlsafe(24)
        visit = Visit(visitor, came)
        page = site.pages.page(
            "welcome",
            ticket=site.cookies.ticket(BEGIN, visitor),
            minutes=site.minutes,
            framed=bool(site.framed_by),
            here=str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
        )
        site.cookies.set_visit(request, page, visit)
        return page

    def begin(self, request: Request, form: dict[str, str]) -> Response:
        """Give a place in the study, and the session that goes with it."""
        site = self.site
        visit = site.cookies.visit(request)
        if visit is None:
            here = form.get("here", "")
            back = here if here.startswith("/?") else "/"
            return site.pages.page("cookies", 403, framed=bool(site.framed_by), here=back)
        if not site.cookies.is_ticket(form.get("ticket", ""), BEGIN, visit.visitor):
            raise HTTPException(403, "This form is not yours or out of date.")
        came = visit.arrival
        session = site.store.begin(
            site.study.hash,
            recruiter=came.recruiter,
            worker=came.worker or f"visitor-{visit.visitor}",
            now=site.clock(),
            seed_source=site.lot,
            rater_kind=self._rater(request),
        )
        response = _to(_HERE)
        site.cookies.set_visit(request, response, visit.with_token(session.token))
        return response

    def _rater(self, request: Request) -> str:
        kind = request.headers.get(RATER_HEADER, "human")
        if kind == "human":
            return kind
        if kind not in RATER_KINDS or not bearer_is_researcher(self.site, request):
            raise HTTPException(403, "Only the researcher's programs may say so.")
        return kind

    def current(self, request: Request) -> Response:
        """The screen where the participant is."""
        caller = self._caller(request)
        if caller is None:
            return _to("/")
        if self._finished(caller):
            return self._end(caller)
        return self._page(request, caller)

    async def answer(self, request: Request, form: dict[str, str]) -> Response:
        """Take the answers to a screen, and lead on to the next."""
        usual = self._usual(request, form)
        if usual is not None:
            known, given = usual
            waiting = Waiting(known.session.token, given, self.site.clock())
            try:
                receipt = await self._intake.submit(waiting)
            except UnknownSession:  # forgotten meanwhile
                return await run_in_threadpool(self._answer_closely, request, form)
            if receipt.index == len(known.screens) - 1:
                await run_in_threadpool(self.site.complete, known.session)
            return _onward(request, _HERE)
        return await run_in_threadpool(self._answer_closely, request, form)

    def _usual(self, request: Request, form: dict[str, str]) -> tuple[Known, Submission] | None:
        """A valid answer to a screen of a plan that is at hand; where the person is, is not asked.

        None for everything else: it is looked at closely, with the database at hand.
        """
        visit = self.site.cookies.visit(request)
        known = None if visit is None or visit.token is None else self._plans.get(visit.token)
        if visit is None or known is None:
            return None
        if not self.site.cookies.is_ticket(form.get("ticket", ""), ANSWER, known.session.token):
            return None
        asked, name = known.screens[:-1], form.get("screen")
        index = next((n for n, screen in enumerate(asked) if screen.id == name), None)
        if index is None or form.get("index") != str(index) or asked[index].kind not in _USUAL:
            return None
        screen = asked[index]
        if talk_of(screen) is not None:  # what may be answered depends on what was said
            return None
        overdue = self._overdue(visit, screen, index)
        answers, wrong = answers_of(screen, form, overdue=overdue)
        return None if wrong else (known, _submission(screen, index, answers, form))

    def _answer_closely(self, request: Request, form: dict[str, str]) -> Response:
        """The same, whatever was sent by whomever."""
        site, plain = self.site, _is_plain(request)
        caller = self._caller(request)
        if caller is None:
            return _onward(request, "/")
        if not site.cookies.is_ticket(form.get("ticket", ""), ANSWER, caller.session.token):
            raise HTTPException(403, "This form is not yours or out of date.")
        screen, index = caller.screen, caller.session.index
        # An answer to another screen: it was answered before, or a second tab went ahead.
        if (form.get("index"), form.get("screen")) != (str(index), screen.id):
            return _onward(request, _HERE)
        if self._finished(caller):
            return _onward(request, _HERE)
        if screen.kind == "consent" and form.get("a:consent") == "no":
            return self._declined(request, caller)
        if self.chats is not None and self.chats.still_on(caller.session, screen):
            return _onward(request, _HERE)
        if self._passed_over(caller.session, caller.screens, index) != index:
            return _onward(request, _HERE)
        overdue = self._overdue(caller.visit, screen, index)
        answers, wrong = answers_of(screen, form, overdue=overdue)
        if wrong and not plain:
            return JSONResponse({"errors": wrong}, 422)
        if wrong:
            return self._page(request, caller, form, wrong)
        given = _submission(screen, index, answers, form)
        receipt = site.store.submit(caller.session.token, given, now=site.clock())
        reached = self._passed_over(caller.session, caller.screens, receipt.index)
        if reached == len(caller.screens) - 1:
            site.complete(caller.session)
        return _onward(request, _HERE)

    def _passed_over(self, session: Session, screens: tuple[Screen, ...], index: int) -> int:
        """Go on past screens about replies that never came; gives where the participant is."""
        site = self.site
        if site.replies is None or talk_of(screens[index]) is None:
            return index
        said = site.replies.talking.exchanges(session.token)
        while is_absent(screens[index], said):
            nothing = replace(screens[index], fields=())
            given = Submission(nothing, index, {}, "passed-over")
            receipt = site.store.submit(session.token, given, now=site.clock())
            if receipt.index <= index:
                break
            index = receipt.index
        return index

    def _talker(self, request: Request) -> Caller | None:
        """Who has a session, for the pages of conversations."""
        caller = self._caller(request)
        return None if caller is None else Caller(caller.session, caller.screen)

    def log(self, request: Request, sent: Sent) -> Response:
        """Keep what happened on a page; a sign of life, too."""
        site = self.site
        visit = site.cookies.visit(request)
        if visit is None or visit.token is None:
            raise HTTPException(403, "There is no session.")
        if not site.cookies.is_ticket(sent.ticket, ANSWER, visit.token):
            raise HTTPException(403, "This form is not yours or out of date.")
        events = [one.event(sent.page) for one in sent.events]
        site.store.log_events(visit.token, sent.screen.replace("\0", ""), events, now=site.clock())
        return Response(status_code=204)

    def _caller(self, request: Request) -> _Caller | None:
        """Who has a session of this study; an expired one is brought back if it may be."""
        site = self.site
        visit = site.cookies.visit(request)
        if visit is None or visit.token is None:
            return None
        try:
            session = site.store.session(visit.token)
        except UnknownSession:
            return None
        if session.study != site.study.hash:
            return None
        if session.state == "expired" and session.index < len(site.screens(session)) - 1:
            session = site.store.come_back(visit.token, now=site.clock())
        if session.state == "restarted":
            raise SessionOver(
                "You have started this study again elsewhere; go on there.", session.state
            )
        screens = site.screens(session)
        self._plans.put(session, screens)
        return _Caller(visit, session, screens)

    def _finished(self, caller: _Caller) -> bool:
        return caller.session.index >= len(caller.screens) - 1

    def _overdue(self, visit: Visit, screen: Screen, index: int) -> bool:
        limit, watch = screen.deadline_s, visit.watch
        if limit is None or watch is None or watch[0] != index:
            return False
        return self.site.clock().timestamp() - watch[1] >= limit - _GRACE_S

    def _page(
        self,
        request: Request,
        caller: _Caller,
        given: dict[str, str] | None = None,
        wrong: dict[str, str] | None = None,
    ) -> Response:
        site, screen, index = self.site, caller.screen, caller.session.index
        token, left, visit = caller.session.token, None, caller.visit
        if self.chats is not None and screen.kind == "chat":
            own = Caller(caller.session, screen)
            return self.chats.page(own, index=index, total=len(caller.screens) - 1)
        if site.replies is not None and talk_of(screen) is not None:
            said = site.replies.talking.exchanges(token)
            # The server was stopped before it could go on past it.
            screen = filled(replace(screen, fields=()) if is_absent(screen, said) else screen, said)
        if screen.deadline_s is not None:
            now = site.clock().timestamp()
            if visit.watch is None or visit.watch[0] != index:
                visit = visit.watching(index, now)
            assert visit.watch is not None
            left = max(screen.deadline_s - (now - visit.watch[1]), 0.0)
        page = site.pages.page(
            "screen",
            422 if wrong else 200,
            screen=screen,
            shown=arrange(screen, given, wrong),
            index=index,
            total=len(caller.screens) - 1,
            ticket=site.cookies.ticket(ANSWER, token),
            key=secrets.token_urlsafe(16),
            left=left,
            preview=None,
        )
        if visit is not caller.visit:
            site.cookies.set_visit(request, page, visit)
        return page

    def _end(self, caller: _Caller) -> Response:
        site = self.site
        code = site.complete(caller.session)
        recruiter = caller.session.recruiter
        told = caller.visit.arrival.parameters or {}
        return site.pages.page(
            "end",
            screen=caller.screens[-1],
            code=code,
            recruiter=recruiter,
            back=f"{PROLIFIC_DONE}?cc={code}",
            submit_to=site.submit_to,
            assignment=told.get("assignmentId", ""),
        )

    def _declined(self, request: Request, caller: _Caller) -> Response:
        """Somebody does not want to take part: nothing is kept, and the place is free again."""
        site = self.site
        if caller.session.attempt == 1:
            site.store.forget(caller.session.participant)
        response = _onward(request, "/declined")
        visit = Visit(secrets.token_urlsafe(24), caller.visit.arrival)
        site.cookies.set_visit(request, response, visit)
        return response


def _same(known: Arrival, came: Arrival) -> bool:
    """Whether an address leads to the person whose cookie this is."""
    return came.worker is None or (known.recruiter, known.worker) == (came.recruiter, came.worker)


def _submission(screen: Screen, index: int, answers: Answer, form: dict[str, str]) -> Submission:
    key = form.get("key") or secrets.token_urlsafe(16)
    times = (time_of(form, "shown_at"), time_of(form, "submitted_at"))
    return Submission(screen, index, answers, key, *times, events_of(form, key))


def _to(path: str) -> Response:
    return RedirectResponse(path, 303)


def _is_plain(request: Request) -> bool:
    """Whether a browser asks by itself, without our script."""
    return "application/json" not in request.headers.get("accept", "")


def _onward(request: Request, path: str) -> Response:
    return _to(path) if _is_plain(request) else JSONResponse({"next": path})


def participant_routes(site: Site) -> APIRouter:
    """The addresses that participants use."""
    router = APIRouter(include_in_schema=False)
    part = Participation(site)
    if part.chats is not None:
        router.include_router(chat_routes(part.chats))

    @router.get("/")
    def arrive(request: Request) -> Response:
        try:
            return part.arrive(request)
        except NotRecruited as error:
            return site.pages.page("sorry", 403, title="Not quite here", message=str(error))

    @router.post("/begin")
    def begin(request: Request, form: GivenForm) -> Response:
        try:
            return part.begin(request, form)
        except StudyFull as error:
            titles = {"full": "All places are taken", "paused": "A short break"}
            title = titles.get(error.reason, "This study is closed")
            return site.pages.page("sorry", title=title, message=str(error))
        except (Blocked, SessionOver) as error:
            return site.pages.page("sorry", title="You have been here", message=str(error))

    @router.get("/study")
    def current(request: Request) -> Response:
        try:
            return part.current(request)
        except SessionOver as error:
            return site.pages.page("sorry", title="This session is over", message=str(error))

    @router.post("/study")
    async def answer(request: Request, form: GivenForm) -> Response:
        try:
            return await part.answer(request, form)
        except SessionOver:  # the page says so
            return _onward(request, _HERE)

    @router.post("/events")
    def events(request: Request, sent: Sent) -> Response:
        try:
            return part.log(request, sent)
        except UnknownSession as error:
            raise HTTPException(403, str(error)) from error

    @router.get("/declined")
    def declined() -> Response:
        return site.pages.page(
            "sorry",
            title="Thank you for considering it",
            message="You chose not to take part. Nothing about you was kept; you may close this "
            "page.",
        )

    return router
