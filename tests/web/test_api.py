"""The JSON API: what it says, and what a fuzzer makes of it."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import ignored_auth

from dialens.web import Site, study_app
from tests.web.conftest import PASSWORD, Visit

AUTHORISED = {"authorization": f"Bearer {PASSWORD}"}


def test_says_what_the_pages_say(site: Site, visit: Visit) -> None:
    for number in range(2):
        person = visit(site, seed=number)
        person.finish(person.begin())
    client = visit(site).client

    def get(path: str) -> Any:
        answer = client.get(f"/api/{path}", headers=AUTHORISED)
        assert answer.status_code == 200
        return answer.json()

    assert get("study")["cells"] == [cell.name for cell in site.study.cells]
    cells = get("cells")
    assert sum(cell["completed"] for cell in cells) == 2
    first = [row for row in get("dropout") if row["index"] == 0]
    assert sum(row["submitted"] for row in first) == 2
    assert len(get("quality")["raters"]) == 2
    assert get("times")["active_minutes"] is None
    preview = get(f"preview/{site.study.cells[0].name}?index=2")
    assert preview["kind"] == "rating"
    assert "targets" not in str(preview)
    name = site.study.cells[1].name
    changed = client.put(f"/api/cells/{name}", json={"state": "paused"}, headers=AUTHORISED)
    assert changed.json()["state"] == "paused"
    zipped = client.get("/api/export.zip", headers=AUTHORISED)
    assert zipped.content.startswith(b"PK")


def test_needs_the_password(site: Site, visit: Visit) -> None:
    client = visit(site).client
    paths = client.get("/api/openapi.json").json()["paths"]
    assert len(paths) >= 7
    for path in paths:
        assert client.get(path.replace("{cell}", "x")).status_code in (401, 405)
    wrong = {"authorization": "Bearer wrong"}
    assert client.get("/api/cells", headers=wrong).status_code == 401
    assert client.get("/api/cells").headers["www-authenticate"] == "Bearer"


def test_a_fuzzer_finds_nothing(site: Site, visit: Visit) -> None:
    person = visit(site)
    person.finish(person.begin())
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", study_app(site))
    bounded = settings(
        max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    tried = 0
    for found in schema.get_all_operations():

        @bounded
        @given(case=found.ok().as_strategy())
        def one(case: schemathesis.Case) -> None:
            # Whether the password is asked for is tested above: here it is always sent.
            case.call_and_validate(headers=AUTHORISED, excluded_checks=[ignored_auth])

        one()
        tried += 1
    assert tried >= 8
