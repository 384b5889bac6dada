"""Agents that do not answer, before a study and during it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from starlette.testclient import TestClient

from dialens.studies import load_study
from dialens.studies.store import Store
from dialens.web import Site, study_app
from tests.agents.endpoint import Endpoint
from tests.cli.test_study_data import STUDY
from tests.cli.test_study_day import fails, ran, run
from tests.web.conftest import KEY, PASSWORD, log_in
from tests.web.people import Person
from tests.web.talks import Talker, talk


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


def written(folder: Path, study: dict[str, object]) -> Path:
    with (folder / "study.yaml").open("w") as file:
        YAML().dump(study, file)
    return folder


def test_agents_are_asked_when_one_wants_it(tmp_path: Path, endpoint: Endpoint) -> None:
    folder = written(tmp_path, talk(endpoint.url, "echo", "status-401"))
    assert "They were not asked whether they answer: --ask does." in ran("check", folder)
    assert not endpoint.requests
    asked = run("check", folder, "--ask")
    assert asked.exit_code == 1
    assert "bot-1 answered 'Hello, how are you?'" in asked.output
    assert "! bot-2 did not answer:" in asked.output
    assert "401" in asked.output
    assert len(endpoint.requests) == 2


def test_a_study_without_conversations_has_nobody_to_ask(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    assert "nobody talks" in fails("check", tmp_path, "--ask")


def test_people_without_a_single_reply_are_told_first(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALENS_STUDY_KEY", KEY.to_text())
    study = load_study(written(tmp_path, talk(endpoint.url, "status-401")))
    with Store.open(f"sqlite:///{tmp_path / 'study.db'}") as store:
        site = Site.of(study, store, password=PASSWORD, folder=tmp_path)
        with TestClient(study_app(site), base_url="https://testserver") as client:
            person = Talker(client)
            person.say(person.begin(), "Hello")
            assert "the-code" in person.onward(person.here()).html
            home = log_in(Person(site, client)).get("/researcher").text
    cell = study.cells[0].name
    told = f"1 of 1 completed in {cell} without a single reply: bot-1 refused"
    assert told in home
    assert home.index(told) < home.index("Progress by cell")
    assert ran("status", tmp_path).splitlines()[1].startswith(f"! {told}")
