"""The researcher's pages: behind the password, right in what they say."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
from starlette.testclient import TestClient

from dialens.studies.judges import LEDGER, Ledger, judge_study
from dialens.web import Site
from dialens.web._exporting import ExportJob
from dialens.web._watching import Watch
from tests.studies.judges.test_judging import Scripted, planned, right
from tests.studies.samples import load_template
from tests.web.conftest import Make, Visit, log_in, tea
from tests.web.people import Page

_POLICY = "content-security-policy"


def test_the_door_is_closed(site: Site, visit: Visit) -> None:
    person = visit(site)
    for path in (
        "/researcher",
        "/researcher/export.zip",
        "/researcher/preview",
        "/researcher/preview/screen?cell=all",
    ):
        assert person.client.get(path).url.path == "/researcher/login"
    assert person.client.post("/researcher/cells", data={}).url.path == "/researcher/login"
    page = person.come("/researcher/login")
    wrong = person.client.post(page.action, data=page.hidden | {"password": "nope"})
    assert wrong.status_code == 401
    assert "This is not the password" in wrong.text


def test_progress_and_screens(make: Make, visit: Visit) -> None:
    site = make()
    for number in range(4):
        person = visit(site, seed=number)
        person.finish(person.begin())
    reading, agreed = visit(site), visit(site)
    reading.begin()
    agreed.answer(agreed.begin())
    html = log_in(visit(site)).get("/researcher").text
    assert "4 of 80 people have completed the study, and 1 is at it now." in html
    for cell in site.study.cells:
        assert cell.name in html


def test_cells_are_paused_closed_and_opened(
    site: Site, visit: Visit, researcher: TestClient
) -> None:
    ticket = Page(researcher.get("/researcher").text).hidden["ticket"]
    first, *others = [cell.name for cell in site.study.cells]
    for name in others:
        form = {"ticket": ticket, "cell": name, "state": "closed", "sure": "yes"}
        assert researcher.post("/researcher/cells", data=form).status_code == 200
    for _ in range(2):
        person = visit(site)
        person.begin()
        assert person.session.cell == first
    form = {"ticket": ticket, "cell": first, "state": "paused"}
    researcher.post("/researcher/cells", data=form)
    late = visit(site)
    assert "A short break" in late.come().html
    assert researcher.post("/researcher/cells", data=form | {"cell": "x"}).status_code == 404
    assert researcher.post("/researcher/cells", data=form | {"state": "x"}).status_code == 422


def test_a_preview_shows_every_screen_and_records_nothing(make: Make, visit: Visit) -> None:
    for name in ("best-worst", "turn-by-turn"):
        site = make(load_template(name))
        person = visit(site)
        log_in(person)
        cell = site.study.cells[0].name
        screens = site.planner.screens(cell, 3)
        assert "frame-src 'self'" in person.client.get("/researcher/preview").headers[_POLICY]
        listed = person.client.get("/researcher/preview/outline", params={"cell": cell, "seed": 3})
        assert [one["id"] for one in listed.json()["screens"][1:]] == [s.id for s in screens]
        for screen in screens:
            query: dict[str, str | int] = {"cell": cell, "screen": screen.id, "seed": 3}
            shown = person.client.get("/researcher/preview/screen", params=query)
            assert shown.status_code == 200
            assert "frame-ancestors 'self'" in shown.headers[_POLICY]
            if screen.kind != "end":
                assert f'data-screen="{screen.id}"' in shown.text
                page = Page(shown.text)
                person.client.post(page.action, data=page.hidden)
        welcome = person.client.get("/researcher/preview/screen", params={"cell": cell})
        person.client.post(Page(welcome.text).action, data={})
        assert site.store.answers_frame(site.study.hash).is_empty()
        assert sum(c.live + c.completed for c in site.store.progress(site.study.hash)) == 0


def test_the_download_holds_the_ratings(site: Site, visit: Visit, researcher: TestClient) -> None:
    person = visit(site)
    person.finish(person.begin("/?participant=anna-the-worker"))
    got = researcher.get("/researcher/export.zip")
    assert got.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(got.content)) as archive:
        names = set(archive.namelist())
        ratings = pl.read_parquet(io.BytesIO(archive.read("tea/ratings.parquet")))
        everything = b"".join(archive.read(name) for name in names)
    assert {"tea/codebook.json", "tea/card.md", "tea/events.parquet"} <= names
    assert ratings.height == 2 * 3 * 2  # two items, three replies, two qualities
    assert b"anna-the-worker" not in everything


def test_the_download_holds_what_judges_said(site: Site, tmp_path: Path) -> None:
    """As `study export` does: the ledger lies beside the study file."""
    plan = planned(site.study, Scripted(right))
    with Ledger.open(tmp_path / LEDGER, asking=True) as ledger:
        judge_study(plan, ledger)
    job = ExportJob.of(replace(site, folder=tmp_path), (), tmp_path / "scratch")
    job.run(site.store)
    with zipfile.ZipFile(job.archive) as archive:
        ratings = pl.read_parquet(io.BytesIO(archive.read("tea/ratings.parquet")))
        asked = pl.read_parquet(io.BytesIO(archive.read("tea/judges.parquet")))
    assert set(ratings["rater_kind"]) == {"llm"}
    assert asked["state"].unique().to_list() == ["answered"]


def test_flags_show_who_should_be_looked_at_twice(make: Make, visit: Visit) -> None:
    check = {
        "question": {"kind": "choice", "prompt": "Choose B", "choices": ["A", "B"]},
        "correct": "B",
        "after": [1],
    }
    site = make(tea(checks={"attention": {"reading": check}}))
    for number in range(3):
        person = visit(site, seed=number)
        page = person.begin()
        while "the-code" not in page.html:
            form = person.filled(page)
            if number == 0:  # always the same number, and no attention
                form |= {name: "40" for name in form if name.startswith("a:") and "-" in name}
            if "a:reading" in form:
                form["a:reading"] = "A" if number == 0 else "B"
            page = Page(person.client.post("/study", data=form).text)
    seen = Watch(site.store, site.study, site.clock).quality()
    assert (seen.n_checks, seen.n_failed) == (3, 1)
    worst, *others = seen.raters
    assert {"straight_lining", "failed_checks"} <= set(worst.flags)
    assert (worst.same_share, worst.n_failed_checks, worst.n_ratings) == (1.0, 1, 12)
    assert all("failed_checks" not in one.flags for one in others)
