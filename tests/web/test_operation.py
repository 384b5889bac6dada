"""Changes while people take part, by the API; and two versions in one server."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.studies import study_of
from dialens.studies.store import OperationStore, Store
from dialens.web import Site, unserved_versions
from tests.web.conftest import KEY, PASSWORD, Make, Visit, log_in, tea
from tests.web.people import Page, Person
from tests.web.test_dashboard import crowd

AUTHORISED = {"authorization": f"Bearer {PASSWORD}"}
TWO_SCALES = [
    {"name": "likert", "instrument": {"kind": "likert", "points": 7}},
    {"name": "free", "instrument": "magnitude"},
]
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
    assert "All places are taken" in late.come().html
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


@pytest.mark.parametrize(("choice", "kept"), [("keep", 1), ("delete", 0)])
def test_who_is_in_an_earlier_version_may_withdraw_from_it(
    database: Store, visit: Visit, choice: str, kept: int
) -> None:
    first = served(database, completion={"codes": {"withdrawn": "PART-1"}})
    person = visit(first)
    person.answer(person.begin("/?participant=anna-7"))
    second = served(database, **SECOND)
    moved = visit(second)
    moved.client.cookies = person.client.cookies
    asked = Page(moved.client.get("/withdraw").text)
    ended = moved.client.post("/withdraw", data=asked.hidden | {"answers": choice}).text
    assert ("PART-1" in ended) is bool(kept)
    answers = database.answers_frame(first.study.hash)
    assert answers["rater"].n_unique() == kept
    assert len(database.participants_of("link", "anna-7")) == kept
    (end,) = database.early_ends(first.study.hash)
    assert (end.outcome, end.deleted, end.n) == ("withdrawn", choice == "delete", 1)
    assert database.early_ends(second.study.hash) == ()
    # Who left nothing behind may take part in the second version; who left answers may not.
    begun = visit(second)
    begun.begin("/?participant=anna-7")
    assert (begun.session.study == second.study.hash) is not bool(kept)
    database.close()


def test_people_of_both_versions_are_in_one_table_and_one_export(
    database: Store, visit: Visit, tmp_path: Path
) -> None:
    first = served(database, targets=1)
    early = crowd(first, visit, 2)
    second = served(database, **SECOND, factors={"scale": TWO_SCALES})
    late = crowd(second, visit, 1)
    client = log_in(visit(second))

    def rows(**query: str) -> list[tuple[str, ...]]:
        text = client.get("/researcher/people.csv", params={"order": "asc"} | query).text
        listed = csv.DictReader(io.StringIO(text))
        return [(row["participant"], row["version"], row["code"]) for row in listed]

    everybody = [(name, "1", code) for name, code in early] + [(late[0][0], "2", late[0][1])]
    assert rows() == everybody
    assert rows(version="1") == everybody[:2]
    assert rows(sort="version", order="desc")[0] == everybody[2]
    page = client.get("/researcher/people").text
    for name, _ in (*early, *late):
        assert name in page
        assert name in client.get(f"/researcher/people/{name}").text  # answers of its own version

    def exported(address: str, **query: Any) -> pl.DataFrame:
        got = client.get(address, params=query, headers=AUTHORISED)
        assert got.status_code == 200, got.text
        with zipfile.ZipFile(io.BytesIO(got.content)) as archive:
            return pl.read_parquet(archive.read("tea/participants.parquet"))

    for address in ("/researcher/export.zip", "/api/export.zip"):
        assert exported(address)["version"].to_list() == ["1", "1", "2"]
    assert exported("/api/export.zip", version=1)["version"].to_list() == ["1", "1"]
    assert exported("/api/export.zip", version=[1, 2]).height == 3
    nothing = client.get("/api/export.zip", params={"version": 7}, headers=AUTHORISED)
    assert (nothing.status_code, "Versions: 1, 2" in nothing.text) == (404, True)
    with database.database.writing() as connection:
        connection.exec_driver_sql("UPDATE studies SET definition = '{}' WHERE version = '1'")
    again = log_in(visit(served(database, **SECOND, factors={"scale": TWO_SCALES})))
    refused = again.get("/api/export.zip", headers=AUTHORISED)
    assert (refused.status_code, "Version 1 of tea cannot be read" in refused.text) == (409, True)
    newest = again.get("/api/export.zip", params={"version": 2}, headers=AUTHORISED)
    assert newest.status_code == 200
    database.close()
