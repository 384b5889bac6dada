"""What a server says, and writes into its log, while its database cannot be written."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from dialens.web import Index, ServedStudy, Site, studies_app
from tests.web.conftest import PASSWORD, Make, Visit


def test_a_server_that_cannot_write_says_so(
    make: Make, visit: Visit, caplog: pytest.LogCaptureFixture
) -> None:
    site = make()
    person = visit(site)
    welcome = person.come("/")
    _forbid(site)
    answer = person.client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, "unwell")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert person.client.post("/begin", data=welcome.hidden).status_code == 503
    assert "/begin was answered with 503" in caplog.text
    assert "readonly" in caplog.text


def test_so_does_a_server_of_several_studies(make: Make) -> None:
    site = make()
    served = ServedStudy(site.study, site.store)
    app = studies_app(Index.of([served], password=PASSWORD))
    with TestClient(app, base_url="https://testserver") as client:
        assert client.get("/healthz").json() == {"status": "ok"}
    other = studies_app(Index.of([served], password=PASSWORD))
    with TestClient(other, base_url="https://testserver") as client:
        _forbid(site)
        assert client.get("/healthz").status_code == 503


def _forbid(site: Site) -> None:
    """Let SQLite refuse every write from now on, as it does on a read-only file system."""
    event.listen(
        site.store.database.engine,
        "begin",
        lambda connection: connection.exec_driver_sql("PRAGMA query_only=ON"),
        insert=True,
    )
