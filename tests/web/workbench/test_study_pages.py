"""Studies in the workbench: made of a selection, followed, and replayed; with hostile names."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import polars as pl
import pytest
from starlette.testclient import TestClient

from dialens.studies import load_study
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import Store
from dialens.web._serving import PatientProtocol
from dialens.web.workbench import WorkbenchApp, workbench_app
from dialens.workbench import Unit, Workbench
from tests.accessibility import Inspection
from tests.web.conftest import Window, running
from tests.web.people import Page
from tests.workbench.folders import print_of
from tests.workbench.spoken import EVIL, EVIL_NAME, make_spoken

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages") / "spoken"
    make_spoken(folder)
    return folder


@pytest.fixture
def app(made: Path, tmp_path: Path) -> Iterator[WorkbenchApp]:
    folder = tmp_path / "mine"
    folder.mkdir()
    for path in made.iterdir():
        (folder / path.name).symlink_to(path)
    bench = Workbench.open(folder, cache=made.parent / "cache")
    yield workbench_app(bench)
    bench.close()


@pytest.fixture
def client(app: WorkbenchApp) -> TestClient:
    browser = TestClient(app, base_url="http://127.0.0.1:8123")
    assert browser.get(app.address).status_code == 200
    return browser


def write(client: TestClient, **settings: str) -> str:
    """Fill in the form, write the study, and give the page after it."""
    query = urlencode({"n": "6", "each": "6", "contact": "Ada", "name": "asked"} | settings)
    shown = client.get(f"/to-study?{query}")
    assert shown.status_code == 200, shown.text
    hidden = dict(re.findall(r'name="(address|mark)" value="([^"]*)"', shown.text))
    sent = {name: html.unescape(value) for name, value in hidden.items()}
    written = client.post("/to-study", data=sent)
    assert written.status_code == 200, written.text
    return written.text


def taken(folder: Path, people: int = 3) -> list[str]:
    """Let people take a study; gives their pseudonyms."""
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        study = load_study(folder)
        simulate_study(store, study, Population(), participants=people, seed=1, now=NOW)
        rows = store.answers_frame(study.hash)
    return list(rows["rater"].unique(maintain_order=True))


def test_a_selection_is_shown_then_written_then_followed(
    app: WorkbenchApp, client: TestClient
) -> None:
    folder = app.workbench.folder
    assert "There is no study" in client.get("/studies").text
    before = print_of(folder)
    query = "level=dialog&agent=calm&agent=curt&template=likert&n=6&seed=3"
    page = client.get(f"/to-study?{query}").text
    assert "6 of 9 replies of 2 agents are drawn" in page
    assert "with a power of .8" in page
    assert page == client.get(f"/to-study?{query}").text
    assert {k: v for k, v in print_of(folder).items() if "sqlite" not in k} == before
    after = write(client)
    assert "dialens study serve" in after
    assert "PLEASE FILL IN" not in after
    people = taken(folder / "asked")
    listed = client.get("/studies").text
    assert "asked" in listed
    assert "full" in listed or "open" in listed
    shown = client.get("/study?name=asked").text
    assert all(person in shown for person in people)
    assert "95 % interval" in shown
    assert "drawn at random with seed 1" in shown


def test_a_name_that_is_taken_and_a_selection_that_changed_are_refused(
    app: WorkbenchApp, client: TestClient
) -> None:
    write(client)
    again = client.get("/to-study?name=asked")
    assert again.status_code == 422
    assert "is there already" in again.text
    gone = client.post("/to-study", data={"address": "n=6&name=other", "mark": "0" * 24})
    assert gone.status_code == 422
    assert "The selection is another now" in gone.text
    assert not (app.workbench.folder / "other").exists()
    for query, said in (
        ("n=many", "whole number"),
        ("n=0", "whole number"),
        ("template=arena", "needs material"),
        ("template=nonsense", "no template"),
        ("currency=pounds", "three letters"),
        ("pay=-1", "a number such as"),
        ("by=nothing", "no column nothing"),
        ("name=../../etc", "cannot be called"),
        ("name=%3Cscript%3E", "cannot be called"),
        ("flag=any", "holds no reply"),
    ):
        page = client.get(f"/to-study?{query}")
        assert page.status_code == 422, query
        assert said in html.unescape(page.text), (query, Page(page.text).text)
        assert "<script>" not in page.text.partition("<main")[2]
    assert client.post("/to-study", data={}).status_code == 422
    assert client.get("/to-study/written?name=..").status_code == 422


def test_gold_items_have_to_be_confirmed_within_their_scale(
    app: WorkbenchApp, client: TestClient
) -> None:
    bench = app.workbench
    for turn in (1, 3):
        bench.notebook.flag(Unit("talks", "exam-calm", turn), 2, "ada")
    query = "template=likert&n=2&name=gold&contact=Ada&agent=calm"
    shown = client.get(f"/to-study?{query}").text
    number = re.findall(r'name="gold" value="(\d+)"', shown)[0]
    hidden = dict(re.findall(r'name="(address|mark)" value="([^"]*)"', shown))
    sent = {name: html.unescape(value) for name, value in hidden.items()} | {"gold": number}
    rule = {f"quality-{number}": "relevance", f"rule-{number}": "least"}
    for value in ("9", "", "x", "nan"):
        refused = client.post("/to-study", data=sent | rule | {f"value-{number}": value})
        assert refused.status_code == 422, value
        assert not (bench.folder / "gold").exists()
    assert client.post("/to-study", data=sent | {"gold": "999999"} | rule).status_code == 422
    done = client.post("/to-study", data=sent | rule | {f"value-{number}": "4"})
    assert done.status_code == 200, done.text
    study = load_study(bench.folder / "gold")
    expected = [dict(rule) for item in study.gold for rule in item.expect if "above" not in rule]
    assert [(rule["quality"], rule["at_least"]) for rule in expected] == [("relevance", 4.0)]


def test_a_session_is_replayed_with_what_happened(app: WorkbenchApp, client: TestClient) -> None:
    write(client, q="happy", level="dialog", template="dialogue-level")
    folder = app.workbench.folder / "asked"
    person = taken(folder)[0]
    before = print_of(folder)
    address = {"name": "asked", "participant": person}
    first = client.get(f"/study/replay?{urlencode(address)}")
    assert first.status_code == 200, first.text
    assert "Screen 1 of" in first.text
    rating = client.get(f"/study/replay?{urlencode(address | {'index': '2'})}").text
    assert "What the person saw, with their answers" in rating
    assert "checked" in rating
    assert "disabled" in rating
    assert "The screen came up" in rating
    for wrong in ({"participant": "nobody"}, {"name": "nothing"}, {"attempt": "7"}):
        refused = client.get(f"/study/replay?{urlencode(address | wrong)}")
        assert refused.status_code == 404, wrong
    assert client.get("/media/nothing.png").status_code == 404
    assert print_of(folder) == before


def test_names_and_texts_that_attack_stay_texts(app: WorkbenchApp, client: TestClient) -> None:
    write(client, agent=EVIL_NAME, n="1")
    folder = app.workbench.folder / "asked"
    items = load_study(folder).items
    assert [one.agent for one in items[0].candidates] == [EVIL_NAME]
    person = taken(folder)[0]
    pages = [
        "/to-study?" + urlencode({"agent": EVIL_NAME}),
        "/studies",
        "/study?name=asked",
        "/study/replay?" + urlencode({"name": "asked", "participant": person, "index": 2}),
    ]
    for address in pages:
        page = client.get(address)
        assert page.status_code == 200, address
        assert EVIL not in page.text
        assert "<img src=y" not in page.text
    said = pl.concat(app.workbench.said)
    assert said["dialog"].unique().to_list() == [EVIL_NAME]


def test_the_pages_are_for_everybody_and_work_with_the_keyboard(
    app: WorkbenchApp, client: TestClient, window: Window
) -> None:
    write(client, q="happy")
    person = taken(app.workbench.folder / "asked")[0]
    inspect = Inspection()
    replay = "/study/replay?" + urlencode({"name": "asked", "participant": person, "index": 2})
    with running(app, PatientProtocol) as port:
        base = f"http://127.0.0.1:{port}"
        page = window(base + app.address)
        for name, address in (
            ("studies", "/studies"),
            ("study", "/study?name=asked"),
            ("replay", replay),
            ("to-study", "/to-study?by=words&judge_price=0.001&judge_r=0.7"),
            ("written", "/to-study/written?name=asked"),
        ):
            page.goto(base + address)
            inspect(page, f"workbench-{name}")
            page.set_viewport_size({"width": 390, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
            page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(base + replay)
        page.keyboard.press("p")
        page.get_by_role("heading", name=re.compile("Screen 2 of")).wait_for()
        page.get_by_role("button", name="Play").wait_for()  # its script has run
        page.keyboard.press("n")
        page.get_by_role("heading", name=re.compile("Screen 3 of")).wait_for()
        page.get_by_role("button", name="Play").wait_for()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Stop").wait_for()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Play").wait_for()
        page.goto(f"{base}/to-study?name=second&n=3")
        page.get_by_role("button", name="Write the study").focus()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="The study is written").wait_for()
        page.goto("about:blank")  # what it still loads goes with it, before the server does
    assert inspect.found == []
    assert (app.workbench.folder / "second" / "study.yaml").is_file()
