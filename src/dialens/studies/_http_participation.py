"""Taking part through the pages: the same raters, over HTTP, with a cookie like everybody else."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import httpx

from dialens.base import DialensError
from dialens.studies._http_page import Node, PageForm, form_of, read_page
from dialens.studies._participation import BLOCKED, EXPIRED, FULL, LEFT, counted
from dialens.studies._raters import Rater, Reply
from dialens.studies._study import Study
from dialens.studies.simulation import Population, World, line
from dialens.studies.store import COMPLETED

RATER_HEADER = "x-dialens-rater"
_TRIES = 6
_FIRST_WAIT_S = 0.2
_BUSY = (429, 502, 503, 504)
_ADDRESSED = {
    "link": {"participant": "{name}"},
    "mturk": {"workerId": "{name}", "assignmentId": "A-{name}", "hitId": "simulated"},
    "prolific": {"PROLIFIC_PID": "{name}", "STUDY_ID": "simulated", "SESSION_ID": "{name}"},
}


@dataclass(frozen=True)
class Went:
    """How participations over HTTP went.

    Attributes:
        outcomes: How many completed, left, found no place, …
        submissions: Screens that were answered.
        requests: Sent in all, assets not among them.
    """

    outcomes: dict[str, int]
    submissions: int
    requests: int


@dataclass
class _Browser:
    """One participant's browser: its cookie, and patience with a network that fails."""

    client: httpx.Client
    sleep: Callable[[float], None]
    submissions: int = 0
    requests: int = 0

    def send(
        self,
        method: str,
        address: str,
        form: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Send, and try again where the server does not answer: forms carry a key for that."""
        wait = _FIRST_WAIT_S
        for attempt in range(1, _TRIES + 1):
            try:
                answer = self.client.request(
                    method, address, data=form, headers=headers, params=query
                )
            except httpx.TransportError as error:
                self.requests += 1
                if attempt == _TRIES:
                    raise DialensError(
                        f"{self.client.base_url} does not answer: {error}."
                    ) from error
            else:
                self.requests += 1 + len(answer.history)
                if answer.status_code not in _BUSY or attempt == _TRIES:
                    return answer
            self.sleep(wait)
            wait *= 2
        raise AssertionError("the last try returns or raises")


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
    """A whole participation through the pages of a server.

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
    browser = _Browser(client, sleep)
    outcome = _visit(browser, study, rater, password, pace, clock)
    return outcome, browser.submissions, browser.requests


def _visit(
    browser: _Browser,
    study: Study,
    rater: Rater,
    password: str,
    pace: float,
    clock: Callable[[], datetime],
) -> str:
    design = study.design
    query = {
        key: text.format(name=rater.name) for key, text in _ADDRESSED[design.recruiter.kind].items()
    }
    answer = browser.send("GET", "/", query=query)
    page = _page(answer)
    form = form_of(page, design)
    if form is not None and form.screen is None:
        headers = {RATER_HEADER: rater.kind, "authorization": f"Bearer {password}"}
        answer = browser.send("POST", form.action, dict(form.hidden), headers)
        if answer.status_code == 403:
            raise DialensError(
                f"The server does not let {rater.kind} participants in: {_heading(_page(answer))}. "
                "They need the researcher's password (DIALENS_STUDY_PASSWORD)."
            )
        page = _page(answer)
        form = form_of(page, design)
        if form is None and not _code(page):
            return BLOCKED if "been here" in _heading(page) else FULL
    while form is not None and form.screen is not None:
        screen = form.screen
        if screen.kind == "chat" and "do" in form.hidden:
            page = _page(browser.send("POST", form.action, _said(form, screen.id, rater)), form)
            form = form_of(page, design)
            continue
        reply = rater.reply(screen)
        if reply is None:
            return LEFT
        shown_at = clock()
        # Who is late is late by the server's clock, whatever the pace.
        spent = reply.seconds if reply.overdue else reply.seconds * pace
        if spent:
            browser.sleep(spent)
        sent = _with_times(form, reply, shown_at, clock(), pace)
        answer = browser.send("POST", form.action, sent)
        page = _page(answer, sent=form)
        browser.submissions += 1
        form = form_of(page, design)
    return COMPLETED if _code(page) else EXPIRED


def _said(form: PageForm, talk: str, rater: Rater) -> dict[str, str]:
    """The form of a conversation with the next message, where it asks for one."""
    if form.hidden["do"] != "say":
        return dict(form.hidden)
    text = line(rater.name, talk, int(form.hidden["number"]))
    return {**form.hidden, "text": text}


def _with_times(
    form: PageForm, reply: Reply, shown_at: datetime, now: datetime, pace: float
) -> dict[str, str]:
    """The filled form, with what the page's script would have logged."""
    sent = form.filled(reply.answers)
    moments = [("shown", shown_at)]
    if reply.away_s and pace:
        half = timedelta(seconds=(reply.seconds - reply.away_s) * pace / 2)
        gone = shown_at + half
        back = gone + timedelta(seconds=reply.away_s * pace)
        moments += [("hidden", gone), ("visible", back)]
    moments.append(("submitted", now))
    sent["shown_at"], sent["submitted_at"] = shown_at.isoformat(), now.isoformat()
    sent["events"] = json.dumps(
        [{"kind": k, "at": at.isoformat(), "serial": n} for n, (k, at) in enumerate(moments)]
    )
    return sent


def _page(answer: httpx.Response, sent: PageForm | None = None) -> Node:
    page = read_page(answer.text)
    if answer.status_code == 422:
        told = [" ".join(node.text.split()) for node in page.tagged("p", "error") if node.text]
        where = "" if sent is None or sent.screen is None else f" on screen {sent.screen.id}"
        raise DialensError(f"The server refuses an answer{where}: {'; '.join(told)}")
    if answer.status_code >= 400 and answer.status_code != 403:
        raise DialensError(f"The server answers {answer.status_code}: {_heading(page)}.")
    return page


def _heading(page: Node) -> str:
    return next((" ".join(node.text.split()) for node in page.tagged("h1")), "no page")


def _code(page: Node) -> str:
    return next((node.text.strip() for node in page.tagged("output")), "")


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
) -> Went:
    """Let simulated participants take a study through the pages of its server.

    Args:
        url: Of the server.
        study: What is served there.
        population: Whom participants are drawn from.
        participants: How many come.
        password: The researcher's.
        seed: Of everything that is drawn.
        at_once: How many take part at the same time.
        pace: How much of a person's time they take; 0 for none.
        advance: Told when another participant is through.
        new_client: Makes a browser for an address.
    """
    make = new_client or _client
    with make(url) as client:
        try:
            found = client.get("/healthz")
            name = found.json().get("study")
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            raise DialensError(f"No study is served at {url}: {error}.") from error
    if name != study.name:
        raise DialensError(f"{url} serves {name!r}, and the study file is {study.name!r}.")
    world = World(study, population, seed)

    def one(number: int) -> tuple[str, int, int]:
        with make(url) as client:
            return take_part_over_http(
                client, study, world.person(number), password=password, pace=pace
            )

    outcomes, went = [], Went({}, 0, 0)
    with ThreadPoolExecutor(max_workers=min(at_once, participants)) as pool:
        waiting = [pool.submit(one, number) for number in range(1, participants + 1)]
        try:
            for done in as_completed(waiting):
                outcome, submissions, requests = done.result()
                outcomes.append(outcome)
                went = replace(
                    went,
                    submissions=went.submissions + submissions,
                    requests=went.requests + requests,
                )
                if advance:
                    advance(1)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return replace(went, outcomes=counted(outcomes))


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, follow_redirects=True, timeout=30.0, trust_env=False)
