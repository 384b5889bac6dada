"""Researchers never take a participant's thread, whatever their pages do."""

from __future__ import annotations

import io
import json
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from dialens.studies.store import CellProgress
from dialens.web import Site, study_app
from dialens.web import _exporting as exporting
from dialens.web import _watching as watching
from dialens.web._exporting import ExportJob
from dialens.web._rater_quality import RaterQualities
from dialens.web._serving import PatientProtocol
from dialens.web._turns import RESEARCHERS
from dialens.web._watching import Watch
from tests.web.conftest import KEY, PASSWORD, Make, Visit, log_in, running, tea
from tests.web.people import Person

AUTHORISED = {"authorization": f"Bearer {PASSWORD}"}
PATIENCE_S = 120.0


class Gate:
    """Where threads wait until they are let through."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.n_waiting = 0
        self.arrived = threading.Semaphore(0)

    def wait(self) -> None:
        self.n_waiting += 1
        self.arrived.release()
        assert self._open.wait(PATIENCE_S)

    def open(self) -> None:
        self._open.set()


class HangingWatch(Watch):
    """One whose counts do not come before the gate is open."""

    gate: Gate

    def cells(self) -> tuple[CellProgress, ...]:
        self.gate.wait()
        return super().cells()


class HangingQualities(RaterQualities):
    """One that stops after its first step."""

    gate: Gate

    def update(self) -> Iterator[None]:
        yield
        self.gate.wait()
        yield from super().update()


@contextmanager
def served(site: Site) -> Iterator[httpx.Client]:
    with (
        running(study_app(site), PatientProtocol) as port,
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S, follow_redirects=True
        ) as client,
    ):
        yield client


def test_participants_go_on_while_researchers_hang(make: Make) -> None:
    site, gate = make(), Gate()
    watch = HangingWatch(site.store, site.study, site.clock)
    watch.gate = gate
    site.__dict__["watch"] = watch
    with served(site) as client, ThreadPoolExecutor(8) as pool:
        url = f"{client.base_url}/api/cells"
        asked = [
            pool.submit(httpx.get, url, headers=AUTHORISED, timeout=PATIENCE_S) for _ in range(8)
        ]
        try:
            for _ in range(RESEARCHERS):
                assert gate.arrived.acquire(timeout=PATIENCE_S)
            person = Person(site, client)
            assert person.finish(person.begin())
            assert gate.n_waiting == RESEARCHERS
        finally:
            gate.open()
        assert [one.result().status_code for one in asked] == [200] * 8


def test_who_sends_slowly_takes_no_turn(site: Site) -> None:
    with served(site) as client:
        lines = []
        for _ in range(RESEARCHERS + 1):
            line = socket.create_connection(("127.0.0.1", client.base_url.port or 0))
            line.sendall(
                b"POST /researcher/login HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n"
                b"content-type: application/x-www-form-urlencoded\r\n\r\nwho="
            )
            lines.append(line)
        assert client.get("/researcher/login").status_code == 200
        for line in lines:
            line.close()


def test_a_page_does_not_wait_for_quality(
    make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_AT_ONCE_S", 0.0)
    site, gate = make(), Gate()
    for number in range(2):
        person = visit(site, seed=number)
        person.finish(person.begin())
    qualities = HangingQualities(site.store, site.study)
    qualities.gate = gate
    site.watch._qualities = qualities
    researcher = log_in(visit(site))
    first = researcher.get("/researcher").text  # nobody else has gone on with it
    assert gate.arrived.acquire(timeout=PATIENCE_S)
    assert first.count("being worked out") >= 2
    assert "being worked out" in researcher.get("/researcher/people").text
    told = researcher.get("/api/quality", headers=AUTHORISED).json()
    assert (told["at"], told["n_checks"], told["raters"]) == (None, None, [])
    assert told["under_way"] == "0 of 0 people so far"
    assert gate.n_waiting == 1  # one computes for all who ask
    gate.open()
    assert site.watch._in_flight.acquire(timeout=PATIENCE_S)
    site.watch._in_flight.release()
    assert "being worked out" not in researcher.get("/researcher").text
    told = researcher.get("/api/quality", headers=AUTHORISED).json()
    assert (len(told["raters"]), told["under_way"]) == (2, None)
    assert told["at"] is not None


def test_what_was_known_is_shown_while_it_is_worked_out_again(
    make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_AT_ONCE_S", 0.0)
    site, gate = make(), Gate()
    gate.open()
    person = visit(site)
    person.finish(person.begin())
    qualities = HangingQualities(site.store, site.study)
    qualities.gate = gate
    watch = Watch(site.store, site.study, site.clock)
    watch._qualities = qualities
    watch.quality()
    assert watch._in_flight.acquire(timeout=PATIENCE_S)
    watch._in_flight.release()
    known = watch.quality()
    assert known.at is not None
    watch._quality = replace(known, at=known.at - 2 * watching._FRESH)
    qualities.gate = Gate()
    again = watch.quality()
    assert (again.n_checks, again.at) == (0, watch._quality.at)
    assert again.under_way == "1 of 1 people so far"
    qualities.gate.open()
    assert watch._in_flight.acquire(timeout=PATIENCE_S)


def test_a_watch_that_is_closed_works_nothing_out(site: Site) -> None:
    watch = Watch(site.store, site.study, site.clock)
    watch.close()
    assert watch._in_flight.acquire(blocking=False)
    watch._go_on(iter([None, None]))
    assert watch._quality.at is None
    assert not watch._in_flight.locked()


def test_a_large_export_is_made_in_another_process(
    make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(exporting, "_LARGE", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()

    def refuse(*_: Any) -> None:
        raise AssertionError("made in this process")

    monkeypatch.setattr(ExportJob, "run", refuse)
    site = make()
    person = visit(site)
    person.finish(person.begin())
    got = visit(site).client.get("/api/export.zip", headers=AUTHORISED)
    assert got.headers["content-disposition"] == 'attachment; filename="tea-export.zip"'
    assert int(got.headers["content-length"]) == len(got.content)
    with zipfile.ZipFile(io.BytesIO(got.content)) as archive:
        ratings = pl.read_parquet(io.BytesIO(archive.read("tea/ratings.parquet")))
    assert ratings.height == 2 * 3 * 2
    assert list((tmp_path / "scratch").iterdir()) == []


def test_an_export_ends_with_its_server(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    database = site.store.database
    job = ExportJob.of(site, (), folder)
    told = vars(job) | {"database": str(database.engine.url), "key": KEY.to_text()}
    with sqlite3.connect(str(database.file), isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")  # it opens the database, and waits
        process = subprocess.Popen([sys.executable, "-c", exporting._START], stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 1
    writer.close()
    assert not folder.exists()


def test_an_unreadable_version_is_refused_by_the_other_process_too(
    make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_LARGE", 0)
    site = make(tea())
    with site.store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE studies SET definition = '{}'")
    got = visit(site).client.get("/api/export.zip", headers=AUTHORISED)
    assert (got.status_code, "cannot be read by this dialens" in got.text) == (409, True)
