"""What is at hand on every screen: the instructions, the contact, the consent, a way out."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from dialens.studies import JSON, WITHDRAWN, Screen
from dialens.studies.plan import consent_agree, consent_body, consent_title, consent_version
from dialens.studies.store import Ending, Session, SessionOver
from dialens.web._chat import ANSWER, Caller
from dialens.web._early import early_page
from dialens.web._forms import SentForm, onward
from dialens.web._refusal import Refusal
from dialens.web._site import Site

if TYPE_CHECKING:
    from dialens.web._participant import Participation

_KEEP, _DELETE = "keep", "delete"
_MARKED = re.compile(r"(?:[-*•–]|\d+[.)])\s")


@dataclass(frozen=True)
class Menu:
    """What is at hand on a screen.

    Attributes:
        instructions: The blocks of the instructions; none before they were read.
    """

    instructions: tuple[Mapping[str, JSON], ...]


def menu_of(session: Session, screens: Sequence[Screen]) -> Menu | None:
    """What is at hand where a participant is; nothing before they agreed to take part."""
    if session.placed_at is None or (session.index == 0 and session.wave == 1):
        return None
    read = [screen for screen in screens[: session.index] if screen.kind == "instructions"]
    return Menu(read[0].body if read else ())


def consent_lines(
    site: Site, session: Session, given: Mapping[str, Any], agreed_at: datetime | None
) -> list[str]:
    """The consent as plain text, with what the participant ticked and when they agreed."""
    study = site.study.said_in(session.language)
    design, say = study.design, study.texts.say
    lines = [design.title, "", consent_title(design), ""]
    for block in consent_body(design):
        lines += [line for part in _paragraphs(str(block["text"])) for line in (part, "")]
    for name, statement in design.consent.statements.items():
        lines.append(f"[{'x' if given.get(f'consent_{name}') == 'yes' else ' '}] {statement.text}")
    lines.append(f"[{'x' if given.get('consent') == 'yes' else ' '}] {consent_agree(design)}")
    lines.append("")
    if agreed_at is not None:
        lines.append(say("consent_agreed_at", time=f"{agreed_at:%Y-%m-%d %H:%M}"))
    return [*lines, say("consent_version", version=consent_version(design))]


def _paragraphs(text: str) -> list[str]:
    r"""Text as it was written in a study file, paragraph by paragraph.

    Lines that were broken to fit an editor are joined; those of a list stay apart.

    Examples:
        >>> _paragraphs("One.\n\nTwo,\nstill two.\n- a\n- b\n")
        ['One.', 'Two, still two.\n- a\n- b']
    """
    result = []
    for part in text.split("\n\n"):
        lines = [line.strip() for line in part.splitlines() if line.strip()]
        if lines:
            rest = ["\n" + line if _MARKED.match(line) else " " + line for line in lines[1:]]
            result.append(lines[0] + "".join(rest))
    return result


def _under_way(session: Session) -> bool:
    return session.state == "live" and session.placed_at is not None


def leaving_routes(part_of: "Callable[[Request], Participation]") -> APIRouter:
    """The addresses of the consent's copy and of withdrawing.

    Args:
        part_of: Who handles a request, by the version of the study that it belongs to.
    """
    router = APIRouter(include_in_schema=False)

    def found(request: Request) -> tuple[Site, Caller | None]:
        part = part_of(request)
        try:
            return part.site, part.caller(request)
        except SessionOver:  # the page of the study says so
            return part.site, None

    def withdraw_page(site: Site, session: Session, status: int = 200) -> Response:
        ticket = site.cookies.ticket(ANSWER, session.token)
        pages = site.pages_in(session.language)
        return pages.page("withdraw", status, ticket=ticket, wrong=status != 200)

    @router.get("/consent")
    def consent(request: Request) -> Response:
        site, who = found(request)
        if who is None:
            return onward(request, "/study")
        language = who.session.language
        design = site.study.said_in(language).design
        given, agreed_at = site.store.consent_given(who.session.token)
        statements = [
            (one.text, given.get(f"consent_{name}") == "yes")
            for name, one in design.consent.statements.items()
        ]
        return site.pages_in(language).page(
            "consent",
            title=consent_title(design),
            body=consent_body(design),
            statements=[*statements, (consent_agree(design), given.get("consent") == "yes")],
            answered=bool(given),
            agreed_at=agreed_at,
            version=consent_version(design),
        )

    @router.get("/consent.txt")
    def consent_text(request: Request) -> Response:
        site, who = found(request)
        if who is None:
            return onward(request, "/study")
        given, agreed_at = site.store.consent_given(who.session.token)
        saved = {"content-disposition": 'attachment; filename="consent.txt"'}
        text = "\n".join(consent_lines(site, who.session, given, agreed_at)) + "\n"
        return PlainTextResponse(text, headers=saved)

    @router.get("/withdraw")
    def ask(request: Request) -> Response:
        site, who = found(request)
        if who is None or not _under_way(who.session):
            return onward(request, "/study")
        return withdraw_page(site, who.session)

    @router.post("/withdraw")
    def withdraw(request: Request, form: SentForm) -> Response:
        site, who = found(request)
        if who is None or not _under_way(who.session):
            return onward(request, "/study")
        if not site.cookies.is_ticket(form.get("ticket", ""), ANSWER, who.session.token):
            raise Refusal(403, "not_yours")
        chosen = form.get("answers", "")
        if chosen == _DELETE:
            return part_of(request).leave(request, who.session, WITHDRAWN, "/withdrawn")
        if chosen != _KEEP:
            return withdraw_page(site, who.session, 422)
        ending = Ending(WITHDRAWN, code=site.code(WITHDRAWN, who.session.wave))
        site.store.end(who.session.token, ending, now=site.clock())
        return onward(request, "/study")

    @router.get("/withdrawn")
    def withdrawn(request: Request) -> Response:
        return early_page(request, part_of(request).site, WITHDRAWN, deleted=True)

    return router
