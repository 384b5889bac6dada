"""What a server does by itself: data go after their time, and deleted people leave exports."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import polars as pl
import pytest
from httpx import Client
from starlette.testclient import TestClient

from dialens.base import sha256_file
from dialens.studies.export import export, remember_folder
from dialens.studies.store import IDENTITIES_FILE, TABLES, ExportLog, OperationStore
from dialens.web import Site, study_app
from dialens.web._housekeeping import Housekeeper, keep_house
from tests.studies.store.people import NOON
from tests.web.conftest import Make, Visit, log_in, tea
from tests.web.test_dashboard import crowd, ticket
from tests.web.test_gates import withdraw

DAY = timedelta(days=1)


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now


def recalled(site: Site) -> dict[str, tuple[str, ...]]:
    return {one.kind: one.recalled for one in ExportLog(site.store.database, "command").all()}


def test_downloads_are_remembered_and_named_when_somebody_withdraws(
    site: Site, visit: Visit, researcher: TestClient | Client
) -> None:
    crowd(site, visit, 1)
    leaving = visit(site, seed=5)
    leaving.answer(leaving.begin())
    who = leaving.session.participant
    archive = researcher.get("/researcher/export.zip")
    people = researcher.get("/researcher/people.csv")
    known = {one.kind: one for one in ExportLog(site.store.database, "command").all()}
    assert known["download"].sha256 == hashlib.sha256(archive.content).hexdigest()
    assert known["list of people"].sha256 == hashlib.sha256(people.content).hexdigest()
    assert {one.people for one in known.values()} == {2}
    assert {one.by for one in known.values()} == {"dashboard"}
    assert "still hold somebody" not in researcher.get("/researcher/settings").text
    withdraw(leaving, "delete")
    Housekeeper(site).tidy()
    assert recalled(site) == {"download": (who,), "list of people": (who,)}
    shown = researcher.get("/researcher/settings").text
    assert "Exports that still hold somebody who was deleted" in shown
    assert shown.count(f"<td>{who}</td>") == 2


def test_a_declined_person_leaves_an_export_on_the_servers_disk(
    site: Site, visit: Visit, tmp_path: Path
) -> None:
    crowd(site, visit, 1)
    person = visit(site, seed=7)
    page = person.begin()
    who = person.session.participant
    folder = tmp_path / "export"
    export(site.store, site.study.hash, folder)
    log = ExportLog(site.store.database, "command")
    remember_folder(log, site.study.hash, TABLES, folder, people=2, now=site.clock())
    assert who in pl.read_parquet(folder / "participants.parquet")["rater"].to_list()
    said = person.client.post("/study", data=page.hidden | {"a:consent": "no"})
    assert "Nothing about you was kept" in said.text
    Housekeeper(site).tidy()
    assert who not in pl.read_parquet(folder / "participants.parquet")["rater"].to_list()
    assert who not in (folder / "csv" / "participants.csv").read_text()
    assert log.recalled() == ()
    (known,) = log.all()
    assert known.people == 1


def test_what_a_study_keeps_goes_on_the_day(make: Make, visit: Visit) -> None:
    clock = Clock()
    site = make(tea(retention={"answers": "10 days"}), clock=clock)
    (who, _), *_ = crowd(site, visit, 2)
    keeper = Housekeeper(site)
    keeper.tidy()
    clock.now = NOON + 10 * DAY - timedelta(hours=1)
    keeper.tidy()
    assert site.store.answers_frame(site.study.hash)["rater"].n_unique() == 2
    clock.now = NOON + 11 * DAY
    keeper.tidy()
    assert site.store.answers_frame(site.study.hash).height == 0
    log = OperationStore(site.store, "dashboard").changes_frame(site.study.hash)
    (row,) = log.filter(pl.col("what") == "people deleted").to_dicts()
    assert (row["by"], row["after"], row["why"]) == ("file", "2", "kept for: 10 days")
    assert who not in str(row)


def test_all_leave_a_list_of_worker_ids_on_the_servers_disk(
    make: Make, visit: Visit, tmp_path: Path
) -> None:
    clock = Clock()
    site = make(tea(retention={"worker_ids": "10 days"}), clock=clock)
    gone = [who for who, _ in crowd(site, visit, 3)]
    ids = tmp_path / "ids.csv"
    pl.DataFrame({"rater": gone, "worker": ["a", "b", "c"]}).write_csv(ids)
    log = ExportLog(site.store.database, "command")
    study = site.study.hash
    log.remember(study, IDENTITIES_FILE, ids, sha256=sha256_file(ids), people=3, now=NOON)
    clock.now = NOON + 11 * DAY
    Housekeeper(site).tidy()
    assert ids.read_text() == "rater,worker\n"
    assert log.recalled() == ()
    (now,) = log.all()
    assert (now.people, now.sha256) == (0, sha256_file(ids))


def test_a_server_looks_at_its_start(make: Make, visit: Visit) -> None:
    clock = Clock()
    site = make(tea(retention={"worker_ids": "10 days"}), clock=clock)
    (who, _), *_ = crowd(site, visit, 1)
    assert site.store.worker(who) is not None
    clock.now = NOON + 10 * DAY
    with TestClient(study_app(site)) as client:
        until = time.monotonic() + 30
        while site.store.worker(who) is not None and time.monotonic() < until:
            time.sleep(0.02)
        assert client.get("/healthz").status_code == 200
    assert site.store.worker(who) is None


def test_trouble_with_the_database_does_not_end_it(
    make: Make, visit: Visit, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    site = make(tea(retention={"answers": "10 days"}), clock=clock)
    crowd(site, visit, 1)
    clock.now = NOON + 10 * DAY
    database, away = tmp_path / "study-0.db", tmp_path / "away.db"
    site.store.database.engine.dispose()
    database.rename(away)

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: keep_house([Housekeeper(site)], every_s=0.01))
            with anyio.fail_after(30):
                while "Nothing could be tidied up" not in caplog.text:
                    await anyio.sleep(0.01)
                site.store.database.engine.dispose()
                away.replace(database)
                while "everything about 1" not in caplog.text:
                    await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()

    with caplog.at_level("INFO", logger="dialens"):
        anyio.run(work)
    assert site.store.answers_frame(site.study.hash).is_empty()


def test_retention_is_set_on_the_dashboard(site: Site, researcher: TestClient | Client) -> None:
    form = {"ticket": ticket(researcher, "/researcher/settings")}
    odd = researcher.post("/researcher/settings", data=form | {"retention.worker_ids": "soon"})
    assert odd.status_code == 409
    assert "takes a number of days" in odd.text
    researcher.post("/researcher/settings", data=form | {"retention.worker_ids": "90 days"})
    assert site.running.now().design.retention.worker_ids == "90 days"
    researcher.post("/researcher/settings", data=form | {"retention.worker_ids": ""})
    assert site.running.now().design.retention.worker_ids is None


def test_who_may_look_only_is_remembered_by_name(site: Site, visit: Visit) -> None:
    crowd(site, visit, 1)
    log_in(visit(site)).get("/researcher/people.csv")
    (known,) = ExportLog(site.store.database, "command").all()
    assert (known.by, known.people) == ("dashboard", 1)
