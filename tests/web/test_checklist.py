"""What docs/security.md calls met and no other test shows."""

from __future__ import annotations

import logging
import re
import socket

import pytest
from itsdangerous import TimestampSigner

from dialens.web import Site, study_app
from dialens.web._cookies import RESEARCHER_HOURS
from dialens.web._logging import OneLine, WithoutQueries
from dialens.web._pages import ASSETS, asset
from dialens.web._serving import PatientProtocol
from tests.web.conftest import Visit, log_in, running

PAGES = ("/", "/nowhere", "/healthz", "/researcher/login", "/api/cells", "/api/openapi.json")


def test_over_https_everything_asks_for_https_from_then_on(site: Site, visit: Visit) -> None:
    client = visit(site).client
    assert "strict-transport-security" not in client.get("/").headers
    client.base_url = "https://testserver"
    for path in (*PAGES, "/assets/study.css"):
        assert client.get(path).headers["strict-transport-security"] == "max-age=31536000", path


def test_other_origins_are_allowed_nothing(site: Site, visit: Visit) -> None:
    client = visit(site).client
    asking = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for path in PAGES:
        for answer in (client.get(path, headers=asking), client.options(path, headers=asking)):
            assert not [name for name in answer.headers if name.startswith("access-control")]


def test_what_changes_something_is_no_get(site: Site, visit: Visit) -> None:
    client = visit(site).client
    for path in (
        "/begin",
        "/events",
        "/researcher/cells",
        "/researcher/logout",
        "/researcher/people/p1/excluded",
        "/researcher/people/p1/paid",
    ):
        assert client.get(path).status_code == 405, path
    for path in ("/", "/study", "/researcher", "/api/cells", "/assets/study.css"):
        assert client.request("TRACE", path).status_code == 405, path


def test_of_two_values_the_first_counts(site: Site, visit: Visit) -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    for order, status in ((("{}", "x"), 303), (("x", "{}"), 403)):
        person = visit(site)
        ticket = person.come().hidden["ticket"]
        body = "&".join(f"ticket={value.format(ticket)}" for value in order)
        sent = person.client.post("/begin", content=body, headers=kind, follow_redirects=False)
        assert sent.status_code == status


def test_every_text_names_its_encoding(site: Site, visit: Visit) -> None:
    client = visit(site).client
    for path in (*PAGES, *(f"/assets/{name}" for name in ASSETS)):
        kind = client.get(path).headers["content-type"]
        assert not kind.startswith("text/") or "charset=utf-8" in kind.lower(), (path, kind)


def test_two_lengths_are_no_second_request(site: Site) -> None:
    """Before, what followed the end of the chunks was answered as a request of its own."""
    hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    body = b"0\r\n\r\n" + hidden
    head = (
        b"POST /begin HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n"
        + f"Content-Length: {len(body)}\r\n\r\n".encode()
    )
    with (
        running(study_app(site), PatientProtocol) as port,
        socket.create_connection(("127.0.0.1", port)) as line,
    ):
        line.settimeout(60)
        line.sendall(head + body)
        seen = b""
        while part := line.recv(65_536):
            seen += part
    assert seen.startswith(b"HTTP/1.1 400 ")
    assert seen.count(b"HTTP/1.1 ") == 1


def test_passwords_may_be_long_and_of_any_characters(site: Site, visit: Visit) -> None:
    chosen = "  Grün & 绿 tea, with spaces: " + "x" * 64
    again = Site.of(site.study, site.store, password=chosen)
    person = visit(again)
    page = person.come("/researcher/login")
    assert re.search(r'<input type="password"[^>]* autocomplete="current-password"', page.html)
    for wrong in (chosen.lower(), chosen.strip(), chosen[:-1]):
        page = person.come("/researcher/login")
        sent = person.client.post(page.action, data=page.hidden | {"password": wrong})
        assert sent.status_code == 401
    page = person.come("/researcher/login")
    sent = person.client.post(page.action, data=page.hidden | {"password": chosen})
    assert sent.url.path == "/researcher"


def test_the_login_of_a_researcher_ends_after_twelve_hours(
    site: Site, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = log_in(visit(site))
    now = TimestampSigner.get_timestamp
    for hours, path in ((RESEARCHER_HOURS - 1, "/researcher"), (13, "/researcher/login")):
        later = hours * 3600
        monkeypatch.setattr(
            TimestampSigner, "get_timestamp", lambda signer, later=later: now(signer) + later
        )
        assert client.get("/researcher").url.path == path


def test_every_page_of_the_dashboard_has_a_way_out(site: Site, visit: Visit) -> None:
    client = log_in(visit(site))
    for path in ("", "/people", "/screens", "/settings"):
        assert 'action="/researcher/logout"' in client.get(f"/researcher{path}").text, path


def test_nothing_about_people_is_kept_by_caches(site: Site, visit: Visit) -> None:
    person = visit(site)
    person.begin()
    log_in(person)
    for path in (*PAGES, "/study", "/researcher", "/researcher/people", "/researcher/people.csv"):
        assert person.client.get(path).headers["cache-control"] == "no-store", path


def test_what_fails_tells_a_visitor_nothing(
    site: Site, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = visit(site)
    person.begin()

    def fails(*_: object) -> None:
        raise RuntimeError("the secret is 4711")

    monkeypatch.setattr(type(site), "screens", fails)
    for accepted in ("text/html", "application/json"):
        answer = person.client.get("/study", headers={"accept": accepted})
        assert answer.status_code == 500
        assert "4711" not in answer.text
        assert "Traceback" not in answer.text
        assert answer.headers["cache-control"] == "no-store"


def test_nobody_writes_lines_of_their_own_into_the_log() -> None:
    forged = "/x\n2026-01-01 00:00:00+0000 INFO all is well\x1b[2J\u2028"
    record = logging.LogRecord("x", 30, "", 0, "refused: %s", (forged,), None)
    request = logging.LogRecord("x", 20, "", 0, "", None, None)
    request.args = ("10.0.0.1:5000", "GET", forged, "1.1", 200)
    for line in (
        OneLine("%(message)s").format(record),
        WithoutQueries("%(message)s").format(request),
    ):
        assert len(line.splitlines()) == 1
        assert "\x1b" not in line


def test_scripts_compare_strictly() -> None:
    """`!= null` alone is allowed, which asks for null and undefined."""
    for name in ASSETS:
        if name.endswith(".js"):
            text = asset(name).decode().replace("!= null", "")
            loose = re.findall(r"[^=!<>]==[^=].*|!=[^=].*", text)
            assert not loose, (name, loose)
