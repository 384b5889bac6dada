"""The pages of participants: answer screen after screen, get the code.

Nothing happens by looking: a session begins, and answers are stored, by sending a form. After each
the browser is sent to `/study`, which shows the screen where the participant is, so that reload,
back button, second tab and a server that was restarted all lead to the same place.

Programs use the same addresses and ask for `application/json`: `GET /` gives a ticket, `POST
/begin` a session, `GET /study` the screen, `POST /study` takes its answers as JSON and gives
`{"next": …}` or `{"errors": …}`. The page's script sends answers this way; so do simulated
participants (`dialens.studies._http_participation`). Without a script, forms do.
"""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response

from dialens.studies import (
    JSON,
    NO_CONSENT,
    Screen,
    ending,
    filled,
    is_absent,
    seen,
    talk_of,
)
from dialens.studies.plan import consent_answers, end_screen, verdict
from dialens.studies.store import (
    PendingSubmission,
    Session,
    SessionOver,
    StudyFull,
    Submission,
    UnknownSession,
    first_shown,
)
from dialens.studies.texts import Texts
from dialens.web._chat import ANSWER, Caller, Chats
from dialens.web._coming_back import wave_after, wave_page
from dialens.web._cookies import Visit
from dialens.web._early import ENDED, FULL, early_page
from dialens.web._ending import end_page
from dialens.web._forms import (
    ScreenAnswer,
    SentEvents,
    answers_of,
    onward,
    wants_json,
)
from dialens.web._intake import Intake
from dialens.web._kiosk import NEXT
from dialens.web._leaving import menu_of
from dialens.web._pages import arrange
from dialens.web._quota import Quota
from dialens.web._refusal import Refusal
from dialens.web._site import SessionCache, Site

_HERE = "/study"
_GRACE_S = 0.25
_MOST_EVENTS = 20_000  # of one session, besides those that come with answers
_SESSIONS = 320  # as many as the planner keeps plans of


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
        self._sessions = SessionCache(_SESSIONS)
        self._events = Quota(_MOST_EVENTS, clock=time.monotonic)
        self.chats = None if site.replies is None else Chats(site, self.caller)

    def current(self, request: Request) -> Response:
        """The screen where the participant is."""
        caller = self._caller(request)
        if caller is None:
            return onward(request, "/")
        if caller.session.state in ENDED:
            return early_page(request, self.site, caller.session.state, wave=caller.session.wave)
        if self._finished(caller):
            return self._end(request, caller)
        self.site.check_device(request)
        return self._page(request, caller)

    async def answer(self, request: Request, sent: ScreenAnswer) -> Response:
        """Store the answers to a screen, and lead on to the next.

        Where the participant is need not be known: the store refuses an answer to another screen,
        which was answered before or in a second tab.
        """
        site = self.site
        visit = site.cookies.visit(request)
        session = None
        if visit is not None and visit.token is not None:
            session = self._sessions.get(visit.token)
            if session is None:
                session = await run_in_threadpool(self._session, visit.token)
        if visit is None or session is None:
            return onward(request, "/")
        if not site.cookies.is_ticket(sent.ticket, ANSWER, session.token):
            raise Refusal(403, "not_yours")
        screens = site.screens(session)
        screen = self._screen_of(screens, sent)
        if screen is None:
            return onward(request, _HERE)
        index = int(sent.index)
        if screen.kind == "consent" and sent.entered.get("consent") == "no":
            return await run_in_threadpool(self._decline, request, index)
        if _about_talk(screen) and not await run_in_threadpool(self._may_answer, request, index):
            return onward(request, _HERE)
        overdue = screen.deadline_s is not None and await run_in_threadpool(
            self._overdue, session, screen, index
        )
        texts = site.pages_in(session.language).texts
        answers, errors = answers_of(screen, sent.entered, texts, overdue=overdue)
        if screen.kind == "consent":
            answers, unticked = consent_answers(screen, answers, texts)
            errors |= unticked
        if errors:
            return await run_in_threadpool(self._refuse, request, index, sent.form, errors)
        times = (sent.shown_at, sent.submitted_at)
        follows = verdict(site.study.design, screens, index, answers)
        submission = Submission(
            screen,
            index,
            answers,
            sent.key,
            *times,
            sent.events,
            skip=follows.skip,
            paradata=sent.paradata,
        )
        if follows.outcome is not None:
            submission = ending(submission, site.study, follows, session)
        try:
            if screen.kind == "consent":
                session = await run_in_threadpool(self._admit, session)
                screens = site.screens(session)
            receipt = await self._intake.submit(
                PendingSubmission(session.token, submission, site.clock())
            )
        except StudyFull:
            return await run_in_threadpool(self.leave, request, session, FULL, "/full")
        except UnknownSession:  # deleted meanwhile
            self._sessions.drop(session.token)
            return onward(request, "/")
        if follows.outcome is not None:
            return onward(request, _HERE)
        reached = receipt.index
        if site.replies is not None:
            reached = await run_in_threadpool(self._passed_over, session, screens, reached)
        if reached == len(screens) - 1:
            await run_in_threadpool(site.complete, session)
        return onward(request, _HERE)

    def _screen_of(self, screens: tuple[Screen, ...], sent: ScreenAnswer) -> Screen | None:
        """The screen that was answered; none if there is no such screen at this place."""
        for index, screen in enumerate(screens[:-1]):
            if screen.id == sent.screen:
                return screen if sent.index == str(index) else None
        return None

    def _decline(self, request: Request, index: int) -> Response:
        caller = self._caller(request)
        if caller is None or caller.session.index != index:
            return onward(request, _HERE)
        return self.leave(request, caller.session, NO_CONSENT, "/declined")

    def _admit(self, session: Session) -> Session:
        """Give a place to somebody who agrees to take part."""
        site = self.site
        admitted = site.store.admit(session.token, now=site.clock(), seed_source=site.tie_breaker)
        self._sessions.put(admitted)
        return admitted

    def leave(self, request: Request, session: Session, outcome: str, page: str) -> Response:
        """Delete somebody who does not go on, and lead them to a page that says so.

        Of all attempts: the page says that nothing about them was kept.
        """
        site = self.site
        site.store.depart(session.token, outcome)
        self._sessions.drop(session.token)
        response = onward(request, page)
        visit = site.cookies.visit(request)
        if visit is not None:
            fresh = replace(visit, visitor=secrets.token_urlsafe(24), token=None)
            site.cookies.set_visit(request, response, fresh)
        return response

    def _may_answer(self, request: Request, index: int) -> bool:
        """Whether the conversation that a screen is or asks about lets it be answered."""
        caller = self._caller(request)
        if caller is None or caller.session.index != index:
            return False
        if self.chats is not None and caller.screen.kind == "chat":
            return not self.chats.still_on(caller.session, caller.screen)
        return self._passed_over(caller.session, caller.screens, index) == index

    def _refuse(
        self, request: Request, index: int, form: Mapping[str, str], errors: Mapping[str, str]
    ) -> Response:
        """Say what is wrong with an answer, if the participant is still at its screen."""
        caller = self._caller(request)
        if caller is None or caller.session.index != index:
            return onward(request, "/" if caller is None else _HERE)
        if wants_json(request):
            return JSONResponse({"errors": errors}, 422)
        return self._page(request, caller, form, errors)

    def _passed_over(self, session: Session, screens: tuple[Screen, ...], index: int) -> int:
        """Go on past screens about replies that never came; gives where the participant is."""
        site = self.site
        if site.replies is None or talk_of(screens[index]) is None:
            return index
        exchanges = site.replies.conversations.exchanges(session.token)
        while is_absent(screens[index], exchanges):
            nothing = replace(screens[index], fields=())
            submission = Submission(nothing, index, {}, "passed-over")
            receipt = site.store.submit(session.token, submission, now=site.clock())
            if receipt.index <= index:
                break
            index = receipt.index
        return index

    def coming_back(self, request: Request) -> Response:
        """When somebody who completed a part may take the next; the current screen otherwise."""
        caller = self._caller(request)
        following = None if caller is None else self.site.next_wave(caller.session)
        if caller is None or following is None:
            return onward(request, _HERE)
        return wave_page(request, self.site, caller.session, following, caller.visit.visitor)

    def caller(self, request: Request) -> Caller | None:
        """Who has a session, for pages other than those of screens."""
        caller = self._caller(request)
        return None if caller is None else Caller(caller.session, caller.screen)

    def log(self, request: Request, sent: SentEvents) -> Response:
        """Store the events of a page, which also show that the session is alive."""
        site = self.site
        visit = site.cookies.visit(request)
        if visit is None or visit.token is None:
            raise Refusal(403, "no_session")
        if not site.cookies.is_ticket(sent.ticket, ANSWER, visit.token):
            raise Refusal(403, "not_yours")
        if not self._events.takes(visit.token, len(sent.events)):
            raise Refusal(413, "large")
        events = [event.event(sent.page) for event in sent.events]
        site.store.log_events(visit.token, sent.screen.replace("\0", ""), events, now=site.clock())
        return Response(status_code=204)

    def _caller(self, request: Request) -> _Caller | None:
        """Who has a session of this study; an expired one is brought back if it may be."""
        site = self.site
        visit = site.cookies.visit(request)
        if visit is None or visit.token is None:
            return None
        session = self._session(visit.token)
        if session is None:
            return None
        if session.state == "expired" and session.index < len(site.screens(session)) - 1:
            session = site.store.come_back(visit.token, now=site.clock())
        if session.state == "restarted":
            raise SessionOver(Texts.of("en").say("over_restarted"), session.state)
        if session.placed_at is not None:  # before, another process may give them another cell
            self._sessions.put(session)
        return _Caller(visit, session, site.screens(session))

    def _session(self, token: str) -> Session | None:
        """The session of a token, if it is one of this study."""
        try:
            session = self.site.store.session(token, now=self.site.clock())
        except UnknownSession:
            return None
        return session if session.study == self.site.study.hash else None

    def knows(self, token: str) -> bool:
        """Whether a session is one of this version's, as far as is known without asking."""
        return self._sessions.get(token) is not None

    def _finished(self, caller: _Caller) -> bool:
        return caller.session.index >= len(caller.screens) - 1

    def _overdue(self, session: Session, screen: Screen, index: int) -> bool:
        """Whether the time for a screen is over, since the server first sent it."""
        shown_at = session.shown_at(index)
        if shown_at is None:  # perhaps by another process
            known = self._session(session.token)
            shown_at = None if known is None else known.shown_at(index)
        if screen.deadline_s is None or shown_at is None:
            return False
        return (self.site.clock() - shown_at).total_seconds() >= screen.deadline_s - _GRACE_S

    def _left(self, session: Session, screen: Screen) -> float | None:
        """The seconds that are left for a screen; from its first showing on they run."""
        if screen.deadline_s is None:
            return None
        now, index = self.site.clock(), session.index
        shown_at = session.shown_at(index)
        if shown_at is None:
            shown_at = first_shown(self.site.store.database, session.token, index, now)
            if session.placed_at is not None:
                self._sessions.put(replace(session, first_shown=(index, shown_at)))
        return max(screen.deadline_s - (now - shown_at).total_seconds(), 0.0)

    def _page(
        self,
        request: Request,
        caller: _Caller,
        form: Mapping[str, str] | None = None,
        errors: Mapping[str, str] | None = None,
    ) -> Response:
        """The screen where the participant is, as a page or as JSON."""
        site, screen, index = self.site, caller.screen, caller.session.index
        token = caller.session.token
        as_json, chat = wants_json(request), None
        menu = menu_of(caller.session, caller.screens)
        if self.chats is not None and screen.kind == "chat":
            if not as_json:
                own = Caller(caller.session, screen)
                return self.chats.page(own, index=index, total=len(caller.screens) - 1, menu=menu)
            chat = self.chats.state(caller.session, screen).as_json()
        if self.chats is not None and talk_of(screen) is not None:
            exchanges = self.chats.seen(caller.session)
            # The server was stopped before it could go on past it.
            screen = filled(
                replace(screen, fields=()) if is_absent(screen, exchanges) else screen, exchanges
            )
        shared = {
            "index": index,
            "total": len(caller.screens) - 1,
            "ticket": site.cookies.ticket(ANSWER, token),
            "left": self._left(caller.session, screen),
        }
        response: Response
        if as_json:
            response = _as_json({"screen": seen(screen).as_json(), "chat": chat, **shared})
        else:
            pages = site.pages_in(caller.session.language)
            response = pages.page(
                "screen",
                422 if errors else 200,
                screen=screen,
                shown=arrange(
                    screen, form, errors, texts=pages.texts, earlier=caller.screens[:index]
                ),
                key=secrets.token_urlsafe(16),
                preview=None,
                menu=menu,
                **shared,
            )
        return response

    def _end(self, request: Request, caller: _Caller) -> Response:
        site = self.site
        code = site.complete(caller.session)
        if wants_json(request):
            return JSONResponse({"code": code})
        language, visitor = caller.session.language, caller.visit.visitor
        return end_page(
            site,
            site.pages_in(language),
            end_screen(site.running.now().said_in(language).design),
            code,
            caller.visit.arrival,
            next_ticket=site.cookies.ticket(NEXT, visitor),
            wave=wave_after(site, caller.session, visitor),
        )


def _about_talk(screen: Screen) -> bool:
    """Whether what may be answered depends on what was said in a conversation."""
    return screen.kind == "chat" or talk_of(screen) is not None


def _as_json(value: JSON) -> Response:
    return Response(json.dumps(value, default=dict), media_type="application/json")
