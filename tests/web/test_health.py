"""What a server says, and writes into its log, while its database cannot be written."""

from __future__ import annotations

import logging
import threading
from html import unescape

import pytest
from sqlalchemy import Connection, event
from starlette.testclient import TestClient

from dialens.studies.texts import Texts
from dialens.web import Index, ServedStudy, Site, studies_app
from tests.web.conftest import PASSWORD, Make, Visit


def test_a_server_that_cannot_write_says_so(
    make: Make, visit: Visit, caplog: pytest.LogCaptureFixture
) -> None:
    site = make()
    writable = _writable(site)
    person = visit(site)
    welcome = person.come("/")
    writable.clear()
    answer = person.client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, "unwell")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert person.client.post("/begin", data=welcome.hidden).status_code == 503
    assert "/begin was answered with 503" in caplog.text
    assert "readonly" in caplog.text


def test_so_does_a_server_of_several_studies(make: Make) -> None:
    site = make()
    writable = _writable(site)
    served = ServedStudy(site.study, site.store)
    app = studies_app(Index.of([served], password=PASSWORD))
    with TestClient(app, base_url="https://testserver") as client:
        assert client.get("/healthz").json() == {"status": "ok"}
    other = studies_app(Index.of([served], password=PASSWORD))
    with TestClient(other, base_url="https://testserver") as client:
        writable.clear()
        assert client.get("/healthz").status_code == 503


def test_a_database_that_is_deleted_under_the_server(
    make: Make, visit: Visit, caplog: pytest.LogCaptureFixture
) -> None:
    """Answers were acknowledged, and gone with the file; `/healthz` said that all was well."""
    site = make()
    person, late = visit(site), visit(site)
    page, welcome = person.begin(), late.come()
    filled = person.filled(page)
    assert person.client.get("/healthz").status_code == 200  # which is believed for a while
    file = site.store.database.file
    assert file is not None
    away = file.rename(file.with_suffix(".away"))
    with caplog.at_level(logging.WARNING):
        refused = person.client.post("/study", data=filled)
        assert refused.status_code == 503
        assert Texts.of("en").say("unavailable") in unescape(refused.text)
        assert late.client.post("/begin", data=welcome.hidden).status_code == 503
        health = person.client.get("/healthz")
        assert (health.status_code, health.json()["status"]) == (503, "unwell")
        assert str(file) not in health.text + refused.text
    said = [one.getMessage() for one in caplog.records if "503" in one.getMessage()]
    assert len(said) == 1
    assert f"{file} was deleted or moved" in said[0]
    away.rename(file)
    assert person.client.get("/healthz").status_code == 200
    assert person.client.post("/study", data=filled).status_code == 200
    assert person.session.index == 1


def _writable(site: Site) -> threading.Event:
    """What SQLite writes as long as it is set, and refuses after, as on a read-only file system.

    To be asked for before a server starts: its threads go through the listeners all the time.
    """
    writable = threading.Event()
    writable.set()

    def look(connection: Connection) -> None:
        if not writable.is_set():
            connection.exec_driver_sql("PRAGMA query_only=ON")

    event.listen(site.store.database.engine, "begin", look, insert=True)
    return writable
