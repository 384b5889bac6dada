"""What a review of the server found: each of these failed before."""

from __future__ import annotations

import logging
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError
from starlette.routing import Route
from starlette.testclient import TestClient
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dialens.cli.study._serve import _cautions
from dialens.studies.store import LoginTries, OperationStore, Store
from dialens.studies.store._tables import metadata
from dialens.web import MOST_CONNECTIONS, Site, study_app
from dialens.web._desk import Desk, Platform
from dialens.web._logging import Seldom, WithoutQueries
from dialens.web._operation_api import operation_routes
from dialens.web._password import Password
from dialens.web._person_pages import people_routes
from dialens.web._serving import PatientProtocol
from tests.other_servers import free_port
from tests.web.conftest import KEY, PASSWORD, Make, Visit, log_in, running, tea
from tests.web.people import Page, Person
from tests.web.servers import PATIENCE_S, wait_for, write_study
from tests.web.test_gates import ONE_CELL

FILES = 400
"""The limit on open files that the flooded server is given."""


@contextmanager
def served(folder: Path, *options: str, files: int | None = None) -> Iterator[tuple[int, Path]]:
    """`dialens study serve` with a log, and perhaps with few open files."""
    port, log = free_port(), folder.parent / "server.log"

    def limit() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = ["study", "serve", str(folder), "--port", str(port)]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "dialens", *command, *options],
            env=os.environ | {"DIALENS_STUDY_PASSWORD": PASSWORD, "PYTHONUNBUFFERED": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
            preexec_fn=limit,
        )
    try:
        wait_for(port, lambda: process.poll() is None)
        yield port, log
    finally:
        process.terminate()
        assert process.wait(60) in (0, -signal.SIGKILL)


@pytest.mark.slow
def test_more_connections_than_open_files_do_not_take_the_server_down(tmp_path: Path) -> None:
    """The limit is 400; 500 strangers connect and trickle. Before: no answer, megabytes of log."""
    folder = write_study(tmp_path / "tea", tea())
    with served(folder, files=FILES) as (port, log), ExitStack() as open_:
        for _ in range(FILES + 100):
            line = open_.enter_context(socket.create_connection(("127.0.0.1", port)))
            try:
                line.sendall(b"POST /begin HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nt")
            except (BrokenPipeError, ConnectionResetError):
                continue  # hung up on: there was no room
        until, status = time.monotonic() + PATIENCE_S, 0
        while status != 200 and time.monotonic() < until:
            try:
                status = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30).status_code
            except httpx.TransportError:
                time.sleep(0.2)
        assert status == 200
        said = log.read_text()
    assert "out of system resource" not in said
    assert re.search(r"room for \d+ connections a process", said)
    assert len(said) < 200_000


@pytest.mark.slow
def test_workers_do_not_outlive_their_supervisor(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "tea", tea())
    port = free_port()
    command = ["study", "serve", str(folder), "--port", str(port), "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dialens", *command],
        env=os.environ | {"DIALENS_STUDY_PASSWORD": PASSWORD},
        stdout=subprocess.DEVNULL,
    )
    with process:
        wait_for(port, lambda: process.poll() is None)
        address = f"http://127.0.0.1:{port}/healthz"
        assert httpx.get(address, timeout=PATIENCE_S).status_code == 200
        process.kill()
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.2)
    raise AssertionError("somebody still holds the port")


@pytest.mark.slow
def test_requests_are_logged_with_a_time_and_without_who_it_was(tmp_path: Path) -> None:
    """And a wrong password is seen; being asked to stop is no failure (see `served`)."""
    folder = write_study(tmp_path / "tea", tea())
    with served(folder, "--log", "--host", "0.0.0.0") as (port, log):
        address = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{address}/?PROLIFIC_PID=5f00bb").status_code == 200
        wrong = {"authorization": "Bearer not the password", "x-forwarded-for": "203.0.113.9"}
        assert httpx.get(f"{address}/api/study", headers=wrong).status_code == 401
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(
                b"POST /begin HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n"
                b"Content-Type: application/x-www-form-urlencoded\r\n\r\nticket"
            )
        until = time.monotonic() + PATIENCE_S
        assert httpx.get(f"{address}/healthz").status_code == 200  # after the upload that broke off
        while "GET /healthz" not in log.read_text() and time.monotonic() < until:
            time.sleep(0.05)
        said = log.read_text()
    assert re.search(
        r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4} INFO GET / 200$", said, re.MULTILINE
    )
    assert "5f00bb" not in said
    # No proxy was named, so that nobody is believed who says where a request comes from.
    assert re.search(r"WARNING A wrong password .* came from 127\.0\.0\.1\.", said)
    assert "203.0.113.9" not in said
    assert "not the password" not in said
    assert "Traceback" not in said
    assert "without encryption" in said


def test_requests_are_logged_without_pseudonyms_and_codes(site: Site) -> None:
    """They stood in the paths: `GET /api/codes/FCE7E8D98F`."""
    people = people_routes(Desk(site, Platform()))
    templates = [
        f"{prefix}{route.path}"
        for prefix, router in (("", people), ("/api", operation_routes(site)))
        for route in router.routes
        if isinstance(route, Route) and {"participant", "code"} & set(route.param_convertors)
    ]
    assert len(templates) >= 6
    assert "/api/codes/{code}" in templates
    for template in templates:
        path = re.sub(r"\{(participant|code)\}", "FCE7E8D98F", template)
        record = logging.LogRecord("x", 20, "", 0, "", None, None)
        record.args = ("10.0.0.1:5000", "GET", f"/tea{path}", "1.1", 200)
        said = WithoutQueries("%(message)s").format(record)
        assert said == f"GET /tea{re.sub(r'{.*?}', '…', template)} 200"


def test_errors_of_the_database_do_not_tell_answers(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'study.db'}") as store:
        said = {"name": "a secret answer"}
        with store.database.reading() as connection, pytest.raises(DBAPIError) as error:
            connection.execute(text("INSERT INTO settings (name) VALUES (:name)"), said)
    assert "a secret answer" not in str(error.value)


@pytest.mark.parametrize("address", ["/researcher/", "/researcher/login/", "/study/"])
def test_nobody_is_sent_to_where_the_request_says_we_are(
    site: Site, visit: Visit, address: str
) -> None:
    client = visit(site).client
    answer = client.get(address, headers={"host": "evil.example"}, follow_redirects=False)
    assert "evil" not in answer.headers.get("location", "")
    if address.startswith("/researcher"):
        assert (answer.status_code, answer.headers["location"]) == (307, "/researcher")


def test_head_is_answered_as_get_without_a_body(site: Site) -> None:
    with running(study_app(site), PatientProtocol) as port:
        answer = httpx.head(f"http://127.0.0.1:{port}/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert "content-security-policy" in answer.headers


def test_gold_items_look_like_the_others_to_a_program_too(make: Make, visit: Visit) -> None:
    study = tea()
    gold = {**study["items"]["inline"][0], "id": "gold"}
    better, worse = list(gold["responses"])[:2]
    quality = next(iter(study["qualities"]))
    expected = {"quality": quality, "response": better, "above": worse}
    site = make({**study, "checks": {"gold": [{**gold, "expect": [expected]}]}})
    person = visit(site)
    page = person.begin()
    seen = []
    while "the-code" not in page.html:
        kind = re.search(r'<main id="main" class="([^"]*)"', page.html)
        seen.append((page.hidden["screen"], kind.group(1) if kind else ""))
        page = person.answer(page)
    kinds = {kind for screen, kind in seen if screen.startswith("rate")}
    assert len(kinds) == 1
    assert not any("check" in kind or "gold" in screen for screen, kind in seen)


def test_the_studys_name_is_told_to_nobody(site: Site, visit: Visit) -> None:
    client = visit(site).client
    for address in ("/healthz", "/api/openapi.json", "/"):
        answer = client.get(address)
        told = answer.text.replace(site.study.design.title, "") + str(answer.headers)
        assert f'"{site.study.name}"' not in told
    assert not any(site.study.name in name for name in client.cookies)


def test_the_same_trouble_has_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    seldom = Seldom(logging.getLogger("seldom"), clock=lambda: now[0])
    for _ in range(3):
        seldom.warn("disk", "The disk is full.")
    seldom.warn("other", "Something else.")
    now[0] = 61.0
    seldom.warn("disk", "The disk is full.")
    assert [one.getMessage() for one in caplog.records] == [
        "The disk is full.",
        "Something else.",
        "The disk is full. (2 more since the last such line)",
    ]


def test_who_logs_out_is_out_with_every_copy_of_the_cookie(site: Site, visit: Visit) -> None:
    person = visit(site)
    client = log_in(person)
    copied = dict(client.cookies)
    page = person.come("/researcher")
    out = client.post("/researcher/logout", data={"ticket": page.hidden["ticket"]})
    assert out.url.path == "/researcher/login"
    thief = visit(site).client
    thief.cookies.update(copied)
    for address in ("/researcher", "/researcher/export.zip"):
        assert thief.get(address, follow_redirects=False).headers["location"] == "/researcher/login"
    assert log_in(visit(site)).get("/researcher").url.path == "/researcher"  # others may come


def test_a_new_password_ends_all_logins(site: Site, visit: Visit) -> None:
    copied = dict(log_in(visit(site)).cookies)
    for password, path in ((PASSWORD, "/researcher"), ("another password", "/researcher/login")):
        again = Site.of(site.study, site.store, password=password)
        thief = visit(again).client
        thief.cookies.update(copied)
        assert thief.get("/researcher").url.path == path


def test_declining_in_a_second_attempt_deletes_the_first_too(make: Make, visit: Visit) -> None:
    """The page says that nothing was kept; five answers and the worker's id were."""
    site = make(tea(resume="restart", recruiter={"kind": "prolific"}))
    address = "/?PROLIFIC_PID=5f00bb&STUDY_ID=s&SESSION_ID=t"
    person = visit(site)
    page = person.begin(address)
    for _ in range(3):
        page = person.answer(page)
    again = visit(site)
    second = again.begin(address)
    assert second.hidden["screen"] == "consent"
    said = again.client.post("/study", data=second.hidden | {"a:consent": "no"})
    assert "Nothing about you was kept" in said.text
    assert site.store.answers_frame(site.study.hash).is_empty()
    assert site.store.participants_of("prolific", "5f00bb") == {}
    assert sum(cell.live for cell in site.store.progress(site.study.hash)) == 0


def test_one_address_cannot_take_all_places(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """One script took all 592 places of a study in 17 seconds."""
    site = replace(make(tea()), per_address=3)
    app = study_app(site)

    def begins(address: str) -> int:
        client = TestClient(app, client=(address, 5000))
        page = Page(client.get("/").text)
        return client.post("/begin", data=page.hidden, follow_redirects=False).status_code

    assert [begins("192.0.2.1") for _ in range(5)] == [303, 303, 303, 429, 429]
    assert begins("192.0.2.2") == 303
    assert [begins(f"2001:db8::{n}") for n in range(5)] == [303, 303, 303, 429, 429]
    assert [begins("127.0.0.1") for _ in range(5)] == [303] * 5  # a proxy that is not named
    assert "began from 192.0.2.1 within 10 minutes" in caplog.text


@pytest.mark.parametrize(
    ("sender", "forwarded", "let_in"),
    [
        ("192.0.2.1", "198.51.100.{}", 3),  # nobody whom we know: what they say is not believed
        ("10.0.0.9", "198.51.100.{}", 6),  # the proxy, and six people behind it
        ("10.0.0.9", "198.51.100.{}, 203.0.113.7", 3),  # one, who says that they are others
    ],
)
def test_one_script_is_not_many_by_saying_so(
    make: Make, sender: str, forwarded: str, let_in: int
) -> None:
    """`X-Forwarded-For` counts if the proxy that `--proxy` names sent it, and its last entry."""
    site = replace(make(tea()), per_address=3)
    app: Any = study_app(site)
    behind: Any = ProxyHeadersMiddleware(app, trusted_hosts="10.0.0.9")
    seen = []
    for number in range(6):
        client = TestClient(behind, client=(sender, 5000))
        client.headers["x-forwarded-for"] = forwarded.format(number)
        page = Page(client.get("/").text)
        seen.append(client.post("/begin", data=page.hidden, follow_redirects=False).status_code)
    assert seen == [303] * let_in + [429] * (6 - let_in)
    bare = TestClient(study_app(replace(site, per_address=1)), client=(sender, 5000))
    for number in range(2):  # without --proxy nothing of it is read
        bare.cookies.clear()
        bare.headers["x-forwarded-for"] = f"198.51.100.{number}"
        page = Page(bare.get("/").text)
        sent = bare.post("/begin", data=page.hidden, follow_redirects=False)
        assert sent.status_code == (303, 429)[number]


@pytest.mark.parametrize(
    ("host", "proxy", "warned"),
    [
        ("0.0.0.0", None, True),
        ("::", None, True),
        ("192.0.2.7", None, True),
        ("0.0.0.0", "10.0.0.9", False),
        ("127.0.0.1", None, False),
        ("::1", None, False),
    ],
)
def test_serving_to_others_without_a_proxy_is_warned_of(
    host: str, proxy: str | None, warned: bool
) -> None:
    said = list(_cautions(host, proxy, MOST_CONNECTIONS))
    assert ["without encryption" in one for one in said] == [True] * warned


def test_who_withdraws_at_whichever_screen_leaves_nothing(make: Make, visit: Visit) -> None:
    shown = {**ONE_CELL["presentation"], "deadline": 600}
    site = make(tea(**ONE_CELL | {"recruiter": {"kind": "prolific"}, "presentation": shown}))
    screens = len(site.planner.screens(site.study.cells[0].name, 0))
    assert screens >= 5
    for answered in range(1, screens - 1):
        person = visit(site)
        page = person.begin(f"/?PROLIFIC_PID=5f{answered}&SESSION_ID=x{answered}")
        for _ in range(answered):
            page = person.answer(page)
        asked = Page(person.client.get("/withdraw").text)
        form = asked.hidden | {"answers": "delete"}
        assert person.client.post("/withdraw", data=form).url.path == "/withdrawn"
        assert person.client.get("/study").url.path == "/"
        with site.store.database.reading() as connection:
            left = {
                table.name: connection.execute(select(func.count()).select_from(table)).scalar()
                for table in metadata.sorted_tables
                if table.name not in ("settings", "studies", "cells", "departures")
            }
        assert set(left.values()) == {0}, (answered, left)


def test_events_have_a_quota(site: Site, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialens.web._participant._MOST_EVENTS", 3)
    person = visit(site)
    page = person.begin()
    sent = {"ticket": page.hidden["ticket"], "page": "p", "screen": "consent"}

    def event(serial: int) -> dict[str, object]:
        return {"serial": serial, "kind": "hidden", "at": "2026-11-16T12:00:00Z"}

    codes = [
        person.client.post("/events", json=sent | {"events": [event(n)]}).status_code
        for n in range(5)
    ]
    assert codes == [204, 204, 204, 413, 413]
    assert site.store.events_frame(site.study.hash).height == 3


def test_who_may_only_look_changes_nothing_and_what_is_done_is_logged(
    make: Make, visit: Visit, caplog: pytest.LogCaptureFixture
) -> None:
    look = "only looking around"
    site = make(tea())
    tries = LoginTries(site.store.database, site.store.secrets, site.clock)
    doors = Password(PASSWORD, tries, viewer=look)
    site = Site.of(site.study, site.store, password=doors)

    def enter(who: str, password: str) -> Person:
        person = visit(site)
        page = person.come("/researcher/login")
        form = page.hidden | {"password": password, "who": who}
        assert person.client.post(page.action, data=form).url.path == "/researcher"
        return person

    visit(site).begin()
    (known,) = OperationStore(site.store, "test").participants_frame(site.study.hash)["rater"]
    viewer, owner = enter("Vera", look), enter("Olga", PASSWORD)
    page = viewer.come("/researcher")
    assert "You may look, and change nothing" in page.html
    for path in ("", "/settings", f"/people/{known}"):
        # Nothing that would answer 403: one form is left, to log out.
        sends = re.compile(r'method="post" action="([^"]+)"')
        assert set(sends.findall(viewer.come(f"/researcher{path}").html)) == {"/researcher/logout"}
        assert len(set(sends.findall(owner.come(f"/researcher{path}").html))) > 1
    steer = {"cell": site.study.cells[0].name, "state": "paused"}
    for path in ("/researcher/cells", "/researcher/settings"):
        sent = viewer.client.post(path, data=steer | {"ticket": page.hidden["ticket"]})
        assert (sent.status_code, "change nothing" in sent.text) == (403, True)
    for path in ("/researcher/export.zip", "/researcher/people.csv"):
        assert viewer.client.get(path).status_code == 403
    assert "people.csv" not in viewer.come("/researcher/people").html
    assert "people.csv" in owner.come("/researcher/people").html
    assert "Vera may only look, and tried to do more." in caplog.text
    ticket = owner.come("/researcher").hidden["ticket"]
    assert (
        owner.client.post("/researcher/cells", data=steer | {"ticket": ticket}).status_code == 200
    )
    assert owner.client.get("/researcher/export.zip").status_code == 200
    head = {"authorization": f"Bearer {look}"}
    assert viewer.client.get("/api/cells", headers=head).status_code == 200
    change = viewer.client.put(f"/api/cells/{steer['cell']}", json={"state": "open"}, headers=head)
    assert change.status_code == 403
    assert viewer.client.get("/api/export.zip", headers=head).status_code == 403
    head = {"authorization": f"Bearer {PASSWORD}"}
    assert owner.client.get("/api/export.zip", headers=head).status_code == 200
    log = OperationStore(site.store, "command").changes_frame(site.study.hash)
    assert log.select("who", "what").rows() == [
        ("Vera", "logged in to look"),
        ("Olga", "logged in"),
        ("Olga", f"cell {steer['cell']}"),
        ("Olga", "data exported"),
        (None, "data exported"),
    ]
    shown = owner.come("/researcher/settings").html
    assert "Vera" in shown
    assert "data exported" in shown


def test_failed_logins_count_for_all_processes_of_a_server(
    site: Site, visit: Visit, tmp_path: Path
) -> None:
    """With four workers somebody had four times as many tries."""
    file = site.store.database.file
    with ExitStack() as stack:
        stores = [
            stack.enter_context(Store.open(f"sqlite:///{file}", secrets=KEY)) for _ in range(3)
        ]
        sites = [site, *(Site.of(site.study, one, password=PASSWORD) for one in stores)]
        clients = [visit(one).client for one in sites]

        def tries(password: str) -> list[int]:
            head = {"authorization": f"Bearer {password}"}
            return [one.get("/api/study", headers=head).status_code for one in clients]

        assert tries("not the password") == [401] * 4
        assert tries("not the password") == [401, 429, 429, 429]
        assert tries(PASSWORD) == [429] * 4
