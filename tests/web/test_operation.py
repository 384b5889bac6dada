"""Changes while people take part, by the API; and two versions in one server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dialens.studies import study_of
from dialens.studies.store import OperationStore, Store
from dialens.web import Site, unserved_versions
from tests.web.conftest import KEY, PASSWORD, Make, Visit, tea
from tests.web.people import Page, Person

AUTHORISED = {"authorization": f"Bearer {PASSWORD}"}
SECOND = {"version": 2, "title": "How good are these answers?"}


def call(person: Person, method: str, path: str, **body: Any) -> Any:
    answer = person.client.request(method, f"/api/{path}", headers=AUTHORISED, json=body or None)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_targets_are_raised_while_people_take_part(make: Make, visit: Visit) -> None:
    site = make(tea(factors={}, targets=1))
    first = visit(site)
    code = first.finish(first.begin())
    late = visit(site)
    assert "All places are taken" in late.begin().html
    said = call(late, "PUT", "operation", targets=2, recruiter={"reward": 2.5})
    assert said["settings"]["targets.each"] == 2
    assert said["settings"]["recruiter.reward"] == 2.5
    assert late.finish(late.begin())
    log = [
        (one["by"], one["what"], one["before"], one["after"])
        for one in call(late, "GET", "changes")
    ]
    assert log == [("api", "targets.each", 1, 2), ("api", "recruiter.reward", 0.0, 2.5)]
    (holder,) = call(late, "GET", f"codes/{code}")
    assert (holder["state"], holder["cell"], holder["paid_at"]) == ("completed", "all", None)
    assert call(late, "GET", "codes/MADEUP") == []


def test_closing_words_change_at_once(make: Make, visit: Visit) -> None:
    site = make()
    person = visit(site)
    person.finish(person.begin())
    assert "Your answers have been saved." in person.client.get("/study").text
    # By a command, in another process: the server is not told.
    words = {"completion": {"message": "We are in room 12 until six."}}
    OperationStore(site.store, "command").operate(site.study.hash, words, now=site.clock())
    assert "We are in room 12 until six." in person.client.get("/study").text


def test_what_participants_see_is_refused(site: Site, visit: Visit) -> None:
    client = visit(site).client
    for body in ({"title": "Other"}, {"targets": 0}, {"nothing": 1}):
        answer = client.put("/api/operation", headers=AUTHORISED, json=body)
        assert answer.status_code == 409
    assert (
        "raise `version`"
        in client.put("/api/operation", headers=AUTHORISED, json={"title": "Other"}).json()[
            "detail"
        ]
    )


def test_somebody_is_excluded_and_replaced(make: Make, visit: Visit) -> None:
    site = make(tea(factors={}, targets=1))
    first = visit(site)
    first.finish(first.begin())
    (person,) = call(first, "GET", "participants")
    changed = call(
        first, "PUT", f"participants/{person['participant']}", excluded=True, why="Too fast"
    )
    assert (changed["excluded"], changed["excluded_why"]) == (True, "Too fast")
    second = visit(site)
    assert second.finish(second.begin())
    (cell,) = call(first, "GET", "cells")
    assert (cell["completed"], cell["excluded"]) == (1, 1)
    call(first, "PUT", f"participants/{person['participant']}", excluded=False)
    assert call(first, "GET", "cells")[0]["completed"] == 2
    nobody = first.client.put(
        "/api/participants/nobody", headers=AUTHORISED, json={"excluded": True, "why": "x"}
    )
    assert nobody.status_code == 404


@pytest.fixture
def database(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'both.db'}", secrets=KEY)


def served(store: Store, **changes: Any) -> Site:
    return Site.of(study_of(tea(**changes)), store, password=PASSWORD)


def test_everybody_finishes_the_version_they_began(database: Store, visit: Visit) -> None:
    first = served(database)
    person = visit(first)
    page = person.answer(person.begin())
    began = person.session
    # The server is stopped, and started with a new version.
    second = served(database, **SECOND)
    moved = visit(second)
    moved.client.cookies = person.client.cookies
    here = Page(moved.client.get("/study").text)
    assert here.hidden["screen"] == page.hidden["screen"]
    moved.site = first  # whose plan the person follows
    code = moved.finish(here)
    (holder,) = OperationStore(database, "api").code_holders(code)
    assert (holder.version, holder.participant) == ("1", began.participant)
    # Coming back later, they find their code, and are not let into the second version.
    assert code in moved.client.get("/").text
    assert sum(cell.completed + cell.live for cell in database.progress(second.study.hash)) == 0
    # Others get the second version.
    new = visit(second)
    new.finish(new.begin())
    assert sum(cell.completed for cell in database.progress(second.study.hash)) == 1
    database.close()


def test_a_version_that_cannot_be_read_is_not_taken_twice(database: Store, visit: Visit) -> None:
    first = served(database)
    person = visit(first)
    person.answer(person.begin("/?participant=anna-7"))
    with database.database.writing() as connection:
        connection.exec_driver_sql("UPDATE studies SET definition = '{}' WHERE version = '1'")
    second = served(database, **SECOND)
    (said,) = unserved_versions(database, second.study, Path())
    assert said.startswith("Version 1 cannot be finished here, and 1 person is under way in it")
    back = visit(second)
    back.client.cookies = person.client.cookies
    assert "earlier version of this study" in back.begin("/?participant=anna-7").html
    new = visit(second)
    assert new.finish(new.begin())
    database.close()


def test_who_took_part_is_known_again_by_their_id(database: Store, visit: Visit) -> None:
    first = served(database)
    person = visit(first)
    code = person.finish(person.begin("/?participant=anna-7"))
    second = served(database, **SECOND)
    elsewhere = visit(second)
    assert code in elsewhere.begin("/?participant=anna-7").html
    admitted = served(database, **SECOND, admit_earlier=True)
    again = visit(admitted)
    page = again.begin("/?participant=anna-7")
    assert again.session.study == admitted.study.hash
    assert code not in page.html
    database.close()
