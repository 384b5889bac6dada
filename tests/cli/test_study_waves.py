"""Later waves from the command line: what is planned, how far it is, whom to invite."""

from __future__ import annotations

import csv
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dialens.studies import TEA, Screen, load_study
from dialens.studies.recruiters import completion_code
from dialens.studies.store import KEY_VARIABLE, Store, Submission
from tests.cli.test_study_day import fails, ran, run

WAVES = {"later": {"after_hours": 24, "within_hours": 72, "items": "same"}}
NOW = datetime.now(UTC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    place = tmp_path / "tea"
    place.mkdir()
    return place


def written(folder: Path, **changes: Any) -> Path:
    with (folder / "study.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(TEA | {"waves": WAVES} | changes, file)
    return folder


def people(folder: Path, recruiter: str, ago: dict[str, float]) -> None:
    """People who completed the first part so many hours ago."""
    study = load_study(folder)
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        store.register(study, now=NOW)
        for worker, hours in ago.items():
            now = NOW - timedelta(hours=hours)
            came = store.begin(
                study.hash, recruiter=recruiter, worker=worker, now=now, seed_source=lambda: 1
            )
            came = store.admit(came.token, now=now, seed_source=lambda: 1)
            screen = Screen("consent", "consent", "")
            store.submit(came.token, Submission(screen, 0, {}, "k"), now=now)
            store.complete(came.token, screens=1, now=now)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_a_check_says_what_waves_there_are(folder: Path) -> None:
    said = ran("check", written(folder), "--screens", "0")
    assert "Wave 2 (later): from 24 to 72 hours after the part before, same items" in said


def test_status_counts_waves(folder: Path) -> None:
    written(folder)
    people(folder, "link", {"ada": 2, "bob": 30, "eve": 100})
    said = ran("status", folder)
    assert "Wave 2 (later): 0 of 3 completed; 1 may come now, 1 later, 1 too late" in said


def test_links_for_those_who_may_come_back(folder: Path) -> None:
    written(folder)
    people(folder, "link", {"ada & co": 30, "visitor-x7": 30})
    listed = run("links", folder, "--wave", "2", "--url", "https://tea.org")
    assert "1 more person is known by the browser alone" in listed.stderr
    found = rows(listed.stdout)
    assert [row["link"] for row in found] == ["https://tea.org/?participant=ada%20%26%20co"]
    assert datetime.fromisoformat(found[0]["opens_at"]) == (NOW - timedelta(hours=6)).replace(
        microsecond=0
    )
    said = ran(
        "links", folder, "--wave", "later", "--url", "https://tea.org", "-o", folder / "w.csv"
    )
    assert "1 person to invite to wave 2" in said
    assert "1 more person is known by the browser alone" in said
    assert stat.S_IMODE((folder / "w.csv").stat().st_mode) == 0o600
    assert "identities exported for wave 2" in ran("operate", folder)


def test_people_whom_only_their_browser_knows(folder: Path) -> None:
    written(folder)
    people(folder, "link", {"visitor-x7": 30, "visitor-x8": 30})
    listed = run("links", folder, "--wave", "2", "--url", "https://tea.org")
    assert rows(listed.stdout) == []
    assert "There is nobody to invite to wave 2." in listed.stderr
    assert "2 people are known by the browser alone" in listed.stderr


def test_ids_for_an_allow_list(folder: Path) -> None:
    written(folder, recruiter={"kind": "prolific", "reward": 1})
    people(folder, "prolific", {"5f1": 30, "5f2": 1})
    found = rows(ran("links", folder, "--wave", "2"))
    assert [(row["id"], "link" in row) for row in found] == [("5f1", False), ("5f2", False)]
    said = ran("links", folder, "--wave", "2", "-o", folder / "w.csv")
    code = completion_code(load_study(folder), wave=2)
    assert f"The completion code of wave 2 is {code}." in said
    assert "custom allow list" in said


def test_what_is_missing_is_said(folder: Path) -> None:
    written(folder)
    people(folder, "link", {"ada": 30})
    assert "Give --url" in fails("links", folder, "--wave", "2")
    assert "no wave '3'" in fails("links", folder, "--wave", "3", "--url", "https://tea.org")
    assert "Give one of -n" in fails("links", folder, "--wave", "2", "-n", "3")
    assert "Give --url" in fails("links", folder, "-n", "3")
