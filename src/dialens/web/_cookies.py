"""One signed cookie, and tokens against cross-site request forgery (CSRF)."""

import hashlib
import hmac
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from dialens.studies import study_mark
from dialens.studies.store import EndedLogins
from dialens.web._arrival import Arrival
from dialens.web._password import VIEWER

_A_WEEK = 7 * 24 * 3600
RESEARCHER_HOURS = 12


@dataclass(frozen=True)
class Visit:
    """What a participant's cookie holds.

    Attributes:
        visitor: A random name of the browser, given out by the server.
        arrival: How the person came here.
        token: Of the session; none before it begins.
        language: In which the pages are shown; none for the study's own.
    """

    visitor: str
    arrival: Arrival
    token: str | None = None
    language: str | None = None

    def with_token(self, token: str, language: str | None) -> "Visit":
        """The same visit, in a session, whose language it has."""
        return replace(self, token=token, language=language)


@dataclass(frozen=True)
class Login:
    """What a researcher's cookie holds.

    Attributes:
        session: A random name, new at every login.
        who: What the person said they are called, for the log of changes; empty if they did not.
        role: What they may do (`OWNER` or `VIEWER`).
    """

    session: str
    who: str = ""
    role: str = VIEWER


@dataclass(frozen=True)
class LoginScope:
    """Where the researcher's login counts, if not in one study alone.

    Attributes:
        name: Of the cookie.
        key: That signs it.
        root: The path below which it counts.
        ended: Logins that count no more.
    """

    name: str
    key: bytes
    root: str
    ended: EndedLogins | None = None


def cookie_name(study: str) -> str:
    """What the cookie of a study is called, which does not tell its name."""
    return f"dialens-{study_mark(study)}"


def name_on_the_line(request: Request, name: str, root: str) -> str:
    """What a cookie is called between browser and server.

    Over https it begins with what makes browsers refuse it from anybody but this host over https
    (`__Host-`), or, below a path, from anybody over http (`__Secure-`).
    """
    if request.url.scheme != "https":
        return name
    return f"__Secure-{name}" if root else f"__Host-{name}"


class CookieJar:
    """Reads and writes the cookies of one study; one with a wrong signature counts as none.

    Cookies do not know ports: their names hold a hash of the study's, so that two studies on one
    machine leave each other alone. Not the name itself, which may tell what is expected.
    """

    def __init__(
        self,
        key: bytes,
        study: str,
        *,
        framed: bool,
        root: str = "",
        login: LoginScope | None = None,
    ) -> None:
        """Sign with `key`; `framed` if pages are shown within a recruiter's page.

        Args:
            key: That signs.
            study: Its name.
            framed: Whether pages are shown within a recruiter's page.
            root: The path below which the study lies.
            login: Where the researcher's login counts; in this study if not given.
        """
        self._key = key
        self._framed = framed
        self.root = root
        self.name = cookie_name(study)
        self._login = login or LoginScope(f"{self.name}-researcher", key, root)
        self.researcher = self._login.name
        self._visits = URLSafeSerializer(key, salt="visit", signer_kwargs=_SIGNER)
        self._logins = URLSafeTimedSerializer(
            self._login.key, salt="researcher", signer_kwargs=_SIGNER
        )

    def visit(self, request: Request) -> Visit | None:
        """Who the request comes from."""
        content = _loaded(
            self._visits, request.cookies.get(name_on_the_line(request, self.name, self.root))
        )
        if not isinstance(content, dict):
            return None
        return Visit(
            str(content["v"]),
            Arrival.from_json(content["a"]),
            content.get("t"),
            content.get("l"),
        )

    def set_visit(self, request: Request, response: Response, visit: Visit) -> None:
        """Set the cookie of a visit."""
        content: dict[str, Any] = {"v": visit.visitor, "a": visit.arrival.as_json()}
        if visit.token is not None:
            content["t"] = visit.token
        if visit.language is not None:
            content["l"] = visit.language
        signed = str(self._visits.dumps(content))
        self._set(request, response, (self.name, self.root), signed, _A_WEEK, framed=self._framed)

    def login(self, request: Request) -> Login | None:
        """The researcher's session, if there is a valid one."""
        sent = name_on_the_line(request, self.researcher, self._login.root)
        cookie = request.cookies.get(sent)
        if cookie is None:
            return None
        try:
            content = self._logins.loads(cookie, max_age=RESEARCHER_HOURS * 3600)
        except BadSignature:
            return None
        if not isinstance(content, dict):
            return None
        known = Login(str(content["s"]), str(content["w"]), str(content["r"]))
        ended = self._login.ended
        return None if ended is not None and ended.has_ended(known.session) else known

    def set_login(self, request: Request, response: Response, login: Login) -> None:
        """Set the cookie of a researcher's session."""
        signed = str(self._logins.dumps({"s": login.session, "w": login.who, "r": login.role}))
        self._set_login(request, response, signed, RESEARCHER_HOURS * 3600)

    def end_login(self, request: Request, response: Response, login: Login, now: datetime) -> None:
        """Delete the cookie of the researcher's session, and let no copy of it count."""
        if self._login.ended is not None:
            until = now + timedelta(hours=RESEARCHER_HOURS)
            self._login.ended.end(login.session, until=until, now=now)
        self._set_login(request, response, "", 0)

    def _set_login(self, request: Request, response: Response, value: str, seconds: int) -> None:
        place = (self.researcher, self._login.root)
        self._set(request, response, place, value, seconds, framed=False)

    def ticket(self, purpose: str, owner: str) -> str:
        """The CSRF token of a form: only the owner of the cookie can know it."""
        text = f"{purpose}:{owner}".encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()

    def is_ticket(self, ticket: str, purpose: str, owner: str) -> bool:
        """Whether it is the CSRF token that the form should have."""
        # Bytes: compare_digest refuses text that is not ASCII.
        return hmac.compare_digest(ticket.encode(), self.ticket(purpose, owner).encode())

    def _set(
        self,
        request: Request,
        response: Response,
        place: tuple[str, str],
        value: str,
        seconds: int,
        *,
        framed: bool,
    ) -> None:
        secure = request.url.scheme == "https"
        name, root = name_on_the_line(request, *place), place[1]
        parts = [f"{name}={value}", f"Max-Age={seconds}", f"Path={root}/", "HttpOnly"]
        # In another site's frame only a cookie of its own partition is kept.
        parts.append("SameSite=None; Partitioned" if framed and secure else "SameSite=Lax")
        if secure:
            parts.append("Secure")
        response.headers.append("set-cookie", "; ".join(parts))


_SIGNER = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}


def _loaded(serializer: URLSafeSerializer, text: str | None) -> Any:
    if text is None:
        return None
    try:
        return serializer.loads(text)
    except BadSignature:
        return None
