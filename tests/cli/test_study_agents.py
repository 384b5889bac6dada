"""Agents that do not answer, before a study and during it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from starlette.testclient import TestClient

from dialens.studies import load_study, study_of
from dialens.studies.store import Store
from dialens.web import Site, open_agents, study_app, unreachable_agents
from tests.agents.endpoint import Endpoint
from tests.cli.test_study_day import ran, run
from tests.other_servers import free_port
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


def test_agents_are_asked_before_anybody_is_invited(tmp_path: Path, endpoint: Endpoint) -> None:
    folder = written(tmp_path, talk(endpoint.url, "echo", "status-401", "slow-0.4"))
    assert "They were not asked whether they answer." in ran("check", folder, "--offline")
    assert not endpoint.requests
    asked = run("check", folder)
    assert asked.exit_code == 1
    first, second = asked.output.splitlines()[:2]
    assert first == "talk cannot be run yet: bot-2 does not answer."
    assert second.startswith("talk asks for 150 participants")
    assert re.search(r"bot-1 answered 'Hello, how are you\?' after 0\.\d s \(", asked.output)
    assert "tokens read" in asked.output
    assert "! bot-2 does not answer:" in asked.output
    assert "401" in asked.output
    assert len(endpoint.requests) == 3


def test_an_address_where_nobody_listens_fails_the_check(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    asked = run("check", written(tmp_path, talk(url, "echo")))
    assert asked.exit_code == 1
    assert "cannot be reached. Check endpoint and network." in asked.output


def test_an_agent_that_hangs_is_not_waited_for(tmp_path: Path, endpoint: Endpoint) -> None:
    folder = written(tmp_path, talk(endpoint.url, "slow-5", reply_seconds=0.5))
    asked = run("check", folder)
    assert asked.exit_code == 1
    assert "no answer within 0.5 s (conversations.reply_seconds)" in asked.output


def test_an_agent_that_the_pace_does_not_hide_is_told(tmp_path: Path, endpoint: Endpoint) -> None:
    pace = {"seconds": 0.1, "characters_per_second": 10_000}
    folder = written(tmp_path, talk(endpoint.url, "echo", "slow-0.2", pace=pace, greeting="Hi!"))
    told = [line for line in ran("check", folder).splitlines() if "tells it apart" in line]
    assert any(line.startswith("! bot-2 took ") for line in told)
    # Asked as the study would: the greeting is theirs.
    assert len(endpoint.requests) == 2
    for request in endpoint.requests:
        heard = [one["content"] for one in request["messages"]]
        assert heard[-2:] == ["Hi!", "Hello, how are you?"]


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


def test_serving_says_at_the_start_who_cannot_be_reached() -> None:
    with Endpoint() as running:
        agents = open_agents(study_of(talk(running.url, "echo", "echo")), Path())
        assert unreachable_agents(agents) == []
        assert not running.requests  # nothing is said, so nothing is charged for
    told = unreachable_agents(agents, wait_s=1.0)
    assert [line.split(" at ")[0] for line in told] == [
        "bot-1 cannot be reached",
        "bot-2 cannot be reached",
    ]
