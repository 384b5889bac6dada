"""Somebody who completed a part comes back: too early, in time, or too late for the next one."""

from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import Request
from fastapi.responses import JSONResponse, Response

from dialens.studies import NextWave
from dialens.studies.store import Session
from dialens.studies.texts import Texts
from dialens.web._forms import wants_json
from dialens.web._site import Site

BEGIN = "begin"
"""Purpose of the ticket that lets somebody begin a part."""
WAVE = "/wave"


@dataclass(frozen=True)
class ShownWave:
    """The next part, as a page shows it.

    Attributes:
        standing: `early`, `open` or `late`.
        times: When it opens and closes, as far as it does, by the key of the text before it: what
            a program reads, and what is read where a page has no script.
        minutes: What it takes, roughly.
        ticket: For the form that begins it; empty where it cannot be begun.
    """

    standing: str
    times: tuple[tuple[str, str, str], ...]
    minutes: int
    ticket: str


def shown_wave(
    site: Site, following: NextWave, texts: Texts, *, visitor: str, now: datetime
) -> ShownWave:
    """What a page says of the next part.

    Args:
        site: The study.
        following: The next part.
        texts: In the participant's language.
        visitor: Whose browser it is.
        now: The time.
    """
    standing = following.standing(now)
    moments = [("wave_from", following.opens_at), ("wave_until", following.closes_at)]
    if standing != "early":
        moments = moments[1:]
    times = tuple((key, at.isoformat(), said_at(texts, at)) for key, at in moments if at)
    ticket = site.cookies.ticket(BEGIN, visitor) if standing == "open" else ""
    return ShownWave(standing, times, site.minutes_of(following.number), ticket)


def wave_after(site: Site, session: Session, visitor: str) -> ShownWave | None:
    """The part that somebody may come back for who stands at the end of one; none if none.

    Args:
        site: The study.
        session: As it was before it was completed, perhaps.
        visitor: Whose browser it is.
    """
    following = site.next_wave(site.store.session(session.token))
    if following is None:
        return None
    texts = site.pages_in(session.language).texts
    return shown_wave(site, following, texts, visitor=visitor, now=site.clock())


def said_at(texts: Texts, at: datetime) -> str:
    """A time as a language writes it, in UTC; the page's script says it in local time instead.

    Examples:
        >>> said_at(Texts.of("de"), datetime(2026, 11, 17, 14, 5, tzinfo=UTC))
        '17.11.2026, 14:05 Uhr (UTC)'
    """
    names = {"year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "minute": "%M"}
    utc = at.astimezone(UTC)
    return texts.say("date_time", **{name: f"{utc:{form}}" for name, form in names.items()})


def wave_page(
    request: Request, site: Site, session: Session, following: NextWave, visitor: str
) -> Response:
    """Says to somebody who completed a part when the next one is open; lets them begin it then.

    Args:
        request: What is answered.
        site: The study, in the version of the session.
        session: Of the part that was completed.
        following: The next part.
        visitor: Whose browser it is.
    """
    now = site.clock()
    if wants_json(request):
        times = {"opens_at": following.opens_at, "closes_at": following.closes_at}
        said = {name: None if at is None else at.isoformat() for name, at in times.items()}
        told = {"number": following.number, "standing": following.standing(now), **said}
        return JSONResponse({"code": session.code, "wave": told})
    pages = site.pages_in(session.language)
    wave = shown_wave(site, following, pages.texts, visitor=visitor, now=now)
    return pages.page("wave", wave=wave, code=session.code)
