"""Taking part over HTTP: the same raters, through a server, in JSON, with a cookie of their own."""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from dialens.base import DialensError, RetryPolicy, send_with_retry, work_through
from dialens.studies._participation import BLOCKED, DECLINED, EXPIRED, FULL, LEFT, counted
from dialens.studies._raters import RATER_HEADER, Rater, RaterReply
from dialens.studies._study import Study, study_mark
from dialens.studies._types import JSON, Screen
from dialens.studies.recruiters import by_invitation, recruiters
from dialens.studies.simulation import Population, World, last_message, line
from dialens.studies.store import COMPLETED

_RETRY = RetryPolicy(attempts=6, first_wait_s=0.2)
_GONE = {"/full": FULL, "/declined": DECLINED}
"""Pages that somebody is led to of whom nothing is kept."""
_CHAT_ACTIONS = {"failed": "again", "waiting": "follow"}
"""What to do next in a conversation that is not over, by its state; otherwise say something."""


@dataclass(frozen=True)
class HttpParticipations:
    """How participations over HTTP went.

    Attributes:
        outcomes: How many completed, left, found no place, …
        submissions: Screens that were answered.
        requests: Sent in all.
        known: How many had completed the study before.
    """

    outcomes: dict[str, int]
    submissions: int
    requests: int
    known: int = 0


@dataclass
class _Client:
    """One participant's connection: a cookie, and requests that are sent again if they fail."""

    http: httpx.Client
    sleep: Callable[[float], None]
    submissions: int = 0
    requests: int = 0

    def get(self, path: str, query: dict[str, str] | None = None) -> dict[str, JSON]:
        """What the server has at an address."""
        return self.json(self._send("GET", path, params=query))

    def invite(self, person: str, headers: dict[str, str]) -> httpx.Response:
        """Ask for a personal link, as a researcher."""
        return self._send("POST", "/api/links", json={"ids": [person]}, headers=headers)

    def begin(self, ticket: str, headers: dict[str, str]) -> httpx.Response:
        """Ask for a place in the study."""
        return self._send("POST", "/begin", data={"ticket": ticket}, headers=headers)

    def submit(self, answer: dict[str, JSON]) -> str:
        """Send the answers to a screen, whose key makes sending them again safe; what is next."""
        response = self._send("POST", "/study", json=answer)
        if response.status_code == 422:
            errors = "; ".join(f"{k}: {v}" for k, v in response.json()["errors"].items())
            raise DialensError(
                f"The server refuses an answer on screen {answer['screen']}: {errors}"
            )
        following = self.json(response).get("next")
        self.submissions += 1
        return str(following)

    def say(self, message: dict[str, str]) -> None:
        """Send a message to the agent and wait until its reply is complete."""
        response = self._send("POST", "/chat", data=message)
        if response.status_code >= 400:
            self.json(response)

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        headers = {"accept": "application/json", **request.pop("headers", {})}

        def send() -> httpx.Response:
            self.requests += 1
            return self.http.request(method, path, headers=headers, **request)

        try:
            return send_with_retry(send, _RETRY, sleep=self.sleep)
        except httpx.TransportError as error:
            raise DialensError(f"{self.http.base_url} does not answer: {error}.") from error

    def json(self, response: httpx.Response) -> dict[str, JSON]:
        """What a response says; a refusal of the study (409) gives its `reason`."""
        try:
            body = response.json()
        except ValueError as error:
            raise DialensError(
                f"{self.http.base_url} does not answer as a study's server does "
                f"({response.status_code})."
            ) from error
        if response.status_code == 409:
            return {"reason": body.get("reason")}
        if response.status_code >= 400:
            raise DialensError(f"The server answers {response.status_code}: {body.get('detail')}")
        return dict(body)


def take_part_over_http(
    client: httpx.Client,
    study: Study,
    rater: Rater,
    *,
    password: str,
    pace: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> tuple[str, int, int]:
    """A whole participation through a study's server.

    Args:
        client: With the server's address and no cookies yet.
        study: What is served there.
        rater: Who takes part; people are known by their browser, so it is no human.
        password: The researcher's: without it nobody may say that they are no human.
        pace: How much of the rater's time is really waited.
        sleep: Waits.
        clock: The time of the rater's own computer.

    Returns:
        One of `participation.OUTCOMES`, screens submitted, requests sent.
    """
    own = _Client(client, sleep)
    outcome = _arrive(own, study, rater, password) or _answer_all(own, rater, pace, clock)
    return outcome, own.submissions, own.requests


def _arrive(client: _Client, study: Study, rater: Rater, password: str) -> str | None:
    """Begin, or go on with an earlier session; the outcome if there is no place."""
    settings = study.design.recruiter
    kind = recruiters()[settings.kind]
    researcher = {"authorization": f"Bearer {password}"}
    address = dict.fromkeys(kind.names(settings), rater.name)
    if by_invitation(study.design):  # only the server can make a link that it lets in
        response = client.invite(rater.name, researcher)
        if response.status_code in (401, 429):
            raise _not_let_in(rater, response)
        (made,) = client.json(response)["links"]
        address = dict(parse_qsl(urlsplit(made["link"]).query))
    arrived = client.get("/", address)
    if "ticket" not in arrived:
        return None
    response = client.begin(str(arrived["ticket"]), {RATER_HEADER: rater.kind, **researcher})
    if response.status_code == 403:
        raise _not_let_in(rater, response)
    reason = client.json(response).get("reason")
    return None if reason is None else BLOCKED if reason == "blocked" else FULL


def _not_let_in(rater: Rater, response: httpx.Response) -> DialensError:
    return DialensError(
        f"The server does not let {rater.kind} participants in: {response.json()['detail']} "
        "They need the researcher's password (DIALENS_STUDY_PASSWORD)."
    )


def _answer_all(client: _Client, rater: Rater, pace: float, clock: Callable[[], datetime]) -> str:
    """Answer screen after screen to the end; the outcome."""
    while True:
        shown = client.get("/study")
        if "screen" not in shown:
            return str(shown.get("outcome") or (COMPLETED if shown.get("code") else EXPIRED))
        screen, chat = Screen.from_json(shown["screen"]), shown["chat"]
        if chat is not None and not chat["done"]:
            client.say(_message(shown["ticket"], screen.id, chat, rater))
            continue
        reply = rater.reply(replace(screen, deadline_s=shown["left"]))
        if reply is None:
            return LEFT
        shown_at = clock()
        # Who is late is late by the server's clock, whatever the pace.
        spent = reply.seconds if reply.overdue else reply.seconds * pace
        if spent:
            client.sleep(spent)
        following = client.submit(
            {
                "ticket": shown["ticket"],
                "screen": screen.id,
                "index": shown["index"],
                "key": uuid.uuid4().hex,
                "answers": dict(reply.answers),
                **_times(reply, shown_at, clock(), pace),
            }
        )
        if following in _GONE:
            return _GONE[following]


def _message(ticket: str, screen: str, chat: dict[str, JSON], rater: Rater) -> dict[str, str]:
    """The next message of a conversation, its end, or the request to try or listen again."""
    action, talk = _CHAT_ACTIONS.get(chat["state"], "say"), chat["talk"]
    number = int(chat["number"])
    if action == "say" and chat["may_end"]:
        last = last_message(rater.name, talk, chat["least"], chat["most"])
        action = "end" if number > last else action
    text = line(rater.name, talk, number) if action == "say" else ""
    sent = {"ticket": ticket, "screen": screen, "number": str(number), "do": action, "text": text}
    return {**sent, "key": uuid.uuid4().hex}


def _times(reply: RaterReply, shown_at: datetime, now: datetime, pace: float) -> dict[str, JSON]:
    """When the screen came up and was submitted, and what the page's script would have logged."""
    moments = [("shown", shown_at)]
    if reply.away_s and pace:
        half = timedelta(seconds=(reply.seconds - reply.away_s) * pace / 2)
        gone = shown_at + half
        back = gone + timedelta(seconds=reply.away_s * pace)
        moments += [("hidden", gone), ("visible", back)]
    moments.append(("submitted", now))
    events = [{"kind": k, "at": at.isoformat(), "serial": n} for n, (k, at) in enumerate(moments)]
    return {"shown_at": shown_at.isoformat(), "submitted_at": now.isoformat(), "events": events}


def simulate_over_http(
    url: str,
    study: Study,
    population: Population,
    *,
    participants: int,
    password: str,
    seed: int = 0,
    at_once: int = 8,
    pace: float = 0.0,
    advance: Callable[[int], None] | None = None,
    new_client: Callable[[str], httpx.Client] | None = None,
) -> HttpParticipations:
    """Let simulated participants take a study through its server.

    Args:
        url: Of the server.
        study: What is served there.
        population: Whom participants are drawn from.
        participants: How many come.
        password: The researcher's.
        seed: Random seed; the same seed gives the same answers.
        at_once: How many take part at the same time.
        pace: How much of a person's time they take; 0 for none.
        advance: Called when another participant is through.
        new_client: Makes an HTTP client for an address.
    """
    make = new_client or _client
    with make(url) as client:
        try:
            mark = client.get("/healthz").json().get("study")
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            raise DialensError(f"No study is served at {url}: {error}.") from error
    if mark != study_mark(study.name):
        raise DialensError(f"{url} serves another study than {study.name!r}, the study file's.")
    world = World(study, population, seed)

    def take_part(number: int) -> tuple[str, int, int]:
        with make(url) as client:
            return take_part_over_http(
                client, study, world.person(number), password=password, pace=pace
            )

    outcomes: list[str] = []
    submitted, sent, known = 0, 0, 0
    lock = threading.Lock()

    def count(number: int) -> None:
        nonlocal submitted, sent, known
        outcome, submissions, requests = take_part(number)
        with lock:
            outcomes.append(outcome)
            submitted, sent = submitted + submissions, sent + requests
            known += outcome == COMPLETED and not submissions

    work_through(
        range(1, participants + 1),
        count,
        at_once=at_once,
        ended=lambda: advance(1) if advance else None,
    )
    return HttpParticipations(counted(outcomes), submitted, sent, known)


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=30.0, trust_env=False)
