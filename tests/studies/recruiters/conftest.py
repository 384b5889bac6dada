"""Platforms on the loopback interface, and a study that people took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dialens.studies import TEA, Study, study_of
from dialens.studies.store import KEY_VARIABLE, Session, Store
from tests.studies.recruiters.platform import served
from tests.studies.recruiters.prolific_server import TOKEN, ProlificServer
from tests.studies.recruiters.turk import KEY, SECRET, Turk
from tests.studies.store.people import NOON, seeds

URL = "https://study.example.org/?lang=en"


def tea(**recruiter: Any) -> Study:
    return study_of(TEA | {"recruiter": {"reward": 1.5, **recruiter}})


@dataclass(frozen=True)
class Taken:
    """A study in a database; people come and go."""

    store: Store
    study: Study
    recruiter: str

    def come(self, worker: str, *, complete: bool = True) -> tuple[Session, str | None]:
        """Somebody takes part; their session, and the code if they completed it."""
        came = self.store.begin(
            self.study.hash,
            recruiter=self.recruiter,
            worker=worker,
            now=NOON,
            seed_source=seeds(),
        )
        code = self.store.complete(came.token, screens=0, now=NOON) if complete else None
        return came, code


@pytest.fixture
def taken(tmp_path: Path) -> Iterator[Any]:
    """A function that gives a study's database."""
    opened: list[Store] = []

    def made(study: Study) -> Taken:
        store = Store.open(f"sqlite:///{tmp_path / 'study.db'}")
        opened.append(store)
        store.register(study, now=NOON)
        return Taken(store, study, study.design.recruiter.kind)

    yield made
    for store in opened:
        store.close()


@pytest.fixture(autouse=True)
def no_accounts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever runs the tests may have accounts of their own."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", KEY_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PROLIFIC_API_TOKEN", raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def amazon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


@pytest.fixture
def turk(amazon: None) -> Iterator[Turk]:
    server = Turk()
    with served(server):
        yield server


@pytest.fixture
def prolific_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProlificServer]:
    monkeypatch.setenv("PROLIFIC_API_TOKEN", TOKEN)
    server = ProlificServer()
    with served(server):
        yield server
