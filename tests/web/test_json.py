"""Taking part in JSON, as programs and the page's script do."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from httpx import Client
from starlette.testclient import TestClient

from dialens.studies import Screen
from dialens.studies.instruments import simulate
from dialens.web import Site
from tests.web.conftest import Make, Visit, tea

ASKED = {"accept": "application/json"}


def begun(client: TestClient | Client, address: str = "/") -> TestClient | Client:
    """Arrive and begin."""
    ticket = client.get(address, headers=ASKED).json()["ticket"]
    assert client.post("/begin", data={"ticket": ticket}, headers=ASKED).json() == {
        "next": "/study"
    }
    return client


def shown(client: TestClient | Client) -> dict[str, Any]:
    """Where the participant is."""
    return dict(client.get("/study", headers=ASKED).json())


def answered(state: dict[str, Any], draw: np.random.Generator) -> dict[str, Any]:
    """The answer to a screen."""
    screen = Screen.from_json(state["screen"])
    answers = {one.name: simulate(draw, one) for one in screen.fields}
    if screen.kind == "consent":
        answers["consent"] = "yes"
    return {
        "ticket": state["ticket"],
        "screen": screen.id,
        "index": state["index"],
        "key": f"key-{state['index']}",
        "answers": answers,
    }


def test_a_whole_participation(site: Site, visit: Visit) -> None:
    client, draw = begun(visit(site).client), np.random.default_rng(1)
    sent: dict[Any, Any] = {}
    while "code" not in (state := shown(client)):
        body = answered(state, draw)
        sent |= {(body["screen"], name): value for name, value in body["answers"].items()}
        assert client.post("/study", json=body, headers=ASKED).json() == {"next": "/study"}
    frame = site.store.answers_frame(site.study.hash)
    stored = {(row["screen"], row["field"]): row["value"] for row in frame.iter_rows(named=True)}
    assert {key: json.loads(value) for key, value in stored.items()} == sent
    assert client.get("/", headers=ASKED).json() == {"next": "/study"}
    assert state["code"] in client.get("/study").text


def test_the_screen_holds_nothing_that_a_participant_may_not_see(site: Site, visit: Visit) -> None:
    person, draw = visit(site), np.random.default_rng(1)
    client = begun(person.client)
    while (state := shown(client))["screen"]["kind"] != "rating":
        client.post("/study", json=answered(state, draw), headers=ASKED)
    own = site.screens(person.session)[state["index"]]
    assert state["screen"]["state"] == {}
    for one in state["screen"]["fields"]:
        assert (one["item"], one["response"], one["expected"]) == (None, None, None)
        assert all(target == {} for target in one["targets"].values())
    agents = {str(target["agent"]) for one in own.fields for target in one.targets.values()}
    assert not any(agent in json.dumps(state) for agent in agents)


def test_errors_by_field_and_nothing_stored(site: Site, visit: Visit) -> None:
    client, draw = begun(visit(site).client), np.random.default_rng(1)
    client.post("/study", json=answered(shown(client), draw), headers=ASKED)
    state = shown(client)
    while not state["screen"]["fields"]:
        client.post("/study", json=answered(state, draw), headers=ASKED)
        state = shown(client)
    body = answered(state, draw)
    name = state["screen"]["fields"][0]["name"]
    odd: list[Any] = [None, "", {}, [], {"a": ""}, "x", True, -1, [[1]], {"best": {}}, 1e999, "\0"]
    for value in odd:
        wrong = body | {"answers": body["answers"] | {name: value}}
        content = json.dumps(wrong)
        kind = {"content-type": "application/json"}
        reply = client.post("/study", content=content, headers=ASKED | kind)
        assert reply.status_code == 422, value
        assert list(reply.json()["errors"]) == [name]
    assert shown(client)["index"] == state["index"]
    assert client.post("/study", json=body, headers=ASKED).status_code == 200
    assert shown(client)["index"] == state["index"] + 1


@pytest.mark.parametrize(
    "change",
    [{"ticket": 1}, {"index": "first"}, {"answers": []}, {"more": 1}, {"screen": None}],
)
def test_what_cannot_be_read_is_refused(site: Site, visit: Visit, change: dict[str, Any]) -> None:
    client = begun(visit(site).client)
    body = answered(shown(client), np.random.default_rng(1)) | change
    assert client.post("/study", json=body, headers=ASKED).status_code == 400


def test_tickets_screens_and_repetition(site: Site, visit: Visit) -> None:
    client, draw = begun(visit(site).client), np.random.default_rng(1)
    state = shown(client)
    body = answered(state, draw)
    assert client.post("/study", json=body | {"ticket": "x"}, headers=ASKED).status_code == 403
    for other in ({"index": 10**30}, {"index": -1}, {"screen": "no-such-screen"}):
        reply = client.post("/study", json=body | other, headers=ASKED)
        assert reply.json() == {"next": "/study"}
        assert shown(client)["index"] == 0
    odd = {"shown_at": "yesterday", "submitted_at": {}, "events": [{"kind": "party"}]}
    for _ in range(2):  # what cannot be read of the times does not keep an answer from counting
        assert client.post("/study", json=body | odd, headers=ASKED).status_code == 200
        assert shown(client)["index"] == 1


def test_who_is_not_let_in_learns_why(make: Make, visit: Visit) -> None:
    site = make(tea(targets=1))
    for number in range(4):
        person = visit(site)
        person.answer(person.begin(f"/?participant=p{number}"))
    client = visit(site).client
    ticket = client.get("/", headers=ASKED).json()["ticket"]
    reply = client.post("/begin", data={"ticket": ticket}, headers=ASKED)
    assert (reply.status_code, reply.json()["reason"]) == (409, "full")
    assert client.get("/study", headers=ASKED).json() == {"next": "/"}


def test_declining_keeps_nothing(site: Site, visit: Visit) -> None:
    client = begun(visit(site).client)
    body = answered(shown(client), np.random.default_rng(1)) | {"answers": {"consent": "no"}}
    assert client.post("/study", json=body, headers=ASKED).json() == {"next": "/declined"}
    assert sum(cell.live for cell in site.store.progress(site.study.hash)) == 0
