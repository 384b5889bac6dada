"""Every attack that a study's server has to expect, tried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from dialens.studies.store import LoginTries, TooManyTries
from dialens.web import Site
from dialens.web._guard import security_headers
from dialens.web._password import Password
from tests.web.conftest import PASSWORD, Make, Visit, tea
from tests.web.people import Page
from tests.web.test_participation import Clock

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'--{{7*7}}"


# Cross-site request forgery


def test_forms_without_their_ticket_are_refused(site: Site, visit: Visit) -> None:
    person, stranger = visit(site), visit(site)
    welcome = person.come()
    assert person.client.post("/begin", data={"x": ""}).status_code == 403
    assert person.client.post("/begin", data={"ticket": "0" * 64}).status_code == 403
    # A ticket that an attacker got for a session of their own is of no use either.
    theirs = stranger.come().hidden
    assert person.client.post("/begin", data=theirs).status_code == 403
    person.client.post("/begin", data=welcome.hidden)
    page = Page(person.client.get("/study").text)
    forged = person.filled(page) | {"ticket": stranger.begin().hidden["ticket"]}
    assert person.client.post("/study", data=forged).status_code == 403
    assert person.client.post("/study", data=forged | {"ticket": "ü"}).status_code == 403
    events = {"ticket": "x", "page": "p", "screen": "consent", "events": []}
    assert person.client.post("/events", json=events).status_code == 403
    assert site.store.answers_frame(site.study.hash).is_empty()


@pytest.mark.parametrize("where", ["cross-site", "same-site"])
def test_requests_of_other_sites_are_refused(site: Site, visit: Visit, where: str) -> None:
    person = visit(site)
    welcome = person.come()
    sent = person.client.post("/begin", data=welcome.hidden, headers={"sec-fetch-site": where})
    assert sent.status_code == 403


def test_the_researchers_forms_need_their_ticket(site: Site, researcher: TestClient) -> None:
    cell = site.study.cells[0].name
    for ticket in ("", "0" * 64, site.cookies.ticket("steer", "somebody-else")):
        data = {"ticket": ticket, "cell": cell, "state": "closed"}
        assert researcher.post("/researcher/cells", data=data).status_code == 403
        assert researcher.post("/researcher/logout", data=data).status_code == 403
    assert site.store.progress(site.study.hash)[0].state == "open"


# Session fixation


def test_a_session_never_comes_from_the_visitor(site: Site, visit: Visit) -> None:
    attacker, victim = visit(site), visit(site)
    attacker.begin()
    name = site.cookies.name
    planted = attacker.client.cookies[name]
    token = attacker.session.token
    # Neither an address nor a form can hand over a session.
    victim.come(f"/?token={token}&session={token}")
    welcome = victim.come()
    victim.client.post("/begin", data=welcome.hidden | {"token": token})
    assert victim.session.token != token
    assert victim.session.participant != attacker.session.participant
    # A cookie that was planted is only believed as a whole; beginning anew gives a new token.
    mixed = site.cookies._visits.loads(planted) | {"t": "A" * 43}
    victim.client.cookies.clear()
    victim.client.cookies.set(name, json.dumps(mixed))
    assert victim.client.get("/study").url.path == "/"


def test_a_login_gives_a_new_session(site: Site, visit: Visit) -> None:
    person = visit(site)
    before = person.come("/researcher/login")
    person.client.cookies.set(site.cookies.researcher, "planted")
    assert person.client.get("/researcher").url.path == "/researcher/login"
    person.client.cookies.delete(site.cookies.researcher)
    page = person.come("/researcher/login")
    assert page.hidden["ticket"] != before.hidden["ticket"]
    names = []
    for _ in range(2):
        page = person.come("/researcher/login")
        sent = person.client.post(page.action, data=page.hidden | {"password": PASSWORD})
        assert sent.url.path == "/researcher"
        names.append(person.client.cookies[site.cookies.researcher])
    assert names[0] != names[1]


# Guessing ids


def test_nobody_elses_session_can_be_guessed(site: Site, visit: Visit) -> None:
    victim, guesser = visit(site), visit(site)
    victim.begin()
    session = victim.session
    assert len(session.token) == 43  # 256 bits
    own = victim.client.cookies[site.cookies.name]
    body, signature = own.rsplit(".", 1)
    guesses = [
        session.participant,
        session.token,
        f"{body}.{'A' * len(signature)}",
        body,
        f"{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}",
        f"{body[:-2]}.{signature}",
    ]
    for guess in guesses:
        guesser.client.cookies.clear()
        guesser.client.cookies.set(site.cookies.name, guess)
        assert guesser.client.get("/study").url.path == "/"
    for path in (f"/study/{session.participant}", f"/study?participant={session.participant}"):
        assert session.participant not in guesser.client.get(path).text


def test_a_participants_cookie_opens_nothing_of_the_researchers(site: Site, visit: Visit) -> None:
    person = visit(site)
    person.begin()
    own = person.client.cookies[site.cookies.name]
    person.client.cookies.set(site.cookies.researcher, own)
    for path in ("", "/export.zip", "/preview", "/preview/screen?cell=x"):
        assert person.client.get(f"/researcher{path}").url.path == "/researcher/login"
    assert person.client.get("/api/cells").status_code == 401


def test_cookies_are_out_of_reach_for_scripts(site: Site, visit: Visit) -> None:
    person = visit(site)
    made = person.client.get("/").headers["set-cookie"]
    assert "HttpOnly" in made
    assert "SameSite=Lax" in made
    person.client.base_url = "https://testserver"
    made = person.client.get("/").headers["set-cookie"]
    assert made.startswith("__Host-dialens-")
    assert "Path=/;" in made
    assert "Secure" in made


def test_over_https_people_and_researchers_are_known_by_cookies_of_this_host(
    make: Make, visit: Visit
) -> None:
    for root, prefix in (("", "__Host-"), ("/lab/tea", "__Secure-")):
        site = make(tea())
        person = visit(Site.of(site.study, site.store, password=PASSWORD, root=root))
        person.client.base_url = "https://testserver"
        person.client.get(f"{root}/")
        page = person.come(f"{root}/researcher/login")
        form = page.hidden | {"password": PASSWORD}
        assert person.client.post(page.action, data=form).url.path == f"{root}/researcher"
        names = [cookie.name for cookie in person.client.cookies.jar]
        assert len(names) == 3
        assert all(name.startswith(prefix) for name in names)


def test_in_a_frame_a_cookie_has_a_partition_of_its_own(make: Make, visit: Visit) -> None:
    person = visit(make(tea(recruiter={"kind": "mturk"})))
    person.client.base_url = "https://testserver"
    made = person.client.get("/?assignmentId=A&workerId=W").headers["set-cookie"]
    assert "SameSite=None; Partitioned; Secure" in made


# Script injection


def test_hostile_items_are_only_text(make: Make, visit: Visit) -> None:
    item = {
        "id": HOSTILE,
        "context": [{HOSTILE: HOSTILE}],
        "responses": {"a": HOSTILE, "b": HOSTILE},
        "standard": HOSTILE,
    }
    quality = {"label": HOSTILE, "definition": HOSTILE, "question": HOSTILE}
    site = make(
        tea(
            title=HOSTILE,
            items={"inline": [item]},
            qualities={
                "one": quality | {"instrument": "magnitude"},
                "two": quality
                | {"instrument": {"kind": "slider", "low_label": HOSTILE, "high_label": HOSTILE}},
                "three": quality
                | {"instrument": {"kind": "likert", "labels": {1: HOSTILE, 5: HOSTILE}}},
                "four": quality | {"instrument": {"kind": "pairwise", "tie_label": HOSTILE}},
            },
            factors={},
            presentation={
                "anchor": "both",
                "anchor_value": {"one": 100, "two": 50, "three": 3},
                "standard_label": HOSTILE,
                "response_label": HOSTILE,
            },
            consent={"text": HOSTILE, "title": HOSTILE, "warning": HOSTILE, "agree": HOSTILE},
            instructions={
                "text": HOSTILE,
                "warning": HOSTILE,
                "examples": [
                    {"context": [HOSTILE], "response": HOSTILE, "verdict": HOSTILE, "why": HOSTILE}
                ],
            },
            completion={"message": HOSTILE, "title": HOSTILE},
        )
    )
    person = visit(site)
    page = person.begin()
    seen = [person.client.get("/researcher/login").text]
    while "the-code" not in page.html:
        seen.append(page.html)
        page = person.answer(page)
    for html in (*seen, page.html):
        assert "<script>" not in html
        assert "<img" not in html
        assert "--49" not in html  # nobody computes in what comes from outside
    assert any("&lt;script&gt;alert(1)" in html for html in seen)


def test_hostile_answers_are_only_text(make: Make, visit: Visit) -> None:
    asked = {"kind": "free_text", "prompt": "Anything?", "required": True, "shortest": 400}
    site = make(tea(questionnaires={"before": [{"title": "You", "questions": {"say": asked}}]}))
    person = visit(site)
    page = person.answer(person.begin())
    back = person.client.post("/study", data=page.hidden | {"a:say": HOSTILE})
    assert back.status_code == 422  # too short: the page comes again, with what was written
    assert "<script>alert" not in back.text
    assert "&lt;script&gt;alert(1)" in back.text
    long = HOSTILE * 8
    person.client.post("/study", data=page.hidden | {"a:say": long})
    assert json.loads(site.store.answers_frame(site.study.hash)["value"][-1]) == long


def test_hostile_addresses_are_not_repeated(make: Make, visit: Visit) -> None:
    person = visit(make(tea(recruiter={"kind": "mturk"})))
    for path in (
        f"/?assignmentId=A&workerId={HOSTILE}",
        f"/?assignmentId=A&workerId=W&x={HOSTILE}",
        f"/nowhere/{HOSTILE}",
        f"/researcher/preview/screen?cell={HOSTILE}",
        f"/assets/{HOSTILE}",
        f"/api/preview/{HOSTILE}",
    ):
        assert "<script>alert" not in person.client.get(path).text


def test_every_page_has_the_strict_headers(site: Site, visit: Visit) -> None:
    person = visit(site)
    wanted = security_headers()
    assert "unsafe" not in wanted["content-security-policy"]
    for path in (
        "/",
        "/healthz",
        "/nowhere",
        "/researcher/login",
        "/api/cells",
        "/api/openapi.json",
    ):
        got = person.client.get(path).headers
        assert {name: got.get(name) for name in wanted} == wanted, path


# SQL injection


@pytest.mark.parametrize("text", ["' OR 1=1 --", "'; DROP TABLE answers; --", '" OR ""="'])
def test_sql_stays_text(site: Site, visit: Visit, text: str) -> None:
    person = visit(site)
    page = person.begin()
    form = person.filled(page)
    for name in ("screen", "index", "key"):
        person.client.post("/study", data=form | {name: text})
    sent = {"page": "p", "screen": text, "ticket": page.hidden["ticket"]}
    event = {"kind": "change", "at": "2026-01-01T00:00:00Z", "serial": 0, "field": text}
    answer = person.client.post("/events", json=sent | {"events": [event]})
    assert answer.status_code == 204
    assert site.store.events_frame(site.study.hash)["field"].to_list() == [text]
    api = {"authorization": f"Bearer {PASSWORD}"}
    url = f"/api/cells/{quote(text)}"
    assert person.client.put(url, json={"state": "closed"}, headers=api).status_code == 404
    assert [cell.state for cell in site.store.progress(site.study.hash)] == ["open"] * 4
    # Somebody whose id it is takes part like anybody else (ids have no blanks).
    other = visit(site)
    other.answer(other.begin(f"/?participant={quote(text.replace(' ', ''))}"))
    assert sum(cell.live for cell in site.store.progress(site.study.hash)) == 2


# Oversized and odd bodies


def test_too_large_a_body_is_refused(site: Site, visit: Visit) -> None:
    person = visit(site, most_bytes=10_000)
    page = person.begin()
    form = person.filled(page)
    assert person.client.post("/study", data=form | {"x": "y" * 10_001}).status_code == 413

    def trickle() -> Iterator[bytes]:  # no length is told beforehand
        for _ in range(20):
            yield b"x" * 1_000

    kind = {"content-type": "application/x-www-form-urlencoded"}
    sent = person.client.post("/study", content=trickle(), headers=kind)
    assert sent.status_code == 413
    assert person.client.post("/study", data=form).status_code == 200


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"\xff\xfe=1", "application/x-www-form-urlencoded", 400),
        (b"a=%ff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a%d=1" % n for n in range(2_000)), "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"", "", 415),
    ],
)
def test_what_is_no_form_is_refused(
    site: Site, visit: Visit, body: bytes, kind: str, status: int
) -> None:
    person = visit(site)
    person.begin()
    sent = person.client.post("/study", content=body, headers={"content-type": kind})
    assert sent.status_code == status


def test_odd_events_are_refused(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.begin()
    good = {"ticket": page.hidden["ticket"], "page": "p", "screen": "consent", "events": []}
    event = {"kind": "change", "at": "2026-01-01T00:00:00Z", "serial": 0}
    for change in (
        {"page": "a b"},
        {"page": "p" * 65},
        {"screen": "s" * 201},
        {"events": [event | {"kind": "party"}]},
        {"events": [event | {"at": "yesterday"}]},
        {"events": [event | {"at": "0001-01-01T00:00:00Z"}]},
        {"events": [event | {"serial": -1}]},
        {"events": [event | {"serial": 2**40}]},
        {"events": [event] * 501},
        {"more": 1},
    ):
        assert person.client.post("/events", json=good | change).status_code == 400, change
    assert person.client.post("/events", json=good | {"events": [event]}).status_code == 204


# Paths


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../study_app.py",
        "/assets/..%2fstudy_app.py",
        "/assets/%2e%2e/%2e%2e/site.py",
        "/assets/....//site.py",
        "/assets/%2fetc%2fpasswd",
        "/assets/screen.html.j2",
        "/assets/study.css%00.py",
        "/../../etc/passwd",
        "/study.db",
        "/study.db.key",
    ],
)
def test_no_path_leads_to_a_file(site: Site, visit: Visit, path: str) -> None:
    person = visit(site)
    got = person.client.get(path)
    assert got.status_code == 404
    assert "import" not in got.text
    assert "root:" not in got.text


def test_redirects_stay_here(site: Site, visit: Visit) -> None:
    person = visit(site)
    for path in ("//evil.example/", "/study?next=https://evil.example", "/\\evil.example"):
        got = person.client.get(path, follow_redirects=False)
        assert "evil" not in got.headers.get("location", "")


# Guessing the password


def test_the_password_is_not_guessed_by_trying(site: Site, visit: Visit) -> None:
    person = visit(site)
    page = person.come("/researcher/login")
    seen = []
    for number in range(8):
        sent = person.client.post(page.action, data=page.hidden | {"password": f"guess {number}"})
        seen.append(sent.status_code)
        if sent.status_code != 429:
            page = Page(sent.text)
    assert seen == [401] * 5 + [429] * 3
    # Not even the right one is looked at now, by whichever door.
    api = {"authorization": f"Bearer {PASSWORD}"}
    told = person.client.get("/api/cells", headers=api)
    assert told.status_code == 429
    assert int(told.headers["retry-after"]) > 0


def test_patience_returns_and_addresses_are_counted_apart(site: Site) -> None:
    clock = Clock()
    tries = LoginTries(site.store.database, site.store.secrets, clock)
    door = Password("correct horse battery", tries)
    for _ in range(5):
        assert not door.accepts("wrong", "10.0.0.1")
    with pytest.raises(TooManyTries):
        door.accepts("correct horse battery", "10.0.0.1")
    assert door.accepts("correct horse battery", "10.0.0.2")
    clock.later(301)
    assert door.accepts("correct horse battery", "10.0.0.1")


def test_many_machines_guess_no_faster(site: Site) -> None:
    tries = LoginTries(site.store.database, site.store.secrets, Clock())
    door = Password("correct horse battery", tries)
    for number in range(100):
        assert not door.accepts("wrong", f"10.0.{number}.1")
    with pytest.raises(TooManyTries):
        door.accepts("wrong", "10.9.9.9")
