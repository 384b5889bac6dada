"""The pages of one conversation and of agents side by side, and what is stored from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dialens.web.workbench import WorkbenchApp, workbench_app
from dialens.workbench import WHOLE, Code, Workbench
from tests.web.workbench.conftest import BASE
from tests.workbench.folders import copied
from tests.workbench.spoken import EVIL, EVIL_NAME, LONG, make_spoken

ME = {"dialens-coder": "ann%20%3Cb%3E"}
CODER = "ann <b>"
SEES = {"dialens-others": "show"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("read")
    make_spoken(place / "folder")
    return place / "folder"


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> Iterator[Workbench]:
    opened = Workbench.open(copied(made, tmp_path), cache=made.parent / "cache")
    yield opened
    opened.close()


@pytest.fixture
def app(bench: Workbench) -> WorkbenchApp:
    return workbench_app(bench)


def browser(app: WorkbenchApp, **cookies: str) -> TestClient:
    client = TestClient(app, base_url=BASE, cookies=cookies)
    assert client.get(app.address).status_code == 200
    return client


@pytest.fixture
def ann(app: WorkbenchApp) -> TestClient:
    return browser(app, **ME)


def unit(turn: int = 1, dialog: str = "exam-calm") -> dict[str, Any]:
    return {"source": "talks", "dialog": dialog, "turn": turn}


def flags(bench: Workbench) -> list[tuple[Any, ...]]:
    return bench.notebook.flags().select("dialog", "turn", "code", "coder").rows()


def page(client: TestClient, path: str = "/dialogue", **asked: Any) -> str:
    answer = client.get(path, params=asked)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_the_answer_comes_first(ann: TestClient) -> None:
    shown = page(ann, source="talks", dialog="exam-calm")
    lead = re.search(r'<p class="lead"[^>]*>([^<]*)<', shown)
    assert lead is not None
    assert lead[1].startswith("calm speaks in 2 of 4 turns: emotional entropy ")
    assert "words a turn 5.5" in lead[1]
    assert "quality 3.0 (people, n = 1)" in lead[1]
    assert "warmth</bdi> <b>4.5</b>" in shown
    assert "n = 2" in shown
    assert '<mark class="c5' in shown  # sorrow
    assert 'data-dot="1"' in shown
    assert 'data-dot="0"' not in shown  # the partner has no values


def test_scores_of_a_turn_with_reasons(ann: TestClient) -> None:
    found = page(ann, "/dialogue/scores", source="talks", dialog="cat-curt", turn=1)
    assert re.search(r"Words a turn</dt><dd>3\.0", found)
    assert "no emotion word" in found
    opened = page(ann, source="talks", dialog="cat-curt", turn=1, scores=1)
    assert "no emotion word" in opened
    assert ann.get("/dialogue/scores", params=unit(9)).status_code == 404
    assert "metrics look at" in page(ann, "/dialogue/scores", **unit(0))


def test_what_is_not_there_is_said(ann: TestClient) -> None:
    for path, asked in (
        ("/dialogue", {"source": "talks", "dialog": "no"}),
        ("/dialogue", {"source": "no", "dialog": "exam-calm"}),
        ("/side-by-side", {"opening": 5}),
        ("/side-by-side", {"metric": "no"}),
        ("/side-by-side", {"level": "no"}),
    ):
        assert ann.get(path, params=asked).status_code == 404, (path, asked)
    for asked in ({"agent": "no"}, {"opening": -1}, {"opening": 2**64}, {"skip": "x"}):
        assert ann.get("/side-by-side", params=asked).status_code in (400, 422), asked
    wrong = ann.get("/dialogue", params={"dialog": "exam-calm", "metric": "no"})
    assert wrong.status_code == 422
    assert "There is no column no" in wrong.text
    assert ann.get("/dialogue").status_code == 400


def test_a_long_conversation_is_cut_and_can_be_had_whole(ann: TestClient) -> None:
    def turns(**asked: Any) -> list[int]:
        shown = page(ann, source="talks", dialog="long", **asked)
        return [int(turn) for turn in re.findall(r'<li class="turn[^>]* id="t(\d+)"', shown)]

    assert turns() == list(range(200))
    assert turns(turn=440) == list(range(420, LONG))
    assert turns(all=1) == list(range(LONG))
    assert turns(turn=9999) == []


def test_stepping_follows_the_view(ann: TestClient) -> None:
    seen, asked = [], {"source": "talks", "dialog": "exam-calm", "from": "level=dialog&agent=calm"}
    for _ in range(3):
        shown = page(ann, **asked)
        seen.append(asked["dialog"])
        found = re.search(r'href="([^"]*)" rel="next"', shown)
        if found is None:
            break
        address = unescape(found[1])
        asked = dict(ann.build_request("GET", address).url.params)
    assert seen == ["exam-calm", "exam-again", "cat-calm"]
    assert "2 of 3" in page(ann, dialog="exam-again", **{"from": "level=dialog&agent=calm"})
    assert "not in this view" in page(ann, dialog="exam-curt", **{"from": "agent=calm"})
    for gone in ("range=x", "sort=gone", "level=no", "q=/(/"):
        assert "not in this view" in page(ann, dialog="exam-calm", **{"from": gone}), gone
    assert "of 3" in page(ann, dialog="exam-calm", **{"from": "level=agent&agent=calm"})


def test_other_lexicons_leave_words_unmarked(bench: Workbench, ann: TestClient) -> None:
    about = bench.folder / "out" / "metrics.json"
    about.write_text(re.sub(r"lex:([\w-]+)@\w{8}", r"lex:\1@00000000", about.read_text()))
    shown = page(ann, source="talks", dialog="exam-calm")
    assert "other lexicons than those at hand" in shown
    assert "<mark" not in shown


def test_texts_and_names_stay_inert(bench: Workbench, ann: TestClient) -> None:
    bench.notebook.write_code(Code(1, EVIL))
    own = {"source": "talks", "dialog": EVIL_NAME}
    for body in ({"turn": 1}, {"turn": WHOLE}):
        stored = ann.post("/api/flag", json=own | body | {"code": 1, "on": True})
        assert stored.status_code == 200
        assert EVIL not in stored.json()["html"]
        ann.post("/api/note", json=own | body | {"note": EVIL})
    agents = [EVIL_NAME, "calm"]
    for shown in (
        page(ann, **own),
        page(ann, source="talks", dialog="exam-calm"),
        page(ann, "/dialogue/scores", source="talks", dialog="exam-calm", turn=1),
        page(ann, "/side-by-side", agent=agents),
    ):
        assert EVIL not in shown
        assert "<img src=y" not in shown
        assert "<b>" + CODER[4:] not in shown


def test_a_flag_is_stored_at_once_and_taken_away_again(bench: Workbench, ann: TestClient) -> None:
    bench.notebook.write_code(Code(2, "off topic"))
    stored = ann.post("/api/flag", json=unit() | {"code": 2, "on": True}).json()
    assert (stored["own"], stored["coder"]) == ([2], CODER)
    assert "off topic" in stored["html"]
    assert flags(bench) == [("exam-calm", 1, 2, CODER)]
    assert 'data-own="2"' in page(ann, **{k: v for k, v in unit().items() if k != "turn"})
    assert ann.post("/api/flag", json=unit() | {"code": 2, "on": False}).json()["own"] == []
    for code in (1, 9):
        ann.post("/api/flag", json=unit() | {"code": code, "on": True})
    assert ann.post("/api/flag", json=unit() | {"code": 0, "on": False}).json()["own"] == []
    assert flags(bench) == []


def test_two_people_flag_the_same_turn_at_once(app: WorkbenchApp, bench: Workbench) -> None:
    people = [browser(app, **{"dialens-coder": f"coder-{n}", **SEES}) for n in range(4)]

    def press(client: TestClient) -> list[int]:
        return [
            client.post("/api/flag", json=unit() | {"code": code, "on": True}).status_code
            for code in (1, 2, 3)
        ] + [client.post("/api/note", json=unit() | {"note": "mine"}).status_code]

    with ThreadPoolExecutor(4) as pool:
        assert {status for found in pool.map(press, people) for status in found} == {200}
    assert sorted(flags(bench)) == [
        ("exam-calm", 1, code, f"coder-{n}") for code in (1, 2, 3) for n in range(4)
    ]
    assert bench.notebook.notes().height == 4
    others = people[0].post("/api/flag", json=unit() | {"code": 1, "on": False}).json()["others"]
    assert others["coder-3"] == {"flags": [1, 2, 3], "note": "mine"}


def test_a_full_disk_says_that_nothing_was_stored(bench: Workbench, ann: TestClient) -> None:
    assert ann.post("/api/note", json=unit() | {"note": "first"}).status_code == 200
    book = bench.notebook._database
    assert book is not None
    pages = book.execute("pragma page_count").fetchone()[0]
    book.execute(f"pragma max_page_count = {pages}")
    full = ann.post("/api/note", json=unit(3) | {"note": "x" * 9_000})
    assert full.status_code == 422
    assert "full" in full.json()["detail"]
    assert "kept" in full.json()["detail"]
    assert bench.notebook.notes()["note"].to_list() == ["first"]
    assert "first" in page(ann, source="talks", dialog="exam-calm")
    book.execute("pragma max_page_count = 1000000")
    assert ann.post("/api/note", json=unit(3) | {"note": "x" * 9_000}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        unit() | {"code": 1},
        unit() | {"code": 10, "on": True},
        unit() | {"code": 0, "on": True},
        unit() | {"code": "1", "on": True},
        unit() | {"code": 1, "on": True, "coder": "somebody"},
        unit(-2) | {"code": 1, "on": True},
        unit(2**40) | {"code": 1, "on": True},
        unit() | {"code": 1, "on": True, "dialog": "\ud800"},
        [1],
    ],
)
def test_a_body_that_is_not_one_is_refused(bench: Workbench, ann: TestClient, body: Any) -> None:
    sent = {"content-type": "application/json"}
    assert ann.post("/api/flag", content=json.dumps(body), headers=sent).status_code == 400
    assert flags(bench) == []


def test_units_that_are_not_there_cannot_be_flagged(bench: Workbench, ann: TestClient) -> None:
    for wrong in (unit(99), unit(dialog="no"), unit() | {"source": "no"}):
        refused = ann.post("/api/flag", json=wrong | {"code": 1, "on": True})
        assert refused.status_code == 404
        assert "Nothing was stored" in refused.json()["detail"]
    assert ann.post("/api/note", json=unit() | {"note": "x" * 10_001}).status_code == 422
    assert not bench.notebook.path.exists()


def test_only_pages_of_ours_may_flag(app: WorkbenchApp, bench: Workbench, ann: TestClient) -> None:
    body = unit() | {"code": 1, "on": True}
    stranger = TestClient(app, base_url=BASE)
    assert stranger.post("/api/flag", json=body).status_code == 401
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert ann.post("/api/flag", json=body, headers=headers).status_code == 403
    form = {"content-type": "text/plain"}
    assert ann.post("/api/flag", content="{}", headers=form).status_code in (400, 415)
    assert not bench.notebook.path.exists()


def test_who_flags(app: WorkbenchApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "login")
    body = unit() | {"code": 1, "on": True}

    def coder(cookie: str | None) -> str:
        cookies = {} if cookie is None else {"dialens-coder": cookie}
        answer = browser(app, **cookies).post("/api/flag", json=body)
        return str(answer.json()["coder"])

    assert coder(None) == "login"
    assert coder("%20") == "login"
    assert coder("Z%C3%BC,rich%0A x") == "Zü rich x"
    assert len(coder("a" * 900)) == 100


def test_coding_is_blind_unless_one_asks(app: WorkbenchApp, ann: TestClient) -> None:
    bob = browser(app, **{"dialens-coder": "bob"})
    assert ann.post("/api/flag", json=unit() | {"code": 7, "on": True}).status_code == 200
    assert ann.post("/api/note", json=unit() | {"note": "seen by ann"}).status_code == 200
    pages = [
        ("/dialogue", {"source": "talks", "dialog": "exam-calm"}),
        ("/conversations", {"dialog": "exam-calm", "col": "flags,note"}),
        ("/flags", {}),
    ]
    table = {"dialog": "exam-calm", "col": "flags,note"}
    for show, seen in (("", False), ("yes", True), ("", False)):
        assert bob.post("/flags/others", data={"show": show}).status_code == 200
        for path, asked in pages:
            assert ("seen by ann" in page(bob, path, **asked)) is seen, path
        row = bob.get("/api/table", params=table).json()["rows"][1]
        assert (row["flags"], row["values"]["flags"]) == (("7", "7") if seen else (None, None))
        answer = bob.post("/api/flag", json=unit() | {"code": 2, "on": False}).json()
        assert bool(answer["others"]) is seen
    assert "seen by ann" in page(ann, "/flags")


def test_stepping_along_turns_goes_to_the_turn_of_the_next_row(ann: TestClient) -> None:
    came = "q=sorry"  # exam-calm 1, exam-again 1, …
    rows = ann.get("/api/table", params={"q": "sorry"}).json()["rows"]
    wanted = [(row["dialog"], str(row["turn"])) for row in rows]
    asked = {"source": "talks", "dialog": wanted[0][0], "turn": wanted[0][1], "from": came}
    seen = []
    for _ in wanted:
        seen.append((asked["dialog"], asked["turn"]))
        found = re.search(r'href="([^"]*)" rel="next"', page(ann, **asked))
        if found is not None:
            asked = dict(ann.build_request("GET", unescape(found[1])).url.params)
    assert seen == wanted


def test_what_is_wrong_with_a_form_or_a_search_is_said(ann: TestClient) -> None:
    json = {"accept": "application/json"}

    def said(path: str, **sent: Any) -> str:
        return str(ann.post(path, headers=json, **sent).json()["detail"])

    assert said("/conversations/views", data={"name": ""}).startswith("The field “name” is empty.")
    long = said("/conversations/views", data={"name": "x" * 201})
    assert long == "The field “name” has more than 200 characters. Shorten it."
    assert said("/api/flag", content="{").startswith("What was sent is not JSON.")
    found = unescape(page(ann, "/conversations", q="/(?=x)/"))
    assert "look-around, including look-ahead and look-behind, is not supported" in found


def test_agents_side_by_side(ann: TestClient) -> None:
    shown = page(ann, "/side-by-side", metric="length")
    assert "calm and curt share 2 openings." in shown
    assert "They differ most on words a turn by 2.0" in shown
    found = re.search(r'href="(/side-by-side\?[^"]*opening=[^"]*)"', shown)
    assert found is not None
    one = ann.get(unescape(found[1])).text
    assert "calm and curt answer the same opening and lie 2.0 apart on words a turn" in one
    assert "differ most at turn 1" in one
    assert "the same for all" in one
    assert "The conversation has ended." in one
    assert "exam-again" in one  # the agent's other conversation from there


def test_what_cannot_be_compared_is_said(ann: TestClient) -> None:
    shown = " ".join(page(ann, "/side-by-side", agent=["calm", "lone"]).split())
    assert "calm and lone share no opening." in shown
    assert "3 openings were given to only one of them" in shown
    assert "1 conversation is begun by the agent itself" in shown
    assert "Choose another agent to hold calm against" in page(ann, "/side-by-side", agent="calm")


def test_from_a_conversation_to_its_opening(ann: TestClient) -> None:
    shown = page(ann, dialog="cat-curt")
    found = re.search(r'href="(/side-by-side\?opening=\d+)">Beside 1 other agent', shown)
    assert found is not None
    assert "calm and curt answer the same opening" in ann.get(found[1]).text
    for alone in ("begins", "long"):
        assert "/side-by-side?opening" not in page(ann, dialog=alone)
